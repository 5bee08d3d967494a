//! Retrieval you can read: one learned tree as compressor, index and table of contents.
//!
//! A frozen encoder turns a text into token embeddings; one learned binary tree routes queries and documents alike;
//! the probability of reaching each node is the representation. A [`Retriever`] is an encoder, a tree and an index
//! that belong together. Train, index, search, and see why:
//!
//! ```
//! use retreever::{CachedEncoder, Control, Material, Retriever};
//! use retreever::{Dataset, Query, Recipe, SavedTree, State, Tree, TreeLearner, depth_for, train};
//! # use retreever::{Document, Encoder, EncoderError, Fingerprint, Role, Split};
//! # use retreever_data::Ragged;
//! # struct Words; // counts letters; a stand-in that needs no download
//! # impl Encoder for Words {
//! #     fn width(&self) -> usize { 26 }
//! #     fn fingerprint(&self) -> Fingerprint { Fingerprint::of(&[b"letters"]) }
//! #     fn encode(&self, texts: &[&str], _: Role, batch: &mut Ragged) -> Result<(), EncoderError> {
//! #         batch.clear();
//! #         for text in texts {
//! #             let mut counts = [0.01f32; 26];
//! #             text.bytes().filter(u8::is_ascii_lowercase).for_each(|b| counts[(b - b'a') as usize] += 1.0);
//! #             let norm = counts.iter().map(|x| x * x).sum::<f32>().sqrt();
//! #             counts.iter_mut().for_each(|x| *x /= norm);
//! #             batch.push(&counts, &counts);
//! #         }
//! #         Ok(())
//! #     }
//! # }
//! # fn texts() -> Dataset {
//! #     let mut data = Dataset::default();
//! #     for (n, (query, text)) in [("apples", "an apple pie"), ("zebras", "zebras graze"), ("jazz", "jazz quizzes"),
//! #                                ("moons", "moon moods")].into_iter().enumerate() {
//! #         let document = Document { id: format!("d{n}"), text: text.into(), ..Document::default() };
//! #         data.corpus.push(document).unwrap();
//! #         data.queries.push(retreever_data::Query { id: format!("q{n}"), text: query.into(), ..Default::default() }).unwrap();
//! #         data.qrels.entry(Split::Train).or_default().insert(&format!("q{n}"), &format!("d{n}"), 1);
//! #     }
//! #     data
//! # }
//! # let home = tempfile::tempdir()?;
//! # let (tree_dir, index_dir) = (home.path().join("tree"), home.path().join("index"));
//! # let encoder = || CachedEncoder::new("letters", Box::new(Words), home.path().join("cache"));
//! let data: Dataset = texts(); // or retreever::open("DIR", ...)
//! let material = Material::encode(&data, &encoder(), &mut |_| ())?;
//!
//! let recipe = Recipe::laptop();
//! let config = recipe.training(30, 7); // steps, seed
//! let tree = recipe.tree(26, depth_for(data.corpus.len()));
//! let mut learner = recipe.learner(tree, 7, material.set().documents);
//! let mut state = State::new(&learner, &config);
//! train(&mut learner, material.set(), &config, &mut state, &mut |_| Control::Continue)?;
//! let training = serde_json::to_value(&config)?;
//! SavedTree { tree: learner.into_tree(), encoder: serde_json::to_value(&material.encoder)?, training }.save(&tree_dir)?;
//!
//! let retriever = Retriever::build(&index_dir, &tree_dir, encoder(), &data.corpus, &mut |_| ())?;
//! let (snapshot, asked) = (retriever.snapshot()?, retriever.route("zebra")?);
//! let query = Query::new(asked.row(0), 2);
//! let answer = snapshot.search(&query)?;
//! let best = &answer.hits[0];
//! assert_eq!(answer.hits.len(), 2);
//!
//! let why = snapshot.explain(&query, best)?; // the score is exactly the sum of what each node carried
//! let sum: f64 = why.shares.iter().map(|share| share.score).sum();
//! assert!((sum - best.score).abs() < 1e-5);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! With a real encoder and documents that nobody has asked anything yet, the first lines are these:
//!
//! ```no_run
//! # use retreever::{BadLines, CachedEncoder, MadePairs, MakeConfig, Material};
//! # use std::path::Path;
//! let encoder = CachedEncoder::open("minilm", &mut |_| ())?; // fetched once, kept in the user's cache
//! let documents = retreever::open(Path::new("my-documents"), BadLines::Stop)?; // .txt and .md files, or corpus.jsonl
//! let made = MadePairs::new(&documents.corpus, MakeConfig::default())?; // titles, sentences and keywords as queries
//! let material = Material::encode(&made.dataset, &encoder, &mut |_| ())?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! `examples/1_train.rs` to `4_explore.rs` go through the same session with more of each step. Long work takes an
//! observer (`&mut |_| ()` above) and prints nothing itself; errors say what to do next.
#![forbid(unsafe_code)]

mod cached_encoder;
mod encoder_record;
mod error;
mod material;
mod plant;
mod retriever;

pub use cached_encoder::CachedEncoder;
pub use encoder_record::EncoderRecord;
pub use error::Error;
pub use material::{Files, Material, depth_for};
pub use plant::plant;
pub use retriever::{Progress, Retriever};

pub use retreever_data::{BadLines, Dataset, Document, MadePairs, MakeConfig, PairKind, Split, open};
pub use retreever_encoder::{EmbedProgress, Encoder, EncoderError, Fingerprint, Role};
pub use retreever_index::{
    Answer, Explanation, Filter, Fusion, Guarantee, Hit, Mode, Opening, Query, Snapshot,
};
pub use retreever_model::{
    Adapter, AdapterConfig, Checkpoint, Control, End, Event, Learner, Recipe, SavedTree, State, TrainConfig,
    Tree, TreeConfig, TreeLearner, steps_within, train,
};
pub use retreever_tree::{Assignments, Depth, LeafId, Level, NodeId};
