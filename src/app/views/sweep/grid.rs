//! Cells of a heat map, for every pair of values of two parameters.

use super::groups::{Coordinate, Point};

/// Cells of a heat map, with or without a point.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Grid {
    /// Values of the first parameter, from left to right.
    pub columns: Vec<Coordinate>,
    /// Values of the second parameter, from bottom to top.
    pub rows: Vec<Coordinate>,
    /// Index of each cell's point, in row-major order; `None` for a cell without one.
    pub cells: Vec<Option<usize>>,
}

impl Grid {
    /// Creates the cells of all combinations of the points' values.
    pub fn of(points: &[Point]) -> Self {
        let [columns, rows] = [0, 1].map(|axis| distinct(points, axis));
        let mut cells = vec![None; columns.len() * rows.len()];
        let place = |values: &[Coordinate], point: &Point, axis: usize| {
            point.at.get(axis).and_then(|at| values.iter().position(|value| value.text == at.text))
        };
        for (i, point) in points.iter().enumerate() {
            if let (Some(column), Some(row)) = (place(&columns, point, 0), place(&rows, point, 1)) {
                cells[row * columns.len() + column] = Some(i);
            }
        }
        Self { columns, rows, cells }
    }

    /// Number of cells with a point.
    pub fn n_filled(&self) -> usize {
        self.cells.iter().flatten().count()
    }

    /// Returns the index of a cell's point; `None` if it has none.
    pub fn cell(&self, column: usize, row: usize) -> Option<usize> {
        self.cells.get(row * self.columns.len() + column).copied().flatten()
    }
}

/// Returns the distinct values of an axis, in ascending order.
fn distinct(points: &[Point], axis: usize) -> Vec<Coordinate> {
    let mut all: Vec<Coordinate> = points.iter().filter_map(|point| point.at.get(axis)).cloned().collect();
    all.sort_by(|a, b| a.x.total_cmp(&b.x).then_with(|| a.text.cmp(&b.text)));
    all.dedup_by(|a, b| a.text == b.text);
    all
}

/// Spacing of values along an axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Spacing {
    /// Evenly spaced, as for choices.
    Even,
    /// Spaced by their difference.
    Linear,
    /// Spaced by their ratio.
    Log,
}

/// Returns the edges of the cells along an axis, from 0 to 1. Inner edges are half way between neighbouring values.
pub fn edges(values: &[Coordinate], spacing: Spacing) -> Vec<f32> {
    let at = |(i, value): (usize, &Coordinate)| match spacing {
        Spacing::Even => i as f64,
        Spacing::Linear => value.x,
        Spacing::Log => value.x.ln(),
    };
    let at: Vec<f64> = values.iter().enumerate().map(at).collect();
    let (Some(first), Some(last)) = (at.first(), at.last()) else { return vec![] };
    let n = at.len();
    if n == 1 || last <= first {
        return (0..=n).map(|i| i as f32 / n as f32).collect();
    }
    let inner = at.windows(2).map(|pair| (pair[0] + pair[1]) / 2.0);
    let (low, high) = (first - (at[1] - first) / 2.0, last + (last - at[n - 2]) / 2.0);
    let all = std::iter::once(low).chain(inner).chain([high]);
    all.map(|x| ((x - low) / (high - low)) as f32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn coordinate(x: f64) -> Coordinate {
        Coordinate { x, text: format!("{x} ms") }
    }

    #[test]
    fn combinations_without_a_run_are_missing() {
        let points: Vec<Point> = [(10.0, 1.0), (2.0, 1.0), (2.0, 3.0), (4.0, 3.0)]
            .map(|(x, y)| Point { at: vec![coordinate(x), coordinate(y)], runs: vec![] })
            .into();
        let grid = Grid::of(&points);
        assert_eq!(grid.columns.iter().map(|c| c.x).collect::<Vec<_>>(), [2.0, 4.0, 10.0], "by value, not by text");
        assert_eq!(grid.rows.iter().map(|c| c.x).collect::<Vec<_>>(), [1.0, 3.0]);
        assert_eq!(grid.cells, [Some(1), None, Some(0), Some(2), Some(3), None]);
        assert_eq!((grid.n_filled(), grid.cell(1, 1), grid.cell(2, 1), grid.cell(9, 9)), (4, Some(3), None, None));
        assert_eq!(Grid::of(&[]), Grid::default());
    }

    #[test]
    fn cells_end_half_way_between_values() {
        let of = |values: &[f64], spacing| {
            let values: Vec<Coordinate> = values.iter().map(|x| coordinate(*x)).collect();
            edges(&values, spacing).iter().map(|e| (e * 1e3).round() / 1e3).collect::<Vec<_>>()
        };
        assert_eq!(of(&[1.0, 2.0, 3.0, 4.0], Spacing::Linear), [0.0, 0.25, 0.5, 0.75, 1.0]);
        assert_eq!(of(&[0.0, 1.0, 4.0], Spacing::Linear), [0.0, 0.167, 0.5, 1.0]);
        assert_eq!(of(&[1.0, 10.0, 100.0, 1000.0], Spacing::Log), [0.0, 0.25, 0.5, 0.75, 1.0]);
        assert_eq!(of(&[0.0, 3.0], Spacing::Even), [0.0, 0.5, 1.0]);
        assert_eq!(of(&[5.0], Spacing::Log), [0.0, 1.0]);
        assert!(of(&[], Spacing::Linear).is_empty());
    }
}
