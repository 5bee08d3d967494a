//! Index documents with a trained tree, add to the index, delete from it.
//!
//! Needs the tree of the example `1_train`.

mod made;

use retreever::Retriever;
use retreever_data::Document;
use std::error::Error;
use std::fs;

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let (tree, place) = (made::home().join("tree"), made::home().join("index"));
    if place.exists() {
        fs::remove_dir_all(&place)?;
    }
    let corpus = made::data().corpus;
    let mut retriever = Retriever::build(&place, &tree, made::encoder(), &corpus, &mut |_| ())?;
    println!("{} documents", retriever.snapshot()?.len());

    // What is added is searchable once this returns; a crash at any moment leaves the state before or after.
    let text = "A note on weather: hail fell on the roses.".to_owned();
    let note = Document { id: "hail".to_owned(), text, ..Document::default() };
    retriever.add(&[note], &mut |_| ())?;
    retriever.delete(&["note-0", "note-1"])?;

    let verified = retriever.index().verify()?;
    println!("{} documents in {} segments, every byte read", verified.documents, verified.segments);
    println!("the index is {}", place.display());
    Ok(())
}
