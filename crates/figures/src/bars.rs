//! Horizontal bars in SVG: a share for each method, grouped by what it is a share at.

use crate::markup::Escaped;
use std::fmt::Write;

/// Groups of bars on one scale from 0 to 100 %.
pub struct Bars {
    /// What the figure shows, for those who cannot see it.
    pub name: String,
    /// From top to bottom.
    pub groups: Vec<Group>,
}

/// Bars under one heading.
pub struct Group {
    /// What the bars are shares at.
    pub heading: String,
    /// From top to bottom.
    pub bars: Vec<Bar>,
}

/// One bar.
pub struct Bar {
    /// Written before it.
    pub name: String,
    /// Number of the page's colour.
    pub colour: usize,
    /// From 0 to 1.
    pub share: f64,
}

const WIDTH: f64 = 820.0;
const NAMES: f64 = 190.0;
const FULL: f64 = 540.0;
const BAR: f64 = 20.0;
const STEP: f64 = 28.0;
const HEADING: f64 = 34.0;

impl Bars {
    /// The bars as one `svg` element.
    pub fn to_svg(&self) -> String {
        let rows: usize = self.groups.iter().map(|group| group.bars.len()).sum();
        let height = self.groups.len() as f64 * HEADING + rows as f64 * STEP + 12.0;
        let mut svg = format!(
            "<svg class=\"chart\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{}\">\n",
            Escaped(&self.name)
        );
        let _ = writeln!(
            svg,
            "<line class=\"grid\" x1=\"{x}\" x2=\"{x}\" y1=\"{HEADING}\" y2=\"{:.1}\"/>\
             <text class=\"tick\" x=\"{x}\" y=\"{:.1}\" text-anchor=\"middle\">100 %</text>",
            height - 8.0,
            HEADING - 8.0,
            x = NAMES + FULL
        );
        let mut y = 0.0;
        for group in &self.groups {
            y += HEADING;
            let _ = writeln!(
                svg,
                "<text class=\"label\" x=\"0\" y=\"{:.1}\">{}</text>",
                y - 10.0,
                Escaped(&group.heading)
            );
            for bar in &group.bars {
                let length = bar.share.clamp(0.0, 1.1) * FULL;
                let _ = writeln!(
                    svg,
                    "<g style=\"--c:var(--c{})\"><text class=\"name\" x=\"{:.1}\" y=\"{:.1}\" \
                     text-anchor=\"end\">{}</text>\
                     <rect class=\"bar\" x=\"{NAMES}\" y=\"{y:.1}\" width=\"{length:.1}\" height=\"{BAR}\" rx=\"3\"/>\
                     <text class=\"value\" x=\"{:.1}\" y=\"{:.1}\">{:.1} %</text></g>",
                    bar.colour,
                    NAMES - 10.0,
                    y + 15.0,
                    Escaped(&bar.name),
                    NAMES + length + 8.0,
                    y + 15.0,
                    100.0 * bar.share
                );
                y += STEP;
            }
        }
        svg.push_str("</svg>\n");
        svg
    }
}
