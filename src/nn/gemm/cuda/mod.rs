//! [`Gemm`] on a GPU: own kernels with and without tensor cores, and NVIDIA's cuBLASLt where it is found.
//!
//! All three sum in f32 (s8 in s32), each in its own order: results agree with [`cpu`](super::cpu) within the rounding of
//! the sums, about `2⁻²⁴ sqrt(k)`, and are the same bits for the same backend, sizes, layouts and device. Sums of s8 are
//! exact everywhere. 16-bit results are rounded once.

mod kernels;
mod library;
mod tile;

pub use kernels::{GemmArgs, MmaKernels, SimtKernels};
pub use tile::Tile;

use super::{Epilogue, Gemm, GemmError, Layout, Order, cpu::Sum, epilogue::Parts};
use crate::{
    gpu::{
        Any, AnyMut, Gpu, GpuError, ModuleSpec, Pass, Slice,
        layout::CudaType,
        library::{CublasLt, LibraryError},
    },
    nn::activation::Activation,
    num::elements::{Bf16, F16},
};
use kernels::{GemmLarge, GemmSimt, GemmSmall};
use std::{
    fmt,
    sync::{Arc, OnceLock},
};

/// Every module of this operation, for the tests of kernels.
pub const MODULES: &[ModuleSpec] =
    &[MmaKernels::SPEC, MmaKernels::F16, MmaKernels::TF32, MmaKernels::S8, SimtKernels::SPEC];

/// Type of both operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// Single precision.
    F32 = 0,
    /// IEEE binary16.
    F16 = 1,
    /// bfloat16.
    Bf16 = 2,
    /// Signed bytes.
    S8 = 3,
}

impl Format {
    /// Bytes of an operand's element.
    const fn bytes(self) -> usize {
        match self {
            Self::F32 => 4,
            Self::F16 | Self::Bf16 => 2,
            Self::S8 => 1,
        }
    }

    /// Bytes of an element of C.
    const fn bytes_of_sums(self) -> usize {
        if let Self::S8 = self { 4 } else { self.bytes() }
    }
}

/// An element type of operands.
pub trait Operand: CudaType {
    /// Type of the sums.
    type Sum: Scale;
    /// Its format.
    const FORMAT: Format;
}

/// An element type of C, bias and residual.
pub trait Output: CudaType {
    /// Type of the sums it holds, exactly or rounded.
    type Sum: Scale;
    /// Its format; [`Format::S8`] stands for 32-bit integers.
    const FORMAT: Format;
}

/// A type of alpha and beta.
pub trait Scale: Sum {
    /// As the kernels take it: for f32 sums, for integer sums.
    fn pair(self) -> (f32, i32);
}

impl Scale for f32 {
    fn pair(self) -> (f32, i32) {
        (self, 0)
    }
}

impl Scale for i32 {
    fn pair(self) -> (f32, i32) {
        (0.0, self)
    }
}

macro_rules! element {
    ($Trait:ident: $($T:ty => $S:ty, $Format:ident;)*) => {
        $( impl $Trait for $T { type Sum = $S; const FORMAT: Format = Format::$Format; } )*
    };
}
element!(Operand: f32 => f32, F32; F16 => f32, F16; Bf16 => f32, Bf16; i8 => i32, S8;);
element!(Output: f32 => f32, F32; F16 => f32, F16; Bf16 => f32, Bf16; i32 => i32, S8;);

/// How a multiplication is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum Backend {
    /// NVIDIA's cuBLASLt.
    CublasLt,
    /// Own kernels on tensor cores; f32 operands are rounded to tf32.
    TensorCores,
    /// Own kernels without tensor cores.
    Simt,
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::CublasLt => "cuBLASLt",
            Self::TensorCores => "mma.sync",
            Self::Simt => "SIMT",
        })
    }
}

/// What may be chosen for a multiplication.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// This backend or an error; `None`: the fastest that can.
    pub backend: Option<Backend>,
    /// Whether f32 operands may be rounded to tf32: 11 significant bits, for tensor cores.
    pub tf32: bool,
}

/// Why a multiplication was not started.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CudaGemmError {
    /// The declaration does not fit its buffers.
    #[error(transparent)]
    Declared(#[from] GemmError),
    /// The device refused.
    #[error(transparent)]
    Gpu(#[from] GpuError),
    /// The library refused or is absent.
    #[error(transparent)]
    Library(#[from] LibraryError),
    /// The required backend cannot compute this.
    #[error("{backend} cannot multiply this: {why}")]
    Unable {
        /// Required.
        backend: Backend,
        /// The reason.
        why: &'static str,
    },
}

/// Multiplies on one device. Modules are loaded when they are first used; [`CudaGemm::prepare`] does it ahead.
pub struct CudaGemm {
    gpu: Arc<Gpu>,
    library: Result<Arc<CublasLt>, LibraryError>,
    simt: OnceLock<SimtKernels>,
    mma: [OnceLock<MmaKernels>; 4],
}

impl CudaGemm {
    /// Looks for cuBLASLt; without it, own kernels do everything.
    pub fn new(gpu: &Arc<Gpu>) -> Self {
        let library = CublasLt::open(gpu).map(Arc::new);
        Self { gpu: gpu.clone(), library, simt: OnceLock::new(), mma: Default::default() }
    }

    /// The library, or why there is none.
    pub fn library(&self) -> Result<&Arc<CublasLt>, &LibraryError> {
        self.library.as_ref()
    }

    /// Loads the modules for a format.
    pub fn prepare(&self, format: Format) -> Result<(), GpuError> {
        self.simt()?;
        if self.gpu.capability >= 80 { self.mma(format).map(drop) } else { Ok(()) }
    }

    fn simt(&self) -> Result<&SimtKernels, GpuError> {
        if self.simt.get().is_none() {
            let _ = self.simt.set(SimtKernels::load(&self.gpu)?);
        }
        Ok(self.simt.get_or_init(|| unreachable!("just set")))
    }

    fn mma(&self, format: Format) -> Result<&MmaKernels, GpuError> {
        let place = &self.mma[format as usize];
        if place.get().is_none() {
            let spec = match format {
                Format::F32 => MmaKernels::TF32,
                Format::F16 => MmaKernels::F16,
                Format::Bf16 => MmaKernels::SPEC,
                Format::S8 => MmaKernels::S8,
            };
            let _ = place.set(MmaKernels::load_as(&self.gpu, &spec)?);
        }
        Ok(place.get_or_init(|| unreachable!("just set")))
    }

    /// Multiplies after everything issued so far, and returns what computes it. The epilogue's data have the type of C.
    pub fn run<I: Operand, O: Output<Sum = I::Sum>>(
        &self,
        pass: &mut Pass,
        gemm: &Gemm<I::Sum>,
        (a, b): (&Slice<I>, &Slice<I>),
        c: &mut Slice<O>,
        epilogue: Epilogue<&Slice<O>, &mut Slice<O>>,
        options: Options,
    ) -> Result<Backend, CudaGemmError> {
        gemm.check(a.len(), b.len(), c.len())?;
        let kind = epilogue.kind();
        let parts = epilogue.parts();
        parts.check(gemm, |data| data.len(), |data| data.len())?;
        let limit = u32::MAX as usize / 4;
        if gemm.m.max(gemm.n).max(gemm.k) > limit {
            let backend = options.backend.unwrap_or(Backend::TensorCores);
            return Err(CudaGemmError::Unable { backend, why: "a side is longer than 2³⁰" });
        }
        let call = Call {
            gemm: gemm.with_fewer_levels(),
            formats: (I::FORMAT, O::FORMAT),
            a: a.into(),
            b: b.into(),
            bias: parts.bias.map_or(Any::NONE, Any::from),
            other: parts.other.map_or(Any::NONE, Any::from),
            epilogue: kind,
            bias_by_row: false,
            tf32: options.tf32,
        };
        if gemm.m == 0 || gemm.n == 0 || gemm.batch == 0 || gemm.outer == 0 {
            return Ok(options.backend.unwrap_or(Backend::Simt));
        }
        let mut c = AnyMut::from(c);
        let mut aux = parts.aux.map_or(AnyMut::none(), AnyMut::from);
        if options.backend.is_none_or(|b| b == Backend::CublasLt) {
            match (&self.library, options.backend) {
                (Ok(library), required) => match library::run(library, pass, &call, &mut c, &mut aux) {
                    Ok(()) => return Ok(Backend::CublasLt),
                    Err(LibraryError::Unsupported) if required.is_none() => {}
                    Err(why) => return Err(why.into()),
                },
                (Err(why), Some(_)) => return Err(why.clone().into()),
                (Err(_), None) => {}
            }
        }
        self.own_kernel(pass, call.row_major(), (c, aux), options.backend)
    }

    fn own_kernel<S: Scale>(
        &self,
        pass: &mut Pass,
        call: Call<'_, S>,
        (c, aux): (AnyMut<'_>, AnyMut<'_>),
        required: Option<Backend>,
    ) -> Result<Backend, CudaGemmError> {
        let format = call.formats.0;
        let is_unable = self.gpu.capability < 80;
        let wanted =
            required.unwrap_or(if format == Format::F32 && !call.tf32 { Backend::Simt } else { Backend::TensorCores });
        let backend = match wanted {
            Backend::TensorCores if is_unable && required.is_some() => {
                let why = "tensor cores of compute capability 8.0 are needed";
                return Err(CudaGemmError::Unable { backend: wanted, why });
            }
            Backend::TensorCores if !is_unable => Backend::TensorCores,
            _ => Backend::Simt,
        };
        let args = call.args(&c, &aux);
        let Call { a, b, bias, other, .. } = call;
        let matrices = call.gemm.outer * call.gemm.batch;
        if backend == Backend::Simt {
            let grid = Tile::SIMT.grid(&args, matrices)?;
            GemmSimt { g: args, a, b, c, bias, other, aux }.launch(self.simt()?, pass, grid)?;
            return Ok(backend);
        }
        let kernels = self.mma(format)?;
        let tile = Tile::choose(&args, matrices, self.gpu.multiprocessors, self.gpu.shared_per_block);
        let grid = tile.grid(&args, matrices)?;
        if tile == Tile::LARGE {
            GemmLarge { g: args, a, b, c, bias, other, aux }.launch(kernels, pass, grid)?;
        } else {
            GemmSmall { g: args, a, b, c, bias, other, aux }.launch(kernels, pass, grid)?;
        }
        Ok(backend)
    }
}

/// A checked multiplication.
struct Call<'a, S> {
    gemm: Gemm<S>,
    /// Of the operands, of C.
    formats: (Format, Format),
    a: Any<'a>,
    b: Any<'a>,
    bias: Any<'a>,
    other: Any<'a>,
    epilogue: Epilogue,
    /// Whether C was transposed, and so the bias belongs to its rows.
    bias_by_row: bool,
    tf32: bool,
}

impl<S: Scale> Call<'_, S> {
    /// A column-major C is the row-major `Cᵀ = Bᵀ Aᵀ`.
    fn row_major(self) -> Self {
        if self.gemm.c.order == Order::RowMajor {
            return self;
        }
        let g = self.gemm;
        let (a, b, c) = (g.b.transposed(), g.a.transposed(), g.c.transposed());
        let gemm = Gemm { m: g.n, n: g.m, a, b, c, ..g };
        Self { gemm, a: self.b, b: self.a, bias_by_row: true, ..self }
    }

    fn has_adjacent_k(&self) -> bool {
        self.gemm.a.order == Order::RowMajor && self.gemm.b.order == Order::ColMajor
    }

    /// Arguments of the own kernels, for a row-major C.
    fn args(&self, c: &AnyMut<'_>, aux: &AnyMut<'_>) -> GemmArgs {
        let g = &self.gemm;
        let (operands, out) = self.formats;
        let rows_are_aligned = |matrix: Any<'_>, layout: &Layout| {
            let is_multiple = |n: usize| (n * operands.bytes()).is_multiple_of(16);
            let strides = [(g.batch, layout.stride), (g.outer, layout.outer)];
            let are_multiples = strides.iter().all(|(count, stride)| *count == 1 || is_multiple(*stride));
            matrix.is_aligned_to(16) && is_multiple(layout.ld) && are_multiples
        };
        // No instruction exchanges single bytes between lanes.
        let can_exchange = operands != Format::S8 || self.has_adjacent_k();
        let four = 4 * out.bytes_of_sums() as u64;
        let of = |count: usize, stride: usize| if count == 1 { 0 } else { stride };
        let rows = if self.bias_by_row { g.m } else { 0 };
        let sizes = [g.n, g.c.ld, of(g.batch, g.c.stride), of(g.outer, g.c.outer), rows];
        let has_quads = sizes.iter().all(|n| n.is_multiple_of(4))
            && [self.bias, self.other].iter().all(|data| data.is_aligned_to(four))
            && [c, aux].iter().all(|data| data.is_aligned_to(four));
        let Parts { f, is_gradient, .. } = self.epilogue.parts();
        let ((alpha, alpha_int), (beta, beta_int)) = (g.alpha.pair(), g.beta.pair());
        GemmArgs {
            stride_a: g.a.stride as u64,
            stride_b: g.b.stride as u64,
            stride_c: g.c.stride as u64,
            outer_a: g.a.outer as u64,
            outer_b: g.b.outer as u64,
            outer_c: g.c.outer as u64,
            lda: g.a.ld as u64,
            ldb: g.b.ld as u64,
            ldc: g.c.ld as u64,
            m: g.m as u32,
            n: g.n as u32,
            k: g.k as u32,
            batch: g.batch as u32,
            operands: operands as u32,
            out: out as u32,
            activation: match f {
                None | Some(Activation::SwiGlu) => 0,
                Some(Activation::GeluTanh) => 1,
                Some(Activation::GeluErf) => 2,
                Some(Activation::Relu) => 3,
                Some(Activation::ReluSquared) => 4,
            },
            is_gradient: is_gradient.into(),
            bias_by_row: self.bias_by_row.into(),
            quads: has_quads.into(),
            a_by_k: (g.a.order == Order::RowMajor).into(),
            b_by_k: (g.b.order == Order::ColMajor).into(),
            aligned: (can_exchange && rows_are_aligned(self.a, &g.a) && rows_are_aligned(self.b, &g.b)).into(),
            alpha,
            beta,
            alpha_int,
            beta_int,
            pad: 0,
        }
    }
}
