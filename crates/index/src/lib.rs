//! Assignments on disk: exact and leaf search, documents, add, delete, verify.
//!
//! An index is a directory. [`segment`] keeps assignments in immutable, checksummed, memory-mapped files;
//! [`documents`] keeps texts, ids and metadata in a tantivy index whose commit names the live segments, so
//! that one atomic rename moves both; [`search`] answers queries over a [`Snapshot`] of them. How texts become
//! assignments is left to others: this crate meets them at [`retreever_tree::Assignments`].
//!
//! ```
//! use retreever_index::{Document, Index, Query, Shape};
//! use retreever_tree::{Assignments, Depth, Nesting, Routing};
//!
//! let dir = tempfile::tempdir()?;
//! let depth = Depth::new(1).unwrap();
//! let shape = Shape { depth, nesting: Nesting::Nested };
//! let index = Index::create(dir.path(), shape, Routing::same())?;
//! let mut writer = index.writer()?;
//! let rows = Assignments::nested(depth, vec![0.9, 0.1, 0.2, 0.8])?;
//! writer.add(&[Document::new("a", "apples"), Document::new("b", "bread")], &rows)?;
//! writer.commit()?;
//!
//! let snapshot = index.snapshot()?;
//! let query = Assignments::nested(depth, vec![0.25, 0.75])?;
//! let answer = snapshot.search(&Query::new(query.row(0), 1))?;
//! assert_eq!(snapshot.document(&answer.hits[0])?.id, "b");
//! assert!((answer.hits[0].score - 0.95).abs() < 1e-6);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![deny(unsafe_code)]

mod compaction;
pub mod documents;
mod error;
pub mod filter;
mod manifest;
mod map;
mod notes;
mod population;
mod positioned;
mod sealed;
pub mod search;
pub mod segment;
mod snapshot;
mod writer;

pub use documents::Document;
pub use error::{Error, Result};
pub use filter::Filter;
pub use search::{Answer, Fusion, Guarantee, Hit, Mode, Opening, Parts, Query, Share};
pub use segment::Shape;
pub use snapshot::{Index, Snapshot, Verified};
pub use writer::Writer;
