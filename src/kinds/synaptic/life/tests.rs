//! Properties of the life cycle, over random states and plans.

use super::*;
use crate::{
    nn::{
        optimizer::cpu::Buffers,
        parameters::{ParameterMap, ViewId},
        testing::numbers,
    },
    sim::{FREE_SLOT, LifeEvent},
};
use std::{collections::BTreeSet, ops::Range};

const E: usize = 6;
const C: usize = 5;
const HIDDEN: usize = 7;
const F: usize = 4;
const TOP_K: usize = 2;

/// A layer of a model, between two parameters that must not change.
#[derive(Clone, PartialEq, Debug)]
struct Layer {
    arrays: ExpertArrays,
    p: Vec<f32>,
    m: Vec<f32>,
    v: Vec<f32>,
    embeddings: Vec<f32>,
    fatigue: Vec<f32>,
    energy: Vec<f32>,
    balance: Vec<f32>,
    alive: Vec<u8>,
    outside: Vec<Range<usize>>,
}

impl Layer {
    fn new(seed: u64) -> Self {
        let mut map = ParameterMap::default();
        let shapes: [&[usize]; 8] =
            [&[9], &[E, HIDDEN, C], &[E, HIDDEN], &[E, C, HIDDEN], &[E, C], &[E, C], &[E, 4], &[3]];
        let ids: Vec<ViewId> =
            shapes.iter().enumerate().map(|(i, shape)| map.add(format!("p{i}"), shape).unwrap()).collect();
        let arrays = ExpertArrays::new(&map, &ids[1..5], ids[5], ids[6]);
        let n = map.len();
        let positive = |seed| numbers::<f32>(n, seed).into_iter().map(f32::abs).collect();
        let mut embeddings = numbers::<f32>(E * F, seed + 4);
        for row in embeddings.chunks_mut(F) {
            let norm = row.iter().map(|x| x * x).sum::<f32>().sqrt();
            row.iter_mut().for_each(|x| *x /= norm);
        }
        let unit = |seed| numbers::<f32>(E, seed).into_iter().map(|x| 0.5 + 0.5 * x).collect();
        Self {
            arrays,
            p: numbers(n, seed),
            m: numbers(n, seed + 1),
            v: positive(seed + 2),
            embeddings,
            fatigue: unit(seed + 5),
            energy: unit(seed + 6),
            balance: vec![0.0; E],
            alive: vec![1; E],
            outside: [ids[0], ids[7]].map(|id| map.view(id).range()).to_vec(),
        }
    }

    fn apply(&mut self, op: &LifeCycle, moves: &[Move], step: u64) {
        let at = MoveAddress { seed: 3, step, first_slot: E as u32 };
        let weights = Buffers { p: &mut self.p, m: &mut self.m, v: &mut self.v };
        let router = RouterSlots {
            embeddings: &mut self.embeddings,
            fatigue: &mut self.fatigue,
            energy: &mut self.energy,
            balance: &mut self.balance,
            alive: &mut self.alive,
        };
        apply(op, moves, &at, &self.arrays, weights, router);
    }

    fn health(&self) -> Vec<f64> {
        health(&self.fatigue, &self.energy, &self.alive, TOP_K)
    }

    fn expert(&self, slot: usize) -> Vec<f32> {
        self.arrays.weights.iter().flat_map(|array| self.p[array.range(slot)].to_vec()).collect()
    }
}

/// No noise, mutation or tilt.
const EXACT: LifeCycle = LifeCycle {
    warm_up: 0,
    interval: 10,
    dead: 0.02,
    weak: 0.25,
    similar: 0.85,
    weakest: 0.12,
    healthy: 0.45,
    parent: ParentChoice::Healthiest,
    noise: 0.0,
    mutation: 0.0,
    tilt: 0.0,
    embedding_noise: 0.0,
};

/// `W2 relu(W1 x + b1)² + b2` of the expert in a slot.
fn output(layer: &Layer, slot: usize, x: &[f32]) -> Vec<f32> {
    let [w1, b1, w2, b2]: [&[f32]; 4] = std::array::from_fn(|i| &layer.p[layer.arrays.weights[i].range(slot)]);
    let dot = |row: &[f32], x: &[f32]| row.iter().zip(x).map(|(a, b)| a * b).sum::<f32>();
    let hidden: Vec<f32> = w1.chunks(C).zip(b1).map(|(row, b)| (dot(row, x) + b).max(0.0)).map(|h| h * h).collect();
    w2.chunks(HIDDEN).zip(b2).map(|(row, b)| dot(row, &hidden) + b).collect()
}

#[test]
fn without_noise_a_child_computes_the_same_bits_as_its_parent() {
    let mut layer = Layer::new(1);
    let before = layer.clone();
    let moves = [Move::Remove { slot: 4, cause: Removal::Dead }, Move::Split { parent: 2, child: 4 }];
    layer.apply(&EXACT, &moves, 100);
    let x: Vec<f32> = numbers(C, 9);
    assert_eq!(output(&layer, 4, &x), output(&before, 2, &x));
    assert_eq!(output(&layer, 2, &x), output(&before, 2, &x));
    for (after, old) in [(&layer.p, &before.p), (&layer.m, &before.m), (&layer.v, &before.v)] {
        for array in layer.arrays.weights.iter().chain([&layer.arrays.router, &layer.arrays.genome]) {
            assert_eq!(after[array.range(4)], old[array.range(2)], "the child has the parent's parameters and moments");
            for other in [0, 1, 2, 3, 5] {
                assert_eq!(after[array.range(other)], old[array.range(other)], "others stay");
            }
        }
        assert!(layer.outside.iter().all(|range| after[range.clone()] == old[range.clone()]));
    }
    assert_eq!((layer.fatigue[2], layer.fatigue[4]), (0.5 * before.fatigue[2], 0.5 * before.fatigue[2]));
    assert_eq!((layer.energy[2], layer.energy[4]), (before.energy[2], before.energy[2]));
    assert_eq!(layer.embeddings[4 * F..5 * F], before.embeddings[2 * F..3 * F]);
}

#[test]
fn a_child_differs_by_relative_noise_a_mutation_and_a_tilt() {
    let mut layer = Layer::new(2);
    let before = layer.clone();
    layer.apply(&LifeCycle::default(), &[Move::Split { parent: 1, child: 0 }], 100);
    let changed = |array: &apply::ExpertArray, to: usize| -> Vec<f32> {
        array.range(to).zip(array.range(1)).map(|(c, p)| layer.p[c] - before.p[p]).collect()
    };
    let size = |d: &[f32]| d.iter().map(|d| d * d).sum::<f32>().sqrt();
    for array in &layer.arrays.weights {
        let d = changed(array, 0);
        let typical = 0.02 * 0.577 * (d.len() as f32).sqrt();
        assert!(d.iter().all(|d| *d != 0.0) && size(&d) < 3.0 * typical && size(&d) > 0.2 * typical, "{d:?}");
        assert!(changed(array, 1).iter().all(|d| *d == 0.0), "the parent's weights stay");
    }
    let (down, up) = (changed(&layer.arrays.router, 1), changed(&layer.arrays.router, 0));
    assert!(down.iter().zip(&up).all(|(a, b)| (a + b).abs() < 1e-6), "opposite");
    assert!((size(&up) - 0.15).abs() < 1e-6);
    let genes = changed(&layer.arrays.genome, 0);
    assert!(genes.iter().all(|d| d.abs() > 0.0 && d.abs() < 0.5), "{genes:?}");
    let [parent, child] = [1, 0].map(|slot| &layer.embeddings[slot * F..(slot + 1) * F]);
    let cosine: f32 = parent.iter().zip(child).map(|(a, b)| a * b).sum();
    assert!(cosine < 1.0 - 1e-5 && cosine > 0.9 && (size(child) - 1.0).abs() < 1e-6, "{cosine}");
    let mut again = before.clone();
    again.apply(&LifeCycle::default(), &[Move::Split { parent: 1, child: 0 }], 100);
    assert_eq!(again, layer, "draws are addressed");
    let mut later = before.clone();
    later.apply(&LifeCycle::default(), &[Move::Split { parent: 1, child: 0 }], 101);
    assert_ne!(later.p, layer.p);
}

#[test]
fn a_merge_is_the_weighted_mean_with_its_moments() {
    let mut layer = Layer::new(3);
    let before = layer.clone();
    layer.apply(&EXACT, &[Move::Merge { winner: 5, loser: 0, alpha: 0.75 }], 100);
    for (after, old) in [(&layer.p, &before.p), (&layer.m, &before.m), (&layer.v, &before.v)] {
        for array in &layer.arrays.weights {
            for ((to, w), l) in array.range(5).zip(array.range(5)).zip(array.range(0)) {
                assert!((after[to] - (0.75 * old[w] + 0.25 * old[l])).abs() < 1e-6);
            }
            assert!(after[array.range(0)].iter().all(|x| *x == 0.0), "the free slot is empty");
        }
    }
    assert_eq!((layer.alive[0], layer.alive[5]), (0, 1));
    assert_eq!(layer.fatigue[5], (before.fatigue[5] + before.fatigue[0]).min(1.0));
    let norm: f32 = layer.embeddings[5 * F..].iter().map(|x| x * x).sum();
    assert!((norm - 1.0).abs() < 1e-5);
}

/// A status with these values; everything else is that of a calm layer.
struct Case {
    health: Vec<f64>,
    alive: Vec<u8>,
    frozen: Vec<bool>,
    ages: Vec<u64>,
    fatigue: Vec<f32>,
    embeddings: Vec<f32>,
    utility: Vec<f64>,
}

impl Case {
    fn new(health: [f64; 4]) -> Self {
        // Orthogonal.
        let embeddings = (0..16).map(|i| if i % 5 == 0 { 1.0 } else { 0.0 }).collect();
        Self {
            health: health.to_vec(),
            alive: vec![1; 4],
            frozen: vec![false; 4],
            ages: vec![1000; 4],
            fatigue: vec![0.3, 0.1, 0.2, 0.4],
            embeddings,
            utility: vec![],
        }
    }

    fn status(&self) -> LayerStatus<'_> {
        LayerStatus {
            health: &self.health,
            alive: &self.alive,
            frozen: &self.frozen,
            ages: &self.ages,
            fatigue: &self.fatigue,
            embeddings: &self.embeddings,
            utility: &self.utility,
            top_k: 2,
        }
    }

    fn plan(&self) -> Vec<Move> {
        plan(&LifeCycle::default(), &self.status())
    }

    fn twins(mut self, a: usize, b: usize) -> Self {
        self.embeddings.copy_within(a * 4..(a + 1) * 4, b * 4);
        self
    }
}

#[test]
fn the_rules_in_their_order() {
    let remove = |slot, cause| Move::Remove { slot, cause };
    let split = |parent, child| Move::Split { parent, child };
    let calm = Case::new([0.45, 0.4, 0.3, 0.5]);
    assert_eq!(calm.plan(), []);
    // Dead comes before a similar weak pair, which comes before the weakest.
    let dead = Case::new([0.2, 0.02, 0.2, 0.5]).twins(0, 2);
    assert_eq!(dead.plan(), [remove(1, Removal::Dead), split(3, 1)]);
    let pair = Case::new([0.2, 0.1, 0.25, 0.5]).twins(0, 2);
    let alpha = f64::from(0.2_f32) / (f64::from(0.2_f32) + f64::from(0.3_f32));
    assert_eq!(pair.plan(), [Move::Merge { winner: 2, loser: 0, alpha }, split(3, 0)]);
    let weakest = Case::new([0.2, 0.12, 0.26, 0.5]).twins(0, 2);
    assert_eq!(weakest.plan(), [remove(1, Removal::Weakest), split(3, 1)]);
    // Without a healthy expert only a merge happens; the slot waits for the next one.
    let merge_only = Case::new([0.2, 0.01, 0.25, 0.44]).twins(0, 2);
    assert_eq!(merge_only.plan(), [Move::Merge { winner: 2, loser: 0, alpha }]);
    let mut empty = Case::new([0.0, 0.01, 0.3, 0.44]);
    empty.alive[0] = 0;
    assert_eq!(empty.plan(), []);
    empty.health[3] = 0.9;
    assert_eq!(empty.plan(), [split(3, 0)]);
    // The newborn and the frozen are left alone.
    let mut young = Case::new([0.3, 0.01, 0.3, 0.5]);
    young.ages[1] = 100;
    assert_eq!(young.plan(), []);
    young.ages[1] = 101;
    young.frozen[3] = true;
    assert_eq!(young.plan(), []);
    young.frozen[3] = false;
    assert_eq!(young.plan(), [remove(1, Removal::Dead), split(3, 1)]);
    // The variant takes the healthy one with the largest gradients.
    let mut utility = Case::new([0.6, 0.01, 0.3, 0.5]);
    utility.utility = vec![1.0, 9.0, 8.0, 2.0];
    assert_eq!(utility.plan()[1], split(0, 1));
    let by_utility = LifeCycle { parent: ParentChoice::GradientUtility, ..LifeCycle::default() };
    assert_eq!(plan(&by_utility, &utility.status())[1], split(3, 1));
}

#[test]
fn health_is_that_of_the_thresholds() {
    // Load of the fair one, of twice, of half and of 4 %, with the energy of each.
    for (rho, energy, want) in [(1.0, 0.9, 0.45), (2.0, 0.8, 0.8), (0.53, 0.947, 0.25), (0.04, 0.996, 0.02)] {
        let fatigue = [rho * 0.5, 0.1, 0.1, 0.1];
        let got = health(&fatigue, &[energy; 4], &[1; 4], 2)[0];
        assert!((got - want).abs() < 0.002, "{rho}: {got}");
    }
    assert_eq!(health(&[9.0], &[0.7_f32], &[0], 1), [0.0]);
}

#[test]
fn calls_are_due_after_the_warm_up() {
    let op = LifeCycle { warm_up: 200, interval: 100, ..LifeCycle::default() };
    let due: Vec<u64> = (0..=450).filter(|step| op.is_due(*step)).collect();
    assert_eq!(due, [200, 300, 400]);
    assert!(!(0..300).any(|step| LifeCycle { interval: 0, ..op }.is_due(step)));
    assert!(!LifeCycle { warm_up: 0, ..op }.is_due(0));
}

#[test]
fn wishes_are_checked() {
    let mut case = Case::new([0.2, 0.3, 0.25, 0.5]).twins(0, 2);
    case.frozen[1] = true;
    let ask = |case: &Case, wish| plan_wish(&case.status(), wish);
    let alpha = f64::from(0.2_f32) / (f64::from(0.2_f32) + f64::from(0.3_f32));
    let merge = Move::Merge { winner: 2, loser: 0, alpha };
    assert_eq!(ask(&case, Wish::Merge(0, 2)), Ok(vec![merge]));
    assert_eq!(ask(&case, Wish::MergeMostSimilar), Ok(vec![merge]));
    assert_eq!(ask(&case, Wish::Merge(0, 0)), Err(LifeError::SameSlot));
    assert_eq!(ask(&case, Wish::Merge(0, 1)), Err(LifeError::Frozen(1)));
    assert_eq!(ask(&case, Wish::Kill(7)), Err(LifeError::Empty(7)));
    assert_eq!(ask(&case, Wish::Kill(3)), Ok(vec![Move::Remove { slot: 3, cause: Removal::Killed }]));
    let replaced = vec![Move::Remove { slot: 0, cause: Removal::Weakest }, Move::Split { parent: 2, child: 0 }];
    assert_eq!(ask(&case, Wish::Split(2)), Ok(replaced));
    case.alive = vec![1, 1, 0, 0];
    assert_eq!(ask(&case, Wish::Kill(0)), Err(LifeError::TooFew { top_k: 2, alive: 2 }));
    assert_eq!(ask(&case, Wish::Split(0)), Ok(vec![Move::Split { parent: 0, child: 2 }]));
    assert_eq!(ask(&case, Wish::Split(2)), Err(LifeError::Empty(2)));
}

/// Random loads, thresholds at random places, wishes in between: what must hold after every call.
#[test]
fn fuzzed_lives_keep_their_invariants() {
    for seed in 0..20 {
        let mut layer = Layer::new(seed);
        let mut identities = Identities::new(2, E);
        identities.tap(true, 0, |_| None);
        let mut seen: BTreeSet<u64> = births(&identities.take()).into_iter().map(|(id, _)| id).collect();
        assert_eq!(seen.len(), 2 * E);
        let mut n_moves = 0;
        for call in 1..60_u64 {
            let step = call * 10;
            let draw: Vec<f32> = numbers(3 * E + 4, seed * 1000 + call);
            for slot in (0..E).filter(|slot| draw[*slot] > 0.5) {
                layer.fatigue[slot] = (draw[E + slot].abs() * 0.6).min(1.0);
                layer.energy[slot] = draw[2 * E + slot].abs();
            }
            let op = LifeCycle { weak: 0.4, similar: 0.2, interval: 5, ..LifeCycle::default() };
            let health = layer.health();
            for slot in (0..E).filter(|slot| layer.alive[*slot] != 0) {
                identities.freeze(1, slot, draw[slot] < -0.8).expect("it lives");
            }
            let frozen = identities.frozen()[E..].to_vec();
            let ages = identities.ages(1, step);
            let status = LayerStatus {
                health: &health,
                alive: &layer.alive,
                frozen: &frozen,
                ages: &ages,
                fatigue: &layer.fatigue,
                embeddings: &layer.embeddings,
                utility: &[],
                top_k: TOP_K,
            };
            let slot = |i: usize| (draw[3 * E + i].abs() * E as f32) as u32;
            let wish = match (draw[3 * E + 3] * 8.0) as i32 {
                -1 => Some(Wish::Kill(slot(0))),
                1 => Some(Wish::Merge(slot(0), slot(1))),
                2 => Some(Wish::Split(slot(0))),
                _ => None,
            };
            let moves = wish.map_or_else(|| plan(&op, &status), |w| plan_wish(&status, w).unwrap_or_default());
            n_moves += moves.len();
            let (frozen_before, before) = (frozen.clone(), layer.clone());
            layer.apply(&op, &moves, step);
            for slot in (0..E).filter(|slot| frozen_before[*slot]) {
                assert_eq!(layer.expert(slot), before.expert(slot), "frozen");
            }
            let readings = LayerReadings { health: &health, contribution: &[], genome: &[0.0; 4 * E] };
            identities.record(step, 1, &moves, &readings);
            check_after(&layer, &identities, &mut seen, &identities.clone().take());
            identities.take();
        }
        assert!(n_moves > 5, "seed {seed}: {n_moves} moves");
    }
}

fn births(events: &[LifeEvent]) -> Vec<(u64, Vec<u64>)> {
    let born = |event: &LifeEvent| match event {
        LifeEvent::Birth(birth) => Some((birth.child, birth.parents.clone())),
        LifeEvent::Death(_) => None,
    };
    events.iter().filter_map(born).collect()
}

fn check_after(layer: &Layer, identities: &Identities, seen: &mut BTreeSet<u64>, events: &[LifeEvent]) {
    assert_eq!((layer.alive.len(), layer.fatigue.len()), (E, E));
    assert!(layer.alive.iter().filter(|a| **a != 0).count() >= TOP_K);
    let all = [&layer.p, &layer.m, &layer.v, &layer.embeddings, &layer.fatigue, &layer.energy];
    assert!(all.into_iter().flatten().all(|x| x.is_finite()));
    assert!(layer.fatigue.iter().chain(&layer.energy).all(|x| (0.0..=1.0).contains(x)));
    assert!(layer.v.iter().all(|v| *v >= 0.0));
    for (id, parents) in births(events) {
        assert!(parents.iter().all(|parent| *parent < id && seen.contains(parent)), "parents precede children");
        assert!(!parents.is_empty() && seen.insert(id), "an id is used once");
    }
    let now = identities.individuals();
    let living: Vec<u64> = now.ids.iter().copied().filter(|id| *id != FREE_SLOT).collect();
    assert_eq!(living.iter().collect::<BTreeSet<_>>().len(), living.len(), "one slot each");
    for slot in 0..E {
        assert_eq!(now.ids[E + slot] != FREE_SLOT, layer.alive[slot] != 0, "one living expert per occupied slot");
    }
}

#[test]
fn events_have_parents_causes_and_attributes() {
    let mut identities = Identities::new(2, 3);
    let moves = [Move::Merge { winner: 2, loser: 0, alpha: 0.5 }, Move::Split { parent: 1, child: 0 }];
    let genome: Vec<f32> = (0..12).map(|g| g as f32).collect();
    let readings = LayerReadings { health: &[0.1, 0.5, 0.2], contribution: &[0.01, 0.02, 0.03], genome: &genome };
    identities.tap(true, 0, |_| None);
    identities.take();
    identities.record(300, 1, &moves, &readings);
    let lines: Vec<String> = identities.take().iter().map(|e| serde_json::to_string(e).unwrap()).collect();
    let wanted = [
        concat!(
            r#"{"step":300,"gone":5,"end":"merged","health":0.2,"attributes":{"age_at_end":300.0,"cause":"merged","#,
            r#""contribution_at_end":0.03,"layer":1.0}}"#
        ),
        concat!(
            r#"{"step":300,"gone":3,"end":"merged","health":0.1,"attributes":{"age_at_end":300.0,"cause":"merged","#,
            r#""contribution_at_end":0.01,"layer":1.0}}"#
        ),
        concat!(
            r#"{"step":300,"child":6,"parents":[5,3],"place":5,"name":"L1 E2.1","attributes":{"camkii_gene":10.0,"#,
            r#""energy_gene":9.0,"fatigue_gene":8.0,"layer":1.0,"origin":"merge","pp1_gene":11.0}}"#
        ),
        concat!(
            r#"{"step":300,"child":7,"parents":[4],"place":3,"name":"L1 E0.1","attributes":{"camkii_gene":2.0,"#,
            r#""energy_gene":1.0,"fatigue_gene":0.0,"layer":1.0,"origin":"split","pp1_gene":3.0}}"#
        ),
    ];
    assert_eq!(lines, wanted);
    let names = identities::ATTRIBUTES.iter().map(|spec| spec.name).collect::<Vec<_>>();
    let used = ["layer", "origin", "cause", "age_at_end", "contribution_at_end", "camkii_gene", "pp1_gene"];
    assert!(used.iter().all(|name| names.contains(name)));
}

#[test]
fn ids_continue_from_a_saved_state() {
    let mut whole = Identities::new(1, 3);
    let readings = LayerReadings { health: &[0.0; 3], contribution: &[], genome: &[] };
    whole.record(10, 0, &[Move::Remove { slot: 1, cause: Removal::Killed }], &readings);
    let saved = whole.save();
    let mut parts = Identities::new(1, 3);
    parts.tap(true, 0, |_| None);
    assert!(parts.restore(12, &saved, |_| Some([0.5; 4])));
    assert_eq!(parts.take().len(), 2, "a snapshot of the living");
    let split = [Move::Split { parent: 0, child: 1 }];
    whole.record(20, 0, &split, &readings);
    parts.record(20, 0, &split, &readings);
    assert_eq!(whole.individuals(), parts.individuals());
    assert_eq!(parts.occupant(0, 1), Some(identities::Occupant { id: 3, born: 20, generation: 1, is_frozen: false }));
    assert_eq!(births(&parts.take()), [(3, vec![0])]);
    assert!(!parts.restore(12, &SavedIdentities { next: 1, ..saved.clone() }, |_| None), "an id of the future");
    assert!(!parts.restore(12, &SavedIdentities { ids: vec![0, 0, 1], ..saved }, |_| None), "an id twice");
}
