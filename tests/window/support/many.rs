//! A cheap simulation with as many elements as the fly network, which counts the readings of its probes.

use neuropil::{
    gpu::Pass,
    params::Change,
    sim::{
        Action, Clock, Column, Digest, Effect, ElementSet, Frame, Meaning, MemoryReport, ProbeId, ProbeSpec, Reading,
        Series, Shape, SimError, Simulation, Snapshot, Spike, Tap,
    },
};
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

pub const LEN: u32 = 138_639;
/// Indices into [`Copies`], and ids of the probes.
pub const SPIKES: usize = 0;
pub const SINCE: usize = 2;

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
    ProbeSpec {
        name: "last_spike",
        title: "",
        docs: "Time since the last spike.",
        unit: "ms",
        shape: Shape::Field { over: "neurons", range: (0.0, 100.0), meaning: Meaning::TimeSince },
        args: &[],
    },
];

/// How often each probe was read.
#[derive(Default)]
pub struct Copies([AtomicU64; 3]);

impl Copies {
    pub fn all(&self) -> [u64; 3] {
        std::array::from_fn(|i| self.0[i].load(Ordering::Relaxed))
    }
}

pub struct Many {
    step: u64,
    taps: Vec<Tap>,
    sets: Vec<Arc<ElementSet>>,
    spikes: Vec<Spike>,
    last: Vec<f32>,
    copies: Arc<Copies>,
}

impl Many {
    pub fn new(copies: Arc<Copies>) -> Self {
        let classes: Vec<&str> = (0..LEN).map(|i| ["optic", "central", "sensory", "motor"][(i % 4) as usize]).collect();
        let place = |i: u32| [(i % 500) as f32, (i / 500 % 300) as f32, (i % 97) as f32];
        let set = ElementSet {
            name: "neurons",
            len: LEN,
            positions: (0..LEN).map(place).collect(),
            columns: vec![Column::from_texts("super_class", &classes)],
            ..ElementSet::default()
        };
        Self {
            step: 0,
            taps: vec![],
            sets: vec![Arc::new(set)],
            spikes: vec![],
            last: vec![-1.0; LEN as usize],
            copies,
        }
    }
}

impl Simulation for Many {
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
        let is_wanted = self.taps.iter().any(|t| usize::from(t.probe) == SPIKES);
        for _ in 0..steps.min(100) {
            for k in 0..40 {
                let lane = ((self.step * 40 + k).wrapping_mul(2_654_435_761) % u64::from(LEN)) as u32;
                self.last[lane as usize] = self.step as f32;
                if is_wanted {
                    self.spikes.push(Spike { step: self.step as u32, lane });
                }
            }
            self.step += 1;
        }
        std::thread::sleep(std::time::Duration::from_millis(4));
        Ok(())
    }
    fn sample(&mut self, frame: &mut Frame) -> Result<(), SimError> {
        for tap in self.taps.clone() {
            if !frame.wants(PROBES[usize::from(tap.probe)].shape) {
                continue;
            }
            self.copies.0[usize::from(tap.probe)].fetch_add(1, Ordering::Relaxed);
            let reading = match usize::from(tap.probe) {
                SPIKES => Reading::Spikes(std::mem::take(&mut self.spikes)),
                SINCE => {
                    let since = |last: &f32| if *last < 0.0 { -1.0 } else { (self.step as f32 - last) * 0.1 };
                    Reading::field(self.last.iter().map(since).collect())
                }
                _ => Reading::Series(Series { lanes: 1, steps: vec![self.step], values: vec![2.9], elements: vec![] }),
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
        self.step = 0;
        Ok(())
    }
    fn digest(&self, _: u32) -> Digest {
        Digest::default()
    }
    fn memory(&self) -> MemoryReport {
        MemoryReport::default()
    }
}
