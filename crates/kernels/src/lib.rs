//! Every inner loop of the house, and all of its `unsafe` code.
//!
//! Each kernel is a safe function that checks lengths, picks the widest instructions the machine has at run
//! time, and stands beside a scalar twin that says what it computes. The twins are compared by property tests.

pub mod attention;
pub mod bounds;
pub mod codes;
mod exp;
pub mod gelu;
pub mod gemm;
pub mod half_precision;
pub mod l1;
mod lanes;
pub mod layer_norm;
pub mod pairwise_l1;
pub mod rows;
pub mod sad;
pub mod self_attention;
mod simd;
pub mod sketch;
pub mod softmax;
pub mod top_k;

pub use exp::{exp, sigmoid};
