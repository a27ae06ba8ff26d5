//! Tokens of a query: words, quoted texts, comparisons and marks.

use super::{Mistake, Op, Word};
use std::ops::Range;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    Word,
    /// Quoted text, which is never a keyword.
    Quoted,
    Op(Op),
    Mark,
}

#[derive(Clone, Debug)]
pub struct Token {
    pub piece: Piece,
    /// Text without quotes, and position including the quotes.
    pub word: Word,
}

impl Token {
    /// Whether the token is this keyword or mark.
    pub fn is(&self, word: &str) -> bool {
        matches!(self.piece, Piece::Word | Piece::Mark) && self.word.text.eq_ignore_ascii_case(word)
    }

    /// Whether the token ends a value.
    pub fn ends_value(&self) -> bool {
        matches!(self.piece, Piece::Op(_) | Piece::Mark) || self.is("and") || self.is("or")
    }
}

pub fn tokens(query: &str) -> Result<Vec<Token>, Mistake> {
    let mut out = Vec::new();
    let mut at = 0;
    while let Some(first) = query[at..].chars().next() {
        if first.is_whitespace() {
            at += first.len_utf8();
            continue;
        }
        let (piece, text, place) = next(query, at, first)?;
        at = place.end;
        out.push(Token { piece, word: Word { text, at: place } });
    }
    Ok(out)
}

fn next(query: &str, at: usize, first: char) -> Result<(Piece, String, Range<usize>), Mistake> {
    let rest = &query[at..];
    if matches!(first, '\'' | '"') {
        let unended = || Mistake::new(&(at..query.len()), "a quoted text does not end");
        let end = rest[1..].find(first).ok_or_else(unended)?;
        return Ok((Piece::Quoted, rest[1..=end].to_owned(), at..at + end + 2));
    }
    if let Some(op) = Op::ALL.into_iter().find(|op| rest.starts_with(op.sign())) {
        return Ok((Piece::Op(op), op.sign().to_owned(), at..at + op.sign().len()));
    }
    if matches!(first, '(' | ')' | ',') {
        return Ok((Piece::Mark, first.to_string(), at..at + 1));
    }
    let ends = |c: char| c.is_whitespace() || matches!(c, '(' | ')' | ',' | '=' | '<' | '>' | '~' | '\'' | '"');
    let behind = &rest[first.len_utf8()..];
    let mut end = behind.find(ends).map_or(rest.len(), |e| e + first.len_utf8());
    // The text `a!=b` is a test, and `a!` is a word.
    if rest[..end].ends_with('!') && end > 1 && rest[end..].starts_with(['=', '~']) {
        end -= 1;
    }
    Ok((Piece::Word, rest[..end].to_owned(), at..at + end))
}
