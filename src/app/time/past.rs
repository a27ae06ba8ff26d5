//! What the window remembers of the run: bounded, in memory, shared by all views.

use super::{Active, Band, Fields, Walls, spikes::History};
use crate::{
    engine::Exhibit,
    sim::{Frame, ProbeId, Reading, Shape},
};
use std::{collections::BTreeMap, sync::Arc};

/// The spikes of one probe.
#[derive(Default)]
pub struct Train {
    /// Those kept.
    pub history: History,
    /// Who has spiked since the run began.
    pub active: Active,
    /// Spikes of each element since the run began.
    pub counts: Vec<u32>,
    /// How dense they were over the whole run.
    pub band: Band,
    /// Spikes that came while nobody took them.
    pub skipped: u64,
}

/// What is remembered.
#[derive(Default)]
pub struct Past {
    trains: BTreeMap<ProbeId, Train>,
    /// Fields, decimated.
    pub fields: Fields,
    /// When it was where, on the clock of the wall.
    walls: Arc<Walls>,
    /// The newest state of each field.
    latest: BTreeMap<ProbeId, Vec<f32>>,
    /// Where the run was when the window first heard of it.
    first: Option<u64>,
    /// Where it was last.
    last: u64,
}

impl Past {
    /// Takes in what is new.
    pub fn absorb(&mut self, exhibit: &Exhibit, frame: &Frame) {
        self.first.get_or_insert(frame.clock.step);
        self.last = frame.clock.step;
        if frame.ran_secs > 0.0 {
            Arc::make_mut(&mut self.walls).push(frame.clock.step, frame.ran_secs);
        }
        for (id, reading) in &frame.readings {
            match reading {
                Reading::Spikes(spikes) => {
                    let train = self.trains.entry(*id).or_default();
                    let known = train.history.sequence();
                    train.history.push(spikes, frame.clock.step);
                    let origin = train.history.origin();
                    for new in train.history.after(known) {
                        train.band.push(new, origin);
                    }
                    train.active.note(spikes);
                    train.skipped += frame.skipped;
                    let shape = exhibit.probes.get(usize::from(*id)).map(|p| p.shape);
                    if let Some(Shape::Spikes { over }) = shape {
                        train.counts.resize(exhibit.set(over).map_or(0, |s| s.len as usize), 0);
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

    /// Where the run began, when it is known before the first data.
    pub fn begin(&mut self, step: u64) {
        self.first = Some(step);
    }

    /// Whether nothing has been heard of the run yet.
    pub fn is_blank(&self) -> bool {
        self.first.is_none()
    }

    /// The spikes of a probe, when any came.
    pub fn train(&self, probe: ProbeId) -> Option<&Train> {
        self.trains.get(&probe)
    }

    /// The same, to note which elements have rows.
    pub fn train_mut(&mut self, probe: ProbeId) -> Option<&mut Train> {
        self.trains.get_mut(&probe)
    }

    /// All trains.
    pub fn trains(&self) -> impl Iterator<Item = (ProbeId, &Train)> {
        self.trains.iter().map(|(id, train)| (*id, train))
    }

    /// When it was where, on the clock of the wall.
    pub fn walls(&self) -> &Arc<Walls> {
        &self.walls
    }

    /// The newest state of a field.
    pub fn latest(&self, probe: ProbeId) -> Option<&Vec<f32>> {
        self.latest.get(&probe)
    }

    /// The oldest step that can be gone back to.
    pub fn oldest(&self) -> u64 {
        let first = self.first.unwrap_or(0);
        let kept = |train: &Train| {
            let oldest = train.history.origin() + u64::from(train.history.first_step().unwrap_or(0));
            (train.history.dropped() > 0).then_some(oldest)
        };
        self.trains.values().filter_map(kept).max().map_or(first, |kept| kept.max(first))
    }

    /// The step up to which the run has been seen.
    pub fn newest(&self) -> u64 {
        self.last
    }

    /// Steps seen, those that are no longer kept included.
    pub fn seen(&self) -> u64 {
        self.last - self.first.unwrap_or(self.last).min(self.last)
    }

    /// Bytes held.
    pub fn n_bytes(&self) -> usize {
        let of = |train: &Train| train.history.len() * 8 + train.counts.len() * 4;
        let latest: usize = self.latest.values().map(|v| v.len() * 4).sum();
        self.trains.values().map(of).sum::<usize>() + self.fields.n_bytes() + latest
    }
}
