//! A slice from which threads are given their parts, front to back.

/// What is left of the slice.
pub(crate) struct Cut<'a>(pub(crate) &'a mut [f32]);

impl<'a> Cut<'a> {
    /// The next `len` numbers.
    pub(crate) fn take(&mut self, len: usize) -> &'a mut [f32] {
        let (taken, rest) = std::mem::take(&mut self.0).split_at_mut(len);
        self.0 = rest;
        taken
    }
}
