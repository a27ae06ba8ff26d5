//! Model in the form that the library `transformers` of Hugging Face reads.

/// Weights and configuration of a model for `transformers`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HuggingFaceModel {
    /// Content of `config.json`.
    pub config: String,
    /// Tensors of `model.safetensors`.
    pub tensors: Vec<NamedTensor>,
}

/// Tensor of f32 with its name and extents, slowest dimension first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NamedTensor {
    /// Name, unique in its file.
    pub name: String,
    /// Extents, slowest dimension first.
    pub shape: Vec<usize>,
    /// Elements in row-major order.
    pub values: Vec<f32>,
}
