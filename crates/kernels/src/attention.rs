//! The two element-wise halves of folded attention, over the tokens of one item.
//!
//! Scores stand token by token: row `t` holds one score for each column, a column being one (level, embedding,
//! head). Softmax runs down the columns, over the tokens; what the rest needs is its mean over a level's
//! embeddings. Column `(l, e, h)` is `(l * embeddings + e) * heads + h`; mean column `(l, h)` is `l * heads + h`.
//!
//! Dropout keeps an attention weight with probability `1 - rate` and divides it by that. Which weights are kept
//! is a hash of their place and a seed, worked out again on the way back.

use crate::exp::exp;
use crate::simd::simd;

/// The shape of an item's scores.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// How many levels are scored.
    pub levels: usize,
    /// Level embeddings per level.
    pub embeddings: usize,
    /// Heads.
    pub heads: usize,
}

impl Shape {
    /// Columns of the scores: one for each level, embedding and head.
    pub fn columns(&self) -> usize {
        self.levels * self.embeddings * self.heads
    }

    /// Columns of the mean: one for each level and head.
    pub fn means(&self) -> usize {
        self.levels * self.heads
    }
}

/// Which attention weights are dropped.
#[derive(Clone, Copy, Debug)]
pub struct Dropout {
    /// The share of weights dropped; 0 drops none.
    pub rate: f32,
    /// What makes the choice: another seed drops others.
    pub seed: u64,
}

impl Dropout {
    /// Nothing is dropped.
    pub const NONE: Self = Self { rate: 0.0, seed: 0 };

    #[inline(always)]
    fn threshold(&self) -> u32 {
        (f64::from(self.rate.clamp(0.0, 1.0)) * f64::from(u32::MAX)) as u32
    }

    /// The number that row `t` adds to the hash of its columns.
    #[inline(always)]
    fn row_key(&self, t: usize) -> u32 {
        mix((self.seed as u32) ^ mix((self.seed >> 32) as u32 ^ mix(t as u32)))
    }
}

#[inline(always)]
fn mix(mut x: u32) -> u32 {
    x = (x ^ (x >> 16)).wrapping_mul(0x7feb_352d);
    x = (x ^ (x >> 15)).wrapping_mul(0x846c_a68b);
    x ^ (x >> 16)
}

/// What a kept weight is multiplied with, or 0 for a dropped one.
#[inline(always)]
fn kept(row_key: u32, column: usize, threshold: u32, factor: f32) -> f32 {
    if mix(row_key ^ (column as u32).wrapping_mul(0x9e37_79b9)) >= threshold { factor } else { 0.0 }
}

simd! {
    /// Turns scores into attention weights in place, and writes their mean over the embeddings, after dropout,
    /// to `means`, `[tokens, means]`.
    ///
    /// # Panics
    /// If the sizes do not fit.
    pub fn weigh(scores: &mut [f32], means: &mut [f32], shape: Shape, dropout: Dropout) {
        let (columns, width) = (shape.columns(), shape.means());
        let tokens = scores.len() / columns;
        assert_eq!((scores.len(), means.len()), (tokens * columns, tokens * width), "scores of another shape");
        const BLOCK: usize = 64;
        for first in (0..columns).step_by(BLOCK) {
            let block = BLOCK.min(columns - first);
            let (mut max, mut sum) = ([f32::NEG_INFINITY; BLOCK], [0.0f32; BLOCK]);
            for t in 0..tokens {
                for (max, score) in max.iter_mut().zip(&scores[t * columns + first..][..block]) {
                    *max = if *score > *max { *score } else { *max };
                }
            }
            for t in 0..tokens {
                let row = &mut scores[t * columns + first..][..block];
                for ((score, max), sum) in row.iter_mut().zip(&max).zip(&mut sum) {
                    *score = exp(*score - *max);
                    *sum += *score;
                }
            }
            for sum in &mut sum {
                *sum = 1.0 / *sum;
            }
            for t in 0..tokens {
                for (score, scale) in scores[t * columns + first..][..block].iter_mut().zip(&sum) {
                    *score *= scale;
                }
            }
        }
        let share = 1.0 / shape.embeddings as f32;
        let (threshold, factor) = (dropout.threshold(), share / (1.0 - dropout.rate));
        for t in 0..tokens {
            let (row, key) = (&scores[t * columns..][..columns], dropout.row_key(t));
            for level in 0..shape.levels {
                let mean = &mut means[t * width + level * shape.heads..][..shape.heads];
                mean.fill(0.0);
                for embedding in 0..shape.embeddings {
                    let at = (level * shape.embeddings + embedding) * shape.heads;
                    let weights = &row[at..][..shape.heads];
                    if threshold == 0 {
                        for (mean, weight) in mean.iter_mut().zip(weights) {
                            *mean += weight * share;
                        }
                    } else {
                        for (h, (mean, weight)) in mean.iter_mut().zip(weights).enumerate() {
                            *mean += weight * kept(key, at + h, threshold, factor);
                        }
                    }
                }
            }
        }
    }
}

simd! {
    /// The way back: replaces the attention weights of [`weigh()`] by the gradient of their scores, given
    /// `grad`, that of the means. `sums` is room for one number a column.
    ///
    /// # Panics
    /// If the sizes do not fit.
    pub fn weigh_backward(weights: &mut [f32], grad: &[f32], sums: &mut [f32], shape: Shape, dropout: Dropout) {
        let (columns, width) = (shape.columns(), shape.means());
        let tokens = weights.len() / columns;
        assert_eq!((weights.len(), grad.len()), (tokens * columns, tokens * width), "weights of another shape");
        assert_eq!(sums.len(), columns, "a sum for every column");
        let share = 1.0 / shape.embeddings as f32;
        let (threshold, factor) = (dropout.threshold(), share / (1.0 - dropout.rate));
        // d score = weight * (d weight - sum over tokens of weight * d weight)
        sums.fill(0.0);
        for pass in [Pass::Sum, Pass::Write] {
            for t in 0..tokens {
                let (row, key) = (&mut weights[t * columns..][..columns], dropout.row_key(t));
                for level in 0..shape.levels {
                    let grad = &grad[t * width + level * shape.heads..][..shape.heads];
                    for embedding in 0..shape.embeddings {
                        let at = (level * shape.embeddings + embedding) * shape.heads;
                        let (row, sums) = (&mut row[at..][..shape.heads], &mut sums[at..][..shape.heads]);
                        for h in 0..shape.heads {
                            let keep = if threshold == 0 { share } else { kept(key, at + h, threshold, factor) };
                            let d = grad[h] * keep;
                            match pass {
                                Pass::Sum => sums[h] += row[h] * d,
                                Pass::Write => row[h] *= d - sums[h],
                            }
                        }
                    }
                }
            }
        }
    }
}

#[derive(Clone, Copy)]
enum Pass {
    Sum,
    Write,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn both_halves_agree_with_their_twins_and_the_formula(
            tokens in 1usize..9, levels in 1usize..4, embeddings in 1usize..4, heads in 1usize..20,
            drop in any::<bool>(), numbers in prop::collection::vec(-3.0f32..3.0, 64),
        ) {
            let shape = Shape { levels, embeddings, heads };
            let dropout = if drop { Dropout { rate: 0.3, seed: 7 } } else { Dropout::NONE };
            let (columns, width) = (shape.columns(), shape.means());
            let scores: Vec<f32> = (0..tokens * columns).map(|k| numbers[k * 7 % 64]).collect();
            let (mut p, mut means) = (scores.clone(), vec![0.0; tokens * width]);
            super::weigh(&mut p, &mut means, shape, dropout);
            let (mut twin, mut twin_means) = (scores.clone(), vec![0.0; tokens * width]);
            weigh::scalar(&mut twin, &mut twin_means, shape, dropout);
            for (x, y) in p.iter().zip(&twin).chain(means.iter().zip(&twin_means)) {
                prop_assert!((x - y).abs() < 1e-5);
            }
            for column in 0..columns {
                let total: f32 = (0..tokens).map(|t| scores[t * columns + column].exp()).sum();
                for t in 0..tokens {
                    prop_assert!((p[t * columns + column] - scores[t * columns + column].exp() / total).abs() < 1e-5);
                }
            }
            let grad: Vec<f32> = (0..tokens * width).map(|k| numbers[k * 5 % 64]).collect();
            let (mut back, mut sums) = (p.clone(), vec![0.0; columns]);
            super::weigh_backward(&mut back, &grad, &mut sums, shape, dropout);
            weigh_backward::scalar(&mut twin, &grad, &mut sums, shape, dropout);
            let objective = |scores: &[f32]| {
                let (mut p, mut means) = (scores.to_vec(), vec![0.0; tokens * width]);
                super::weigh(&mut p, &mut means, shape, dropout);
                means.iter().zip(&grad).map(|(m, g)| f64::from(m * g)).sum::<f64>()
            };
            for at in (0..tokens * columns).step_by(11) {
                prop_assert!((back[at] - twin[at]).abs() < 1e-4);
                let (mut up, mut down) = (scores.clone(), scores.clone());
                up[at] += 1e-2;
                down[at] -= 1e-2;
                let slope = (objective(&up) - objective(&down)) / 2e-2;
                prop_assert!((f64::from(back[at]) - slope).abs() < 2e-3, "{} for {slope}", back[at]);
            }
        }
    }
}
