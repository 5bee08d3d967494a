//! The examples, one after the other as a reader runs them.

// Each example has the made-up data as a module of its own.
#![allow(clippy::duplicate_mod)]

#[path = "../examples/4_explore.rs"]
mod explore;
#[path = "../examples/2_index.rs"]
mod index;
#[path = "../examples/3_search.rs"]
mod search;
#[path = "../examples/1_train.rs"]
mod train;

#[test]
fn the_examples_run_in_order() {
    train::main().unwrap();
    index::main().unwrap();
    search::main().unwrap();
    explore::main().unwrap();
}
