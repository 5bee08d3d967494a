//! Metadata columns of the document store, and which rows have a value that fits.

use super::{Bits, Scalar, filled};
use crate::documents::METADATA;
use crate::{Error, Result, Snapshot};
use std::cmp::Ordering;
use tantivy::DocAddress;
use tantivy::columnar::{Column, DynamicColumn, StrColumn};

/// A value found in a column.
pub(super) enum Cell<'a> {
    Text(&'a str),
    Signed(i64),
    Unsigned(u64),
    Float(f64),
    Bool(bool),
}

impl Cell<'_> {
    /// How the value compares; nothing across kinds.
    pub(super) fn compare(&self, value: &Scalar) -> Option<Ordering> {
        match (self, value) {
            (Self::Text(found), Scalar::Text(value)) => Some((*found).cmp(value.as_str())),
            (Self::Bool(found), Scalar::Bool(value)) => Some(found.cmp(value)),
            (Self::Signed(found), Scalar::Number(value)) => (*found as f64).partial_cmp(value),
            (Self::Unsigned(found), Scalar::Number(value)) => (*found as f64).partial_cmp(value),
            (Self::Float(found), Scalar::Number(value)) => found.partial_cmp(value),
            _ => None,
        }
    }
}

/// The rows whose documents have a value of the field that fits.
pub(super) fn matching(snapshot: &Snapshot, field: &str, fits: impl Fn(Cell<'_>) -> bool) -> Result<Bits> {
    let mut bits = filled(snapshot, 0);
    let path = snapshot.index.documents();
    let name = format!("{METADATA}.{field}");
    for (number, reader) in snapshot.searcher.segment_readers().iter().enumerate() {
        let mut set = |doc: u32| {
            if let Some((segment, row)) = snapshot.row_of(DocAddress::new(number as u32, doc)) {
                bits[segment][row / 64] |= 1 << (row % 64);
            }
        };
        let columns = reader.fast_fields().dynamic_column_handles(&name);
        for column in columns.map_err(Error::store("read metadata", &path))? {
            let failed = Error::io("read metadata of", &path);
            match column.open().map_err(&failed)? {
                DynamicColumn::Str(column) => {
                    let wanted = wanted_terms(&column, &fits).map_err(&failed)?;
                    each(column.ords(), |term| wanted[term as usize], &mut set);
                }
                DynamicColumn::Bool(column) => each(&column, |v| fits(Cell::Bool(v)), &mut set),
                DynamicColumn::I64(column) => each(&column, |v| fits(Cell::Signed(v)), &mut set),
                DynamicColumn::U64(column) => each(&column, |v| fits(Cell::Unsigned(v)), &mut set),
                DynamicColumn::F64(column) => each(&column, |v| fits(Cell::Float(v)), &mut set),
                // Metadata is JSON, which has none of these.
                DynamicColumn::IpAddr(_) | DynamicColumn::DateTime(_) | DynamicColumn::Bytes(_) => {}
            }
        }
    }
    Ok(bits)
}

fn each<T: PartialOrd + Copy + std::fmt::Debug + Send + Sync + 'static>(
    column: &Column<T>,
    fits: impl Fn(T) -> bool,
    set: &mut impl FnMut(u32),
) {
    for doc in 0..column.num_docs() {
        if column.values_for_doc(doc).any(&fits) {
            set(doc);
        }
    }
}

/// Which of a column's texts fit, by their number.
fn wanted_terms(column: &StrColumn, fits: &impl Fn(Cell<'_>) -> bool) -> std::io::Result<Vec<bool>> {
    let mut wanted = Vec::with_capacity(column.num_terms());
    let mut terms = column.dictionary().stream()?;
    while terms.advance() {
        wanted.push(std::str::from_utf8(terms.key()).is_ok_and(|text| fits(Cell::Text(text))));
    }
    Ok(wanted)
}
