//! Retrieval you can read: one learned tree as compressor, index and table of contents.
//!
//! A frozen encoder turns a text into token embeddings; one binary tree routes queries and documents alike; the probability
//! of reaching each node is the representation. A [`Retriever`] is an encoder, a tree and an index that belong together.
//! Without any training, a tree is planted in the documents. Index, search, and see why:
//!
//! ```
//! use retreever::{CachedEncoder, Dataset, Explainer, Query, Retriever};
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
//! # let (tree_dir, index_dir, trained_dir) = (home.path().join("tree"), home.path().join("index"), home.path().join("trained"));
//! # let encoder = || CachedEncoder::new("letters", Box::new(Words), home.path().join("cache"));
//! let data: Dataset = texts(); // or retreever::open("DIR", ...): a folder of .txt and .md files, a BEIR folder
//! let retriever = Retriever::build_planted(&index_dir, encoder(), &data, &mut |_| ())?;
//!
//! let (snapshot, asked) = (retriever.snapshot()?, retriever.route("zebra")?);
//! let query = Query::new(asked.row(0), 2);
//! let answer = snapshot.search(&query)?;
//! let best = &answer.hits[0];
//! assert_eq!(snapshot.document(best)?.text, "zebras graze");
//!
//! let explainer = Explainer::new(&snapshot)?;
//! println!("{}", explainer.way(query.assignment)); // where the question goes, and how likely the answer is there
//! let why = explainer.explain(&query, best)?;
//! println!("{why}"); // what question and document have in common, and an exact account of the score
//! let subjects: f64 = why.account.subjects.iter().map(|subject| subject.adds).sum();
//! assert!((why.account.average + subjects + why.account.others - best.score).abs() < 1e-5);
//! # use retreever::{Control, Material, Recipe, SavedTree, State, depth_for, train};
//! # let material = Material::encode(&data, &encoder(), &mut |_| ())?;
//! # let recipe = Recipe::laptop();
//! # let config = recipe.training(30, 7);
//! # let tree = recipe.tree(26, depth_for(data.corpus.len()));
//! # let mut learner = recipe.learner(tree, 7);
//! # let mut state = State::new(&learner, &config);
//! # train(&mut learner, material.set(), &config, &mut state, &mut |_| Control::Continue)?;
//! # let training = serde_json::to_value(&config)?;
//! # SavedTree { tree: learner.into_tree(), encoder: serde_json::to_value(&material.encoder)?, training }.save(&tree_dir)?;
//! # assert_eq!(Retriever::build(&trained_dir, &tree_dir, encoder(), &data.corpus, &mut |_| ())?.snapshot()?.len(), 4);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Pairs of queries and documents improve the tree; where there are none, they are made from the documents:
//!
//! ```no_run
//! use retreever::{BadLines, CachedEncoder, Control, MadePairs, MakeConfig, Material, Retriever};
//! use retreever::{Recipe, SavedTree, State, depth_for, train};
//! # use std::path::Path;
//!
//! let encoder = CachedEncoder::open("minilm", &mut |_| ())?; // fetched once, kept in the user's cache
//! let documents = retreever::open(Path::new("my-documents"), BadLines::Stop)?;
//! let made = MadePairs::new(&documents.corpus, MakeConfig::default())?; // titles, sentences and keywords as queries
//! let material = Material::encode(&made.dataset, &encoder, &mut |_| ())?;
//!
//! let (recipe, set) = (Recipe::laptop(), material.set());
//! let config = recipe.training(600, 7); // steps, seed
//! let mut learner = recipe.learner(recipe.tree(set.documents.width(), depth_for(set.documents.len())), 7);
//! let mut state = State::new(&learner, &config);
//! train(&mut learner, set, &config, &mut state, &mut |_| Control::Continue)?;
//! let (encoder_record, training) = (serde_json::to_value(&material.encoder)?, serde_json::to_value(&config)?);
//! SavedTree { tree: learner.into_tree(), encoder: encoder_record, training }.save(Path::new("tree"))?;
//! Retriever::build(Path::new("index"), Path::new("tree"), encoder, &documents.corpus, &mut |_| ())?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! `examples/1_train.rs` to `4_explore.rs` go through the same session with more of each step. Long work takes an
//! observer (`&mut |_| ()` above) and prints nothing itself; errors say what to do next.
#![forbid(unsafe_code)]

mod cached_encoder;
mod encoder_record;
mod error;
mod explanation;
mod material;
mod notes;
mod plant;
mod retriever;

pub use cached_encoder::CachedEncoder;
pub use encoder_record::EncoderRecord;
pub use error::Error;
pub use explanation::{Account, Common, CommonNode, Explainer, Explanation, Parting, Step, Subject, Way};
pub use material::{Files, Material, depth_for};
pub use notes::{notes, refresh_notes, write_notes};
pub use plant::plant;
pub use retriever::{Progress, Retriever};

pub use retreever_data::{BadLines, Dataset, Document, MadePairs, MakeConfig, PairKind, Split, open};
pub use retreever_encoder::{EmbedProgress, Encoder, EncoderError, Fingerprint, Role};
pub use retreever_index::{Answer, Filter, Fusion, Guarantee, Hit, Mode, Opening, Parts, Query, Snapshot};
pub use retreever_inspect::Notes;
pub use retreever_model::{
    Adapter, AdapterConfig, Checkpoint, Control, End, Event, Learner, Recipe, SavedTree, State, TrainConfig,
    Tree, TreeConfig, TreeLearner, steps_within, train,
};
pub use retreever_tree::{Assignments, Depth, LeafId, Level, NodeId, Routed, Routing};
