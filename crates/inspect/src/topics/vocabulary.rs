//! The words of a corpus as topics count them: single words, in lower case, without stop words.
//!
//! A word is one of [`words::pieces`], in lower case, without an apostrophe and what follows it. It has no digits and at
//! least three letters, or two where it is a pair of signs of a script without spaces. Neither it nor its stem is a stop
//! word. Plurals are words of their own.

use crate::stop_words::StopWords;
use crate::words::{self, Piece};
use std::collections::{BTreeMap, HashMap};

/// A word of a [`Vocabulary`]; in alphabetical order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WordId(u32);

impl WordId {
    /// The number of the word.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The words of a corpus, and how often each document has them.
#[derive(Clone, Debug)]
pub struct Vocabulary {
    words: Vec<String>,
    ids: HashMap<String, WordId>,
    documents: Vec<Vec<(WordId, u32)>>, // in order of words
    frequency: Vec<u32>,                // documents that have each word
}

impl Vocabulary {
    /// Reads texts.
    pub fn new<T: AsRef<str>>(texts: &[T]) -> Self {
        let mut met: HashMap<String, u32> = HashMap::new(); // every word, by its place in `spelt`
        let mut spelt: Vec<(String, u32)> = Vec::new(); // and how often it was met
        let documents: Vec<Vec<u32>> = texts
            .iter()
            .map(|text| {
                let mut out = Vec::new();
                words::pieces(text.as_ref(), |piece| {
                    let Piece::Word(word) = piece else { return };
                    let mut word = word.to_lowercase();
                    word.truncate(word.find(['\'', '’']).unwrap_or(word.len()));
                    let id = *met.entry(word).or_insert_with_key(|word| {
                        spelt.push((word.clone(), 0));
                        spelt.len() as u32 - 1
                    });
                    spelt[id as usize].1 += 1;
                    out.push(id);
                });
                out
            })
            .collect();
        Self::of(&spelt, &documents)
    }

    fn of(spelt: &[(String, u32)], documents: &[Vec<u32>]) -> Self {
        let stems: Vec<String> = spelt.iter().map(|(word, _)| words::stem(word)).collect();
        let stop = StopWords::of(stems.iter().zip(spelt).map(|(stem, (_, count))| (stem.as_str(), *count)));
        let kept: BTreeMap<&str, usize> = spelt
            .iter()
            .zip(&stems)
            .enumerate()
            .filter(|(_, ((word, _), stem))| is_long(word) && !stop.contains(word) && !stop.contains(stem))
            .map(|(place, ((word, _), _))| (word.as_str(), place))
            .collect();
        let mut numbers = vec![None; spelt.len()];
        kept.values().zip(0..).for_each(|(place, number)| numbers[*place] = Some(WordId(number)));
        let mut frequency = vec![0; kept.len()];
        let documents = documents
            .iter()
            .map(|words| {
                let mut words: Vec<WordId> =
                    words.iter().filter_map(|word| numbers[*word as usize]).collect();
                words.sort_unstable();
                let counted: Vec<(WordId, u32)> =
                    words.chunk_by(|a, b| a == b).map(|run| (run[0], run.len() as u32)).collect();
                counted.iter().for_each(|(word, _)| frequency[word.index()] += 1);
                counted
            })
            .collect();
        let words: Vec<String> = kept.into_keys().map(str::to_owned).collect();
        let ids = words.iter().cloned().zip((0..).map(WordId)).collect();
        Self { words, ids, documents, frequency }
    }

    /// How many words there are.
    pub fn len(&self) -> usize {
        self.words.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// How many documents there are.
    pub fn documents(&self) -> usize {
        self.documents.len()
    }

    /// The word.
    pub fn text(&self, word: WordId) -> &str {
        &self.words[word.index()]
    }

    /// The number of a word, if the corpus has it.
    pub fn id(&self, word: &str) -> Option<WordId> {
        self.ids.get(word).copied()
    }

    /// How many documents have the word.
    pub fn frequency(&self, word: WordId) -> u32 {
        self.frequency[word.index()]
    }

    /// The words of a document in order, and how often it has each.
    pub fn of_document(&self, document: usize) -> &[(WordId, u32)] {
        &self.documents[document]
    }

    pub(super) fn ids(&self) -> impl Iterator<Item = WordId> {
        (0..self.words.len() as u32).map(WordId)
    }
}

fn is_long(word: &str) -> bool {
    let least = if word.chars().all(words::unspaced) { 2 } else { 3 };
    word.chars().count() >= least && !word.chars().any(char::is_numeric)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_long_lower_and_telling() {
        let texts = ["The policy's Policies, is it a 401k or IRA? don't", "policy policy www.policy.com"];
        let vocabulary = Vocabulary::new(&texts);
        let all: Vec<&str> = vocabulary.ids().map(|word| vocabulary.text(word)).collect();
        assert_eq!(all, ["ira", "policies", "policy"]);
        let policy = vocabulary.id("policy").unwrap();
        assert_eq!(vocabulary.frequency(policy), 2);
        assert_eq!(vocabulary.of_document(1), [(policy, 2)]);
        assert_eq!(vocabulary.id("the"), None);
    }
}
