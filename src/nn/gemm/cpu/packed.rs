//! Products with packed weights: definition by the products with the integers for which the codes stand.

use super::{gemm, quantised};
use crate::nn::gemm::{Codes, Epilogue, Gemm, GemmError, Quantise};

/// Multiplies 8-bit integers by packed weights: the product with [`Codes::decode`] of B, which is decoded as a whole. Fails as
/// [`gemm`], or if B or C has another layout than [`Gemm::packed_b`].
pub fn packed(
    op: &Gemm<i32>,
    codes: Codes,
    (a, b): (&[i8], &[u32]),
    c: &mut [i32],
    epilogue: Epilogue<&[i32], &mut [i32]>,
) -> Result<(), GemmError> {
    codes.check(op, (a.len(), b.len(), c.len()))?;
    gemm(op, a, &codes.decode(b), c, epilogue)
}

/// Multiplies 8-bit integers by packed weights and writes 8-bit integers, as [`quantised`]. Fails as [`packed`], or if alpha is not
/// 1 or beta not 0.
pub fn packed_quantised(
    op: &Gemm<i32>,
    codes: Codes,
    of: Quantise,
    (a, b): (&[i8], &[u32]),
    c: &mut [i8],
) -> Result<(), GemmError> {
    codes.check(op, (a.len(), b.len(), c.len()))?;
    quantised(op, of, (a, &codes.decode(b)), c)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::{
        gemm::Layout,
        quantized::{
            fp4::{self, Blocks},
            ternary::WordOrder,
        },
    };
    use crate::num::elements::E4m3;

    /// Returns `len` bytes from a linear congruential generator.
    fn bytes(len: usize, seed: u64) -> Vec<i8> {
        let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 56) as u8 as i8
        };
        (0..len).map(|_| next()).collect()
    }

    /// Returns weights that have a code.
    fn weights(codes: Codes, len: usize, seed: u64) -> Vec<i8> {
        let values: &[i8] = match codes {
            Codes::Ternary(_) => &[-1, 0, 1],
            Codes::Fp4 => &[-6, -4, -3, -2, -1, 0, 1, 2, 3, 4, 6],
        };
        bytes(len, seed).into_iter().map(|x| values[usize::from(x.unsigned_abs()) % values.len()]).collect()
    }

    #[test]
    fn packed_weights_give_the_product_of_the_weights() {
        for (i, codes) in (0..240).zip(Codes::ALL.into_iter().cycle()) {
            let size = |at: u64, most: usize| 1 + bytes(8, i * 3 + at)[7].unsigned_abs() as usize % most;
            let (m, n, k) = (size(0, 20), size(1, 40), size(2, 70));
            let (a, w) = (bytes(m * k, i), weights(codes, n * k, i + 1000));
            let words = codes.pack(&w, k).expect("weights with a code");
            assert_eq!(words.len(), n * codes.words_per_row(k));
            let unit = if codes == Codes::Fp4 { 2 } else { 1 };
            let sum = |(row, column): (usize, usize)| -> i32 {
                (0..k).map(|q| unit * i32::from(a[row * k + q]) * i32::from(w[column * k + q])).sum()
            };
            let want: Vec<i32> = (0..m * n).map(|at| sum((at / n, at % n))).collect();
            let (op, mut got) = (Gemm::new(m, n, k).packed_b(), vec![0; m * n]);
            packed(&op, codes, (&a, &words), &mut got, Epilogue::None).expect("it fits");
            assert_eq!(got, want, "{m} x {n} x {k}, {codes:?}");
            let of = Quantise { before: 1.0 / 256.0, has_gelu: i % 2 == 0, after: 3.0 };
            let (mut got, mut want) = (vec![0; m * n], vec![0; m * n]);
            packed_quantised(&op, codes, of, (&a, &words), &mut got).expect("it fits");
            let doubled: Vec<i8> = w.iter().map(|w| unit as i8 * w).collect();
            quantised(&Gemm::new(m, n, k).transposed_b(), of, (&a, &doubled), &mut want).expect("it fits");
            assert_eq!(got, want, "{m} x {n} x {k}, {codes:?}");
        }
    }

    #[test]
    fn batches_of_packed_weights_follow_each_other() {
        for codes in Codes::ALL {
            let (m, n, k, batch) = (3, 5, 19, 4);
            let (a, w) = (bytes(batch * m * k, 1), weights(codes, batch * n * k, 2));
            let words = codes.pack(&w, k).expect("weights with a code");
            let (op, mut got) = (Gemm::new(m, n, k).batch(batch).packed_b(), vec![0; batch * m * n]);
            packed(&op, codes, (&a, &words), &mut got, Epilogue::None).expect("it fits");
            let mut want = vec![0; batch * m * n];
            let unit = if codes == Codes::Fp4 { 2 } else { 1 };
            let plain = Gemm::new(m, n, k).transposed_b().batch(batch).scaled(unit, 0);
            let plain = Gemm { b: Layout { ld: k, ..plain.b }, ..plain };
            gemm(&plain, &a, &w, &mut want, Epilogue::None).expect("it fits");
            assert_eq!(got, want, "{codes:?}");
        }
    }

    #[test]
    fn halves_are_exact_and_every_code_is_decoded() {
        let codes: Vec<u8> = (0..16).chain([1, 9, 15]).collect();
        let blocks = Blocks { scales: vec![E4m3(0x38); 2], codes: codes.clone() };
        let words = Codes::words_of_blocks(&[blocks]).expect("scale 1");
        let mut sums = vec![0; 19];
        let mut unit = vec![0_i8; 19 * 19];
        (0..19).for_each(|i| unit[20 * i] = 1);
        packed(&Gemm::new(19, 1, 19).packed_b(), Codes::Fp4, (&unit, &words), &mut sums, Epilogue::None)
            .expect("it fits");
        assert_eq!(sums, codes.iter().map(|code| (2.0 * fp4::value(*code)) as i32).collect::<Vec<_>>());
        assert_eq!(
            Codes::Ternary(WordOrder::Linear).decode(&[0b00_01_10_11])[..4],
            [1, 0, -1, 0],
            "code 0 stands for 0"
        );
    }

    #[test]
    fn weights_without_a_code_and_other_layouts_are_errors() {
        let ternary = Codes::Ternary(WordOrder::Interleaved);
        assert_eq!(ternary.pack(&[1, 2, 0], 3), Err(GemmError::NoCode { weight: 2 }));
        assert_eq!(Codes::Fp4.pack(&[4, 5], 2), Err(GemmError::NoCode { weight: 5 }));
        let scaled = Blocks { codes: vec![1], scales: vec![E4m3(0x39)] };
        assert_eq!(Codes::words_of_blocks(&[scaled]), Err(GemmError::ScaledBlock));
        let (a, words, mut c) = ([1; 40], [0; 2], [0; 4]);
        let op = Gemm::new(2, 2, 20).packed_b();
        let mut refused = |op: &Gemm<i32>, words: &[u32]| packed(op, ternary, (&a, words), &mut c, Epilogue::None);
        assert_eq!(refused(&op, &words), Err(GemmError::Length { matrix: 'B', needed: 64, given: 32 }));
        assert_eq!(refused(&Gemm::new(2, 2, 20), &words), Err(GemmError::Packed));
        assert_eq!(refused(&Gemm::new(2, 2, 20).transposed_b(), &words), Err(GemmError::Packed));
        assert_eq!(refused(&Gemm { c: Layout::rows(2).transposed(), ..op }, &words), Err(GemmError::Packed));
    }
}
