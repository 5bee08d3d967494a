//! The words of a topic: those that set its documents apart, by how many documents have them.

use super::{Groups, TOP, Vocabulary, WordId};
use crate::keywords::{Frequency, smoothed};
use crate::words;
use rayon::prelude::*;

/// The `n` of the formula in [`top_words`], in documents of a thousand. Small, so that words of one topic win over words
/// of many; at a word in ten documents of a thousand it still weighs as much as the word.
pub const SMOOTHING: f64 = 10.0;

/// The top words of every group, best first, by Kilgarriff's simple maths on document counts:
///
/// ```text
/// score(w, g) = (f_g(w) + n) / (f_rest(w) + n)        n = 10
/// ```
/// `f_g(w)` is how many of a thousand documents of the group have the word, `f_rest(w)` how many of a thousand of all
/// other documents. Words of a single document do not count where the group has more than four. Of words with the same
/// stem only the best stands. Of equals the first in alphabetical order is the better.
pub fn top_words(vocabulary: &Vocabulary, groups: &Groups) -> Vec<Vec<WordId>> {
    let counts = |(word, _): (WordId, u32)| (word, 1);
    ranked(vocabulary, groups, counts, |group, counts| {
        let of = groups.sizes()[group] as usize;
        let least = if of > 4 { 2 } else { 1 };
        let mut scored: Vec<(WordId, f64)> = counts
            .iter()
            .filter(|(_, with)| *with >= least)
            .map(|&(word, with)| {
                let rest =
                    Frequency { with: vocabulary.frequency(word) - with, of: vocabulary.documents() - of };
                (word, smoothed(Frequency { with, of }, rest, SMOOTHING))
            })
            .collect();
        best_first(&mut scored);
        let mut stems: Vec<String> = Vec::new();
        let mut top = Vec::new();
        for (word, _) in scored {
            let stem = words::stem(vocabulary.text(word));
            if !stems.contains(&stem) {
                stems.push(stem);
                top.push(word);
            }
            if top.len() == TOP {
                break;
            }
        }
        top
    })
}

/// The top words of every group by BERTopic's c-TF-IDF, for comparison:
///
/// ```text
/// score(w, g) = tf(w, g) ln(1 + A / f(w))
/// ```
/// `tf(w, g)` is how often the word stands in the documents of the group, `f(w)` the same of all groups together, and `A`
/// the words of a group on average.
pub fn c_tf_idf(vocabulary: &Vocabulary, groups: &Groups) -> Vec<Vec<WordId>> {
    let mut all = vec![0u32; vocabulary.len()];
    for document in (0..vocabulary.documents()).filter(|document| groups.of(*document).is_some()) {
        vocabulary.of_document(document).iter().for_each(|(word, count)| all[word.index()] += count);
    }
    let sum: u64 = all.iter().map(|count| u64::from(*count)).sum();
    let average = sum as f64 / groups.filled().max(1) as f64;
    ranked(
        vocabulary,
        groups,
        |counted| counted,
        |_, counts| {
            let weight = |word: WordId| (1.0 + average / f64::from(all[word.index()])).ln();
            let mut scored: Vec<(WordId, f64)> =
                counts.iter().map(|&(word, tf)| (word, f64::from(tf) * weight(word))).collect();
            best_first(&mut scored);
            scored.into_iter().take(TOP).map(|(word, _)| word).collect()
        },
    )
}

/// Words of every group, chosen by its sums of `count`.
fn ranked(
    vocabulary: &Vocabulary,
    groups: &Groups,
    count: impl Fn((WordId, u32)) -> (WordId, u32) + Sync,
    choose: impl Fn(usize, &[(WordId, u32)]) -> Vec<WordId> + Sync,
) -> Vec<Vec<WordId>> {
    groups
        .members()
        .par_iter()
        .enumerate()
        .map(|(group, members)| {
            let mut sums = vec![0u32; vocabulary.len()];
            for document in members {
                for counted in vocabulary.of_document(*document as usize) {
                    let (word, more) = count(*counted);
                    sums[word.index()] += more;
                }
            }
            let counts: Vec<(WordId, u32)> =
                vocabulary.ids().zip(sums).filter(|(_, count)| *count > 0).collect();
            choose(group, &counts)
        })
        .collect()
}

fn best_first(scored: &mut [(WordId, f64)]) {
    scored.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXTS: [&str; 6] = [
        "whole life policy",
        "whole life premium",
        "whole life",
        "auto policy collision",
        "auto collisions policy collision",
        "auto claim",
    ];

    fn texts(vocabulary: &Vocabulary, words: &[WordId]) -> Vec<String> {
        words.iter().map(|word| vocabulary.text(*word).to_owned()).collect()
    }

    #[test]
    fn words_that_set_groups_apart_come_first() {
        let vocabulary = Vocabulary::new(&TEXTS);
        let groups = Groups::new([0, 0, 0, 1, 1, 1].map(Some).to_vec());
        let top = top_words(&vocabulary, &groups);
        assert_eq!(texts(&vocabulary, &top[0][..2]), ["life", "whole"]);
        // Once each: "auto" in three documents, "collision" in two, as "collisions" is the same stem.
        assert_eq!(texts(&vocabulary, &top[1]), ["auto", "collision", "claim", "policy"]);
    }

    #[test]
    fn c_tf_idf_by_hand() {
        let vocabulary = Vocabulary::new(&TEXTS);
        let groups = Groups::new([0, 0, 0, 1, 1, 1].map(Some).to_vec());
        // 17 words, 8.5 a group: auto 3 ln(1 + 8.5/3) = 4.03, policy 2 ln(1 + 8.5/3) = 2.69, collision 2 ln(1 + 8.5/2) = 3.32.
        let top = c_tf_idf(&vocabulary, &groups);
        assert_eq!(texts(&vocabulary, &top[1][..3]), ["auto", "collision", "policy"]);
    }
}
