//! Batch length, speed limit and run time.

use std::time::{Duration, Instant};

/// Target duration of a batch: short enough for a responsive slider, long enough to hide the overhead.
const BATCH: Duration = Duration::from_millis(8);
/// Maximum number of steps per batch.
const LONGEST: u32 = 1 << 16;
/// Minimum number of steps per batch for which the synchronisation of host and device at the end of a batch costs little.
const ENOUGH: u32 = 8;
/// Maximum target duration of a batch of long steps while a view has a subscription: one frame of the screen.
const WATCHED: Duration = Duration::from_millis(16);
/// Maximum target duration without a subscription: the longest wait of a pause or an edit.
const UNWATCHED: Duration = Duration::from_millis(100);
/// Maximum ratio of the lengths of two successive batches while a view has a subscription.
const WATCHED_GROWTH: f64 = 2.0;
/// Maximum ratio without a subscription: a run of a second has few batches before they reach their target duration, and a batch eight
/// times as long as [`BATCH`] is within [`UNWATCHED`].
const UNWATCHED_GROWTH: f64 = 8.0;

/// Measures the wall-clock time of running, excluding pauses.
#[derive(Default)]
pub(super) struct Stopwatch {
    before: Duration,
    since: Option<Instant>,
}

impl Stopwatch {
    /// Starts or stops the stopwatch. The measured time is kept.
    pub fn turn(&mut self, on: bool) {
        self.before += self.since.take().map_or(Duration::ZERO, |since| since.elapsed());
        self.since = on.then(Instant::now);
    }

    /// Resets the measured time; a running stopwatch continues.
    pub fn restart(&mut self) {
        *self = Self { before: Duration::ZERO, since: self.since.map(|_| Instant::now()) };
    }

    /// Returns the measured time in seconds.
    pub fn secs(&self) -> f64 {
        (self.before + self.since.map_or(Duration::ZERO, |since| since.elapsed())).as_secs_f64()
    }
}

pub(super) struct Pace {
    batch: u32,
    fixed: Option<u32>,
    speed: Option<f64>,
    /// Origin of the speed limit: wall-clock time and simulated seconds.
    origin: Option<(Instant, f64)>,
}

impl Pace {
    pub const fn new() -> Self {
        Self { batch: 1, fixed: None, speed: None, origin: None }
    }

    /// Discards the batch length of the previous simulation, whose steps may have had a very different duration.
    pub fn restart(&mut self) {
        self.batch = 1;
        self.forget();
    }

    pub fn fix(&mut self, batch: Option<u32>) {
        self.fixed = batch.map(|b| b.max(1));
    }

    pub fn limit(&mut self, speed: Option<f64>) {
        self.speed = speed.filter(|s| *s > 0.0);
        self.forget();
    }

    /// Resets the origin of the speed limit after a pause, a rewind or a stall.
    pub fn forget(&mut self) {
        self.origin = None;
    }

    /// Returns the number of steps of the next batch, and the time to wait first for the speed limit.
    pub fn next(&mut self, now_secs: f64, secs_per_step: f64) -> (u32, Duration) {
        let steps = self.fixed.unwrap_or(self.batch);
        let Some(speed) = self.speed else { return (steps, Duration::ZERO) };
        let (since, from) = *self.origin.get_or_insert((Instant::now(), now_secs));
        // A batch contains at most the steps that are due in its target duration, otherwise the display would jump.
        let due = (BATCH.as_secs_f64() * speed / secs_per_step).ceil().max(1.0);
        let steps = steps.min(due.min(f64::from(LONGEST)) as u32);
        let ahead = (now_secs - from) / speed - since.elapsed().as_secs_f64();
        if ahead < -0.25 {
            self.forget(); // the simulation is slower than the limit; the delay is not caught up
        }
        (steps, Duration::from_secs_f64(ahead.clamp(0.0, 0.05)))
    }

    /// Adapts the batch length to its target duration. A short length grows step by step; a long one is shortened at once, because
    /// the window gets no frame during a batch.
    pub fn took(&mut self, steps: u32, time: Duration, is_watched: bool) {
        if self.fixed.is_some() || steps < self.batch.min(4) {
            return;
        }
        self.batch = fitting(steps, time, is_watched);
    }

    /// Adapts the batch length to a batch that a command ended early. The length is reduced only if the batch took
    /// longer than the longest target: a few steps do not predict the time of a longer batch, and batches must not
    /// become shorter with every command.
    pub fn cut_short(&mut self, steps: u32, time: Duration, is_watched: bool) {
        if self.fixed.is_none() && time > longest(is_watched) {
            self.batch = self.batch.min(fitting(steps, time, is_watched));
        }
    }
}

const fn longest(is_watched: bool) -> Duration {
    if is_watched { WATCHED } else { UNWATCHED }
}

/// Returns the number of steps that take the target duration, given that `steps` steps took `time`; at most `steps` times the maximum
/// growth.
fn fitting(steps: u32, time: Duration, is_watched: bool) -> u32 {
    let target = (time * ENOUGH / steps.max(1)).clamp(BATCH, longest(is_watched));
    let growth = if is_watched { WATCHED_GROWTH } else { UNWATCHED_GROWTH };
    let ratio = (target.as_secs_f64() / time.as_secs_f64().max(1e-9)).min(growth);
    ((f64::from(steps) * ratio).round() as u32).clamp(1, LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the batch length after some batches with steps of duration `step`.
    fn settled(step: Duration, is_watched: bool) -> u32 {
        let mut pace = Pace::new();
        for _ in 0..40 {
            let (steps, _) = pace.next(0.0, 1.0);
            pace.took(steps, step * steps, is_watched);
        }
        pace.next(0.0, 1.0).0
    }

    #[test]
    fn batches_are_short_and_of_several_steps() {
        let cases = [(1, 8_000, 8_000), (500, 16, 16), (1_500, 8, 8), (5_000, 3, 8), (50_000, 1, 2), (400_000, 1, 1)];
        for (micros, watched, unwatched) in cases {
            let step = Duration::from_micros(micros);
            assert_eq!([true, false].map(|is| settled(step, is)), [watched, unwatched], "steps of {micros} µs");
        }
    }

    /// Returns the pace after a series of batches that take a microsecond each.
    fn fast() -> Pace {
        let mut pace = Pace::new();
        for _ in 0..12 {
            pace.took(pace.batch, Duration::from_micros(1), true);
        }
        assert_eq!(pace.next(0.0, 1e-4).0, 4096, "twice as long each time");
        pace
    }

    #[test]
    fn a_batch_that_took_too_long_is_not_followed_by_one_of_half_its_length() {
        let mut pace = fast();
        pace.took(4096, Duration::from_secs(200), true);
        assert_eq!(pace.next(0.0, 1e-4).0, 1);
    }

    #[test]
    fn a_batch_cut_short_by_a_command_is_followed_by_a_shorter_one_only_if_it_was_too_long() {
        let mut pace = fast();
        pace.cut_short(3, Duration::from_micros(3), true);
        assert_eq!(pace.next(0.0, 1e-4).0, 4096, "a command alone changes nothing");
        pace.cut_short(20, Duration::from_secs(1), true);
        assert!(pace.next(0.0, 1e-4).0 < 20, "steps became slow");
    }

    #[test]
    fn a_run_that_no_view_watches_reaches_its_batch_length_soon() {
        let mut pace = Pace::new();
        let lengths: Vec<u32> = (0..6)
            .map(|_| {
                pace.took(pace.batch, Duration::from_micros(1) * pace.batch, false);
                pace.next(0.0, 1e-4).0
            })
            .collect();
        assert_eq!(lengths, [8, 64, 512, 4096, 8000, 8000]);
    }

    #[test]
    fn another_simulation_begins_with_a_batch_of_one_step() {
        let mut pace = fast();
        pace.restart();
        assert_eq!(pace.next(0.0, 1e-4).0, 1);
        pace.fix(Some(7));
        pace.restart();
        assert_eq!(pace.next(0.0, 1e-4).0, 7, "a fixed length stays");
    }
}
