//! Every method beside every other on one data set: the tables and figures of the paper from one call.
//!
//! The work is cut into [`Piece`]s. A finished piece is kept in the folder of the report; a comparison that is stopped
//! and started again carries on where it was. The report is written anew after each piece, so that it can be read
//! while the rest is computed.

mod frozen;
mod kept;
mod material;
mod piece;
mod recipe;
mod trained;
mod training;
mod trees;
mod trial;

pub use material::Frozen;
pub use piece::Piece;
pub use recipe::{Choice, Recipe};

use crate::baselines::Bisection;
use crate::report::{Ablation, DataFacts, FORMAT, JudgedTree, Report};
use anyhow::{Context, Result};
use kept::{Findings, Kept};
use material::Material;
use retreever_data::{BadLines, Split};
use retreever_encoder::{EmbedProgress, EmbeddingCache, Source, open};
use retreever_tree::Depth;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// What is compared, and where the report goes.
#[derive(Clone, Debug)]
pub struct CompareConfig {
    /// The data set.
    pub data: PathBuf,
    /// The frozen encoder, by name or directory.
    pub encoder: String,
    /// The judgements to report.
    pub split: Split,
    /// The folder of the report.
    pub out: PathBuf,
    /// How deep the hierarchies are.
    pub depth: Depth,
    /// The time that each model is trained for.
    pub budget: Duration,
    /// The ablations that were asked for.
    pub ablate: Vec<Ablation>,
    /// How many seeds everything random is repeated with.
    pub seeds: u64,
    /// These pieces anew, beside what is kept of others; all pieces that are not kept if there are none.
    pub only: Vec<Piece>,
}

/// What an observer of [`compare`] is told.
#[derive(Debug)]
pub enum Event<'a> {
    /// A package is being fetched.
    Fetching(retreever_fetch::Progress<'a>),
    /// Texts of this kind are being encoded.
    Encoding(&'static str, EmbedProgress),
    /// The data has no pairs to train on: only what needs no training is compared.
    NothingToTrainOn,
    /// A piece begins: its number from 1, and of how many.
    Begin(Piece, usize, usize),
    /// A piece was kept from before.
    Kept(Piece),
    /// A piece is being trained.
    Training(Piece, retreever_model::Event),
    /// A piece is finished.
    Finished(Piece, Duration),
}

/// Opens the encoder, fetched first if need be, and compares.
pub fn compare(config: &CompareConfig, observe: &mut dyn FnMut(Event<'_>)) -> Result<Report> {
    // Before anything is fetched for data that is not there.
    retreever_data::kind(&config.data)?;
    let folder = Source::parse(&config.encoder)?.pull(&mut |progress| observe(Event::Fetching(progress)))?;
    let encoder = open(&folder)?;
    compare_with(config, Frozen { encoder, cache: EmbeddingCache::default_root() }, observe)
}

/// Compares over an encoder, and writes the report after every piece.
pub fn compare_with(
    config: &CompareConfig,
    frozen: Frozen,
    observe: &mut dyn FnMut(Event<'_>),
) -> Result<Report> {
    let dataset = retreever_data::open(&config.data, BadLines::Stop)?;
    let training_pairs = dataset.pairs(&Split::Train).len();
    let material = Material::new(dataset, &config.split, frozen, observe)?;
    let kept = Kept::open(&config.out)?;
    let mut report = Report {
        format: FORMAT,
        data: DataFacts {
            name: name(config),
            documents: material.documents().len(),
            training_pairs,
            test_queries: material.queries().len(),
        },
        encoder: config.encoder.clone(),
        width: material.width(),
        machine: machine(),
        command: command(config, None),
        rows: Vec::new(),
        trees: Vec::new(),
    };
    let mut pieces = Piece::all(config.seeds, &config.ablate);
    if !config.only.is_empty() {
        // These anew; of the others, what is there stays in the report.
        let there = kept.pieces();
        pieces = config.only.clone();
        pieces.extend(there.into_iter().filter(|piece| !config.only.contains(piece)));
    }
    if config.only.is_empty() && training_pairs < 2 {
        observe(Event::NothingToTrainOn);
        pieces.retain(|piece| !matches!(piece, Piece::Trained(..)));
    }
    for (index, &piece) in pieces.iter().enumerate() {
        let made_from = made_from(&material, piece, config);
        let again = config.only.contains(&piece);
        match kept.get(piece, &made_from) {
            Some(Findings { rows, trees }) if !again => {
                observe(Event::Kept(piece));
                report.rows.extend(rows);
                report.trees.extend(trees);
                continue;
            }
            // One of another comparison.
            None if !config.only.is_empty() && !again => continue,
            _ => {}
        }
        observe(Event::Begin(piece, index + 1, pieces.len()));
        let start = Instant::now();
        let found =
            run(&material, piece, config, observe).with_context(|| format!("in the piece {piece}"))?;
        kept.put(piece, &made_from, &found)?;
        report.rows.extend(found.rows);
        report.trees.extend(found.trees);
        report.write(&config.out)?;
        observe(Event::Finished(piece, start.elapsed()));
    }
    report.write(&config.out)?;
    Ok(report)
}

fn run(
    material: &Material,
    piece: Piece,
    config: &CompareConfig,
    observe: &mut dyn FnMut(Event<'_>),
) -> Result<Findings> {
    let command = command(config, Some(piece));
    let hierarchy = |bisection, seed| {
        frozen::hierarchy(material, frozen::like_a_tree(bisection, config.depth, seed), &command)
    };
    let rows = match piece {
        Piece::Bm25 => frozen::bm25(material, &command)?,
        Piece::Encoder => frozen::encoder(material, &command),
        Piece::Approximate(search) => frozen::approximate(material, search, &command),
        Piece::KMeansTree(seed) => {
            let (documents, queries) = (material.documents(), material.queries());
            let tree = trees::two_means(material, (documents, queries), config.depth, seed);
            let name = "2-means over Encoder".to_owned();
            let tree = JudgedTree { name, variant: None, seed, judgement: tree, command: command.clone() };
            return Ok(Findings { rows: hierarchy(Bisection::KMeans, seed), trees: vec![tree] });
        }
        Piece::GmmTree(seed) => hierarchy(Bisection::Gmm, seed),
        Piece::Raptor(seed) => frozen::raptor(material, seed, &command)?,
        Piece::Trained(recipe, seed) => {
            let job = trained::Job { recipe, seed, command: &command };
            return trained::findings(material, job, config, observe);
        }
    };
    Ok(rows.into())
}

/// The command that makes a piece again, or all of it.
fn command(config: &CompareConfig, piece: Option<Piece>) -> String {
    let quoted = |text: &str| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=".contains(c);
        if text.chars().all(plain) { text.to_owned() } else { format!("'{}'", text.replace('\'', "'\\''")) }
    };
    let mut command = format!(
        "retreever compare --data {} --encoder {} --split {} --depth {} --budget {}s --out {}",
        quoted(&config.data.display().to_string()),
        quoted(&config.encoder),
        quoted(&config.split.to_string()),
        config.depth,
        config.budget.as_secs(),
        quoted(&config.out.display().to_string())
    );
    match piece {
        Some(piece) => command += &format!(" --only {piece}"),
        None => {
            command += &format!(" --seeds {}", config.seeds);
            if !config.ablate.is_empty() {
                let keys: Vec<&str> = config.ablate.iter().map(|ablation| ablation.key()).collect();
                command += &format!(" --ablate {}", keys.join(","));
            }
        }
    }
    command
}

/// A hash of all that the rows of a piece depend on.
fn made_from(material: &Material, piece: Piece, config: &CompareConfig) -> String {
    let mut hasher = DefaultHasher::new();
    material.fingerprint().hash(&mut hasher);
    (piece, config.depth, FORMAT, env!("CARGO_PKG_VERSION")).hash(&mut hasher);
    if let Piece::Trained(..) = piece {
        config.budget.hash(&mut hasher);
        for split in [Split::Train, Split::Dev] {
            material.dataset.pairs(&split).iter().for_each(|pair| pair.hash(&mut hasher));
        }
    }
    if let Piece::Raptor(_) = piece {
        // Who wrote the summaries.
        ["RETREEVER_LLM", "RETREEVER_LLM_MODEL"].map(std::env::var_os).hash(&mut hasher);
    }
    format!("{:016x}", hasher.finish())
}

fn name(config: &CompareConfig) -> String {
    let path = fs::canonicalize(&config.data).unwrap_or_else(|_| config.data.clone());
    path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
}

fn machine() -> String {
    let threads = rayon::current_num_threads();
    let cpus = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpus.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    let model = model.map_or(std::env::consts::ARCH, |(_, model)| model.trim());
    format!("{threads} threads of {model}")
}
