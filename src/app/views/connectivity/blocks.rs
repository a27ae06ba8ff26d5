//! Sums of connections between categories, computed on the pool.

use crate::sim::{Column, Connection, ConnectionSource, ElementSet, Progress};
use rayon::prelude::*;
use std::sync::atomic::{AtomicU32, Ordering};

/// Maximum number of categories per axis. If there are more, the weakest are merged into one.
pub const MAX_CATEGORIES: usize = 64;
/// Number of elements per task. A cancelled job ends after the tasks in progress.
const TASK_SIZE: u32 = 1024;
/// Marks an element or category that is on no axis.
const NO_GROUP: u16 = u16::MAX;

/// Parameters of the sums.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BlockQuery {
    /// Index of the column whose categories are the axes.
    pub column: usize,
    /// Categories (column, code) that restrict rows and columns; `None`: all elements.
    pub within: [Option<(usize, u16)>; 2],
}

/// Category along an axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// Code of the category; `None` for the merged categories.
    pub code: Option<u16>,
    /// Number of elements.
    pub n: u32,
    /// Sum of the absolute weights of the category's connections.
    pub strength: f64,
}

/// Sums over the connections of a cell.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cell {
    /// Sum of the absolute weights.
    pub total: f64,
    /// Sum of the signed weights.
    pub net: f64,
    /// Number of connections.
    pub n: u64,
}

impl Cell {
    fn add(&mut self, other: Self) {
        self.total += other.total;
        self.net += other.net;
        self.n += other.n;
    }
}

/// Sums of connections between categories, from rows to columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Blocks {
    pub rows: Vec<Group>,
    pub columns: Vec<Group>,
    /// Cells in row-major order.
    pub cells: Vec<Cell>,
    /// Number of merged categories of rows and columns.
    pub merged: [u32; 2],
}

impl Blocks {
    pub fn cell(&self, row: usize, column: usize) -> Cell {
        self.cells.get(row * self.columns.len() + column).copied().unwrap_or_default()
    }
}

/// Computes the sums; `None` if the job was cancelled or the column does not exist.
pub fn sum_blocks(
    set: &ElementSet,
    links: &dyn ConnectionSource,
    question: &BlockQuery,
    progress: &Progress,
) -> Option<Blocks> {
    let column = set.columns.get(question.column)?;
    let is_in = |side: usize, e: usize| {
        let of = question.within[side].and_then(|(c, code)| Some((set.columns.get(c)?.codes.get(e)?, code)));
        question.within[side].is_none() || of.is_some_and(|(is, wanted)| *is == wanted)
    };
    let n = links.n().min(set.len) as usize;
    // The sums of categories are computed first, because the weakest categories are merged.
    let code = |side: usize, e: usize| if is_in(side, e) { column.codes[e] } else { NO_GROUP };
    let all = [0, 1].map(|side| (0..n).map(|e| code(side, e)).collect::<Vec<u16>>());
    let strengths = strengths(links, &all, column.labels.len(), progress)?;
    let axes = [0, 1].map(|side| Axis::new(column, &all[side], &strengths[side]));
    let places = [0, 1].map(|side| all[side].iter().map(|code| axes[side].place(*code)).collect::<Vec<u16>>());
    let width = axes[1].groups.len();
    let done = AtomicU32::new(0);
    let empty = || vec![Cell::default(); axes[0].groups.len() * width];
    let cells = pieces(n as u32)
        .into_par_iter()
        .try_fold(
            || (empty(), Vec::new()),
            |(mut cells, mut row), piece| {
                report(&done, piece.len() as u32, n as u32, 0.5, progress)?;
                for from in piece {
                    let place = places[0][from as usize];
                    if place != NO_GROUP {
                        add_row(links, from, &places[1], &mut cells[usize::from(place) * width..][..width], &mut row);
                    }
                }
                Some((cells, row))
            },
        )
        .map(|piece| piece.map(|(cells, _)| cells))
        .try_reduce(empty, |mut a, b| {
            a.iter_mut().zip(b).for_each(|(a, b)| a.add(b));
            Some(a)
        })?;
    let [rows, columns] = axes;
    let merged = [rows.merged, columns.merged];
    Some(Blocks { rows: rows.groups, columns: columns.groups, cells, merged })
}

fn add_row(links: &dyn ConnectionSource, from: u32, places: &[u16], cells: &mut [Cell], row: &mut Vec<Connection>) {
    links.read(from, row);
    for link in row.iter() {
        let Some(cell) = places.get(link.to as usize).and_then(|p| cells.get_mut(usize::from(*p))) else { continue };
        let weight = link.weight;
        cell.add(Cell { total: weight.abs(), net: weight, n: 1 });
    }
}

fn pieces(n: u32) -> Vec<std::ops::Range<u32>> {
    (0..n).step_by(TASK_SIZE as usize).map(|from| from..(from + TASK_SIZE).min(n)).collect()
}

/// Reports progress; `None` if the job was cancelled.
fn report(done: &AtomicU32, more: u32, of: u32, from: f32, progress: &Progress) -> Option<()> {
    let done = done.fetch_add(more, Ordering::Relaxed) + more;
    progress.report("summing connections", from + 0.5 * done as f32 / of.max(1) as f32).ok()
}

/// Sums the absolute weights of each category's outgoing and incoming connections; `None` if the job was cancelled.
fn strengths(
    links: &dyn ConnectionSource,
    codes: &[Vec<u16>; 2],
    n_codes: usize,
    progress: &Progress,
) -> Option<[Vec<f64>; 2]> {
    let n = codes[0].len() as u32;
    let done = AtomicU32::new(0);
    let empty = || [vec![0.0; n_codes], vec![0.0; n_codes]];
    pieces(n)
        .into_par_iter()
        .try_fold(
            || (empty(), Vec::new()),
            |(mut sums, mut row), piece| {
                report(&done, piece.len() as u32, n, 0.0, progress)?;
                for from in piece.filter(|from| codes[0][*from as usize] != NO_GROUP) {
                    links.read(from, &mut row);
                    for link in &row {
                        let to = codes[1].get(link.to as usize).copied().unwrap_or(NO_GROUP);
                        if to != NO_GROUP {
                            let weight = link.weight.abs();
                            sums[0][usize::from(codes[0][from as usize])] += weight;
                            sums[1][usize::from(to)] += weight;
                        }
                    }
                }
                Some((sums, row))
            },
        )
        .map(|piece| piece.map(|(sums, _)| sums))
        .try_reduce(empty, |mut a, b| {
            for (a, b) in a.iter_mut().zip(&b) {
                a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
            }
            Some(a)
        })
}

/// Categories of an axis, with the position of each code.
struct Axis {
    groups: Vec<Group>,
    place_of: Vec<u16>,
    merged: u32,
}

impl Axis {
    fn new(column: &Column, codes: &[u16], strengths: &[f64]) -> Self {
        let mut counts = vec![0; column.labels.len()];
        codes.iter().filter(|c| **c != NO_GROUP).for_each(|c| counts[usize::from(*c)] += 1);
        let mut present: Vec<usize> = (0..counts.len()).filter(|c| counts[*c] > 0).collect();
        let mut rest = vec![];
        if present.len() > MAX_CATEGORIES {
            present.sort_by(|a, b| strengths[*b].total_cmp(&strengths[*a]).then(a.cmp(b)));
            rest = present.split_off(MAX_CATEGORIES - 1);
            present.sort_unstable();
        }
        let group = |c: usize| Group { code: Some(c as u16), n: counts[c], strength: strengths[c] };
        let mut groups: Vec<Group> = present.iter().map(|c| group(*c)).collect();
        let mut place_of = vec![NO_GROUP; column.labels.len()];
        present.iter().enumerate().for_each(|(place, c)| place_of[*c] = place as u16);
        if !rest.is_empty() {
            rest.iter().for_each(|c| place_of[*c] = groups.len() as u16);
            let (n, strength) = (rest.iter().map(|c| counts[*c]).sum(), rest.iter().map(|c| strengths[*c]).sum());
            groups.push(Group { code: None, n, strength });
        }
        Self { groups, place_of, merged: rest.len() as u32 }
    }

    fn place(&self, code: u16) -> u16 {
        self.place_of.get(usize::from(code)).copied().unwrap_or(NO_GROUP)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Source with a list of connections (from, to, weight).
    pub struct Few(pub u32, pub Vec<(u32, u32, f32)>);

    impl ConnectionSource for Few {
        fn n(&self) -> u32 {
            self.0
        }
        fn n_connections(&self) -> u64 {
            self.1.len() as u64
        }
        fn degree(&self, from: u32) -> u32 {
            self.1.iter().filter(|l| l.0 == from).count() as u32
        }
        fn read(&self, from: u32, out: &mut Vec<Connection>) {
            out.clear();
            out.extend(self.1.iter().filter(|l| l.0 == from).map(|(_, to, weight)| Connection::new(*to, *weight)));
        }
    }

    fn set(classes: &[&str], sides: &[&str]) -> ElementSet {
        let columns = vec![Column::from_texts("class", classes), Column::from_texts("side", sides)];
        ElementSet { name: "cells", len: classes.len() as u32, columns, ..ElementSet::default() }
    }

    #[test]
    fn every_connection_is_counted_once() {
        let set = set(&["a", "a", "b", "c"], &["l", "r", "l", "r"]);
        let few = Few(4, vec![(0, 2, 3.0), (1, 2, -4.0), (2, 3, 2.0), (3, 0, 9.0), (0, 1, 1.0)]);
        let blocks = sum_blocks(&set, &few, &BlockQuery::default(), &Progress::default()).unwrap();
        let code = |l: &str| set.columns[0].labels.iter().position(|x| x == l).unwrap();
        assert_eq!(blocks.cell(code("a"), code("b")), Cell { total: 7.0, net: -1.0, n: 2 });
        assert_eq!(blocks.cell(code("a"), code("a")), Cell { total: 1.0, net: 1.0, n: 1 });
        assert_eq!(blocks.cells.iter().map(|c| c.n).sum::<u64>(), 5);
        let left = set.columns[1].labels.iter().position(|x| x == "l").unwrap() as u16;
        let question = BlockQuery { column: 0, within: [Some((1, left)), None] };
        let blocks = sum_blocks(&set, &few, &question, &Progress::default()).unwrap();
        assert_eq!(blocks.cells.iter().map(|c| c.n).sum::<u64>(), 3, "only those that lead away from the left");
        assert_eq!(blocks.rows.iter().map(|g| g.n).sum::<u32>(), 2);
    }

    #[test]
    fn the_weakest_categories_are_merged() {
        let n = 300;
        let classes: Vec<String> = (0..n).map(|i| format!("t{i:03}")).collect();
        let classes: Vec<&str> = classes.iter().map(String::as_str).collect();
        let set = set(&classes, &vec![""; n]);
        let few = Few(n as u32, (0..n as u32).map(|i| (i, (i * 7) % n as u32, i as f32 + 1.0)).collect());
        let blocks = sum_blocks(&set, &few, &BlockQuery::default(), &Progress::default()).unwrap();
        assert_eq!((blocks.rows.len(), blocks.merged[0] as usize), (MAX_CATEGORIES, n - MAX_CATEGORIES + 1));
        assert_eq!(blocks.rows.iter().map(|g| g.n).sum::<u32>(), n as u32);
        let total: f64 = blocks.cells.iter().map(|c| c.total).sum();
        assert_eq!(total, (1..=n).sum::<usize>() as f64);
        let cancelled = Progress::default();
        cancelled.cancel();
        assert!(sum_blocks(&set, &few, &BlockQuery::default(), &cancelled).is_none());
    }
}
