//! The figures of the paper as views of the rows: which lines, at which points.

use super::pooled::{Pooled, full, sizes};
use super::row::{Method, Row, Search};
use retreever_figures::{Axis, Bar, Bars, Chart, Group, Look, Marker, Series, Spread, Stroke};

/// The colour of a method, the same in every figure (see the page's `--c0` ...).
fn colour(method: Method) -> usize {
    match method {
        Method::Tree => 0,
        Method::AllLevels => 1,
        Method::Stochastic => 5,
        Method::Mrl => 2,
        Method::Encoder => 3,
        Method::KMeansTree => 4,
        Method::GmmTree | Method::Linear | Method::Mlp | Method::Bm25 | Method::Raptor(_) => 6,
    }
}

fn look(method: Method) -> Look {
    let (marker, stroke) = match method {
        Method::Tree => (Marker::Disc, Stroke::Strong),
        Method::AllLevels => (Marker::Square, Stroke::Strong),
        Method::Stochastic => (Marker::Ring, Stroke::Plain),
        Method::Mrl => (Marker::Triangle, Stroke::Plain),
        Method::KMeansTree | Method::GmmTree => (Marker::Ring, Stroke::Dotted),
        _ => (Marker::Diamond, Stroke::Plain),
    };
    Look { colour: colour(method), marker, stroke }
}

/// The methods that have a representation at every size.
const SIZED: [Method; 5] =
    [Method::Tree, Method::Stochastic, Method::AllLevels, Method::Mrl, Method::Encoder];

fn sized_name(method: Method) -> String {
    match method {
        Method::Encoder => "Encoder, truncated".into(),
        other => other.name().into(),
    }
}

fn by_size(pooled: &[Pooled<'_>], of: impl Fn(&Row) -> f64 + Copy) -> Vec<Series> {
    SIZED
        .into_iter()
        .map(|method| {
            let point = |group: &&Pooled<'_>| Some((group.key.size? as f64, group.stat(of).mean));
            let points = sizes(pooled, method).iter().filter_map(point).collect();
            Series { name: sized_name(method), look: look(method), points, margins: Vec::new() }
        })
        .collect()
}

const SIZE_AXIS: Axis = Axis { label: "numbers that represent an item", spread: Spread::Log2, unit: "" };

/// nDCG@10 against the size of the representation.
pub(super) fn coarse_to_fine(pooled: &[Pooled<'_>]) -> Chart {
    Chart {
        name: "nDCG@10 against the size of the representation".into(),
        x: SIZE_AXIS,
        y: Axis { label: "nDCG@10", spread: Spread::Linear, unit: "" },
        series: by_size(pooled, |row| row.measures.ndcg.at_10),
    }
}

/// Latency against the size of the representation.
pub(super) fn latency(pooled: &[Pooled<'_>]) -> Chart {
    Chart {
        name: "latency against the size of the representation".into(),
        x: SIZE_AXIS,
        y: Axis { label: "milliseconds per query, alone", spread: Spread::Log10, unit: "" },
        series: by_size(pooled, |row| row.latency_ms),
    }
}

/// nDCG@10 against the share of the corpus that a query reads.
pub(super) fn approximate(pooled: &[Pooled<'_>]) -> Chart {
    let mut lines: Vec<(Method, Search)> = Vec::new();
    for Pooled { key, .. } in pooled {
        let line = (key.method, key.search);
        if !matches!(key.search, Search::Exact | Search::Cover)
            && key.variant.is_none()
            && !lines.contains(&line)
        {
            lines.push(line);
        }
    }
    let series = lines
        .into_iter()
        .map(|(method, search)| {
            let of_line = |group: &&Pooled<'_>| {
                (group.key.method, group.key.search) == (method, search) && group.key.variant.is_none()
            };
            let mut points: Vec<(f64, f64)> = (pooled.iter().filter(of_line))
                .map(|group| (100.0 * group.stat(|row| row.share_read).mean, group.ndcg()))
                .filter(|point| point.0 > 0.0)
                .collect();
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
            Series {
                name: line_name(method, search),
                look: line_look(method, search),
                points,
                margins: Vec::new(),
            }
        })
        .collect();
    Chart {
        name: "nDCG@10 against the share of the corpus read".into(),
        x: Axis { label: "share of the corpus read", spread: Spread::Log10, unit: "%" },
        y: Axis { label: "nDCG@10", spread: Spread::Linear, unit: "" },
        series,
    }
}

fn line_name(method: Method, search: Search) -> String {
    match (method, search) {
        (Method::KMeansTree | Method::GmmTree, _) => method.name().into(),
        (Method::Mrl, search) => format!("MRL, {}", search.name()),
        (method, Search::Leaves) if method.is_ours() => method.name().into(),
        (method, search) => format!("{}, {}", method.name(), search.name()),
    }
}

/// Colour says who represents, marker and dash say how it is searched.
fn line_look(method: Method, search: Search) -> Look {
    let (marker, stroke) = match search {
        Search::Ivf => (Marker::Triangle, Stroke::Plain),
        Search::Scann => (Marker::Diamond, Stroke::Dashed),
        Search::Hnsw => (Marker::Square, Stroke::Dotted),
        Search::Exact | Search::Leaves | Search::Cover => return look(method),
    };
    Look { colour: colour(method), marker, stroke }
}

/// What share of its best nDCG@10 a method keeps at a quarter and an eighth of its size.
pub(super) fn share_of_peak(pooled: &[Pooled<'_>]) -> Bars {
    let group = |parts: usize, heading: &str| {
        let bar = |method: Method| {
            let share = kept(pooled, method, parts)?;
            Some(Bar { name: sized_name(method), colour: colour(method), share })
        };
        Group { heading: heading.into(), bars: SIZED.into_iter().filter_map(bar).collect() }
    };
    Bars {
        name: "share of peak nDCG@10 at smaller sizes".into(),
        groups: vec![group(4, "at 1/4 of the full size"), group(8, "at 1/8 of the full size")],
    }
}

/// nDCG@10 at the largest size not above `1/parts` of the full one, as a share of the best at any size.
pub(super) fn kept(pooled: &[Pooled<'_>], method: Method, parts: usize) -> Option<f64> {
    let all = sizes(pooled, method);
    let most = full(pooled, method)?.key.size? / parts;
    let small = all.iter().rfind(|group| group.key.size.is_some_and(|size| size <= most))?;
    let peak = all.iter().map(|group| group.ndcg()).fold(0.0, f64::max);
    (peak > 0.0).then(|| small.ndcg() / peak)
}
