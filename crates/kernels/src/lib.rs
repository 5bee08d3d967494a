//! Every inner loop of the house, and all of its `unsafe` code.
//!
//! Each kernel is a safe function that checks lengths, picks the widest instructions the machine has at run
//! time, and stands beside a scalar twin that says what it computes. The twins are compared by property tests.

pub mod attention;
mod exp;
pub mod gelu;
pub mod gemm;
mod lanes;
pub mod layer_norm;
pub mod pairwise_l1;
pub mod self_attention;
mod simd;
pub mod softmax;

pub use exp::{exp, sigmoid};
pub mod codes;
pub mod l1;
pub mod sad;
pub mod top_k;
