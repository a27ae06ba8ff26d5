//! Means of lanes per time column, and the evenness of lanes.

use super::sums::Sums;
use crate::app::{
    kit::{color_scale::ScaleColors, colormap::Colormap},
    views::plot::samples::Samples,
};
use std::{f32::consts::PI, ops::Range};

/// Maximum number of sample distances from which the median is estimated.
const MAX_DISTANCES: usize = 65;

/// Division of a window into columns. Columns start at multiples of their width, so that a moving window keeps them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cut {
    /// Index of the first column, counted from step 0.
    pub first: i64,
    /// Number of columns.
    pub columns: usize,
    /// Steps per column.
    pub steps: f64,
}

impl Cut {
    /// Divides a window into columns: at most about one per pixel, and not narrower than the median distance between samples.
    pub fn of(samples: &Samples, (t0, t1): (f64, f64), pixels: usize) -> Self {
        let steps =
            ((t1 - t0) / pixels.max(1) as f64).max(median_distance(samples, within(samples, t0, t1)) as f64).max(1e-9);
        let first = (t0 / steps).floor() as i64;
        let end = (t1 / steps).ceil() as i64;
        Self { first, columns: (end - first).max(1) as usize, steps }
    }

    /// Returns the first step of a column.
    pub fn begin(&self, column: usize) -> f64 {
        (self.first + column as i64) as f64 * self.steps
    }

    /// Returns the column of a step; `None` outside.
    pub fn column(&self, step: f64) -> Option<usize> {
        let at = (step / self.steps).floor() - self.first as f64;
        (at >= 0.0 && at < self.columns as f64).then_some(at as usize)
    }
}

/// Returns the indices of the samples from one step up to another.
pub fn within(samples: &Samples, from: f64, to: f64) -> Range<usize> {
    let first = samples.index(from);
    first..samples.index(to).max(first)
}

/// Estimates the median distance between samples, steps; 0 for fewer than two samples.
fn median_distance(samples: &Samples, range: Range<usize>) -> u64 {
    let every = (range.len() / MAX_DISTANCES).max(1);
    let pairs = range.clone().skip(1).step_by(every);
    let mut apart: Vec<u64> = pairs.map(|i| samples.step(i) - samples.step(i - 1)).collect();
    apart.sort_unstable();
    apart.get(apart.len() / 2).copied().unwrap_or(0)
}

/// Means of all lanes in all columns.
#[derive(Clone, Debug, Default)]
pub struct Grid {
    pub cut: Cut,
    /// Number of lanes.
    pub rows: usize,
    /// Mean of each cell, lane-major; NaN without a sample.
    pub means: Vec<f32>,
    /// Mean of the visible samples of each lane; NaN without any.
    pub lane_means: Vec<f32>,
    /// Number of visible samples per lane.
    pub n: usize,
}

impl Grid {
    /// Computes the means of a window.
    pub fn of(samples: &Samples, sums: &Sums, window: (f64, f64), pixels: usize) -> Self {
        let cut = Cut::of(samples, window, pixels);
        let bounds: Vec<usize> = (0..=cut.columns).map(|c| samples.index(cut.begin(c))).collect();
        let rows = samples.lanes();
        let mean = |lane: usize, ends: &[usize]| sums.mean(sums.over(samples, lane, ends[0]..ends[1]));
        let means = (0..rows).flat_map(|lane| bounds.windows(2).map(move |ends| mean(lane, ends))).collect();
        let visible = within(samples, window.0, window.1);
        let lane_means = (0..rows).map(|lane| sums.mean(sums.over(samples, lane, visible.clone()))).collect();
        Self { cut, rows, means, lane_means, n: visible.len() }
    }

    /// Whether no visible mean is negative.
    pub fn is_positive(&self) -> bool {
        self.means.iter().all(|v| v.is_nan() || *v >= 0.0)
    }

    /// Returns the means divided by the sum of their column; NaN if the sum is not positive.
    pub fn shares(&self) -> Vec<f32> {
        let n = self.cut.columns;
        let mut sums = vec![0.0_f32; n];
        for row in self.means.chunks_exact(n.max(1)) {
            sums.iter_mut().zip(row).for_each(|(sum, v)| *sum += if v.is_finite() { *v } else { 0.0 });
        }
        let share = |(i, v): (usize, &f32)| if sums[i % n] > 0.0 { v / sums[i % n] } else { f32::NAN };
        self.means.iter().enumerate().map(share).collect()
    }

    /// Returns the lanes in their order, or by descending visible mean.
    pub fn order(&self, by_mean: bool) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.rows).collect();
        if by_mean {
            let low =
                |lane: &usize| Some(self.lane_means[*lane]).filter(|m| m.is_finite()).unwrap_or(f32::NEG_INFINITY);
            order.sort_by(|a, b| low(b).total_cmp(&low(a)));
        }
        order
    }
}

/// Measures of how evenly values are distributed over lanes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Balance {
    /// Normalised entropy of the lanes' shares: 1 for equal lanes, 0 if only one lane is not zero.
    pub evenness: f64,
    /// Highest mean of a lane divided by the mean of all lanes.
    pub imbalance: f64,
    /// Number of lanes whose mean is zero.
    pub silent: usize,
}

/// Computes the balance of means. `None` if all are zero, any is negative, or there are fewer than two lanes.
pub fn balance(means: impl Iterator<Item = f32>) -> Option<Balance> {
    let means: Vec<f64> = means.map(|m| if m.is_finite() { f64::from(m) } else { 0.0 }).collect();
    let (sum, n) = (means.iter().sum::<f64>(), means.len() as f64);
    if means.len() < 2 || sum <= 0.0 || means.iter().any(|m| *m < 0.0) {
        return None;
    }
    let shares = means.iter().map(|m| m / sum).filter(|p| *p > 0.0);
    let entropy: f64 = shares.map(|p| -p * p.ln()).sum();
    let highest = means.iter().copied().fold(0.0, f64::max);
    let silent = means.iter().filter(|m| **m == 0.0).count();
    Some(Balance { evenness: entropy / n.ln(), imbalance: highest / (sum / n), silent })
}

/// Returns a cyclic colormap for angles, a diverging one if there are negative values, otherwise a sequential one.
pub fn scale_colors((low, _): (f32, f32), is_angle: bool) -> ScaleColors {
    match low < 0.0 {
        _ if is_angle => ScaleColors::Map(Colormap::Twilight),
        true => ScaleColors::Diverging,
        false => ScaleColors::Map(Colormap::Cividis),
    }
}

/// Returns the colour range of values; `None` without finite ones. Angles have the range of a whole turn. The range starts at
/// zero if values are near zero, so that silent lanes differ from faint ones.
pub fn range(values: &[f32], is_log: bool, is_angle: bool) -> Option<(f32, f32)> {
    if is_angle {
        return values.iter().any(|v| v.is_finite()).then_some((-PI, PI));
    }
    let lowest = values.iter().copied().filter(|v| v.is_finite()).fold(f32::INFINITY, f32::min);
    let (low, high) = scale_colors((lowest, 0.0), false).range(values, is_log)?;
    Some((if !is_log && (0.0..high * 0.6).contains(&low) { 0.0 } else { low }, high))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(n: u64) -> (Samples, Sums) {
        let (mut samples, mut sums) = (Samples::default(), Sums::default());
        let steps: Vec<u64> = (0..n).map(|i| i * 10).collect();
        let values: Vec<f32> = (0..n).flat_map(|i| [i as f32, 3.0, 0.0]).collect();
        samples.push(3, &steps, &values);
        sums.follow(&samples);
        (samples, sums)
    }

    #[test]
    fn columns_are_means_of_the_samples_in_them() {
        let (samples, sums) = filled(10_000);
        let grid = Grid::of(&samples, &sums, (0.0, 100_000.0), 100);
        assert_eq!((grid.cut.columns, grid.cut.steps, grid.n), (100, 1000.0, 10_000));
        assert_eq!((grid.means[0], grid.means[1], grid.means[99]), (49.5, 149.5, 9949.5));
        assert!(grid.means[100..200].iter().all(|v| *v == 3.0) && grid.means[200..].iter().all(|v| *v == 0.0));
        let shares = grid.shares();
        assert!((0..100).all(|c| (shares[c] + shares[100 + c] + shares[200 + c] - 1.0).abs() < 1e-5));
        assert_eq!((grid.order(false), grid.order(true)), (vec![0, 1, 2], vec![0, 1, 2]));
        let early = Grid::of(&samples, &sums, (0.0, 30.0), 100);
        assert_eq!((early.cut.columns, early.order(true)), (3, vec![1, 0, 2]), "not narrower than the sample distance");
    }

    #[test]
    fn a_window_that_moves_shows_the_same_columns() {
        let (samples, sums) = filled(5_000);
        let a = Grid::of(&samples, &sums, (10_000.0, 20_000.0), 50);
        let b = Grid::of(&samples, &sums, (10_270.0, 20_270.0), 50);
        assert_eq!((b.cut.first - a.cut.first, a.cut.columns, b.cut.columns), (1, 50, 51));
        assert_eq!(a.means[1..50], b.means[..49]);
        assert_eq!((b.cut.column(10_270.0), b.cut.column(10_000.0)), (Some(0), None));
        let beyond = Grid::of(&samples, &sums, (49_000.0, 51_000.0), 20);
        assert!(beyond.means[..10].iter().all(|v| v.is_finite()) && beyond.means[10..20].iter().all(|v| v.is_nan()));
    }

    #[test]
    fn evenness_imbalance_and_the_silent() {
        let of = |means: &[f32]| balance(means.iter().copied());
        let even = of(&[2.0; 8]).unwrap();
        assert!((even.evenness - 1.0).abs() < 1e-12 && even.imbalance == 1.0 && even.silent == 0);
        let one = of(&[0.0, 0.0, 5.0, f32::NAN]).unwrap();
        assert_eq!((one.evenness, one.imbalance, one.silent), (0.0, 4.0, 3));
        let half = of(&[1.0, 1.0, 0.0, 0.0]).unwrap();
        assert!((half.evenness - 0.5).abs() < 1e-12 && half.imbalance == 2.0);
        assert!(of(&[0.0; 3]).is_none() && of(&[1.0]).is_none() && of(&[1.0, -1.0, 2.0]).is_none());
    }
}
