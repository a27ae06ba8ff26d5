//! Inputs and outputs of a call.

/// Lengths of the buffers of a call, in elements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Given {
    pub q: usize,
    pub k: usize,
    pub v: usize,
    pub o: usize,
    pub lse: usize,
    pub q_lengths: Option<usize>,
    pub k_lengths: Option<usize>,
    pub bias: Option<usize>,
}

/// Inputs of both passes. `X` holds tensors, `I` i32, `B` the bias: slices on the CPU, [`Slice`](crate::gpu::Slice) on a GPU; `D`
/// holds the dropout settings that a GPU reads.
#[derive(Debug)]
pub struct Inputs<'a, X: ?Sized, I: ?Sized, B: ?Sized, D: ?Sized = ()> {
    /// Buffer of the queries.
    pub q: &'a X,
    /// Buffer of the keys.
    pub k: &'a X,
    /// Buffer of the values.
    pub v: &'a X,
    /// Lengths of queries, see [`Lengths`](super::Lengths).
    pub q_lengths: Option<&'a I>,
    /// Lengths of keys, see [`Lengths`](super::Lengths).
    pub k_lengths: Option<&'a I>,
    /// Bias that is added to the logits.
    pub bias: Option<&'a B>,
    /// Step, seed, probability and first token of dropout in device memory; on a GPU only.
    pub dropout: Option<&'a D>,
}

impl<X: ?Sized, I: ?Sized, B: ?Sized, D: ?Sized> Clone for Inputs<'_, X, I, B, D> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<X: ?Sized, I: ?Sized, B: ?Sized, D: ?Sized> Copy for Inputs<'_, X, I, B, D> {}

impl<'a, X: ?Sized, I: ?Sized, B: ?Sized, D: ?Sized> Inputs<'a, X, I, B, D> {
    /// Creates inputs with queries, keys and values in three buffers.
    pub const fn new(q: &'a X, k: &'a X, v: &'a X) -> Self {
        Self { q, k, v, q_lengths: None, k_lengths: None, bias: None, dropout: None }
    }

    /// Creates inputs with queries, keys and values in one buffer.
    pub const fn packed(qkv: &'a X) -> Self {
        Self::new(qkv, qkv, qkv)
    }

    /// Sets the lengths of queries and of keys; see [`Lengths`](super::Lengths).
    #[must_use]
    pub const fn lengths(mut self, q: Option<&'a I>, k: Option<&'a I>) -> Self {
        self.q_lengths = q;
        self.k_lengths = k;
        self
    }

    /// Sets the bias.
    #[must_use]
    pub const fn bias(mut self, bias: &'a B) -> Self {
        self.bias = Some(bias);
        self
    }

    /// Sets the dropout settings that a GPU reads; required if the declaration has dropout.
    #[must_use]
    pub const fn dropout(mut self, step: Option<&'a D>) -> Self {
        self.dropout = step;
        self
    }
}

/// Output buffers of gradients, in the layouts of their tensors. They are overwritten.
#[derive(Debug)]
pub enum Gradients<'a, X: ?Sized> {
    /// One buffer for the gradients of queries, keys and values.
    Packed(&'a mut X),
    /// One buffer per gradient.
    Separate {
        /// Gradients of queries.
        q: &'a mut X,
        /// Gradients of keys.
        k: &'a mut X,
        /// Gradients of values.
        v: &'a mut X,
    },
}

impl<X: ?Sized> Gradients<'_, X> {
    /// Returns the buffer of the gradients of queries.
    pub const fn q(&mut self) -> &mut X {
        match self {
            Self::Packed(all) => all,
            Self::Separate { q, .. } => q,
        }
    }

    /// Returns the buffer of the gradients of keys.
    pub const fn k(&mut self) -> &mut X {
        match self {
            Self::Packed(all) => all,
            Self::Separate { k, .. } => k,
        }
    }

    /// Returns the buffer of the gradients of values.
    pub const fn v(&mut self) -> &mut X {
        match self {
            Self::Packed(all) => all,
            Self::Separate { v, .. } => v,
        }
    }
}
