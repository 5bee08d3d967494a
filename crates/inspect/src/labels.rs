//! Labels from keywords: short, specific, unlike the sibling's, and saying more than the ancestors' do. A phrase that
//! another node of the level claims more strongly counts for less.

use crate::keywords::{Candidate, NodeWords};
use crate::phrases::{PhraseId, Phrases};
use crate::words::capitalised;
use retreever_tree::{Depth, NodeId};
use std::collections::{HashMap, HashSet};

/// The label of the root, which is about everything.
pub const ROOT: &str = "All documents";
/// The label of a node without documents.
pub const EMPTY: &str = "No documents";

/// Words that name hardly anything on their own, though phrases with them may.
const LIGHT: [&str; 34] = [
    "month",
    "months",
    "year",
    "years",
    "day",
    "days",
    "week",
    "weeks",
    "time",
    "times",
    "period",
    "level",
    "amount",
    "amounts",
    "number",
    "type",
    "types",
    "way",
    "ways",
    "thing",
    "things",
    "process",
    "factor",
    "factors",
    "option",
    "options",
    "choice",
    "situation",
    "information",
    "area",
    "limits",
    "items",
    "product",
    "products",
];

/// A phrase so many times likelier than in the sibling is what the branches are split by.
const SPLIT: f64 = 2.5;

/// A label for every node, in breadth-first order. Labels of siblings differ; labels of a level do where the
/// words allow it.
pub fn of_nodes(depth: Depth, words: &[NodeWords], phrases: &Phrases) -> Vec<String> {
    let mut labels = vec![String::new(); depth.nodes()];
    let mut said: Vec<Vec<PhraseId>> = vec![Vec::new(); depth.nodes()];
    labels[0] = ROOT.to_owned();
    for level in depth.levels() {
        let mut taken = HashSet::new();
        let claims = Claims::of(&words[level.start()..][..level.width()]);
        for node in level.nodes() {
            let above: Vec<PhraseId> =
                node.path().take(level.get()).flat_map(|node| said[node.index()].clone()).collect();
            let chosen = choose(&words[node.index()].candidates, &above, &claims, phrases);
            let label =
                spell(&chosen, phrases, &taken).unwrap_or_else(|| fallback(node, &words[node.index()]));
            let label = if taken.contains(&label) { format!("{label} ({node})") } else { label };
            taken.insert(label.clone());
            said[node.index()] = chosen.chosen.into_iter().take(chosen.strong).collect();
            labels[node.index()] = label;
        }
    }
    labels
}

/// A few phrases that say what a node is about, whatever its ancestors say.
pub fn about<'a>(words: &NodeWords, phrases: &'a Phrases) -> Vec<&'a str> {
    let choice = choose(&words.candidates, &[], &Claims::default(), phrases);
    choice.chosen.into_iter().map(|phrase| phrases.text(phrase)).collect()
}

/// How strongly each phrase stands for the node of a level that it stands for best.
#[derive(Default)]
struct Claims(HashMap<PhraseId, f64>);

impl Claims {
    fn of(level: &[NodeWords]) -> Self {
        let mut best: HashMap<PhraseId, f64> = HashMap::new();
        for candidate in level.iter().flat_map(|words| &words.candidates) {
            let best = best.entry(candidate.phrase).or_default();
            *best = best.max(candidate.score);
        }
        Self(best)
    }

    /// The part of the strongest claim to a phrase that a node has: 1 if no other node claims it more strongly.
    fn share(&self, candidate: &Candidate) -> f64 {
        self.0.get(&candidate.phrase).map_or(1.0, |best| candidate.score / best)
    }
}

/// The phrases of a label: the `strong` first ones say what the node is about, the others only tell it from
/// its like.
struct Choice {
    chosen: Vec<PhraseId>,
    strong: usize,
}

/// The phrases of a label, best first: no two that share a word, what ancestors said last.
fn choose(candidates: &[Candidate], above: &[PhraseId], claims: &Claims, phrases: &Phrases) -> Choice {
    let worth = |candidate: &Candidate| {
        let said =
            above.iter().any(|old| phrases.shared(*old, candidate.phrase) == phrases.width(candidate.phrase));
        let heard = above.iter().any(|old| phrases.shared(*old, candidate.phrase) > 0);
        // What a parent said of both its branches is no news, unless it is this one that it was said for.
        let news = if said {
            if candidate.apart >= SPLIT { 0.7 } else { 0.25 }
        } else if heard {
            0.8
        } else {
            1.0
        };
        // A phrase says more than a word, if it says it about most of the same documents.
        let width = [1.0, 1.4, 1.5][phrases.width(candidate.phrase) - 1];
        let thin = if candidate.coverage < 0.08 { 0.5 } else { 1.0 };
        let act = if phrases.acts(candidate.phrase) { 0.3 } else { 1.0 };
        let light = if LIGHT.contains(&phrases.text(candidate.phrase)) { 0.4 } else { 1.0 };
        candidate.score * claims.share(candidate) * news * width * thin * act * light
    };
    let mut ranked: Vec<(f64, PhraseId)> = candidates.iter().map(|c| (worth(c), c.phrase)).collect();
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let best = ranked.first().map_or(0.0, |(worth, _)| *worth);
    let (mut chosen, mut strong): (Vec<PhraseId>, usize) = (Vec::new(), 0);
    for (worth, phrase) in ranked {
        if chosen.iter().all(|old| phrases.shared(*old, phrase) == 0 && !phrases.alike(*old, phrase)) {
            chosen.push(phrase);
            strong += usize::from(worth >= 0.6 * best && strong < 2);
        }
        if chosen.len() == 4 {
            break;
        }
    }
    Choice { chosen, strong }
}

/// The strong phrases, more only to differ from labels that are taken.
fn spell(Choice { chosen, strong }: &Choice, phrases: &Phrases, taken: &HashSet<String>) -> Option<String> {
    let label = |n: usize| {
        let words: Vec<&str> = chosen.iter().take(n).map(|phrase| phrases.text(*phrase)).collect();
        capitalised(&words.join(", "))
    };
    if chosen.is_empty() {
        return None;
    }
    (*strong..=chosen.len())
        .map(label)
        .find(|label| !taken.contains(label))
        .or_else(|| Some(label(chosen.len())))
}

fn fallback(node: NodeId, words: &NodeWords) -> String {
    match words.keywords.first() {
        Some(word) => capitalised(&word.text),
        None if words.candidates.is_empty() => format!("{EMPTY} ({node})"),
        None => format!("Node {node}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keywords;
    use crate::places::Places;
    use retreever_tree::LeafId;

    #[test]
    fn general_above_specific_below_and_all_different() {
        let mut texts = Vec::new();
        let mut places = Vec::new();
        for (leaf, text) in
            ["whole life policy", "term life policy", "auto collision claim", "auto liability claim"]
                .iter()
                .enumerate()
        {
            for _ in 0..3 {
                texts.push(*text);
                places.push(LeafId::new(leaf as u32));
            }
        }
        let depth = Depth::new(2).unwrap();
        let phrases = Phrases::new(&texts);
        let words = keywords::of_nodes(&Places::new(depth, places), &phrases);
        let labels = of_nodes(depth, &words, &phrases);
        assert_eq!(labels[0], ROOT);
        assert!(labels[1].to_lowercase().contains("life"), "{labels:?}");
        assert!(labels[2].to_lowercase().contains("auto"), "{labels:?}");
        assert!(labels[3].to_lowercase().contains("whole"), "{labels:?}");
        assert!(labels[6].to_lowercase().contains("liability"), "{labels:?}");
        assert_eq!(labels.iter().collect::<HashSet<_>>().len(), labels.len());
    }

    #[test]
    fn nodes_without_words_still_have_labels() {
        let depth = Depth::new(1).unwrap();
        let phrases = Phrases::new(&["same", "same"]);
        let places = Places::new(depth, vec![LeafId::new(0); 2]);
        let labels = of_nodes(depth, &keywords::of_nodes(&places, &phrases), &phrases);
        assert!(labels[2].starts_with(EMPTY), "{labels:?}");
    }
}
