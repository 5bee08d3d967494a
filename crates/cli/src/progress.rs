//! What long work looks like: bars on stderr, drawn only on a terminal.
//!
//! Each function gives an observer for one kind of work. Results never pass through here. With `--quiet` nothing but
//! errors goes to stderr.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use retreever::{EmbedProgress, Event};
use retreever_fetch::Progress;
use retreever_inspect::llm::Outcome;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

static QUIET: AtomicBool = AtomicBool::new(false);

/// From here on, says nothing and draws nothing.
pub(crate) fn be_quiet() {
    QUIET.store(true, Ordering::Relaxed);
}

/// Whether nothing is to be said.
pub(crate) fn is_quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}

/// A line of advice or progress on stderr, unless the user wants quiet.
macro_rules! say {
    ($($words:tt)*) => {
        if !$crate::progress::is_quiet() {
            eprintln!($($words)*);
        }
    };
}
pub(crate) use say;

/// For fetching: says what is fetched before it starts, then draws a bar.
pub(crate) fn fetching() -> impl FnMut(Progress<'_>) {
    let mut bar: Option<ProgressBar> = None;
    move |progress| match progress {
        Progress::Start(what) => say!("fetching {what}"),
        Progress::Downloading { bytes, of } => bar
            .get_or_insert_with(|| drawn(of, "{wide_bar} {bytes}/{total_bytes}, {eta} left"))
            .set_position(bytes),
        Progress::Finished => {
            if let Some(bar) = bar.take() {
                bar.finish_and_clear();
            }
        }
    }
}

/// For encoding: tokens a second and the time left.
pub(crate) fn encoding() -> impl FnMut(EmbedProgress) {
    let mut bar: Option<ProgressBar> = None;
    move |progress| match progress {
        EmbedProgress::Waiting => say!("waiting for another process that is encoding with this model"),
        EmbedProgress::Damaged { texts } => eprintln!(
            "warning: the cache of embeddings is damaged for {texts} texts, which are encoded again; if this comes \
             back, check the disk and start afresh with `retreever cache --clear`"
        ),
        EmbedProgress::Encoding { texts, of, tokens, permille, elapsed } => {
            let bar = bar.get_or_insert_with(|| drawn(1000, "encoding {wide_bar} {msg}, {eta} left"));
            let speed = tokens as f64 / elapsed.as_secs_f64().max(1e-3);
            bar.set_message(format!("{texts}/{of} texts, {speed:.0} tokens/s"));
            bar.set_position(permille.into());
            if texts == of {
                bar.finish_and_clear();
            }
        }
    }
}

/// For indexing: encoding, then documents.
pub(crate) fn indexing() -> impl FnMut(retreever::Progress) {
    let mut encode = encoding();
    let mut bar: Option<ProgressBar> = None;
    move |progress| match progress {
        retreever::Progress::Encoding(progress) => encode(progress),
        retreever::Progress::Indexed { done, of } => {
            let bar =
                bar.get_or_insert_with(|| drawn(of as u64, "indexing {wide_bar} {pos}/{len}, {eta} left"));
            bar.set_position(done as u64);
            if done == of {
                bar.finish_and_clear();
            }
        }
    }
}

/// For training: the loss, the scale, the last validation score, pairs a second and the time left; a line for each
/// validation.
pub(crate) fn training(steps: u64, done: u64, batch: usize) -> impl FnMut(&Event) {
    let bar = drawn(steps, "training {wide_bar} {pos}/{len} {msg}, {eta} left");
    bar.set_position(done);
    bar.reset_eta();
    let (started, mut loss_mean, mut validated) = (Instant::now(), None::<f64>, String::new());
    move |event| match event {
        Event::Step { progress, loss, scale } => {
            let mean = loss_mean.map_or(*loss, |mean| 0.95 * mean + 0.05 * loss);
            loss_mean = Some(mean);
            let pairs =
                (progress.step + 1 - done) as f64 * batch as f64 / started.elapsed().as_secs_f64().max(1e-3);
            bar.set_message(format!("loss {mean:.3}, scale {scale:.1}{validated}, {pairs:.0} pairs/s"));
            bar.set_position(progress.step + 1);
            if progress.step + 1 == steps {
                bar.finish_and_clear();
            }
        }
        Event::Validated { step, score, best } => {
            validated = format!(", nDCG@10 {score:.4}");
            let mark = if *best { " (best)" } else { "" };
            let line = format!(
                "step {step}: loss {:.3}, validation nDCG@10 {score:.4}{mark}",
                loss_mean.unwrap_or(f64::NAN)
            );
            bar.println(line);
        }
    }
}

/// For naming nodes with a language model: nodes, and the tokens spent so far.
pub(crate) fn naming(nodes: usize) -> impl FnMut(&Outcome) {
    let bar = drawn(nodes as u64, "naming {wide_bar} {pos}/{len}, {msg}, {eta} left");
    move |outcome| {
        let done = outcome.asked + outcome.kept + outcome.left;
        bar.set_message(format!("{} calls, {} tokens", outcome.asked, outcome.tokens));
        bar.set_position(done as u64);
        if done == nodes {
            bar.finish_and_clear();
        }
    }
}

fn drawn(of: u64, template: &str) -> ProgressBar {
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    let target = if is_quiet() { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
    ProgressBar::with_draw_target(Some(of), target).with_style(style)
}
