//! The embedding cache: nothing is encoded twice, nothing damaged is used, nothing finished is lost.

use retreever_data::{Embeddings, Ragged};
use retreever_encoder::{EmbedProgress, EmbeddingCache, Encoder, EncoderError, Fingerprint, Role};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// One token per word; its embedding counts letters.
#[derive(Default)]
struct Letters {
    encoded: AtomicUsize,
}

const WIDTH: usize = 6;

fn embedding(word: &str, role: Role) -> [f32; WIDTH] {
    let mut row = [if role == Role::Query { 1.0 } else { -1.0 }; WIDTH];
    for (i, letter) in word.bytes().enumerate() {
        row[1 + i % (WIDTH - 1)] += f32::from(letter);
    }
    row
}

fn expected(text: &str, role: Role) -> Vec<f32> {
    let words: Vec<f32> = text.split_whitespace().flat_map(|word| embedding(word, role)).collect();
    if words.is_empty() { embedding("", role).to_vec() } else { words }
}

impl Encoder for Letters {
    fn width(&self) -> usize {
        WIDTH
    }

    fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(&[b"letters"])
    }

    fn encode(&self, texts: &[&str], role: Role, batch: &mut Ragged) -> Result<(), EncoderError> {
        self.encoded.fetch_add(texts.len(), Ordering::Relaxed);
        batch.clear();
        for text in texts {
            batch.push(&expected(text, role), &embedding("pooled", role));
        }
        Ok(())
    }
}

fn texts(count: usize) -> Vec<String> {
    (0..count).map(|i| format!("{} text number{i}", "word ".repeat(i % 7))).collect()
}

/// Embeds, checks every number, and says how many texts had to be encoded.
fn embed(root: &Path, texts: &[String], role: Role) -> usize {
    let encoder = Letters::default();
    let mut cache = EmbeddingCache::open(root, &encoder).unwrap();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let embeddings = cache.embed(&texts, role, &mut |_| {}).unwrap();
    let mut batch = Ragged::new(WIDTH);
    embeddings.gather(&(0..texts.len()).collect::<Vec<_>>(), &mut batch);
    for (i, text) in texts.iter().enumerate() {
        // Whole numbers below 2048 are exact in half precision.
        assert_eq!(batch.item(i), expected(text, role), "{text}");
        assert_eq!(embeddings.pooled(i), embedding("pooled", role));
    }
    encoder.encoded.load(Ordering::Relaxed)
}

fn file(root: &Path, name: &str) -> PathBuf {
    root.join(Letters::default().fingerprint().to_string()).join(name)
}

#[test]
fn nothing_is_encoded_twice() {
    let root = tempfile::tempdir().unwrap();
    let mut all = texts(50);
    all.push(all[3].clone());
    all.push(String::new());
    assert_eq!(embed(root.path(), &all, Role::Document), 51);
    assert_eq!(embed(root.path(), &all, Role::Document), 0);
    all.reverse();
    all.push("one more".into());
    assert_eq!(embed(root.path(), &all, Role::Document), 1);
    assert_eq!(embed(root.path(), &all[..10], Role::Query), 10, "a query is not a document");
}

#[test]
fn a_tail_torn_at_any_byte_costs_only_itself() {
    let root = tempfile::tempdir().unwrap();
    let all = texts(9);
    assert_eq!(embed(root.path(), &all, Role::Document), 9);
    let (tokens, entries) = (file(root.path(), "tokens.bin"), file(root.path(), "texts.bin"));
    let (whole_tokens, whole_entries) = (fs::read(&tokens).unwrap(), fs::read(&entries).unwrap());
    for cut in (0..=whole_tokens.len()).step_by(17) {
        fs::write(&tokens, &whole_tokens[..cut]).unwrap();
        fs::write(&entries, &whole_entries).unwrap();
        let encoded = embed(root.path(), &all, Role::Document);
        assert!(cut < whole_tokens.len() - 64 || encoded <= 1, "{encoded} encoded after a cut at {cut}");
        assert_eq!(embed(root.path(), &all, Role::Document), 0, "after a cut at {cut}");
    }
    for cut in 0..=whole_entries.len() {
        fs::write(&tokens, &whole_tokens).unwrap();
        fs::write(&entries, &whole_entries[..cut]).unwrap();
        let finished = (cut / 64).saturating_sub(1);
        assert_eq!(embed(root.path(), &all, Role::Document), 9 - finished, "after a cut at {cut}");
        assert_eq!(embed(root.path(), &all, Role::Document), 0);
    }
}

#[test]
fn a_flipped_byte_is_found_wherever_it_is() {
    let root = tempfile::tempdir().unwrap();
    let all = texts(5);
    embed(root.path(), &all, Role::Document);
    for name in ["tokens.bin", "texts.bin"] {
        let path = file(root.path(), name);
        let whole = fs::read(&path).unwrap();
        for at in 0..whole.len() {
            let (tokens, entries) = (file(root.path(), "tokens.bin"), file(root.path(), "texts.bin"));
            let keep = (fs::read(&tokens).unwrap(), fs::read(&entries).unwrap());
            let mut damaged = whole.clone();
            damaged[at] ^= 0x10;
            fs::write(&path, damaged).unwrap();
            // `embed` compares every number; padding and headers may be flipped without harm.
            assert!(embed(root.path(), &all, Role::Document) <= 1);
            fs::write(&tokens, keep.0).unwrap();
            fs::write(&entries, keep.1).unwrap();
        }
    }
}

#[test]
fn damage_is_told_once() {
    let root = tempfile::tempdir().unwrap();
    let all = texts(5);
    embed(root.path(), &all, Role::Document);
    // The second text's record, and the third's entry: 64 bytes each after a header, the longest first.
    for (name, at) in [("tokens.bin", 64 + 64), ("texts.bin", 64 + 2 * 64 + 40)] {
        let path = file(root.path(), name);
        let mut bytes = fs::read(&path).unwrap();
        bytes[at] ^= 1;
        fs::write(&path, bytes).unwrap();
    }
    let told = || {
        let encoder = Letters::default();
        let mut told = Vec::new();
        let texts: Vec<&str> = all.iter().map(String::as_str).chain(["one more"]).collect();
        let mut cache = EmbeddingCache::open(root.path(), &encoder).unwrap();
        let observe = &mut |progress| {
            if let EmbedProgress::Damaged { texts } = progress {
                told.push(texts);
            }
        };
        cache.embed(&texts, Role::Document, observe).unwrap();
        (told, encoder.encoded.load(Ordering::Relaxed))
    };
    assert_eq!(told(), (vec![2], 3));
    assert_eq!(told(), (vec![], 0));
    assert_eq!(embed(root.path(), &["and another".to_owned()], Role::Document), 1);
    assert_eq!(told(), (vec![], 0));
}

#[test]
fn two_writers_take_turns() {
    let root = tempfile::tempdir().unwrap();
    let all = texts(300);
    let waits = AtomicUsize::new(0);
    let encoded: usize = std::thread::scope(|scope| {
        let run = || {
            let encoder = Letters::default();
            let mut cache = EmbeddingCache::open(root.path(), &encoder).unwrap();
            let texts: Vec<&str> = all.iter().map(String::as_str).collect();
            let count = |progress| match progress {
                EmbedProgress::Waiting => _ = waits.fetch_add(1, Ordering::Relaxed),
                EmbedProgress::Damaged { .. } => panic!("nothing is damaged"),
                EmbedProgress::Encoding { .. } => {}
            };
            cache.embed(&texts, Role::Document, &mut { count }).unwrap();
            encoder.encoded.load(Ordering::Relaxed)
        };
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(run)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(encoded, 300, "each text by one of the writers");
    assert_eq!(embed(root.path(), &all, Role::Document), 0);
}
