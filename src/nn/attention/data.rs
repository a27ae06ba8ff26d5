//! What a call reads and writes.

/// Elements of the buffers of a call.
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

/// What both passes read. `X` holds tensors, `I` i32, `B` the bias: slices on the CPU, [`Slice`](crate::gpu::Slice) on a GPU;
/// `D` what a GPU reads of dropout.
#[derive(Debug)]
pub struct Inputs<'a, X: ?Sized, I: ?Sized, B: ?Sized, D: ?Sized = ()> {
    /// Queries.
    pub q: &'a X,
    /// Keys.
    pub k: &'a X,
    /// Values.
    pub v: &'a X,
    /// See [`Lengths`].
    pub q_lengths: Option<&'a I>,
    /// See [`Lengths`].
    pub k_lengths: Option<&'a I>,
    /// Added to logits.
    pub bias: Option<&'a B>,
    /// On a GPU: step, seed, probability and first token of dropout, in memory of the device.
    pub dropout: Option<&'a D>,
}

impl<X: ?Sized, I: ?Sized, B: ?Sized, D: ?Sized> Clone for Inputs<'_, X, I, B, D> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<X: ?Sized, I: ?Sized, B: ?Sized, D: ?Sized> Copy for Inputs<'_, X, I, B, D> {}

impl<'a, X: ?Sized, I: ?Sized, B: ?Sized, D: ?Sized> Inputs<'a, X, I, B, D> {
    /// Queries, keys and values in three buffers.
    pub const fn new(q: &'a X, k: &'a X, v: &'a X) -> Self {
        Self { q, k, v, q_lengths: None, k_lengths: None, bias: None, dropout: None }
    }

    /// All three in one.
    pub const fn packed(qkv: &'a X) -> Self {
        Self::new(qkv, qkv, qkv)
    }

    /// With lengths of queries and of keys; see [`Lengths`].
    #[must_use]
    pub const fn lengths(mut self, q: Option<&'a I>, k: Option<&'a I>) -> Self {
        self.q_lengths = q;
        self.k_lengths = k;
        self
    }

    /// With a bias.
    #[must_use]
    pub const fn bias(mut self, bias: &'a B) -> Self {
        self.bias = Some(bias);
        self
    }

    /// With what a GPU reads of dropout, where probabilities are dropped.
    #[must_use]
    pub const fn dropout(mut self, step: Option<&'a D>) -> Self {
        self.dropout = step;
        self
    }
}

/// Where gradients go, in the layouts of their tensors. They are overwritten.
#[derive(Debug)]
pub enum Gradients<'a, X: ?Sized> {
    /// All three in one buffer.
    Packed(&'a mut X),
    /// One buffer each.
    Separate {
        /// Of queries.
        q: &'a mut X,
        /// Of keys.
        k: &'a mut X,
        /// Of values.
        v: &'a mut X,
    },
}

impl<X: ?Sized> Gradients<'_, X> {
    /// Buffer of the gradients of queries.
    pub const fn q(&mut self) -> &mut X {
        match self {
            Self::Packed(all) => all,
            Self::Separate { q, .. } => q,
        }
    }

    /// Of keys.
    pub const fn k(&mut self) -> &mut X {
        match self {
            Self::Packed(all) => all,
            Self::Separate { k, .. } => k,
        }
    }

    /// Of values.
    pub const fn v(&mut self) -> &mut X {
        match self {
            Self::Packed(all) => all,
            Self::Separate { v, .. } => v,
        }
    }
}
