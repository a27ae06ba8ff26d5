//! Sizes and options of a network, which are the same on every backend.

use super::{
    Params,
    model::{Matrix, Role, Sizes, Vector},
};
use crate::{
    kinds::language::model::{self as language, ConfigError, Layer},
    nn::{
        delta_rule::{Method, cpu::StateFormat},
        parameters::{ParameterError, ParameterMap},
    },
    num::digits,
};
use std::sync::Arc;

/// Scales of activations, and how attention enters the residual stream.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scales {
    /// Scale after the input projection.
    pub activation: f32,
    /// Scale in the MLP.
    pub mlp_activation: f32,
    /// Scale of the norm.
    pub norm: f32,
    /// Scale of the output of attention before it is rounded.
    pub residual: f32,
    /// Scale of the output of the MLP before it is rounded.
    pub mlp_residual: f32,
    /// Whether embeddings keep their perturbation in fixed point, and attention is divided by its mean magnitude. Otherwise most
    /// perturbations of embeddings and most outputs of attention round to 0.
    pub is_live: bool,
}

impl Scales {
    /// Scales of the published program, at whose sizes attention has no effect.
    pub const SEED: Self =
        Self { activation: 1.0, mlp_activation: 1.0, norm: 1.0, residual: 1.0, mlp_residual: 1.0, is_live: false };
    /// Scales at which every matrix has an effect.
    pub const LIVE: Self = Self { activation: 3.0, mlp_activation: 3.0, is_live: true, ..Self::SEED };
}

/// Attention of a model: the rule, and how its state is stored.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Attention {
    pub method: Method,
    /// Format of the state between steps; `None` computes in chunk form, without a state.
    pub state: Option<StateFormat>,
}

/// The model with its options.
#[derive(Clone, Copy, Debug)]
pub struct Network {
    pub sizes: Sizes,
    pub scales: Scales,
    pub attention: Attention,
}

impl Network {
    /// Creates the network from a project's parameters for a vocabulary of `vocabulary` tokens. Fails if a size is 0 or too
    /// large.
    pub fn new(params: &Params, vocabulary: usize) -> Result<Self, ConfigError> {
        let shape = &params.model;
        let sizes = Sizes {
            vocabulary,
            width: shape.width as usize,
            layers: shape.layers as usize,
            mlp_multiple: shape.hidden_factor as usize,
            steps: shape.context as usize,
        };
        ConfigError::check_sizes(&[
            ("model.width", sizes.width),
            ("model.layers", sizes.layers),
            ("model.hidden_factor", sizes.mlp_multiple),
            ("model.context", sizes.steps),
        ])?;
        if vocabulary > 1 << 16 {
            return Err(ConfigError::TooLarge(format!(
                "the vocabulary has {} tokens, at most {} are possible: choose another tokenizer",
                digits::group_digits(vocabulary as u64),
                digits::group_digits(1 << 16)
            )));
        }
        let attention = shape.attention.rule();
        Ok(Self { sizes, scales: shape.scales.factors(attention.is_some()), attention: attention.unwrap_or_default() })
    }

    /// Returns the number of multiplications and additions per token of one member, in matrices and in attention in
    /// chunk form.
    pub fn operations_per_token(&self) -> f64 {
        let Sizes { width, layers, steps, .. } = self.sizes;
        let matrices: usize = self.sizes.matrices().iter().skip(1).map(|m| m.rows * m.columns).sum();
        2.0 * matrices as f64 + 4.0 * (layers * width * steps) as f64
    }
}

impl Sizes {
    /// Returns the layer of the tensor with index `tensor`: matrices in the order of [`Sizes::matrices`], then vectors.
    /// `None` for the biases of the gates, of which each layer has one.
    pub fn layer(&self, tensor: usize) -> Option<Layer> {
        let n = 3 + Role::LAYER.len() * self.layers;
        match tensor.checked_sub(n) {
            None => Some(match self.matrix(tensor) {
                Matrix { role: Role::Embedding | Role::Input, .. } => Layer::Embedding,
                Matrix { role: Role::Head, .. } => Layer::Head,
                Matrix { layer, .. } => Layer::Block(layer),
            }),
            Some(vector) => match Vector::ALL[vector] {
                Vector::HeadBias => Some(Layer::Head),
                Vector::GateBias => None,
                Vector::Positions => Some(Layer::Embedding),
            },
        }
    }
}

/// Names and ranges of all parameters: matrices in the order of [`Sizes::matrices`], then vectors.
pub struct Layout {
    /// Names, shapes and ranges.
    pub map: Arc<ParameterMap>,
    sizes: Sizes,
}

impl Layout {
    /// Creates the layout of a network. Fails if it is too large.
    pub fn new(sizes: &Sizes) -> Result<Self, ConfigError> {
        let mut map = ParameterMap::default();
        let too_large = |error: ParameterError| ConfigError::TooLarge(error.to_string());
        for matrix in sizes.matrices() {
            map.add(matrix.name(), &[matrix.rows, matrix.columns]).map_err(too_large)?;
        }
        for vector in Vector::ALL {
            let shape = match vector {
                Vector::Positions => &[sizes.steps, sizes.width][..],
                _ => &[sizes.len(vector)],
            };
            map.add(vector.name(), shape).map_err(too_large)?;
        }
        Ok(Self { map: Arc::new(map), sizes: *sizes })
    }

    /// Returns the layer of a tensor; `None` for the biases of the gates, see [`Sizes::layer`].
    pub fn layer(&self, tensor: usize) -> Option<Layer> {
        self.sizes.layer(tensor)
    }

    /// Returns the number of layers of attention.
    pub const fn n_layers(&self) -> usize {
        self.sizes.layers
    }

    /// Returns the number of matrices, which precede the vectors.
    pub fn n_matrices(&self) -> usize {
        self.map.views().len() - Vector::ALL.len()
    }
}

impl language::Ranges for Layout {
    fn map(&self) -> &Arc<ParameterMap> {
        &self.map
    }

    fn layer_names(&self) -> Vec<String> {
        Layer::names(self.sizes.layers)
    }
}
