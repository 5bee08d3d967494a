//! Training pairs made from documents alone, for a corpus that nobody has asked anything yet.
//!
//! Of each document some parts become queries, and the document without those parts is what they should find: its title
//! or the headings above it, whole sentences (the inverse cloze task), and its most telling words, which stay where they
//! are. So a query never finds its own words again, but for keywords. A tenth of the documents, with all their
//! queries, is kept for choosing between trees and another tenth for the report.
//!
//! Everything depends on the seed and on the ids and texts alone. Of a large corpus a sample is used: what a tree learns
//! from more does not show, and encoding it takes hours.

use crate::collection::{Corpus, Document, Query};
use crate::dataset::{Dataset, Split, stable_hash};
use crate::error::Error;
use crate::formats::texts::{SECTION, UNDER};
use crate::passages::LONGEST;
use crate::sentences::{sentences, tidy};
use serde::Serialize;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::ops::Range;

/// What a query was made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PairKind {
    /// The title of a document.
    Title,
    /// The headings above a passage.
    Heading,
    /// A sentence.
    Sentence,
    /// Telling words.
    Keywords,
    /// What somebody else, such as a language model, asked of a document.
    Question,
}

impl PairKind {
    /// All kinds.
    pub const ALL: [Self; 5] = [Self::Title, Self::Heading, Self::Sentence, Self::Keywords, Self::Question];

    fn key(self) -> &'static str {
        match self {
            Self::Title => "title",
            Self::Heading => "heading",
            Self::Sentence => "sentence",
            Self::Keywords => "keywords",
            Self::Question => "question",
        }
    }
}

impl fmt::Display for PairKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Title => "title -> body",
            Self::Heading => "heading -> section",
            Self::Sentence => "sentence -> rest of the passage",
            Self::Keywords => "keywords -> passage",
            Self::Question => "question -> passage",
        })
    }
}

/// What pairs are made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MakeConfig {
    /// What everything is drawn from.
    pub seed: u64,
    /// At most so many documents are used.
    pub documents: usize,
}

impl Default for MakeConfig {
    fn default() -> Self {
        Self { seed: 1, documents: 20_000 }
    }
}

/// Fewer documents than this cannot be told apart by anything learned.
const FEWEST: usize = 20;

/// Pairs of every kind are made until about this many documents' worth is there.
const WANTED: usize = 2000;

/// Made pairs.
#[derive(Clone, Debug, PartialEq)]
pub struct MadePairs {
    /// The documents without the parts that became queries, the queries, and the splits train, dev and test.
    pub dataset: Dataset,
    /// The kind of each query, by its number.
    pub kinds: Vec<PairKind>,
    /// How many documents they were drawn from.
    pub of: usize,
}

impl MadePairs {
    /// Makes pairs from a corpus.
    pub fn new(corpus: &Corpus, config: MakeConfig) -> Result<Self, Error> {
        let sample = sample(corpus, config);
        if sample.len() < FEWEST {
            return Err(Error::TooFewDocuments { found: sample.len(), needed: FEWEST });
        }
        let rarity = Rarity::new(&sample);
        let mut made = Self { dataset: Dataset::default(), kinds: Vec::new(), of: corpus.len() };
        let (mut asked, mut left) = (HashSet::new(), HashSet::new());
        // Sentences of a document: more of them the fewer documents there are.
        let most = (WANTED / sample.len()).clamp(1, 4);
        for (number, document) in sample.iter().enumerate() {
            let split = match number * 10 / sample.len() {
                0 => Split::Test,
                1 => Split::Dev,
                _ => Split::Train,
            };
            let mut queries: Vec<(PairKind, String)> = title(document).into_iter().collect();
            let spans = cloze(document, most, config.seed);
            queries.extend(spans.iter().map(|span| (PairKind::Sentence, tidy(&document.text[span.clone()]))));
            queries.extend(rarity.keywords(document).map(|words| (PairKind::Keywords, words)));
            // What stands in several documents, such as a licence or "Introduction", asks for none of them.
            queries.retain(|(_, text)| asked.insert(stable_hash(text)));
            let rest = Document {
                text: without(&document.text, &spans),
                title: String::new(),
                ..(*document).clone()
            };
            let rest = if rest.text.is_empty() { (*document).clone() } else { rest };
            let id = rest.id.clone();
            // Two documents that differ in nothing else than their queries could not be told apart.
            if !left.insert(stable_hash(&rest.text)) || made.dataset.corpus.push(rest).is_err() {
                continue;
            }
            queries.into_iter().for_each(|(kind, text)| made.ask(kind, text, &id, &split));
        }
        Ok(made)
    }

    /// Adds a question about a document that is among them, to the split that the document is in.
    pub fn add_question(&mut self, document: &str, text: String) {
        let holds = |split: &&Split| self.dataset.qrels[*split].pairs().any(|(_, judged)| judged == document);
        if let Some(split) = self.dataset.qrels.keys().find(holds).cloned() {
            self.ask(PairKind::Question, text, document, &split);
        }
    }

    fn ask(&mut self, kind: PairKind, text: String, document: &str, split: &Split) {
        let id = format!("{}{}:{document}", kind.key(), self.kinds.len());
        let metadata = [("kind".to_owned(), kind.key().into())].into_iter().collect();
        // The number makes the id unique.
        if self.dataset.queries.push(Query { id: id.clone(), text, metadata }).is_ok() {
            self.kinds.push(kind);
            self.dataset.qrels.entry(split.clone()).or_default().insert(&id, document, 1);
        }
    }

    /// How many pairs of each kind there are in all splits together.
    pub fn counts(&self) -> BTreeMap<PairKind, usize> {
        let mut counts = BTreeMap::new();
        self.kinds.iter().for_each(|kind| *counts.entry(*kind).or_default() += 1);
        counts
    }
}

/// The documents that are used, in the order of a hash; of equal texts the first.
fn sample(corpus: &Corpus, config: MakeConfig) -> Vec<&Document> {
    let mut seen = HashSet::new();
    let mut order: Vec<(u64, &Document)> = corpus
        .items()
        .iter()
        .filter(|document| seen.insert(stable_hash(&document.encoded())))
        .map(|document| (stable_hash(&format!("{} {}", config.seed, document.id)), document))
        .collect();
    order.sort_unstable_by_key(|(hash, _)| *hash);
    order.truncate(config.documents);
    order.into_iter().map(|(_, document)| document).collect()
}

/// What the title of a document asks, if it has two words and a body of its own.
fn title(document: &Document) -> Option<(PairKind, String)> {
    let words = tidy(&document.title.replace(UNDER, " ").replace(['-', '_', '`', '*'], " "));
    let says = words.split(' ').filter(|word| word.chars().filter(|c| c.is_alphabetic()).count() > 1).count();
    let kind = if document.metadata.contains_key(SECTION) { PairKind::Heading } else { PairKind::Title };
    (says >= 2 && document.text.len() > words.len()).then_some((kind, words))
}

/// Sentences to take out: as an encoder reads them, and less than half of what it reads.
fn cloze(document: &Document, most: usize, seed: u64) -> Vec<Range<usize>> {
    let text = &document.text;
    let read = sentences(text).into_iter().take_while(|span| span.end <= LONGEST).filter(|span| {
        let sentence = &text[span.clone()];
        (30..=300).contains(&sentence.len()) && sentence.split_whitespace().count() >= 5 && is_prose(sentence)
    });
    let mut order: Vec<Range<usize>> = read.collect();
    order.sort_by_key(|span| stable_hash(&format!("{seed} {}", &text[span.clone()])));
    let mut left = text.len().min(LONGEST) / 2;
    let mut taken: Vec<Range<usize>> = Vec::new();
    for span in order {
        if taken.len() < most && span.len() <= left {
            left -= span.len();
            taken.push(span);
        }
    }
    taken.sort_by_key(|span| span.start);
    taken
}

/// Whether it is written for people: at least four of five characters are letters or blanks.
fn is_prose(sentence: &str) -> bool {
    let (all, read) = sentence
        .chars()
        .fold((0, 0), |(all, read), c| (all + 1, read + usize::from(c.is_alphabetic() || c.is_whitespace())));
    read * 5 >= all * 4
}

/// A text without some of its spans, which are in order.
fn without(text: &str, spans: &[Range<usize>]) -> String {
    let ends = spans.iter().map(|span| span.start).chain([text.len()]);
    let starts = [0].into_iter().chain(spans.iter().map(|span| span.end));
    tidy(&starts.zip(ends).map(|(start, end)| &text[start..end]).collect::<Vec<_>>().join(" "))
}

/// In how many documents of the sample a word stands.
struct Rarity {
    documents: usize,
    counts: HashMap<String, u32>,
}

/// Words of a keyword query.
const KEYWORDS: usize = 4;

impl Rarity {
    fn new(sample: &[&Document]) -> Self {
        let mut counts = HashMap::new();
        for document in sample {
            let own: HashSet<String> = words(&document.text).map(|(_, word)| word).collect();
            own.into_iter().for_each(|word| *counts.entry(word).or_default() += 1);
        }
        Self { documents: sample.len(), counts }
    }

    /// The words of a document with the highest tf-idf, in the order of the text; none if it has too few.
    fn keywords(&self, document: &Document) -> Option<String> {
        let mut own: HashMap<String, (usize, f64)> = HashMap::new(); // where it stands first, how often
        for (place, word) in words(&document.text).take_while(|(place, _)| *place < LONGEST) {
            own.entry(word).or_insert((place, 0.0)).1 += 1.0;
        }
        let weight = |word: &str, times: f64| {
            let shared = self.counts.get(word).copied().unwrap_or(1);
            times.sqrt() * (self.documents as f64 / f64::from(shared)).ln()
        };
        // A word of hardly any document is a name or a slip; searchers type words that they have met.
        let few = (self.documents / 1000).max(1) as u32;
        let known = own.iter().filter(|(word, _)| self.counts.get(*word).is_some_and(|count| *count > few));
        let mut best: Vec<(f64, usize, &str)> =
            known.map(|(word, (place, times))| (weight(word, *times), *place, word.as_str())).collect();
        best.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        best.truncate(KEYWORDS);
        best.sort_by_key(|(_, place, _)| *place);
        let words: Vec<&str> = best.into_iter().map(|(_, _, word)| word).collect();
        (words.len() == KEYWORDS).then(|| words.join(" "))
    }
}

/// Words of at least three letters, in small letters, with their places.
fn words(text: &str) -> impl Iterator<Item = (usize, String)> {
    let other = |c: char| !c.is_alphanumeric();
    let mut next = 0;
    let all = text.split_inclusive(other).map(move |piece| {
        let place = next;
        next += piece.len();
        (place, piece.trim_end_matches(other))
    });
    let long = all.filter(|(_, word)| word.chars().filter(|c| c.is_alphabetic()).count() >= 3);
    long.map(|(place, word)| (place, word.to_lowercase()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn corpus(documents: usize) -> Corpus {
        let subjects = ["rain", "snow", "wind", "hail", "frost", "thunder", "cloud"];
        (0..documents)
            .map(|n| {
                let (a, b) = (subjects[n % 7], subjects[(n / 7) % 7]);
                let text = format!(
                    "The {a} of day {n} came before the {b}. Nobody on the coast had seen such {a} in {n} years. \
                     After the {b} people cleaned their houses and talked about {a} number {n}. It was a quiet evening."
                );
                Document { id: format!("d{n}"), title: format!("On {a} day {n}"), text, ..Document::default() }
            })
            .collect()
    }

    #[test]
    fn a_query_is_not_in_the_document_it_should_find() {
        let made = MadePairs::new(&corpus(60), MakeConfig::default()).unwrap();
        let counts = made.counts();
        assert_eq!(counts[&PairKind::Title], 60);
        assert!(counts[&PairKind::Sentence] >= 60 && counts[&PairKind::Keywords] >= 30, "{counts:?}");
        for qrels in made.dataset.qrels.values() {
            for (query, document) in qrels.pairs() {
                let number = made.dataset.queries.number(query).unwrap();
                let (query, document) =
                    (&made.dataset.queries.items()[number].text, made.dataset.corpus.get(document).unwrap());
                let inside = document.encoded().contains(query.as_str());
                assert!(!inside || made.kinds[number] == PairKind::Keywords, "{query} in {document:?}");
                assert!(!document.text.is_empty());
            }
        }
    }

    #[test]
    fn splits_share_no_document_and_everything_follows_from_the_seed() {
        let corpus = corpus(200);
        let make = |seed, documents| MadePairs::new(&corpus, MakeConfig { seed, documents }).unwrap();
        let made = make(1, 100);
        assert_eq!((made.dataset.corpus.len(), made.of), (100, 200));
        let documents =
            |split| -> HashSet<u32> { made.dataset.pairs(&split).iter().map(|pair| pair.document).collect() };
        let [train, dev, test] = [Split::Train, Split::Dev, Split::Test].map(documents);
        assert_eq!((train.len(), dev.len(), test.len()), (80, 10, 10));
        assert!(train.is_disjoint(&dev) && train.is_disjoint(&test) && dev.is_disjoint(&test));
        assert_eq!(made, make(1, 100));
        assert_ne!(made.dataset.corpus, make(2, 100).dataset.corpus);
    }

    #[test]
    fn few_or_equal_documents_are_refused_and_questions_find_their_split() {
        let few = MadePairs::new(&corpus(FEWEST - 1), MakeConfig::default()).unwrap_err().to_string();
        assert!(few.contains("19 different documents"), "{few}");
        let same = Document { text: "the same".into(), ..Document::default() };
        let same = (0..50).map(|n| Document { id: n.to_string(), ..same.clone() }).collect();
        assert!(MadePairs::new(&same, MakeConfig::default()).is_err());

        let mut made = MadePairs::new(&corpus(50), MakeConfig::default()).unwrap();
        let tested = made.dataset.pairs(&Split::Test)[0].document;
        let (id, before) = (made.dataset.corpus.items()[tested as usize].id.clone(), made.kinds.len());
        made.add_question(&id, "What was it like?".into());
        made.add_question("nowhere", "Who?".into());
        assert_eq!(made.kinds.len(), before + 1);
        assert_eq!(made.dataset.pairs(&Split::Test).iter().filter(|p| p.query as usize == before).count(), 1);
    }
}
