//! Split functions, propagation, loss and training of the tree.
#![forbid(unsafe_code)]

mod cut;
mod dense;
pub mod loss;
pub mod parameters;
pub mod propagation;
mod random;
pub mod split;
mod tree;

pub use propagation::PropagationConfig;
pub use random::Random;
pub use split::SplitConfig;
pub use tree::{ScaleConfig, Step, Tree, TreeConfig, Workspace};
