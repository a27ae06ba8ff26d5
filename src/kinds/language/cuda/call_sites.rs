//! GEMM implementation per call site: a default for all multiplications, and overrides for some.

use super::layers::ModelOps;
use crate::nn::{
    gemm::cuda::{Backend, Options},
    optimizer::MatrixRun,
    parameters::{ParameterMap, ViewId},
};
use std::collections::HashMap;

/// Multiplication with the weights of a linear layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Product {
    /// Forward: `y = x Wᵀ`.
    Outputs,
    /// Backward to the input: `dx = dy W`.
    InputGradients,
    /// Backward to the weights: `dW = dyᵀ x`.
    WeightGradients,
    /// Newton-Schulz iterations of Muon, which orthogonalise the update of W.
    Update,
}

impl Product {
    /// Multiplications of the forward and backward passes.
    pub const OF_PASSES: [Self; 3] = [Self::Outputs, Self::InputGradients, Self::WeightGradients];
}

/// GEMM implementations by weight matrix and product; `None` for an implementation that is chosen automatically.
pub type CallSites = HashMap<(ViewId, Product), Option<Backend>>;

impl ModelOps {
    /// Returns the GEMM options for a product with the weights `weight`.
    pub fn options_of(&self, weight: ViewId, product: Product) -> Options {
        let backend = self.call_sites.get(&(weight, product)).copied();
        Options { backend: backend.unwrap_or(self.options.backend), ..self.options }
    }

    /// Returns the GEMM options of Muon for the matrices `matrices`.
    pub fn options_of_update(&self, map: &ParameterMap, matrices: &MatrixRun) -> Options {
        let start = matrices.first.start;
        let is_it =
            |(id, product): &&(ViewId, Product)| *product == Product::Update && map.view(*id).range().contains(&start);
        match self.call_sites.keys().find(is_it) {
            Some((id, product)) => self.options_of(*id, *product),
            None => self.options,
        }
    }

    /// Returns the reason why a selected implementation is not used; `None` if all selected implementations are used.
    pub fn notice(&self) -> Option<String> {
        let mut backends = [self.options.backend].into_iter().chain(self.call_sites.values().copied());
        backends.find_map(|backend| self.gemm.notice(backend))
    }
}
