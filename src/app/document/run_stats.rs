//! Statistics of the run and the window: real-time factor, sample quantiles, edit latency.

use crate::{params::ParamId, sim::Clock};
use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

/// Speed of the simulation, averaged over the last second of wall-clock time.
#[derive(Default)]
pub struct Pace {
    seen: VecDeque<(Instant, Clock)>,
}

impl Pace {
    /// Adds an observation of the clock.
    pub fn observe(&mut self, clock: Clock) {
        let now = Instant::now();
        if self.seen.back().is_some_and(|(_, last)| clock.step < last.step) {
            self.seen.clear();
        }
        // During long steps, the clock may not have changed since the last observation.
        if self.seen.back().is_none_or(|(_, last)| clock.step > last.step) {
            self.seen.push_back((now, clock));
        }
        while self.seen.len() > 2 && self.seen.front().is_some_and(|(t, _)| now - *t > Duration::from_secs(1)) {
            self.seen.pop_front();
        }
    }

    /// Drops the observations, for example after a pause.
    pub fn forget(&mut self) {
        self.seen.clear();
    }

    fn span(&self) -> Option<(f64, Clock, Clock)> {
        let ((t0, from), (t1, to)) = (self.seen.front()?, self.seen.back()?);
        let wall = (*t1 - *t0).as_secs_f64();
        (wall > 0.05).then_some((wall, *from, *to))
    }

    /// Returns the simulated seconds per wall-clock second; `None` before two observations that are 50 ms apart.
    pub fn real_time_factor(&self) -> Option<f64> {
        self.span().map(|(wall, from, to)| (to.secs() - from.secs()) / wall)
    }

    /// Returns the steps per wall-clock second; `None` before two observations that are 50 ms apart.
    pub fn steps_per_sec(&self) -> Option<f64> {
        self.span().map(|(wall, from, to)| (to.step - from.step) as f64 / wall)
    }
}

/// Last samples of a duration, milliseconds.
pub struct Samples {
    ring: VecDeque<f32>,
    cap: usize,
}

impl Samples {
    /// Creates a list that keeps the last `cap` samples.
    pub fn keeping(cap: usize) -> Self {
        Self { ring: VecDeque::with_capacity(cap), cap }
    }

    /// Adds a sample.
    pub fn push(&mut self, ms: f32) {
        if self.ring.len() == self.cap {
            self.ring.pop_front();
        }
        self.ring.push_back(ms);
    }

    /// Returns the number of samples.
    pub fn count(&self) -> usize {
        self.ring.len()
    }

    /// Returns the newest sample; `None` without samples.
    pub fn last(&self) -> Option<f32> {
        self.ring.back().copied()
    }

    /// Iterates over the samples in order of arrival.
    pub fn iter(&self) -> impl Iterator<Item = f32> + '_ {
        self.ring.iter().copied()
    }

    /// Returns the median, 95th and 99th percentile, and maximum; `None` without samples.
    pub fn quantiles(&self) -> Option<[f32; 4]> {
        let mut sorted: Vec<f32> = self.iter().collect();
        sorted.sort_by(f32::total_cmp);
        let at = |q: f32| sorted.get(((sorted.len() as f32 * q) as usize).min(sorted.len() - 1)).copied();
        if sorted.is_empty() { None } else { Some([at(0.5)?, at(0.95)?, at(0.99)?, at(1.0)?]) }
    }
}

/// Latency from a parameter edit to the first drawn frame of a simulation that has applied it.
pub struct Latency {
    sent: Vec<(ParamId, Instant)>,
    applied: Vec<(u64, Instant)>,
    arrived: Vec<Instant>,
    /// Samples in milliseconds.
    pub samples: Samples,
}

impl Default for Latency {
    fn default() -> Self {
        Self { sent: vec![], applied: vec![], arrived: vec![], samples: Samples::keeping(200) }
    }
}

impl Latency {
    /// Records that an edit was sent to the engine.
    pub fn sent(&mut self, id: ParamId) {
        self.sent.retain(|(i, _)| *i != id);
        self.sent.push((id, Instant::now()));
    }

    /// Records that the engine has applied an edit before step `step`.
    pub fn applied(&mut self, id: ParamId, step: u64) {
        if let Some(i) = self.sent.iter().position(|(s, _)| *s == id) {
            self.applied.push((step, self.sent.swap_remove(i).1));
        }
    }

    /// Records that a frame of step `step` is about to be drawn.
    pub fn frame(&mut self, step: u64) {
        let arrived = &mut self.arrived;
        self.applied.retain(|(at, since)| {
            let is_applied = step > *at;
            if is_applied {
                arrived.push(*since);
            }
            !is_applied
        });
    }

    /// Adds a sample for each edit whose first frame was drawn.
    pub fn drawn(&mut self) {
        for since in self.arrived.drain(..) {
            self.samples.push(since.elapsed().as_secs_f32() * 1e3);
        }
    }

    /// Drops pending edits, because the run has paused or was replaced.
    pub fn forget(&mut self) {
        self.sent.clear();
        self.applied.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_of_the_last() {
        let mut s = Samples::keeping(100);
        for i in 0..200 {
            s.push(i as f32);
        }
        assert_eq!(s.quantiles(), Some([150.0, 195.0, 199.0, 199.0]));
        assert_eq!(Samples::keeping(1).quantiles(), None);
    }

    #[test]
    fn an_edit_counts_when_a_later_step_is_drawn() {
        let (mut l, id) = (Latency::default(), ParamId::of(0, 0));
        l.sent(id);
        l.applied(id, 10);
        l.frame(10);
        l.drawn();
        assert_eq!(l.samples.count(), 0);
        l.frame(11);
        l.drawn();
        assert_eq!(l.samples.count(), 1);
    }
}
