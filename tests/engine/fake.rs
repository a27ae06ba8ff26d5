//! A simulation small enough to know by heart: what the engine and the run folder are tested with.

use neuropil::{
    num::hash::StreamHash,
    params::{Change, Value},
    sim::{
        Digest, Effect, ElementSet, Frame, Meaning, MemoryReport, ProbeSpec, Reading, Series, Shape, SimError,
        Simulation, Snapshot, Spike, Tap, TimeBase,
        scripted::{Script, Scripted},
    },
};
use std::sync::Arc;

/// Spikes, a series over elements, a field, and a log of what may be read of a log.
pub const PROBES: &[ProbeSpec] = &[
    ProbeSpec { name: "spikes", title: "", docs: "", unit: "", shape: Shape::Spikes { over: "cells" }, args: &[] },
    ProbeSpec { name: "v", title: "", docs: "", unit: "mV", shape: Shape::Series { of: "cells" }, args: &[] },
    ProbeSpec {
        name: "field",
        title: "",
        docs: "",
        unit: "",
        shape: Shape::Field { over: "cells", range: (0.0, 1.0), meaning: Meaning::Number },
        args: &[],
    },
    ProbeSpec { name: "log", title: "", docs: "", unit: "", shape: Shape::Text, args: &[] },
];
/// Lanes.
pub const LEN: u32 = 50;

/// Every lane `l` spikes when `(step + l * stride) % 10 == 0`; `v` of element `e` is `step + 1000 e`.
pub struct Cells {
    stride: u64,
    spikes: Vec<Spike>,
    steps: Vec<u64>,
    hash: StreamHash,
    n_spikes: u64,
    sets: Vec<Arc<ElementSet>>,
}

/// The simulation.
pub type Fake = Scripted<Cells>;

/// At step 0.
pub fn new() -> Fake {
    let ids = (0..u64::from(LEN)).map(|i| i << 40).collect();
    let sets = vec![Arc::new(ElementSet { name: "cells", len: LEN, ids, ..Default::default() })];
    Scripted::new(Cells { stride: 3, spikes: vec![], steps: vec![], hash: StreamHash::default(), n_spikes: 0, sets })
}

pub fn boxed() -> Box<dyn Simulation> {
    Box::new(new())
}

/// A change of the stride.
pub fn change(stride: i64) -> Change {
    Change { id: neuropil::params::ParamId::of(0, 0), value: Value::Int(stride) }
}

/// The spikes of steps `from..to` at a stride.
pub fn expected(from: u64, to: u64, stride: u64) -> Vec<Spike> {
    let at = |step: u64| {
        (0..LEN)
            .filter(move |l| (step + u64::from(*l) * stride).is_multiple_of(10))
            .map(move |lane| Spike { step: step as u32, lane })
    };
    (from..to).flat_map(at).collect()
}

impl Cells {
    fn forget(&mut self) {
        self.spikes.clear();
        self.steps.clear();
    }
}

impl Script for Cells {
    fn probes(&self) -> &'static [ProbeSpec] {
        PROBES
    }
    fn sets(&self) -> &[Arc<ElementSet>] {
        &self.sets
    }
    fn base(&self) -> TimeBase {
        TimeBase::Seconds { per_step: 1e-3 }
    }
    fn set(&mut self, change: &Change) -> Result<Effect, SimError> {
        match change.value {
            Value::Int(0) => Ok(Effect::NeedsRebuild),
            Value::Int(stride) if stride > 0 => {
                self.stride = stride as u64;
                Ok(Effect::Applied)
            }
            _ => Err(SimError::Input("the stride is a positive number".into())),
        }
    }
    fn act(&mut self) {
        self.stride += 1;
    }
    fn step(&mut self, step: u64, taps: &[Tap]) {
        for spike in expected(step, step + 1, self.stride) {
            self.hash.push(spike.step);
            self.hash.push(spike.lane);
            self.n_spikes += 1;
            if taps.iter().any(|tap| tap.probe == 0) {
                self.spikes.push(spike);
            }
        }
        self.steps.push(step);
    }
    fn span(&self) -> Option<&'static str> {
        Some("fake")
    }
    fn sample(&mut self, step: u64, taps: &[Tap], frame: &mut Frame) {
        let steps = std::mem::take(&mut self.steps);
        for tap in taps {
            let reading = match tap.probe {
                0 => Reading::Spikes(std::mem::take(&mut self.spikes)),
                1 => {
                    let value = |s: &u64, e: &u32| (*s + 1000 * u64::from(*e)) as f32;
                    let values = steps.iter().flat_map(|s| tap.elements.iter().map(move |e| value(s, e))).collect();
                    let lanes = tap.elements.len() as u32;
                    Reading::Series(Series { elements: tap.elements.clone(), lanes, steps: steps.clone(), values })
                }
                2 => Reading::field(vec![step as f32; LEN as usize]),
                _ => Reading::Text(if frame.text_limit.is_some() { "newest lines;" } else { "all;" }.into()),
            };
            frame.push(tap.key(), reading);
        }
    }
    fn save(&self, state: &mut Snapshot) {
        state.list("counts", vec![self.hash.0, self.n_spikes]);
    }
    fn load(&mut self, _: u64, state: &Snapshot) -> Result<(), SimError> {
        let counts = state.read_list::<u64>("counts")?;
        (self.hash, self.n_spikes) = (StreamHash(counts[0]), counts[1]);
        self.forget();
        Ok(())
    }
    fn rewind(&mut self) {
        (self.n_spikes, self.hash) = (0, StreamHash::default());
        self.forget();
    }
    fn digest(&self, _: u64) -> Digest {
        Digest::new(self.hash.hex(), vec![("spikes".into(), self.n_spikes)])
    }
    fn memory(&self) -> MemoryReport {
        [("everything", 1)].into()
    }
}
