//! General matrix multiplication: `C = epilogue(alpha · A B + beta · C)`.
//!
//! A is M × K, B is K × N and C is M × N; a [`Layout`] says how each is stored, so that a transposed operand is a
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
//! | scores of all heads of a sequence | a batch of heads: [`Layout::stride`] is the size of a head, `ld` the length of a token's queries, keys and values |
//! | of all sequences | batches of heads: [`Layout::outer`] is the size of a sequence |
//! | their sums of values | the same; C holds the heads side by side |
//!
//! [`cpu::gemm`] is the definition; its page states the order of every sum. [`cuda::CudaGemm`] is the same on a GPU, with
//! operands of f32, f16, bf16 and s8.

pub mod bench;
pub mod cpu;
pub mod cuda;
mod epilogue;
mod grouped;
mod layout;

pub use epilogue::Epilogue;
pub use grouped::{Scales, Split};
pub use layout::{Layout, Order};

/// One multiplication, without its data. `S` is the type of the sums.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gemm<S = f32> {
    /// Rows of A and C.
    pub m: usize,
    /// Columns of B and C.
    pub n: usize,
    /// Columns of A and rows of B.
    pub k: usize,
    /// Multiplications of a batch, [`Layout::stride`] apart.
    pub batch: usize,
    /// Batches, [`Layout::outer`] apart.
    pub outer: usize,
    /// Layout of A.
    pub a: Layout,
    /// Layout of B.
    pub b: Layout,
    /// Layout of C.
    pub c: Layout,
    /// Factor of the product.
    pub alpha: S,
    /// Factor of the old C. With 0, C is not read and may hold anything.
    pub beta: S,
}

impl<S: cpu::Sum> Gemm<S> {
    /// Dense row-major matrices, `C = A B`.
    pub const fn new(m: usize, n: usize, k: usize) -> Self {
        let (a, b, c) = (Layout::rows(k), Layout::rows(n), Layout::rows(n));
        Self { m, n, k, batch: 1, outer: 1, a, b, c, alpha: S::ONE, beta: S::ZERO }
    }

    /// A is stored K × M, row-major.
    #[must_use]
    pub const fn transposed_a(mut self) -> Self {
        self.a = Layout { order: Order::ColMajor, ld: self.m, ..self.a };
        self
    }

    /// B is stored N × K, row-major: the layout of weights `[out, in]`.
    #[must_use]
    pub const fn transposed_b(mut self) -> Self {
        self.b = Layout { order: Order::ColMajor, ld: self.k, ..self.b };
        self
    }

    /// `batch` dense multiplications, one behind the other.
    #[must_use]
    pub const fn batch(mut self, batch: usize) -> Self {
        self.batch = batch;
        self.a.stride = self.m * self.k;
        self.b.stride = self.k * self.n;
        self.c.stride = self.m * self.n;
        self
    }

    /// `C = alpha · A B + beta · C`.
    #[must_use]
    pub const fn scaled(mut self, alpha: S, beta: S) -> Self {
        self.alpha = alpha;
        self.beta = beta;
        self
    }

    /// Multiplications and additions.
    pub const fn ops(&self) -> u64 {
        2 * self.outer as u64 * self.batch as u64 * self.m as u64 * self.n as u64 * self.k as u64
    }

    /// Batches, and multiplications of each.
    pub const fn batches(&self) -> (usize, usize) {
        (self.outer, self.batch)
    }

    /// First element of a matrix in its buffer, counted over all batches.
    const fn first(&self, layout: &Layout, matrix: usize) -> usize {
        matrix / self.batch * layout.outer + matrix % self.batch * layout.stride
    }

    /// Batches that follow each other are one, for backends that know one stride only.
    fn with_fewer_levels(self) -> Self {
        let is_regular = |l: &Layout| l.outer == self.batch * l.stride;
        if self.batch != 1 && !(self.outer > 1 && [self.a, self.b, self.c].iter().all(is_regular)) {
            return self;
        }
        let one = |l: Layout| Layout { stride: if self.batch == 1 { l.outer } else { l.stride }, outer: 0, ..l };
        Self { batch: self.batch * self.outer, outer: 1, a: one(self.a), b: one(self.b), c: one(self.c), ..self }
    }

    /// With other scales, of another type.
    #[must_use]
    pub const fn with_scales<T>(&self, alpha: T, beta: T) -> Gemm<T> {
        let Self { m, n, k, batch, outer, a, b, c, .. } = *self;
        Gemm { m, n, k, batch, outer, a, b, c, alpha, beta }
    }

    /// Checks layouts and lengths (in elements) before anything is read or written.
    pub fn check(&self, a: usize, b: usize, c: usize) -> Result<(), GemmError> {
        self.a.check('A', self.m, self.k, self.batches(), a)?;
        self.b.check('B', self.k, self.n, self.batches(), b)?;
        self.c.check('C', self.m, self.n, self.batches(), c)?;
        self.c.check_apart(self.m, self.n, self.batches())
    }
}

/// Why a multiplication was not started.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GemmError {
    /// A buffer is too short.
    #[error("matrix {matrix} needs {needed} elements, and its buffer has {given}")]
    Length {
        /// A, B or C.
        matrix: char,
        /// Elements from the first to the last.
        needed: usize,
        /// Elements of the buffer.
        given: usize,
    },
    /// Rows (or columns) overlap.
    #[error("matrix {matrix} has leading dimension {ld}, and at least {needed} is needed")]
    LeadingDimension {
        /// A, B or C.
        matrix: char,
        /// Given.
        ld: usize,
        /// Smallest possible.
        needed: usize,
    },
    /// Matrices of a batch overlap in C.
    #[error("the matrices of a batch overlap in C: stride {stride} is less than the {matrix} elements of one")]
    Overlap {
        /// Given.
        stride: usize,
        /// Smallest possible.
        matrix: usize,
    },
    /// A buffer of the epilogue is too short.
    #[error("the {what} needs {needed} elements, and its buffer has {given}")]
    Epilogue {
        /// Its role.
        what: &'static str,
        /// Elements needed.
        needed: usize,
        /// Elements of the buffer.
        given: usize,
    },
    /// More blocks than a grid has.
    #[error("the matrices are too large for one launch")]
    TooLarge,
    /// Integers have no activation.
    #[error("sums of integers have no activation: use another epilogue")]
    IntegerActivation,
    /// Groups are no batches of batches, and C is row-major.
    #[error("groups of unknown sizes need a row-major C and one level of batches")]
    Groups,
    /// Offsets of groups descend or are too large.
    #[error("offsets of groups must ascend to at most {size}; {offset} does not")]
    Offset {
        /// The first wrong one.
        offset: u32,
        /// Rows, or k.
        size: usize,
    },
    /// It takes two numbers.
    #[error("SwiGLU takes two columns: multiply with another epilogue, then use `nn::activation`")]
    SwiGlu,
}
