//! Tests of training steps.

use super::{HYPER, Mode, batch, dynamics, step, tiny, tokens, trainer};
use crate::{
    gpu::Pass,
    kinds::{
        language::backend::{Counters, Hyper, MatrixUpdate, Outcome},
        synaptic::{
            backend::StepInput,
            cpu::Trainer,
            model::{Config, Role},
            presynaptic::Release,
        },
    },
    nn::parameters::ViewId,
};
use rayon::ThreadPoolBuilder;

const MUON: Hyper = Hyper { matrices: MatrixUpdate::Muon { momentum: 0.9, rate: 5.0 }, ..HYPER };

/// Returns a trainer after three steps with random release.
fn trained(threads: usize, hyper: &Hyper) -> Trainer<f32> {
    let config = Config { context: 24, ..tiny() };
    let mut dynamics = dynamics(&config, Mode::Scan);
    dynamics.presynaptic.release = Release::Binomial { fraction: 0.3 };
    let mut trainer = trainer::<f32>(&config, &dynamics);
    let pool = ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
    for i in 0..3 {
        let (tokens, targets) = tokens(&config, 5, 24, 30 + i);
        let (first, second) = (batch(3, &tokens[..72], &targets[..72]), batch(2, &tokens[72..], &targets[72..]));
        let batches = [first, second];
        let input = step(i.into(), &batches, hyper);
        let outcome = pool.install(|| trainer.step(&input, &mut Pass::default())).expect("it fits");
        assert_eq!(outcome, Outcome::Done);
    }
    trainer
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    for hyper in [HYPER, MUON] {
        let [one, three] = [1, 3].map(|threads| trained(threads, &hyper));
        assert_eq!(one.network.weights, three.network.weights);
        assert_eq!((one.network.routers, one.experts), (three.network.routers, three.experts));
    }
}

#[test]
fn the_loss_falls() {
    // The last case has one key/value head per query head.
    for (mode, hyper, kv_heads) in [(Mode::Scan, HYPER, 2), (Mode::TsodyksMarkram, MUON, 2), (Mode::Scan, HYPER, 4)] {
        let config = Config { kv_heads, ..tiny() };
        let mut trainer = trainer::<f32>(&config, &dynamics(&config, mode));
        let (tokens, targets) = tokens(&config, 4, config.context, 40);
        let batches = [batch(4, &tokens, &targets)];
        for i in 0..30 {
            trainer.step(&step(i, &batches, &hyper), &mut Pass::default()).expect("it fits");
        }
        let mut stats = vec![];
        stats.append(&mut trainer.state.stats);
        let (first, last) = (stats[0].loss, stats[29].loss);
        assert!(last < 0.7 * first, "{mode:?}: {first} {last}");
        assert_eq!(trainer.state.counters, Counters { updates: 30, loss_scale: 1.0, finite_steps: 0 });
    }
}

#[test]
fn gradients_of_micro_batches_are_those_of_the_batch_without_the_auxiliary_loss() {
    let config = tiny();
    let mut dynamics = dynamics(&config, Mode::Scan);
    dynamics.aux_weight = 0.0;
    let mut trainer = trainer::<f64>(&config, &dynamics);
    let (tokens, targets) = tokens(&config, 4, config.context, 41);
    let mut of = |batches: &[_]| {
        let loss = trainer.gradients(batches, 0, &mut Pass::default()).expect("it fits").expect("not stopped");
        (loss, trainer.state.gradient.clone())
    };
    let (whole, gradient) = of(&[batch(4, &tokens, &targets)]);
    let (parts, sum) = of(&[batch(1, &tokens[..12], &targets[..12]), batch(3, &tokens[12..], &targets[12..])]);
    assert!((whole.mean - parts.mean).abs() < 1e-12);
    assert!(gradient.iter().zip(&sum).all(|(a, b)| (a - b).abs() < 1e-12));
    assert_eq!(whole.experts[1].load.counts, parts.experts[1].load.counts);
    let contributions = whole.experts[0].contribution.iter().zip(&parts.experts[0].contribution);
    assert!(contributions.into_iter().all(|(a, b)| (a - b).abs() < 1e-12));
}

#[test]
fn routers_change_in_training_and_genomes_do_not() {
    let config = tiny();
    let mut trainer = trainer::<f32>(&config, &dynamics(&config, Mode::Scan));
    let (before, routers) = (trainer.network.weights.clone(), trainer.network.routers.clone());
    let (tokens, targets) = tokens(&config, 2, config.context, 42);
    let batches = [batch(2, &tokens, &targets)];
    trainer.step(&step(0, &batches, &HYPER), &mut Pass::default()).expect("it fits");
    for (state, old) in trainer.network.routers.iter().zip(&routers) {
        assert!(state.fatigue != old.fatigue && state.energy != old.energy && state.embeddings != old.embeddings);
    }
    for (i, view) in trainer.network.layout.map.views().enumerate() {
        let is_kept = trainer.network.weights[view.range()] == before[view.range()];
        assert_eq!(is_kept, trainer.network.layout.role(ViewId(i)) == Role::Genome, "{}", view.name);
    }
    assert_eq!(trainer.experts[1].selection.experts.len(), 48);
    assert_eq!(trainer.experts[1].load.tokens, 24);
}

#[test]
fn frozen_blocks_and_experts_keep_parameters_moments_and_routers() {
    let config = tiny();
    for hyper in [HYPER, MUON] {
        let mut trainer = trainer::<f32>(&config, &dynamics(&config, Mode::Scan));
        let (tokens, targets) = tokens(&config, 2, config.context, 43);
        let batches = [batch(2, &tokens, &targets)];
        let mut frozen_experts = [false; 8];
        frozen_experts[4 + 2] = true;
        let (before, routers) = (trainer.network.weights.clone(), trainer.network.routers.clone());
        for i in 0..3 {
            let input = StepInput {
                frozen: &[false, true, false, false],
                frozen_experts: &frozen_experts,
                ..step(i, &batches, &hyper)
            };
            trainer.step(&input, &mut Pass::default()).expect("it fits");
        }
        let (layout, weights) = (trainer.network.layout.clone(), &trainer.network.weights);
        let same = |range: std::ops::Range<usize>| weights[range.clone()] == before[range];
        assert!(
            same(layout.map.view(layout.blocks[0].fc1).range()) && same(layout.map.view(layout.blocks[0].q).range())
        );
        for view in layout.blocks[1].of_experts() {
            let range = layout.expert_range(view, 2);
            assert!(same(range.clone()) && trainer.state.m[range].iter().all(|m| *m == 0.0));
        }
        assert!(!same(layout.expert_range(layout.blocks[1].fc1, 1)));
        assert!(trainer.network.routers[0] == routers[0] && trainer.network.routers[1] != routers[1]);
    }
}

#[test]
fn a_gradient_that_is_not_finite_changes_nothing() {
    let config = tiny();
    let mut trainer = trainer::<f32>(&config, &dynamics(&config, Mode::Scan));
    trainer.network.weights[3] = f32::NAN;
    let (before, routers) = (trainer.network.weights.clone(), trainer.network.routers.clone());
    let tokens = vec![0; 12];
    let targets = vec![1; 12];
    let batches = [batch(1, &tokens, &targets)];
    trainer.step(&step(0, &batches, &HYPER), &mut Pass::default()).expect("it fits");
    let mut stats = vec![];
    stats.append(&mut trainer.state.stats);
    assert!(stats[0].is_skipped() && trainer.state.counters.updates == 0 && trainer.network.routers == routers);
    assert!(trainer.network.weights.iter().zip(&before).all(|(a, b)| a.to_bits() == b.to_bits()));
}

#[test]
fn a_stop_leaves_everything_as_it_was() {
    let config = tiny();
    let mut trainer = trainer::<f32>(&config, &dynamics(&config, Mode::Scan));
    let (before, routers) = (trainer.network.weights.clone(), trainer.network.routers.clone());
    let (tokens, targets) = tokens(&config, 2, config.context, 44);
    let batches = [batch(2, &tokens, &targets)];
    let mut pass = Pass::default();
    pass.stop.raise();
    assert_eq!(trainer.step(&step(0, &batches, &HYPER), &mut pass).expect("it fits"), Outcome::Stopped);
    assert!(trainer.network.weights == before && trainer.network.routers == routers);
}
