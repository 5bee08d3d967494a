//! `retreever train`: a tree from pairs, or from documents alone; an interrupted run can be taken up again.

use crate::commands::made;
use crate::commands::texts::Texts;
use crate::progress::{self, say};
use crate::{budget, chat};
use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use retreever::{
    CachedEncoder, Checkpoint, Control, Depth, End, Event, Files, Learner, Material, Recipe, SavedTree,
    State, depth_for, steps_within, train,
};
use retreever_data::{MadePairs, MakeConfig, Split};
use retreever_model::propagation::PathConsistencyConfig;
use retreever_model::schedule::{Levels, Weighting};
use retreever_model::split::{CrossAttentionConfig, MlpConfig};
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
  retreever train --data my-documents/ --out tree            (.txt and .md files: pairs are made from them)
  retreever train --data pairs.jsonl --encoder minilm --out tree --steps 2000 --seed 1
  retreever train --embeddings docs.npy --query-embeddings queries.npy --pairs pairs.tsv --out tree
  retreever train --data insuranceqa --out tree --resume")]
pub(crate) struct Args {
    /// A BEIR folder, a JSONL file of pairs, or documents alone (a folder of .txt and .md files, a corpus.jsonl),
    /// of which pairs are made; or insuranceqa or squadshifts, fetched by name.
    #[arg(long, required_unless_present_any = ["embeddings", "print_recipe"], conflicts_with = "embeddings")]
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
    /// Documents that pairs are made from, at most, if there are no pairs.
    #[arg(long, value_name = "N", default_value_t = MakeConfig::default().documents)]
    sample: usize,
    #[command(flatten)]
    chat: chat::Args,
    /// Where the tree goes.
    #[arg(long, default_value = "tree")]
    out: PathBuf,
    /// Base recipe; other options override it: laptop, paper (as its authors do), or a file.
    #[arg(long, default_value = "laptop", value_parser = parse_recipe)]
    recipe: Recipe,
    /// Print the recipe as JSON, changed by the other options, and do nothing.
    #[arg(long)]
    print_recipe: bool,
    /// How deep the tree is: 1 to 14. The leaves are 2 to the power of it. Without it, 10 or as deep as there are
    /// documents for.
    #[arg(long, value_parser = parse_depth)]
    depth: Option<Depth>,
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
    #[arg(long, value_parser = budget::parse, default_value = "10m")]
    budget: Duration,
    /// How many steps to train, instead of a time.
    #[arg(long, conflicts_with = "budget", value_parser = clap::value_parser!(u64).range(1..))]
    steps: Option<u64>,
    /// Pairs in a batch.
    #[arg(long)]
    batch: Option<usize>,
    /// The highest learning rate.
    #[arg(long, value_parser = parse_rate)]
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
    /// Print one JSON object: the tree, its steps, its scores.
    #[arg(long)]
    json: bool,
}

fn parse_rate(text: &str) -> Result<f64, String> {
    let rate = text.parse().ok().filter(|rate: &f64| *rate > 0.0 && rate.is_finite());
    rate.ok_or_else(|| "a learning rate is a number above 0, such as 1e-3".to_owned())
}

/// A recipe by its name, or from a file as `--print-recipe` prints it.
fn parse_recipe(text: &str) -> Result<Recipe, String> {
    match text {
        "laptop" => Ok(Recipe::laptop()),
        "paper" => Ok(Recipe::paper()),
        path => {
            let bytes = std::fs::read(path).map_err(|error| {
                format!("neither `laptop`, nor `paper`, nor a file that can be read: {error}")
            })?;
            serde_json::from_slice(&bytes).map_err(|error| error.to_string())
        }
    }
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

impl Args {
    fn recipe(&self) -> Recipe {
        let mut recipe = self.recipe.clone();
        match self.split {
            None => {}
            Some(SplitName::CrossAttention) => {
                recipe.split = SplitConfig::CrossAttention(CrossAttentionConfig::default());
            }
            Some(SplitName::Linear) => recipe.split = SplitConfig::Linear,
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
                LevelsName::All => Levels::All(Weighting::Linear),
            };
        }
        recipe.batch = self.batch.unwrap_or(recipe.batch);
        recipe.rate.peak = self.rate.unwrap_or(recipe.rate.peak);
        recipe
    }

    fn lessons(&self) -> Result<Lessons> {
        if let (Some(documents), Some(queries), Some(train)) =
            (&self.embeddings, &self.query_embeddings, &self.pairs)
        {
            let dev = self.dev_pairs.as_deref();
            let material = Material::read(Files { documents, queries, train, dev })?;
            return Ok(Lessons { documents: material.set().documents.len(), material, made: None });
        }
        let data = self.data.as_deref().context("--data names nothing")?;
        let mut dataset = Texts { data: data.to_owned(), skip_bad_lines: self.skip_bad_lines }.open()?;
        let documents = dataset.corpus.len();
        dataset.hold_out_dev(0.1);
        let made = if dataset.pairs(&Split::Train).is_empty() {
            let config = MakeConfig { seed: self.seed, documents: self.sample };
            Some(made::make(data, &dataset, config, &self.chat)?)
        } else {
            None
        };
        let encoder = CachedEncoder::open(&self.encoder, &mut progress::fetching())?;
        let pairs = made.as_ref().map_or(&dataset, |made| &made.dataset);
        let material = Material::encode(pairs, &encoder, &mut progress::encoding())?;
        Ok(Lessons { material, made, documents })
    }
}

/// What is trained on.
struct Lessons {
    material: Material,
    /// Pairs that were made, if there were none.
    made: Option<MadePairs>,
    /// How many documents there are in all.
    documents: usize,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    if args.print_recipe {
        println!("{}", serde_json::to_string_pretty(&args.recipe())?);
        return Ok(());
    }
    let checkpoint = Checkpoint::of(&args.out);
    if args.out.exists() {
        bail!("{} exists already: name another --out, or remove it", args.out.display());
    }
    if checkpoint.exists() && !args.resume {
        let path = checkpoint.path().display();
        bail!("{path} holds an interrupted run: add --resume to take it up, or remove it");
    }
    let recipe = args.recipe();
    let lessons = args.lessons()?;
    let material = &lessons.material;
    let set = material.set();
    let depth = args.depth.unwrap_or_else(|| depth_for(lessons.documents));
    let config = recipe.tree(set.documents.width(), depth);
    if let Err(reason) = recipe.check().and_then(|()| config.check()) {
        bail!("{reason}");
    }
    let run = describe(&config, &recipe, material, args.seed)?;
    let mut learner = recipe.learner(config, args.seed);
    let (options, mut state) = if args.resume {
        let options = checkpoint.config()?;
        let state = checkpoint.load(&mut learner, &run)?;
        say!("taking up after {} of {} steps", state.step, options.steps);
        (options, state)
    } else {
        let steps = match args.steps {
            Some(steps) => steps,
            None => steps_within(args.budget, &mut learner, set, &recipe.training(1, args.seed))?,
        };
        let mut options = recipe.training(steps, args.seed);
        options.validate_every = args.validate_every.unwrap_or(options.validate_every);
        options.patience = args.patience;
        if args.depth.is_none() {
            say!(
                "a tree of depth {depth}, {} leaves, for {} documents; --depth N for another",
                depth.leaves(),
                lessons.documents
            );
        }
        say!(
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
    // Stopped at every validation for a checkpoint, so that not even a power failure costs more than the steps since.
    let mut observe = |event: Event| {
        bar(&event);
        let due = stop.load(Ordering::Relaxed) || matches!(event, Event::Validated { .. });
        if due { Control::Stop } else { Control::Continue }
    };
    while train(&mut learner, set, &options, &mut state, &mut observe)? == End::Interrupted {
        let saved = checkpoint.save(&learner, &state, &options, &run);
        if stop.load(Ordering::Relaxed) {
            saved?;
            bail!(
                "interrupted after {} of {} steps; nothing is lost: the same command with --resume goes on",
                state.step,
                options.steps
            );
        } else if let Err(error) = saved {
            say!("no checkpoint: {error}");
        }
    }
    let best = state
        .best
        .as_ref()
        .map(|best| json!({ "step": best.step, "share": best.share, "ndcg_at_10": best.score }));
    let held_out = lessons.made.as_ref().map(|made| made::held_out(made, material, &mut learner));
    let training = json!({
        "data": args.data.as_ref().or(args.embeddings.as_ref()),
        "recipe": recipe,
        "options": options,
        "steps_done": state.step,
        "validation": best,
        "made_pairs": lessons.made.as_ref().map(MadePairs::counts),
        "held_out": held_out,
        "scale": learner.scale(),
        "seconds": started.elapsed().as_secs(),
        "threads": rayon::current_num_threads(),
    });
    let encoder = serde_json::to_value(&material.encoder)?;
    let saved = SavedTree { tree: learner.into_tree(), encoder, training };
    saved.save(&args.out)?;
    checkpoint.remove()?;
    if let Some(best) = &state.best {
        let kept = match best.share {
            0.0 => "; training did not help: the tree is as it was planted".to_owned(),
            1.0 => String::new(),
            share => format!("; {:.0}% of the change of the weights was kept", 100.0 * share),
        };
        say!("validation nDCG@10 {:.4} after {} steps{kept}", best.score, best.step);
    }
    if let Some(rows) = &held_out {
        made::say_held_out(rows, set.documents.len());
    }
    if args.json {
        println!("{}", json!({ "tree": args.out, "depth": depth.get(), "training": saved.training }));
    } else {
        println!("{}", args.out.display());
    }
    Ok(())
}

/// What a run depends on besides its options: a line each, so that a difference can be named.
fn describe(
    config: &retreever::TreeConfig,
    recipe: &Recipe,
    material: &Material,
    seed: u64,
) -> Result<String> {
    Ok(format!(
        "{}\n{}\n{}\n{:016x}\nseed {seed}",
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
        say!("\nstopping after this step (again to stop at once)");
    })
    .context("cannot listen for Ctrl-C")?;
    Ok(stop)
}
