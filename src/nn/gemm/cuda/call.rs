//! A checked multiplication and the arguments of the project's kernels.

use super::{Format, GemmArgs, Scale};
use crate::{
    gpu::{Any, AnyMut},
    nn::{
        activation::Activation,
        gemm::{Codes, Epilogue, Gemm, Layout, Order, Split, epilogue::Parts},
    },
};

/// A checked multiplication with its buffers.
pub(super) struct Call<'a, S> {
    pub gemm: Gemm<S>,
    /// Formats of the operands and of C.
    pub formats: (Format, Format),
    pub a: Any<'a>,
    pub b: Any<'a>,
    /// Codes of B if it is packed.
    pub codes: Option<Codes>,
    pub c: AnyMut<'a>,
    pub bias: Any<'a>,
    pub other: Any<'a>,
    pub aux: AnyMut<'a>,
    pub epilogue: Epilogue,
    /// Dimension divided into groups, whose offsets are in `offsets`.
    pub split: Option<Split>,
    pub offsets: Any<'a>,
    /// Whether integer sums are scaled by row and column and written as floats.
    pub is_scaled: bool,
    pub scales: [Any<'a>; 2],
    /// Whether C was transposed, so that the bias belongs to its rows.
    pub bias_by_row: bool,
    pub tf32: bool,
}

impl<S: Scale> Call<'_, S> {
    /// Converts a column-major C to the row-major `Cᵀ = Bᵀ Aᵀ`.
    pub fn make_row_major(&mut self) {
        if self.gemm.c.order == Order::RowMajor {
            return;
        }
        let g = self.gemm;
        let (a, b, c) = (g.b.transposed(), g.a.transposed(), g.c.transposed());
        self.gemm = Gemm { m: g.n, n: g.m, a, b, c, ..g };
        std::mem::swap(&mut self.a, &mut self.b);
        self.scales.swap(0, 1);
        self.bias_by_row = true;
    }

    /// Whether cuBLASLt's operations suffice: no groups, no scales, no codes.
    pub fn is_plain(&self) -> bool {
        self.split.is_none() && !self.is_scaled && self.codes.is_none()
    }

    /// Returns the number of matrices in all batches.
    pub fn matrices(&self) -> usize {
        self.gemm.outer * self.gemm.batch
    }

    /// Returns the bytes of A, B and C, each counted once.
    pub fn least_bytes(&self) -> u64 {
        let Gemm { m, n, k, .. } = self.gemm;
        let weights = self.codes.map_or(k * n * self.formats.0.bytes(), |codes| 4 * n * codes.words_per_row(k));
        let bytes = m * k * self.formats.0.bytes() + weights + m * n * self.formats.1.bytes_of_sums();
        (self.matrices() * bytes) as u64
    }

    /// Whether the sums of a long group may be accumulated in C split by split: C is not rounded, and there is no epilogue.
    pub fn adds_pieces(&self) -> bool {
        self.split == Some(Split::Depth) && self.keeps_sums()
    }

    /// Whether C holds the sums unchanged.
    pub fn keeps_sums(&self) -> bool {
        self.formats.1 == Format::F32 && self.formats.0 != Format::S8 && self.epilogue == Epilogue::None
    }

    fn has_adjacent_k(&self) -> bool {
        self.gemm.a.order == Order::RowMajor && self.gemm.b.order == Order::ColMajor
    }

    /// Whether the rows of both operands, or those of A if B is packed, can be copied in aligned 16-byte accesses.
    pub fn is_aligned(&self) -> bool {
        let (g, bytes) = (&self.gemm, self.formats.0.bytes());
        let rows_are = |matrix: Any<'_>, layout: &Layout| {
            let is_multiple = |n: usize| (n * bytes).is_multiple_of(16);
            let strides = [(g.batch, layout.stride), (g.outer, layout.outer)];
            let are_multiples = strides.iter().all(|(count, stride)| *count == 1 || is_multiple(*stride));
            matrix.is_aligned_to(16) && is_multiple(layout.ld) && are_multiples
        };
        // A group may begin at any row or k.
        let groups_begin_at_rows = match self.split {
            None => true,
            Some(Split::Rows) => g.a.order == Order::RowMajor,
            Some(Split::Depth) => g.a.order == Order::ColMajor && g.b.order == Order::RowMajor,
        };
        // No instruction exchanges single bytes between lanes.
        let can_exchange = self.formats.0 != Format::S8 || self.has_adjacent_k();
        let columns_are = self.codes.is_some() || rows_are(self.b, &g.b);
        can_exchange && groups_begin_at_rows && rows_are(self.a, &g.a) && columns_are
    }

    /// Whether C and the epilogue's buffers allow accesses of `count` elements, up to 16 bytes.
    pub fn has_neighbours(&self, count: usize) -> bool {
        let g = &self.gemm;
        let element = if self.is_scaled { self.formats.1.bytes() } else { self.formats.1.bytes_of_sums() };
        let bytes = (count * element).min(16) as u64;
        let of = |count: usize, stride: usize| if count == 1 { 0 } else { stride };
        let rows = if self.bias_by_row { g.m } else { 0 };
        [g.n, g.c.ld, of(g.batch, g.c.stride), of(g.outer, g.c.outer), rows].iter().all(|n| n.is_multiple_of(count))
            && [self.bias, self.other].iter().all(|data| data.is_aligned_to(bytes))
            && [&self.c, &self.aux].iter().all(|data| data.is_aligned_to(bytes))
    }

    /// Returns the arguments of the project's kernels, for a row-major C.
    pub fn args(&self) -> GemmArgs {
        let g = &self.gemm;
        let (operands, out) = self.formats;
        let Parts { f, is_gradient, .. } = self.epilogue.parts();
        let ((alpha, alpha_int), (beta, beta_int)) = (g.alpha.pair(), g.beta.pair());
        // Elements of B per unit of its offsets: codes have bytes.
        let unit = self.codes.map_or(1, |codes| codes.per_word() / 4);
        GemmArgs {
            stride_a: g.a.stride as u64,
            stride_b: (g.b.stride / unit) as u64,
            stride_c: g.c.stride as u64,
            outer_a: g.a.outer as u64,
            outer_b: (g.b.outer / unit) as u64,
            outer_c: g.c.outer as u64,
            lda: g.a.ld as u64,
            ldb: (g.b.ld / unit) as u64,
            ldc: g.c.ld as u64,
            m: g.m as u32,
            n: g.n as u32,
            k: g.k as u32,
            batch: g.batch as u32,
            operands: operands as u32,
            out: out as u32,
            activation: match f {
                None | Some(Activation::SwiGlu) => 0,
                Some(Activation::GeluTanh) => 1,
                Some(Activation::GeluErf) => 2,
                Some(Activation::Relu) => 3,
                Some(Activation::ReluSquared) => 4,
            },
            is_gradient: is_gradient.into(),
            bias_by_row: self.bias_by_row.into(),
            quads: self.has_neighbours(4).into(),
            split: match self.split {
                None => 0,
                Some(Split::Rows) => 1,
                Some(Split::Depth) => 2,
            },
            is_scaled: self.is_scaled.into(),
            a_by_k: (g.a.order == Order::RowMajor).into(),
            b_by_k: (g.b.order == Order::ColMajor).into(),
            aligned: self.is_aligned().into(),
            alpha,
            beta,
            alpha_int,
            beta_int,
            piece: 0,
        }
    }
}
