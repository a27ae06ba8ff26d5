//! Generations: every pair is drawn, evaluated on both sides, and weighted; the weights change once at the end.
//!
//! Losses of pairs are sums of integers, and perturbations have addresses. So the result of a generation does not depend on how
//! many pairs are evaluated together, in how many calls, or on how many threads.

use super::{
    cpu::{Member, Members, Network, Noise},
    model::{Sizes, Vector, Weights},
    noise::{Factors, Generator, LowRank, Perturbation, mix, pair_seed, starts},
    strategy::{self, MeanSquare, SHADOW_LIMIT, Shaping, Step},
};
use rayon::prelude::*;
use std::ops::Range;

/// Number of pairs that are evaluated together.
const PAIRS_TOGETHER: usize = 16;

/// Form of the perturbations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum NoiseForm {
    /// One integer per weight.
    FullRank(Generator),
    /// Two thin factors of -1 and 1 per matrix, of this rank.
    LowRank(usize),
}

/// Which text the pairs of a generation read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Texts {
    /// The same sequences for all pairs.
    Shared,
    /// Own sequences for each pair.
    PerPair,
}

/// Settings of the strategy that hold for a whole run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    pub pairs: usize,
    /// Sequences per pair.
    pub sequences: usize,
    pub texts: Texts,
    pub noise: NoiseForm,
    pub shaping: Shaping,
    /// Limit of the weight of a pair.
    pub clip: f64,
    /// Rate of the vectors, relative to that of the matrices.
    pub vector_rate: f32,
    pub seed: u64,
}

/// What changes from generation to generation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Course {
    pub rate: f32,
    /// Threshold of normalised Z for one pair.
    pub threshold: f32,
    /// Perturbations are scaled by 2^-shift.
    pub shift: u32,
}

/// State between generations.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    pub generation: u64,
    pub weights: Weights,
    /// Weights of the matrices before they are rounded.
    pub shadows: Vec<Vec<f32>>,
    /// Mean squares of Z, of matrices and then of vectors.
    pub mean_squares: Vec<MeanSquare>,
}

impl State {
    /// Returns the state before the first generation.
    pub fn new(sizes: &Sizes) -> Self {
        let weights = Weights::initial(sizes);
        let shadows: Vec<Vec<f32>> =
            weights.matrices.iter().map(|m| m.iter().map(|w| f32::from(*w)).collect()).collect();
        let mean_squares = vec![MeanSquare::default(); shadows.len() + Vector::ALL.len()];
        Self { generation: 0, weights, shadows, mean_squares }
    }
}

/// A drawn perturbation.
enum Drawn {
    Full(Perturbation),
    Low(Factors),
}

impl Drawn {
    fn noise(&self) -> Noise<'_> {
        match self {
            Self::Full(perturbation) => Noise::FullRank(perturbation),
            Self::Low(factors) => Noise::LowRank(factors),
        }
    }

    fn vectors(&self) -> &[Vec<i8>; 3] {
        match self {
            Self::Full(Perturbation { vectors, .. }) | Self::Low(Factors { vectors, .. }) => vectors,
        }
    }
}

impl Settings {
    fn draw(&self, sizes: &Sizes, generation: u64, pair: usize) -> Drawn {
        let seed = pair_seed(self.seed, generation, pair as u64);
        match self.noise {
            NoiseForm::FullRank(generator) => Drawn::Full(Perturbation::draw(sizes, generator, seed)),
            NoiseForm::LowRank(rank) => Drawn::Low(Factors::draw(sizes, rank, seed)),
        }
    }

    /// Returns the sequences of a pair and their targets; empty if the text is too short.
    fn batch(&self, sizes: &Sizes, text: &[u16], generation: u64, pair: usize) -> [Vec<u16>; 2] {
        let of_generation = mix(self.seed, generation);
        let seed = match self.texts {
            Texts::Shared => of_generation,
            Texts::PerPair => mix(of_generation, pair as u64),
        };
        let starts = starts(seed, self.sequences, sizes.steps, text.len());
        [0, 1].map(|shift| starts.iter().flat_map(|start| &text[start + shift..][..sizes.steps]).copied().collect())
    }

    /// Returns the fitness of a range of pairs, `-(loss of + less loss of -)` in units of 2^-24 nat, summed over the rows of a
    /// member. 0 if the text is too short.
    pub fn evaluate(
        &self,
        network: &Network,
        state: &State,
        course: Course,
        text: &[u16],
        pairs: Range<usize>,
    ) -> Vec<i64> {
        let groups = pairs.len().div_ceil(PAIRS_TOGETHER);
        let group = |group: usize| {
            let first = pairs.start + group * PAIRS_TOGETHER;
            self.evaluate_together(network, state, course, text, first..(first + PAIRS_TOGETHER).min(pairs.end))
        };
        (0..groups).into_par_iter().flat_map_iter(group).collect()
    }

    fn evaluate_together(
        &self,
        network: &Network,
        state: &State,
        course: Course,
        text: &[u16],
        pairs: Range<usize>,
    ) -> Vec<i64> {
        let generation = state.generation;
        let drawn: Vec<Drawn> = pairs.clone().map(|pair| self.draw(&network.sizes, generation, pair)).collect();
        let list: Vec<Member<'_>> =
            drawn.iter().flat_map(|drawn| [1, -1].map(|sign| Member { noise: drawn.noise(), sign })).collect();
        let [mut tokens, mut targets] = [vec![], vec![]];
        for pair in pairs.clone() {
            let [pair_tokens, pair_targets] = self.batch(&network.sizes, text, generation, pair);
            for _ in 0..2 {
                tokens.extend_from_slice(&pair_tokens);
                targets.extend_from_slice(&pair_targets);
            }
        }
        if tokens.is_empty() {
            return vec![0; pairs.len()];
        }
        let members = Members { weights: &state.weights, shift: course.shift, list: &list };
        let losses = network.losses(members, &tokens, &targets);
        let per_member = losses.len() / list.len();
        let sums: Vec<i64> = losses.chunks_exact(per_member).map(|losses| losses.iter().sum()).collect();
        sums.chunks_exact(2).map(|pair| pair[1] - pair[0]).collect()
    }

    /// Changes the weights by the fitness of all pairs and advances the generation. Returns the number of ternary weights that
    /// changed.
    pub fn update(&self, sizes: &Sizes, state: &mut State, course: Course, fitness: &[i64]) -> u64 {
        let fitness: Vec<f64> = fitness.iter().map(|f| *f as f64).collect();
        let weights: Vec<i64> =
            strategy::shape(&fitness, self.shaping, self.clip).into_iter().map(strategy::fixed).collect();
        let (matrices, generation) = (sizes.matrices(), state.generation);
        let zeros = || -> Vec<Vec<i64>> {
            let of_matrices = matrices.iter().map(|m| m.rows * m.columns);
            of_matrices.chain(Vector::ALL.map(|v| sizes.len(v))).map(|len| vec![0; len]).collect()
        };
        let add = |mut z: Vec<Vec<i64>>, pair: usize| {
            self.draw(sizes, generation, pair).accumulate(&mut z, weights[pair]);
            z
        };
        let join = |mut a: Vec<Vec<i64>>, b: Vec<Vec<i64>>| {
            a.iter_mut().flatten().zip(b.into_iter().flatten()).for_each(|(a, b)| *a += b);
            a
        };
        let z = (0..weights.len()).into_par_iter().fold(zeros, add).reduce(zeros, join);
        let threshold = course.threshold * (weights.len() as f32).sqrt();
        let step = Step { rate: course.rate, threshold, shadow_limit: SHADOW_LIMIT };
        let mut changed = 0;
        let (of_matrices, of_vectors) = z.split_at(matrices.len());
        for (at, z) in of_matrices.iter().enumerate() {
            let root = state.mean_squares[at].update(z);
            changed += step.update_matrix(z, root, &mut state.shadows[at], &mut state.weights.matrices[at]);
        }
        let step = Step { rate: course.rate * self.vector_rate, ..step };
        for (at, z) in of_vectors.iter().enumerate() {
            let root = state.mean_squares[matrices.len() + at].update(z);
            step.update_vector(z, root, &mut state.weights.vectors[at]);
        }
        state.generation += 1;
        changed
    }
}

impl Drawn {
    /// Adds the perturbation, times the weight of its pair, to Z of matrices and vectors.
    fn accumulate(&self, z: &mut [Vec<i64>], weight: i64) {
        let n = z.len() - Vector::ALL.len();
        match self {
            Self::Full(perturbation) => {
                for (z, elements) in z.iter_mut().zip(&perturbation.matrices) {
                    strategy::accumulate(z, elements, weight);
                }
            }
            Self::Low(factors) => {
                for (z, noise) in z.iter_mut().zip(&factors.matrices) {
                    accumulate_low_rank(z, noise, factors.rank, weight);
                }
            }
        }
        for (z, elements) in z[n..].iter_mut().zip(self.vectors()) {
            strategy::accumulate(z, elements, weight);
        }
    }
}

fn accumulate_low_rank(z: &mut [i64], noise: &LowRank, rank: usize, weight: i64) {
    let (rows, columns) = (noise.a.len() / rank, noise.b.len() / rank);
    let weight = weight * i64::from(LowRank::factor(rank));
    for (a, b) in noise.a.chunks_exact(rows).zip(noise.b.chunks_exact(columns)) {
        for (a, z) in a.iter().zip(z.chunks_exact_mut(columns)) {
            strategy::accumulate(z, b, weight * i64::from(*a));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::cpu::{Attention, Scales, mean_nats},
        *,
    };

    const SIZES: Sizes = Sizes { vocabulary: 16, width: 16, layers: 1, mlp_multiple: 2, steps: 8 };
    const NETWORK: Network = Network {
        sizes: SIZES,
        scales: Scales::LIVE,
        attention: Attention { method: crate::nn::delta_rule::Method::Efla, state: None },
    };
    const COURSE: Course = Course { rate: 0.1, threshold: 0.0, shift: 3 };

    fn settings(noise: NoiseForm) -> Settings {
        Settings {
            pairs: 40,
            sequences: 1,
            texts: Texts::PerPair,
            noise,
            shaping: Shaping::CentredRank,
            clip: 3.0,
            vector_rate: 0.2,
            seed: 7,
        }
    }

    /// A text in which the next token follows from the present one.
    fn text() -> Vec<u16> {
        (0..400)
            .scan(1u16, |token, _| {
                *token = (*token * 5 + 3) % 16;
                Some(*token)
            })
            .collect()
    }

    fn loss(state: &State) -> f64 {
        let text = text();
        let members = Members { weights: &state.weights, shift: 0, list: &[Member::UNPERTURBED] };
        mean_nats(&NETWORK.losses(members, &text[..8 * 32], &text[1..=8 * 32]))
    }

    #[test]
    fn low_rank_noise_equals_its_full_matrix() {
        for rank in [1, 2, 5] {
            let factors = Factors::draw(&SIZES, rank, 3);
            let full = factors.full(&SIZES);
            let state = State::new(&SIZES);
            let tokens = &text()[..16];
            let logits = |noise| {
                let list = [1, -1].map(|sign| Member { noise, sign });
                let members = Members { weights: &state.weights, shift: 3, list: &list };
                NETWORK.logits(members, tokens, &mut |_| {})
            };
            assert_eq!(logits(Noise::LowRank(&factors)), logits(Noise::FullRank(&full)), "rank {rank}");
        }
    }

    #[test]
    fn a_generation_is_the_same_in_any_parts() {
        for noise in [NoiseForm::LowRank(1), NoiseForm::FullRank(Generator::SumOfFour)] {
            let (settings, state, text) = (settings(noise), State::new(&SIZES), text());
            let whole = settings.evaluate(&NETWORK, &state, COURSE, &text, 0..40);
            let parts = [0..1, 1..18, 18..40].map(|pairs| settings.evaluate(&NETWORK, &state, COURSE, &text, pairs));
            assert_eq!(parts.concat(), whole, "{noise:?}");
            assert!(whole.iter().any(|f| *f != 0));
        }
    }

    #[test]
    fn generations_lower_the_loss() {
        let settings = Settings { pairs: 128, ..settings(NoiseForm::LowRank(1)) };
        let (mut state, text) = (State::new(&SIZES), text());
        let before = loss(&state);
        for _ in 0..60 {
            let fitness = settings.evaluate(&NETWORK, &state, COURSE, &text, 0..settings.pairs);
            settings.update(&SIZES, &mut state, COURSE, &fitness);
        }
        let after = loss(&state);
        assert!(after < before - 0.5, "from {before:.3} to {after:.3} nats");
    }

    #[test]
    fn every_matrix_has_an_effect_in_live_scales() {
        let state = State::new(&SIZES);
        let before = loss(&state);
        for (at, matrix) in SIZES.matrices().iter().enumerate() {
            let mut permuted = state.clone();
            permuted.weights.matrices[at].reverse();
            assert_ne!(loss(&permuted), before, "{}", matrix.name());
        }
    }

    #[test]
    fn a_text_that_is_too_short_has_no_fitness() {
        let (settings, state) = (settings(NoiseForm::LowRank(1)), State::new(&SIZES));
        assert_eq!(settings.evaluate(&NETWORK, &state, COURSE, &[1; 9], 0..3), [0; 3]);
    }
}
