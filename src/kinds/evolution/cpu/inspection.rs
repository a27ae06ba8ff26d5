//! Values of the unperturbed model for views.

use super::{LayerValues, Observation, decoder::Model};
use crate::{
    kinds::evolution::{backend::Site, network::Network},
    nn::{
        delta_rule::cpu::{Chunk, coefficients},
        quantized::cpu::mean_magnitude,
    },
    num::exact,
};

impl Model<'_> {
    /// Returns values of a sequence, see [`Backend::inspect`](crate::kinds::evolution::backend::Backend::inspect). Tokens beyond
    /// the context are left out.
    pub fn inspect(&self, tokens: &[u32], site: Site) -> Vec<f32> {
        let tokens: Vec<u16> = tokens.iter().map(|token| *token as u16).take(self.network.sizes.steps).collect();
        let mut values = vec![];
        self.network.logits(self.members(), &tokens, &mut |observed| {
            let Observation::Layer(layer) = observed else { return };
            match site {
                Site::Attention(at) if at == layer.layer => values = attention(self.network, &layer),
                Site::Writes(at) if at == layer.layer => values = writes(self.network, &layer),
                Site::Liveness => values.extend(liveness(self.network, &layer)),
                _ => {}
            }
        });
        values
    }
}

/// Returns the queries q̂ and the keys κ of the delta rule, `[tokens, H]` each.
fn normalised(network: &Network, layer: &LayerValues<'_>) -> [Vec<f32>; 2] {
    let (mut queries, mut keys, width) = (layer.query.to_vec(), layer.key.to_vec(), network.sizes.width);
    for (query, key) in queries.chunks_exact_mut(width).zip(keys.chunks_exact_mut(width)) {
        coefficients(network.attention.method, query, key, 0.0);
    }
    [queries, keys]
}

/// Returns the products of queries with keys of the same and of earlier tokens, `[tokens, tokens]`; 0 elsewhere.
fn attention(network: &Network, layer: &LayerValues<'_>) -> Vec<f32> {
    let ([queries, keys], width) = (normalised(network, layer), network.sizes.width);
    let product = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
    let row = |(at, query): (usize, &[f32])| -> Vec<f32> {
        let of_key = |(earlier, key): (usize, &[f32])| if earlier <= at { product(query, key) } else { 0.0 };
        keys.chunks_exact(width).enumerate().map(of_key).collect()
    };
    queries.chunks_exact(width).enumerate().flat_map(row).collect()
}

/// Returns the corrections U of all tokens, `[tokens, H]`.
fn writes(network: &Network, layer: &LayerValues<'_>) -> Vec<f32> {
    let [queries, keys] = normalised(network, layer);
    let alphas: Vec<f32> = layer.steps.iter().map(|step| step.alpha).collect();
    let (mut chunk, mut output) = (Chunk::default(), vec![0.0; layer.value.len()]);
    chunk.reset(network.sizes.width, alphas.len());
    chunk.extend((&queries, &keys, layer.value), &alphas, &mut output);
    chunk.corrections().to_vec()
}

/// Returns the share of rounded outputs of attention that are not 0, and the mean of 1 - exp(-β λ).
fn liveness(network: &Network, layer: &LayerValues<'_>) -> [f32; 2] {
    let (width, scales) = (network.sizes.width, &network.scales);
    let live = layer.output.chunks_exact(width).map(|output| {
        let divisor = if scales.is_live { mean_magnitude(output) + 1e-6 } else { 1.0 };
        output.iter().filter(|o| (scales.residual / divisor * **o).round_ties_even() != 0.0).count()
    });
    let kept = layer.steps.iter().map(|step| exact::one_minus_exp(step.beta * step.lambda)).sum::<f32>();
    [live.sum::<usize>() as f32 / layer.output.len() as f32, kept / layer.steps.len() as f32]
}
