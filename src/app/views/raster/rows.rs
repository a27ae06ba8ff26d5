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

/// The row of an element that has none.
pub const NOWHERE: u32 = u32::MAX;

/// Elements put in rows; row 0 is at the bottom.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    /// Row of each element, or [`NOWHERE`].
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
    /// without such a column. Only elements that `has_row` allows get a row.
    pub fn new(set: &ElementSet, column: &str, has_row: impl Fn(u32) -> bool) -> Self {
        let Some(column) = set.column(column).filter(|c| c.codes.len() == set.len as usize) else {
            return Self::in_order(set, has_row);
        };
        let mut counts = vec![0u32; column.labels.len()];
        for (_, code) in column.codes.iter().enumerate().filter(|(element, _)| has_row(*element as u32)) {
            counts[usize::from(*code)] += 1;
        }
        let mut groups = vec![];
        let mut next = vec![0u32; counts.len()];
        let mut row = 0;
        for (code, count) in counts.iter().enumerate().filter(|(_, n)| **n > 0) {
            let label = if column.labels[code].is_empty() { "—".to_owned() } else { column.labels[code].clone() };
            groups.push(Group { label, first: row, end: row + count, code: code as u16 });
            next[code] = row;
            row += count;
        }
        let mut row_of = vec![NOWHERE; set.len as usize];
        let mut element_of = vec![0; row as usize];
        for (element, code) in column.codes.iter().enumerate().filter(|(element, _)| has_row(*element as u32)) {
            let row = &mut next[usize::from(*code)];
            row_of[element] = *row;
            element_of[*row as usize] = element as u32;
            *row += 1;
        }
        Self { row_of: Arc::new(row_of), element_of: Arc::new(element_of), groups, column: column.name.clone() }
    }

    fn in_order(set: &ElementSet, has_row: impl Fn(u32) -> bool) -> Self {
        let element_of: Vec<u32> = (0..set.len).filter(|e| has_row(*e)).collect();
        let mut row_of = vec![NOWHERE; set.len as usize];
        for (row, element) in element_of.iter().enumerate() {
            row_of[*element as usize] = row as u32;
        }
        Self { row_of: Arc::new(row_of), element_of: Arc::new(element_of), groups: vec![], column: String::new() }
    }

    /// Number of rows.
    pub fn len(&self) -> u32 {
        self.element_of.len() as u32
    }

    /// Number of elements, those without a row included.
    pub fn n_elements(&self) -> u32 {
        self.row_of.len() as u32
    }

    /// The row of an element that has one.
    pub fn row(&self, element: u32) -> Option<u32> {
        self.row_of.get(element as usize).copied().filter(|row| *row != NOWHERE)
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
        let rows = Rows::new(&set, "class", |_| true);
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
        assert_eq!(Rows::new(&set, "nothing", |_| true).groups, []);
    }

    #[test]
    fn only_those_that_may_get_a_row() {
        let column = Column::from_texts("class", &["b", "a", "b", "a"]);
        let set = ElementSet { name: "cells", len: 4, columns: vec![column], ..Default::default() };
        for column in ["class", "nothing"] {
            let rows = Rows::new(&set, column, |e| e >= 2);
            assert_eq!((rows.len(), rows.n_elements()), (2, 4));
            assert_eq!((rows.row(0), rows.row(1)), (None, None));
            for row in 0..2 {
                assert_eq!(rows.row(rows.element_of[row as usize]), Some(row));
            }
        }
    }
}
