//! BM25 over the words of the documents, with tantivy's in-memory index: for orientation beside the embeddings.

use super::{Hit, Ranking};
use anyhow::{Context, Result};
use rayon::prelude::*;
use tantivy::collector::TopDocs;
use tantivy::query::{BooleanQuery, Occur, Query, TermQuery};
use tantivy::schema::{
    FAST, Field, IndexRecordOption, Schema, TantivyDocument, TextFieldIndexing, TextOptions,
};
use tantivy::{Index, IndexReader, Term};

/// Memory of the one writer; the index itself stays in memory too.
const WRITER_BYTES: usize = 64 << 20;
/// Lower-cased, stemmed English words.
const TOKENIZER: &str = "en_stem";

/// An index of words in memory.
pub struct Bm25 {
    reader: IndexReader,
    index: Index,
    text: Field,
    len: usize,
}

impl Bm25 {
    /// Indexes the texts, in one segment so that scores are of the whole corpus.
    pub fn build<'a>(texts: impl IntoIterator<Item = &'a str>) -> Result<Self> {
        let mut schema = Schema::builder();
        let words = TextFieldIndexing::default()
            .set_tokenizer(TOKENIZER)
            .set_index_option(IndexRecordOption::WithFreqs);
        let text = schema.add_text_field("text", TextOptions::default().set_indexing_options(words));
        let row = schema.add_u64_field("row", FAST);
        let index = Index::create_in_ram(schema.build());
        let mut writer = index.writer_with_num_threads(1, WRITER_BYTES)?;
        let mut len = 0;
        for content in texts {
            let mut document = TantivyDocument::default();
            document.add_text(text, content);
            document.add_u64(row, len as u64);
            writer.add_document(document)?;
            len += 1;
        }
        writer.commit().context("cannot write the index of words")?;
        let segments = index.searchable_segment_ids()?;
        if segments.len() > 1 {
            writer.merge(&segments).wait()?;
        }
        writer.wait_merging_threads()?;
        Ok(Self { reader: index.reader()?, index, text, len })
    }

    /// How many documents there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no documents.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The best `k` documents that share a word with each query. Documents without one are not read.
    pub fn search<Q: AsRef<str> + Sync>(&self, queries: &[Q], k: usize) -> Result<Vec<Ranking>> {
        queries.par_iter().map(|query| self.search_one(query.as_ref(), k)).collect()
    }

    fn search_one(&self, query: &str, k: usize) -> Result<Ranking> {
        if k == 0 {
            return Ok(Ranking::default());
        }
        let searcher = self.reader.searcher();
        let mut tokenizer =
            self.index.tokenizers().get(TOKENIZER).context("tantivy has no English stemmer")?;
        let mut clauses: Vec<(Occur, Box<dyn Query>)> = Vec::new();
        tokenizer.token_stream(query).process(&mut |token| {
            let term = Term::from_field_text(self.text, &token.text);
            clauses.push((Occur::Should, Box::new(TermQuery::new(term, IndexRecordOption::WithFreqs))));
        });
        let query = BooleanQuery::new(clauses);
        let (found, read) =
            searcher.search(&query, &(TopDocs::with_limit(k).order_by_score(), tantivy::collector::Count))?;
        let rows = (searcher.segment_readers().iter())
            .map(|segment| segment.fast_fields().u64("row"))
            .collect::<tantivy::Result<Vec<_>>>()?;
        let mut hits = Vec::with_capacity(found.len());
        for (score, address) in found {
            let row =
                rows[address.segment_ord as usize].first(address.doc_id).context("a row without number")?;
            hits.push(Hit { doc: row as u32, score });
        }
        hits.sort_by(Hit::by_rank);
        Ok(Ranking { hits, read })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXTS: [&str; 4] = [
        "the cat sat on the mat",
        "dogs chase cats; a cat runs",
        "an annuity pays a fixed sum each year",
        "nothing in common (with) anything",
    ];

    #[test]
    fn ranks_by_rare_shared_words() {
        let bm25 = Bm25::build(TEXTS).unwrap();
        let rankings =
            bm25.search(&["what do annuities pay yearly?", "cats", "AND OR \"( ]", ""], 10).unwrap();
        assert_eq!(rankings[0].hits[0].doc, 2);
        assert_eq!(rankings[1].hits.iter().map(|hit| hit.doc).collect::<Vec<_>>(), [1, 0]);
        assert_eq!(rankings[1].read, 2);
        assert!(rankings[3].hits.is_empty());
        assert_eq!(bm25.search(&["cats"], 0).unwrap()[0].hits.len(), 0);
    }

    #[test]
    fn is_the_formula() {
        // BM25 with k1 = 1.2, b = 0.75 and idf = ln(1 + (N - n + 1/2) / (n + 1/2)), by hand.
        let bm25 = Bm25::build(["a b", "c d e f", "a a g h"]).unwrap();
        let hits = &bm25.search(&["a"], 3).unwrap()[0].hits;
        let idf = (1.0f64 + (3.0 - 2.0 + 0.5) / (2.0 + 0.5)).ln();
        let score = |tf: f64, len: f64| idf * tf * 2.2 / (tf + 1.2 * (0.25 + 0.75 * len / (10.0 / 3.0)));
        assert_eq!(hits.len(), 2);
        for hit in hits {
            let expected = if hit.doc == 0 { score(1.0, 2.0) } else { score(2.0, 4.0) };
            assert!((f64::from(hit.score) - expected).abs() < 1e-4, "{} {expected}", hit.score);
        }
    }
}
