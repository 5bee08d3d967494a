//! The tree of an index beside two plain trees, on made-up data.

mod made;

use made::{Words, write_data};
use retreever::{BadLines, CachedEncoder, Retriever, Split};
use retreever_bench::agreement::judge;

#[test]
fn three_trees_are_judged_by_the_same_pairs() {
    let home = tempfile::tempdir().unwrap();
    let (data, index) = (home.path().join("data"), home.path().join("index"));
    write_data(&data);
    let mut dataset = retreever::open(&data, BadLines::Stop).unwrap();
    let encoder = CachedEncoder::new("words", Box::new(Words), home.path().join("cache"));
    let mut retriever = Retriever::build_planted(&index, encoder, &dataset, &mut |_| ()).unwrap();
    // `d4` answers a query of the dev split.
    retriever.delete(&["d4"]).unwrap();
    let found = judge(&retriever, &dataset, &Split::Dev, &mut |_| ()).unwrap();
    assert_eq!((found.pairs, found.left_out, found.documents), (59, 1, 299));

    let levels = retriever.tree().config().depth.get();
    let mlp = found.two_means_encoder_mlp.as_ref().unwrap();
    for tree in [&found.tree, &found.two_means_encoder, mlp] {
        assert_eq!(tree.levels.len(), levels);
        assert!(tree.levels[0].together > tree.levels[0].chance + 0.2, "{:?}", tree.levels[0]);
        assert!(tree.topics.unwrap().topics > 8 && tree.congruence.is_some());
    }
    assert!(found.tree.levels.iter().all(|level| level.claims.unwrap().error < 0.5));

    let json = serde_json::to_value(&found).unwrap();
    for key in ["level", "together", "chance", "claimed", "found", "error", "fields"] {
        assert!(!json["levels"][0][key].is_null(), "{key}");
    }
    assert_eq!((json["split"].as_str(), json["pairs"].as_u64()), (Some("dev"), Some(59)));
    assert!(json["two_means_encoder"]["levels"][1]["claimed"].is_null());

    // Without pairs to train on there is no Encoder+MLP.
    dataset.qrels.remove(&Split::Train);
    let found = judge(&retriever, &dataset, &Split::Dev, &mut |_| ()).unwrap();
    assert_eq!((found.two_means_encoder_mlp, found.mlp_steps), (None, None));
    let error = judge(&retriever, &dataset, &Split::Train, &mut |_| ()).unwrap_err().to_string();
    assert!(error.contains("`train`") && error.contains("dev"), "{error}");
}
