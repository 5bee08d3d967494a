//! A line chart in SVG: axes with ticks, lines with markers, and each line's name at its end.
//!
//! Colours are the page's variables (`--c0` ...), so that a chart follows light and dark. Lines differ in colour,
//! marker and dash: no reader depends on colour alone.

use crate::markup::Escaped;
use crate::scale::{Scale, Spread, label};
use std::fmt::Write;

/// A line chart.
pub struct Chart {
    /// What the figure shows, for those who cannot see it.
    pub name: String,
    /// From left to right.
    pub x: Axis,
    /// From the bottom to the top.
    pub y: Axis,
    /// The lines.
    pub series: Vec<Series>,
}

/// What is measured along one side.
pub struct Axis {
    /// What is measured.
    pub label: &'static str,
    /// How numbers are spread along it.
    pub spread: Spread,
    /// Written after each number.
    pub unit: &'static str,
}

/// One line.
pub struct Series {
    /// Written at its end.
    pub name: String,
    /// How it is told from the others.
    pub look: Look,
    /// From left to right.
    pub points: Vec<(f64, f64)>,
    /// Half the height of each point's interval; none, or one for each point.
    pub margins: Vec<f64>,
}

/// How a line is told from the others.
#[derive(Clone, Copy)]
pub struct Look {
    /// Number of the page's colour.
    pub colour: usize,
    /// The sign at each point.
    pub marker: Marker,
    /// The line between them.
    pub stroke: Stroke,
}

/// The sign at a point.
#[derive(Clone, Copy)]
#[allow(missing_docs, reason = "shapes say what they are")]
pub enum Marker {
    Disc,
    Square,
    Triangle,
    Diamond,
    Ring,
}

/// The line between points.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Stroke {
    /// The lines that the chart is about.
    Strong,
    /// All others.
    Plain,
    /// Others, told apart.
    Dashed,
    /// Others, told apart.
    Dotted,
}

const WIDTH: f64 = 820.0;
const HEIGHT: f64 = 420.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 200.0;
const TOP: f64 = 16.0;
const BOTTOM: f64 = 54.0;
/// Names at the ends of lines stand at least this far apart.
const NAME_GAP: f64 = 18.0;

impl Chart {
    /// The chart as one `svg` element.
    pub fn to_svg(&self) -> String {
        let points = || self.series.iter().flat_map(|series| &series.points);
        let x = Scale::around(self.x.spread, points().map(|point| point.0));
        let y = Scale::around(self.y.spread, self.series.iter().flat_map(Series::extent));
        let mut svg = format!(
            "<svg class=\"chart\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\">\n",
            Escaped(&self.name)
        );
        let place = |point: &(f64, f64)| {
            let across = LEFT + x.place(point.0) * (WIDTH - LEFT - RIGHT);
            (across, HEIGHT - BOTTOM - y.place(point.1) * (HEIGHT - TOP - BOTTOM))
        };
        self.draw_axes(&mut svg, &x, &y);
        // The strong lines last, so that nothing crosses over them.
        let mut order: Vec<&Series> = self.series.iter().filter(|series| !series.points.is_empty()).collect();
        order.sort_by_key(|series| series.look.stroke == Stroke::Strong);
        for series in &order {
            let places: Vec<(f64, f64)> = series.points.iter().map(place).collect();
            draw_margins(&mut svg, series, place);
            self.draw_series(&mut svg, series, &places);
        }
        let ends: Vec<(f64, f64)> =
            order.iter().filter_map(|series| series.points.last()).map(place).collect();
        draw_names(&mut svg, &order, &ends);
        svg.push_str("</svg>\n");
        svg
    }

    fn draw_axes(&self, svg: &mut String, x: &Scale, y: &Scale) {
        let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
        for tick in y.ticks() {
            let at = bottom - y.place(tick) * (bottom - TOP);
            let (text, unit) = (label(tick), self.y.unit);
            let _ = writeln!(
                svg,
                "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{right}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/>\
                 <text class=\"tick\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{text}{unit}</text>",
                LEFT - 9.0,
                at + 4.5
            );
        }
        for tick in x.ticks() {
            let at = LEFT + x.place(tick) * (right - LEFT);
            let (text, unit) = (label(tick), self.x.unit);
            let _ = writeln!(
                svg,
                "<line class=\"axis\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{bottom}\" y2=\"{:.1}\"/>\
                 <text class=\"tick\" x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{text}{unit}</text>",
                bottom + 5.0,
                bottom + 21.0
            );
        }
        let (middle, foot) = ((LEFT + right) / 2.0, HEIGHT - 10.0);
        let height = (TOP + bottom) / 2.0;
        let _ = writeln!(
            svg,
            "<line class=\"axis\" x1=\"{LEFT}\" x2=\"{right}\" y1=\"{bottom}\" y2=\"{bottom}\"/>\
             <text class=\"label\" x=\"{middle}\" y=\"{foot}\" text-anchor=\"middle\">{}</text>\
             <text class=\"label\" transform=\"translate(15 {height}) rotate(-90)\" \
             text-anchor=\"middle\">{}</text>",
            Escaped(self.x.label),
            Escaped(self.y.label)
        );
    }

    fn draw_series(&self, svg: &mut String, series: &Series, places: &[(f64, f64)]) {
        let Look { colour, marker, stroke } = series.look;
        let class = match stroke {
            Stroke::Strong => "strong",
            Stroke::Plain => "plain",
            Stroke::Dashed => "dashed",
            Stroke::Dotted => "dotted",
        };
        let path: Vec<String> = places.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let _ = writeln!(
            svg,
            "<g style=\"--c:var(--c{colour})\"><polyline class=\"line {class}\" points=\"{}\"/>",
            path.join(" ")
        );
        for (&(x, y), point) in places.iter().zip(&series.points) {
            let said = format!(
                "{}: {}{} at {}{}",
                series.name,
                label(point.1),
                self.y.unit,
                label(point.0),
                self.x.unit
            );
            let _ = writeln!(svg, "{}<title>{}</title></path>", marker.open(x, y), Escaped(&said));
        }
        svg.push_str("</g>\n");
    }
}

impl Series {
    /// Everything that its points and intervals reach.
    fn extent(&self) -> impl Iterator<Item = f64> {
        let margin = |at: usize| self.margins.get(at).copied().unwrap_or(0.0);
        self.points
            .iter()
            .enumerate()
            .flat_map(move |(at, point)| [point.1 - margin(at), point.1 + margin(at)])
    }
}

/// Draws the intervals behind the line.
fn draw_margins(svg: &mut String, series: &Series, place: impl Fn(&(f64, f64)) -> (f64, f64)) {
    for ((x, y), margin) in series.points.iter().zip(&series.margins) {
        let ((across, low), (_, high)) = (place(&(*x, y - margin)), place(&(*x, y + margin)));
        let _ = writeln!(
            svg,
            "<path class=\"margin\" style=\"--c:var(--c{})\" \
             d=\"M{across:.1},{low:.1}V{high:.1}m-5,0h10M{across:.1},{low:.1}m-5,0h10\"/>",
            series.look.colour
        );
    }
}

impl Marker {
    /// The path of a marker around a point, its tag left open.
    fn open(self, x: f64, y: f64) -> String {
        let shape = match self {
            Self::Disc | Self::Ring => "m-4.2,0a4.2,4.2 0 1,0 8.4,0a4.2,4.2 0 1,0 -8.4,0z",
            Self::Square => "m-3.8,-3.8h7.6v7.6h-7.6z",
            Self::Triangle => "m0,-5l4.8,8.6h-9.6z",
            Self::Diamond => "m0,-5.4l5.2,5.4l-5.2,5.4l-5.2,-5.4z",
        };
        let class = if matches!(self, Self::Ring) { "mark open" } else { "mark" };
        format!("<path class=\"{class}\" d=\"M{x:.1},{y:.1}{shape}\">")
    }
}

/// Writes each name beside the end of its line, moved apart where they would overlap.
fn draw_names(svg: &mut String, order: &[&Series], ends: &[(f64, f64)]) {
    let mut rows: Vec<usize> = (0..ends.len()).collect();
    rows.sort_by(|&a, &b| ends[a].1.total_cmp(&ends[b].1));
    let wanted: Vec<f64> = rows.iter().map(|&row| ends[row].1).collect();
    let column = WIDTH - RIGHT + 26.0;
    for (&row, at) in rows.iter().zip(spread_out(&wanted)) {
        let (x, y) = ends[row];
        let look = order[row].look;
        let weight = if look.stroke == Stroke::Strong { " strong" } else { "" };
        let _ = writeln!(
            svg,
            "<g style=\"--c:var(--c{})\"><path class=\"lead\" d=\"M{:.1},{y:.1}L{:.1},{at:.1}\"/>{}</path>\
             <text class=\"name{weight}\" x=\"{:.1}\" y=\"{:.1}\">{}</text></g>",
            look.colour,
            x + 6.0,
            column - 10.0,
            look.marker.open(column - 4.0, at),
            column + 6.0,
            at + 4.5,
            Escaped(&order[row].name)
        );
    }
}

/// The nearest heights to the ascending ones wanted that keep their distance and stay in the chart.
fn spread_out(wanted: &[f64]) -> Vec<f64> {
    let mut at = wanted.to_vec();
    let mut least = TOP + 4.0;
    for place in &mut at {
        *place = place.max(least);
        least = *place + NAME_GAP;
    }
    let mut most = HEIGHT - BOTTOM;
    for place in at.iter_mut().rev() {
        *place = place.min(most);
        most = *place - NAME_GAP;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_keep_their_distance() {
        let at = spread_out(&[100.0, 101.0, 102.0, 365.0, 366.0]);
        assert!(at.windows(2).all(|pair| pair[1] - pair[0] >= NAME_GAP - 1e-9), "{at:?}");
        assert!(at.iter().all(|&place| (TOP..=HEIGHT - BOTTOM).contains(&place)), "{at:?}");
        assert_eq!(spread_out(&[50.0, 90.0]), [50.0, 90.0]);
    }

    #[test]
    fn an_empty_chart_has_axes() {
        let axis = |label| Axis { label, spread: Spread::Linear, unit: "" };
        let chart = Chart { name: "none".into(), x: axis("x"), y: axis("y"), series: Vec::new() };
        assert!(!chart.to_svg().contains("NaN"));
    }
}
