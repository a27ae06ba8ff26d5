//! The life cycle on a GPU against the CPU, which is the definition: moves, records of experts, scores, events.

use super::{
    cuda::{NEAR, near, noise},
    cuda_training::{Pair, configs, stats, step_input},
    simulation::{self, advance, frame, state},
};
use crate::device::gpu;
use neuropil::{
    gpu::{Gpu, Pass},
    kinds::{
        language::backend::StateBuffer,
        synaptic::{
            backend::{Backend, Dynamics, SlotAverage, StepInput},
            life::{Edit, ExpertArrays, ExpertRecord, LifeCycle, Move, MoveAddress, Removal, edits},
            model::Config,
            postsynaptic::{FastMemory, Gate},
            presynaptic::{Edges, Presynaptic, Release},
            probes,
        },
    },
    sim::{BuildContext, Device, Progress, Simulation, Snapshot, Tap},
};
use std::sync::Arc;

/// Splits, merges and removals in both layers: the bits of the CPU, but for noise, whose spread is summed in another order.
#[test]
fn cuda_moves_are_those_of_the_cpu() {
    let Some(gpu) = gpu() else { return };
    let moves = [
        Move::Remove { slot: 4, cause: Removal::Weakest },
        Move::Split { parent: 2, child: 4 },
        Move::Merge { winner: 5, loser: 0, alpha: 0.7 },
        Move::Split { parent: 5, child: 0 },
        Move::Merge { winner: 1, loser: 3, alpha: 1.0 },
    ];
    for config in configs() {
        let mut pair = Pair::new(&gpu, &config, &Dynamics::new(&config));
        let n = pair.layout.map.len();
        for backend in [&mut pair.cpu, &mut pair.device] {
            backend.write(StateBuffer::FirstMoment, 0, &noise(n, 71)).expect("it is written");
            let squares: Vec<f32> = noise(n, 72).iter().map(|x| x * x).collect();
            backend.write(StateBuffer::SecondMoment, 0, &squares).expect("it is written");
        }
        for (step, op) in [(7, LifeCycle { noise: 0.0, ..LifeCycle::default() }), (1 << 33, LifeCycle::default())] {
            for (layer, block) in pair.layout.blocks.iter().enumerate() {
                let weights = [block.fc1, block.fc1_bias, block.fc2, block.fc2_bias];
                let arrays = ExpertArrays::new(&pair.layout.map, &weights, block.router, block.genome);
                let at = MoveAddress { seed: 9, step, first_slot: (layer * config.experts) as u32 };
                let all = edits(&op, &moves, &at, &arrays);
                for backend in [&mut pair.cpu, &mut pair.device] {
                    backend.edit(&all).unwrap_or_else(|why| panic!("{why}"));
                }
            }
            for buffer in StateBuffer::ALL {
                let [want, got] = [&pair.cpu, &pair.device].map(|b| Pair::weights(&**b, &pair.layout, buffer));
                let off = got.iter().zip(&want).filter(|(a, b)| a.to_bits() != b.to_bits()).count();
                let is_exact = buffer != StateBuffer::Weights || op.noise == 0.0;
                assert!(off == 0 || !is_exact, "{buffer:?}: {off} elements differ");
                near("weights after moves", &got, &want, 3e-7);
            }
        }
        let end = Edit::Clear(n..n + 1);
        assert!(pair.device.edit(std::slice::from_ref(&end)).is_err() && pair.cpu.edit(&[end]).is_err());
    }
}

/// What the life cycle and the window read of experts, without the rest of a layer: f64 sums in another order, averages as they are.
#[test]
fn cuda_readings_of_slots_are_those_of_the_cpu() {
    let Some(gpu) = gpu() else { return };
    for config in configs() {
        let mut pair = Pair::new(&gpu, &config, &Dynamics::new(&config));
        let n = pair.layout.map.len();
        let squares: Vec<f32> = noise(n, 73).iter().map(|x| x * x).collect();
        for backend in [&mut pair.cpu, &mut pair.device] {
            backend.write(StateBuffer::SecondMoment, 0, &squares).expect("it is written");
        }
        for block in &pair.layout.blocks {
            let weights = [block.fc1, block.fc1_bias, block.fc2, block.fc2_bias];
            let arrays = ExpertArrays::new(&pair.layout.map, &weights, block.router, block.genome);
            let [want, got] = [&pair.cpu, &pair.device].map(|b| b.gradient_utility(&arrays).expect("a utility"));
            assert!(want.len() == config.experts && want.iter().all(|x| *x > 0.0), "{want:?}");
            let off = want.iter().zip(&got).map(|(a, b)| (a - b).abs() / a).fold(0.0, f64::max);
            assert!(off < 1e-12, "{off}: {want:?}, {got:?}");
        }
        let slots = 1..config.layers * config.experts - 1;
        for average in [SlotAverage::Fatigue, SlotAverage::Energy] {
            let [want, got] = [&pair.cpu, &pair.device].map(|b| b.slots(average, slots.clone()).expect("averages"));
            assert_eq!((got.len(), &got), (slots.len(), &want), "{average:?}");
        }
        let behind = slots.end..slots.end + 2;
        assert!(pair.device.slots(SlotAverage::Energy, behind.clone()).is_err());
        assert!(pair.cpu.slots(SlotAverage::Energy, behind).is_err());
    }
}

/// What scores take from steps, read together.
#[test]
fn cuda_records_of_experts_are_those_of_the_cpu() {
    let Some(gpu) = gpu() else { return };
    for config in configs() {
        let mut pair = Pair::new(&gpu, &config, &Dynamics::new(&config));
        for step in 0..3 {
            let (first, second) = (pair.text(2, 40 + step), pair.text(1, 50 + step));
            let batches = [pair.batch(&first), pair.batch(&second)];
            let input = step_input(step, &batches);
            for backend in [&mut pair.cpu, &mut pair.device] {
                backend.step(&input, &mut Pass::default()).unwrap_or_else(|why| panic!("{why}"));
                if step != 1 {
                    backend.measure_specialization(&first.0[..config.context]).unwrap_or_else(|why| panic!("{why}"));
                }
            }
        }
        let [want, got] = [&mut pair.cpu, &mut pair.device].map(records);
        let n = config.layers * config.experts;
        assert_eq!((got.len(), want.len()), (3 * n, 3 * n));
        let of = |records: &[ExpertRecord], value: fn(&ExpertRecord) -> f64| -> Vec<f32> {
            records.iter().map(|record| value(record) as f32).filter(|x| !x.is_nan()).collect()
        };
        near("shares", &of(&got, |r| r.share), &of(&want, |r| r.share), 1e-9);
        near("contributions", &of(&got, |r| r.contribution), &of(&want, |r| r.contribution), NEAR);
        near("specialization", &of(&got, |r| r.specialization), &of(&want, |r| r.specialization), NEAR);
        assert!(got[n..2 * n].iter().all(|record| record.specialization.is_nan()), "not measured in the second step");
        assert!(of(&got[..n], |r| r.specialization).len() > config.experts, "measured in the first");
        assert!(records(&mut pair.device).is_empty(), "they are read once");
    }
}

fn records(backend: &mut Box<dyn Backend>) -> Vec<ExpertRecord> {
    let mut all = vec![];
    backend.take_expert_records(&mut all).expect("it is read");
    all
}

pub fn start(gpu: &Arc<Gpu>, set: &[&str]) -> Box<dyn Simulation> {
    let context = BuildContext { seed: 1, ..BuildContext::default() };
    let device = Device::Cuda(gpu.clone());
    simulation::model(set).build(&context, &device, &Progress::default()).unwrap_or_else(|why| panic!("{why}"))
}

/// A run whose scores are shown after every few steps, one whose scores are read at its end, and one that is saved in between.
#[test]
fn cuda_scores_do_not_depend_on_when_they_are_read() {
    let Some(gpu) = gpu() else { return };
    let mut watched = start(&gpu, &[]);
    let taps = [probes::CONTRIBUTION, probes::SPECIALIZATION, probes::RESILIENCE, probes::FITNESS, probes::GATES];
    watched.tap(&taps.map(Tap::of)).expect("it is tapped");
    for _ in 0..42 {
        advance(&mut *watched, 3);
        frame(&mut *watched);
    }
    let want = state(&mut *watched);
    assert!(want.0.contains("splits"), "{}", want.0);
    let mut plain = start(&gpu, &[]);
    advance(&mut *plain, 126);
    assert!(state(&mut *plain) == want, "read at the end");
    let mut saved = start(&gpu, &[]);
    advance(&mut *saved, 57);
    let half = saved.save().expect("it is saved");
    let mut resumed = start(&gpu, &[]);
    advance(&mut *resumed, 5);
    resumed.load(&half).expect("it is loaded");
    advance(&mut *resumed, 69);
    assert!(state(&mut *resumed) == want, "saved in between");
    // More steps than may wait.
    let (mut long, mut often) = (start(&gpu, &["life.enabled=false"]), start(&gpu, &["life.enabled=false"]));
    advance(&mut *long, 1100);
    (0..11).for_each(|_| advance(&mut *often, 100));
    assert!(state(&mut *long) == state(&mut *often), "a long batch");
}

/// The same events and ids as on the CPU, and nearly the same scores.
#[test]
fn cuda_events_are_those_of_the_cpu() {
    let Some(gpu) = gpu() else { return };
    let set = ["training.learning_rate=0.002"];
    let mut device = start(&gpu, &set);
    let mut cpu = simulation::start(&simulation::model(&set));
    for sim in [&mut device, &mut cpu] {
        advance(&mut **sim, 101);
    }
    let [got, want] = [&device, &cpu].map(|sim| format!("{:?}", sim.digest(0).totals));
    assert_eq!(got, want);
    assert!(!got.contains("(\"splits\", 0)"), "there are events: {got}");
    let [got, want] = [&mut device, &mut cpu].map(|sim| sim.save().expect("it is saved"));
    let ids = |from: &Snapshot| from.read::<u64>("experts/id", &[2, 6]).expect("a section");
    assert_eq!(ids(&got), ids(&want));
    for name in ["contribution", "variance", "frequency", "specialization"] {
        let read = |from: &Snapshot| -> Vec<f32> {
            let values = from.read::<f64>(&format!("scores/{name}"), &[2, 6]).expect("a section");
            values.into_iter().map(|x| x as f32).collect()
        };
        near(name, &read(&got), &read(&want), 2e-2);
    }
}

/// Measured launches become kernel times in the same call; they do not pile up.
#[test]
fn cuda_kernel_times_are_collected() {
    let Some(gpu) = gpu() else { return };
    let (mut sim, mut pass) = (start(&gpu, &[]), Pass::measuring());
    sim.advance(2, &mut pass).expect("it runs");
    let rows: Vec<&str> = pass.timings.iter().map(|row| row.name).collect();
    for row in ["release", "experts", "record_experts"] {
        assert!(rows.contains(&row), "{row} is not among {rows:?}");
    }
}

/// One step of the smallest model, launch by launch, of the general and of the short kernel of release, and what the life cycle
/// does: every kernel of the kind, few launches. For compute-sanitizer, under which the other tests do not end.
#[test]
fn cuda_smallest_step() {
    let Some(gpu) = gpu() else { return };
    let config = Config { context: 8, layers: 1, heads: 2, width: 16, experts: 4, hidden: 16, ..Config::nano(24) };
    let first = Dynamics::new(&config);
    let general =
        Presynaptic { edges: Edges::TopK(3), release: Release::Binomial { fraction: 0.5 }, ..first.presynaptic };
    for dynamics in [Dynamics { presynaptic: general, ..first.clone() }, first] {
        let mut pair = Pair::new(&gpu, &config, &dynamics);
        let text = pair.text(1, 1);
        let batches = [pair.batch(&text)];
        let input = StepInput { measures: true, ..step_input(0, &batches) };
        let mut pass = Pass::measuring();
        pair.device.step(&input, &mut pass).unwrap_or_else(|why| panic!("{why}"));
        pair.device.measure_specialization(&text.0[..config.context]).unwrap_or_else(|why| panic!("{why}"));
        let block = &pair.layout.blocks[0];
        let weights = [block.fc1, block.fc1_bias, block.fc2, block.fc2_bias];
        let arrays = ExpertArrays::new(&pair.layout.map, &weights, block.router, block.genome);
        let at = MoveAddress { seed: 9, step: 1, first_slot: 0 };
        let moves = [Move::Merge { winner: 1, loser: 2, alpha: 0.7 }, Move::Split { parent: 1, child: 2 }];
        let all = edits(&LifeCycle::default(), &moves, &at, &arrays);
        pair.device.edit(&all).unwrap_or_else(|why| panic!("{why}"));
        gpu.synchronize().expect("the device");
        pass.collect().expect("the device");
        let losses: Vec<f32> = stats(&mut *pair.device).iter().map(|s| s.loss).collect();
        assert!(losses.len() == 1 && losses[0].is_finite());
    }
}

/// Texts that write.
#[test]
fn cuda_plastic_texts_are_those_of_the_cpu() {
    let Some(gpu) = gpu() else { return };
    for config in configs() {
        let pair = Pair::new(&gpu, &config, &Dynamics::new(&config));
        let (text, _) = pair.text(1, 61);
        let plain = pair.device.decoder().expect("a decoder").push(&text).expect("it is read").to_vec();
        let memory = FastMemory { gate: Gate::Open, ..FastMemory::new(config.width) };
        let [want, got] = [&pair.cpu, &pair.device].map(|backend| {
            let mut decoder = backend.plastic_decoder(&memory).expect("a decoder");
            let parts = text[..config.context].chunks(5);
            parts.flat_map(|part| decoder.push(part).expect("it is read").to_vec()).collect::<Vec<f32>>()
        });
        near("logits", &got, &want, 10.0 * NEAR);
        let row = config.padded_vocab();
        near("before the first write", &got[..row], &plain[..row], NEAR);
        assert!(got[row..] != plain[row..got.len()], "nothing is written");
    }
}
