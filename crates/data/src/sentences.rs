//! Where sentences end, without a model: after a full stop, a question mark or an exclamation mark that blanks and no
//! small letter follow, and at a blank line. Abbreviations before a capital are cut too; nothing here depends on that.

use std::ops::Range;

/// What may stand between the end of a sentence and the blank after it.
const CLOSING: [char; 7] = ['"', '\'', ')', ']', '”', '’', '»'];

/// The sentences of a text, in order, without the blanks around them.
pub(crate) fn sentences(text: &str) -> Vec<Range<usize>> {
    let (mut found, mut start) = (Vec::new(), 0);
    for (at, c) in text.char_indices() {
        let after = at + c.len_utf8();
        if after > start
            && let Some(end) = end(c, text, after)
        {
            found.extend(trimmed(text, start..end));
            start = end;
        }
    }
    found.extend(trimmed(text, start..text.len()));
    found
}

/// Where the sentence ends, if `c` ends one; `after` is the place behind it.
fn end(c: char, text: &str, after: usize) -> Option<usize> {
    let rest = &text[after..];
    match c {
        '.' | '!' | '?' | '…' => {
            let behind = rest.trim_start_matches(CLOSING);
            let next = behind.trim_start();
            let ends = next.len() < behind.len() && !next.starts_with(char::is_lowercase);
            ends.then_some(text.len() - behind.len())
        }
        '。' | '！' | '？' => Some(after),
        '\n' => rest.trim_start_matches([' ', '\t', '\r']).starts_with('\n').then_some(after),
        _ => None,
    }
}

/// A range without the blanks at its ends; nothing if it is blank.
pub(crate) fn trimmed(text: &str, range: Range<usize>) -> Option<Range<usize>> {
    let part = &text[range.clone()];
    let start = range.start + (part.len() - part.trim_start().len());
    let end = start + part.trim().len();
    (start < end).then_some(start..end)
}

/// One blank between words, none around them.
pub(crate) fn tidy(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_end_where_a_reader_would_say() {
        let text = "It rains. \"Does it?\" Version 1.2 of e.g. that!  No end\n\nA paragraph。次。";
        let found: Vec<&str> = sentences(text).into_iter().map(|range| &text[range]).collect();
        let expected =
            ["It rains.", "\"Does it?\"", "Version 1.2 of e.g. that!", "No end", "A paragraph。", "次。"];
        assert_eq!(found, expected);
        assert!(sentences(" \n\n ").is_empty());
    }
}
