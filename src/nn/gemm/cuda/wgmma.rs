//! Launches the wgmma kernel, with TMA descriptors of its operands and a persistent grid.

use super::{CudaGemmError, Format, GemmArgs, GemmError, Scale, Split, Tile, call::Call, kernels::GemmWgmma};
use crate::{
    gpu::{AnyMut, Boxes, BoxesOf, Grid},
    nn::gemm::{Layout, Order},
};

/// Elements of k per TMA box; also elements of the other dimension, if those are adjacent.
const BOX: u32 = 64;
/// Rows of C per TMA box.
const BOX_ROWS: u32 = 16;
/// Turn counters per tile: a warp waits for the same warp of the previous split.
const TURNS_OF_TILE: usize = 8;

/// Returns the reason why the kernel cannot compute this call on a device that supports wgmma; `None` if it can.
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

/// Returns k per split, so that few tiles fill the device; 0 for no split.
pub(super) fn piece<S: Scale>(call: &Call<'_, S>, multiprocessors: u32, most: usize) -> u32 {
    if call.split.is_some() || !call.keeps_sums() {
        return 0;
    }
    let g = call.args();
    let tiles = Tile::WGMMA.blocks(&g, call.matrices());
    if tiles.saturating_mul(TURNS_OF_TILE as u64) > most as u64 { 0 } else { piece_of(&g, tiles, multiprocessors) }
}

/// Whether wgmma is expected to be faster than a kernel with tile `other`. The rule depends only on sizes and device, because
/// measured times would differ from run to run.
pub(super) fn is_faster<S: Scale>(call: &Call<'_, S>, other: Tile, multiprocessors: u32, most: usize) -> bool {
    let g = GemmArgs { piece: piece(call, multiprocessors, most), ..call.args() };
    is_expected_faster(&g, (call.split, call.matrices()), other, multiprocessors)
}

fn is_expected_faster(g: &GemmArgs, of: (Option<Split>, usize), other: Tile, multiprocessors: u32) -> bool {
    let blocks = |tile: Tile| match of {
        (None, matrices) => tile.blocks(g, matrices),
        (Some(split), _) => tile.blocks_of_groups(g, split),
    };
    let pieces = u64::from(pieces_of(g));
    let own = Tile::WGMMA.expected(blocks(Tile::WGMMA).saturating_mul(pieces), multiprocessors) / pieces as f64;
    own <= other.expected(blocks(other), multiprocessors)
}

/// Returns k per split that minimises the estimated time: the load of the busiest SM, plus the time for which the last split of
/// a tile waits for the other splits. Writing sums counts as `WRITING` elements of k. 0 means no split.
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

/// Returns the number of splits of each sum.
fn pieces_of(g: &GemmArgs) -> u32 {
    if g.piece == 0 { 1 } else { g.k.div_ceil(g.piece) }
}

/// Returns the arguments and grid of a call with a row-major C for which there is no [`refusal`].
pub(super) fn launch<'c, S: Scale>(
    call: &'c mut Call<'_, S>,
    multiprocessors: u32,
    (piece, turns): (u32, AnyMut<'c>),
) -> Result<(GemmWgmma<'c>, Grid), CudaGemmError> {
    let (tile, m) = (Tile::WGMMA, call.gemm);
    let has_quads = call.has_neighbours(8) && !call.bias_by_row;
    let g = GemmArgs { piece, quads: has_quads.into(), ..call.args() };
    let items = match call.split {
        None => tile.blocks(&g, call.matrices()).saturating_mul(u64::from(pieces_of(&g))),
        Some(split) => tile.blocks_of_groups(&g, split),
    };
    let items = i32::try_from(items).map_err(|_| GemmError::TooLarge)?.unsigned_abs();
    // The stride is irrelevant for a single matrix.
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
    // Groups of rows are parts of one matrix.
    let (batch, outer) = if call.split.is_some() { (1, 1) } else { (m.batch, m.outer) };
    let of_c = Boxes {
        is_bf16: call.formats.1 == Format::Bf16,
        sizes: [m.n, m.m, batch, outer],
        strides: [m.c.ld, step(batch, m.c.stride), step(outer, m.c.outer)],
        copied: [BOX, BOX_ROWS],
    };
    // This condition must equal `is_by_boxes` in gemm_boxes.cuh.
    let can_write = has_quads && call.formats.0 == call.formats.1;
    let boxes = if can_write { BoxesOf::of_written(&call.c, &of_c)? } else { BoxesOf::NONE };
    let blocks = [items.min(multiprocessors), 1, 1];
    let grid = Grid::Blocks { blocks, threads: [tile.threads, 1, 1], shared_bytes: tile.shared_bytes };
    let (bias, other, offsets) = (call.bias, call.other, call.offsets);
    let (c, aux) = (call.c.reborrow(), call.aux.reborrow());
    Ok((GemmWgmma { g, items, a, b, boxes, c, bias, other, aux, offsets, turns }, grid))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// m, n, k, batch and groups of rows of bf16, with the times in µs on an H200 of mma.sync with small tiles and of wgmma. If
    /// one is faster by a tenth, the rule must choose it.
    #[test]
    fn what_is_expected_to_be_faster_was_faster() {
        const MEASURED: [(u32, u32, u32, u32, bool, f64, f64); 23] = [
            (64, 64, 64, 96, false, 4.7, 5.6),
            (128, 256, 1024, 1, false, 8.4, 15.5),
            (512, 512, 512, 1, false, 6.5, 11.4),
            (1024, 1024, 64, 1, false, 5.3, 7.5),
            (1024, 1024, 64, 96, false, 245.2, 101.0),
            (1024, 64, 1024, 96, false, 67.3, 108.2),
            (1024, 1024, 1024, 1, false, 11.7, 16.3),
            (4096, 384, 384, 1, false, 9.1, 11.2),
            (4096, 1536, 384, 1, false, 29.5, 20.4),
            (4096, 384, 1536, 1, false, 19.9, 21.5),
            (16384, 384, 384, 1, false, 29.6, 19.9),
            (8192, 65, 384, 1, false, 11.6, 19.2),
            (16384, 128, 64, 1, false, 9.2, 7.2),
            (64, 50304, 768, 1, false, 29.1, 32.7),
            (64, 4096, 4096, 1, false, 20.7, 42.5),
            (1024, 1024, 128, 8, false, 26.5, 13.5),
            (4096, 1024, 256, 4, true, 19.0, 10.6),
            (16384, 512, 256, 64, true, 38.9, 17.5),
            (32768, 256, 512, 64, true, 51.6, 27.3),
            (4096, 512, 256, 64, true, 13.2, 10.9),
            (32768, 3072, 768, 16, true, 612.6, 286.6),
            (2048, 1024, 256, 64, true, 22.5, 15.9),
            (16384, 256, 64, 128, true, 18.6, 10.2),
        ];
        for (m, n, k, batch, is_groups, small, own) in MEASURED {
            let g = GemmArgs { m, n, k, batch, ..GemmArgs::default() };
            let of = (is_groups.then_some(Split::Rows), batch as usize);
            let is_chosen = is_expected_faster(&g, of, Tile::SMALL, 132);
            let (fast, slow) = if is_chosen { (own, small) } else { (small, own) };
            assert!(fast < 1.1 * slow, "{m} x {n} x {k}, {batch}: {is_chosen}");
        }
    }

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
