//! Spiking networks on the GPU: the same bits as on the CPU. Needs an NVIDIA GPU, and says so when there is none.
//! The big networks are read from `../shared` (or `NEUROPIL_SHARED`), those who lack it skip them loudly.

#[path = "support/busy.rs"]
#[allow(dead_code, reason = "each test binary takes what it needs")]
mod network;

use network::{busy, intervention, setup};
use neuropil::{
    engine::{Command, Engine, Gauges},
    gpu::{Gpu, OpenError, Pass},
    kinds::spiking::{
        Card, Effect, Intervention, Lif, NeuronModel, Params, Precision, Source,
        cpu::{CpuSim, leaky::LeakySim},
        cuda::{CudaSim, Tuning},
        layout::Real,
        probes,
        setup::Setup,
    },
    params::{Change, ParamId, Value, path},
    sim::{Action, Device, Effect as Taken, Frame, Kind, Progress, Reading, Scene, Simulation, Tap},
};
use std::{
    io::Write as _,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

/// Says so on the terminal even when the test runner keeps the output of passing tests to itself.
fn skipped(why: &str) {
    let _ = writeln!(std::io::stderr(), "SKIPPED: {why}");
}

fn gpu() -> Option<Arc<Gpu>> {
    match Gpu::open(0) {
        Ok(gpu) => Some(gpu),
        Err(why @ (OpenError::NoDriver(_) | OpenError::NoDevice { .. })) => {
            skipped(&format!("nothing ran on a GPU: {why}"));
            None
        }
        Err(why) => panic!("{why}"),
    }
}

fn scene() -> Scene {
    Scene { seed: 3, ..Scene::default() }
}

fn cpu<T: Real>(params: &Params, setup: &Arc<Setup>) -> CpuSim<T> {
    CpuSim::new(params, &scene(), setup.clone(), 2).expect("it starts")
}

fn cuda<T: Real>(params: &Params, setup: &Arc<Setup>, gpu: &Arc<Gpu>) -> CudaSim<T> {
    CudaSim::new(params, &scene(), setup.clone(), gpu).expect("it starts on the GPU")
}

fn advance(sim: &mut dyn Simulation, steps: u32, batch: u32) -> String {
    let mut left = steps;
    while left > 0 {
        let now = batch.min(left);
        sim.advance(now, &mut Pass { profiled: left.is_multiple_of(3), ..Pass::default() }).expect("it runs");
        left -= now;
    }
    format!("{:?}", sim.digest())
}

/// All spikes, all states, for other neurons and odd batches.
fn equals_the_cpu<T: Real>(gpu: &Arc<Gpu>, params: &Params, seed: u64, batch: u32) {
    let setup = setup(seed);
    let (mut a, mut b) = (cpu::<T>(params, &setup), cuda::<T>(params, &setup, gpu));
    for round in 0..4 {
        let want = advance(&mut a, 1000, 1000);
        assert_eq!(advance(&mut b, 1000, batch), want, "{} bytes, batches of {batch}, round {round}", T::BYTES);
        let (want, got) = (a.states(), b.states().expect("states"));
        let off = want.iter().zip(&got).position(|(w, g)| w != g);
        assert_eq!(off, None, "after {} steps: {:?}", 1000 * (round + 1), off.map(|i| (want[i], got[i])));
    }
    assert!(a.digest().totals[0].1 > 50, "{:?}", a.digest());
}

#[test]
fn bit_equal_to_the_cpu() {
    let Some(gpu) = gpu() else { return };
    for (seed, batch) in [(1, 1), (2, 7), (3, 1000), (4, 18), (5, 33)] {
        equals_the_cpu::<f64>(&gpu, &busy(), seed, batch);
        equals_the_cpu::<f32>(&gpu, &busy(), seed, batch);
    }
}

#[test]
fn bit_equal_for_other_neurons_too() {
    let Some(gpu) = gpu() else { return };
    let lifs = [
        Lif { tau_syn: 20.0, ..Lif::default() },
        Lif { tau_m: 4.0, tau_syn: 30.0, t_delay: 0.1, w_syn: 0.1, ..Lif::default() },
        Lif { v_reset: -60.0, t_refractory: 0.0, t_delay: 9.0, ..Lif::default() },
        Lif { v_reset: -46.0, v_threshold: -47.0, t_refractory: 1.0, dt: 0.25, ..Lif::default() },
        Lif { v_threshold: -53.0, t_refractory: 5.0, w_syn: -0.2, ..Lif::default() },
    ];
    for (seed, lif) in lifs.into_iter().enumerate() {
        let params = Params { lif, ..busy() };
        equals_the_cpu::<f64>(&gpu, &params, seed as u64, 40);
        equals_the_cpu::<f32>(&gpu, &params, seed as u64, 500);
    }
}

#[test]
fn launch_shapes_change_nothing() {
    let Some(gpu) = gpu() else { return };
    let (setup, params) = (setup(6), busy());
    let want = advance(&mut cpu::<f64>(&params, &setup), 3000, 3000);
    for (graph, deliver_warps, dense_chunks) in [(1, 1, 0), (8, 64, u32::MAX), (64, 8, 100), (5, 16, 1000)] {
        let tuning = Tuning { graph, deliver_warps, dense_chunks, ..Tuning::default() };
        let mut sim = CudaSim::<f64>::tuned(&params, &scene(), setup.clone(), &gpu, tuning).expect("it starts");
        assert_eq!(advance(&mut sim, 3000, 1234), want, "{tuning:?}");
    }
}

#[test]
fn rewinds_and_states_cross_backends() {
    let Some(gpu) = gpu() else { return };
    let setup = setup(6);
    let params = busy();
    let want = advance(&mut cpu::<f64>(&params, &setup), 3000, 3000);
    let mut sim = cuda::<f64>(&params, &setup, &gpu);
    assert_eq!(advance(&mut sim, 3000, 250), want);
    sim.rewind().expect("rewinds");
    assert_eq!(advance(&mut sim, 3000, 333), want, "after a rewind");
    for cut in [1, 17, 251, 1999] {
        let mut on_gpu = cuda::<f64>(&params, &setup, &gpu);
        advance(&mut on_gpu, cut, 100);
        let state = on_gpu.save().expect("saves");
        assert_eq!(advance(&mut on_gpu, 3000 - cut, 1000), want, "saving changed something");
        let mut again = cuda::<f64>(&params, &setup, &gpu);
        advance(&mut again, 123, 100);
        again.load(&state).expect("loads");
        assert_eq!(again.save().expect("saves"), state, "a loaded state saves as the same bytes");
        assert_eq!(advance(&mut again, 3000 - cut, 41), want, "loaded at {cut}");
        let mut on_cpu = cpu::<f64>(&params, &setup);
        on_cpu.load(&state).expect("the CPU loads it");
        assert_eq!(advance(&mut on_cpu, 3000 - cut, 500), want, "from the GPU to the CPU at {cut}");
        let mut on_cpu = cpu::<f64>(&params, &setup);
        advance(&mut on_cpu, cut, 100);
        on_gpu.load(&on_cpu.save().expect("saves")).expect("the GPU loads it");
        assert_eq!(advance(&mut on_gpu, 3000 - cut, 500), want, "from the CPU to the GPU at {cut}");
    }
}

/// Every live parameter can be turned while it runs.
#[test]
fn live_edits() {
    let Some(gpu) = gpu() else { return };
    let setup = setup(8);
    let run = |sim: &mut dyn Simulation, batch| {
        for edit in [
            "lif.tau_m=12",
            "lif.tau_syn=8",
            "lif.v_threshold=-46.5",
            "lif.v_rest=-53",
            "lif.v_reset=-55",
            "lif.t_refractory=1",
            "lif.w_syn=0.4",
            "interventions.0.rate_hz=300",
            "interventions.3.current_mv=2",
            "interventions.1.enabled=false",
            "measure.rate_bin_ms=2",
            "interventions.7.factor=0.3",
            "lif.v_rest=-52",
        ] {
            advance(sim, 311, batch);
            let change = path::parse(&busy(), edit).expect("an edit");
            assert_eq!(sim.set(&change).expect("taken up"), Taken::Applied, "{edit}");
            sim.act(&Action { name: "kick".into(), elements: vec![3, 9, 3], values: vec![Value::Real(4.0)] })
                .expect("kicks");
        }
        let rows = Change { id: ParamId::list(4), value: Value::Rows(vec![]) };
        sim.set(&rows).expect("no interventions");
        sim.act(&Action { name: "kick".into(), elements: vec![3, 9], values: vec![Value::Real(80.0)] }).expect("kicks");
        let state = sim.save().expect("saves");
        sim.load(&state).expect("loads");
        advance(sim, 500, batch)
    };
    let want = run(&mut cpu::<f64>(&busy(), &setup), 1000);
    for batch in [1000, 13, 1] {
        assert_eq!(run(&mut cuda::<f64>(&busy(), &setup, &gpu), batch), want, "batches of {batch}");
    }
}

/// All probes but `active`, which counts what a backend looks at.
#[test]
fn probes_read_the_same() {
    let Some(gpu) = gpu() else { return };
    let setup = setup(10);
    let mut params = busy();
    params.measure.group_by = "ei".to_owned();
    let taps: Vec<Tap> = (0..probes::PROBES.len() as u16)
        .map(|probe| Tap { probe, elements: if matches!(probe, probes::V | probes::G) { vec![4, 90] } else { vec![] } })
        .collect();
    let run = |sim: &mut dyn Simulation, batch: u32| {
        sim.tap(&taps).expect("all tapped");
        let mut all = Frame::default();
        for at in (0..2000).step_by(batch as usize) {
            sim.advance(batch.min(2000 - at), &mut Pass::default()).expect("runs");
            let mut frame = Frame { clock: sim.clock(), ..Frame::default() };
            sim.sample(&mut frame).expect("reads");
            all.absorb(frame);
        }
        all.readings.retain(|(probe, _)| *probe != probes::ACTIVE);
        all
    };
    let want = run(&mut cpu::<f64>(&params, &setup), 2000);
    for batch in [2000, 13, 1] {
        let got = run(&mut cuda::<f64>(&params, &setup, &gpu), batch);
        for ((probe, want), (_, got)) in want.readings.iter().zip(&got.readings) {
            assert_eq!(want, got, "{}, batches of {batch}", probes::PROBES[usize::from(*probe)].name);
        }
        assert_eq!(want.readings.len(), got.readings.len());
    }
    assert!(matches!(want.reading(probes::SPIKES), Some(Reading::Spikes(s)) if s.len() > 50));
}

/// Noisy leaky units with everything on them.
fn leaky() -> Params {
    let mut params = busy();
    params.network.model = NeuronModel::NoisyLeaky;
    for v in &mut params.interventions {
        (v.weight_mv, v.current_mv) = (0.01 * v.weight_mv, 0.03 * v.current_mv);
        (v.from_ms, v.to_ms) = (10.0 * v.from_ms, 10.0 * v.to_ms);
    }
    params
}

#[test]
fn leaky_units_are_the_same_on_both() {
    let Some(gpu) = gpu() else { return };
    let (setup, params) = (setup(12), leaky());
    let on_cpu = || LeakySim::new(&params, &scene(), setup.clone(), 2).expect("it starts");
    let on_gpu = || cuda::<f32>(&params, &setup, &gpu);
    let mut reference = on_cpu();
    let want = advance(&mut reference, 2500, 2500);
    assert!(reference.digest().totals[0].1 > 1000, "{want}");
    for batch in [2500, 7, 1] {
        let mut sim = on_gpu();
        assert_eq!(advance(&mut sim, 2500, batch), want, "batches of {batch}");
        assert_eq!(sim.unit_potentials().expect("v"), reference.states(), "batches of {batch}");
        sim.rewind().expect("rewinds");
        assert_eq!(advance(&mut sim, 2500, 333), want, "after a rewind");
    }
    for cut in [1, 17, 1999] {
        let (mut gpu_sim, mut cpu_sim) = (on_gpu(), on_cpu());
        advance(&mut gpu_sim, cut, 100);
        let state = gpu_sim.save().expect("saves");
        cpu_sim.load(&state).expect("the CPU loads it");
        assert_eq!(advance(&mut cpu_sim, 2500 - cut, 500), want, "from the GPU to the CPU at {cut}");
        let mut cpu_sim = on_cpu();
        advance(&mut cpu_sim, cut, 100);
        gpu_sim.load(&cpu_sim.save().expect("saves")).expect("the GPU loads it");
        assert_eq!(advance(&mut gpu_sim, 2500 - cut, 41), want, "from the CPU to the GPU at {cut}");
    }
    let edited = |sim: &mut dyn Simulation, batch| {
        for edit in ["leaky.noise_amplitude=0.5", "leaky.decay=0.8", "interventions.1.enabled=false", "lif.tau_m=9"] {
            advance(sim, 211, batch);
            assert_eq!(sim.set(&path::parse(&leaky(), edit).expect("an edit")).expect("taken up"), Taken::Applied);
            sim.act(&Action { name: "kick".into(), elements: vec![3, 9, 3], values: vec![Value::Real(0.4)] })
                .expect("kicks");
        }
        let taps = [probes::V, probes::G].map(|probe| Tap { probe, elements: vec![4, 90] });
        sim.tap(&taps).expect("tapped");
        let digest = advance(sim, 500, batch);
        let mut frame = Frame::default();
        sim.sample(&mut frame).expect("reads");
        (digest, frame.readings)
    };
    let want = edited(&mut on_cpu(), 1000);
    assert_eq!(edited(&mut on_gpu(), 1000), want);
    assert_eq!(edited(&mut on_gpu(), 3), want);
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
    println!("noisy leaky units, 1000 steps: {want}");
}

/// Everybody fires in nearly every step: rings overflow, windows are shortened, spikes are sorted by the host.
#[test]
fn more_spikes_than_anybody_expects() {
    let Some(gpu) = gpu() else { return };
    let net = neuropil::data::generate::balanced(20_000, 20, 0.8, 6, 33, 1, &|_, _| true).expect("generates");
    let setup = Arc::new(Setup::new(net).expect("a network"));
    let mut params = Params::default();
    params.lif.v_threshold = -52.5; // below rest: fires as soon as it may
    params.lif.t_refractory = 0.0;
    params.interventions.push(Intervention {
        rate_hz: 5000.0,
        weight_mv: 1.5,
        ..intervention(Effect::Noise, "all", 0.0, 0.0)
    });
    let want = advance(&mut cpu::<f64>(&params, &setup), 120, 120);
    assert_eq!(advance(&mut cuda::<f64>(&params, &setup, &gpu), 120, 120), want);
    let tuning = Tuning { ring: 600_000, ..Tuning::default() };
    let mut tight = CudaSim::<f64>::tuned(&params, &scene(), setup, &gpu, tuning).expect("it starts");
    assert_eq!(advance(&mut tight, 120, 120), want, "in rings that overflow");
}

fn shared() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared");
    let found = std::env::var_os("NEUROPIL_SHARED").map_or(beside, PathBuf::from);
    if !found.join("data").exists() {
        skipped("no ../shared: the big networks were not run");
        return None;
    }
    Some(found)
}

/// The networks of the benchmarks, read once.
fn fly(shared: &Path) -> Arc<Setup> {
    let mut params = Params::default();
    params.network.source = Source::Files;
    params.network.path = shared.join("data/fly_standin").display().to_string().into();
    Arc::new(Card::prepare(&params, &Scene::default(), &Progress::default()).expect("the network"))
}

fn drive(shared: &Path, case: &str) -> Params {
    let mut params = Params::default();
    let list = |name: &str| format!("file = '{}'", shared.join(format!("data/fly_standin/stim_{name}.csv")).display());
    params.interventions.push(match case {
        "broad10" => Intervention { rate_hz: 200.0, weight_mv: 1.0, ..intervention(Effect::Noise, "all", 0.0, 0.0) },
        name => intervention(Effect::Poisson, &list(name), 0.0, 0.0),
    });
    params
}

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
    for (batch, graph, deliver_warps) in [(1, 1, 32), (7, 64, 8), (1000, 16, 64)] {
        let tuning = Tuning { graph, deliver_warps, ..Tuning::default() };
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

/// The deterministic references of Brian2 (tests/golden_spiking.rs holds the CPU to them): same hash on both backends,
/// and as many spikes.
#[test]
fn kicks_of_the_references() {
    let (Some(gpu), Some(shared)) = (gpu(), shared()) else { return };
    for (folder, steps, want) in [("flywire630/p9_subnet", 10_000, 1_054), ("fly_standin", 2_000, 18_801)] {
        let folder = shared.join("data").join(folder);
        let mut params = Params::default();
        params.network.source = Source::Files;
        params.network.path = folder.display().to_string().into();
        params.stimulus.kicks = folder.join("kicks_A.csv").display().to_string().into();
        let setup = Card::prepare(&params, &Scene::default(), &Progress::default()).expect("the network");
        let setup = Arc::new(setup);
        let on_gpu = advance(&mut cuda::<f64>(&params, &setup, &gpu), steps, 777);
        assert_eq!(on_gpu, advance(&mut cpu::<f64>(&params, &setup), steps, 1000), "{folder:?}");
        assert!(on_gpu.contains(&format!("(\"spikes\", {want})")), "{on_gpu}");
        let single = advance(&mut cuda::<f32>(&params, &setup, &gpu), steps, 777);
        assert_eq!(single, advance(&mut cpu::<f32>(&params, &setup), steps, 1000), "{folder:?}, single precision");
        println!("{}: double {on_gpu}, single {single}", folder.display());
    }
}

/// Everything the kernels do, in 20 ms of the fly: what compute-sanitizer is run over.
#[test]
fn a_short_run_of_the_fly() {
    let (Some(gpu), Some(shared)) = (gpu(), shared()) else { return };
    let setup = fly(&shared);
    let mut params = leaky();
    let mut reference = LeakySim::new(&params, &scene(), setup.clone(), 2).expect("it starts");
    let want = advance(&mut reference, 20, 20);
    assert_eq!(advance(&mut cuda::<f32>(&params, &setup, &gpu), 20, 7), want, "noisy leaky units");
    params = busy();
    let want = advance(&mut cpu::<f32>(&params, &setup), 200, 200);
    assert_eq!(advance(&mut cuda::<f32>(&params, &setup, &gpu), 200, 61), want, "everything at once");
    for case in ["gustatory408", "broad10"] {
        let params = drive(&shared, case);
        let want = advance(&mut cpu::<f64>(&params, &setup), 200, 200);
        let mut sim = cuda::<f64>(&params, &setup, &gpu);
        let traces = Tap { probe: probes::V, elements: vec![5, 77, 100_000] };
        sim.tap(&[traces, Tap { probe: probes::V_FIELD, elements: vec![] }]).expect("tapped");
        assert_eq!(advance(&mut sim, 200, 67), want, "{case}");
        sim.sample(&mut Frame::default()).expect("reads");
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
                let tap = |probe| Tap { probe, elements: vec![] };
                let taps = [probes::SPIKES, probes::RATE, probes::CLASS_RATES, probes::LAST_SPIKE].map(tap);
                engine.send(Command::Watch(taps.to_vec()));
            }
            engine.send(Command::Play);
            let step = || Gauges::read(&engine.gauges.step);
            std::thread::sleep(Duration::from_millis(700));
            let (from, since) = (step(), Instant::now());
            let mut frames = 0;
            while since.elapsed() < Duration::from_millis(1500) {
                std::thread::sleep(Duration::from_micros(16_667));
                frames += usize::from(watches && engine.take_frame().is_some());
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

/// Runs for NEUROPIL_MINUTES (a second without it): device memory stays where it was.
#[test]
fn memory_does_not_grow() {
    let Some(gpu) = gpu() else { return };
    let minutes: f64 = std::env::var("NEUROPIL_MINUTES").ok().and_then(|m| m.parse().ok()).unwrap_or(1.0 / 60.0);
    let setup = setup(11);
    let mut sim = Card::start(
        &Params { lif: Lif { precision: Precision::F32, ..Lif::default() }, ..busy() },
        &scene(),
        setup,
        &Device::Cuda(gpu.clone()),
    )
    .expect("it starts");
    let spikes = [Tap { probe: probes::SPIKES, elements: vec![] }, Tap { probe: probes::V_FIELD, elements: vec![] }];
    sim.tap(&spikes).expect("tapped");
    let mut batch = || {
        sim.advance(5000, &mut Pass::default()).expect("runs");
        sim.sample(&mut Frame::default()).expect("reads");
    };
    (0..10).for_each(|_| batch());
    let before = gpu.memory().expect("memory").free;
    let since = Instant::now();
    let mut batches = 0;
    while since.elapsed() < Duration::from_secs_f64(60.0 * minutes) {
        batch();
        batches += 1;
    }
    let after = gpu.memory().expect("memory").free;
    println!(
        "{batches} batches in {:.0} s, {} bytes of device memory taken",
        since.elapsed().as_secs_f64(),
        before - after
    );
    assert!(before.saturating_sub(after) < 1 << 20, "{before} bytes free before, {after} after");
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
        ("graph 64", Tuning { graph: 64, ..plain }),
        ("deliver 8 warps", Tuning { deliver_warps: 8, ..plain }),
        ("deliver 64 warps", Tuning { deliver_warps: 64, ..plain }),
        ("always dense", Tuning { dense_chunks: 0, ..plain }),
        ("never dense", Tuning { dense_chunks: u32::MAX, ..plain }),
    ];
    let wanted = |var: &str, name: &str| std::env::var(var).map_or(true, |only| only == name);
    for case in ["sugar21", "gustatory408", "broad10"].into_iter().filter(|c| wanted("NEUROPIL_CASE", c)) {
        for (name, tuning) in shapes.into_iter().filter(|(s, _)| wanted("NEUROPIL_SHAPE", s)) {
            let params = drive(&shared, case);
            let mut sim = CudaSim::<f64>::tuned(&params, &scene(), setup.clone(), &gpu, tuning).expect("it starts");
            sim.tap(&[Tap { probe: probes::SPIKES, elements: vec![] }]).expect("tapped");
            advance_plainly(&mut sim, 2000);
            let since = Instant::now();
            advance_plainly(&mut sim, 20_000);
            let factor = 2.0 / since.elapsed().as_secs_f64();
            let mut pass = Pass { profiled: true, ..Pass::default() };
            for _ in 0..4 {
                sim.advance(1152, &mut pass).expect("it runs");
                sim.sample(&mut Frame::default()).expect("it reads");
            }
            let kernels: Vec<String> = pass
                .timings
                .iter()
                .map(|t| format!("{} {:.2}", t.name, t.nanos as f64 * 1e-3 / f64::from(t.launches.max(1))))
                .collect();
            println!("{case:13} {name:18} {factor:7.1}x  µs with events: {}", kernels.join("  "));
        }
    }
}

fn advance_plainly(sim: &mut dyn Simulation, steps: u32) {
    for _ in 0..steps.div_ceil(4000) {
        sim.advance(4000.min(steps), &mut Pass::default()).expect("it runs");
        sim.sample(&mut Frame::default()).expect("it reads");
    }
}
