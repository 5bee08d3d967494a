//! A text encoder from an ONNX file, run by `rten`.
//!
//! Any model serves that gives `last_hidden_state` for token numbers. Tokeniser, pooling, prompts and lengths are read
//! from the same files as those of [`TextEncoder`](crate::TextEncoder).

mod network;

use crate::config::positions;
use crate::error::io;
use crate::frame::{Frame, push};
use crate::open::{ONNX, onnx_file};
use crate::tokens::Tokenised;
use crate::{Encoder, EncoderError, Fingerprint, Options, Role};
use network::{Company, Network};
use retreever_data::Ragged;
use std::fs;
use std::path::{Path, PathBuf};

/// How many tokens run together, unless a single text has more.
const CHUNK: usize = 1024;

/// A network from a directory with `model.onnx` (or `onnx/model.onnx`) and `tokenizer.json`.
pub struct OnnxEncoder {
    frame: Frame,
    network: Network,
    fingerprint: Fingerprint,
}

impl OnnxEncoder {
    /// Opens an encoder as its files say.
    pub fn open(dir: &Path) -> Result<Self, EncoderError> {
        Self::open_with(dir, Options::default())
    }

    /// Opens an encoder with settings of one's own.
    pub fn open_with(dir: &Path, options: Options) -> Result<Self, EncoderError> {
        let path = onnx_file(dir).ok_or_else(|| EncoderError::Missing {
            path: dir.join(ONNX[0]),
            advice: "export the model to ONNX, or give a directory with model.safetensors",
        })?;
        let network = Network::open(&path)?;
        let said = positions(&dir.join("config.json"))?;
        let positions = [said, network.length()].into_iter().flatten().min();
        let (frame, tokenizer) = Frame::open(dir, positions, options)?;
        let mut parts = vec![b"onnx".to_vec(), tokenizer, frame.settings().into_bytes()];
        for file in std::iter::once(path.clone()).chain(outside(&path)) {
            parts.push(fs::read(&file).map_err(io("read", &file))?);
        }
        let parts: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
        Ok(Self { frame, network, fingerprint: Fingerprint::of(&parts) })
    }

    /// The longest input in tokens; texts are cut there.
    pub fn longest(&self) -> usize {
        self.frame.longest()
    }

    /// Places in the batch of texts of equal length that run together.
    fn groups(&self, items: &[Tokenised]) -> Vec<Vec<usize>> {
        let mut order: Vec<usize> = (0..items.len()).filter(|&item| !items[item].ids.is_empty()).collect();
        order.sort_by_key(|&item| items[item].ids.len());
        let mut groups: Vec<Vec<usize>> = Vec::new();
        for item in order {
            let length = items[item].ids.len();
            match groups.last_mut() {
                Some(group)
                    if self.network.company() == Company::Together
                        && items[group[0]].ids.len() == length
                        && (group.len() + 1) * length <= CHUNK =>
                {
                    group.push(item);
                }
                _ => groups.push(vec![item]),
            }
        }
        groups
    }
}

/// Files beside an ONNX file that hold weights too large for it.
fn outside(path: &Path) -> impl Iterator<Item = PathBuf> {
    [".data", "_data"].into_iter().filter_map(|suffix| {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        Some(PathBuf::from(name)).filter(|file| file.is_file())
    })
}

impl Encoder for OnnxEncoder {
    fn width(&self) -> usize {
        self.network.width()
    }

    fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    fn encode(&self, texts: &[&str], role: Role, batch: &mut Ragged) -> Result<(), EncoderError> {
        let items = self.frame.tokenise(texts, role)?;
        let width = self.width();
        let mut embedded: Vec<Vec<f32>> = vec![Vec::new(); items.len()];
        for group in self.groups(&items) {
            let ids: Vec<&[u32]> = group.iter().map(|&item| items[item].ids.as_slice()).collect();
            let states = self.network.run(&ids)?;
            let rows = states.len() / group.len();
            for (&item, states) in group.iter().zip(states.chunks_exact(rows)) {
                embedded[item] = states[..items[item].ids.len() * width].to_vec();
            }
        }
        batch.clear();
        let mut pooled = vec![0.0; width];
        for (item, tokens) in items.iter().zip(&embedded) {
            self.frame.pool(item, tokens, &mut pooled);
            push(tokens, &pooled, batch)?;
        }
        Ok(())
    }
}
