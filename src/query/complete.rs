//! Completions for a query that is being typed.

use super::{
    Known, Op, quote,
    token::{Piece, Token, tokens},
};
use crate::num::digits::counted;
use std::ops::Range;

/// Maximum number of completions.
const MOST: usize = 12;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completion {
    /// Byte range of the query that the completion replaces.
    pub at: Range<usize>,
    pub text: String,
    /// Description of the completion.
    pub hint: String,
}

/// Returns at most `MOST` completions at the cursor in a query, best first; `cursor` is a byte offset. Returns none in an
/// invalid query.
pub fn complete(text: &str, cursor: usize, known: &Known<'_>) -> Vec<Completion> {
    let Some(head) = text.get(..cursor) else { return vec![] };
    let Ok(all) = tokens(head) else { return vec![] };
    let is_open = all.last().is_some_and(|t| t.piece == Piece::Word && t.word.at.end == cursor);
    let (typed, before) =
        if is_open { (all[all.len() - 1].word.text.as_str(), &all[..all.len() - 1]) } else { ("", &all[..]) };
    let at = cursor - typed.len()..cursor;
    let wanted = typed.to_lowercase();
    let mut found: Vec<(bool, Completion)> = proposals(before, known)
        .into_iter()
        .filter(|(text, _)| text.to_lowercase().contains(&wanted) && *text != typed)
        .map(|(text, hint)| {
            let begins = text.trim_start_matches(['"', '\'']).to_lowercase().starts_with(&wanted);
            (!begins, Completion { at: at.clone(), text, hint })
        })
        .collect();
    found.sort_by_key(|(later, _)| *later); // a stable sort, which otherwise keeps the proposed order
    found.into_iter().take(MOST).map(|(_, c)| c).collect()
}

fn proposals(before: &[Token], known: &Known<'_>) -> Vec<(String, String)> {
    let Some(last) = before.last() else { return tests(known) };
    if matches!(last.piece, Piece::Op(_)) || last.is(",") {
        return values(before, known);
    }
    if last.is("in") {
        return sets(known);
    }
    if ["(", "and", "or", "not", "of"].iter().any(|w| last.is(w)) {
        return tests(known);
    }
    let is_first_of_test = before.len() < 2 || {
        let previous = &before[before.len() - 2];
        ["(", "and", "or", "not", "of"].iter().any(|w| previous.is(w))
    };
    if is_first_of_test && let Some(signs) = signs(&last.word.text, known) {
        return signs;
    }
    ["and", "or"].map(|w| (w.to_owned(), String::new())).to_vec()
}

fn sets(known: &Known<'_>) -> Vec<(String, String)> {
    let named = known.named.iter().filter(|s| !s.name.is_empty());
    named.map(|s| (quote(&s.name), format!("set: {}", s.query))).collect()
}

fn tests(known: &Known<'_>) -> Vec<(String, String)> {
    let mut out: Vec<(String, String)> =
        known.set.columns.iter().map(|c| (quote(&c.name), counted(c.labels.len(), "category", "categories"))).collect();
    out.extend(known.fields.iter().map(|f| (quote(f.short()), format!("live value, {}", f.unit))));
    out.extend(sets(known).into_iter().map(|(name, hint)| (format!("in {name}"), hint)));
    let words = [
        ("not", "all other elements"),
        ("name", "name of an element"),
        ("idx", "index, or a range 5..9"),
        ("root_id", "public identifier"),
        ("all", "all elements"),
        ("random 21 of", "drawn with the project's seed"),
        ("downstream of", "targets of their synapses"),
        ("upstream of", "sources of their synapses"),
    ];
    let useful = |word: &str| known.links.is_some() || !word.ends_with("stream of");
    out.extend(words.iter().filter(|(w, _)| useful(w)).map(|(w, hint)| ((*w).to_owned(), (*hint).to_owned())));
    out
}

fn signs(column: &str, known: &Known<'_>) -> Option<Vec<(String, String)>> {
    let is_field = known.fields.iter().any(|f| f.short() == column || f.name == column);
    let is_category = known.set.column(column).is_some() || column == "name";
    let ops: &[Op] = match column {
        _ if is_field => &[Op::Above, Op::AtLeast, Op::Below, Op::AtMost],
        _ if is_category => &[Op::Equal, Op::Unequal, Op::Like, Op::Unlike],
        "idx" | "id" | "root_id" | "file" => &[Op::Equal, Op::Unequal],
        _ => return None,
    };
    Some(ops.iter().map(|op| (op.sign().to_owned(), String::new())).collect())
}

/// Returns the categories of the column whose values are being typed, most frequent first.
fn values(before: &[Token], known: &Known<'_>) -> Vec<(String, String)> {
    let Some(op) = before.iter().rposition(|t| matches!(t.piece, Piece::Op(_))) else { return vec![] };
    let Some(column) = op.checked_sub(1).and_then(|i| known.set.column(&before[i].word.text)) else { return vec![] };
    let counted = column.labels.iter().zip(column.counts()).filter(|(label, n)| !label.is_empty() && *n > 0);
    let mut counted: Vec<(u32, &String)> = counted.map(|(label, n)| (n, label)).collect();
    counted.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(b.1)));
    counted.into_iter().map(|(n, label)| (quote(label), n.to_string())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        query::{Field, Named},
        sim::{Column, ElementSet},
    };

    fn texts(text: &str) -> Vec<String> {
        let set = ElementSet {
            name: "cells",
            len: 3,
            columns: vec![Column::from_texts("super_class", &["sensory", "visual projection", "sensory"])],
            ..ElementSet::default()
        };
        let named = [Named { name: "Sugar GRNs".into(), query: "all".into(), ..Named::default() }];
        let fields = [Field { name: "rate_field", unit: "Hz", values: &[] }];
        let listed = |_: &str| Ok(vec![]);
        let known = Known {
            set: &set,
            individuals: &[],
            named: &named,
            fields: &fields,
            links: None,
            seed: 0,
            listed: &listed,
        };
        complete(text, text.len(), &known).into_iter().map(|c| c.text).collect()
    }

    #[test]
    fn completions_fit_the_place() {
        assert_eq!(texts("")[..3], ["super_class", "rate", "in \"Sugar GRNs\""]);
        assert_eq!(texts("sup"), ["super_class"]);
        assert_eq!(texts("super_class "), ["=", "!=", "~", "!~"]);
        assert_eq!(texts("super_class = "), ["sensory", "\"visual projection\""]);
        assert_eq!(texts("super_class = vis"), ["\"visual projection\""]);
        assert_eq!(texts("super_class = sensory, v"), ["\"visual projection\""]);
        assert_eq!(texts("rate "), [">", ">=", "<", "<="]);
        assert_eq!(texts("super_class = sensory "), ["and", "or"]);
        assert_eq!(texts("not (in "), ["\"Sugar GRNs\""]);
        assert!(texts("not ra").contains(&"rate".to_owned()));
        assert!(texts("super_class = 'sen").is_empty());
    }
}
