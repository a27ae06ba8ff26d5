//! A workspace arena: one allocation that temporaries share.
//!
//! Temporaries are taken from a [`Frame`] and released together when the frame is dropped; frames nest like calls. The same
//! sequence of calls returns the same addresses, so launches that use them can be captured into a graph. Kernels of one stream
//! run in order, so released memory can be reused at once.

use super::{Buf, Gpu, GpuError, Shape, Slice, ViewMut, layout::CudaType};
use std::{cell::Cell, sync::Arc};

/// Alignment of temporaries, bytes.
pub const ALIGN: u64 = 256;

/// Allocation state of an arena.
#[derive(Debug, Default)]
struct Positions {
    /// Offset of the first free byte.
    top: Cell<u64>,
    peak: Cell<u64>,
    /// Number of open frames.
    depth: Cell<u32>,
}

impl Positions {
    /// Takes the next `bytes` bytes, aligned to [`ALIGN`], and returns their offset; `None` if they do not fit into an arena of
    /// `all` bytes.
    fn take(&self, bytes: u64, all: u64) -> Option<u64> {
        let start = self.top.get();
        let end = start.checked_add(bytes)?.checked_next_multiple_of(ALIGN)?;
        if end > all {
            return None;
        }
        self.top.set(end);
        self.peak.set(self.peak.get().max(end));
        Some(start)
    }
}

/// Device memory for temporaries.
pub struct Arena {
    memory: Buf<u8>,
    positions: Positions,
}

impl Arena {
    /// Allocates an arena of `bytes` bytes, rounded up to [`ALIGN`]. Fails if device memory is full.
    pub fn new(gpu: &Arc<Gpu>, what: &'static str, bytes: usize) -> Result<Self, GpuError> {
        let bytes = bytes.checked_next_multiple_of(ALIGN as usize).unwrap_or(bytes);
        Ok(Self { memory: Buf::zeros(gpu, what, bytes)?, positions: Positions::default() })
    }

    /// Returns the arena bytes needed for temporaries given as (element count, element size) and taken from one frame.
    pub fn bytes_of(temporaries: &[(usize, usize)]) -> usize {
        temporaries.iter().map(|(n, size)| (n * size).next_multiple_of(ALIGN as usize)).sum()
    }

    /// Returns the size of the arena, bytes.
    pub fn bytes(&self) -> u64 {
        self.memory.bytes()
    }

    /// Returns the peak use so far, bytes.
    pub fn peak(&self) -> u64 {
        self.positions.peak.get()
    }

    /// Opens a frame; its temporaries are released when the frame is dropped.
    pub fn frame(&mut self) -> Frame<'_> {
        Frame::new(self)
    }
}

/// Scope whose temporaries are released together.
pub struct Frame<'a> {
    arena: &'a Arena,
    start: u64,
    depth: u32,
}

impl<'a> Frame<'a> {
    fn new(arena: &'a Arena) -> Self {
        let depth = arena.positions.depth.get() + 1;
        arena.positions.depth.set(depth);
        Self { arena, start: arena.positions.top.get(), depth }
    }

    /// Opens a nested frame, which must be dropped before `self` is used again.
    pub fn frame(&self) -> Frame<'_> {
        Frame::new(self.arena)
    }

    /// Takes an uninitialised temporary of shape `shape`. Fails if the arena is full or a nested frame is open.
    pub fn take<T: CudaType>(&self, what: &'static str, shape: impl Into<Shape>) -> Result<ViewMut<'_, T>, GpuError> {
        let (Arena { memory, positions }, shape) = (self.arena, shape.into());
        let len = shape.elements().unwrap_or(usize::MAX) as u64;
        let needed = len.saturating_mul(size_of::<T>() as u64);
        if self.depth != positions.depth.get() {
            let doing = format!("taking {what} from {}", memory.what);
            return Err(GpuError::Driver { doing, why: "a frame within this one is still open".to_owned() });
        }
        let free = memory.bytes() - positions.top.get();
        let full = || GpuError::ArenaFull { what, arena: memory.what, needed, free, total: memory.bytes() };
        let start = positions.take(needed, memory.bytes()).ok_or_else(full)?;
        Ok(ViewMut::of(Slice::at_address(&memory.gpu, what, memory.ptr + start, shape)))
    }

    /// Releases the temporaries of the frame. In debug builds, fills their memory with NaN, so that a use after release is
    /// noticed.
    fn release(&mut self) {
        let Positions { top, depth, .. } = &self.arena.positions;
        let memory = &self.arena.memory;
        if cfg!(debug_assertions) {
            let _ = memory.fill_bytes(self.start as usize..top.get() as usize, 0xff);
        }
        top.set(self.start);
        depth.set(self.depth - 1);
    }
}

impl Drop for Frame<'_> {
    fn drop(&mut self) {
        self.release();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_aligned_and_bounded() {
        let positions = Positions::default();
        assert_eq!(
            [1, 0, 256, 257].map(|bytes| positions.take(bytes, 1280)),
            [Some(0), Some(256), Some(256), Some(512)]
        );
        assert_eq!(
            (positions.top.get(), positions.take(257, 1280), positions.take(u64::MAX, 1280)),
            (1024, None, None)
        );
        assert_eq!(
            (positions.take(256, 1280), positions.take(1, 1280), positions.take(0, 1280)),
            (Some(1024), None, Some(1280))
        );
        positions.top.set(256);
        assert_eq!((positions.take(10, 1280), positions.peak.get()), (Some(256), 1280));
        assert_eq!(Arena::bytes_of(&[(3, 4), (0, 8), (100, 8)]), 256 + 1024);
    }
}
