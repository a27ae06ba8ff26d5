//! Own kernels: loaded when they are first used.

use super::{
    Backend, CudaGemmError, Format, Implementation, MmaKernels, Scale, SimtKernels, Tile, WmmaKernels,
    call::Call,
    kernels::{GemmLarge, GemmSimt, GemmSimtBytes, GemmSmall, GemmWmma},
};
use crate::gpu::{AnyMut, Buf, Gpu, GpuError, Pass};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Tiles of all groups that can be summed in pieces: each has the number of its pieces that are in C.
const TURNS: usize = 1 << 16;
/// Device memory of [`TURNS`], bytes.
pub(super) const TURNS_BYTES: u64 = 4 * TURNS as u64;

/// Modules of one device.
pub(super) struct OwnKernels {
    gpu: Arc<Gpu>,
    simt: OnceLock<SimtKernels>,
    mma: [OnceLock<MmaKernels>; 4],
    wmma: [OnceLock<WmmaKernels>; 2],
    turns: OnceLock<Mutex<Buf<u32>>>,
}

/// The value, made when it is first asked for.
fn loaded<T>(place: &OnceLock<T>, load: impl FnOnce() -> Result<T, GpuError>) -> Result<&T, GpuError> {
    match place.get() {
        Some(value) => Ok(value),
        None => load().map(|value| place.get_or_init(|| value)),
    }
}

impl OwnKernels {
    pub fn new(gpu: &Arc<Gpu>) -> Self {
        let (mma, wmma) = (Default::default(), Default::default());
        Self { gpu: gpu.clone(), simt: OnceLock::new(), mma, wmma, turns: OnceLock::new() }
    }

    /// Whether the device has the tensor cores that own kernels use.
    pub fn have_tensor_cores(&self) -> bool {
        self.gpu.capability >= 80
    }

    pub fn simt(&self) -> Result<&SimtKernels, GpuError> {
        loaded(&self.simt, || SimtKernels::load(&self.gpu))
    }

    pub fn mma(&self, format: Format) -> Result<&MmaKernels, GpuError> {
        let spec = match format {
            Format::F32 => MmaKernels::TF32,
            Format::F16 => MmaKernels::F16,
            Format::Bf16 => MmaKernels::SPEC,
            Format::S8 => MmaKernels::S8,
        };
        loaded(&self.mma[format as usize], || MmaKernels::load_as(&self.gpu, &spec))
    }

    fn wmma(&self, format: Format) -> Result<&WmmaKernels, GpuError> {
        let (index, spec) = if format == Format::F16 { (1, WmmaKernels::F16) } else { (0, WmmaKernels::SPEC) };
        loaded(&self.wmma[index], || WmmaKernels::load_as(&self.gpu, &spec))
    }

    /// Memory for the turns of pieces, all 0 between launches.
    fn turns(&self) -> Result<&Mutex<Buf<u32>>, GpuError> {
        loaded(&self.turns, || Buf::zeros(&self.gpu, "turns of pieces of sums", TURNS).map(Mutex::new))
    }

    /// The kernel with mma.sync that is expected to be faster.
    pub fn tile<S: Scale>(&self, call: &Call<'_, S>) -> Implementation {
        let (args, gpu) = (call.args(), &self.gpu);
        let tile = match call.split {
            None => Tile::choose(&args, call.matrices(), gpu.multiprocessors, gpu.shared_per_block),
            Some(_) => Tile::SMALL,
        };
        if tile == Tile::LARGE { Implementation::LargeTiles } else { Implementation::SmallTiles }
    }

    /// Multiplies into a row-major C.
    pub fn run<S: Scale>(
        &self,
        pass: &mut Pass,
        call: &mut Call<'_, S>,
        by: Implementation,
    ) -> Result<(), CudaGemmError> {
        let mut g = call.args();
        let unable = |why| Err(CudaGemmError::Unable { backend: by.backend(), why });
        if by.backend() != Backend::Simt && !self.have_tensor_cores() {
            return unable("tensor cores of compute capability 8.0 are needed");
        }
        let format = call.formats.0;
        let row_bytes = call.gemm.a.ld.max(call.gemm.b.ld).saturating_mul(format.bytes());
        let tile = match by {
            Implementation::Simt if row_bytes >= 1 << 28 => return unable("a row is longer than 256 MiB"),
            Implementation::Simt => Tile::SIMT,
            Implementation::Wmma if matches!(format, Format::F32 | Format::S8) => {
                return unable("its operands are f16 or bf16");
            }
            Implementation::Wmma | Implementation::LargeTiles if call.split.is_some() => {
                return unable("it has no groups of unknown sizes");
            }
            Implementation::Wmma => Tile::WMMA,
            Implementation::LargeTiles if g.aligned == 0 || self.gpu.shared_per_block < Tile::LARGE.shared_bytes => {
                return unable("large tiles need rows at multiples of 16 bytes and 144 KiB of shared memory");
            }
            Implementation::LargeTiles => Tile::LARGE,
            Implementation::SmallTiles => Tile::SMALL,
            Implementation::CublasLt => return unable("it is no own kernel"),
        };
        g.piece = if call.adds_pieces() { tile.piece(&g, self.gpu.multiprocessors, TURNS) } else { 0 };
        let grid = match call.split {
            None => tile.grid(&g, call.matrices())?,
            Some(split) => tile.grid_of_groups(&g, split)?,
        };
        let mut all_turns = match g.piece {
            0 => None,
            _ => Some(self.turns()?.lock().unwrap_or_else(PoisonError::into_inner)),
        };
        let turns = all_turns.as_mut().map_or(AnyMut::none(), |turns| AnyMut::from(&mut ***turns));
        let Call { a, b, bias, other, offsets, scales: [row_scales, column_scales], .. } = *call;
        let (c, aux) = (call.c.reborrow(), call.aux.reborrow());
        match by {
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
            Implementation::SmallTiles | Implementation::CublasLt => {
                let args = GemmSmall { g, a, b, c, bias, other, aux, row_scales, column_scales, offsets, turns };
                args.launch(self.mma(format)?, pass, grid)?;
            }
        }
        Ok(())
    }
}
