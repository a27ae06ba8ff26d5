//! History of the run in bounded memory, shared by all views.

use super::{
    Coverage, FieldHistory, StepCurve, Train,
    indexer::{self, Batch, Indexer, Trains},
    spikes::full_step,
};
use crate::{
    app::kit::pool,
    engine::{SchemaChanges, SimSchema},
    sim::{Frame, ProbeId, Reading, Shape, TapKey},
};
use std::{collections::BTreeMap, sync::Arc};

/// History of the run.
#[derive(Default)]
pub struct Past {
    trains: Trains,
    indexer: Option<Indexer>,
    has_frames: bool,
    /// Steps at which each spike probe was subscribed.
    coverage: BTreeMap<ProbeId, Coverage>,
    /// Number of spikes moved to the indexer; `n_lost` is the number of spikes lost because the indexer lagged.
    n_moved: u64,
    n_lost: u64,
    /// Past states of fields, at intervals.
    pub fields: FieldHistory,
    /// Wall-clock time of each step.
    wall_clock: Arc<StepCurve>,
    /// Newest state of each field, for each combination of its arguments.
    latest: BTreeMap<TapKey, Arc<Vec<f32>>>,
    /// Step of the first frame; `None` before the first frame.
    first: Option<u64>,
    /// Step of the last frame.
    last: u64,
}

impl Past {
    /// Sets the thread that indexes spikes; with `None`, [`Past::absorb`] indexes them.
    pub fn set_indexer(&mut self, indexer: Option<Indexer>) {
        self.indexer = indexer;
    }

    /// Adds a frame. With an indexer, the spikes are moved out of the frame and replaced by memory for reuse.
    pub fn absorb(&mut self, schema: &SimSchema, frame: &mut Frame) {
        let is_first_frame = !std::mem::replace(&mut self.has_frames, true);
        let first = *self.first.get_or_insert(frame.clock.step);
        self.last = frame.clock.step;
        if frame.ran_secs > 0.0 {
            Arc::make_mut(&mut self.wall_clock).push(frame.clock.step, frame.ran_secs);
        }
        for (_, coverage) in self.coverage.iter_mut().filter(|(id, _)| frame.reading(**id).is_none()) {
            coverage.close();
        }
        for (key, reading) in &mut frame.readings {
            let id = &key.probe;
            match reading {
                Reading::Spikes(spikes) if key.args.is_empty() => {
                    let coverage = self.coverage.entry(*id).or_default();
                    let now = frame.clock.step;
                    let oldest = spikes.first().map(|s| full_step(s.step, now));
                    if is_first_frame {
                        coverage.extend(first.min(oldest.unwrap_or(first)));
                    }
                    match oldest.filter(|_| frame.skipped > 0) {
                        Some(oldest) => coverage.skip_to(oldest, now),
                        None => coverage.extend(now),
                    }
                    let probe = schema.probes.get(usize::from(*id)).map(|p| p.shape);
                    let set = if let Some(Shape::Spikes { over }) = probe { schema.set(over) } else { None };
                    let n_elements = set.map_or(0, |set| set.len as usize);
                    let batch = Batch {
                        probe: *id,
                        n_elements,
                        spikes: std::mem::take(spikes),
                        now: frame.clock.step,
                        skipped: frame.skipped,
                    };
                    self.n_moved += batch.spikes.len() as u64;
                    match &mut self.indexer {
                        None => {
                            indexer::index(&mut self.trains, &batch);
                            *spikes = batch.spikes;
                        }
                        Some(indexer) => {
                            let used = match indexer.send(batch) {
                                Ok(()) => indexer.used(),
                                Err(mut lost) => {
                                    self.n_lost += lost.spikes.len() as u64;
                                    coverage.close();
                                    lost.spikes.clear();
                                    Some(lost.spikes)
                                }
                            };
                            if frame.spare.capacity() == 0 {
                                frame.spare = used.unwrap_or_default();
                            }
                        }
                    }
                }
                Reading::Field(values) => {
                    self.fields.push(key, frame.clock, values);
                    self.latest.insert(key.clone(), values.clone());
                }
                _ => {}
            }
        }
    }

    /// Reorders the states of fields over changed sets by the ids of their elements. Spikes keep the former index of their
    /// element.
    pub fn schema_changed(&mut self, schema: &SimSchema, changes: &SchemaChanges) {
        for (id, probe) in schema.probes.iter().enumerate() {
            let Shape::Field { over, .. } = probe.shape else { continue };
            let Some(change) = changes.sets.iter().find(|c| c.name == over) else { continue };
            self.fields.arrange(id as ProbeId, change);
            for (_, latest) in self.latest.iter_mut().filter(|(key, _)| usize::from(key.probe) == id) {
                *latest = Arc::new(change.arrange(latest));
            }
        }
    }

    /// Takes the indexer's newest snapshot. Returns whether there was a snapshot.
    pub fn update(&mut self) -> bool {
        let Some(trains) = self.indexer.as_ref().and_then(Indexer::take) else { return false };
        let old = std::mem::replace(&mut self.trains, trains);
        pool::discard(old);
        true
    }

    /// Returns the newest step up to which the spikes of all subscribed probes can be shown, or `now` if no probe of spikes
    /// is subscribed. Views that follow the newest data end at this step, because later spikes are not indexed yet.
    pub fn complete_to(&self, now: u64) -> u64 {
        let end = |id: &ProbeId| self.trains.get(id).map_or_else(|| self.first(), |train| train.end);
        let subscribed = self.coverage.iter().filter(|(_, coverage)| coverage.is_open());
        subscribed.map(|(id, _)| end(id)).min().map_or(now, |end| end.min(now))
    }

    /// Whether all spikes so far are indexed.
    pub fn is_indexed(&self) -> bool {
        self.indexer.as_ref().is_none_or(Indexer::is_idle)
    }

    /// Returns the intervals between `from` and `to`, up to the newest step, in which spikes of a probe were not recorded.
    pub fn gaps(&self, probe: ProbeId, from: f64, to: f64) -> Vec<(f64, f64)> {
        let (from, to) = (from.max(0.0), to.min(self.last as f64));
        match self.coverage.get(&probe) {
            Some(coverage) if from < to => coverage.gaps(from, to),
            _ if from < to => vec![(from, to)],
            _ => vec![],
        }
    }

    /// Returns the whole run as one gap, for data that were not recorded.
    pub fn whole(&self) -> Vec<(f64, f64)> {
        vec![(self.first() as f64, self.last as f64)]
    }

    /// Sets the first step of the run before the first frame.
    pub fn begin(&mut self, step: u64) {
        self.first = Some(step);
    }

    /// Whether no frame has been added yet.
    pub fn is_blank(&self) -> bool {
        self.first.is_none()
    }

    /// Returns the spikes of a probe; `None` if none were indexed.
    pub fn train(&self, probe: ProbeId) -> Option<&Train> {
        self.trains.get(&probe)
    }

    /// Iterates over the spikes of all probes.
    pub fn trains(&self) -> impl Iterator<Item = (ProbeId, &Train)> {
        self.trains.iter().map(|(id, train)| (*id, train))
    }

    /// Returns the wall-clock time of each step.
    pub fn wall_clock(&self) -> &Arc<StepCurve> {
        &self.wall_clock
    }

    /// Returns the newest state of a field; `None` before the first state.
    pub fn latest(&self, key: &TapKey) -> Option<&Arc<Vec<f32>>> {
        self.latest.get(key)
    }

    /// Iterates over the fields that have states, with the arguments of each.
    pub fn field_keys(&self) -> impl Iterator<Item = &TapKey> {
        self.latest.keys()
    }

    /// Returns the oldest step to which the cursor can be moved, from which on single spikes of all probes are in memory.
    pub fn oldest(&self) -> u64 {
        let first = self.first.unwrap_or(0);
        self.trains.values().filter_map(Train::oldest_single).max().map_or(first, |kept| kept.max(first))
    }

    /// Returns the first step of the run.
    pub fn first(&self) -> u64 {
        self.first.unwrap_or(0)
    }

    /// Returns the number of spikes lost because the indexer lagged.
    pub fn n_lost(&self) -> u64 {
        self.n_lost
    }

    /// Returns the step of the newest frame.
    pub fn newest(&self) -> u64 {
        self.last
    }

    /// Returns the number of steps since the first frame, including those no longer in memory.
    pub fn seen(&self) -> u64 {
        self.last - self.first.unwrap_or(self.last).min(self.last)
    }

    /// Returns the memory used, bytes.
    pub fn n_bytes(&self) -> usize {
        let latest: usize = self.latest.values().map(|v| v.len() * 4).sum();
        self.trains.values().map(Train::n_bytes).sum::<usize>() + self.fields.n_bytes() + latest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::{Clock, ElementSet, ProbeSpec, Spike};

    const PROBES: &[ProbeSpec] = &[ProbeSpec {
        name: "spikes",
        title: "",
        docs: "",
        unit: "",
        shape: Shape::Spikes { over: "cells" },
        args: &[],
    }];

    fn schema() -> SimSchema {
        let set = ElementSet { name: "cells", len: 10, ..ElementSet::default() };
        SimSchema { probes: PROBES, sets: vec![Arc::new(set)], ..SimSchema::default() }
    }

    fn frame(steps: std::ops::Range<u64>, is_tapped: bool) -> Frame {
        let spikes = steps.clone().map(|s| Spike { step: s as u32, lane: (s % 10) as u32 }).collect();
        let readings = if is_tapped { vec![(0.into(), Reading::Spikes(spikes))] } else { vec![] };
        Frame { clock: Clock::seconds(steps.end, 1e-3), readings, epoch: 1, ..Frame::default() }
    }

    #[test]
    fn steps_without_a_subscription_are_gaps_and_not_silence() {
        let (mut past, schema) = (Past::default(), schema());
        past.absorb(&schema, &mut frame(0..0, true));
        past.absorb(&schema, &mut frame(0..100, true));
        past.absorb(&schema, &mut frame(100..300, false));
        assert_eq!(past.gaps(0, 0.0, 1e9), [(100.0, 300.0)], "the end is known while nothing is subscribed");
        past.absorb(&schema, &mut frame(300..300, true));
        past.absorb(&schema, &mut frame(300..400, true));
        assert_eq!(past.gaps(0, 0.0, 1e9), [(100.0, 300.0)]);
        assert_eq!(past.gaps(7, 50.0, 80.0), [(50.0, 80.0)], "an unknown probe has no data");
        let mut lossy = frame(500..600, true);
        lossy.skipped = 100;
        past.absorb(&schema, &mut lossy);
        assert_eq!(past.gaps(0, 0.0, 1e9), [(100.0, 300.0), (400.0, 500.0)], "spikes skipped on the way are a gap");
    }

    #[test]
    fn absorbing_moves_spikes_without_touching_them() {
        let (mut past, schema) = (Past::default(), schema());
        past.set_indexer(Some(Indexer::spawn(|| {}).expect("a thread")));
        let mut moved = frame(0..5_000, true);
        past.absorb(&schema, &mut moved);
        assert_eq!(moved.reading(0), Some(&Reading::Spikes(vec![])), "moved out");
        while !past.is_indexed() {
            std::thread::yield_now();
        }
        assert!(past.update() && past.train(0).is_some_and(|t| t.history.len() == 5_000));
        past.absorb(&schema, &mut frame(5_000..5_100, true));
        assert_eq!(past.n_moved, 5_100);
    }

    #[test]
    fn memory_of_spikes_that_are_not_indexed_is_filled_again() {
        let (mut past, schema) = (Past::default(), schema());
        past.set_indexer(Some(Indexer::with_limit(100, || {}).expect("a thread")));
        let mut lost = frame(0..5_000, true);
        past.absorb(&schema, &mut lost);
        assert_eq!((past.n_lost(), lost.spare.len()), (5_000, 0));
        assert!(lost.spare.capacity() >= 5_000);
        let mut merged = Frame { spare: Vec::with_capacity(7_000), ..frame(5_000..5_001, true) };
        past.absorb(&schema, &mut merged);
        assert_eq!((past.n_lost(), merged.spare.capacity()), (5_000, 7_000), "a frame keeps the memory that it has");
    }
}
