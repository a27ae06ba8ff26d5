//! Smoothed curves: an exponential moving average of all samples, independent of the zoom.

use super::samples::Samples;
use crate::num::circular;

/// Rows smoothed per frame.
const PER_FRAME: usize = 20_000;

/// Time constants in the menu, samples.
pub const CHOICES: [u32; 5] = [0, 10, 30, 100, 1000];

/// The smoothed samples of one probe.
#[derive(Clone, Debug, Default)]
pub struct Smooth {
    over: u32,
    mean: Vec<f32>,
    row: Vec<f32>,
    /// Number of rows smoothed, including dropped ones.
    done: u64,
    samples: Samples,
}

impl Smooth {
    /// Smooths new samples; angles along the shorter way. Returns whether all are done.
    pub fn follow(&mut self, raw: &Samples, over: u32, is_angle: bool) -> bool {
        let all = raw.dropped() + raw.len() as u64;
        if self.over != over || self.mean.len() != raw.lanes() || self.done > all {
            *self = Self { over, mean: vec![f32::NAN; raw.lanes()], done: raw.dropped(), ..Self::default() };
        }
        let share = 1.0 - (-1.0 / f64::from(over.max(1))).exp() as f32;
        let first = self.done.max(raw.dropped()) - raw.dropped();
        let rows = (first as usize..raw.len()).take(PER_FRAME);
        for i in rows {
            for (lane, mean) in self.mean.iter_mut().enumerate() {
                let value = raw.value(lane, i);
                match (mean.is_finite(), value.is_finite()) {
                    (true, true) if is_angle => {
                        let (from, to) = (f64::from(*mean), f64::from(value));
                        *mean = circular::wrap(from + f64::from(share) * circular::difference(to, from)) as f32;
                    }
                    (true, true) => *mean += share * (value - *mean),
                    (false, true) => *mean = value,
                    (_, false) => {}
                }
            }
            self.row.clone_from(&self.mean);
            self.samples.push(self.mean.len(), &[raw.step(i)], &self.row);
            self.done = raw.dropped() + i as u64 + 1;
        }
        self.done == all
    }

    /// The smoothed samples so far.
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
        more.push(2, &[60_000], &[1.0, f32::NAN]);
        assert!(smooth.follow(&more, 100, false));
        assert_eq!(smooth.samples().at(1, 60_000.0), Some(5.0), "NaN is ignored");
        smooth.follow(&more, 10, false);
        assert_eq!(smooth.samples().len(), PER_FRAME, "a different time constant starts over");
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
