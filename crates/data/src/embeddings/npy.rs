//! NumPy's `.npy` files, format versions 1 to 3: a magic, a header that is a Python dictionary, the numbers.
//!
//! Floats and integers in C order and little-endian; the file must be exactly as long as its header says.

use super::array::{Array, Dtype, Numbers};
use crate::error::{Error, Place};
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::Path;

const MAGIC: &[u8; 6] = b"\x93NUMPY";
/// The numbers start at a multiple of this.
const ALIGNMENT: usize = 64;

pub(super) fn read(path: &Path) -> Result<Array, Error> {
    let place = Place::file(path);
    let file = File::open(path).map_err(Error::io(path))?;
    let length = file.metadata().map_err(Error::io(path))?.len();
    let mut file = BufReader::new(file);
    // What comes before the numbers is checked against the length before it is read.
    let holds = |expected: u64| match length {
        found if found < expected => Err(Error::Length { place: place.clone(), expected, found }),
        _ => Ok(()),
    };

    let mut start = [0; 8];
    holds(8)?;
    file.read_exact(&mut start).map_err(Error::io(path))?;
    if &start[..6] != MAGIC {
        return Err(Error::malformed(place, "not a .npy file (it does not start with \\x93NUMPY)"));
    }
    let size_bytes = match start[6] {
        1 => 2,
        2 | 3 => 4,
        version => {
            let reason = format!("version {version} of the .npy format is unknown, expected 1, 2 or 3");
            return Err(Error::malformed(place, reason));
        }
    };
    let mut size = [0; 4];
    holds(8 + size_bytes as u64)?;
    file.read_exact(&mut size[..size_bytes]).map_err(Error::io(path))?;
    let before_numbers = 8 + size_bytes as u64 + u64::from(u32::from_le_bytes(size));
    holds(before_numbers)?;
    let mut header = vec![0; u32::from_le_bytes(size) as usize];
    file.read_exact(&mut header).map_err(Error::io(path))?;
    let header = String::from_utf8_lossy(&header);
    let Header { dtype, shape } = parse(&header, &place)?;

    let count = shape.iter().try_fold(dtype.size() as u64, |size, &dim| size.checked_mul(dim as u64));
    let expected = count.and_then(|bytes| bytes.checked_add(before_numbers));
    let Some(expected) = expected else {
        return Err(Error::malformed(place, format!("the shape {shape:?} is too large")));
    };
    if expected != length {
        return Err(Error::Length { place, expected, found: length });
    }
    let mut bytes = Vec::with_capacity((expected - before_numbers) as usize);
    file.read_to_end(&mut bytes).map_err(Error::io(path))?;
    Ok(Array { place, shape, numbers: Numbers::decode(dtype, &bytes) })
}

struct Header {
    dtype: Dtype,
    shape: Vec<usize>,
}

/// Reads `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }`.
fn parse(header: &str, place: &Place) -> Result<Header, Error> {
    let value = |key: &str| {
        let after =
            header.split_once(&format!("'{key}'")).and_then(|(_, rest)| rest.trim_start().strip_prefix(':'));
        after.map(str::trim_start).ok_or_else(|| {
            Error::malformed(place.clone(), format!("the header has no '{key}': {}", header.trim()))
        })
    };
    let order = value("fortran_order")?;
    if order.starts_with("True") {
        let reason = "the array is in Fortran order; save it with numpy.ascontiguousarray(array)";
        return Err(Error::malformed(place.clone(), reason));
    }
    let descr = value("descr")?;
    let name = descr.strip_prefix('\'').and_then(|rest| rest.split_once('\'')).map(|(name, _)| name);
    let dtype = match name {
        Some("<f2") => Dtype::F16,
        Some("<f4") => Dtype::F32,
        Some("<f8") => Dtype::F64,
        Some("<i4") => Dtype::I32,
        Some("<u4") => Dtype::U32,
        Some("<i8") => Dtype::I64,
        Some("<u8") => Dtype::U64,
        _ => {
            let found = name.unwrap_or("a record").to_owned();
            let expected = "<f2, <f4 or <f8 (offsets: <i4, <i8, <u4, <u8)";
            return Err(Error::Dtype { place: place.clone(), expected, found });
        }
    };
    let shape = value("shape")?;
    let dims = shape.strip_prefix('(').and_then(|rest| rest.split_once(')')).map(|(dims, _)| dims);
    let dims = dims.into_iter().flat_map(|dims| dims.split(',')).map(str::trim).filter(|dim| !dim.is_empty());
    let dims = dims.map(|dim| dim.trim_end_matches('L').parse()).collect::<Result<Vec<usize>, _>>();
    match dims {
        Ok(shape) => Ok(Header { dtype, shape }),
        Err(_) => {
            Err(Error::malformed(place.clone(), format!("the shape cannot be read: {}", header.trim())))
        }
    }
}

/// Numbers that can be written.
pub(super) enum Values<'a> {
    F32(&'a [f32]),
    I64(&'a [i64]),
}

/// Writes format version 1.
pub(super) fn write(path: &Path, shape: &[usize], values: &Values<'_>) -> Result<(), Error> {
    let descr = match values {
        Values::F32(_) => "<f4",
        Values::I64(_) => "<i8",
    };
    let dims: String = shape.iter().map(|dim| format!("{dim},")).collect();
    let mut header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({dims}), }}");
    let unpadded = MAGIC.len() + 4 + header.len() + 1;
    header.extend(std::iter::repeat_n(' ', unpadded.next_multiple_of(ALIGNMENT) - unpadded));
    header.push('\n');
    let write = || {
        let mut file = BufWriter::new(File::create(path)?);
        file.write_all(MAGIC)?;
        file.write_all(&[1, 0])?;
        file.write_all(&(header.len() as u16).to_le_bytes())?;
        file.write_all(header.as_bytes())?;
        match values {
            Values::F32(all) => all.iter().try_for_each(|x| file.write_all(&x.to_le_bytes()))?,
            Values::I64(all) => all.iter().try_for_each(|x| file.write_all(&x.to_le_bytes()))?,
        }
        file.flush()
    };
    write().map_err(Error::io(path))
}
