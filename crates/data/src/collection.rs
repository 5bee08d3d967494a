//! Documents and queries: items with string ids, in the order they were read.

use serde_json::{Map, Value};
use std::borrow::Cow;
use std::collections::HashMap;

/// A document.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Document {
    /// Its id, unique in the corpus.
    pub id: String,
    /// Its title, empty if it has none.
    pub title: String,
    /// Its text.
    pub text: String,
    /// Whatever else is known of it, for filters and for show.
    pub metadata: Map<String, Value>,
}

impl Document {
    /// What an encoder reads of a document: the title, a space, the text. This is the one place that says so.
    pub fn encoded(&self) -> Cow<'_, str> {
        match (self.title.trim(), self.text.trim()) {
            ("", text) => Cow::Borrowed(text),
            (title, "") => Cow::Borrowed(title),
            (title, text) => Cow::Owned(format!("{title} {text}")),
        }
    }
}

/// A query.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Query {
    /// Its id, unique among the queries.
    pub id: String,
    /// What is asked.
    pub text: String,
    /// Whatever else is known of it.
    pub metadata: Map<String, Value>,
}

/// Something with an id of its own.
pub trait Identified {
    /// What an error message calls it.
    const WHAT: &'static str;

    /// The id.
    fn id(&self) -> &str;
}

impl Identified for Document {
    const WHAT: &'static str = "document";

    fn id(&self) -> &str {
        &self.id
    }
}

impl Identified for Query {
    const WHAT: &'static str = "query";

    fn id(&self) -> &str {
        &self.id
    }
}

/// An id that another item has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("item {number} is the {what} `{id}` already")]
pub struct Taken {
    /// What has the id.
    pub what: &'static str,
    /// The id.
    pub id: String,
    /// The number of the item that has it.
    pub number: usize,
}

/// The documents to search, numbered from 0.
pub type Corpus = Collection<Document>;

/// The queries, numbered from 0.
pub type Queries = Collection<Query>;

/// Items in order, each found by its id too.
#[derive(Clone, Debug, PartialEq)]
pub struct Collection<T> {
    items: Vec<T>,
    numbers: HashMap<String, usize>,
}

impl<T> Default for Collection<T> {
    fn default() -> Self {
        Self { items: Vec::new(), numbers: HashMap::new() }
    }
}

impl<T: Identified> Collection<T> {
    /// No items.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends an item, unless one has its id already.
    pub fn push(&mut self, item: T) -> Result<(), Taken> {
        if let Some(&number) = self.numbers.get(item.id()) {
            return Err(Taken { what: T::WHAT, id: item.id().to_owned(), number });
        }
        self.numbers.insert(item.id().to_owned(), self.items.len());
        self.items.push(item);
        Ok(())
    }

    /// The number of the item with this id.
    pub fn number(&self, id: &str) -> Option<usize> {
        self.numbers.get(id).copied()
    }

    /// The item with this id.
    pub fn get(&self, id: &str) -> Option<&T> {
        self.number(id).map(|number| &self.items[number])
    }

    /// All items, by number.
    pub fn items(&self) -> &[T] {
        &self.items
    }

    /// How many items there are.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there are no items.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }
}

/// Keeps the first of the items with one id.
impl<T: Identified> FromIterator<T> for Collection<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        let mut collection = Self::new();
        for item in items {
            // An id that is taken: the first item stays.
            let _ = collection.push(item);
        }
        collection
    }
}
