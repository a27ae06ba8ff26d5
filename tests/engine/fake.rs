//! A simulation small enough to know by heart: what the engine and the run folder are tested with.

use neuropil::{
    gpu::Pass,
    num::hash::StreamHash,
    params::{Change, Value},
    sim::{
        Action, Clock, Digest, Effect, ElementSet, Frame, Meaning, MemoryReport, ProbeId, ProbeSpec, Reading, Series,
        Shape, SimError, Simulation, Snapshot, Spike, Tap,
    },
};
use std::{sync::Arc, time::Duration};

/// Spikes, a series over elements, a field.
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
];
/// Lanes.
pub const LEN: u32 = 50;

/// Every lane `l` spikes when `(step + l * stride) % 10 == 0`; `v` of element `e` is `step + 1000 e`.
pub struct Fake {
    step: u64,
    stride: u64,
    taps: Vec<Tap>,
    spikes: Vec<Spike>,
    steps: Vec<u64>,
    hash: StreamHash,
    n_spikes: u64,
    sets: Vec<Arc<ElementSet>>,
    is_lost: bool,
    /// Time a step takes.
    pub slow: Duration,
    /// Step at which it fails.
    pub fails_at: u64,
    /// Whether it is then its device that has failed, for good.
    pub loses_device: bool,
    /// Predicted size of a snapshot.
    pub snapshot_bytes: u64,
}

impl Fake {
    pub fn new() -> Self {
        let set = ElementSet {
            name: "cells",
            len: LEN,
            ids: (0..u64::from(LEN)).map(|i| i << 40).collect(),
            ..Default::default()
        };
        Self {
            step: 0,
            stride: 3,
            taps: vec![],
            spikes: vec![],
            steps: vec![],
            hash: StreamHash::default(),
            n_spikes: 0,
            sets: vec![Arc::new(set)],
            is_lost: false,
            slow: Duration::ZERO,
            fails_at: u64::MAX,
            loses_device: false,
            snapshot_bytes: 0,
        }
    }

    pub fn boxed() -> Box<dyn Simulation> {
        Box::new(Self::new())
    }

    /// A change of the stride.
    pub fn change(stride: i64) -> Change {
        Change { id: neuropil::params::ParamId::of(0, 0), value: Value::Int(stride) }
    }

    fn wants(&self, probe: ProbeId) -> Option<&Tap> {
        self.taps.iter().find(|t| t.probe == probe)
    }
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

impl Simulation for Fake {
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
        Clock::seconds(self.step, 1e-3)
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
    fn act(&mut self, _: &Action) -> Result<(), SimError> {
        self.stride += 1;
        Ok(())
    }
    fn tap(&mut self, taps: &[Tap]) -> Result<(), SimError> {
        if self.is_lost {
            return Err(SimError::Device("the device is lost".into()));
        }
        self.taps = taps.to_vec();
        Ok(())
    }
    fn advance(&mut self, steps: u32, pass: &mut Pass) -> Result<(), SimError> {
        assert!(steps > 0, "no batch is empty");
        for _ in 0..steps {
            if self.step >= self.fails_at {
                self.is_lost = self.loses_device;
                return Err(match self.loses_device {
                    true => SimError::Device("the device is lost".into()),
                    false => SimError::Diverged("it was told to fail".into()),
                });
            }
            for spike in expected(self.step, self.step + 1, self.stride) {
                self.hash.push(spike.step);
                self.hash.push(spike.lane);
                self.n_spikes += 1;
                if self.wants(0).is_some() {
                    self.spikes.push(spike);
                }
            }
            self.steps.push(self.step);
            self.step += 1;
            std::thread::sleep(self.slow);
        }
        pass.span("fake", u64::from(steps), || ());
        Ok(())
    }
    fn sample(&mut self, frame: &mut Frame) -> Result<(), SimError> {
        let steps = std::mem::take(&mut self.steps);
        for tap in self.taps.clone() {
            let reading = match tap.probe {
                0 => Reading::Spikes(std::mem::take(&mut self.spikes)),
                1 => {
                    let value = |s: &u64, e: &u32| (*s + 1000 * u64::from(*e)) as f32;
                    let values = steps.iter().flat_map(|s| tap.elements.iter().map(move |e| value(s, e))).collect();
                    let lanes = tap.elements.len() as u32;
                    Reading::Series(Series { elements: tap.elements.clone(), lanes, steps: steps.clone(), values })
                }
                _ => Reading::field(vec![self.step as f32; LEN as usize]),
            };
            frame.push(tap.key(), reading);
        }
        Ok(())
    }
    fn save(&mut self) -> Result<Snapshot, SimError> {
        let mut state = Snapshot::new("fake");
        state.number("step", self.step);
        state.list("counts", vec![self.hash.0, self.n_spikes]);
        Ok(state)
    }
    fn load(&mut self, state: &Snapshot) -> Result<(), SimError> {
        let (step, counts) = (state.read_number("step")?, state.read_list::<u64>("counts")?);
        (self.step, self.hash, self.n_spikes) = (step, StreamHash(counts[0]), counts[1]);
        self.spikes.clear();
        self.steps.clear();
        Ok(())
    }
    fn snapshot_bytes(&self) -> u64 {
        self.snapshot_bytes
    }
    fn rewind(&mut self) -> Result<(), SimError> {
        (self.step, self.n_spikes, self.hash) = (0, 0, StreamHash::default());
        self.spikes.clear();
        self.steps.clear();
        Ok(())
    }
    fn digest(&self) -> Digest {
        Digest { hash: self.hash.hex(), totals: vec![("spikes".into(), self.n_spikes)] }
    }
    fn memory(&self) -> MemoryReport {
        [("everything", 1)].into()
    }
}
