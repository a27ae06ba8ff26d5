//! Trials and long runs on the GPU: a restart with another seed gives the bits of a fresh start, and device memory does
//! not grow. Needs an NVIDIA GPU, and says so when there is none.

use crate::device::gpu;
use crate::spiking::{device, small_network as network};
use device::{advance, scene};
use network::{busy, intervention, setup};
use neuropil::{
    gpu::{Pass, Place},
    kinds::spiking::{
        Effect, Intervention, Lif, NeuronModel, Params, SpikingKind, StatePrecision,
        cuda::{CudaSim, PersistentMode, Tuning},
        probes,
        setup::Setup,
    },
    sim::{BuildContext, Device, Frame, Kind, Progress, Simulation, StartRequest, Tap},
};
use std::sync::Arc;

/// A network for the persistent kernel, with one kick source.
fn plain() -> (Arc<Setup>, Params) {
    let net = neuropil::data::generate::balanced(2_000, 20, 0.8, 6, 33, 1, &|_, _| true).expect("generates");
    let noise = Intervention { rate_hz: 800.0, weight_mv: 1.5, ..intervention(Effect::Noise, "all", 0.0, 0.0) };
    (Arc::new(Setup::new(net).expect("a network")), Params { interventions: vec![noise], ..Params::default() })
}

#[test]
fn a_restart_equals_a_fresh_start_with_its_seed() {
    let Some(gpu) = gpu() else { return };
    let mut leaky = busy();
    leaky.network.model = NeuronModel::NoisyLeaky;
    leaky.interventions.iter_mut().for_each(|v| v.weight_mv *= 0.01);
    let mut quiet_leaky = Params::default();
    quiet_leaky.network.model = NeuronModel::NoisyLeaky;
    let cases = [(setup(6), busy()), plain(), (setup(6), leaky), (plain().0, quiet_leaky)];
    let modes = [PersistentMode::Off, PersistentMode::Auto, PersistentMode::Blocks(3), PersistentMode::Reached(4)];
    for ((setup, params), persistent) in cases.iter().flat_map(|case| modes.map(|mode| (case, mode))) {
        let tuning = Tuning { persistent, ..Tuning::default() };
        let fresh = |seed| {
            let context = BuildContext { seed, ..scene() };
            CudaSim::<f32>::tuned(params, &context, setup.clone(), &gpu, tuning).expect("it starts")
        };
        let mut kept = fresh(3);
        advance(&mut kept, 333, 100);
        for seed in [4, 3, 5] {
            assert!(kept.restart(seed).expect("restarts"));
            let want = advance(&mut fresh(seed), 1500, 1500);
            assert_eq!(advance(&mut kept, 1500, 700), want, "seed {seed}, {tuning:?}");
        }
    }
}

/// The free memory of the device says less: the driver keeps what it took for modules of other tests.
#[test]
fn steps_and_readings_allocate_nothing_on_the_device() {
    let Some(gpu) = gpu() else { return };
    let setup = setup(11);
    let mut sim = SpikingKind::start(StartRequest::new(
        &Params { lif: Lif { precision: StatePrecision::F32, ..Lif::default() }, ..busy() },
        &scene(),
        setup,
        &Device::Cuda(gpu.clone()),
        &Progress::default(),
    ))
    .expect("it starts");
    let spikes = [Tap::of(probes::SPIKES), Tap::of(probes::V_FIELD)];
    sim.tap(&spikes).expect("tapped");
    let mut batch = || {
        sim.advance(5000, &mut Pass::default()).expect("runs");
        sim.sample(&mut Frame::default()).expect("reads");
    };
    (0..10).for_each(|_| batch());
    let before = (gpu.allocations(), gpu.held(Place::Device));
    (0..200).for_each(|_| batch());
    assert_eq!((gpu.allocations(), gpu.held(Place::Device)), before, "allocations, bytes");
}
