//! A simulation of as many elements as the fly brain has neurons, which only sends spikes at a fixed rate.

use crate::{
    gpu::Pass,
    params::Change,
    sim::{
        Action, Clock, Column, Digest, Effect, ElementSet, Frame, MemoryReport, ProbeId, ProbeSpec, Reading, Series,
        Shape, SimError, Simulation, Snapshot, Spike, Tap,
    },
};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

const LEN: u32 = 138_639;
/// Spikes per step of 0.1 ms: every element fires at about 1 Hz.
const PER_STEP: usize = 15;
const SPIKES: ProbeId = 0;

const PROBES: &[ProbeSpec] = &[
    ProbeSpec {
        name: "spikes",
        title: "",
        docs: "Spikes.",
        unit: "",
        shape: Shape::Spikes { over: "neurons" },
        args: &[],
    },
    ProbeSpec { name: "rate", title: "", docs: "Mean rate.", unit: "Hz", shape: Shape::Series { of: "" }, args: &[] },
];

/// The simulation.
pub struct Load {
    step: u64,
    taps: Vec<Tap>,
    sets: Vec<Arc<ElementSet>>,
    spikes: Vec<Spike>,
    /// Random elements, used in turn.
    lanes: Vec<u32>,
    /// Steps per second of wall time.
    steps_per_s: f64,
    begin: Option<(Instant, u64)>,
}

impl Load {
    /// Sends this many spikes per second of wall time.
    pub fn new(spikes_per_s: f64) -> Self {
        let classes: Vec<&str> = (0..LEN).map(|i| ["optic", "central", "sensory", "motor"][(i % 4) as usize]).collect();
        let set = ElementSet {
            name: "neurons",
            len: LEN,
            columns: vec![Column::from_texts("super_class", &classes)],
            ..ElementSet::default()
        };
        let lane = |i: u32| crate::num::rng::philox4x32([i, 0, 0, 0], [7, 0])[0] % LEN;
        Self {
            step: 0,
            taps: vec![],
            sets: vec![Arc::new(set)],
            spikes: vec![],
            lanes: (0..1 << 20).map(lane).collect(),
            steps_per_s: spikes_per_s / PER_STEP as f64,
            begin: None,
        }
    }
}

impl Simulation for Load {
    fn probes(&self) -> &'static [ProbeSpec] {
        PROBES
    }
    fn lanes(&self, _: ProbeId) -> Vec<String> {
        vec![]
    }
    fn sets(&self) -> &[Arc<ElementSet>] {
        &self.sets
    }
    fn clock(&self) -> Clock {
        Clock::seconds(self.step, 1e-4)
    }
    fn set(&mut self, _: &Change) -> Result<Effect, SimError> {
        Ok(Effect::Applied)
    }
    fn act(&mut self, _: &Action) -> Result<(), SimError> {
        Ok(())
    }
    fn tap(&mut self, taps: &[Tap]) -> Result<(), SimError> {
        self.taps = taps.to_vec();
        Ok(())
    }
    fn advance(&mut self, steps: u32, _: &mut Pass) -> Result<(), SimError> {
        let is_tapped = self.taps.iter().any(|tap| tap.probe == SPIKES);
        for step in (self.step..self.step + u64::from(steps)).filter(|_| is_tapped) {
            let at = step as usize * PER_STEP % (self.lanes.len() - PER_STEP);
            let lanes = &self.lanes[at..at + PER_STEP];
            self.spikes.extend(lanes.iter().map(|lane| Spike { step: step as u32, lane: *lane }));
        }
        self.step += u64::from(steps);
        let (begin, from) = *self.begin.get_or_insert_with(|| (Instant::now(), self.step));
        let due = Duration::from_secs_f64((self.step - from) as f64 / self.steps_per_s);
        std::thread::sleep(due.saturating_sub(begin.elapsed()));
        Ok(())
    }
    fn sample(&mut self, frame: &mut Frame) -> Result<(), SimError> {
        for tap in &self.taps {
            let reading = match tap.probe {
                SPIKES => {
                    let spare = std::mem::take(&mut frame.spare);
                    Reading::Spikes(std::mem::replace(&mut self.spikes, spare))
                }
                _ => Reading::Series(Series { lanes: 1, steps: vec![self.step], values: vec![1.0], elements: vec![] }),
            };
            frame.push(tap.key(), reading);
        }
        Ok(())
    }
    fn save(&mut self) -> Result<Snapshot, SimError> {
        Ok(Snapshot::default())
    }
    fn load(&mut self, _: &Snapshot) -> Result<(), SimError> {
        Ok(())
    }
    fn rewind(&mut self) -> Result<(), SimError> {
        (self.step, self.begin) = (0, None);
        Ok(())
    }
    fn digest(&self) -> Digest {
        Digest::default()
    }
    fn memory(&self) -> MemoryReport {
        MemoryReport::default()
    }
}
