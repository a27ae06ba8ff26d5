//! Nuclei on the CPU: the default preset, closed forms, event totals, and identical bits for any batch length, number of
//! threads, saved and loaded state, or rewind.

use crate::damaged;
use crate::nuclei::population;
use neuropil::{
    kinds::nuclei::{
        Barrier, ChildBase, CouplingMethod, Dynamics, FuseKey, Integrator, OrderUsed, Params,
        cpu::CpuSim,
        ledger::Ledger,
        probes,
        real::Real,
        state::{FOUNDER, State},
    },
    sim::{Simulation, Tap},
};
use population::{advance, cpu};

/// Order rises, the barrier opens, the population settles, and the best error falls to a hundredth.
#[test]
fn default_preset_synchronises_grows_and_learns() {
    for seed in 1..=3 {
        let mut sim = cpu::<f32>(&Params::default(), seed, 1);
        sim.tap(&[Tap::of(probes::BARRIER)]).expect("it can be tapped");
        advance(&mut sim, 1);
        let first = sim.host().stats;
        let mut recent = vec![];
        for step in 1..400 {
            advance(&mut sim, 1);
            if step >= 350 {
                recent.push(sim.host().stats);
            }
        }
        let mean = |of: fn(&neuropil::kinds::nuclei::events::PopulationStats) -> f64| {
            recent.iter().map(of).sum::<f64>() / recent.len() as f64
        };
        let (r, p, n) = (mean(|s| s.r), mean(|s| s.p_mean), mean(|s| s.n as f64));
        let best = recent.last().expect("generations").f_best;
        assert!(first.r < 0.25 && r > 0.65, "order rises");
        assert!(first.p_mean < 0.15 && p > 0.6, "the barrier opens");
        assert!((200.0..1024.0).contains(&n) && sim.host().ledger.overflow == 0, "the population settles");
        assert!(first.f_best > 0.3 && best < 0.02, "the fittest becomes fit");
    }
}

/// Original rules: the table fills (D6), and the best error improves less than with the defaults (D7).
#[test]
fn original_rules_fill_the_table() {
    let mut sim = cpu::<f32>(&Params::compat(), 1, 1);
    advance(&mut sim, 400);
    let (n, best) = (sim.host().ledger.n(), sim.host().stats.f_best);
    assert!(n > 900 && best > 0.1, "the default reaches 0.013");
}

/// Mean and standard error.
fn mean_of(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (mean, (variance / n).sqrt())
}

/// N(t) = N0 e^{-λt}, with variance N0 e^{-λt} (1 - e^{-λt}).
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
        let counts: Vec<f64> = sims.iter().map(|sim| sim.host().ledger.n() as f64).collect();
        let left = (-0.05 * f64::from(t)).exp();
        let want = 400.0 * left;
        let se = (want * (1.0 - left) / 100.0).sqrt();
        worst = worst.max((mean_of(&counts).0 - want).abs() / se);
        let variance = mean_of(&counts).1.powi(2) * 100.0;
        assert!((0.5..2.0).contains(&(variance / (want * (1.0 - left)))), "variance at {t}");
    }
    assert!(worst < 4.0);
}

/// Without a barrier births and deaths balance at N* = (k + m) + (c k - (m - 1)) / (1 - e^{-λ}).
#[test]
fn births_and_deaths_reach_the_predicted_balance() {
    let params = Params::population(0.05);
    let counts: Vec<f64> = (0..120)
        .map(|seed| {
            let mut sim = cpu::<f32>(&params, seed, 1);
            advance(&mut sim, 150);
            sim.host().ledger.n() as f64
        })
        .collect();
    let want = 7.0 + (9.0 - 3.0) / (1.0 - (-0.05_f64).exp());
    let (mean, se) = mean_of(&counts);
    assert!((mean - want).abs() < 4.0 * se && se < 2.0);
}

/// 5.4: with one probability for all, the expected change is 3 P |W| - 3 P.
#[test]
fn expected_population_change_matches_theory() {
    let mut params = Params::population(0.0);
    params.task.source = neuropil::kinds::nuclei::TaskSource::Toy;
    params.tunnelling.r_threshold = 0.78;
    (params.tunnelling.seen, params.population.fuse_key) = (OrderUsed::Global, FuseKey::Entropy);
    let (mut change, mut expected) = (vec![], 0.0);
    for seed in 0..400 {
        let mut sim = cpu::<f32>(&params, seed, 1);
        advance(&mut sim, 1);
        let p = sim.host().stats.p_dec;
        expected += (9.0 * p - 3.0 * p) / 400.0;
        change.push(sim.host().ledger.n() as f64 - 128.0);
    }
    let (mean, se) = mean_of(&change);
    assert!((mean - expected).abs() < 4.0 * se);
}

/// Invariants after every generation.
fn check<T: Real>(sim: &CpuSim<T>, before: &State<T>, was: &Ledger, params: &Params) {
    let (state, host, events) = (sim.state(), sim.host(), &sim.host().events);
    let (now, p) = (&host.ledger, &params.population);
    let happened = now.since(was);
    let fused = u64::from(!events.fused.is_empty());
    let delta = i64::from(p.c_new) * happened.n_decay as i64
        - (events.fused.len() as i64 - 1).max(0) * fused as i64
        - happened.n_died as i64
        - happened.overflow as i64;
    assert_eq!(now.n() as i64 - was.n() as i64, delta, "the ledger balances");
    assert_eq!(state.alive.iter().map(|a| u64::from(*a)).sum::<u64>(), now.n());
    let mut n_slots: Vec<u32> = state.idx.iter().chain(&state.free).copied().collect();
    assert!(state.idx.is_sorted() && state.free.is_sorted());
    n_slots.sort_unstable();
    assert!(n_slots.iter().enumerate().all(|(i, slot)| i as u32 == *slot) && n_slots.len() == state.capacity);

    // No slot is filled twice in a generation, and only free slots or the parent's are filled.
    let mut born: Vec<u32> = events.born.iter().map(|(child, _)| *child).chain(events.fused.first().copied()).collect();
    let count = born.len();
    born.sort_unstable();
    born.dedup();
    assert_eq!(born.len(), count, "a slot was filled twice");
    for (child, parent) in &events.born {
        let i = *child as usize;
        assert!(child == parent || before.alive[i] == 0 || events.fused.contains(child), "{child} was overwritten");
        assert_eq!((state.birth[i], state.parent[i]), (host.step as u32, *parent as i32));
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
        let (before, was) = (sim.state().clone(), sim.host().ledger);
        advance(&mut sim, 1);
        check(&sim, &before, &was, params);
    }
    let totals = sim.host().ledger;
    assert!(totals.n_fused > 0 && totals.n_decay > 0 && totals.n_died > 0, "{totals:?}");
}

/// A population with many events.
pub fn busy(capacity: u32) -> Params {
    let mut params = Params::default();
    params.task.n_inputs = 6;
    let population = &mut params.population;
    (population.n_start, population.capacity) = (capacity / 2, capacity);
    (population.worst_share, population.m_fuse, population.c_new, population.death_rate) = (0.1, 9, 2, 0.1);
    params.tunnelling.hbar = 2.0;
    params
}

#[test]
fn event_totals_are_consistent() {
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
    assert!(sim.host().ledger.overflow > 0, "the table was full");
}

/// Invariants hold at a small size, and with 262,144 slots over 10,000 generations.
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
    for method in [
        CouplingMethod::Naive,
        CouplingMethod::Tiled,
        CouplingMethod::Dense,
        CouplingMethod::Scan1d,
        CouplingMethod::Sparse,
        CouplingMethod::MeanField,
    ] {
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

#[test]
fn an_extinct_population_keeps_running() {
    let mut params = Params::default();
    (params.population.n_min, params.population.death_rate, params.population.m_fuse) = (0, 5.0, 0);
    params.population.k_worst = 0;
    for method in [CouplingMethod::Auto, CouplingMethod::Dense, CouplingMethod::Scan1d, CouplingMethod::MeanField] {
        params.coupling.method = method;
        let mut sim = cpu::<f32>(&params, 1, 2);
        sim.tap(&[Tap::of(probes::FITNESS)]).expect("tapped");
        advance(&mut sim, 20);
        assert_eq!((sim.state().n(), sim.host().ledger.n_died), (0, 128));
    }
}

#[test]
fn free_slots_between_nuclei_do_not_change_results() {
    let mut params = Params::default();
    (params.population.n_start, params.population.capacity) = (200, 900);
    (params.population.k_worst, params.population.m_fuse, params.population.death_rate) = (0, 0, 0.0);
    let mut compact = cpu::<f32>(&params, 7, 1);
    let mut spread = cpu::<f32>(&params, 7, 2);
    let from = compact.state().clone();
    let mut to = State::<f32>::empty(900, from.dim).expect("memory");
    let place = |i: u32| (i * 9 / 2 + u32::from(i.is_multiple_of(3))) as usize;
    for i in 0..200 {
        let slot = place(i);
        to.row_mut(slot as u32).copy_from_slice(from.row(i));
        (to.alive[slot], to.phi[slot], to.omega[slot]) = (1, from.phi[i as usize], from.omega[i as usize]);
    }
    to.compact();
    assert_eq!(to.n(), 200);
    spread.put(to, 0);
    advance(&mut compact, 5);
    advance(&mut spread, 5);
    let (a, b) = (compact.state(), spread.state());
    for i in 0..200 {
        let (i, slot) = (i as usize, place(i));
        assert_eq!(
            (a.phi[i], a.s_re[i], a.s_im[i], a.d[i], a.f[i]),
            (b.phi[slot], b.s_re[slot], b.s_im[slot], b.d[slot], b.f[slot])
        );
    }
}

/// The same bits for any threads and batches, and after save, load and rewind.
fn same_bits<T: Real>(params: &Params) {
    let what = format!("{:?} {:?} {:?}", params.task.source, params.phases.dynamics, params.coupling.method);
    let mut first = cpu::<T>(params, 3, 1);
    let start = first.save().expect("it saves");
    advance(&mut first, 20);
    let middle = first.save().expect("it saves");
    advance(&mut first, 20);
    let (end, digest) = (first.save().expect("it saves"), first.digest(0));
    for (threads, batches) in [(1, [1, 39]), (2, [20, 20]), (3, [7, 33])] {
        let mut again = cpu::<T>(params, 3, threads);
        batches.into_iter().for_each(|steps| advance(&mut again, steps));
        assert!(again.save().expect("it saves") == end && again.digest(0) == digest, "{what}: {threads} threads");
    }
    let mut loaded = cpu::<T>(params, 99, 2);
    loaded.load(&middle).expect("it loads");
    assert_eq!(loaded.clock().step, 20);
    assert!(loaded.save().expect("it saves") == middle, "{what}: loading changes nothing");
    let mut same_seed = cpu::<T>(params, 3, 2);
    same_seed.load(&middle).expect("it loads");
    advance(&mut same_seed, 20);
    assert!(same_seed.save().expect("it saves") == end && same_seed.digest(0) == digest, "{what}: loaded");
    first.rewind().expect("it rewinds");
    assert!(first.save().expect("it saves") == start, "{what}: rewound");
    advance(&mut first, 40);
    assert!(first.save().expect("it saves") == end, "{what}: rewound and run again");
}

#[test]
fn results_do_not_depend_on_threads_batches_or_saved_states() {
    for params in many_ways() {
        same_bits::<f32>(&params);
        same_bits::<f64>(&params);
    }
}

#[test]
fn damaged_states_are_rejected() {
    let params = busy(100);
    let mut sim = cpu::<f32>(&params, 1, 1);
    advance(&mut sim, 5);
    let state = sim.save().expect("it saves");
    for damaged in damaged::incomplete(&state) {
        assert!(sim.load(&damaged).is_err(), "{damaged:?}");
    }
    let mut other = cpu::<f64>(&params, 1, 1);
    other.load(&state).expect("another precision is rounded");
    assert!(other.state().phi.iter().zip(&sim.state().phi).all(|(a, b)| *a == f64::from(*b)));
    for bent in damaged::bent(&state, 101) {
        let _ = sim.load(&bent); // rejected or not, but without a panic
    }
    sim.load(&state).expect("the whole one is taken");
    assert!(sim.save().expect("it saves") == state);
}
