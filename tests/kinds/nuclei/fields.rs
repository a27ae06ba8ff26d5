//! Several phase fields of the same nuclei: coupling sums match the formula with every algorithm, runs match theory, and
//! results do not depend on the number of threads.

use crate::nuclei::population;
use neuropil::{
    kinds::{
        nuclei::{
            Coupling as Settings, CouplingMethod, Dynamics, Integrator, Mixing, Params, SentPhase,
            cpu::{
                CpuSim,
                coupling::{
                    Coupling, Kernel,
                    fields::{Amplitude, Fields},
                },
                phases::Oscillators,
            },
            mixing,
            real::Real,
            state::State,
            task,
        },
        shared::threads::Threads,
    },
    params::path,
    sim::{Action, Effect, Progress, Simulation},
};
use population::{advance, cpu, scene};
use std::{f64::consts::TAU, sync::Arc};

/// A number in [0, 1) from a counter.
fn dice(seed: &mut u64) -> f64 {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*seed >> 33) as f64 / (1_u64 << 31) as f64
}

fn far(a: [f64; 2], b: [f64; 2]) -> f64 {
    (a[0] - b[0]).hypot(a[1] - b[1])
}

/// The original model adds e^{i(2φ_k - φ_j)}; in the frame of the nucleus this is e^{2i(φ_k - φ_j)}.
fn seen(s: [f64; 2], z: [f64; 2]) -> [f64; 2] {
    [s[0] * z[0] + s[1] * z[1], s[1] * z[0] - s[0] * z[1]]
}

/// Largest difference between what a run computes and the formula, pair by pair and field by field.
fn off<T: Real>(n: usize, fields: usize, method: CouplingMethod, sent: SentPhase, settings: &Settings) -> f64 {
    let mut seed = (n * 31 + fields) as u64;
    let x: Vec<f64> = (0..n).map(|_| 3.0 * dice(&mut seed)).collect();
    let h: Vec<f64> = (0..n).map(|_| 2.0 * dice(&mut seed)).collect();
    let phi: Vec<f64> = (0..fields * n).map(|_| TAU * dice(&mut seed) - TAU / 2.0).collect();
    let g = mixing::matrix(settings, fields, 3);

    let each = |of: &[f64]| of.iter().flat_map(|x| vec![*x; fields]).collect::<Vec<f64>>();
    let psi: Vec<[f64; 2]> = (0..n * fields)
        .map(|i| phi[i % fields * n + i / fields]) // by nucleus, not by field
        .map(|phi| [phi.cos(), phi.sin()])
        .collect();
    let formula = Fields { x: &each(&x), h: &each(&h), psi: &psi, g: &g, fields };
    let amplitude = if sent == SentPhase::Phase { Amplitude::Covariant } else { Amplitude::Compat };
    let (mut want, same) = (formula.sums(amplitude), formula.factored(amplitude));
    assert!(want.iter().zip(&same).all(|(a, b)| far(*a, *b) < 1e-11 * n as f64), "J factors out");
    if sent == SentPhase::Double {
        want = want.iter().zip(&psi).map(|(s, z)| seen(*s, *z)).collect();
    }

    let single = |of: &[f64]| of.iter().map(|x| T::of(*x)).collect::<Vec<T>>();
    let (x, h, threads) = (single(&x), single(&h), Threads::new(2));
    let kernel = Kernel { x: &x, h: &h };
    let mut coupling = Coupling::new(method, 0.0, n, &threads);
    coupling.plan(kernel);
    let mut oscillators = Oscillators::<T>::with_fields(fields, n);
    oscillators.set_mixing(&g, sent);
    let mut state = State::with_fields(n, 1, fields).expect("memory");
    state.alive.fill(1);
    state.compact();
    (state.phi, state.more) = (single(&phi[..n]), single(&phi[n..]));
    oscillators.gather(&state);
    oscillators.evaluate(kernel, &mut coupling, &threads);
    let most = oscillators.sums.d.iter().map(|d| d.wide()).fold(0.0, f64::max);
    let got = (0..n * fields).map(|i| i % fields * n + i / fields);
    let got = got.map(|i| [oscillators.sums.re[i].wide(), oscillators.sums.im[i].wide()]);
    got.zip(want).map(|(got, want)| far(got, want)).fold(0.0, f64::max) / most
}

#[test]
fn sums_of_several_fields_match_the_formula() {
    let even = Settings { between: 0.3, ..Settings::default() };
    let embedded = Settings { mixing: Mixing::Embedded, sharpness: 0.3, ..Settings::default() };
    for (n, fields) in [(1, 2), (2, 3), (33, 3), (257, 2), (300, 8)] {
        for method in [CouplingMethod::Naive, CouplingMethod::Tiled, CouplingMethod::Fast, CouplingMethod::Dense] {
            for sent in [SentPhase::Phase, SentPhase::Double] {
                for settings in [&even, &embedded] {
                    let (double, single) =
                        (off::<f64>(n, fields, method, sent, settings), off::<f32>(n, fields, method, sent, settings));
                    assert!(double < 1e-14 * 50.0, "{method:?}, {n} × {fields}, {sent:?}: {double:.1e}");
                    assert!(single < 1e-6, "{method:?}, {n} × {fields}, {sent:?}: {single:.1e} in single precision");
                }
            }
        }
    }
}

/// Oscillators without frequencies, births and deaths: phases only, in several fields.
fn oscillators(fields: u32, between: f64, sent: SentPhase) -> Params {
    let mut params = Params::kuramoto(400);
    (params.phases.omega_scale, params.phases.coupling) = (0.0, 2.0);
    (params.coupling.fields, params.coupling.between, params.coupling.sent) = (fields, between, sent);
    params
}

/// r of a field, its second harmonic |mean e^{2iφ}|, and its mean angle.
fn order<T: Real>(state: &State<T>, field: usize) -> (f64, f64, f64) {
    let mean = |harmonic: f64| {
        let phases = state.idx.iter().map(|slot| harmonic * state.phase(field, *slot).wide());
        let (re, im) = phases.fold((0.0, 0.0), |(re, im), phi| (re + phi.cos(), im + phi.sin()));
        (re / state.n() as f64, im / state.n() as f64)
    };
    let (first, second) = (mean(1.0), mean(2.0));
    (first.0.hypot(first.1), second.0.hypot(second.1), first.1.atan2(first.0))
}

/// With doubled phases, as in the original model, fields split into two opposite clusters permanently.
#[test]
fn phases_reach_consensus_and_doubled_phases_do_not() {
    let mut sim = cpu::<f64>(&oscillators(2, 0.5, SentPhase::Phase), 3, 2);
    advance(&mut sim, 1000);
    let mut found = cpu::<f64>(&oscillators(2, 0.5, SentPhase::Double), 3, 2);
    advance(&mut found, 1000);
    for field in 0..2 {
        let ((r, ..), (r1, r2, _)) = (order(sim.state(), field), order(found.state(), field));
        assert!(r > 0.999, "consensus");
        assert!(r1 < 0.3 && r2 > 0.999, "two clusters: {r1:.4}, {r2:.4}");
    }
    assert!((order(sim.state(), 0).2 - order(sim.state(), 1).2).abs() < 1e-3, "both fields at the same phase");
}

/// Uncoupled fields synchronise at different phases, coupled ones at the same phase. The parameter is live.
#[test]
fn coupling_between_fields_is_a_live_parameter() {
    let mut sim = cpu::<f32>(&oscillators(3, 0.0, SentPhase::Phase), 5, 1);
    advance(&mut sim, 400);
    let angles = |sim: &CpuSim<f32>| [0, 1, 2].map(|field| order(sim.state(), field).2);
    let apart = |[a, b, c]: [f64; 3]| [a - b, b - c, c - a].map(|x| 2.0 * (0.5 * x).sin().abs());
    assert!(apart(angles(&sim)).into_iter().fold(0.0, f64::max) > 0.3, "{:?}", angles(&sim));
    assert!((0..3).all(|field| order(sim.state(), field).0 > 0.99));
    let more = path::parse(&sim.host().params, "coupling.between=0.3").expect("a parameter");
    assert_eq!(sim.set(&more).expect("it is live"), Effect::Applied);
    advance(&mut sim, 400);
    assert!(apart(angles(&sim)).into_iter().fold(0.0, f64::max) < 0.01, "{:?}", angles(&sim));
    let fewer = path::parse(&sim.host().params, "coupling.fields=2").expect("a parameter");
    assert_eq!(sim.set(&fewer).expect("it is known"), Effect::NeedsRebuild);
}

/// A population with all events and three noisy fields.
fn lively() -> Params {
    let mut params = Params::default();
    (params.population.n_start, params.population.capacity) = (200, 700);
    (params.population.death_rate, params.population.worst_share, params.tunnelling.hbar) = (0.02, 0.03, 2.0);
    (params.phases.noise, params.phases.integrator, params.coupling.fields) = (0.1, Integrator::Heun, 3);
    params
}

#[test]
fn results_do_not_depend_on_threads_or_saved_states() {
    let mut one = cpu::<f32>(&lively(), 7, 1);
    let mut three = cpu::<f32>(&lively(), 7, 3);
    advance(&mut one, 30);
    let saved = one.save().expect("it is saved");
    advance(&mut one, 30);
    advance(&mut three, 60);
    let bits = |sim: &CpuSim<f32>| {
        let state = sim.state();
        let all = state.phi.iter().chain(&state.more).chain(&state.s_im).chain(&state.w);
        all.map(|x| x.to_bits()).collect::<Vec<_>>()
    };
    assert!(bits(&one) == bits(&three), "for any number of threads");
    three.load(&saved).expect("it is loaded");
    advance(&mut three, 30);
    assert!(bits(&one) == bits(&three), "from a saved state");
    let mut single = cpu::<f32>(&Params { coupling: Settings::default(), ..lively() }, 7, 1);
    assert!(single.load(&saved).is_err(), "a state with three fields is not one with one");
}

#[test]
fn births_fusions_and_deaths_reach_every_field() {
    let mut sim = cpu::<f64>(&lively(), 9, 2);
    advance(&mut sim, 80);
    let (state, ledger) = (sim.state(), sim.host().ledger);
    assert!(ledger.n_fused > 3 && ledger.n_decay > 30 && ledger.n_died > 30, "{ledger:?}");
    for field in 1..3 {
        assert!(state.free.iter().all(|slot| state.phase(field, *slot) == 0.0), "nothing is left of the dead");
        let phases: Vec<f64> = state.idx.iter().map(|slot| state.phase(field, *slot)).collect();
        assert!(phases.iter().all(|phi| phi.abs() <= TAU / 2.0 + 1e-12));
        let same = state.idx.iter().zip(&phases).filter(|(slot, phi)| state.phi[**slot as usize] == **phi).count();
        assert!(same <= 1, "{same} nuclei have one phase in two fields");
    }
    let stats = sim.host().stats;
    let orders = [stats.r, stats.r_more[0], stats.r_more[1]];
    assert!(orders.iter().all(|r| (0.0..=1.0).contains(r)) && stats.r_more[2..] == [0.0; 5], "{orders:?}");
    assert!(state.idx.iter().all(|slot| state.r_local[*slot as usize] <= 1.0 + 1e-12), "no row of G exceeds 1");
}

/// Rotating all phases by the same angle rotates the run, in every field.
#[test]
fn runs_are_invariant_under_rotation_of_all_phases() {
    let mut params = lively();
    (params.phases.noise, params.population.k_worst, params.population.worst_share) = (0.0, 0, 0.0);
    (params.population.m_fuse, params.population.death_rate) = (0, 0.0);
    let mut plain = cpu::<f64>(&params, 11, 1);
    let mut kicked = cpu::<f64>(&params, 11, 1);
    let kick = Action::on("kick", (0..200).collect(), vec![neuropil::params::Value::Real(1.25)]);
    kicked.act(&kick).expect("kicked");
    advance(&mut plain, 40);
    advance(&mut kicked, 40);
    for field in 0..3 {
        for slot in &plain.state().idx {
            let by = kicked.state().phase(field, *slot) - plain.state().phase(field, *slot) - 1.25;
            assert!((0.5 * by).sin().abs() < 1e-9, "field {field}, {slot}: {by}");
        }
    }
}

#[test]
fn maps_reject_several_fields_with_a_remedy() {
    let mut params = Params::default();
    (params.coupling.fields, params.phases.dynamics) = (3, Dynamics::QkmCovariant);
    let setup = Arc::new(task::prepare(&params, &scene(1), &Progress::default()).expect("a task"));
    let Err(why) = CpuSim::<f32>::new(&params, &scene(1), setup, 1) else { panic!("maps move one field") };
    let why = why.to_string();
    assert!(why.contains("phases.dynamics") && why.contains("coupling.fields"), "{why}");
}
