//! The history of the run: in bounded memory, shared by all views.

use super::{ActiveElements, EventDensity, FieldHistory, WallClock, spikes::History};
use crate::{
    engine::SimSchema,
    sim::{Frame, ProbeId, Reading, Shape},
};
use std::{collections::BTreeMap, sync::Arc};

/// The spikes of one probe.
#[derive(Default)]
pub struct Train {
    /// The spikes in memory.
    pub history: History,
    /// The elements that have spiked since the start of the run.
    pub active: ActiveElements,
    /// Spikes per element since the start of the run.
    pub counts: Vec<u32>,
    /// Spike density over the whole run.
    pub density: EventDensity,
    /// Spikes dropped while the window was busy or hidden.
    pub skipped: u64,
}

/// The history of the run.
#[derive(Default)]
pub struct Past {
    trains: BTreeMap<ProbeId, Train>,
    /// Past states of fields, decimated.
    pub fields: FieldHistory,
    /// The wall time of each step.
    wall_clock: Arc<WallClock>,
    /// The newest state of each field.
    latest: BTreeMap<ProbeId, Vec<f32>>,
    /// The step of the first frame.
    first: Option<u64>,
    /// The step of the last frame.
    last: u64,
}

impl Past {
    /// Adds a frame.
    pub fn absorb(&mut self, schema: &SimSchema, frame: &Frame) {
        self.first.get_or_insert(frame.clock.step);
        self.last = frame.clock.step;
        if frame.ran_secs > 0.0 {
            Arc::make_mut(&mut self.wall_clock).push(frame.clock.step, frame.ran_secs);
        }
        for (id, reading) in &frame.readings {
            match reading {
                Reading::Spikes(spikes) => {
                    let train = self.trains.entry(*id).or_default();
                    let known = train.history.sequence();
                    train.history.push(spikes, frame.clock.step);
                    let origin = train.history.origin();
                    for new in train.history.after(known) {
                        train.density.push(new, origin);
                    }
                    train.active.mark(spikes);
                    train.skipped += frame.skipped;
                    let shape = schema.probes.get(usize::from(*id)).map(|p| p.shape);
                    if let Some(Shape::Spikes { over }) = shape {
                        train.counts.resize(schema.set(over).map_or(0, |s| s.len as usize), 0);
                    }
                    for spike in spikes {
                        if let Some(count) = train.counts.get_mut(spike.lane as usize) {
                            *count += 1;
                        }
                    }
                }
                Reading::Field(values) => {
                    self.fields.push(*id, frame.clock, values);
                    self.latest.entry(*id).or_default().clone_from(values);
                }
                _ => {}
            }
        }
    }

    /// Sets the first step of the run before the first frame.
    pub fn begin(&mut self, step: u64) {
        self.first = Some(step);
    }

    /// Whether no frame has been added yet.
    pub fn is_blank(&self) -> bool {
        self.first.is_none()
    }

    /// The spikes of a probe, if there are any.
    pub fn train(&self, probe: ProbeId) -> Option<&Train> {
        self.trains.get(&probe)
    }

    /// The spikes of a probe, mutable.
    pub fn train_mut(&mut self, probe: ProbeId) -> Option<&mut Train> {
        self.trains.get_mut(&probe)
    }

    /// The spikes of all probes.
    pub fn trains(&self) -> impl Iterator<Item = (ProbeId, &Train)> {
        self.trains.iter().map(|(id, train)| (*id, train))
    }

    /// The wall time of each step.
    pub fn wall_clock(&self) -> &Arc<WallClock> {
        &self.wall_clock
    }

    /// The newest state of a field.
    pub fn latest(&self, probe: ProbeId) -> Option<&Vec<f32>> {
        self.latest.get(&probe)
    }

    /// The oldest step the cursor can be moved to.
    pub fn oldest(&self) -> u64 {
        let first = self.first.unwrap_or(0);
        let kept = |train: &Train| {
            let oldest = train.history.origin() + u64::from(train.history.first_step().unwrap_or(0));
            (train.history.dropped() > 0).then_some(oldest)
        };
        self.trains.values().filter_map(kept).max().map_or(first, |kept| kept.max(first))
    }

    /// The newest step.
    pub fn newest(&self) -> u64 {
        self.last
    }

    /// Steps since the first frame, including those no longer in memory.
    pub fn seen(&self) -> u64 {
        self.last - self.first.unwrap_or(self.last).min(self.last)
    }

    /// Memory used, bytes.
    pub fn n_bytes(&self) -> usize {
        let of = |train: &Train| train.history.len() * 8 + train.counts.len() * 4;
        let latest: usize = self.latest.values().map(|v| v.len() * 4).sum();
        self.trains.values().map(of).sum::<usize>() + self.fields.n_bytes() + latest
    }
}
