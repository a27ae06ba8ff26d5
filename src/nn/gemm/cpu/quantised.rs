//! Products of 8-bit integers as 8-bit integers.

use super::gemm;
use crate::nn::{
    gemm::{Epilogue, Gemm, GemmError, Quantise},
    quantized::cpu::{gelu_of, q8},
    real::wide_fn,
};

/// Multiplies 8-bit integers and writes `q8(after · f(before · sum))`, see [`Quantise`]. Fails if a layout is invalid, a buffer is too
/// short, or alpha is not 1 or beta not 0.
pub fn quantised(op: &Gemm<i32>, of: Quantise, (a, b): (&[i8], &[i8]), c: &mut [i8]) -> Result<(), GemmError> {
    Quantise::check(op, (a.len(), b.len(), c.len()))?;
    let (rows, matrices) = (op.m, op.outer * op.batch);
    let mut sums = vec![0; matrices * rows * op.n];
    gemm(&Quantise::dense(op), a, b, &mut sums, Epilogue::None)?;
    let (mut bytes, (down, across)) = (vec![0; op.n], op.c.steps());
    for (row, sums) in sums.chunks_exact(op.n.max(1)).enumerate() {
        quantise(sums, of.before, of.after, of.has_gelu, &mut bytes);
        let first = op.first(&op.c, row / rows) + row % rows * down;
        bytes.iter().enumerate().for_each(|(column, byte)| c[first + column * across] = *byte);
    }
    Ok(())
}

wide_fn! {
    fn quantise(sums: &[i32], before: f32, after: f32, has_gelu: bool, bytes: &mut [i8]) {
        if has_gelu {
            for (byte, sum) in bytes.iter_mut().zip(sums) {
                *byte = q8(after * gelu_of(*sum as f32 * before));
            }
        } else {
            for (byte, sum) in bytes.iter_mut().zip(sums) {
                *byte = q8(after * (*sum as f32 * before));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::gemm::Layout;

    #[test]
    fn bytes_are_those_of_the_single_operations() {
        let (m, n, k) = (5, 7, 33);
        let byte = |i: usize| (i * 89 % 251) as i64 as i8;
        let (a, b): (Vec<i8>, Vec<i8>) = ((0..2 * m * k).map(byte).collect(), (3..3 + 2 * n * k).map(byte).collect());
        for has_gelu in [true, false] {
            let of = Quantise { before: 1.0 / 2048.0, has_gelu, after: 3.0 };
            let mut op = Gemm::<i32>::new(m, n, k).transposed_b().batch(2);
            op.c = Layout { ld: n + 2, stride: m * (n + 2), ..op.c };
            let (mut sums, mut got) = (vec![0; 2 * m * (n + 2)], vec![-128; 2 * m * (n + 2)]);
            gemm(&op, &a, &b, &mut sums, Epilogue::None).expect("it fits");
            quantised(&op, of, (&a, &b), &mut got).expect("it fits");
            for (i, (sum, got)) in sums.iter().zip(&got).enumerate() {
                let z = *sum as f32 * of.before;
                let want = if has_gelu { q8(of.after * gelu_of(z)) } else { q8(of.after * z) };
                assert_eq!(*got, if i % (n + 2) < n { want } else { -128 }, "element {i}");
            }
            assert_eq!(quantised(&op.scaled(2, 0), of, (&a, &b), &mut got), Err(GemmError::ScaledBytes));
        }
    }
}
