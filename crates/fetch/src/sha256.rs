//! The SHA-256 of a file.

use crate::error::{FetchError, io};
use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The SHA-256 of a file's bytes, in lower-case hexadecimal.
pub fn sha256_file(path: &Path) -> Result<String, FetchError> {
    let mut file = File::open(path).map_err(io("open", path))?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 1 << 18];
    loop {
        match file.read(&mut buffer).map_err(io("read", path))? {
            0 => break,
            read => hasher.update(&buffer[..read]),
        }
    }
    let mut hex = String::with_capacity(64);
    for byte in hasher.finalize() {
        write!(hex, "{byte:02x}").expect("writing to a string");
    }
    Ok(hex)
}

#[cfg(test)]
mod tests {
    #[test]
    fn agrees_with_the_standard() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "abc").unwrap();
        // FIPS 180-2, appendix B.1.
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(super::sha256_file(file.path()).unwrap(), expected);
    }
}
