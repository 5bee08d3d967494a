//! From numbers to places on an axis, and where its ticks stand.

/// How numbers are spread along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// Equal differences.
    Linear,
    /// Equal differences between whole numbers, with ticks at some of them.
    Whole,
    /// Doublings, with a tick at each power of two.
    Log2,
    /// Ratios, with ticks at 1, 2 and 5 of each power of ten.
    Log10,
}

/// A range of numbers on a line of pixels.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    spread: Spread,
    from: f64,
    to: f64,
}

impl Scale {
    /// A scale around the values, rounded outwards to ticks where it is linear.
    pub(crate) fn around(spread: Spread, values: impl Iterator<Item = f64>) -> Self {
        let usable = values.filter(|value| {
            value.is_finite() && (*value > 0.0 || matches!(spread, Spread::Linear | Spread::Whole))
        });
        let (low, high) = usable
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
        if low > high {
            return Self { spread, from: 1.0, to: 2.0 };
        }
        match spread {
            Spread::Linear => {
                // A range that comes near zero starts there: half a decline should look like half.
                let low = if low >= 0.0 && low < 0.3 * high { 0.0 } else { low };
                let step = nice_step((high - low).max(1e-9 + high.abs() * 0.02));
                let from = (low / step).floor() * step;
                Self { spread, from, to: ((high / step).ceil() * step).max(from + step) }
            }
            Spread::Whole => Self { spread, from: low, to: high.max(low + 1.0) },
            Spread::Log2 | Spread::Log10 => {
                let (low, high) = if low == high { (low / 2.0, high * 2.0) } else { (low, high) };
                Self { spread, from: low, to: high }
            }
        }
    }

    /// Where the number stands, from 0 to 1.
    pub(crate) fn place(&self, value: f64) -> f64 {
        let along = match self.spread {
            Spread::Linear | Spread::Whole => (value - self.from) / (self.to - self.from),
            Spread::Log2 | Spread::Log10 => (value / self.from).ln() / (self.to / self.from).ln(),
        };
        along.clamp(0.0, 1.0)
    }

    /// The numbers to write along the axis.
    pub(crate) fn ticks(&self) -> Vec<f64> {
        match self.spread {
            Spread::Linear => {
                let step = nice_step(self.to - self.from);
                let count = ((self.to - self.from) / step).round() as usize;
                (0..=count).map(|tick| self.from + tick as f64 * step).collect()
            }
            Spread::Whole => {
                let step = ((self.to - self.from) / 16.0).ceil().max(1.0);
                let count = ((self.to - self.from) / step).floor() as usize;
                (0..=count).map(|tick| self.from + tick as f64 * step).collect()
            }
            Spread::Log2 => {
                let powers = self.from.log2().ceil() as i32..=self.to.log2().floor() as i32;
                powers.map(|power| f64::from(power).exp2()).collect()
            }
            Spread::Log10 => {
                let powers = self.from.log10().floor() as i32..=self.to.log10().ceil() as i32;
                let all: Vec<f64> =
                    powers.flat_map(|power| [1.0, 2.0, 5.0].map(|m| m * 10f64.powi(power))).collect();
                let slack = 1e-9;
                let inside =
                    |tick: &f64| *tick >= self.from * (1.0 - slack) && *tick <= self.to * (1.0 + slack);
                all.into_iter().filter(inside).collect()
            }
        }
    }
}

/// 1, 2 or 5 of a power of ten, so that the range has four to eight steps.
fn nice_step(range: f64) -> f64 {
    let rough = range / 5.0;
    let power = 10f64.powf(rough.log10().floor());
    let factor = match rough / power {
        f if f < 1.5 => 1.0,
        f if f < 3.5 => 2.0,
        f if f < 7.5 => 5.0,
        _ => 10.0,
    };
    factor * power
}

/// A tick as short as it can be told from its neighbours.
pub(crate) fn label(value: f64) -> String {
    let rounded = (value * 1e4).round() / 1e4;
    if rounded == 0.0 && value > 0.0 { format!("{value:.0e}") } else { format!("{rounded}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ticks_are_round_numbers() {
        let sizes = Scale::around(Spread::Log2, [2.0, 1024.0].into_iter());
        assert_eq!(sizes.ticks().len(), 10);
        let shares = Scale::around(Spread::Log10, [0.9, 100.0].into_iter());
        assert_eq!(shares.ticks(), [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0]);
        let levels = Scale::around(Spread::Whole, [0.0, 10.0].into_iter());
        assert_eq!(levels.ticks().len(), 11);
        let scores = Scale::around(Spread::Linear, [0.31, 0.42].into_iter());
        assert_eq!(
            scores.ticks().iter().map(|&tick| label(tick)).collect::<Vec<_>>(),
            ["0.3", "0.32", "0.34", "0.36", "0.38", "0.4", "0.42"]
        );
    }

    proptest! {
        #[test]
        fn every_scale_is_finite_and_monotone(values in prop::collection::vec(0.0f64..1e6, 0..6), linear: bool) {
            let spread = if linear { Spread::Linear } else { Spread::Log10 };
            let scale = Scale::around(spread, values.iter().copied());
            let ticks = scale.ticks();
            prop_assert!(ticks.len() < 60 && ticks.iter().all(|tick| tick.is_finite()));
            let mut sorted = values.clone();
            sorted.sort_by(f64::total_cmp);
            let places: Vec<f64> = sorted.iter().map(|&value| scale.place(value)).collect();
            prop_assert!(places.iter().all(|place| (0.0..=1.0).contains(place)) && places.is_sorted());
        }
    }
}
