//! `retreever demo`: everything once, on real data, as a script of the other commands.
//!
//! Each stage says what it does and why, shows the command and runs it. What a stage leaves in the demo's folder is
//! not made again, so a second run is quick, a run that was stopped is taken up, and all of it is there to be used.

use super::demo_table as table;
use crate::progress::{self, say};
use anyhow::{Context, Result, bail, ensure};
use retreever::{Explainer, Query, Retriever};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How large, and where.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  retreever demo                       (the whole data set)
  retreever demo --quick               (a fifth of it and a small tree)
  retreever demo --explore             (and the tree in a browser at the end)
  retreever search --index retreever-demo/index \"can I cancel my policy\"   (afterwards)")]
pub(crate) struct Args {
    /// A fifth of the data and a smaller tree.
    #[arg(long)]
    quick: bool,
    /// Where everything goes; retreever-demo or retreever-demo-quick without it.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// What everything random is drawn from.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Serve the explorer at the end.
    #[arg(long)]
    explore: bool,
    /// Print the table as one JSON object.
    #[arg(long)]
    json: bool,
}

/// What a demo was made with; another one is not mixed into it.
#[derive(PartialEq, Serialize, Deserialize)]
struct Made {
    version: String,
    quick: bool,
    seed: u64,
}

/// What is asked at the end.
const QUESTIONS: [&str; 3] = [
    "does life insurance pay if someone commits suicide",
    "is flood damage covered by home insurance",
    "how long can I stay on my parents health insurance",
];

struct Demo<'a> {
    args: &'a Args,
    out: PathBuf,
    started: Instant,
    stages: usize,
    stage: usize,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let default = if args.quick { "retreever-demo-quick" } else { "retreever-demo" };
    let out = args.out.clone().unwrap_or_else(|| PathBuf::from(default));
    claim(&out, args)?;
    let stages = if args.quick { 8 } else { 7 };
    Demo { args, out, started: Instant::now(), stages, stage: 0 }.run()
}

/// Takes a folder for this demo, unless there is something else in it.
fn claim(out: &Path, args: &Args) -> Result<()> {
    let made = Made { version: env!("CARGO_PKG_VERSION").to_owned(), quick: args.quick, seed: args.seed };
    let file = out.join("demo.json");
    let found = fs::read(&file).ok();
    let same = |found: &[u8]| serde_json::from_slice::<Made>(found).is_ok_and(|found| found == made);
    match found {
        Some(found) => ensure!(
            same(&found),
            "{} is of a demo with other options: remove it, or name another folder with --out",
            out.display()
        ),
        None if fs::read_dir(out).is_ok_and(|mut found| found.next().is_some()) => {
            bail!("{} is there and no demo: name another folder with --out", out.display())
        }
        None => {
            fs::create_dir_all(out).with_context(|| format!("cannot make {}", out.display()))?;
            fs::write(&file, serde_json::to_string(&made)?)
                .with_context(|| format!("cannot write {}", file.display()))?;
        }
    }
    Ok(())
}

impl Demo<'_> {
    fn run(mut self) -> Result<()> {
        let (depth, budget, adapter_budget, expect) = match self.args.quick {
            true => ("8", "60s", "20s", "about 3 minutes"),
            false => ("10", "6m", "60s", "12 to 18 minutes"),
        };
        say!(
            "All of it on real data, in {}. The first time takes {expect} on two cores, most of it encoding and training; \
             what is finished is kept, and the second time takes seconds.",
            self.out.display()
        );
        let [data, tree, planted, index, report] =
            ["data", "tree", "planted", "index", "report"].map(|name| self.out.join(name));
        let [tree_path, planted_path, index_path, report_path] =
            [&tree, &planted, &index, &report].map(|p| p.display().to_string());
        let seed = self.args.seed.to_string();

        self.begin("The encoder, MiniLM, turns a text into numbers. It is fetched once and never trained.");
        self.command(&["pull", "minilm"], Stdio::null())?;

        self.begin(
            "The data: questions that people asked about insurance, and the answers of professionals.",
        );
        self.command(&["data", "get", "insuranceqa"], Stdio::null())?;
        let mut source = "insuranceqa".to_owned();
        if self.args.quick {
            self.begin("A fifth of it is enough for a first look.");
            let path = data.display().to_string();
            if !data.exists() {
                self.command(
                    &["data", "sample", "--data", &source, "--share", "20%", "--out", &path],
                    Stdio::null(),
                )?;
            }
            source = path;
        }

        self.begin(
            "An index without training. Every answer is encoded (the slow part, done once and kept), and a tree is planted \
             where the answers part.",
        );
        if !planted.exists() {
            self.command(&["index", "--data", &source, "--out", &planted_path], Stdio::null())?;
        } else {
            kept(&planted);
        }

        self.begin("Training. The tree learns from pairs to send a question and its answer the same way.");
        if !tree.exists() {
            let mut words = vec!["train", "--data", &source, "--out", &tree_path, "--depth", depth];
            words.extend(["--budget", budget, "--seed", &seed]);
            if retreever::Checkpoint::of(&tree).exists() {
                words.push("--resume");
            }
            self.command(&words, Stdio::null())?;
        } else {
            kept(&tree);
        }

        self.begin("Indexing. Each answer is kept with its probability of reaching every node of the tree.");
        if !index.exists() {
            self.command(
                &["index", "--tree", &tree_path, "--data", &source, "--out", &index_path],
                Stdio::null(),
            )?;
        } else {
            kept(&index);
        }

        self.begin(&format!(
            "Scores on questions that nothing was trained on, beside the encoder alone and an adapter (Encoder+MLP) \
             that learned from the same pairs, for {adapter_budget}: its best comes early.",
        ));
        let scores = self.out.join("eval.jsonl");
        if !scores.exists() {
            let folder =
                if self.args.quick { data } else { retreever_data::get::Named::InsuranceQa.folder() };
            let folder = folder.display().to_string();
            let mut words = vec!["compare", "--data", &folder, "--only", "encoder,mlp", "--depth", depth];
            words.extend(["--budget", adapter_budget, "--out", &report_path]);
            self.command(&words, Stdio::null())?;
            let mut printed = String::new();
            for path in [&planted_path, &index_path] {
                let words = ["eval", "--index", path, "--data", &source, "--level", "all", "--json"];
                printed += &self.command(&words, Stdio::piped())?;
            }
            fs::write(&scores, printed).with_context(|| format!("cannot write {}", scores.display()))?;
        } else {
            kept(&scores);
        }
        let table = table::Table::read(&report.join("results.json"), &scores)?;
        if self.args.json {
            println!("{}", serde_json::to_string(&table)?);
        } else {
            table.print();
        }

        self.begin("Three questions, and why each answer was found.");
        if !self.args.json {
            self.explain(&index)?;
        }
        say!("\nready after {}; all of it is in {}", spoken(self.started.elapsed()), self.out.display());
        say!("  retreever explore --index {index_path}                 the tree in a browser");
        say!("  retreever search --index {index_path} \"your question\" --explain");
        say!(
            "  retreever index --data YOUR-FOLDER --out my-index       your own documents, without training"
        );
        if self.args.explore {
            self.command(&["explore", "--index", &index_path], Stdio::inherit())?;
        }
        Ok(())
    }

    fn begin(&mut self, what: &str) {
        self.stage += 1;
        let after = match self.stage {
            1 => String::new(),
            _ => format!(" ({} so far)", spoken(self.started.elapsed())),
        };
        say!("\n[{}/{}]{after} {what}", self.stage, self.stages);
    }

    /// Runs another command as if it had been typed, and gives back what it printed if that is piped.
    fn command(&self, words: &[&str], stdout: Stdio) -> Result<String> {
        say!("      retreever {}", words.join(" "));
        let program = std::env::current_exe().context("cannot find this program")?;
        let mut command = Command::new(program);
        command.args(words).args(["--threads", &rayon::current_num_threads().to_string()]);
        if progress::is_quiet() {
            command.arg("--quiet");
        }
        let output = command.stdout(stdout).stderr(Stdio::inherit()).spawn()?.wait_with_output()?;
        if !output.status.success() {
            bail!("this stage failed; what was finished is kept, and the same command goes on from there");
        }
        Ok(String::from_utf8(output.stdout)?)
    }

    fn explain(&self, index: &Path) -> Result<()> {
        let retriever = Retriever::open(index, &mut progress::fetching())?;
        let snapshot = retriever.snapshot()?;
        let explainer = Explainer::new(&snapshot)?;
        for question in QUESTIONS {
            let asked = retriever.route(question)?;
            let query = Query::new(asked.row(0), 2);
            println!("\n{question}?\n{}", explainer.way(query.assignment));
            for hit in &snapshot.search(&query)?.hits {
                println!("\n  {:.3}  {}", hit.score, shown(&snapshot.document(hit)?.text, 150));
                let why = explainer.explain(&query, hit)?.to_string();
                why.lines().for_each(|line| println!("         {line}"));
            }
        }
        Ok(())
    }
}

fn kept(what: &Path) {
    say!("      kept from before: {}", what.display());
}

fn shown(text: &str, most: usize) -> String {
    let line: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(most) {
        Some((end, _)) => format!("{} ...", &line[..end]),
        None => line,
    }
}

fn spoken(time: Duration) -> String {
    format!("{}:{:02} minutes", time.as_secs() / 60, time.as_secs() % 60)
}
