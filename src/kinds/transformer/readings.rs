//! Readings of norms, frozen layers and weights.

use super::{
    backend::{StateBuffer, ViewNorms},
    probes,
    simulation::TransformerSim,
};
use crate::{
    nn::parameters::ViewId,
    sim::{ProbeId, SimError, TapArgs},
};

/// Norms of each parameter, in the order of the parameter map.
pub type Norms = Vec<ViewNorms>;

impl TransformerSim {
    /// Reads and records the norms of step `step`, whose record was just collected. Fails if the device fails.
    pub(super) fn record_norms(&mut self, step: u64) -> Result<(), SimError> {
        self.own = self.backend.norms(self.state.step - step)?;
        let layers = self.layer_norms();
        let of = |f: fn(&ViewNorms) -> f32| layers.iter().map(f).collect::<Vec<f32>>();
        let rows = [
            (probes::WEIGHT_NORMS, of(|n| n.weight)),
            (probes::GRADIENT_NORMS, of(|n| n.gradient)),
            (probes::UPDATE_RATIOS, of(update_ratio)),
        ];
        rows.iter().for_each(|(probe, values)| self.sampler.push(*probe, step, values));
        Ok(())
    }

    /// Computes the norms over all parameters of a layer, for each layer.
    fn layer_norms(&self) -> Vec<ViewNorms> {
        let mut layers = vec![ViewNorms::default(); self.layout.n_layers()];
        for (i, norms) in self.own.iter().enumerate() {
            let layer = &mut layers[self.layout.layer(ViewId(i)).index(self.layout.blocks.len())];
            layer.weight = layer.weight.hypot(norms.weight);
            layer.gradient = layer.gradient.hypot(norms.gradient);
            layer.update = layer.update.hypot(norms.update);
        }
        layers
    }

    /// Computes the values of a field over layers or tensors; `None` for other probes.
    pub(super) fn field(&self, probe: ProbeId) -> Option<Vec<f32>> {
        Some(match probe {
            probes::LAYER_UPDATE => self.layer_norms().iter().map(update_ratio).collect(),
            probes::FROZEN => self.state.frozen.iter().map(|f| f32::from(u8::from(*f))).collect(),
            probes::TENSOR_RMS | probes::TENSOR_GRADIENT | probes::TENSOR_UPDATE => self.tensor_field(probe),
            _ => return None,
        })
    }

    fn tensor_field(&self, probe: ProbeId) -> Vec<f32> {
        let value = |(i, view): (usize, &crate::nn::parameters::View)| {
            let norms = self.own.get(i).copied().unwrap_or_default();
            let root = (view.len().max(1) as f32).sqrt();
            match probe {
                probes::TENSOR_RMS => norms.weight / root,
                probes::TENSOR_GRADIENT => norms.gradient / root,
                _ => update_ratio(&norms),
            }
        };
        self.layout.map.views().enumerate().map(value).collect()
    }

    /// Reads the weights of the tensor that a tap names, or those of the embedding if there is no such tensor. Fails if the
    /// device fails.
    pub(super) fn weights_of(&self, args: &TapArgs) -> Result<Vec<f32>, SimError> {
        let named = args.get("tensor").and_then(|name| self.layout.map.find(&name));
        let view = self.layout.map.view(named.unwrap_or(self.layout.wte));
        let mut values = vec![0.0; view.len()];
        self.backend.read(StateBuffer::Weights, view.start, &mut values)?;
        Ok(values)
    }
}

fn update_ratio(norms: &ViewNorms) -> f32 {
    norms.update / norms.weight.max(f32::MIN_POSITIVE)
}
