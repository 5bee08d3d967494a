//! What is done once with a planted tree when all steps are done: one pure step from the last parameters to the saved tree.
//!
//! 1. Keep: weights are interpolated between the initial and the final ones, as near to the initial ones as validation does
//!    not get significantly worse. Twenty thousand pairs teach what holds for them alone, too. The initial ones, a tree without
//!    training, are among the candidates. The cosines of the lower space decide, for both spaces.
//! 2. Turn the upper levels towards the halves of the documents in the trained space, and plant the lower ones there.
//! 3. Calibrate the routing temperatures on the held-out pairs.
//! 4. Score what is saved.

use crate::learner::{Finished, Similarity};
use crate::parameters::Parameters;
use crate::train::TrainingSet;
use crate::tree::Tree;
use crate::validate::{Represent, Size, Validation, mean};
use retreever_data::{Embeddings, Pair, Ragged};
use std::collections::BTreeMap;

/// The shares of what was learned that are tried.
const SHARES: [f32; 8] = [0.0, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0];
/// What is validated on. Among few documents, an easy data set tells too little.
const DECISION: Size = Size { queries: 1500, documents: 12_000 };
/// A share may score less than the best by this much, if that is within two standard errors.
const MOST: f64 = 0.005;

/// Finishes a planted tree that started with the parameters `start`.
pub(crate) fn finish(tree: &mut Tree, start: &Parameters, set: TrainingSet<'_>, seed: u64) -> Finished {
    let validation = Validation::draw(set.dev, set.documents.len(), DECISION, seed);
    let share = if validation.is_empty() { 1.0 } else { keep(tree, start, set, &validation) };
    match share {
        0.0 => tree.plant(set.documents, seed),
        _ => tree.turn(set.documents, seed),
    }
    tree.calibrate(set.queries, set.documents, set.dev);
    let score = (!validation.is_empty())
        .then(|| mean(&validation.scores(&mut Leaves(tree), set.queries, set.documents)));
    Finished { share, score }
}

/// Interpolates the parameters to the smallest share that validates about as well as the best; returns it.
fn keep(tree: &mut Tree, start: &Parameters, set: TrainingSet<'_>, validation: &Validation) -> f32 {
    let last = tree.params().clone();
    let scores = SHARES.map(|share| {
        tree.interpolate(start, &last, share);
        validation.scores(&mut Space(tree), set.queries, set.documents)
    });
    let best = scores.iter().max_by(|a, b| mean(a).total_cmp(&mean(b))).cloned().unwrap_or_default();
    let kept = SHARES.into_iter().zip(&scores).find(|(_, scores)| about_as_good(scores, &best));
    let share = kept.map_or(1.0, |(share, _)| share);
    tree.interpolate(start, &last, share);
    share
}

/// Whether scores of the same queries are on the mean less than `best` by no more than [`MOST`], nor by more than two standard
/// errors of that mean.
fn about_as_good(scores: &[f64], best: &[f64]) -> bool {
    let less: Vec<f64> = best.iter().zip(scores).map(|(best, score)| best - score).collect();
    let loss = mean(&less);
    let squares: Vec<f64> = less.iter().map(|less| (less - loss).powi(2)).collect();
    let error = (mean(&squares) / less.len().max(1) as f64).sqrt();
    loss <= MOST.min(2.0 * error)
}

/// Items as the lower trunk makes them.
pub(crate) struct Space<'a>(pub(crate) &'a Tree);

impl Represent for Space<'_> {
    fn represent(&mut self, batch: &Ragged, rows: &mut Vec<f32>) {
        rows.extend(self.0.spaces(batch).unwrap_or_default().lower);
    }

    fn width(&self) -> usize {
        self.0.config().width
    }

    fn similarity(&self) -> Similarity {
        Similarity::Cosine
    }
}

/// Items as the leaves of the tree compare them.
struct Leaves<'a>(&'a Tree);

impl Represent for Leaves<'_> {
    fn represent(&mut self, batch: &Ragged, rows: &mut Vec<f32>) {
        self.0.represent(batch, self.0.config().depth.leaf_level(), &mut Default::default(), rows);
    }

    fn width(&self) -> usize {
        self.0.config().depth.leaves()
    }

    fn similarity(&self) -> Similarity {
        Similarity::TotalVariation
    }
}

/// The items of some pairs, numbered anew, and the pairs by these numbers.
pub(crate) struct Renumbered {
    pub(crate) queries: Vec<usize>,
    pub(crate) documents: Vec<usize>,
    pub(crate) pairs: Vec<Pair>,
}

impl Renumbered {
    pub(crate) fn new(pairs: &[Pair]) -> Self {
        let (mut queries, mut documents) = (BTreeMap::new(), BTreeMap::new());
        for pair in pairs {
            queries.insert(pair.query, 0u32);
            documents.insert(pair.document, 0u32);
        }
        queries.values_mut().zip(0..).for_each(|(place, number)| *place = number);
        documents.values_mut().zip(0..).for_each(|(place, number)| *place = number);
        let renumbered = pairs
            .iter()
            .map(|pair| Pair { query: queries[&pair.query], document: documents[&pair.document] });
        Self {
            pairs: renumbered.collect(),
            queries: queries.into_keys().map(|item| item as usize).collect(),
            documents: documents.into_keys().map(|item| item as usize).collect(),
        }
    }

    /// Some items in a batch of their own, without their tokens.
    pub(crate) fn gather(items: &dyn Embeddings, which: &[usize]) -> Ragged {
        let mut batch = Ragged::new(items.width());
        which.iter().for_each(|item| items.append_pooled(*item, &mut batch));
        batch
    }
}

#[cfg(test)]
mod tests {
    use super::about_as_good;

    #[test]
    fn scores_that_chance_could_have_made_are_about_as_good() {
        let best: Vec<f64> = (0..1000).map(|query| f64::from(query % 2)).collect();
        let but = |query: usize, score: f64| {
            let mut scores = best.clone();
            scores[query] = score;
            scores
        };
        assert!(about_as_good(&best, &best));
        assert!(about_as_good(&but(1, 0.0), &best), "one query of a thousand");
        let all: Vec<f64> = best.iter().map(|score| score - 0.001).collect();
        assert!(!about_as_good(&all, &best), "every query is a little worse");
        let few =
            |count: usize| about_as_good(&vec![0.0; count], &[vec![1.0], vec![0.0; count - 1]].concat());
        assert!(!few(20) && few(500), "five points are too many, whatever their error");
    }
}
