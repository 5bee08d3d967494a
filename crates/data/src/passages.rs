//! Passages of a long file: what a hit names, and as much as an encoder reads.
//!
//! A file is cut at its headings (Markdown's `#`, and lines underlined with `===` or `---`; none inside fenced code),
//! and a section longer than [`LONGEST`] at paragraphs, else at sentences, else at blanks, into parts of about equal
//! length. A heading without a text of its own is only a part of the way to those below it.

use crate::sentences::{sentences, trimmed};
use std::ops::Range;

/// The longest passage in bytes: about 250 tokens of English, which is what small encoders read of a text.
pub(crate) const LONGEST: usize = 1000;

/// A part of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Passage<'a> {
    /// The headings above it, the outermost first.
    pub(crate) headings: Vec<&'a str>,
    /// Its text; empty if a heading is all there is.
    pub(crate) text: &'a str,
    /// The line of the file that it starts in, from 1.
    pub(crate) line: usize,
}

/// A heading: its level, its words, and where it stands.
struct Heading<'a> {
    level: usize,
    words: &'a str,
    place: Range<usize>,
}

/// Cuts a text.
pub(crate) fn passages<'a>(text: &'a str) -> Vec<Passage<'a>> {
    let headings = headings(text);
    let mut found = Vec::new();
    let mut above: Vec<&Heading<'a>> = Vec::new();
    let mut lines = Lines { text, at: 0, line: 1 };
    let mut section = |above: &[&Heading<'a>], place: Range<usize>, alone: bool| {
        let words = || above.iter().map(|heading| heading.words).collect();
        match trimmed(text, place.clone()) {
            None if alone => found.push(Passage { headings: words(), text: "", line: lines.of(place.start) }),
            None => {}
            Some(place) => found.extend(parts(text, place).into_iter().map(|part| Passage {
                headings: words(),
                line: lines.of(part.start),
                text: &text[part],
            })),
        }
    };
    let first = headings.first().map_or(text.len(), |heading| heading.place.start);
    section(&[], 0..first, false);
    for (number, heading) in headings.iter().enumerate() {
        above.retain(|outer| outer.level < heading.level);
        above.push(heading);
        let next = headings.get(number + 1);
        let end = next.map_or(text.len(), |next| next.place.start);
        section(&above, heading.place.end..end, next.is_none_or(|next| next.level <= heading.level));
    }
    found
}

/// The headings of a text, in order.
fn headings(text: &str) -> Vec<Heading<'_>> {
    let (mut found, mut fence, mut at) = (Vec::new(), None::<char>, 0);
    let mut above: Option<Range<usize>> = None; // the line above, if it could be underlined
    for line in text.split_inclusive('\n') {
        let place = at..at + line.len();
        at = place.end;
        let words = line.trim();
        let fenced = ['`', '~'].into_iter().find(|c| words.starts_with(&c.to_string().repeat(3)));
        if fence.is_some() || fenced.is_some() {
            fence = match fence {
                None => fenced,
                same if same == fenced => None,
                other => other,
            };
            above = None;
            continue;
        }
        let level = words.len() - words.trim_start_matches('#').len();
        let underline =
            ['=', '-'].into_iter().position(|c| words.len() >= 3 && words.chars().all(|w| w == c));
        if (1..=6).contains(&level) && words[level..].starts_with(' ') && line.starts_with('#') {
            let words = words[level..].trim().trim_end_matches('#').trim_end();
            found.push(Heading { level, words, place });
            above = None;
        } else if let (Some(level), Some(title)) = (underline, above.take()) {
            let words = text[title.clone()].trim();
            found.push(Heading { level: level + 1, words, place: title.start..place.end });
        } else {
            // Only a line after a blank one: the last line of a paragraph above a rule is no heading.
            let starts = text[..place.start].trim_end_matches([' ', '\t', '\r']).ends_with("\n\n")
                || text[..place.start].trim().is_empty();
            above = (starts && !words.is_empty() && words.len() <= 120).then_some(place);
        }
    }
    found
}

/// Parts of a place that are short enough, in order and about equally long.
fn parts(text: &str, place: Range<usize>) -> Vec<Range<usize>> {
    if place.len() <= LONGEST {
        return vec![place];
    }
    let goal = place.len() / place.len().div_ceil(LONGEST);
    let mut parts: Vec<Range<usize>> = Vec::new();
    for unit in units(text, place) {
        match parts.last_mut() {
            Some(last) if unit.end - last.start <= LONGEST && last.len() < goal => last.end = unit.end,
            _ => parts.push(unit),
        }
    }
    parts
}

/// What is not cut: paragraphs, or sentences of a long paragraph, or pieces of a long sentence.
fn units(text: &str, place: Range<usize>) -> Vec<Range<usize>> {
    let mut units = Vec::new();
    for paragraph in paragraphs(text, place) {
        if paragraph.len() <= LONGEST {
            units.push(paragraph);
            continue;
        }
        for sentence in sentences(&text[paragraph.clone()]) {
            let mut left = paragraph.start + sentence.start..paragraph.start + sentence.end;
            while left.len() > LONGEST {
                let mut most = left.start + left.len().div_ceil(left.len().div_ceil(LONGEST));
                while !text.is_char_boundary(most) {
                    most -= 1;
                }
                let blank = text[left.start..most].rfind(char::is_whitespace).filter(|at| *at > 0);
                let end = blank.map_or(most, |at| left.start + at);
                units.extend(trimmed(text, left.start..end));
                left.start = end;
            }
            units.extend(trimmed(text, left));
        }
    }
    units
}

fn paragraphs(text: &str, place: Range<usize>) -> Vec<Range<usize>> {
    let (mut found, mut start, mut at) = (Vec::new(), place.start, place.start);
    for line in text[place.clone()].split_inclusive('\n') {
        if line.trim().is_empty() {
            found.extend(trimmed(text, start..at));
            start = at;
        }
        at += line.len();
    }
    found.extend(trimmed(text, start..place.end));
    found
}

/// Numbers of lines, asked for in order.
struct Lines<'a> {
    text: &'a str,
    at: usize,
    line: usize,
}

impl Lines<'_> {
    fn of(&mut self, place: usize) -> usize {
        self.line += self.text[self.at..place].matches('\n').count();
        self.at = place;
        self.line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_cut_and_lead_the_way() {
        let text = "before\n\n# Rain\nIt falls.\n\n## Why\n\n```\n# no heading\n```\n## Empty\n# Snow\n\nIntro\n-----\nwhite\n\n\
                    words\nof one\n---\nafter\n";
        let found: Vec<_> =
            passages(text).into_iter().map(|p| (p.headings.join("/"), p.text, p.line)).collect();
        let expected = [
            ("", "before", 1),
            ("Rain", "It falls.", 4),
            ("Rain/Why", "```\n# no heading\n```", 8),
            ("Rain/Empty", "", 12),
            ("Snow/Intro", "white\n\nwords\nof one\n---\nafter", 16),
        ];
        assert_eq!(found, expected.map(|(headings, text, line)| (headings.to_owned(), text, line)));
    }

    #[test]
    fn long_sections_are_cut_evenly_and_nothing_is_lost() {
        let paragraph = "A sentence of seven words stands here. ".repeat(40);
        for text in
            [paragraph.clone(), format!("{paragraph}\n\n{paragraph}"), "ü".repeat(3000), "x ".repeat(2000)]
        {
            let found = passages(&text);
            assert!(found.len() > 1 && found.iter().all(|p| p.text.len() <= LONGEST && p.text.len() > 200));
            let kept: String = found.iter().flat_map(|p| p.text.split_whitespace()).collect();
            assert_eq!(kept, text.split_whitespace().collect::<String>());
        }
    }
}
