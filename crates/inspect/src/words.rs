//! Words of a text in any script: markup and addresses skipped, plurals folded, scripts without spaces cut
//! into pairs of characters.
//!
//! Folding is Harman's S-stemmer (1991) with a rule for `-xes`, `-ches`, `-shes`, `-sses`, and only touches
//! ASCII words. Han and Hiragana, which are written without spaces, become overlapping pairs; Katakana,
//! Hangul and all other scripts keep their runs of letters as words.

use std::borrow::Cow;

/// A piece of text, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// A word as it is written.
    Word(&'a str),
    /// A boundary that no phrase crosses.
    Break,
}

/// Calls `visit` with every word and boundary of `text`.
pub fn pieces(text: &str, mut visit: impl FnMut(Piece<'_>)) {
    let text = visible(text);
    for chunk in text.split_whitespace() {
        if is_address(chunk) {
            visit(Piece::Break);
            continue;
        }
        let mut rest = chunk;
        while let Some(first) = rest.chars().next() {
            if unspaced(first) {
                let end = rest.find(|c| !unspaced(c)).unwrap_or(rest.len());
                pairs(&rest[..end], &mut visit);
                rest = &rest[end..];
            } else if first.is_alphanumeric() {
                let end = word_end(rest);
                visit(Piece::Word(&rest[..end]));
                rest = &rest[end..];
            } else {
                if !matches!(first, '-' | '\'' | '’' | '‐' | '/') {
                    visit(Piece::Break);
                }
                rest = &rest[first.len_utf8()..];
            }
        }
    }
}

/// The form under which a word is counted: lower case, possessive and plural folded.
pub fn stem(word: &str) -> String {
    let mut lower = word.to_lowercase();
    if let Some(at) = lower.find(['\'', '’']) {
        let tail = lower[at..].trim_start_matches(['\'', '’']).to_owned();
        lower.truncate(at);
        if tail != "s" {
            lower.push_str(&tail);
        }
    }
    if !lower.is_ascii() || lower.len() < 4 || !lower.ends_with('s') {
        return lower;
    }
    let ends = |tails: &[&str]| tails.iter().any(|tail| lower.ends_with(tail));
    let cut = if ends(&["ies"]) && !ends(&["eies", "aies"]) && lower.len() > 4 {
        return format!("{}y", &lower[..lower.len() - 3]);
    } else if ends(&["xes", "ches", "shes", "sses"]) {
        2
    } else if ends(&["us", "ss", "is", "aes"]) {
        0
    } else {
        1
    };
    lower.truncate(lower.len() - cut);
    lower
}

/// Whether a word can stand for a subject: it has a letter and is not a lone one. A lone sign of a script
/// whose signs are words can.
pub fn is_telling(word: &str) -> bool {
    word.chars().any(char::is_alphabetic) && (word.chars().count() > 1 || word.chars().all(unspaced))
}

/// The text with its first letter as a capital.
pub fn capitalised(text: &str) -> String {
    let mut signs = text.chars();
    signs.next().map(|first| first.to_uppercase().chain(signs).collect()).unwrap_or_default()
}

/// The text without markup: a `<`, a letter or slash, and no more than 300 bytes to the `>`.
fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains('<') {
        return Cow::Borrowed(text);
    }
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(open) = rest.find('<') {
        out.push_str(&rest[..open]);
        rest = &rest[open..];
        let tag = rest[1..].starts_with(|c: char| c.is_ascii_alphabetic() || c == '/' || c == '!');
        match rest.find('>') {
            Some(close) if tag && close <= 300 => {
                out.push_str(" . ");
                rest = &rest[close + 1..];
            }
            _ => {
                out.push_str(" . ");
                rest = &rest[1..];
            }
        }
    }
    out.push_str(rest);
    Cow::Owned(out)
}

fn is_address(chunk: &str) -> bool {
    chunk.contains("://") || chunk.starts_with("www.") || (chunk.contains('@') && chunk.contains('.'))
}

/// Whether words of this character's script are written without spaces between them.
pub(crate) fn unspaced(c: char) -> bool {
    matches!(c, '\u{3041}'..='\u{309f}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}' | '\u{0e01}'..='\u{0e3a}' | '\u{0e40}'..='\u{0e4e}')
}

fn hiragana(c: char) -> bool {
    matches!(c, '\u{3041}'..='\u{309f}')
}

/// Overlapping pairs; those of Hiragana alone are grammar. No phrase joins pairs.
fn pairs(run: &str, visit: &mut impl FnMut(Piece<'_>)) {
    let at: Vec<(usize, char)> = run.char_indices().collect();
    visit(Piece::Break);
    if at.len() == 1 && !hiragana(at[0].1) {
        visit(Piece::Word(run));
        visit(Piece::Break);
    }
    for pair in at.windows(2).filter(|pair| !(hiragana(pair[0].1) || hiragana(pair[1].1))) {
        visit(Piece::Word(&run[pair[0].0..pair[1].0 + pair[1].1.len_utf8()]));
        visit(Piece::Break);
    }
}

/// Where the word at the start of `text` ends: letters, digits, marks, and apostrophes inside.
fn word_end(text: &str) -> usize {
    for (at, c) in text.char_indices() {
        let inside = || matches!(c, '\'' | '’') && text[at + c.len_utf8()..].starts_with(char::is_alphabetic);
        // Combining marks of Indic scripts and Latin accents are not alphanumeric on their own.
        let mark = matches!(c, '\u{0300}'..='\u{036f}' | '\u{0900}'..='\u{0dff}' | '\u{064b}'..='\u{065f}');
        if unspaced(c) || !(c.is_alphanumeric() || mark || inside()) {
            return at;
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spoken(text: &str) -> Vec<String> {
        let mut out = Vec::new();
        pieces(text, |piece| match piece {
            Piece::Word(word) => out.push(word.to_owned()),
            Piece::Break => out.push("|".to_owned()),
        });
        out.dedup();
        out
    }

    #[test]
    fn words_of_many_scripts() {
        assert_eq!(spoken("Long-term care, isn't it"), ["Long", "term", "care", "|", "isn't", "it"]);
        assert_eq!(spoken("Müller straße"), ["Müller", "straße"]);
        assert_eq!(spoken("保険料"), ["|", "保険", "|", "険料", "|"]);
        assert_eq!(spoken("カード"), ["カード"]);
        assert_eq!(spoken("보험 계약"), ["보험", "계약"]);
        assert_eq!(spoken("हिन्दी भाषा"), ["हिन्दी", "भाषा"]);
    }

    #[test]
    fn markup_and_addresses_are_not_words() {
        assert_eq!(spoken("<a href='x y'>term</a> www.a.com me@b.org"), ["|", "term", "|"]);
        assert_eq!(spoken("a <script>alert(1)</script>")[0], "a");
        assert_eq!(spoken("1 < 2"), ["1", "|", "2"]);
    }

    #[test]
    fn plurals_fold() {
        for (word, expected) in [
            ("policies", "policy"),
            ("taxes", "tax"),
            ("premiums", "premium"),
            ("Company's", "company"),
            ("losses", "loss"),
            ("bus", "bus"),
            ("diagnosis", "diagnosis"),
            ("don't", "dont"),
            ("Äpfels", "äpfels"),
        ] {
            assert_eq!(stem(word), expected);
        }
    }
}
