//! Cost control of readings for the screen. Recorded data do not depend on the cost.

use std::time::{Duration, Instant};

/// Reciprocal of the share of time that costly readings may take.
pub const SHARE: u32 = 50;
/// Age at which a reading is repeated regardless of its cost.
const OLDEST: Duration = Duration::from_secs(1);

/// Time and duration of a reading.
#[derive(Clone, Copy, Debug)]
pub struct ReadingCost {
    taken: Instant,
    cost: Duration,
}

impl ReadingCost {
    /// Takes a reading and measures its duration.
    pub fn of<T>(reading: impl FnOnce() -> T) -> (T, Self) {
        let begun = Instant::now();
        let reading = reading();
        let taken = Instant::now();
        (reading, Self { taken, cost: taken - begun })
    }

    /// Whether repeating the readings `all` now would exceed `1 / SHARE` of the time although this reading is not too old.
    pub fn is_early(&self, all: impl Iterator<Item = Self>) -> bool {
        is_early(self.taken.elapsed(), all.map(|reading| reading.cost).sum())
    }
}

fn is_early(age: Duration, costs: Duration) -> bool {
    age < (costs * SHARE).min(OLDEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costly_readings_are_taken_again_when_that_is_a_small_share_of_the_time() {
        let ms = Duration::from_millis;
        let ages = [(49, 1, true), (50, 1, false), (999, 3_600_000, true), (1_000, 3_600_000, false)];
        for (age, costs, early) in ages {
            assert_eq!(is_early(ms(age), ms(costs)), early, "{costs} ms, {age} ms ago");
        }
    }
}
