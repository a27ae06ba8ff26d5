//! Phase agreement between groups: exact means over all pairs, computed from one complex sum per group.

use crate::{
    app::views::fields::ElementMask,
    num::circular::{CircularSum, difference},
};

/// Maximum number of groups, so that a cell is a few points wide.
pub const MAX_GROUPS: usize = 96;

/// Elements in an order, divided into groups of nearly equal size.
#[derive(Clone, Debug, Default)]
pub struct Agreement {
    /// Elements with a phase, in the order.
    pub of: Vec<u32>,
    /// The groups, in the order.
    pub groups: Vec<Group>,
    /// Group of each element of the set, or [`NONE`].
    pub group_of: Vec<u16>,
}

/// Group of consecutive elements of the order.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Group {
    /// Index of the first element in the order.
    pub from: usize,
    /// Index after the last element.
    pub to: usize,
    /// Values of the order field at the first and at the last element.
    pub values: (f32, f32),
    sum: CircularSum,
}

/// Marks an element that is in no group.
pub const NONE: u16 = u16::MAX;

impl Agreement {
    /// Groups the included elements with a phase, ordered by the field `by` or by index. Elements without a value of the field
    /// are last.
    pub fn new(phases: &[f32], by: Option<&[f32]>, part: &ElementMask) -> Self {
        let takes = |i: &u32| phases[*i as usize].is_finite() && part.has(*i as usize);
        let mut of: Vec<u32> = (0..phases.len() as u32).filter(takes).collect();
        let value = |i: u32| by.map_or(i as f32, |by| by.get(i as usize).copied().unwrap_or(f32::NAN));
        if by.is_some() {
            let place = |v: f32| if v.is_nan() { f32::INFINITY } else { v };
            of.sort_by(|a, b| place(value(*a)).total_cmp(&place(value(*b))));
        }
        let n_groups = of.len().min(MAX_GROUPS);
        let mut group_of = vec![NONE; phases.len()];
        let group = |k: usize| {
            let (from, to) = (k * of.len() / n_groups, (k + 1) * of.len() / n_groups);
            let mut sum = CircularSum::default();
            for i in &of[from..to] {
                group_of[*i as usize] = k as u16;
                sum.add(f64::from(phases[*i as usize]));
            }
            Group { from, to, values: (value(of[from]), value(of[to - 1])), sum }
        };
        let groups = (0..n_groups).map(group).collect();
        Self { of, groups, group_of }
    }

    /// Returns the elements of a group.
    pub fn members(&self, group: usize) -> &[u32] {
        &self.of[self.groups[group].from..self.groups[group].to]
    }

    /// Returns the mean of cos(φ_i - φ_j) over all pairs of two groups, or over i ≠ j within a group. NaN without pairs.
    pub fn mean_cos(&self, a: usize, b: usize) -> f32 {
        let (x, y) = (&self.groups[a], &self.groups[b]);
        let all = x.sum.cos * y.sum.cos + x.sum.sin * y.sum.sin;
        let (n, m) = ((x.to - x.from) as f64, (y.to - y.from) as f64);
        let (sum, pairs) = if a == b { (all - n, n * (n - 1.0)) } else { (all, n * m) };
        if pairs > 0.0 { (sum / pairs) as f32 } else { f32::NAN }
    }

    /// Returns the angle of the mean of e^{i(φ_i - φ_j)} over all pairs of two groups, rad. It is positive if the first is ahead.
    pub fn lag(&self, a: usize, b: usize) -> f32 {
        difference(self.groups[a].sum.mean(), self.groups[b].sum.mean()) as f32
    }

    /// Returns |mean of e^{iφ}| of a group.
    pub fn order(&self, group: usize) -> f32 {
        self.groups[group].sum.resultant() as f32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn group_means_equal_pairwise_means() {
        let n = 1000_u32;
        let phases: Vec<f32> = (0..n).map(|i| (i as f32 * 0.618).sin() * 3.0 + i as f32 * 1e-3).collect();
        let by: Vec<f32> = (0..n).map(|i| ((i * 7919) % 1000) as f32).collect();
        let all = Agreement::new(&phases, Some(&by), &ElementMask::default());
        assert_eq!((all.groups.len(), all.of.len()), (MAX_GROUPS, 1000));
        assert!(all.of.is_sorted_by(|a, b| by[*a as usize] <= by[*b as usize]));
        for (a, b) in [(0, 5), (40, 95), (7, 7)] {
            let pairs = all.members(a).iter().flat_map(|i| all.members(b).iter().map(move |j| (*i, *j)));
            let cosines: Vec<f64> = pairs
                .filter(|(i, j)| i != j)
                .map(|(i, j)| f64::from(phases[i as usize] - phases[j as usize]).cos())
                .collect();
            let mean = cosines.iter().sum::<f64>() / cosines.len() as f64;
            assert!((f64::from(all.mean_cos(a, b)) - mean).abs() < 1e-5, "{a} {b}");
        }
        let of = all.of[500];
        assert!(all.members(usize::from(all.group_of[of as usize])).contains(&of));
    }

    #[test]
    fn lag_is_signed_and_masked_elements_are_skipped() {
        let phases = [3.0, -3.0, f32::NAN, 0.0];
        let part = ElementMask::masked(Some(Arc::new(vec![1.0, 1.0, 1.0, 0.0])));
        let two = Agreement::new(&phases, None, &part);
        assert_eq!((two.of.as_slice(), two.group_of[3]), (&[0, 1][..], NONE));
        let short_way = -(std::f32::consts::TAU - 6.0);
        assert!((two.lag(0, 1) - short_way).abs() < 1e-5, "{}", two.lag(0, 1));
        assert!(two.mean_cos(0, 0).is_nan(), "one element has no pair");
        assert_eq!(Agreement::new(&[], None, &ElementMask::default()).groups.len(), 0);
    }
}
