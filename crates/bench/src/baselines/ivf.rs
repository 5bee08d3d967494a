//! IVF-Flat: documents in the lists of their nearest centres; a query opens the lists of its nearest centres and
//! scores what they hold exactly (Sivic and Zisserman 2003; `IndexIVFFlat` in Faiss).

use super::kmeans::{KMeans, KMeansConfig};
use super::lists::{Lists, Measure};
use super::matrix::{Rows, map_products};
use super::{Budget, Ranking, Searcher};
use retreever_kernels::gemm::Packed;

/// How the lists are made.
#[derive(Clone, Copy, Debug)]
pub struct IvfConfig {
    /// How many lists; without it the square root of the number of documents.
    pub lists: Option<usize>,
    /// Decides the clustering.
    pub seed: u64,
}

impl IvfConfig {
    pub(super) fn kmeans(&self, documents: usize) -> KMeansConfig {
        KMeansConfig::new(self.lists.unwrap_or((documents as f64).sqrt().round() as usize).max(1), self.seed)
    }
}

/// Inverted lists with full vectors. [`Budget::Parts`] is the number of lists opened (`nprobe`).
pub struct Ivf {
    centres: Packed,
    lists: Lists,
}

impl Ivf {
    /// Clusters the documents and lays out the lists.
    pub fn build(documents: Rows<'_>, config: IvfConfig) -> Self {
        let fit = KMeans::fit(documents, config.kmeans(documents.len()));
        Self { centres: fit.centres().pack(), lists: Lists::new(documents, fit.members(), Measure::Product) }
    }
}

impl Searcher for Ivf {
    fn len(&self) -> usize {
        self.lists.len()
    }

    fn search(&self, queries: Rows<'_>, k: usize, budget: Budget) -> Vec<Ranking> {
        // The lists are ranked by inner product, the measure of the search, as Faiss does for that metric.
        let opened = map_products(queries, &self.centres, |_, scores| self.lists.choose(scores, budget));
        self.lists.search(queries, &opened, k)
    }
}

#[cfg(test)]
mod tests {
    use super::super::conformance::{self, Cloud};
    use super::*;

    #[test]
    fn conforms() {
        conformance::check(|documents| Box::new(Ivf::build(documents, IvfConfig { lists: None, seed: 7 })));
    }

    #[test]
    fn a_tenth_of_clustered_data_holds_almost_all_neighbours() {
        let cloud = Cloud::clustered(4000, 32, 40, 5);
        let ivf = Ivf::build(cloud.documents(), IvfConfig { lists: Some(40), seed: 1 });
        assert!(conformance::recall(&ivf, &cloud, 10, Budget::Share(0.1)) > 0.9);
    }
}
