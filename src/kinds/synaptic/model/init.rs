//! Initial values of parameters.

use super::{Config, Layout, Role, automaton};
use crate::{
    nn::parameters::{Parameters, ViewId},
    num::{
        normal,
        rng::{Draw, Purpose},
    },
};
use rayon::prelude::*;

/// Number of elements of a task.
const CHUNK: usize = 1 << 14;

/// Distribution of the values of a parameter.
#[derive(Clone, Copy)]
enum Distribution {
    /// All values are equal.
    Constant(f64),
    /// Normal distribution with this standard deviation.
    Normal(f64),
    /// Uniform distribution between plus and minus this value.
    Uniform(f64),
}

/// Returns the distribution of the initial values of a role. Token vectors are normal with standard deviation 0.5, matrices
/// of attention and router uniform within ±1/sqrt(C), first matrices of experts normal with standard deviation 1/sqrt(C),
/// second matrices of experts and the matrix of logits with 0.02, genomes with 0.1. Factors of norms are 1, factors of
/// attention logits 2, biases 0. `fan_in` is 1/sqrt(C).
const fn distribution(role: Role, fan_in: f64) -> Distribution {
    match role {
        Role::Embedding => Distribution::Normal(0.5),
        Role::Attention | Role::Router => Distribution::Uniform(fan_in),
        Role::ExpertIn => Distribution::Normal(fan_in),
        Role::ExpertOut | Role::Head => Distribution::Normal(0.02),
        Role::Genome => Distribution::Normal(0.1),
        Role::Scale => Distribution::Constant(1.0),
        Role::Temperature => Distribution::Constant(2.0),
        Role::Bias => Distribution::Constant(0.0),
    }
}

/// Creates the initial values. Element i of a parameter takes word i mod 4 of the draw (seed, weights, number of the
/// parameter, i / 4).
pub fn init(config: &Config, layout: &Layout, seed: u64) -> Parameters<f32> {
    let mut parameters = Parameters::zeros(layout.map.clone());
    let fan_in = 1.0 / (config.width as f64).sqrt();
    for i in 0..layout.map.views().len() {
        let id = ViewId(i);
        // Rows after the vocabulary stay zero.
        let is_padded = id == layout.wte || id == layout.lm_head;
        let values = parameters.get_mut(id);
        let n = if is_padded { config.vocab * config.width } else { values.len() };
        fill(&mut values[..n], distribution(layout.role(id), fan_in), seed, i as u64);
    }
    if let Some(rule) = config.automaton {
        automaton::fill(layout, rule, seed, &mut parameters);
    }
    parameters
}

fn fill(values: &mut [f32], distribution: Distribution, seed: u64, view: u64) {
    let value = move |word: u32| {
        let u = (f64::from(word) + 0.5) / 4_294_967_296.0;
        match distribution {
            Distribution::Constant(value) => value,
            Distribution::Normal(std) => std * normal::quantile(u),
            Distribution::Uniform(limit) => limit * (2.0 * u - 1.0),
        }
    };
    values.par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, values)| {
        for (i, four) in values.chunks_mut(4).enumerate() {
            let lane = (chunk * (CHUNK / 4) + i) as u32;
            let words = Draw { seed, purpose: Purpose::Weights, step: view, lane }.words();
            for (to, word) in four.iter_mut().zip(words) {
                *to = value(word) as f32;
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_the_standard_deviations_of_the_recipe() {
        let config = Config::nano(65);
        let layout = Layout::new(&config).expect("it fits");
        let parameters = init(&config, &layout, 7);
        let std =
            |values: &[f32]| (values.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>() / values.len() as f64).sqrt();
        let block = layout.blocks[1];
        let near = |id, want: f64| (std(parameters.get(id)) / want - 1.0).abs() < 0.05;
        assert!(near(block.fc1, 0.125) && near(block.fc2, 0.02) && near(block.q, 0.125 / 3.0_f64.sqrt()));
        let table = parameters.get(layout.wte);
        assert!((std(&table[..65 * 64]) / 0.5 - 1.0).abs() < 0.05);
        assert!(table[65 * 64..].iter().all(|x| *x == 0.0), "padding is zero");
        assert!(parameters.get(layout.ln_f.weight).iter().all(|x| *x == 1.0));
        assert_eq!(parameters, init(&config, &layout, 7));
        assert_ne!(parameters, init(&config, &layout, 8));
    }
}
