//! Ask an index: exactly, reading only some leaves, at an upper level, with words, and see why.
//!
//! Needs the index of the example `2_index`.

mod made;

use retreever::{Explainer, Fusion, Guarantee, Mode, Opening, Query, Retriever};
use std::error::Error;

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let retriever = Retriever::open_with(&made::home().join("index"), made::encoder())?;
    let snapshot = retriever.snapshot()?;
    let words = "storm and frost";
    let asked = retriever.route(words)?;

    // Exact: provably the nearest of all documents.
    let query = Query::new(asked.row(0), 3);
    let answer = snapshot.search(&query)?;
    assert_eq!(answer.guarantee, Guarantee::Exact);
    for hit in &answer.hits {
        println!("{:.3}  {}", hit.score, snapshot.document(hit)?.text);
    }

    // Why: where the question goes, what both have in common, and an exact account of the score.
    let explainer = Explainer::new(&snapshot)?;
    println!("{}", explainer.way(query.assignment));
    println!("{}", explainer.explain(&query, &answer.hits[0])?);

    // Only the likeliest leaves, until a tenth of the documents is read.
    let some = Query { mode: Mode::Leaves(Opening::Read(0.1)), ..query.clone() };
    let answer = snapshot.search(&some)?;
    println!("{:.0}% read: {:?}", 100.0 * answer.share_read, answer.guarantee);

    // Sixteen numbers for each document instead of all.
    let coarse = Query { level: asked.depth().level(4), ..query.clone() };
    println!("{} hits at level 4", snapshot.search(&coarse)?.hits.len());

    // Mixed with BM25, and only documents that fit a filter.
    let filtered = Query { filter: Some("under 1".parse()?), ..query.clone() };
    println!("{} hits under node 1", snapshot.search(&filtered)?.hits.len());
    let mixed = snapshot.search_hybrid(&query, words, Fusion::Weighted(0.3))?;
    println!("with words: {}", snapshot.document(&mixed.hits[0])?.id);
    Ok(())
}
