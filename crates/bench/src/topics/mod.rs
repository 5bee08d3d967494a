//! `retreever-bench topics`: the nodes of one level as topics beside BERTopic, on the same documents and embeddings.
//!
//! Both sides count the same words, and the same function judges the top words of both: coherence, diversity, and the share
//! of documents in a topic ([`retreever_inspect::topics`]). BERTopic is as it comes, but for the counting of words. Ours is
//! timed from embeddings to words: planting a tree unless one is given, placing the documents, counting and choosing words;
//! BERTopic from embeddings to words as well, after a fit on a thousand documents that does not count.
//!
//! A planted tree is not calibrated: it sees nothing but the embeddings, as BERTopic does. The line is `checked` if our
//! c-TF-IDF of BERTopic's topics gives BERTopic's own words.

use crate::measurement::{Measurement, Unit};
use crate::named;
use crate::peer;
use anyhow::{Context, Result, ensure};
use retreever::{CachedEncoder, Recipe, Retriever, Role, SavedTree, Tree, depth_for};
use retreever_data::{Embeddings, Ragged};
use retreever_inspect::Places;
use retreever_inspect::topics::{Groups, Quality, Vocabulary, WordId, c_tf_idf, quality, top_words};
use serde::Deserialize;
use serde_json::json;
use std::collections::HashSet;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

const SCRIPT: &str = include_str!("peer.py");
/// The share of BERTopic's words that our c-TF-IDF must find: equal weights are ordered otherwise.
const SAME: f64 = 0.95;

/// Which documents, and which tree.
#[derive(clap::Args)]
pub struct Args {
    /// The texts: a BEIR folder, or insuranceqa or squadshifts, fetched by name.
    #[arg(long, default_value = "insuranceqa")]
    data: PathBuf,
    /// Embeddings of the documents in the order of the data, .npy or .safetensors; without them, the encoder makes them.
    #[arg(long)]
    embeddings: Option<PathBuf>,
    /// The encoder, unless the tree has one: minilm, mpnet, ORGANISATION/NAME on the hub, or a directory.
    #[arg(long, default_value = "minilm")]
    encoder: String,
    /// A tree that `retreever train` made; without it, one is planted in the embeddings.
    #[arg(long)]
    tree: Option<PathBuf>,
    /// The level whose nodes are topics.
    #[arg(long, default_value_t = 6)]
    level: u8,
    /// How many topics BERTopic merges its own into; without it, as many as it finds.
    #[arg(long)]
    peer_topics: Option<usize>,
    /// The seed of a planted tree.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// Prints one line.
pub fn run(args: &Args) -> Result<()> {
    let dataset = named::dataset(&args.data)?;
    let texts: Vec<_> = dataset.corpus.items().iter().map(|document| document.encoded()).collect();
    let texts: Vec<&str> = texts.iter().map(AsRef::as_ref).collect();
    let embeddings = embeddings(args, &texts)?;
    let (documents, rows) = (texts.len(), embeddings.len());
    ensure!(documents > 0, "there are no documents in {}", args.data.display());
    ensure!(documents == rows, "{rows} embeddings for {documents} documents: give one for each");

    let ours = Ours::new(args, &*embeddings, &texts)?;
    let vocabulary = &ours.vocabulary;
    let theirs = Theirs::ask(&*embeddings, vocabulary, args.peer_topics)?;
    let groups = theirs.groups();
    let words = theirs.words(vocabulary);
    let (same, peer) = (theirs.same_words(vocabulary), quality(vocabulary, &groups, &words));

    let tree = if args.tree.is_some() { "a trained tree" } else { "a planted tree" };
    let case = format!("{}, {} nodes of {tree}", args.data.display(), ours.groups.sizes().len());
    let line = Measurement::new("topics", case, format!("bertopic {}", theirs.version), Unit::Milliseconds)
        .figures(1000.0 * ours.seconds, 1000.0 * theirs.seconds)
        .checked(same >= SAME)
        .with("documents", documents as f64);
    let line = with(line, "", quality(vocabulary, &ours.groups, &ours.words));
    let line =
        with(line, "c_tf_idf_", quality(vocabulary, &ours.groups, &c_tf_idf(vocabulary, &ours.groups)));
    let line = with(line, "peer_", peer);
    let line = with(line, "peer_our_words_", quality(vocabulary, &groups, &top_words(vocabulary, &groups)));
    line.with("peer_same_words", same).print();
    Ok(())
}

fn with(line: Measurement, whose: &str, quality: Quality) -> Measurement {
    line.with(&format!("{whose}topics"), quality.topics as f64)
        .with(&format!("{whose}coherence"), quality.coherence)
        .with(&format!("{whose}diversity"), quality.diversity)
        .with(&format!("{whose}covered"), quality.covered)
}

fn embeddings(args: &Args, texts: &[&str]) -> Result<Box<dyn Embeddings>> {
    if let Some(path) = &args.embeddings {
        return Ok(Box::new(retreever_data::embeddings::open(path)?));
    }
    let encoder = match &args.tree {
        Some(tree) => Retriever::encoder_of(tree, &mut |_| ())?,
        None => CachedEncoder::open(&args.encoder, &mut |_| ())?,
    };
    Ok(Box::new(encoder.embed(texts, Role::Document, &mut |_| ())?))
}

/// The nodes of a level as topics.
struct Ours {
    vocabulary: Vocabulary,
    groups: Groups,
    words: Vec<Vec<WordId>>,
    seconds: f64,
}

impl Ours {
    fn new(args: &Args, embeddings: &dyn Embeddings, texts: &[&str]) -> Result<Self> {
        let saved = args.tree.as_ref().map(|tree| SavedTree::open(tree)).transpose()?;
        let start = Instant::now();
        let tree = match saved {
            Some(saved) => saved.tree,
            None => {
                let config = Recipe::untrained().tree(embeddings.width(), depth_for(embeddings.len()));
                let mut tree = Tree::new(config, args.seed);
                tree.plant(embeddings, args.seed);
                tree
            }
        };
        ensure!(tree.config().width == embeddings.width(), "the tree reads embeddings of another width");
        let places = Places::routed(&tree.assign(embeddings, |_| ()), &tree.routing());
        let level = places.depth().level(args.level).context("the tree is not that deep")?;
        let groups = Groups::of_level(&places, level);
        let vocabulary = Vocabulary::new(texts);
        let words = top_words(&vocabulary, &groups);
        Ok(Self { vocabulary, groups, words, seconds: start.elapsed().as_secs_f64() })
    }
}

/// What BERTopic found.
#[derive(Deserialize)]
struct Theirs {
    seconds: f64,
    /// The topic of each document; -1 for none.
    topics: Vec<i64>,
    /// The words of each topic, best first.
    words: Vec<Vec<String>>,
    version: String,
}

impl Theirs {
    /// Embeddings and words go through files, words joined by spaces.
    fn ask(embeddings: &dyn Embeddings, vocabulary: &Vocabulary, count: Option<usize>) -> Result<Self> {
        let home = retreever_fetch::cache_dir();
        fs::create_dir_all(&home).with_context(|| format!("cannot create {}", home.display()))?;
        let dir = tempfile::Builder::new().prefix("topics-").tempdir_in(home)?;
        let (rows, words) = (dir.path().join("embeddings.npy"), dir.path().join("words.json"));
        let mut pooled = Ragged::new(embeddings.width());
        (0..embeddings.len()).for_each(|item| embeddings.append_pooled(item, &mut pooled));
        retreever_data::embeddings::save(&rows, &pooled)?;
        let joined: Vec<String> = (0..vocabulary.documents()).map(|item| joined(vocabulary, item)).collect();
        fs::write(&words, serde_json::to_vec(&joined)?)?;
        let mut command = Command::new(peer::python(&[("bertopic", "bertopic")])?);
        command.arg("-c").arg(SCRIPT);
        let theirs: Self = peer::Peer::start(&mut command)?
            .ask(&json!({ "fit": { "embeddings": rows, "documents": words, "count": count } }))?;
        let (expected, received) = (vocabulary.documents(), theirs.topics.len());
        ensure!(expected == received, "BERTopic placed {received} of {expected} documents");
        Ok(theirs)
    }

    /// Its topics; a document without one is in no group.
    fn groups(&self) -> Groups {
        Groups::new(self.topics.iter().map(|topic| u32::try_from(*topic).ok()).collect())
    }

    fn words(&self, vocabulary: &Vocabulary) -> Vec<Vec<WordId>> {
        let known = |words: &Vec<String>| words.iter().filter_map(|word| vocabulary.id(word)).collect();
        self.words.iter().map(known).collect()
    }

    /// The share of its words that our c-TF-IDF finds too. BERTopic counts the documents without a topic as one more.
    fn same_words(&self, vocabulary: &Vocabulary) -> f64 {
        let last = self.words.len() as u32;
        let groups = self.topics.iter().map(|topic| Some(u32::try_from(*topic).unwrap_or(last)));
        let ours = c_tf_idf(vocabulary, &Groups::new(groups.collect()));
        let (mut same, mut all) = (0, 0);
        for (theirs, ours) in self.words(vocabulary).iter().zip(&ours) {
            let ours: HashSet<&WordId> = ours.iter().collect();
            same += theirs.iter().filter(|word| ours.contains(word)).count();
            all += theirs.len();
        }
        same as f64 / all.max(1) as f64
    }
}

/// The words of a document, each as often as it has it.
fn joined(vocabulary: &Vocabulary, document: usize) -> String {
    let words = vocabulary.of_document(document).iter();
    let words = words.flat_map(|(word, count)| (0..*count).map(|_| vocabulary.text(*word)));
    words.collect::<Vec<_>>().join(" ")
}
