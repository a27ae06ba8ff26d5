//! Nuclei against a NumPy reference in double precision: draws, fitness, coupling, whole generations. Every file of a
//! pattern is a case; see tests/golden/nuclei/manifest.json.

use golden::Golden;
use neuropil::{
    gpu::Pass,
    kinds::nuclei::{
        ChildBase, CouplingNorm, FuseKey, OrderUsed, Params,
        cpu::CpuSim,
        random::{RandomAddress, RandomStream},
        real::{Real, wrapped},
        state::State,
        task::{Problem, Setup},
    },
    sim::{BuildContext, Simulation},
};
use neuropil_test_support::golden;
use std::sync::Arc;

/// The largest difference of two lists.
fn worst(a: impl IntoIterator<Item = f64>, b: &[f64]) -> f64 {
    let a: Vec<f64> = a.into_iter().collect();
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

fn seed(golden: &Golden) -> u64 {
    golden.one("seed") as u64
}

fn problem(golden: &Golden) -> Arc<Setup> {
    let (x, y, inputs) = (golden.get("X").to_vec(), golden.get("y").to_vec(), golden.shape("X")[1]);
    Arc::new(Setup::new(Problem { x, y, inputs }, "reference".to_owned()))
}

fn config(name: &str) -> serde_json::Value {
    let text = std::fs::read_to_string(golden::folder("nuclei").join("manifest.json")).expect("a manifest");
    let manifest: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let text = manifest[name]["text"]["config"].as_str().unwrap_or_else(|| panic!("{name} has no config"));
    serde_json::from_str(text).expect("JSON in it")
}

/// Parameters of a reference file.
fn params(name: &str) -> Params {
    let config = config(name);
    let number = |key: &str| config[key].as_f64().unwrap_or_else(|| panic!("{name}: {key}"));
    let count = |key: &str| number(key) as u32;
    let mut params = Params::default();
    let p = &mut params.population;
    (p.k_worst, p.m_fuse, p.c_new, p.n_min) = (count("k_worst"), count("m_fuse"), count("c_new"), count("n_min"));
    (p.sigma, p.death_rate) = (number("sigma"), number("death_rate"));
    p.fuse_key = match config["fuse_key"].as_str() {
        Some("entropy") => FuseKey::Entropy,
        Some("hybrid") => FuseKey::Hybrid,
        Some("fitness") => FuseKey::Fitness,
        other => panic!("{other:?}"),
    };
    p.child_base = match config["child_base"].as_str() {
        Some("fused") => ChildBase::Fused,
        Some("best") => ChildBase::Best,
        Some("parent") => ChildBase::Parent,
        other => panic!("{other:?}"),
    };
    let t = &mut params.tunnelling;
    (t.r_threshold, t.prefactor, t.hbar, t.width) = (number("R_th"), number("C"), number("hbar"), number("dR"));
    t.seen = if config["p_mode"] == "scalar" { OrderUsed::Global } else { OrderUsed::Local };
    let phases = &mut params.phases;
    (phases.coupling, phases.dt, phases.omega_scale) = (number("K"), number("dt"), number("omega_scale"));
    phases.substeps = count("substeps");
    phases.norm = if config["norm"] == "row" { CouplingNorm::Row } else { CouplingNorm::Number };
    params
}

/// The population before the generation of a reference.
fn before<T: Real>(golden: &Golden) -> State<T> {
    let [capacity, dim] = golden.shape("pre_W")[..] else { panic!("a matrix") };
    let mut state = State::empty(capacity, dim).expect("memory");
    for slot in 0..capacity {
        let row = golden.row("pre_W", slot).iter().map(|w| T::of(*w));
        state.row_mut(slot as u32).iter_mut().zip(row).for_each(|(to, w)| *to = w);
        state.alive[slot] = golden.get("pre_alive")[slot] as u8;
        state.phi[slot] = T::of(golden.get("pre_phi")[slot]);
        state.omega[slot] = T::of(golden.get("pre_omega")[slot]);
    }
    state.compact();
    state
}

fn one_generation<T: Real>(golden: &Golden, threads: usize, tolerance: f64) {
    let mut params = params(&golden.name);
    let state = before::<T>(golden);
    params.population.capacity = state.capacity as u32;
    let scene = BuildContext { seed: seed(golden), ..BuildContext::default() };
    let mut sim = CpuSim::<T>::new(&params, &scene, problem(golden), threads).expect("it starts");
    sim.put(state, 0);
    sim.advance(1, &mut Pass::default()).expect("it runs");
    let (name, state, host) = (&golden.name, sim.state(), sim.host());
    let alive = |s: &usize| state.alive[*s] != 0;

    // Events are exact.
    let events = &host.events;
    let fuses = golden.one("fuse") != 0.0;
    let mut chosen: Vec<i64> = golden.whole("F");
    chosen.sort_unstable();
    let mut fused: Vec<i64> = events.fused.iter().map(|s| i64::from(*s)).collect();
    fused.sort_unstable();
    assert_eq!(fused, if fuses { chosen } else { vec![] }, "{name}: fused");
    let decays: Vec<i64> =
        golden.whole("W3").into_iter().zip(golden.get("decays")).filter(|(_, d)| **d != 0.0).map(|(s, _)| s).collect();
    assert_eq!(events.decayed.iter().map(|s| i64::from(*s)).collect::<Vec<_>>(), decays, "{name}: decayed");
    let mut born: Vec<i64> = events.born.iter().map(|(child, _)| i64::from(*child)).collect();
    let mut expected = golden.whole("born");
    born.sort_unstable();
    expected.sort_unstable();
    assert_eq!(born, expected, "{name}: born");
    assert_eq!(events.died.iter().map(|s| i64::from(*s)).collect::<Vec<_>>(), golden.whole("died"), "{name}: died");
    let flags: Vec<f64> = state.alive.iter().map(|a| f64::from(*a)).collect();
    assert_eq!(flags, golden.get("post_alive"), "{name}: alive");
    for slot in (0..state.capacity).filter(alive) {
        assert_eq!(i64::from(state.birth[slot]), golden.whole("post_birth")[slot], "{name}: birth of {slot}");
        assert_eq!(i64::from(state.parent[slot]), golden.whole("post_parent")[slot], "{name}: parent of {slot}");
    }
    assert_eq!(i64::from(events.missing), golden.whole("missing")[0], "{name}: missing");
    assert_eq!(
        (host.stats.n as i64, host.ledger.n() as i64),
        (golden.whole("N_before")[0], golden.whole("N_after")[0])
    );

    // Quantities within the tolerance.
    let w = (0..state.capacity as u32).flat_map(|s| state.row(s).iter().map(|w| w.wide())).collect::<Vec<_>>();
    let w = worst(w, golden.get("post_W"));
    let phi = (0..state.capacity).map(|s| (state.phi[s].wide() - golden.get("post_phi")[s]).abs());
    let phi = phi.map(|d| d.min(std::f64::consts::TAU - d)).fold(0.0, f64::max);
    let scalars = [("r", host.stats.r), ("RJ", host.stats.r_j), ("P", host.stats.p_dec), ("T", host.stats.temperature)];
    let scalars = scalars.map(|(key, got)| (got - golden.one(key)).abs());
    assert!(w <= tolerance && phi <= tolerance, "{name}: W {w:.2e} phi {phi:.2e}");
    assert!(scalars.iter().all(|d| *d <= tolerance), "{name}: {scalars:?}");
}

#[test]
fn golden_nuclei_generations() {
    for golden in golden::all("nuclei", "generation_").iter().filter(|g| g.has("pre_W")) {
        for threads in [1, 2] {
            one_generation::<f64>(golden, threads, 1e-12);
            one_generation::<f32>(golden, threads, 1e-6);
        }
    }
}

/// 160 generations of the default preset with resting frequencies.
#[test]
fn golden_nuclei_generation_trace() {
    for golden in golden::all("nuclei", "generation_trace") {
        let mut params = Params::default();
        let capacity = golden.shape("final_W")[0];
        (params.population.n_start, params.population.capacity) = (golden.row("trace", 0)[0] as u32, capacity as u32);
        params.phases.omega_scale = 0.0;
        let scene = BuildContext { seed: seed(&golden), ..BuildContext::default() };
        let mut sim = CpuSim::<f64>::new(&params, &scene, problem(&golden), 1).expect("it starts");
        let mut far = [0.0_f64; 11];
        for (g, row) in (0..golden.shape("trace")[0]).map(|g| (g, golden.row("trace", g))) {
            sim.advance(1, &mut Pass::default()).expect("it runs");
            let (host, now) = (sim.host(), sim.host().stats);
            let counts = [
                now.n,
                host.ledger.n(),
                u64::from(!host.events.fused.is_empty()),
                host.events.decayed.len() as u64,
                host.events.died.len() as u64,
            ];
            assert_eq!(counts.map(|c| c as f64), [row[0], row[1], row[8], row[9], row[10]], "generation {g}");
            let got = [now.r, now.r_j, now.p_dec, now.f_best, now.f_mean, now.h_mean];
            for (far, (got, want)) in far.iter_mut().zip(got.iter().zip(&row[2..8])) {
                *far = far.max((got - want).abs());
            }
        }
        assert!(far.iter().all(|d| *d <= 1e-8), "{far:?}");
        let state = sim.state();
        let flags = state.alive.iter().map(|a| f64::from(*a));
        assert_eq!(worst(flags, golden.get("final_alive")), 0.0);
        let w = (0..capacity as u32).flat_map(|s| state.row(s).to_vec());
        assert!(worst(w, golden.get("final_W")) < 1e-8);
    }
}

#[test]
fn golden_nuclei_draws() {
    for golden in golden::all("nuclei", "philox") {
        let seed = 0x1234_5678_90ab_cdef_u64; // a double cannot hold 64 bits
        assert_eq!(golden.one("seed"), seed as f64);
        let draw = RandomAddress { seed, stream: RandomStream::Decay, generation: 7 };
        for slot in 0..32 {
            let words = draw.words(slot, 0).map(f64::from);
            assert_eq!(words, golden.row("words_stream4_step7_slots0_31", slot as usize));
            assert_eq!(draw.uniform(slot), golden.get("uniform_stream4_step7_slots0_31")[slot as usize]);
            assert_eq!(f64::from(draw.uniform(slot) as f32), draw.uniform(slot), "exact in single precision");
        }
        let draw = RandomAddress { seed, stream: RandomStream::Mut, generation: 3 };
        for slot in 0..16 {
            let mut row = vec![];
            draw.each_normal(slot, 10, |_, x| row.push(x));
            assert!(worst(row, golden.row("normals_stream6_step3_slots0_15_D10", slot as usize)) < 1e-13);
        }
        for case in 0..golden.shape("ctr")[0] {
            let [ctr, key, out] =
                ["ctr", "key", "out"].map(|k| golden.row(k, case).iter().map(|x| *x as u32).collect::<Vec<_>>());
            let words = neuropil::num::rng::philox4x32([ctr[0], ctr[1], ctr[2], ctr[3]], [key[0], key[1]]);
            assert_eq!(words[..], out[..]);
        }
        assert!((wrapped(4.0_f64) - (4.0 - std::f64::consts::TAU)).abs() < 1e-15);
    }
}
