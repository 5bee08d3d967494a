//! Adding, replacing, deleting, compacting and searching at once; killed writers; full disks.
//!
//! The tests that need a process to kill start this test program again, as the writer of [`child`].

mod made;

use made::{Dice, Recipe};
use retreever_index::{Document, Error, Index, Query, Shape, Snapshot};
use retreever_tree::{Assignment, Assignments, LeafId, Nesting, NodeId, Routing};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

const RECIPE: Recipe = Recipe { depth: 5, nesting: Nesting::Nested, sharpness: 0.4, seed: 77 };

fn shape() -> Shape {
    Shape { depth: RECIPE.depth(), nesting: RECIPE.nesting }
}

/// The ids and texts of all documents, each found through its row.
fn contents(snapshot: &Snapshot) -> BTreeMap<String, String> {
    let query = RECIPE.items(1, 9);
    let answer = snapshot.search(&Query::new(query.row(0), usize::MAX)).unwrap();
    assert_eq!(answer.hits.len(), snapshot.len());
    answer
        .hits
        .iter()
        .map(|hit| {
            let document = snapshot.document(hit).unwrap();
            (document.id, document.text)
        })
        .collect()
}

#[test]
fn documents_come_go_and_change_while_readers_search() {
    let dir = tempfile::tempdir().unwrap();
    let index = Index::create(dir.path(), shape(), RECIPE.routing()).unwrap();
    assert!(matches!(Index::create(dir.path(), shape(), RECIPE.routing()), Err(Error::Exists(_))));
    let mut writer = index.writer().unwrap();
    assert!(matches!(index.writer(), Err(Error::Locked(_))));
    assert!(matches!(Index::open(dir.path()).unwrap().writer(), Err(Error::Locked(_))));

    let mut expected = BTreeMap::new();
    let mut dice = Dice::new(3);
    let mut snapshots = Vec::new();
    for round in 0..12u64 {
        let documents: Vec<Document> = (0..dice.below(30))
            .map(|i| Document::new(format!("d{}", dice.below(40)), format!("round {round} number {i}")))
            .collect();
        writer.add(&documents, &RECIPE.items(documents.len(), round)).unwrap();
        documents.iter().for_each(|d| drop(expected.insert(d.id.clone(), d.text.clone())));
        let gone: Vec<String> = (0..dice.below(6)).map(|_| format!("d{}", dice.below(40))).collect();
        writer.delete(gone.iter().map(String::as_str)).unwrap();
        gone.iter().for_each(|id| drop(expected.remove(id)));
        if let Some((snapshot, before)) = snapshots.last() {
            assert_eq!(&contents(snapshot), before, "nothing shows before the commit");
        }
        match round % 4 {
            3 => writer.compact().unwrap(),
            _ => writer.commit().unwrap(),
        }
        let snapshot = Index::open(dir.path()).unwrap().snapshot().unwrap();
        assert_eq!(contents(&snapshot), expected, "round {round}");
        let every = snapshot.hits().map(|hit| snapshot.document(&hit).unwrap());
        assert_eq!(every.map(|d| (d.id, d.text)).collect::<BTreeMap<_, _>>(), expected, "round {round}");
        if round % 4 == 3 {
            assert_eq!(snapshot.segments().map(|s| s.len()).sum::<usize>(), expected.len());
        }
        assert_eq!(index.verify().unwrap().documents, expected.len());
        snapshots.push((snapshot, expected.clone()));
    }
    for (snapshot, expected) in &snapshots {
        assert_eq!(&contents(snapshot), expected, "a reader keeps its snapshot");
    }
    let files = std::fs::read_dir(dir.path().join("assignments")).unwrap().count();
    assert_eq!(files, index.snapshot().unwrap().segments().len(), "nothing is left behind");
}

/// Counts, places and the average of a snapshot against those of the rows it should hold, by definition.
fn check_population(snapshot: &Snapshot, recipe: Recipe, rows: &BTreeMap<String, Vec<f32>>) {
    let (depth, routing) = (recipe.depth(), recipe.routing());
    let place = |row: &[f32]| routing.leaf(Assignment::new(depth, recipe.nesting, row));
    let leaves: Vec<LeafId> = rows.values().map(|row| place(row)).collect();
    for node in (0..depth.nodes() as u32 + 3).map(NodeId::new) {
        let below = leaves.iter().filter(|leaf| leaf.node(depth).is_under(node)).count();
        assert_eq!(snapshot.count(node), below, "node {node}");
    }
    for hit in snapshot.hits() {
        assert_eq!(snapshot.place(&hit), place(&snapshot.assignment(&hit).unwrap()));
    }
    let average = snapshot.average().unwrap();
    for (column, got) in average.iter().enumerate() {
        let sum: f64 = rows.values().map(|row| f64::from(row[column])).sum();
        assert!((f64::from(*got) - sum / rows.len() as f64).abs() < 1e-5, "column {column}: {got} {sum}");
        assert!(*got >= 0.0);
    }
    Assignments::new(depth, recipe.nesting, average.clone()).unwrap();
    assert_eq!(snapshot.average().unwrap(), average);
}

#[test]
fn counts_and_averages_follow_every_change() {
    for (nesting, seed) in [(Nesting::Nested, 21), (Nesting::Nested, 24), (Nesting::PerLevel, 22)] {
        let recipe = Recipe { nesting, seed, ..RECIPE };
        let dir = tempfile::tempdir().unwrap();
        let shape = Shape { depth: recipe.depth(), nesting };
        let index = Index::create(dir.path(), shape, recipe.routing()).unwrap();
        let empty = index.snapshot().unwrap();
        assert_eq!(empty.count(NodeId::ROOT), 0);
        let even = empty.average().unwrap();
        Assignments::new(recipe.depth(), nesting, even).unwrap();
        let mut writer = index.writer().unwrap();
        let (mut rows, mut dice) = (BTreeMap::new(), Dice::new(seed));
        for round in 0..12u64 {
            let documents: Vec<Document> = (0..20 + dice.below(90))
                .map(|_| Document::new(format!("d{}", dice.below(150)), ""))
                .collect();
            let items = recipe.items(documents.len(), round);
            writer.add(&documents, &items).unwrap();
            for (document, item) in documents.iter().zip(items.iter()) {
                rows.insert(document.id.clone(), item.as_slice().to_vec());
            }
            let gone: Vec<String> = (0..dice.below(40)).map(|_| format!("d{}", dice.below(150))).collect();
            writer.delete(gone.iter().map(String::as_str)).unwrap();
            gone.iter().for_each(|id| drop(rows.remove(id)));
            match round % 4 {
                3 => writer.compact().unwrap(),
                _ => writer.commit().unwrap(),
            }
            check_population(&index.snapshot().unwrap(), recipe, &rows);
        }
        assert!(!rows.is_empty());
        assert_eq!(empty.count(NodeId::ROOT), 0, "a reader keeps its snapshot");
    }
}

fn notes(index: &Index) -> Option<Vec<u8>> {
    index.verify().unwrap();
    index.snapshot().unwrap().notes().unwrap()
}

#[test]
fn notes_belong_to_commits() {
    let dir = tempfile::tempdir().unwrap();
    let index = Index::create(dir.path(), shape(), RECIPE.routing()).unwrap();
    assert_eq!(notes(&index), None);
    let mut writer = index.writer().unwrap();
    let large: Vec<u8> = (0..20_000u32).map(|i| (i * 7 % 251) as u8).collect();
    writer.set_notes(b"never seen".to_vec()).unwrap();
    writer.set_notes(large.clone()).unwrap();
    assert_eq!(notes(&index), None, "nothing shows before the commit");
    writer.commit().unwrap();
    assert_eq!(notes(&index), Some(large.clone()), "a commit of notes alone");
    let before = index.snapshot().unwrap();
    for number in 0..12 {
        let (documents, rows, gone) = round(number);
        writer.add(&documents, &rows).unwrap();
        writer.delete(gone.iter().map(String::as_str)).unwrap();
        writer.commit().unwrap();
        assert_eq!(notes(&index), Some(large.clone()));
    }
    writer.compact().unwrap();
    assert_eq!(notes(&index), Some(large.clone()));
    // As after a kill: notes that no commit names, and a file half written.
    writer.set_notes(b"lost".to_vec()).unwrap();
    drop(writer);
    std::fs::write(dir.path().join("assignments/0000009999.partial"), b"half").unwrap();
    let index = Index::open(dir.path()).unwrap();
    assert_eq!(notes(&index), Some(large.clone()));
    let mut writer = index.writer().unwrap();
    writer.set_notes(Vec::new()).unwrap();
    writer.commit().unwrap();
    assert_eq!(notes(&index), Some(Vec::new()));
    assert_eq!(before.notes().unwrap(), Some(large), "a reader keeps its snapshot");
    let files = std::fs::read_dir(dir.path().join("assignments")).unwrap().count();
    assert_eq!(files, index.snapshot().unwrap().segments().len() + 1, "nothing is left behind");
}

#[test]
fn what_does_not_fit_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    assert!(matches!(Index::open(dir.path()), Err(Error::NotAnIndex(_))));
    let other = Routing { sharpening: vec![1.0; 2], cover: Vec::new() };
    assert!(matches!(Index::create(dir.path(), shape(), other), Err(Error::Routing(_))));
    let index = Index::create(dir.path(), shape(), RECIPE.routing()).unwrap();
    assert_eq!(Index::open(dir.path()).unwrap().routing(), &RECIPE.routing());
    let mut writer = index.writer().unwrap();
    let one = [Document::new("a", "")];
    assert!(matches!(writer.add(&one, &RECIPE.items(2, 1)), Err(Error::Count { .. })));
    let other = Recipe { depth: 3, ..RECIPE };
    assert!(matches!(writer.add(&one, &other.items(1, 1)), Err(Error::Tree { .. })));
    assert!(matches!(writer.add(&[Document::new("", "")], &RECIPE.items(1, 1)), Err(Error::Id(_))));
    writer.add(&one, &RECIPE.items(1, 1)).unwrap();
    writer.commit().unwrap();
    let snapshot = index.snapshot().unwrap();
    let query = other.items(1, 1);
    assert!(matches!(snapshot.search(&Query::new(query.row(0), 1)), Err(Error::Tree { .. })));
    let query = RECIPE.items(1, 1);
    let root = Query { level: Some(retreever_tree::Level::ROOT), ..Query::new(query.row(0), 1) };
    assert!(matches!(snapshot.search(&root), Err(Error::Level { .. })));
    assert_eq!(snapshot.search(&Query::new(query.row(0), 0)).unwrap().hits, []);
}

/// Round `round` of the writer: what it adds, and which ids it deletes.
fn round(round: u64) -> (Vec<Document>, Assignments, Vec<String>) {
    let mut dice = Dice::new(1000 + round);
    let documents: Vec<Document> = (0..5 + dice.below(40))
        .map(|_| {
            Document::new(
                format!("d{}", dice.below(200)),
                format!("round {round} {}", "word ".repeat(dice.below(50))),
            )
        })
        .collect();
    let rows = RECIPE.items(documents.len(), round);
    let gone = (0..dice.below(10)).map(|_| format!("d{}", dice.below(200))).collect();
    (documents, rows, gone)
}

/// What is in the index after the first `rounds` rounds.
fn after(rounds: u64) -> BTreeMap<String, String> {
    let mut expected = BTreeMap::new();
    for number in 0..rounds {
        let (documents, _, gone) = round(number);
        documents.into_iter().for_each(|d| drop(expected.insert(d.id, d.text)));
        gone.iter().for_each(|id| drop(expected.remove(id)));
    }
    expected
}

/// The notes after the first `rounds` rounds.
fn noted(rounds: u64) -> Option<Vec<u8>> {
    (rounds > 0).then(|| format!("{rounds} rounds ").repeat(100 * rounds as usize).into_bytes())
}

/// Not a test of its own: the writer that other tests start in a process, and kill. It says on standard output
/// how many rounds are committed.
#[test]
fn child() {
    let Ok(dir) = std::env::var("RETREEVER_TEST_CHILD") else { return };
    let first: u64 = std::env::var("RETREEVER_TEST_ROUND").unwrap().parse().unwrap();
    let index = Index::open(Path::new(&dir)).unwrap();
    let mut writer = index.writer().unwrap();
    for number in first..first + 1000 {
        let (documents, rows, gone) = round(number);
        writer.add(&documents, &rows).unwrap();
        writer.delete(gone.iter().map(String::as_str)).unwrap();
        writer.set_notes(noted(number + 1).unwrap()).unwrap();
        writer.commit().unwrap();
        println!("\ncommitted {}", number + 1);
        std::io::stdout().flush().unwrap();
        // Between two of these there are enough commits for segments to be merged unasked.
        if number % 23 == 22 {
            writer.compact().unwrap();
        }
    }
}

fn start(dir: &Path, first: u64) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "child", "--nocapture"]);
    command.env("RETREEVER_TEST_CHILD", dir).env("RETREEVER_TEST_ROUND", first.to_string());
    command.stdout(Stdio::piped()).stderr(Stdio::null());
    command
}

/// Many small commits, while a reader looks on: segments are merged unasked, rows of deleted documents are dropped, and
/// every snapshot stays what it was.
#[test]
fn commits_merge_segments_unasked() {
    let dir = tempfile::tempdir().unwrap();
    let index = Index::create(dir.path(), shape(), RECIPE.routing()).unwrap();
    let mut writer = index.writer().unwrap();
    let mut snapshots = Vec::new();
    for number in 0..60 {
        let (documents, rows, gone) = round(number);
        writer.add(&documents, &rows).unwrap();
        writer.delete(gone.iter().map(String::as_str)).unwrap();
        writer.commit().unwrap();
        let snapshot = index.snapshot().unwrap();
        let (rows, live) = (snapshot.segments().map(|s| s.len()).sum::<usize>(), snapshot.len());
        assert!(snapshot.segments().len() <= 8, "{} segments", snapshot.segments().len());
        assert!(2 * rows <= 3 * live + 3, "{rows} rows for {live} documents");
        if number % 10 == 0 {
            snapshots.push((number + 1, snapshot));
        }
    }
    for (rounds, snapshot) in &snapshots {
        assert_eq!(contents(snapshot), after(*rounds));
    }
    assert_eq!(contents(&index.snapshot().unwrap()), after(60));
    index.verify().unwrap();
    let files = std::fs::read_dir(dir.path().join("assignments")).unwrap().count();
    assert_eq!(files, index.snapshot().unwrap().segments().len(), "nothing is left behind");
}

/// 20 kills, or as many as `RETREEVER_KILLS` says (300 in the long mode).
#[test]
fn a_killed_writer_loses_nothing_it_has_acknowledged() {
    let kills: u64 = std::env::var("RETREEVER_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(20);
    let dir = tempfile::tempdir().unwrap();
    Index::create(dir.path(), shape(), RECIPE.routing()).unwrap();
    let mut committed = 0;
    let mut dice = Dice::new(kills);
    for kill in 0..kills {
        let mut child = start(dir.path(), committed).spawn().unwrap();
        std::thread::sleep(std::time::Duration::from_micros(dice.below(250_000) as u64));
        child.kill().unwrap();
        let output = child.stdout.take().unwrap();
        child.wait().unwrap();
        let mut acknowledged = committed;
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if let Some(number) = line.strip_prefix("committed ") {
                acknowledged = number.parse().unwrap();
            }
        }
        let index = Index::open(dir.path()).unwrap();
        let found = contents(&index.snapshot().unwrap());
        // The kill may have come between a commit and its acknowledgement.
        committed = (acknowledged..=acknowledged + 1)
            .find(|rounds| after(*rounds) == found)
            .unwrap_or_else(|| panic!("kill {kill}: neither {acknowledged} rounds nor one more"));
        assert_eq!(notes(&index), noted(committed), "kill {kill}");
        drop(index.writer().unwrap());
    }
    assert!(committed > 0, "no commit got through");
}

/// A file may not grow beyond a limit in the child: as on a full disk, a write fails half way.
#[test]
#[cfg(unix)]
fn a_full_disk_leaves_the_index_as_it_was() {
    let dir = tempfile::tempdir().unwrap();
    let index = Index::create(dir.path(), shape(), RECIPE.routing()).unwrap();
    let mut writer = index.writer().unwrap();
    let (documents, rows, gone) = round(0);
    writer.add(&documents, &rows).unwrap();
    writer.delete(gone.iter().map(String::as_str)).unwrap();
    writer.commit().unwrap();
    drop(writer);
    let before = contents(&index.snapshot().unwrap());
    // In blocks of 512 bytes (or 1024, as the shell has it): below the size of a segment, and of a store file.
    for blocks in [1, 8, 64] {
        let child = start(dir.path(), 1);
        let program = child.get_program().to_owned();
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"")]).arg(program);
        shell.args(child.get_args());
        for (key, value) in child.get_envs() {
            shell.env(key, value.unwrap());
        }
        let output = shell.stdout(Stdio::null()).stderr(Stdio::piped()).output().unwrap();
        assert!(!output.status.success(), "{blocks} blocks were enough");
        let index = Index::open(dir.path()).unwrap();
        assert_eq!(contents(&index.snapshot().unwrap()), before, "{blocks} blocks");
        index.verify().unwrap();
    }
    let mut writer = index.writer().unwrap();
    let (documents, rows, gone) = round(1);
    writer.add(&documents, &rows).unwrap();
    writer.delete(gone.iter().map(String::as_str)).unwrap();
    writer.commit().unwrap();
    assert_eq!(contents(&index.snapshot().unwrap()), after(2));
}
