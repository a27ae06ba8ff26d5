//! Summary of one state: quantiles, and edges of bins with equal counts.

use crate::app::views::fields::ElementMask;
use std::sync::Arc;

/// The quantiles that are computed, ascending.
pub const QUANTILES: [f64; 7] = [0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0];
/// Index of the median in [`QUANTILES`].
pub const MEDIAN: usize = 3;
/// Number of bins with equal counts.
pub const PARTS: usize = 64;

/// State to summarise.
pub struct RawState {
    pub step: u64,
    /// The value of every element.
    pub values: Arc<Vec<f32>>,
    /// Mask of the included elements.
    pub part: ElementMask,
}

/// Distribution of the values of a state.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    /// Number of values.
    pub n: u32,
    /// Values at [`QUANTILES`], interpolated.
    pub quantiles: [f32; QUANTILES.len()],
    /// Edges of [`PARTS`] bins with equal counts.
    pub edges: [f32; PARTS + 1],
}

/// Element with its value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Member {
    pub element: u32,
    pub value: f32,
}

/// Distribution of a state, with its extreme and median elements.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    pub step: u64,
    /// Distribution of the values.
    pub state: State,
    /// Elements with the lowest, the median and the highest value; the first one of equal values.
    pub members: [Member; 3],
}

/// Summarises the finite values of the included elements; `None` without any. `skip_negative` leaves out negative ones.
pub fn summarise(raw: &RawState, skip_negative: bool) -> Option<Summary> {
    let counts = |i: usize, v: f32| v.is_finite() && !(skip_negative && v < 0.0) && raw.part.has(i);
    let all = raw.values.iter().enumerate().filter(|(i, v)| counts(*i, **v));
    let mut sorted: Vec<Member> = all.map(|(i, v)| Member { element: i as u32, value: *v }).collect();
    sorted.sort_unstable_by(|a, b| a.value.total_cmp(&b.value).then(a.element.cmp(&b.element)));
    let last = sorted.len().checked_sub(1)?;
    let edge = |i: usize| sorted[(i * last + PARTS / 2) / PARTS].value;
    let highest = sorted.partition_point(|m| m.value < sorted[last].value);
    let state = State {
        n: sorted.len() as u32,
        quantiles: QUANTILES.map(|q| quantile(&sorted, q)),
        edges: std::array::from_fn(edge),
    };
    Some(Summary { step: raw.step, state, members: [sorted[0], sorted[last / 2], sorted[highest]] })
}

/// Returns a quantile of sorted values, linearly interpolated.
fn quantile(sorted: &[Member], q: f64) -> f32 {
    let at = q * (sorted.len() - 1) as f64;
    let (below, above) = (sorted[at.floor() as usize].value, sorted[at.ceil() as usize].value);
    (f64::from(below) + (f64::from(above) - f64::from(below)) * at.fract()) as f32
}

/// Adds the shares of a state to bins. All shares of a state sum to 1, unless some are outside the bins. `place` maps a value to
/// 0 at the start of the first bin and to 1 at the end of the last.
pub fn fill(bins: &mut [f32], edges: &[f32; PARTS + 1], place: impl Fn(f32) -> f32) {
    let n = bins.len() as f32;
    for pair in edges.windows(2) {
        let (from, to) = (place(pair[0]) * n, place(pair[1]) * n);
        if from.is_nan() || to.is_nan() || to < 0.0 {
            continue;
        }
        for (i, bin) in bins.iter_mut().enumerate().take(to as usize + 1).skip(from.max(0.0) as usize) {
            // Equal values are in one bin; others are distributed evenly over the bins between two edges.
            let inside = (to.min(i as f32 + 1.0) - from.max(i as f32)).max(0.0);
            *bin += if to - from > 1e-6 { inside / (to - from) } else { 1.0 } / PARTS as f32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: Vec<f32>, mask: Option<Vec<f32>>, skip_negative: bool) -> Option<Summary> {
        let part = ElementMask::masked(mask.map(Arc::new));
        summarise(&RawState { step: 7, values: Arc::new(values), part }, skip_negative)
    }

    #[test]
    fn quantiles_are_of_the_included_elements() {
        let values: Vec<f32> = (0..101).rev().map(|i| i as f32).chain([1e9, f32::NAN]).collect();
        let mask: Vec<f32> = (0..103).map(|i| f32::from(i != 101)).collect();
        let found = of(values, Some(mask), false).unwrap();
        assert_eq!(found.state.quantiles, [0.0, 5.0, 25.0, 50.0, 75.0, 95.0, 100.0]);
        assert_eq!((found.state.n, found.step), (101, 7));
        assert_eq!(found.members.map(|m| (m.element, m.value)), [(100, 0.0), (50, 50.0), (0, 100.0)]);
        assert_eq!((found.state.edges[0], found.state.edges[32], found.state.edges[PARTS]), (0.0, 50.0, 100.0));
    }

    #[test]
    fn few_and_equal_values() {
        let four = of(vec![1.0, 4.0, 2.0, 3.0], None, false).unwrap();
        assert_eq!(
            (four.state.quantiles[MEDIAN], four.members[1].element),
            (2.5, 2),
            "the lower of the two in the middle"
        );
        let same = of(vec![-1.0, 5.0, 5.0, 5.0], None, true).unwrap();
        assert_eq!((same.state.n, same.members.map(|m| m.element)), (3, [1, 2, 1]), "negative times mean never");
        assert!(of(vec![-1.0, f32::NAN], None, true).is_none() && of(vec![], None, false).is_none());
    }

    #[test]
    fn shares_are_where_the_values_are() {
        let even = of((0..1000).map(|i| i as f32 / 999.0).collect(), None, false).unwrap();
        let mut bins = vec![0.0; 10];
        fill(&mut bins, &even.state.edges, |v| v);
        assert!((bins.iter().sum::<f32>() - 1.0).abs() < 1e-4);
        assert!(bins.iter().all(|b| (b - 0.1).abs() < 0.01), "{bins:?}");
        let mut bins = vec![0.0; 10];
        let lump = of(vec![0.55; 90].into_iter().chain([0.05; 10]).collect(), None, false).unwrap();
        fill(&mut bins, &lump.state.edges, |v| v);
        assert!(bins[5] > 0.85 && bins[0] > 0.05 && bins[7] == 0.0, "{bins:?}");
        let mut bins = vec![0.0; 4];
        fill(&mut bins, &even.state.edges, |v| if v > 0.5 { 2.0 * v - 1.0 } else { f32::NAN });
        assert!((bins.iter().sum::<f32>() - 0.5).abs() < 0.05, "values without a position are left out");
        fill(&mut [], &even.state.edges, |v| v);
    }
}
