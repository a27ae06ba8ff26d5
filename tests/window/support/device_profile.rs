//! A profile as a GPU would leave it: streams, captured steps, waits, copies.

use neuropil::{
    engine::SimSchema,
    gpu::{
        Batch, KernelFacts, Lane, Measured, Span, Timing,
        ceilings::{Ceiling, Ceilings, Limit},
    },
    sim::RooflineWork,
};

/// What the kernels of the fixture do per item.
pub const WORK: &[RooflineWork] = &[
    RooflineWork { row: "deliver", bytes: 12.0, ops: 1.0, when: "" },
    RooflineWork { row: "advance", bytes: 64.0, ops: 18.0, when: "" },
];

/// Kernel, its mean in ns, items.
const STEP: [(&str, u64, u64); 3] = [("deliver", 7_400, 152_000), ("advance", 3_100, 138_639), ("order", 1_050, 0)];

fn facts(name: &'static str, block: u32, registers: u32, occupancy: f32) -> KernelFacts {
    KernelFacts {
        file: "spiking/step.cu",
        variant: "f64",
        name,
        block,
        registers,
        shared_bytes: if name == "order" { 4096 } else { 0 },
        local_bytes: if name == "advance" { 16 } else { 0 },
        blocks_per_multiprocessor: (2048.0 * occupancy) as u32 / block,
        occupancy,
    }
}

/// The schema with a device's kernels and memory.
pub fn on_device(schema: SimSchema) -> SimSchema {
    SimSchema {
        kernels: vec![facts("deliver", 256, 40, 0.75), facts("advance", 256, 64, 0.5), facts("order", 1024, 32, 1.0)],
        memory: [
            ("wiring", 62_400_000),
            ("spike ring", 160_000_000),
            ("neurons", 6_600_000),
            ("chunks", 18_900_000),
            ("arrivals", 12_100_000),
            ("traces", 51_200),
        ]
        .into(),
        ..schema
    }
}

/// Memory as it was predicted.
pub const PREDICTED: [(&str, u64); 4] =
    [("wiring", 62_400_000), ("spike ring", 120_000_000), ("neurons", 6_600_000), ("chunks", 25_000_000)];

pub fn ceilings() -> Ceilings {
    let c = |name: &str, limit, value| Ceiling { name: name.into(), how: "A test".into(), limit, value };
    Ceilings {
        device: "NVIDIA H200".into(),
        measured: "2026-03-01T12:34:56Z".into(),
        debug_build: false,
        list: vec![
            c("read", Limit::Bytes, 4.491e12),
            c("copy", Limit::Bytes, 3.977e12),
            c("scattered s32 atomics", Limit::Updates, 93.9e9),
            c("f32 multiply-add", Limit::Ops, 60e12),
            c("f16 tensor, f32 sums", Limit::Ops, 620e12),
            c("launch in a stream", Limit::Launch, 2.9e-6),
        ],
    }
}

/// So many batches of 20 steps, one in eight of them measured.
pub fn batches(n: u64) -> Vec<Batch> {
    (0..n).map(batch).collect()
}

fn batch(number: u64) -> Batch {
    let wobble = |k: u64| 1.0 + 0.08 * (((number * 31 + k * 17) % 97) as f64 / 97.0);
    let slow = if number == 61 { 2.3 } else { 1.0 };
    let is_measured = number.is_multiple_of(8);
    let steps = 20;
    let nanos = (f64::from(steps) * 11_900.0 * wobble(0) * slow * if is_measured { 1.06 } else { 1.0 }) as u64;
    let measured = is_measured.then(|| Box::new(measured(wobble)));
    Batch { number, step: number * u64::from(steps), steps, nanos, measured }
}

fn measured(wobble: impl Fn(u64) -> f64) -> Measured {
    let mut of = Inside::default();
    // Half of the steps kernel by kernel, the rest as one captured graph.
    for step in 0..10 {
        for (k, (name, mean, items)) in STEP.iter().enumerate() {
            of.launch(name, (*mean as f64 * wobble(step * 3 + k as u64)) as u64, *items);
        }
    }
    of.graph(10 * STEP.len() as u32, (115_000.0 * wobble(99)) as u64);
    of.copy_and_wait();
    of.spans.sort_by_key(|s| (s.lane, s.start));
    Measured { steps: 10, timings: of.timings, spans: of.spans, left_out: 0 }
}

#[derive(Default)]
struct Inside {
    timings: Vec<Timing>,
    spans: Vec<Span>,
    host: u64,
    device: u64,
}

impl Inside {
    fn launch(&mut self, name: &'static str, nanos: u64, items: u64) {
        let called = self.host;
        self.host += 3_100;
        self.spans.push(Span { name, lane: Lane::Calls, start: called, nanos: 2_900, ..Span::default() });
        let start = self.device.max(called);
        self.device = start + nanos + 600;
        let queued = start - called;
        self.spans.push(Span { name, lane: Lane::Compute, start, nanos, items, queued, ..Span::default() });
        let at = self.timings.iter().position(|t| t.name == name).unwrap_or_else(|| {
            self.timings.push(Timing::of(name));
            self.timings.len() - 1
        });
        self.timings[at].launch(nanos);
        self.timings[at].items += items;
    }

    fn graph(&mut self, kernels: u32, nanos: u64) {
        let span = Span { name: "graph", kernels, ..Span::default() };
        self.spans.push(Span { lane: Lane::Calls, start: self.host, nanos: 5_200, ..span.clone() });
        let (start, queued) = (self.device, self.device - self.host);
        self.spans.push(Span { lane: Lane::Compute, start, nanos, queued, ..span });
        self.host += 5_600;
        self.device += nanos;
    }

    fn copy_and_wait(&mut self) {
        let copy =
            |name, start, nanos, bytes| Span { name, lane: Lane::Copies, start, nanos, bytes, ..Span::default() };
        self.spans.push(copy("segments", self.device + 1_000, 1_900, 4_096));
        self.spans.push(copy("spikes", self.device + 3_400, 7_800, 181_000));
        let end = self.device + 11_400;
        let wait =
            |name, start: u64, end: u64| Span { name, lane: Lane::Waits, start, nanos: end - start, ..Span::default() };
        self.spans.push(wait("wait for kernels", self.host, self.device + 300));
        self.spans.push(wait("wait for a copy", self.device + 700, end));
        self.spans.push(Span { name: "sample", start: end + 200, nanos: 2_400, ..Span::default() });
    }
}
