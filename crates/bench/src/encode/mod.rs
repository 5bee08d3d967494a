//! `retreever-bench encode`: text to embeddings beside transformers in PyTorch, from strings to pooled vectors,
//! on two threads; where there is an ONNX file of the model, also beside ONNX Runtime and `rten`.
//!
//! Rounds of ours and theirs alternate, single queries in turns of twenty; each side's best round counts for throughput,
//! the quantiles of all single queries for latency. The peer pads within batches of texts sorted by length, and its best
//! batch size counts.

mod rival;

use crate::measurement::{Measurement, Unit, times};
use anyhow::{Context, Result, ensure};
use retreever_data::get::{Named, get};
use retreever_data::{BadLines, Ragged};
use retreever_encoder::{Encoder, Options, Role, Source, TextEncoder};
use rival::{Answer, Request, Rival, onnx_file};
use std::path::{Path, PathBuf};
use std::time::Duration;

const THREADS: usize = 2;
const ROUNDS: usize = 4;
/// How many single queries one side encodes before it is the other's turn.
const TURN: usize = 20;
/// The time before our turn: the threads of a rival may go on spinning for a while after its last query, and would be
/// counted against us.
const PAUSE: Duration = Duration::from_millis(300);
/// How far an embedding may be from the peer's.
const TOLERANCE: f64 = 1e-4;

/// Which encoder.
#[derive(clap::Args)]
pub struct Args {
    /// minilm, mpnet, ORGANISATION/NAME on the hub, or a directory.
    #[arg(long, default_value = "minilm")]
    encoder: String,
    /// How many answers of InsuranceQA are encoded.
    #[arg(long, default_value_t = 2000)]
    answers: usize,
    /// A directory that has the same model in an ONNX file; without it, the encoder's own if that has one.
    #[arg(long)]
    onnx: Option<PathBuf>,
}

/// Runs all cases.
pub fn run(args: &Args) -> Result<()> {
    let dir = Source::parse(&args.encoder)?.pull(&mut |_| {})?;
    let folder = Named::InsuranceQa.folder();
    let data = if folder.exists() {
        retreever_data::open(&folder, BadLines::Stop)?
    } else {
        get(Named::InsuranceQa, &folder, &mut |_| {})?
    };
    let answers: Vec<String> =
        data.corpus.items().iter().map(|answer| answer.encoded().into_owned()).collect();
    let stride = (answers.len() / args.answers).max(1);
    let mixed: Vec<&str> = answers.iter().step_by(stride).take(args.answers).map(String::as_str).collect();
    let full: Vec<String> = answers.chunks(40).take(32).map(|some| some.join(" ")).collect();
    let full: Vec<&str> = full.iter().map(String::as_str).collect();
    let queries: Vec<&str> =
        data.queries.items().iter().step_by(41).take(400).map(|query| query.text.as_str()).collect();

    let pool = rayon::ThreadPoolBuilder::new().num_threads(THREADS).build()?;
    pool.install(|| {
        let onnx = args.onnx.clone().or_else(|| onnx_file(&dir).map(|_| dir.clone()));
        let mut rivals = Rival::all(&dir, onnx.as_deref())?;
        let longest = TextEncoder::open(&dir)?.longest();
        let mixed_name = format!("{} InsuranceQA answers", mixed.len());
        let cases = [
            Case { name: "32 x 128 tokens", texts: &full, longest: 128, batches: &[32, 16, 8] },
            Case { name: &mixed_name, texts: &mixed, longest, batches: &[32, 64, 16] },
        ];
        for case in &cases {
            rivals.iter_mut().try_for_each(|rival| throughput(&dir, case, rival))?;
        }
        rivals.iter_mut().try_for_each(|rival| latency(&dir, &queries, rival))
    })
}

/// Texts to encode all at once.
struct Case<'a> {
    name: &'a str,
    texts: &'a [&'a str],
    longest: usize,
    /// Batch sizes that a rival may choose from.
    batches: &'a [usize],
}

fn throughput(dir: &Path, case: &Case<'_>, rival: &mut Rival) -> Result<()> {
    let &Case { name, texts, longest, batches } = case;
    let encoder = TextEncoder::open_with(dir, Options { longest: Some(longest) })?;
    let mut ours = Ragged::new(encoder.width());
    let keep = texts.len().min(64);
    encoder.encode(texts, Role::Document, &mut ours)?;
    // The first round of the peer warms it up, finds its best batch size, and is what we compare with.
    let mut best = (f64::INFINITY, batches[0]);
    let mut checked = None;
    for &batch in rival.batches(batches) {
        let probe = &texts[..texts.len().min(256)];
        let answer = rival.ask(&Request { texts: probe, batch, longest, keep })?;
        if answer.seconds < best.0 {
            best = (answer.seconds, batch);
        }
        checked = Some(answer);
    }
    let error = difference(&ours, &checked.context("no batch size")?)?;
    let (mut our_time, mut their_time) = (f64::INFINITY, f64::INFINITY);
    let rounds = if texts.len() > 500 { 2 } else { ROUNDS };
    for _ in 0..rounds {
        let mut outcome = Ok(());
        let time = times(1, || outcome = encoder.encode(texts, Role::Document, &mut ours))[0];
        outcome?;
        our_time = our_time.min(time.as_secs_f64());
        their_time = their_time.min(rival.ask(&Request { texts, batch: best.1, longest, keep: 0 })?.seconds);
    }
    let tokens = ours.offsets()[ours.len()] as f64;
    Measurement::new("encode", name, rival.name(), Unit::TokensPerSecond)
        .figures(tokens / our_time, tokens / their_time)
        .checked(error < TOLERANCE)
        .with("max_error", error)
        .with("tokens", tokens)
        .with("peer_batch", best.1 as f64)
        .print();
    Ok(())
}

fn latency(dir: &Path, queries: &[&str], rival: &mut Rival) -> Result<()> {
    let encoder = TextEncoder::open(dir)?;
    let longest = encoder.longest();
    let mut ours = Ragged::new(encoder.width());
    let (mut our_times, mut their_times) = (Vec::new(), Vec::new());
    let mut error: f64 = 0.0;
    for (turn, some) in queries.chunks(TURN).enumerate() {
        // The first turn warms up both sides, and is what we compare with.
        let warm = turn > 0;
        std::thread::sleep(PAUSE);
        let mut embeddings = Vec::new();
        for query in some {
            let mut outcome = Ok(());
            let time = times(1, || outcome = encoder.encode(&[query], Role::Query, &mut ours))[0];
            outcome?;
            if warm {
                our_times.push(time);
            } else {
                embeddings.push(ours.clone());
            }
        }
        for (i, query) in some.iter().enumerate() {
            let request = Request { texts: &[query], batch: 1, longest, keep: usize::from(!warm) };
            let answer = rival.ask(&request)?;
            if warm {
                their_times.push(Duration::from_secs_f64(answer.seconds));
            } else {
                error = error.max(difference(&embeddings[i], &answer)?);
            }
        }
    }
    for (name, share) in [("p50", 0.5), ("p99", 0.99)] {
        Measurement::new("encode", format!("single query, {name}"), rival.name(), Unit::Milliseconds)
            .figures(quantile(&our_times, share) * 1e3, quantile(&their_times, share) * 1e3)
            .checked(error < TOLERANCE)
            .with("max_error", error)
            .print();
    }
    Ok(())
}

fn quantile(times: &[Duration], share: f64) -> f64 {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    sorted.get((sorted.len() as f64 * share) as usize).map_or(f64::NAN, Duration::as_secs_f64)
}

/// The largest difference between our embeddings and those the peer kept.
fn difference(ours: &Ragged, theirs: &Answer) -> Result<f64> {
    let width = ours.width();
    let mut largest: f64 = 0.0;
    let mut compare = |ours: &[f32], theirs: &[f64]| -> Result<()> {
        ensure!(ours.len() == theirs.len(), "another number of tokens than the peer");
        let worst = ours.iter().zip(theirs).map(|(&x, y)| (f64::from(x) - y).abs()).fold(0.0, f64::max);
        largest = largest.max(worst);
        Ok(())
    };
    for (i, theirs) in theirs.pooled.iter().enumerate() {
        compare(&ours.pooled()[i * width..][..width], theirs)?;
    }
    for (i, theirs) in theirs.rows.iter().enumerate() {
        compare(ours.item(i), theirs)?;
    }
    Ok(largest)
}
