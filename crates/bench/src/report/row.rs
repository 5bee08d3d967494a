//! One measured thing: who ranked, how it searched, how well, how fast, and the command that does it again.

use retreever_data::Measures;
use serde::{Deserialize, Serialize};
use std::str::FromStr;

/// Who represents the documents and the queries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// Words.
    Bm25,
    /// The frozen encoder; a size below its width is a truncation.
    Encoder,
    /// A linear adapter after the encoder.
    Linear,
    /// A residual network after the encoder.
    Mlp,
    /// An adapter with nested sizes.
    Mrl,
    /// Hierarchical k-means.
    KMeansTree,
    /// Hierarchical mixtures of Gaussians.
    GmmTree,
    /// Clusters with summaries, bottom-up.
    Raptor(Summaries),
    /// The tree, trained at one level in each step, drawn anew.
    Stochastic,
    /// The tree, trained at all its levels in every step.
    AllLevels,
    /// The tree, trained at its leaves.
    Tree,
}

/// Who wrote RAPTOR's summaries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Summaries {
    /// Passages near the centre of the cluster.
    Extractive,
    /// A language model.
    LanguageModel,
}

impl Method {
    /// As it is called in tables and figures.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bm25 => "BM25",
            Self::Encoder => "Encoder",
            Self::Linear => "Encoder + Linear",
            Self::Mlp => "Encoder + MLP",
            Self::Mrl => "Encoder + MRL",
            Self::KMeansTree => "Hierarchical k-means",
            Self::GmmTree => "Hierarchical GMM",
            Self::Raptor(Summaries::Extractive) => "RAPTOR (extractive summaries)",
            Self::Raptor(Summaries::LanguageModel) => "RAPTOR (LLM summaries)",
            Self::Stochastic => "ReTreever-Stochastic",
            Self::AllLevels => "ReTreever, all levels",
            Self::Tree => "ReTreever",
        }
    }

    /// Whether it is the tree that the rest is compared with.
    pub fn is_ours(self) -> bool {
        matches!(self, Self::Tree | Self::Stochastic | Self::AllLevels)
    }
}

/// How the documents were searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Search {
    /// Every document was scored.
    Exact,
    /// The likeliest leaves were opened.
    Leaves,
    /// The likeliest leaves were opened until the answer is in them with a given chance.
    Cover,
    /// The best inverted lists were opened.
    Ivf,
    /// As inverted lists, with quantised residuals and a second look.
    Scann,
    /// A graph of neighbours was walked.
    Hnsw,
}

impl Search {
    /// As it is called in tables and figures.
    pub fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Leaves => "leaf search",
            Self::Cover => "cover",
            Self::Ivf => "IVF",
            Self::Scann => "ScaNN-like",
            Self::Hnsw => "HNSW",
        }
    }
}

/// What an ablation changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ablation {
    /// The split function.
    Split,
    /// The number of attention heads.
    Heads,
    /// The depth of the tree.
    Depth,
    /// The number of level embeddings.
    LevelEmbeddings,
    /// How probability is propagated.
    Propagation,
    /// What the default recipe is made of.
    Recipe,
}

impl Ablation {
    /// In the order of the report.
    pub const ALL: [Self; 6] =
        [Self::Split, Self::Heads, Self::Depth, Self::LevelEmbeddings, Self::Propagation, Self::Recipe];

    /// As it is typed.
    pub fn key(self) -> &'static str {
        match self {
            Self::Split => "split",
            Self::Heads => "heads",
            Self::Depth => "depth",
            Self::LevelEmbeddings => "level-embeddings",
            Self::Propagation => "propagation",
            Self::Recipe => "recipe",
        }
    }

    /// As it is called in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Split => "Split function",
            Self::Heads => "Attention heads",
            Self::Depth => "Depth of the tree",
            Self::LevelEmbeddings => "Level embeddings",
            Self::Propagation => "Propagation",
            Self::Recipe => "Recipe",
        }
    }
}

impl FromStr for Ablation {
    type Err = String;

    fn from_str(key: &str) -> Result<Self, String> {
        let known = Self::ALL.map(Self::key).join(", ");
        let named = Self::ALL.into_iter().find(|ablation| ablation.key() == key);
        named.ok_or_else(|| format!("there is no ablation `{key}`; there are {known}"))
    }
}

/// What an ablation changed, and to what.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Variant {
    /// What was changed.
    pub ablation: Ablation,
    /// Its value here.
    pub value: String,
}

/// A search by cover.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cover {
    /// The chance that was asked for, in tenths of a percent.
    pub asked_permille: u32,
    /// The share of judged pairs whose document was in the opened leaves, from 0 to 1.
    pub found: f64,
}

/// One measured thing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Who ranked.
    pub method: Method,
    /// How it searched.
    pub search: Search,
    /// How many numbers represent an item; nothing for words.
    pub size: Option<usize>,
    /// The share of the corpus that the search was allowed to read, in tenths of a percent; nothing for no limit.
    pub budget_permille: Option<u32>,
    /// What a search by cover was asked for, and what it found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cover: Option<Cover>,
    /// The seed that it was trained and clustered with.
    pub seed: u64,
    /// What an ablation changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<Variant>,
    /// Means over the test queries.
    pub measures: Measures,
    /// The share of the corpus that the average query read, from 0 to 1.
    pub share_read: f64,
    /// Median milliseconds of a query that comes alone, from its embedding to its ranking.
    pub latency_ms: f64,
    /// Milliseconds a query when all come in one batch.
    pub batched_ms: f64,
    /// Seconds spent training or building.
    pub build_seconds: f64,
    /// The command that makes this row again.
    pub command: String,
}
