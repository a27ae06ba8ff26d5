//! Launches of fitness shaping: from the losses of the members to the weights of the pairs, without the host.

use super::{
    kernels::{MeasureFitness, RankPairs, ShapingKernels, WeighPairs},
    memory::State,
};
use crate::{
    gpu::{GpuError, Grid, Pass},
    kinds::evolution::strategy::Settings,
};

/// Threads per block, as in `shaping.cu`.
const TILE: u32 = 256;

/// Weights of `pairs` pairs from their losses, with the bits of [`Settings::pair_weights`]. Fails if the device fails.
pub fn shape(
    kernels: &ShapingKernels,
    pass: &mut Pass,
    (settings, pairs): (&Settings, usize),
    state: &mut State,
) -> Result<(), GpuError> {
    let State { losses, shaped, mean_deviation, pair_weights, .. } = state;
    let (pairs, shaping) = (pairs as u32, settings.shaping as u32);
    let blocks = |blocks: u32| Grid::Blocks { blocks: [blocks, 1, 1], threads: [TILE, 1, 1], shared_bytes: 0 };
    RankPairs { pairs, shaping, losses, shaped }.launch(kernels, pass, blocks(pairs.div_ceil(TILE)))?;
    MeasureFitness { pairs, shaped, mean_deviation }.launch(kernels, pass, blocks(1))?;
    WeighPairs { pairs, shaping, clip: settings.clip, shaped, mean_deviation, pair_weights }.launch(
        kernels,
        pass,
        Grid::Threads(pairs),
    )
}
