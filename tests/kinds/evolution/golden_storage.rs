//! Packed weights: 2 bits, and NVFP4 blocks.

use super::golden_files::{near, same};
use neuropil::{
    nn::quantized::{
        fp4::{self, BLOCK, Blocks, IntegerScale},
        ternary::{WordOrder, pack, unpack},
    },
    num::elements::{E4m3, Element as _},
};
use neuropil_test_support::golden::Golden;

pub fn check_ternary(golden: &Golden) {
    let places = golden.whole("perm");
    assert!(places.iter().enumerate().all(|(k, place)| {
        let k_of = |weight: usize| (0..16).position(|k| WordOrder::Interleaved.weight_at(k) == weight);
        WordOrder::Interleaved.weight_at(k) as i64 == *place || k_of(k).map(|k| k as i64) == Some(*place)
    }));
    for shape in golden.names().iter().filter_map(|name| name.strip_prefix("w_")) {
        let columns = golden.shape(&format!("w_{shape}"))[1];
        let weights: Vec<i8> = golden.whole(&format!("w_{shape}")).iter().map(|w| *w as i8).collect();
        for (name, order) in [("linear", WordOrder::Linear), ("interleaved", WordOrder::Interleaved)] {
            let words = pack(&weights, columns, order);
            same(golden, &format!("{name}_{shape}"), words.iter().map(|word| i64::from(*word)));
            assert_eq!(unpack(&words, columns, order), weights);
        }
        let x = golden.whole(&format!("x_{shape}"));
        let product = |x: &[i64], row: &[i8]| row.iter().zip(x).map(|(w, x)| i64::from(*w) * x).sum::<i64>();
        let products: Vec<i64> = x
            .chunks_exact(columns)
            .flat_map(|x| weights.chunks_exact(columns).map(move |row| product(x, row)))
            .collect();
        same(golden, &format!("gemm_i32_{shape}"), products);
    }
}

pub fn check_fp4(golden: &Golden) {
    near(golden, "e2m1_values", (0..16).map(|code| fp4::value(code).into()), 0.0);
    near(golden, "e4m3_values", (0..127).map(|code| E4m3(code).to_f32().into()), 0.0);
    same(golden, "e2m1_code", golden.get("e2m1_in").iter().map(|x| fp4::code(*x as f32).into()));
    same(golden, "e4m3_code", golden.get("e4m3_in").iter().map(|x| E4m3::from_f32(*x as f32).0.into()));
    check_integers(golden);
    check_floats(golden);
}

fn check_integers(golden: &Golden) {
    let columns = golden.shape("q_int8")[1];
    let rows: Vec<i8> = golden.whole("q_int8").iter().map(|x| *x as i8).collect();
    let blocks: Vec<Blocks> =
        rows.chunks_exact(columns).map(|row| Blocks::of_integers(row, IntegerScale::Largest)).collect();
    same(golden, "q_codes", blocks.iter().flat_map(|b| b.codes.iter().map(|c| i64::from(*c))));
    same(golden, "q_scales", blocks.iter().flat_map(|b| b.scales.iter().map(|s| i64::from(s.0))));
    same(golden, "q_packed", blocks.iter().flat_map(|b| b.packed()).map(i64::from));
    near(golden, "q_dequant", blocks.iter().flat_map(|b| b.values(1.0)), 1e-12);
    // The published program scaled the blocks but not the values, so that its codes saturate: the arrays say how wrong it is.
    let intended = golden.get("fused_intended").to_vec();
    let scales = golden.whole("fused_scales");
    let decoded = golden.whole("fused_codes").into_iter().enumerate().map(|(i, code)| {
        let scale = E4m3(scales[i / BLOCK] as u8).to_f32();
        f64::from(fp4::value(code as u8)) * f64::from(scale)
    });
    let decoded: Vec<f64> = decoded.collect();
    near(golden, "fused_dequant", decoded.iter().copied(), 1e-6);
    let off = |values: &[f64]| values.iter().zip(&intended).map(|(v, w)| (v - w).powi(2)).sum::<f64>();
    let unit = golden.one("fused_row_scale");
    let exact = intended.chunks(columns).flat_map(|row| {
        let integers: Vec<i8> = row.iter().map(|x| (x / unit).round() as i8).collect();
        Blocks::of_integers(&integers, IntegerScale::ExactIfPossible).values(unit as f32)
    });
    assert!(off(&exact.collect::<Vec<_>>()) < 1e-12 && off(&decoded) > 1e-3);
}

fn check_floats(golden: &Golden) {
    let columns = golden.shape("x_f32")[1];
    let x: Vec<f32> = golden.get("x_f32").iter().map(|x| *x as f32).collect();
    let largest = x.iter().fold(0.0_f32, |largest, x| largest.max(x.abs()));
    let tensor = fp4::tensor_scale(largest);
    near(golden, "x_gscale", [f64::from(tensor)], 1e-6);
    let tensor = golden.one("x_gscale") as f32;
    let blocks: Vec<Blocks> = x.chunks_exact(columns).map(|row| Blocks::of_floats(row, tensor)).collect();
    same(golden, "x_codes", blocks.iter().flat_map(|b| b.codes.iter().map(|c| i64::from(*c))));
    same(golden, "x_scales", blocks.iter().flat_map(|b| b.scales.iter().map(|s| i64::from(s.0))));
    near(golden, "x_dequant", blocks.iter().flat_map(|b| b.values(tensor)), 1e-6);
}
