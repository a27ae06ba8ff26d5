//! Rate at which batches are measured kernel by kernel.

use crate::gpu::PROFILE_EVERY;

/// Maximum share of the run time that measuring may cost.
const MAX_COST: f64 = 0.01;
/// Maximum number of batches for each measured batch.
const LONGEST: u64 = 1024;
/// Number of batches whose times are kept, and the minimum number of times from which a rate is computed.
const KEPT: usize = 16;
const ENOUGH: usize = 5;

/// Adapts the rate by comparing the step times of measured batches with those of ordinary batches.
#[derive(Default)]
pub(super) struct MeasuringRate {
    measured: Times,
    ordinary: Times,
}

/// Step times of recent batches, nanoseconds.
#[derive(Default)]
struct Times {
    nanos: [f64; KEPT],
    n: usize,
}

impl MeasuringRate {
    /// Adds the time of a batch.
    pub fn took(&mut self, is_measured: bool, steps: u32, nanos: u64) {
        let times = if is_measured { &mut self.measured } else { &mut self.ordinary };
        times.nanos[times.n % KEPT] = nanos as f64 / f64::from(steps.max(1));
        times.n += 1;
    }

    /// Returns the number of batches for each measured batch at which measuring costs at most [`MAX_COST`]. Returns
    /// [`PROFILE_EVERY`] until enough batches of both sorts have been timed.
    pub fn every(&self) -> u64 {
        let (Some(measured), Some(ordinary)) = (self.measured.low(), self.ordinary.low()) else { return PROFILE_EVERY };
        let cost = (measured / ordinary - 1.0).max(0.0);
        ((cost / MAX_COST) as u64).next_power_of_two().clamp(PROFILE_EVERY, LONGEST)
    }
}

impl Times {
    /// Returns the lower quartile of the step times, nanoseconds, because disturbances only lengthen steps; `None` before
    /// [`ENOUGH`] batches.
    fn low(&self) -> Option<f64> {
        let n = self.n.min(KEPT);
        let mut nanos = self.nanos;
        nanos[..n].sort_by(f64::total_cmp);
        (n >= ENOUGH).then(|| nanos[n / 4])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measuring_costs_at_most_one_percent() {
        for (cost, every) in [(0.0, 32), (0.19, 32), (0.4, 64), (1.2, 128), (40.0, 1024)] {
            let mut rate = MeasuringRate::default();
            for batch in 0..40_u64 {
                assert!(batch > 4 || rate.every() == PROFILE_EVERY, "unknown yet");
                let stray = if batch % 7 == 0 { 3.0 } else { 1.0 };
                rate.took(batch % 2 == 0, 4, (4_000.0 * stray * if batch % 2 == 0 { 1.0 + cost } else { 1.0 }) as u64);
            }
            assert_eq!(rate.every(), every, "{cost}");
        }
    }
}
