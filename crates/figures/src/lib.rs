//! Figures in SVG, and the page that holds them.
//!
//! [`Chart`] draws lines, [`Bars`] shares, [`Pairs`] two numbers of each thing beside each other; a [`Page`] is one
//! HTML file without scripts or anything fetched, in light and dark, on a narrow screen and on paper. Text from
//! elsewhere goes through [`Escaped`]. Which numbers are worth drawing is left to others.
#![forbid(unsafe_code)]

mod bars;
mod chart;
mod markup;
mod page;
mod pairs;
mod scale;

pub use bars::{Bar, Bars, Group};
pub use chart::{Axis, Chart, Look, Marker, Series, Stroke};
pub use markup::{Escaped, grouped, milliseconds};
pub use page::{Page, standalone};
pub use pairs::{Pair, Pairs};
pub use scale::Spread;
