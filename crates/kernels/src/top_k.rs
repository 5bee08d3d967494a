//! The `k` nearest of a stream of candidates, equals by the lower number.

/// A candidate: how far, and its number. Smaller is better in both, distance first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Near {
    /// The distance; never a NaN.
    pub distance: f64,
    /// The number that settles ties.
    pub id: u64,
}

impl Near {
    fn before(&self, other: &Self) -> bool {
        self.distance < other.distance || (self.distance == other.distance && self.id < other.id)
    }
}

/// Keeps the `k` nearest candidates seen, the farthest of them on top of a heap.
#[derive(Clone, Debug)]
pub struct TopK {
    k: usize,
    heap: Vec<Near>,
}

impl TopK {
    /// An empty selection of up to `k`.
    pub fn new(k: usize) -> Self {
        Self { k, heap: Vec::with_capacity(k.min(1 << 16)) }
    }

    /// The distance beyond which a candidate cannot enter: infinite until `k` are known. A candidate at
    /// exactly this distance may still enter by its number.
    pub fn threshold(&self) -> f64 {
        match self.heap.first() {
            _ if self.k == 0 => f64::NEG_INFINITY,
            Some(worst) if self.heap.len() == self.k => worst.distance,
            _ => f64::INFINITY,
        }
    }

    /// Takes the candidate if it is among the `k` nearest so far.
    pub fn push(&mut self, near: Near) {
        if self.heap.len() < self.k {
            self.heap.push(near);
            self.rise();
        } else if self.heap.first().is_some_and(|worst| near.before(worst)) {
            self.heap[0] = near;
            self.sink();
        }
    }

    /// The candidates kept, nearest first.
    pub fn into_sorted(mut self) -> Vec<Near> {
        self.heap.sort_unstable_by(|a, b| a.distance.total_cmp(&b.distance).then(a.id.cmp(&b.id)));
        self.heap
    }

    fn rise(&mut self) {
        let mut at = self.heap.len() - 1;
        while at > 0 && self.heap[(at - 1) / 2].before(&self.heap[at]) {
            self.heap.swap(at, (at - 1) / 2);
            at = (at - 1) / 2;
        }
    }

    fn sink(&mut self) {
        let mut at = 0;
        loop {
            let mut child = 2 * at + 1;
            if child >= self.heap.len() {
                return;
            }
            if child + 1 < self.heap.len() && self.heap[child].before(&self.heap[child + 1]) {
                child += 1;
            }
            if !self.heap[at].before(&self.heap[child]) {
                return;
            }
            self.heap.swap(at, child);
            at = child;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn agrees_with_sorting(distances in prop::collection::vec(0u8..20, 0..200), k in 0usize..30) {
            let mut all: Vec<Near> = distances
                .iter()
                .enumerate()
                .map(|(id, d)| Near { distance: f64::from(*d), id: (id as u64 * 7919) % 211 })
                .collect();
            let mut top = TopK::new(k);
            for near in &all {
                top.push(*near);
            }
            all.sort_by(|a, b| a.distance.total_cmp(&b.distance).then(a.id.cmp(&b.id)));
            all.truncate(k);
            if all.len() == k && k > 0 {
                prop_assert_eq!(top.threshold(), all[k - 1].distance);
            }
            prop_assert_eq!(top.into_sorted(), all);
        }
    }
}
