//! The words of a corpus: their numbers, whether they tell anything, and how they are mostly written.

use crate::grammar::{self, Cues};
use crate::stop_words::{self, StopWords};
use crate::words::{self, Piece};
use std::collections::HashMap;

/// No phrase crosses this, and it stands where a phrase is shorter.
pub(crate) const BREAK: u32 = u32::MAX;
/// Only this many words of a document are read: subjects show early, and no single text may fill memory.
const WORDS: usize = 400;

/// The words of a corpus.
#[derive(Default)]
pub(crate) struct Lexicon {
    ids: HashMap<String, u32>,
    /// Whether the word can stand at the edge of a phrase.
    pub(crate) tells: Vec<bool>,
    /// Whether the word can link two others.
    pub(crate) links: Vec<bool>,
    /// How often each spelling of each word was met.
    spellings: Vec<HashMap<String, u32>>,
    /// The number of a spelling, so that its stem is made once.
    seen: HashMap<String, u32>,
    /// Whether each word of each document begins with a capital.
    capitals: Vec<Vec<bool>>,
}

impl Lexicon {
    /// Reads texts: the words, and each text as their numbers.
    pub(crate) fn read<T: AsRef<str>>(texts: &[T]) -> (Self, Vec<Vec<u32>>) {
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
        let (mut out, mut capitals): (Vec<u32>, Vec<bool>) = Default::default();
        // The cut is at a place between characters; the words behind it are not read.
        let cut = text.char_indices().nth(WORDS * 12).map_or(text.len(), |(at, _)| at);
        words::pieces(&text[..cut], |piece| match piece {
            _ if out.len() >= WORDS => {}
            Piece::Break if out.last().is_none_or(|last| *last == BREAK) => {}
            Piece::Break => {
                out.push(BREAK);
                capitals.push(false);
            }
            Piece::Word(word) => {
                out.push(self.word(word));
                capitals.push(word.starts_with(char::is_uppercase));
            }
        });
        self.capitals.push(capitals);
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

    /// Whether each word mostly acts.
    pub(crate) fn acts(&self, documents: &[Vec<u32>]) -> Vec<bool> {
        let known = Cues::new();
        let mut cues = vec![grammar::Cue::None; self.spellings.len()];
        self.ids.iter().for_each(|(stem, id)| cues[*id as usize] = known.of(stem));
        grammar::count(documents, &cues).into_iter().map(grammar::Seen::acts).collect()
    }

    /// Whether a phrase is written as a name at a place: two words or more, all but links with capitals.
    pub(crate) fn is_name(&self, document: usize, at: usize, key: &[u32; 3]) -> bool {
        let capitals = &self.capitals[document];
        let mut words = key.iter().enumerate().filter(|(_, word)| **word != BREAK);
        key[1] != BREAK && words.all(|(place, word)| capitals[at + place] || self.links[*word as usize])
    }

    /// A phrase as it is mostly written.
    pub(crate) fn spell(&self, words: impl Iterator<Item = u32>, name: bool) -> String {
        let spelt = words.map(|word| {
            let text = surface(&self.spellings[word as usize]);
            if name && !self.links[word as usize] { words::capitalised(&text) } else { text }
        });
        spelt.collect::<Vec<_>>().join(" ")
    }
}

/// How a word is mostly written. Capitals win only if mostly used, as in names.
fn surface(spellings: &HashMap<String, u32>) -> String {
    let total: u32 = spellings.values().sum();
    let mut ranked: Vec<(&String, u32)> = spellings.iter().map(|(word, n)| (word, *n)).collect();
    ranked.sort_unstable_by(|a, b| b.1.cmp(&a.1).then(b.0.cmp(a.0)));
    let (best, count) = ranked[0];
    let lower = best.to_lowercase();
    let name = best != &lower && count * 5 >= total * 3;
    let mut text = if name { best.clone() } else { lower };
    for tail in ["'s", "’s"] {
        if let Some(short) = text.strip_suffix(tail) {
            text = short.to_owned();
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_know_how_they_are_written() {
        let (lexicon, documents) = Lexicon::read(&["the Affordable Care Act, and care", "Care of a house"]);
        let care = documents[0][2];
        assert!(lexicon.is_name(0, 1, &[documents[0][1], care, documents[0][3]]));
        assert!(
            !lexicon.is_name(0, 0, &[documents[0][0], documents[0][1], BREAK])
                || lexicon.links[documents[0][0] as usize]
        );
        assert_eq!(lexicon.spell([care].into_iter(), false), "Care");
        assert!(lexicon.tells[care as usize] && !lexicon.tells[documents[0][0] as usize]);
    }
}
