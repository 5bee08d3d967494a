//! The bar that is drawn while a package is fetched: on stderr, and only on a terminal.

use indicatif::{ProgressBar, ProgressStyle};
use retreever_fetch::Progress;

/// An observer for [`retreever_fetch::fetch`]: says what is fetched before it starts, then draws a bar.
pub(crate) fn bar() -> impl FnMut(Progress<'_>) {
    let mut bar: Option<ProgressBar> = None;
    move |progress| match progress {
        Progress::Start(package) => eprintln!("fetching {package}"),
        Progress::Downloading { bytes, of } => bar.get_or_insert_with(|| drawn(of)).set_position(bytes),
        Progress::Finished(_) => {
            if let Some(bar) = bar.take() {
                bar.finish_and_clear();
            }
        }
    }
}

fn drawn(bytes: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("{wide_bar} {bytes}/{total_bytes}, {eta} left");
    ProgressBar::new(bytes).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}
