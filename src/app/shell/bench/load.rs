//! Simulation with the number of neurons of the fly brain, which only sends spikes at a fixed rate.

use crate::sim::{
    Column, ElementSet, Frame, ProbeId, ProbeSpec, Reading, Series, Shape, Spike, Tap, TimeBase,
    scripted::{Script, Scripted},
};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

const LEN: u32 = 138_639;
/// Number of spikes per step of 0.1 ms. Every element fires at about 1 Hz.
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

/// Script that sends frames with spikes.
pub struct Load {
    sets: Vec<Arc<ElementSet>>,
    spikes: Vec<Spike>,
    /// Random elements, which spike in turn.
    lanes: Vec<u32>,
    /// Steps per second of wall time.
    steps_per_s: f64,
    begin: Option<(Instant, u64)>,
}

impl Load {
    /// Creates a simulation that sends `spikes_per_s` spikes per second of wall time.
    pub fn simulation(spikes_per_s: f64) -> Scripted<Self> {
        let classes: Vec<&str> = (0..LEN).map(|i| ["optic", "central", "sensory", "motor"][(i % 4) as usize]).collect();
        let set = ElementSet {
            name: "neurons",
            len: LEN,
            columns: vec![Column::from_texts("super_class", &classes)],
            ..ElementSet::default()
        };
        let lane = |i: u32| crate::num::rng::philox4x32([i, 0, 0, 0], [7, 0])[0] % LEN;
        Scripted::new(Self {
            sets: vec![Arc::new(set)],
            spikes: vec![],
            lanes: (0..1 << 20).map(lane).collect(),
            steps_per_s: spikes_per_s / PER_STEP as f64,
            begin: None,
        })
    }
}

impl Script for Load {
    fn probes(&self) -> &'static [ProbeSpec] {
        PROBES
    }
    fn sets(&self) -> &[Arc<ElementSet>] {
        &self.sets
    }
    fn base(&self) -> TimeBase {
        TimeBase::Seconds { per_step: 1e-4 }
    }
    fn step(&mut self, step: u64, taps: &[Tap]) {
        if taps.iter().any(|tap| tap.probe == SPIKES) {
            let at = step as usize * PER_STEP % (self.lanes.len() - PER_STEP);
            let lanes = &self.lanes[at..at + PER_STEP];
            self.spikes.extend(lanes.iter().map(|lane| Spike { step: step as u32, lane: *lane }));
        }
    }
    fn end_batch(&mut self, step: u64) {
        let (begin, from) = *self.begin.get_or_insert_with(|| (Instant::now(), step));
        let due = Duration::from_secs_f64((step - from) as f64 / self.steps_per_s);
        std::thread::sleep(due.saturating_sub(begin.elapsed()));
    }
    fn sample(&mut self, step: u64, taps: &[Tap], frame: &mut Frame) {
        for tap in taps {
            let reading = match tap.probe {
                SPIKES => {
                    let spare = std::mem::take(&mut frame.spare);
                    Reading::Spikes(std::mem::replace(&mut self.spikes, spare))
                }
                _ => Reading::Series(Series { lanes: 1, steps: vec![step], values: vec![1.0], elements: vec![] }),
            };
            frame.push(tap.key(), reading);
        }
    }
    fn rewind(&mut self) {
        self.begin = None;
    }
}
