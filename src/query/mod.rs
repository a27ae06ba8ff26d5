//! The query language for sets of elements: targets of stimuli, named sets, filters.
//!
//! ```text
//! query   := [("random" | "first") COUNT "of"] or
//! or      := and ("or" and)*
//! and     := not ("and" not)*
//! not     := "not" not | "(" query ")" | linked | atom
//! linked  := ("downstream" | "upstream") "of" source [">=" COUNT]   with at least COUNT synapses from or onto the source
//! source  := NAME of a set | "(" query ")" | linked
//! atom    := "all" | ["in"] NAME of a set | COLUMN test
//! test    := ("=" | "!=" | "~" | "!~") value ("," value)*           ~ contains, without regard to case
//!          | ("<" | "<=" | ">" | ">=" | "=" | "!=") NUMBER [UNIT]   for idx and live values
//! value   := words, a 'quoted' text, a number or, for idx, a range 5..9 (both ends included)
//! COLUMN  := idx | id | root_id | name | file | a category | a live value
//! ```
//!
//! [`parse`] checks only the grammar; [`Known::select`] resolves names among the elements. Every [`Mistake`] contains its
//! position and the correct form. Chains of `and` and `or` may have any length; nesting is limited.

mod complete;
mod eval;
mod parse;
mod token;

pub use complete::{Completion, complete};
pub use eval::{Field, Known, Named};
pub use parse::parse;

use crate::sim::ElementSet;
use std::{fmt, ops::Range};

/// Error in a query with its position.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct Mistake {
    /// Byte range in the query.
    pub at: Range<usize>,
    /// Description of the error with the correct form.
    pub what: String,
}

impl Mistake {
    fn new(at: &Range<usize>, what: impl Into<String>) -> Self {
        Self { at: at.clone(), what: what.into() }
    }

    /// Formats the error with the query and its position: `` `clas = optic`, at `clas`: there is no column … ``.
    pub fn of(&self, query: &str) -> String {
        let place = query.get(self.at.clone()).map_or("", str::trim);
        let (place, whole) = (shortened(place), shortened(query.trim()));
        if place.is_empty() || place == whole {
            return format!("`{whole}`: {}", self.what);
        }
        format!("`{whole}`, at `{place}`: {}", self.what)
    }
}

/// Maximum number of characters of a query that an error quotes.
const QUOTED: usize = 120;

fn shortened(text: &str) -> String {
    match text.char_indices().nth(QUOTED) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Word of a query with its position. Words are equal if their texts are equal.
#[derive(Clone, Debug, Eq)]
pub struct Word {
    /// Text without quotes.
    pub text: String,
    /// Byte range in the query.
    pub at: Range<usize>,
}

impl PartialEq for Word {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

/// Comparison operator of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Column equals one of the values.
    Equal,
    /// Column equals none of the values.
    Unequal,
    /// Column contains one of the values.
    Like,
    /// Column contains none of the values.
    Unlike,
    Below,
    AtMost,
    Above,
    AtLeast,
}

impl Op {
    /// All operators, the longer spellings first.
    pub const ALL: [Self; 8] =
        [Self::Unequal, Self::Unlike, Self::AtMost, Self::AtLeast, Self::Equal, Self::Like, Self::Below, Self::Above];

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

/// A parsed query.
#[derive(Clone, Debug, PartialEq)]
pub enum Query {
    All,
    /// Elements of a named set.
    Set(Word),
    /// Elements whose column passes a test.
    Test(Word, Op, Vec<Word>),
    Not(Box<Query>),
    /// Intersection of two or more queries.
    And(Vec<Query>),
    /// Union of two or more queries.
    Or(Vec<Query>),
    /// Some members of a query: the first ones, or a random choice.
    Choose {
        count: Word,
        /// Whether the choice is random.
        is_random: bool,
        /// Query to choose from.
        of: Box<Query>,
    },
    /// Elements with a minimum number of synapses from or onto the elements of a query.
    Linked {
        /// Keyword: `downstream` or `upstream`.
        word: Word,
        /// Whether targets are selected rather than sources.
        is_downstream: bool,
        /// Query of the connected elements.
        of: Box<Query>,
        /// Minimum number of synapses; `None` means 1.
        at_least: Option<Word>,
    },
}

const KEYWORDS: [&str; 8] = ["and", "or", "not", "in", "all", "of", "downstream", "upstream"];

/// Quotes a text for a query unless it is a single plain word other than a keyword.
pub fn quote(text: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '+' | '/');
    let is_keyword = KEYWORDS.iter().any(|k| k.eq_ignore_ascii_case(text));
    if !text.is_empty() && text.chars().all(plain) && !is_keyword {
        return text.to_owned();
    }
    let mark = if text.contains('"') { '\'' } else { '"' };
    format!("{mark}{text}{mark}")
}

fn write_chain(f: &mut fmt::Formatter<'_>, all: &[Query], word: &str) -> fmt::Result {
    for (i, query) in all.iter().enumerate() {
        let joint = if i == 0 { String::new() } else { format!(" {word} ") };
        write!(f, "{joint}({query})")?;
    }
    Ok(())
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
            Self::And(all) => write_chain(f, all, "and"),
            Self::Or(all) => write_chain(f, all, "or"),
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

/// Returns a query for elements by public id, `root_id = 70, 71`, which stays valid when elements are reordered. If an
/// element has no id, returns the query of [`of_elements`].
pub fn of_elements_by_id(ids: &[u64], elements: &[u32]) -> String {
    let named = elements.iter().map(|e| ids.get(*e as usize).map(u64::to_string)).collect::<Option<Vec<_>>>();
    named
        .filter(|ids| !ids.is_empty())
        .map_or_else(|| of_elements(elements), |ids| format!("root_id = {}", ids.join(", ")))
}

/// Returns a query for elements by the ids of their individuals. If the number of ids differs from the number of elements,
/// returns the query of [`of_elements_by_id`].
pub fn of_individuals(individuals: &[u64], set: Option<&ElementSet>, elements: &[u32]) -> String {
    if !individuals.is_empty() && individuals.len() == elements.len() {
        return format!("id = {}", individuals.iter().map(u64::to_string).collect::<Vec<_>>().join(", "));
    }
    of_elements_by_id(set.map_or(&[][..], |set| &set.ids), elements)
}

/// Returns a query for elements by index: `idx = 1, 2, 5..9`. Three or more neighbours become a range that includes both
/// ends.
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
        assert_eq!(of_elements_by_id(&[], &[4]), "idx = 4");
        assert_eq!(of_elements_by_id(&[70, 71, 72], &[0, 2]), "root_id = 70, 72");
    }

    #[test]
    fn errors_quote_their_place_and_little_of_long_queries() {
        let wrong = parse("class = optic and and").unwrap_err();
        assert_eq!(wrong.of("class = optic and and"), "`class = optic and and`, at `and`: a test was expected here");
        let long = format!("{} and and", vec!["class = optic"; 10_000].join(" or "));
        let wrong = parse(&long).unwrap_err();
        assert!(wrong.of(&long).chars().count() < 2 * QUOTED, "{}", wrong.of(&long));
    }
}
