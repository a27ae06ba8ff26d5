use super::{
    grouped::{groups_with, scaled_with},
    tests::*,
    *,
};
use crate::nn::{
    activation::Activation,
    gemm::{Layout, Scales, Split},
};

fn relu<'a>(bias: &'a [f32], aux: &'a mut [f32]) -> Epilogue<&'a [f32], &'a mut [f32]> {
    Epilogue::Activation { f: Activation::Relu, bias: Some(bias), aux: Some(aux) }
}

/// The last group is empty and begins at the end of the operands.
const OFFSETS: [u32; 6] = [2, 2, 9, 40, 60, 60];

#[test]
fn groups_of_rows_and_of_k_are_multiplications_of_their_own() {
    for isa in Isa::available() {
        check_groups(isa, 35);
        // With few rows, B is read in place; with many columns, there is more than one strip.
        check_groups(isa, 2);
    }
}

fn check_groups(isa: Isa, n: usize) {
    let (rows, k, groups_) = (60, 2 * MAX_COLUMNS + 1, 5);
    let (x, w, bias) = (numbers(rows * k, 1), numbers(groups_ * n * k, 2), numbers(groups_ * n, 3));
    let g = Gemm::new(rows, n, k).transposed_b().groups(Split::Rows, groups_);
    let (mut y, mut z) = (vec![7.0; rows * n], vec![7.0; rows * n]);
    groups_with(isa, &g, (Split::Rows, &OFFSETS), (&x, &w), &mut y, relu(&bias[..], &mut z[..])).expect("it fits");
    // In the gradient of the weights, each group is a range of k.
    let gradient = Gemm::new(n, k, rows).transposed_a().scaled(1.0, 1.0).groups(Split::Depth, groups_);
    let mut dw = w.clone();
    groups_with(isa, &gradient, (Split::Depth, &OFFSETS), (&y, &x), &mut dw, Epilogue::None).expect("it fits");
    let (mut want_y, mut want_z, mut want_dw) = (vec![7.0; rows * n], vec![7.0; rows * n], w.clone());
    for group in 0..groups_ {
        let [start, end] = [OFFSETS[group] as usize, OFFSETS[group + 1] as usize];
        let one = Gemm { m: end - start, batch: 1, b: Layout::rows(k).transposed(), ..g };
        let (part, at) = (&x[start * k..end * k], start * n..end * n);
        let epilogue = relu(&bias[group * n..][..n], &mut want_z[at.clone()]);
        gemm_with(isa, &one, part, &w[group * n * k..], &mut want_y[at.clone()], epilogue).expect("it fits");
        let one = Gemm { k: end - start, batch: 1, ..gradient };
        let out = &mut want_dw[group * n * k..][..n * k];
        gemm_with(isa, &one, &want_y[at], part, out, Epilogue::None).expect("it fits");
    }
    assert_eq!((bits(&y), bits(&z)), (bits(&want_y), bits(&want_z)));
    assert_eq!(bits(&dw), bits(&want_dw));
    assert_eq!(y[..2 * n], vec![7.0; 2 * n], "rows of no group are not written");

    let refused = |offsets: &[u32]| {
        groups(&g, (Split::Rows, offsets), (&x, &w), &mut y.clone(), Epilogue::None).expect_err("refused").to_string()
    };
    assert!(refused(&[0, 5, 4, 6, 7, 8]).contains("4 does not"));
    assert!(refused(&[0, 5, 6, 7, 8, 61]).contains("at most 60; 61"));
    assert!(refused(&[0, 5]).contains("offsets of groups needs 6"));
}

#[test]
fn sums_of_bytes_are_scaled_by_row_and_column() {
    let bytes = |len: usize, by: usize| -> Vec<i8> { (0..len).map(|i| (i * by % 256) as u8 as i8).collect() };
    let (m, n, k) = (5, 70, 40);
    let (a, b) = (bytes(2 * m * k, 77), bytes(2 * k * n, 131));
    let (rows, columns, bias) = (numbers(2 * m, 1), numbers(2 * n, 2), numbers(n, 3));
    let g = Gemm::<f32>::new(m, n, k).transposed_b().batch(2).scaled(2.0, 0.5);
    let old = numbers(2 * m * n, 4);
    let scales = Scales { rows: Some(&rows[..]), columns: Some(&columns[..]) };
    let mut got = old.clone();
    for isa in Isa::available() {
        got.clone_from(&old);
        scaled_with(isa, &g, scales, (&a, &b), &mut got, Epilogue::Bias(&bias[..])).expect("it fits");
        for (at, got) in got.iter().enumerate() {
            let (line, j) = (at / n, at % n);
            let z = line / m;
            let sum: i32 = (0..k).map(|p| i32::from(a[line * k + p]) * i32::from(b[z * n * k + j * k + p])).sum();
            let x = sum as f32 * rows[line] * columns[z * n + j];
            let want = Sum::fma(0.5, old[at], 2.0 * x) + bias[j];
            assert_eq!(got.to_bits(), want.to_bits(), "{isa:?}, {at}");
        }
    }
    let short = Scales { rows: Some(&rows[..m]), columns: None };
    let why = scaled(&g, short, (&a, &b), &mut got, Epilogue::None).expect_err("too short").to_string();
    assert_eq!(why, "the scales of rows needs 10 elements, and its buffer has 5");
}
