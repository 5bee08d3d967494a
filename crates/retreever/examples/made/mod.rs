//! What the examples work on: a few hundred made-up notes with a question each, and an encoder that counts words. It
//! stands in for a real one (`CachedEncoder::open("minilm", ...)`), so that nothing need be downloaded.

// No example uses all of it.
#![allow(dead_code)]

use retreever::{CachedEncoder, Dataset, Encoder, EncoderError, Fingerprint, Role};
use retreever_data::{Document, Query, Ragged, Split};
use std::path::PathBuf;

/// Subjects, and words that go with them.
const SUBJECTS: [(&str, [&str; 6]); 6] = [
    ("weather", ["rain", "snow", "wind", "frost", "cloud", "storm"]),
    ("food", ["bread", "cheese", "apple", "soup", "honey", "salt"]),
    ("travel", ["train", "road", "bridge", "ticket", "harbour", "map"]),
    ("music", ["violin", "choir", "drum", "melody", "flute", "chord"]),
    ("garden", ["seed", "rose", "soil", "hedge", "tulip", "spade"]),
    ("house", ["roof", "window", "stair", "chimney", "cellar", "door"]),
];

/// Where the examples leave their tree and their index.
pub(crate) fn home() -> PathBuf {
    // Tests have a folder of their own.
    let place = option_env!("CARGO_TARGET_TMPDIR").map_or_else(std::env::temp_dir, PathBuf::from);
    place.join("retreever-examples")
}

/// The notes, their questions, and which belong together.
pub(crate) fn data() -> Dataset {
    let mut data = Dataset::default();
    for n in 0..240 {
        let (subject, words) = SUBJECTS[n % 6];
        let word = |k: usize| words[(n / 6 + k * (1 + n / 36)) % 6];
        let (id, query) = (format!("note-{n}"), format!("question-{n}"));
        let text = format!("A note on {subject}: the {} and the {}, then a {}.", word(0), word(1), word(2));
        let document = Document { id: id.clone(), title: format!("Note {n}"), text, ..Document::default() };
        let question = Query {
            id: query.clone(),
            text: format!("{subject} with {} or {}", word(1), word(2)),
            ..Query::default()
        };
        // Every id is new.
        let _ = (data.corpus.push(document), data.queries.push(question));
        data.qrels.entry(Split::Train).or_default().insert(&query, &id, 1);
    }
    data
}

/// An encoder and the place where its embeddings are kept.
pub(crate) fn encoder() -> CachedEncoder {
    CachedEncoder::new("words", Box::new(Words), home().join("embeddings"))
}

/// Each word is a direction drawn from its letters; a text is the mean of its words.
struct Words;

/// The width of an embedding.
pub(crate) const WIDTH: usize = 64;

impl Encoder for Words {
    fn width(&self) -> usize {
        WIDTH
    }

    fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(&[b"words of the examples"])
    }

    fn encode(&self, texts: &[&str], _: Role, batch: &mut Ragged) -> Result<(), EncoderError> {
        batch.clear();
        for text in texts {
            let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() > 2);
            let mut tokens: Vec<f32> = words.flat_map(|word| unit(direction(&word.to_lowercase()))).collect();
            if tokens.is_empty() {
                tokens = unit(direction(""));
            }
            let mut mean = vec![0.0; WIDTH];
            for token in tokens.chunks_exact(WIDTH) {
                mean.iter_mut().zip(token).for_each(|(mean, x)| *mean += x);
            }
            batch.push(&tokens, &unit(mean));
        }
        Ok(())
    }
}

fn direction(word: &str) -> Vec<f32> {
    let mut state = word.bytes().fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1u64 << 24) as f32 - 0.5
    };
    (0..WIDTH).map(|_| next()).collect()
}

fn unit(mut row: Vec<f32>) -> Vec<f32> {
    let norm = row.iter().map(|x| x * x).sum::<f32>().sqrt().max(1e-12);
    row.iter_mut().for_each(|x| *x /= norm);
    row
}
