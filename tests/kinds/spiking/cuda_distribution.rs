//! Balanced networks whose synapse numbers are drawn from distributions: on the CPU, and with the same bits on a GPU.

use super::device::{advance, cpu, cuda, scene};
use crate::device::gpu;
use neuropil::{
    kinds::spiking::{Effect, Intervention, Params, Source, SpikingKind, constants::Real, setup::Setup},
    params::Distribution,
    sim::{Kind, Progress, Simulation},
};
use std::sync::Arc;

/// A network of 800 neurons driven by noise, and its connections.
fn balanced(excitatory: Distribution, inhibitory: Distribution) -> (Params, Arc<Setup>) {
    let mut params = Params::default();
    params.network.source = Source::Balanced;
    (params.network.n_neurons, params.network.in_degree) = (800, 60);
    (params.network.excitatory_count, params.network.inhibitory_count) = (excitatory, inhibitory);
    params.interventions = vec![Intervention {
        effect: Effect::Noise,
        target: "all".into(),
        rate_hz: 300.0,
        weight_mv: 1.5,
        ..Intervention::default()
    }];
    let setup = SpikingKind::prepare(&params, &scene(), &Progress::default()).expect("a network");
    (params, Arc::new(setup))
}

/// Laws of the synapse numbers: narrow and wide, with a long tail, with bounds.
fn laws() -> [(&'static str, Distribution, Distribution); 3] {
    [
        ("uniform", Distribution::uniform(2.0, 10.0), Distribution::constant(33.0)),
        (
            "normal",
            Distribution::normal(6.0, 2.0).within((1.0, 12.0)),
            Distribution::normal(33.0, 8.0).within((1.0, 80.0)),
        ),
        (
            "log-normal",
            Distribution::log_normal(6.0, 6.0).within((1.0, 400.0)),
            Distribution::log_normal(33.0, 20.0).within((1.0, 900.0)),
        ),
    ]
}

fn spikes(sim: &dyn Simulation) -> u64 {
    sim.digest(0).totals[0].1
}

#[test]
fn distributed_synapse_numbers_change_the_run_and_repeat() {
    let constant = || balanced(Distribution::constant(6.0), Distribution::constant(33.0));
    let (params, setup) = constant();
    let mut plain = cpu::<f64>(&params, &setup);
    let plain = advance(&mut plain, 1500, 1500);
    for (name, excitatory, inhibitory) in laws() {
        let (params, setup) = balanced(excitatory, inhibitory);
        let mut sims = [cpu::<f64>(&params, &setup), cpu::<f64>(&params, &balanced(excitatory, inhibitory).1)];
        let runs = sims.each_mut().map(|sim| advance(sim, 1500, 100));
        assert!(spikes(&sims[0]) > 100, "{name}");
        assert_eq!(runs[0], runs[1], "{name}: the same network again");
        assert_ne!(runs[0], plain, "{name}: another network");
    }
}

fn equals_the_cpu<T: Real>(name: &str, params: &Params, setup: &Arc<Setup>, gpu: &Arc<neuropil::gpu::Gpu>) {
    let (mut a, mut b) = (cpu::<T>(params, setup), cuda::<T>(params, setup, gpu));
    for round in 0..3 {
        let want = advance(&mut a, 1000, 1000);
        assert_eq!(advance(&mut b, 1000, 37), want, "{name}, {} bytes, round {round}", T::BYTES);
        assert!(a.states() == b.states().expect("states"), "{name}, {} bytes: other states", T::BYTES);
    }
    assert!(spikes(&a) > 100, "{name}");
}

#[test]
fn cuda_distributed_synapse_numbers_have_the_bits_of_the_cpu() {
    let Some(gpu) = gpu() else { return };
    for (name, excitatory, inhibitory) in laws() {
        let (params, setup) = balanced(excitatory, inhibitory);
        equals_the_cpu::<f64>(name, &params, &setup, &gpu);
        equals_the_cpu::<f32>(name, &params, &setup, &gpu);
    }
}
