//! A simulation that costs nothing: plausible spikes, rates and potentials, for tests of the window.

use neuropil::{
    params::{Change, Value},
    sim::{
        Column, Connection, ConnectionSource, Connectivity, Digest, Effect, ElementSet, Frame, Meaning, MemoryReport,
        ProbeId, ProbeSpec, Reading, Series, Shape, SimError, Spike, Tap, TimeBase,
        scripted::{Script, Scripted},
    },
};
use std::sync::Arc;

const N: u32 = 4000;

const PROBES: &[ProbeSpec] = &[
    ProbeSpec {
        name: "spikes",
        title: "",
        docs: "Spikes of all neurons.",
        unit: "",
        shape: Shape::Spikes { over: "neurons" },
        args: &[],
    },
    ProbeSpec {
        name: "rate",
        title: "",
        docs: "Running rate of every neuron.",
        unit: "Hz",
        shape: Shape::Field { over: "neurons", range: (0.0, 80.0), meaning: Meaning::Number },
        args: &[],
    },
    ProbeSpec {
        name: "v",
        title: "",
        docs: "Membrane potential of chosen neurons.",
        unit: "mV",
        shape: Shape::Series { of: "neurons" },
        args: &[],
    },
    ProbeSpec {
        name: "class_rates",
        title: "",
        docs: "Mean rate of every class.",
        unit: "Hz",
        shape: Shape::Series { of: "" },
        args: &[],
    },
];

const CLASSES: [&str; 6] = ["optic", "central", "sensory", "ascending", "descending", "motor"];

/// What it makes up.
pub struct Brain {
    seed: u64,
    sets: Vec<Arc<ElementSet>>,
    spikes: Vec<Spike>,
    rows: Vec<u64>,
    total: u64,
    /// The changes taken up.
    pub heard: Arc<std::sync::Mutex<Vec<Change>>>,
    /// Whether its neurons are connected.
    pub is_wired: bool,
}

/// Twelve connections of every neuron, most of them within its class.
struct Synapses;

impl ConnectionSource for Synapses {
    fn n(&self) -> u32 {
        N
    }
    fn n_connections(&self) -> u64 {
        u64::from(N) * u64::from(self.degree(0))
    }
    fn degree(&self, _: u32) -> u32 {
        12
    }
    fn read(&self, from: u32, out: &mut Vec<Connection>) {
        out.clear();
        out.extend((0..self.degree(from)).map(|k| {
            let chance = hash(u64::from(from * 16 + k) + 3_000_000);
            let to = if k < 8 { (from + (chance % 300) as u32) % N } else { (chance % u64::from(N)) as u32 };
            let size = (1 + chance / 512 % 6 * (chance / 4096 % 6)) as f32;
            Connection::new(to, if hash(from.into()).is_multiple_of(5) { -size } else { size })
        }));
        out.sort_by_key(|link| link.to);
    }
}

fn hash(x: u64) -> u64 {
    let x = (x ^ (x >> 31)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (x ^ (x >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 11
}

fn unit(x: u64) -> f32 {
    (hash(x) % 1_000_000) as f32 * 1e-6
}

fn class_of(i: u32) -> usize {
    match i * 100 / N {
        0..55 => 0,
        55..78 => 1,
        78..90 => 2,
        90..94 => 3,
        94..97 => 4,
        _ => 5,
    }
}

/// Two lobes and a stalk.
fn position(i: u32) -> [f32; 3] {
    let (a, b, c) = (unit(i.into()), unit(u64::from(i) + 70_000), unit(u64::from(i) + 140_000));
    let (phi, z, r) = (a * std::f32::consts::TAU, b * 2.0 - 1.0, c.cbrt());
    let flat = (1.0 - z * z).sqrt();
    let side = if i.is_multiple_of(2) { 1.0 } else { -1.0 };
    let (cx, size) = match class_of(i) {
        0 => (side * 260.0, 120.0),
        5 => (0.0, 40.0),
        _ => (side * 60.0, 110.0),
    };
    [cx + r * size * flat * phi.cos(), r * size * z * 0.8, r * size * flat * phi.sin() * 0.6]
}

/// The simulation of this seed.
pub fn new(seed: u64) -> Scripted<Brain> {
    let classes: Vec<&str> = (0..N).map(|i| CLASSES[class_of(i)]).collect();
    let sides: Vec<&str> = (0..N).map(|i| if i.is_multiple_of(2) { "left" } else { "right" }).collect();
    let transmitters: Vec<&str> =
        (0..N).map(|i| if hash(i.into()).is_multiple_of(5) { "GABA" } else { "ACH" }).collect();
    let neurons = ElementSet {
        name: "neurons",
        len: N,
        ids: (0..N).map(|i| 720_575_940_600_000_000 + hash(i.into()) % 99_999_999).collect(),
        positions: (0..N).map(position).collect(),
        columns: vec![
            Column::from_texts("super_class", &classes),
            Column::from_texts("side", &sides),
            Column::from_texts("nt", &transmitters),
        ],
        ..ElementSet::default()
    };
    Scripted::new(Brain {
        seed,
        sets: vec![Arc::new(neurons)],
        spikes: vec![],
        rows: vec![],
        total: 0,
        heard: Arc::default(),
        is_wired: false,
    })
}

impl Brain {
    fn rate(&self, i: u32, step: u64) -> f32 {
        let base = [3.0, 6.0, 22.0, 9.0, 12.0, 18.0][class_of(i)] * (0.3 + 1.4 * unit(u64::from(i) + 9_000_000));
        let wave = (step as f32 * 1e-4 * std::f32::consts::TAU * 6.0 + class_of(i) as f32).sin();
        (base * (1.0 + 0.8 * wave)).max(0.1)
    }
}

impl Script for Brain {
    fn probes(&self) -> &'static [ProbeSpec] {
        PROBES
    }
    fn lanes(&self, probe: ProbeId) -> Vec<String> {
        if probe == 3 { CLASSES.iter().map(|c| (*c).to_owned()).collect() } else { vec![] }
    }
    fn sets(&self) -> &[Arc<ElementSet>] {
        &self.sets
    }
    fn base(&self) -> TimeBase {
        TimeBase::Seconds { per_step: 1e-4 }
    }
    fn set(&mut self, change: &Change) -> Result<Effect, SimError> {
        if change.value == Value::Text("refused".into()) {
            return Err(SimError::Input("there is no column `refused`".into()));
        }
        self.heard.lock().expect("no panic while it is held").push(change.clone());
        Ok(Effect::Applied)
    }
    fn step(&mut self, step: u64, _: &[Tap]) {
        for k in 0..4 {
            let i = (hash(self.seed ^ (step * 4 + k)) % u64::from(N)) as u32;
            if unit(step * 7 + k + 5_000_000) < self.rate(i, step) / 40.0 {
                self.spikes.push(Spike { step: step as u32, lane: i });
                self.total += 1;
            }
        }
        if step.is_multiple_of(10) {
            self.rows.push(step);
        }
    }
    fn end_batch(&mut self, _: u64) {
        std::thread::sleep(std::time::Duration::from_micros(200));
    }
    fn sample(&mut self, step: u64, taps: &[Tap], frame: &mut Frame) {
        let (spikes, rows) = (std::mem::take(&mut self.spikes), std::mem::take(&mut self.rows));
        for tap in taps {
            let reading = match tap.probe {
                0 => Reading::Spikes(spikes.clone()),
                1 => Reading::field((0..N).map(|i| self.rate(i, step)).collect()),
                2 => {
                    let v = |i: u32, s: u64| -52.0 + 7.0 * ((s as f32 * 0.002 * (1.0 + unit(i.into()))).fract());
                    let values = rows.iter().flat_map(|s| tap.elements.iter().map(move |i| v(*i, *s))).collect();
                    let lanes = tap.elements.len().max(1) as u32;
                    Reading::Series(Series { elements: tap.elements.clone(), lanes, steps: rows.clone(), values })
                }
                _ => {
                    let slow: Vec<u64> = rows.iter().copied().filter(|s| s % 50 == 0).collect();
                    let first = [0, 2300, 3200, 3650, 3800, 3950];
                    let values = slow.iter().flat_map(|s| first.map(|i| self.rate(i, *s))).collect();
                    Reading::Series(Series { elements: vec![], lanes: 6, steps: slow, values })
                }
            };
            if !matches!(&reading, Reading::Series(s) if s.values.len() != s.steps.len() * s.lanes as usize) {
                frame.push(tap.key(), reading);
            }
        }
    }
    fn rewind(&mut self) {
        self.total = 0;
    }
    fn digest(&self, _: u64) -> Digest {
        Digest::new(format!("{:016x}", hash(self.total)), vec![("spikes".into(), self.total)])
    }
    fn connectivity(&self) -> Option<Connectivity> {
        let links = Arc::new(Synapses);
        self.is_wired.then_some(Connectivity {
            over: "neurons",
            unit: "synapses",
            delay_secs: Some(0.0018),
            connections: links,
        })
    }
    fn memory(&self) -> MemoryReport {
        [("weights", 15_091_983), ("state", 2_218_224), ("delay ring", 2_500_000)].into()
    }
}
