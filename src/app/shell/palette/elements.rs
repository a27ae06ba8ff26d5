//! Search for elements by id, name or category. It runs on a worker thread, because a set may have more than 100,000 elements.

use super::score::score;
use crate::sim::ElementSet;
use std::sync::Arc;

/// Maximum number of elements offered.
const MAX_ELEMENTS: usize = 12;
/// Maximum number of categories offered.
const MAX_CATEGORIES: usize = 12;

/// Search hit in the model that can be selected.
#[derive(Clone, Debug, PartialEq)]
pub enum SearchHit {
    Element {
        set: &'static str,
        element: u32,
        text: String,
        /// Text with set, categories and index.
        aside: String,
    },
    /// All elements of a category.
    Category {
        set: &'static str,
        column: usize,
        /// Code of the category in the column.
        code: u16,
        text: String,
        /// Number of elements of the category.
        count: u32,
    },
}

/// Searches the sets for a query. Categories are first, then elements; both are sorted by score.
pub fn search(sets: &[Arc<ElementSet>], query: &str) -> Vec<SearchHit> {
    let mut categories = vec![];
    let mut elements = vec![];
    for set in sets {
        for (column, c) in set.columns.iter().enumerate() {
            let counts = c.counts();
            for (code, label) in c.labels.iter().enumerate().filter(|(_, l)| !l.is_empty()) {
                let text = format!("{} = {label}", c.name);
                if let Some(score) = score(label, query).max(score(&text, query)) {
                    let (code, count) = (code as u16, counts[code]);
                    categories.push((score, SearchHit::Category { set: set.name, column, code, text, count }));
                }
            }
        }
        let found = elements_of(set, query).into_iter();
        elements.extend(found.map(|(score, element)| {
            let (text, aside) = (set.label(element), describe(set, element));
            (score, SearchHit::Element { set: set.name, element, text, aside })
        }));
    }
    let best = |mut list: Vec<(i32, SearchHit)>, n: usize| {
        list.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
        list.into_iter().take(n).map(|(_, found)| found)
    };
    best(categories, MAX_CATEGORIES).chain(best(elements, MAX_ELEMENTS)).collect()
}

/// Returns elements whose index equals, whose id begins with, or whose name contains the query, with their scores.
fn elements_of(set: &ElementSet, query: &str) -> Vec<(i32, u32)> {
    let mut found: Vec<(i32, u32)> = vec![];
    if let Ok(number) = query.trim_start_matches('#').parse::<u64>() {
        let is_index = number < u64::from(set.len);
        found.extend(is_index.then_some((900, number as u32)));
        let begins = |id: &u64| id.to_string().starts_with(query);
        let ids = set.ids.iter().enumerate().filter(|(_, id)| begins(id));
        found.extend(ids.take(MAX_ELEMENTS).map(|(i, _)| (1000, i as u32)));
    }
    let needle = query.to_lowercase();
    for (i, name) in set.names.iter().enumerate().filter(|(_, n)| contains(n, &needle)) {
        found.extend(score(name, query).map(|score| (score, i as u32)));
    }
    found.sort_by_key(|(score, i)| (std::cmp::Reverse(*score), *i));
    found.truncate(MAX_ELEMENTS);
    found
}

/// Searches case-insensitively (ASCII) without an allocation per name; `false` for an empty needle.
fn contains(name: &str, needle: &str) -> bool {
    let (name, needle) = (name.as_bytes(), needle.as_bytes());
    !needle.is_empty() && name.windows(needle.len()).any(|part| part.eq_ignore_ascii_case(needle))
}

fn describe(set: &ElementSet, element: u32) -> String {
    let labels = set.columns.iter().map(|c| c.label(element)).filter(|l| !l.is_empty()).take(3);
    let noun = set.singular();
    let words: Vec<&str> = std::iter::once(noun.as_str()).chain(labels).collect();
    format!("{} · #{element}", words.join(" · "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::Column;

    #[test]
    fn by_id_by_name_and_by_category() {
        let set = ElementSet {
            name: "neurons",
            len: 3,
            ids: vec![720_575_940, 720_575_941, 99],
            names: vec!["MN9".into(), "LC4 left".into(), "lc6".into()],
            columns: vec![Column::from_texts("class", &["motor", "visual", "visual"])],
            ..ElementSet::default()
        };
        let found = |query: &str| search(&[Arc::new(set.clone())], query);
        let element = |query: &str| match found(query).into_iter().find(|f| matches!(f, SearchHit::Element { .. })) {
            Some(SearchHit::Element { element, .. }) => Some(element),
            _ => None,
        };
        assert_eq!(element("mn9"), Some(0));
        assert_eq!(element("LC6"), Some(2));
        assert_eq!(element("720575941"), Some(1));
        assert_eq!(element("#2"), Some(2));
        let Some(SearchHit::Category { text, count, .. }) = found("visu").into_iter().next() else { panic!("nothing") };
        assert_eq!((text.as_str(), count), ("class = visual", 2));
        assert!(found("nothing of the kind").is_empty());
    }
}
