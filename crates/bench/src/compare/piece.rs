//! The pieces that a comparison is cut into: each is trained, built and measured on its own, and kept when done.
//!
//! A piece is written as it is typed after `--only`: `bm25`, `ivf`, `gmm-tree:1` (with its seed), `heads=8:0`.

use super::recipe::{Choice, Recipe};
use crate::report::{Ablation, Search};
use std::fmt;
use std::str::FromStr;

/// One piece of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Piece {
    /// Words.
    Bm25,
    /// The frozen encoder at every size.
    Encoder,
    /// Part of the corpus, over the frozen encoder.
    Approximate(Search),
    /// Hierarchical k-means with a seed.
    KMeansTree(u64),
    /// Hierarchical mixtures with a seed.
    GmmTree(u64),
    /// RAPTOR with a seed.
    Raptor(u64),
    /// Something trained with a seed.
    Trained(Recipe, u64),
}

impl Piece {
    /// Everything, for this many seeds, the quick pieces first.
    pub fn all(seeds: u64, ablations: &[Ablation]) -> Vec<Self> {
        let searches = [Search::Ivf, Search::Scann, Search::Hnsw];
        let trees = [Recipe::Tree, Recipe::Stochastic, Recipe::AllLevels];
        let recipes = [Recipe::Linear, Recipe::Mlp, Recipe::Mrl].into_iter().chain(trees);
        let ablated = ablations.iter().flat_map(|&ablation| Choice::of(ablation)).map(Recipe::Ablated);
        let recipes: Vec<Recipe> = recipes.chain(ablated).collect();
        let mut pieces = vec![Self::Bm25, Self::Encoder];
        pieces.extend(searches.map(Self::Approximate));
        for seed in 0..seeds {
            pieces.extend([Self::KMeansTree(seed), Self::GmmTree(seed), Self::Raptor(seed)]);
        }
        for seed in 0..seeds {
            pieces.extend(recipes.iter().map(|&recipe| Self::Trained(recipe, seed)));
        }
        pieces
    }

    /// The same piece with another seed, where it has one.
    fn with_seed(self, seed: u64) -> Self {
        match self {
            Self::Bm25 | Self::Encoder | Self::Approximate(_) => self,
            Self::KMeansTree(_) => Self::KMeansTree(seed),
            Self::GmmTree(_) => Self::GmmTree(seed),
            Self::Raptor(_) => Self::Raptor(seed),
            Self::Trained(recipe, _) => Self::Trained(recipe, seed),
        }
    }
}

impl fmt::Display for Piece {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bm25 => f.write_str("bm25"),
            Self::Encoder => f.write_str("encoder"),
            Self::Approximate(Search::Exact | Search::Leaves | Search::Cover) => f.write_str("flat"),
            Self::Approximate(Search::Ivf) => f.write_str("ivf"),
            Self::Approximate(Search::Scann) => f.write_str("scann"),
            Self::Approximate(Search::Hnsw) => f.write_str("hnsw"),
            Self::KMeansTree(seed) => write!(f, "k-means-tree:{seed}"),
            Self::GmmTree(seed) => write!(f, "gmm-tree:{seed}"),
            Self::Raptor(seed) => write!(f, "raptor:{seed}"),
            Self::Trained(recipe, seed) => write!(f, "{recipe}:{seed}"),
        }
    }
}

impl FromStr for Piece {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, seed) = text.split_once(':').unwrap_or((text, "0"));
        let seed = seed.parse().map_err(|_| format!("`{seed}` is not a seed: write `{name}:0`"))?;
        let known = Self::all(1, &Ablation::ALL);
        match known.iter().find(|piece| piece.to_string().split(':').next() == Some(name)) {
            Some(piece) => Ok(piece.with_seed(seed)),
            None => {
                let known: Vec<String> = known.iter().map(ToString::to_string).collect();
                Err(format!("there is no piece `{name}`; there are {}", known.join(", ")))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        for piece in Piece::all(3, &Ablation::ALL) {
            assert_eq!(piece.to_string().parse(), Ok(piece));
        }
        assert!("gmm-tree:x".parse::<Piece>().unwrap_err().contains("not a seed"));
        assert!("gnn".parse::<Piece>().unwrap_err().contains("raptor:0"));
        assert!("heads".parse::<Ablation>().is_ok() && "Heads".parse::<Ablation>().is_err());
    }
}
