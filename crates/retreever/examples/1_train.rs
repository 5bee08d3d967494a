//! Train a tree on pairs of questions and documents, watching it learn.
//!
//! `cargo run --release -p retreever --example 1_train`, then 2 to 4 in order.

mod made;

use retreever::{Control, Event, Learner, Material, Recipe, SavedTree, State, depth_for, train};
use std::error::Error;
use std::fs;

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let place = made::home().join("tree");
    if place.exists() {
        fs::remove_dir_all(&place)?;
    }

    // Texts and pairs; a tenth of the questions is kept for choosing the best tree.
    let mut data = made::data(); // or: retreever::open(Path::new("my-data"), BadLines::Stop)?
    data.hold_out_dev(0.1);
    let material = Material::encode(&data, &made::encoder(), &mut |_| ())?;

    // A tree as deep as there are documents for, with everything else as the recipe says.
    let (recipe, seed) = (Recipe::laptop(), 7);
    let tree = recipe.tree(made::WIDTH, depth_for(data.corpus.len()));
    let mut learner = recipe.learner(tree, seed);

    let config = recipe.training(100, seed);
    let mut state = State::new(&learner, &config);
    train(&mut learner, material.set(), &config, &mut state, &mut |event| {
        if let Event::Validated { step, score, .. } = event {
            println!("after {step} steps: nDCG@10 {score:.3} on questions that were kept apart");
        }
        Control::Continue // or Stop, to take it up again from `state` later
    })?;

    let (scale, training) = (learner.scale(), serde_json::to_value(&config)?);
    let encoder = serde_json::to_value(&material.encoder)?;
    SavedTree { tree: learner.into_tree(), encoder, training }.save(&place)?;
    println!("loss scale {scale:.1}; the tree is {}", place.display());
    Ok(())
}
