//! Smoothed curves: an exponential moving average of all samples, independent of the zoom and without the bias of the first
//! sample. After n samples the weights (1 - share)^(n - i) are normalised to 1, so that an early value is the mean of few samples
//! instead of a copy of the first one. The average restarts after a gap.

use super::samples::Samples;
use crate::num::circular;

/// Maximum number of rows smoothed per frame.
const PER_FRAME: usize = 20_000;

/// Time constants in the menu, samples.
pub const CHOICES: [u32; 5] = [0, 10, 30, 100, 1000];

/// The smoothed samples of one probe.
#[derive(Clone, Debug, Default)]
pub struct Smooth {
    over: u32,
    means: Vec<Mean>,
    row: Vec<f32>,
    /// Number of rows smoothed, including dropped ones.
    done: u64,
    samples: Samples,
}

/// The average of one lane.
#[derive(Clone, Copy, Debug)]
struct Mean {
    value: f32,
    /// Sum of the weights of the lane's samples: 1 - (1 - share)^n.
    weight: f64,
}

impl Mean {
    const EMPTY: Self = Self { value: f32::NAN, weight: 0.0 };

    /// Adds a sample; `share` is its share of the sum of all weights. Ignores values that are not finite.
    fn add(&mut self, sample: f32, share: f64, is_angle: bool) {
        if !sample.is_finite() {
            return;
        }
        self.weight += share * (1.0 - self.weight);
        let (from, to) = (f64::from(self.value), f64::from(sample));
        let share = share / self.weight;
        self.value = match is_angle {
            _ if !from.is_finite() => sample,
            true => circular::wrap(from + share * circular::difference(to, from)) as f32,
            false => (from + share * (to - from)) as f32,
        };
    }
}

impl Smooth {
    /// Smooths up to [`PER_FRAME`] new samples; angles along the shorter arc. Returns whether all samples are smoothed.
    pub fn follow(&mut self, raw: &Samples, over: u32, is_angle: bool) -> bool {
        let all = raw.dropped() + raw.len() as u64;
        if self.over != over || self.means.len() != raw.lanes() || self.done > all {
            *self = Self { over, means: vec![Mean::EMPTY; raw.lanes()], done: raw.dropped(), ..Self::default() };
        }
        let share = 1.0 - (-1.0 / f64::from(over.max(1))).exp();
        let first = self.done.max(raw.dropped()) - raw.dropped();
        let rows = (first as usize..raw.len()).take(PER_FRAME);
        for i in rows {
            if i.checked_sub(1).is_some_and(|before| raw.is_gap(raw.step(before), raw.step(i))) {
                self.means.fill(Mean::EMPTY);
            }
            for (lane, mean) in self.means.iter_mut().enumerate() {
                mean.add(raw.value(lane, i), share, is_angle);
            }
            self.row.clear();
            self.row.extend(self.means.iter().map(|mean| mean.value));
            self.samples.push(self.means.len(), &[raw.step(i)], &self.row);
            self.done = raw.dropped() + i as u64 + 1;
        }
        self.done == all
    }

    /// Returns the samples smoothed so far.
    pub fn samples(&self) -> &Samples {
        &self.samples
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(n: u64) -> Samples {
        let mut samples = Samples::default();
        let at: Vec<u64> = (0..n).collect();
        let values: Vec<f32> = (0..n).flat_map(|i| [if i < n / 2 { 0.0 } else { 1.0 }, 5.0]).collect();
        samples.push(2, &at, &values);
        samples
    }

    #[test]
    fn a_step_is_followed_as_an_exponential_over_all_samples() {
        let raw = steps(50_000);
        let mut smooth = Smooth::default();
        let mut frames = 1;
        while !smooth.follow(&raw, 100, false) {
            frames += 1;
        }
        assert_eq!(frames, 3, "bounded work per frame");
        let at = |step: u64| smooth.samples().at(0, step as f64).unwrap();
        assert!((at(25_000 + 99) - (1.0 - (-1.0_f32).exp())).abs() < 1e-3, "{}", at(25_099));
        assert!(at(24_999) == 0.0 && (at(26_000) - 1.0).abs() < 1e-3);
        assert_eq!(smooth.samples().at(1, 40_000.0), Some(5.0));
        let mut more = raw.clone();
        more.push(2, &[50_000], &[1.0, f32::NAN]);
        assert!(smooth.follow(&more, 100, false));
        assert_eq!(smooth.samples().at(1, 50_000.0), Some(5.0), "NaN is ignored");
        smooth.follow(&more, 10, false);
        assert_eq!(smooth.samples().len(), PER_FRAME, "a different time constant starts over");
    }

    /// Smooths one lane with a time constant of 100 samples.
    fn smoothed(samples: impl IntoIterator<Item = (u64, f32)>) -> Smooth {
        let mut raw = Samples::default();
        samples.into_iter().for_each(|(step, value)| raw.push(1, &[step], &[value]));
        let mut smooth = Smooth::default();
        assert!(smooth.follow(&raw, 100, false));
        smooth
    }

    /// Computes the weighted mean of all `values` from its definition.
    fn defined(values: &[f64], over: f64) -> f64 {
        let weight = |i: usize| (-((values.len() - 1 - i) as f64) / over).exp();
        let sum: f64 = values.iter().enumerate().map(|(i, v)| weight(i) * v).sum();
        sum / (0..values.len()).map(weight).sum::<f64>()
    }

    #[test]
    fn a_constant_stays_and_a_ramp_has_no_bias_of_its_first_sample() {
        let constant = smoothed((0..300).map(|i| (i, 0.526)));
        assert!((0..300).all(|i| constant.samples().at(0, f64::from(i)) == Some(0.526)));
        let ramp = |i: u64| 0.526 - 0.106 * i as f64 / 100.0;
        let values: Vec<f64> = (0..300).map(ramp).collect();
        let smooth = smoothed((0..300).map(|i| (i, ramp(i) as f32)));
        for n in [1, 2, 10, 100, 300] {
            let (found, expected) = (smooth.samples().value(0, n - 1), defined(&values[..n], 100.0) as f32);
            assert!((found - expected).abs() < 1e-5, "after {n} samples {found}, not {expected}");
        }
        let last = smooth.samples().value(0, 100);
        assert!(last < 0.47, "{last}: the mean of a ramp from 0.526 to 0.42 lies in its middle");
    }

    #[test]
    fn values_before_a_gap_do_not_count_after_it_and_nan_is_no_sample() {
        let before = (0..500).map(|i| (i, 9.0));
        let smooth = smoothed(before.chain((5_000..5_003).map(|i| (i, [1.0, f32::NAN, 2.0][i as usize - 5_000]))));
        let after = [5_000.0, 5_001.0, 5_002.0].map(|step| smooth.samples().at(0, step).expect("a sample"));
        let both = defined(&[1.0, 2.0], 100.0) as f32;
        assert_eq!(after[..2], [1.0, 1.0]);
        assert!((after[2] - both).abs() < 1e-6, "{} instead of {both}", after[2]);
        let late = smoothed([(0, f32::NAN), (1, f32::NAN), (2, 4.0)]);
        assert!(late.samples().value(0, 1).is_nan() && late.samples().value(0, 2) == 4.0);
    }

    #[test]
    fn angles_are_smoothed_across_half_a_turn() {
        let mut raw = Samples::default();
        let at: Vec<u64> = (0..1000).collect();
        let values: Vec<f32> = at.iter().map(|i| if i % 2 == 0 { 3.1 } else { -3.1 }).collect();
        raw.push(1, &at, &values);
        let mut smooth = Smooth::default();
        assert!(smooth.follow(&raw, 100, true));
        let last = smooth.samples().at(0, 999.0).expect("a sample");
        assert!(last.abs() > 3.09, "{last}: the linear mean is 0");
    }
}
