//! `retreever train`: a tree from pairs, resumable at any moment.

use crate::commands::texts::Texts;
use crate::progress;
use anyhow::{Context, Result, bail, ensure};
use clap::ValueEnum;
use retreever::{
    CachedEncoder, Checkpoint, Control, Depth, End, Files, Learner, Material, Recipe, SavedTree, State, Tree,
    TreeLearner, steps_within, train,
};
use retreever_model::propagation::PathConsistencyConfig;
use retreever_model::schedule::{Levels, Weighting};
use retreever_model::split::{CrossAttentionConfig, LinearConfig, MlpConfig};
use retreever_model::{PropagationConfig, SplitConfig};
use serde_json::json;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// What to train on, what to make, and for how long.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  retreever train --data insuranceqa --out tree --budget 10m
  retreever train --data pairs.jsonl --encoder minilm --out tree --steps 2000 --seed 1
  retreever train --embeddings docs.npy --query-embeddings queries.npy --pairs pairs.tsv --out tree
  retreever train --data insuranceqa --out tree --resume")]
pub(crate) struct Args {
    /// A BEIR folder or a pair JSONL file; or insuranceqa or squadshifts, fetched by name.
    #[arg(long, required_unless_present = "embeddings", conflicts_with = "embeddings")]
    data: Option<PathBuf>,
    /// minilm, mpnet, ORGANISATION/NAME on the hub, or a directory.
    #[arg(long, default_value = "minilm")]
    encoder: String,
    /// Leave out lines that cannot be read, and say how many.
    #[arg(long)]
    skip_bad_lines: bool,
    /// Document embeddings made elsewhere (.npy or .safetensors) instead of texts.
    #[arg(long, requires = "query_embeddings", requires = "pairs")]
    embeddings: Option<PathBuf>,
    /// Query embeddings made elsewhere.
    #[arg(long, requires = "embeddings")]
    query_embeddings: Option<PathBuf>,
    /// Which query row belongs to which document row: a TSV or JSONL file.
    #[arg(long, requires = "embeddings")]
    pairs: Option<PathBuf>,
    /// Pairs to validate on; without them every tenth query is held out.
    #[arg(long, requires = "embeddings")]
    dev_pairs: Option<PathBuf>,
    /// Where the tree goes.
    #[arg(long, default_value = "tree")]
    out: PathBuf,
    /// Whose choices hold where nothing else is said.
    #[arg(long, value_enum, default_value_t = RecipeName::Laptop)]
    recipe: RecipeName,
    /// How deep the tree is: 1 to 14. The leaves are 2 to the power of it.
    #[arg(long, default_value = "10", value_parser = parse_depth)]
    depth: Depth,
    /// The split function.
    #[arg(long, value_enum)]
    split: Option<SplitName>,
    /// How probabilities go down the tree.
    #[arg(long, value_enum)]
    propagation: Option<PropagationName>,
    /// At which levels steps are trained.
    #[arg(long, value_enum)]
    levels: Option<LevelsName>,
    /// How long to train, such as 90s, 10m or 2h; turned into a number of steps before the first one.
    #[arg(long, value_parser = parse_duration, default_value = "10m")]
    budget: Duration,
    /// How many steps to train, instead of a time.
    #[arg(long, conflicts_with = "budget", value_parser = clap::value_parser!(u64).range(1..))]
    steps: Option<u64>,
    /// Pairs in a batch.
    #[arg(long)]
    batch: Option<usize>,
    /// The highest learning rate.
    #[arg(long)]
    rate: Option<f64>,
    /// Steps from one validation to the next.
    #[arg(long)]
    validate_every: Option<u64>,
    /// Stop after so many validations without a new best.
    #[arg(long)]
    patience: Option<u32>,
    /// What everything random is drawn from.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Take up a run that was interrupted.
    #[arg(long)]
    resume: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum RecipeName {
    /// What works in minutes on a laptop.
    Laptop,
    /// What the paper's authors do.
    Paper,
}

#[derive(Clone, Copy, ValueEnum)]
enum SplitName {
    CrossAttention,
    Linear,
    Mlp,
}

#[derive(Clone, Copy, ValueEnum)]
enum PropagationName {
    Product,
    PathConsistency,
}

#[derive(Clone, Copy, ValueEnum)]
enum LevelsName {
    /// The leaves, always.
    Constant,
    /// A random level for each step, in proportion to its square.
    Stochastic,
    /// A random level for each step, in proportion to its number.
    StochasticLinear,
    /// A random level for each step, all alike.
    StochasticUniform,
    /// Down the tree, each level for as long as the next.
    LinearCurriculum,
    /// Down the tree, each level for half as long as the next.
    ExponentialCurriculum,
    /// All levels in every step.
    All,
}

fn parse_depth(text: &str) -> Result<Depth, String> {
    text.parse::<u8>().map_err(|error| error.to_string()).and_then(Depth::try_from)
}

fn parse_duration(text: &str) -> Result<Duration, String> {
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let seconds = match &text[split..] {
        "s" | "" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        unit => return Err(format!("`{unit}` is not a unit of time: write 90s, 10m or 2h")),
    };
    let number: f64 = text[..split].parse().map_err(|_| "write a time as 90s, 10m or 2h".to_owned())?;
    Duration::try_from_secs_f64(number * seconds).map_err(|error| error.to_string())
}

impl Args {
    fn recipe(&self) -> Recipe {
        let mut recipe = match self.recipe {
            RecipeName::Laptop => Recipe::laptop(),
            RecipeName::Paper => Recipe::paper(),
        };
        match self.split {
            None => {}
            Some(SplitName::CrossAttention) => {
                recipe.split = SplitConfig::CrossAttention(CrossAttentionConfig::default());
            }
            Some(SplitName::Linear) => recipe.split = SplitConfig::Linear(LinearConfig::default()),
            Some(SplitName::Mlp) => recipe.split = SplitConfig::Mlp(MlpConfig::default()),
        }
        match self.propagation {
            None => {}
            Some(PropagationName::Product) => recipe.propagation = PropagationConfig::Product,
            Some(PropagationName::PathConsistency) => {
                recipe.propagation = PropagationConfig::PathConsistency(PathConsistencyConfig::default());
            }
        }
        if let Some(levels) = self.levels {
            recipe.levels = match levels {
                LevelsName::Constant => Levels::Constant,
                LevelsName::Stochastic => Levels::Stochastic(Weighting::Square),
                LevelsName::StochasticLinear => Levels::Stochastic(Weighting::Linear),
                LevelsName::StochasticUniform => Levels::Stochastic(Weighting::Uniform),
                LevelsName::LinearCurriculum => Levels::LinearCurriculum,
                LevelsName::ExponentialCurriculum => Levels::ExponentialCurriculum,
                LevelsName::All => Levels::All(Weighting::Square),
            };
        }
        recipe.batch = self.batch.unwrap_or(recipe.batch);
        recipe.rate.peak = self.rate.unwrap_or(recipe.rate.peak);
        recipe
    }

    fn material(&self) -> Result<Material> {
        let (Some(documents), Some(queries), Some(train)) =
            (&self.embeddings, &self.query_embeddings, &self.pairs)
        else {
            let data = self.data.as_deref().context("--data names nothing")?;
            let texts = Texts { data: data.to_owned(), skip_bad_lines: self.skip_bad_lines };
            let mut dataset = texts.open()?;
            dataset.hold_out_dev(0.1);
            ensure!(
                !dataset.pairs(&retreever_data::Split::Train).is_empty(),
                "{} has no training pairs: it needs queries.jsonl and qrels/train.tsv, or to be a pair JSONL file",
                data.display()
            );
            let encoder = CachedEncoder::open(&self.encoder, &mut progress::fetching())?;
            return Ok(Material::encode(&dataset, &encoder, &mut progress::encoding())?);
        };
        let dev = self.dev_pairs.as_deref();
        Ok(Material::read(Files { documents, queries, train, dev })?)
    }
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let checkpoint = Checkpoint::of(&args.out);
    if args.out.exists() {
        bail!("{} exists already: name another --out, or remove it", args.out.display());
    }
    if checkpoint.exists() && !args.resume {
        let path = checkpoint.path().display();
        bail!("{path} holds an interrupted run: add --resume to take it up, or remove it");
    }
    let recipe = args.recipe();
    let material = args.material()?;
    let set = material.set();
    let config = recipe.tree(set.documents.width(), args.depth);
    if let Err(reason) = config.check() {
        bail!("{reason}");
    }
    let run = describe(&config, &recipe, &material)?;
    let mut learner = TreeLearner::new(Tree::new(config, args.seed), recipe.levels);
    learner.centre(set.documents);
    let (options, mut state) = if args.resume {
        let options = checkpoint.config()?;
        let state = checkpoint.load(&mut learner, &run)?;
        eprintln!("taking up after {} of {} steps", state.step, options.steps);
        (options, state)
    } else {
        let mut options = recipe.training(1, args.seed);
        options.steps = match args.steps {
            Some(steps) => steps,
            None => steps_within(args.budget, &mut learner, set, &options)?,
        };
        options.validate_every = args.validate_every.unwrap_or_else(|| (options.steps / 20).max(10));
        options.patience = args.patience;
        eprintln!(
            "{} training pairs, {} held out, {} documents; {} steps of {} pairs{}",
            set.train.len(),
            set.dev.len(),
            set.documents.len(),
            options.steps,
            options.batch.min(set.train.len()),
            if args.steps.is_none() {
                format!(" (the same again: --steps {})", options.steps)
            } else {
                String::new()
            }
        );
        let state = State::new(&learner, &options);
        (options, state)
    };

    let stop = interrupts()?;
    let started = Instant::now();
    let mut bar = progress::training(options.steps, state.step, options.batch);
    let end = train(&mut learner, set, &options, &mut state, &mut |event| {
        bar(&event);
        if stop.load(Ordering::Relaxed) { Control::Stop } else { Control::Continue }
    })?;
    if end == End::Interrupted {
        checkpoint.save(&learner, &state, &options, &run)?;
        bail!(
            "interrupted after {} of {} steps; nothing is lost: the same command with --resume goes on",
            state.step,
            options.steps
        );
    }
    let best = state.best.as_ref().map(|best| json!({ "step": best.step, "ndcg_at_10": best.score }));
    let training = json!({
        "data": args.data.as_ref().or(args.embeddings.as_ref()),
        "recipe": recipe,
        "options": options,
        "steps_done": state.step,
        "validation": best,
        "scale": learner.scale(),
        "seconds": started.elapsed().as_secs(),
        "threads": rayon::current_num_threads(),
    });
    let encoder = serde_json::to_value(&material.encoder)?;
    SavedTree { tree: learner.into_tree(), encoder, training }.save(&args.out)?;
    checkpoint.remove()?;
    if let Some(best) = &state.best {
        eprintln!("best validation nDCG@10 {:.4} after {} steps", best.score, best.step);
    }
    println!("{}", args.out.display());
    Ok(())
}

/// What a run depends on besides its options: a line each, so that a difference can be named.
fn describe(config: &retreever::TreeConfig, recipe: &Recipe, material: &Material) -> Result<String> {
    Ok(format!(
        "{}\n{}\n{}\n{:016x}",
        serde_json::to_string(config)?,
        serde_json::to_string(recipe)?,
        serde_json::to_string(&material.encoder)?,
        material.set().digest()
    ))
}

/// A flag that is raised by Ctrl-C; the second one ends the process at once.
fn interrupts() -> Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    let raised = Arc::clone(&stop);
    ctrlc::set_handler(move || {
        if raised.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
        eprintln!("\nstopping after this step (again to stop at once)");
    })
    .context("cannot listen for Ctrl-C")?;
    Ok(stop)
}
