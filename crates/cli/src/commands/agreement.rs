//! `retreever inspect --agreement`: the tree of an index judged as a tree on held-out pairs, beside two plain trees.

use super::texts::Texts;
use crate::progress::{self, say};
use anyhow::{Result, anyhow};
use retreever::{Retriever, Split};
use retreever_bench::agreement::{Agreement, Event, judge};
use retreever_inspect::judgement::Judgement;
use std::path::{Path, PathBuf};

/// Whether to judge, and by which pairs.
#[derive(clap::Args)]
pub(super) struct Args {
    /// How often queries and their documents go the same way, at each level, beside hierarchical 2-means over the encoder's
    /// embeddings and over Encoder+MLP, which is trained for 600 steps. Needs --data with judgements.
    #[arg(long)]
    pub(super) agreement: bool,
    /// Whose pairs --agreement looks at.
    #[arg(long, value_name = "NAME", default_value = "dev", requires = "agreement")]
    split: String,
}

/// Judges the tree of the index in `directory`, and prints what was found.
pub(super) fn run(args: &Args, directory: &Path, data: Option<&PathBuf>, json: bool) -> Result<()> {
    let data =
        data.ok_or_else(|| anyhow!("--agreement needs pairs: give the data that has them with --data"))?;
    let dataset = Texts { data: data.clone(), skip_bad_lines: false }.open()?;
    let retriever = Retriever::open(directory, &mut progress::fetching())?;
    let split: Split = args.split.parse().unwrap_or_else(|never| match never {});
    let found = judge(&retriever, &dataset, &split, &mut observer())?;
    if json {
        println!("{}", serde_json::to_string(&found)?);
    } else {
        print(&found);
    }
    Ok(())
}

fn observer() -> impl FnMut(Event) {
    let mut encoding = progress::encoding();
    move |event| match event {
        Event::Encoding(progress) => encoding(progress),
        Event::Training(retreever::Event::Step { progress, .. }) if progress.step == 0 => {
            say!("training Encoder+MLP for {} steps", progress.total);
        }
        Event::Training(_) => {}
    }
}

fn print(found: &Agreement) {
    println!("{} pairs of `{}`, {} documents", found.pairs, found.split, found.documents);
    if found.left_out > 0 {
        println!("{} pairs were left out: their documents are not in the index", found.left_out);
    }
    let mut trees = vec![("the tree", &found.tree), ("2-means over Encoder", &found.two_means_encoder)];
    trees.extend(found.two_means_encoder_mlp.as_ref().map(|tree| ("2-means over Encoder+MLP", tree)));
    for (name, tree) in trees {
        println!("\n{name}");
        print_tree(tree);
    }
}

fn print_tree(tree: &Judgement) {
    print!("level  together  by chance  claimed   found   error");
    let fields = tree.levels.first().map(|level| &level.fields[..]).unwrap_or_default();
    fields.iter().for_each(|field| print!("  {}: NMI, purity", field.name));
    println!();
    let percent = |share: f64| format!("{:.1}%", 100.0 * share);
    for level in &tree.levels {
        print!("{:>5}  {:>8}  {:>9}", level.level.get(), percent(level.together), percent(level.chance));
        let claims = level.claims.map(|claims| [claims.claimed, claims.found, claims.error].map(percent));
        let [claimed, said, error] = claims.unwrap_or_else(|| ["–"; 3].map(str::to_owned));
        print!("  {claimed:>7}  {said:>6}  {error:>6}");
        for field in &level.fields {
            let width = field.name.chars().count() + 15;
            print!("  {:>width$}", format!("{:.3}, {:.3}", field.nmi, field.purity));
        }
        println!();
    }
    if let Some(leaves) = tree.leaves_for_90 {
        println!("90 % of a document is in {leaves:.1} leaves");
    }
    if let Some(topics) = &tree.topics {
        println!(
            "{} topics: coherence {:.3}, diversity {:.3}",
            topics.topics, topics.coherence, topics.diversity
        );
    }
    if let Some(congruence) = &tree.congruence {
        let means = congruence.levels.iter().map(|at| format!("{:.3}", at.cosine.mean));
        println!(
            "mean cosine of documents by the level at which they part: {}",
            means.collect::<Vec<_>>().join(" ")
        );
    }
}
