//! A tree judged as a tree: whether queries and their documents go the same way, whether documents that part late are alike,
//! and whether nodes agree with what is known of the documents and have words of their own.
//!
//! What trees are judged by is a [`Ground`]: the same pairs, metadata, texts and vectors for all of them. Most figures need
//! places alone, so any tree over the same documents has them. A tree that routes also says how sure it is.

use crate::agreement::{self, Pair, PlaceAgreement, RoutedAgreement};
use crate::clusters::{self, Classes};
use crate::congruence::{TreeCongruence, Vectors, congruence};
use crate::places::Places;
use crate::topics::{Groups, Quality, Vocabulary, quality, top_words};
use crate::two_means;
use rayon::prelude::*;
use retreever_tree::{Assignments, Depth, LeafId, Level, Routing};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The level whose nodes are judged as topics, or the leaves of a tree that ends above: 64 nodes.
pub const TOPICS: u8 = 6;
/// The share of a document's routing probability that [`Judgement::leaves_for_90`] speaks of.
const MOST: f64 = 0.9;
/// Pairs of documents that are drawn for each level of the congruence, and their seed.
const DRAWN: (usize, u64) = (4000, 1);

/// What trees are judged by. Without texts, metadata or vectors, the figures that need them are left out.
#[derive(Clone, Debug, Default)]
pub struct Ground<'a> {
    pairs: Vec<Pair>,
    fields: Vec<(String, Classes)>,
    vocabulary: Option<Vocabulary>,
    vectors: Option<Vectors<'a>>,
}

/// A tree to judge.
#[derive(Clone, Copy, Debug)]
pub enum Judged<'a> {
    /// Where items are, and no more.
    Placed {
        /// The documents.
        documents: &'a Places,
        /// The leaf of each query.
        queries: &'a [LeafId],
    },
    /// Where documents are, and how likely nodes are for all items.
    Routed {
        /// The documents' places.
        places: &'a Places,
        /// The documents.
        documents: &'a Assignments,
        /// The queries.
        queries: &'a Assignments,
        /// How assignments are read.
        routing: &'a Routing,
    },
}

/// How good a tree is as a tree.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Judgement {
    /// Levels 1 to the leaves.
    pub levels: Vec<LevelJudgement>,
    /// How many of its likeliest leaves hold 90 % of a document's routing probability, on average; of trees that route.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leaves_for_90: Option<f64>,
    /// The quality of the nodes of level [`TOPICS`] as topics.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub topics: Option<Quality>,
    /// The mean cosine of documents by the level at which they part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub congruence: Option<TreeCongruence>,
}

/// How good one level is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LevelJudgement {
    /// The level.
    pub level: Level,
    /// The share of pairs in the same node.
    pub together: f64,
    /// The share if queries and documents were paired at random.
    pub chance: f64,
    /// What a tree that routes says, and what is so.
    #[serde(flatten)]
    pub claims: Option<Claims>,
    /// The agreement with each field of the metadata.
    pub fields: Vec<FieldJudgement>,
}

/// How sure a tree is of a query's likeliest node; see [`agreement`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Claims {
    /// The mean probability of a query's likeliest node.
    pub claimed: f64,
    /// The share of pairs whose document is under that node.
    pub found: f64,
    /// The expected calibration error of `claimed`.
    pub error: f64,
}

/// How the nodes of a level agree with a field; see [`clusters`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FieldJudgement {
    /// The field.
    pub name: String,
    /// Normalised mutual information.
    pub nmi: f64,
    /// The share of documents in the commonest class of their node.
    pub purity: f64,
}

impl<'a> Ground<'a> {
    /// Pairs of queries and documents, by their numbers.
    pub fn new(pairs: Vec<Pair>) -> Self {
        Self { pairs, ..Self::default() }
    }

    /// With the documents' texts.
    #[must_use]
    pub fn with_texts<T: AsRef<str>>(mut self, texts: &[T]) -> Self {
        self.vocabulary = Some(Vocabulary::new(texts));
        self
    }

    /// With what is known of each document.
    #[must_use]
    pub fn with_metadata(mut self, metadata: &[Map<String, Value>]) -> Self {
        self.fields = Classes::of_metadata(metadata);
        self
    }

    /// With a vector for each document.
    #[must_use]
    pub fn with_vectors(mut self, vectors: Vectors<'a>) -> Self {
        self.vectors = Some(vectors);
        self
    }

    /// How many pairs there are.
    pub fn pairs(&self) -> usize {
        self.pairs.len()
    }

    /// Judges a tree.
    ///
    /// # Panics
    /// If the tree is of other documents or queries.
    pub fn judge(&self, tree: Judged<'_>) -> Judgement {
        let (places, agreements, leaves_for_90) = match tree {
            Judged::Placed { documents, queries } => {
                let levels =
                    agreement::of_places(documents.depth(), queries, documents.leaves(), &self.pairs);
                (documents, levels.into_iter().map(|level| (level, None)).collect::<Vec<_>>(), None)
            }
            Judged::Routed { places, documents, queries, routing } => {
                let queries = queries.iter().map(|query| routing.read(query));
                let levels = agreement::of_routed(places.depth(), queries, places.leaves(), &self.pairs);
                let levels = levels.into_iter().map(|RoutedAgreement { places, claimed, found, error }| {
                    (places, Some(Claims { claimed, found, error }))
                });
                (places, levels.collect(), Some(leaves_for_most(documents, routing)))
            }
        };
        let levels = agreements.into_iter().map(|(PlaceAgreement { level, together, chance }, claims)| {
            LevelJudgement { level, together, chance, claims, fields: self.fields_at(places, level) }
        });
        Judgement {
            levels: levels.collect(),
            leaves_for_90,
            topics: self.topics(places),
            congruence: self.vectors.map(|vectors| congruence(places, vectors, DRAWN.0, DRAWN.1)),
        }
    }

    /// Judges hierarchical 2-means over these vectors.
    ///
    /// # Panics
    /// If queries are of another width than documents, or there are fewer of either than in the pairs.
    pub fn judge_two_means(
        &self,
        documents: Vectors<'_>,
        queries: Vectors<'_>,
        depth: Depth,
        seed: u64,
    ) -> Judgement {
        let (documents, queries) = two_means::places(documents, queries, depth, seed);
        self.judge(Judged::Placed { documents: &Places::new(depth, documents), queries: &queries })
    }

    fn fields_at(&self, places: &Places, level: Level) -> Vec<FieldJudgement> {
        let judged = self.fields.iter().map(|(name, classes)| {
            let clusters::Agreement { nmi, purity, .. } = clusters::agreement(places, level, classes);
            FieldJudgement { name: name.clone(), nmi, purity }
        });
        judged.collect()
    }

    fn topics(&self, places: &Places) -> Option<Quality> {
        let vocabulary = self.vocabulary.as_ref()?;
        let level = places.depth().levels().take(usize::from(TOPICS)).next_back()?;
        let groups = Groups::of_level(places, level);
        Some(quality(vocabulary, &groups, &top_words(vocabulary, &groups)))
    }
}

fn leaves_for_most(items: &Assignments, routing: &Routing) -> f64 {
    let leaves: usize =
        (0..items.len()).into_par_iter().map(|item| routing.read(items.row(item)).leaves_for(MOST)).sum();
    leaves as f64 / items.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const TEXTS: [&str; 4] = ["ripe apples", "green apples", "rye bread", "white bread"];
    const VECTORS: [f32; 8] = [1.0, 0.0, 1.0, 0.1, 0.0, 1.0, 0.1, 1.0];

    fn ground() -> Ground<'static> {
        let metadata = ["fruit", "fruit", "baked", "baked"].map(|kind| {
            let fields = json!({ "kind": kind });
            fields.as_object().unwrap().clone()
        });
        let pairs = (0..4).map(|n| Pair { query: n, document: n }).collect();
        let vectors = Vectors { width: 2, values: &VECTORS };
        Ground::new(pairs).with_texts(&TEXTS).with_metadata(&metadata).with_vectors(vectors)
    }

    #[test]
    fn a_tree_that_routes_has_every_figure() {
        let depth = Depth::new(1).unwrap();
        let rows = vec![0.95, 0.05, 0.75, 0.25, 0.25, 0.75, 0.05, 0.95];
        let items = Assignments::nested(depth, rows).unwrap();
        let routing = Routing::same();
        let places = Places::routed(&items, &routing);
        let tree = Judged::Routed { places: &places, documents: &items, queries: &items, routing: &routing };
        let judgement = ground().judge(tree);
        let level = &judgement.levels[0];
        assert_eq!((level.together, level.chance), (1.0, 0.5));
        let claims = level.claims.unwrap();
        assert!((claims.claimed - 0.85).abs() < 1e-6 && claims.found == 1.0);
        assert!((claims.error - 0.15).abs() < 1e-6);
        assert_eq!((level.fields[0].nmi, level.fields[0].purity), (1.0, 1.0));
        assert_eq!(judgement.leaves_for_90, Some(1.5));
        let topics = judgement.topics.unwrap();
        assert_eq!((topics.topics, topics.diversity, topics.covered), (2, 1.0, 1.0));
        let congruence = judgement.congruence.as_ref().unwrap();
        assert!(congruence.levels[1].cosine.mean > congruence.levels[0].cosine.mean + 0.5);
        let written = serde_json::to_string(&judgement).unwrap();
        assert_eq!(serde_json::from_str::<Judgement>(&written).unwrap(), judgement);
    }

    #[test]
    fn two_means_has_places_alone() {
        let vectors = Vectors { width: 2, values: &VECTORS };
        let judgement = ground().judge_two_means(vectors, vectors, Depth::new(1).unwrap(), 1);
        assert_eq!((judgement.levels[0].together, judgement.levels[0].claims), (1.0, None));
        assert_eq!((judgement.levels[0].fields[0].nmi, judgement.leaves_for_90), (1.0, None));
        let written = serde_json::to_string(&judgement).unwrap();
        assert_eq!(serde_json::from_str::<Judgement>(&written).unwrap(), judgement);
        let bare = Ground::default().judge_two_means(vectors, vectors, Depth::new(1).unwrap(), 1);
        assert_eq!((bare.topics, bare.congruence, bare.levels[0].together), (None, None, 0.0));
    }
}
