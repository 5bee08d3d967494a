//! The phrases of a corpus: one to three words that stand in enough documents, and which documents have them.
//!
//! Phrases are found as frequent item sets are (Agrawal and Srikant 1994): a pair is only counted if both
//! words are frequent, a triple only if its pairs are, or if it is two words around a stop word ("loss of
//! income"). So memory grows with what is frequent, not with the corpus.

use crate::stop_words::{self, StopWords};
use crate::words::{self, Piece};
use rayon::prelude::*;
use std::collections::HashMap;

/// A phrase of the vocabulary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PhraseId(u32);

impl PhraseId {
    /// The number of the phrase.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// No phrase crosses this.
const BREAK: u32 = u32::MAX;
/// Only this many words of a document are read: subjects show early, and no single text may fill memory.
const WORDS: usize = 400;

/// Words that share so many first letters mostly share their root.
const ALIKE: usize = 5;

/// The phrases of a corpus.
pub struct Phrases {
    surfaces: Vec<String>,
    words: Vec<[u32; 3]>, // BREAK where a phrase is shorter
    frequency: Vec<u32>,
    of: Vec<Vec<PhraseId>>,
}

impl Phrases {
    /// The phrases of `texts` that stand in at least [`least`](Phrases::least) of them.
    pub fn new<T: AsRef<str> + Sync>(texts: &[T]) -> Self {
        let least = Self::least(texts.len());
        let (mut lexicon, documents) = Lexicon::read(texts);
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
        let mut found: Vec<([u32; 3], u32)> = singles.into_iter().chain(pairs).chain(triples).collect();
        found.sort_unstable();
        let ids: HashMap<[u32; 3], PhraseId> =
            found.iter().enumerate().map(|(id, (words, _))| (*words, PhraseId(id as u32))).collect();
        let of = documents
            .par_iter()
            .map(|words| {
                let mut out: Vec<PhraseId> = (0..words.len())
                    .flat_map(|at| keys(words, at))
                    .filter_map(|key| ids.get(&key).copied())
                    .collect();
                out.sort_unstable();
                out.dedup();
                out
            })
            .collect();
        let surfaces = lexicon.surfaces();
        let spell = |words: &[u32; 3]| {
            let words: Vec<&str> =
                words.iter().filter(|w| **w != BREAK).map(|w| surfaces[*w as usize].as_str()).collect();
            words.join(" ")
        };
        Self {
            surfaces: found.iter().map(|(words, _)| spell(words)).collect(),
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

/// The words of a corpus.
#[derive(Default)]
struct Lexicon {
    ids: HashMap<String, u32>,
    /// Whether the word can stand at the edge of a phrase.
    tells: Vec<bool>,
    /// Whether the word can link two others.
    links: Vec<bool>,
    /// How often each spelling of each word was met.
    spellings: Vec<HashMap<String, u32>>,
    /// The number of a spelling, so that its stem is made once.
    seen: HashMap<String, u32>,
}

impl Lexicon {
    fn read<T: AsRef<str>>(texts: &[T]) -> (Self, Vec<Vec<u32>>) {
        let mut lexicon = Self::default();
        let documents = texts.iter().map(|text| lexicon.number(text.as_ref())).collect();
        lexicon.judge();
        (lexicon, documents)
    }

    /// Tells subjects from grammar, once all is read.
    fn judge(&mut self) {
        let count = |id: &u32| self.spellings[*id as usize].values().sum();
        let stop = StopWords::of(self.ids.iter().map(|(stem, id)| (stem.as_str(), count(id))));
        self.tells = vec![false; self.spellings.len()];
        self.links = vec![false; self.spellings.len()];
        for (stem, id) in &self.ids {
            self.links[*id as usize] = stop.contains(stem) && stop_words::links(stem);
            self.tells[*id as usize] = !stop.contains(stem) && words::is_telling(stem);
        }
    }

    fn number(&mut self, text: &str) -> Vec<u32> {
        let mut out: Vec<u32> = Vec::new();
        // The cut is at a place between characters; the words behind it are not read.
        let cut = text.char_indices().nth(WORDS * 12).map_or(text.len(), |(at, _)| at);
        words::pieces(&text[..cut], |piece| match piece {
            _ if out.len() >= WORDS => {}
            Piece::Break if out.last().is_none_or(|last| *last == BREAK) => {}
            Piece::Break => out.push(BREAK),
            Piece::Word(word) => out.push(self.word(word)),
        });
        out
    }

    fn word(&mut self, word: &str) -> u32 {
        if let Some(id) = self.seen.get(word) {
            let id = *id;
            if let Some(count) = self.spellings[id as usize].get_mut(word) {
                *count += 1;
            }
            return id;
        }
        let stem = words::stem(word);
        let id = match self.ids.get(&stem) {
            Some(id) => *id,
            None => {
                let id = self.spellings.len() as u32;
                self.spellings.push(HashMap::new());
                self.ids.insert(stem, id);
                id
            }
        };
        self.spellings[id as usize].insert(word.to_owned(), 1);
        self.seen.insert(word.to_owned(), id);
        id
    }

    /// How each word is mostly spelt. Capitals win only if nearly always used, as in names.
    fn surfaces(&mut self) -> Vec<String> {
        let spell = |spellings: &HashMap<String, u32>| {
            let total: u32 = spellings.values().sum();
            let mut ranked: Vec<(&String, u32)> = spellings.iter().map(|(word, n)| (word, *n)).collect();
            ranked.sort_unstable_by(|a, b| b.1.cmp(&a.1).then(b.0.cmp(a.0)));
            let (best, count) = ranked[0];
            let lower = best.to_lowercase();
            let name = best != &lower && count * 5 >= total * 3;
            if name { best.clone() } else { lower }
        };
        let mut out: Vec<String> = self.spellings.iter().map(spell).collect();
        for word in &mut out {
            for tail in ["'s", "’s"] {
                if let Some(short) = word.strip_suffix(tail) {
                    *word = short.to_owned();
                }
            }
        }
        out
    }
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
