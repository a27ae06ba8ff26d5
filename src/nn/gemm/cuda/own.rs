//! The project's kernels, loaded at their first use.

use super::{
    Backend, CudaGemmError, Format, Implementation, MmaKernels, PackedKernels, Scale, SimtKernels, Tile, WgmmaKernels,
    WmmaKernels,
    call::Call,
    kernels::{
        GemmDp4a, GemmLarge, GemmPackedDp4a, GemmPackedLarge, GemmPackedSmall, GemmSimt, GemmSimtBytes, GemmSmall,
        GemmWmma,
    },
    modules, wgmma,
};
use crate::{
    gpu::{AnyMut, Buf, Gpu, GpuError, Pass},
    nn::gemm::Codes,
};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// Maximum number of tiles in all groups for split-K. Each has a turn counter: the number of its splits added to C.
const TURNS: usize = 1 << 16;
/// Device memory of the [`TURNS`] counters, bytes.
pub(super) const TURNS_BYTES: u64 = 4 * TURNS as u64;

/// Kernel modules of one device, and the turn counters.
pub(super) struct OwnKernels {
    gpu: Arc<Gpu>,
    simt: OnceLock<SimtKernels>,
    mma: [OnceLock<MmaKernels>; 4],
    wmma: [OnceLock<WmmaKernels>; 2],
    wgmma: [OnceLock<WgmmaKernels>; 2],
    packed: [OnceLock<PackedKernels>; 3],
    turns: OnceLock<Mutex<Buf<u32>>>,
}

/// Returns the value, loading it at the first call.
fn loaded<T>(place: &OnceLock<T>, load: impl FnOnce() -> Result<T, GpuError>) -> Result<&T, GpuError> {
    match place.get() {
        Some(value) => Ok(value),
        None => load().map(|value| place.get_or_init(|| value)),
    }
}

impl OwnKernels {
    pub fn new(gpu: &Arc<Gpu>) -> Self {
        let (mma, wmma, wgmma, packed) = Default::default();
        Self { gpu: gpu.clone(), simt: OnceLock::new(), mma, wmma, wgmma, packed, turns: OnceLock::new() }
    }

    /// Whether the device supports the tensor-core instructions of these kernels.
    pub fn have_tensor_cores(&self) -> bool {
        self.gpu.capability >= 80
    }

    /// Whether the device supports wgmma, which only compute capability 9.0 does.
    pub fn have_wgmma(&self) -> bool {
        self.gpu.capability == 90
    }

    /// Loads the tensor-core modules for operands of `format`.
    pub fn prepare_tensor_cores(&self, format: Format) -> Result<(), GpuError> {
        if self.have_tensor_cores() {
            self.mma(format)?;
        }
        if self.have_wgmma() && matches!(format, Format::F16 | Format::Bf16) {
            self.wgmma(format)?;
        }
        Ok(())
    }

    pub fn simt(&self) -> Result<&SimtKernels, GpuError> {
        loaded(&self.simt, || SimtKernels::load(&self.gpu))
    }

    pub fn mma(&self, format: Format) -> Result<&MmaKernels, GpuError> {
        loaded(&self.mma[format as usize], || MmaKernels::load_as(&self.gpu, &modules::mma(format)))
    }

    fn wmma(&self, format: Format) -> Result<&WmmaKernels, GpuError> {
        let index = usize::from(format == Format::F16);
        loaded(&self.wmma[index], || WmmaKernels::load_as(&self.gpu, &modules::wmma(format)))
    }

    fn wgmma(&self, format: Format) -> Result<&WgmmaKernels, GpuError> {
        let index = usize::from(format == Format::F16);
        loaded(&self.wgmma[index], || WgmmaKernels::load_as(&self.gpu, &modules::wgmma(format)))
    }

    fn packed(&self, codes: Codes) -> Result<&PackedKernels, GpuError> {
        let index = Codes::ALL.iter().position(|known| *known == codes).unwrap_or(0);
        loaded(&self.packed[index], || PackedKernels::load_as(&self.gpu, &modules::packed(codes)))
    }

    /// Allocates the turn counters.
    pub fn reserve(&self) -> Result<(), GpuError> {
        self.turns().map(drop)
    }

    /// Returns the allocated device memory, bytes.
    pub fn bytes(&self) -> u64 {
        if self.turns.get().is_some() { TURNS_BYTES } else { 0 }
    }

    /// Locks the turn counters; `None` without split-K. All counters are 0 between launches.
    fn turns_of(&self, piece: u32) -> Result<Option<MutexGuard<'_, Buf<u32>>>, GpuError> {
        if piece == 0 {
            return Ok(None);
        }
        Ok(Some(self.turns()?.lock().unwrap_or_else(PoisonError::into_inner)))
    }

    fn turns(&self) -> Result<&Mutex<Buf<u32>>, GpuError> {
        loaded(&self.turns, || Buf::zeros(&self.gpu, "turns of pieces of sums", TURNS).map(Mutex::new))
    }

    /// Returns the tensor-core kernel that is expected to be fastest.
    pub fn fastest<S: Scale>(&self, call: &Call<'_, S>) -> Implementation {
        let by_mma = self.tile(call);
        let tile = if by_mma == Implementation::LargeTiles { Tile::LARGE } else { Tile::SMALL };
        let can = self.have_wgmma() && wgmma::refusal(call).is_none();
        let is_faster = || wgmma::is_faster(call, tile, self.gpu.multiprocessors, TURNS);
        if can && is_faster() { Implementation::Wgmma } else { by_mma }
    }

    /// Returns the mma.sync kernel that is expected to be faster.
    pub fn tile<S: Scale>(&self, call: &Call<'_, S>) -> Implementation {
        let (args, gpu) = (call.args(), &self.gpu);
        let tile = match call.split {
            None => Tile::choose(&args, call.matrices(), gpu.multiprocessors, gpu.shared_per_block),
            Some(_) => Tile::SMALL,
        };
        match (call.codes.is_some(), tile == Tile::LARGE) {
            (false, true) => Implementation::LargeTiles,
            (false, false) => Implementation::SmallTiles,
            (true, true) => Implementation::PackedLarge,
            (true, false) => Implementation::PackedSmall,
        }
    }

    /// Returns the faster kernel without tensor cores that can compute a call.
    pub fn without_tensor_cores<S: Scale>(call: &Call<'_, S>) -> Implementation {
        match call.codes {
            Some(_) => Implementation::PackedDp4a,
            None if Self::can_dp4a(call) => Implementation::Dp4a,
            None => Implementation::Simt,
        }
    }

    /// Whether dot products of four bytes suffice: aligned rows of bytes with adjacent k, and no groups.
    fn can_dp4a<S: Scale>(call: &Call<'_, S>) -> bool {
        call.formats.0 == Format::S8 && call.split.is_none() && call.is_aligned()
    }

    /// Multiplies into a row-major C. Fails if `by` does not support the call.
    pub fn run<S: Scale>(
        &self,
        pass: &mut Pass,
        call: &mut Call<'_, S>,
        by: Implementation,
    ) -> Result<(), CudaGemmError> {
        let unable = |why| Err(CudaGemmError::Unable { backend: by.backend(), why });
        match (by.is_packed(), call.codes) {
            (false, Some(_)) => return unable("B is packed"),
            (true, None) => return unable("B is not packed"),
            _ => {}
        }
        if by == Implementation::Wgmma {
            return self.run_wgmma(pass, call);
        }
        let mut g = call.args();
        if by.backend() != Backend::Simt && !self.have_tensor_cores() {
            return unable("tensor cores of compute capability 8.0 are needed");
        }
        let format = call.formats.0;
        let row_bytes = call.gemm.a.ld.max(call.gemm.b.ld).saturating_mul(format.bytes());
        let tile = match by {
            Implementation::Simt if row_bytes >= 1 << 28 => return unable("a row is longer than 256 MiB"),
            Implementation::Dp4a if !Self::can_dp4a(call) => {
                return unable("dp4a needs aligned rows of bytes with adjacent k, and no groups");
            }
            Implementation::Simt | Implementation::Dp4a | Implementation::PackedDp4a => Tile::SIMT,
            Implementation::Wmma if matches!(format, Format::F32 | Format::S8) => {
                return unable("its operands are f16 or bf16");
            }
            Implementation::Wmma | Implementation::LargeTiles if call.split.is_some() => {
                return unable("it has no groups of unknown sizes");
            }
            Implementation::Wmma => Tile::WMMA,
            Implementation::LargeTiles | Implementation::PackedLarge
                if g.aligned == 0 || self.gpu.shared_per_block < Tile::LARGE.shared_bytes =>
            {
                return unable("large tiles need rows at multiples of 16 bytes and 144 KiB of shared memory");
            }
            Implementation::LargeTiles | Implementation::PackedLarge => Tile::LARGE,
            Implementation::SmallTiles | Implementation::PackedSmall => Tile::SMALL,
            Implementation::CublasLt | Implementation::Wgmma => return unable("it has no blocks of one tile"),
        };
        g.piece = if call.adds_pieces() { tile.piece(&g, self.gpu.multiprocessors, TURNS) } else { 0 };
        let grid = match call.split {
            None => tile.grid(&g, call.matrices())?,
            Some(split) => tile.grid_of_groups(&g, split)?,
        };
        let mut turns = self.turns_of(g.piece)?;
        let turns = turns.as_mut().map_or(AnyMut::none(), |turns| AnyMut::from(&mut ***turns));
        let Call { a, b, bias, other, offsets, scales: [row_scales, column_scales], .. } = *call;
        let (c, aux) = (call.c.reborrow(), call.aux.reborrow());
        if let Some(codes) = call.codes {
            let kernels = self.packed(codes)?;
            match by {
                Implementation::PackedLarge => {
                    GemmPackedLarge { g, a, b, c, bias, other, aux }.launch(kernels, pass, grid)?;
                }
                Implementation::PackedSmall => {
                    GemmPackedSmall { g, a, b, c, bias, other, aux }.launch(kernels, pass, grid)?;
                }
                _ => GemmPackedDp4a { g, a, b, c, bias, other, aux }.launch(kernels, pass, grid)?,
            }
            return Ok(());
        }
        match by {
            Implementation::Dp4a => {
                let args = GemmDp4a { g, a, b, c, bias, other, aux, row_scales, column_scales };
                args.launch(self.simt()?, pass, grid)?;
            }
            Implementation::Simt if format == Format::S8 => {
                let args = GemmSimtBytes { g, a, b, c, bias, other, aux, row_scales, column_scales, offsets };
                args.launch(self.simt()?, pass, grid)?;
            }
            Implementation::Simt => {
                let args = GemmSimt { g, a, b, c, bias, other, aux, row_scales, column_scales, offsets, turns };
                args.launch(self.simt()?, pass, grid)?;
            }
            Implementation::Wmma => {
                GemmWmma { g, a, b, c, bias, other, aux }.launch(self.wmma(format)?, pass, grid)?;
            }
            Implementation::LargeTiles => {
                let args = GemmLarge { g, a, b, c, bias, other, aux, row_scales, column_scales };
                args.launch(self.mma(format)?, pass, grid)?;
            }
            _ => {
                let args = GemmSmall { g, a, b, c, bias, other, aux, row_scales, column_scales, offsets, turns };
                args.launch(self.mma(format)?, pass, grid)?;
            }
        }
        Ok(())
    }

    fn run_wgmma<S: Scale>(&self, pass: &mut Pass, call: &mut Call<'_, S>) -> Result<(), CudaGemmError> {
        let refused = if self.have_wgmma() { wgmma::refusal(call) } else { Some("compute capability 9.0 is needed") };
        if let Some(why) = refused {
            return Err(CudaGemmError::Unable { backend: Backend::Wgmma, why });
        }
        let kernels = self.wgmma(call.formats.0)?;
        let piece = wgmma::piece(call, self.gpu.multiprocessors, TURNS);
        let mut turns = self.turns_of(piece)?;
        let turns = turns.as_mut().map_or(AnyMut::none(), |turns| AnyMut::from(&mut ***turns));
        let (args, grid) = wgmma::launch(call, self.gpu.multiprocessors, (piece, turns))?;
        Ok(args.launch(kernels, pass, grid)?)
    }
}
