//! Why a document answers a question: one explanation, for people and for programs.
//!
//! It has three parts, all from the index alone.
//!
//! - **way**: where the question goes, by the calibrated chance that its answer lies below each node; and where the document
//!   leaves that way.
//! - **common**: what question and document have in common at a level that a person can survey, `sum_n min(q_n, d_n)` over its
//!   nodes, by the routing reading. The parts sum to the whole exactly.
//! - **account**: why the ranking score differs from that of the average document of the index. With nested levels the score
//!   is 1 less what question and document lose at each split,
//!
//!   ```text
//!   loss_t = min(q_t, d_t) - min(q_left, d_left) - min(q_right, d_right) >= 0
//!   ```
//!
//!   so the difference to the average document's score is the sum over splits of the difference of their losses. Splits are
//!   grouped by the subject that they divide. Where levels do not nest, nodes take the place of splits.
//!
//! A hybrid score is split into the tree's part and the words' part first.

mod text;

use crate::Error;
use crate::notes::notes;
use retreever_index::{Hit, Parts, Query, Snapshot};
use retreever_inspect::Notes;
use retreever_tree::{Assignment, Depth, Level, Nesting, NodeId, Routed};
use serde::Serialize;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The level at which a person can survey what two items have in common: 64 nodes.
const READABLE: usize = 6;
/// The level of the subjects by which the account is grouped: 16 nodes.
const SUBJECTS: usize = 4;
/// A question's way is told as far down as its node is at least this likely.
const WORTH: f32 = 0.2;
/// Nodes and subjects that are named, at most; the rest is summed.
const NAMED: usize = 5;
/// What a node must hold to be named.
const TELLING: f64 = 0.01;
/// The share of all that subjects add or take away which one must have to be named, and the least that it must add.
const HEARD: f64 = 0.05;
const LEAST: f64 = 0.0005;

/// Explains the answers of one snapshot.
pub struct Explainer<'a> {
    snapshot: &'a Snapshot,
    notes: Option<Cow<'a, Notes>>,
    average: Vec<f32>,
}

/// A node on the way of a question.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Step {
    /// The node.
    pub node: NodeId,
    /// Its label; empty in an index without texts.
    pub label: String,
    /// The calibrated chance that the answer lies below it.
    pub chance: f32,
    /// Whether its label says something that the ones above do not.
    pub news: bool,
}

/// Where a question goes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Way {
    /// The likeliest way, from level 1 as far down as it is worth saying.
    pub steps: Vec<Step>,
    /// Other nodes of the last step's level, likeliest first, as far as they are worth saying.
    pub others: Vec<Step>,
    /// Whether chances were calibrated on pairs of questions and answers.
    pub calibrated: bool,
}

/// Where the document leaves the way of the question.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Parting {
    /// The last node of the question's way that the document lies below.
    pub node: NodeId,
    /// Whether that is the end of the way.
    pub on_way: bool,
    /// Its label.
    pub label: String,
    /// The chance that the answer lies below it.
    pub chance: f32,
    /// The node at the readable level below which the document lies.
    pub place: NodeId,
    /// Its label.
    pub place_label: String,
    /// The chance that the answer lies there.
    pub place_chance: f32,
}

/// What question and document have in common.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Common {
    /// The level whose nodes are compared.
    pub level: Level,
    /// The whole, between 0 and 1: the sum of all nodes' shares.
    pub share: f64,
    /// What single nodes hold, the largest first.
    pub nodes: Vec<CommonNode>,
    /// What all other nodes hold together.
    pub others: f64,
}

/// What one node holds of what question and document have in common.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CommonNode {
    /// The node.
    pub node: NodeId,
    /// Its label.
    pub label: String,
    /// The routing chance of the question there.
    pub question: f32,
    /// That of the document.
    pub document: f32,
    /// The smaller of the two.
    pub common: f64,
}

/// Why the ranking score is what it is. `score = average + sum of subjects + others`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Account {
    /// The score of the document by the tree.
    pub score: f64,
    /// The score of the average document of this index.
    pub average: f64,
    /// What single subjects add or take away, the largest first.
    pub subjects: Vec<Subject>,
    /// What all other subjects add together.
    pub others: f64,
}

/// What the splits of one subject add to a score.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Subject {
    /// The node whose splits these are; the root for the splits above all subjects.
    pub node: NodeId,
    /// Its label.
    pub label: String,
    /// What they add to the score of the average document.
    pub adds: f64,
}

/// Why a document answers a question.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explanation {
    /// Where the document leaves the question's way.
    pub parting: Parting,
    /// What question and document have in common.
    pub common: Common,
    /// Why the tree's score is what it is.
    pub account: Account,
    /// The parts of a hybrid score, which sum to it; `None` for a search by the tree alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parts: Option<Parts>,
}

impl<'a> Explainer<'a> {
    /// Reads what explanations need: labels and the average document.
    pub fn new(snapshot: &'a Snapshot) -> Result<Self, Error> {
        Ok(Self { snapshot, notes: notes(snapshot)?.map(Cow::Owned), average: snapshot.average()? })
    }

    /// With other labels than those of the index: those of an inspection, or of a language model. A
    /// node that they leave out is called by its number.
    pub fn with_notes(snapshot: &'a Snapshot, notes: &'a Notes) -> Result<Self, Error> {
        Ok(Self { snapshot, notes: Some(Cow::Borrowed(notes)), average: snapshot.average()? })
    }

    /// The label of a node; empty in an index without texts.
    pub fn label(&self, node: NodeId) -> &str {
        self.notes.as_ref().and_then(|notes| notes.labels.get(node.index())).map_or("", String::as_str)
    }

    /// Where a question goes.
    pub fn way(&self, question: Assignment<'_>) -> Way {
        let routing = self.snapshot.routing();
        let routed = routing.read(question);
        let end = end_of_way(self.snapshot, &routed);
        let last = end.level();
        let mut others: Vec<NodeId> =
            last.nodes().filter(|node| *node != end && routed.chance(*node) >= WORTH / 2.0).collect();
        others.retain(|node| self.snapshot.count(*node) > 0);
        others.sort_by(|a, b| routed.chance(*b).total_cmp(&routed.chance(*a)));
        let step = |node: NodeId| Step {
            node,
            label: self.label(node).to_owned(),
            chance: routed.chance(node),
            news: !self.notes.as_ref().is_some_and(|notes| notes.folds(node)),
        };
        Way {
            steps: end.path().filter(|node| *node != NodeId::ROOT).map(step).collect(),
            others: others.into_iter().map(step).collect(),
            calibrated: routing.is_calibrated(),
        }
    }

    /// Why `hit` answers `query`.
    pub fn explain(&self, query: &Query<'_>, hit: &Hit) -> Result<Explanation, Error> {
        let shape = self.snapshot.shape();
        let row = self.snapshot.assignment(hit)?;
        let document = Assignment::new(shape.depth, shape.nesting, &row);
        let average = Assignment::new(shape.depth, shape.nesting, &self.average);
        let routing = self.snapshot.routing();
        let (asked, placed) = (routing.read(query.assignment), routing.read(document));
        let level = query.level.unwrap_or(shape.depth.leaf_level());
        Ok(Explanation {
            parting: self.parting(&asked, self.snapshot.place(hit).node(shape.depth)),
            common: self.common(&asked, &placed),
            account: self.account(query.assignment, document, average, level),
            parts: hit.parts,
        })
    }

    fn parting(&self, asked: &Routed, place: NodeId) -> Parting {
        let end = end_of_way(self.snapshot, asked);
        let node = end.common_ancestor(place);
        let level = upper(asked.depth(), READABLE);
        let place = place.ancestor(level.max(node.level())).unwrap_or(place);
        let labelled = |node| (self.label(node).to_owned(), asked.chance(node));
        let ((label, chance), (place_label, place_chance)) = (labelled(node), labelled(place));
        Parting { node, on_way: node == end, label, chance, place, place_label, place_chance }
    }

    fn common(&self, asked: &Routed, placed: &Routed) -> Common {
        let level = upper(asked.depth(), READABLE);
        let mut nodes: Vec<CommonNode> = level
            .nodes()
            .map(|node| {
                let (question, document) = (asked.chance(node), placed.chance(node));
                let common = f64::from(question.min(document));
                CommonNode { node, label: self.label(node).to_owned(), question, document, common }
            })
            .collect();
        nodes.sort_by(|a, b| b.common.total_cmp(&a.common).then(a.node.cmp(&b.node)));
        let rest = nodes.split_off(nodes.iter().take(NAMED).filter(|node| node.common >= TELLING).count());
        let others: f64 = rest.iter().map(|node| node.common).sum();
        let named: f64 = nodes.iter().map(|node| node.common).sum();
        Common { level, share: named + others, nodes, others }
    }

    fn account(
        &self,
        question: Assignment<'_>,
        document: Assignment<'_>,
        average: Assignment<'_>,
        level: Level,
    ) -> Account {
        let (losses, usual) = (losses(question, document, level), losses(question, average, level));
        let mut sums: BTreeMap<NodeId, f64> = BTreeMap::new();
        for ((node, loss), (_, usual)) in losses.iter().zip(&usual) {
            *sums.entry(subject(*node)).or_default() += usual - loss;
        }
        let mut subjects: Vec<Subject> = sums
            .into_iter()
            .map(|(node, adds)| Subject { node, label: self.label(node).to_owned(), adds })
            .collect();
        subjects.sort_by(|a, b| b.adds.abs().total_cmp(&a.adds.abs()).then(a.node.cmp(&b.node)));
        let moved: f64 = subjects.iter().map(|subject| subject.adds.abs()).sum();
        let heard = |subject: &&Subject| subject.adds.abs() >= LEAST.max(HEARD * moved);
        let rest = subjects.split_off(subjects.iter().take(NAMED).filter(heard).count());
        let score = |losses: &[(NodeId, f64)]| 1.0 - losses.iter().map(|(_, loss)| loss).sum::<f64>();
        Account {
            score: score(&losses),
            average: score(&usual),
            subjects,
            others: rest.iter().map(|subject| subject.adds).sum(),
        }
    }
}

/// The node at which the likeliest way ends: the likeliest of the lowest level that is worth saying. A node without documents is not.
fn end_of_way(snapshot: &Snapshot, routed: &Routed) -> NodeId {
    let worth = |level: &Level| {
        let node = routed.likeliest(*level);
        routed.chance(node) >= WORTH && snapshot.count(node) > 0
    };
    let last = routed.depth().levels().take_while(worth).last().unwrap_or(Level::ROOT.below());
    routed.likeliest(last)
}

/// What two items lose of the score 1: at each split above `level` where levels nest, else at each node of `level`.
fn losses(question: Assignment<'_>, document: Assignment<'_>, level: Level) -> Vec<(NodeId, f64)> {
    if question.nesting() == Nesting::PerLevel {
        let (q, d) = (question.at(level), document.at(level));
        let loss = |(node, (q, d)): (NodeId, (&f32, &f32))| (node, 0.5 * f64::from((q - d).abs()));
        return level.nodes().zip(q.iter().zip(d.iter())).map(loss).collect();
    }
    let (q, d) = (question.nodes(), document.nodes());
    let common = |node: NodeId| f64::from(q[node.index()].min(d[node.index()]));
    (0..level.start() as u32)
        .map(NodeId::new)
        .map(|node| (node, common(node) - common(node.left()) - common(node.right())))
        .collect()
}

/// The subject that a node belongs to: its ancestor at the subjects' level, or the root for nodes above that.
fn subject(node: NodeId) -> NodeId {
    match node.level().get() < SUBJECTS {
        true => NodeId::ROOT,
        false => node.path().nth(SUBJECTS).unwrap_or(node),
    }
}

/// A level of a tree, or its leaves if it ends above.
fn upper(depth: Depth, level: usize) -> Level {
    depth.levels().nth(level - 1).unwrap_or(depth.leaf_level())
}

#[cfg(test)]
mod tests {
    use super::*;
    use retreever_index::{Document, Index, Shape};
    use retreever_tree::{Assignments, Routing};

    fn rows(nesting: Nesting, depth: Depth, count: usize, seed: u64) -> Assignments {
        let mut state = seed;
        let mut next = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 40) as f32 / (1 << 24) as f32 + 1e-3
        };
        let mut level = |width: usize| {
            let row: Vec<f32> = (0..width).map(|_| next().powi(4)).collect();
            let sum: f32 = row.iter().sum();
            row.into_iter().map(move |p| p / sum).collect::<Vec<f32>>()
        };
        let widths: Vec<usize> = match nesting {
            Nesting::Nested => vec![depth.leaves()],
            Nesting::PerLevel => depth.levels().map(Level::width).collect(),
        };
        let rows =
            (0..count).flat_map(|_| widths.iter().flat_map(|w| level(*w)).collect::<Vec<_>>()).collect();
        Assignments::new(depth, nesting, rows).unwrap()
    }

    #[test]
    fn every_part_sums_to_its_whole() {
        for nesting in [Nesting::Nested, Nesting::PerLevel] {
            let (home, depth) = (tempfile::tempdir().unwrap(), Depth::new(7).unwrap());
            let routing = match nesting {
                Nesting::Nested => Routing { sharpening: vec![3.0; 7], cover: Vec::new() },
                Nesting::PerLevel => Routing::same(),
            };
            let index = Index::create(home.path(), Shape { depth, nesting }, routing).unwrap();
            let mut writer = index.writer().unwrap();
            let documents: Vec<Document> = (0..20)
                .map(|n| Document::new(format!("d{n}"), format!("word{} and word{}", n % 3, n % 5)))
                .collect();
            writer.add(&documents, &rows(nesting, depth, 20, 1)).unwrap();
            writer.commit().unwrap();
            drop(writer);
            crate::refresh_notes(&index).unwrap();
            let snapshot = index.snapshot().unwrap();
            let explainer = Explainer::new(&snapshot).unwrap();
            let asked = rows(nesting, depth, 1, 7);
            for level in [None, depth.level(3)] {
                let query = Query { level, ..Query::new(asked.row(0), 5) };
                for hit in &snapshot.search(&query).unwrap().hits {
                    let why = explainer.explain(&query, hit).unwrap();
                    let Account { score, average, subjects, others } = &why.account;
                    assert!((score - hit.score).abs() < 1e-5, "{score} {}", hit.score);
                    let sum: f64 = average + others + subjects.iter().map(|s| s.adds).sum::<f64>();
                    assert!((sum - score).abs() < 1e-9, "{sum} {score}");
                    let common: f64 = why.common.nodes.iter().map(|n| n.common).sum();
                    assert!((common + why.common.others - why.common.share).abs() < 1e-12);
                    assert!(why.parting.chance >= why.parting.place_chance - 1e-6);
                    let end = explainer.way(query.assignment).steps.last().unwrap().node;
                    assert!(end.is_under(why.parting.node));
                    assert_eq!(why.parting.on_way, why.parting.place.is_under(end));
                }
            }
            let way = explainer.way(asked.row(0));
            assert!(!way.steps.is_empty() && !way.calibrated);
            assert!(!way.steps[0].label.is_empty());
            if nesting == Nesting::Nested {
                assert!(way.steps.windows(2).all(|pair| pair[1].node.is_under(pair[0].node)));
            }
        }
    }
}
