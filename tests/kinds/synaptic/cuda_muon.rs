//! Muon of the synaptic model on a GPU against the CPU, which is the definition; every expert's matrices for themselves.

use super::{
    cuda::{NEAR, near},
    cuda_life,
    cuda_training::{HYPER, Pair, configs, freeze_some, stats, step_input},
    simulation::{advance, model},
};
use crate::device::gpu;
use neuropil::{
    gpu::Pass,
    kinds::{
        language::backend::{Hyper, MatrixUpdate, StateBuffer},
        synaptic::{
            backend::{Backend, Dynamics, StepInput},
            life::{ExpertArrays, LifeCycle, Move, MoveAddress, Removal, edits},
            probes,
        },
    },
    params::path,
    sim::{Effect, Tap},
};

const MUON: Hyper = Hyper { matrices: MatrixUpdate::Muon { momentum: 0.95, rate: 5.0 }, ..HYPER };

/// Ten steps from this one on, of which one expert and the embedding are frozen.
fn train(pair: &mut Pair, steps: std::ops::Range<u32>, on_cpu: bool, pass: &mut Pass) {
    let (frozen, frozen_experts) = freeze_some(&pair.config);
    for step in steps {
        // One token per sequence, repeated: most experts have no tokens.
        let ((tokens, targets), second) = (pair.text(2, 100 + step), pair.text(2, 200 + step));
        let first = (vec![tokens[0]; tokens.len()], targets);
        let batches =
            if step % 3 == 1 { vec![pair.batch(&first)] } else { vec![pair.batch(&first), pair.batch(&second)] };
        let input = StepInput {
            hyper: &MUON,
            frozen: &frozen,
            frozen_experts: &frozen_experts,
            measures: true,
            ..step_input(step, &batches)
        };
        if on_cpu {
            pair.cpu.step(&input, &mut Pass::default()).unwrap_or_else(|why| panic!("{why}"));
        }
        pair.device.step(&input, pass).unwrap_or_else(|why| panic!("{why}"));
    }
}

/// How far the device is from the CPU, as a share of how far the CPU moved.
fn off(pair: &Pair, before: &[f32], buffer: StateBuffer) -> f64 {
    let [want, got] = [&pair.cpu, &pair.device].map(|b| Pair::weights(&**b, &pair.layout, buffer));
    let distance = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| f64::from(a - b).powi(2)).sum::<f64>().sqrt();
    distance(&got, &want) / distance(&want, before)
}

#[test]
fn cuda_muon_is_that_of_the_cpu() {
    let Some(gpu) = gpu() else { return };
    for config in configs() {
        let mut pair = Pair::new(&gpu, &config, &Dynamics::new(&config));
        let before = Pair::weights(&*pair.device, &pair.layout, StateBuffer::Weights);
        train(&mut pair, 0..10, true, &mut Pass::default());
        let losses = |backend: &mut dyn Backend| stats(backend).iter().map(|s| s.loss).collect::<Vec<f32>>();
        let (want, got) = (losses(&mut *pair.cpu), losses(&mut *pair.device));
        near("losses", &got, &want, 10.0 * NEAR);
        let (weights, momentum) =
            (off(&pair, &before, StateBuffer::Weights), off(&pair, &vec![0.0; before.len()], StateBuffer::FirstMoment));
        assert!(weights <= 1e-2 && momentum <= 1e-2);
        let (now, momentum) = (
            Pair::weights(&*pair.device, &pair.layout, StateBuffer::Weights),
            Pair::weights(&*pair.device, &pair.layout, StateBuffer::FirstMoment),
        );
        for (layer, block) in pair.layout.blocks.iter().enumerate() {
            // Dead experts have no tokens: neither decay nor momentum.
            for view in [block.fc1, block.fc2] {
                let range = pair.layout.expert_range(view, layer);
                assert!(now[range.clone()] == before[range.clone()] && momentum[range].iter().all(|m| *m == 0.0));
            }
        }
        let frozen = pair.layout.expert_range(pair.layout.blocks[1].fc1, 2);
        assert!(now[frozen.clone()] == before[frozen.clone()] && momentum[frozen].iter().all(|m| *m == 0.0));
        let [want, got] = [&mut pair.cpu, &mut pair.device].map(|backend| backend.norms(0).expect("it is read"));
        for (got, want) in got.iter().zip(&want) {
            near("norms", &[got.weight, got.gradient, got.update], &[want.weight, want.gradient, want.update], 1e-2);
        }
    }
}

/// Launch by launch, as graphs, and continued from what was read.
#[test]
fn cuda_muon_repeats_bit_for_bit() {
    let Some(gpu) = gpu() else { return };
    let config = configs()[0].clone();
    let run = |measured: bool| {
        let mut pair = Pair::new(&gpu, &config, &Dynamics::new(&config));
        let mut pass = if measured { Pass::measuring() } else { Pass::default() };
        train(&mut pair, 0..6, false, &mut pass);
        StateBuffer::ALL.map(|buffer| Pair::weights(&*pair.device, &pair.layout, buffer))
    };
    let want = run(false);
    assert!(run(false) == want, "a second run");
    assert!(run(true) == want, "graphs change no bit");
}

/// Splits, merges and removals between steps carry the momentum of experts.
#[test]
fn cuda_muon_continues_after_moves() {
    let Some(gpu) = gpu() else { return };
    let moves = [
        Move::Remove { slot: 4, cause: Removal::Weakest },
        Move::Split { parent: 2, child: 4 },
        Move::Merge { winner: 5, loser: 0, alpha: 0.7 },
    ];
    let config = configs()[1].clone();
    let mut pair = Pair::new(&gpu, &config, &Dynamics::new(&config));
    let before = Pair::weights(&*pair.device, &pair.layout, StateBuffer::Weights);
    train(&mut pair, 0..3, true, &mut Pass::default());
    let op = LifeCycle { noise: 0.0, ..LifeCycle::default() };
    for (layer, block) in pair.layout.blocks.iter().enumerate() {
        let weights = [block.fc1, block.fc1_bias, block.fc2, block.fc2_bias];
        let arrays = ExpertArrays::new(&pair.layout.map, &weights, block.router, block.genome);
        let at = MoveAddress { seed: 9, step: 3, first_slot: (layer * config.experts) as u32 };
        let all = edits(&op, &moves, &at, &arrays);
        let momentum = |backend: &dyn Backend| {
            let of = |expert| {
                let range = pair.layout.expert_range(block.fc1, expert);
                let mut to = vec![0.0; range.len()];
                backend.read(StateBuffer::FirstMoment, range.start, &mut to).expect("it is read");
                to
            };
            [of(2), of(4), of(0)]
        };
        for backend in [&mut pair.cpu, &mut pair.device] {
            backend.edit(&all).unwrap_or_else(|why| panic!("{why}"));
            let [parent, child, loser] = momentum(&**backend);
            assert!(parent == child, "a child has the momentum of its parent");
            assert!(loser.iter().all(|m| *m == 0.0), "a free slot has none");
        }
    }
    train(&mut pair, 3..6, true, &mut Pass::default());
    let off = off(&pair, &before, StateBuffer::Weights);
    assert!(off <= 1e-2);
}

/// A change from AdamW to Muon and back is taken while a model trains.
#[test]
fn cuda_changes_its_optimizer_while_it_trains() {
    let Some(gpu) = gpu() else { return };
    let mut sim = cuda_life::start(&gpu, &[]);
    sim.tap(&[Tap::of(probes::LOSS)]).expect("it is tapped");
    for text in ["training.optimizer=Muon()", "training.optimizer=AdamW"] {
        advance(&mut *sim, 5);
        let change = path::parse(model(&[]).params(), text).expect("a parameter");
        assert_eq!(sim.set(&change).expect("it is taken"), Effect::Applied, "{text}");
        advance(&mut *sim, 5);
    }
    assert_eq!(sim.clock().step, 20);
}
