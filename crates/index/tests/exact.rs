//! Every mode against scoring each document by definition.

mod made;

use made::{Dice, Recipe};
use proptest::prelude::*;
use retreever_index::search::rows::{RowHit, approximate, exact};
use retreever_index::segment::{Durability, Input, Segment, build};
use retreever_index::{
    Document, Filter, Fusion, Guarantee, Hit, Index, Mode, Opening, Query, Shape, Snapshot,
};
use retreever_kernels::l1::l1;
use retreever_tree::{Assignment, Assignments, Level, Nesting, NodeId, Routing};
use serde_json::json;

fn recipe() -> impl Strategy<Value = Recipe> {
    let nesting = prop_oneof![3 => Just(Nesting::Nested), 1 => Just(Nesting::PerLevel)];
    (1u8..9, nesting, prop_oneof![Just(0.05f32), Just(0.3), Just(2.0)], any::<u64>())
        .prop_map(|(depth, nesting, sharpness, seed)| Recipe { depth, nesting, sharpness, seed })
}

/// All documents by definition: nearest first, equals as they were added.
fn brute_force(items: &Assignments, query: Assignment<'_>, level: Level) -> Vec<(f64, usize)> {
    let q = query.at(level);
    let mut all: Vec<(f64, usize)> =
        items.iter().enumerate().map(|(i, item)| (1.0 - l1(&q, &item.at(level)) / 2.0, i)).collect();
    all.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    all
}

/// An index of the items in up to three commits, each document named by its number.
fn index_of(dir: &std::path::Path, routing: &Routing, items: &Assignments, dice: &mut Dice) -> Index {
    let shape = Shape { depth: items.depth(), nesting: items.nesting() };
    let index = Index::create(dir, shape, routing.clone()).unwrap();
    let mut writer = index.writer().unwrap();
    let mut from = 0;
    for part in 0..3 {
        let to = if part == 2 { items.len() } else { from + dice.below(items.len() - from + 1) };
        let documents: Vec<Document> = (from..to).map(document).collect();
        let rows = (from..to).flat_map(|i| items.row(i).as_slice().to_vec()).collect();
        writer.add(&documents, &Assignments::new(items.depth(), items.nesting(), rows).unwrap()).unwrap();
        writer.commit().unwrap();
        from = to;
    }
    index
}

fn document(i: usize) -> Document {
    let mut document = Document::new(i.to_string(), format!("word{} shared{}", i % 7, i % 2));
    document.metadata.insert("year".to_owned(), json!(2000 + i % 20));
    document.metadata.insert("domain".to_owned(), json!(["auto", "home", "life"][i % 3]));
    if i.is_multiple_of(2) {
        document.metadata.insert("tags".to_owned(), json!(["even", i % 5]));
        document.metadata.insert("draft".to_owned(), json!(i.is_multiple_of(4)));
    }
    document
}

fn found(snapshot: &Snapshot, hits: &[Hit]) -> Vec<(f64, usize)> {
    hits.iter().map(|hit| (hit.score, snapshot.document(hit).unwrap().id.parse().unwrap())).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn every_mode_agrees_with_brute_force(recipe in recipe(), count in 1usize..150, k in 1usize..20) {
        let dir = tempfile::tempdir().unwrap();
        let items = recipe.items(count, 1);
        let queries = recipe.items(3, 2);
        let mut dice = Dice::new(recipe.seed);
        let index = index_of(dir.path(), &recipe.routing(), &items, &mut dice);
        let snapshot = index.snapshot().unwrap();
        prop_assert_eq!(snapshot.routing(), &recipe.routing());
        for level in recipe.depth().levels() {
            let rows: Vec<Assignment<'_>> = queries.iter().collect();
            let batch = snapshot.search_batch(&rows, Some(level), k).unwrap();
            for (assignment, batched) in queries.iter().zip(batch) {
                let all = brute_force(&items, assignment, level);
                let best: Vec<_> = all.iter().copied().take(k).collect();
                let query = Query { level: Some(level), ..Query::new(assignment, k) };
                let answer = snapshot.search(&query).unwrap();
                prop_assert_eq!((answer.guarantee, answer.cover), (Guarantee::Exact, Some(1.0)));
                prop_assert_eq!(&found(&snapshot, &answer.hits), &best);
                prop_assert_eq!(&batched.hits, &answer.hits);

                let approximate = Mode::Approximate { rerank: count };
                let answer = snapshot.search(&Query { mode: approximate, ..query.clone() }).unwrap();
                prop_assert_eq!((answer.guarantee, answer.cover), (Guarantee::None, None));
                let last = best.last().unwrap().0;
                // With every document compared, only those that codes cannot tell apart may change places.
                for hit in found(&snapshot, &answer.hits) { prop_assert!(hit.0 >= last - 0.05); }

                let top = Opening::Top(1 + dice.below(recipe.depth().leaves()));
                let cover = Opening::Cover(f64::from(dice.unit()));
                for opening in [top, cover, Opening::Read(0.3), Opening::Cover(0.0), Opening::Cover(1.0)] {
                    check_leaves(&snapshot, &items, &query, opening, &all)?;
                }
            }
        }
    }

    #[test]
    fn segments_alone_agree_too(recipe in recipe(), count in 0usize..300) {
        let dir = tempfile::tempdir().unwrap();
        let (items, routing) = (recipe.items(count, 1), recipe.routing());
        let queries = recipe.items(2, 2);
        let path = dir.path().join("x.segment");
        let sequence: Vec<u64> = (0..count as u64).map(|i| 5 + 3 * i).collect();
        build(&path, Input::new(&items, &routing, &sequence), Durability::Written).unwrap();
        let segment = Segment::open(&path).unwrap();
        segment.verify().unwrap();
        let level = recipe.depth().leaf_level();
        for query in queries.iter() {
            let hits = exact(&[&segment], &[query], level, 7).unwrap().remove(0);
            let hits: Vec<_> = hits.iter().map(|hit| (hit.score, (hit.sequence as usize - 5) / 3)).collect();
            let mut best = brute_force(&items, query, level);
            best.truncate(7);
            prop_assert_eq!(hits, best);
        }
    }
}

/// So many rows that the sketch chooses, and that exact scans begin with a limit.
#[test]
fn many_rows_agree_with_brute_force() {
    for (nesting, sharpness) in [(Nesting::Nested, 0.2), (Nesting::Nested, 1.5), (Nesting::PerLevel, 0.3)] {
        let recipe = Recipe { depth: 8, nesting, sharpness, seed: 11 };
        let (items, queries, routing) = (recipe.items(11_000, 1), recipe.items(6, 2), recipe.routing());
        let dir = tempfile::tempdir().unwrap();
        let width = items.as_slice().len() / items.len();
        let segments: Vec<Segment> = [0..4_000, 4_000..11_000]
            .into_iter()
            .map(|rows: std::ops::Range<usize>| {
                let path = dir.path().join(format!("{}.segment", rows.start));
                let sequence: Vec<u64> = rows.clone().map(|row| row as u64).collect();
                let shape = Shape { depth: items.depth(), nesting };
                let numbers = &items.as_slice()[rows.start * width..rows.end * width];
                let input = Input { shape, routing: &routing, rows: numbers, sequence: &sequence };
                build(&path, input, Durability::Written).unwrap();
                let alone = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
                let other = path.with_extension("other");
                alone.install(|| build(&other, input, Durability::Written)).unwrap();
                let same = std::fs::read(&path).unwrap() == std::fs::read(&other).unwrap();
                assert!(same, "the bytes depend on the number of threads");
                Segment::open(&path).unwrap()
            })
            .collect();
        let segments: Vec<&Segment> = segments.iter().collect();
        let rows: Vec<Assignment<'_>> = queries.iter().collect();
        for level in recipe.depth().levels().filter(|level| level.get() >= 6) {
            let batch = exact(&segments, &rows, level, 10).unwrap();
            let (mut kept, mut wanted) = (0, 0);
            for (query, batched) in rows.iter().zip(batch) {
                let mut best = brute_force(&items, *query, level);
                best.truncate(10);
                let place = |hit: &RowHit| (hit.score, hit.sequence as usize);
                let single = exact(&segments, &[*query], level, 10).unwrap().remove(0);
                assert_eq!(single.iter().map(place).collect::<Vec<_>>(), best);
                assert_eq!(batched, single);
                let near = approximate(&segments, *query, level, (100, 10)).unwrap();
                kept += near.iter().filter(|hit| hit.score >= best[9].0).count();
                wanted += best.len();
                assert!(near.iter().all(|hit| hit.score <= best[0].0));
            }
            // Sharp rows look alike at the level of the sketch, and levels of their own say little about each other.
            let diffuse = nesting == Nesting::Nested && sharpness < 1.0;
            assert!(!diffuse || 10 * kept >= 9 * wanted, "{kept} of {wanted} at level {level}");
        }
    }
}

fn check_leaves(
    snapshot: &Snapshot,
    items: &Assignments,
    query: &Query<'_>,
    opening: Opening,
    all: &[(f64, usize)],
) -> Result<(), TestCaseError> {
    let answer = snapshot.search(&Query { mode: Mode::Leaves(opening), ..query.clone() }).unwrap();
    let routing = snapshot.routing();
    let routed = routing.read(query.assignment);
    let chances = routed.leaves();
    let mut order: Vec<usize> = (0..chances.len()).collect();
    order.sort_by(|a, b| chances[*b].total_cmp(&chances[*a]));
    let places: Vec<usize> = items.iter().map(|item| routing.leaf(item).index()).collect();
    let (mut opened, mut read, mut chance) = (Vec::new(), 0, 0.0);
    for leaf in order {
        let done = match opening {
            Opening::Top(count) => opened.len() == count,
            Opening::Read(share) => read as f64 >= share * items.len() as f64,
            Opening::Cover(share) => chance >= routing.opened_for(share),
        };
        if done {
            break;
        }
        read += places.iter().filter(|place| **place == leaf).count();
        chance += f64::from(chances[leaf]);
        opened.push(leaf);
    }
    prop_assert_eq!(answer.share_read, read as f64 / items.len() as f64);
    match answer.cover {
        _ if read == items.len() => prop_assert_eq!(answer.cover, Some(1.0)),
        Some(cover) => {
            prop_assert_eq!(cover, routing.chance_of(chance));
            if let Opening::Cover(wanted) = opening {
                prop_assert!(cover >= wanted - 1e-9, "{} for {}", cover, wanted);
            }
        }
        None => prop_assert!(!routing.is_calibrated()),
    }
    let is_open = |i: usize| opened.contains(&places[i]);
    let best: Vec<_> = all.iter().copied().filter(|(_, i)| is_open(*i)).take(query.k).collect();
    prop_assert_eq!(&found(snapshot, &answer.hits), &best);
    let unread =
        all.iter().filter(|(_, i)| !is_open(*i)).map(|(score, _)| *score).fold(f64::NEG_INFINITY, f64::max);
    match answer.guarantee {
        Guarantee::Exact => {
            prop_assert!(best.len() == query.k.min(items.len()) && unread <= best.last().unwrap().0)
        }
        Guarantee::UnreadAtMost(most) => prop_assert!(unread <= most),
        Guarantee::None => prop_assert_eq!(items.nesting(), Nesting::PerLevel),
    }
    Ok(())
}

#[test]
fn filters_agree_with_a_naive_scan() {
    let recipe = Recipe { depth: 4, nesting: Nesting::Nested, sharpness: 0.4, seed: 9 };
    let (items, queries) = (recipe.items(200, 1), recipe.items(2, 2));
    let dir = tempfile::tempdir().unwrap();
    let routing = recipe.routing();
    let index = index_of(dir.path(), &routing, &items, &mut Dice::new(5));
    let snapshot = index.snapshot().unwrap();
    let year = |i: usize| 2000 + i % 20;
    let domain = |i: usize| ["auto", "home", "life"][i % 3];
    let under = |i: usize, node| routing.leaf(items.row(i)).node(recipe.depth()).is_under(NodeId::new(node));
    type Rule<'a> = Box<dyn Fn(usize) -> bool + 'a>;
    let cases: Vec<(&str, Rule<'_>)> = vec![
        (r#"domain = "auto" and year > 2010"#, Box::new(|i| domain(i) == "auto" && year(i) > 2010)),
        (r#"domain != "auto""#, Box::new(|i| domain(i) != "auto")),
        (
            r#"domain in ("auto", "life") and not year >= 2005.5"#,
            Box::new(|i| domain(i) != "home" && year(i) < 2006),
        ),
        (r#"domain < "home""#, Box::new(|i| domain(i) < "home")),
        ("draft = true", Box::new(|i| i.is_multiple_of(4))),
        ("not draft = true", Box::new(|i| !i.is_multiple_of(4))),
        ("draft != true", Box::new(|i| !i.is_multiple_of(4))),
        ("draft = false or year = 2001", Box::new(|i| i % 4 == 2 || year(i) == 2001)),
        (r#"tags = "even" and tags = 3"#, Box::new(|i| i.is_multiple_of(2) && i % 5 == 3)),
        ("tags in (1, 2)", Box::new(|i| i.is_multiple_of(2) && [1, 2].contains(&(i % 5)))),
        ("year not in (2001, 2003)", Box::new(|i| ![2001, 2003].contains(&year(i)))),
        (r#"year = "2001""#, Box::new(|_| false)),
        ("missing = 1", Box::new(|_| false)),
        ("not missing = 1", Box::new(|_| true)),
        ("under 5", Box::new(|i| under(i, 5))),
        (
            "under 2 and not under 5 or year <= 2001",
            Box::new(|i| under(i, 2) && !under(i, 5) || year(i) <= 2001),
        ),
        ("under 0", Box::new(|_| true)),
        ("under 4000", Box::new(|_| false)),
    ];
    for (text, rule) in cases {
        let filter: Filter = text.parse().unwrap();
        for assignment in queries.iter() {
            let all = brute_force(&items, assignment, recipe.depth().leaf_level());
            let best: Vec<_> = all.iter().copied().filter(|(_, i)| rule(*i)).collect();
            let query = Query { filter: Some(filter.clone()), ..Query::new(assignment, 500) };
            let answer = snapshot.search(&query).unwrap();
            assert_eq!(found(&snapshot, &answer.hits), best, "{text}");
            let leaves = Query { mode: Mode::Leaves(Opening::Top(16)), ..query.clone() };
            assert_eq!(found(&snapshot, &snapshot.search(&leaves).unwrap().hits), best, "{text}");
            let approximate = Query { mode: Mode::Approximate { rerank: 500 }, k: 500, ..query.clone() };
            let mut near = found(&snapshot, &snapshot.search(&approximate).unwrap().hits);
            near.sort_by_key(|(_, i)| *i);
            let mut ids = best.clone();
            ids.sort_by_key(|(_, i)| *i);
            assert_eq!(near, ids, "{text}");
            for fusion in [Fusion::Weighted(0.3), Fusion::ReciprocalRank] {
                let hybrid = snapshot.search_hybrid(&query, "word1 shared1", fusion).unwrap();
                parts_add_up(&hybrid.hits, fusion);
                let mut hybrid: Vec<usize> = found(&snapshot, &hybrid.hits).iter().map(|(_, i)| *i).collect();
                hybrid.sort_unstable();
                assert_eq!(hybrid, ids.iter().map(|(_, i)| *i).collect::<Vec<_>>(), "{text}");
            }
            let words = snapshot.search_words("word1", 500, Some(&filter)).unwrap();
            let mut words: Vec<usize> = found(&snapshot, &words.hits).iter().map(|(_, i)| *i).collect();
            words.sort_unstable();
            assert_eq!(words, (0..200).filter(|i| i % 7 == 1 && rule(*i)).collect::<Vec<_>>(), "{text}");
        }
    }
}

fn parts_add_up(hits: &[Hit], fusion: Fusion) {
    for hit in hits {
        let parts = hit.parts.unwrap();
        assert_eq!(hit.score, parts.tree + parts.words);
        let most = match fusion {
            Fusion::Weighted(weight) => [1.0 - weight, weight],
            Fusion::ReciprocalRank => [1.0 / 61.0; 2],
        };
        assert!((0.0..=most[0]).contains(&parts.tree) && (0.0..=most[1]).contains(&parts.words), "{parts:?}");
    }
}

#[test]
fn the_parts_of_a_mixed_score_are_those_of_both_searches() {
    let recipe = Recipe { depth: 4, nesting: Nesting::Nested, sharpness: 0.4, seed: 10 };
    let (items, queries) = (recipe.items(300, 1), recipe.items(1, 2));
    let dir = tempfile::tempdir().unwrap();
    let index = index_of(dir.path(), &recipe.routing(), &items, &mut Dice::new(5));
    let snapshot = index.snapshot().unwrap();
    let query = Query::new(queries.row(0), 20);
    let (tree, words) =
        (snapshot.search(&query).unwrap(), snapshot.search_words("word1 shared1", 300, None).unwrap());
    assert!(tree.hits.iter().chain(&words.hits).all(|hit| hit.parts.is_none()));
    let by_tree: Vec<f64> = brute_force(&items, query.assignment, recipe.depth().leaf_level())
        .into_iter()
        .fold(vec![0.0; 300], |mut scores, (score, i)| {
            scores[i] = score;
            scores
        });
    let by_words = found(&snapshot, &words.hits);
    let hybrid = snapshot.search_hybrid(&query, "word1 shared1", Fusion::Weighted(0.3)).unwrap();
    assert_eq!((hybrid.hits.len(), hybrid.cover), (20, Some(1.0)));
    parts_add_up(&hybrid.hits, Fusion::Weighted(0.3));
    for (hit, (_, i)) in hybrid.hits.iter().zip(found(&snapshot, &hybrid.hits)) {
        let parts = hit.parts.unwrap();
        assert_eq!(parts.tree, 0.7 * by_tree[i]);
        let here = by_words.iter().find(|(_, other)| *other == i).map_or(0.0, |(score, _)| *score);
        let words = 0.3 * here / by_words[0].0;
        assert!(parts.words == 0.0 || (parts.words - words).abs() < 1e-9, "{parts:?} {words}");
    }
    let ranked = snapshot.search_hybrid(&query, "word1 shared1", Fusion::ReciprocalRank).unwrap();
    parts_add_up(&ranked.hits, Fusion::ReciprocalRank);
    let first = ranked.hits.iter().zip(found(&snapshot, &ranked.hits));
    let first: Vec<_> = first.filter(|(hit, _)| hit.parts.unwrap().tree == 1.0 / 61.0).collect();
    assert_eq!(first[0].1.1, found(&snapshot, &tree.hits)[0].1);
}

#[test]
fn an_explanation_adds_up() {
    let recipe = Recipe { depth: 5, nesting: Nesting::Nested, sharpness: 0.3, seed: 4 };
    let (items, queries) = (recipe.items(60, 1), recipe.items(1, 2));
    let dir = tempfile::tempdir().unwrap();
    let index = index_of(dir.path(), &recipe.routing(), &items, &mut Dice::new(1));
    let snapshot = index.snapshot().unwrap();
    for level in recipe.depth().levels() {
        let query = Query { level: Some(level), ..Query::new(queries.row(0), 3) };
        for hit in snapshot.search(&query).unwrap().hits {
            let shares = snapshot.explain(&query, &hit).unwrap();
            let sum: f64 = shares.iter().map(|share| share.score).sum();
            assert!((sum - hit.score).abs() < 1e-5, "{sum} {}", hit.score);
            assert!(shares.is_sorted_by(|a, b| a.score >= b.score));
            assert!(shares.iter().all(|share| share.node.level() == level));
        }
    }
}
