//! What the kernel by wgmma takes: its operands as tensors that are copied box by box, and a grid that fills the device once.

use super::{CudaGemmError, Format, GemmArgs, GemmError, Scale, Split, Tile, call::Call, kernels::GemmWgmma};
use crate::{
    gpu::{AnyMut, Boxes, BoxesOf, Grid},
    nn::gemm::{Layout, Order},
};

/// k that are copied at once, and other elements where these are adjacent.
const BOX: u32 = 64;
/// Numbers of turns of a tile: a warp waits for the same warp of the piece before.
const TURNS_OF_TILE: usize = 8;

/// Why it cannot multiply this, on a device that has it.
pub(super) fn refusal<S: Scale>(call: &Call<'_, S>) -> Option<&'static str> {
    if matches!(call.formats.0, Format::F32 | Format::S8) {
        Some("its operands are f16 or bf16")
    } else if !call.is_aligned() {
        Some("its rows begin at multiples of 16 bytes")
    } else if call.split == Some(Split::Depth) {
        Some("its groups have rows")
    } else if call.gemm.k == 0 {
        Some("its sums have addends")
    } else {
        None
    }
}

/// k of the pieces that sums are added up in, so that few tiles fill the device; 0: whole sums.
pub(super) fn piece<S: Scale>(call: &Call<'_, S>, multiprocessors: u32, most: usize) -> u32 {
    if call.split.is_some() || !call.keeps_sums() {
        return 0;
    }
    let g = call.args();
    let tiles = Tile::WGMMA.blocks(&g, call.matrices());
    if tiles.saturating_mul(TURNS_OF_TILE as u64) > most as u64 { 0 } else { piece_of(&g, tiles, multiprocessors) }
}

/// The number of pieces for which the busiest multiprocessor has the least to do and the last piece of a tile waits least for the
/// others, with the writing of sums as so many k.
fn piece_of(g: &GemmArgs, tiles: u64, multiprocessors: u32) -> u32 {
    const WRITING: u64 = 192;
    let cost = |pieces: u64| {
        let most = (tiles * pieces).div_ceil(u64::from(multiprocessors.max(1)));
        most * (u64::from(g.k).div_ceil(pieces) + WRITING) + pieces * WRITING
    };
    match (1..=32).min_by_key(|pieces| cost(*pieces)) {
        None | Some(1) => 0,
        Some(pieces) => g.k.div_ceil(pieces as u32).next_multiple_of(BOX),
    }
}

/// Pieces of each sum.
fn pieces_of(g: &GemmArgs) -> u32 {
    if g.piece == 0 { 1 } else { g.k.div_ceil(g.piece) }
}

/// Arguments and grid of a call with a row-major C that is not [refused](refusal).
pub(super) fn launch<'c, S: Scale>(
    call: &'c mut Call<'_, S>,
    multiprocessors: u32,
    (piece, turns): (u32, AnyMut<'c>),
) -> Result<(GemmWgmma<'c>, Grid), CudaGemmError> {
    let (tile, m) = (Tile::WGMMA, call.gemm);
    let quads = (call.has_neighbours(8) && !call.bias_by_row).into();
    let g = GemmArgs { piece, quads, ..call.args() };
    let items = match call.split {
        None => tile.blocks(&g, call.matrices()).saturating_mul(u64::from(pieces_of(&g))),
        Some(split) => tile.blocks_of_groups(&g, split),
    };
    let items = i32::try_from(items).map_err(|_| GemmError::TooLarge)?.unsigned_abs();
    // Of one matrix it may be anything.
    let step = |matrices: usize, stride: usize| if matrices == 1 { 0 } else { stride };
    let boxes = |layout: &Layout, (lines, by_k): (usize, Order), rows: u32| {
        let is_by_k = layout.order == by_k;
        let (adjacent, across) = if is_by_k { (m.k, lines) } else { (lines, m.k) };
        Boxes {
            is_bf16: call.formats.0 == Format::Bf16,
            sizes: [adjacent, across, m.batch, m.outer],
            strides: [layout.ld, step(m.batch, layout.stride), step(m.outer, layout.outer)],
            copied: [BOX, if is_by_k { rows } else { BOX }],
        }
    };
    let a = BoxesOf::new(call.a, &boxes(&m.a, (m.m, Order::RowMajor), tile.rows))?;
    let b = BoxesOf::new(call.b, &boxes(&m.b, (m.n, Order::ColMajor), tile.columns))?;
    let blocks = [items.min(multiprocessors), 1, 1];
    let grid = Grid::Blocks { blocks, threads: [tile.threads, 1, 1], shared_bytes: tile.shared_bytes };
    let (bias, other, offsets) = (call.bias, call.other, call.offsets);
    let (c, aux) = (call.c.reborrow(), call.aux.reborrow());
    Ok((GemmWgmma { g, items, a, b, c, bias, other, aux, offsets, turns }, grid))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_tiles_of_long_sums_are_added_up_in_pieces() {
        let of = |tiles: u64, k: u32| {
            let g = GemmArgs { k, ..GemmArgs::default() };
            let piece = piece_of(&g, tiles, 132);
            assert_eq!(piece % BOX, 0);
            pieces_of(&GemmArgs { piece, ..g })
        };
        assert_eq!(of(132, 4096), 1, "one tile each");
        assert_eq!(of(8 * 132, 65536), 1, "as many tiles each");
        assert_eq!(of(24, 256), 1, "short sums");
        assert_eq!(of(24, 65536), 5, "120 pieces");
    }
}
