//! Made-up items: clusters in a small space, routed by random splits whose strength grows with depth.
#![allow(dead_code)] // each test file uses its part

use retreever_tree::{Assignments, CoverPoint, Depth, Nesting, Routing};

/// Numbers that look random and are the same every time.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed ^ 0x9e37_79b9_7f4a_7c15)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    pub(crate) fn unit(&mut self) -> f32 {
        (self.next() & 0xff_ffff) as f32 / 16_777_216.0
    }

    /// About normal: the sum of uniforms.
    pub(crate) fn normal(&mut self) -> f32 {
        (0..6).map(|_| self.unit()).sum::<f32>() * 1.414 - 4.242
    }
}

/// How to make items.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Recipe {
    pub(crate) depth: u8,
    pub(crate) nesting: Nesting,
    pub(crate) sharpness: f32,
    pub(crate) seed: u64,
}

const SPACE: usize = 12;

impl Recipe {
    pub(crate) fn depth(&self) -> Depth {
        Depth::new(self.depth).unwrap()
    }

    /// A routing for the items: of one temperature for every fourth seed, not calibrated for every third.
    pub(crate) fn routing(&self) -> Routing {
        let mut dice = Dice::new(self.seed.wrapping_mul(17));
        let mut routing = Routing::same();
        if !self.seed.is_multiple_of(4) {
            routing.sharpening = (0..self.depth).map(|_| 0.5 + 6.0 * dice.unit()).collect();
        }
        if !self.seed.is_multiple_of(3) {
            let mut opened: Vec<f64> = (0..4).map(|_| dice.unit().into()).collect();
            opened.sort_by(f64::total_cmp);
            let points = [0.25, 0.5, 0.75, 0.95].into_iter().zip(opened);
            routing.cover = points.map(|(chance, opened)| CoverPoint { chance, opened }).collect();
        }
        routing.check(self.depth()).unwrap();
        routing
    }

    /// `count` items around a few centres; some are exact copies of others. `stream` tells sets apart.
    pub(crate) fn items(&self, count: usize, stream: u64) -> Assignments {
        let mut tree = Dice::new(self.seed);
        let depth = self.depth();
        let weights: Vec<f32> = (0..depth.nodes() * SPACE).map(|_| tree.normal()).collect();
        let centres: Vec<f32> = (0..8 * SPACE).map(|_| tree.normal()).collect();
        let mut dice = Dice::new(self.seed.wrapping_mul(31).wrapping_add(stream));
        let mut rows: Vec<f32> = Vec::new();
        let width = self.nesting.row_width(depth);
        for item in 0..count {
            if item > 0 && dice.below(8) == 0 {
                let copied = dice.below(item);
                rows.extend_from_within(copied * width..(copied + 1) * width);
                continue;
            }
            let centre = dice.below(8);
            let x: Vec<f32> = (0..SPACE).map(|i| centres[centre * SPACE + i] + 0.4 * dice.normal()).collect();
            let logit = |node: usize| {
                let level = (node + 1).ilog2() as i32;
                let dot: f32 = x.iter().zip(&weights[node * SPACE..]).map(|(x, w)| x * w).sum();
                dot * self.sharpness * 1.3f32.powi(level)
            };
            rows.extend(self.row(logit));
        }
        Assignments::new(depth, self.nesting, rows).unwrap()
    }

    fn row(&self, logit: impl Fn(usize) -> f32) -> Vec<f32> {
        let depth = self.depth();
        match self.nesting {
            Nesting::Nested => {
                let mut level = vec![1.0f32];
                for l in 0..depth.get() {
                    let first = (1 << l) - 1;
                    let split = |(rank, p): (usize, &f32)| {
                        let left = 1.0 / (1.0 + (-logit(first + rank)).exp());
                        [p * left, p * (1.0 - left)]
                    };
                    level = level.iter().enumerate().flat_map(split).collect();
                }
                level
            }
            Nesting::PerLevel => depth
                .levels()
                .flat_map(|level| {
                    let raw: Vec<f32> =
                        level.nodes().map(|node| 1.0 / (1.0 + (-logit(node.index())).exp())).collect();
                    let sum: f32 = raw.iter().sum();
                    raw.into_iter().map(move |p| p / sum)
                })
                .collect(),
        }
    }
}
