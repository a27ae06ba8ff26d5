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
//! | `y = x Wᵀ + b` | `Gemm::new(tokens, out, in).transposed_b()`, [`Epilogue::Bias`] or [`Epilogue::BiasGelu`] |
//! | `x += y Wᵀ` | the same with [`Epilogue::Residual`], or `scaled(1, 1)` into x |
//! | `dx = dy W` | `Gemm::new(tokens, in, out)` |
//! | `dW += dyᵀ x` | `Gemm::new(out, in, tokens).transposed_a().scaled(1, 1)`, 16-bit operands into f32 |
//! | scores of all heads of a sequence | a batch of heads: [`Layout::stride`] is the size of a head, `ld` the length of a token's queries, keys and values |
//! | their sums of values | the same; C holds the heads side by side |
//!
//! [`cpu::gemm`] is the definition; its page states the order of every sum. [`cuda::CudaGemm`] is the same on a GPU, with
//! operands of f32, f16, bf16 and s8.

pub mod bench;
pub mod cpu;
pub mod cuda;

/// How the elements of a matrix follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// Elements of a row are adjacent.
    RowMajor,
    /// Elements of a column are adjacent.
    ColMajor,
}

/// Where the elements of a matrix, or of a batch of matrices, are in a buffer. Counted in elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Layout {
    /// Row- or column-major.
    pub order: Order,
    /// Leading dimension: from a row to the next in row-major order, from a column to the next in column-major order.
    pub ld: usize,
    /// From a matrix of a batch to the next; 0 uses one matrix for the whole batch.
    pub stride: usize,
}

impl Layout {
    /// Row-major, `columns` adjacent elements per row, no batch.
    pub const fn rows(columns: usize) -> Self {
        Self { order: Order::RowMajor, ld: columns, stride: 0 }
    }

    /// The same memory read as the transposed matrix.
    #[must_use]
    pub const fn transposed(self) -> Self {
        let order = match self.order {
            Order::RowMajor => Order::ColMajor,
            Order::ColMajor => Order::RowMajor,
        };
        Self { order, ..self }
    }

    /// With `stride` elements between the matrices of a batch.
    #[must_use]
    pub const fn stride(self, stride: usize) -> Self {
        Self { stride, ..self }
    }

    /// Distance from a row to the next, and from a column to the next.
    pub const fn steps(&self) -> (usize, usize) {
        match self.order {
            Order::RowMajor => (self.ld, 1),
            Order::ColMajor => (1, self.ld),
        }
    }

    /// Elements a buffer needs for `batch` matrices of `rows` × `columns`; `None` when that overflows.
    pub fn extent(&self, rows: usize, columns: usize, batch: usize) -> Option<usize> {
        if rows == 0 || columns == 0 || batch == 0 {
            return Some(0);
        }
        let (row, column) = self.steps();
        let matrix = (rows - 1).checked_mul(row)?.checked_add((columns - 1).checked_mul(column)?)?.checked_add(1)?;
        (batch - 1).checked_mul(self.stride)?.checked_add(matrix)
    }

    /// Length of the adjacent elements of a matrix of this size.
    const fn adjacent(&self, rows: usize, columns: usize) -> usize {
        match self.order {
            Order::RowMajor => columns,
            Order::ColMajor => rows,
        }
    }

    /// Whether the matrices of a batch are side by side within each row (or column), as the heads of attention are.
    fn is_interleaved(&self, rows: usize, columns: usize, batch: usize) -> bool {
        let adjacent = self.adjacent(rows, columns);
        let together = (batch - 1).checked_mul(self.stride).and_then(|others| others.checked_add(adjacent));
        self.stride >= adjacent && together.is_some_and(|together| together <= self.ld)
    }

    fn check(&self, matrix: char, rows: usize, columns: usize, batch: usize, given: usize) -> Result<(), GemmError> {
        let adjacent = self.adjacent(rows, columns);
        if self.ld < adjacent {
            return Err(GemmError::LeadingDimension { matrix, ld: self.ld, needed: adjacent });
        }
        let needed = self.extent(rows, columns, batch).unwrap_or(usize::MAX);
        if needed > given { Err(GemmError::Length { matrix, needed, given }) } else { Ok(()) }
    }
}

/// One multiplication, without its data. `S` is the type of the sums.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gemm<S = f32> {
    /// Rows of A and C.
    pub m: usize,
    /// Columns of B and C.
    pub n: usize,
    /// Columns of A and rows of B.
    pub k: usize,
    /// Multiplications, each with its own matrices.
    pub batch: usize,
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
        Self { m, n, k, batch: 1, a, b, c, alpha: S::ONE, beta: S::ZERO }
    }

    /// A is stored K × M, row-major.
    #[must_use]
    pub const fn transposed_a(mut self) -> Self {
        self.a = Layout::rows(self.m).transposed().stride(self.a.stride);
        self
    }

    /// B is stored N × K, row-major: the layout of weights `[out, in]`.
    #[must_use]
    pub const fn transposed_b(mut self) -> Self {
        self.b = Layout::rows(self.k).transposed().stride(self.b.stride);
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
        2 * self.batch as u64 * self.m as u64 * self.n as u64 * self.k as u64
    }

    /// Checks layouts and lengths (in elements) before anything is read or written.
    pub fn check(&self, a: usize, b: usize, c: usize) -> Result<(), GemmError> {
        self.a.check('A', self.m, self.k, self.batch, a)?;
        self.b.check('B', self.k, self.n, self.batch, b)?;
        self.c.check('C', self.m, self.n, self.batch, c)?;
        let matrix = self.c.extent(self.m, self.n, 1).unwrap_or(usize::MAX);
        if self.batch > 1 && self.c.stride < matrix && !self.c.is_interleaved(self.m, self.n, self.batch) {
            return Err(GemmError::Overlap { stride: self.c.stride, matrix });
        }
        Ok(())
    }
}

/// What happens to `x = alpha · A B + beta · C` before it is written. `P` is a backend's view of a buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Epilogue<P = ()> {
    /// `x`
    #[default]
    None,
    /// `x + bias[column]`
    Bias(P),
    /// `gelu(x + bias[column])`, with [`gelu`] in its tanh form
    BiasGelu(P),
    /// `x + residual[row, column]`, in the layout of C
    Residual(P),
}

impl<P> Epilogue<P> {
    /// Its data.
    pub const fn data(&self) -> Option<&P> {
        match self {
            Self::None => None,
            Self::Bias(p) | Self::BiasGelu(p) | Self::Residual(p) => Some(p),
        }
    }

    /// The same on another backend.
    pub fn map<Q>(self, f: impl FnOnce(P) -> Q) -> Epilogue<Q> {
        match self {
            Self::None => Epilogue::None,
            Self::Bias(p) => Epilogue::Bias(f(p)),
            Self::BiasGelu(p) => Epilogue::BiasGelu(f(p)),
            Self::Residual(p) => Epilogue::Residual(f(p)),
        }
    }

    /// Checks the length of its data (in elements).
    pub fn check<S>(&self, gemm: &Gemm<S>, given: impl FnOnce(&P) -> usize) -> Result<(), GemmError> {
        let (what, needed) = match self {
            Self::None => return Ok(()),
            Self::Bias(_) | Self::BiasGelu(_) => ("bias", gemm.n),
            Self::Residual(_) => ("residual", gemm.c.extent(gemm.m, gemm.n, gemm.batch).unwrap_or(usize::MAX)),
        };
        let given = self.data().map_or(0, given);
        if given < needed { Err(GemmError::Epilogue { what, needed, given }) } else { Ok(()) }
    }
}

/// `0.5 x (1 + tanh(sqrt(2/π) (x + 0.044715 x³)))`.
pub fn gelu(x: f64) -> f64 {
    0.5 * x * (1.0 + (0.797_884_560_802_865_4 * (x + 0.044_715 * x * x * x)).tanh())
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
    /// Bias or residual is too short.
    #[error("the {what} needs {needed} elements, and its buffer has {given}")]
    Epilogue {
        /// Bias or residual.
        what: &'static str,
        /// Elements needed.
        needed: usize,
        /// Elements of the buffer.
        given: usize,
    },
    /// More blocks than a grid has.
    #[error("the matrices are too large for one launch")]
    TooLarge,
    /// Integers have no GELU.
    #[error("sums of integers have no GELU: use another epilogue")]
    IntegerGelu,
}
