//! General matrix multiplication: `C = epilogue(alpha · A B + beta · C)`.
//!
//! A is M × K, B is K × N and C is M × N; a [`Layout`] describes how each is stored, so that a transposed operand is a
//! [`Layout`] of the other [`Order`]. Weights stored `[out, in]` are `Layout::rows(inputs).transposed()` as B.
//!
//! # The multiplications of a network of layers
//!
//! Activations are `[tokens, features]`, weights `[out, in]`, both row-major; a batch of sequences is more tokens.
//!
//! | | declared as |
//! |---|---|
//! | `y = x Wᵀ + b` | `Gemm::new(tokens, out, in).transposed_b()`, [`Epilogue::Bias`] |
//! | `y = f(z)`, `z = x Wᵀ + b` | the same with [`Epilogue::Activation`]; z is kept in `aux` for the backward pass |
//! | `x' = x + y Wᵀ + b` | the same with [`Epilogue::BiasResidual`], or [`Epilogue::Bias`] and `scaled(1, 1)` into x |
//! | `dx = dy W` | `Gemm::new(tokens, in, out)` |
//! | `dz = (dy W) f′(z)` | the same with [`Epilogue::Gradient`] |
//! | `dW += dyᵀ x` | `Gemm::new(out, in, tokens).transposed_a().scaled(1, 1)`, 16-bit operands into f32 |
//! | 8-bit activations `q8(s f(c x Wᵀ))` of 8-bit operands | [`cpu::quantised`], [`cuda::CudaGemm::run_quantised`] with a [`Quantise`] |
//! | weights as packed codes, 2 or 4 bits each | `Gemm::new(tokens, out, in).packed_b()`, [`cpu::packed`], [`cuda::CudaGemm::run_packed`] with [`Codes`] |
//! | scores of all heads of a sequence | a batch of heads: [`Layout::stride`] is the size of a head, `ld` the length of a token's queries, keys and values |
//! | scores of all heads of all sequences | batches of heads: [`Layout::outer`] is the size of a sequence |
//! | sums of values, weighted by scores | a batch of heads; C holds the heads side by side |
//!
//! [`cpu::gemm`] is the definition; its documentation states the order of every sum. [`cuda::CudaGemm`] is the implementation on
//! a GPU, with operands of f32, f16, bf16 and s8.

pub mod bench;
pub mod cpu;
pub mod cuda;
mod epilogue;
mod grouped;
mod layout;
pub mod packed;
mod quantise;

pub use epilogue::Epilogue;
pub use grouped::{Scales, Split};
pub use layout::{Layout, Order};
pub use packed::Codes;
pub use quantise::Quantise;

/// Sizes, layouts and scales of a multiplication. `S` is the type of the sums.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gemm<S = f32> {
    /// Number of rows of A and C.
    pub m: usize,
    /// Number of columns of B and C.
    pub n: usize,
    /// Number of columns of A and rows of B.
    pub k: usize,
    /// Number of multiplications per batch, [`Layout::stride`] apart.
    pub batch: usize,
    /// Number of batches, [`Layout::outer`] apart.
    pub outer: usize,
    /// Layout of matrix A.
    pub a: Layout,
    /// Layout of matrix B.
    pub b: Layout,
    /// Layout of matrix C.
    pub c: Layout,
    /// Scale of the product.
    pub alpha: S,
    /// Scale of the old C. If 0, C is not read and may hold any values.
    pub beta: S,
}

impl<S: cpu::Sum> Gemm<S> {
    /// Declares `C = A B` of dense row-major matrices.
    pub const fn new(m: usize, n: usize, k: usize) -> Self {
        let (a, b, c) = (Layout::rows(k), Layout::rows(n), Layout::rows(n));
        Self { m, n, k, batch: 1, outer: 1, a, b, c, alpha: S::ONE, beta: S::ZERO }
    }

    /// Declares that A is stored K × M, row-major.
    #[must_use]
    pub const fn transposed_a(mut self) -> Self {
        self.a = Layout { order: Order::ColMajor, ld: self.m, ..self.a };
        self
    }

    /// Declares that B is stored N × K, row-major: the layout of weights `[out, in]`.
    #[must_use]
    pub const fn transposed_b(mut self) -> Self {
        self.b = Layout { order: Order::ColMajor, ld: self.k, ..self.b };
        self
    }

    /// Declares `batch` dense multiplications whose matrices follow each other.
    #[must_use]
    pub const fn batch(mut self, batch: usize) -> Self {
        self.batch = batch;
        self.a.stride = self.m * self.k;
        self.b.stride = self.k * self.n;
        self.c.stride = self.m * self.n;
        self
    }

    /// Sets the scales of `C = alpha · A B + beta · C`.
    #[must_use]
    pub const fn scaled(mut self, alpha: S, beta: S) -> Self {
        self.alpha = alpha;
        self.beta = beta;
        self
    }

    /// Returns the number of multiplications and additions.
    pub const fn ops(&self) -> u64 {
        2 * self.outer as u64 * self.batch as u64 * self.m as u64 * self.n as u64 * self.k as u64
    }

    /// Returns the number of batches, and of multiplications per batch.
    pub const fn batches(&self) -> (usize, usize) {
        (self.outer, self.batch)
    }

    /// Returns the offset of matrix `matrix`, counted over all batches, in its buffer.
    const fn first(&self, layout: &Layout, matrix: usize) -> usize {
        matrix / self.batch * layout.outer + matrix % self.batch * layout.stride
    }

    /// Merges the two batch levels if the strides allow it, for backends with a single stride.
    fn with_fewer_levels(self) -> Self {
        let is_regular = |l: &Layout| l.outer == self.batch * l.stride;
        if self.batch != 1 && !(self.outer > 1 && [self.a, self.b, self.c].iter().all(is_regular)) {
            return self;
        }
        let one = |l: Layout| Layout { stride: if self.batch == 1 { l.outer } else { l.stride }, outer: 0, ..l };
        Self { batch: self.batch * self.outer, outer: 1, a: one(self.a), b: one(self.b), c: one(self.c), ..self }
    }

    /// Replaces the scales by values of another type.
    #[must_use]
    pub const fn with_scales<T>(&self, alpha: T, beta: T) -> Gemm<T> {
        let Self { m, n, k, batch, outer, a, b, c, .. } = *self;
        Gemm { m, n, k, batch, outer, a, b, c, alpha, beta }
    }

    /// Checks layouts and buffer lengths (in elements). Fails if a layout is invalid, a buffer is too short, or matrices of C
    /// overlap.
    pub fn check(&self, a: usize, b: usize, c: usize) -> Result<(), GemmError> {
        self.a.check('A', self.m, self.k, self.batches(), a)?;
        self.b.check('B', self.k, self.n, self.batches(), b)?;
        self.c.check('C', self.m, self.n, self.batches(), c)?;
        self.c.check_apart(self.m, self.n, self.batches())
    }
}

/// Reason why a multiplication was not started.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GemmError {
    /// A matrix's buffer is too short.
    #[error("matrix {matrix} needs {needed} elements, and its buffer has {given}")]
    Length {
        /// Name of the matrix: A, B or C.
        matrix: char,
        /// Elements from the first to the last one accessed.
        needed: usize,
        /// Number of elements in the buffer.
        given: usize,
    },
    /// The rows (or columns) of a matrix overlap.
    #[error("matrix {matrix} has leading dimension {ld}, and at least {needed} is needed")]
    LeadingDimension {
        /// Name of the matrix: A, B or C.
        matrix: char,
        /// Given leading dimension.
        ld: usize,
        /// Smallest valid leading dimension.
        needed: usize,
    },
    /// The matrices of a batch overlap in C.
    #[error("the matrices of a batch overlap in C: stride {stride} is less than the {matrix} elements of one")]
    Overlap {
        /// Given stride, in elements.
        stride: usize,
        /// Smallest valid stride: the extent of a matrix.
        matrix: usize,
    },
    /// A buffer of the epilogue is too short.
    #[error("the {what} needs {needed} elements, and its buffer has {given}")]
    Epilogue {
        /// Role of the buffer.
        what: &'static str,
        /// Number of elements needed.
        needed: usize,
        /// Number of elements in the buffer.
        given: usize,
    },
    /// The grid would have too many blocks.
    #[error("the matrices are too large for one launch")]
    TooLarge,
    /// Integer sums have no activation.
    #[error("sums of integers have no activation: use another epilogue")]
    IntegerActivation,
    /// Groups need a row-major C and one level of batches.
    #[error("groups of unknown sizes need a row-major C and one level of batches")]
    Groups,
    /// The offsets of groups descend or exceed the size.
    #[error("offsets of groups must ascend to at most {size}; {offset} does not")]
    Offset {
        /// First invalid offset.
        offset: u32,
        /// Number of rows, or k.
        size: usize,
    },
    /// The epilogue of bytes has scales of its own.
    #[error("results of 8 bits need alpha 1 and beta 0: their epilogue has scales of its own")]
    ScaledBytes,
    /// Packed B needs columns of whole groups, and a row-major C.
    #[error("packed weights need columns that begin at multiples of 16 elements, and a row-major C")]
    Packed,
    /// A weight has no code.
    #[error("no code stands for the weight {weight}")]
    NoCode {
        /// First such weight.
        weight: i8,
    },
    /// The scale of an FP4 block is not 1, so that its values are no integers.
    #[error("packed FP4 blocks need the scale 1")]
    ScaledBlock,
    /// SwiGLU needs two columns per output, so it is not an epilogue.
    #[error("SwiGLU takes two columns: multiply with another epilogue, then use `nn::activation`")]
    SwiGlu,
}
