//! Populations of nuclei: the story of the default preset, closed forms, bookkeeping, and the same bits however a run is
//! cut into batches, spread over threads, saved, loaded or rewound.

use neuropil::{
    gpu::Pass,
    kinds::nuclei::{
        Barrier, Card, ChildBase, Dynamics, FuseKey, Integrator, Method, OrderSeen, Params, Precision,
        cpu::CpuSim,
        ledger::Ledger,
        probes,
        real::Real,
        state::{FOUNDER, State},
        task,
    },
    params::{Change, Value, path},
    sim::{Action, Device, Effect, Frame, Kind, Progress, Reading, Scene, SimError, Simulation, Tap},
};
use std::sync::Arc;

fn scene(seed: u64) -> Scene {
    Scene { seed, ..Scene::default() }
}

fn cpu<T: Real>(params: &Params, seed: u64, threads: usize) -> CpuSim<T> {
    let setup = task::prepare(params, &scene(seed), &Progress::default()).expect("a task");
    CpuSim::new(params, &scene(seed), Arc::new(setup), threads).expect("it starts")
}

fn advance(sim: &mut dyn Simulation, steps: u32) {
    sim.advance(steps, &mut Pass::default()).expect("it runs");
}

/// Order rises, the barrier opens, the population settles, and the best error falls to a hundredth.
#[test]
fn the_story_of_the_default_preset() {
    for seed in 1..=3 {
        let mut sim = cpu::<f32>(&Params::default(), seed, 1);
        sim.tap(&[Tap { probe: probes::BARRIER, elements: vec![] }]).expect("it can be tapped");
        advance(&mut sim, 1);
        let first = sim.desk().standing;
        let mut recent = vec![];
        for step in 1..400 {
            advance(&mut sim, 1);
            if step >= 350 {
                recent.push(sim.desk().standing);
            }
        }
        let mean = |of: fn(&neuropil::kinds::nuclei::events::Standing) -> f64| {
            recent.iter().map(of).sum::<f64>() / recent.len() as f64
        };
        let (r, p, n) = (mean(|s| s.r), mean(|s| s.p_mean), mean(|s| s.n as f64));
        let best = recent.last().expect("generations").f_best;
        println!(
            "seed {seed}: r {:.3} -> {r:.3}, mean P {:.3} -> {p:.3}, N {} -> {n:.0}, best error {:.3} -> {best:.4}",
            first.r, first.p_mean, first.n, first.f_best
        );
        assert!(first.r < 0.25 && r > 0.65, "order rises");
        assert!(first.p_mean < 0.15 && p > 0.6, "the barrier opens");
        assert!((200.0..1024.0).contains(&n) && sim.desk().ledger.overflow == 0, "the population settles");
        assert!(first.f_best > 0.3 && best < 0.02, "the fittest becomes fit");
    }
}

/// The origin's rules: the table fills (D6), and the best does not improve as the default's does (D7).
#[test]
fn the_origins_rules_grow_without_bound() {
    let mut sim = cpu::<f32>(&Params::compat(), 1, 1);
    advance(&mut sim, 1);
    let first = sim.desk().standing.f_best;
    advance(&mut sim, 399);
    let (n, best) = (sim.desk().ledger.n(), sim.desk().standing.f_best);
    println!("compat: N {n}, best error {first:.3} -> {best:.3}");
    assert!(n > 900 && best > 0.1, "the default arrives at 0.013");
}

/// Mean and standard error.
fn mean_of(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (mean, (variance / n).sqrt())
}

/// T10: N(t) = N0 e^{-λt}, with variance N0 e^{-λt} (1 - e^{-λt}).
#[test]
fn pure_decay_is_exponential() {
    let mut params = Params::population(0.05);
    let population = &mut params.population;
    (population.n_start, population.capacity, population.n_min) = (400, 400, 0);
    (population.k_worst, population.m_fuse) = (0, 0);
    let mut sims: Vec<_> = (0..100).map(|seed| cpu::<f32>(&params, seed, 1)).collect();
    let mut worst = 0.0_f64;
    for t in 1..=40 {
        sims.iter_mut().for_each(|sim| advance(sim, 1));
        let counts: Vec<f64> = sims.iter().map(|sim| sim.desk().ledger.n() as f64).collect();
        let left = (-0.05 * f64::from(t)).exp();
        let want = 400.0 * left;
        let se = (want * (1.0 - left) / 100.0).sqrt();
        worst = worst.max((mean_of(&counts).0 - want).abs() / se);
        let variance = mean_of(&counts).1.powi(2) * 100.0;
        assert!((0.5..2.0).contains(&(variance / (want * (1.0 - left)))), "variance at {t}");
    }
    println!("pure decay: worst of 40 points {worst:.2} s.e.");
    assert!(worst < 4.0);
}

/// T10: with an open barrier births and deaths settle at N* = (k + m) + (c k - (m - 1)) / (1 - e^{-λ}).
#[test]
fn births_and_deaths_settle() {
    let params = Params::population(0.05);
    let counts: Vec<f64> = (0..120)
        .map(|seed| {
            let mut sim = cpu::<f32>(&params, seed, 1);
            advance(&mut sim, 150);
            sim.desk().ledger.n() as f64
        })
        .collect();
    let want = 7.0 + (9.0 - 3.0) / (1.0 - (-0.05_f64).exp());
    let (mean, se) = mean_of(&counts);
    println!("births and deaths: {mean:.1} ± {se:.1}, expected {want:.1}");
    assert!((mean - want).abs() < 4.0 * se && se < 2.0);
}

/// 5.4: with one probability for all, the expected change is that of the law, 3 P |W| - 3 P.
#[test]
fn the_law_of_the_population_in_expectation() {
    let mut params = Params::population(0.0);
    params.task.source = neuropil::kinds::nuclei::Source::Toy;
    params.tunnelling.r_threshold = 0.78;
    (params.tunnelling.seen, params.population.fuse_key) = (OrderSeen::Global, FuseKey::Entropy);
    let (mut change, mut expected) = (vec![], 0.0);
    for seed in 0..400 {
        let mut sim = cpu::<f32>(&params, seed, 1);
        advance(&mut sim, 1);
        let p = sim.desk().standing.p_dec;
        expected += (9.0 * p - 3.0 * p) / 400.0;
        change.push(sim.desk().ledger.n() as f64 - 128.0);
    }
    let (mean, se) = mean_of(&change);
    println!("law: {mean:.3} ± {se:.3}, expected {expected:.3}");
    assert!((mean - expected).abs() < 4.0 * se);
}

/// T9 and T11: what must hold after every generation.
fn check<T: Real>(sim: &CpuSim<T>, before: &State<T>, was: &Ledger, params: &Params) {
    let (state, desk, events) = (sim.state(), sim.desk(), &sim.desk().events);
    let (now, p) = (&desk.ledger, &params.population);
    let happened = now.since(was);
    let fused = u64::from(!events.fused.is_empty());
    let delta = i64::from(p.c_new) * happened.n_decay as i64
        - (events.fused.len() as i64 - 1).max(0) * fused as i64
        - happened.n_died as i64
        - happened.overflow as i64;
    assert_eq!(now.n() as i64 - was.n() as i64, delta, "the ledger balances");
    assert_eq!(state.alive.iter().map(|a| u64::from(*a)).sum::<u64>(), now.n());
    let mut places: Vec<u32> = state.idx.iter().chain(&state.free).copied().collect();
    assert!(state.idx.is_sorted() && state.free.is_sorted());
    places.sort_unstable();
    assert!(places.iter().enumerate().all(|(i, slot)| i as u32 == *slot) && places.len() == state.capacity);

    // Nobody is born twice in a generation, or into a place that was neither free nor its parent's.
    let mut born: Vec<u32> = events.born.iter().map(|(child, _)| *child).chain(events.fused.first().copied()).collect();
    let count = born.len();
    born.sort_unstable();
    born.dedup();
    assert_eq!(born.len(), count, "a place was given twice");
    for (child, parent) in &events.born {
        let i = *child as usize;
        assert!(child == parent || before.alive[i] == 0 || events.fused.contains(child), "{child} was overwritten");
        assert_eq!((state.birth[i], state.parent[i]), (desk.step as u32, *parent as i32));
    }
    for slot in &state.free {
        let i = *slot as usize;
        assert!(
            state.row(*slot).iter().all(|w| *w == T::ZERO) && state.parent[i] == FOUNDER && state.phi[i] == T::ZERO
        );
    }
    for slot in state.idx.iter().filter(|slot| born.binary_search(slot).is_err()) {
        assert_eq!(state.row(*slot), before.row(*slot), "{slot} changed without being born");
        assert_eq!(state.birth[*slot as usize], before.birth[*slot as usize]);
    }
    assert!(now.n() >= u64::from(p.n_min).min(was.n()));
}

fn stress<T: Real>(params: &Params, seed: u64, threads: usize, generations: u64) {
    let mut sim = cpu::<T>(params, seed, threads);
    for _ in 0..generations {
        let (before, was) = (sim.state().clone(), sim.desk().ledger);
        advance(&mut sim, 1);
        check(&sim, &before, &was, params);
    }
    let told = sim.desk().ledger;
    assert!(told.n_fused > 0 && told.n_decay > 0 && told.n_died > 0, "{told:?}");
}

/// A population in which much happens.
fn busy(capacity: u32) -> Params {
    let mut params = Params::default();
    params.task.n_inputs = 6;
    let population = &mut params.population;
    (population.n_start, population.capacity) = (capacity / 2, capacity);
    (population.worst_share, population.m_fuse, population.c_new, population.death_rate) = (0.1, 9, 2, 0.1);
    params.tunnelling.hbar = 2.0;
    params
}

#[test]
fn the_books_balance() {
    for (seed, child_base) in [(1, ChildBase::Best), (2, ChildBase::Fused), (3, ChildBase::Parent)] {
        for capacity in [90, 1000] {
            let mut params = busy(capacity);
            params.population.child_base = child_base;
            stress::<f32>(&params, seed, 1, 150);
        }
    }
    let mut full = busy(64);
    (full.population.death_rate, full.population.c_new) = (0.01, 9);
    stress::<f64>(&full, 4, 2, 200);
    let mut sim = cpu::<f64>(&full, 4, 1);
    advance(&mut sim, 200);
    assert!(sim.desk().ledger.overflow > 0, "the table was full");
}

/// T11 at a size for every day, and in full.
#[test]
fn stress_in_small() {
    stress::<f32>(&busy(16_384), 5, 2, 60);
}

#[test]
#[ignore = "hours"]
fn stress_in_full() {
    stress::<f32>(&busy(262_144), 5, 2, 10_000);
}

fn many_ways() -> Vec<Params> {
    let mut all = vec![Params::default(), Params::compat(), Params::kuramoto(500), Params::population(0.05), busy(700)];
    for method in [Method::Naive, Method::Tiled, Method::Dense, Method::Scan1d, Method::Sparse, Method::MeanField] {
        let mut params = busy(300);
        params.coupling.method = method;
        all.push(params);
    }
    for (dynamics, integrator, noise) in [
        (Dynamics::Kuramoto, Integrator::Heun, 0.1),
        (Dynamics::Kuramoto, Integrator::Euler, 0.1),
        (Dynamics::QkmCompat, Integrator::Euler, 0.0),
        (Dynamics::QkmCovariant, Integrator::Euler, 0.0),
    ] {
        let mut params = busy(200);
        (params.phases.dynamics, params.phases.integrator, params.phases.noise) = (dynamics, integrator, noise);
        params.task.learning_rate = 0.01;
        params.tunnelling.barrier = Barrier::SquareRoot;
        params.population.attempts_per_step = 0.7;
        all.push(params);
    }
    all
}

/// T12: the same bits for any threads and batches; saved, loaded and rewound.
fn same_bits<T: Real>(params: &Params) {
    let what = format!("{:?} {:?} {:?}", params.task.source, params.phases.dynamics, params.coupling.method);
    let mut first = cpu::<T>(params, 3, 1);
    let start = first.save().expect("it saves");
    advance(&mut first, 20);
    let middle = first.save().expect("it saves");
    advance(&mut first, 20);
    let (end, digest) = (first.save().expect("it saves"), first.digest());
    for (threads, batches) in [(1, [1, 39]), (2, [20, 20]), (3, [7, 33])] {
        let mut again = cpu::<T>(params, 3, threads);
        batches.into_iter().for_each(|steps| advance(&mut again, steps));
        assert!(again.save().expect("it saves") == end && again.digest() == digest, "{what}: {threads} threads");
    }
    let mut loaded = cpu::<T>(params, 99, 2);
    loaded.load(&middle).expect("it loads");
    assert_eq!(loaded.clock().step, 20);
    assert!(loaded.save().expect("it saves") == middle, "{what}: loading changes nothing");
    let mut same_seed = cpu::<T>(params, 3, 2);
    same_seed.load(&middle).expect("it loads");
    advance(&mut same_seed, 20);
    assert!(same_seed.save().expect("it saves") == end && same_seed.digest() == digest, "{what}: loaded");
    first.rewind().expect("it rewinds");
    assert!(first.save().expect("it saves") == start, "{what}: rewound");
    advance(&mut first, 40);
    assert!(first.save().expect("it saves") == end, "{what}: rewound and run again");
}

#[test]
fn the_same_bits_however_it_is_run() {
    for params in many_ways() {
        same_bits::<f32>(&params);
        same_bits::<f64>(&params);
    }
}

#[test]
fn broken_states_are_refused() {
    let params = busy(100);
    let mut sim = cpu::<f32>(&params, 1, 1);
    advance(&mut sim, 5);
    let state = sim.save().expect("it saves");
    for cut in [0, 7, 8, 20, 100, state.len() / 2, state.len() - 1] {
        assert!(sim.load(&state[..cut]).is_err(), "cut at {cut}");
    }
    let mut other = cpu::<f64>(&params, 1, 1);
    let why = other.load(&state).expect_err("another precision").to_string();
    assert!(why.contains("precision"), "{why}");
    for at in (8..140).step_by(3) {
        let mut flipped = state.clone();
        flipped[at] ^= 0x55;
        let _ = sim.load(&flipped); // refused or not, but without a panic
    }
    sim.load(&state).expect("the whole one is taken");
    assert!(sim.save().expect("it saves") == state);
}

fn action(name: &str, elements: &[u32], values: &[Value]) -> Action {
    Action { name: name.to_owned(), elements: elements.to_vec(), values: values.to_vec() }
}

#[test]
fn actions_do_what_they_say() {
    let mut params = Params::default();
    (params.population.k_worst, params.population.m_fuse, params.population.death_rate) = (0, 0, 0.0);
    let mut sim = cpu::<f64>(&params, 1, 1);
    let before = sim.state().clone();
    sim.act(&action("kick", &[3, 5], &[Value::Real(0.25)])).expect("kicked");
    assert!(((sim.state().phi[3] - before.phi[3]).rem_euclid(std::f64::consts::TAU) - 0.25).abs() < 1e-12);
    assert_eq!(sim.state().phi[4], before.phi[4]);

    sim.act(&action("freeze", &[7], &[Value::Bool(true)])).expect("frozen");
    let still = sim.state().phi[7];
    advance(&mut sim, 10);
    assert!(
        (sim.state().phi[7] - still).rem_euclid(std::f64::consts::TAU).min(1.0) < 1e-12
            || (still - sim.state().phi[7]).abs() < 1e-12
    );
    assert_ne!(sim.state().phi[8], before.phi[8]);
    sim.act(&action("freeze", &[7], &[Value::Bool(false)])).expect("let go");
    advance(&mut sim, 1);
    assert_ne!(sim.state().phi[7], still);

    let was = sim.state().clone();
    sim.act(&action("fuse", &[20, 10, 30], &[])).expect("fused");
    let (state, ledger) = (sim.state(), sim.desk().ledger);
    assert_eq!((ledger.n(), state.n(), ledger.absorbed, ledger.n_fused), (126, 126, 2, 1));
    let (low, high) = (
        [10, 20, 30].map(|s| was.row(s)[0]).into_iter().fold(f64::INFINITY, f64::min),
        [10, 20, 30].map(|s| was.row(s)[0]).into_iter().fold(-f64::INFINITY, f64::max),
    );
    assert!((low..=high).contains(&state.row(10)[0]) && state.alive[20] == 0, "a mean of the three");

    sim.act(&action("decay", &[40], &[])).expect("decayed");
    let state = sim.state();
    assert_eq!((sim.desk().ledger.n(), sim.desk().ledger.n_decay), (129, 1));
    assert_eq!([20, 30, 128].map(|s: usize| state.parent[s]), [40; 3], "free places, ascending");
    for (wrong, part) in [
        (action("fuse", &[5], &[]), "at least two"),
        (action("kick", &[900], &[Value::Real(1.0)]), "nobody lives"),
        (action("kick", &[5000], &[Value::Real(1.0)]), "no place 5000"),
        (action("kick", &[5], &[Value::Real(f64::NAN)]), "angle"),
        (action("split", &[5], &[]), "no such action"),
    ] {
        let why = sim.act(&wrong).expect_err("refused").to_string();
        assert!(why.contains(part), "{why}");
    }
}

/// Jensen: the fused weights are at most as bad as the mean of those that fuse, for linear answers.
#[test]
fn a_fusion_is_no_worse_than_its_parts() {
    let mut params = Params::default();
    (params.population.k_worst, params.population.m_fuse, params.population.death_rate) = (0, 0, 0.0);
    let mut sim = cpu::<f64>(&params, 8, 1);
    advance(&mut sim, 1);
    for first in (0..120).step_by(4) {
        let parts: Vec<u32> = (first..first + 4).collect();
        let share = |slot: &u32| sim.state().h[*slot as usize];
        let total: f64 = parts.iter().map(share).sum();
        let mean = parts.iter().map(|slot| share(slot) * sim.state().f[*slot as usize]).sum::<f64>() / total;
        sim.act(&action("fuse", &parts, &[])).expect("fused");
        advance(&mut sim, 1);
        let fused = sim.state().f[first as usize];
        assert!(fused <= mean, "{fused} {mean}");
    }
}

fn change(params: &Params, text: &str) -> Change {
    path::parse(params, text).expect("a change")
}

#[test]
fn edits_take_effect_between_generations() {
    let params = Params::default();
    let mut sim = cpu::<f32>(&params, 1, 1);
    advance(&mut sim, 3);
    let live = [
        "phases.coupling=3",
        "coupling.method=Tiled",
        "population.sigma=0.2",
        "phases.dynamics=QkmCovariant",
        "task.method=Direct",
        "tunnelling.hbar=0.1",
        "measure.every=5",
    ];
    for text in live {
        assert_eq!(sim.set(&change(&params, text)).expect("taken"), Effect::Applied, "{text}");
        advance(&mut sim, 2);
    }
    for text in ["population.capacity=2048", "task.n_inputs=3", "population.precision=F64"] {
        assert_eq!(sim.set(&change(&params, text)).expect("heard"), Effect::NeedsRebuild, "{text}");
    }
    let mut large = Params::default();
    large.population.capacity = 100_000;
    let mut sim = cpu::<f32>(&large, 1, 1);
    let why = sim.set(&change(&large, "coupling.method=Dense")).expect_err("too large").to_string();
    assert!(why.contains("Fast"), "{why}");
    advance(&mut sim, 1);
}

#[test]
fn what_diverges_says_so() {
    let mut params = Params::default();
    params.task.learning_rate = 100.0;
    let mut sim = cpu::<f32>(&params, 1, 1);
    let error = sim.advance(200, &mut Pass::default()).expect_err("weights explode");
    assert!(matches!(&error, SimError::Diverged(why) if why.contains("learning_rate")), "{error}");
}

#[test]
fn learning_by_gradient_learns() {
    let mut params = Params::default();
    params.task.learning_rate = 0.1;
    (params.population.k_worst, params.population.m_fuse) = (0, 0);
    for precision in [Precision::F32, Precision::F64] {
        params.population.precision = precision;
        let setup = Arc::new(Card::prepare(&params, &scene(1), &Progress::default()).expect("a task"));
        let mut sim = Card::start(&params, &scene(1), setup, &Device::Cpu { threads: 1 }).expect("it starts");
        sim.tap(&[Tap { probe: probes::FITNESS, elements: vec![] }]).expect("tapped");
        advance(&mut *sim, 200);
        let mut frame = Frame::default();
        sim.sample(&mut frame).expect("it reads");
        let Some(Reading::Series(fitness)) = frame.reading(probes::FITNESS) else { panic!("a series") };
        let last = &fitness.values[fitness.values.len() - 3..];
        assert!(last.iter().all(|f| *f < 0.01), "all reach the floor: {last:?}");
    }
}
