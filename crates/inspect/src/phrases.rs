//! The phrases of a corpus: one to three words that stand in enough documents, and which documents have them.
//!
//! Phrases are found as frequent item sets are (Agrawal and Srikant 1994): a pair is only counted if both
//! words are frequent, a triple only if its pairs are, or if it is two words around a stop word ("loss of
//! income"). So memory grows with what is frequent, not with the corpus.

use crate::fragments::Fragments;
use crate::lexicon::{BREAK, Lexicon};
use rayon::prelude::*;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// A phrase of the vocabulary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PhraseId(u32);

impl PhraseId {
    /// The number of the phrase.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Words that share so many first letters mostly share their root.
const ALIKE: usize = 5;

/// The phrases of a corpus.
pub struct Phrases {
    surfaces: Vec<String>,
    words: Vec<[u32; 3]>, // BREAK where a phrase is shorter
    frequency: Vec<u32>,
    acts: Vec<bool>,
    of: Vec<Vec<PhraseId>>,
}

impl Phrases {
    /// The phrases of `texts` that stand in at least [`least`](Phrases::least) of them.
    pub fn new<T: AsRef<str> + Sync>(texts: &[T]) -> Self {
        let least = Self::least(texts.len());
        let (lexicon, documents) = Lexicon::read(texts);
        let acts = lexicon.acts(&documents);
        let singles = frequent(&documents, least, |words, at| {
            (words[at] != BREAK && lexicon.tells[words[at] as usize]).then(|| [words[at], BREAK, BREAK])
        });
        let common = |word: u32| word != BREAK && singles.contains_key(&[word, BREAK, BREAK]);
        let pairs = frequent(&documents, least, |words, at| match words.get(at..at + 2)? {
            [a, b] if common(*a) && common(*b) && a != b => Some([*a, *b, BREAK]),
            _ => None,
        });
        let triples = frequent(&documents, least, |words, at| match words.get(at..at + 3)? {
            [a, b, c] if [a, b, c].contains(&&BREAK) || a == c => None,
            [a, b, c] => {
                let chained = pairs.contains_key(&[*a, *b, BREAK]) && pairs.contains_key(&[*b, *c, BREAK]);
                let around = lexicon.links[*b as usize] && common(*a) && common(*c);
                (chained || around).then_some([*a, *b, *c])
            }
            _ => None,
        });
        let found: HashMap<[u32; 3], u32> = singles.into_iter().chain(pairs).chain(triples).collect();
        let fragments = Fragments::new(&found, BREAK);
        let mut found: Vec<([u32; 3], u32)> =
            found.into_iter().filter(|(words, _)| !fragments.contains(words)).collect();
        found.sort_unstable();
        let ids: HashMap<[u32; 3], PhraseId> =
            found.iter().enumerate().map(|(id, (words, _))| (*words, PhraseId(id as u32))).collect();
        let counts = || found.iter().map(|_| AtomicU32::new(0)).collect::<Vec<_>>();
        let (met, named) = (counts(), counts());
        let of = (0..documents.len())
            .into_par_iter()
            .map(|document| {
                let words = &documents[document];
                let mut out: Vec<PhraseId> = Vec::new();
                for (at, key) in (0..words.len()).flat_map(|at| keys(words, at).map(move |key| (at, key))) {
                    let Some(phrase) = ids.get(&key) else { continue };
                    out.push(*phrase);
                    met[phrase.index()].fetch_add(1, Relaxed);
                    named[phrase.index()].fetch_add(u32::from(lexicon.is_name(document, at, &key)), Relaxed);
                }
                out.sort_unstable();
                out.dedup();
                out
            })
            .collect();
        let name = |phrase: usize| 2 * named[phrase].load(Relaxed) > met[phrase].load(Relaxed);
        let parts = |words: &[u32; 3]| (*words).into_iter().filter(|word| *word != BREAK);
        let spell = |(id, (words, _)): (usize, &([u32; 3], u32))| lexicon.spell(parts(words), name(id));
        Self {
            surfaces: found.iter().enumerate().map(spell).collect(),
            acts: found.iter().map(|(words, _)| parts(words).any(|word| acts[word as usize])).collect(),
            words: found.iter().map(|(words, _)| *words).collect(),
            frequency: found.iter().map(|(_, frequency)| *frequency).collect(),
            of,
        }
    }

    /// In how many of `documents` a phrase must stand to count.
    pub fn least(documents: usize) -> u32 {
        match documents {
            0..50 => 1,
            50..1000 => 2,
            _ => 3 + (documents / 50_000) as u32,
        }
    }

    /// How many phrases there are.
    pub fn len(&self) -> usize {
        self.surfaces.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.surfaces.is_empty()
    }

    /// How many documents there are.
    pub fn documents(&self) -> usize {
        self.of.len()
    }

    /// The phrase as it is mostly written.
    pub fn text(&self, phrase: PhraseId) -> &str {
        &self.surfaces[phrase.index()]
    }

    /// How many documents have it.
    pub fn frequency(&self, phrase: PhraseId) -> u32 {
        self.frequency[phrase.index()]
    }

    /// The phrases of a document, each once, in order.
    pub fn of(&self, document: u32) -> &[PhraseId] {
        &self.of[document as usize]
    }

    /// Whether a word of it mostly acts, so that it hardly names a subject.
    pub fn acts(&self, phrase: PhraseId) -> bool {
        self.acts[phrase.index()]
    }

    /// How many words the phrase has.
    pub fn width(&self, phrase: PhraseId) -> usize {
        self.parts(phrase).count()
    }

    /// How many words two phrases share.
    pub fn shared(&self, a: PhraseId, b: PhraseId) -> usize {
        self.parts(a).filter(|word| self.parts(b).any(|other| other == *word)).count()
    }

    /// Whether two phrases have words that begin alike, as "cover" and "covered" do.
    pub fn alike(&self, a: PhraseId, b: PhraseId) -> bool {
        let same = |a: &str, b: &str| a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count() >= ALIKE;
        self.text(a).split(' ').any(|a| self.text(b).split(' ').any(|b| same(a, b)))
    }

    fn parts(&self, phrase: PhraseId) -> impl Iterator<Item = u32> {
        self.words[phrase.index()].into_iter().filter(|word| *word != BREAK)
    }
}

/// The word, pair and triple that begin at a place.
fn keys(words: &[u32], at: usize) -> impl Iterator<Item = [u32; 3]> {
    let word = |offset: usize| words.get(at + offset).copied().unwrap_or(BREAK);
    let (a, b, c) = (word(0), word(1), word(2));
    let single = (a != BREAK).then_some([a, BREAK, BREAK]);
    let pair = (a != BREAK && b != BREAK).then_some([a, b, BREAK]);
    let triple = (a != BREAK && b != BREAK && c != BREAK).then_some([a, b, c]);
    single.into_iter().chain(pair).chain(triple)
}

/// In how many documents each key stands, of those that stand in `least` of them.
fn frequent(
    documents: &[Vec<u32>],
    least: u32,
    key: impl Fn(&[u32], usize) -> Option<[u32; 3]> + Sync,
) -> HashMap<[u32; 3], u32> {
    let count = |mut counts: HashMap<[u32; 3], u32>, words: &Vec<u32>| {
        let mut keys: Vec<[u32; 3]> = (0..words.len()).filter_map(|at| key(words, at)).collect();
        keys.sort_unstable();
        keys.dedup();
        keys.into_iter().for_each(|key| *counts.entry(key).or_default() += 1);
        counts
    };
    let merge = |a: HashMap<[u32; 3], u32>, b: HashMap<[u32; 3], u32>| {
        let (mut into, from) = if a.len() > b.len() { (a, b) } else { (b, a) };
        from.into_iter().for_each(|(key, n)| *into.entry(key).or_default() += n);
        into
    };
    let chunk = (documents.len() / rayon::current_num_threads()).max(1000);
    let mut counts = documents
        .par_chunks(chunk)
        .map(|part| part.iter().fold(HashMap::new(), count))
        .reduce(HashMap::new, merge);
    counts.retain(|_, n| *n >= least);
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phrases_end_at_stop_words_and_punctuation() {
        let phrases = Phrases::new(&["The loss of income. Policies lapse", "a policy"]);
        let mut all: Vec<&str> = (0..phrases.len()).map(|id| phrases.text(PhraseId(id as u32))).collect();
        all.sort_unstable();
        assert_eq!(all, ["income", "lapse", "loss", "loss of income", "policy", "policy lapse"]);
        let policy =
            (0..phrases.len()).map(|id| PhraseId(id as u32)).find(|id| phrases.text(*id) == "policy");
        assert_eq!(phrases.frequency(policy.unwrap()), 2);
        assert!(phrases.of(1).contains(&policy.unwrap()));
    }

    #[test]
    fn names_keep_their_capitals() {
        let phrases = Phrases::new(&["Ask Medicare about IRA plans", "Plans by Medicare", "plans"]);
        let all: Vec<&str> = (0..phrases.len()).map(|id| phrases.text(PhraseId(id as u32))).collect();
        assert!(all.contains(&"Medicare") && all.contains(&"plans") && all.contains(&"IRA"), "{all:?}");
    }

    #[test]
    fn empty_and_odd_texts_are_fine() {
        assert!(Phrases::new::<&str>(&[]).is_empty());
        assert!(Phrases::new(&["", "   ", "!!!", "<<<<"]).is_empty());
        assert_eq!(Phrases::new(&["保険料"]).len(), 2);
    }
}
