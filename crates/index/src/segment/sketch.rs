//! The sketch of a segment: four bits a node of a coarse level, laid out for [`retreever_kernels::sketch`].
//!
//! Each column, a node of the level, has sixteen numbers of its own that codes stand for, fitted to the rows. The
//! distance of a query to a row's sketch is a sum of table entries, one for each column.

use super::codebook;

/// What the codes of each column stand for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SketchBook {
    centres: Vec<[f32; 16]>,
}

impl SketchBook {
    /// A book for rows like these of `columns` numbers.
    pub(crate) fn fit(rows: &[f32], columns: usize) -> Self {
        let centres = (0..columns).map(|column| {
            let mut numbers: Vec<f32> = rows.iter().skip(column).step_by(columns).copied().collect();
            numbers.sort_unstable_by(f32::total_cmp);
            let mut centres = codebook::centres(&numbers);
            centres.sort_unstable_by(f32::total_cmp);
            centres
        });
        Self { centres: centres.collect() }
    }

    /// As it lies in the file.
    pub(crate) fn from_numbers(numbers: &[f32]) -> Self {
        Self { centres: numbers.as_chunks::<16>().0.to_vec() }
    }

    /// The numbers to write.
    pub(crate) fn numbers(&self) -> &[f32] {
        self.centres.as_flattened()
    }

    /// Where one code ends and the next begins, half way between their numbers: `[15, columns]`.
    pub(crate) fn bounds(&self) -> Vec<f32> {
        (1..16).flat_map(|b| self.centres.iter().map(move |c| (c[b - 1] + c[b]) / 2.0)).collect()
    }

    /// How far any number of the query is from what a code of its column may stand for.
    pub(crate) fn farthest(&self, query: &[f32]) -> f32 {
        let off = |(q, centres): (&f32, &[f32; 16])| (q - centres[0]).abs().max((q - centres[15]).abs());
        query.iter().zip(&self.centres).map(off).fold(0.0, f32::max)
    }

    /// For each column, how far the query is from each code, in units of `unit`.
    pub(crate) fn tables(&self, query: &[f32], unit: f32) -> Vec<[u8; 16]> {
        let entry = |q: f32, centre: f32| ((q - centre).abs() / unit + 0.5).min(255.0) as u8;
        query.iter().zip(&self.centres).map(|(q, centres)| centres.map(|centre| entry(*q, centre))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_measure_from_the_nearest_codes() {
        let rows: Vec<f32> = (0..400).flat_map(|i| [i as f32 / 400.0, 0.25]).collect();
        let book = SketchBook::fit(&rows, 2);
        assert_eq!(SketchBook::from_numbers(book.numbers()), book);
        let bounds = book.bounds();
        let tables = book.tables(&[0.5, 0.25], 1.0 / 255.0);
        assert!(book.farthest(&[0.5, 0.25]) > 0.4);
        for row in rows.chunks_exact(2) {
            let code = (0..15).filter(|b| row[0] >= bounds[2 * b]).count();
            assert!((f32::from(tables[0][code]) / 255.0 - (row[0] - 0.5).abs()).abs() < 0.05);
        }
        assert!(tables[1].contains(&0));
    }
}
