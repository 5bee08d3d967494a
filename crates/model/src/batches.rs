//! Batches: every epoch all pairs in another order, neighbours together.
//!
//! What a query learns from is the other documents of its batch. Drawn at random, most of them are about something else and
//! soon teach it nothing. So batches are put together from small groups: a pair, and those whose documents are nearest to
//! its query by the encoder's own embeddings, of the pairs that the next few batches are made of anyway. Every batch is a
//! pure function of the seed and its number.

use crate::random::Random;
use crate::train::{TrainConfig, TrainingSet};
use retreever_data::{Pair, Ragged};
use retreever_kernels::gemm::{Mat, MatMut, Packed, Write, gemm_packed};
use std::collections::HashSet;

/// Neighbours are looked for among the pairs of so many batches.
const TOGETHER: usize = 16;

/// The batches of a training set.
pub(crate) struct Batches<'a> {
    set: TrainingSet<'a>,
    known: HashSet<Pair>,
    size: usize,
    neighbours: usize,
    seed: u64,
    epoch: Option<u64>,
    order: Vec<usize>,
    /// The step of the first of the batches that are put together, and their pairs.
    together: Option<(u64, Vec<Pair>)>,
    batch: Vec<Pair>,
    mask: Vec<bool>, // [size, size]
}

impl<'a> Batches<'a> {
    pub(crate) fn new(set: TrainingSet<'a>, config: &TrainConfig) -> Self {
        Self {
            set,
            known: set.train.iter().copied().collect(),
            size: config.batch.clamp(2, set.train.len()),
            neighbours: config.neighbours,
            seed: config.seed,
            epoch: None,
            order: (0..set.train.len()).collect(),
            together: None,
            batch: Vec::new(),
            mask: Vec::new(),
        }
    }

    /// Which pairs of the last batch belong together: `[size, size]`.
    pub(crate) fn mask(&self) -> &[bool] {
        &self.mask
    }

    /// The batch of a step.
    pub(crate) fn at(&mut self, step: u64) -> &[Pair] {
        let per_epoch = (self.order.len() / self.size) as u64;
        let (epoch, at) = (step / per_epoch, (step % per_epoch) as usize);
        if self.epoch != Some(epoch) {
            self.order.sort_unstable();
            Random::new(self.seed, epoch + 1).shuffle(&mut self.order);
            self.epoch = Some(epoch);
        }
        let first = step - (at % TOGETHER) as u64;
        let pairs = match self.together.take() {
            Some((start, pairs)) if start == first => pairs,
            _ => {
                let stretch = &self.order[(at - at % TOGETHER) * self.size..];
                let stretch = &stretch[..stretch.len().min(TOGETHER * self.size)];
                let pairs: Vec<Pair> = stretch.iter().map(|pair| self.set.train[*pair]).collect();
                if self.neighbours > 1 { self.grouped(&pairs, first) } else { pairs }
            }
        };
        self.batch.clear();
        self.batch.extend_from_slice(&pairs[at % TOGETHER * self.size..][..self.size]);
        self.together = Some((first, pairs));
        self.mask.clear();
        for query in &self.batch {
            let own = |document: &Pair| Pair { query: query.query, document: document.document };
            self.mask.extend(self.batch.iter().map(|document| self.known.contains(&own(document))));
        }
        &self.batch
    }

    /// Pairs in groups of neighbours, the groups in random order.
    fn grouped(&self, pairs: &[Pair], stream: u64) -> Vec<Pair> {
        let (count, width) = (pairs.len(), self.set.queries.width());
        let (mut queries, mut documents) = (Ragged::new(width), Ragged::new(width));
        for pair in pairs {
            self.set.queries.append_pooled(pair.query as usize, &mut queries);
            self.set.documents.append_pooled(pair.document as usize, &mut documents);
        }
        let units = documents.pooled().chunks_exact(width).flat_map(|x| {
            let length = x.iter().map(|x| x * x).sum::<f32>().sqrt().max(f32::MIN_POSITIVE);
            x.iter().map(move |x| x / length)
        });
        let units: Vec<f32> = units.collect();
        let units = Packed::new(Mat::new(&units, count, width).t());
        let (mut left, mut near, mut groups) = (vec![true; count], vec![0.0; count], Vec::new());
        for (first, query) in queries.pooled().chunks_exact(width).enumerate() {
            if !std::mem::take(&mut left[first]) {
                continue;
            }
            gemm_packed(Mat::new(query, 1, width), &units, MatMut::new(&mut near, 1, count), Write::Set);
            let another = |other: &usize| left[*other] && pairs[*other].document != pairs[first].document;
            let mut others: Vec<usize> = (0..count).filter(another).collect();
            if others.len() >= self.neighbours {
                others.select_nth_unstable_by(self.neighbours - 1, |a, b| near[*b].total_cmp(&near[*a]));
                others.truncate(self.neighbours - 1);
            }
            others.iter().for_each(|other| left[*other] = false);
            others.push(first);
            groups.push(others);
        }
        Random::new(self.seed ^ 0x6e65_6172, stream).shuffle(&mut groups);
        groups.into_iter().flatten().map(|pair| pairs[pair]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Recipe;

    /// Items of 10 subjects, each a direction of its own.
    fn items(count: usize) -> Ragged {
        let mut items = Ragged::new(10);
        for item in 0..count {
            let mut x = [0.01 * item as f32 / count as f32; 10];
            x[item % 10] = 1.0;
            items.push(&x, &x);
        }
        items
    }

    #[test]
    fn every_pair_comes_once_an_epoch_among_its_neighbours() {
        let items = items(200);
        let train: Vec<Pair> = (0..200).map(|n| Pair { query: n, document: n }).collect();
        let set = TrainingSet { queries: &items, documents: &items, train: &train, dev: &[] };
        let config = TrainConfig { batch: 20, neighbours: 5, ..Recipe::laptop().training(20, 3) };
        let mut batches = Batches::new(set, &config);
        let mut seen = Vec::new();
        for step in 0..10 {
            let batch = batches.at(step).to_vec();
            let subjects: HashSet<u32> = batch.iter().map(|pair| pair.query % 10).collect();
            assert!(subjects.len() <= 6, "four groups, and what is left over: {subjects:?}");
            assert_eq!(batches.mask().iter().filter(|own| **own).count(), 20);
            assert_eq!(Batches::new(set, &config).at(step), batch, "whatever came before");
            seen.extend(batch.iter().map(|pair| pair.query));
        }
        seen.sort_unstable();
        assert!(seen.iter().copied().eq(0..200));
        assert_ne!(batches.at(10).to_vec(), batches.at(0).to_vec());
    }
}
