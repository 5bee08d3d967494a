//! Principal components by orthogonal iteration: the reduction before RAPTOR's mixtures. (The authors of RAPTOR use
//! UMAP; the principal components are linear, exact and need no tuning.)

use super::matrix::{Rows, dot, map_products, normalise, weighted_sums};

/// Passes of the iteration: the clusters need the subspace, not each axis to the last digit.
const PASSES: usize = 30;

/// The rows in their first `components` principal components, `[rows, components]`.
pub(super) fn reduce(rows: Rows<'_>, components: usize, seed: u64) -> Vec<f32> {
    let width = rows.width();
    let components = components.clamp(1, width);
    let mean = rows.mean();
    let mut centred = rows.as_slice().to_vec();
    for row in centred.chunks_exact_mut(width) {
        row.iter_mut().zip(&mean).for_each(|(x, m)| *x -= m);
    }
    let centred = Rows::new(&centred, width);
    let covariance = weighted_sums(centred, centred); // symmetric [width, width]
    let covariance = Rows::new(&covariance, width).pack();
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut axes: Vec<f32> = (0..components * width).map(|_| rng.f32() - 0.5).collect();
    orthogonalise(&mut axes, width);
    for _ in 0..PASSES {
        axes = map_products(Rows::new(&axes, width), &covariance, |_, row| row.to_vec()).concat();
        orthogonalise(&mut axes, width);
    }
    map_products(centred, &Rows::new(&axes, width).pack(), |_, row| row.to_vec()).concat()
}

/// Makes the rows perpendicular to those before them and of length 1.
fn orthogonalise(axes: &mut [f32], width: usize) {
    for index in 0..axes.len() / width {
        let (before, axis) = axes.split_at_mut(index * width);
        let axis = &mut axis[..width];
        normalise(axis, width);
        for earlier in before.chunks_exact(width) {
            let along = dot(axis, earlier);
            axis.iter_mut().zip(earlier).for_each(|(x, e)| *x -= along * e);
        }
        normalise(axis, width);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_direction_of_most_variance() {
        let mut rng = fastrand::Rng::with_seed(1);
        let rows: Vec<f32> = (0..500)
            .flat_map(|_| {
                let (far, near) = (4.0 * rng.f32() - 2.0, 0.2 * rng.f32());
                [0.6 * far + 0.8 * near + 7.0, 0.8 * far - 0.6 * near, near * near]
            })
            .collect();
        let reduced = reduce(Rows::new(&rows, 3), 1, 2);
        let expected: Vec<f32> = rows.chunks_exact(3).map(|row| 0.6 * row[0] + 0.8 * row[1]).collect();
        let mean = expected.iter().sum::<f32>() / 500.0;
        let sign = reduced[0].signum() * (expected[0] - mean).signum();
        for (found, expected) in reduced.iter().zip(&expected) {
            assert!((sign * found - (expected - mean)).abs() < 0.02, "{found} {expected}");
        }
    }
}
