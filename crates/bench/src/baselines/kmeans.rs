//! Lloyd's k-means with k-means++ starts: the partition under [`super::Ivf`] and [`super::Scann`], and the two-way
//! split of [`super::Hierarchy`].
//!
//! Minimises `sum_i |x_i - c_a(i)|^2`. A row's nearest centre is the one with the largest
//! `x . c - |c|^2 / 2`, so that the assignment is one matrix product.

use super::matrix::{Rows, dot, map_products};

/// How k-means is run.
#[derive(Clone, Copy, Debug)]
pub struct KMeansConfig {
    /// The number of centres; fewer come back if there are fewer rows.
    pub centres: usize,
    /// At most this many passes over the rows.
    pub iterations: usize,
    /// At most this many rows a centre are used to move the centres (all rows are assigned at the end).
    pub sample: usize,
    /// Decides the starts and the sample.
    pub seed: u64,
}

impl KMeansConfig {
    /// Defaults for a number of centres: 25 passes over at most 256 rows a centre.
    pub fn new(centres: usize, seed: u64) -> Self {
        Self { centres, iterations: 25, sample: 256, seed }
    }
}

/// Centres and which one each row belongs to.
#[derive(Clone, Debug)]
pub struct KMeans {
    centres: Vec<f32>,
    width: usize,
    /// The centre of each row.
    pub assignment: Vec<u32>,
    /// The sum of squared distances of the rows from their centres.
    pub inertia: f64,
}

impl KMeans {
    /// Clusters the rows.
    pub fn fit(rows: Rows<'_>, config: KMeansConfig) -> Self {
        let mut rng = fastrand::Rng::with_seed(config.seed);
        let width = rows.width();
        let most = config.centres.saturating_mul(config.sample).max(1);
        let sampled = (rows.len() > most).then(|| {
            let mut chosen = rng.choose_multiple(0..rows.len() as u32, most);
            chosen.sort_unstable();
            rows.gather(&chosen)
        });
        let training = sampled.as_deref().map_or(rows, |sample| Rows::new(sample, width));
        let mut centres = plus_plus(training, config.centres.max(1), &mut rng);
        let mut inertia = f64::INFINITY;
        for _ in 0..config.iterations {
            let nearest = nearest(training, Rows::new(&centres, width));
            let now: f64 = nearest.iter().map(|near| f64::from(near.distance)).sum();
            if now >= inertia * (1.0 - 1e-4) {
                break;
            }
            inertia = now;
            move_centres(&mut centres, training, &nearest);
        }
        let nearest = nearest(rows, Rows::new(&centres, width));
        Self {
            inertia: nearest.iter().map(|near| f64::from(near.distance)).sum(),
            assignment: nearest.iter().map(|near| near.centre).collect(),
            centres,
            width,
        }
    }

    /// The centres, one a row.
    pub fn centres(&self) -> Rows<'_> {
        Rows::new(&self.centres, self.width)
    }

    /// The rows of each centre, ascending.
    pub fn members(&self) -> Vec<Vec<u32>> {
        let mut members = vec![Vec::new(); self.centres().len()];
        for (row, &centre) in (0..).zip(&self.assignment) {
            members[centre as usize].push(row);
        }
        members
    }
}

/// Half the squared length of each row: what [`nearest`] takes off the inner product.
pub(super) fn half_squares(rows: Rows<'_>) -> Vec<f32> {
    rows.as_slice().chunks_exact(rows.width()).map(|row| dot(row, row) / 2.0).collect()
}

struct Nearest {
    centre: u32,
    distance: f32, // squared
}

fn nearest(rows: Rows<'_>, centres: Rows<'_>) -> Vec<Nearest> {
    let halves = half_squares(centres);
    map_products(rows, &centres.pack(), |row, products| {
        let (mut centre, mut best) = (0, f32::NEG_INFINITY);
        for (c, (product, half)) in products.iter().zip(&halves).enumerate() {
            if product - half > best {
                (centre, best) = (c, product - half);
            }
        }
        let row = rows.row(row);
        Nearest { centre: centre as u32, distance: (dot(row, row) - 2.0 * best).max(0.0) }
    })
}

/// Each next centre is a row, drawn with a chance that grows with the square of its distance from those there are;
/// of a few drawn, the one that brings the rows nearest (greedy k-means++).
fn plus_plus(rows: Rows<'_>, count: usize, rng: &mut fastrand::Rng) -> Vec<f32> {
    if rows.is_empty() {
        return vec![0.0; rows.width()];
    }
    let halves = half_squares(rows);
    let trials = 2 + (count as f64).ln() as usize;
    let mut centres = Vec::with_capacity(count * rows.width());
    let mut distances = vec![f32::INFINITY; rows.len()];
    let mut drawn = vec![rng.u32(..rows.len() as u32)];
    while centres.len() < count.min(rows.len()) * rows.width() {
        let candidates = rows.gather(&drawn);
        let nearer: Vec<Vec<f32>> =
            map_products(rows, &Rows::new(&candidates, rows.width()).pack(), |row, products| {
                let distance = |(product, &candidate): (&f32, &u32)| {
                    2.0 * (halves[row] + halves[candidate as usize] - product).max(0.0)
                };
                products.iter().zip(&drawn).map(|pair| distance(pair).min(distances[row])).collect()
            });
        let potential = |trial: usize| nearer.iter().map(|row| f64::from(row[trial])).sum::<f64>();
        let potentials: Vec<f64> = (0..drawn.len()).map(potential).collect();
        let best = (0..drawn.len()).min_by(|&a, &b| potentials[a].total_cmp(&potentials[b])).unwrap_or(0);
        centres.extend_from_slice(rows.row(drawn[best] as usize));
        distances.iter_mut().zip(&nearer).for_each(|(distance, row)| *distance = row[best]);
        // What is left is rounding: the rows are copies of the centres there are.
        if potentials[best] <= 1e-6 * f64::from(halves.iter().copied().fold(0.0, f32::max)) {
            break;
        }
        drawn = draw(&distances, potentials[best], trials, rng);
    }
    centres
}

/// Rows drawn in proportion to their distances, which sum to `total`.
fn draw(distances: &[f32], total: f64, count: usize, rng: &mut fastrand::Rng) -> Vec<u32> {
    let mut cumulative = Vec::with_capacity(distances.len());
    let mut sum = 0.0;
    for &distance in distances {
        sum += f64::from(distance);
        cumulative.push(sum);
    }
    let mut one = || {
        let at = rng.f64() * total;
        cumulative.partition_point(|&sum| sum <= at).min(distances.len() - 1) as u32
    };
    (0..count).map(|_| one()).collect()
}

/// Each centre becomes the mean of its rows; one that has none takes the row that is worst served.
fn move_centres(centres: &mut [f32], rows: Rows<'_>, nearest: &[Nearest]) {
    let width = rows.width();
    let mut members = vec![Vec::new(); centres.len() / width];
    for (row, near) in nearest.iter().enumerate() {
        members[near.centre as usize].push(row as u32);
    }
    let mut far: Vec<u32> = Vec::new();
    if members.iter().any(Vec::is_empty) {
        far = (0..rows.len() as u32).collect();
        far.sort_by(|&a, &b| nearest[a as usize].distance.total_cmp(&nearest[b as usize].distance));
    }
    for (centre, members) in centres.chunks_exact_mut(width).zip(&members) {
        if members.is_empty() {
            if let Some(row) = far.pop() {
                centre.copy_from_slice(rows.row(row as usize));
            }
        } else {
            centre.copy_from_slice(&Rows::new(&rows.gather(members), width).mean());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::conformance::{self, Cloud};
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn finds_clusters_that_are_there() {
        let cloud = Cloud::clustered(600, 16, 6, 3);
        let fit = KMeans::fit(cloud.documents(), KMeansConfig::new(6, 1));
        for (row, &centre) in fit.assignment.iter().enumerate() {
            assert_eq!(centre, fit.assignment[row % 6], "rows of one cluster share a centre");
        }
    }

    #[test]
    fn is_as_good_as_scikit_learn() {
        // sklearn 1.9.1: i = np.arange(600)[:, None]; j = np.arange(6)[None]
        // x = np.sin(1.3 * i * (j + 1) + j * j).astype(np.float32)
        // min(KMeans(k, n_init=1, random_state=s).fit(x).inertia_ for s in range(5))
        for (centres, expected) in [(8, 538.761), (24, 45.337)] {
            let rows = conformance::waves(600, 6);
            let best = (0..5)
                .map(|seed| KMeans::fit(Rows::new(&rows, 6), KMeansConfig::new(centres, seed)).inertia)
                .fold(f64::INFINITY, f64::min);
            assert!(best < 1.03 * expected, "{centres} centres: {best}, not {expected}");
        }
    }

    fn squared_distance(a: &[f32], b: &[f32]) -> f32 {
        a.iter().zip(b).map(|(x, y)| (x - y) * (x - y)).sum()
    }

    proptest! {
        #[test]
        fn rows_are_with_their_nearest_centre(count in 1usize..40, centres in 1usize..8, seed in 0u64..50) {
            let cloud = Cloud::new(count, 5, seed);
            let fit = KMeans::fit(cloud.documents(), KMeansConfig::new(centres, seed));
            let again = KMeans::fit(cloud.documents(), KMeansConfig::new(centres, seed));
            prop_assert_eq!(&fit.assignment, &again.assignment);
            prop_assert_eq!(fit.members().iter().map(Vec::len).sum::<usize>(), count);
            let mut inertia = 0.0;
            for (row, &centre) in fit.assignment.iter().enumerate() {
                let row = cloud.documents().row(row);
                let own = squared_distance(row, fit.centres().row(centre as usize));
                inertia += f64::from(own);
                for other in 0..fit.centres().len() {
                    prop_assert!(own <= squared_distance(row, fit.centres().row(other)) + 1e-5);
                }
            }
            prop_assert!((inertia - fit.inertia).abs() < 1e-3);
        }
    }
}
