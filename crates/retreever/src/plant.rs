//! A tree without training: planted in the encoder's own embeddings, in seconds.
//!
//! Only the routing temperatures need pairs. They come from the data set's judgements where it has some, else from pairs made of
//! a few hundred documents; both are more than too few documents allow, and then the tree is not calibrated.

use crate::{CachedEncoder, EncoderRecord, Error, Material, Progress, Retriever, depth_for};
use retreever_data::{Dataset, Embeddings, MadePairs, MakeConfig, Pair, Split};
use retreever_encoder::{EmbedProgress, Role};
use retreever_model::{Recipe, SavedTree, Tree};
use serde_json::json;
use std::fs;
use std::path::Path;

/// Documents that the tree is planted in, at most.
const DOCUMENTS: usize = 20_000;
/// Judged queries that calibrate, at most.
const QUERIES: usize = 1000;
/// Documents that pairs are made of, where there are no judgements.
const MADE: usize = 500;

/// Where the pairs of a calibration come from.
enum Pairs {
    /// From the data set's judgements: the queries' texts, and pairs of their numbers with those of documents.
    Judged(Vec<String>, Vec<Pair>),
    /// Made from documents.
    Made(Box<MadePairs>),
    /// There are none.
    None,
}

/// Plants a tree in the documents of `dataset`, without training.
pub fn plant(
    dataset: &Dataset,
    encoder: &CachedEncoder,
    seed: u64,
    observer: &mut dyn FnMut(EmbedProgress),
) -> Result<SavedTree, Error> {
    let items = dataset.corpus.items();
    if items.is_empty() {
        return Err(Error::NoDocuments);
    }
    let step = items.len().div_ceil(DOCUMENTS).max(1);
    let texts: Vec<_> = items.iter().step_by(step).map(|document| document.encoded()).collect();
    let texts: Vec<&str> = texts.iter().map(AsRef::as_ref).collect();
    let documents = encoder.embed(&texts, Role::Document, observer)?;
    let config = Recipe::untrained().tree(documents.width(), depth_for(items.len()));
    let mut tree = Tree::new(config, seed);
    tree.plant(&documents, seed);
    let pairs = pairs(dataset, seed);
    let calibrated = match &pairs {
        Pairs::Judged(queries, pairs) => {
            let queries: Vec<&str> = queries.iter().map(String::as_str).collect();
            let queries = encoder.embed(&queries, Role::Query, observer)?;
            let texts: Vec<_> = items.iter().map(|document| document.encoded()).collect();
            let answers: Vec<&str> =
                pairs.iter().map(|pair| texts[pair.document as usize].as_ref()).collect();
            let answers = encoder.embed(&answers, Role::Document, observer)?;
            let pairs: Vec<Pair> =
                pairs.iter().zip(0..).map(|(pair, document)| Pair { query: pair.query, document }).collect();
            tree.calibrate(&queries, &answers, &pairs);
            json!({ "on": "judgements", "pairs": pairs.len() })
        }
        Pairs::Made(made) => {
            let material = Material::encode(&made.dataset, encoder, observer)?;
            let splits = [Split::Train, Split::Dev, Split::Test];
            let pairs: Vec<Pair> = splits.iter().flat_map(|split| made.dataset.pairs(split)).collect();
            tree.calibrate(material.set().queries, material.set().documents, &pairs);
            json!({ "on": "made pairs", "pairs": pairs.len() })
        }
        Pairs::None => json!(null),
    };
    let training =
        json!({ "planted": { "documents": documents.len(), "seed": seed, "calibrated": calibrated } });
    Ok(SavedTree {
        tree,
        encoder: serde_json::to_value(EncoderRecord::text(encoder)).unwrap_or_default(),
        training,
    })
}

/// The pairs to calibrate on.
fn pairs(dataset: &Dataset, seed: u64) -> Pairs {
    let judged =
        [Split::Dev, Split::Train].iter().map(|split| dataset.pairs(split)).find(|pairs| !pairs.is_empty());
    if let Some(judged) = judged {
        let (mut queries, mut pairs, mut last) = (Vec::new(), Vec::new(), None);
        for pair in judged {
            if last != Some(pair.query) {
                if queries.len() == QUERIES {
                    break;
                }
                queries.push(dataset.queries.items()[pair.query as usize].text.clone());
                last = Some(pair.query);
            }
            pairs.push(Pair { query: queries.len() as u32 - 1, document: pair.document });
        }
        return Pairs::Judged(queries, pairs);
    }
    let made = MadePairs::new(&dataset.corpus, MakeConfig { seed, documents: MADE });
    made.map_or(Pairs::None, |made| Pairs::Made(Box::new(made)))
}

impl Retriever {
    /// Builds an index of `dataset` in `directory`, which must not be there yet, with a tree that is planted in its documents.
    pub fn build_planted(
        directory: &Path,
        encoder: CachedEncoder,
        dataset: &Dataset,
        observer: &mut dyn FnMut(Progress),
    ) -> Result<Self, Error> {
        if directory.exists() {
            return Err(Error::Exists(directory.to_owned()));
        }
        let mut name = directory.file_name().unwrap_or_default().to_owned();
        name.push(".planting");
        let beside = directory.with_file_name(name);
        let _ = fs::remove_dir_all(&beside);
        let planted = plant(dataset, &encoder, SEED, &mut |progress| observer(Progress::Encoding(progress)))?;
        planted.save(&beside)?;
        let built = Self::build(directory, &beside, encoder, &dataset.corpus, observer);
        let _ = fs::remove_dir_all(&beside);
        built
    }
}

/// The seed of trees that are planted while an index is built.
const SEED: u64 = 1;
