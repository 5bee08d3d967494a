//! The anisotropic product quantiser of ScaNN (Guo et al. 2020, equation 4 and theorem 3.2).
//!
//! The error `r` of a document `x` is weighted by direction: `|r|^2 + (eta - 1) (r . x)^2 / |x|^2`, because an error
//! along `x` moves the score of exactly those queries that rank it high. `eta = (d - 1) T^2 / (1 - T^2)` with the
//! threshold `T = 0.2`. The parallel part couples the subspaces, so codes and codebooks are improved one subspace
//! at a time with the others held still; every step lowers the loss.

use super::kmeans::{KMeans, KMeansConfig};
use super::matrix::{Rows, dot};
use rayon::prelude::*;

/// Centres of a subspace: what 4 bits can name.
pub(super) const CODES: usize = 16;
/// Numbers in a subspace.
const SUBSPACE: usize = 4;
/// Rows that the codebooks are trained on.
const SAMPLE: usize = 16_384;

/// How the codebooks are trained.
#[derive(Clone, Copy, Debug)]
pub(super) struct QuantiserConfig {
    /// How much heavier an error along the document weighs.
    pub(super) eta: f32,
    /// Rounds of encoding and moving the centres.
    pub(super) rounds: usize,
    /// Decides the sample and the starts.
    pub(super) seed: u64,
}

impl QuantiserConfig {
    /// The weight for rows of this width at the threshold 0.2.
    pub(super) fn new(width: usize, seed: u64) -> Self {
        let threshold = 0.2f32;
        let eta = (width as f32 - 1.0) * threshold.powi(2) / (1.0 - threshold.powi(2));
        Self { eta: eta.max(1.0), rounds: 4, seed }
    }
}

type Centre = [f32; SUBSPACE];

/// Codebooks: 16 centres for every four numbers.
pub(super) struct Quantiser {
    books: Vec<[Centre; CODES]>,
    eta: f32,
}

/// The `index`-th four numbers of a row, padded with zeros.
fn part(row: &[f32], index: usize) -> Centre {
    let mut part = [0.0; SUBSPACE];
    let from = (index * SUBSPACE).min(row.len());
    let to = (from + SUBSPACE).min(row.len());
    part[..to - from].copy_from_slice(&row[from..to]);
    part
}

fn inner(a: &Centre, b: &Centre) -> f32 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

fn minus(a: &Centre, b: &Centre) -> Centre {
    std::array::from_fn(|i| a[i] - b[i])
}

impl Quantiser {
    /// Trains codebooks for `residuals`, whose directions are those of `rows`.
    pub(super) fn train(rows: Rows<'_>, residuals: Rows<'_>, config: QuantiserConfig) -> Self {
        let mut rng = fastrand::Rng::with_seed(config.seed);
        let mut chosen = rng.choose_multiple(0..rows.len() as u32, SAMPLE.min(rows.len()));
        chosen.sort_unstable();
        let (x, r) = (rows.gather(&chosen), residuals.gather(&chosen));
        let (x, r) = (Rows::new(&x, rows.width()), Rows::new(&r, rows.width()));
        // Two codes a byte: an even number of subspaces, the last perhaps of zeros.
        let parts = rows.width().div_ceil(SUBSPACE).next_multiple_of(2);
        let books = (0..parts)
            .into_par_iter()
            .map(|index| {
                let column: Vec<f32> = (0..r.len()).flat_map(|row| part(r.row(row), index)).collect();
                let seed = config.seed.wrapping_add(index as u64);
                let config = KMeansConfig { iterations: 10, ..KMeansConfig::new(CODES, seed) };
                let fit = KMeans::fit(Rows::new(&column, SUBSPACE), config);
                let mut book = [[0.0; SUBSPACE]; CODES];
                for (centre, row) in book.iter_mut().zip(fit.centres().as_slice().chunks_exact(SUBSPACE)) {
                    centre.copy_from_slice(row);
                }
                book
            })
            .collect();
        let mut quantiser = Self { books, eta: config.eta };
        for _ in 0..config.rounds {
            let codes = quantiser.codes(x, r);
            quantiser.move_centres(x, r, &codes);
        }
        quantiser
    }

    /// Bytes that encode a row.
    pub(super) fn bytes(&self) -> usize {
        self.books.len() / 2
    }

    /// The codes of every row, two a byte, low bits first.
    pub(super) fn encode(&self, rows: Rows<'_>, residuals: Rows<'_>) -> Vec<u8> {
        let codes = self.codes(rows, residuals);
        codes.iter().flat_map(|codes| codes.chunks_exact(2).map(|pair| pair[0] | pair[1] << 4)).collect()
    }

    /// For each subspace the inner products of the query's part with the centres.
    pub(super) fn tables(&self, query: &[f32]) -> Vec<[f32; CODES]> {
        let table = |(index, book): (usize, &[Centre; CODES])| {
            let query = part(query, index);
            std::array::from_fn(|code| inner(&query, &book[code]))
        };
        self.books.iter().enumerate().map(table).collect()
    }

    /// How much an error along this row weighs beyond its length.
    fn along(&self, row: &[f32]) -> f32 {
        (self.eta - 1.0) / dot(row, row).max(f32::MIN_POSITIVE)
    }

    fn codes(&self, rows: Rows<'_>, residuals: Rows<'_>) -> Vec<Vec<u8>> {
        (0..rows.len()).into_par_iter().map(|row| self.code(rows.row(row), residuals.row(row))).collect()
    }

    fn code(&self, row: &[f32], residual: &[f32]) -> Vec<u8> {
        let weight = self.along(row);
        let parts: Vec<(Centre, Centre)> =
            (0..self.books.len()).map(|index| (part(row, index), part(residual, index))).collect();
        let best = |index: usize, parallel: f32, weight: f32| {
            let (x, r) = &parts[index];
            let loss = |centre: &Centre| {
                let error = minus(r, centre);
                inner(&error, &error) + weight * (parallel + inner(x, &error)).powi(2)
            };
            let losses = self.books[index].each_ref().map(loss);
            (0..CODES).min_by(|&a, &b| losses[a].total_cmp(&losses[b])).unwrap_or(0)
        };
        let mut codes: Vec<u8> = (0..parts.len()).map(|index| best(index, 0.0, 0.0) as u8).collect();
        let error_along = |index: usize, code: u8| {
            let (x, r) = &parts[index];
            inner(x, &minus(r, &self.books[index][usize::from(code)]))
        };
        let mut parallel: f32 = codes.iter().enumerate().map(|(index, &code)| error_along(index, code)).sum();
        for _ in 0..2 {
            for index in 0..parts.len() {
                parallel -= error_along(index, codes[index]);
                codes[index] = best(index, parallel, weight) as u8;
                parallel += error_along(index, codes[index]);
            }
        }
        codes
    }

    /// Moves each centre to where the loss of its rows is least, one subspace after another.
    fn move_centres(&mut self, rows: Rows<'_>, residuals: Rows<'_>, codes: &[Vec<u8>]) {
        let error_along = |book: &[Centre; CODES], index: usize, row: usize| {
            let error = minus(&part(residuals.row(row), index), &book[usize::from(codes[row][index])]);
            inner(&part(rows.row(row), index), &error)
        };
        let mut parallel: Vec<f32> = (0..rows.len())
            .map(|row| (0..self.books.len()).map(|index| error_along(&self.books[index], index, row)).sum())
            .collect();
        let weights: Vec<f32> = (0..rows.len()).map(|row| self.along(rows.row(row))).collect();
        for index in 0..self.books.len() {
            let mut equations = [Equation::default(); CODES];
            for row in 0..rows.len() {
                parallel[row] -= error_along(&self.books[index], index, row);
                let (x, r) = (part(rows.row(row), index), part(residuals.row(row), index));
                equations[usize::from(codes[row][index])].add(&x, &r, parallel[row], weights[row]);
            }
            for (centre, equation) in self.books[index].iter_mut().zip(&equations) {
                if let Some(solution) = equation.solve() {
                    *centre = solution;
                }
            }
            for row in 0..rows.len() {
                parallel[row] += error_along(&self.books[index], index, row);
            }
        }
    }

    #[cfg(test)]
    fn loss(&self, rows: Rows<'_>, residuals: Rows<'_>) -> f64 {
        let codes = self.codes(rows, residuals);
        let mut total = 0.0;
        for (row, codes) in codes.iter().enumerate() {
            let (mut square, mut parallel) = (0.0, 0.0);
            for (index, &code) in codes.iter().enumerate() {
                let error = minus(&part(residuals.row(row), index), &self.books[index][usize::from(code)]);
                square += inner(&error, &error);
                parallel += inner(&part(rows.row(row), index), &error);
            }
            total += f64::from(square + self.along(rows.row(row)) * parallel * parallel);
        }
        total
    }
}

/// The normal equations of one centre `v`: `sum (I + w x xᵀ) v = sum (r + w (p + x . r) x)`.
#[derive(Clone, Copy, Default)]
struct Equation {
    left: [[f64; SUBSPACE]; SUBSPACE],
    right: [f64; SUBSPACE],
    rows: usize,
}

impl Equation {
    fn add(&mut self, x: &Centre, r: &Centre, parallel: f32, weight: f32) {
        let pull = f64::from(weight * (parallel + inner(x, r)));
        for i in 0..SUBSPACE {
            self.left[i][i] += 1.0;
            for j in 0..SUBSPACE {
                self.left[i][j] += f64::from(weight) * f64::from(x[i]) * f64::from(x[j]);
            }
            self.right[i] += f64::from(r[i]) + pull * f64::from(x[i]);
        }
        self.rows += 1;
    }

    /// Elimination without pivots: the matrix is the identity plus squares. Nothing for a centre without rows.
    fn solve(&self) -> Option<Centre> {
        if self.rows == 0 {
            return None;
        }
        let Self { mut left, mut right, .. } = *self;
        for i in 0..SUBSPACE {
            for below in i + 1..SUBSPACE {
                let factor = left[below][i] / left[i][i];
                for j in i..SUBSPACE {
                    left[below][j] -= factor * left[i][j];
                }
                right[below] -= factor * right[i];
            }
        }
        for i in (0..SUBSPACE).rev() {
            let known: f64 = (i + 1..SUBSPACE).map(|j| left[i][j] * right[j]).sum();
            right[i] = (right[i] - known) / left[i][i];
        }
        Some(right.map(|x| x as f32))
    }
}

#[cfg(test)]
mod tests {
    use super::super::conformance::Cloud;
    use super::*;

    #[test]
    fn training_lowers_the_loss() {
        let cloud = Cloud::new(600, 22, 4);
        let rows = cloud.documents();
        let losses = [0, 1, 4].map(|rounds| {
            Quantiser::train(rows, rows, QuantiserConfig { eta: 8.0, rounds, seed: 1 }).loss(rows, rows)
        });
        assert!(losses[1] < losses[0] && losses[2] < losses[1], "{losses:?}");
    }

    #[test]
    fn errors_along_the_documents_are_smaller_than_with_the_plain_loss() {
        let cloud = Cloud::new(600, 24, 4);
        let rows = cloud.documents();
        let [plain, anisotropic] = [1.0, 8.0].map(|eta| {
            let quantiser = Quantiser::train(rows, rows, QuantiserConfig { eta, rounds: 4, seed: 1 });
            let codes = quantiser.codes(rows, rows);
            let error = |row: usize| {
                let tables = quantiser.tables(rows.row(row));
                let score: f32 =
                    tables.iter().zip(&codes[row]).map(|(table, &c)| table[usize::from(c)]).sum();
                f64::from(score - dot(rows.row(row), rows.row(row))).powi(2)
            };
            (0..rows.len()).map(error).sum::<f64>()
        });
        assert!(anisotropic < 0.5 * plain, "{anisotropic} {plain}");
    }

    #[test]
    fn solves_the_normal_equations() {
        let mut equation = Equation::default();
        let x = [0.3, -0.2, 0.5, 0.1];
        equation.add(&x, &[1.0, 2.0, 3.0, 4.0], 0.0, 5.0);
        let solution = equation.solve().unwrap();
        for (found, expected) in solution.iter().zip([1.0, 2.0, 3.0, 4.0]) {
            assert!((found - expected).abs() < 1e-5, "one row is met exactly");
        }
        assert_eq!(Equation::default().solve(), None);
    }
}
