//! Trials on the GPU: a simulation that is restarted with another seed gives the bits of a fresh start. Needs an NVIDIA
//! GPU, and says so when there is none.

#[path = "support/device.rs"]
#[allow(dead_code, reason = "each test binary takes what it needs")]
mod device;
#[path = "support/small_network.rs"]
#[allow(dead_code, reason = "each test binary takes what it needs")]
mod network;

use device::{advance, gpu, scene};
use network::{busy, intervention, setup};
use neuropil::{
    kinds::spiking::{
        Effect, Intervention, NeuronModel, Params,
        cuda::{CudaSim, PersistentMode, Tuning},
        setup::Setup,
    },
    sim::{BuildContext, Simulation},
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
    let modes = [PersistentMode::Off, PersistentMode::Auto, PersistentMode::Blocks(3)];
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
