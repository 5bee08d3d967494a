//! The graph in an ONNX file: which inputs it asks for, and what it may be fed together.

use crate::EncoderError;
use rten::{Dimension, Model, ModelOptions, NodeId, RunOptions, ThreadPool};
use rten_tensor::prelude::*;
use rten_tensor::{NdTensor, Tensor};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What the last hidden states are called, by most and by sentence-transformers.
const OUTPUTS: [&str; 2] = ["last_hidden_state", "token_embeddings"];

/// How far an embedding may be from itself in other company.
const SAME: f32 = 1e-6;

/// What an input of the graph is fed with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Input {
    /// Token numbers.
    Ids,
    /// 1 for each token, 0 for each place that is filled up.
    Mask,
    /// The first of the token types throughout.
    Types,
    /// 0, 1, 2, ...
    Positions,
}

/// Whether texts may run together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Company {
    /// Texts of equal length do not change each other's numbers.
    Together,
    /// They do, as where activations are quantised by the largest in a batch: each runs alone.
    Alone,
}

pub(super) struct Network {
    path: PathBuf,
    model: Model,
    threads: Arc<ThreadPool>,
    inputs: Vec<(NodeId, Input)>,
    output: NodeId,
    /// The one length that the graph was made for, if it was made for one.
    length: Option<usize>,
    company: Company,
    width: usize,
}

impl Network {
    pub(super) fn open(path: &Path) -> Result<Self, EncoderError> {
        let malformed = |reason: String| EncoderError::Malformed { path: path.to_owned(), reason };
        let unsupported = |what, known| EncoderError::Unsupported { path: path.to_owned(), what, known };
        let mut options = ModelOptions::with_all_ops();
        let model =
            options.prepack_weights(true).load_file(path).map_err(|error| malformed(error.to_string()))?;
        let name = |id: NodeId| model.node_info(id).and_then(|node| node.name().map(str::to_owned));
        let mut inputs = Vec::new();
        let mut length = None;
        for (index, &id) in model.input_ids().iter().enumerate() {
            let input = match name(id).as_deref() {
                Some("input_ids") => Input::Ids,
                Some("attention_mask") => Input::Mask,
                Some("token_type_ids") => Input::Types,
                Some("position_ids") => Input::Positions,
                other => {
                    let known = "input_ids, attention_mask, token_type_ids and position_ids are";
                    return Err(unsupported(format!("input `{}`", other.unwrap_or_default()), known));
                }
            };
            if let Some([_, Dimension::Fixed(fixed)]) = model.input_shape(index).as_deref() {
                length = Some(*fixed);
            }
            inputs.push((id, input));
        }
        if !inputs.iter().any(|(_, input)| *input == Input::Ids) {
            return Err(unsupported("a graph without input_ids".into(), "text models are"));
        }
        let named = |wanted: &&str| {
            model.output_ids().iter().copied().find(|&id| name(id).as_deref() == Some(wanted))
        };
        let output = OUTPUTS.iter().find_map(named).ok_or_else(|| {
            let all: Vec<String> = model.output_ids().iter().filter_map(|&id| name(id)).collect();
            unsupported(format!("a graph with outputs {all:?}"), "one with last_hidden_state is")
        })?;
        let threads = Arc::new(ThreadPool::with_num_threads(rayon::current_num_threads()));
        let (path, company, width) = (path.to_owned(), Company::Alone, 0);
        let mut network = Self { path, model, threads, inputs, output, length, company, width };
        network.probe()?;
        Ok(network)
    }

    /// Finds the width, and whether texts may run together, by running two of them, with no token in common, alone and
    /// together.
    fn probe(&mut self) -> Result<(), EncoderError> {
        let pair: [&[u32]; 2] = [&[0, 1, 0, 0, 1], &[3, 2, 2, 3, 2]];
        let pair = pair.map(|ids| &ids[..ids.len().min(self.length.unwrap_or(usize::MAX))]);
        let alone = [self.states(&pair[..1])?, self.states(&pair[1..])?];
        let [_, rows, width] = alone[0].shape();
        if rows != self.length.unwrap_or(pair[0].len()) || width == 0 {
            let reason = format!("{rows} rows of {width} numbers come out for {} tokens", pair[0].len());
            return Err(EncoderError::Malformed { path: self.path.clone(), reason });
        }
        self.width = width;
        // A graph made for one text at a time refuses two.
        if let Ok(together) = self.states(&pair) {
            let alone: Vec<f32> = alone.into_iter().flat_map(NdTensor::into_data).collect();
            let together = together.into_data();
            let same = alone.len() == together.len()
                && alone.iter().zip(&together).all(|(alone, together)| (alone - together).abs() <= SAME);
            self.company = if same { Company::Together } else { Company::Alone };
        }
        Ok(())
    }

    pub(super) fn width(&self) -> usize {
        self.width
    }

    pub(super) fn length(&self) -> Option<usize> {
        self.length
    }

    pub(super) fn company(&self) -> Company {
        self.company
    }

    /// The last hidden states of texts of equal length, text after text; where the graph has a length of its own, rows
    /// without meaning follow those of a text's tokens.
    pub(super) fn run(&self, texts: &[&[u32]]) -> Result<Vec<f32>, EncoderError> {
        let states = self.states(texts)?;
        let [_, rows, width] = states.shape();
        if rows < texts[0].len() || width != self.width {
            let reason = format!("{rows} rows of {width} numbers come out for {} tokens", texts[0].len());
            return Err(EncoderError::Malformed { path: self.path.clone(), reason });
        }
        Ok(states.into_data())
    }

    fn states(&self, texts: &[&[u32]]) -> Result<NdTensor<f32, 3>, EncoderError> {
        let failed = |reason: String| EncoderError::Malformed { path: self.path.clone(), reason };
        let length = self.length.unwrap_or(texts[0].len());
        let fill = |number: &dyn Fn(usize, u32) -> i32| {
            let mut numbers = Vec::with_capacity(texts.len() * length);
            for ids in texts {
                numbers.extend(ids.iter().enumerate().map(|(at, &id)| number(at, id)));
                numbers.resize(numbers.len() + length - ids.len(), 0);
            }
            NdTensor::from_data([texts.len(), length], numbers)
        };
        let inputs = self.inputs.iter().map(|&(node, input)| {
            let tensor = match input {
                Input::Ids => fill(&|_, id| id as i32),
                Input::Mask => fill(&|_, _| 1),
                Input::Types => fill(&|_, _| 0),
                Input::Positions => fill(&|at, _| at as i32),
            };
            (node, tensor.into())
        });
        let mut options = RunOptions::default();
        options.thread_pool = Some(Arc::clone(&self.threads));
        let [states] = self
            .model
            .run_n(inputs.collect(), [self.output], Some(options))
            .map_err(|error| failed(error.to_string()))?;
        let states = Tensor::<f32>::try_from(states).map_err(|error| failed(error.to_string()))?;
        let shape = states.shape().to_vec();
        states
            .try_into()
            .ok()
            .filter(|states: &NdTensor<f32, 3>| states.shape()[0] == texts.len())
            .ok_or_else(|| failed(format!("what comes out is {shape:?}, not [texts, tokens, width]")))
    }
}
