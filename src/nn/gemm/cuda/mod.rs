//! [`Gemm`] on a GPU: the project's kernels with and without tensor cores, and NVIDIA's cuBLASLt if it is found.
//!
//! All implementations sum in f32 (s8 in s32), each in its own order: results agree with [`cpu`](super::cpu) within the rounding
//! of the sums, about `2⁻²⁴ sqrt(k)`, and have the same bits for the same implementation, sizes, layouts and device. Sums of s8
//! are exact everywhere. 16-bit results are rounded once.
//!
//! # Choice of the implementation
//!
//! [`Options::backend`] selects an implementation. Otherwise the choice that [`tuning`] measured or a run recorded is used,
//! then cuBLASLt if it is found, then the kernel that [`Tile`] expects to be fastest. If an implementation cannot compute a
//! call, another one does, unless [`Options::is_required`]; `run` returns the one used. The choice depends on the
//! multiplication and the device alone: a failing library call is an error, because another implementation has other bits.

mod call;
mod kernels;
mod library;
mod modules;
mod own;
mod packed;
mod quantised;
mod tile;
pub mod tuning;
mod types;
mod wgmma;

pub use kernels::{GemmArgs, MmaKernels, PackedKernels, SimtKernels, WgmmaKernels, WmmaKernels};
pub use modules::Available;
pub use tile::Tile;
pub use types::{Format, Operand, Output, Scale};

use super::{Epilogue, Gemm, GemmError, Layout, Scales, Split, epilogue::Parts};
use crate::gpu::{
    Any, AnyMut, Gpu, GpuError, ModuleSpec, Pass, Slice,
    library::{CUBLASLT, CublasLt, LibraryError, WORKSPACE},
};
use call::Call;
use own::{OwnKernels, TURNS_BYTES};
use std::{
    fmt,
    sync::{Arc, Once},
};
use tuning::Tuning;

/// Kernel modules of this operation, for the kernel tests.
pub const MODULES: &[ModuleSpec] = &[
    MmaKernels::SPEC,
    MmaKernels::F16,
    MmaKernels::TF32,
    MmaKernels::S8,
    WgmmaKernels::SPEC,
    WgmmaKernels::F16,
    WmmaKernels::SPEC,
    WmmaKernels::F16,
    SimtKernels::SPEC,
    PackedKernels::SPEC,
    PackedKernels::INTERLEAVED,
    PackedKernels::FP4,
];

/// Backend of a multiplication.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum Backend {
    /// cuBLASLt, NVIDIA's library.
    CublasLt,
    /// The project's wgmma kernel for Hopper's tensor cores; f16 and bf16.
    Wgmma,
    /// The project's mma.sync kernels for tensor cores; f32 operands are rounded to tf32.
    TensorCores,
    /// The project's kernel with WMMA fragments; f16 and bf16.
    Wmma,
    /// The project's kernels without tensor cores.
    Simt,
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::CublasLt => "cuBLASLt",
            Self::Wgmma => "wgmma",
            Self::TensorCores => "mma.sync",
            Self::Wmma => "WMMA",
            Self::Simt => "SIMT",
        })
    }
}

/// A kernel of a backend, or the library.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Implementation {
    /// cuBLASLt, with the first algorithm of its heuristics.
    CublasLt,
    /// Kernel with wgmma.
    Wgmma,
    /// Kernel with mma.sync and [`Tile::LARGE`].
    LargeTiles,
    /// Kernel with mma.sync and [`Tile::SMALL`].
    SmallTiles,
    /// Kernel with WMMA fragments.
    Wmma,
    /// Kernel without tensor cores.
    Simt,
    /// Kernel without tensor cores for bytes, with dot products of four.
    Dp4a,
    /// Kernel with mma.sync and [`Tile::LARGE`] for packed weights.
    PackedLarge,
    /// Kernel with mma.sync and [`Tile::SMALL`] for packed weights.
    PackedSmall,
    /// Kernel without tensor cores for packed weights.
    PackedDp4a,
}

impl Implementation {
    /// All implementations, in the order of declaration.
    pub const ALL: [Self; 10] = [
        Self::CublasLt,
        Self::Wgmma,
        Self::LargeTiles,
        Self::SmallTiles,
        Self::Wmma,
        Self::Simt,
        Self::Dp4a,
        Self::PackedLarge,
        Self::PackedSmall,
        Self::PackedDp4a,
    ];

    /// Returns the backend of the implementation.
    pub const fn backend(self) -> Backend {
        match self {
            Self::CublasLt => Backend::CublasLt,
            Self::Wgmma => Backend::Wgmma,
            Self::LargeTiles | Self::SmallTiles | Self::PackedLarge | Self::PackedSmall => Backend::TensorCores,
            Self::Wmma => Backend::Wmma,
            Self::Simt | Self::Dp4a | Self::PackedDp4a => Backend::Simt,
        }
    }

    /// Whether B is packed.
    const fn is_packed(self) -> bool {
        matches!(self, Self::PackedLarge | Self::PackedSmall | Self::PackedDp4a)
    }
}

/// Constraints on the choice of an implementation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Backend to use; `None`: the fastest possible one, see the [module](self).
    pub backend: Option<Backend>,
    /// Whether the backend is required: a call that it cannot compute is an error.
    pub is_required: bool,
    /// Whether f32 operands may be rounded to tf32 (11 significant bits) for tensor cores.
    pub tf32: bool,
}

impl Options {
    /// Returns options that require `backend`, so that `run` fails if the backend cannot compute the call.
    pub const fn only(backend: Backend) -> Self {
        Self { backend: Some(backend), is_required: true, tf32: false }
    }
}

/// Reason why a multiplication was not started.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CudaGemmError {
    /// The buffers do not match the declaration.
    #[error(transparent)]
    Declared(#[from] GemmError),
    /// The device reported an error.
    #[error(transparent)]
    Gpu(#[from] GpuError),
    /// The library reported an error or is absent.
    #[error(transparent)]
    Library(#[from] LibraryError),
    /// The required backend cannot compute this call.
    #[error("{backend} cannot multiply this: {why}")]
    Unable {
        /// Backend that was required.
        backend: Backend,
        /// Reason why the backend cannot compute the call.
        why: &'static str,
    },
}

/// Launches multiplications on one device. Modules are loaded at their first use, or by [`CudaGemm::prepare`].
pub struct CudaGemm {
    gpu: Arc<Gpu>,
    library: Result<Arc<CublasLt>, LibraryError>,
    own: OwnKernels,
    tuning: Tuning,
}

impl CudaGemm {
    /// Creates the operation, with cuBLASLt if the library is found; otherwise the project's kernels compute everything.
    pub fn new(gpu: &Arc<Gpu>) -> Self {
        let library = CublasLt::open(gpu).map(Arc::new);
        Self { gpu: gpu.clone(), library, own: OwnKernels::new(gpu), tuning: Tuning::default() }
    }

    /// Creates an instance with the same choices for another stream of the device, with its own memory.
    pub fn beside(&self, gpu: &Arc<Gpu>) -> Self {
        let (new, choices) = (Self::new(gpu), self.choices());
        new.set_choices(choices.iter().map(|(name, by)| (name.as_str(), by.as_str())));
        new
    }

    /// Allocates all memory that multiplications will need. Otherwise the memory of split-K is allocated at its first use.
    pub fn reserve(&self) -> Result<(), GpuError> {
        self.own.reserve()
    }

    /// Returns the library handle, or the reason why there is none.
    pub fn library(&self) -> Result<&Arc<CublasLt>, &LibraryError> {
        self.library.as_ref()
    }

    /// Returns the allocated device memory in bytes: the workspace of the library, and the turn counters if allocated.
    pub fn bytes(&self) -> u64 {
        let library = if self.library.is_ok() { WORKSPACE as u64 } else { 0 };
        library + self.own.bytes()
    }

    /// Returns the device memory in bytes after [`Self::reserve`].
    pub fn predicted_bytes() -> u64 {
        TURNS_BYTES + if CUBLASLT.find().is_ok() { WORKSPACE as u64 } else { 0 }
    }

    /// Returns a message if the wanted backend is unavailable, so that another one is used; otherwise `None`.
    pub fn notice(&self, wanted: Option<Backend>) -> Option<String> {
        match (wanted?, &self.library) {
            (Backend::CublasLt, Err(why)) => Some(why.to_string()),
            (Backend::Wgmma, _) if !self.own.have_wgmma() => {
                Some("wgmma needs compute capability 9.0; another implementation is used instead".to_owned())
            }
            (wanted @ (Backend::TensorCores | Backend::Wmma), _) if !self.own.have_tensor_cores() => {
                Some(format!("{wanted} needs compute capability 8.0; SIMT is used instead"))
            }
            _ => None,
        }
    }

    /// Logs, once per process, if the library is missing, so that the project's kernels are used instead.
    pub fn log_missing_library(&self) {
        static LOGGED: Once = Once::new();
        if let Err(why) = &self.library {
            LOGGED.call_once(|| tracing::info!("{why}"));
        }
    }

    /// Returns the project's backends that this device supports, fastest first, for manifests.
    pub fn own_implementations(&self) -> &'static str {
        match (self.own.have_wgmma(), self.own.have_tensor_cores()) {
            (true, _) => "wgmma, mma.sync, SIMT",
            (false, true) => "mma.sync, SIMT",
            (false, false) => "SIMT",
        }
    }

    /// Loads the modules for operands of `format`.
    pub fn prepare(&self, format: Format) -> Result<(), GpuError> {
        self.own.simt()?;
        self.own.prepare_tensor_cores(format)
    }

    /// Multiplies after all work issued before, and returns the implementation used. The epilogue's buffers have the type of C.
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
        let mut call = call_of(gemm.with_fewer_levels(), (a, b), c, epilogue, 1, options)?;
        self.tune_first(&call, options, || self.tune::<I, O>(&call.gemm, call.epilogue, options));
        self.launch(pass, &mut call, options)
    }

    /// Multiplies groups. `offsets` holds [`Gemm::batch`] + 1 offsets in device memory; offsets above the size are clamped.
    #[expect(clippy::too_many_arguments, reason = "those of `run`, and what divides it")]
    pub fn run_groups<I: Operand, O: Output<Sum = I::Sum>>(
        &self,
        pass: &mut Pass,
        gemm: &Gemm<I::Sum>,
        (split, offsets): (Split, &Slice<u32>),
        (a, b): (&Slice<I>, &Slice<I>),
        c: &mut Slice<O>,
        epilogue: Epilogue<&Slice<O>, &mut Slice<O>>,
        options: Options,
    ) -> Result<Backend, CudaGemmError> {
        gemm.check_groups(split, offsets.len(), (a.len(), b.len(), c.len()))?;
        let mut call = call_of(*gemm, (a, b), c, epilogue, gemm.batch, options)?;
        (call.split, call.offsets) = (Some(split), offsets.into());
        self.launch(pass, &mut call, options)
    }

    /// Multiplies 8-bit integers, with exact sums that are scaled: see [`Scales`].
    #[expect(clippy::too_many_arguments, reason = "those of `run`, and the scales")]
    pub fn run_scaled<O: Output<Sum = f32>>(
        &self,
        pass: &mut Pass,
        gemm: &Gemm<f32>,
        scales: Scales<&Slice<f32>>,
        (a, b): (&Slice<i8>, &Slice<i8>),
        c: &mut Slice<O>,
        epilogue: Epilogue<&Slice<O>, &mut Slice<O>>,
        options: Options,
    ) -> Result<Backend, CudaGemmError> {
        gemm.check(a.len(), b.len(), c.len())?;
        scales.check(gemm, |data| data.len())?;
        // Scales follow each other by matrix; they have no outer stride.
        let mut call = call_of(gemm.with_fewer_levels(), (a, b), c, epilogue, 1, options)?;
        call.is_scaled = true;
        call.scales = [scales.rows, scales.columns].map(|scales| scales.map_or(Any::NONE, Any::from));
        self.launch(pass, &mut call, options)
    }

    fn launch<S: Scale>(
        &self,
        pass: &mut Pass,
        call: &mut Call<'_, S>,
        options: Options,
    ) -> Result<Backend, CudaGemmError> {
        if call.gemm.m == 0 || call.gemm.n == 0 || call.matrices() == 0 {
            return Ok(options.backend.unwrap_or(Backend::Simt));
        }
        let mut refused = None;
        for by in self.candidates(call, options) {
            match self.run_by(pass, call, by) {
                Ok(()) => {
                    let g = &call.gemm;
                    let ops = g.ops();
                    pass.last_work(ops / 2 / g.k.max(1) as u64, call.least_bytes(), ops);
                    return Ok(by.backend());
                }
                Err(why @ CudaGemmError::Unable { .. }) => refused = Some(why),
                // Another implementation has other bits: the next one is used only for calls that the library refuses every time.
                Err(CudaGemmError::Library(why @ LibraryError::Call { .. })) => {
                    let doing = "multiplying with cuBLASLt".to_owned();
                    return Err(GpuError::Driver { doing, why: why.to_string() }.into());
                }
                Err(CudaGemmError::Library(why)) if !matches!(why, LibraryError::Gpu(_)) => {
                    refused = Some(why.into());
                }
                Err(why) => return Err(why),
            }
        }
        let backend = options.backend.unwrap_or(Backend::Simt);
        Err(refused.unwrap_or(CudaGemmError::Unable { backend, why: "no implementation was found" }))
    }

    /// Returns the implementations to try, in order.
    fn candidates<S: Scale>(&self, call: &Call<'_, S>, options: Options) -> Vec<Implementation> {
        let of = |backend| match backend {
            Backend::CublasLt => Implementation::CublasLt,
            Backend::Wgmma => Implementation::Wgmma,
            Backend::TensorCores => self.own.tile(call),
            Backend::Wmma => Implementation::Wmma,
            Backend::Simt => OwnKernels::without_tensor_cores(call),
        };
        let wanted = options.backend.map(of);
        if options.is_required {
            return wanted.into_iter().collect();
        }
        let wanted = wanted.or_else(|| self.tuning.choice(&call.key()));
        let is_exact = call.formats.0 == Format::F32 && !call.tf32;
        let tensor_cores = [self.own.fastest(call), self.own.tile(call)].into_iter().filter(|_| !is_exact);
        let own = tensor_cores.chain([OwnKernels::without_tensor_cores(call)]);
        wanted.into_iter().chain([Implementation::CublasLt]).chain(own).collect()
    }

    fn run_by<S: Scale>(
        &self,
        pass: &mut Pass,
        call: &mut Call<'_, S>,
        by: Implementation,
    ) -> Result<(), CudaGemmError> {
        if by == Implementation::CublasLt {
            let library = self.library.as_ref().map_err(Clone::clone)?;
            return Ok(library::run(library, pass, call)?);
        }
        call.make_row_major();
        self.own.run(pass, call, by)
    }
}

/// Checks the epilogue, with `biases` biases, and creates a call.
fn call_of<'a, I: Operand, S: Scale, O: Output<Sum = S>>(
    gemm: Gemm<S>,
    (a, b): (&'a Slice<I>, &'a Slice<I>),
    c: &'a mut Slice<O>,
    epilogue: Epilogue<&'a Slice<O>, &'a mut Slice<O>>,
    biases: usize,
    options: Options,
) -> Result<Call<'a, S>, CudaGemmError> {
    let kind = epilogue.kind();
    let parts = epilogue.parts();
    parts.check(&gemm, biases, |data| data.len(), |data| data.len())?;
    let Parts { bias, other, aux, .. } = parts;
    if gemm.m.max(gemm.n).max(gemm.k) > u32::MAX as usize / 4 {
        let backend = options.backend.unwrap_or(Backend::TensorCores);
        return Err(CudaGemmError::Unable { backend, why: "a side is longer than 2³⁰" });
    }
    Ok(Call {
        gemm,
        formats: (I::FORMAT, O::FORMAT),
        a: a.into(),
        b: b.into(),
        codes: None,
        c: c.into(),
        bias: bias.map_or(Any::NONE, Any::from),
        other: other.map_or(Any::NONE, Any::from),
        aux: aux.map_or(AnyMut::none(), AnyMut::from),
        epilogue: kind,
        split: None,
        offsets: Any::NONE,
        is_scaled: false,
        scales: [Any::NONE; 2],
        bias_by_row: false,
        tf32: options.tf32,
    })
}
