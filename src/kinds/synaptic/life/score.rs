//! Scores of the experts of a layer, as averages over training steps.
//!
//! | score | definition |
//! | --- | --- |
//! | contribution | average of `-Σ_t gate · dL/dgate`: the first-order rise of the loss if the expert is removed, nats |
//! | frequency | average of the share of tokens that selected the expert; the sum over experts is k |
//! | specialization | `1 - cos(mean input of the expert's tokens, mean input of all)` |
//! | efficiency | contribution / energy |
//! | resilience | `1 / (variance of the contribution + 1e-4)`; 0 for an expert that is rarely used |
//! | fitness | weighted mean of the ranks of efficiency, specialization and resilience among living experts, 0..=1 |
//!
//! Averages are exponential with [`Scoring::decay`], and plain means during the first steps.

use super::Move;
use crate::{
    device_struct,
    nn::{lengths, lengths::LengthError, real::Real},
};

/// Constant added to the variance of the contribution.
const VARIANCE_FLOOR: f64 = 1e-4;
/// Constant added to the energy.
const ENERGY_FLOOR: f64 = 1e-6;
/// Smallest norm of a mean input that has a direction.
pub const SHORTEST: f64 = 1e-8;

/// Constants of scores.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scoring {
    /// Decay factor of averages per step.
    pub decay: f64,
    /// Number of steps between updates of the specialization.
    pub specialization_every: u64,
    /// Fraction of the fair load below which an expert counts as unused.
    pub unused: f64,
    /// Weights of efficiency, specialization and resilience in the fitness.
    pub weights: [f64; 3],
}

impl Default for Scoring {
    fn default() -> Self {
        Self { decay: 0.99, specialization_every: 100, unused: 0.01, weights: [1.0; 3] }
    }
}

impl Scoring {
    /// Whether the specialization is updated after step `step`.
    pub const fn is_specialization_due(&self, step: u64) -> bool {
        self.specialization_every > 0 && step.is_multiple_of(self.specialization_every)
    }
}

device_struct! {
    /// Record of an expert in a training step, for its scores.
    pub struct ExpertRecord {
        /// Share of the tokens that selected it
        share: f64,
        /// Rise of the mean loss if it is removed, to first order
        contribution: f64,
        /// Specialization; NaN where it was not measured
        specialization: f64,
    }
}

/// Averages of the experts of a layer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Score {
    /// Number of averaged steps since the birth of the expert, `[E]`.
    pub steps: Vec<u64>,
    /// Average contribution, nats, `[E]`.
    pub contribution: Vec<f64>,
    /// Variance of the contribution over steps, `[E]`.
    pub variance: Vec<f64>,
    /// Average share of tokens, `[E]`.
    pub frequency: Vec<f64>,
    /// Last measured specialization, 0..=2, `[E]`.
    pub specialization: Vec<f64>,
}

impl Score {
    /// Creates scores of `slots` slots without steps.
    pub fn new(slots: usize) -> Self {
        let zeros = vec![0.0; slots];
        Self {
            steps: vec![0; slots],
            contribution: zeros.clone(),
            variance: zeros.clone(),
            frequency: zeros.clone(),
            specialization: zeros,
        }
    }

    /// Adds a training step, with one record per slot.
    pub fn update(&mut self, op: &Scoring, records: &[ExpertRecord]) {
        for (e, record) in records.iter().enumerate() {
            self.steps[e] += 1;
            let rate = (1.0 - op.decay).max(1.0 / self.steps[e] as f64);
            let difference = record.contribution - self.contribution[e];
            self.contribution[e] += rate * difference;
            self.variance[e] = (1.0 - rate) * (self.variance[e] + rate * difference * difference);
            self.frequency[e] += rate * (record.share - self.frequency[e]);
            if !record.specialization.is_nan() {
                self.specialization[e] = record.specialization;
            }
        }
    }

    /// Computes the contribution per energy of each slot.
    pub fn efficiency(&self, energy: &[f32]) -> Vec<f64> {
        self.contribution.iter().zip(energy).map(|(c, e)| c / (f64::from(*e) + ENERGY_FLOOR)).collect()
    }

    /// Computes the resilience of each slot; 0 for experts that are rarely used.
    pub fn resilience(&self, op: &Scoring, top_k: usize) -> Vec<f64> {
        let least = op.unused * top_k as f64 / self.frequency.len().max(1) as f64;
        let of = |(variance, frequency): (&f64, &f64)| {
            if *frequency <= least { 0.0 } else { 1.0 / (variance + VARIANCE_FLOOR) }
        };
        self.variance.iter().zip(&self.frequency).map(of).collect()
    }

    /// Computes the weighted mean of the ranks among living experts, 0..=1; 0 for empty slots.
    pub fn fitness(&self, op: &Scoring, energy: &[f32], alive: &[u8], top_k: usize) -> Vec<f64> {
        let scores = [self.efficiency(energy), self.specialization.clone(), self.resilience(op, top_k)];
        let total = op.weights.iter().sum::<f64>();
        let mut fitness = vec![0.0; alive.len()];
        for (score, weight) in scores.iter().zip(op.weights) {
            for (fitness, rank) in fitness.iter_mut().zip(ranks(score, alive)) {
                *fitness += if total > 0.0 { weight / total * rank } else { 0.0 };
            }
        }
        fitness
    }

    /// Computes the Gini coefficient of the frequencies, 0 (equal) to nearly 1.
    pub fn gini(&self) -> f64 {
        gini(&self.frequency)
    }

    /// Applies the moves of a call. At a split, parent and child each get half of the parent's averages, and both have the
    /// parent's specialization. A merged expert gets the sums of both experts' averages.
    pub fn follow(&mut self, moves: &[Move]) {
        for one in moves {
            match *one {
                Move::Remove { slot, .. } => self.clear(slot as usize),
                Move::Merge { winner, loser, .. } => {
                    let (to, from) = (winner as usize, loser as usize);
                    for sums in [&mut self.contribution, &mut self.variance, &mut self.frequency] {
                        sums[to] += sums[from];
                    }
                    self.steps[to] = self.steps[to].min(self.steps[from]);
                    self.clear(from);
                }
                Move::Split { parent, child } => {
                    let (from, to) = (parent as usize, child as usize);
                    for sums in [&mut self.contribution, &mut self.variance, &mut self.frequency] {
                        sums[from] *= 0.5;
                        sums[to] = sums[from];
                    }
                    self.specialization[to] = self.specialization[from];
                    self.steps[to] = self.steps[from];
                }
            }
        }
    }

    fn clear(&mut self, slot: usize) {
        self.steps[slot] = 0;
        for values in [&mut self.contribution, &mut self.variance, &mut self.frequency, &mut self.specialization] {
            values[slot] = 0.0;
        }
    }
}

/// Returns the ranks of living slots, from 0 for the smallest score to 1 for the largest; equal scores share their mean
/// rank.
fn ranks(score: &[f64], alive: &[u8]) -> Vec<f64> {
    let living: Vec<f64> = score.iter().zip(alive).filter(|(_, a)| **a != 0).map(|(s, _)| *s).collect();
    let last = living.len().saturating_sub(1).max(1) as f64;
    let rank = |x: &f64| {
        let below = living.iter().filter(|y| *y < x).count();
        let same = living.iter().filter(|y| *y == x).count();
        (below as f64 + 0.5 * same.saturating_sub(1) as f64) / last
    };
    score.iter().zip(alive).map(|(x, a)| if *a == 0 { 0.0 } else { rank(x) }).collect()
}

/// Computes the Gini coefficient: `Σ_i (2i - E - 1) x_i / (E Σ x + 1e-6)` of ascending values, i from 1.
pub fn gini(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len() as f64;
    let weighted: f64 = sorted.iter().enumerate().map(|(i, x)| (2.0 * (i as f64 + 1.0) - n - 1.0) * x).sum();
    weighted / (n * sorted.iter().sum::<f64>() + 1e-6)
}

/// Mean inputs of all tokens, and of the tokens of each expert.
struct MeanInputs {
    all: Vec<f64>,
    experts: Vec<Vec<f64>>,
    counts: Vec<u64>,
}

/// Computes the means over inputs `[N, C]` with selections `[N, k]`; zeros for an expert without tokens. Fails if the
/// lengths do not match.
fn mean_inputs<R: Real>(x: &[R], indices: &[u32], top_k: usize, slots: usize) -> Result<MeanInputs, LengthError> {
    let tokens = indices.len() / top_k.max(1);
    let width = x.len() / tokens.max(1);
    lengths::check([("selected experts", &[tokens, top_k], indices.len()), ("inputs", &[tokens, width], x.len())])?;
    let mut means =
        MeanInputs { all: vec![0.0; width], experts: vec![vec![0.0; width]; slots], counts: vec![0; slots] };
    if tokens == 0 || width == 0 {
        return Ok(means);
    }
    for (x, experts) in x.chunks_exact(width).zip(indices.chunks_exact(top_k)) {
        means.all.iter_mut().zip(x).for_each(|(sum, x)| *sum += x.f64());
        for e in experts.iter().map(|e| *e as usize).filter(|e| *e < slots) {
            means.counts[e] += 1;
            means.experts[e].iter_mut().zip(x).for_each(|(sum, x)| *sum += x.f64());
        }
    }
    means.all.iter_mut().for_each(|sum| *sum /= tokens as f64);
    for (sums, count) in means.experts.iter_mut().zip(&means.counts) {
        sums.iter_mut().for_each(|sum| *sum /= (*count).max(1) as f64);
    }
    Ok(means)
}

/// Computes the specialization of each expert from inputs `[N, C]` and the experts that they selected, `[N, k]`; NaN for
/// experts without tokens. Fails if the lengths do not match.
pub fn specialization<R: Real>(x: &[R], indices: &[u32], top_k: usize, slots: usize) -> Result<Vec<f64>, LengthError> {
    let means = mean_inputs(x, indices, top_k, slots)?;
    let of = |(mean, count): (&Vec<f64>, &u64)| if *count > 0 { 1.0 - cosine(mean, &means.all) } else { f64::NAN };
    Ok(means.experts.iter().zip(&means.counts).map(of).collect())
}

/// Computes the cosine of two vectors; 0 if one of them is zero.
fn cosine(a: &[f64], b: &[f64]) -> f64 {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    dot(a, b) / (dot(a, a).sqrt().max(SHORTEST) * dot(b, b).sqrt().max(SHORTEST))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OP: Scoring = Scoring { decay: 0.99, specialization_every: 100, unused: 0.01, weights: [1.0; 3] };

    fn records(contribution: &[f64], share: &[f64]) -> Vec<ExpertRecord> {
        let of = |(contribution, share): (&f64, &f64)| ExpertRecord {
            share: *share,
            contribution: *contribution,
            specialization: f64::NAN,
        };
        contribution.iter().zip(share).map(of).collect()
    }

    #[test]
    fn averages_are_means_first_and_exponential_later() {
        let mut score = Score::new(2);
        for step in 0..50 {
            score.update(&OP, &records(&[f64::from(step % 2), 0.5], &[1.5, 0.5]));
        }
        assert!((score.contribution[0] - 0.5).abs() < 1e-12 && (score.variance[0] - 0.25).abs() < 1e-12);
        assert!((score.frequency[0] - 1.5).abs() < 1e-12 && (score.frequency.iter().sum::<f64>() - 2.0).abs() < 1e-12);
        for _ in 0..1000 {
            score.update(&OP, &records(&[2.0, 0.5], &[1.0, 1.0]));
        }
        assert!((score.contribution[0] - 2.0).abs() < 1e-3 && score.variance[0] < 1e-3);
        assert!(score.variance[1] < 1e-12, "a constant has no variance");
    }

    #[test]
    fn resilience_does_not_reward_the_unused() {
        let mut score = Score::new(3);
        for step in 0..2000_u64 {
            let noise = if step % 2 == 0 { 0.3 } else { -0.3 };
            let rare = if step < 100 { 0.1 } else { 0.0 };
            score.update(&OP, &records(&[0.5, 0.5 + noise, 0.0], &[1.0, 1.0, rare]));
        }
        let resilience = score.resilience(&OP, 2);
        assert!(resilience[0] > resilience[1] && resilience[1] > 0.0 && resilience[2] == 0.0, "{resilience:?}");
    }

    #[test]
    fn fitness_is_a_weighted_rank_of_the_living() {
        let mut score = Score::new(4);
        score.contribution = vec![0.3, 0.1, 9.0, 0.2];
        score.specialization = vec![0.1, 0.5, 9.0, 0.1];
        score.frequency = vec![0.5; 4];
        let alive = [1, 1, 0, 1];
        let only = |weights| score.fitness(&Scoring { weights, ..OP }, &[1.0; 4], &alive, 2);
        assert_eq!(only([1.0, 0.0, 0.0]), [1.0, 0.0, 0.0, 0.5]);
        assert_eq!(only([0.0, 1.0, 0.0]), [0.25, 1.0, 0.0, 0.25], "equal scores share their mean rank");
        assert_eq!(only([3.0, 1.0, 0.0]), [0.8125, 0.25, 0.0, 0.4375]);
        assert_eq!(only([0.0; 3]), [0.0; 4]);
    }

    #[test]
    fn specialization_is_the_angle_to_the_mean_input() {
        let mut score = Score::new(3);
        score.specialization[2] = 0.75;
        let x = [1.0_f32, 0.0, 1.0, 0.0, 0.0, 2.0];
        let mut now = records(&[0.0; 3], &[0.0; 3]);
        let found = specialization(&x, &[0, 0, 1], 1, 3).expect("it fits");
        now.iter_mut().zip(found).for_each(|(record, found)| record.specialization = found);
        score.update(&OP, &now);
        let half = 1.0 - std::f64::consts::FRAC_1_SQRT_2;
        assert!((score.specialization[0] - half).abs() < 1e-12 && (score.specialization[1] - half).abs() < 1e-12);
        assert_eq!(score.specialization[2], 0.75, "without a token it stays");
        assert!(specialization(&x, &[0, 0, 1], 2, 3).is_err());
    }

    #[test]
    fn gini_is_0_of_equal_and_large_of_unequal_loads() {
        assert!(gini(&[0.25; 8]).abs() < 1e-9);
        assert!((gini(&[0.0, 0.0, 0.0, 1.0]) - 0.75).abs() < 1e-6);
    }

    #[test]
    fn scores_follow_moves() {
        let mut score = Score::new(3);
        score.update(&OP, &records(&[0.4, 0.2, 0.1], &[8.0 / 7.0, 4.0 / 7.0, 2.0 / 7.0]));
        score.follow(&[Move::Merge { winner: 0, loser: 1, alpha: 0.5 }, Move::Split { parent: 2, child: 1 }]);
        let near = |values: &[f64], want: [f64; 3]| values.iter().zip(want).all(|(a, b)| (a - b).abs() < 1e-12);
        assert!(near(&score.contribution, [0.6, 0.05, 0.05]), "{:?}", score.contribution);
        assert!(near(&score.frequency, [12.0 / 7.0, 1.0 / 7.0, 1.0 / 7.0]));
        score.follow(&[Move::Remove { slot: 0, cause: super::super::Removal::Dead }]);
        assert_eq!((score.steps[0], score.contribution[0]), (0, 0.0));
    }
}
