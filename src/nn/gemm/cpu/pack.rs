//! Operands in the order in which a microkernel reads them: lines (rows of A, columns of B) in strips, the lines of one k
//! adjacent, widened.

use super::{Element, Isa, Sum, micro::prefetch};

/// Rows of B, or columns of A, that are loaded ahead: rows are too short for the processor to do it.
const ROWS_AHEAD: usize = 4;

/// Lines of an operand.
#[derive(Clone, Copy)]
pub struct Lines<'a, E> {
    /// From the matrix's first element on.
    pub from: &'a [E],
    /// From a line to the next.
    pub line: usize,
    /// From a k to the next.
    pub k: usize,
}

/// What is packed: lines and k, each the first and how many.
#[derive(Clone, Copy)]
pub struct Range {
    /// Lines.
    pub lines: (usize, usize),
    /// Elements of each.
    pub k: (usize, usize),
}

impl<E: Element> Lines<'_, E> {
    /// Strips of `width` lines, one behind the other; where `is_padded`, the last has zeros for missing lines.
    pub fn pack(&self, isa: Isa, out: &mut [E::Sum], width: usize, is_padded: bool, range: Range) {
        let ((first, count), (k, depth)) = (range.lines, range.k);
        let pitch = |lines: usize| if is_padded { width } else { lines };
        let strip = depth.div_ceil(E::PER_PACKED) * width;
        if is_padded && !count.is_multiple_of(width) {
            out[count / width * strip..][..strip].fill(E::Sum::ZERO);
        }
        if E::PER_PACKED == 1 && self.line == 1 {
            // Over all strips at once, as the lines of the next k are far away.
            for p in 0..depth {
                let source = &self.from[first + (k + p) * self.k..][..count];
                prefetch(source.as_ptr().wrapping_add(ROWS_AHEAD * self.k), 0, 1, count);
                for (s, source) in source.chunks(width).enumerate() {
                    let out = &mut out[s * strip + p * pitch(source.len())..][..source.len()];
                    out.iter_mut().zip(source).for_each(|(out, x)| *out = x.widen());
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

    /// One strip of operands whose k are adjacent, or of pairs.
    fn pack_strip(
        &self,
        isa: Isa,
        out: &mut [E::Sum],
        pitch: usize,
        Range { lines: (first, count), k: (k, depth) }: Range,
    ) {
        let start = first * self.line + k * self.k;
        let mut line = 0;
        if E::PER_PACKED == 1 && count >= 8 && depth > 0 {
            assert!(self.k == 1 && self.from.len() >= start + (count - 1) * self.line + depth);
            assert!(out.len() >= (depth - 1) * pitch + count);
            while line < count {
                let (from, to) = (self.from[start + line * self.line..].as_ptr(), out[line..].as_mut_ptr());
                // SAFETY: eight lines of `depth` elements are in the matrix, and eight places for each k in `out`: see above.
                if !unsafe { E::transpose(isa, (from, self.line), (to, pitch), depth) } {
                    break;
                }
                // The last eight may overlap those before them.
                line = if line + 8 < count { (line + 8).min(count - 8) } else { count };
            }
        }
        // A cache line of each line at a time.
        for p in (0..depth).step_by(16) {
            for i in line..count {
                for q in (p..depth.min(p + 16)).step_by(E::PER_PACKED) {
                    let at =
                        |q: usize| if q < depth { self.from[start + i * self.line + q * self.k] } else { E::default() };
                    out[q / E::PER_PACKED * pitch + i] = E::packed(at(q), || at(q + 1));
                }
            }
        }
    }
}

/// Transposes eight lines of f32 with adjacent k; false where the instruction set has no way.
///
/// # Safety
/// `from` has eight lines of `depth` elements, and `out` `depth` lines of eight, each with the distance between lines.
pub unsafe fn transpose(isa: Isa, from: (*const f32, usize), out: (*mut f32, usize), depth: usize) -> bool {
    #[cfg(target_arch = "x86_64")]
    if isa >= Isa::Avx2 {
        // SAFETY: by the caller; the processor has AVX2.
        unsafe { avx2::transpose(from, out, depth) };
        return true;
    }
    let _ = (isa, from, out, depth);
    false
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::*;

    /// # Safety
    /// As [`super::transpose`], and the processor has AVX2.
    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn transpose((from, line): (*const f32, usize), (out, pitch): (*mut f32, usize), depth: usize) {
        let whole = depth / 8 * 8;
        // SAFETY: by the caller.
        unsafe {
            for k in (0..whole).step_by(8) {
                // The next eight lines, as lines are too short for the processor to do it; every second time, 64 bytes.
                if k % 16 == 0 {
                    super::prefetch(from.wrapping_add(8 * line + k), line, 8, 1);
                }
                let row = |i: usize| _mm256_loadu_ps(from.add(i * line + k));
                let r = [row(0), row(1), row(2), row(3), row(4), row(5), row(6), row(7)];
                // Pairs of lines, then fours, then eights; the lower and the upper half of each.
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
                for j in 0..4 {
                    let (left, right) = fours[j];
                    let to = out.add((k + j) * pitch);
                    _mm256_storeu_ps(to, _mm256_permute2f128_ps::<0x20>(left, right));
                    _mm256_storeu_ps(to.add(4 * pitch), _mm256_permute2f128_ps::<0x31>(left, right));
                }
            }
            for k in whole..depth {
                (0..8).for_each(|i| *out.add(k * pitch + i) = *from.add(i * line + k));
            }
        }
    }
}
