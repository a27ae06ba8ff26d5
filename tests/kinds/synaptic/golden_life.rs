//! Scores, choices and moves of the life cycle in reference form.

use super::{
    earlier::{
        life::{ReferenceScore, Selection, health, merge, merge_alpha, split},
        linear::SynapticLinear,
        mixture::ReferenceMixture,
    },
    golden_files::{TOLERANCE, compare},
    golden_postsynaptic::linear,
};
use neuropil::kinds::synaptic::experts::{Router, RouterState};
use neuropil_test_support::golden::Golden;
use std::collections::BTreeSet;

fn f32s(values: &[f64]) -> Vec<f32> {
    values.iter().map(|x| *x as f32).collect()
}

fn f64s(values: &[f32]) -> Vec<f64> {
    values.iter().map(|x| f64::from(*x)).collect()
}

/// `21_`: averages after each step.
pub fn check_neuroscore(file: &Golden) {
    let [steps, batch, tokens, top_k] = file.shape("indices")[..] else { panic!("four sizes") };
    let (rows, experts) = (batch * tokens, file.shape("energy")[1]);
    let indices: Vec<u32> = file.whole("indices").iter().map(|e| *e as u32).collect();
    let (gates, x, energy) = (f32s(file.get("gates")), f32s(file.get("x")), f32s(file.get("energy")));
    let width = x.len() / steps / rows;
    let mut score = ReferenceScore::new(experts);
    let mut all: [Vec<f64>; 6] = Default::default();
    for step in 0..steps {
        let selected = step * rows * top_k..(step + 1) * rows * top_k;
        let x = &x[step * rows * width..(step + 1) * rows * width];
        let energy = &energy[step * experts..(step + 1) * experts];
        score.update(&indices[selected.clone()], &gates[selected], top_k, x, energy);
        all[0].push(score.gini());
        let scores =
            [&score.contribution, &score.frequency, &score.specialization, &score.efficiency, &score.resilience];
        all[1..].iter_mut().zip(scores).for_each(|(all, score)| all.extend(score));
    }
    let names = ["gini", "loss_contrib", "routing_freq", "specialization", "efficiency", "resilience"];
    for (name, got) in names.into_iter().zip(&all) {
        // A quotient by a difference of two averages.
        compare(file, name, got, if name == "resilience" { 1e-3 } else { TOLERANCE });
    }
}

/// A layer of which a file has some experts; others are empty.
fn layer(file: &Golden, touched: &[usize]) -> ReferenceMixture<f32> {
    let read = |name: &str| f32s(file.get(&format!("b_{name}")));
    let [experts, width] = file.shape("b_router__weight")[..] else { panic!("a matrix") };
    let expert = |e: usize| -> [SynapticLinear<f32>; 2] {
        if !touched.contains(&e) {
            return Default::default();
        }
        ["fc1", "fc2"].map(|part| linear(file, &format!("b_experts__{e}__{part}__")))
    };
    let mut state = RouterState::new(experts, read("router_embeddings"));
    (state.fatigue, state.energy) = (read("fatigue"), read("energy"));
    ReferenceMixture {
        op: Router::new(experts, 2, width),
        router: read("router__weight"),
        probe: read("router_probe__weight"),
        genome: read("Xi"),
        state,
        experts: (0..experts).map(expert).collect(),
    }
}

/// Compares every array `a_…` of a file with a layer.
fn compare_layer(file: &Golden, layer: &ReferenceMixture<f32>) {
    for array in file.names().iter().filter(|name| name.starts_with("a_")) {
        let parts: Vec<&str> = array[2..].split("__").collect();
        let got = match parts[..] {
            ["router_embeddings"] => &layer.state.embeddings,
            ["fatigue"] => &layer.state.fatigue,
            ["energy"] => &layer.state.energy,
            ["Xi"] => &layer.genome,
            ["router", "weight"] => &layer.router,
            ["router_probe", "weight"] => &layer.probe,
            ["experts", expert, part, ref name @ ..] => {
                let expert = &layer.experts[expert.parse::<usize>().expect("a number")];
                let linear = &expert[usize::from(part == "fc2")];
                match name {
                    ["w_slow"] => &linear.w_slow,
                    ["w_fast"] => &linear.w_fast,
                    ["bias"] => &linear.bias,
                    ["u_buf"] => &linear.u_trace,
                    ["v_buf"] => &linear.v_trace,
                    ["post", "fast"] => &linear.unit.fast,
                    ["post", "slow"] => &linear.unit.slow,
                    ["post", "U"] => &linear.unit.u,
                    ["post", "V"] => &linear.unit.v,
                    ["post", "camkii"] => &linear.unit.camkii,
                    ["post", "pp1"] => &linear.unit.pp1,
                    ["post", "bdnf"] => &linear.unit.bdnf,
                    ["post", "bdnf_hebb_accum"] => &linear.unit.bdnf_drive,
                    _ => panic!("{array}"),
                }
            }
            _ => panic!("{array}"),
        };
        compare(file, array, &f64s(got), TOLERANCE);
    }
}

/// `22_`: a merge.
pub fn check_merge(file: &Golden) {
    let [winner, loser] = ["winner", "loser"].map(|name| file.one(name) as usize);
    let mut layer = layer(file, &[winner, loser]);
    let fatigue = |e: usize| f64::from(layer.state.fatigue[e]);
    compare(file, "alpha", &[merge_alpha(fatigue(winner), fatigue(loser))], TOLERANCE);
    merge(&mut layer, winner, loser);
    compare_layer(file, &layer);
}

/// `23_`: a split.
pub fn check_split(file: &Golden) {
    let [parent, child] = ["src", "dst"].map(|name| file.one(name) as usize);
    let mut layer = layer(file, &[parent, child]);
    split(&mut layer, parent, child);
    compare_layer(file, &layer);
}

/// `24_`: what the rules select in random layers. A row of picks is padded with -1; slots of the same health may be in any
/// order, and so may the two of a pair.
pub fn check_picks(file: &Golden) {
    let read = |name: &str| f32s(file.get(name));
    check_picks_of(file, &read("fatigue"), &read("energy"), &read("router_embeddings"));
}

/// The same of this state.
pub fn check_picks_of(file: &Golden, fatigue: &[f32], energy: &[f32], embeddings: &[f32]) {
    let [cases, rows, columns] = file.shape("picks")[..] else { panic!("{}: three sizes of picks", file.name) };
    let picks = file.whole("picks");
    let op = Selection { per_call: 2, healthy: 0.5, ..Selection::default() };
    let mut off = vec![];
    for case in 0..cases {
        let part = |all: &[f32]| all[case * all.len() / cases..(case + 1) * all.len() / cases].to_vec();
        let health = health(&part(fatigue), &part(energy));
        let row = |row: usize| -> Vec<usize> {
            let at = (case * rows + row) * columns;
            picks[at..at + columns].iter().filter(|e| **e >= 0).map(|e| *e as usize).collect()
        };
        let pairs = |flat: &[usize]| -> Vec<BTreeSet<usize>> {
            flat.chunks(2).map(|pair| pair.iter().copied().collect()).collect()
        };
        // Slots are known by their health, and are there once.
        let of = |slots: &[usize]| slots.iter().map(|e| health.get(*e).copied()).collect::<Vec<Option<f64>>>();
        let same = |got: &[usize], want: &[usize]| {
            of(got) == of(want) && want.iter().collect::<BTreeSet<_>>().len() == want.len()
        };
        let merges: Vec<usize> = op.pairs(&health, &part(embeddings)).into_iter().flatten().collect();
        let (sources, weakest) = (op.sources(&health), Selection { per_call: row(2).len(), ..op }.weakest(&health));
        // Of more dead slots than a call resets any may be meant.
        let (dead, wanted) = (op.dead(&health), row(3));
        let is_dead = |e: &usize| health.get(*e).is_some_and(|health| *health <= op.dead);
        let fits = wanted.len() == dead.len() && same(&wanted, &wanted) && wanted.iter().all(is_dead);
        let all = [
            ("merges", pairs(&merges) == pairs(&row(0)), merges, row(0)),
            ("sources", same(&sources, &row(1)), sources, row(1)),
            ("weakest", same(&weakest, &row(2)), weakest, row(2)),
            ("dead", fits, dead, wanted),
        ];
        let differ = all.into_iter().filter(|(_, is_same, ..)| !is_same);
        off.extend(differ.map(|(what, _, got, want)| format!("case {case}, {what}: {got:?} and not {want:?}")));
    }
    assert!(off.is_empty(), "{} picks: {} rows differ, tolerance 0: {}", file.name, off.len(), off.join("; "));
}
