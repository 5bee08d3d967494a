//! Attention against its definition in double precision.

use super::*;
use proptest::prelude::*;

fn definition(input: &SelfAttention<'_>, tokens: usize) -> Vec<f64> {
    let (width, model) = (input.width, input.heads * input.width);
    let at = |token: usize, part: usize, head: usize, i: usize| {
        f64::from(input.qkv[token * 3 * model + part * model + head * width + i])
    };
    let mut out = vec![0.0; tokens * model];
    for head in 0..input.heads {
        for query in 0..tokens {
            let score = |key: usize| {
                let dot: f64 = (0..width)
                    .map(|i| {
                        let bias = f64::from(input.query_bias[head * width + i]);
                        (at(query, 0, head, i) + bias) * at(key, 1, head, i)
                    })
                    .sum();
                let bias = input.distance_bias.map_or(0.0, |bias| f64::from(bias.row(head, query)[key]));
                dot * f64::from(input.scale) + bias
            };
            let weights: Vec<f64> = (0..tokens).map(|key| score(key).exp()).collect();
            let sum: f64 = weights.iter().sum();
            for i in 0..width {
                let value: f64 = (0..tokens).map(|key| weights[key] * at(key, 2, head, i)).sum();
                out[query * model + head * width + i] = value / sum;
            }
        }
    }
    out
}

proptest! {
    #[test]
    fn agrees_with_the_definition(
        tokens in 1usize..50,
        heads in 1usize..4,
        width in prop::sample::select(vec![8usize, 16, 32, 48]),
        far in prop::bool::ANY,
        seed in 0u32..1000,
    ) {
        let model = heads * width;
        let number = |i: usize| ((i as f32 * 12.9898 + seed as f32).sin() * 43_758.547).fract();
        let qkv: Vec<f32> = (0..tokens * 3 * model).map(number).collect();
        let query_bias: Vec<f32> = (0..model).map(|i| number(i + 7)).collect();
        let bias = DistanceBias::new(heads, 64, |head, distance| (distance as f32 * 0.3 + head as f32).cos());
        let input = SelfAttention {
            qkv: &qkv,
            query_bias: &query_bias,
            heads,
            width,
            scale: 0.7,
            distance_bias: far.then_some(&bias),
        };
        let exact = definition(&input, tokens);
        let (mut out, mut twin) = (vec![f32::NAN; tokens * model], vec![f32::NAN; tokens * model]);
        let mut scratch = Scratch::default();
        self_attention(input, &mut scratch, &mut out);
        wide_heads::scalar(&input, tokens, &mut scratch, &mut twin);
        for i in 0..exact.len() {
            prop_assert!((f64::from(out[i]) - exact[i]).abs() < 1e-5, "{} is not {}", out[i], exact[i]);
            prop_assert!((f64::from(twin[i]) - exact[i]).abs() < 1e-5, "{} is not {}", twin[i], exact[i]);
        }
    }
}
