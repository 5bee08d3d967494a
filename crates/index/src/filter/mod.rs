//! Filters: which documents may be found, as an expression over metadata and subtrees.
//!
//! ```text
//! domain = "annuities" and year > 2010
//! domain in ("auto", "home") and not (draft = true or under 5)
//! ```
//! A comparison holds if the document has the field and any of its values fits; `!=` and `not in` are the
//! negations of `=` and `in`, so they hold for documents without the field. Text is compared by its bytes,
//! numbers as numbers, and nothing across kinds. `under 5` holds for documents whose leaf is under node 5. A
//! dot reaches into objects: `author.name = "Kim"`.

mod columns;
mod parse;

pub use parse::FilterError;

use crate::{Result, Snapshot};
use retreever_tree::{LeafId, NodeId};

/// An expression over metadata and subtrees.
#[derive(Clone, Debug, PartialEq)]
pub enum Filter {
    /// All of them hold.
    And(Vec<Filter>),
    /// At least one holds.
    Or(Vec<Filter>),
    /// It does not hold.
    Not(Box<Filter>),
    /// A field compares like this with a value.
    Compare {
        /// The field.
        field: String,
        /// How.
        comparison: Comparison,
        /// With what.
        value: Scalar,
    },
    /// A field is one of these values.
    In {
        /// The field.
        field: String,
        /// The values.
        values: Vec<Scalar>,
    },
    /// The document's leaf is under this node.
    Under(NodeId),
}

/// How two values compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `=`
    Equal,
    /// `<`
    Less,
    /// `<=`
    AtMost,
    /// `>`
    Greater,
    /// `>=`
    AtLeast,
}

impl Comparison {
    fn holds(self, order: std::cmp::Ordering) -> bool {
        match self {
            Self::Equal => order.is_eq(),
            Self::Less => order.is_lt(),
            Self::AtMost => order.is_le(),
            Self::Greater => order.is_gt(),
            Self::AtLeast => order.is_ge(),
        }
    }
}

/// A value to compare with.
#[derive(Clone, Debug, PartialEq)]
pub enum Scalar {
    /// Text, by its bytes.
    Text(String),
    /// A number.
    Number(f64),
    /// True or false.
    Bool(bool),
}

impl std::str::FromStr for Filter {
    type Err = FilterError;
    fn from_str(text: &str) -> std::result::Result<Self, FilterError> {
        parse::parse(text)
    }
}

/// One bit a row of each segment.
pub(crate) type Bits = Vec<Vec<u64>>;

impl Filter {
    /// The rows of the snapshot that the filter lets through.
    pub(crate) fn rows(&self, snapshot: &Snapshot) -> Result<Bits> {
        let mut bits = self.evaluate(snapshot)?;
        combine(&mut bits, &snapshot.live, |a, b| a & b);
        Ok(bits)
    }

    fn evaluate(&self, snapshot: &Snapshot) -> Result<Bits> {
        match self {
            Self::And(parts) => fold(parts, snapshot, u64::MAX, |a, b| a & b),
            Self::Or(parts) => fold(parts, snapshot, 0, |a, b| a | b),
            Self::Not(part) => {
                let mut bits = part.evaluate(snapshot)?;
                bits.iter_mut().flatten().for_each(|word| *word = !*word);
                Ok(bits)
            }
            Self::Compare { field, comparison, value } => columns::matching(snapshot, field, |found| {
                found.compare(value).is_some_and(|order| comparison.holds(order))
            }),
            Self::In { field, values } => columns::matching(snapshot, field, |found| {
                values.iter().any(|value| found.compare(value).is_some_and(std::cmp::Ordering::is_eq))
            }),
            Self::Under(node) => Ok(under(snapshot, *node)),
        }
    }
}

/// Bits of the snapshot's shape, all like `word`.
fn filled(snapshot: &Snapshot, word: u64) -> Bits {
    snapshot.live.iter().map(|live| vec![word; live.len()]).collect()
}

fn combine(bits: &mut Bits, other: &Bits, with: impl Fn(u64, u64) -> u64) {
    for (word, other) in bits.iter_mut().flatten().zip(other.iter().flatten()) {
        *word = with(*word, *other);
    }
}

fn fold(parts: &[Filter], snapshot: &Snapshot, start: u64, with: impl Fn(u64, u64) -> u64) -> Result<Bits> {
    let mut bits = filled(snapshot, start);
    for part in parts {
        combine(&mut bits, &part.evaluate(snapshot)?, &with);
    }
    Ok(bits)
}

fn under(snapshot: &Snapshot, node: NodeId) -> Bits {
    let mut bits = filled(snapshot, 0);
    let depth = snapshot.shape().depth;
    if node.index() >= depth.nodes() {
        return bits;
    }
    for (segment, bits) in snapshot.segments().zip(&mut bits) {
        for leaf in node.leaves(depth) {
            for row in segment.leaf(LeafId::new(leaf as u32)) {
                bits[row / 64] |= 1 << (row % 64);
            }
        }
    }
    bits
}
