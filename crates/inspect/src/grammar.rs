//! Whether a word mostly acts or mostly names, told by the words before it.
//!
//! A subject is a noun: after "the", "your" or "of" there is mostly one; after "to", "will", "is" or "you" mostly not.
//! Where a language has no such list nothing is said about its words.

use std::collections::HashSet;

/// Words after which something is named.
const NAMES: &str = "the a an your my their his her our its this these those of for with in on from by any each no per
    der die das ein eine einen dem den des le la les un une du des el los las una il lo gli de het een o os as um uma";
/// Words after which something is done or said of it.
const ACTS: &str = "to will would can could may might must should shall not never you they we i he she who is are was were be
    been being it also usually always often have has had do does did dont if when";

/// What stood before a word, counted.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seen {
    names: u32,
    acts: u32,
}

impl Seen {
    /// Whether the word is clearly no name of a subject.
    pub(crate) fn acts(self) -> bool {
        self.names + self.acts >= 8 && f64::from(self.acts) > 1.3 * f64::from(self.names)
    }
}

/// Words that tell something about the next one.
pub(crate) struct Cues {
    names: HashSet<&'static str>,
    acts: HashSet<&'static str>,
}

/// What a word says about the one after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cue {
    /// It names something.
    Names,
    /// It does not.
    Acts,
    /// Nothing.
    None,
}

impl Cues {
    /// The lists of this file.
    pub(crate) fn new() -> Self {
        Self { names: NAMES.split_whitespace().collect(), acts: ACTS.split_whitespace().collect() }
    }

    /// What a stem says about the next word.
    pub(crate) fn of(&self, stem: &str) -> Cue {
        match () {
            () if self.names.contains(stem) => Cue::Names,
            () if self.acts.contains(stem) => Cue::Acts,
            () => Cue::None,
        }
    }
}

/// Counts what stands before each word of `documents`; `cues` holds one for each word.
pub(crate) fn count(documents: &[Vec<u32>], cues: &[Cue]) -> Vec<Seen> {
    let mut out = vec![Seen::default(); cues.len()];
    for pair in documents.iter().flat_map(|words| words.windows(2)) {
        // A boundary has no cue and is no word.
        let (Some(cue), Some(seen)) = (cues.get(pair[0] as usize), out.get_mut(pair[1] as usize)) else {
            continue;
        };
        match cue {
            Cue::Names => seen.names += 1,
            Cue::Acts => seen.acts += 1,
            Cue::None => {}
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verbs_follow_pronouns_and_nouns_articles() {
        let cues = [Cue::Names, Cue::Acts, Cue::None, Cue::None];
        let (the, to, house, buy) = (0, 1, 2, 3);
        let documents = vec![[the, house, u32::MAX, to, buy].repeat(10)];
        let seen = count(&documents, &cues);
        assert!(!seen[house as usize].acts());
        assert!(seen[buy as usize].acts());
        assert_eq!(Cues::new().of("your"), Cue::Names);
        assert_eq!(Cues::new().of("will"), Cue::Acts);
        assert_eq!(Cues::new().of("house"), Cue::None);
    }
}
