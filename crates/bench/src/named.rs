//! Data sets as benches name them: a path, or a name that is fetched.

use anyhow::Result;
use retreever::{BadLines, Dataset};
use retreever_data::get::{Named, get};
use std::path::Path;

/// Opens a data set.
pub(crate) fn dataset(data: &Path) -> Result<Dataset> {
    let named = [Named::InsuranceQa, Named::SquadShifts];
    let path = match named.into_iter().find(|named| data.as_os_str() == named.to_string().as_str()) {
        Some(named) if !data.exists() => {
            if !named.folder().exists() {
                get(named, &named.folder(), &mut |_| ())?;
            }
            named.folder()
        }
        _ => data.to_owned(),
    };
    Ok(retreever::open(&path, BadLines::Stop)?)
}
