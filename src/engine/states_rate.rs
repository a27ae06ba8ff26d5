//! Rate at which states are read for the screen.

use crate::sim::reading_cost::SHARE;
use std::time::{Duration, Instant};

/// Minimum time between two readings of states (fields, matrices) during a run, because no screen shows more frames.
const SHORTEST: Duration = Duration::from_millis(16);
/// Maximum time between two readings, regardless of their duration.
const LONGEST: Duration = Duration::from_millis(100);

/// Decides when states are read again, so that the readings take a small share of the time.
#[derive(Default)]
pub(super) struct StatesRate {
    /// Time of the last reading.
    last: Option<Instant>,
    /// Duration of the last reading, including the histories of its batch.
    took: Duration,
}

impl StatesRate {
    /// Stores the present time as the time of a reading.
    pub fn read(&mut self) {
        self.last = Some(Instant::now());
    }

    /// Sets the duration of the last reading.
    pub fn took(&mut self, time: Duration) {
        self.took = time;
    }

    /// Whether states are to be read again.
    pub fn is_due(&self) -> bool {
        self.last.is_none_or(|last| last.elapsed() >= interval(self.took))
    }
}

/// Returns the time from a reading that took `took` to the next reading.
fn interval(took: Duration) -> Duration {
    (took * SHARE).clamp(SHORTEST, LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readings_take_a_fiftieth_of_the_time_between_60_and_10_hz() {
        let cases = [(0, 16_000), (100, 16_000), (1_000, 50_000), (2_000, 100_000), (500_000, 100_000)];
        for (took, between) in
            cases.map(|(took, between)| (Duration::from_micros(took), Duration::from_micros(between)))
        {
            assert_eq!(interval(took), between, "{took:?}");
        }
        assert!(StatesRate::default().is_due(), "states that were never read");
    }
}
