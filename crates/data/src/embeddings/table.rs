//! Embeddings made elsewhere, whole in memory: pooled alone, or tokens cut into items by offsets.

use super::array::{Array, Numbers, Rows};
use super::{Embeddings, Ragged};
use crate::error::Error;
use std::borrow::Cow;
use std::ops::Range;

/// The arrays that a set of embeddings was read from.
pub(super) struct Parts {
    /// One row an item, unless they are cut.
    pub(super) rows: Array,
    pub(super) cut: Option<Cut>,
}

/// Rows `offsets[i]..offsets[i + 1]` are item `i`; `pooled` is their mean if not given.
pub(super) struct Cut {
    pub(super) offsets: Array,
    pub(super) pooled: Option<Array>,
}

/// Embeddings of a set of items in memory, in the precision of their file (half or single).
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    pub(super) width: usize,
    rows: Numbers,              // [rows, width]
    ragged: Option<RaggedRows>, // none: one row an item
}

#[derive(Clone, Debug, PartialEq)]
struct RaggedRows {
    offsets: Vec<usize>, // [items + 1]
    pooled: Vec<f32>,    // [items, width]
}

impl Table {
    /// Checks that the arrays fit together and that every number is finite.
    pub(super) fn build(parts: Parts) -> Result<Self, Error> {
        let rows = parts.rows.into_rows()?;
        let ragged = match parts.cut {
            None => None,
            Some(Cut { offsets, pooled }) => {
                let offsets = offsets.into_offsets(rows.rows)?;
                let pooled = match pooled {
                    Some(pooled) => given(pooled.into_rows()?, [offsets.len() - 1, rows.width])?,
                    None => means(&rows, &offsets),
                };
                Some(RaggedRows { offsets, pooled })
            }
        };
        Ok(Self { width: rows.width, rows: rows.numbers, ragged })
    }

    /// How many items there are.
    pub(super) fn items(&self) -> usize {
        self.ragged.as_ref().map_or(self.rows.len() / self.width, |ragged| ragged.offsets.len() - 1)
    }

    /// How many token rows there are in all.
    pub fn rows(&self) -> usize {
        self.rows.len() / self.width
    }

    /// Pooled embeddings of all items, `[items, width]`.
    pub fn all_pooled(&self) -> Cow<'_, [f32]> {
        match &self.ragged {
            Some(ragged) => Cow::Borrowed(&ragged.pooled),
            None => floats(&self.rows, 0..self.rows.len()),
        }
    }

    /// All token rows and the offsets that cut them into items; none if only pooled embeddings are known.
    pub(super) fn all_tokens(&self) -> Option<(Cow<'_, [f32]>, &[usize])> {
        self.ragged.as_ref().map(|ragged| (floats(&self.rows, 0..self.rows.len()), &ragged.offsets[..]))
    }
}

impl From<&Ragged> for Table {
    fn from(batch: &Ragged) -> Self {
        let only_pooled = batch.tokens() == batch.pooled();
        let ragged = RaggedRows { offsets: batch.offsets().to_vec(), pooled: batch.pooled().to_vec() };
        Self {
            width: batch.width(),
            rows: Numbers::F32(batch.tokens().to_vec()),
            ragged: (!only_pooled).then_some(ragged),
        }
    }
}

impl Embeddings for Table {
    fn len(&self) -> usize {
        self.items()
    }

    fn width(&self) -> usize {
        self.width
    }

    fn append(&self, item: usize, batch: &mut Ragged) {
        let rows = match &self.ragged {
            Some(ragged) => ragged.offsets[item]..ragged.offsets[item + 1],
            None => item..item + 1,
        };
        let pooled = self.ragged.as_ref().map(|ragged| &ragged.pooled[item * self.width..][..self.width]);
        let tokens = floats(&self.rows, rows.start * self.width..rows.end * self.width);
        batch.push(&tokens, pooled.unwrap_or(&tokens));
    }
}

fn floats(numbers: &Numbers, range: Range<usize>) -> Cow<'_, [f32]> {
    match numbers {
        Numbers::F32(all) => Cow::Borrowed(&all[range]),
        Numbers::F16(all) => Cow::Owned(all[range].iter().map(|x| x.to_f32()).collect()),
        Numbers::Integers(_) => unreachable!("rows are floats, see Array::into_rows"),
    }
}

fn given(pooled: Rows, [items, width]: [usize; 2]) -> Result<Vec<f32>, Error> {
    if (pooled.rows, pooled.width) != (items, width) {
        let expected = format!("[{items}, {width}], as the tokens and offsets say");
        return Err(Error::Shape { place: pooled.place, expected, found: vec![pooled.rows, pooled.width] });
    }
    Ok(floats(&pooled.numbers, 0..items * width).into_owned())
}

/// The mean of each item's token rows.
fn means(rows: &Rows, offsets: &[usize]) -> Vec<f32> {
    let width = rows.width;
    let mut means = Vec::with_capacity((offsets.len() - 1) * width);
    let mut sum = vec![0f64; width];
    for pair in offsets.windows(2) {
        sum.fill(0.0);
        let item = floats(&rows.numbers, pair[0] * width..pair[1] * width);
        for row in item.chunks_exact(width) {
            sum.iter_mut().zip(row).for_each(|(sum, &x)| *sum += f64::from(x));
        }
        means.extend(sum.iter().map(|sum| (sum / (pair[1] - pair[0]) as f64) as f32));
    }
    means
}
