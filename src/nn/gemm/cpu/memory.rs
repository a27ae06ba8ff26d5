//! Thread-local buffers for packed operands. They are kept between multiplications, because mapping and zeroing new pages takes
//! a considerable part of the time of a small multiplication.

use bytemuck::Pod;
use std::{cell::RefCell, marker::PhantomData};

/// One cache line, and one vector of AVX-512.
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C, align(64))]
struct Line([u64; 8]);

/// Maximum number of buffers that a thread keeps.
const KEPT: usize = 3;
/// Size of the largest buffer that is kept, bytes.
const LARGEST: usize = 32 << 20;

thread_local! {
    static PIECES: RefCell<Vec<Vec<Line>>> = const { RefCell::new(vec![]) };
}

/// Buffer aligned to 64 bytes, with values from earlier uses.
pub struct Piece<T> {
    lines: Vec<Line>,
    len: usize,
    element: PhantomData<T>,
}

impl<T: Pod> Piece<T> {
    /// Takes the smallest kept buffer that suffices, or else enlarges the largest one.
    pub fn take(len: usize) -> Self {
        let needed = (len * size_of::<T>()).div_ceil(size_of::<Line>());
        let mut lines = PIECES.with_borrow_mut(|pieces| {
            let fits = (0..pieces.len()).filter(|i| pieces[*i].len() >= needed).min_by_key(|i| pieces[*i].len());
            let best = fits.or_else(|| (0..pieces.len()).max_by_key(|i| pieces[*i].len()));
            best.map(|i| pieces.swap_remove(i)).unwrap_or_default()
        });
        if lines.len() < needed {
            // Old values are not needed, so they are not copied.
            lines = vec![];
            lines.resize(needed, Line([0; 8]));
        }
        Self { lines, len, element: PhantomData }
    }

    /// Returns all elements of the buffer.
    pub fn all(&self) -> &[T] {
        &bytemuck::cast_slice(&self.lines)[..self.len]
    }

    /// Returns all elements of the buffer, mutable.
    pub fn all_mut(&mut self) -> &mut [T] {
        &mut bytemuck::cast_slice_mut(&mut self.lines)[..self.len]
    }
}

impl<T> Drop for Piece<T> {
    fn drop(&mut self) {
        let lines = std::mem::take(&mut self.lines);
        if lines.len() * size_of::<Line>() <= LARGEST {
            // While a thread exits, its thread-local storage may be gone.
            let _ = PIECES.try_with(|pieces| {
                let mut pieces = pieces.borrow_mut();
                if pieces.len() < KEPT {
                    pieces.push(lines);
                }
            });
        }
    }
}
