//! `retreever-bench search`: nearest assignments beside FAISS (IndexFlat, HNSW and IVFFlat with METRIC_L1), on the
//! same vectors, one and two threads, single queries and batches of 64.
//!
//! Documents are the rows of `--assignments` (those of a trained tree), or made-up ones: clusters in a space of 64
//! dimensions, routed by random splits whose weights grow by 1.3 a level, times `--sharpness`. Either way the set
//! is enlarged to `--documents` by mixing: a row `i` and another row `j` give `(1 - a) i + a j`, with `a` between 0.05
//! and 0.35. Every exact answer is compared with FAISS's: at each rank the distances agree to 1e-5, so documents differ
//! only where rounding cannot tell them apart.

use crate::measurement::{Measurement, Unit, median, times};
use crate::peer;
use anyhow::{Context, Result, ensure};
use rayon::prelude::*;
use retreever_index::Shape;
use retreever_index::search::rows::{RowHit, approximate, exact};
use retreever_index::segment::{Durability, Input, Segment, build};
use retreever_tree::{Assignment, Assignments, Depth, Level, Nesting};
use serde::Deserialize;
use serde_json::{Value, json};
use std::fs::{self, File};
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Instant;

const SCRIPT: &str = include_str!("search.py");
const K: usize = 10;
const BATCH: usize = 64;
/// Documents made, written and indexed in one go.
const PART: usize = 100_000;
/// Documents that approximate modes may score before they count as failed.
const EFFORTS: [usize; 7] = [100, 200, 500, 1000, 2000, 5000, 10_000];
/// What an approximate mode must find of the exact answer.
const RECALL: f64 = 0.99;

/// What is searched.
#[derive(clap::Args)]
pub struct Args {
    /// How many documents.
    #[arg(long, default_value_t = 100_000)]
    documents: usize,
    /// Assignments of real documents, a .npy file of 2^depth columns.
    #[arg(long, requires = "query_assignments")]
    assignments: Option<PathBuf>,
    /// Assignments of real queries, a .npy file alike; at least 64.
    #[arg(long)]
    query_assignments: Option<PathBuf>,
    /// The factor on the logits of made-up splits: 0.15 is diffuse, 2 is sharp.
    #[arg(long, default_value_t = 0.15)]
    sharpness: f32,
    /// Also measure HNSW and IVFFlat, whose building takes minutes.
    #[arg(long)]
    graphs: bool,
}

/// Runs all cases.
pub fn run(args: &Args) -> Result<()> {
    let dir = tempfile::Builder::new().prefix("search-").tempdir_in(cache()?)?;
    let (base, queries) = items(args)?;
    let corpus = Corpus::make(dir.path(), &base, &queries, args.documents)?;
    let mut peer = Peer::start(&corpus)?;
    let flat = peer.build("flat")?;
    let (truth, agreed) = exact_cases(&corpus, &queries, &mut peer)?;
    build_case(&corpus, "faiss IndexFlat L1", flat.seconds, agreed);
    memory_case(&corpus, flat.bytes, agreed);
    let quick = approximate_cases(&corpus, &queries, &truth, &mut peer)?;
    if args.graphs {
        for (kind, name) in [("hnsw", "faiss HNSW32 L1"), ("ivf", "faiss IVFFlat L1")] {
            let built = peer.build(kind)?;
            build_case(&corpus, name, built.seconds, agreed);
            graph_case(&corpus, (kind, name, built.bytes), &truth, quick, &mut peer)?;
        }
    }
    Ok(())
}

fn cache() -> Result<PathBuf> {
    let dir = retreever_fetch::cache_dir();
    fs::create_dir_all(&dir).with_context(|| format!("cannot create {}", dir.display()))?;
    Ok(dir)
}

/// The rows that documents are mixed from, and the queries.
fn items(args: &Args) -> Result<(Assignments, Assignments)> {
    let (documents, queries) = match (&args.assignments, &args.query_assignments) {
        (Some(documents), Some(queries)) => (read(documents)?, read(queries)?),
        _ => made_up(args.sharpness),
    };
    ensure!(queries.len() >= BATCH, "at least {BATCH} queries are needed");
    ensure!(documents.depth() == queries.depth(), "documents and queries of different trees");
    Ok((documents, queries))
}

fn read(path: &Path) -> Result<Assignments> {
    let table = retreever_data::embeddings::open(path)?;
    let rows = table.all_pooled().into_owned();
    let width = rows.len() / table.rows().max(1);
    let depth =
        u8::try_from(width.ilog2()).ok().and_then(Depth::new).context("no tree has that many leaves")?;
    Ok(Assignments::nested(depth, rows)?)
}

/// 20,000 documents and 64 queries of a random tree of depth 10.
fn made_up(sharpness: f32) -> (Assignments, Assignments) {
    const SPACE: usize = 64;
    let depth = Depth::new(10).expect("a depth");
    let mut random = fastrand::Rng::with_seed(1);
    let mut normal = move || (0..6).map(|_| random.f32()).sum::<f32>() * std::f32::consts::SQRT_2 - 4.2426;
    let weights: Vec<f32> = (0..depth.splits() * SPACE).map(|_| normal()).collect();
    let centres: Vec<f32> = (0..100 * SPACE).map(|_| normal()).collect();
    let mut draw = |count: usize| {
        let points: Vec<f32> = (0..count)
            .flat_map(|i| (0..SPACE).map(move |j| (i * 37 % 100) * SPACE + j))
            .map(|at| centres[at] + normal())
            .collect();
        let rows: Vec<f32> =
            points.par_chunks(SPACE).flat_map_iter(|x| routed(x, &weights, depth, sharpness)).collect();
        Assignments::nested(depth, rows).expect("probabilities")
    };
    let documents = draw(20_000);
    (documents, draw(BATCH))
}

fn routed(x: &[f32], weights: &[f32], depth: Depth, sharpness: f32) -> Vec<f32> {
    let mut level = vec![1.0f32];
    let mut strength = sharpness;
    for l in depth.levels() {
        let first = level.len() - 1;
        level = level
            .iter()
            .enumerate()
            .flat_map(|(rank, p)| {
                let w = &weights[(first + rank) * x.len()..][..x.len()];
                let logit: f32 = x.iter().zip(w).map(|(x, w)| x * w).sum();
                let left = 1.0 / (1.0 + (-logit * strength).exp());
                [p * left, p * (1.0 - left)]
            })
            .collect();
        debug_assert_eq!(level.len(), l.width());
        strength *= 1.3;
    }
    level
}

/// The documents: raw for the peer, segments for us.
struct Corpus {
    documents: PathBuf,
    queries: PathBuf,
    segments: Vec<Segment>,
    count: usize,
    depth: Depth,
    build_seconds: f64,
    open_seconds: f64,
}

impl Corpus {
    fn make(dir: &Path, base: &Assignments, queries: &Assignments, count: usize) -> Result<Self> {
        let depth = base.depth();
        let shape = Shape { depth, nesting: Nesting::Nested };
        let (documents, asked) = (dir.join("documents.f32"), dir.join("queries.f32"));
        write(&mut File::create(&asked)?, queries.as_slice())?;
        let mut raw = BufWriter::new(File::create(&documents)?);
        let (mut build_seconds, mut open_seconds) = (0.0, 0.0);
        let mut segments = Vec::new();
        for from in (0..count).step_by(PART) {
            let to = (from + PART).min(count);
            let rows: Vec<f32> = (from..to).into_par_iter().flat_map_iter(|item| mixed(base, item)).collect();
            write(&mut raw, &rows)?;
            let sequence: Vec<u64> = (from as u64..to as u64).collect();
            let path = dir.join(format!("{from}.segment"));
            let start = Instant::now();
            build(&path, Input { shape, rows: &rows, sequence: &sequence }, Durability::Written)?;
            build_seconds += start.elapsed().as_secs_f64();
            let start = Instant::now();
            segments.push(Segment::open(&path)?);
            open_seconds += start.elapsed().as_secs_f64();
            eprintln!("{to} documents");
        }
        raw.flush()?;
        Ok(Self { documents, queries: asked, segments, count, depth, build_seconds, open_seconds })
    }

    fn segments(&self) -> Vec<&Segment> {
        self.segments.iter().collect()
    }

    fn level(&self) -> Level {
        self.depth.leaf_level()
    }

    fn case(&self, what: &str) -> String {
        format!("{} documents, {what}", self.count)
    }
}

fn write(out: &mut impl Write, rows: &[f32]) -> Result<()> {
    for part in rows.chunks(1 << 16) {
        let bytes: Vec<u8> = part.iter().flat_map(|p| p.to_le_bytes()).collect();
        out.write_all(&bytes)?;
    }
    Ok(())
}

/// Document `item`: one of the rows while they last, then mixtures of two.
fn mixed(base: &Assignments, item: usize) -> Vec<f32> {
    let row = base.row(item % base.len()).as_slice();
    if item < base.len() {
        return row.to_vec();
    }
    let mut random = fastrand::Rng::with_seed(item as u64);
    let other = base.row(random.usize(0..base.len())).as_slice();
    let share = 0.05 + 0.3 * random.f32();
    row.iter().zip(other).map(|(p, q)| (1.0 - share) * p + share * q).collect()
}

/// `agreed`: whether what was built has answered as the peer did, in this run.
fn build_case(corpus: &Corpus, peer: &str, theirs: f64, agreed: bool) {
    Measurement::new("search", corpus.case("build"), peer, Unit::Milliseconds)
        .figures(corpus.build_seconds * 1e3, theirs * 1e3)
        .checked(agreed)
        .with("documents_per_second", corpus.count as f64 / corpus.build_seconds)
        .with("open_ms", corpus.open_seconds * 1e3)
        .print();
}

/// The exact cases; returns the ids that FAISS found, and whether every answer of ours agreed.
fn exact_cases(corpus: &Corpus, queries: &Assignments, peer: &mut Peer) -> Result<(Vec<Vec<u64>>, bool)> {
    let (segments, rows): (Vec<&Segment>, Vec<Assignment<'_>>) =
        (corpus.segments(), queries.iter().collect());
    let (mut truth, mut agreed) = (Vec::new(), true);
    for threads in [1, 2] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
        for (batch, count) in [(1, 16), (BATCH, BATCH)] {
            // The first round warms both sides up.
            let mut ours = Vec::new();
            let mut outcome = Ok(Vec::new());
            let mut best = (f64::INFINITY, f64::INFINITY, peer.search("flat", (threads, 1), 1, 0)?);
            pool.install(|| exact(&segments, &rows[..1], corpus.level(), K))?;
            // A batch of the peer takes a minute at a million documents: once must do.
            let rounds = if corpus.count > 200_000 { 1 } else { 2 };
            for _ in 0..rounds {
                let mut each = Vec::new();
                ours.clear();
                for part in rows[..count].chunks(batch) {
                    each.extend(times(1, || {
                        outcome = pool.install(|| exact(&segments, part, corpus.level(), K));
                    }));
                    ours.extend(std::mem::replace(&mut outcome, Ok(Vec::new()))?);
                }
                best.0 = best.0.min(median(&each) / batch as f64);
                best.2 = peer.search("flat", (threads, batch), count, 0)?;
                best.1 = best.1.min(best.2.seconds);
            }
            let fits = same(&ours, &best.2);
            agreed &= fits;
            let case = if batch == 1 { "single" } else { "batch of 64" };
            Measurement::new(
                "search",
                corpus.case(&format!("{case}, exact, {threads} threads")),
                "faiss IndexFlat L1",
                Unit::Milliseconds,
            )
            .figures(best.0 * 1e3, best.1 * 1e3)
            .checked(fits)
            .print();
            if best.2.ids.len() > truth.len() {
                truth = best.2.ids;
            }
        }
    }
    Ok((truth, agreed))
}

/// Whether the distances agree at every rank.
fn same(ours: &[Vec<RowHit>], theirs: &Found) -> bool {
    ours.len() == theirs.distances.len()
        && ours.iter().zip(&theirs.distances).all(|(ours, theirs)| {
            ours.len() == theirs.len()
                && ours
                    .iter()
                    .zip(theirs)
                    .all(|(hit, distance)| (2.0 * (1.0 - hit.score) - distance).abs() < 1e-5)
        })
}

/// What is in memory after the searches, by the system's account of the mapped files.
fn memory_case(corpus: &Corpus, theirs: f64, agreed: bool) {
    let Ok(maps) = fs::read_to_string("/proc/self/smaps") else { return };
    let mut inside = false;
    let mut resident = 0.0;
    for line in maps.lines() {
        if line.contains(".segment") {
            inside = true;
        } else if let Some(rest) = line.strip_prefix("Rss:").filter(|_| inside) {
            resident += rest.trim().trim_end_matches(" kB").parse::<f64>().unwrap_or(0.0) * 1024.0;
            inside = false;
        }
    }
    let count = corpus.count as f64;
    let case = Measurement::new(
        "search",
        corpus.case("resident bytes a document"),
        "faiss IndexFlat L1",
        Unit::Bytes,
    );
    let disk: u64 = corpus.segments.iter().filter_map(|s| fs::metadata(s.path()).ok()).map(|m| m.len()).sum();
    case.figures(resident / count, theirs / count)
        .checked(agreed)
        .with("disk_bytes_a_document", disk as f64 / count)
        .print();
}

fn recall(found: impl Iterator<Item = Vec<u64>>, truth: &[Vec<u64>]) -> f64 {
    let mut hits = (0, 0);
    for (found, truth) in found.zip(truth) {
        hits.0 += found.iter().filter(|id| truth.contains(id)).count();
        hits.1 += truth.len();
    }
    f64::from(hits.0 as u32) / f64::from(hits.1 as u32)
}

/// The cheapest effort with enough recall; returns its time with one thread.
fn approximate_cases(
    corpus: &Corpus,
    queries: &Assignments,
    truth: &[Vec<u64>],
    peer: &mut Peer,
) -> Result<f64> {
    let segments = corpus.segments();
    let mut quick = f64::NAN;
    for threads in [1, 2] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
        for rerank in EFFORTS {
            let mut found = Vec::new();
            let mut each = Vec::new();
            for query in queries.iter().take(BATCH) {
                let mut outcome = Ok(Vec::new());
                each.extend(times(1, || {
                    outcome = pool.install(|| approximate(&segments, query, corpus.level(), (rerank, K)));
                }));
                found.push(outcome?.iter().map(|hit| hit.sequence).collect::<Vec<u64>>());
            }
            let recall = recall(found.into_iter(), truth);
            if recall >= RECALL {
                let theirs = peer.search("flat", (threads, 1), 8, 0)?;
                let ours = median(&each);
                if threads == 1 {
                    quick = ours;
                }
                Measurement::new(
                    "search",
                    corpus.case(&format!("single, approximate, {threads} threads")),
                    "faiss IndexFlat L1",
                    Unit::Milliseconds,
                )
                .figures(ours * 1e3, theirs.seconds * 1e3)
                .checked(true)
                .with("recall", recall)
                .with("rerank", rerank as f64)
                .print();
                break;
            }
        }
    }
    Ok(quick)
}

/// A graph or inverted lists of the peer at enough recall, beside our approximate mode.
fn graph_case(
    corpus: &Corpus,
    (kind, name, bytes): (&str, &str, f64),
    truth: &[Vec<u64>],
    quick: f64,
    peer: &mut Peer,
) -> Result<()> {
    for effort in [8, 16, 32, 64, 128, 256, 512, 1024] {
        let found = peer.search(kind, (1, 1), BATCH, effort)?;
        let recall = recall(found.ids.iter().cloned(), truth);
        if recall >= RECALL || effort == 1024 {
            Measurement::new(
                "search",
                corpus.case("single, approximate, 1 threads"),
                name,
                Unit::Milliseconds,
            )
            .figures(quick * 1e3, found.seconds * 1e3)
            .checked(recall >= RECALL)
            .with("their_recall", recall)
            .with("their_effort", effort as f64)
            .with("their_bytes_a_document", bytes / corpus.count as f64)
            .print();
            break;
        }
    }
    Ok(())
}

#[derive(Deserialize)]
struct Built {
    seconds: f64,
    bytes: f64,
}

#[derive(Deserialize)]
struct Found {
    seconds: f64,
    ids: Vec<Vec<u64>>,
    distances: Vec<Vec<f64>>,
}

/// A Python process that answers requests line by line.
struct Peer {
    child: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Peer {
    fn start(corpus: &Corpus) -> Result<Self> {
        let mut command = Command::new(peer::python(&[("faiss-cpu", "faiss"), ("numpy", "numpy")])?);
        command
            .arg("-c")
            .arg(SCRIPT)
            .arg(&corpus.documents)
            .arg(&corpus.queries)
            .arg(corpus.depth.leaves().to_string());
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().context("cannot start the Python peer")?;
        let requests = child.stdin.take().context("the peer has no input")?;
        let answers = BufReader::new(child.stdout.take().context("the peer has no output")?);
        Ok(Self { child, requests, answers })
    }

    fn build(&mut self, kind: &str) -> Result<Built> {
        self.ask(&json!({"build": {"kind": kind, "threads": 2}}))
    }

    fn search(
        &mut self,
        kind: &str,
        (threads, batch): (usize, usize),
        count: usize,
        effort: usize,
    ) -> Result<Found> {
        self.ask(&json!({"search": {
            "kind": kind, "threads": threads, "batch": batch, "count": count, "effort": effort, "k": K,
        }}))
    }

    fn ask<T: for<'a> Deserialize<'a>>(&mut self, request: &Value) -> Result<T> {
        writeln!(self.requests, "{request}").context("the peer has ended")?;
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        serde_json::from_str(&line).with_context(|| format!("the peer answered {line:?}"))
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
