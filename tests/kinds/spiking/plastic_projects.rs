//! Every project with plastic synapses has equal spikes and weights for any number of threads, any batches and on a GPU, after a live
//! edit, and after saving and loading.

use super::rules::model;
use crate::device::gpu;
use neuropil::{
    kinds::Model,
    params::path,
    sim::{BuildContext, Device, Effect, Progress, Simulation, Snapshot},
};

/// A project, the steps of each of three parts of its run, and a live edit after the first part.
struct Case {
    project: &'static str,
    steps: u32,
    edit: &'static str,
}

const CASES: [Case; 4] = [
    Case { project: "hpc-stdp", steps: 150, edit: "projections.0.plasticity.lambda=0.2" },
    Case { project: "tsodyks-markram", steps: 2000, edit: "projections.0.plasticity.tau_rec=300" },
    Case { project: "reward", steps: 2500, edit: "projections.0.plasticity.per_rate=0.01" },
    Case { project: "stdp-digits", steps: 700, edit: "projections.0.plasticity.a_plus=0.05" },
];

fn build(model: &Model, device: &Device) -> Box<dyn Simulation> {
    model.build(&BuildContext { seed: 1, ..BuildContext::default() }, device, &Progress::default()).expect("built")
}

/// Digest and saved state after a part of a run.
type End = (String, Snapshot);

fn end(sim: &mut dyn Simulation, steps: u32, batch: u32) -> End {
    (super::digest_of(sim, steps, batch), sim.save().expect("saved"))
}

/// Returns the ends of the three parts; the last one is that of a simulation that loads the state of the second.
fn parts(case: &Case, model: &Model, device: &Device, batch: u32) -> [End; 3] {
    let mut sim = build(model, device);
    let first = end(&mut *sim, case.steps, batch);
    let edit = |sim: &mut dyn Simulation| {
        let change = path::parse(sim.params().expect("parameters"), case.edit).expect("a change");
        assert_eq!(sim.set(&change).expect("set"), Effect::Applied, "{}", case.edit);
    };
    edit(&mut *sim);
    let second = end(&mut *sim, case.steps, batch);
    let third = end(&mut *sim, case.steps, batch);
    let mut other = build(model, device);
    edit(&mut *other);
    other.load(&second.1).expect("loaded");
    assert!(end(&mut *other, case.steps, batch) == third, "{}: after loading", case.project);
    [first, second, third]
}

fn compare(case: &Case, model: &Model, first: &[End; 3], device: &Device, batch: u32) {
    let found = parts(case, model, device, batch);
    for (i, (a, b)) in first.iter().zip(&found).enumerate() {
        assert_eq!(a.0, b.0, "{}, part {i}, batches of {batch}: digest", case.project);
        assert!(a.1 == b.1, "{}, part {i}, batches of {batch}: state", case.project);
    }
}

#[test]
fn plastic_projects_have_equal_bits_for_any_threads_and_batches() {
    for case in &CASES {
        let model = model(case.project, &[]);
        let first = parts(case, &model, &Device::Cpu { threads: 1 }, case.steps);
        assert!(!first[2].0.contains("(\"spikes\", 0)"), "{}: {}", case.project, first[2].0);
        for (threads, batch) in [(2, 37), (3, 401)] {
            compare(case, &model, &first, &Device::Cpu { threads }, batch);
        }
    }
}

#[test]
fn plastic_projects_on_a_gpu_have_the_bits_of_the_cpu() {
    let Some(gpu) = gpu() else { return };
    for case in &CASES {
        let model = model(case.project, &[]);
        let first = parts(case, &model, &Device::Cpu { threads: 2 }, case.steps);
        for batch in [case.steps, 37] {
            compare(case, &model, &first, &Device::Cuda(gpu.clone()), batch);
        }
    }
}
