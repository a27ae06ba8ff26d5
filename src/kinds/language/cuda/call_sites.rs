//! Which implementation multiplies where: one for all multiplications, and others for some.

use super::layers::ModelOps;
use crate::nn::{
    gemm::cuda::{Backend, Options},
    optimizer::MatrixRun,
    parameters::{ParameterMap, ViewId},
};
use std::collections::HashMap;

/// A multiplication of a linear layer or by its weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Product {
    /// `y = x Wᵀ`.
    Outputs,
    /// `dx = dy W`.
    InputGradients,
    /// `dW = dyᵀ x`.
    WeightGradients,
    /// Those of Muon, which makes the update of W orthogonal.
    Update,
}

impl Product {
    /// Those of the layer, forward and backward.
    pub const OF_PASSES: [Self; 3] = [Self::Outputs, Self::InputGradients, Self::WeightGradients];
}

/// The implementations of some multiplications, by matrix of weights; `None` is chosen automatically.
pub type CallSites = HashMap<(ViewId, Product), Option<Backend>>;

impl ModelOps {
    /// How a multiplication by these weights is computed.
    pub fn options_of(&self, weight: ViewId, product: Product) -> Options {
        let backend = self.call_sites.get(&(weight, product)).copied();
        Options { backend: backend.unwrap_or(self.options.backend), ..self.options }
    }

    /// How Muon multiplies these matrices of parameters.
    pub fn options_of_update(&self, map: &ParameterMap, matrices: &MatrixRun) -> Options {
        let start = matrices.first.start;
        let is_it =
            |(id, product): &&(ViewId, Product)| *product == Product::Update && map.view(*id).range().contains(&start);
        match self.call_sites.keys().find(is_it) {
            Some((id, product)) => self.options_of(*id, *product),
            None => self.options,
        }
    }

    /// Why another implementation than a chosen one is used.
    pub fn notice(&self) -> Option<String> {
        let mut backends = [self.options.backend].into_iter().chain(self.call_sites.values().copied());
        backends.find_map(|backend| self.gemm.notice(backend))
    }
}
