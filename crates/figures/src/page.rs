//! The page: a heading, the numbers to take away, sections with a note each, tables and figures.
//!
//! One file without scripts or anything fetched: it reads offline, in light and dark, on a narrow screen and on paper.

use crate::markup::Escaped;
use std::fmt::Write;

const STYLE: &str = include_str!("page.css");
/// Nothing runs and nothing is fetched, whatever the text says.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";

/// A page that is being written. What is called `html` is put in as it is; everything else is escaped.
pub struct Page {
    html: String,
}

impl Page {
    /// A page with a heading.
    pub fn new(title: &str, heading: &str) -> Self {
        let html = format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\"/>\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
             <title>{}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n<h1>{}</h1>\n",
            Escaped(title),
            Escaped(heading)
        );
        Self { html }
    }

    /// What the page is about, under the heading.
    pub fn facts(&mut self, text: &str) {
        let _ = writeln!(self.html, "<p class=\"facts\">{}</p>", Escaped(text));
    }

    /// The numbers to take away, each with what it is; nothing if there are none.
    pub fn tiles(&mut self, tiles: &[(String, String)]) {
        if tiles.is_empty() {
            return;
        }
        self.html.push_str("<div class=\"tiles\">\n");
        for (number, text) in tiles {
            let (number, text) = (Escaped(number), Escaped(text));
            let _ = writeln!(self.html, "<div class=\"tile\"><b>{number}</b><span>{text}</span></div>");
        }
        self.html.push_str("</div>\n");
    }

    /// A heading with a note under it.
    pub fn section(&mut self, heading: &str, note: &str) {
        let (heading, note) = (Escaped(heading), Escaped(note));
        let _ = writeln!(self.html, "<h2>{heading}</h2>\n<p class=\"note\">{note}</p>");
    }

    /// A heading below that of a section.
    pub fn subsection(&mut self, heading: &str) {
        let _ = writeln!(self.html, "<h3>{}</h3>", Escaped(heading));
    }

    /// A drawing of this crate.
    pub fn figure(&mut self, svg: &str) {
        let _ = write!(self.html, "<figure><div class=\"scroll\">\n{svg}</div></figure>\n");
    }

    /// A table of text: the first column names the rows.
    pub fn table(&mut self, heads: &[&str], rows: &[Vec<String>]) {
        self.html.push_str("<div class=\"scroll table\"><table><thead><tr>");
        for head in heads {
            let _ = write!(self.html, "<th>{}</th>", Escaped(head));
        }
        self.html.push_str("</tr></thead><tbody>\n");
        for row in rows {
            self.html.push_str("<tr>");
            for (column, cell) in row.iter().enumerate() {
                let tag = if column == 0 { "th" } else { "td" };
                let _ = write!(self.html, "<{tag}>{}</{tag}>", Escaped(cell));
            }
            self.html.push_str("</tr>\n");
        }
        self.html.push_str("</tbody></table></div>\n");
    }

    /// A table behind a fold, for those who want the numbers of a figure.
    pub fn numbers(&mut self, heads: &[&str], rows: &[Vec<String>]) {
        self.html.push_str("<details class=\"rows\"><summary>The numbers</summary>\n");
        self.table(heads, rows);
        self.html.push_str("</details>\n");
    }

    /// Markup made elsewhere, with its text escaped there.
    pub fn html(&mut self, html: &str) {
        self.html.push_str(html);
    }

    /// The whole page, with a last line of markup.
    pub fn finish(mut self, footer_html: &str) -> String {
        let _ = write!(self.html, "<footer><p>{footer_html}</p></footer>\n</main>\n</body>\n</html>\n");
        self.html
    }
}

/// A drawing of this crate as a file of its own, with the colours it needs.
pub fn standalone(svg: &str) -> String {
    const OPEN: &str = "<svg xmlns=\"http://www.w3.org/2000/svg\" style=\"background:var(--panel)\"";
    let (open, rest) = svg.split_once('>').unwrap_or((svg, ""));
    format!("{}><style>{STYLE}</style>{rest}", open.replacen("<svg", OPEN, 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_never_becomes_markup() {
        let bad = "<script>alert(1)</script>";
        let mut page = Page::new(bad, bad);
        page.facts(bad);
        page.tiles(&[(bad.to_owned(), bad.to_owned())]);
        page.section(bad, bad);
        page.subsection(bad);
        page.table(&[bad], &[vec![bad.to_owned(), bad.to_owned()]]);
        let html = page.finish("");
        assert!(!html.contains("<script") && html.contains("&lt;script&gt;"));
    }
}
