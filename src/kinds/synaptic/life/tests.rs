//! Tests of properties of the life cycle over random states and plans.

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

/// Layer of a model, between two parameters that must not change.
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
        let mut weights = Buffers { p: &mut self.p, m: &mut self.m, v: &mut self.v };
        edits(op, moves, &at, &self.arrays).iter().for_each(|edit| edit.apply(&mut weights));
        let mut router = RouterSlots {
            embeddings: &mut self.embeddings,
            fatigue: &mut self.fatigue,
            energy: &mut self.energy,
            balance: &mut self.balance,
            alive: &mut self.alive,
        };
        router.follow(op, moves, &at);
    }

    fn health(&self) -> Vec<f64> {
        health(&self.fatigue, &self.energy, &self.alive, TOP_K)
    }

    fn expert(&self, slot: usize) -> Vec<f32> {
        self.arrays.weights.iter().flat_map(|array| self.p[array.range(slot)].to_vec()).collect()
    }
}

/// Life cycle without noise, mutation and tilt.
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
    loss_limit: f64::INFINITY,
    embedding_noise: 0.0,
};

/// Computes `W2 relu(W1 x + b1)² + b2` for the expert in a slot.
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
    let changed = |array: &ExpertArray, to: usize| -> Vec<f32> {
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

/// Applies random loads, thresholds and requests, and checks the invariants after every call.
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
            let moves = wish.map_or_else(
                || plan(&op, &status, |_| Ok::<_, ()>(0.0)).unwrap_or_default(),
                |w| plan_wish(&status, w).unwrap_or_default(),
            );
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
