//! Everything that is learned, in one flat vector with named tensors, and gradients of the same shape.
//!
//! Whoever owns parameters asks a [`Layout`] for [`Tensor`] handles when it is made; the optimiser, the
//! checkpoint and the gradient norm see one slice.

use std::ops::{Index, IndexMut, Range};

/// Whether weight decay pulls a tensor towards zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decay {
    /// It does: weights.
    Yes,
    /// It does not: biases and the loss's scale.
    No,
}

/// The handle of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tensor(usize);

/// The name, shape and place of a tensor.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Its name in files.
    pub name: String,
    /// Its sizes, outermost first.
    pub shape: Vec<usize>,
    /// Where it stands in the flat vector.
    pub range: Range<usize>,
    /// Whether it decays.
    pub decay: Decay,
}

/// Which tensors there are.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Layout {
    entries: Vec<Entry>,
}

impl Layout {
    /// A further tensor.
    pub fn tensor(&mut self, name: impl Into<String>, shape: &[usize], decay: Decay) -> Tensor {
        let start = self.len();
        let range = start..start + shape.iter().product::<usize>();
        self.entries.push(Entry { name: name.into(), shape: shape.to_vec(), range, decay });
        Tensor(self.entries.len() - 1)
    }

    /// How many numbers there are in all.
    pub fn len(&self) -> usize {
        self.entries.last().map_or(0, |last| last.range.end)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The tensors in order.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }
}

/// Numbers in a [`Layout`]: parameters, or gradients of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameters {
    layout: Layout,
    values: Vec<f32>,
}

impl Parameters {
    /// All zero.
    pub fn zeros(layout: Layout) -> Self {
        let values = vec![0.0; layout.len()];
        Self { layout, values }
    }

    /// Which tensors there are.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// All numbers.
    pub fn as_slice(&self) -> &[f32] {
        &self.values
    }

    /// All numbers, to change.
    pub fn as_mut_slice(&mut self) -> &mut [f32] {
        &mut self.values
    }

    /// The tensors with their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (&Entry, &[f32])> {
        self.layout.entries.iter().map(|entry| (entry, &self.values[entry.range.clone()]))
    }

    /// The numbers of the tensor called `name`.
    pub fn by_name(&self, name: &str) -> Option<&[f32]> {
        self.iter().find(|(entry, _)| entry.name == name).map(|(_, values)| values)
    }

    /// The numbers of the tensor called `name`, to change.
    pub fn by_name_mut(&mut self, name: &str) -> Option<&mut [f32]> {
        let entry = self.layout.entries.iter().find(|entry| entry.name == name)?;
        Some(&mut self.values[entry.range.clone()])
    }
}

impl Index<Tensor> for Parameters {
    type Output = [f32];
    fn index(&self, tensor: Tensor) -> &[f32] {
        &self.values[self.layout.entries[tensor.0].range.clone()]
    }
}

impl IndexMut<Tensor> for Parameters {
    fn index_mut(&mut self, tensor: Tensor) -> &mut [f32] {
        &mut self.values[self.layout.entries[tensor.0].range.clone()]
    }
}
