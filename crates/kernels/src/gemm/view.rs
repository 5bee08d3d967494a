//! Views of matrices in slices: rows, columns and strides, checked once when they are made.

/// A read-only matrix: element `(r, c)` is at `r * row_stride + c * col_stride`.
#[derive(Clone, Copy, Debug)]
pub struct Mat<'a> {
    data: &'a [f32],
    rows: usize,
    cols: usize,
    row_stride: usize,
    col_stride: usize,
}

impl<'a> Mat<'a> {
    /// A row-major matrix that fills the slice.
    ///
    /// # Panics
    /// If the slice has another length.
    pub fn new(data: &'a [f32], rows: usize, cols: usize) -> Self {
        assert_eq!(data.len(), rows * cols, "a matrix of {rows} x {cols}");
        Self { data, rows, cols, row_stride: cols, col_stride: 1 }
    }

    /// A row-major matrix whose rows start `row_stride` apart.
    ///
    /// # Panics
    /// If the last row leaves the slice, or rows overlap.
    pub fn strided(data: &'a [f32], rows: usize, cols: usize, row_stride: usize) -> Self {
        check(data.len(), rows, cols, row_stride);
        Self { data, rows, cols, row_stride, col_stride: 1 }
    }

    /// The transpose: the same numbers, rows and columns exchanged.
    pub fn t(self) -> Self {
        let Self { data, rows, cols, row_stride, col_stride } = self;
        Self { data, rows: cols, cols: rows, row_stride: col_stride, col_stride: row_stride }
    }

    /// `rows` rows, from row `first` on.
    ///
    /// # Panics
    /// If there are not that many.
    pub fn rows_from(self, first: usize, rows: usize) -> Self {
        assert!(first + rows <= self.rows, "rows {first} to {} of {}", first + rows, self.rows);
        let data = if rows == 0 { &[] } else { &self.data[first * self.row_stride..] };
        Self { data, rows, ..self }
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The number of columns.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// One element.
    ///
    /// # Panics
    /// If it lies outside.
    pub fn get(&self, row: usize, col: usize) -> f32 {
        assert!(row < self.rows && col < self.cols);
        self.data[row * self.row_stride + col * self.col_stride]
    }

    pub(crate) fn data(&self) -> &'a [f32] {
        self.data
    }

    pub(crate) fn row_stride(&self) -> usize {
        self.row_stride
    }

    pub(crate) fn col_stride(&self) -> usize {
        self.col_stride
    }
}

/// A matrix to write to, row-major, with rows `row_stride` apart.
#[derive(Debug)]
pub struct MatMut<'a> {
    pub(crate) data: &'a mut [f32],
    pub(crate) rows: usize,
    pub(crate) cols: usize,
    pub(crate) row_stride: usize,
}

impl<'a> MatMut<'a> {
    /// A row-major matrix that fills the slice.
    ///
    /// # Panics
    /// If the slice has another length.
    pub fn new(data: &'a mut [f32], rows: usize, cols: usize) -> Self {
        assert_eq!(data.len(), rows * cols, "a matrix of {rows} x {cols}");
        Self { data, rows, cols, row_stride: cols }
    }

    /// A row-major matrix whose rows start `row_stride` apart.
    ///
    /// # Panics
    /// If the last row leaves the slice, or rows overlap.
    pub fn strided(data: &'a mut [f32], rows: usize, cols: usize, row_stride: usize) -> Self {
        check(data.len(), rows, cols, row_stride);
        Self { data, rows, cols, row_stride }
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The number of columns.
    pub fn cols(&self) -> usize {
        self.cols
    }
}

fn check(len: usize, rows: usize, cols: usize, row_stride: usize) {
    assert!(row_stride >= cols, "rows of {cols} overlap at a stride of {row_stride}");
    assert!(
        rows == 0 || (rows - 1) * row_stride + cols <= len,
        "{rows} rows at {row_stride} leave the slice"
    );
}

/// Whether a product replaces what stands in `C` or is added to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Write {
    /// `C = A B`
    Set,
    /// `C += A B`
    Add,
}
