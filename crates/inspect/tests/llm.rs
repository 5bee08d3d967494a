//! Labels from a model that is played by the test.

use retreever_inspect::llm::{Budget, Chat, ChatError, Reply, estimate, name};
use retreever_inspect::{Corpus, Inspection};
use retreever_tree::{Assignments, Depth, Routing};
use std::cell::Cell;
use std::time::Duration;

/// Fails at first, then names groups by number.
#[derive(Default)]
struct Played {
    calls: Cell<usize>,
    failures: Cell<usize>,
    refuses: bool,
}

impl Chat for Played {
    fn model(&self) -> &str {
        "played"
    }
    fn complete(&self, prompt: &str) -> Result<Reply, ChatError> {
        assert!(prompt.contains("Keywords: "));
        if self.refuses {
            return Err(ChatError::Refused("no such model".to_owned()));
        }
        if self.failures.get() > 0 {
            self.failures.set(self.failures.get() - 1);
            return Err(ChatError::Again("busy".to_owned()));
        }
        self.calls.set(self.calls.get() + 1);
        let text = format!("Sure: {{\"label\": \"Group {}\", \"summary\": \"About it.\"}}", self.calls.get());
        Ok(Reply { text, tokens: 10 })
    }
}

const TEXTS: [&str; 4] = ["ripe apples", "green apples", "rye bread", "white bread"];

fn inspection() -> Inspection {
    let rows = vec![0.9, 0.1, 0.8, 0.2, 0.1, 0.9, 0.3, 0.7];
    let documents = Assignments::nested(Depth::new(1).unwrap(), rows).unwrap();
    let routing = Routing::same();
    let corpus =
        Corpus { texts: &TEXTS, documents: &documents, routing: &routing, queries: None, metadata: &[] };
    Inspection::new(&corpus).unwrap()
}

fn budget(calls: usize) -> Budget {
    Budget { calls, tokens: 1000, tries: 3, pause: Duration::ZERO }
}

#[test]
fn a_run_is_bottom_up_within_its_budget_and_taken_up_again() {
    let dir = tempfile::tempdir().unwrap();
    let mut first = inspection();
    assert_eq!(estimate(&first, &TEXTS).calls, 3);
    let chat = Played { failures: Cell::new(2), ..Played::default() };
    let outcome = name(&mut first, &TEXTS, (&chat, dir.path()), budget(2), &mut |_| ());
    assert_eq!((outcome.asked, outcome.kept, outcome.left, outcome.tokens), (2, 0, 1, 20));
    assert_eq!((first.nodes[2].label.as_str(), first.nodes[1].label.as_str()), ("Group 1", "Group 2"));
    assert_eq!(first.nodes[0].label, "All documents");

    let mut second = inspection();
    let outcome = name(&mut second, &TEXTS, (&Played::default(), dir.path()), budget(9), &mut |_| ());
    assert_eq!((outcome.asked, outcome.kept, outcome.left), (1, 2, 0));
    assert_eq!(second.nodes[2].label, "Group 1");
}

#[test]
fn a_model_that_refuses_is_asked_once() {
    let dir = tempfile::tempdir().unwrap();
    let mut inspection = inspection();
    let chat = Played { refuses: true, ..Played::default() };
    let outcome = name(&mut inspection, &TEXTS, (&chat, dir.path()), budget(9), &mut |_| ());
    assert_eq!((outcome.asked, outcome.left), (0, 3));
    assert!(outcome.failure.is_some());
    assert_eq!(inspection.nodes[1].label, "Apples");
}
