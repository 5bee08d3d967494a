//! Fitting the sixteen cells of a codebook to the numbers of a level.
//!
//! Lloyd's iteration for absolute error: each cell stands for the median of its numbers, cells part half way
//! between two medians. Assignments are heavy-tailed, and the fit makes cells narrow where most numbers are.

use super::scale::{class_of, scale};
use retreever_kernels::codes::Codebook;

/// How often cells and medians take turns.
const ROUNDS: usize = 30;
/// How many numbers are looked at.
const SAMPLE: usize = 1 << 16;

/// A codebook for rows like these.
pub(crate) fn fit<'a>(rows: impl Iterator<Item = &'a [f32]>) -> Codebook {
    let mut numbers = Vec::new();
    for row in rows {
        let scale = scale(class_of(row.iter().copied().fold(0.0, f32::max)));
        numbers.extend(row.iter().map(|p| (p / scale).min(1.0)));
        if numbers.len() >= SAMPLE {
            break;
        }
    }
    numbers.sort_unstable_by(f32::total_cmp);
    book(&centres(&numbers))
}

/// Sixteen numbers that stand for sorted ones with little absolute error.
pub(crate) fn centres(sorted: &[f32]) -> [f32; 16] {
    refine(sorted, start(sorted))
}

/// Sixteen numbers that share the sum of square roots equally.
fn start(sorted: &[f32]) -> [f32; 16] {
    let total: f64 = sorted.iter().map(|v| f64::from(v.sqrt())).sum();
    let mut centres = [0.0; 16];
    let (mut sum, mut next) = (0.0, 0);
    for v in sorted {
        sum += f64::from(v.sqrt());
        while next < 16 && sum >= total * (next as f64 + 0.5) / 16.0 {
            centres[next] = *v;
            next += 1;
        }
    }
    centres
}

fn refine(sorted: &[f32], mut centres: [f32; 16]) -> [f32; 16] {
    for _ in 0..ROUNDS {
        let mut from = 0;
        for cell in 0..16 {
            let to = if cell == 15 {
                sorted.len()
            } else {
                let bound = (centres[cell] + centres[cell + 1]) / 2.0;
                from + sorted[from..].partition_point(|v| *v < bound)
            };
            if from < to {
                centres[cell] = sorted[(from + to) / 2];
            }
            from = to;
        }
    }
    centres
}

/// Cells around these centres, which become bytes: each at least one above the last.
fn book(centres: &[f32; 16]) -> Codebook {
    let mut values = [0u8; 16];
    let mut least = 0;
    for (cell, centre) in centres.iter().enumerate() {
        let most = 240 + cell as u8;
        let value = ((centre * 255.0).round() as u8).clamp(least, most);
        values[cell] = value;
        least = value.saturating_add(1);
    }
    let mut bounds = [0.0; 17];
    for cell in 1..16 {
        bounds[cell] = (f32::from(values[cell - 1]) + f32::from(values[cell])) / 510.0;
    }
    bounds[16] = 1.0;
    Codebook { bounds, values }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn books_rise_whatever_the_numbers() {
        let rows: [&[f32]; 4] = [&[1.0, 0.0, 0.0, 0.0], &[0.25; 4], &[0.7, 0.1, 0.1, 0.1], &[]];
        for take in 0..=4 {
            let book = fit(rows[..take].iter().copied());
            assert!(book.bounds.is_sorted_by(|a, b| a < b), "{book:?}");
            assert!(book.values.is_sorted_by(|a, b| a < b), "{book:?}");
            assert_eq!((book.bounds[0], book.bounds[16]), (0.0, 1.0));
        }
    }
}
