//! Mixtures of Gaussians with diagonal covariances, fitted by expectation maximisation: the two-way split of
//! [`super::Hierarchy`] and the soft clusters of [`super::Raptor`].
//!
//! `log w_k N(x; m_k, s_k) = x^2 . (-1/2s) + x . (m/s) + c_k`: linear in `[x^2, x]`, so that the expectation is one
//! matrix product and the maximisation another.

use super::kmeans::{KMeans, KMeansConfig};
use super::matrix::{Rows, map_products, weighted_sums};

/// How a mixture is fitted.
#[derive(Clone, Copy, Debug)]
pub struct GmmConfig {
    /// The number of Gaussians; fewer come back if there are fewer rows.
    pub components: usize,
    /// At most this many passes over the rows.
    pub iterations: usize,
    /// No variance becomes smaller than this.
    pub floor: f32,
    /// Decides the k-means that it starts from.
    pub seed: u64,
}

/// A fitted mixture.
#[derive(Clone, Debug)]
pub struct Gmm {
    /// Row `k`: the coefficients of `[x^2, x]`.
    coefficients: Vec<f32>,
    constants: Vec<f32>,
    width: usize,
    /// The mean log-likelihood of the rows that it was fitted to.
    pub log_likelihood: f64,
}

/// `[x^2, x]` for every row.
pub(super) fn features(rows: Rows<'_>) -> Vec<f32> {
    let mut features = Vec::with_capacity(2 * rows.as_slice().len());
    for row in rows.as_slice().chunks_exact(rows.width()) {
        features.extend(row.iter().map(|x| x * x));
        features.extend_from_slice(row);
    }
    features
}

impl Gmm {
    /// Fits a mixture to the rows, from hard k-means clusters.
    pub fn fit(rows: Rows<'_>, config: GmmConfig) -> Self {
        let (count, width) = (rows.len(), rows.width());
        let start = KMeans::fit(rows, KMeansConfig::new(config.components, config.seed));
        let components = start.centres().len();
        let mut weights = vec![0.0; count * components];
        for (row, &centre) in start.assignment.iter().enumerate() {
            weights[row * components + centre as usize] = 1.0;
        }
        let features = features(rows);
        let features = Rows::new(&features, 2 * width);
        let mut gmm = Self::maximise(Rows::new(&weights, components), features, config.floor);
        for _ in 0..config.iterations {
            let before = gmm.log_likelihood;
            let expected = gmm.expect(features);
            let now = expected.iter().map(|(log, _)| f64::from(*log)).sum::<f64>() / count.max(1) as f64;
            if before.is_finite() && now - before < 1e-4 * before.abs().max(1.0) {
                gmm.log_likelihood = now.max(before);
                break;
            }
            weights.clear();
            expected.into_iter().for_each(|(_, responsibilities)| weights.extend(responsibilities));
            gmm = Self::maximise(Rows::new(&weights, components), features, config.floor);
            gmm.log_likelihood = now;
        }
        gmm
    }

    /// How many Gaussians there are.
    pub fn components(&self) -> usize {
        self.constants.len()
    }

    /// The probability that each Gaussian made each row: `[rows, components]`.
    pub fn responsibilities(&self, rows: Rows<'_>) -> Vec<Vec<f32>> {
        let features = features(rows);
        let expected = self.expect(Rows::new(&features, 2 * self.width));
        expected.into_iter().map(|(_, responsibilities)| responsibilities).collect()
    }

    /// Bayesian information criterion for the rows of the fit: smaller is better.
    pub fn bic(&self, rows: usize) -> f64 {
        let parameters = self.components() * (2 * self.width + 1) - 1;
        parameters as f64 * (rows as f64).ln() - 2.0 * self.log_likelihood * rows as f64
    }

    /// The log-odds of the first of two Gaussians as coefficients of `[x^2, x]` and a constant; nothing for
    /// another number of them.
    pub(super) fn log_odds(&self) -> Option<(Vec<f32>, f32)> {
        let [first, second] = self.constants[..] else { return None };
        let (a, b) = self.coefficients.split_at(2 * self.width);
        Some((a.iter().zip(b).map(|(a, b)| a - b).collect(), first - second))
    }

    /// For every row its log-likelihood and its responsibilities.
    fn expect(&self, features: Rows<'_>) -> Vec<(f32, Vec<f32>)> {
        let coefficients = Rows::new(&self.coefficients, 2 * self.width).pack();
        map_products(features, &coefficients, |_, products| {
            let mut logs: Vec<f32> = products.iter().zip(&self.constants).map(|(x, c)| x + c).collect();
            let max = logs.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            logs.iter_mut().for_each(|log| *log = (*log - max).exp());
            let sum: f32 = logs.iter().sum();
            logs.iter_mut().for_each(|p| *p /= sum);
            (max + sum.ln(), logs)
        })
    }

    fn maximise(weights: Rows<'_>, features: Rows<'_>, floor: f32) -> Self {
        let (components, width) = (weights.width(), features.width() / 2);
        let sums = weighted_sums(weights, features);
        let masses = weights.mean();
        let mut coefficients = Vec::with_capacity(components * 2 * width);
        let mut constants = Vec::with_capacity(components);
        for (sums, &share) in sums.chunks_exact(2 * width).zip(&masses) {
            let mass = (f64::from(share) * weights.len() as f64).max(1e-10);
            let (squares, sums) = sums.split_at(width);
            let mut linear = Vec::with_capacity(width);
            let mut constant = f64::from(share).max(1e-30).ln();
            for (&square, &sum) in squares.iter().zip(sums) {
                let mean = f64::from(sum) / mass;
                let variance = (f64::from(square) / mass - mean * mean).max(f64::from(floor));
                coefficients.push((-0.5 / variance) as f32);
                linear.push((mean / variance) as f32);
                constant -= 0.5 * (mean * mean / variance + (std::f64::consts::TAU * variance).ln());
            }
            coefficients.extend(linear);
            constants.push(constant as f32);
        }
        Self { coefficients, constants, width, log_likelihood: f64::NEG_INFINITY }
    }
}

#[cfg(test)]
mod tests {
    use super::super::conformance::{self, Cloud};
    use super::*;

    fn config(components: usize) -> GmmConfig {
        GmmConfig { components, iterations: 50, floor: 1e-4, seed: 1 }
    }

    #[test]
    fn separates_clusters_and_prefers_their_number() {
        let cloud = Cloud::clustered(500, 6, 5, 8);
        let fits = [1, 5, 12].map(|components| Gmm::fit(cloud.documents(), config(components)));
        let bics = fits.each_ref().map(|fit| fit.bic(500));
        assert!(bics[1] < bics[0] && bics[1] < bics[2], "{bics:?}");
        let responsibilities = fits[1].responsibilities(cloud.documents());
        let likeliest = |row: usize| {
            (0..5).max_by(|&a, &b| responsibilities[row][a].total_cmp(&responsibilities[row][b]))
        };
        for row in 0..500 {
            assert!((responsibilities[row].iter().sum::<f32>() - 1.0).abs() < 1e-5);
            assert_eq!(likeliest(row), likeliest(row % 5));
        }
    }

    #[test]
    fn one_gaussian_has_the_mean_and_the_variance() {
        let rows = [1.0, 4.0, 3.0, 4.0, 5.0, 10.0];
        let gmm = Gmm::fit(Rows::new(&rows, 2), config(1));
        // Means 3 and 6, variances 8/3 and 8; the mean log-density by hand.
        let (variance_a, variance_b) = (8.0f64 / 3.0, 8.0f64);
        let expected = -(std::f64::consts::TAU.ln()) - 0.5 * (variance_a.ln() + variance_b.ln()) - 1.0;
        assert!((gmm.log_likelihood - expected).abs() < 1e-4, "{} {expected}", gmm.log_likelihood);
    }

    #[test]
    fn is_as_likely_as_scikit_learn() {
        // sklearn 1.9.1, x as in the test of k-means: the median of GaussianMixture(4, covariance_type="diag",
        // random_state=s, reg_covar=1e-4, tol=1e-4).fit(x).score(x) for s in range(6), which are -5.38 to -4.90.
        let rows = conformance::waves(600, 6);
        let fit = |seed| Gmm::fit(Rows::new(&rows, 6), GmmConfig { seed, ..config(4) }).log_likelihood;
        let best = (0..5).map(fit).fold(f64::NEG_INFINITY, f64::max);
        assert!(best > -5.307, "{best}");
    }

    #[test]
    fn log_odds_are_those_of_the_responsibilities() {
        let cloud = Cloud::clustered(60, 4, 7, 2);
        let gmm = Gmm::fit(cloud.documents(), config(2));
        let (coefficients, constant) = gmm.log_odds().unwrap();
        let features = features(cloud.documents());
        for (row, p) in gmm.responsibilities(cloud.documents()).iter().enumerate() {
            let logit = super::super::matrix::dot(&features[row * 8..][..8], &coefficients) + constant;
            assert!((1.0 / (1.0 + (-logit).exp()) - p[0]).abs() < 1e-3);
        }
    }
}
