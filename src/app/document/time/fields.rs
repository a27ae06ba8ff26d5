//! Past states of fields, evenly spread over the run, in bounded memory.

use crate::{
    app::kit::pool,
    engine::SetChange,
    sim::{Clock, ProbeId, TapKey},
};
use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

/// Memory limit of all fields together, bytes.
pub const CAPACITY: usize = 64 << 20;
/// Initial interval of kept states, seconds of simulated time. The interval is doubled whenever the memory is full.
const INTERVAL_SECS: f64 = 0.05;

/// The states of one field by step.
type States = VecDeque<(u64, Arc<Vec<f32>>)>;

/// Kept states of all subscribed fields; a field with arguments has states for each combination that was shown.
#[derive(Default)]
pub struct FieldHistory {
    states: BTreeMap<TapKey, States>,
    every: u64,
    n_bytes: usize,
}

impl FieldHistory {
    /// Keeps a state unless fewer than [`FieldHistory::every`] steps have passed since the last kept state.
    pub fn push(&mut self, key: &TapKey, clock: Clock, values: &Arc<Vec<f32>>) {
        if self.every == 0 {
            self.every = ((INTERVAL_SECS / clock.base.per_step()) as u64).max(1);
        }
        let states = self.states.entry(key.clone()).or_default();
        if states.back().is_some_and(|(last, _)| clock.step < last + self.every) {
            return;
        }
        states.push_back((clock.step, values.clone()));
        self.n_bytes += size_of_val(&values[..]);
        while self.n_bytes > CAPACITY && self.states.values().any(|s| s.len() > 2) {
            self.thin();
        }
    }

    /// Reorders the states of a field over a set that changed.
    pub fn arrange(&mut self, probe: ProbeId, change: &SetChange) {
        let of_probe = self.states.iter_mut().filter(|(key, _)| key.probe == probe);
        for (_, values) in of_probe.flat_map(|(_, states)| states) {
            *values = Arc::new(change.arrange(values));
        }
        self.count();
    }

    fn count(&mut self) {
        self.n_bytes = self.states.values().flatten().map(|(_, v)| size_of_val(&v[..])).sum();
    }

    /// Removes every second state, and frees the removed ones on the pool.
    fn thin(&mut self) {
        self.every = self.every.saturating_mul(2);
        let mut removed = vec![];
        for states in self.states.values_mut() {
            let (kept, odd): (Vec<_>, Vec<_>) = states.drain(..).enumerate().partition(|(i, _)| i % 2 == 0);
            states.extend(kept.into_iter().map(|(_, state)| state));
            removed.extend(odd);
        }
        pool::discard(removed);
        self.count();
    }

    /// Returns the last kept state of a field at or before a step, with its step, or the oldest state if all are later;
    /// `None` if no state is kept.
    pub fn at(&self, key: impl Into<TapKey>, step: u64) -> Option<(u64, &Arc<Vec<f32>>)> {
        let states = self.states.get(&key.into())?;
        let after = states.partition_point(|(at, _)| *at <= step);
        states.get(after.saturating_sub(1)).map(|(at, values)| (*at, values))
    }

    /// Iterates over the kept states of a field after a step, or over all kept states without a step.
    pub fn after(&self, key: impl Into<TapKey>, step: Option<u64>) -> impl Iterator<Item = (u64, &Arc<Vec<f32>>)> {
        let states = self.states.get(&key.into()).into_iter();
        let from = move |s: &States| step.map_or(0, |step| s.partition_point(|(at, _)| *at <= step));
        states.flat_map(move |s| s.range(from(s)..)).map(|(at, values)| (*at, values))
    }

    /// Iterates over the probes and arguments of kept states.
    pub fn keys(&self) -> impl Iterator<Item = &TapKey> {
        self.states.keys()
    }

    /// Returns the memory used, bytes.
    pub fn n_bytes(&self) -> usize {
        self.n_bytes
    }

    /// Returns the minimum number of steps between two kept states.
    pub fn every(&self) -> u64 {
        self.every
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_run_is_thinned_and_keeps_its_start() {
        let mut fields = FieldHistory::default();
        let state = vec![0.5_f32; 200_000];
        for step in 0..2_000 {
            let mut state = state.clone();
            state[0] = step as f32;
            fields.push(&3.into(), Clock::seconds(step * 500, 1e-4), &Arc::new(state));
        }
        assert!(fields.n_bytes() <= CAPACITY && fields.every() > 500);
        assert_eq!(fields.at(3, 0).map(|(step, v)| (step, v[0])), Some((0, 0.0)));
        let (step, values) = fields.at(3, 700_000).unwrap();
        assert!(step <= 700_000 && step + fields.every() > 650_000 && values[0] == (step / 500) as f32);
        assert!(fields.at(4, 0).is_none());
        assert_eq!(fields.after(3, Some(step - 1)).next().map(|(at, _)| at), Some(step));
        assert_eq!((fields.after(3, None).next().map(|(at, _)| at), fields.after(4, None).count()), (Some(0), 0));
    }
}
