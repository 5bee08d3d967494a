//! Trees judged as trees: one row a tree and figure, one column a level.

use super::pooled::Stat;
use super::row::Variant;
use retreever_figures::Escaped;
use retreever_inspect::judgement::{Judgement, LevelJudgement};
use serde::{Deserialize, Serialize};
use std::fmt::Write;

/// A tree, judged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JudgedTree {
    /// What it is called.
    pub name: String,
    /// What an ablation changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<Variant>,
    /// The seed that it was trained or clustered with.
    pub seed: u64,
    /// What was found.
    pub judgement: Judgement,
    /// The command that makes this row again.
    pub command: String,
}

/// A tree over its seeds.
struct Pooled<'a> {
    name: String,
    trees: Vec<&'a JudgedTree>,
}

impl Pooled<'_> {
    /// The mean over the seeds, where the figure is there.
    fn mean(&self, of: impl Fn(&Judgement) -> Option<f64>) -> Option<f64> {
        let values: Vec<f64> = self.trees.iter().filter_map(|tree| of(&tree.judgement)).collect();
        (!values.is_empty()).then(|| Stat::of(&values).mean)
    }
}

fn pool<'a>(trees: impl Iterator<Item = &'a JudgedTree>) -> Vec<Pooled<'a>> {
    let mut pooled: Vec<Pooled<'a>> = Vec::new();
    for tree in trees {
        let variant = tree.variant.as_ref().map(|variant| format!(" ({})", variant.value));
        let name = format!("{}{}", tree.name, variant.unwrap_or_default());
        match pooled.iter_mut().find(|group| group.name == name) {
            Some(group) => group.trees.push(tree),
            None => pooled.push(Pooled { name, trees: vec![tree] }),
        }
    }
    pooled
}

/// The tables of some trees; nothing if there are none.
pub(super) fn tables<'a>(trees: impl Iterator<Item = &'a JudgedTree>) -> Option<String> {
    let pooled = pool(trees);
    (!pooled.is_empty()).then(|| by_level(&pooled) + &whole(&pooled))
}

type OfLevel = Box<dyn Fn(&LevelJudgement) -> Option<f64>>;

/// What is said of each level.
fn figures(pooled: &[Pooled<'_>]) -> Vec<(String, OfLevel)> {
    let mut figures: Vec<(String, OfLevel)> = vec![
        ("together".into(), Box::new(|level| Some(level.together))),
        ("by chance".into(), Box::new(|level| Some(level.chance))),
        ("claimed".into(), Box::new(|level| level.claims.map(|claims| claims.claimed))),
        ("found".into(), Box::new(|level| level.claims.map(|claims| claims.found))),
        ("calibration error".into(), Box::new(|level| level.claims.map(|claims| claims.error))),
    ];
    let first = pooled.iter().find_map(|group| group.trees.first()?.judgement.levels.first());
    for (at, field) in first.iter().flat_map(|level| &level.fields).enumerate() {
        figures.push((
            format!("NMI with {}", field.name),
            Box::new(move |level| level.fields.get(at).map(|field| field.nmi)),
        ));
        figures.push((
            format!("purity of {}", field.name),
            Box::new(move |level| level.fields.get(at).map(|field| field.purity)),
        ));
    }
    figures
}

fn by_level(pooled: &[Pooled<'_>]) -> String {
    let levels = |group: &Pooled<'_>| group.trees.iter().map(|tree| tree.judgement.levels.len()).max();
    let levels = pooled.iter().filter_map(levels).max().unwrap_or(0);
    let mut html = String::from("<div class=\"scroll\"><table><thead><tr><th>tree</th><th>level</th>");
    for level in 1..=levels {
        let _ = write!(html, "<th>{level}</th>");
    }
    html.push_str("</tr></thead><tbody>\n");
    for group in pooled {
        for (name, of) in figures(pooled) {
            let value = |level: usize| group.mean(|judgement| of(judgement.levels.get(level)?));
            if (0..levels).all(|level| value(level).is_none()) {
                continue;
            }
            let _ = write!(html, "<tr><th>{}</th><td>{}</td>", Escaped(&group.name), Escaped(&name));
            for level in 0..levels {
                let _ = write!(html, "<td>{}</td>", hundredths(value(level)));
            }
            html.push_str("</tr>\n");
        }
    }
    html.push_str("</tbody></table></div>\n");
    html
}

/// What is said of a whole tree.
fn whole(pooled: &[Pooled<'_>]) -> String {
    let mut html = String::from(
        "<div class=\"scroll\"><table><thead><tr><th>tree</th><th>leaves for 90 %</th><th>topics</th>\
         <th>coherence</th><th>diversity</th><th>command</th></tr></thead><tbody>\n",
    );
    for group in pooled {
        let leaves = group.mean(|judgement| judgement.leaves_for_90);
        let leaves = leaves.map_or("–".into(), |leaves| format!("{leaves:.1}"));
        let topics = group.mean(|judgement| judgement.topics.map(|topics| topics.topics as f64));
        let topics = topics.map_or("–".into(), |topics| format!("{topics:.0}"));
        let coherence = hundredths(group.mean(|judgement| judgement.topics.map(|topics| topics.coherence)));
        let diversity = hundredths(group.mean(|judgement| judgement.topics.map(|topics| topics.diversity)));
        let command = group.trees.first().map(|tree| tree.command.as_str()).unwrap_or_default();
        let _ = writeln!(
            html,
            "<tr><th>{}</th><td>{leaves}</td><td>{topics}</td><td>{coherence}</td><td>{diversity}</td>\
             <td class=\"left\"><code>{}</code></td></tr>",
            Escaped(&group.name),
            Escaped(command)
        );
    }
    html.push_str("</tbody></table></div>\n");
    html
}

fn hundredths(value: Option<f64>) -> String {
    value.map_or("–".into(), |value| format!("{:.1}", 100.0 * value))
}
