//! Keywords: Kilgarriff's simple maths (2009) on document frequencies.
//!
//! ```text
//! keyness = (f + n) / (f_rest + n)
//! ```
//! where `f` is how many of a thousand documents in focus have the phrase, `f_rest` how many of a thousand of
//! the rest, and `n` keeps rare phrases from winning. In focus are the documents that come by the
//! node. Documents, not occurrences, are counted: one text that repeats a word makes no keyword.

use crate::phrases::{PhraseId, Phrases};
use crate::places::Places;
use rayon::prelude::*;
use retreever_tree::{Level, NodeId};
use serde::Serialize;

/// The `n` of the formula, in documents of a thousand.
pub const SMOOTHING: f64 = 20.0;
/// How many keywords a node has at most.
pub const KEYWORDS: usize = 12;
/// How many candidates for a label are kept.
const CANDIDATES: usize = 40;

/// A phrase that sets documents apart.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Keyword {
    /// The phrase as it is mostly written.
    pub text: String,
    /// How many times likelier it is here than elsewhere, smoothed.
    pub keyness: f64,
    /// How many of the documents have it.
    pub documents: u32,
}

/// How many of how many documents have a phrase.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Frequency {
    /// Documents that have it.
    pub with: u32,
    /// Documents.
    pub of: usize,
}

impl Frequency {
    fn per_mille(self) -> f64 {
        if self.of == 0 { 0.0 } else { 1000.0 * f64::from(self.with) / self.of as f64 }
    }
}

/// Simple maths: how many times likelier a phrase is in `focus` than in `rest`.
pub fn keyness(focus: Frequency, rest: Frequency) -> f64 {
    smoothed(focus, rest, SMOOTHING)
}

/// The same with another `n`.
pub(crate) fn smoothed(focus: Frequency, rest: Frequency, n: f64) -> f64 {
    (focus.per_mille() + n) / (rest.per_mille() + n)
}

/// What the words say about one node.
#[derive(Clone, Debug, Default)]
pub struct NodeWords {
    /// Against the rest of the corpus, the most telling first.
    pub keywords: Vec<Keyword>,
    /// What sets the node apart from its sibling.
    pub apart: Vec<Keyword>,
    /// Candidates for the label.
    pub(crate) candidates: Vec<Candidate>,
}

/// A phrase that may become part of a label.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Candidate {
    pub(crate) phrase: PhraseId,
    /// How well it stands for the node, before what its ancestors say.
    pub(crate) score: f64,
    /// The share of the node's documents that have it.
    pub(crate) coverage: f64,
    /// How many times likelier it is than in the sibling.
    pub(crate) apart: f64,
}

/// How many documents of a node have each phrase, in order of phrases.
type Counts = Vec<(PhraseId, u32)>;

/// The words of every node, in breadth-first order: one pass from the leaves to the root.
pub fn of_nodes(places: &Places, phrases: &Phrases) -> Vec<NodeWords> {
    let depth = places.depth();
    let mut out = vec![NodeWords::default(); depth.nodes()];
    let leaves: Vec<NodeId> = depth.leaf_level().nodes().collect();
    let mut counts: Vec<Counts> = leaves.par_iter().map(|leaf| count(places.items(*leaf), phrases)).collect();
    for level in depth.levels().rev() {
        let nodes: Vec<NodeId> = level.nodes().collect();
        let words: Vec<NodeWords> = nodes
            .par_iter()
            .map(|node| {
                let sibling = node.rank() ^ 1;
                let beside = NodeId::at(level, sibling);
                let focus = Focus { counts: &counts[node.rank()], of: places.count(*node) };
                let rival = Focus { counts: &counts[sibling], of: places.count(beside) };
                words(&focus, &rival, phrases)
            })
            .collect();
        out[level.start()..][..level.width()].clone_from_slice(&words);
        counts = counts.par_chunks(2).map(|pair| merge(&pair[0], &pair[1])).collect();
    }
    out[Level::ROOT.start()].keywords = common(&counts[0], phrases);
    out
}

struct Focus<'a> {
    counts: &'a Counts,
    of: usize,
}

fn count(items: &[u32], phrases: &Phrases) -> Counts {
    let mut all: Vec<PhraseId> = items.iter().flat_map(|item| phrases.of(*item)).copied().collect();
    all.sort_unstable();
    all.chunk_by(|a, b| a == b).map(|run| (run[0], run.len() as u32)).collect()
}

fn merge(a: &Counts, b: &Counts) -> Counts {
    let mut out = Counts::with_capacity(a.len().max(b.len()));
    let (mut i, mut j) = (0, 0);
    while i < a.len() || j < b.len() {
        let order = match (a.get(i), b.get(j)) {
            (Some(x), Some(y)) => x.0.cmp(&y.0),
            (Some(_), None) => std::cmp::Ordering::Less,
            _ => std::cmp::Ordering::Greater,
        };
        match order {
            std::cmp::Ordering::Less => out.push(a[i]),
            std::cmp::Ordering::Greater => out.push(b[j]),
            std::cmp::Ordering::Equal => out.push((a[i].0, a[i].1 + b[j].1)),
        }
        i += usize::from(order.is_le());
        j += usize::from(order.is_ge());
    }
    out
}

/// A phrase in focus, with its scores.
#[derive(Clone, Copy)]
struct Scored {
    phrase: PhraseId,
    with: u32,
    keyness: f64,
}

fn words(focus: &Focus<'_>, rival: &Focus<'_>, phrases: &Phrases) -> NodeWords {
    // One document of a large node is chance; of a node with one document it is all there is.
    let least = (focus.of / 50).clamp(if focus.of > 4 { 2 } else { 1 }, 20) as u32;
    let rest = phrases.documents() - focus.of;
    let (mut against_all, mut against_rival) = (Vec::new(), Vec::new());
    let mut beside = rival.counts.iter().peekable();
    for &(phrase, with) in focus.counts {
        while beside.next_if(|other| other.0 < phrase).is_some() {}
        let there = beside.peek().filter(|other| other.0 == phrase).map_or(0, |other| other.1);
        if with < least {
            continue;
        }
        let here = Frequency { with, of: focus.of };
        let all = keyness(here, Frequency { with: phrases.frequency(phrase).saturating_sub(with), of: rest });
        let sibling = keyness(here, Frequency { with: there, of: rival.of });
        against_all.push(Scored { phrase, with, keyness: all });
        against_rival.push(Scored { phrase, with, keyness: sibling });
    }
    let mut candidates: Vec<Candidate> = against_all
        .iter()
        .zip(&against_rival)
        .map(|(all, rival)| {
            let coverage = f64::from(all.with) / focus.of as f64;
            let contrast = all.keyness.ln() + rival.keyness.ln();
            Candidate {
                phrase: all.phrase,
                score: contrast.max(0.0) * coverage.sqrt(),
                coverage,
                apart: rival.keyness,
            }
        })
        .filter(|candidate| candidate.score > 0.0)
        .collect();
    candidates.sort_unstable_by(|a, b| b.score.total_cmp(&a.score).then(a.phrase.cmp(&b.phrase)));
    candidates.truncate(CANDIDATES);
    NodeWords { keywords: pick(against_all, phrases), apart: pick(against_rival, phrases), candidates }
}

/// The phrases with the highest keyness above 1, without those that others already say; such as name no subject only
/// where there are too few that do.
fn pick(mut scored: Vec<Scored>, phrases: &Phrases) -> Vec<Keyword> {
    scored.retain(|s| s.keyness > 1.2);
    let order = |a: &Scored, b: &Scored| {
        let width = |s: &Scored| phrases.width(s.phrase);
        let acts = |s: &Scored| phrases.acts(s.phrase);
        let first = acts(a).cmp(&acts(b)).then(b.keyness.total_cmp(&a.keyness));
        first.then(width(b).cmp(&width(a))).then(a.phrase.cmp(&b.phrase))
    };
    let pool = KEYWORDS * 12;
    if scored.len() > pool {
        scored.select_nth_unstable_by(pool, order);
        scored.truncate(pool);
    }
    scored.sort_unstable_by(order);
    let mut chosen: Vec<Scored> = Vec::new();
    for &new in &scored {
        if chosen.len() == KEYWORDS {
            break;
        }
        let repeated = chosen.iter().any(|old| {
            let shared = phrases.shared(old.phrase, new.phrase);
            let (short, long) = (phrases.width(new.phrase), phrases.width(old.phrase));
            let inside = shared == short.min(long);
            let alike = f64::from(new.with.min(old.with)) >= 0.6 * f64::from(new.with.max(old.with));
            inside && (alike || short <= long) || shared >= 2
        });
        let worn = chosen.iter().filter(|old| phrases.shared(old.phrase, new.phrase) > 0).count() >= 2;
        if !repeated && !worn {
            chosen.push(new);
        }
    }
    chosen.sort_by(|a, b| b.keyness.total_cmp(&a.keyness));
    chosen
        .into_iter()
        .map(|s| Keyword { text: phrases.text(s.phrase).to_owned(), keyness: s.keyness, documents: s.with })
        .collect()
}

/// The root has no rest to stand against: its keywords are what most documents have.
fn common(counts: &Counts, phrases: &Phrases) -> Vec<Keyword> {
    let weight = |with: u32, phrase| f64::from(with) * (1.0 + 0.5 * (phrases.width(phrase) as f64 - 1.0));
    let scored = counts.iter().map(|(phrase, with)| Scored {
        phrase: *phrase,
        with: *with,
        keyness: 2.0 + weight(*with, *phrase),
    });
    let mut out = pick(scored.collect(), phrases);
    out.iter_mut().for_each(|keyword| keyword.keyness = 1.0);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use retreever_tree::{Depth, LeafId};

    #[test]
    fn simple_maths_by_hand() {
        // 3 of 4 documents here (750 of a thousand), 1 of 10 elsewhere (100): 770 / 120.
        let key = keyness(Frequency { with: 3, of: 4 }, Frequency { with: 1, of: 10 });
        assert!((key - 770.0 / 120.0).abs() < 1e-12);
        assert_eq!(keyness(Frequency { with: 0, of: 0 }, Frequency { with: 0, of: 0 }), 1.0);
    }

    #[test]
    fn counts_merge_in_order() {
        let phrases = Phrases::new(&["a1 b1", "b1 c1", "c1"]);
        let (left, right) = (count(&[0, 1], &phrases), count(&[1, 2], &phrases));
        let both = merge(&left, &right);
        assert!(both.windows(2).all(|pair| pair[0].0 < pair[1].0));
        assert_eq!(
            both.iter().map(|(_, n)| n).sum::<u32>(),
            left.iter().chain(&right).map(|(_, n)| n).sum::<u32>()
        );
    }

    #[test]
    fn each_side_gets_its_own_words() {
        let texts =
            ["whole life insurance", "term life insurance", "auto insurance claim", "auto insurance rate"];
        let places = Places::new(Depth::new(1).unwrap(), [0, 0, 1, 1].map(LeafId::new).to_vec());
        let words = of_nodes(&places, &Phrases::new(&texts));
        let text = |words: &[Keyword]| words.iter().map(|w| w.text.clone()).collect::<Vec<_>>();
        assert_eq!(words[1].keywords[0].text, "life insurance");
        assert_eq!(words[2].keywords[0].text, "auto insurance");
        assert!(!text(&words[1].apart).iter().any(|word| word.contains("auto") || word == "insurance"));
        assert_eq!(words[2].keywords[0].documents, 2);
    }
}
