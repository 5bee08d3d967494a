//! The vocabulary of the tree: which nodes there are, how they are numbered, and what it means for an item
//! to be spread over them.
//!
//! A tree of depth `D` has `2^D - 1` split nodes in breadth-first order (the root is node 0) and `2^D` leaves
//! from left to right. Level `l` holds `2^l` nodes. This crate is the only place where those powers of two
//! are written; the model makes [`Assignments`], the index stores and searches them, and neither knows the
//! other.
//!
//! ```
//! use retreever_tree::{Assignments, Depth, LeafId, NodeId, Routing};
//!
//! let depth = Depth::new(2).unwrap();
//! let items = Assignments::nested(depth, vec![0.5, 0.1, 0.4, 0.0, 0.0, 0.0, 0.3, 0.7]).unwrap();
//! assert_eq!(items.len(), 2);
//! assert_eq!(Routing::same().leaf(items.row(1)), LeafId::new(3));
//! assert_eq!(items.row(0).at(depth.level(1).unwrap()).as_ref(), [0.6, 0.4]);
//! let leaf = LeafId::new(3).node(depth);
//! assert_eq!(leaf.path().collect::<Vec<_>>(), [NodeId::ROOT, NodeId::new(2), NodeId::new(6)]);
//! ```
#![forbid(unsafe_code)]

mod assignment;
mod node;
mod routing;

pub use assignment::{Assignment, Assignments, AssignmentsError, FLUSH, Nesting, coarsen};
pub use node::{Depth, LeafId, Level, MAX_DEPTH, NodeId};
pub use routing::{CoverPoint, Routed, Routing};
