//! Documents: ids, texts and metadata, kept by tantivy.
//!
//! Every document carries the sequence number of its row. Numbers are never used twice, so a document and its
//! row find each other in any generation, and a deleted document leaves a row that nothing points to.

mod sealed_directory;

pub(crate) use sealed_directory::SealedDirectory;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tantivy::TantivyDocument;
use tantivy::schema::{
    FAST, Field, IndexRecordOption, JsonObjectOptions, OwnedValue, STORED, STRING, Schema, TextFieldIndexing,
    TextOptions, Value as _,
};

/// The field under which metadata columns are found.
pub(crate) const METADATA: &str = "metadata";

/// A document as it is put in and taken out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Document {
    /// What the document is called; adding another of the same id replaces it.
    pub id: String,
    /// Its title, if it has one.
    #[serde(default)]
    pub title: String,
    /// Its text.
    #[serde(default)]
    pub text: String,
    /// Whatever else is known about it, for filters.
    #[serde(default)]
    pub metadata: Map<String, Value>,
}

impl Document {
    /// A document without title or metadata.
    pub fn new(id: impl Into<String>, text: impl Into<String>) -> Self {
        Self { id: id.into(), text: text.into(), ..Self::default() }
    }

    /// Title and text as one, as sentences of their own: what labels and keywords are taken from.
    pub fn words(&self) -> String {
        match self.title.as_str() {
            "" => self.text.clone(),
            title => format!("{title}. {}", self.text),
        }
    }
}

/// The fields of the store.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fields {
    pub(crate) id: Field,
    pub(crate) sequence: Field,
    pub(crate) title: Field,
    pub(crate) text: Field,
    pub(crate) metadata: Field,
    pub(crate) source: Field,
}

impl Fields {
    /// The schema of the store, and its fields.
    pub(crate) fn schema() -> (Schema, Self) {
        let mut schema = Schema::builder();
        let indexing = TextFieldIndexing::default()
            .set_tokenizer("default")
            .set_index_option(IndexRecordOption::WithFreqs);
        let words = TextOptions::default().set_indexing_options(indexing).set_stored();
        let metadata = JsonObjectOptions::default().set_fast("raw");
        let fields = Self {
            id: schema.add_text_field("id", STRING | STORED),
            sequence: schema.add_u64_field("sequence", FAST),
            title: schema.add_text_field("title", words.clone()),
            text: schema.add_text_field("text", words),
            metadata: schema.add_json_field(METADATA, metadata),
            source: schema.add_text_field("source", STORED),
        };
        (schema.build(), fields)
    }

    /// The fields of a schema read from disk, if it is ours.
    pub(crate) fn of(schema: &Schema) -> Option<Self> {
        let (ours, fields) = Self::schema();
        (*schema == ours).then_some(fields)
    }

    /// A document as tantivy keeps it.
    pub(crate) fn pack(&self, document: &Document, sequence: u64) -> TantivyDocument {
        let mut out = TantivyDocument::new();
        out.add_text(self.id, &document.id);
        out.add_u64(self.sequence, sequence);
        out.add_text(self.title, &document.title);
        out.add_text(self.text, &document.text);
        let columns = document.metadata.iter().map(|(key, value)| (key.clone(), column(value)));
        out.add_object(self.metadata, columns.collect());
        if !document.metadata.is_empty() {
            let source = serde_json::to_string(&document.metadata).expect("a map of JSON values is JSON");
            out.add_text(self.source, source);
        }
        out
    }

    /// A document as it was put in.
    pub(crate) fn unpack(&self, document: &TantivyDocument) -> Document {
        let text =
            |field| document.get_first(field).and_then(|value| value.as_str()).unwrap_or("").to_owned();
        let metadata = serde_json::from_str(&text(self.source)).unwrap_or_default();
        Document { id: text(self.id), title: text(self.title), text: text(self.text), metadata }
    }
}

/// A value as columns for filters see it: as it is, with no guessing at dates.
fn column(value: &Value) -> OwnedValue {
    match value {
        Value::Null => OwnedValue::Null,
        Value::Bool(value) => OwnedValue::Bool(*value),
        Value::Number(value) => match (value.as_i64(), value.as_u64()) {
            (Some(value), _) => OwnedValue::I64(value),
            (None, Some(value)) => OwnedValue::U64(value),
            (None, None) => OwnedValue::F64(value.as_f64().unwrap_or(f64::NAN)),
        },
        Value::String(value) => OwnedValue::Str(value.clone()),
        Value::Array(values) => OwnedValue::Array(values.iter().map(column).collect()),
        Value::Object(values) => {
            OwnedValue::Object(values.iter().map(|(key, value)| (key.clone(), column(value))).collect())
        }
    }
}
