//! The tree of an index judged as a tree on held-out pairs, beside two plain trees over the same documents: hierarchical
//! 2-means over the encoder's embeddings, and over those of Encoder+MLP.

use crate::adapted;
use crate::baselines::normalise;
use anyhow::{Context, Result, ensure};
use retreever::{Dataset, Material, Retriever, Split};
use retreever_data::Ragged;
use retreever_encoder::EmbedProgress;
use retreever_index::{Hit, Snapshot};
use retreever_inspect::Places;
use retreever_inspect::agreement::Pair;
use retreever_inspect::congruence::Vectors;
use retreever_inspect::judgement::{Ground, Judged, Judgement};
use retreever_tree::{Assignments, LeafId};
use serde::Serialize;
use std::collections::BTreeMap;

/// The three trees, judged by the same pairs, documents and queries.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Agreement {
    /// Whose judgements.
    pub split: String,
    /// Pairs of a query and a document that answers it.
    pub pairs: usize,
    /// Pairs that were left out, because their document is not in the index.
    pub left_out: usize,
    /// Documents of the data that are in the index. No others are looked at.
    pub documents: usize,
    /// The tree of the index.
    #[serde(flatten)]
    pub tree: Judgement,
    /// Hierarchical 2-means over the encoder's embeddings.
    pub two_means_encoder: Judgement,
    /// Hierarchical 2-means over Encoder+MLP; nothing for data without pairs to train on.
    pub two_means_encoder_mlp: Option<Judgement>,
    /// For how many steps Encoder+MLP was trained.
    pub mlp_steps: Option<u64>,
}

/// What an observer of [`judge`] is told.
#[derive(Debug)]
pub enum Event {
    /// Texts are being encoded.
    Encoding(EmbedProgress),
    /// Encoder+MLP is being trained.
    Training(retreever_model::Event),
}

/// The seed of 2-means and of Encoder+MLP.
const SEED: u64 = 1;

/// Judges the tree of an index, and two others, by the pairs of a split.
pub fn judge(
    retriever: &Retriever,
    dataset: &Dataset,
    split: &Split,
    observe: &mut dyn FnMut(Event),
) -> Result<Agreement> {
    let encoder = retriever.encoder().ok_or(retreever::Error::NoEncoder)?;
    let snapshot = retriever.snapshot()?;
    let held = held(&snapshot, dataset)?;
    let all = dataset.pairs(split);
    let there: Vec<String> = dataset.qrels.keys().map(ToString::to_string).collect();
    ensure!(!all.is_empty(), "the data has no pairs called `{split}` (it has: {})", there.join(", "));
    let asked = Numbers::new(all.iter().map(|pair| pair.query));
    let documents = Numbers::new(held.keys().copied());
    let pairs: Vec<Pair> = all
        .iter()
        .filter_map(|pair| {
            Some(Pair { query: asked.new[&pair.query], document: *documents.new.get(&pair.document)? })
        })
        .collect();
    ensure!(!pairs.is_empty(), "no document that answers a query of `{split}` is in the index");
    let left_out = all.len() - pairs.len();

    let material = Material::encode(dataset, encoder, &mut |progress| observe(Event::Encoding(progress)))?;
    let set = material.set();
    let width = set.documents.width();
    let (mut queries, mut pooled) = (Ragged::new(width), Ragged::new(width));
    set.queries.gather(&asked.old, &mut queries);
    documents.old.iter().for_each(|item| set.documents.append_pooled(*item, &mut pooled));
    let mut rows = [pooled.pooled().to_vec(), queries.pooled().to_vec()];
    rows.iter_mut().for_each(|rows| normalise(rows, width));
    let [document_rows, query_rows] = rows.each_ref().map(|values| Vectors { width, values });

    let items = documents.old.iter().map(|number| &dataset.corpus.items()[*number]);
    let texts: Vec<_> = items.clone().map(|item| item.encoded()).collect();
    let metadata: Vec<_> = items.map(|item| item.metadata.clone()).collect();
    let ground = Ground::new(pairs).with_texts(&texts).with_metadata(&metadata).with_vectors(document_rows);
    let depth = snapshot.shape().depth;
    let tree = {
        let (places, assigned) = placed(&snapshot, held.values())?;
        ground.judge(Judged::Routed {
            places: &places,
            documents: &assigned,
            queries: &retriever.tree().assign(&queries, |_| ()),
            routing: snapshot.routing(),
        })
    };
    let two_means_encoder = ground.judge_two_means(document_rows, query_rows, depth, SEED);
    let two_means_encoder_mlp = match set.train.len() {
        0 | 1 => None,
        _ => {
            let mut mlp = adapted::trained(set, SEED, &mut |event| observe(Event::Training(event)))?;
            let documents = adapted::represent(&mut mlp, set.documents, &documents.old);
            let queries = adapted::represent(&mut mlp, set.queries, &asked.old);
            let [documents, queries] = [&documents, &queries].map(|values| Vectors { width, values });
            Some(ground.judge_two_means(documents, queries, depth, SEED))
        }
    };
    Ok(Agreement {
        split: split.to_string(),
        pairs: ground.pairs(),
        left_out,
        documents: documents.old.len(),
        tree,
        two_means_encoder,
        mlp_steps: two_means_encoder_mlp.is_some().then_some(adapted::STEPS),
        two_means_encoder_mlp,
    })
}

/// The documents of the data that are in the index, by number.
fn held(snapshot: &Snapshot, dataset: &Dataset) -> Result<BTreeMap<u32, Hit>> {
    let mut held = BTreeMap::new();
    for hit in snapshot.hits() {
        if let Some(number) = dataset.corpus.number(&snapshot.document(&hit)?.id) {
            held.insert(u32::try_from(number).context("more documents than numbers")?, hit);
        }
    }
    Ok(held)
}

/// Where documents are, and their assignments.
fn placed<'a>(snapshot: &Snapshot, hits: impl Iterator<Item = &'a Hit>) -> Result<(Places, Assignments)> {
    let shape = snapshot.shape();
    let (mut leaves, mut rows): (Vec<LeafId>, Vec<f32>) = Default::default();
    for hit in hits {
        leaves.push(snapshot.place(hit));
        rows.extend(snapshot.assignment(hit)?);
    }
    Ok((Places::new(shape.depth, leaves), Assignments::new(shape.depth, shape.nesting, rows)?))
}

/// Some items numbered anew, in the order of their numbers.
struct Numbers {
    old: Vec<usize>,
    new: BTreeMap<u32, u32>,
}

impl Numbers {
    fn new(items: impl Iterator<Item = u32>) -> Self {
        let mut new: BTreeMap<u32, u32> = items.map(|item| (item, 0)).collect();
        new.values_mut().zip(0..).for_each(|(item, number)| *item = number);
        Self { old: new.keys().map(|item| *item as usize).collect(), new }
    }
}
