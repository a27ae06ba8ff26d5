//! The networks of the references and the benchmarks on the GPU, against the CPU; and how fast. They are read from
//! `../shared` (or `NEUROPIL_SHARED`); without them, or without a GPU, the tests are skipped with a message.

use crate::device::gpu;
use crate::spiking::device;
use device::{advance, cpu, cuda, drive, fly, kicked, scene, shared};
use neuropil::{
    engine::{Command, Engine, EngineCounters},
    gpu::{Gpu, Pass},
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
    for (batch, graph, deliver_warps, persistent) in [
        (1, 1, 32, two_launches),
        (7, 64, 8, auto),
        (1000, 16, 64, two_launches),
        (1000, 64, 32, PersistentMode::Blocks(130)),
    ] {
        let tuning = Tuning { graph, deliver_warps, persistent, ..Tuning::default() };
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
    println!("{case} {} bytes, {steps} steps: {want}", T::BYTES);
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
    for (persistent, batch) in
        [(PersistentMode::Auto, 1000), (PersistentMode::Auto, 7), (PersistentMode::Off, 1), (PersistentMode::Off, 1000)]
    {
        let tuning = Tuning { persistent, ..Tuning::default() };
        let mut sim = CudaSim::<f32>::tuned(&params, &scene(), setup.clone(), &gpu, tuning).expect("it starts");
        assert_eq!(run(&mut sim, batch), edited, "batches of {batch}, {tuning:?}");
    }
    println!("noisy leaky units, 1000 steps: {want}");
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
        println!("{folder}: double {on_gpu}, single {single}");
    }
}

/// The subnetwork in both launch modes: what compute-sanitizer is run over. NEUROPIL_STEPS says how far.
#[test]
fn a_short_run_of_p9() {
    let (Some(gpu), Some(shared)) = (gpu(), shared()) else { return };
    let steps = std::env::var("NEUROPIL_STEPS").ok().and_then(|s| s.parse().ok()).unwrap_or(200);
    let (params, setup) = kicked(&shared, "flywire630/p9_subnet");
    let want = advance(&mut cpu::<f64>(&params, &setup), steps, steps);
    for persistent in [PersistentMode::Auto, PersistentMode::Off] {
        let tuning = Tuning { persistent, ..Tuning::default() };
        let mut sim = CudaSim::<f64>::tuned(&params, &scene(), setup.clone(), &gpu, tuning).expect("it starts");
        assert_eq!(advance(&mut sim, steps, 61), want, "{persistent:?}");
    }
}

/// What a window costs: steps per second of the engine alone, and with a client that takes frames at 60 Hz.
#[test]
fn a_client_at_60_hz_costs_little() {
    let (Some(gpu), Some(shared)) = (gpu(), shared()) else { return };
    let setup = fly(&shared);
    for case in ["sugar21", "broad10"] {
        let params = drive(&shared, case);
        let rate = |watches: bool| {
            let engine = Engine::spawn(|| {}).expect("a thread");
            engine.send(Command::Load(Box::new(cuda::<f64>(&params, &setup, &gpu))));
            if watches {
                let tap = |probe| Tap::of(probe);
                let taps = [probes::SPIKES, probes::RATE, probes::CLASS_RATES, probes::LAST_SPIKE].map(tap);
                engine.send(Command::Subscribe(taps.to_vec()));
            }
            engine.send(Command::Play);
            let step = || EngineCounters::read(&engine.counters.step);
            std::thread::sleep(Duration::from_millis(700));
            let (from, since) = (step(), Instant::now());
            let mut frames = 0;
            while since.elapsed() < Duration::from_millis(1500) {
                std::thread::sleep(Duration::from_micros(16_667));
                let taken: Vec<Frame> = engine.take_frames().collect();
                frames += usize::from(!taken.is_empty());
                taken.into_iter().for_each(|frame| engine.give_back(frame));
            }
            ((step() - from) as f64 / since.elapsed().as_secs_f64(), frames)
        };
        let mut alone: Vec<f64> = (0..3).map(|_| rate(false).0).collect();
        let mut watched: Vec<(f64, usize)> = (0..3).map(|_| rate(true)).collect();
        alone.sort_by(f64::total_cmp);
        watched.sort_by(|a, b| a.0.total_cmp(&b.0));
        let ((with, frames), without) = (watched[1], alone[1]);
        println!(
            "{case}: {without:.0} steps/s alone, {with:.0} watched ({frames} frames): {:+.1} %",
            100.0 * (with / without - 1.0)
        );
        assert!(frames > 30, "{frames} frames in 1.5 s");
    }
}

/// Measures launch shapes side by side, and each kernel: `cuda --ignored --nocapture tuning`. Not a test.
#[test]
#[ignore = "a measurement"]
fn tuning_table() {
    let (Some(gpu), Some(shared)) = (gpu(), shared()) else { return };
    let setup = fly(&shared);
    let plain = Tuning::default();
    let shapes = [
        ("default", plain),
        ("16 windows", Tuning { graph: 4, ..plain }),
        ("two launches", Tuning { persistent: PersistentMode::Off, ..plain }),
        ("two launches, 64", Tuning { persistent: PersistentMode::Off, graph: 64, ..plain }),
        ("always dense", Tuning { dense_chunks: 0, ..plain }),
        ("never dense", Tuning { dense_chunks: u32::MAX, ..plain }),
    ];
    let of_units = [
        ("default", plain),
        ("two launches", Tuning { persistent: PersistentMode::Off, ..plain }),
        ("two launches, 16", Tuning { persistent: PersistentMode::Off, graph: 4, ..plain }),
        ("32 warps", Tuning { persistent: PersistentMode::Off, deliver_warps: 32, ..plain }),
        ("48 warps", Tuning { persistent: PersistentMode::Off, deliver_warps: 48, ..plain }),
    ];
    let wanted = |var: &str, name: &str| std::env::var(var).map_or(true, |only| only == name);
    let cases = ["sugar21", "gustatory408", "broad10", "fastfly"];
    for case in cases.into_iter().filter(|c| wanted("NEUROPIL_CASE", c)) {
        let shapes: &[(&str, Tuning)] = if case == "fastfly" { &of_units } else { &shapes };
        for (name, tuning) in shapes.iter().copied().filter(|(s, _)| wanted("NEUROPIL_SHAPE", s)) {
            let params = drive(&shared, case);
            let mut sim = CudaSim::<f64>::tuned(&params, &scene(), setup.clone(), &gpu, tuning).expect("it starts");
            sim.tap(&[Tap::of(probes::SPIKES)]).expect("tapped");
            advance_plainly(&mut sim, 2000);
            let since = Instant::now();
            advance_plainly(&mut sim, 20_000);
            let secs = since.elapsed().as_secs_f64();
            let (factor, micros) = (20_000.0 * sim.clock().base.per_step() / secs, secs * 1e6 / 20_000.0);
            let mut pass = Pass::measuring();
            for _ in 0..4 {
                sim.advance(1152, &mut pass).expect("it runs");
                sim.sample(&mut Frame::default()).expect("it reads");
            }
            let kernels: Vec<String> = pass
                .timings
                .iter()
                .map(|t| format!("{} {:.2}", t.name, t.nanos as f64 * 1e-3 / f64::from(t.launches.max(1))))
                .collect();
            println!(
                "{case:13} {name:18} {factor:7.1}x  {micros:6.3} µs a step  µs with events: {}",
                kernels.join("  ")
            );
        }
    }
}

/// Compares delivery methods, from few spikes to many: `cuda_fly --ignored --nocapture delivery`. Not a test.
#[test]
#[ignore = "a measurement"]
fn delivery_methods() {
    let (Some(gpu), Some(shared)) = (gpu(), shared()) else { return };
    let setup = fly(&shared);
    let cases = [("sugar21", 150.0), ("gustatory408", 150.0)].into_iter();
    for (case, rate_hz) in cases.chain([180.0, 200.0, 210.0, 220.0, 230.0, 300.0, 1000.0].map(|hz| ("broad10", hz))) {
        let mut params = drive(&shared, case);
        params.measure.variants = true;
        params.interventions[0].rate_hz = rate_hz;
        let warps = std::env::var("NEUROPIL_WARPS").ok().and_then(|w| w.parse().ok());
        let tuning = warps.map_or(Tuning::default(), |deliver_warps| Tuning { deliver_warps, ..Tuning::default() });
        let mut sim = CudaSim::<f64>::tuned(&params, &scene(), setup.clone(), &gpu, tuning).expect("it starts");
        advance_plainly(&mut sim, 2000);
        let mut pass = Pass::default();
        for _ in 0..9 {
            // Another window each time.
            advance_plainly(&mut sim, 18 * 7);
            pass.profiled = true;
            sim.advance(18, &mut pass).expect("it runs");
            gpu.synchronize().expect("waits");
        }
        pass.collect().expect("collects");
        for row in pass.timings.iter().filter(|t| probes::VARIANTS.contains(&t.name)) {
            let micros = row.mean_nanos() * 1e-3;
            println!(
                "{case:13} {rate_hz:5.0} Hz  {:13} {:9.0} events a launch {micros:8.2} µs {:6.1} G/s, error {:.1e}",
                row.name,
                row.items as f64 / f64::from(row.launches),
                row.items as f64 / row.nanos as f64,
                row.off.unwrap_or(f64::NAN)
            );
        }
    }
}

/// Where the time of a step goes: device alone (the sum of all launches, by events), with the host, and with spikes read.
/// `cuda_fly --ignored --nocapture parts`. Not a test.
#[test]
#[ignore = "a measurement"]
fn parts_of_a_step() {
    let (Some(gpu), Some(shared)) = (gpu(), shared()) else { return };
    let setup = fly(&shared);
    let wanted = |name: &str| std::env::var("NEUROPIL_CASE").map_or(true, |only| only == name);
    let cases = [("sugar21", 8_000), ("gustatory408", 8_000), ("broad10", 8_000), ("fastfly", 800)];
    for (case, steps) in cases.into_iter().filter(|c| wanted(c.0)) {
        let params = drive(&shared, case);
        let mut sim = CudaSim::<f64>::new(&params, &scene(), setup.clone(), &gpu).expect("it starts");
        let mut timed = |taps: &[Tap], keeps: bool| {
            sim.tap(taps).expect("tapped");
            let mut kept = vec![];
            let mut micros: Vec<f64> = (0..8)
                .map(|_| {
                    let since = Instant::now();
                    sim.advance(steps, &mut Pass::default()).expect("it runs");
                    let mut frame = Frame::default();
                    sim.sample(&mut frame).expect("it reads");
                    let micros = since.elapsed().as_secs_f64() * 1e6 / f64::from(steps);
                    if keeps {
                        kept.push(frame);
                    }
                    micros
                })
                .collect();
            micros.sort_by(f64::total_cmp);
            micros[4]
        };
        let spikes = [Tap::of(probes::SPIKES)];
        let (untapped, read, kept) = (timed(&[], false), timed(&spikes, false), timed(&spikes, true));
        for _ in 0..2 {
            let mut pass = Pass::default();
            let since = Instant::now();
            pass.begin(1, 0, true, true);
            sim.advance(steps, &mut pass).expect("it runs");
            pass.end(steps, since.elapsed().as_nanos() as u64).expect("ends");
            gpu.synchronize().expect("waits");
            pass.collect().expect("collects");
            let batch = pass.batches.pop().expect("a batch");
            println!("{case}: batch of {steps} steps: {:.0} µs", batch.nanos as f64 * 1e-3);
            if std::env::var_os("NEUROPIL_SPANS").is_some() {
                for s in &batch.measured.expect("measured").spans {
                    println!(
                        "  {:?} {} at {:.0} for {:.1} µs, {} B",
                        s.lane,
                        s.name,
                        s.start as f64 * 1e-3,
                        s.nanos as f64 * 1e-3,
                        s.bytes
                    );
                }
            }
        }
        let mut pass = Pass::default();
        let mut device: Vec<(&str, f64, u32)> = vec![];
        for _ in 0..200 {
            // Short calls: the first launch of a call is the one that is measured.
            let mut one = Pass::measuring();
            sim.advance(steps / 8, &mut one).expect("it runs");
            sim.advance(steps / 80, &mut pass).expect("it runs");
            for t in &one.timings {
                match device.iter_mut().find(|d| d.0 == t.name) {
                    Some(d) => (d.1, d.2) = (d.1 + t.nanos as f64 * 1e-3, d.2 + t.launches),
                    None => device.push((t.name, t.nanos as f64 * 1e-3, t.launches)),
                }
            }
        }
        let device: Vec<String> =
            device.iter().map(|(n, us, k)| format!("{n} {:.1} of {k}", us / f64::from(*k))).collect();
        println!(
            "{case:13} µs a step: {untapped:.3} untapped, {read:.3} with spikes, {kept:.3} with spikes kept; µs a launch: {}",
            device.join(", ")
        );
    }
}

fn advance_plainly(sim: &mut dyn Simulation, steps: u32) {
    for _ in 0..steps.div_ceil(4000) {
        sim.advance(4000.min(steps), &mut Pass::default()).expect("it runs");
        sim.sample(&mut Frame::default()).expect("it reads");
    }
}
