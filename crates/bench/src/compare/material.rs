//! What every piece works on: the corpus, the test queries, their judgements, and the embeddings of both.

use super::Event;
use crate::baselines::{Ranking, Rows, normalise};
use anyhow::{Context, Result, ensure};
use retreever_data::{Dataset, Embeddings, Measures, Qrels, Run, Split, evaluate};
use retreever_encoder::{CachedEmbeddings, EmbeddingCache, Encoder, Role};
use retreever_inspect::agreement::Pair;
use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;

/// An encoder, and where its embeddings are kept.
pub struct Frozen {
    /// The encoder.
    pub encoder: Box<dyn Encoder>,
    /// Where what it has embedded is kept.
    pub cache: PathBuf,
}

/// Documents, test queries and judgements, with pooled embeddings of length 1.
pub(super) struct Material {
    pub(super) dataset: Dataset,
    /// The judgements that everything is scored against.
    pub(super) qrels: Qrels,
    /// The judged pairs, with queries by their place in `test`.
    pub(super) pairs: Vec<Pair>,
    /// What the encoder reads of each document.
    pub(super) texts: Vec<String>,
    /// Number of each test query.
    pub(super) test: Vec<usize>,
    encoder: Box<dyn Encoder>,
    cache: PathBuf,
    document_tokens: CachedEmbeddings,
    query_tokens: CachedEmbeddings,
    documents: Vec<f32>,
    queries: Vec<f32>,
}

impl Material {
    /// Embeds the corpus and the judged queries of a split; what was embedded before is read from the cache.
    pub(super) fn new(
        dataset: Dataset,
        split: &Split,
        Frozen { encoder, cache: root }: Frozen,
        observe: &mut dyn FnMut(Event<'_>),
    ) -> Result<Self> {
        let there: Vec<String> = dataset.qrels.keys().map(ToString::to_string).collect();
        let qrels = dataset.qrels.get(split).cloned().with_context(|| {
            format!("the data has no judgements called `{split}` (it has: {})", there.join(", "))
        })?;
        let number = |(id, _): (&str, _)| dataset.queries.number(id);
        let test: Vec<usize> = qrels.iter().filter_map(number).collect();
        ensure!(!test.is_empty() && !dataset.corpus.is_empty(), "nothing to search, or nobody who asks");
        let place: HashMap<usize, u32> = test.iter().copied().zip(0..).collect();
        let pairs = dataset
            .pairs(split)
            .into_iter()
            .map(|pair| Pair { query: place[&(pair.query as usize)], document: pair.document });
        let pairs = pairs.collect();
        let texts: Vec<String> =
            dataset.corpus.items().iter().map(|document| document.encoded().into_owned()).collect();
        let asked: Vec<&str> = dataset.queries.items().iter().map(|query| query.text.as_str()).collect();
        let read: Vec<&str> = texts.iter().map(String::as_str).collect();
        let mut cache = EmbeddingCache::open(&root, &*encoder)?;
        let document_tokens =
            cache.embed(&read, Role::Document, &mut |p| observe(Event::Encoding("documents", p)))?;
        let query_tokens =
            cache.embed(&asked, Role::Query, &mut |p| observe(Event::Encoding("queries", p)))?;
        let all: Vec<usize> = (0..read.len()).collect();
        let documents = pooled(&document_tokens, &all);
        let queries = pooled(&query_tokens, &test);
        drop(cache);
        Ok(Self {
            qrels,
            pairs,
            texts,
            test,
            encoder,
            cache: root,
            document_tokens,
            query_tokens,
            documents,
            queries,
            dataset,
        })
    }

    /// The width of an embedding.
    pub(super) fn width(&self) -> usize {
        self.encoder.width()
    }

    /// One row a document.
    pub(super) fn documents(&self) -> Rows<'_> {
        Rows::new(&self.documents, self.width())
    }

    /// One row a test query.
    pub(super) fn queries(&self) -> Rows<'_> {
        Rows::new(&self.queries, self.width())
    }

    /// The tokens of every document.
    pub(super) fn document_tokens(&self) -> &CachedEmbeddings {
        &self.document_tokens
    }

    /// The tokens of every query of every split, by number.
    pub(super) fn query_tokens(&self) -> &CachedEmbeddings {
        &self.query_tokens
    }

    /// What the test queries ask.
    pub(super) fn asked(&self) -> Vec<&str> {
        self.test.iter().map(|&query| self.dataset.queries.items()[query].text.as_str()).collect()
    }

    /// How well the rankings of the test queries agree with the judgements.
    pub(super) fn score(&self, rankings: &[Ranking]) -> Measures {
        let mut run = Run::new();
        for (&query, ranking) in self.test.iter().zip(rankings) {
            let query = &self.dataset.queries.items()[query].id;
            for hit in &ranking.hits {
                run.insert(query, &self.dataset.corpus.items()[hit.doc as usize].id, hit.score);
            }
        }
        evaluate(&self.qrels, &run).mean
    }

    /// Embeds texts as documents, with rows of length 1.
    pub(super) fn embed(&self, texts: &[String]) -> Result<Vec<f32>> {
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let mut cache = EmbeddingCache::open(&self.cache, &*self.encoder)?;
        let all: Vec<usize> = (0..texts.len()).collect();
        Ok(pooled(&cache.embed(&texts, Role::Document, &mut |_| ())?, &all))
    }

    /// A hash of all that a score depends on: texts, judgements and encoder.
    pub(super) fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.encoder.fingerprint().to_string().hash(&mut hasher);
        self.texts.hash(&mut hasher);
        self.asked().hash(&mut hasher);
        for (query, judged) in self.qrels.iter() {
            (query, judged).hash(&mut hasher);
        }
        hasher.finish()
    }
}

/// The pooled embeddings of the named items, scaled to length 1.
fn pooled(embeddings: &CachedEmbeddings, items: &[usize]) -> Vec<f32> {
    let mut rows: Vec<f32> = items.iter().flat_map(|&item| embeddings.pooled(item)).collect();
    normalise(&mut rows, embeddings.width());
    rows
}

/// The first `size` numbers of every row, scaled to length 1: an embedding cut short.
pub(super) fn truncated(rows: Rows<'_>, size: usize) -> Cow<'_, [f32]> {
    if size == rows.width() {
        return Cow::Borrowed(rows.as_slice());
    }
    let cut = |row: &[f32]| row[..size].to_vec();
    let mut short: Vec<f32> = rows.as_slice().chunks_exact(rows.width()).flat_map(cut).collect();
    normalise(&mut short, size);
    Cow::Owned(short)
}
