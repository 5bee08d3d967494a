//! Embeddings made elsewhere: what NumPy and safetensors write is read, and what is broken is named.

use proptest::prelude::*;
use retreever_data::pairs::{self, Bounds};
use retreever_data::{Embeddings, Error, Pair, Ragged, embeddings};
use safetensors::{Dtype, serialize, tensor::TensorView};
use std::path::PathBuf;
use tempfile::TempDir;

/// A `.npy` file as `numpy.save` writes it, with this header.
fn npy(version: u8, header: &str, body: &[u8]) -> Vec<u8> {
    let mut bytes = b"\x93NUMPY".to_vec();
    bytes.extend([version, 0]);
    let header = format!("{header}\n");
    match version {
        1 => bytes.extend((header.len() as u16).to_le_bytes()),
        _ => bytes.extend((header.len() as u32).to_le_bytes()),
    }
    bytes.extend(header.as_bytes());
    bytes.extend(body);
    bytes
}

fn dict(descr: &str, shape: &str) -> String {
    format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}")
}

fn f32s(numbers: &[f32]) -> Vec<u8> {
    numbers.iter().flat_map(|x| x.to_le_bytes()).collect()
}

fn i64s(numbers: &[i64]) -> Vec<u8> {
    numbers.iter().flat_map(|x| x.to_le_bytes()).collect()
}

struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn put(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }

    /// The error of reading these bytes, without the folder.
    fn refused(&self, name: &str, bytes: &[u8]) -> String {
        let error = embeddings::open(&self.put(name, bytes)).unwrap_err();
        error.to_string().replace(&format!("{}/", self.0.path().display()), "")
    }
}

fn all(table: &dyn Embeddings) -> Ragged {
    let mut batch = Ragged::new(table.width());
    table.gather(&(0..table.len()).collect::<Vec<_>>(), &mut batch);
    batch
}

#[test]
fn every_npy_version_and_float() {
    let folder = Folder::new();
    let expected = [1.0, -2.0, 0.5, 4.0];
    let f16s: Vec<u8> = expected.iter().flat_map(|&x| half::f16::from_f32(x).to_le_bytes()).collect();
    let f64s: Vec<u8> = expected.iter().flat_map(|&x| f64::from(x).to_le_bytes()).collect();
    for version in 1..=3 {
        for (descr, body) in [("<f2", &f16s), ("<f4", &f32s(&expected)), ("<f8", &f64s)] {
            let path = folder.put("x.npy", &npy(version, &dict(descr, "(2, 2)"), body));
            let batch = all(&embeddings::open(&path).unwrap());
            assert_eq!((batch.tokens(), batch.pooled()), (&expected[..], &expected[..]), "{version} {descr}");
        }
    }
}

#[test]
fn ragged_npy_with_and_without_pooled() {
    let folder = Folder::new();
    let path = folder.put("x.npy", &npy(1, &dict("<f4", "(3, 2)"), &f32s(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])));
    folder.put("x.offsets.npy", &npy(1, &dict("<i8", "(3,)"), &i64s(&[0, 2, 3])));
    let batch = all(&embeddings::open(&path).unwrap());
    assert_eq!((batch.offsets(), batch.pooled()), (&[0, 2, 3][..], &[2.0, 3.0, 5.0, 6.0][..]));

    folder.put("x.pooled.npy", &npy(1, &dict("<f4", "(2, 2)"), &f32s(&[9.0; 4])));
    assert_eq!(all(&embeddings::open(&path).unwrap()).pooled(), [9.0; 4]);
    folder.put("x.pooled.npy", &npy(1, &dict("<f4", "(1, 2)"), &f32s(&[9.0; 2])));
    let error = embeddings::open(&path).unwrap_err();
    assert!(
        error.to_string().ends_with("the shape is [1, 2], expected [2, 2], as the tokens and offsets say")
    );
}

#[test]
fn broken_npy_files_are_named() {
    let folder = Folder::new();
    let whole = npy(1, &dict("<f4", "(2, 2)"), &f32s(&[1.0, 2.0, 3.0, 4.0]));
    let length = whole.len();
    let fortran = dict("<f4", "(2, 2)").replace("False", "True");
    let cases = [
        (
            b"\x93NUMP".to_vec(),
            "x.npy: 5 bytes where the header promises 8: the file is truncated, copy it again".into(),
        ),
        (b"some text".to_vec(), "x.npy: not a .npy file (it does not start with \\x93NUMPY)".into()),
        (npy(9, "", &[]), "x.npy: version 9 of the .npy format is unknown, expected 1, 2 or 3".into()),
        (
            whole[..length - 1].to_vec(),
            format!(
                "x.npy: {} bytes where the header promises {length}: the file is truncated, copy it again",
                length - 1
            ),
        ),
        (
            [&whole[..], &[0]].concat(),
            format!(
                "x.npy: {} bytes where the header promises {length}: there is something after its end",
                length + 1
            ),
        ),
        (
            npy(1, &fortran, &f32s(&[0.0; 4])),
            "x.npy: the array is in Fortran order; save it with numpy.ascontiguousarray(array)".into(),
        ),
        (
            npy(1, &dict(">f4", "(2, 2)"), &f32s(&[0.0; 4])),
            "x.npy: the numbers are >f4, expected <f2, <f4 or <f8 (offsets: <i4, <i8, <u4, <u8)".into(),
        ),
        (
            npy(1, &dict("<i8", "(1, 1)"), &i64s(&[1])),
            "x.npy: the numbers are integers, expected f16, f32 or f64".into(),
        ),
        (
            npy(1, &dict("<f4", "(4,)"), &f32s(&[0.0; 4])),
            "x.npy: the shape is [4], expected [rows, width]".into(),
        ),
        (npy(1, &dict("<f4", "(2, 0)"), &[]), "x.npy: the shape is [2, 0], expected a width above 0".into()),
        (npy(1, &dict("<f4", "(0, 2)"), &[]), "x.npy: there is no row in it".into()),
        (
            npy(1, &dict("<f4", "(2, 2)"), &f32s(&[1.0, 2.0, 3.0, f32::NAN])),
            "x.npy: row 1, column 1 is NaN, not a finite f32".into(),
        ),
        (
            npy(1, &dict("<f8", "(1, 1)"), &1e300f64.to_le_bytes()),
            "x.npy: row 0, column 0 is inf, not a finite f32".into(),
        ),
        (
            npy(1, &dict("<f4", "(18446744073709551615, 9)"), &[]),
            "x.npy: the shape [18446744073709551615, 9] is too large".into(),
        ),
    ];
    for (bytes, expected) in cases {
        assert_eq!(folder.refused("x.npy", &bytes), expected);
    }
    assert!(folder.refused("x.npy", &npy(1, "{'shape': (1, 1)}", &[])).contains("no 'fortran_order'"));
    assert!(folder.refused("x.bin", &whole).contains(".npy or .safetensors"));
    assert!(matches!(embeddings::open(&folder.0.path().join("none.npy")), Err(Error::Io { .. })));
}

#[test]
fn broken_offsets_are_named() {
    let folder = Folder::new();
    let tokens = npy(1, &dict("<f4", "(3, 1)"), &f32s(&[1.0, 2.0, 3.0]));
    let cases = [
        (&[1, 3][..], "item 0: it starts at 1, expected 0"),
        (&[0, 2, 1, 3], "item 1: it ends at 1, before its start 2"),
        (&[0, 2, 2, 3], "item 1: it has no token (starts and ends at 2)"),
        (&[0, 2, 4], "item 1: it ends at 4, but there are 3 token rows"),
        (&[0, 2], "item 0: the last item ends at 2, of 3 token rows"),
        (&[0], "there is no item in it"),
    ];
    for (offsets, expected) in cases {
        let shape = format!("({},)", offsets.len());
        folder.put("x.offsets.npy", &npy(1, &dict("<i8", &shape), &i64s(offsets)));
        assert_eq!(folder.refused("x.npy", &tokens), format!("x.offsets.npy: {expected}"));
    }
    folder.put("x.offsets.npy", &npy(1, &dict("<f4", "(2,)"), &f32s(&[0.0, 3.0])));
    assert!(folder.refused("x.npy", &tokens).contains("are floats, expected i32, i64, u32 or u64"));
}

fn tensors(all: &[(&str, Dtype, &[usize], &[u8])]) -> Vec<u8> {
    let views = all
        .iter()
        .map(|(name, dtype, shape, data)| (*name, TensorView::new(*dtype, shape.to_vec(), data).unwrap()));
    serialize(views.collect::<Vec<_>>(), None).unwrap()
}

#[test]
fn safetensors_pooled_and_ragged() {
    let folder = Folder::new();
    let pooled = tensors(&[("embeddings", Dtype::F32, &[2, 1], &f32s(&[1.0, 2.0]))]);
    let table = embeddings::open(&folder.put("x.safetensors", &pooled)).unwrap();
    assert_eq!((table.len(), table.width(), all(&table).tokens()), (2, 1, &[1.0, 2.0][..]));

    let ends: Vec<u8> = [0i32, 1, 3].iter().flat_map(|x| x.to_le_bytes()).collect();
    let rows = f32s(&[1.0, 2.0, 4.0]);
    let ragged = tensors(&[("tokens", Dtype::F32, &[3, 1], &rows), ("offsets", Dtype::I32, &[3], &ends)]);
    let batch = all(&embeddings::open(&folder.put("x.safetensors", &ragged)).unwrap());
    assert_eq!((batch.offsets(), batch.pooled()), (&[0, 1, 3][..], &[1.0, 3.0][..]));

    let cut = folder.refused("x.safetensors", &ragged[..ragged.len() - 1]);
    assert!(cut.starts_with("x.safetensors: not a whole .safetensors file"), "{cut}");
    let nan = tensors(&[
        ("tokens", Dtype::F32, &[3, 1], &f32s(&[0.0, f32::NAN, 0.0])),
        ("offsets", Dtype::I32, &[3], &ends),
    ]);
    assert_eq!(
        folder.refused("x.safetensors", &nan),
        "x.safetensors, tensor `tokens`: row 1, column 0 is NaN, not a finite f32"
    );
    let other = tensors(&[("tokens", Dtype::F32, &[3, 1], &rows), ("starts", Dtype::I32, &[3], &ends)]);
    assert!(folder.refused("x.safetensors", &other).contains("expected the tensors `tokens` and `offsets`"));
    let bytes = tensors(&[("pooled", Dtype::I8, &[2, 1], &[1, 2])]);
    assert!(
        folder
            .refused("x.safetensors", &bytes)
            .contains("the numbers are I8, expected F16, BF16, F32 or F64")
    );
}

#[test]
fn pairs_are_checked_line_by_line() {
    let folder = Folder::new();
    let bounds = Bounds { queries: 2, documents: 10 };
    let expected = [Pair { query: 0, document: 7 }, Pair { query: 1, document: 9 }];
    for text in [
        "0\t7\n1\t9\n",
        "query\tdocument\r\n0\t7\r\n\r\n1\t9",
        "{\"query\": 0, \"document\": 7}\n{\"document\":9,\"query\":1}\n",
    ] {
        assert_eq!(pairs::read(&folder.put("p", text.as_bytes()), bounds).unwrap(), expected);
    }
    for (text, reason) in [
        ("0\t7\n2\t0\n", "p, line 2: query 2 is out of range: there are 2, numbered 0 to 1"),
        ("0\t10\n", "p, line 1: document 10 is out of range: there are 10, numbered 0 to 9"),
        ("0\t-1\n", "p, line 1: `-1` is not an item number (0, 1, 2, ...)"),
        ("0\n", "p, line 1: expected two item numbers with a tab between them: query, document"),
        ("query\tdocument\n", "p: there is no pair in it"),
        ("", "p: there is no pair in it"),
    ] {
        let error = pairs::read(&folder.put("p", text.as_bytes()), bounds).unwrap_err().to_string();
        assert!(error.ends_with(reason), "{error}");
    }
    let invalid = pairs::read(&folder.put("p", b"0\t7\n\xff\n"), bounds).unwrap_err().to_string();
    assert!(invalid.ends_with("p, line 2: invalid UTF-8 at byte 1 of the line"), "{invalid}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_is_saved_is_read_back(
        width in 1usize..5,
        lengths in prop::collection::vec(1usize..4, 1..6),
        numbers in prop::collection::vec(-1e30f32..1e30, 5 * 3 * 6),
    ) {
        let folder = Folder::new();
        let mut batch = Ragged::new(width);
        let mut rest = &numbers[..];
        for length in lengths {
            let (tokens, after) = rest.split_at(length * width);
            batch.push(tokens, &tokens[..width]);
            rest = after;
        }
        for name in ["x.npy", "x.safetensors"] {
            let path = folder.0.path().join(name);
            embeddings::save(&path, &batch).unwrap();
            prop_assert_eq!(&all(&embeddings::open(&path).unwrap()), &batch);
        }
    }

    #[test]
    fn no_bytes_make_the_readers_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), cut in 0usize..200) {
        let folder = Folder::new();
        let mut garbled = npy(1, &dict("<f4", "(2, 2)"), &f32s(&[1.0; 4]));
        for (at, byte) in bytes.iter().enumerate().filter(|(at, _)| at % 17 == cut % 17) {
            if let Some(place) = garbled.get_mut(at) { *place = *byte; }
        }
        for (name, bytes) in [("x.npy", &garbled[..]), ("x.npy", &bytes), ("x.safetensors", &bytes)] {
            let _ = embeddings::open(&folder.put(name, bytes));
        }
    }
}
