//! The query language for sets of elements: targets of stimuli, named sets, filters.
//!
//! ```text
//! query   := [("random" | "first") COUNT "of"] or
//! or      := and ("or" and)*
//! and     := not ("and" not)*
//! not     := "not" not | "(" query ")" | linked | atom
//! linked  := ("downstream" | "upstream") "of" source [">=" COUNT]   that many synapses from it, or onto it
//! source  := NAME of a set | "(" query ")" | linked
//! atom    := "all" | ["in"] NAME of a set | COLUMN test
//! test    := ("=" | "!=" | "~" | "!~") value ("," value)*           ~ contains, without regard to case
//!          | ("<" | "<=" | ">" | ">=" | "=" | "!=") NUMBER [UNIT]   for idx and live values
//! value   := words, a 'quoted' text, a number or, for idx, a range 5..9 (both ends included)
//! COLUMN  := idx | id | root_id | name | file | a category | a live value
//! ```
//!
//! [`parse`] only checks the grammar; [`Known::select`] resolves names among the elements. Every [`Mistake`] says where it
//! is and what would be correct. Chains of `and` and `or` may be of any length; nesting is limited.

mod complete;
mod eval;
mod parse;
mod token;

pub use complete::{Completion, complete};
pub use eval::{Field, Known, Named};
pub use parse::parse;

use crate::sim::ElementSet;
use std::{fmt, ops::Range};

/// An error in a query, and its place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct Mistake {
    /// Byte range in the query.
    pub at: Range<usize>,
    /// What is wrong, and what would be correct.
    pub what: String,
}

impl Mistake {
    fn new(at: &Range<usize>, what: impl Into<String>) -> Self {
        Self { at: at.clone(), what: what.into() }
    }

    /// The sentence with its place: `` `clas = optic`, at `clas`: there is no column … ``.
    pub fn of(&self, query: &str) -> String {
        let place = query.get(self.at.clone()).map_or("", str::trim);
        let (place, whole) = (shortened(place), shortened(query.trim()));
        if place.is_empty() || place == whole {
            return format!("`{whole}`: {}", self.what);
        }
        format!("`{whole}`, at `{place}`: {}", self.what)
    }
}

/// At most this many characters of a query are quoted in an error.
const QUOTED: usize = 120;

fn shortened(text: &str) -> String {
    match text.char_indices().nth(QUOTED) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// A word of a query, and its place. Words are equal when their texts are equal.
#[derive(Clone, Debug, Eq)]
pub struct Word {
    /// Without quotes.
    pub text: String,
    /// Byte range in the query.
    pub at: Range<usize>,
}

impl PartialEq for Word {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

/// A comparison of a column.
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

    /// Its spelling.
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
    /// All elements.
    All,
    /// The elements of a named set.
    Set(Word),
    /// The elements whose column passes a test.
    Test(Word, Op, Vec<Word>),
    /// All other elements.
    Not(Box<Query>),
    /// The elements in all of these, two or more.
    And(Vec<Query>),
    /// The elements in any of these, two or more.
    Or(Vec<Query>),
    /// A number of elements: the first, or drawn at random.
    Choose {
        /// The number.
        count: Word,
        /// Drawn at random instead of the first.
        is_random: bool,
        /// From these elements.
        of: Box<Query>,
    },
    /// The elements with at least a number of synapses from these, or onto these.
    Linked {
        /// `downstream` or `upstream`.
        word: Word,
        /// Targets of these; else sources.
        is_downstream: bool,
        /// The elements they are connected to.
        of: Box<Query>,
        /// The number of synapses; one without it.
        at_least: Option<Word>,
    },
}

const KEYWORDS: [&str; 8] = ["and", "or", "not", "in", "all", "of", "downstream", "upstream"];

/// Quotes a text for a query, unless it is one plain word.
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

/// These elements for a file: `root_id = 70, 71` where they have public ids, which outlive a new order of the elements,
/// else [`of_elements`].
pub fn of_elements_by_id(ids: &[u64], elements: &[u32]) -> String {
    let named = elements.iter().map(|e| ids.get(*e as usize).map(u64::to_string)).collect::<Option<Vec<_>>>();
    named
        .filter(|ids| !ids.is_empty())
        .map_or_else(|| of_elements(elements), |ids| format!("root_id = {}", ids.join(", ")))
}

/// These elements for a file: by the ids of their individuals where these are known, else as [`of_elements_by_id`].
pub fn of_individuals(individuals: &[u64], set: Option<&ElementSet>, elements: &[u32]) -> String {
    if !individuals.is_empty() && individuals.len() == elements.len() {
        return format!("id = {}", individuals.iter().map(u64::to_string).collect::<Vec<_>>().join(", "));
    }
    of_elements_by_id(set.map_or(&[][..], |set| &set.ids), elements)
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
