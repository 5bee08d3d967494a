//! MPNet's bias by distance: distances in buckets, near ones exactly, far ones by their logarithm.

use crate::EncoderError;
use crate::weights::Weights;
use retreever_kernels::self_attention::DistanceBias;

/// The distance from which on all are alike.
const FAR: f64 = 128.0;

pub(super) fn read(
    weights: &Weights,
    buckets: usize,
    heads: usize,
    longest: usize,
) -> Result<DistanceBias, EncoderError> {
    let table = weights.tensor("encoder.relative_attention_bias.weight", &[buckets, heads])?;
    Ok(DistanceBias::new(heads, longest, |head, distance| table[bucket(distance, buckets) * heads + head]))
}

/// The bucket of a distance, key minus query: the first half is for keys before the query.
fn bucket(distance: isize, buckets: usize) -> usize {
    let half = buckets / 2;
    let exact = half / 2;
    let side = if distance > 0 { half } else { 0 };
    let away = distance.unsigned_abs();
    if away < exact {
        return side + away;
    }
    let share = (away as f64 / exact as f64).ln() / (FAR / exact as f64).ln();
    side + (exact + (share * (half - exact) as f64) as usize).min(half - 1)
}

#[cfg(test)]
mod tests {
    use super::bucket;

    #[test]
    fn buckets_are_those_of_the_paper() {
        // transformers: MPNetEncoder.relative_position_bucket(torch.tensor(distances), num_buckets=32)
        let distances = [-200, -128, -65, -64, -20, -12, -8, -7, -1, 0, 1, 7, 8, 12, 30, 64, 127, 300];
        let expected = [15, 15, 14, 14, 10, 9, 8, 7, 1, 0, 17, 23, 24, 25, 27, 30, 31, 31];
        for (distance, expected) in distances.into_iter().zip(expected) {
            assert_eq!(bucket(distance, 32), expected, "distance {distance}");
        }
    }
}
