//! Actions, parameter changes, gradient steps and divergence of running nuclei simulations.

use crate::nuclei::population;
use neuropil::{
    gpu::Pass,
    kinds::nuclei::{Frequencies, NucleiKind, Params, StatePrecision, cpu::CpuSim, initial, probes},
    params::{Change, Value, path},
    sim::{
        Action, Device, Effect, FREE_SLOT, Frame, Kind, LifeEvent, Progress, Reading, SimError, Simulation,
        StartRequest, Tap,
    },
};
use population::{advance, cpu, scene};
use std::sync::Arc;

fn action(name: &str, elements: &[u32], values: &[Value]) -> Action {
    Action::on(name, elements.to_vec(), values.to_vec())
}

/// All coupling algorithms in a profiled batch: exact ones agree, approximations report their error, the run is unchanged.
#[test]
fn coupling_algorithms_are_timed_with_their_errors() {
    let mut params = Params::default();
    params.measure.variants = true;
    let mut sim = cpu::<f32>(&params, 1, 2);
    let mut plain = cpu::<f32>(&Params::default(), 1, 2);
    let mut pass = Pass::measuring();
    sim.advance(60, &mut pass).expect("it runs");
    advance(&mut plain, 60);
    assert_eq!(sim.digest(0), plain.digest(0), "measuring changes nothing");
    let row = |name: &str| pass.timings.iter().find(|t| t.name == name).unwrap_or_else(|| panic!("no {name}"));
    for name in probes::VARIANTS {
        let (row, n) = (row(name), sim.host().stats.n);
        let off = row.off.expect("compared");
        assert!(row.per_sec(row.items).is_some(), "{name}: timed");
        assert_eq!((row.launches, row.items), (1, n * n), "{name}: once per batch");
        match name {
            "variant_naive" => assert_eq!(off, 0.0),
            "variant_tiled" | "variant_fast" | "variant_dense" => assert!(off < 1e-6, "{name}: {off:.1e}"),
            "variant_meanfield" => assert!(off > 1e-2, "{name} is another model: {off:.1e}"),
            _ => assert!(off < 0.1, "{name}: {off:.1e}"),
        }
        assert!(probes::SPANS.iter().any(|(span, docs)| *span == name && docs.contains("Items: pairs.")), "{name}");
    }
    let mut unmeasured = Pass::default();
    sim.advance(1, &mut unmeasured).expect("it runs");
    assert!(unmeasured.timings.is_empty());
}

#[test]
fn actions_change_the_selected_nuclei() {
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
    let (state, ledger) = (sim.state(), sim.host().ledger);
    assert_eq!((ledger.n(), state.n(), ledger.absorbed, ledger.n_fused), (126, 126, 2, 1));
    let (low, high) = (
        [10, 20, 30].map(|s| was.row(s)[0]).into_iter().fold(f64::INFINITY, f64::min),
        [10, 20, 30].map(|s| was.row(s)[0]).into_iter().fold(-f64::INFINITY, f64::max),
    );
    assert!((low..=high).contains(&state.row(10)[0]) && state.alive[20] == 0, "a mean of the three");

    sim.act(&action("decay", &[40], &[])).expect("decayed");
    let state = sim.state();
    assert_eq!((sim.host().ledger.n(), sim.host().ledger.n_decay), (129, 1));
    assert_eq!([20, 30, 128].map(|s: usize| state.parent[s]), [40; 3], "free places, ascending");
    for (wrong, part) in [
        (action("fuse", &[5], &[]), "at least two"),
        (action("kick", &[900], &[Value::Real(1.0)]), "slots are free"),
        (action("kick", &[5000], &[Value::Real(1.0)]), "no slot 5000"),
        (action("kick", &[5], &[Value::Real(f64::NAN)]), "angle"),
        (action("split", &[5], &[]), "no such action"),
    ] {
        let why = sim.act(&wrong).expect_err("refused").to_string();
        assert!(why.contains(part), "{why}");
    }
}

/// The turnover of a small population frees and reuses slots.
fn lively() -> Params {
    let mut params = Params::default();
    (params.population.death_rate, params.tunnelling.r_threshold) = (0.05, 0.1);
    params
}

#[test]
fn actions_on_individuals_follow_ids_and_not_slots() {
    let mut sim = cpu::<f64>(&lively(), 3, 1);
    advance(&mut sim, 20);
    let then = sim.individuals(probes::NUCLEI).expect("slots");
    let seen = sim.clock().step;
    advance(&mut sim, 60);
    let now = sim.individuals(probes::NUCLEI).expect("slots");
    let living = |slot: &u32| then.ids[*slot as usize] != FREE_SLOT;
    let is_same = |slot: &u32| then.ids[*slot as usize] == now.ids[*slot as usize];
    let is_reused = |slot: &u32| living(slot) && !is_same(slot) && now.ids[*slot as usize] != FREE_SLOT;
    let slots = 0..then.ids.len() as u32;
    let (kept, reused) = (slots.clone().find(|s| living(s) && is_same(s)), slots.clone().find(is_reused));
    let (kept, reused) = (kept.expect("one lives on"), reused.expect("a slot is used again"));

    let kick = action("kick", &[kept, reused], &[Value::Real(0.5)]);
    let before = sim.state().clone();
    let performed = Action { seen: Some(seen), ..kick.clone() }.perform(&mut sim).expect("kicked");
    assert_eq!((performed.elements, &performed.individuals), (vec![kept], &vec![then.ids[kept as usize]]));
    assert_eq!(sim.state().phi[reused as usize], before.phi[reused as usize], "another individual is there");
    assert_ne!(sim.state().phi[kept as usize], before.phi[kept as usize]);

    // As logs name them: ids are found wherever they are, and those that ended are nowhere.
    let by_id = |ids: Vec<u64>| Action { elements: vec![], individuals: ids, ..kick.clone() };
    let ids = vec![then.ids[reused as usize], then.ids[kept as usize]];
    let performed = by_id(ids).perform(&mut sim).expect("kicked");
    assert_eq!((performed.elements, performed.individuals), (vec![kept], vec![then.ids[kept as usize]]));
    let why = by_id(vec![then.ids[reused as usize]]).perform(&mut sim).expect_err("it ended").to_string();
    assert_eq!(why, "kick: none of the 1 selected nuclei is alive");

    // Slots, as in older logs.
    let by_slot = kick.perform(&mut sim).expect("kicked");
    assert_eq!(by_slot.individuals, [now.ids[kept as usize], now.ids[reused as usize]]);
    let why = action("kick", &[5000], &[Value::Real(1.0)]).perform(&mut sim).expect_err("refused").to_string();
    assert!(why.contains("no slot 5000"), "{why}");
}

/// Ids follow from what was simulated: not from taps, nor from saving and loading.
#[test]
fn ids_of_nuclei_do_not_depend_on_taps() {
    let mut plain = cpu::<f64>(&lively(), 3, 1);
    let mut tapped = cpu::<f64>(&lively(), 3, 1);
    tapped.tap(&[Tap::of(probes::LINEAGE)]).expect("tapped");
    advance(&mut plain, 50);
    advance(&mut tapped, 50);
    let ids = plain.individuals(probes::NUCLEI).expect("slots");
    assert!(Some(&ids) == tapped.individuals(probes::NUCLEI).as_ref(), "other ids with a tap");
    let mut loaded = cpu::<f64>(&lively(), 3, 1);
    loaded.load(&plain.save().expect("saved")).expect("loaded");
    assert!(loaded.individuals(probes::NUCLEI).as_ref() == Some(&ids), "other ids after loading");
    for sim in [&mut plain, &mut loaded] {
        advance(sim, 30);
    }
    assert!(loaded.individuals(probes::NUCLEI) == plain.individuals(probes::NUCLEI), "other ids later");
    assert!(plain.individuals("neurons").is_none());
    // A lineage that is tapped late tells of the same individuals.
    plain.tap(&[Tap::of(probes::LINEAGE)]).expect("tapped");
    let mut frame = Frame::default();
    plain.sample(&mut frame).expect("it reads");
    let Some(Reading::Lineage(events)) = frame.reading(probes::LINEAGE) else { panic!("a lineage") };
    let now = plain.individuals(probes::NUCLEI).expect("slots");
    for event in events.iter() {
        let LifeEvent::Birth(birth) = event else { panic!("a snapshot") };
        assert_eq!(now.ids[birth.slot.expect("a slot") as usize], birth.child);
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
fn parameter_changes_take_effect_between_generations() {
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
        "phases.frequencies=LorentzQuantiles",
    ];
    for text in live {
        assert_eq!(sim.set(&change(&params, text)).expect("taken"), Effect::Applied, "{text}");
        advance(&mut sim, 2);
    }
    let quantiles = initial::frequencies::<f32>(Frequencies::LorentzQuantiles, 1, 1024);
    assert_eq!(sim.state().omega, quantiles, "slots have the new frequencies");
    for text in ["population.capacity=2048", "task.n_inputs=3", "population.precision=F64"] {
        assert_eq!(sim.set(&change(&params, text)).expect("accepted"), Effect::NeedsRebuild, "{text}");
    }
    let mut large = Params::default();
    large.population.capacity = 100_000;
    let mut sim = cpu::<f32>(&large, 1, 1);
    let why = sim.set(&change(&large, "coupling.method=Dense")).expect_err("too large").to_string();
    assert!(why.contains("Fast"), "{why}");
    advance(&mut sim, 1);
}

/// Parameters of the initial state are accepted at once and take effect at the next rewind.
#[test]
fn initial_parameters_take_effect_at_the_next_rewind() {
    let params = Params::default();
    let mut sim = cpu::<f64>(&params, 1, 1);
    advance(&mut sim, 3);
    let alive = |sim: &CpuSim<f64>| sim.state().alive.iter().filter(|a| **a == 1).count();
    let before = sim.state().clone();
    for text in ["population.n_start=60", "population.weight_scale=0.7", "phases.frequencies=LorentzQuantiles"] {
        assert_eq!(sim.set(&change(&params, text)).expect("taken"), Effect::Applied, "{text}");
    }
    assert_eq!(
        (sim.state().phi.clone(), alive(&sim)),
        (before.phi.clone(), before.alive.iter().filter(|a| **a == 1).count())
    );
    sim.rewind().expect("rewound");
    let mut other = params;
    (other.population.n_start, other.population.weight_scale) = (60, 0.7);
    other.phases.frequencies = neuropil::kinds::nuclei::Frequencies::LorentzQuantiles;
    let built = cpu::<f64>(&other, 1, 1);
    assert_eq!(alive(&sim), 60);
    assert_eq!((&sim.state().w, &sim.state().omega), (&built.state().w, &built.state().omega));
}

#[test]
fn divergence_is_reported_with_step_and_remedy() {
    let mut params = Params::default();
    params.task.learning_rate = 100.0;
    let mut sim = cpu::<f32>(&params, 1, 1);
    let error = sim.advance(200, &mut Pass::default()).expect_err("weights explode");
    let step = sim.clock().step;
    let said = format!("became NaN or infinite at step {step}; lower task.learning_rate");
    assert!(matches!(&error, SimError::Diverged(why) if why.contains(&said)), "{error}");
    assert!(error.to_string().starts_with("the weights of nucleus "), "{error}");
}

#[test]
fn gradient_steps_reach_the_noise_floor() {
    let mut params = Params::default();
    params.task.learning_rate = 0.1;
    (params.population.k_worst, params.population.m_fuse) = (0, 0);
    for precision in [StatePrecision::F32, StatePrecision::F64] {
        params.population.precision = precision;
        let setup = Arc::new(NucleiKind::prepare(&params, &scene(1), &Progress::default()).expect("a task"));
        let mut sim = NucleiKind::start(StartRequest::new(
            &params,
            &scene(1),
            setup,
            &Device::Cpu { threads: 1 },
            &Progress::default(),
        ))
        .expect("it starts");
        sim.tap(&[Tap::of(probes::FITNESS)]).expect("tapped");
        advance(&mut *sim, 200);
        let mut frame = Frame::default();
        sim.sample(&mut frame).expect("it reads");
        let Some(Reading::Series(fitness)) = frame.reading(probes::FITNESS) else { panic!("a series") };
        let last = fitness.values.last_chunk::<4>().expect("samples");
        assert!(last.iter().all(|f| *f < 0.01), "all reach the floor: {last:?}");
    }
}
