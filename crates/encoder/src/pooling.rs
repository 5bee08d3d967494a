//! One embedding from many: how an item's token embeddings become its pooled embedding.

/// The modes of sentence-transformers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pooling {
    /// The first token.
    Cls,
    /// The mean of the tokens.
    Mean,
    /// The largest of each column.
    Max,
    /// The sum over the square root of the count.
    MeanSqrtLength,
    /// The mean weighted by position, 1 for the first.
    WeightedMean,
    /// The last token.
    Last,
}

/// Whether the pooled embedding is scaled to length 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Normalise {
    Yes,
    No,
}

impl Pooling {
    pub(crate) const ALL: [Self; 6] =
        [Self::Cls, Self::Mean, Self::Max, Self::MeanSqrtLength, Self::WeightedMean, Self::Last];

    /// The switch that turns the mode on in `1_Pooling/config.json`.
    pub(crate) fn switch(self) -> &'static str {
        match self {
            Self::Cls => "pooling_mode_cls_token",
            Self::Mean => "pooling_mode_mean_tokens",
            Self::Max => "pooling_mode_max_tokens",
            Self::MeanSqrtLength => "pooling_mode_mean_sqrt_len_tokens",
            Self::WeightedMean => "pooling_mode_weightedmean_tokens",
            Self::Last => "pooling_mode_lasttoken",
        }
    }

    /// The name of the mode where the file has one.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Cls => "cls",
            Self::Mean => "mean",
            Self::Max => "max",
            Self::MeanSqrtLength => "mean_sqrt_len_tokens",
            Self::WeightedMean => "weightedmean",
            Self::Last => "lasttoken",
        }
    }

    /// Pools rows of `out.len()` numbers; without rows, zeros.
    pub(crate) fn pool(self, tokens: &[f32], out: &mut [f32]) {
        let width = out.len();
        let count = tokens.len() / width;
        out.fill(0.0);
        if count == 0 {
            return;
        }
        let mut add = |weight: fn(usize) -> f32, divisor: f32| {
            for (i, row) in tokens.chunks_exact(width).enumerate() {
                let weight = weight(i);
                for (out, x) in out.iter_mut().zip(row) {
                    *out += weight * x;
                }
            }
            for out in out.iter_mut() {
                *out /= divisor;
            }
        };
        match self {
            Self::Cls => out.copy_from_slice(&tokens[..width]),
            Self::Last => out.copy_from_slice(&tokens[(count - 1) * width..][..width]),
            Self::Mean => add(|_| 1.0, count as f32),
            Self::MeanSqrtLength => add(|_| 1.0, (count as f32).sqrt()),
            Self::WeightedMean => add(|i| (i + 1) as f32, (count * (count + 1) / 2) as f32),
            Self::Max => {
                out.copy_from_slice(&tokens[..width]);
                for row in tokens.chunks_exact(width) {
                    for (out, &x) in out.iter_mut().zip(row) {
                        *out = out.max(x);
                    }
                }
            }
        }
    }
}

impl Normalise {
    pub(crate) fn apply(self, x: &mut [f32]) {
        if self == Self::Yes {
            let norm = x.iter().map(|&x| f64::from(x) * f64::from(x)).sum::<f64>().sqrt();
            // PyTorch's `normalize` divides by at least this.
            let scale = 1.0 / norm.max(1e-12);
            for x in x {
                *x = (f64::from(*x) * scale) as f32;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_are_what_they_say() {
        let tokens = [1.0, 5.0, 3.0, -2.0, 8.0, 0.0, 4.0, 1.0];
        let pooled = |mode: Pooling| {
            let mut out = [f32::NAN; 2];
            mode.pool(&tokens, &mut out);
            out
        };
        assert_eq!(pooled(Pooling::Cls), [1.0, 5.0]);
        assert_eq!(pooled(Pooling::Last), [4.0, 1.0]);
        assert_eq!(pooled(Pooling::Mean), [4.0, 1.0]);
        assert_eq!(pooled(Pooling::Max), [8.0, 5.0]);
        assert_eq!(pooled(Pooling::MeanSqrtLength), [8.0, 2.0]);
        assert_eq!(pooled(Pooling::WeightedMean), [4.7, 0.5]);
        let mut unit = [3.0, 4.0];
        Normalise::Yes.apply(&mut unit);
        assert_eq!(unit, [0.6, 0.8]);
        let mut zero = [0.0; 2];
        Normalise::Yes.apply(&mut zero);
        assert_eq!(zero, [0.0; 2]);
    }
}
