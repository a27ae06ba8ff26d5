//! Generations: every pair is drawn, both its members are evaluated, and the pair is weighted; the weights change once
//! at the end.
//!
//! Losses of pairs are sums of integers, and perturbations have addresses. So the result of a generation does not depend on how
//! many pairs are evaluated together, in how many calls, or on how many threads.

use super::{
    Buffers, Member, Members, Shared,
    drawn::{Drawn, PAIRS_TOGETHER, accumulate},
};
use crate::{
    gpu::StopFlag,
    kinds::{
        evolution::{
            choices::TextChoice,
            model::{Sizes, Vector, Weights},
            network::Network,
            noise::{mix, pair_seed, starts},
            strategy::{Course, MeanSquare, NoiseForm, Settings, TensorChange},
        },
        language::model::Layer,
    },
};
use rayon::prelude::*;

/// Number of rows that are evaluated together.
pub const ROWS_TOGETHER: usize = 512;

/// State between generations.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    /// Ternary weights, and vectors.
    pub weights: Weights,
    /// Weights of the matrices before they are rounded.
    pub shadows: Vec<Vec<f32>>,
    /// Mean squares of Z, of matrices and then of vectors.
    pub mean_squares: Vec<MeanSquare>,
    /// First and second moments of each tensor; a moment that the rule lacks is empty.
    pub moments: Vec<[Vec<f32>; 2]>,
}

impl State {
    /// Returns the state before the first generation, with `n_moments` moments.
    pub fn new(sizes: &Sizes, n_moments: usize) -> Self {
        let weights = Weights::initial(sizes);
        let shadows: Vec<Vec<f32>> =
            weights.matrices.iter().map(|m| m.iter().map(|w| f32::from(*w)).collect()).collect();
        let lengths = shadows.iter().map(Vec::len).chain(Vector::ALL.map(|vector| sizes.len(vector)));
        let moments: Vec<[Vec<f32>; 2]> =
            lengths.map(|len| [0, 1].map(|i| vec![0.0; if i < n_moments { len } else { 0 }])).collect();
        Self { weights, mean_squares: vec![MeanSquare::default(); moments.len()], shadows, moments }
    }
}

/// One generation of a population: network, settings and text.
#[derive(Clone, Copy)]
pub struct Generation<'a> {
    /// Network of all members.
    pub network: &'a Network,
    /// Settings of the strategy.
    pub settings: &'a Settings,
    /// Settings of this generation.
    pub course: Course,
    /// Number of the generation, counted from 0.
    pub number: u64,
    /// Text from which sequences are drawn.
    pub text: &'a [u16],
}

impl Generation<'_> {
    fn draw(&self, pair: usize) -> Drawn {
        let seed = pair_seed(self.settings.seed, self.number, pair as u64);
        let rows = self.settings.sequences * self.network.sizes.steps;
        Drawn::new(&self.network.sizes, self.settings.noise, rows, seed)
    }

    /// Returns the starts of the sequences of a pair; empty if the text is too short.
    pub(super) fn starts(&self, pair: usize) -> Vec<usize> {
        let of_generation = mix(self.settings.seed, self.number);
        let seed = match self.settings.texts {
            TextChoice::Shared => of_generation,
            TextChoice::PerPair => mix(of_generation, pair as u64),
        };
        starts(seed, self.settings.sequences, self.network.sizes.steps, self.text.len())
    }

    /// Computes the losses of both members of each pair that has none in `losses`, in units of 2^-24 nat, summed over
    /// their rows; 0 if the text is too short. Stops between groups of rows; the losses of unfinished pairs are then
    /// `None`.
    pub fn evaluate(&self, weights: &Weights, losses: &mut [Option<[i64; 2]>], stop: &StopFlag) {
        let rows = 2 * self.settings.sequences * self.network.sizes.steps;
        let mut missing: Vec<(usize, &mut Option<[i64; 2]>)> =
            losses.iter_mut().enumerate().filter(|(_, losses)| losses.is_none()).collect();
        let shared = Shared::new(&self.network.sizes, weights);
        let groups = missing.par_chunks_mut((ROWS_TOGETHER / rows).max(1));
        groups.for_each_init(Buffers::default, |buffers, group| {
            let pairs: Vec<usize> = group.iter().map(|(pair, _)| *pair).collect();
            if let Some(known) = self.evaluate_together((&shared, weights), &pairs, buffers, stop) {
                group.iter_mut().zip(known).for_each(|((_, losses), known)| **losses = Some(known));
            }
        });
    }

    fn evaluate_together(
        &self,
        (shared, weights): (&Shared, &Weights),
        pairs: &[usize],
        buffers: &mut Buffers,
        stop: &StopFlag,
    ) -> Option<Vec<[i64; 2]>> {
        let steps = self.network.sizes.steps;
        let drawn: Vec<Drawn> = pairs.iter().map(|pair| self.draw(*pair)).collect();
        let starts: Vec<Vec<usize>> = pairs.iter().map(|pair| self.starts(*pair)).collect();
        let mut sums = vec![[0; 2]; pairs.len()];
        let at_once = (ROWS_TOGETHER / (2 * pairs.len() * steps)).max(1);
        for first in (0..starts[0].len()).step_by(at_once) {
            if stop.is_raised() {
                return None;
            }
            let members = |drawn| [1, -1].map(|sign| Member { noise: Drawn::noise(drawn, first * steps), sign });
            let list: Vec<Member<'_>> = drawn.iter().flat_map(members).collect();
            let members = Members { weights, shift: self.course.shift, list: &list };
            let of_members = || starts.iter().flat_map(|starts| [starts, starts]);
            let part = |shift: usize| -> Vec<u16> {
                let starts = of_members().flat_map(|starts| &starts[first..starts.len().min(first + at_once)]);
                starts.flat_map(|start| &self.text[start + shift..][..steps]).copied().collect()
            };
            let losses = self.network.losses_with(shared, members, (&part(0), &part(1)), buffers);
            let of_members = losses.chunks_exact(losses.len() / list.len());
            for (sum, losses) in sums.as_flattened_mut().iter_mut().zip(of_members) {
                *sum += losses.iter().sum::<i64>();
            }
        }
        Some(sums)
    }

    /// Computes Z of all tensors from the weights of the pairs; `None` if stopped.
    fn weighted_sums(&self, of_model: &Weights, weights: &[i64], stop: &StopFlag) -> Option<Vec<Vec<i64>>> {
        let sizes = &self.network.sizes;
        let lengths: Vec<usize> = sizes.lengths();
        let part = |(first, weights): (usize, &[i64])| {
            if self.settings.noise == NoiseForm::Activations {
                return self.activation_sums(of_model, (first, weights), stop);
            }
            let mut z: Vec<Vec<i64>> = lengths.iter().map(|len| vec![0; *len]).collect();
            for (at, weights) in weights.chunks(PAIRS_TOGETHER).enumerate() {
                if stop.is_raised() {
                    return None;
                }
                let pairs = (first + at * PAIRS_TOGETHER..).zip(weights).filter(|(_, weight)| **weight != 0);
                let drawn: Vec<(Drawn, i64)> = pairs.map(|(pair, weight)| (self.draw(pair), *weight)).collect();
                accumulate(&mut z, &drawn);
            }
            Some(z)
        };
        let per_thread = weights.len().div_ceil(rayon::current_num_threads()).max(1);
        let parts = weights.par_chunks(per_thread).enumerate().map(|(at, part)| (at * per_thread, part));
        parts.map(part).try_reduce_with(|mut a, b| {
            a.iter_mut().flatten().zip(b.into_iter().flatten()).for_each(|(a, b)| *a += b);
            Some(a)
        })?
    }

    /// Changes the weights by the losses of all pairs, except those of frozen layers; `update` is the number of the update,
    /// counted from 1. Returns the changes of all tensors, or `None` if stopped; the state is then unchanged.
    pub fn update(
        &self,
        state: &mut State,
        (losses, update): (&[[i64; 2]], u64),
        frozen: &[bool],
        stop: &StopFlag,
    ) -> Option<Vec<TensorChange>> {
        let z = self.weighted_sums(&state.weights, &self.settings.pair_weights(losses), stop)?;
        let [matrices, vectors] = self.settings.steps(self.course, update);
        let (sizes, n) = (&self.network.sizes, state.shadows.len());
        let is_frozen = |layer: Layer| frozen.get(layer.index(sizes.layers)).copied().unwrap_or(false);
        let change = |(at, z): (usize, &Vec<i64>)| {
            let root = state.mean_squares[at].update(z);
            if sizes.layer(at).is_some_and(is_frozen) || at == n + 2 && !self.settings.trains_positions {
                return TensorChange { rms: root, ..TensorChange::default() };
            }
            let [first, second] = &mut state.moments[at];
            let moments = [&mut first[..], &mut second[..]];
            if at < n {
                return matrices.update_matrix(
                    z,
                    root,
                    moments,
                    &mut state.shadows[at],
                    &mut state.weights.matrices[at],
                );
            }
            let values = &mut state.weights.vectors[at - n];
            let before = values.clone();
            let change = vectors.update_vector(z, root, moments, values);
            if sizes.layer(at).is_none() {
                // One bias per layer.
                let kept = (0..sizes.layers).filter(|layer| is_frozen(Layer::Block(*layer)));
                kept.for_each(|layer| values[layer] = before[layer]);
            }
            change
        };
        Some(z.iter().enumerate().map(change).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{Noise, mean_nats},
        *,
    };
    use crate::kinds::evolution::{
        choices::{Generator, Shaping},
        network::{Attention, Scales},
        noise::Factors,
        strategy::Rule,
    };

    const SIZES: Sizes = Sizes { vocabulary: 16, width: 16, layers: 1, mlp_multiple: 2, steps: 8 };
    const NETWORK: Network = Network {
        sizes: SIZES,
        scales: Scales::LIVE,
        attention: Attention { method: crate::nn::delta_rule::Method::Efla, state: None },
    };
    const COURSE: Course = Course { rate: 0.1, threshold: 0.0, shift: 3, pairs: 40 };

    fn settings(noise: NoiseForm) -> Settings {
        Settings {
            sequences: 1,
            texts: TextChoice::PerPair,
            noise,
            shaping: Shaping::CentredRank,
            clip: 3.0,
            rule: Rule::Normalised,
            vector_rate: 0.2,
            trains_positions: true,
            has_byte_residual: false,
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
            let state = State::new(&SIZES, 0);
            let tokens = &text()[..16];
            let logits = |noise| {
                let list = [1, -1].map(|sign| Member { noise, sign });
                let members = Members { weights: &state.weights, shift: 3, list: &list };
                NETWORK.logits(members, tokens, &mut |_| {})
            };
            assert_eq!(logits(Noise::LowRank(&factors)), logits(Noise::FullRank(&full)), "rank {rank}");
        }
    }

    /// Evaluates all pairs, of which `known` are known already.
    fn evaluate(settings: &Settings, state: &State, known: &[Option<[i64; 2]>], number: u64) -> Vec<[i64; 2]> {
        let (text, course) = (text(), Course { pairs: known.len(), ..COURSE });
        let generation = Generation { network: &NETWORK, settings, course, number, text: &text };
        let mut losses = known.to_vec();
        generation.evaluate(&state.weights, &mut losses, &StopFlag::default());
        losses.into_iter().flatten().collect()
    }

    #[test]
    fn a_generation_is_the_same_in_any_parts() {
        for noise in [NoiseForm::LowRank(1), NoiseForm::FullRank(Generator::SumOfFour), NoiseForm::Activations] {
            for sequences in [1, 150] {
                let (settings, state) = (Settings { sequences, ..settings(noise) }, State::new(&SIZES, 0));
                let whole = evaluate(&settings, &state, &[None; 40], 0);
                assert!(whole.len() == 40 && whole.iter().any(|[plus, minus]| plus != minus));
                let some: Vec<_> = (0..40).map(|pair| (pair % 3 == 0).then_some(whole[pair])).collect();
                assert_eq!(evaluate(&settings, &state, &some, 0), whole, "{noise:?}");
            }
        }
    }

    #[test]
    fn a_stopped_evaluation_leaves_pairs_out() {
        let (settings, state, text) = (settings(NoiseForm::LowRank(1)), State::new(&SIZES, 0), text());
        let generation = Generation { network: &NETWORK, settings: &settings, course: COURSE, number: 0, text: &text };
        let (mut losses, stop) = (vec![None; 40], StopFlag::default());
        stop.raise();
        generation.evaluate(&state.weights, &mut losses, &stop);
        assert_eq!(losses, [None; 40]);
    }

    #[test]
    fn generations_lower_the_loss() {
        // Perturbed weights have a test that runs the simulation.
        let (settings, text) = (settings(NoiseForm::Activations), text());
        let (mut state, stop) = (State::new(&SIZES, 0), StopFlag::default());
        let before = loss(&state);
        for number in 0..60 {
            let losses = evaluate(&settings, &state, &[None; 128], number);
            let course = Course { pairs: 128, ..COURSE };
            let generation = Generation { network: &NETWORK, settings: &settings, course, number, text: &text };
            let changes = generation.update(&mut state, (&losses, number + 1), &[], &stop).expect("no stop");
            assert_eq!(changes.len(), SIZES.lengths().len());
        }
        let after = loss(&state);
        assert!(after < before - 0.5, "from {before:.3} to {after:.3} nats");
    }

    #[test]
    fn frozen_layers_keep_their_weights() {
        let (settings, mut state) = (settings(NoiseForm::LowRank(1)), State::new(&SIZES, 0));
        let (before, text) = (state.clone(), text());
        let losses = evaluate(&settings, &state, &[None; 40], 0);
        let course = Course { rate: 1.0, ..COURSE };
        let generation = Generation { network: &NETWORK, settings: &settings, course, number: 0, text: &text };
        generation.update(&mut state, (&losses, 1), &[false, true, false], &StopFlag::default()).expect("no stop");
        for (at, name) in SIZES.matrices().iter().map(crate::kinds::evolution::model::Matrix::name).enumerate() {
            let is_frozen = SIZES.layer(at) == Some(Layer::Block(0));
            assert_eq!(state.shadows[at] == before.shadows[at], is_frozen, "{name}");
        }
        let [head, gate, positions] = [0, 1, 2].map(|at| state.weights.vectors[at] == before.weights.vectors[at]);
        assert_eq!([head, gate, positions], [false, true, false]);
    }

    #[test]
    fn every_matrix_has_an_effect_in_live_scales() {
        let state = State::new(&SIZES, 0);
        let before = loss(&state);
        for (at, matrix) in SIZES.matrices().iter().enumerate() {
            let mut permuted = state.clone();
            permuted.weights.matrices[at].reverse();
            assert_ne!(loss(&permuted), before, "{}", matrix.name());
        }
    }

    #[test]
    fn a_text_that_is_too_short_has_no_fitness() {
        let (settings, state) = (settings(NoiseForm::LowRank(1)), State::new(&SIZES, 0));
        let generation =
            Generation { network: &NETWORK, settings: &settings, course: COURSE, number: 0, text: &[1; 8] };
        let mut losses = vec![None; 3];
        generation.evaluate(&state.weights, &mut losses, &StopFlag::default());
        assert_eq!(losses, [Some([0, 0]); 3]);
        let (generation, mut losses) = (Generation { text: &[1; 9], ..generation }, vec![None; 3]);
        generation.evaluate(&state.weights, &mut losses, &StopFlag::default());
        assert!(losses.iter().flatten().all(|[plus, minus]| *plus > 0 && *minus > 0), "one place: {losses:?}");
    }
}
