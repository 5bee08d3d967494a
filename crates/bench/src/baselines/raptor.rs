//! RAPTOR (Sarthi et al. 2024): soft clusters from the bottom up, each with a summary that is embedded like a document,
//! again and again until few are left; search over the collapsed tree.
//!
//! Clusters are mixtures of Gaussians in principal components (see [`super::pca`]), global ones first and local ones
//! within them, their number chosen by the Bayesian information criterion. All nodes are scored together. A summary
//! is no document, so it answers for those beneath it: a document scores the best of itself and the summaries
//! above it, and of equals the nearer document comes first.

use super::flat::Flat;
use super::gmm::{Gmm, GmmConfig};
use super::matrix::{Rows, dot, normalise};
use super::pca;
use super::summary::Summariser;
use super::{Budget, Hit, Ranking, Searcher};
use anyhow::{Result, ensure};
use rayon::prelude::*;

/// How the tree is built.
#[derive(Clone, Debug)]
pub struct RaptorConfig {
    /// Who writes the summaries.
    pub summariser: Summariser,
    /// At most this many layers of summaries.
    pub layers: usize,
    /// Decides the clustering.
    pub seed: u64,
}

/// The texts of the documents, and what embeds a summary: rows of the documents' width.
pub struct Texts<'a> {
    /// One text a document.
    pub documents: &'a [&'a str],
    /// Embeds texts, one a row.
    pub embed: &'a (dyn Fn(&[String]) -> Result<Vec<f32>> + Sync),
}

/// Width of the principal components (RAPTOR's default).
const COMPONENTS: usize = 10;
/// A node belongs to every cluster that it reaches with this probability (RAPTOR's default).
const THRESHOLD: f32 = 0.1;
/// Nodes in a global cluster, about; and sizes of local clusters to choose from.
const GLOBAL: usize = 1000;
const LOCAL: [usize; 3] = [8, 16, 32];
/// Fewer nodes than this are not clustered again (RAPTOR stops at its reduced width, too).
const FEW: usize = COMPONENTS + 2;

/// Documents and summaries of summaries, searched as one set.
pub struct Raptor {
    documents: Flat,
    rows: Vec<f32>,
    width: usize,
    summaries: Vec<f32>,
    /// For each summary the documents beneath it, ascending.
    beneath: Vec<Vec<u32>>,
}

/// A node of the layer that is being clustered.
struct Node {
    text: String,
    beneath: Vec<u32>,
}

impl Raptor {
    /// Clusters, summarises and embeds, layer by layer; `observe` is told how many summaries there are.
    pub fn build(
        documents: Rows<'_>,
        texts: &Texts<'_>,
        config: &RaptorConfig,
        observe: &(dyn Fn(usize) + Sync),
    ) -> Result<Self> {
        ensure!(texts.documents.len() == documents.len(), "one text for each of the documents");
        let width = documents.width();
        let mut layer: Vec<Node> = (texts.documents.iter().zip(0..))
            .map(|(text, doc)| Node { text: (*text).to_owned(), beneath: vec![doc] })
            .collect();
        let mut rows = documents.as_slice().to_vec();
        let (mut summaries, mut beneath): (Vec<f32>, Vec<Vec<u32>>) = Default::default();
        for depth in 0..config.layers {
            if layer.len() < FEW {
                break;
            }
            let points = Rows::new(&rows, width);
            let clusters = soft_clusters(points, config.seed.wrapping_add(depth as u64));
            if clusters.len() >= layer.len() {
                break;
            }
            layer = summarise(points, &layer, &clusters, &config.summariser)?;
            let written: Vec<String> = layer.iter().map(|node| node.text.clone()).collect();
            rows = (texts.embed)(&written)?;
            ensure!(rows.len() == layer.len() * width, "a summary is embedded in another width");
            normalise(&mut rows, width);
            summaries.extend_from_slice(&rows);
            beneath.extend(layer.iter().map(|node| node.beneath.clone()));
            observe(beneath.len());
        }
        Ok(Self {
            documents: Flat::new(documents),
            rows: documents.as_slice().to_vec(),
            width,
            summaries,
            beneath,
        })
    }

    /// How many summaries there are, on all layers.
    pub fn summaries(&self) -> usize {
        self.beneath.len()
    }

    /// Lifts documents to the score of a better summary above them.
    fn lift(&self, query: &[f32], ranking: Ranking, k: usize) -> Ranking {
        // Only a summary that beats the last document kept can change who is kept.
        let full = ranking.hits.len() >= k.min(self.len());
        let least = ranking.hits.last().filter(|_| full).map_or(f32::NEG_INFINITY, |hit| hit.score);
        let mut lifted: Vec<(Hit, f32)> = ranking.hits.iter().map(|&hit| (hit, hit.score)).collect();
        for (summary, beneath) in self.summaries.chunks_exact(self.width).zip(&self.beneath) {
            let score = dot(query, summary);
            if score > least {
                lifted.extend(beneath.iter().map(|&doc| {
                    let own = dot(query, Rows::new(&self.rows, self.width).row(doc as usize));
                    (Hit { doc, score: score.max(own) }, own)
                }));
            }
        }
        lifted.sort_unstable_by(|(a, own_a), (b, own_b)| {
            b.score.total_cmp(&a.score).then(own_b.total_cmp(own_a)).then(a.doc.cmp(&b.doc))
        });
        let mut seen = std::collections::HashSet::new();
        let mut hits: Vec<Hit> =
            lifted.into_iter().map(|(hit, _)| hit).filter(|hit| seen.insert(hit.doc)).take(k).collect();
        // Scores fall strictly, so that who sorts by them again keeps this order.
        let mut above = f32::INFINITY;
        for hit in &mut hits {
            hit.score = hit.score.min(above.next_down());
            above = hit.score;
        }
        Ranking { hits, read: self.len() }
    }
}

fn summarise(
    points: Rows<'_>,
    layer: &[Node],
    clusters: &[Vec<u32>],
    summariser: &Summariser,
) -> Result<Vec<Node>> {
    clusters
        .par_iter()
        .map(|cluster| {
            let mean = Rows::new(&points.gather(cluster), points.width()).mean();
            let mut nearest: Vec<Hit> = (cluster.iter())
                .map(|&doc| Hit { doc, score: dot(&mean, points.row(doc as usize)) })
                .collect();
            nearest.sort_unstable_by(Hit::by_rank);
            let texts: Vec<&str> =
                nearest.iter().map(|near| layer[near.doc as usize].text.as_str()).collect();
            let mut beneath: Vec<u32> =
                cluster.iter().flat_map(|&node| layer[node as usize].beneath.iter().copied()).collect();
            beneath.sort_unstable();
            beneath.dedup();
            Ok(Node { text: summariser.summarise(&texts)?, beneath })
        })
        .collect()
}

/// Overlapping clusters of the rows, which together hold every row.
fn soft_clusters(rows: Rows<'_>, seed: u64) -> Vec<Vec<u32>> {
    let all: Vec<u32> = (0..rows.len() as u32).collect();
    let globals = if rows.len() > 2 * GLOBAL { mixture(rows, &all, &[GLOBAL], seed) } else { vec![all] };
    globals
        .par_iter()
        .flat_map(|members| {
            if members.len() < FEW { vec![members.clone()] } else { mixture(rows, members, &LOCAL, seed) }
        })
        .collect()
}

/// Splits the members softly into clusters of about one of the `sizes`, whichever explains them best.
fn mixture(rows: Rows<'_>, members: &[u32], sizes: &[usize], seed: u64) -> Vec<Vec<u32>> {
    let gathered = rows.gather(members);
    let reduced = pca::reduce(Rows::new(&gathered, rows.width()), COMPONENTS, seed);
    let reduced = Rows::new(&reduced, COMPONENTS.min(rows.width()));
    let spread: f32 = dot(reduced.as_slice(), reduced.as_slice()) / reduced.as_slice().len() as f32;
    let best = (sizes.iter())
        .map(|size| {
            let components = members.len().div_ceil(*size);
            Gmm::fit(reduced, GmmConfig { components, iterations: 30, floor: 1e-2 * spread + 1e-12, seed })
        })
        .min_by(|a, b| a.bic(members.len()).total_cmp(&b.bic(members.len())));
    let Some(gmm) = best else { return vec![members.to_vec()] };
    let mut clusters = vec![Vec::new(); gmm.components()];
    for (&member, responsibilities) in members.iter().zip(gmm.responsibilities(reduced)) {
        let most = responsibilities.iter().copied().fold(0.0, f32::max);
        for (cluster, &p) in clusters.iter_mut().zip(&responsibilities) {
            if p >= THRESHOLD.min(most) {
                cluster.push(member);
            }
        }
    }
    clusters.retain(|cluster| !cluster.is_empty());
    clusters
}

impl Searcher for Raptor {
    fn len(&self) -> usize {
        self.documents.len()
    }

    fn search(&self, queries: Rows<'_>, k: usize, budget: Budget) -> Vec<Ranking> {
        let rankings = self.documents.search(queries, k, budget);
        rankings
            .into_par_iter()
            .enumerate()
            .map(|(query, ranking)| self.lift(queries.row(query), ranking, k))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::conformance::{self, Cloud};
    use super::*;

    /// A text is the number of its document; a summary is embedded as the mean of the documents it quotes.
    fn build(documents: Rows<'_>) -> Raptor {
        let numbers: Vec<String> = (0..documents.len()).map(|doc| doc.to_string()).collect();
        let texts: Vec<&str> = numbers.iter().map(String::as_str).collect();
        let embed = |summaries: &[String]| {
            let mean = |text: &String| {
                let quoted: Vec<u32> = text.split_whitespace().map(|doc| doc.parse().unwrap()).collect();
                Rows::new(&documents.gather(&quoted), documents.width()).mean()
            };
            Ok(summaries.iter().flat_map(mean).collect())
        };
        let config = RaptorConfig { summariser: Summariser::Extractive, layers: 4, seed: 2 };
        Raptor::build(documents, &Texts { documents: &texts, embed: &embed }, &config, &|_| ()).unwrap()
    }

    #[test]
    fn conforms_but_for_the_lifted() {
        for cloud in [Cloud::clustered(400, 16, 12, 6), Cloud::new(2500, 12, 4), Cloud::new(3, 4, 1)] {
            let raptor = build(cloud.documents());
            conformance::check_rankings(&raptor, &cloud);
            conformance::check_budgets(&raptor, &cloud);
            conformance::check_determinism(&raptor, &build(cloud.documents()), &cloud);
            assert!(raptor.summaries() > 0 || cloud.documents().len() < FEW);
        }
    }

    #[test]
    fn a_summary_brings_its_cluster() {
        let cloud = Cloud::clustered(400, 16, 12, 6);
        let raptor = build(cloud.documents());
        let query = &raptor.summaries[..16];
        let best = &raptor.search(Rows::new(query, 16), 5, Budget::Everything)[0].hits;
        assert!(best.iter().all(|hit| raptor.beneath[0].contains(&hit.doc) && hit.score > 0.999));
    }

    #[test]
    fn soft_clusters_hold_every_row() {
        let cloud = Cloud::new(2500, 12, 4);
        let clusters = soft_clusters(cloud.documents(), 1);
        let mut held: Vec<u32> = clusters.concat();
        held.sort_unstable();
        held.dedup();
        assert_eq!(held.len(), 2500);
        assert!(clusters.len() > 50 && clusters.len() < 800, "{}", clusters.len());
    }
}
