//! The one language in which sets of elements are described: targets of stimuli, named sets, filters.
//!
//! ```text
//! query   := [("random" | "first") COUNT "of"] or
//! or      := and ("or" and)*
//! and     := not ("and" not)*
//! not     := "not" not | "(" query ")" | linked | atom
//! linked  := ("downstream" | "upstream") "of" whom [">=" COUNT]     that many synapses from them, or onto them
//! whom    := NAME of a set | "(" query ")" | linked
//! atom    := "all" | ["in"] NAME of a set | COLUMN test
//! test    := ("=" | "!=" | "~" | "!~") value ("," value)*           ~ contains, without regard to case
//!          | ("<" | "<=" | ">" | ">=" | "=" | "!=") NUMBER [UNIT]   for idx and live values
//! value   := words, a 'quoted' text, a number or, for idx, a range 5..9 (both ends included)
//! COLUMN  := idx | root_id | name | file | a category | a live value
//! ```
//!
//! [`parse`] knows the grammar alone; [`Known::select`] knows the elements. Every [`Mistake`] says where it is and what
//! would have been right.

mod complete;
mod eval;
mod parse;
mod token;

pub use complete::{Completion, complete};
pub use eval::{Field, Known, Named};
pub use parse::parse;

use std::{fmt, ops::Range};

/// What is wrong with a query, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct Mistake {
    /// Bytes of the query it is about.
    pub at: Range<usize>,
    /// What is wrong, and what would be right.
    pub what: String,
}

impl Mistake {
    fn new(at: &Range<usize>, what: impl Into<String>) -> Self {
        Self { at: at.clone(), what: what.into() }
    }

    /// The sentence with its place: `` `clas = optic`, at `clas`: there is no column … ``.
    pub fn of(&self, query: &str) -> String {
        let place = query.get(self.at.clone()).map_or("", str::trim);
        let whole = query.trim();
        if place.is_empty() || place == whole {
            return format!("`{whole}`: {}", self.what);
        }
        format!("`{whole}`, at `{place}`: {}", self.what)
    }
}

/// A word of a query, and where it stands. Words are equal when their texts are.
#[derive(Clone, Debug, Eq)]
pub struct Word {
    /// Without quotes.
    pub text: String,
    /// Bytes of the query.
    pub at: Range<usize>,
}

impl PartialEq for Word {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

/// How a column is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Is one of these.
    Equal,
    /// Is none of these.
    Unequal,
    /// Contains one of these.
    Like,
    /// Contains none of these.
    Unlike,
    /// Lies below.
    Below,
    /// Lies at or below.
    AtMost,
    /// Lies above.
    Above,
    /// Lies at or above.
    AtLeast,
}

impl Op {
    /// All of them, the longer spellings first.
    pub const ALL: [Self; 8] =
        [Self::Unequal, Self::Unlike, Self::AtMost, Self::AtLeast, Self::Equal, Self::Like, Self::Below, Self::Above];

    /// As it is written.
    pub const fn sign(self) -> &'static str {
        match self {
            Self::Equal => "=",
            Self::Unequal => "!=",
            Self::Like => "~",
            Self::Unlike => "!~",
            Self::Below => "<",
            Self::AtMost => "<=",
            Self::Above => ">",
            Self::AtLeast => ">=",
        }
    }
}

/// A query, taken apart.
#[derive(Clone, Debug, PartialEq)]
pub enum Query {
    /// Everyone.
    All,
    /// Those of a named set.
    Set(Word),
    /// Those whose column passes a test.
    Test(Word, Op, Vec<Word>),
    /// The others.
    Not(Box<Query>),
    /// Those in both.
    And(Box<Query>, Box<Query>),
    /// Those in either.
    Or(Box<Query>, Box<Query>),
    /// So many of them: the first, or drawn at random.
    Choose {
        /// How many, and where that is said.
        count: Word,
        /// Drawn rather than the first.
        is_random: bool,
        /// Out of these.
        of: Box<Query>,
    },
    /// Those that get at least so many synapses from these, or give them.
    Linked {
        /// Where that is said.
        word: Word,
        /// They get them; else they give them.
        is_downstream: bool,
        /// From or to these.
        of: Box<Query>,
        /// How many; one when nothing is said.
        at_least: Option<Word>,
    },
}

const KEYWORDS: [&str; 8] = ["and", "or", "not", "in", "all", "of", "downstream", "upstream"];

/// A text as a query has to spell it: quoted unless it is one plain word.
pub fn quote(text: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '+' | '/');
    let is_keyword = KEYWORDS.iter().any(|k| k.eq_ignore_ascii_case(text));
    if !text.is_empty() && text.chars().all(plain) && !is_keyword {
        return text.to_owned();
    }
    let mark = if text.contains('"') { '\'' } else { '"' };
    format!("{mark}{text}{mark}")
}

impl fmt::Display for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => write!(f, "all"),
            Self::Set(name) => write!(f, "in {}", quote(&name.text)),
            Self::Test(column, op, values) => {
                let values: Vec<String> = values.iter().map(|v| quote(&v.text)).collect();
                write!(f, "{} {} {}", quote(&column.text), op.sign(), values.join(", "))
            }
            Self::Not(inner) => write!(f, "not ({inner})"),
            Self::And(a, b) => write!(f, "({a}) and ({b})"),
            Self::Or(a, b) => write!(f, "({a}) or ({b})"),
            Self::Choose { count, is_random, of } => {
                write!(f, "{} {} of ({of})", if *is_random { "random" } else { "first" }, count.text)
            }
            Self::Linked { is_downstream, of, at_least, .. } => {
                write!(f, "{} of ({of})", if *is_downstream { "downstream" } else { "upstream" })?;
                at_least.as_ref().map_or(Ok(()), |n| write!(f, " >= {}", n.text))
            }
        }
    }
}

/// `idx = 1, 2, 5..9`: these elements by index. Three and more neighbours are written as a range, both ends included.
pub fn of_elements(elements: &[u32]) -> String {
    let mut parts = Vec::new();
    let mut rest = elements;
    while let Some(first) = rest.first() {
        let run = rest.iter().enumerate().take_while(|(i, e)| **e == first + *i as u32).count();
        match run {
            1 | 2 => parts.extend(rest[..run].iter().map(u32::to_string)),
            _ => parts.push(format!("{first}..{}", rest[run - 1])),
        }
        rest = &rest[run..];
    }
    format!("idx = {}", parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_short() {
        assert_eq!(of_elements(&[1, 2, 5, 6, 7, 9]), "idx = 1, 2, 5..7, 9");
        assert_eq!(of_elements(&[4]), "idx = 4");
    }

    #[test]
    fn places_are_named() {
        let wrong = parse("class = optic and and").unwrap_err();
        assert_eq!(wrong.of("class = optic and and"), "`class = optic and and`, at `and`: a test was expected here");
    }
}
