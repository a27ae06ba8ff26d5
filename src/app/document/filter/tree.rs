//! Elements by category: a tree whose nodes are ranges of one permutation of all elements.

use crate::{query, sim::ElementSet};
use std::ops::Range;

/// Minimum purity at which a column refines a coarser one: the share of the elements of a fine category that are in the
/// majority coarse category.
const PURITY: f64 = 0.85;

/// Category within a node of a coarser column.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Depth in the tree; 0 for the coarsest nodes.
    pub depth: usize,
    /// Index into the labels of the column.
    pub code: u16,
    /// Index of the parent node; `None` for a root.
    pub parent: Option<u32>,
    /// Elements of the node, a range of [`Tree::order`].
    pub elements: Range<u32>,
    /// Children of the node, a range of the nodes.
    pub children: Range<u32>,
    /// Leaves of the node, numbered over the whole tree in order.
    pub leaves: Range<u32>,
}

/// Elements of a set by the categories of one column, or of several columns of which each refines the previous one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tree {
    /// Indices of the columns, coarsest first.
    pub columns: Vec<usize>,
    /// Nodes, coarse ones first; children of a node are contiguous.
    pub nodes: Vec<Node>,
    pub order: Vec<u32>,
    /// Number of nodes without a parent.
    pub n_roots: u32,
}

/// Share of a node that is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tick {
    /// All elements are shown.
    On,
    /// Some elements are shown.
    Partly,
    Off,
}

/// Creates the trees of a set: one of the longest chain of refinements from the first column, and one for each other
/// column.
pub fn trees(set: &ElementSet) -> Vec<Tree> {
    let worth = |c: &usize| set.columns[*c].labels.len() > 1 && set.columns[*c].codes.len() == set.len as usize;
    let all: Vec<usize> = (0..set.columns.len()).filter(worth).collect();
    let mut chain: Vec<usize> = all.first().copied().into_iter().collect();
    for c in all.iter().skip(1) {
        if chain.last().is_some_and(|last| refines(set, *last, *c)) {
            chain.push(*c);
        }
    }
    let rest = all.iter().filter(|c| !chain.contains(c)).map(|c| vec![*c]);
    let chains = std::iter::once(chain.clone()).filter(|c| !c.is_empty()).chain(rest);
    chains.map(|columns| Tree::new(set, columns)).collect()
}

fn refines(set: &ElementSet, coarse: usize, fine: usize) -> bool {
    let (a, b) = (&set.columns[coarse], &set.columns[fine]);
    if b.labels.len() <= a.labels.len() {
        return false;
    }
    let named: Vec<u32> = (0..set.len).filter(|e| !b.labels[usize::from(b.codes[*e as usize])].is_empty()).collect();
    let by_fine = sorted_by_code(&named, &b.codes);
    let (mut kept, mut counts) = (0_u32, vec![0_u32; a.labels.len()]);
    for group in by_fine.chunk_by(|e, f| b.codes[*e as usize] == b.codes[*f as usize]) {
        let coarse = || group.iter().map(|e| usize::from(a.codes[*e as usize]));
        coarse().for_each(|code| counts[code] += 1);
        kept += coarse().map(|code| std::mem::take(&mut counts[code])).max().unwrap_or(0);
    }
    let total = named.len();
    total > 0 && f64::from(kept) >= PURITY * total as f64
}

/// Sorts elements by their codes, in linear time; elements with equal codes keep their order.
fn sorted_by_code(elements: &[u32], codes: &[u16]) -> Vec<u32> {
    let mut starts = vec![0_usize; codes.iter().max().map_or(0, |code| usize::from(*code)) + 2];
    for e in elements {
        starts[usize::from(codes[*e as usize]) + 1] += 1;
    }
    for code in 1..starts.len() {
        starts[code] += starts[code - 1];
    }
    let mut sorted = vec![0; elements.len()];
    for e in elements {
        let at = &mut starts[usize::from(codes[*e as usize])];
        sorted[*at] = *e;
        *at += 1;
    }
    sorted
}

impl Tree {
    /// Creates the tree of the given columns.
    pub fn new(set: &ElementSet, columns: Vec<usize>) -> Self {
        let code = |depth: usize, element: u32| set.columns[columns[depth]].codes[element as usize];
        let all: Vec<u32> = (0..set.len).collect();
        let order = columns.iter().rev().fold(all, |order, c| sorted_by_code(&order, &set.columns[*c].codes));
        let mut nodes: Vec<Node> = Vec::new();
        let mut n_roots = 0;
        let mut level: Vec<(Option<u32>, Range<u32>)> = vec![(None, 0..set.len)];
        for depth in 0..columns.len() {
            let mut next = Vec::new();
            for (parent, range) in level {
                let first_child = nodes.len() as u32;
                let mut from = range.start;
                while from < range.end {
                    let this = code(depth, order[from as usize]);
                    let rest = &order[from as usize..range.end as usize];
                    let end = from + rest.partition_point(|e| code(depth, *e) == this) as u32;
                    next.push((Some(nodes.len() as u32), from..end));
                    nodes.push(Node { depth, code: this, parent, elements: from..end, children: 0..0, leaves: 0..0 });
                    from = end;
                }
                match parent {
                    Some(p) => nodes[p as usize].children = first_child..nodes.len() as u32,
                    None => n_roots = nodes.len() as u32,
                }
            }
            level = next;
        }
        let mut tree = Self { columns, nodes, order, n_roots };
        tree.number_leaves();
        tree
    }

    fn number_leaves(&mut self) {
        let deepest = self.columns.len().saturating_sub(1);
        let leaves = self.nodes.iter_mut().filter(|node| node.depth == deepest);
        leaves.zip(0..).for_each(|(node, n)| node.leaves = n..n + 1);
        for i in (0..self.nodes.len()).rev() {
            let children = self.nodes[i].children.clone();
            if !children.is_empty() {
                self.nodes[i].leaves =
                    self.nodes[children.start as usize].leaves.start..self.nodes[children.end as usize - 1].leaves.end;
            }
        }
    }

    /// Returns the number of leaves.
    pub fn n_leaves(&self) -> usize {
        self.nodes.iter().filter(|n| n.children.is_empty()).count()
    }

    /// Returns the elements of a node.
    pub fn elements(&self, node: u32) -> &[u32] {
        let range = &self.nodes[node as usize].elements;
        &self.order[range.start as usize..range.end as usize]
    }

    /// Returns the name of a node.
    pub fn label<'a>(&self, set: &'a ElementSet, node: u32) -> &'a str {
        let node = &self.nodes[node as usize];
        set.columns[self.columns[node.depth]].labels.get(usize::from(node.code)).map_or("", String::as_str)
    }

    /// Returns the share of a node that is shown if the leaves with a flag in `hidden` are hidden.
    pub fn tick(&self, node: u32, hidden: &[bool]) -> Tick {
        let leaves = &self.nodes[node as usize].leaves;
        let of = hidden.get(leaves.start as usize..leaves.end as usize).unwrap_or(&[]);
        match of.iter().filter(|h| **h).count() {
            0 => Tick::On,
            n if n == of.len() => Tick::Off,
            _ => Tick::Partly,
        }
    }

    /// Clears the flags in `shown` of elements in hidden leaves.
    pub fn hide(&self, hidden: &[bool], shown: &mut [bool]) {
        let leaves = self.nodes.iter().filter(|n| n.children.is_empty());
        for (leaf, _) in leaves.zip(hidden).filter(|(_, hidden)| **hidden) {
            for e in &self.order[leaf.elements.start as usize..leaf.elements.end as usize] {
                shown[*e as usize] = false;
            }
        }
    }

    /// Returns the shown elements as a query; `None` if all elements are shown.
    pub fn query(&self, set: &ElementSet, hidden: &[bool]) -> Option<String> {
        if !hidden.contains(&true) {
            return None;
        }
        Some(self.query_of(set, 0..self.n_roots, hidden))
    }

    fn query_of(&self, set: &ElementSet, nodes: Range<u32>, hidden: &[bool]) -> String {
        let Some(first) = self.nodes.get(nodes.start as usize) else { return "not all".to_owned() };
        let column = query::quote(&set.columns[self.columns[first.depth]].name);
        let ticked = |wanted: Tick| nodes.clone().filter(move |n| self.tick(*n, hidden) == wanted);
        let name = |n: u32| query::quote(self.label(set, n));
        let mut parts = Vec::new();
        let (on, off): (Vec<_>, Vec<_>) = (ticked(Tick::On).map(name).collect(), ticked(Tick::Off).map(name).collect());
        let partly: Vec<u32> = ticked(Tick::Partly).collect();
        if partly.is_empty() && off.len() < on.len() {
            return format!("{column} != {}", off.join(", "));
        }
        if !on.is_empty() {
            parts.push(format!("{column} = {}", on.join(", ")));
        }
        for n in partly {
            let inner = self.query_of(set, self.nodes[n as usize].children.clone(), hidden);
            parts.push(format!("({column} = {} and ({inner}))", name(n)));
        }
        if parts.is_empty() { "not all".to_owned() } else { parts.join(" or ") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{query::Known, sim::Column};

    fn set() -> ElementSet {
        let supers = ["optic", "optic", "sensory", "sensory", "sensory", "optic", ""];
        let classes = ["Tm", "Mi", "gust", "olf", "gust", "Tm", ""];
        let sides = ["left", "right", "left", "right", "left", "left", "right"];
        ElementSet {
            name: "cells",
            len: 7,
            columns: vec![
                Column::from_texts("super_class", &supers),
                Column::from_texts("class", &classes),
                Column::from_texts("side", &sides),
            ],
            ..ElementSet::default()
        }
    }

    #[test]
    fn finer_columns_are_nested_and_others_separate() {
        let (set, trees) = (set(), trees(&set()));
        assert_eq!(trees.iter().map(|t| t.columns.clone()).collect::<Vec<_>>(), [vec![0, 1], vec![2]]);
        let tree = &trees[0];
        assert_eq!((tree.n_roots, tree.nodes.len(), tree.n_leaves()), (3, 3 + 5, 5));
        let optic = (0..3).find(|n| tree.label(&set, *n) == "optic").unwrap();
        assert_eq!(tree.nodes[optic as usize].children.len(), 2);
        let mut elements = tree.elements(optic).to_vec();
        elements.sort_unstable();
        assert_eq!(elements, [0, 1, 5]);
        let all: u32 = (0..tree.n_roots).map(|n| tree.elements(n).len() as u32).sum();
        assert_eq!(all, set.len);
    }

    #[test]
    fn every_mask_is_a_query() {
        let set = set();
        let listed = |_: &str| Ok(vec![]);
        let known =
            Known { set: &set, individuals: &[], named: &[], fields: &[], links: None, seed: 0, listed: &listed };
        for tree in trees(&set) {
            for bits in 0..1_u32 << tree.n_leaves() {
                let hidden: Vec<bool> = (0..tree.n_leaves()).map(|i| bits >> i & 1 == 1).collect();
                let mut shown = vec![true; 7];
                tree.hide(&hidden, &mut shown);
                let want: Vec<u32> = (0..7).filter(|e| shown[*e as usize]).collect();
                let query = tree.query(&set, &hidden);
                assert_eq!(query.is_none(), bits == 0);
                let query = query.unwrap_or_else(|| "all".into());
                assert_eq!(known.select(&query), Ok(want), "{query}");
            }
        }
    }
}
