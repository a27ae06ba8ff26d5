//! The order of the rows: elements permuted so that a category stands together.

use crate::{
    app::{theme::Tokens, views::colors},
    sim::ElementSet,
};
use egui::Color32;
use std::sync::Arc;

/// A block of rows of one category.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// The category.
    pub label: String,
    /// First row.
    pub first: u32,
    /// One past the last row.
    pub end: u32,
    /// Index of the category in its column.
    pub code: u16,
}

/// A permutation of elements to rows; row 0 is at the bottom.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    /// Row of each element.
    pub row_of: Arc<Vec<u32>>,
    /// Element of each row.
    pub element_of: Arc<Vec<u32>>,
    /// The blocks, from the bottom; empty when ungrouped.
    pub groups: Vec<Group>,
    /// The column grouped by; empty when ungrouped.
    pub column: String,
}

impl Rows {
    /// In order of a column's categories, largest at the bottom, elements by index inside; by index alone
    /// without such a column.
    pub fn new(set: &ElementSet, column: &str) -> Self {
        let Some(column) = set.column(column).filter(|c| c.codes.len() == set.len as usize) else {
            let identity = Arc::new((0..set.len).collect::<Vec<_>>());
            return Self { row_of: identity.clone(), element_of: identity, groups: vec![], column: String::new() };
        };
        let counts = column.counts();
        let mut groups = vec![];
        let mut next = vec![0u32; counts.len()];
        let mut row = 0;
        for (code, count) in counts.iter().enumerate().filter(|(_, n)| **n > 0) {
            let label = if column.labels[code].is_empty() { "—".to_owned() } else { column.labels[code].clone() };
            groups.push(Group { label, first: row, end: row + count, code: code as u16 });
            next[code] = row;
            row += count;
        }
        let mut row_of = vec![0; set.len as usize];
        let mut element_of = vec![0; set.len as usize];
        for (element, code) in column.codes.iter().enumerate() {
            let row = &mut next[usize::from(*code)];
            row_of[element] = *row;
            element_of[*row as usize] = element as u32;
            *row += 1;
        }
        Self { row_of: Arc::new(row_of), element_of: Arc::new(element_of), groups, column: column.name.clone() }
    }

    /// Number of rows.
    pub fn len(&self) -> u32 {
        self.row_of.len() as u32
    }

    /// One colour per block.
    pub fn colors(&self, set: &ElementSet, tokens: &Tokens) -> Vec<Color32> {
        let of_column = set.column(&self.column).map(|c| colors::of_column(c, tokens)).unwrap_or_default();
        self.groups.iter().map(|g| of_column.get(usize::from(g.code)).copied().unwrap_or(tokens.other)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::Column;

    #[test]
    fn rows_are_a_permutation_in_blocks() {
        let column = Column::from_texts("class", &["b", "a", "b", "", "a", "b"]);
        let set = ElementSet { name: "cells", len: 6, columns: vec![column], ..Default::default() };
        let rows = Rows::new(&set, "class");
        let mut sorted = rows.row_of.to_vec();
        sorted.sort_unstable();
        assert_eq!(sorted, [0, 1, 2, 3, 4, 5]);
        for (element, row) in rows.row_of.iter().enumerate() {
            assert_eq!(rows.element_of[*row as usize], element as u32);
        }
        let blocks: Vec<_> = rows.groups.iter().map(|g| (g.label.as_str(), g.first, g.end)).collect();
        assert!(blocks.contains(&("b", rows.groups[0].first, rows.groups[0].end)) || blocks.len() == 3);
        let b: Vec<u32> = rows.groups.iter().find(|g| g.label == "b").map(|g| (g.first..g.end).collect()).unwrap();
        assert_eq!(b.iter().map(|r| rows.element_of[*r as usize]).collect::<Vec<_>>(), [0, 2, 5]);
        assert_eq!(Rows::new(&set, "nothing").groups, []);
    }
}
