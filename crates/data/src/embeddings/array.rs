//! An array as it came out of a file: its shape, its numbers, and where it was.

use crate::error::{Error, Place};
use half::{bf16, f16};

/// Number formats that embeddings and offsets are stored in, little-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dtype {
    F16,
    Bf16,
    F32,
    F64,
    I32,
    U32,
    I64,
    U64,
}

impl Dtype {
    pub(super) const fn size(self) -> usize {
        match self {
            Self::F16 | Self::Bf16 => 2,
            Self::F32 | Self::I32 | Self::U32 => 4,
            Self::F64 | Self::I64 | Self::U64 => 8,
        }
    }
}

/// Numbers in memory. Half precision stays as it is; `bf16` and `f64` become `f32`.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Numbers {
    F32(Vec<f32>),
    F16(Vec<f16>),
    Integers(Vec<i128>),
}

impl Numbers {
    pub(super) fn decode(dtype: Dtype, bytes: &[u8]) -> Self {
        match dtype {
            Dtype::F16 => Self::F16(each(bytes, f16::from_le_bytes)),
            Dtype::Bf16 => Self::F32(each(bytes, |b| bf16::from_le_bytes(b).to_f32())),
            Dtype::F32 => Self::F32(each(bytes, f32::from_le_bytes)),
            Dtype::F64 => Self::F32(each(bytes, |b| f64::from_le_bytes(b) as f32)),
            Dtype::I32 => Self::Integers(each(bytes, |b| i32::from_le_bytes(b).into())),
            Dtype::U32 => Self::Integers(each(bytes, |b| u32::from_le_bytes(b).into())),
            Dtype::I64 => Self::Integers(each(bytes, |b| i64::from_le_bytes(b).into())),
            Dtype::U64 => Self::Integers(each(bytes, |b| u64::from_le_bytes(b).into())),
        }
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Self::F32(all) => all.len(),
            Self::F16(all) => all.len(),
            Self::Integers(all) => all.len(),
        }
    }
}

fn each<const N: usize, T>(bytes: &[u8], number: impl Fn([u8; N]) -> T) -> Vec<T> {
    bytes.as_chunks::<N>().0.iter().map(|&bytes| number(bytes)).collect()
}

/// An array and where it was.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Array {
    pub(super) place: Place,
    pub(super) shape: Vec<usize>,
    pub(super) numbers: Numbers,
}

impl Array {
    /// As embeddings: `[rows, width]` floats, all of them finite, at least one row.
    pub(super) fn into_rows(self) -> Result<Rows, Error> {
        let Self { place, shape, numbers } = self;
        let [rows, width] = shape[..] else {
            return Err(Error::Shape { place, expected: "[rows, width]".into(), found: shape });
        };
        if rows == 0 {
            return Err(Error::Empty { place, what: "row" });
        }
        if width == 0 {
            return Err(Error::Shape { place, expected: "a width above 0".into(), found: shape });
        }
        if matches!(numbers, Numbers::Integers(_)) {
            return Err(Error::Dtype { place, expected: "f16, f32 or f64", found: "integers".into() });
        }
        let rows = Rows { place, rows, width, numbers };
        match rows.first_not_finite() {
            Some((at, value)) => {
                Err(Error::NotFinite { place: rows.place, row: at / width, column: at % width, value })
            }
            None => Ok(rows),
        }
    }

    /// As offsets: `[items + 1]` integers, from 0, each above the one before, the last one `end`.
    pub(super) fn into_offsets(self, end: usize) -> Result<Vec<usize>, Error> {
        let Self { place, shape, numbers } = self;
        let Numbers::Integers(offsets) = numbers else {
            return Err(Error::Dtype { place, expected: "i32, i64, u32 or u64", found: "floats".into() });
        };
        if shape.len() != 1 {
            return Err(Error::Shape { place, expected: "[items + 1]".into(), found: shape });
        }
        if offsets.len() < 2 {
            return Err(Error::Empty { place, what: "item" });
        }
        let wrong = |item, reason| Err(Error::Offsets { place: place.clone(), item, reason });
        if offsets[0] != 0 {
            return wrong(0, format!("it starts at {}, expected 0", offsets[0]));
        }
        for (item, pair) in offsets.windows(2).enumerate() {
            if pair[1] < pair[0] {
                return wrong(item, format!("it ends at {}, before its start {}", pair[1], pair[0]));
            }
            if pair[1] == pair[0] {
                return wrong(item, format!("it has no token (starts and ends at {})", pair[0]));
            }
            if pair[1] > end as i128 {
                return wrong(item, format!("it ends at {}, but there are {end} token rows", pair[1]));
            }
        }
        let last = offsets.len() - 2;
        if offsets[last + 1] != end as i128 {
            return wrong(last, format!("the last item ends at {}, of {end} token rows", offsets[last + 1]));
        }
        Ok(offsets.into_iter().map(|offset| offset as usize).collect())
    }
}

/// Finite embeddings, row after row.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Rows {
    pub(super) place: Place,
    pub(super) rows: usize,
    pub(super) width: usize,
    pub(super) numbers: Numbers,
}

impl Rows {
    fn first_not_finite(&self) -> Option<(usize, f32)> {
        match &self.numbers {
            Numbers::F32(all) => all.iter().position(|x| !x.is_finite()).map(|at| (at, all[at])),
            Numbers::F16(all) => all.iter().position(|x| !x.is_finite()).map(|at| (at, all[at].to_f32())),
            Numbers::Integers(_) => None,
        }
    }
}
