//! A fly-like network for tests: positions and classes of the synthetic fly network, and artificial activity.

use neuropil::{
    data::generate::fly_stand_in,
    engine::SimSchema,
    gpu::{KernelFacts, Timing},
    kinds::spiking::setup::Setup,
    sim::{Clock, Frame, Meaning, ProbeSpec, Reading, Series, Shape, Spike},
};
use std::sync::{Arc, OnceLock};

const N: &str = "neurons";

const fn probe(name: &'static str, unit: &'static str, shape: Shape) -> ProbeSpec {
    ProbeSpec { name, title: "", docs: "Made up for this test.", unit, shape, args: &[] }
}

const PROBES: &[ProbeSpec] = &[
    probe("spikes", "", Shape::Spikes { over: N }),
    probe("rate", "Hz", Shape::Series { of: "" }),
    probe("class_rates", "Hz", Shape::Series { of: "" }),
    probe("v", "mV", Shape::Series { of: N }),
    probe("g", "mV", Shape::Series { of: N }),
    probe("last_spike", "ms", Shape::Field { over: N, range: (0.0, 100.0), meaning: Meaning::TimeSince }),
    probe("rate_field", "Hz", Shape::Field { over: N, range: (0.0, 100.0), meaning: Meaning::Number }),
    probe("synaptic_events", "1/s", Shape::Series { of: "" }),
    probe("active", "", Shape::Series { of: "" }),
];

/// The schema of a fly-like network; built once per process.
pub fn schema() -> SimSchema {
    static SETUP: OnceLock<Arc<Setup>> = OnceLock::new();
    let make = || Arc::new(Setup::new(fly_stand_in(7, &|_, _| true).expect("the stand-in")).expect("a network"));
    let setup = SETUP.get_or_init(make);
    let (set, wiring) = (&setup.neurons, Some(setup.connectivity(1.8e-3)));
    let classes = set.column("super_class").map(|c| c.labels.clone()).unwrap_or_default();
    let classes: Vec<String> = classes.into_iter().filter(|l| !l.is_empty()).collect();
    let one = |name: &str| vec![name.to_owned()];
    let lanes = vec![vec![], one("rate"), classes, vec![], vec![], vec![], vec![], one("events"), one("active")];
    SimSchema {
        probes: PROBES,
        lanes,
        sets: vec![set.clone()],
        connectivity: wiring,
        kernels: facts(),
        ..SimSchema::default()
    }
}

/// Kernels of a GPU, as in `Activity`.
fn facts() -> Vec<KernelFacts> {
    let fact = |name, registers, local_bytes, occupancy| KernelFacts {
        file: "spiking/step.cu",
        variant: "f64",
        name,
        block: 256,
        registers,
        shared_bytes: 4096,
        local_bytes,
        blocks_per_multiprocessor: (8.0 * occupancy) as u32,
        occupancy,
    };
    vec![fact("integrate", 32, 0, 1.0), fact("propagate", 54, 16, 0.5)]
}

/// Activity in waves, different for each class.
pub struct Activity {
    schema: SimSchema,
    step: u64,
    last: Vec<i64>,
    rate: Vec<f32>,
    seed: u64,
}

impl Activity {
    pub fn new(schema: SimSchema) -> Self {
        let n = schema.sets.first().map_or(0, |s| s.len as usize);
        Self { schema, step: 0, last: vec![-1; n], rate: vec![0.0; n], seed: 1 }
    }

    /// Continues from this step.
    #[allow(dead_code)]
    pub fn skip_to(&mut self, step: u64) {
        self.step = step;
    }

    fn random(&mut self) -> u64 {
        self.seed = self.seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.seed >> 33
    }

    /// A frame that many steps of 0.1 ms later, with about that many spikes per ms.
    pub fn frame(&mut self, steps: u64, per_ms: u64) -> Frame {
        let n = self.last.len() as u64;
        let mut spikes = vec![];
        for step in self.step..self.step + steps {
            let t = step as f64 * 1e-4;
            let drive = (1.0 + (t * 40.0).sin()) * 0.3 + if (t % 0.5) > 0.15 && (t % 0.5) < 0.3 { 1.6 } else { 0.15 };
            let count = (per_ms as f64 * 0.1 * drive * 2.0 + self.random() as f64 / (1u64 << 31) as f64) as u64;
            for _ in 0..count.min(n) {
                let r = self.random();
                let lane = if r % 5 < 2 { r % (n / 8).max(1) } else { (r * 7) % n.max(1) };
                spikes.push(Spike { step: step as u32, lane: lane as u32 });
            }
        }
        spikes.sort_unstable();
        spikes.dedup();
        self.rate.iter_mut().for_each(|r| *r *= (-(steps as f32) * 1e-4 / 0.2).exp());
        for spike in &spikes {
            self.last[spike.lane as usize] = i64::from(spike.step);
            self.rate[spike.lane as usize] += 5.0;
        }
        self.step += steps;
        self.readings(spikes, steps, per_ms)
    }

    fn readings(&mut self, spikes: Vec<Spike>, steps: u64, per_ms: u64) -> Frame {
        let now = self.step;
        let at: Vec<u64> = (now - steps..now).step_by(10).collect();
        let wave = |s: u64, k: usize| {
            let t = s as f64 * 1e-4;
            let base = 2.0
                + k as f64 * 1.4
                + (t * 40.0 + k as f64).sin() * 1.2
                + (s.wrapping_mul(2_654_435_761) % 97) as f64 * 0.01;
            (base * if (t % 0.5) > 0.15 && (t % 0.5) < 0.3 { 2.2 } else { 1.0 } * per_ms as f64 / 500.0) as f32
        };
        let series = |lanes: usize, scale: f32| Series {
            elements: vec![],
            lanes: lanes as u32,
            steps: at.clone(),
            values: at.iter().flat_map(|s| (0..lanes).map(move |k| wave(*s, k) * scale)).collect(),
        };
        let elements = [17u32, 20_500, 61_000, 90_123, 120_007];
        let fine: Vec<u64> = (now - steps..now).step_by(2).collect();
        let potential = |s: u64, k: usize| {
            let phase = (s as f64 * 1e-4 * (18.0 + 7.0 * k as f64)).fract();
            (-52.0 + 7.0 * (1.0 - (-phase * 3.0).exp()) + (s % 13) as f64 * 0.04) as f32
        };
        let v = Series {
            elements: elements.to_vec(),
            lanes: 5,
            steps: fine.clone(),
            values: fine.iter().flat_map(|s| (0..5).map(move |k| potential(*s, k))).collect(),
        };
        let ago = |l: &i64| if *l < 0 { -1.0 } else { (now as i64 - l) as f32 * 0.1 };
        let last = self.last.iter().map(ago).collect();
        let n_classes = self.schema.lanes.get(2).map_or(1, Vec::len);
        let readings = vec![
            (0.into(), Reading::Spikes(spikes)),
            (1.into(), Reading::Series(series(1, 1.0))),
            (2.into(), Reading::Series(series(n_classes, 1.0))),
            (3.into(), Reading::Series(v)),
            (5.into(), Reading::field(last)),
            (6.into(), Reading::field(self.rate.clone())),
            (7.into(), Reading::Series(series(1, 1e5))),
            (8.into(), Reading::Series(series(1, 300.0))),
        ];
        let timing = |name, launches, nanos: u64, items| {
            let nanos = nanos + hash_of(now, name) % (nanos / 10);
            let mut timing = Timing { items, bytes: 4 * items, ..Timing::of(name) };
            (0..launches).for_each(|i| timing.launch(nanos / launches * (90 + i % 20) / 100));
            timing
        };
        let timings = vec![
            timing("integrate", 78, 2_800_000, 138_639 * 78),
            timing("propagate", 78, 7_400_000, 5_400_000),
            timing("stimulate", 78, 310_000, 21 * 78),
            timing("copy_spikes", 1, 42_000, 0),
        ];
        Frame { clock: Clock::seconds(now, 1e-4), readings, timings, epoch: 1, ..Frame::default() }
    }
}

fn hash_of(step: u64, name: &str) -> u64 {
    name.bytes().fold(step, |h, b| h.wrapping_mul(31).wrapping_add(u64::from(b))) % 1_000_003
}
