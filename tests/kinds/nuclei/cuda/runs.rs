//! Whole generations on the GPU: the references, the CPU, other launches, saved states, long runs.

use super::{
    device::{gpu, within, worse},
    golden::{self, Golden},
};
use neuropil::{
    gpu::{Gpu, Pass},
    kinds::nuclei::{
        ChildBase, CouplingMethod, CouplingNorm, Dynamics, FitnessMethod, FuseKey, Integrator, NucleiKind, OrderUsed,
        Params, Storage,
        cpu::CpuSim,
        cuda::{CudaSim, Tuning, generation::Tile},
        events::Events,
        probes,
        state::State,
        task::{self, Problem, Setup},
    },
    params::path,
    sim::{Action, BuildContext, DeviceKind, Frame, Kind, Progress, Reading, Simulation, Tap},
};
use std::sync::Arc;

/// Events without errors, which a GPU copies for a tapped lineage only; `lives` compares them.
pub fn slots_of(events: &Events) -> Events {
    Events { errors: vec![], ..events.clone() }
}

pub fn setup(params: &Params) -> Arc<Setup> {
    Arc::new(task::prepare(params, &scene(), &Progress::default()).expect("a task"))
}

pub fn scene() -> BuildContext {
    BuildContext { seed: 5, ..BuildContext::default() }
}

pub fn start(params: &Params, gpu: &Arc<Gpu>, tuning: Tuning) -> CudaSim {
    CudaSim::tuned(params, &scene(), setup(params), gpu, tuning).expect("it starts")
}

pub fn advance(sim: &mut dyn Simulation, steps: u32) {
    sim.advance(steps, &mut Pass::default()).expect("it runs");
}

/// Largest difference of two phases.
pub fn turned(a: &[f32], b: &[f64]) -> f64 {
    let off = |(a, b): (&f32, &f64)| {
        let d = (f64::from(*a) - b).rem_euclid(std::f64::consts::TAU);
        d.min(std::f64::consts::TAU - d)
    };
    a.iter().zip(b).map(off).fold(0.0, worse)
}

/// A small population with all events.
pub fn lively() -> Params {
    let mut params = Params::default();
    (params.population.n_start, params.population.capacity) = (200, 700);
    (params.population.death_rate, params.population.worst_share) = (0.02, 0.03);
    params
}

/// Parameters of a reference file: see `golden_nuclei.rs`.
fn params_of(golden: &Golden) -> Params {
    let text = std::fs::read_to_string(golden::folder("nuclei").join("manifest.json")).expect("a manifest");
    let manifest: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let config = manifest[golden.name.as_str()]["text"]["config"].as_str().expect("a configuration");
    let config: serde_json::Value = serde_json::from_str(config).expect("JSON in it");
    let number = |key: &str| config[key].as_f64().unwrap_or_else(|| panic!("{key}"));
    let mut params = Params::default();
    let p = &mut params.population;
    (p.k_worst, p.m_fuse) = (number("k_worst") as u32, number("m_fuse") as u32);
    (p.c_new, p.n_min) = (number("c_new") as u32, number("n_min") as u32);
    (p.sigma, p.death_rate) = (number("sigma"), number("death_rate"));
    p.capacity = golden.shape("pre_W")[0] as u32;
    p.fuse_key = match config["fuse_key"].as_str() {
        Some("entropy") => FuseKey::Entropy,
        Some("fitness") => FuseKey::Fitness,
        _ => FuseKey::Hybrid,
    };
    p.child_base = if config["child_base"] == "fused" { ChildBase::Fused } else { ChildBase::Best };
    let t = &mut params.tunnelling;
    (t.r_threshold, t.prefactor, t.hbar, t.width) = (number("R_th"), number("C"), number("hbar"), number("dR"));
    t.seen = if config["p_mode"] == "scalar" { OrderUsed::Global } else { OrderUsed::Local };
    let phases = &mut params.phases;
    (phases.coupling, phases.dt, phases.omega_scale) = (number("K"), number("dt"), number("omega_scale"));
    phases.substeps = number("substeps") as u32;
    phases.norm = if config["norm"] == "row" { CouplingNorm::Row } else { CouplingNorm::Number };
    params
}

#[test]
fn generations_match_the_reference() {
    let Some(gpu) = gpu() else { return };
    for golden in golden::all("nuclei", "generation_").iter().filter(|g| g.has("pre_W")) {
        for method in [CouplingMethod::Naive, CouplingMethod::Tiled, CouplingMethod::Fast] {
            let mut params = params_of(golden);
            params.coupling.method = method;
            one_generation(golden, &params, &gpu);
        }
    }
}

fn one_generation(golden: &Golden, params: &Params, gpu: &Arc<Gpu>) {
    let [capacity, dim] = golden.shape("pre_W")[..] else { panic!("a matrix") };
    let mut state = State::<f32>::empty(capacity, dim).expect("memory");
    for slot in 0..capacity {
        let row = golden.row("pre_W", slot).iter().map(|w| *w as f32);
        state.row_mut(slot as u32).iter_mut().zip(row).for_each(|(to, w)| *to = w);
        state.alive[slot] = golden.get("pre_alive")[slot] as u8;
        (state.phi[slot], state.omega[slot]) =
            (golden.get("pre_phi")[slot] as f32, golden.get("pre_omega")[slot] as f32);
    }
    state.compact();
    let problem = Problem { x: golden.get("X").to_vec(), y: golden.get("y").to_vec(), inputs: dim };
    let scene = BuildContext { seed: golden.one("seed") as u64, ..BuildContext::default() };
    let setup = Arc::new(Setup::new(problem, "reference".to_owned()));
    let mut sim = CudaSim::new(params, &scene, setup, gpu).expect("it starts");
    sim.put(&state, 0).expect("it is taken");
    advance(&mut sim, 1);
    let (name, events, after) = (&golden.name, &sim.host().events, sim.state().expect("it reads"));
    let whole = |slots: &[u32]| slots.iter().map(|s| i64::from(*s)).collect::<Vec<_>>();
    let sorted = |mut slots: Vec<i64>| {
        slots.sort_unstable();
        slots
    };
    let fuses = golden.one("fuse") != 0.0;
    let fused = if fuses { sorted(golden.whole("F")) } else { vec![] };
    assert_eq!(sorted(whole(&events.fused)), fused, "{name}: fused");
    let decays = golden.whole("W3").into_iter().zip(golden.get("decays")).filter(|(_, d)| **d != 0.0).map(|(s, _)| s);
    assert_eq!(whole(&events.decayed), decays.collect::<Vec<_>>(), "{name}: decayed");
    let born: Vec<u32> = events.born.iter().map(|(child, _)| *child).collect();
    assert_eq!(sorted(whole(&born)), sorted(golden.whole("born")), "{name}: born");
    assert_eq!(whole(&events.died), golden.whole("died"), "{name}: died");
    for slot in 0..capacity {
        assert_eq!(f64::from(after.alive[slot]), golden.get("post_alive")[slot], "{name}: {slot} lives");
        if after.alive[slot] != 0 {
            assert_eq!(i64::from(after.birth[slot]), golden.whole("post_birth")[slot], "{name}: birth of {slot}");
            assert_eq!(i64::from(after.parent[slot]), golden.whole("post_parent")[slot], "{name}: parent of {slot}");
        }
    }
    assert_eq!(i64::from(events.missing), golden.whole("missing")[0], "{name}: missing");
    let now = sim.host().stats;
    assert_eq!((now.n as i64, after.n() as i64), (golden.whole("N_before")[0], golden.whole("N_after")[0]));
    let w = (0..capacity).flat_map(|s| after.row(s as u32).iter().zip(golden.row("post_W", s)));
    within(&format!("{name}, weights"), w.map(|(g, w)| (f64::from(*g) - w).abs()).fold(0.0, worse), 1e-6);
    within(&format!("{name}, phases"), turned(&after.phi, golden.get("post_phi")), 1e-6);
    for (key, got) in [("r", now.r), ("RJ", now.r_j), ("P", now.p_dec), ("T", now.temperature)] {
        within(&format!("{name}, {key}"), (got - golden.one(key)).abs(), 1e-6);
    }
}

/// The same events as on the CPU, as long as rounding does not change a decision, and consistent totals.
#[test]
fn runs_match_the_cpu() {
    let Some(gpu) = gpu() else { return };
    let mut shy = lively();
    (shy.population.fuse_key, shy.population.child_base) = (FuseKey::Fitness, ChildBase::Parent);
    (shy.population.attempts_per_step, shy.population.capacity) = (0.7, 230);
    let mut compat = Params::compat();
    (compat.population.n_start, compat.population.capacity) = (90, 300);
    for (name, params) in [("lively", lively()), ("a full table", shy), ("compat", compat)] {
        let mut sim = start(&params, &gpu, Tuning::default());
        let mut cpu = CpuSim::<f32>::new(&params, &scene(), setup(&params), 2).expect("it starts");
        for generation in 0..60 {
            advance(&mut sim, 1);
            advance(&mut cpu, 1);
            let (a, b) = (cpu.host(), sim.host());
            assert_eq!(slots_of(&a.events), slots_of(&b.events), "{name}, generation {generation}");
            assert_eq!(a.ledger, b.ledger, "{name}, generation {generation}");
        }
        let (want, got) = (cpu.state(), sim.state().expect("it reads"));
        assert_eq!((&want.idx, &want.free, &want.birth, &want.parent), (&got.idx, &got.free, &got.birth, &got.parent));
        let w = want.w.iter().zip(&got.w).map(|(a, b)| f64::from((a - b).abs())).fold(0.0, worse);
        within(&format!("{name}, weights after 60 generations"), w, 1e-4);
        let phi: Vec<f64> = want.phi.iter().map(|x| f64::from(*x)).collect();
        within(&format!("{name}, phases after 60 generations"), turned(&got.phi, &phi), 1e-3);
        assert_eq!(sim.host().ledger.n(), got.n() as u64, "{name}: the ledger");
    }
}

/// Trajectories of phases alone, and the maps.
#[test]
fn phases_match_the_cpu() {
    let Some(gpu) = gpu() else { return };
    let mut cases = vec![];
    for integrator in [Integrator::Euler, Integrator::Rk4, Integrator::Heun] {
        for (noise, norm, method) in [
            (0.0, CouplingNorm::Row, CouplingMethod::Tiled),
            (0.3, CouplingNorm::Number, CouplingMethod::Fast),
            (0.0, CouplingNorm::Number, CouplingMethod::MeanField),
        ] {
            let mut params = Params::default();
            (params.phases.integrator, params.phases.noise, params.phases.norm) = (integrator, noise, norm);
            params.coupling.method = method;
            cases.push(params);
        }
    }
    for dynamics in [Dynamics::QkmCovariant, Dynamics::QkmCompat, Dynamics::Still] {
        let mut params = Params::default();
        (params.phases.dynamics, params.phases.coupling) = (dynamics, 0.01);
        cases.push(params);
    }
    for mut params in cases {
        (params.population.n_start, params.population.capacity) = (1500, 1500);
        (params.population.k_worst, params.population.m_fuse, params.population.death_rate) = (0, 0, 0.0);
        (params.phases.substeps, params.phases.omega_scale) = (3, 1.0);
        let mut sim = start(&params, &gpu, Tuning::default());
        let mut cpu = CpuSim::<f64>::new(&params, &scene(), setup(&params), 2).expect("it starts");
        let frozen = Action::on("freeze", vec![3, 700], vec![neuropil::params::Value::Bool(true)]);
        sim.act(&frozen).expect("it stands still");
        cpu.act(&frozen).expect("it stands still");
        advance(&mut sim, 20);
        advance(&mut cpu, 20);
        let (want, got) = (cpu.state(), sim.state().expect("it reads"));
        let p = &params.phases;
        let what = format!("{:?} {:?} noise {} {:?}", p.dynamics, p.integrator, p.noise, params.coupling.method);
        within(&format!("phases, {what}"), turned(&got.phi, &want.phi), 3e-4);
        let amp = want.amp.iter().zip(&got.amp).map(|(a, b)| (a - f64::from(*b)).abs()).fold(0.0, worse);
        within(&format!("amplitudes, {what}"), amp, 1e-5);
        within("r", (cpu.host().stats.r - sim.host().stats.r).abs(), 1e-4);
    }
}

#[test]
fn results_do_not_depend_on_launches_or_batches() {
    let Some(gpu) = gpu() else { return };
    let run = |tuning: Tuning, batches: &[u32]| {
        let mut sim = start(&lively(), &gpu, tuning);
        batches.iter().for_each(|n| advance(&mut sim, *n));
        (sim.digest(0), sim.save().expect("it saves"))
    };
    let want = run(Tuning::default(), &[90]);
    for (pair_blocks, tile, batch, batches) in [
        (None, None, None, &[90][..]),
        (Some(1), Some(Tile::Large), Some(1), &[90]),
        (Some(77), Some(Tile::Middle), Some(7), &[1, 2, 30, 57]),
    ] {
        assert!(
            run(Tuning { pair_blocks, tile, batch, ..Tuning::default() }, batches) == want,
            "{pair_blocks:?} {tile:?} {batch:?}"
        );
    }
}

/// A saved state continues bit for bit, also through the CPU backend; profiled batches give the same bits.
#[test]
fn saved_states_continue_bit_for_bit() {
    let Some(gpu) = gpu() else { return };
    let mut sim = start(&lively(), &gpu, Tuning::default());
    advance(&mut sim, 25);
    let saved = sim.save().expect("it saves");
    let mut pass = Pass::measuring();
    sim.advance(30, &mut pass).expect("it runs");
    let want = (sim.digest(0), sim.save().expect("it saves"));
    let mut other = start(&lively(), &gpu, Tuning::default());
    other.load(&saved).expect("it loads");
    advance(&mut other, 30);
    assert!((other.digest(0), other.save().expect("it saves")) == want);
    other.rewind().expect("it rewinds");
    advance(&mut other, 25);
    assert!(other.save().expect("it saves") == saved, "from the start again");
    let mut cpu = CpuSim::<f32>::new(&lively(), &scene(), setup(&lively()), 1).expect("it starts");
    cpu.load(&saved).expect("the CPU loads it");
    other.load(&cpu.save().expect("it saves")).expect("and back");
    advance(&mut other, 30);
    assert!((other.digest(0), other.save().expect("it saves")) == want, "through the CPU");
}

/// All probes, actions and live parameters match the CPU.
#[test]
fn probes_actions_and_parameters_match_the_cpu() {
    let Some(gpu) = gpu() else { return };
    let params = lively();
    let mut sim = start(&params, &gpu, Tuning::default());
    let mut cpu = CpuSim::<f32>::new(&params, &scene(), setup(&params), 2).expect("it starts");
    let taps: Vec<Tap> = (0..probes::PROBES.len() as u16)
        .map(|probe| {
            let is_of = matches!(probe, probes::PHASE_OF | probes::FITNESS_OF);
            Tap::elements(probe, if is_of { vec![0, 5] } else { vec![] })
        })
        .collect();
    let both: [&mut dyn Simulation; 2] = [&mut sim, &mut cpu];
    let frames = both.map(|sim| {
        sim.tap(&taps).expect("all tapped");
        let living: Vec<u32> = (0..200).collect();
        for (name, elements, values) in [
            ("kick", &living[..9], vec![neuropil::params::Value::Real(0.5)]),
            ("fuse", &living[20..25], vec![]),
            ("decay", &living[40..43], vec![]),
        ] {
            advance(sim, 4);
            sim.act(&Action::on(name, elements.to_vec(), values)).expect("acts");
        }
        for edit in [
            "phases.coupling=2",
            "coupling.method=Fast",
            "task.storage=F16",
            "population.death_rate=0",
            "phases.integrator=Heun",
        ] {
            let change = path::parse(&params, edit).expect("an edit");
            sim.set(&change).expect("taken up");
            advance(sim, 3);
        }
        let mut frame = Frame::default();
        sim.sample(&mut frame).expect("reads");
        frame
    });
    assert_eq!(frames[0].readings.len(), frames[1].readings.len());
    for ((key, got), (_, want)) in frames[0].readings.iter().zip(&frames[1].readings) {
        let name = probes::PROBES[usize::from(key.probe)].name;
        let (a, b): (&[f32], &[f32]) = match (got, want) {
            (Reading::Series(a), Reading::Series(b)) => {
                assert_eq!((&a.steps, a.lanes, &a.elements), (&b.steps, b.lanes, &b.elements), "{name}");
                (&a.values, &b.values)
            }
            (Reading::Field(a), Reading::Field(b)) => (a, b),
            (Reading::Lineage(a), Reading::Lineage(b)) => {
                super::lives::same(a, b);
                continue;
            }
            _ => {
                assert_eq!(got, want, "{name}");
                continue;
            }
        };
        assert_eq!(a.len(), b.len(), "{name}");
        let odd = a.iter().zip(b).filter(|(a, b)| a.is_nan() != b.is_nan());
        assert_eq!(odd.count(), 0, "{name}: not a number on one of both");
        if key.probe == probes::PHASE || key.probe == probes::PHASE_OF || key.probe == probes::MEAN_PHASE {
            continue; // angles, compared elsewhere
        }
        let off =
            a.iter().zip(b).filter(|(a, _)| !a.is_nan()).map(|(a, b)| f64::from((a - b).abs() / b.abs().max(1.0)));
        within(name, off.fold(0.0, worse), 1e-3);
    }
}

/// Births and deaths alone have the means they must have.
#[test]
fn populations_find_their_balance() {
    let Some(gpu) = gpu() else { return };
    let mut params = Params::population(0.05);
    (params.population.n_start, params.population.capacity) = (130, 1024);
    let mut sim = start(&params, &gpu, Tuning::default());
    sim.tap(&[Tap::of(probes::ALIVE)]).expect("tapped");
    advance(&mut sim, 20_000);
    let mut frame = Frame::default();
    sim.sample(&mut frame).expect("reads");
    let Some(Reading::Series(series)) = frame.reading(probes::ALIVE) else { panic!("a series") };
    let mean = series.values.iter().map(|x| f64::from(*x)).sum::<f64>() / series.values.len() as f64;
    // (k + m) + (c k - (m - 1)) / (1 - e^-lambda), 130.02 before births and deaths of the generation.
    within("mean number of nuclei", (mean - 130.0).abs(), 3.0);
}

/// A long run of 262,144 slots: no two nuclei share a slot, and the ledger holds.
#[test]
fn a_large_population_stays_consistent() {
    let Some(gpu) = gpu() else { return };
    let mut params = Params::default();
    (params.population.n_start, params.population.capacity) = (200_000, 262_144);
    (params.population.worst_share, params.population.death_rate) = (0.012, 0.03);
    // The barrier is open: births fill the table whatever dies.
    (params.population.m_fuse, params.tunnelling.r_threshold) = (100, 0.0);
    let mut sim = start(&params, &gpu, Tuning::default());
    for _ in 0..5 {
        advance(&mut sim, 2000);
        let state = sim.state().expect("it reads");
        assert_eq!(sim.host().ledger.n(), state.n() as u64);
        let population = sim.living().expect("it reads");
        assert_eq!(population, state.idx, "the list of the living is that of the flags");
        assert!(state.n() > 200_000 && sim.host().ledger.overflow > 0, "{:?}", sim.host().ledger);
        let step = sim.clock().step as u32;
        for slot in 0..state.capacity {
            let dead = state.alive[slot] == 0;
            assert!(state.birth[slot] <= step);
            assert!(!dead || state.row(slot as u32).iter().all(|w| *w == 0.0), "{slot} is not empty");
        }
    }
}

#[test]
fn memory_equals_the_prediction() {
    let Some(gpu) = gpu() else { return };
    for (method, storage, samples, fields) in [
        (CouplingMethod::Tiled, Storage::Full, 20, 1),
        (CouplingMethod::Fast, Storage::F16, 100, 1),
        (CouplingMethod::MeanField, Storage::Full, 900, 1),
        (CouplingMethod::Tiled, Storage::Full, 20, 3),
    ] {
        let mut params = lively();
        (params.coupling.method, params.coupling.fields, params.task.storage) = (method, fields, storage);
        (params.task.n_inputs, params.task.n_samples, params.task.method) = (40, samples, FitnessMethod::Direct);
        let held = start(&params, &gpu, Tuning::default()).memory();
        let predicted = NucleiKind::predict(&params, Some(&setup(&params)), DeviceKind::Cuda);
        assert_eq!(predicted, held, "{method:?} {storage:?} {fields}");
        assert_eq!(predicted, NucleiKind::predict(&params, None, DeviceKind::Cuda));
    }
}

#[test]
fn generations_allocate_no_device_memory() {
    let Some(gpu) = gpu() else { return };
    for method in [CouplingMethod::Auto, CouplingMethod::Tiled, CouplingMethod::Fast, CouplingMethod::MeanField] {
        let mut params = lively();
        params.coupling.method = method;
        let mut sim = start(&params, &gpu, Tuning::default());
        let taps: Vec<Tap> = (0..probes::PROBES.len() as u16).map(Tap::of).collect();
        sim.tap(&taps).expect("all tapped");
        // The first reading allocates the buffers that fields are copied through.
        sim.sample(&mut Frame::default()).expect("reads");
        let before = gpu.allocations();
        for _ in 0..20 {
            advance(&mut sim, 10);
            sim.sample(&mut Frame::default()).expect("reads");
        }
        let asked = gpu.allocations() - before;
        let ledger = sim.host().ledger;
        assert!(before > 0 && ledger.n_decay > 100 && ledger.n_died > 100, "{ledger:?}");
        assert_eq!(asked, 0, "{method:?} allocated device memory {asked} times");
    }
}
