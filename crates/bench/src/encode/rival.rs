//! Who encodes beside us: transformers in PyTorch, and where there is an ONNX file, ONNX Runtime and `rten`.

use super::THREADS;
use crate::peer::{Peer, python};
use anyhow::Result;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::process::Command;

const SCRIPT: &str = include_str!("peer.py");

/// What is to be encoded, and how.
#[derive(Clone, Copy, Serialize)]
pub(super) struct Request<'a> {
    pub(super) texts: &'a [&'a str],
    pub(super) batch: usize,
    pub(super) longest: usize,
    /// How many texts' token embeddings are sent back; with none, pooled ones neither.
    pub(super) keep: usize,
}

/// How long it took, and what came out.
#[derive(Deserialize)]
pub(super) struct Answer {
    pub(super) seconds: f64,
    pub(super) pooled: Vec<Vec<f64>>,
    pub(super) rows: Vec<Vec<f64>>,
}

pub(super) enum Rival {
    /// A Python process.
    Python { name: &'static str, peer: Peer },
    /// `rten` in this process.
    #[cfg(feature = "onnx")]
    Rten(Box<rten::Rten>),
}

impl Rival {
    /// Everyone who can run the model in `dir`, the ONNX file of which, if there is one, is in `onnx`.
    pub(super) fn all(dir: &Path, onnx: Option<&Path>) -> Result<Vec<Self>> {
        let mut rivals = vec![Self::Python { name: "torch", peer: start(dir, None)? }];
        if let Some(onnx) = onnx {
            rivals.push(Self::Python { name: "onnxruntime", peer: start(dir, Some(onnx))? });
            #[cfg(feature = "onnx")]
            rivals.push(Self::Rten(Box::new(rten::Rten::new(onnx))));
        }
        Ok(rivals)
    }

    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Python { name, .. } => name,
            #[cfg(feature = "onnx")]
            Self::Rten(_) => "rten",
        }
    }

    /// The batch sizes to try: how many texts a rival pads to one length.
    pub(super) fn batches<'a>(&self, batches: &'a [usize]) -> &'a [usize] {
        match self {
            Self::Python { .. } => batches,
            #[cfg(feature = "onnx")]
            Self::Rten(_) => &batches[..1],
        }
    }

    pub(super) fn ask(&mut self, request: &Request<'_>) -> Result<Answer> {
        match self {
            Self::Python { peer, .. } => peer.ask(request),
            #[cfg(feature = "onnx")]
            Self::Rten(rten) => rten.ask(request),
        }
    }
}

fn start(model: &Path, onnx: Option<&Path>) -> Result<Peer> {
    let mut packages = vec![("torch", "torch"), ("numpy", "numpy"), ("transformers", "transformers")];
    packages.extend(onnx.map(|_| ("onnxruntime", "onnxruntime")));
    let mut command = Command::new(python(&packages)?);
    command.arg("-c").arg(SCRIPT).arg(model).arg(THREADS.to_string()).args(onnx.and_then(onnx_file));
    Peer::start(command.env("OMP_NUM_THREADS", THREADS.to_string()))
}

/// The ONNX file of a directory, if it has one.
pub(super) fn onnx_file(dir: &Path) -> Option<std::path::PathBuf> {
    ["model.onnx", "onnx/model.onnx"].iter().map(|name| dir.join(name)).find(|path| path.is_file())
}

#[cfg(feature = "onnx")]
mod rten {
    use super::{Answer, Request};
    use crate::measurement::times;
    use anyhow::Result;
    use retreever_data::Ragged;
    use retreever_encoder::{Encoder, OnnxEncoder, Options, Role};
    use std::path::{Path, PathBuf};

    /// The encoder, opened for the length that was asked for last.
    pub(in super::super) struct Rten {
        dir: PathBuf,
        open: Option<(usize, OnnxEncoder)>,
    }

    impl Rten {
        pub(super) fn new(dir: &Path) -> Self {
            Self { dir: dir.to_owned(), open: None }
        }

        pub(super) fn ask(&mut self, request: &Request<'_>) -> Result<Answer> {
            let encoder = match self.open.take() {
                Some((longest, encoder)) if longest == request.longest => encoder,
                _ => OnnxEncoder::open_with(&self.dir, Options { longest: Some(request.longest) })?,
            };
            let mut batch = Ragged::new(encoder.width());
            let mut outcome = Ok(());
            let time = times(1, || outcome = encoder.encode(request.texts, Role::Document, &mut batch))[0];
            outcome?;
            self.open = Some((request.longest, encoder));
            let wide = |numbers: &[f32]| numbers.iter().map(|&x| f64::from(x)).collect();
            let pooled = if request.keep > 0 {
                batch.pooled().chunks_exact(batch.width()).map(wide).collect()
            } else {
                Vec::new()
            };
            let rows = (0..request.keep).map(|item| wide(batch.item(item))).collect();
            Ok(Answer { seconds: time.as_secs_f64(), pooled, rows })
        }
    }
}
