//! The manifest: what a commit says about the assignments. It is the payload of tantivy's commit.

use crate::{Error, Result, Shape};
use retreever_tree::Routing;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The one format that is written and read.
const FORMAT: u32 = 2;

/// What a commit says about the assignments.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Manifest {
    format: u32,
    pub(crate) shape: Shape,
    /// The rule that places documents and opens leaves.
    pub(crate) routing: Routing,
    /// The next sequence number.
    pub(crate) next_sequence: u64,
    /// The next number of a file of segments or notes.
    pub(crate) next_file: u64,
    /// The live segment files, oldest first.
    pub(crate) segments: Vec<String>,
    /// The file of the notes, if any were set.
    #[serde(default)]
    pub(crate) notes: Option<String>,
}

/// The part of the payload that every format has.
#[derive(Deserialize)]
struct Version {
    format: u32,
}

impl Manifest {
    /// The manifest of an index without documents.
    pub(crate) fn new(shape: Shape, routing: Routing) -> Self {
        Self {
            format: FORMAT,
            shape,
            routing,
            next_sequence: 0,
            next_file: 0,
            segments: Vec::new(),
            notes: None,
        }
    }

    /// The payload to write.
    pub(crate) fn payload(&self) -> String {
        serde_json::to_string(self).expect("a manifest is JSON")
    }

    /// Reads a payload back. `dir` is the directory of the index.
    pub(crate) fn read(dir: &Path, payload: &str) -> Result<Self> {
        let path = dir.join("documents").join("meta.json");
        let damaged = |error: serde_json::Error| Error::damaged(&path, 0, error.to_string());
        let Version { format } = serde_json::from_str(payload).map_err(damaged)?;
        if format < FORMAT {
            return Err(Error::Outdated(dir.to_owned()));
        }
        if format > FORMAT {
            return Err(Error::Format { path, found: format, known: FORMAT });
        }
        let manifest: Self = serde_json::from_str(payload).map_err(damaged)?;
        manifest.routing.check(manifest.shape.depth).map_err(|what| Error::damaged(&path, 0, what))?;
        Ok(manifest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use retreever_tree::{Depth, Nesting};

    #[test]
    fn only_this_format_is_read() {
        let depth = Depth::new(2).unwrap();
        let shape = Shape { depth, nesting: Nesting::Nested };
        let manifest = Manifest::new(shape, Routing { sharpening: vec![0.1, 3.3], cover: Vec::new() });
        let (payload, dir) = (manifest.payload(), Path::new("x"));
        assert_eq!(Manifest::read(dir, &payload).unwrap(), manifest);
        let with = |from: &str, to: &str| Manifest::read(dir, &payload.replace(from, to));
        assert!(matches!(with("\"format\":2", "\"format\":1"), Err(Error::Outdated(_))));
        assert!(matches!(with("\"format\":2", "\"format\":3"), Err(Error::Format { found: 3, .. })));
        assert!(matches!(with("[0.1,3.3]", "[0.1]"), Err(Error::Damaged { .. })));
        assert!(matches!(with("segments", "segment"), Err(Error::Damaged { .. })));
    }
}
