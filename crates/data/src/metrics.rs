//! How good one ranking is: nDCG, recall, reciprocal rank, average precision.
//!
//! Definitions are those of `trec_eval`: the gain of a document is its grade, the discount of rank `r` (from 1)
//! is `1 / log2(r + 1)`, a document of grade 0 is not relevant, and a query without relevant documents scores 0.
//!
//! Every function takes the grades of the ranked documents, best first (0 for one that nobody judged), and
//! the grades of all documents judged for the query, in any order. Whose documents these are, and how a query
//! set is averaged, is left to [`crate::evaluate()`].

/// Discounted gain of the first `k` over the best one possible.
///
/// ```
/// // The better of two relevant documents came second, the other not at all.
/// let ndcg = retreever_data::metrics::ndcg(&[0, 2], &[1, 2], 10);
/// assert!((ndcg - (2.0 / 3f64.log2()) / (2.0 + 1.0 / 3f64.log2())).abs() < 1e-12);
/// ```
pub fn ndcg(ranked: &[u32], judged: &[u32], k: usize) -> f64 {
    let mut ideal = judged.to_vec();
    ideal.sort_unstable_by(|a, b| b.cmp(a));
    let best = discounted_gain(&ideal, k);
    if best == 0.0 { 0.0 } else { discounted_gain(ranked, k) / best }
}

/// The share of the relevant documents that is among the first `k`.
pub fn recall(ranked: &[u32], judged: &[u32], k: usize) -> f64 {
    ratio(relevant(first(ranked, k)) as f64, relevant(judged))
}

/// One over the rank of the first relevant document, 0 if it is not among the first `k`.
pub fn reciprocal_rank(ranked: &[u32], k: usize) -> f64 {
    first(ranked, k).iter().position(|&grade| grade > 0).map_or(0.0, |at| 1.0 / (at + 1) as f64)
}

/// The mean, over the relevant documents, of the precision at the rank of each (0 for one not ranked).
pub fn average_precision(ranked: &[u32], judged: &[u32]) -> f64 {
    let mut found = 0.0;
    let mut sum = 0.0;
    for (at, &grade) in ranked.iter().enumerate() {
        if grade > 0 {
            found += 1.0;
            sum += found / (at + 1) as f64;
        }
    }
    ratio(sum, relevant(judged))
}

fn discounted_gain(grades: &[u32], k: usize) -> f64 {
    first(grades, k).iter().enumerate().map(|(at, &grade)| f64::from(grade) / ((at + 2) as f64).log2()).sum()
}

fn first(grades: &[u32], k: usize) -> &[u32] {
    &grades[..k.min(grades.len())]
}

fn relevant(grades: &[u32]) -> usize {
    grades.iter().filter(|&&grade| grade > 0).count()
}

fn ratio(part: f64, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { part / whole as f64 }
}
