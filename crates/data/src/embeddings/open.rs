//! Embeddings by the name of their file.
//!
//! | file | holds |
//! |---|---|
//! | `NAME.npy` | pooled embeddings `[items, width]` |
//! | `NAME.npy` beside `NAME.offsets.npy` | tokens `[rows, width]`, and where each item starts `[items + 1]` |
//! | ... and beside `NAME.pooled.npy` | the pooled embeddings `[items, width]` too; else the mean of the tokens |
//! | `NAME.safetensors` | the tensors `tokens` and `offsets` (and `pooled`), or one tensor, the pooled embeddings |

use super::npy::Values;
use super::table::{Cut, Parts, Table};
use super::{Ragged, npy, safetensors};
use crate::error::{Error, Place};
use std::path::{Path, PathBuf};

enum Format {
    Npy,
    Safetensors,
}

fn format(path: &Path) -> Result<Format, Error> {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("npy") => Ok(Format::Npy),
        Some("safetensors") => Ok(Format::Safetensors),
        _ => {
            let reason = "embeddings are read from a .npy or .safetensors file";
            Err(Error::malformed(Place::file(path), reason))
        }
    }
}

/// Whether a path is named as embeddings are: `.npy` or `.safetensors`.
pub fn is_named_so(path: &Path) -> bool {
    format(path).is_ok()
}

/// `NAME.offsets.npy` for `NAME.npy`.
fn beside(path: &Path, part: &str) -> PathBuf {
    path.with_extension(format!("{part}.npy"))
}

/// Reads embeddings made elsewhere, and checks all of them.
pub fn open(path: &Path) -> Result<Table, Error> {
    let parts = match format(path)? {
        Format::Safetensors => safetensors::read(path)?,
        Format::Npy => {
            let (offsets, pooled) = (beside(path, "offsets"), beside(path, "pooled"));
            let rows = npy::read(path)?;
            let cut = if offsets.exists() {
                let pooled = pooled.exists().then(|| npy::read(&pooled)).transpose()?;
                Some(Cut { offsets: npy::read(&offsets)?, pooled })
            } else {
                None
            };
            Parts { rows, cut }
        }
    };
    Table::build(parts)
}

/// Writes embeddings so that [`open`] reads them, in single precision.
///
/// Items whose only token is their pooled embedding are written as pooled alone.
pub fn save(path: &Path, batch: &Ragged) -> Result<(), Error> {
    let format = format(path)?;
    let table = Table::from(batch);
    match format {
        Format::Safetensors => safetensors::write(path, &table),
        Format::Npy => {
            let pooled = table.all_pooled();
            let Some((tokens, offsets)) = table.all_tokens() else {
                // Offsets of an earlier set would cut these rows into its items.
                remove_if_there(&beside(path, "offsets"))?;
                return npy::write(path, &[table.items(), table.width], &Values::F32(&pooled));
            };
            let offsets: Vec<i64> = offsets.iter().map(|&offset| offset as i64).collect();
            npy::write(path, &[tokens.len() / table.width, table.width], &Values::F32(&tokens))?;
            npy::write(&beside(path, "pooled"), &[table.items(), table.width], &Values::F32(&pooled))?;
            npy::write(&beside(path, "offsets"), &[offsets.len()], &Values::I64(&offsets))
        }
    }
}

fn remove_if_there(path: &Path) -> Result<(), Error> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Error::io(path)(error)),
        _ => Ok(()),
    }
}
