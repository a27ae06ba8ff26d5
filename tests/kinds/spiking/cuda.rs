//! Spiking networks on the GPU: the same bits as on the CPU. Needs an NVIDIA GPU, and says so when there is none.

use crate::device::gpu;
use crate::spiking::{device, non_finite, small_network as network};
use device::{advance, cpu, cuda, drive, fly, scene, shared};
use network::{busy, intervention, setup};
use neuropil::{
    gpu::{Gpu, Pass},
    kinds::spiking::{
        Effect, Intervention, Lif, NeuronModel, Params,
        constants::Real,
        cpu::leaky::LeakySim,
        cuda::{CudaSim, PersistentMode, Tuning},
        probes,
        setup::Setup,
    },
    params::{Change, ParamId, Params as _, Value, path},
    sim::{Action, Effect as Taken, Frame, Reading, Simulation, Tap},
};
use std::sync::Arc;

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
    assert!(a.digest(0).totals[0].1 > 50, "{:?}", a.digest(0));
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

/// Drawn start potentials, some above the threshold: first states, all later ones, a rewind and other seeds.
#[test]
fn drawn_start_potentials_are_those_of_the_cpu() {
    fn check<T: Real>(gpu: &Arc<Gpu>, base: &Params, start: &str) {
        let mut params = base.clone();
        assert!(params.set(&path::parse(&params, start).expect(start)), "{start}");
        let setup = setup(7);
        for persistent in
            [PersistentMode::Off, PersistentMode::Auto, PersistentMode::Blocks(3), PersistentMode::Reached(4)]
        {
            let tuning = Tuning { persistent, ..Tuning::default() };
            let mut b = CudaSim::<T>::tuned(&params, &scene(), setup.clone(), gpu, tuning).expect("it starts");
            let mut a = cpu::<T>(&params, &setup);
            let first = a.states();
            assert!(first.iter().any(|(u, _)| *u != 0.0), "{start}");
            assert_eq!(b.states().expect("states"), first, "{start} {tuning:?}");
            let want = advance(&mut a, 2000, 2000);
            assert_eq!(advance(&mut b, 2000, 333), want, "{start} {tuning:?}");
            assert_eq!(b.states().expect("states"), a.states(), "{start} {tuning:?}");
            b.rewind().expect("rewinds");
            assert_eq!(b.states().expect("states"), first, "after a rewind");
            assert_eq!(advance(&mut b, 2000, 2000), want, "after a rewind");
            assert!(a.restart(11).expect("restarts") && b.restart(11).expect("restarts"));
            assert_ne!(a.states(), first);
            assert_eq!(b.states().expect("states"), a.states(), "of another seed");
            assert_eq!(advance(&mut b, 1000, 70), advance(&mut a, 1000, 1000), "of another seed");
        }
    }
    let Some(gpu) = gpu() else { return };
    for start in [
        "lif.start=AroundRest(spread: Uniform(half_width: 9 mV))",
        "lif.start=AroundRest(spread: Normal(sigma: 4 mV))",
        "lif.start=Drawn(v: normal(-47, 2))",
    ] {
        for base in [busy(), Params::default()] {
            check::<f64>(&gpu, &base, start);
            check::<f32>(&gpu, &base, start);
        }
    }
}

#[test]
fn launch_parameters_change_nothing() {
    let Some(gpu) = gpu() else { return };
    let (setup, params) = (setup(6), busy());
    let want = advance(&mut cpu::<f64>(&params, &setup), 3000, 3000);
    let shapes = [(1, 1, 0), (8, 64, u32::MAX), (64, 8, 100), (5, 16, 1000)];
    let persistent =
        [PersistentMode::Off, PersistentMode::Reached(3), PersistentMode::Blocks(3), PersistentMode::Blocks(61)];
    for ((graph, deliver_warps, dense_chunks), persistent) in
        persistent.into_iter().flat_map(|r| shapes.map(|s| (s, r)))
    {
        let tuning = Tuning { graph, deliver_warps, dense_chunks, persistent, ..Tuning::default() };
        let mut sim = CudaSim::<f64>::tuned(&params, &scene(), setup.clone(), &gpu, tuning).expect("it starts");
        assert_eq!(advance(&mut sim, 3000, 1234), want, "{tuning:?}");
    }
}

/// All delivery methods give the same sums, up to 8-bit quantisation, and change nothing.
#[test]
fn delivery_methods_agree() {
    let Some(gpu) = gpu() else { return };
    let setup = setup(6);
    let want = advance(&mut cpu::<f64>(&busy(), &setup), 3000, 3000);
    let mut params = busy();
    params.measure.variants = true;
    for persistent in [PersistentMode::Auto, PersistentMode::Off, PersistentMode::Reached(4)] {
        let tuning = Tuning { persistent, ..Tuning::default() };
        let mut sim = CudaSim::<f64>::tuned(&params, &scene(), setup.clone(), &gpu, tuning).expect("it starts");
        let mut pass = Pass::measuring();
        for _ in 0..30 {
            sim.advance(100, &mut pass).expect("it runs");
            gpu.synchronize().expect("waits");
        }
        pass.collect().expect("collects");
        assert_eq!(format!("{:?}", sim.digest(0)), want, "the comparison changed something");
        let row = |name| pass.timings.iter().find(|t| t.name == name).expect("a row");
        let [push, rows, pull] = probes::VARIANTS.map(row);
        assert!(push.items > 0 && push.items == pull.items && push.launches == 30 * 64, "{push:?}");
        assert_eq!((push.off, pull.off), (Some(0.0), Some(0.0)));
        assert!(rows.off.is_some_and(|off| off > 0.0 && off < 0.02), "{rows:?}");
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
            sim.act(&Action::on("kick", vec![3, 9, 3], vec![Value::Real(4.0)])).expect("kicks");
        }
        let rows = Change { id: ParamId::list(4), value: Value::Rows(vec![]) };
        sim.set(&rows).expect("no interventions");
        sim.act(&Action::on("kick", vec![3, 9], vec![Value::Real(80.0)])).expect("kicks");
        let state = sim.save().expect("saves");
        sim.load(&state).expect("loads");
        advance(sim, 500, batch)
    };
    let want = run(&mut cpu::<f64>(&busy(), &setup), 1000);
    for batch in [1000, 13, 1] {
        assert_eq!(run(&mut cuda::<f64>(&busy(), &setup, &gpu), batch), want, "batches of {batch}");
    }
}

/// All probes but `active`, which depends on the backend.
#[test]
fn probes_read_the_same() {
    let Some(gpu) = gpu() else { return };
    let setup = setup(10);
    let mut params = busy();
    params.measure.group_by = "ei".to_owned();
    let taps: Vec<Tap> = (0..probes::PROBES.len() as u16)
        .map(|probe| Tap::elements(probe, if matches!(probe, probes::V | probes::G) { vec![4, 90] } else { vec![] }))
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
        for ((key, want), (_, got)) in want.readings.iter().zip(&got.readings) {
            assert_eq!(want, got, "{}, batches of {batch}", probes::PROBES[usize::from(key.probe)].name);
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
        (v.start, v.stop) = (10.0 * v.start, 10.0 * v.stop);
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
    assert!(reference.digest(0).totals[0].1 > 1000, "{want}");
    for batch in [2500, 7, 1] {
        let mut sim = on_gpu();
        assert_eq!(advance(&mut sim, 2500, batch), want, "batches of {batch}");
        assert_eq!(sim.leaky_potentials().expect("v"), reference.states(), "batches of {batch}");
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
            sim.act(&Action::on("kick", vec![3, 9, 3], vec![Value::Real(0.4)])).expect("kicks");
        }
        let taps = [probes::V, probes::G].map(|probe| Tap::elements(probe, vec![4, 90]));
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

/// Launch parameters that cover every step kernel.
fn all_modes() -> [Tuning; 5] {
    let shapes = [
        (1, PersistentMode::Off),
        (16, PersistentMode::Off),
        (16, PersistentMode::Auto),
        (4, PersistentMode::Blocks(3)),
        (16, PersistentMode::Reached(1)),
    ];
    shapes.map(|(graph, persistent)| Tuning { graph, persistent, ..Tuning::default() })
}

/// The error about the first non-finite state; the digest without one.
fn run_to_error(sim: &mut dyn Simulation) -> String {
    let ran = (0..5).try_for_each(|_| sim.advance(77, &mut Pass::default()));
    ran.map_or_else(|lost| lost.to_string(), |()| format!("{:?}", sim.digest(0)))
}

/// A network for the persistent kernel, with one kick source.
fn plain() -> (Arc<Setup>, Params) {
    let net = neuropil::data::generate::balanced(2_000, 20, 0.8, 6, 33, 1, &|_, _| true).expect("generates");
    let noise = Intervention { rate_hz: 800.0, weight_mv: 1.5, ..intervention(Effect::Noise, "all", 0.0, 0.0) };
    (Arc::new(Setup::new(net).expect("a network")), Params { interventions: vec![noise], ..Params::default() })
}

/// The same error as on the CPU for every launch mode; also after a rewind and a load, from a finite and a non-finite state.
fn non_finite_as_on_the_cpu<T: Real>(gpu: &Arc<Gpu>, setup: &Arc<Setup>, healthy: &Params, sick: &Params) {
    let mut reference = cpu::<T>(sick, setup);
    let start = reference.save().expect("saves");
    let want = run_to_error(&mut reference);
    assert!(want.contains("became NaN or infinite"), "{want}");
    let state = reference.save().expect("saves");
    let mut on_cpu = cpu::<T>(healthy, setup);
    on_cpu.load(&state).expect("loads");
    let want_again = run_to_error(&mut on_cpu);
    for tuning in all_modes() {
        let on_gpu = |params| CudaSim::<T>::tuned(params, &scene(), setup.clone(), gpu, tuning).expect("it starts");
        let mut sim = on_gpu(sick);
        assert_eq!(run_to_error(&mut sim), want, "{tuning:?}, {} bytes", T::BYTES);
        sim.rewind().expect("rewinds");
        assert_eq!(run_to_error(&mut sim), want, "after a rewind");
        sim.load(&start).expect("loads");
        assert_eq!(run_to_error(&mut sim), want, "after a load");
        let mut sim = on_gpu(healthy);
        sim.load(&state).expect("loads");
        assert_eq!(run_to_error(&mut sim), want_again, "non-finite before, {tuning:?}");
        sim.rewind().expect("rewinds");
        assert_eq!(advance(&mut sim, 300, 77), advance(&mut cpu::<T>(healthy, setup), 300, 300), "finite again");
    }
}

#[test]
fn non_finite_states_are_reported_with_neuron_and_step() {
    let Some(gpu) = gpu() else { return };
    let two_neurons = |effect, start| intervention(effect, "idx = 91, 17", start, 0.0);
    let current = |start| Intervention { current_mv: f64::NAN, ..two_neurons(Effect::Current, start) };
    let mut everything = busy();
    everything.interventions.push(current(20.0));
    for (tuning, batch) in all_modes().into_iter().zip([1, 400, 7, 100]) {
        let sim = |setup| CudaSim::<f64>::tuned(&everything, &scene(), setup, &gpu, tuning).expect("it starts");
        non_finite::is_reported(&mut sim(setup(1)), batch);
    }
    let (network, healthy) = plain();
    let mut sick: Vec<Params> = vec![healthy.clone(); 3];
    sick[0].interventions.push(current(3.3));
    let kicks = Intervention { rate_hz: 200.0, weight_mv: f64::INFINITY, ..two_neurons(Effect::Noise, 5.0) };
    sick[1].interventions = vec![kicks];
    sick[2].lif.w_syn = 1e308; // infinity in single precision
    for sick in &sick {
        non_finite_as_on_the_cpu::<f64>(&gpu, &network, &healthy, sick);
        non_finite_as_on_the_cpu::<f32>(&gpu, &network, &healthy, sick);
    }
}

#[test]
fn non_finite_units_are_reported_with_step() {
    let Some(gpu) = gpu() else { return };
    let current =
        |current_mv, start| Intervention { current_mv, ..intervention(Effect::Current, "idx = 91, 17", start, 0.0) };
    let mut everything = leaky();
    everything.interventions.push(current(f64::NAN, 200.0));
    let network = plain().0;
    let mut params = Params::default();
    params.network.model = NeuronModel::NoisyLeaky;
    for (tuning, batch) in all_modes().into_iter().zip([1, 400, 7, 100]) {
        let on_gpu =
            |params: &Params, setup| CudaSim::<f32>::tuned(params, &scene(), setup, &gpu, tuning).expect("it starts");
        non_finite::is_reported(&mut on_gpu(&everything, setup(1)), batch);
        for current_mv in [f64::NAN, f64::NEG_INFINITY] {
            params.interventions = vec![current(current_mv, 33.0)];
            let mut reference = LeakySim::new(&params, &scene(), network.clone(), 2).expect("it starts");
            let want = run_to_error(&mut reference);
            assert!(want.contains("became NaN or infinite"), "{want}");
            let mut sim = on_gpu(&params, network.clone());
            assert_eq!(run_to_error(&mut sim), want, "{tuning:?}");
            sim.rewind().expect("rewinds");
            assert_eq!(run_to_error(&mut sim), want, "after a rewind");
        }
    }
}

/// All neurons fire in nearly every step: rings overflow, windows are shortened, the host sorts spikes.
#[test]
fn overflowing_rings_change_nothing() {
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
    for persistent in [PersistentMode::Off, PersistentMode::Auto, PersistentMode::Blocks(5), PersistentMode::Reached(4)]
    {
        let tuning = Tuning { ring: 600_000, persistent, ..Tuning::default() };
        let mut tight = CudaSim::<f64>::tuned(&params, &scene(), setup.clone(), &gpu, tuning).expect("it starts");
        assert_eq!(advance(&mut tight, 120, 120), want, "in rings that overflow, {persistent:?}");
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
        let traces = Tap::elements(probes::V, vec![5, 77, 100_000]);
        sim.tap(&[traces, Tap::of(probes::V_FIELD)]).expect("tapped");
        assert_eq!(advance(&mut sim, 200, 67), want, "{case}");
        sim.sample(&mut Frame::default()).expect("reads");
    }
}
