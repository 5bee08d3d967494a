//! What is done to a hidden layer: ReLU, and dropout in training.

use crate::random::Random;

/// Which hidden numbers are dropped in a pass.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Dropout {
    /// The share that is dropped.
    pub(crate) rate: f32,
    /// What makes the choice, or nothing for none.
    pub(crate) seed: Option<u64>,
}

impl Dropout {
    /// The seed of the choice, and what is kept of 65,536 numbers; nothing if nothing is dropped.
    fn choice(self) -> Option<(u64, u64)> {
        let seed = self.seed.filter(|_| self.rate > 0.0)?;
        Some((seed, 65536 - (f64::from(self.rate) * 65536.0) as u64))
    }

    /// What kept numbers are multiplied with, so that their sum is the same on average.
    fn factor(self) -> f32 {
        self.choice().map_or(1.0, |(_, kept)| 65536.0 / kept as f32)
    }
}

/// Negative numbers become 0, and so do the dropped.
pub(crate) fn forward(hidden: &mut [f32], dropout: Dropout) {
    hidden.iter_mut().for_each(|h| *h = h.max(0.0));
    if let Some((seed, kept)) = dropout.choice() {
        let (mut random, factor) = (Random::new(seed, 0), dropout.factor());
        for four in hidden.chunks_mut(4) {
            let bits = random.bits();
            for (i, h) in four.iter_mut().enumerate() {
                *h *= if bits >> (16 * i) & 0xffff < kept { factor } else { 0.0 };
            }
        }
    }
}

/// The gradient of what went in from that of `hidden`, which came out.
pub(crate) fn backward(hidden: &[f32], dropout: Dropout, grad: &mut [f32]) {
    let factor = dropout.factor();
    grad.iter_mut().zip(hidden).for_each(|(g, h)| *g *= if *h > 0.0 { factor } else { 0.0 });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dropped_are_a_share_and_the_mean_stays() {
        let dropout = Dropout { rate: 0.25, seed: Some(3) };
        let mut hidden = vec![1.0; 40_001];
        hidden[0] = -1.0;
        forward(&mut hidden, dropout);
        let zeros = hidden.iter().filter(|h| **h == 0.0).count();
        assert!((9_700..10_300).contains(&zeros), "{zeros}");
        assert!((hidden.iter().sum::<f32>() / 40_000.0 - 1.0).abs() < 0.02);
        let mut grad = vec![1.0; hidden.len()];
        backward(&hidden, dropout, &mut grad);
        assert_eq!(grad, hidden, "of the dropped nothing, of the kept as they were multiplied");
        let mut again = vec![1.0; 4];
        forward(&mut again, Dropout { seed: None, ..dropout });
        assert_eq!(again, [1.0; 4]);
    }
}
