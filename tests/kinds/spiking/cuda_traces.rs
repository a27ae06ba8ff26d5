//! v and g of chosen neurons on the GPU: the values of the CPU, in every step, whatever launches compute the step.

use crate::device::gpu;
use crate::spiking::{device, small_network as network};
use device::{cpu, scene};
use network::{busy, intervention, setup};
use neuropil::{
    data::generate,
    gpu::{Gpu, Pass},
    kinds::spiking::{
        Effect, Intervention, NeuronModel, Params,
        constants::Real,
        cpu::leaky::LeakySim,
        cuda::{CudaSim, PersistentMode, Tuning},
        probes,
        setup::Setup,
    },
    sim::{Digest, Frame, Simulation, Tap},
};
use std::sync::Arc;

const STEPS: u32 = 1500;
const MODES: [PersistentMode; 4] =
    [PersistentMode::Off, PersistentMode::Auto, PersistentMode::Blocks(1), PersistentMode::Blocks(5)];

/// Neurons of several blocks, the last one included, the two series of other ones.
fn taps(n: u32) -> [Tap; 2] {
    let known = |elements: &[u32]| elements.iter().copied().filter(|e| *e + 1 < n).chain([n - 1]).collect();
    let [v, g] = [known(&[0, 1, 31, 32, 33, 64, 77, 300, 511]), known(&[300, 5])];
    [Tap::elements(probes::V, v), Tap::elements(probes::G, g)]
}

/// All rows of both series and the digest; the first steps of each part run untapped.
fn read(sim: &mut dyn Simulation, n: u32, batch: u32) -> (Frame, Digest) {
    let mut all = Frame::default();
    for _ in (0..STEPS).step_by(500) {
        sim.tap(&[]).expect("untapped");
        sim.advance(50, &mut Pass::default()).expect("runs");
        sim.tap(&taps(n)).expect("tapped");
        for at in (50..500).step_by(batch as usize) {
            sim.advance(batch.min(500 - at), &mut Pass::default()).expect("runs");
            let mut frame = Frame { clock: sim.clock(), ..Frame::default() };
            sim.sample(&mut frame).expect("reads");
            all.absorb(frame);
        }
    }
    (all, sim.digest(0))
}

fn equal_the_cpu<T: Real>(gpu: &Arc<Gpu>, params: &Params, setup: &Arc<Setup>) {
    let n = setup.n();
    let want = read(&mut cpu::<T>(params, setup), n, 450);
    assert!(want.1.totals[0].1 > 50, "{:?}", want.1);
    for persistent in MODES {
        for batch in [450, 13] {
            let tuning = Tuning { persistent, ..Tuning::default() };
            let mut sim = CudaSim::<T>::tuned(params, &scene(), setup.clone(), gpu, tuning).expect("it starts");
            let got = read(&mut sim, n, batch);
            assert_eq!(got.1, want.1, "{persistent:?}, batches of {batch}");
            assert_eq!(got.0.readings, want.0.readings, "{persistent:?}, batches of {batch}");
        }
    }
}

/// Two thousand neurons with one source of kicks, as the persistent kernel takes them; every step is sampled.
fn driven() -> (Arc<Setup>, Params) {
    let net = generate::balanced(2_000, 20, 0.8, 6, 33, 1, &|_, _| true).expect("generates");
    let noise = Intervention { rate_hz: 800.0, weight_mv: 1.5, ..intervention(Effect::Noise, "all", 0.0, 0.0) };
    let mut params = Params { interventions: vec![noise], ..Params::default() };
    params.measure.trace_every_ms = params.lif.dt;
    (Arc::new(Setup::new(net).expect("a network")), params)
}

#[test]
fn cuda_traces_are_those_of_the_cpu() {
    let Some(gpu) = gpu() else { return };
    let (setup, params) = driven();
    equal_the_cpu::<f64>(&gpu, &params, &setup);
    equal_the_cpu::<f32>(&gpu, &params, &setup);
    // Without input they only decay, and blocks have nothing to do.
    let current = Intervention { current_mv: 9.0, ..intervention(Effect::Current, "idx = 0..99", 0.0, 60.0) };
    let params = Params { interventions: vec![current], ..params };
    equal_the_cpu::<f64>(&gpu, &params, &setup);
}

#[test]
fn cuda_traces_with_everything_on_are_those_of_the_cpu() {
    let Some(gpu) = gpu() else { return };
    let mut params = busy();
    params.measure.trace_every_ms = params.lif.dt;
    equal_the_cpu::<f64>(&gpu, &params, &setup(21));
}

/// More neurons than persistent blocks trace, and back to fewer.
#[test]
fn cuda_any_number_of_neurons_is_traced() {
    let Some(gpu) = gpu() else { return };
    let (setup, params) = driven();
    let run = |sim: &mut dyn Simulation| {
        let parts = [128, 129, 700, 3].map(|n| {
            sim.tap(&[Tap::elements(probes::V, (0..n).map(|i| i * 2).collect())]).expect("tapped");
            sim.advance(300, &mut Pass::default()).expect("runs");
            let mut frame = Frame::default();
            sim.sample(&mut frame).expect("reads");
            frame.readings
        });
        (parts, sim.digest(0))
    };
    let want = run(&mut cpu::<f64>(&params, &setup));
    for persistent in MODES {
        let tuning = Tuning { persistent, ..Tuning::default() };
        let mut sim = CudaSim::<f64>::tuned(&params, &scene(), setup.clone(), &gpu, tuning).expect("it starts");
        assert_eq!(run(&mut sim), want, "{persistent:?}");
    }
}

#[test]
fn cuda_traces_of_leaky_units_are_those_of_the_cpu() {
    let Some(gpu) = gpu() else { return };
    let (setup, mut params) = driven();
    (params.network.model, params.interventions) = (NeuronModel::NoisyLeaky, vec![]);
    params.measure.trace_every_ms = 0.01;
    let n = setup.n();
    let mut reference = LeakySim::new(&params, &scene(), setup.clone(), 2).expect("it starts");
    let want = read(&mut reference, n, 450);
    for persistent in MODES {
        let tuning = Tuning { persistent, ..Tuning::default() };
        let mut sim = CudaSim::<f32>::tuned(&params, &scene(), setup.clone(), &gpu, tuning).expect("it starts");
        assert_eq!(read(&mut sim, n, 77), want, "{persistent:?}");
    }
}
