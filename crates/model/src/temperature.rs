//! The two temperatures at which a tree's split logits are read: one for comparing items, one for routing them.

use retreever_tree::{CoverPoint, Depth, Routing};
use serde::{Deserialize, Serialize};

/// What logits are divided by, for each level of splits from the root's on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Temperatures {
    /// For comparing: soft, so that distances keep the geometry of the space.
    pub compare: Vec<f32>,
    /// For routing: so that a node's probability is the chance that the answer lies below it, where it was calibrated.
    pub route: Vec<f32>,
    /// The measured curve of cover; empty for a tree that was not calibrated.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cover: Vec<CoverPoint>,
}

impl Temperatures {
    /// Temperatures for logits whose standard deviation is 1. For comparing they make it `deviation` at the last level of splits,
    /// and at each level `growth` times that of the one above; for routing the same at every level.
    pub(crate) fn planted(depth: Depth, deviation: f64, growth: f64) -> Self {
        let levels = depth.get() as i32;
        let compare = (0..levels).map(|level| (1.0 / (deviation * growth.powi(level + 1 - levels))) as f32);
        Self {
            compare: compare.collect(),
            route: vec![(1.0 / ROUTING_DEVIATION) as f32; depth.get()],
            cover: Vec::new(),
        }
    }

    /// The routing reading as it follows from the comparing one.
    pub(crate) fn routing(&self) -> Routing {
        let sharpening = self.compare.iter().zip(&self.route).map(|(compare, route)| compare / route);
        Routing { sharpening: sharpening.collect(), cover: self.cover.clone() }
    }

    /// Takes over a routing reading.
    pub(crate) fn set_routing(&mut self, routing: Routing) {
        let route =
            self.compare.iter().zip(&routing.sharpening).map(|(compare, sharpening)| compare / sharpening);
        (self.route, self.cover) = (route.collect(), routing.cover);
    }

    /// Divides logits, `[items, splits]`, or their gradients, by the comparing temperatures times `softness`.
    pub(crate) fn compare(&self, logits: &mut [f32], splits: usize, softness: f32) {
        let factors: Vec<f32> = self
            .compare
            .iter()
            .enumerate()
            .flat_map(|(level, t)| vec![1.0 / (softness * t); 1 << level])
            .take(splits)
            .collect();
        for row in logits.chunks_exact_mut(splits.max(1)) {
            row.iter_mut().zip(&factors).for_each(|(logit, factor)| *logit *= factor);
        }
    }

    /// Whether a tree of this depth can be read with them, or what is wrong.
    pub(crate) fn check(&self, depth: Depth) -> Result<(), String> {
        for (name, temperatures) in [("compare", &self.compare), ("route", &self.route)] {
            if temperatures.len() != depth.get() {
                let (expected, received) = (depth.get(), temperatures.len());
                return Err(format!(
                    "`{name}` has {received} temperatures, but the tree has {expected} levels of splits"
                ));
            }
            if let Some(bad) = temperatures.iter().find(|t| !(t.is_finite() && **t > 0.0)) {
                return Err(format!("`{name}` holds the temperature {bad}, but must be finite and above 0"));
            }
        }
        self.routing().check(depth)
    }
}

/// The standard deviation of routing logits before they are calibrated.
const ROUTING_DEVIATION: f64 = 0.8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logits_get_the_wished_deviation() {
        let depth = Depth::new(3).unwrap();
        let temperatures = Temperatures::planted(depth, 0.8, 2.0);
        let mut logits = vec![1.0; 7];
        temperatures.compare(&mut logits, 7, 1.0);
        let expected = [0.2, 0.4, 0.4, 0.8, 0.8, 0.8, 0.8];
        assert!(logits.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6), "{logits:?}");
        let routing = temperatures.routing();
        assert!(
            (routing.sharpening[0] * 0.2 - 0.8).abs() < 1e-5
                && (routing.sharpening[2] * 0.8 - 0.8).abs() < 1e-5
        );
        let mut other = temperatures.clone();
        other.set_routing(routing);
        assert_eq!(temperatures.check(depth), Ok(()));
        assert!(other.route.iter().zip(&temperatures.route).all(|(a, b)| (a - b).abs() < 1e-6));
    }

    #[test]
    fn what_cannot_divide_is_refused() {
        let depth = Depth::new(2).unwrap();
        let mut temperatures = Temperatures::planted(depth, 0.8, 2.0);
        temperatures.compare[1] = 0.0;
        assert!(temperatures.check(depth).unwrap_err().contains("`compare`"));
        let short = Temperatures { route: vec![1.0], ..Temperatures::planted(depth, 0.8, 2.0) };
        assert!(short.check(depth).unwrap_err().contains("`route`"));
    }
}
