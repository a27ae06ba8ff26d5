//! Initial values of parameters, as in GPT-2. Matrices are normal with standard deviation 0.02; matrices that write to the
//! residual stream have 0.02 / sqrt(2 L). Norm weights are 1, biases 0.

use super::{Config, Layout, Role};
use crate::{
    nn::parameters::{Parameters, ViewId},
    num::{
        normal,
        rng::{Draw, Purpose},
    },
};
use rayon::prelude::*;

/// Standard deviation of the initial values of matrices.
pub const STD: f64 = 0.02;

/// Number of elements per parallel task.
const CHUNK: usize = 1 << 14;

/// Draws the initial values. Element i of a parameter takes word i mod 4 of the draw (seed, weights, parameter index, i /
/// 4).
pub fn init(config: &Config, layout: &Layout, seed: u64) -> Parameters<f32> {
    let mut parameters = Parameters::zeros(layout.map.clone());
    for i in 0..layout.map.views().len() {
        let id = ViewId(i);
        let std = match layout.role(id) {
            Role::Bias => continue,
            Role::Scale => {
                parameters.get_mut(id).fill(1.0);
                continue;
            }
            Role::Residual => STD / (2.0 * config.layers as f64).sqrt(),
            Role::Embedding | Role::Matrix => STD,
        };
        // Padding rows of the vocabulary stay zero.
        let is_padded = id == layout.wte || Some(id) == layout.lm_head;
        let values = parameters.get_mut(id);
        let n = if is_padded { config.vocab * config.width } else { values.len() };
        draw(&mut values[..n], seed, i as u64, std);
    }
    parameters
}

fn draw(values: &mut [f32], seed: u64, view: u64, std: f64) {
    values.par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, values)| {
        for (i, four) in values.chunks_mut(4).enumerate() {
            let lane = (chunk * (CHUNK / 4) + i) as u32;
            let words = Draw { seed, purpose: Purpose::Weights, step: view, lane }.words();
            for (value, word) in four.iter_mut().zip(words) {
                *value = (std * normal::quantile((f64::from(word) + 0.5) / 4_294_967_296.0)) as f32;
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::transformer::Params;

    #[test]
    fn values_have_the_standard_deviations_of_gpt_2() {
        let config = Config::new(&Params::default(), 65).expect("it fits");
        let layout = Layout::new(&config).expect("it fits");
        let parameters = init(&config, &layout, 7);
        let std = |id| {
            let values: &[f32] = parameters.get(id);
            (values.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>() / values.len() as f64).sqrt()
        };
        let block = layout.blocks[1];
        assert!((std(block.qkv.weight) / STD - 1.0).abs() < 0.02);
        assert!((std(block.mlp_proj.weight) / (STD / 6.0_f64.sqrt()) - 1.0).abs() < 0.02);
        assert!(parameters.get(block.ln_1.weight).iter().all(|x| *x == 1.0));
        let table = parameters.get(layout.wte);
        assert!(table[65 * 96 - 1] != 0.0 && table[65 * 96..].iter().all(|x| *x == 0.0), "padding is zero");
        assert_eq!(parameters, init(&config, &layout, 7));
        assert_ne!(parameters, init(&config, &layout, 8));
    }
}
