//! What readings for the screen cost, so that they take a small share of the time. Nothing that is recorded depends on it.

use std::time::{Duration, Instant};

/// Costly readings take at most 1/20 of the time.
const SHARE: u32 = 20;
/// Age at which a reading is taken again, whatever it costs.
const OLDEST: Duration = Duration::from_secs(1);

/// When a reading was taken, and how long that took.
#[derive(Clone, Copy, Debug)]
pub struct ReadingCost {
    taken: Instant,
    cost: Duration,
}

impl ReadingCost {
    /// Takes a reading and measures how long that takes.
    pub fn of<T>(reading: impl FnOnce() -> T) -> (T, Self) {
        let begun = Instant::now();
        let reading = reading();
        let taken = Instant::now();
        (reading, Self { taken, cost: taken - begun })
    }

    /// Whether it is so young that taking all of these again would cost more than their share of the time.
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
        let ages = [(19, 1, true), (20, 1, false), (999, 3_600_000, true), (1_000, 3_600_000, false)];
        for (age, costs, early) in ages {
            assert_eq!(is_early(ms(age), ms(costs)), early, "{costs} ms, {age} ms ago");
        }
    }
}
