//! Epilogues: operations on the sums before they are written.

use super::{Gemm, GemmError, cpu::Sum};
use crate::nn::activation::Activation;

/// Operation on `x = alpha · A B + beta · C` before it is written to C. `P` is a backend's view of a buffer that is read, `M`
/// its view of a buffer that is written. Matrices have the layout of C.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Epilogue<P = (), M = ()> {
    /// Writes `x` unchanged.
    #[default]
    None,
    /// Writes `x + bias[column]`.
    Bias(P),
    /// Writes `x + residual[row, column]`.
    Residual(P),
    /// Writes `x + bias[column] + residual[row, column]`.
    BiasResidual(P, P),
    /// Writes `f(z)` with `z = x + bias[column]`. If `aux` is given, z is written to it for the backward pass.
    Activation {
        /// Activation function f.
        f: Activation,
        /// Bias, one element per column.
        bias: Option<P>,
        /// Output buffer for z.
        aux: Option<M>,
    },
    /// Writes `x · f′(z)`: the gradient through f, where x is the gradient of its result.
    Gradient {
        /// Activation function f.
        f: Activation,
        /// Input buffer of z.
        aux: P,
    },
}

/// Fields of an [`Epilogue`]. They apply in the order: bias, `aux`, f or f′, residual.
pub(super) struct Parts<P, M> {
    pub bias: Option<P>,
    /// Residual, or argument of f′.
    pub other: Option<P>,
    pub aux: Option<M>,
    pub f: Option<Activation>,
    pub is_gradient: bool,
}

impl<P, M> Epilogue<P, M> {
    /// Returns the epilogue `gelu(x + bias[column])`, in the tanh approximation.
    pub const fn bias_gelu(bias: P) -> Self {
        Self::Activation { f: Activation::GeluTanh, bias: Some(bias), aux: None }
    }

    pub(super) fn parts(self) -> Parts<P, M> {
        let none = Parts { bias: None, other: None, aux: None, f: None, is_gradient: false };
        match self {
            Self::None => none,
            Self::Bias(bias) => Parts { bias: Some(bias), ..none },
            Self::Residual(residual) => Parts { other: Some(residual), ..none },
            Self::BiasResidual(bias, residual) => Parts { bias: Some(bias), other: Some(residual), ..none },
            Self::Activation { f, bias, aux } => Parts { bias, aux, f: Some(f), ..none },
            Self::Gradient { f, aux } => Parts { other: Some(aux), f: Some(f), is_gradient: true, ..none },
        }
    }

    /// Returns the kind of the epilogue, without buffers.
    pub fn kind(&self) -> Epilogue {
        match self {
            Self::None => Epilogue::None,
            Self::Bias(_) => Epilogue::Bias(()),
            Self::Residual(_) => Epilogue::Residual(()),
            Self::BiasResidual(..) => Epilogue::BiasResidual((), ()),
            Self::Activation { f, bias, aux } => {
                Epilogue::Activation { f: *f, bias: bias.as_ref().map(drop), aux: aux.as_ref().map(drop) }
            }
            Self::Gradient { f, .. } => Epilogue::Gradient { f: *f, aux: () },
        }
    }
}

impl<P, M> Parts<P, M> {
    /// Checks the lengths of the buffers in elements, with `biases` biases of `n` elements.
    pub fn check<S: Sum>(
        &self,
        gemm: &Gemm<S>,
        biases: usize,
        len: impl Fn(&P) -> usize,
        len_mut: impl FnOnce(&M) -> usize,
    ) -> Result<(), GemmError> {
        let matrix = gemm.c.extent(gemm.m, gemm.n, gemm.batches()).unwrap_or(usize::MAX);
        let other = if self.is_gradient { "argument of the activation" } else { "residual" };
        let all = [
            ("bias", gemm.n * biases, self.bias.as_ref().map(&len)),
            (other, matrix, self.other.as_ref().map(&len)),
            ("result before the activation", matrix, self.aux.as_ref().map(len_mut)),
        ];
        for (what, needed, given) in all {
            if let Some(given) = given.filter(|given| *given < needed) {
                return Err(GemmError::Epilogue { what, needed, given });
            }
        }
        match self.f {
            Some(Activation::SwiGlu) => Err(GemmError::SwiGlu),
            Some(_) if S::IS_INTEGER => Err(GemmError::IntegerActivation),
            _ => Ok(()),
        }
    }
}
