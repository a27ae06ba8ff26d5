//! Prefix sums of samples, so that the mean over any range is computed from two sums and a few samples.

use crate::app::views::plot::samples::Samples;
use std::ops::Range;

/// Number of samples per prefix sum; a divisor of the number of samples that are dropped together.
const BLOCK: usize = 16;

/// Sum and number of some finite samples.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sum {
    /// Sum of the samples; for angles, sum of their cosines.
    pub sum: f64,
    /// Sum of the sines of angles; 0 for numbers.
    pub sin: f64,
    pub n: u64,
}

impl Sum {
    fn add(&mut self, value: f32, is_angle: bool) {
        if value.is_finite() {
            let (sin, sum) = if is_angle { f64::from(value).sin_cos() } else { (0.0, f64::from(value)) };
            *self = Self { sum: self.sum + sum, sin: self.sin + sin, n: self.n + 1 };
        }
    }
}

/// Prefix sums of all lanes.
#[derive(Clone, Debug, Default)]
pub struct Sums {
    /// Sum before each block, by lane.
    lanes: Vec<Vec<Sum>>,
    /// Sum of all samples, by lane.
    totals: Vec<Sum>,
    /// Index of the first block in memory.
    first: u64,
    /// Number of samples summed, including dropped ones.
    done: u64,
    is_angle: bool,
}

impl Sums {
    /// Creates sums of angles, whose mean is circular, or of numbers.
    pub fn of_angles(is_angle: bool) -> Self {
        Self { is_angle, ..Self::default() }
    }

    /// Whether the samples are angles.
    pub fn is_angle(&self) -> bool {
        self.is_angle
    }

    /// Returns the mean of a sum's samples; NaN without samples.
    pub fn mean(&self, sum: Sum) -> f32 {
        match (sum.n, self.is_angle) {
            (0, _) => f32::NAN,
            (_, true) => sum.sin.atan2(sum.sum) as f32,
            (n, false) => (sum.sum / n as f64) as f32,
        }
    }

    /// Adds new samples. Starts over if the number of lanes has changed or samples were missed.
    pub fn follow(&mut self, samples: &Samples) {
        let all = samples.dropped() + samples.len() as u64;
        if self.totals.len() != samples.lanes() || self.done > all || self.done < samples.dropped() {
            let n = samples.lanes();
            let (first, done) = (samples.dropped() / BLOCK as u64, samples.dropped());
            *self =
                Self { lanes: vec![vec![]; n], totals: vec![Sum::default(); n], first, done, is_angle: self.is_angle };
        }
        for i in (self.done - samples.dropped()) as usize..samples.len() {
            let starts = (samples.dropped() + i as u64).is_multiple_of(BLOCK as u64);
            for (lane, (blocks, total)) in self.lanes.iter_mut().zip(&mut self.totals).enumerate() {
                if starts {
                    blocks.push(*total);
                }
                total.add(samples.value(lane, i), self.is_angle);
            }
        }
        let gone = (samples.dropped() / BLOCK as u64 - self.first) as usize;
        self.lanes.iter_mut().for_each(|blocks| drop(blocks.drain(..gone.min(blocks.len()))));
        (self.first, self.done) = (self.first + gone as u64, all);
    }

    /// Returns the sum over a range of a lane's samples.
    pub fn over(&self, samples: &Samples, lane: usize, range: Range<usize>) -> Sum {
        let plain = |range: Range<usize>| {
            let mut sum = Sum::default();
            range.for_each(|i| sum.add(samples.value(lane, i), self.is_angle));
            sum
        };
        let (first, last) = (range.start.div_ceil(BLOCK), range.end / BLOCK);
        let blocks = self.lanes.get(lane).map_or(&[][..], Vec::as_slice);
        let (Some(from), Some(to)) = (blocks.get(first), blocks.get(last)) else { return plain(range) };
        if first >= last {
            return plain(range);
        }
        let (before, after) = (plain(range.start..first * BLOCK), plain(last * BLOCK..range.end));
        Sum {
            sum: to.sum - from.sum + before.sum + after.sum,
            sin: to.sin - from.sin + before.sin + after.sin,
            n: to.n - from.n + before.n + after.n,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn push(samples: &mut Samples, from: u64, n: u64) {
        let steps: Vec<u64> = (from..from + n).collect();
        let value = |s: &u64| [*s as f32, if s.is_multiple_of(10) { f32::NAN } else { 2.0 }];
        samples.push(2, &steps, &steps.iter().flat_map(value).collect::<Vec<_>>());
    }

    #[test]
    fn sums_are_those_of_the_samples() {
        let (mut samples, mut sums) = (Samples::default(), Sums::default());
        for part in 0..20 {
            push(&mut samples, part * 53, 53);
            sums.follow(&samples);
        }
        for range in [0..1060, 0..16, 15..17, 3..900, 700..1060, 1059..1060, 5..5, 1040..1056] {
            let plain: f64 = range.clone().map(|i| i as f64).sum();
            assert_eq!(
                sums.over(&samples, 0, range.clone()),
                Sum { sum: plain, sin: 0.0, n: range.len() as u64 },
                "{range:?}"
            );
            let finite = range.clone().filter(|i| i % 10 != 0).count() as u64;
            assert_eq!(sums.over(&samples, 1, range).n, finite, "NaN is not counted");
        }
        assert!(sums.mean(sums.over(&samples, 1, 5..5)).is_nan());
    }

    #[test]
    fn the_mean_of_angles_is_circular() {
        let (mut samples, mut sums) = (Samples::default(), Sums::of_angles(true));
        let steps: Vec<u64> = (0..1000).collect();
        let values: Vec<f32> = steps.iter().flat_map(|i| [if i % 2 == 0 { 3.0 } else { -3.0 }, 0.5]).collect();
        samples.push(2, &steps, &values);
        sums.follow(&samples);
        for range in [0..1000, 17..941, 2..4] {
            let [a, b] = [0, 1].map(|lane| sums.mean(sums.over(&samples, lane, range.clone())));
            assert!(a.abs() > 3.13 && (b - 0.5).abs() < 1e-6, "{range:?}: {a} {b}; the linear mean is 0");
        }
    }

    #[test]
    fn dropped_samples_leave_the_sums() {
        let (mut samples, mut sums) = (Samples::default(), Sums::default());
        for part in 0..7 {
            push(&mut samples, part * 100_000, 100_000);
            sums.follow(&samples);
        }
        assert!(samples.dropped() > 0);
        let mut late = Sums::default();
        late.follow(&samples);
        let first = samples.dropped() as f64;
        for range in [0..1000, 17..100_000, samples.len() - 40..samples.len()] {
            let n = range.len() as f64;
            let plain = (range.start + range.end - 1) as f64 / 2.0 * n + first * n;
            for sums in [&sums, &late] {
                assert!((sums.over(&samples, 0, range.clone()).sum / plain - 1.0).abs() < 1e-9, "{range:?}");
            }
        }
    }
}
