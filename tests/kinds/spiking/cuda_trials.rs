//! Trials and long runs on the GPU: trials side by side and restarts with another seed give the bits of single runs, trials share their
//! connections, rings grow where they are full, and otherwise device memory does not grow. Needs an NVIDIA GPU, and says so when there is none.

use crate::device::gpu;
use crate::spiking::{device, small_network as network};
use device::{advance, cpu, scene};
use network::{busy, intervention, setup};
use neuropil::{
    gpu::{Pass, Place},
    kinds::spiking::{
        Effect, Intervention, Lif, NeuronModel, Params, SpikingKind, StatePrecision,
        cuda::{CudaSim, PersistentMode, Tuning},
        probes,
        setup::Setup,
    },
    params::path,
    sim::{BuildContext, Device, Effect as Taken, Frame, Kind, Progress, Simulation, StartRequest, Tap},
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

/// A network of which few neurons are driven, at first.
fn few_driven() -> (Arc<Setup>, Params) {
    let net = neuropil::data::generate::balanced(20_000, 20, 0.8, 6, 33, 1, &|_, _| true).expect("generates");
    (Arc::new(Setup::new(net).expect("a network")), driven_params())
}

fn driven_params() -> Params {
    let poisson = Intervention { rate_hz: 150.0, ..intervention(Effect::Poisson, "idx = 0..99", 0.0, 0.0) };
    Params { interventions: vec![poisson], ..Params::default() }
}

fn edit(sim: &mut dyn Simulation, text: &str) {
    let change = path::parse(&driven_params(), text).expect(text);
    assert_eq!(sim.set(&change).expect(text), Taken::Applied, "{text}");
}

/// All neurons fire after the first edit, as often as they may, and ever more often after the next ones. Returns the digests.
fn run_edited(sim: &mut dyn Simulation) -> Vec<String> {
    let mut digests = vec![advance(sim, 300, 97)];
    for text in [
        "lif.v_threshold=-52.5",
        "lif.t_refractory=0.5",
        "lif.t_refractory=0",
        "lif.t_refractory=2.2",
        "interventions.0.target=idx = 0..15000",
    ] {
        edit(sim, text);
        digests.push(advance(sim, 60, 25));
    }
    digests
}

fn on(device: &Device, seed: u64, (setup, params): &(Arc<Setup>, Params)) -> Box<dyn Simulation> {
    let (context, progress) = (BuildContext { seed, ..scene() }, Progress::default());
    SpikingKind::start(StartRequest::new(params, &context, setup.clone(), device, &progress)).expect("it starts")
}

#[test]
fn trials_side_by_side_equal_single_runs_and_share_their_connections() {
    let Some(gpu) = gpu() else { return };
    let network = few_driven();
    let mut references = [3, 4, 5].map(|seed| on(&Device::Cpu { threads: 2 }, seed, &network));
    let want = references.each_mut().map(|sim| run_edited(&mut **sim));
    assert_eq!(run_edited(&mut *on(&Device::Cuda(gpu.clone()), 3, &network)), want[0], "alone");
    let before = gpu.held(Place::Device);
    let mut trials = [3, 4, 5].map(|seed| {
        let device = Device::Cuda(gpu.clone()).with_own_streams(3).expect("streams");
        on(&device, seed, &network)
    });
    let report = trials[0].memory();
    let (all, own) = (report.on(Place::Device), report.of_another_trial(&[]).on(Place::Device));
    assert_eq!(gpu.held(Place::Device) - before, all + 2 * own, "{report:?}");
    assert!(all >= own + 4 * 20_000 * 20, "the connections are shared");
    let got = std::thread::scope(|scope| {
        let running = trials.each_mut().map(|trial| scope.spawn(move || run_edited(&mut **trial)));
        running.map(|trial| trial.join().expect("it runs"))
    });
    assert_eq!(got, want, "side by side");
    assert!(trials[0].memory().on(Place::Device) > all, "the rings grew");
    // The simulation that uploaded the connections ends first.
    let [first, second, mut last] = trials;
    drop((first, second));
    assert!(last.restart(9).expect("restarts") && references[2].restart(9).expect("restarts"));
    assert_eq!(advance(&mut *last, 500, 70), advance(&mut *references[2], 500, 500), "after the others");
    drop(last);
    assert_eq!(gpu.held(Place::Device), before, "all memory is free");
}

/// Rings begin with room for one window, and all neurons fire: every mode halts, doubles its rings and continues.
#[test]
fn full_rings_grow_in_every_mode() {
    let Some(gpu) = gpu() else { return };
    let (setup, params) = few_driven();
    let want = run_edited(&mut cpu::<f32>(&params, &setup));
    let modes = [PersistentMode::Off, PersistentMode::Auto, PersistentMode::Blocks(20), PersistentMode::Reached(4)];
    for (persistent, window) in modes.into_iter().flat_map(|mode| [(mode, 32), (mode, 7)]) {
        let tuning = Tuning { persistent, window, ..Tuning::default() };
        let mut sim = CudaSim::<f32>::tuned(&params, &scene(), setup.clone(), &gpu, tuning).expect("it starts");
        assert_eq!(run_edited(&mut sim), want, "{tuning:?}");
    }
}

/// A state holds more spikes in transit than a network with a refractory time ever has.
#[test]
fn states_with_more_spikes_than_the_rings_hold_are_loaded() {
    let Some(gpu) = gpu() else { return };
    let (setup, params) = few_driven();
    let mut busy = cpu::<f64>(&params, &setup);
    edit(&mut busy, "lif.v_threshold=-52.5");
    edit(&mut busy, "lif.t_refractory=0");
    advance(&mut busy, 100, 100);
    let state = busy.save().expect("saves");
    let continued = |sim: &mut dyn Simulation| {
        advance(sim, 50, 50);
        sim.load(&state).expect("loads");
        advance(sim, 200, 33)
    };
    let want = continued(&mut cpu::<f64>(&params, &setup));
    for persistent in [PersistentMode::Off, PersistentMode::Auto, PersistentMode::Reached(4)] {
        let tuning = Tuning { persistent, ..Tuning::default() };
        let mut sim = CudaSim::<f64>::tuned(&params, &scene(), setup.clone(), &gpu, tuning).expect("it starts");
        assert_eq!(continued(&mut sim), want, "{tuning:?}");
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
