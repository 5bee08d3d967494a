//! The lower splits, planted anew where the upper ones leave off, once both views have learned.
//!
//! What the upper levels have learned is, nearly, a linear map of what the lower splits see. The space of that map is known
//! by then; the next splits look along the principal directions of what is left, and halve the documents that are together
//! below each upper node. Upper logits are multiplied with one number, which changes no ranking at their own levels: with it,
//! documents are as far apart by them as they are in that space, so that at every level below all of an embedding counts
//! alike.

use super::linear::{Learns, Linear, Part};
use super::{Kept, Pass, Split, directions, least_squares};
use crate::balance;
use crate::parameters::Parameters;
use retreever_data::{Embeddings, Ragged};
use retreever_tree::Depth;

/// Documents looked at.
const SAMPLE: usize = 20_000;
/// How many at a time.
const BATCH: usize = 64;

/// What is seen of some documents.
struct Look {
    seen: Vec<f32>, // [documents, width]: by the lower splits
    told: Vec<f32>, // [documents, upper nodes]: what the upper ones make of them, without their gains
}

impl Linear {
    /// Plants the lower splits, where the upper ones look for themselves.
    pub(super) fn plant_lower(&self, params: &mut Parameters, documents: &dyn Embeddings) {
        let [lower, upper] = &self.parts[..] else { return };
        let Some(depth) = (upper.nodes.len() + 1).ilog2().try_into().ok().and_then(Depth::new) else {
            return;
        };
        if documents.is_empty() {
            return;
        }
        debug_assert!(lower.learns == Learns::View && upper.learns == Learns::All);
        let (width, nodes) = (self.scope.width, upper.nodes.len());
        let Look { mut seen, mut told } = self.look(params, documents, upper);
        let centre = centred(&mut seen, width);
        centred(&mut told, nodes);

        let above = directions::space(&least_squares::map(&seen, width, &told, nodes), width);
        let factor = (energy_within(&seen, &above, width) / energy(&told).max(f32::MIN_POSITIVE)).sqrt();
        if factor.is_normal() {
            params[upper.weight].iter_mut().for_each(|x| *x *= factor);
            params[upper.bias].iter_mut().for_each(|x| *x *= factor);
        }

        let scaled =
            |row: &[f32]| -> Vec<f32> { row.iter().zip(&upper.gains).map(|(x, gain)| x * gain).collect() };
        let logits: Vec<f32> = told.chunks_exact(nodes).flat_map(scaled).collect();
        let mut groups = vec![Vec::new(); depth.leaves()];
        for (leaf, row) in balance::balanced(depth, &logits).leaves.into_iter().zip(seen.chunks_exact(width))
        {
            groups[leaf].push(row);
        }
        let mut rows = params[lower.weight].to_vec();
        directions::halving(&mut rows, groups, &above, width);
        lower.point(params, &rows, &centre);
    }

    fn look(&self, params: &Parameters, documents: &dyn Embeddings, upper: &Part) -> Look {
        let every = documents.len().div_ceil(SAMPLE).max(1);
        let sample: Vec<usize> = (0..documents.len()).step_by(every).collect();
        let (mut batch, mut kept) = (Ragged::new(self.scope.width), Kept::default());
        let mut look = Look { seen: Vec::new(), told: Vec::new() };
        let pass = Pass { end: self.scope.end, dropout: None };
        for some in sample.chunks(BATCH) {
            documents.gather(some, &mut batch);
            self.forward(params, &batch, pass, &mut kept);
            look.seen.extend_from_slice(self.seen_below(&batch, &kept));
            for row in kept.logits.chunks_exact(self.scope.end.start()) {
                look.told.extend(row.iter().zip(&upper.gains).map(|(logit, gain)| logit / gain));
            }
        }
        look
    }
}

/// Takes the mean row from every row, and returns it.
fn centred(rows: &mut [f32], width: usize) -> Vec<f32> {
    let mean = directions::mean(rows.chunks_exact(width), width);
    for row in rows.chunks_exact_mut(width) {
        row.iter_mut().zip(&mean).for_each(|(x, mean)| *x -= mean);
    }
    mean
}

/// The sum of squares.
fn energy(numbers: &[f32]) -> f32 {
    numbers.iter().map(|x| f64::from(x * x)).sum::<f64>() as f32
}

/// The same of what is within the space of `directions`, which are at right angles.
fn energy_within(rows: &[f32], directions: &[f32], width: usize) -> f32 {
    let mut within = rows.to_vec();
    directions::keep_within(&mut within, directions, width);
    energy(&within)
}

#[cfg(test)]
mod tests {
    use super::super::linear::tests::{pairs, two_parts};
    use super::*;
    use crate::parameters::Layout;
    use crate::random::Random;
    use retreever_tree::Level;

    #[test]
    fn lower_splits_go_on_where_the_upper_ones_leave_off() {
        let (mut layout, mut random) = (Layout::default(), Random::new(6, 1));
        let split = two_parts(&mut layout);
        let mut params = Parameters::zeros(layout);
        split.init(&mut params, &mut random);
        // The upper splits have grown, and look where they like.
        params
            .by_name_mut("coarse.split.weight")
            .unwrap()
            .iter_mut()
            .for_each(|x| *x = 3.0 * random.normal() as f32);
        let documents = pairs(200, &mut random);
        let logits = |params: &Parameters| {
            let (mut kept, end) = (Kept::default(), Level::ROOT.below().below());
            split.forward(params, &documents, Pass { end, dropout: None }, &mut kept);
            kept.logits
        };
        let before = logits(&params);
        split.plant(&mut params, &documents);

        let after = logits(&params);
        let factor = after[0] / before[0];
        assert!(factor < 0.9, "{factor}: they were louder than what they see");
        assert!(before.iter().zip(&after).all(|(x, y)| (x * factor - y).abs() < 1e-4 * (1.0 + x.abs())));
        let above = directions::space(params.by_name("coarse.split.weight").unwrap(), 8);
        let next = &params.by_name("split.weight").unwrap()[..4 * 8];
        for (row, other) in
            next.chunks_exact(8).flat_map(|row| above.chunks_exact(8).map(move |other| (row, other)))
        {
            assert!(directions::dot(row, other).abs() < 1e-2, "{row:?} looks along {other:?}");
        }
    }
}
