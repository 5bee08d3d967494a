//! Training end to end on made-up pairs: it learns, it can be interrupted anywhere, and it says what is wrong.

use retreever_data::{Embeddings, Pair, Ragged};
use retreever_model::schedule::{LearningRate, Levels, Progress, Weighting};
use retreever_model::split::CrossAttentionConfig;
use retreever_model::{
    Adapter, AdapterConfig, Checkpoint, Control, End, Event, Learner, Lesson, ModelError, PropagationConfig,
    Random, Recipe, SavedTree, ScaleConfig, SplitConfig, State, Step, TrainConfig, TrainingSet, Tree,
    TreeConfig, TreeLearner, Workspace, train,
};
use retreever_tree::Depth;
use std::fs;

const WIDTH: usize = 12;

/// Queries and documents around shared centres, a document apiece.
fn items(count: usize, seed: u64, noise: f64) -> Ragged {
    let (mut centres, mut random) = (Random::new(5, 5), Random::new(seed, 6));
    let mut items = Ragged::new(WIDTH);
    for _ in 0..count {
        let centre: Vec<f64> = (0..WIDTH).map(|_| centres.normal()).collect();
        let tokens: Vec<f32> = (0..3)
            .flat_map(|_| centre.iter().map(|x| (x + noise * random.normal()) as f32).collect::<Vec<_>>())
            .collect();
        items.push(&tokens, &tokens[..WIDTH]);
    }
    items
}

fn pairs(range: std::ops::Range<u32>) -> Vec<Pair> {
    range.map(|n| Pair { query: n, document: n }).collect()
}

fn tree(split: SplitConfig) -> Tree {
    let depth = Depth::new(5).unwrap();
    let scale = ScaleConfig::Shared { start: 20.0, max: 50.0 };
    let propagation = PropagationConfig::Product;
    Tree::new(TreeConfig { width: WIDTH, depth, split, propagation, scale, temperatures: None }, 1)
}

fn attention() -> SplitConfig {
    SplitConfig::CrossAttention(CrossAttentionConfig {
        heads: 2,
        head_width: 8,
        level_embeddings: 2,
        dropout: 0.1,
    })
}

fn options(steps: u64) -> TrainConfig {
    TrainConfig {
        steps,
        batch: 16,
        neighbours: 1,
        seed: 3,
        rate: LearningRate { peak: 0.01, warm_up: 0.05 },
        optimiser: Default::default(),
        validate_every: 20,
        patience: None,
    }
}

/// Runs until the observer stops it.
fn run(
    learner: &mut dyn Learner,
    config: &TrainConfig,
    state: &mut State,
    stop_after: Option<u64>,
) -> (End, Vec<f64>) {
    run_on(&pairs(0..100), learner, config, state, stop_after)
}

fn run_on(
    known: &[Pair],
    learner: &mut dyn Learner,
    config: &TrainConfig,
    state: &mut State,
    stop_after: Option<u64>,
) -> (End, Vec<f64>) {
    let (queries, documents) = (items(120, 1, 0.3), items(120, 2, 0.3));
    let held_out = pairs(100..120);
    let set = TrainingSet { queries: &queries, documents: &documents, train: known, dev: &held_out };
    let mut scores = Vec::new();
    let end = train(learner, set, config, state, &mut |event| match event {
        Event::Validated { score, .. } => {
            scores.push(score);
            Control::Continue
        }
        Event::Step { progress, .. } if Some(progress.step + 1) == stop_after => Control::Stop,
        Event::Step { .. } => Control::Continue,
    });
    (end.unwrap(), scores)
}

#[test]
fn trees_and_adapters_learn() {
    let learners: [(&str, Box<dyn Learner>); 4] = [
        ("attention", Box::new(TreeLearner::new(tree(attention()), Levels::Stochastic(Weighting::Square)))),
        ("linear", Box::new(TreeLearner::new(tree(SplitConfig::Linear), Levels::Constant))),
        ("mlp adapter", Box::new(Adapter::new(AdapterConfig::Mlp { hidden: 16, dropout: 0.1 }, WIDTH, 1))),
        ("matryoshka", Box::new(Adapter::new(AdapterConfig::Matryoshka { largest: 16 }, WIDTH, 1))),
    ];
    for (name, mut learner) in learners {
        let config = options(200);
        let mut state = State::new(&*learner, &config);
        let (end, scores) = run(&mut *learner, &config, &mut state, None);
        assert_eq!((end, scores.len()), (End::Finished, 10));
        let best = scores.iter().copied().fold(0.0, f64::max);
        assert!(best > 0.6, "{name}: {scores:?}");
        let kept = state.best.as_ref().unwrap();
        assert_eq!(kept.score, best);
        assert_eq!(
            kept.params.as_slice(),
            learner.params().as_slice(),
            "{name} ends with its best parameters"
        );
    }
}

/// A tree of the laptop recipe, small enough for these items.
fn recipe() -> Recipe {
    let scale = ScaleConfig::Fitted { times: 1.0, max: 1000.0 };
    Recipe { batch: 16, scale, rate: LearningRate { peak: 0.02, warm_up: 0.05 }, ..Recipe::laptop() }
}

fn learner() -> TreeLearner {
    recipe().learner(recipe().tree(WIDTH, Depth::new(5).unwrap()), 1)
}

#[test]
fn the_scale_of_each_level_starts_where_the_loss_is_least() {
    let (mut learner, mut batch) = (learner(), Ragged::new(WIDTH));
    for side in [items(40, 1, 0.5), items(40, 2, 0.5)] {
        (0..side.len()).for_each(|item| side.append(item, &mut batch));
    }
    let lesson = |step| Lesson { progress: Progress { step, total: 2 }, seed: 1, mask: &[] };
    let set = TrainingSet { queries: &batch, documents: &batch, train: &pairs(0..40), dev: &[] };
    learner.prepare(lesson(0).progress, set, 1);
    learner.learn(&batch, lesson(0), &mut learner.params().clone());
    let (mut grads, mut room) = (learner.params().clone(), Workspace::default());
    grads.as_mut_slice().fill(0.0);
    let levels: Vec<_> = learner.tree().config().depth.levels().map(|level| (level, 1.0)).collect();
    let softness = recipe().softness;
    let step = Step { levels: &levels, softness, cosine: 0.0, dropout: None, mask: &[] };
    learner.tree().step(&batch, step, &mut room, &mut grads);
    let slopes = grads.by_name("log_scale").unwrap();
    assert!(slopes.iter().all(|slope| slope.abs() < 0.01), "{slopes:?}");
}

#[test]
fn what_holds_for_the_training_pairs_alone_is_taken_back() {
    // Each query is told the next one's document.
    let wrong: Vec<Pair> = (0..100).map(|n| Pair { query: n, document: (n + 1) % 100 }).collect();
    let (mut learner, config) = (learner(), options(100));
    let start = learner.params().as_slice().to_vec();
    let mut state = State::new(&learner, &config);
    let (end, scores) = run_on(&wrong, &mut learner, &config, &mut state, None);
    let (kept, last) = (state.best.unwrap(), scores[scores.len() - 1]);
    assert_eq!((end, kept.step), (End::Finished, 100), "the last weights");
    assert!(kept.share < 1.0 && kept.score > last + 0.1, "{} {} {scores:?}", kept.share, kept.score);
    assert_ne!(kept.params.as_slice(), start);
}

#[test]
fn an_interrupted_run_ends_with_the_same_bits() {
    let directory = tempfile::tempdir().unwrap();
    let config = options(60);
    for start in [|| TreeLearner::new(tree(attention()), Levels::Stochastic(Weighting::Square)), learner] {
        let mut whole = start();
        let mut state = State::new(&whole, &config);
        assert_eq!(run(&mut whole, &config, &mut state, None).0, End::Finished);

        for stop_after in [1, 20, 37] {
            let checkpoint = Checkpoint::of(&directory.path().join("tree"));
            let mut first = start();
            let mut state = State::new(&first, &config);
            assert_eq!(run(&mut first, &config, &mut state, Some(stop_after)).0, End::Interrupted);
            assert_eq!(state.step, stop_after);
            checkpoint.save(&first, &state, &config, "run").unwrap();

            let mut second = start();
            assert_eq!(checkpoint.config().unwrap(), config);
            assert!(matches!(checkpoint.load(&mut second, "another"), Err(ModelError::OtherRun { .. })));
            let mut state = checkpoint.load(&mut second, "run").unwrap();
            assert_eq!(run(&mut second, &config, &mut state, None).0, End::Finished);
            assert_eq!(second.params().as_slice(), whole.params().as_slice(), "stopped after {stop_after}");
            checkpoint.remove().unwrap();
        }
    }
}

#[test]
fn validation_without_a_new_best_stops_early() {
    let mut learner = TreeLearner::new(tree(attention()), Levels::Constant);
    let mut config = TrainConfig { patience: Some(2), ..options(10_000) };
    config.rate.peak = 0.0;
    let mut state = State::new(&learner, &config);
    let (end, scores) = run(&mut learner, &config, &mut state, None);
    assert_eq!((end, scores.len(), state.step), (End::Finished, 3, 60));
}

#[test]
fn a_saved_tree_opens_the_same_and_damage_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("tree");
    let saved = SavedTree { tree: tree(attention()), encoder: "none".into(), training: 7.into() };
    saved.save(&path).unwrap();
    assert!(matches!(saved.save(&path), Err(ModelError::Exists(_))));
    let opened = SavedTree::open(&path).unwrap();
    let documents = items(30, 2, 0.3);
    let mut counted = 0;
    let ours = opened.tree.assign(&documents, |done| counted = done);
    assert_eq!((ours.clone(), counted), (saved.tree.assign(&documents, |_| ()), 30));
    assert_eq!((opened.encoder, opened.training), (saved.encoder, saved.training));

    let message =
        |path: &std::path::Path| SavedTree::open(path).err().map(|error| error.to_string()).unwrap();
    let model = path.join("model.safetensors");
    let whole = fs::read(&model).unwrap();
    for cut in [0, 4, 100, whole.len() - 1] {
        fs::write(&model, &whole[..cut]).unwrap();
        assert!(message(&path).contains("model.safetensors"), "cut at {cut}");
    }
    let mut broken = whole.clone();
    let end = broken.len();
    broken[end - 4..].copy_from_slice(&f32::NAN.to_le_bytes());
    fs::write(&model, &broken).unwrap();
    assert!(message(&path).contains("NaN"));
    fs::write(&model, &whole).unwrap();
    let config = fs::read_to_string(path.join("config.json")).unwrap();
    fs::write(path.join("config.json"), config.replace("\"heads\": 2", "\"heads\": 3")).unwrap();
    assert!(message(&path).contains("expected F32"));
    fs::write(path.join("config.json"), config.replace("\"heads\": 2", "\"heads\": 0")).unwrap();
    assert!(message(&path).contains("`heads` is 0"));
    fs::write(path.join("config.json"), "{").unwrap();
    assert!(message(&path).contains("config.json"));
}

#[test]
fn pairs_that_do_not_fit_are_refused() {
    let (queries, documents) = (items(10, 1, 0.3), items(10, 2, 0.3));
    let mut narrow = Ragged::new(2);
    narrow.push(&[0.0, 1.0], &[0.0, 1.0]);
    let attempt = |documents: &Ragged, train_pairs: &[Pair]| {
        let mut learner = TreeLearner::new(tree(attention()), Levels::Constant);
        let config = options(5);
        let mut state = State::new(&learner, &config);
        let set = TrainingSet { queries: &queries, documents, train: train_pairs, dev: &[] };
        train(&mut learner, set, &config, &mut state, &mut |_| Control::Continue)
            .map_err(|error| error.to_string())
    };
    assert!(attempt(&documents, &[]).unwrap_err().contains("too few"));
    assert!(attempt(&documents, &pairs(5..12)).unwrap_err().contains("only 10"));
    assert!(attempt(&narrow, &pairs(0..5)).unwrap_err().contains("2 wide where 12"));
    assert_eq!(attempt(&documents, &pairs(0..5)), Ok(End::Finished));
}
