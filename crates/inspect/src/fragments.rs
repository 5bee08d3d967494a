//! Phrases that are pieces of longer ones: "term care" hardly ever stands without "long" before it, and says less.
//!
//! A word or pair leans on a neighbour if one and the same word stands there in most documents that have it, or if
//! some word of a longer phrase nearly always does ("term disability" follows "short" or "long"); a phrase that ends in
//! front of such a neighbour is a fragment.

use std::collections::{HashMap, HashSet};

/// A phrase of one to three words; `BREAK` of the vocabulary where it is shorter.
pub(crate) type Key = [u32; 3];

/// The share of a phrase's documents in which one longer phrase must stand, and how many documents that takes.
const ONE: (f64, u32) = (0.75, 4);
/// The same of all longer phrases together.
const ANY: (f64, u32) = (0.9, 50);

/// In how many documents longer phrases stand: the commonest of them, and all together.
#[derive(Clone, Copy, Default)]
struct Longer {
    one: u32,
    all: u32,
}

/// Which words and pairs lean on the word before or after them.
pub(crate) struct Fragments {
    before: HashSet<Key>,
    after: HashSet<Key>,
    none: u32,
}

impl Fragments {
    /// From the document frequencies of all phrases; `none` stands where a phrase is shorter.
    pub(crate) fn new(found: &HashMap<Key, u32>, none: u32) -> Self {
        let mut longer: [HashMap<Key, Longer>; 2] = Default::default(); // with a word before, with one after
        for (key, with) in found {
            let parts = match *key {
                [_, b, _] if b == none => continue,
                [a, b, c] if c == none => [[b, none, none], [a, none, none]],
                [a, b, c] => [[b, c, none], [a, b, none]],
            };
            for (part, longer) in parts.into_iter().zip(&mut longer) {
                let met = longer.entry(part).or_default();
                met.one = met.one.max(*with);
                met.all += with;
            }
        }
        let leaning = |longer: HashMap<Key, Longer>| {
            let most = |with: u32, all: u32, (share, least): (f64, u32)| {
                all >= least && f64::from(with) >= share * f64::from(all)
            };
            let leans = |part: &Key, met: Longer| {
                let pair = part[1] != none;
                found
                    .get(part)
                    .is_some_and(|all| most(met.one, *all, ONE) || pair && most(met.all, *all, ANY))
            };
            longer.into_iter().filter(|(part, met)| leans(part, *met)).map(|(part, _)| part).collect()
        };
        let [before, after] = longer.map(leaning);
        Self { before, after, none }
    }

    /// Whether a phrase is hardly ever more than a piece of a longer one.
    pub(crate) fn contains(&self, key: &Key) -> bool {
        let none = self.none;
        match *key {
            [_, b, _] if b == none => self.before.contains(key) || self.after.contains(key),
            [a, b, c] if c == none => {
                let (first, last) = ([a, none, none], [b, none, none]);
                self.before.contains(key)
                    || self.before.contains(&first)
                    || self.after.contains(key)
                    || self.after.contains(&last)
            }
            // Of four words that always stand together the first three stay, so pairs count on the left only.
            [a, b, c] => {
                let (first, last) = ([a, none, none], [c, none, none]);
                self.before.contains(&[a, b, none])
                    || self.before.contains(&first)
                    || self.after.contains(&last)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_long_term_care_insurance() {
        const NO: u32 = u32::MAX;
        let (long, term, care, insurance) = (0, 1, 2, 3);
        let found = HashMap::from([
            ([long, NO, NO], 40),
            ([term, NO, NO], 100),
            ([care, NO, NO], 90),
            ([insurance, NO, NO], 300),
            ([long, term, NO], 38),
            ([term, care, NO], 30),
            ([care, insurance, NO], 28),
            ([long, term, care], 29),
            ([term, care, insurance], 27),
        ]);
        let fragments = Fragments::new(&found, NO);
        for (key, is) in [
            ([long, NO, NO], true),          // "long" leans on "term"
            ([term, NO, NO], false),         // "term" stands alone as well
            ([term, care, NO], true),        // hardly without "long"
            ([term, care, insurance], true), // the same
            ([long, term, care], false),     // the first three of four
            ([insurance, NO, NO], false),
        ] {
            assert_eq!(fragments.contains(&key), is, "{key:?}");
        }
    }
}
