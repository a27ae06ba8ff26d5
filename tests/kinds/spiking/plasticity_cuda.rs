//! Plastic projections on a GPU: the bits of the CPU, for any launches, batches and saved states.

use super::plasticity::network;
use crate::device::gpu;
use neuropil::{
    gpu::Pass,
    kinds::Model,
    params::{Value, path},
    sim::{Action, BuildContext, Device, Effect, Progress, Simulation, Snapshot},
};

/// Ways in which a GPU steps a network.
const STEPS: [&str; 2] = ["persistent", "launches"];

fn build(model: &Model, device: &Device, step: &'static str) -> Box<dyn Simulation> {
    let context = BuildContext { kernels: [("step", step)].into_iter().collect(), ..BuildContext::default() };
    model.build(&context, device, &Progress::default()).expect("built")
}

fn on_cpu(model: &Model) -> Box<dyn Simulation> {
    build(model, &Device::Cpu { threads: 2 }, "")
}

/// The digest and the state after steps in such batches.
fn run(sim: &mut dyn Simulation, steps: u32, batch: u32) -> (String, Snapshot) {
    (super::digest_of(sim, steps, batch), sim.save().expect("saved"))
}

/// Names the sections of two states that differ.
fn differing(a: &Snapshot, b: &Snapshot) -> Vec<String> {
    let differs = |(a, b): &(&neuropil::sim::snapshot::Section, &neuropil::sim::snapshot::Section)| a != b;
    a.sections.iter().zip(&b.sections).filter(differs).map(|(a, _)| a.name.to_string()).collect()
}

#[test]
fn plastic_networks_on_a_gpu_have_the_bits_of_the_cpu() {
    let Some(gpu) = gpu() else { return };
    let device = Device::Cuda(gpu);
    // One rule at a time, so that a difference names its rule; then all of them.
    let statics = |kept: usize| -> Vec<String> {
        (0..6).filter(|i| *i != kept).map(|i| format!("projections.{i}.plasticity=Static")).collect()
    };
    let all = (0..6).map(statics).chain([vec![]]);
    for edits in all {
        let model = network(&edits.iter().map(String::as_str).collect::<Vec<_>>());
        let first = run(&mut *on_cpu(&model), 4000, 4000);
        for (step, batch) in [(STEPS[0], 4000), (STEPS[1], 4000), (STEPS[0], 7), (STEPS[1], 1000)] {
            let other = run(&mut *build(&model, &device, step), 4000, batch);
            let differing = differing(&first.1, &other.1);
            assert!(differing.is_empty(), "{edits:?}, {step}, batches of {batch}: {differing:?} differ");
            assert_eq!(other.0, first.0, "{edits:?}, {step}, batches of {batch}: digest");
        }
    }
}

#[test]
fn saved_plastic_networks_continue_on_the_other_backend() {
    let Some(gpu) = gpu() else { return };
    let (device, model) = (Device::Cuda(gpu), network(&[]));
    let whole = run(&mut *on_cpu(&model), 3000, 3000);
    for step in STEPS {
        let (mut cpu, mut cuda) = (on_cpu(&model), build(&model, &device, step));
        let [half, of_cuda] = [&mut cpu, &mut cuda].map(|sim| run(&mut **sim, 1400, 93));
        assert!(half == of_cuda, "{step}: halfway");
        cuda.advance(500, &mut Pass::default()).expect("it runs");
        cuda.load(&half.1).expect("a state of the CPU");
        cpu.load(&of_cuda.1).expect("a state of the GPU");
        for sim in [&mut cpu, &mut cuda] {
            assert!(run(&mut **sim, 1600, 107) == whole, "{step}: continued");
            sim.rewind().expect("rewound");
            assert!(run(&mut **sim, 3000, 1000) == whole, "{step}: after a return to step 0");
        }
    }
}

#[test]
fn rules_change_while_a_network_runs_on_a_gpu() {
    let Some(gpu) = gpu() else { return };
    let (device, model) = (Device::Cuda(gpu), network(&[]));
    let edited = |mut sim: Box<dyn Simulation>, batch: u32| {
        for edit in [
            "projections.0.plasticity.a_plus=0.1",
            "projections.1.plasticity.tau_minus=12",
            "projections.2.plasticity.rate=20",
            "projections.3.plasticity.u=0.3",
            "projections.4.plasticity.tau_y=300",
            "projections.5.plasticity.third_factor=-1",
        ] {
            super::digest_of(&mut *sim, 401, batch);
            let change = path::parse(sim.params().expect("parameters"), edit).expect("a change");
            assert_eq!(sim.set(&change).expect("set"), Effect::Applied, "{edit}");
        }
        run(&mut *sim, 401, batch)
    };
    let first = edited(on_cpu(&model), 401);
    for step in STEPS {
        assert!(edited(build(&model, &device, step), 50) == first, "{step}");
    }
}

/// With spikes of a neuron in every step, histories overflow unless synapses are updated in time.
#[test]
fn histories_on_a_gpu_hold_spikes_of_every_step() {
    let Some(gpu) = gpu() else { return };
    let neuron = r#"model: IafPscDelta(v_th: 500, t_ref: 0, i_e: 0), v_start: 0"#;
    let text = format!(
        r#"(version: 2, model: Spiking((
            network: (source: Rules),
            populations: [(name: "pre", size: 1, {neuron}), (name: "post", size: 1, {neuron})],
            projections: [(from: "pre", to: "post", rule: OneToOne, weight: 64, delay: 1.5,
                plasticity: PairStdp(a_plus: 0.001, a_minus: 0, w_max: 128))],
            external_inputs: [(population: "post", source: Poisson(rate: 30000, weight: 1000))],
        )))"#
    );
    let model = neuropil::project::read(&text).expect("a project").0.model;
    let state = |mut sim: Box<dyn Simulation>, batch: u32| {
        let values = vec![Value::Real(1000.0)];
        sim.act(&Action { name: "kick".to_owned(), elements: vec![0], values, ..Action::default() }).expect("a kick");
        run(&mut *sim, 3000, batch)
    };
    let first = state(on_cpu(&model), 3000);
    assert!(first.1.read_list::<f32>("plasticity.0.weights").expect("weights")[0] > 65.0);
    for (step, batch) in [(STEPS[0], 3000), (STEPS[1], 3000), (STEPS[0], 11)] {
        assert!(state(build(&model, &Device::Cuda(gpu.clone()), step), batch) == first, "{step}, {batch}");
    }
}
