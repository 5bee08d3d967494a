//! Chosen members of a zip or `.tar.gz` archive into a directory that appears whole or not at all.
//!
//! Only regular files are written, only below the directory, whatever the archive says; links and devices are
//! refused when they are chosen. Members are written to a directory beside the target, which is renamed last.

use crate::error::{FetchError, io};
use std::fs::{self, File};
use std::io::{BufReader, Read, Seek};
use std::path::{Component, Path, PathBuf};

/// Unpacks `archive` (`.whl`, `.zip`, `.tar.gz` or `.tgz`) to the directory `into`. `choose` says for each
/// member where below `into` it goes, or that it is left out. A directory that is there already is finished:
/// it is left as it is.
pub fn unpack(
    archive: &Path,
    into: &Path,
    choose: &dyn Fn(&Path) -> Option<PathBuf>,
) -> Result<(), FetchError> {
    if into.exists() {
        return Ok(());
    }
    let mut part = into.as_os_str().to_owned();
    part.push(format!(".part-{}", std::process::id()));
    let part = PathBuf::from(part);
    if part.exists() {
        fs::remove_dir_all(&part).map_err(io("remove", &part))?;
    }
    fs::create_dir_all(&part).map_err(io("make", &part))?;
    let written = members(archive, &part, choose);
    let written = written.and_then(|()| match fs::rename(&part, into) {
        // Another process was quicker.
        Err(_) if into.exists() => fs::remove_dir_all(&part).map_err(io("remove", &part)),
        renamed => renamed.map_err(io("write", into)),
    });
    if written.is_err() {
        // The first error is the one to tell.
        let _ = fs::remove_dir_all(&part);
    }
    written
}

fn members(archive: &Path, part: &Path, choose: &dyn Fn(&Path) -> Option<PathBuf>) -> Result<(), FetchError> {
    let file = BufReader::new(File::open(archive).map_err(io("open", archive))?);
    let unpacker = Unpacker { archive, part, choose };
    match archive.extension().and_then(|extension| extension.to_str()) {
        Some("whl" | "zip") => unpacker.zip(file),
        Some("gz" | "tgz") => unpacker.tar(flate2::read::GzDecoder::new(file)),
        _ => Err(unpacker.bad("neither .whl, .zip, .tar.gz nor .tgz")),
    }
}

/// What an archive says a member is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    File,
    Other,
}

struct Unpacker<'a> {
    archive: &'a Path,
    part: &'a Path,
    choose: &'a dyn Fn(&Path) -> Option<PathBuf>,
}

impl Unpacker<'_> {
    fn zip(&self, file: impl Read + Seek) -> Result<(), FetchError> {
        let mut zip = zip::ZipArchive::new(file).map_err(|error| self.bad(error))?;
        for index in 0..zip.len() {
            let mut member = zip.by_index(index).map_err(|error| self.bad(error))?;
            let name = PathBuf::from(member.name());
            if member.is_dir() {
                continue;
            }
            let kind = if member.is_symlink() { Kind::Other } else { Kind::File };
            self.member(&name, kind, &mut member)?;
        }
        Ok(())
    }

    fn tar(&self, file: impl Read) -> Result<(), FetchError> {
        let mut tar = tar::Archive::new(file);
        for member in tar.entries().map_err(|error| self.bad(error))? {
            let mut member = member.map_err(|error| self.bad(error))?;
            let name = member.path().map_err(|error| self.bad(error))?.into_owned();
            if member.header().entry_type().is_dir() {
                continue;
            }
            let kind = if member.header().entry_type().is_file() { Kind::File } else { Kind::Other };
            self.member(&name, kind, &mut member)?;
        }
        Ok(())
    }

    fn member(&self, name: &Path, kind: Kind, bytes: &mut dyn Read) -> Result<(), FetchError> {
        let Some(to) = (self.choose)(name) else { return Ok(()) };
        let plain = |path: &Path| path.components().all(|part| matches!(part, Component::Normal(_)));
        let name_is_plain =
            name.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        if kind != Kind::File || !name_is_plain || !plain(&to) || to.as_os_str().is_empty() {
            let reason = format!("{} is not a regular file below the archive's root", name.display());
            return Err(self.bad(reason));
        }
        let to = self.part.join(to);
        if let Some(folder) = to.parent() {
            fs::create_dir_all(folder).map_err(io("make", folder))?;
        }
        let mut out = File::create(&to).map_err(io("make", &to))?;
        // A damaged stream and a full disk both show as an I/O error; only the second is the disk's.
        std::io::copy(bytes, &mut out).map_err(|error| match error.kind() {
            std::io::ErrorKind::InvalidData
            | std::io::ErrorKind::InvalidInput
            | std::io::ErrorKind::UnexpectedEof => self.bad(error),
            _ => io("write", &to)(error),
        })?;
        out.sync_all().map_err(io("write", &to))
    }

    fn bad(&self, reason: impl ToString) -> FetchError {
        FetchError::Archive { archive: self.archive.to_owned(), reason: reason.to_string() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn tar_gz(path: &Path, members: &[(&str, &str)]) {
        let gz = flate2::write::GzEncoder::new(File::create(path).unwrap(), flate2::Compression::fast());
        let mut tar = tar::Builder::new(gz);
        for (name, text) in members {
            let mut header = tar::Header::new_gnu();
            // Written by hand: the safe setter refuses `..`.
            header.as_gnu_mut().unwrap().name[..name.len()].copy_from_slice(name.as_bytes());
            header.set_size(text.len() as u64);
            header.set_mode(0o644);
            header.set_cksum();
            tar.append(&header, text.as_bytes()).unwrap();
        }
        tar.into_inner().unwrap().finish().unwrap();
    }

    #[test]
    fn chosen_members_arrive() {
        let dir = tempfile::tempdir().unwrap();
        let archive = dir.path().join("a.tar.gz");
        tar_gz(&archive, &[("x/a.json", "1"), ("x/b.txt", "2")]);
        let into = dir.path().join("out");
        let choose =
            |name: &Path| (name.extension()? == "json").then(|| name.strip_prefix("x").unwrap().to_owned());
        unpack(&archive, &into, &choose).unwrap();
        assert_eq!(fs::read_to_string(into.join("a.json")).unwrap(), "1");
        assert_eq!(fs::read_dir(&into).unwrap().count(), 1);
        unpack(Path::new("not looked at"), &into, &choose).unwrap();
    }

    #[test]
    fn zip_members_arrive() {
        let dir = tempfile::tempdir().unwrap();
        let archive = dir.path().join("a.whl");
        let mut zip = zip::ZipWriter::new(File::create(&archive).unwrap());
        let options =
            zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Deflated);
        zip.start_file("deep/er/a.txt", options).unwrap();
        zip.write_all("word ".repeat(1000).as_bytes()).unwrap();
        zip.finish().unwrap();
        let into = dir.path().join("out");
        unpack(&archive, &into, &|name| Some(name.to_owned())).unwrap();
        assert_eq!(fs::read(into.join("deep/er/a.txt")).unwrap().len(), 5000);
    }

    #[test]
    fn nothing_is_written_outside() {
        for name in ["../evil", "/tmp/evil", "x/../../evil"] {
            let dir = tempfile::tempdir().unwrap();
            let archive = dir.path().join("a.tgz");
            tar_gz(&archive, &[("fine", "1"), (name, "2")]);
            let into = dir.path().join("inner").join("out");
            let error = unpack(&archive, &into, &|name| Some(name.to_owned())).unwrap_err();
            assert!(matches!(error, FetchError::Archive { .. }), "{error}");
            assert!(!into.exists() && !dir.path().join("evil").exists());
            assert_eq!(fs::read_dir(dir.path().join("inner")).unwrap().count(), 0, "no partial directory");
        }
    }

    #[test]
    fn a_torn_archive_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let archive = dir.path().join("a.tar.gz");
        tar_gz(&archive, &[("a", &"noise ".repeat(10_000))]);
        let bytes = fs::read(&archive).unwrap();
        fs::write(&archive, &bytes[..bytes.len() / 2]).unwrap();
        let into = dir.path().join("out");
        assert!(unpack(&archive, &into, &|name| Some(name.to_owned())).is_err());
        assert!(!into.exists());
    }
}
