//! Products of 8-bit integers at the sizes of an evolution strategy: weights as bytes and packed, results of 32 and of 8 bits.

use super::{Bench, FromUnit as _, operand, row, timed};
use crate::{
    gpu::{Buf, Pass, ceilings::Limit},
    nn::{
        gemm::{
            Codes, Epilogue, Gemm, Quantise,
            cuda::{Backend, CudaGemmError, Options},
        },
        quantized::ternary::WordOrder,
    },
};

/// Sizes (m, n, k) of the published program (P1) for a member of 4,096 rows: queries, keys and values; hidden layer; output of the
/// hidden layer; input; logits. The last one is the hidden layer of 16 members with shared weights.
const SIZES: [(usize, usize, usize); 6] =
    [(4096, 1536, 512), (4096, 1024, 512), (4096, 512, 1024), (4096, 512, 512), (4096, 256, 512), (65_536, 1024, 512)];

/// A multiplication on one backend.
struct Case {
    op: Gemm<i32>,
    layout: &'static str,
    /// Codes of the weights; `None` for bytes.
    codes: Option<Codes>,
    /// Whether results have 8 bits.
    is_narrow: bool,
    backend: Backend,
}

/// Buffers of a size: A, B as bytes, packed, and results.
struct Buffers {
    a: Buf<i8>,
    bytes: Buf<i8>,
    words: Buf<u32>,
    sums: Buf<i32>,
    narrow: Buf<i8>,
}

fn format(codes: Option<Codes>) -> &'static str {
    match codes {
        None => "s8",
        Some(Codes::Ternary(WordOrder::Linear)) => "linear",
        Some(Codes::Ternary(WordOrder::Interleaved)) => "interleaved",
        Some(Codes::Fp4) => "fp4",
    }
}

/// Returns the cases of a size: every layout of bytes, every code, and results of 8 bits where a backend writes them.
fn cases((m, n, k): (usize, usize, usize)) -> Vec<Case> {
    let new = Gemm::<i32>::new(m, n, k);
    let layouts = [
        ("nt", new.transposed_b()),
        ("nn", new),
        ("tn", new.transposed_a()),
        ("tt", new.transposed_a().transposed_b()),
    ];
    let mut all = vec![];
    for backend in [Backend::CublasLt, Backend::TensorCores, Backend::Simt] {
        let case = |codes, op, layout, is_narrow| Case { op, layout, codes, is_narrow, backend };
        all.extend(layouts.iter().map(|(layout, op)| case(None, *op, *layout, false)));
        if backend != Backend::CublasLt {
            all.push(case(None, layouts[0].1, "nt", true));
            let packed = Codes::ALL.into_iter().flat_map(|codes| [(codes, false), (codes, true)]);
            all.extend(packed.map(|(codes, is_narrow)| case(Some(codes), new.packed_b(), "nt", is_narrow)));
        }
    }
    all
}

impl Bench<'_> {
    /// Measures every case; ends early if stopped.
    pub(super) fn integers(&mut self) -> Result<(), CudaGemmError> {
        for (i, size) in SIZES.into_iter().enumerate() {
            let mut buffers = None;
            for case in cases(size) {
                let (Gemm { m, n, k, .. }, width) = (case.op, if case.is_narrow { "bytes" } else { "" });
                let name = format!("{m}x{n}x{k}-{}{width}-{}-{}", format(case.codes), case.backend, case.layout);
                if self.options.only.is_some_and(|only| !name.starts_with(only)) {
                    continue;
                }
                if !(self.options.proceed)(&name, i as f32 / SIZES.len() as f32) {
                    return Ok(());
                }
                if buffers.is_none() {
                    buffers = Some(self.buffers_of(size)?);
                }
                if let Some(buffers) = &mut buffers {
                    self.measure(name, &case, buffers)?;
                }
            }
        }
        Ok(())
    }

    fn buffers_of(&self, (m, n, k): (usize, usize, usize)) -> Result<Buffers, CudaGemmError> {
        let values = |len: usize| -> Vec<i8> { operand(len).map(i8::from_unit).collect() };
        // Ternary and FP4 words of any bits are weights; FP4 has the longer columns.
        let words: Vec<u32> =
            operand(n * Codes::Fp4.words_per_row(k)).map(f32::to_bits).map(|x| x.wrapping_mul(0x9E37_79B9)).collect();
        Ok(Buffers {
            a: Buf::from_slice(self.gpu, "A of the benchmark", &values(m * k))?,
            bytes: Buf::from_slice(self.gpu, "B of the benchmark", &values(k * n))?,
            words: Buf::from_slice(self.gpu, "B of the benchmark, packed", &words)?,
            sums: Buf::zeros(self.gpu, "C of the benchmark", m * n)?,
            narrow: Buf::zeros(self.gpu, "C of the benchmark, bytes", m * n)?,
        })
    }

    /// Measures a case; leaves it out if the backend cannot compute it.
    fn measure(&mut self, name: String, case: &Case, buffers: &mut Buffers) -> Result<(), CudaGemmError> {
        let (Gemm { m, n, k, .. }, options) = (case.op, Options::only(case.backend));
        let Buffers { a, bytes, words, sums, narrow } = buffers;
        let of = Quantise { before: 1e-3, has_gelu: true, after: 3.0 };
        let mut launch = |pass: &mut Pass| match (case.codes, case.is_narrow) {
            (None, false) => self.gemm.run(pass, &case.op, (&**a, &**bytes), sums, Epilogue::None, options),
            (None, true) => self.gemm.run_quantised(pass, &case.op, of, (&**a, &**bytes), narrow, options),
            (Some(codes), false) => {
                self.gemm.run_packed(pass, &case.op, codes, (&**a, &**words), sums, Epilogue::None, options)
            }
            (Some(codes), true) => {
                self.gemm.run_packed_quantised(pass, &case.op, codes, of, (&**a, &**words), narrow, options)
            }
        };
        let secs = match timed(self.gpu, self.options.repeats, &mut launch) {
            Ok(secs) => secs,
            Err(CudaGemmError::Library(_) | CudaGemmError::Unable { .. }) => return Ok(()),
            Err(why) => return Err(why),
        };
        let weights = case.codes.map_or(k * n, |codes| 4 * n * codes.words_per_row(k));
        let moved = m * k + weights + m * n * if case.is_narrow { 1 } else { 4 };
        let bandwidth = self.ceilings.best(Limit::Bytes).map_or(f64::NAN, |c| c.value);
        let ops = self.ops("s8", case.backend);
        self.rows.push(row(name, &Gemm::new(m, n, k), secs, ops, bandwidth, moved as f64));
        Ok(())
    }
}
