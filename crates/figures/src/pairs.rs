//! Two numbers of each thing on one line, joined: what is asked beside what is held, before beside after.

use crate::markup::Escaped;
use crate::scale::{Scale, Spread, label};
use std::fmt::Write;

/// Rows of two numbers on one scale.
pub struct Pairs {
    /// What the figure shows, for those who cannot see it.
    pub name: String,
    /// What the first and the second number are.
    pub sides: [&'static str; 2],
    /// Written after each number.
    pub unit: &'static str,
    /// From top to bottom.
    pub rows: Vec<Pair>,
}

/// One row.
pub struct Pair {
    /// What the numbers are of.
    pub name: String,
    /// The first number, drawn as a ring.
    pub first: f64,
    /// The second number, drawn as a disc in the colour of the direction.
    pub second: f64,
}

const WIDTH: f64 = 820.0;
const NAMES: f64 = 300.0;
const RIGHT: f64 = 88.0;
const STEP: f64 = 30.0;
const TOP: f64 = 58.0;
/// Characters of a name that fit.
const FIT: usize = 44;
/// Colours of a rise and a fall from the first number to the second.
const RISE: usize = 0;
const FALL: usize = 1;

impl Pairs {
    /// The rows as one `svg` element.
    pub fn to_svg(&self) -> String {
        let height = TOP + self.rows.len() as f64 * STEP + 8.0;
        let values = self.rows.iter().flat_map(|row| [row.first, row.second]);
        let scale = Scale::around(Spread::Linear, values);
        let place = |value: f64| NAMES + scale.place(value) * (WIDTH - NAMES - RIGHT);
        let mut svg = format!(
            "<svg class=\"chart\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{}\">\n",
            Escaped(&self.name)
        );
        self.draw_key(&mut svg);
        for tick in scale.ticks() {
            let x = place(tick);
            let _ = writeln!(
                svg,
                "<line class=\"grid\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{:.1}\" y2=\"{:.1}\"/>\
                 <text class=\"tick\" x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}{}</text>",
                TOP - 8.0,
                height - 4.0,
                TOP - 15.0,
                label(tick),
                self.unit
            );
        }
        for (at, row) in self.rows.iter().enumerate() {
            let y = TOP + (at as f64 + 0.5) * STEP;
            let (a, b) = (place(row.first), place(row.second));
            let colour = if row.second >= row.first { RISE } else { FALL };
            let (first, second) = (number(row.first), number(row.second));
            let said = format!(
                "{}: {} {first}{unit}, {} {second}{unit}",
                row.name,
                self.sides[0],
                self.sides[1],
                unit = self.unit
            );
            let _ = writeln!(
                svg,
                "<g style=\"--c:var(--c{colour})\"><title>{}</title>\
                 <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>\
                 <line class=\"join\" x1=\"{a:.1}\" x2=\"{b:.1}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>\
                 <circle class=\"mark open\" cx=\"{a:.1}\" cy=\"{y:.1}\" r=\"5\"/>\
                 <circle class=\"mark\" cx=\"{b:.1}\" cy=\"{y:.1}\" r=\"6\"/>\
                 <text class=\"value\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{:+.2}</text></g>",
                Escaped(&said),
                NAMES - 16.0,
                y + 4.5,
                Escaped(&clipped(&row.name)),
                WIDTH - 6.0,
                y + 4.5,
                row.second - row.first
            );
        }
        svg.push_str("</svg>\n");
        svg
    }

    fn draw_key(&self, svg: &mut String) {
        let [first, second] = self.sides;
        let _ = writeln!(
            svg,
            "<g style=\"--c:var(--soft)\"><circle class=\"mark open\" cx=\"{:.1}\" cy=\"14\" r=\"5\"/>\
             <text class=\"tick\" x=\"{:.1}\" y=\"18.5\">{}</text>\
             <circle class=\"mark\" cx=\"{:.1}\" cy=\"14\" r=\"6\"/><text class=\"tick\" x=\"{:.1}\" y=\"18.5\">{}</text>\
             <text class=\"tick\" x=\"{:.1}\" y=\"18.5\" text-anchor=\"end\">difference</text></g>",
            NAMES + 5.0,
            NAMES + 16.0,
            Escaped(first),
            NAMES + 185.0,
            NAMES + 197.0,
            Escaped(second),
            WIDTH - 6.0
        );
    }
}

fn number(value: f64) -> String {
    format!("{value:.2}")
}

fn clipped(name: &str) -> String {
    match name.char_indices().nth(FIT) {
        Some((cut, _)) => format!("{}…", name[..cut].trim_end()),
        None => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_says_both_numbers_and_the_difference() {
        let row = Pair { name: "<b>flood".to_owned(), first: 1.0, second: 3.5 };
        let pairs = Pairs { name: "gaps".into(), sides: ["held", "asked"], unit: " %", rows: vec![row] };
        let svg = pairs.to_svg();
        assert!(svg.contains("+2.50") && svg.contains("held 1.00 %, asked 3.50 %"), "{svg}");
        assert!(!svg.contains("<b>") && !svg.contains("NaN"));
        let none = Pairs { name: String::new(), sides: ["a", "b"], unit: "", rows: Vec::new() };
        assert!(!none.to_svg().contains("NaN"));
    }

    #[test]
    fn long_names_are_cut_between_characters() {
        assert_eq!(clipped("short"), "short");
        assert_eq!(clipped(&"ä".repeat(60)).chars().count(), FIT + 1);
    }
}
