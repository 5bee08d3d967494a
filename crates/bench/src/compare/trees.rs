//! The trees of a comparison, judged as trees by the pairs that everything is scored on.

use super::material::Material;
use crate::baselines::Rows;
use retreever_inspect::Places;
use retreever_inspect::congruence::Vectors;
use retreever_inspect::judgement::{Ground, Judged, Judgement};
use retreever_tree::{Assignments, Depth, Routing};

/// What every tree of a comparison is judged by.
fn ground(material: &Material) -> Ground<'_> {
    let items = material.dataset.corpus.items();
    let metadata: Vec<_> = items.iter().map(|item| item.metadata.clone()).collect();
    Ground::new(material.pairs.clone())
        .with_texts(&material.texts)
        .with_metadata(&metadata)
        .with_vectors(vectors(material.documents()))
}

fn vectors(rows: Rows<'_>) -> Vectors<'_> {
    Vectors { width: rows.width(), values: rows.as_slice() }
}

/// Judges a tree that routes all documents and the test queries.
pub(super) fn routed(
    material: &Material,
    (documents, queries): (&Assignments, &Assignments),
    routing: &Routing,
) -> Judgement {
    let places = Places::routed(documents, routing);
    ground(material).judge(Judged::Routed { places: &places, documents, queries, routing })
}

/// Judges hierarchical 2-means over these rows of all documents and the test queries.
pub(super) fn two_means(
    material: &Material,
    (documents, queries): (Rows<'_>, Rows<'_>),
    depth: Depth,
    seed: u64,
) -> Judgement {
    ground(material).judge_two_means(vectors(documents), vectors(queries), depth, seed)
}
