//! Which implementation multiplies where: one for all multiplications, and others for some.

use super::layers::ModelOps;
use crate::nn::{
    gemm::cuda::{Backend, Options},
    parameters::ViewId,
};
use std::collections::HashMap;

/// A multiplication of a linear layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Product {
    /// `y = x Wᵀ`.
    Outputs,
    /// `dx = dy W`.
    InputGradients,
    /// `dW = dyᵀ x`.
    WeightGradients,
}

impl Product {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Outputs, Self::InputGradients, Self::WeightGradients];
}

/// The implementations of some multiplications, by matrix of weights; `None` is chosen automatically.
pub type CallSites = HashMap<(ViewId, Product), Option<Backend>>;

impl ModelOps {
    /// How a multiplication by these weights is computed.
    pub fn options_of(&self, weight: ViewId, product: Product) -> Options {
        let backend = self.call_sites.get(&(weight, product)).copied();
        Options { backend: backend.unwrap_or(self.options.backend), ..self.options }
    }

    /// Why another implementation than a chosen one is used.
    pub fn notice(&self) -> Option<String> {
        let mut backends = [self.options.backend].into_iter().chain(self.call_sites.values().copied());
        backends.find_map(|backend| self.gemm.notice(backend))
    }
}
