//! Split functions, propagation, loss and training of the tree.
#![forbid(unsafe_code)]

pub mod adapter;
mod attention_pooling;
mod balance;
mod batches;
mod budget;
mod checkpoint;
mod cosine;
mod cut;
mod dense;
mod directory;
mod error;
mod hidden;
mod learner;
pub mod loss;
pub mod optimizer;
pub mod parameters;
pub mod propagation;
mod random;
mod recipe;
mod scale;
pub mod schedule;
pub mod split;
mod train;
mod tree;
mod tree_learner;
mod trunk;
mod validate;
mod weights;

pub use adapter::{Adapter, AdapterConfig};
pub use budget::steps_within;
pub use checkpoint::Checkpoint;
pub use directory::SavedTree;
pub use error::ModelError;
pub use learner::{Learner, Lesson, Part, Reads, Similarity};
pub use propagation::PropagationConfig;
pub use random::Random;
pub use recipe::Recipe;
pub use scale::ScaleConfig;
pub use split::SplitConfig;
pub use train::{Best, Control, End, Event, State, TrainConfig, TrainingSet, train};
pub use tree::{Step, Tree, TreeConfig, Workspace};
pub use tree_learner::{Finish, TreeLearner};
pub use trunk::TrunkConfig;
pub use validate::{Size, Validation};
