//! Texts about twelve topics, and an encoder that knows their words.

use retreever_data::Ragged;
use retreever_encoder::{Encoder, EncoderError, Fingerprint, Role};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

const WIDTH: usize = 32;

/// A word is a direction that its letters decide; a text is the mean of its words.
pub(crate) struct Words;

impl Encoder for Words {
    fn width(&self) -> usize {
        WIDTH
    }

    fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(&[b"words"])
    }

    fn encode(&self, texts: &[&str], _: Role, batch: &mut Ragged) -> Result<(), EncoderError> {
        batch.clear();
        for text in texts {
            let tokens: Vec<f32> = text.split_whitespace().flat_map(direction).collect();
            let mut pooled = vec![0.0; WIDTH];
            for token in tokens.chunks_exact(WIDTH) {
                pooled.iter_mut().zip(token).for_each(|(sum, x)| *sum += x);
            }
            let norm = pooled.iter().map(|x| x * x).sum::<f32>().sqrt();
            pooled.iter_mut().for_each(|x| *x /= norm);
            batch.push(&tokens, &pooled);
        }
        Ok(())
    }
}

fn direction(word: &str) -> impl Iterator<Item = f32> {
    (0..WIDTH).map(move |column| {
        let mut hasher = DefaultHasher::new();
        (word, column).hash(&mut hasher);
        (hasher.finish() % 1000) as f32 / 500.0 - 1.0
    })
}

/// Document `i` is about topic `i % 12`; every query repeats some words of one document. Queries of documents 0, 5, 10
/// ... are tested, the others trained and validated on.
pub(crate) fn write_data(folder: &Path) {
    let (mut corpus, mut queries) = (String::new(), String::new());
    let mut qrels =
        ["test", "train", "dev"].map(|split| (split, String::from("query-id\tcorpus-id\tscore\n")));
    for i in 0..300 {
        let topic = i % 12;
        let text = format!("topic{topic} about{topic} own{i} rare{i} word{}", i % 7);
        corpus += &format!("{{\"_id\":\"d{i}\",\"text\":\"{text}\"}}\n");
        queries += &format!("{{\"_id\":\"q{i}\",\"text\":\"topic{topic} rare{i} own{i}\"}}\n");
        let split = match i % 5 {
            0 => 0,
            4 => 2,
            _ => 1,
        };
        qrels[split].1 += &format!("q{i}\td{i}\t1\n");
    }
    fs::create_dir_all(folder.join("qrels")).unwrap();
    fs::write(folder.join("corpus.jsonl"), corpus).unwrap();
    fs::write(folder.join("queries.jsonl"), queries).unwrap();
    for (split, qrels) in qrels {
        fs::write(folder.join(format!("qrels/{split}.tsv")), qrels).unwrap();
    }
}
