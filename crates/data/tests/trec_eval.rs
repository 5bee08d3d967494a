//! Our measures are `trec_eval`'s, on a random run with ties, unanswered queries and graded judgements.
//! `golden/trec_eval.py` made the numbers; the run is drawn here as it is drawn there.

use retreever_data::{Qrels, Run, evaluate};
use serde_json::Value;

struct Draw(u64);

impl Draw {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % n
    }
}

fn random_run() -> (Qrels, Run) {
    let (mut draw, mut qrels, mut run) = (Draw(7), Qrels::new(), Run::new());
    for q in 0..40 {
        let query = format!("q{q}");
        let relevant = draw.below(9);
        for i in 0..9 {
            let document = format!("d{}", draw.below(200));
            let grade = if i < relevant { draw.below(4) } else { 0 };
            qrels.insert(&query, &document, grade as u32);
        }
        for _ in 0..[0, 3, 12, 180][draw.below(4) as usize] {
            let document = format!("d{}", draw.below(200));
            run.insert(&query, &document, draw.below(12) as f32 / 8.0);
        }
    }
    (qrels, run)
}

#[test]
fn equal_to_trec_eval() {
    let golden: Value = serde_json::from_str(include_str!("golden/trec_eval.json")).unwrap();
    let (qrels, run) = random_run();
    let scores = evaluate(&qrels, &run);
    let answered = golden.as_object().unwrap();
    assert_eq!(answered.len(), run.len());
    assert_eq!(scores.unanswered, qrels.len() - run.len());
    assert!(scores.unanswered > 0);
    for (query, expected) in answered {
        let ours = &scores.queries[query];
        let first = expected["recip_rank"].as_f64().unwrap();
        let pairs = [
            (ours.ndcg.at_1, expected["ndcg_cut_1"].as_f64()),
            (ours.ndcg.at_5, expected["ndcg_cut_5"].as_f64()),
            (ours.ndcg.at_10, expected["ndcg_cut_10"].as_f64()),
            (ours.ndcg.at_100, expected["ndcg_cut_100"].as_f64()),
            (ours.recall.at_1, expected["recall_1"].as_f64()),
            (ours.recall.at_5, expected["recall_5"].as_f64()),
            (ours.recall.at_10, expected["recall_10"].as_f64()),
            (ours.recall.at_100, expected["recall_100"].as_f64()),
            (ours.map, expected["map"].as_f64()),
            // trec_eval's reciprocal rank has no cut: one below a tenth is beyond rank 10.
            (ours.mrr_at_10, Some(if first < 0.1 { 0.0 } else { first })),
        ];
        for (at, (ours, theirs)) in pairs.into_iter().enumerate() {
            let theirs = theirs.unwrap();
            assert!((ours - theirs).abs() < 1e-6, "{query}, measure {at}: {ours} against {theirs}");
        }
    }
}

#[test]
fn the_mean_counts_unanswered_queries_as_zero() {
    let qrels: Qrels = [("a", "x", 1), ("b", "x", 1)].into_iter().collect();
    let run: Run = [("a", "x", 0.5), ("c", "x", 0.5)].into_iter().collect();
    let scores = evaluate(&qrels, &run);
    assert_eq!((scores.mean.ndcg.at_10, scores.mean.map, scores.unanswered), (0.5, 0.5, 1));
}

#[test]
fn ties_are_broken_by_the_greater_id() {
    let run: Run = [("q", "d10", 1.0), ("q", "d9", 1.0), ("q", "d1", 2.0)].into_iter().collect();
    let ranking: Vec<&str> = run.ranking("q").into_iter().map(|(document, _)| document).collect();
    assert_eq!(ranking, ["d1", "d9", "d10"]);
}
