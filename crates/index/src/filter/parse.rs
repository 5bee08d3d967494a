//! Reading a filter: a hand-written parser whose errors point at the place.

use super::{Comparison, Filter, Scalar};
use retreever_tree::NodeId;

/// Expressions may nest this deep.
const DEEPEST: usize = 64;

/// A filter that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("filter, character {at}: expected {expected}, found {found}\n{}", self.place())]
pub struct FilterError {
    /// The filter.
    pub text: String,
    /// The character where reading stopped, from 1.
    pub at: usize,
    /// What could have stood there.
    pub expected: String,
    /// What stands there.
    pub found: String,
}

impl FilterError {
    /// The filter around the place, and an arrow below it.
    fn place(&self) -> String {
        const AROUND: usize = 60;
        let from = self.at.saturating_sub(AROUND + 1);
        let shown: String = self.text.chars().skip(from).take(2 * AROUND).collect();
        format!("  {shown}\n  {:>at$}", "^", at = self.at - from)
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Word(String),
    Text(String),
    Number(f64),
    Symbol(&'static str),
    Bad(String),
    End,
}

struct Parser<'a> {
    text: &'a str,
    tokens: Vec<(usize, Token)>, // byte offset, token
    next: usize,
    depth: usize,
}

/// Reads a filter.
pub(super) fn parse(text: &str) -> Result<Filter, FilterError> {
    let mut parser = Parser { text, tokens: tokens(text), next: 0, depth: 0 };
    let filter = parser.or()?;
    match parser.peek() {
        Token::End => Ok(filter),
        _ => Err(parser.wanted("`and`, `or` or the end")),
    }
}

impl Parser<'_> {
    fn peek(&self) -> &Token {
        &self.tokens[self.next].1
    }

    fn advance(&mut self) -> Token {
        let token = self.tokens[self.next].1.clone();
        self.next = (self.next + 1).min(self.tokens.len() - 1);
        token
    }

    fn accept(&mut self, keyword: &str) -> bool {
        let here = match self.peek() {
            Token::Word(word) => word.eq_ignore_ascii_case(keyword),
            Token::Symbol(symbol) => *symbol == keyword,
            _ => false,
        };
        if here {
            self.advance();
        }
        here
    }

    fn wanted(&self, expected: &str) -> FilterError {
        let (offset, token) = &self.tokens[self.next];
        let found = match token {
            Token::Word(word) => format!("`{word}`"),
            Token::Text(text) => format!("the text {text:?}"),
            Token::Number(number) => format!("the number {number}"),
            Token::Symbol(symbol) => format!("`{symbol}`"),
            Token::Bad(what) => what.clone(),
            Token::End => "the end".to_owned(),
        };
        let at = self.text[..*offset].chars().count() + 1;
        FilterError { text: self.text.to_owned(), at, expected: expected.to_owned(), found }
    }

    fn or(&mut self) -> Result<Filter, FilterError> {
        let mut parts = vec![self.and()?];
        while self.accept("or") {
            parts.push(self.and()?);
        }
        Ok(if parts.len() == 1 { parts.remove(0) } else { Filter::Or(parts) })
    }

    fn and(&mut self) -> Result<Filter, FilterError> {
        let mut parts = vec![self.unary()?];
        while self.accept("and") {
            parts.push(self.unary()?);
        }
        Ok(if parts.len() == 1 { parts.remove(0) } else { Filter::And(parts) })
    }

    fn unary(&mut self) -> Result<Filter, FilterError> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(self.wanted("fewer nested expressions"));
        }
        let filter = if self.accept("not") {
            Filter::Not(Box::new(self.unary()?))
        } else if self.accept("(") {
            let filter = self.or()?;
            self.expect(")")?;
            filter
        } else {
            self.predicate()?
        };
        self.depth -= 1;
        Ok(filter)
    }

    fn expect(&mut self, symbol: &'static str) -> Result<(), FilterError> {
        if self.accept(symbol) { Ok(()) } else { Err(self.wanted(&format!("`{symbol}`"))) }
    }

    fn predicate(&mut self) -> Result<Filter, FilterError> {
        let Token::Word(field) = self.peek().clone() else {
            return Err(self.wanted("a field, `not`, `under` or `(`"));
        };
        if ["and", "or", "in"].iter().any(|word| field.eq_ignore_ascii_case(word)) {
            return Err(self.wanted("a field, `not`, `under` or `(`"));
        }
        self.advance();
        if field.eq_ignore_ascii_case("under")
            && let Token::Number(node) = *self.peek()
        {
            if node < 0.0 || node.fract() != 0.0 || node >= f64::from(u32::MAX) {
                return Err(self.wanted("the number of a node"));
            }
            self.advance();
            return Ok(Filter::Under(NodeId::new(node as u32)));
        }
        if self.accept("in") {
            return Ok(Filter::In { field, values: self.list()? });
        }
        if self.accept("not") {
            if !self.accept("in") {
                return Err(self.wanted("`in`"));
            }
            return Ok(Filter::Not(Box::new(Filter::In { field, values: self.list()? })));
        }
        let (comparison, negated) = match self.peek() {
            Token::Symbol("=") => (Comparison::Equal, false),
            Token::Symbol("!=") => (Comparison::Equal, true),
            Token::Symbol("<") => (Comparison::Less, false),
            Token::Symbol("<=") => (Comparison::AtMost, false),
            Token::Symbol(">") => (Comparison::Greater, false),
            Token::Symbol(">=") => (Comparison::AtLeast, false),
            _ => return Err(self.wanted("`=`, `!=`, `<`, `<=`, `>`, `>=`, `in` or `not in`")),
        };
        self.advance();
        let filter = Filter::Compare { field, comparison, value: self.scalar()? };
        Ok(if negated { Filter::Not(Box::new(filter)) } else { filter })
    }

    fn list(&mut self) -> Result<Vec<Scalar>, FilterError> {
        self.expect("(")?;
        let mut values = vec![self.scalar()?];
        while self.accept(",") {
            values.push(self.scalar()?);
        }
        if self.accept(")") { Ok(values) } else { Err(self.wanted("`,` or `)`")) }
    }

    fn scalar(&mut self) -> Result<Scalar, FilterError> {
        let value = match self.peek() {
            Token::Text(text) => Scalar::Text(text.clone()),
            Token::Number(number) => Scalar::Number(*number),
            Token::Word(word) if word.eq_ignore_ascii_case("true") => Scalar::Bool(true),
            Token::Word(word) if word.eq_ignore_ascii_case("false") => Scalar::Bool(false),
            _ => return Err(self.wanted("a text in quotes, a number, `true` or `false`")),
        };
        self.advance();
        Ok(value)
    }
}

fn tokens(text: &str) -> Vec<(usize, Token)> {
    let mut out = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start();
        let offset = text.len() - rest.len();
        let Some(first) = rest.chars().next() else {
            out.push((offset, Token::End));
            return out;
        };
        let (token, length) = match first {
            '"' | '\'' => quoted(rest, first),
            c if c.is_ascii_digit()
                || (matches!(c, '-' | '+' | '.')
                    && rest[1..].starts_with(|c: char| c.is_ascii_digit() || c == '.')) =>
            {
                number(rest)
            }
            c if c.is_alphabetic() || c == '_' => {
                let length = rest
                    .find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '.' | '-')))
                    .unwrap_or(rest.len());
                (Token::Word(rest[..length].to_owned()), length)
            }
            c => symbol(rest, c),
        };
        let bad = matches!(token, Token::Bad(_));
        out.push((offset, token));
        if bad {
            // Reading stops here in any case; what follows would only confuse.
            out.push((text.len(), Token::End));
            return out;
        }
        rest = &rest[length..];
    }
}

fn symbol(rest: &str, first: char) -> (Token, usize) {
    for symbol in ["!=", "<=", ">=", "=", "<", ">", "(", ")", ","] {
        if rest.starts_with(symbol) {
            return (Token::Symbol(symbol), symbol.len());
        }
    }
    (Token::Bad(format!("`{first}`")), first.len_utf8())
}

fn number(rest: &str) -> (Token, usize) {
    let mut previous = ' ';
    let length = rest
        .find(|c: char| {
            let inside = c.is_ascii_digit()
                || matches!(c, '.' | 'e' | 'E')
                || (matches!(c, '-' | '+') && matches!(previous, ' ' | 'e' | 'E'));
            previous = c;
            !inside
        })
        .unwrap_or(rest.len());
    match rest[..length].parse::<f64>() {
        Ok(number) if number.is_finite() => (Token::Number(number), length),
        _ => (Token::Bad(format!("`{}`, which is no number", &rest[..length])), length),
    }
}

/// A text in quotes; a backslash makes the next character part of it.
fn quoted(rest: &str, quote: char) -> (Token, usize) {
    let mut out = String::new();
    let mut characters = rest.char_indices().skip(1);
    while let Some((at, c)) = characters.next() {
        match c {
            '\\' => match characters.next() {
                Some((_, escaped)) => out.push(escaped),
                None => break,
            },
            c if c == quote => return (Token::Text(out), at + quote.len_utf8()),
            c => out.push(c),
        }
    }
    (Token::Bad("a text whose closing quote is missing".to_owned()), rest.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn equal(field: &str, value: Scalar) -> Filter {
        Filter::Compare { field: field.to_owned(), comparison: Comparison::Equal, value }
    }

    #[test]
    fn precedence_and_values() {
        let a = || equal("a", Scalar::Number(-1.5));
        let b = || equal("b.c", Scalar::Text("x \"y\"".to_owned()));
        let c = || equal("c", Scalar::Bool(true));
        assert_eq!(
            parse(r#"a = -1.5 or b.c = "x \"y\"" and not c = TRUE"#).unwrap(),
            Filter::Or(vec![a(), Filter::And(vec![b(), Filter::Not(Box::new(c()))])])
        );
        assert_eq!(
            parse("(a=-1.5 OR c=true) and under 5").unwrap(),
            Filter::And(vec![Filter::Or(vec![a(), c()]), Filter::Under(NodeId::new(5))])
        );
        assert_eq!(
            parse("year not in (1, 2e3)").unwrap(),
            Filter::Not(Box::new(Filter::In {
                field: "year".to_owned(),
                values: vec![Scalar::Number(1.0), Scalar::Number(2000.0)]
            }))
        );
        assert_eq!(parse("a != true").unwrap(), Filter::Not(Box::new(equal("a", Scalar::Bool(true)))));
    }

    #[test]
    fn errors_point_at_the_place() {
        for (text, at, expected) in [
            ("", 1, "a field"),
            ("a", 2, "`=`"),
            ("a = ", 5, "a text in quotes"),
            ("a = b", 5, "a text in quotes"),
            ("a = 1 b = 2", 7, "`and`, `or` or the end"),
            ("(a = 1", 7, "`)`"),
            ("a in (1; 2)", 8, "`,` or `)`"),
            ("a = 'x", 5, "a text in quotes"),
            ("under x", 7, "`=`"),
            ("under -1", 7, "the number of a node"),
            ("ä = ?", 5, "a text in quotes"),
        ] {
            let error = parse(text).unwrap_err();
            assert_eq!(error.at, at, "{error}");
            assert!(error.expected.contains(expected), "{error}");
        }
        assert!(parse(&format!("{}a = 1", "(".repeat(1000))).is_err());
    }

    proptest! {
        #[test]
        fn nothing_makes_it_panic(text in r#"[a-z0-9 ="'<>!(),.\\\-ä]{0,40}"#) {
            let _ = parse(&text);
        }
    }
}
