//! Attention logits with the live model.

use super::{
    constants::constants,
    release::{SelectedEdges, State, release},
};
use neuropil::kinds::synaptic::presynaptic::Constants;

/// The bias of a layer, without its data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogitBias {
    /// Constants.
    pub constants: Constants,
    /// Whether vesicles are released; otherwise every effect is 1 and no state changes.
    pub is_enabled: bool,
    /// Keys that a query selects.
    pub top_k: usize,
    /// Added to effects before their logarithm and to their running mean.
    pub epsilon: f64,
}

impl LogitBias {
    /// The default bias of a layer whose queries select `top_k` keys.
    pub fn new(top_k: usize) -> Self {
        Self { constants: constants(), is_enabled: true, top_k, epsilon: 1e-6 }
    }

    /// Logits `dots + bias - barrier_strength·(t - j)/keys` of `[heads, queries, keys]`, -∞ where a query does not see the
    /// key: the last query sees the last key. The second array is the derivative of the bias with respect to its own dot:
    /// `dL/ddot = dL/dlogit·(1 + slope)`.
    pub fn forward(&self, queries: usize, dots: &[f64], state: &mut State, ema: &mut f64) -> (Vec<f64>, Vec<f64>) {
        let (c, keys) = (&self.constants, state.keys);
        let selected = self.top_k.min(keys);
        let first = keys - queries;
        let (mut drive, mut key, mut valid) = (vec![], vec![], vec![]);
        for (row, dots) in dots.chunks_exact(keys).enumerate() {
            let seen = first + row % queries + 1;
            let mut order: Vec<usize> = (0..keys).collect();
            let value = |j: usize| if j < seen { dots[j] } else { f64::NEG_INFINITY };
            order.sort_by(|a, b| value(*b).total_cmp(&value(*a)));
            for j in order.into_iter().take(selected) {
                drive.push(dots[j]);
                key.push(j);
                valid.push(j < seen);
            }
        }
        let (effect, effect_slope) = if self.is_enabled {
            let edges = SelectedEdges { drive: &drive, key: &key, valid: Some(&valid) };
            let effects = release(c, self.epsilon, state, ema, &edges);
            (effects.effect, effects.slope)
        } else {
            (vec![1.0; drive.len()], vec![0.0; drive.len()])
        };
        let barrier = c.bias.barrier / keys.max(1) as f64;
        let (mut logits, mut slope) = (vec![f64::NEG_INFINITY; dots.len()], vec![0.0; dots.len()]);
        for (i, (logit, dot)) in logits.iter_mut().zip(dots).enumerate() {
            let (query, j) = (first + i / keys % queries, i % keys);
            if j <= query {
                *logit = dot - barrier * (query - j) as f64;
            }
        }
        for i in (0..drive.len()).filter(|i| valid[*i]) {
            let at = i / selected * keys + key[i];
            logits[at] += c.bias.lambda * (self.epsilon + effect[i]).ln();
            slope[at] = c.bias.lambda * effect_slope[i] / (self.epsilon + effect[i]);
        }
        (logits, slope)
    }
}
