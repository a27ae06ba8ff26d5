//! The networks of the references and the benchmarks on the GPU, against the CPU. They are read from
//! `../shared` (or `NEUROPIL_SHARED`); without them, or without a GPU, the tests are skipped with a message.

use crate::device::gpu;
use crate::spiking::device;
use device::{advance, cpu, cuda, drive, fly, kicked, scene, shared};
use neuropil::{
    engine::{Command, Engine, EngineCounters},
    gpu::Gpu,
    kinds::spiking::{
        NeuronModel, Params,
        constants::Real,
        cpu::{CpuSim, leaky::LeakySim},
        cuda::{CudaSim, PersistentMode, Tuning},
        probes,
        setup::Setup,
    },
    params::path,
    sim::{Effect as Taken, Frame, Simulation, Tap},
};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

/// Hashes of the fly for one second: both precisions, batches, launch shapes, after a save and a load.
#[test]
fn the_fly_is_the_same_on_both() {
    let (Some(gpu), Some(shared)) = (gpu(), shared()) else { return };
    let setup = fly(&shared);
    let steps = std::env::var("NEUROPIL_STEPS").ok().and_then(|s| s.parse().ok()).unwrap_or(10_000);
    for case in ["sugar21", "gustatory408", "broad10"] {
        fly_case::<f64>(&gpu, &setup, &drive(&shared, case), case, steps);
        fly_case::<f32>(&gpu, &setup, &drive(&shared, case), case, steps);
    }
}

fn fly_case<T: Real>(gpu: &Arc<Gpu>, setup: &Arc<Setup>, params: &Params, case: &str, steps: u32) {
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(8);
    let mut reference = CpuSim::<T>::new(params, &scene(), setup.clone(), threads).expect("it starts");
    let want = advance(&mut reference, steps, 1000);
    let mut sim = cuda::<T>(params, setup, gpu);
    assert_eq!(advance(&mut sim, steps, 1000), want, "{case}");
    let (two_launches, auto) = (PersistentMode::Off, PersistentMode::Auto);
    let dense_chunks = Tuning::default().dense_chunks;
    for (batch, graph, deliver_warps, dense_chunks, persistent) in [
        (1, 1, 32, dense_chunks, two_launches),
        (7, 64, 8, dense_chunks, auto),
        (1000, 16, 64, dense_chunks, two_launches),
        (1000, 4, 32, 0, auto),
        (1000, 64, 32, u32::MAX, PersistentMode::Blocks(130)),
        (1000, 16, 40, 500, PersistentMode::Reached(4)),
    ] {
        let tuning = Tuning { graph, deliver_warps, dense_chunks, persistent, ..Tuning::default() };
        let mut sim = CudaSim::<T>::tuned(params, &scene(), setup.clone(), gpu, tuning).expect("it starts");
        assert_eq!(advance(&mut sim, steps, batch), want, "{case}, batches of {batch}, {tuning:?}");
    }
    let half = steps / 2 + 3;
    sim.rewind().expect("rewinds");
    advance(&mut sim, half, 1000);
    let state = sim.save().expect("saves");
    advance(&mut sim, 500, 500);
    sim.load(&state).expect("loads");
    assert_eq!(advance(&mut sim, steps - half, 999), want, "{case}, after a save and a load");
}

/// The benchmark of the seed, one second.
#[test]
fn leaky_fly_is_the_same_on_both() {
    let (Some(gpu), Some(shared)) = (gpu(), shared()) else { return };
    let setup = fly(&shared);
    let mut params = Params::default();
    params.network.model = NeuronModel::NoisyLeaky;
    let mut reference = LeakySim::new(&params, &scene(), setup.clone(), 8).expect("it starts");
    let want = advance(&mut reference, 1000, 1000);
    for batch in [1000, 7] {
        assert_eq!(advance(&mut cuda::<f32>(&params, &setup, &gpu), 1000, batch), want, "batches of {batch}");
    }
    // Up to 790,000 events a step, then silence, then as before.
    let run = |sim: &mut dyn Simulation, batch| {
        for edit in ["leaky.decay=0", "leaky.decay=0.9"] {
            advance(sim, 200, batch);
            assert_eq!(sim.set(&path::parse(&params, edit).expect("an edit")).expect("taken up"), Taken::Applied);
        }
        advance(sim, 600, batch)
    };
    let edited = run(&mut LeakySim::new(&params, &scene(), setup.clone(), 8).expect("it starts"), 1000);
    let plain = Tuning::default();
    let two_launches = Tuning { persistent: PersistentMode::Off, ..plain };
    for (tuning, batch) in [
        (plain, 1000),
        (plain, 7),
        (two_launches, 1),
        (two_launches, 1000),
        (Tuning { graph: 4, ..two_launches }, 1000),
        (Tuning { deliver_warps: 32, ..two_launches }, 1000),
        (Tuning { deliver_warps: 48, ..two_launches }, 1000),
    ] {
        let mut sim = CudaSim::<f32>::tuned(&params, &scene(), setup.clone(), &gpu, tuning).expect("it starts");
        assert_eq!(run(&mut sim, batch), edited, "batches of {batch}, {tuning:?}");
    }
}

/// The deterministic references of Brian2 (golden_spiking.rs holds the CPU to them): same hash on both backends,
/// and as many spikes.
#[test]
fn kicks_of_the_references() {
    let (Some(gpu), Some(shared)) = (gpu(), shared()) else { return };
    for (folder, steps, want) in [("flywire630/p9_subnet", 10_000, 1_054), ("fly_standin", 2_000, 18_801)] {
        let (params, setup) = kicked(&shared, folder);
        let on_gpu = advance(&mut cuda::<f64>(&params, &setup, &gpu), steps, 777);
        assert_eq!(on_gpu, advance(&mut cpu::<f64>(&params, &setup), steps, 1000), "{folder}");
        assert!(on_gpu.contains(&format!("(\"spikes\", {want})")), "{on_gpu}");
        let single = advance(&mut cuda::<f32>(&params, &setup, &gpu), steps, 777);
        assert_eq!(single, advance(&mut cpu::<f32>(&params, &setup), steps, 1000), "{folder}, single precision");
    }
}

/// The subnetwork in both launch modes: what compute-sanitizer is run over. NEUROPIL_STEPS says how far.
#[test]
fn a_short_run_of_p9() {
    let (Some(gpu), Some(shared)) = (gpu(), shared()) else { return };
    let steps = std::env::var("NEUROPIL_STEPS").ok().and_then(|s| s.parse().ok()).unwrap_or(200);
    let (params, setup) = kicked(&shared, "flywire630/p9_subnet");
    let want = advance(&mut cpu::<f64>(&params, &setup), steps, steps);
    for persistent in [PersistentMode::Auto, PersistentMode::Off, PersistentMode::Reached(4)] {
        let tuning = Tuning { persistent, ..Tuning::default() };
        let mut sim = CudaSim::<f64>::tuned(&params, &scene(), setup.clone(), &gpu, tuning).expect("it starts");
        assert_eq!(advance(&mut sim, steps, 61), want, "{persistent:?}");
    }
}

/// A window that takes frames at 60 Hz gets them while the engine steps.
#[test]
fn a_client_at_60_hz_gets_frames() {
    let (Some(gpu), Some(shared)) = (gpu(), shared()) else { return };
    let setup = fly(&shared);
    for case in ["sugar21", "broad10"] {
        let params = drive(&shared, case);
        let engine = Engine::spawn(|| {}).expect("a thread");
        engine.send(Command::Load(Box::new(cuda::<f64>(&params, &setup, &gpu))));
        let taps = [probes::SPIKES, probes::RATE, probes::CLASS_RATES, probes::LAST_SPIKE].map(Tap::of);
        engine.send(Command::Subscribe(taps.to_vec()));
        engine.send(Command::Play);
        std::thread::sleep(Duration::from_millis(700));
        let (from, since) = (EngineCounters::read(&engine.counters.step), Instant::now());
        let mut frames = 0;
        while since.elapsed() < Duration::from_millis(1500) {
            std::thread::sleep(Duration::from_micros(16_667));
            let taken: Vec<Frame> = engine.take_frames().collect();
            frames += usize::from(!taken.is_empty());
            taken.into_iter().for_each(|frame| engine.give_back(frame));
        }
        assert!(EngineCounters::read(&engine.counters.step) > from, "it steps");
        assert!(frames > 30, "{frames} frames in 1.5 s");
    }
}
