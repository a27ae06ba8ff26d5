//! Row order: elements grouped by a category and sorted inside each group.

use crate::{
    app::kit::{self, colors, theme::Tokens},
    sim::ElementSet,
};
use egui::Color32;
use std::{collections::BTreeSet, sync::Arc};

/// Inverse height of a collapsed group, as a fraction of the number of active elements.
const BAND: u32 = 16;

/// The sort key inside a group.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Sort {
    /// The element's index.
    #[default]
    Index,
    /// Number of spikes so far; the most active element is on top.
    Rate,
    /// A coordinate by its index: x, y or depth.
    Position(usize),
    /// A category of the column with this name.
    Category(String),
}

impl Sort {
    /// Returns the sort options of a set, with labels.
    pub fn options(set: &ElementSet) -> Vec<(Self, String)> {
        let mut options = vec![(Self::Index, "index".to_owned()), (Self::Rate, "rate".to_owned())];
        if !set.positions.is_empty() {
            options.extend(["x", "y", "depth"].into_iter().enumerate().map(|(i, n)| (Self::Position(i), n.into())));
        }
        options.extend(set.columns.iter().map(|c| (Self::Category(c.name.clone()), kit::column(&c.name))));
        options
    }

    /// Returns the sort key of each element; empty for the index.
    fn keys(&self, set: &ElementSet, counts: &[u32]) -> Vec<u32> {
        match self {
            Self::Index => vec![],
            Self::Rate => counts.to_vec(),
            Self::Position(axis) => set.positions.iter().map(|p| ordered(p[*axis])).collect(),
            Self::Category(name) => {
                set.column(name).map(|c| c.codes.iter().map(|c| u32::from(*c)).collect()).unwrap_or_default()
            }
        }
    }
}

/// Converts a number to an integer with the same order.
fn ordered(v: f32) -> u32 {
    let bits = v.to_bits();
    if bits >> 31 == 1 { !bits } else { bits | 1 << 31 }
}

/// Grouping and sorting of rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Order {
    /// The column that rows are grouped by; empty: no groups.
    pub column: String,
    /// Sort key inside a group.
    pub sort: Sort,
    /// Codes of the collapsed groups.
    pub collapsed: BTreeSet<u16>,
}

/// Block of rows of one category.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    pub label: String,
    pub first: u32,
    /// Row after the last one.
    pub end: u32,
    /// Index of the category in its column.
    pub code: u16,
    /// Number of the group's elements that have a row, or share one.
    pub len: u32,
    /// Number of the category's elements that the filter shows, including silent ones.
    pub n_filtered: u32,
    /// Whether the group is collapsed to its rate.
    pub is_collapsed: bool,
}

impl Group {
    /// Returns the row in which spikes of a collapsed group are counted.
    pub fn middle(&self) -> u32 {
        u32::midpoint(self.first, self.end)
    }
}

/// Marks an element without a row, or a row without an element.
pub const NO_ROW: u32 = u32::MAX;

/// Assignment of elements to rows; row 0 is at the bottom.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    /// Row of each element, or [`NO_ROW`].
    pub row_of: Arc<Vec<u32>>,
    /// Element of each row, or [`NO_ROW`] in a collapsed group.
    pub element_of: Arc<Vec<u32>>,
    /// The groups, from the bottom; empty if rows are not grouped.
    pub groups: Vec<Group>,
    /// The column that rows are grouped by; empty: no groups.
    pub column: String,
    /// Number of elements that have a row, or share one.
    pub n_shown: u32,
    /// Number of elements that the filter shows, with or without a row.
    pub n_filtered: u32,
}

impl Rows {
    /// Groups the rows by a column's categories in the order of their codes, and sorts them inside groups. Only elements with
    /// `has_row` get a row.
    pub fn new(set: &ElementSet, order: &Order, counts: &[u32], has_row: impl Fn(u32) -> bool) -> Self {
        let column = set.column(&order.column).filter(|c| c.codes.len() == set.len as usize);
        let code = |element: u32| column.map_or(0, |c| c.codes[element as usize]);
        let keys = order.sort.keys(set, counts);
        let key = |element: u32| keys.get(element as usize).copied().unwrap_or(0);
        let mut elements: Vec<u32> = (0..set.len).filter(|e| has_row(*e)).collect();
        elements.sort_unstable_by_key(|e| (code(*e), key(*e), *e));
        let band = (elements.len() as u32 / BAND).max(1);
        let mut rows = Self {
            column: column.map(|c| c.name.clone()).unwrap_or_default(),
            n_shown: elements.len() as u32,
            n_filtered: elements.len() as u32,
            ..Self::default()
        };
        let (mut row_of, mut element_of) = (vec![NO_ROW; set.len as usize], Vec::with_capacity(elements.len()));
        for block in elements.chunk_by(|a, b| code(*a) == code(*b)) {
            let (first, code) = (element_of.len() as u32, code(block[0]));
            let is_collapsed = column.is_some() && order.collapsed.contains(&code);
            if is_collapsed {
                element_of.resize(element_of.len() + band as usize, NO_ROW);
            } else {
                element_of.extend(block);
            }
            let end = element_of.len() as u32;
            let len = block.len() as u32;
            let label = column.map(|c| c.labels[usize::from(code)].clone()).unwrap_or_default();
            let label = if label.is_empty() { "—".to_owned() } else { label };
            let group = Group { label, first, end, code, len, n_filtered: len, is_collapsed };
            for (i, element) in block.iter().enumerate() {
                row_of[*element as usize] = if is_collapsed { group.middle() } else { first + i as u32 };
            }
            if column.is_some() {
                rows.groups.push(group);
            }
        }
        (rows.row_of, rows.element_of) = (Arc::new(row_of), Arc::new(element_of));
        rows
    }

    /// Counts the elements that the filter shows, with or without a row. Rates are means over these.
    pub fn count_filtered(&mut self, set: &ElementSet, is_filtered: impl Fn(u32) -> bool) {
        let column = set.column(&self.column);
        let mut per_code = vec![0; column.map_or(0, |c| c.labels.len())];
        self.n_filtered = 0;
        for element in (0..set.len).filter(|e| is_filtered(*e)) {
            self.n_filtered += 1;
            let code = column.and_then(|c| c.codes.get(element as usize));
            if let Some(count) = code.and_then(|code| per_code.get_mut(usize::from(*code))) {
                *count += 1;
            }
        }
        for group in &mut self.groups {
            group.n_filtered = per_code.get(usize::from(group.code)).copied().unwrap_or(group.len);
        }
    }

    /// Number of rows.
    pub fn len(&self) -> u32 {
        self.element_of.len() as u32
    }

    /// Number of elements, including those without a row.
    pub fn n_elements(&self) -> u32 {
        self.row_of.len() as u32
    }

    /// Returns the row of an element; `None` if it has none.
    pub fn row(&self, element: u32) -> Option<u32> {
        self.row_of.get(element as usize).copied().filter(|row| *row != NO_ROW)
    }

    /// Returns the element of a row; `None` if it has none.
    pub fn element(&self, row: u32) -> Option<u32> {
        self.element_of.get(row as usize).copied().filter(|element| *element != NO_ROW)
    }

    /// Returns the group of a row; `None` without groups.
    pub fn group(&self, row: u32) -> Option<&Group> {
        self.groups.get(self.groups.partition_point(|g| g.end <= row))
    }

    /// Returns the collapsed groups.
    pub fn collapsed(&self) -> impl Iterator<Item = &Group> {
        self.groups.iter().filter(|g| g.is_collapsed)
    }

    /// Returns one colour per group.
    pub fn colors(&self, set: &ElementSet, tokens: &Tokens) -> Vec<Color32> {
        let of_column = set.column(&self.column).map(|c| colors::of_column(c, tokens)).unwrap_or_default();
        self.groups.iter().map(|g| of_column.get(usize::from(g.code)).copied().unwrap_or(tokens.other)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::Column;

    fn set(texts: &[&str]) -> ElementSet {
        let column = Column::from_texts("class", texts);
        let positions = (0..texts.len()).map(|i| [0.0, 0.0, -(i as f32)]).collect();
        ElementSet { name: "cells", len: texts.len() as u32, columns: vec![column], positions, ..Default::default() }
    }

    fn by(column: &str) -> Order {
        Order { column: column.into(), ..Order::default() }
    }

    #[test]
    fn rows_are_a_permutation_in_blocks() {
        let rows = Rows::new(&set(&["b", "a", "b", "", "a", "b"]), &by("class"), &[], |_| true);
        let mut sorted = rows.row_of.to_vec();
        sorted.sort_unstable();
        assert_eq!(sorted, [0, 1, 2, 3, 4, 5]);
        for (element, row) in rows.row_of.iter().enumerate() {
            assert_eq!(rows.element(*row), Some(element as u32));
        }
        let b = rows.groups.iter().find(|g| g.label == "b").unwrap();
        assert_eq!((b.first..b.end).filter_map(|r| rows.element(r)).collect::<Vec<_>>(), [0, 2, 5]);
        assert_eq!(Rows::new(&set(&["a", "b"]), &by("nothing"), &[], |_| true).groups, []);
    }

    #[test]
    fn sorted_inside_a_group_by_rate_or_place() {
        let set = set(&["a", "a", "b", "a"]);
        let order = |sort| Order { sort, ..by("class") };
        let rate = Rows::new(&set, &order(Sort::Rate), &[9, 1, 0, 5], |_| true);
        let a = rate.groups.iter().find(|g| g.label == "a").unwrap();
        assert_eq!((a.first..a.end).filter_map(|r| rate.element(r)).collect::<Vec<_>>(), [1, 3, 0]);
        let depth = Rows::new(&set, &order(Sort::Position(2)), &[], |_| true);
        assert!(depth.row(3) < depth.row(1) && depth.row(1) < depth.row(0));
        assert!(ordered(-2.0) < ordered(-1.0) && ordered(-1.0) < ordered(0.5));
    }

    #[test]
    fn a_collapsed_group_shares_one_row_of_a_band() {
        let texts: Vec<&str> = (0..160).map(|i| if i < 100 { "many" } else { "few" }).collect();
        let set = set(&texts);
        let code = set.column("class").unwrap().codes[0];
        let order = Order { collapsed: [code].into(), ..by("class") };
        let rows = Rows::new(&set, &order, &[], |_| true);
        assert_eq!((rows.len(), rows.n_shown), (10 + 60, 160));
        let band = rows.collapsed().next().unwrap();
        assert!((0..100).all(|e| rows.row(e) == Some(band.middle())));
        assert!((band.first..band.end).all(|r| rows.element(r).is_none()));
        assert_eq!(rows.group(rows.row(120).unwrap()).map(|g| g.len), Some(60));
    }

    #[test]
    fn only_allowed_elements_get_a_row() {
        for column in ["class", "nothing"] {
            let rows = Rows::new(&set(&["b", "a", "b", "a"]), &by(column), &[], |e| e >= 2);
            assert_eq!((rows.len(), rows.n_elements()), (2, 4));
            assert_eq!((rows.row(0), rows.row(1)), (None, None));
            for row in 0..2 {
                assert_eq!(rows.element(row).and_then(|e| rows.row(e)), Some(row));
            }
        }
    }
}
