//! What long work looks like: bars on stderr, drawn only on a terminal.
//!
//! Each function gives an observer for one kind of work. Results never pass through here.

use indicatif::{ProgressBar, ProgressStyle};
use retreever_encoder::EmbedProgress;
use retreever_fetch::Progress;

/// For fetching: says what is fetched before it starts, then draws a bar.
pub(crate) fn fetching() -> impl FnMut(Progress<'_>) {
    let mut bar: Option<ProgressBar> = None;
    move |progress| match progress {
        Progress::Start(what) => eprintln!("fetching {what}"),
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
        EmbedProgress::Waiting => eprintln!("waiting for another process that is encoding with this model"),
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

fn drawn(of: u64, template: &str) -> ProgressBar {
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(of).with_style(style)
}
