//! Where fetched and computed files are kept between runs.

use std::env;
use std::path::PathBuf;

/// `RETREEVER_CACHE` if it is set, else `retreever` in the user's cache directory (`XDG_CACHE_HOME`, or
/// `.cache` at home). The directory need not exist yet.
pub fn cache_dir() -> PathBuf {
    let set = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("RETREEVER_CACHE")
        .or_else(|| set("XDG_CACHE_HOME").map(|dir| dir.join("retreever")))
        .or_else(|| set("HOME").map(|home| home.join(".cache").join("retreever")))
        .unwrap_or_else(|| env::temp_dir().join("retreever"))
}
