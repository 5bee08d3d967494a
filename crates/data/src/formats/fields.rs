//! Fields of a JSON line, taken out one by one; what is wrong with one is said in words.

use crate::lines::Bad;
use serde_json::{Map, Value};

/// The fields of one line.
pub(super) struct Fields(Map<String, Value>);

impl Fields {
    pub(super) fn parse(line: &str) -> Result<Self, Bad> {
        match serde_json::from_str(line) {
            Ok(Value::Object(fields)) => Ok(Self(fields)),
            Ok(_) => Err(Bad::line("not a JSON object")),
            Err(error) => Err(Bad::line(format!("not JSON: {error}"))),
        }
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// A text, none if it is missing or null.
    pub(super) fn text(&mut self, name: &str) -> Result<Option<String>, Bad> {
        match self.0.remove(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(Bad::line(format!("`{name}` is {}, expected a text", kind(&other)))),
        }
    }

    /// A text or a list of texts, none of them empty; an empty list if it is missing or null.
    pub(super) fn texts(&mut self, name: &str) -> Result<Vec<String>, Bad> {
        let values = match self.0.remove(name) {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(values)) => values,
            Some(value) => vec![value],
        };
        let text = |value| match value {
            Value::String(text) if text.trim().is_empty() => Err(Bad::line(format!("`{name}` is empty"))),
            Value::String(text) => Ok(text),
            other => Err(Bad::line(format!("`{name}` is {}, expected a text", kind(&other)))),
        };
        values.into_iter().map(text).collect()
    }

    /// The id: `_id`, or `id` if there is no `_id`; a whole number is taken as its digits.
    pub(super) fn id(&mut self) -> Result<String, Bad> {
        let id = match self.0.remove("_id").or_else(|| self.0.remove("id")) {
            Some(Value::String(id)) => id,
            Some(Value::Number(id)) if id.is_i64() || id.is_u64() => id.to_string(),
            Some(other) => return Err(Bad::line(format!("`_id` is {}, expected a text", kind(&other)))),
            None => return Err(Bad::line("there is no `_id`")),
        };
        check_id(&id)?;
        Ok(id)
    }

    /// What is left; the fields of a `metadata` object stand beside the others.
    pub(super) fn rest(mut self) -> Map<String, Value> {
        if let Some(Value::Object(inner)) = self.0.get_mut("metadata") {
            let inner = std::mem::take(inner);
            self.0.remove("metadata");
            self.0.extend(inner);
        }
        self.0
    }
}

/// Ids stand between tabs and at line ends: they have neither, and are not empty.
pub(super) fn check_id(id: &str) -> Result<(), Bad> {
    if id.is_empty() {
        return Err(Bad::line("the id is empty"));
    }
    if id.contains(|c: char| c.is_control()) {
        return Err(Bad::line(format!("the id {id:?} has a control character in it")));
    }
    Ok(())
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
