//! Reward learning: the rewarded one of two actions is chosen after training, for any seed.

use super::rules::{cpu, model, spikes};
use neuropil::sim::Spike;
use std::ops::Range;

/// Steps of a trial, and of its part in which the choice is made.
const TRIAL: u32 = 5000;
const CHOICE: Range<u32> = 2000..4500;
/// Neurons of the two actions.
const ACTIONS: [Range<u32>; 2] = [50..70, 70..90];

/// Returns the number of spikes of each action by trial.
fn trials(edits: &[&str], seed: u64, n: u32) -> Vec<[u32; 2]> {
    let (_, spikes) = spikes(&model("reward", edits), &cpu(), seed, n * TRIAL);
    let mut counts = vec![[0; 2]; n as usize];
    for Spike { step, lane } in spikes {
        if let Some(action) =
            ACTIONS.iter().position(|of| of.contains(&lane)).filter(|_| CHOICE.contains(&(step % TRIAL)))
        {
            counts[(step / TRIAL) as usize][action] += 1;
        }
    }
    counts
}

/// Returns the share of trials in which the first action is chosen.
fn share_of_first(trials: &[[u32; 2]]) -> f64 {
    trials.iter().filter(|[a, b]| a > b).count() as f64 / trials.len() as f64
}

/// The reward is exchanged between seeds.
#[test]
fn the_rewarded_action_is_learnt() {
    for seed in 1..3 {
        let (edits, rewards_first): (&[&str], _) =
            if seed % 2 == 0 { (&["projections.4.from=B"], false) } else { (&[], true) };
        let trials = trials(edits, seed, 100);
        let share = share_of_first(&trials[50..]);
        let share = if rewards_first { share } else { 1.0 - share };
        assert!(share >= 0.8, "seed {seed}: the rewarded action is chosen in {share} of the last 50 trials");
    }
}

#[test]
fn without_a_third_factor_nothing_is_learnt() {
    let edits = ["projections.0.plasticity.per_rate=0", "projections.1.plasticity.per_rate=0"];
    let share = share_of_first(&trials(&edits, 1, 200));
    assert!((share - 0.5).abs() <= 0.1, "the first action is chosen in {share} of 200 trials");
}
