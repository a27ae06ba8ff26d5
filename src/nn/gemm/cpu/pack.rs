//! Packs operands in the order in which a microkernel reads them: lines (rows of A, columns of B) in strips, with the elements
//! of one k adjacent, and widened.

use super::{Element, Isa, Sum, micro::prefetch};
use crate::num::elements::{Bf16, F16};

/// Number of rows of B, or columns of A, by which packing prefetches, because they are too short for the hardware prefetcher.
const ROWS_AHEAD: usize = 4;

/// Lines of an operand: rows of A or columns of B.
#[derive(Clone, Copy)]
pub struct Lines<'a, E> {
    /// Elements from the matrix's first one on.
    pub from: &'a [E],
    /// Elements from one line to the next.
    pub line: usize,
    /// Elements from one k to the next.
    pub k: usize,
}

/// Ranges to pack, each as first index and count.
#[derive(Clone, Copy)]
pub struct Range {
    /// Range of lines.
    pub lines: (usize, usize),
    /// Range of k.
    pub k: (usize, usize),
}

impl<E: Element> Lines<'_, E> {
    /// Packs consecutive strips of `width` lines; if `is_padded`, missing lines of the last strip are zeros.
    pub fn pack(&self, isa: Isa, out: &mut [E::Sum], width: usize, is_padded: bool, range: Range) {
        let ((first, count), (k, depth)) = (range.lines, range.k);
        let pitch = |lines: usize| if is_padded { width } else { lines };
        let strip = depth.div_ceil(E::PER_PACKED) * width;
        if is_padded && !count.is_multiple_of(width) {
            out[count / width * strip..][..strip].fill(E::Sum::ZERO);
        }
        if self.line == 1 {
            // Covers all strips per k, because the lines of the next k are far away in memory.
            for p in (0..depth).step_by(E::PER_PACKED) {
                let row = |p: usize| &self.from[first + (k + p) * self.k..][..count];
                let second = if E::PER_PACKED == 2 && p + 1 < depth { row(p + 1) } else { &[] };
                prefetch(row(p).as_ptr().wrapping_add(ROWS_AHEAD * self.k), 0, 1, count);
                for (s, source) in row(p).chunks(width).enumerate() {
                    let lines = source.len();
                    let out = &mut out[s * strip + p / E::PER_PACKED * pitch(lines)..][..lines];
                    pack_row(out, source, second.get(s * width..).unwrap_or_default());
                }
            }
            return;
        }
        for from in (0..count).step_by(width) {
            let lines = width.min(count - from);
            let out = &mut out[from / width * strip..];
            self.pack_strip(isa, out, pitch(lines), Range { lines: (first + from, lines), ..range });
        }
    }

    /// Packs one strip of an operand with adjacent k.
    fn pack_strip(
        &self,
        isa: Isa,
        out: &mut [E::Sum],
        pitch: usize,
        Range { lines: (first, count), k: (k, depth) }: Range,
    ) {
        let start = first * self.line + k * self.k;
        // Number of k that are packed for all lines.
        let mut done = 0;
        if self.k == 1 && count >= 8 && depth > 0 {
            assert!(self.from.len() >= start + (count - 1) * self.line + depth);
            assert!(out.len() >= (depth.div_ceil(E::PER_PACKED) - 1) * pitch + count);
            // The last eight lines may overlap those before them.
            for line in (0..count).step_by(8).map(|line| line.min(count - 8)) {
                let (from, to) = (self.from[start + line * self.line..].as_ptr(), out[line..].as_mut_ptr());
                // SAFETY: the assertions ensure that eight lines of `depth` elements are in the matrix, and eight places for
                // each k in `out`.
                done = unsafe { (E::TRANSPOSE)(isa, (from, self.line), (to, pitch), depth) };
                if done == 0 {
                    break;
                }
            }
        }
        // Covers one cache line of each line at a time.
        for p in (done..depth).step_by(16) {
            for i in 0..count {
                for q in (p..depth.min(p + 16)).step_by(E::PER_PACKED) {
                    let at =
                        |q: usize| if q < depth { self.from[start + i * self.line + q * self.k] } else { E::default() };
                    out[q / E::PER_PACKED * pitch + i] = E::packed(at(q), || at(q + 1));
                }
            }
        }
    }
}

/// Packs one k of several lines, in pairs with the next k, if any. The loops index the slices, because iterators over several
/// slices take more time to set up for such short rows.
#[inline(always)]
fn pack_row<E: Element>(out: &mut [E::Sum], first: &[E], second: &[E]) {
    let n = out.len();
    let first = &first[..n];
    if second.is_empty() {
        for i in 0..n {
            out[i] = E::packed(first[i], E::default);
        }
    } else {
        let second = &second[..n];
        for i in 0..n {
            out[i] = E::packed(first[i], || second[i]);
        }
    }
}

/// Packs eight lines with adjacent k, in pieces of eight packed elements. Returns the number of k packed; 0 if the instruction
/// set has no suitable instructions.
///
/// # Safety
/// The source must have eight lines of `depth` elements, and the destination one line of eight elements per packed k; each is
/// given with the distance between its lines.
pub type Transpose<E, S> = unsafe fn(Isa, (*const E, usize), (*mut S, usize), usize) -> usize;

/// Packs nothing.
///
/// # Safety
/// Always safe.
pub unsafe fn transpose_none<E, S>(_: Isa, _: (*const E, usize), _: (*mut S, usize), _: usize) -> usize {
    0
}

/// Defines a [`Transpose`] by AVX2; `$load` loads eight packed elements.
macro_rules! transpose {
    ($name:ident, $E:ty => $S:ty, $per_packed:literal, $load:expr) => {
        /// # Safety
        /// See [`Transpose`].
        pub unsafe fn $name(isa: Isa, from: (*const $E, usize), out: (*mut $S, usize), depth: usize) -> usize {
            #[cfg(target_arch = "x86_64")]
            if isa >= Isa::Avx2 {
                use std::arch::x86_64::*;
                /// # Safety
                /// As for the surrounding function, and the processor must have both features.
                #[target_feature(enable = "avx2,f16c")]
                unsafe fn all((from, line): (*const $E, usize), (out, pitch): (*mut $S, usize), pieces: usize) {
                    const STEP: usize = 8 * $per_packed;
                    for p in 0..pieces {
                        let at = from.wrapping_add(p * STEP);
                        // Prefetches the next eight lines, which are too short for the hardware prefetcher.
                        if (p * STEP * size_of::<$E>()).is_multiple_of(64) {
                            prefetch(at.wrapping_add(8 * line), line, 8, 1);
                        }
                        // SAFETY: by the caller.
                        unsafe {
                            let mut rows = [_mm256_setzero_ps(); 8];
                            for i in 0..8 {
                                rows[i] = ($load)(at.add(i * line));
                            }
                            avx2::transpose(rows, out.add(p * 8 * pitch).cast(), pitch);
                        }
                    }
                }
                let pieces = depth / (8 * $per_packed);
                // SAFETY: by the caller; the processor has the instruction set.
                unsafe { all(from, out, pieces) };
                return pieces * 8 * $per_packed;
            }
            let _ = (isa, from, out, depth);
            0
        }
    };
}

transpose!(transpose_f32, f32 => f32, 1, |at| _mm256_loadu_ps(at));
transpose!(transpose_bf16, Bf16 => f32, 1, |at: *const Bf16| {
    _mm256_castsi256_ps(_mm256_slli_epi32::<16>(_mm256_cvtepu16_epi32(_mm_loadu_si128(at.cast()))))
});
transpose!(transpose_f16, F16 => f32, 1, |at: *const F16| _mm256_cvtph_ps(_mm_loadu_si128(at.cast())));
transpose!(transpose_i8, i8 => i32, 2, |at: *const i8| {
    _mm256_castsi256_ps(_mm256_cvtepi8_epi16(_mm_loadu_si128(at.cast())))
});

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::*;

    /// Writes the columns of eight rows of 32-bit elements, `pitch` elements apart.
    ///
    /// # Safety
    /// `out` must have space for eight lines of eight elements, and the processor must support AVX2.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn transpose(r: [__m256; 8], out: *mut f32, pitch: usize) {
        // Interleaves pairs of lines, then fours, then eights; the lower and the upper half of each.
        let (a, b) = (_mm256_unpacklo_ps(r[0], r[1]), _mm256_unpackhi_ps(r[0], r[1]));
        let (c, d) = (_mm256_unpacklo_ps(r[2], r[3]), _mm256_unpackhi_ps(r[2], r[3]));
        let (e, f) = (_mm256_unpacklo_ps(r[4], r[5]), _mm256_unpackhi_ps(r[4], r[5]));
        let (g, h) = (_mm256_unpacklo_ps(r[6], r[7]), _mm256_unpackhi_ps(r[6], r[7]));
        let fours = [
            (_mm256_shuffle_ps::<0x44>(a, c), _mm256_shuffle_ps::<0x44>(e, g)),
            (_mm256_shuffle_ps::<0xee>(a, c), _mm256_shuffle_ps::<0xee>(e, g)),
            (_mm256_shuffle_ps::<0x44>(b, d), _mm256_shuffle_ps::<0x44>(f, h)),
            (_mm256_shuffle_ps::<0xee>(b, d), _mm256_shuffle_ps::<0xee>(f, h)),
        ];
        #[expect(clippy::needless_range_loop, reason = "iterators over vectors are not compiled for AVX2")]
        for j in 0..4 {
            let (left, right) = fours[j];
            // SAFETY: by the caller.
            unsafe {
                _mm256_storeu_ps(out.add(j * pitch), _mm256_permute2f128_ps::<0x20>(left, right));
                _mm256_storeu_ps(out.add((j + 4) * pitch), _mm256_permute2f128_ps::<0x31>(left, right));
            }
        }
    }
}
