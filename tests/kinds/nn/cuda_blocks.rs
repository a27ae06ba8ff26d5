//! Launch configurations and alignment: results are the same whatever the block size, and the same bits wherever a buffer
//! begins. Reference data and large sizes on a GPU.

use super::{
    golden_files::{error, expect},
    norm as golden_norm, softmax as golden_softmax,
};
use crate::device::{gpu, gpu_alone, micros};
use neuropil::{
    gpu::{Arena, BlockSize, Buf, Gpu, Pass, module},
    nn::{
        activation::{Activation, cuda::CudaActivation},
        dropout::{
            Dropout,
            cuda::{CudaDropout, DropoutStep},
        },
        elementwise::cuda::CudaElementwise,
        norm::{Norm, NormKind, cuda::CudaNorm},
        softmax::{Bias, Mask, Softmax, cuda::CudaSoftmax},
        storage::Storage,
    },
    num::elements::{Bf16, F16},
};
use neuropil_test_support::{asserts_timings, golden};
use std::sync::Arc;

fn numbers<T: Storage>(n: usize, seed: u64) -> Vec<T> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        T::round(((state >> 40) as f32 / (1 << 23) as f32 - 1.0) * 3.0)
    };
    (0..n).map(|_| next()).collect()
}

/// Everything that has rows or elements, run on buffers that begin `offset` elements behind a multiple of 256 bytes.
struct Runner<'a> {
    gpu: &'a Arc<Gpu>,
    block: BlockSize,
    offset: usize,
}

impl Runner<'_> {
    fn buffer<T: Storage>(&self, values: &[T]) -> Buf<T> {
        let padded: Vec<T> =
            std::iter::repeat_n(T::round(f32::NAN), self.offset).chain(values.iter().copied()).collect();
        Buf::from_slice(self.gpu, "test", &padded).expect("memory")
    }

    fn read<T: Storage>(&self, buffer: &Buf<T>) -> Vec<f32> {
        buffer.read().expect("a copy")[self.offset..].iter().map(|x| x.widen()).collect()
    }

    /// Outputs and gradients by name.
    fn rows<T: Storage>(&self, rows: usize, columns: usize) -> Vec<(&'static str, Vec<f32>)> {
        let n = rows * columns;
        let [x, dy] = [1, 2].map(|seed| self.buffer(&numbers::<T>(n, seed)));
        let [g, b] = [3, 4].map(|seed| self.buffer(&numbers::<T>(columns, seed)));
        let mut out: [Buf<T>; 4] = std::array::from_fn(|_| self.buffer(&vec![T::round(0.5); n]));
        let from = |buffer: &Buf<T>| self.offset..buffer.len();
        let [x_view, dy_view, g_view, b_view] =
            [&x, &dy, &g, &b].map(|buffer| buffer.part(from(buffer)).expect("inside"));
        let range = from(&out[0]);
        let mut pass = Pass::default();
        let op = Norm { rows, columns, eps: 1e-5, kind: NormKind::Layer };
        let norm = CudaNorm::new(self.gpu).with_block(self.block);
        let mut stats = Buf::<f32>::zeros(self.gpu, "test", 2 * rows).expect("memory");
        let [mut dg, mut db] = [columns; 2].map(|n| Buf::<f32>::zeros(self.gpu, "test", n).expect("memory"));
        let mut arena = Arena::new(self.gpu, "test", Arena::bytes_of(&CudaNorm::temporaries(&op))).expect("memory");
        let [y, dx, p, ds] = &mut out;
        let mut y = y.part_mut(range.clone()).expect("inside");
        let mut dx = dx.part_mut(range.clone()).expect("inside");
        norm.forward(&mut pass, &op, &x_view, &g_view, Some(&b_view), &mut y, &mut stats).expect("it runs");
        norm.backward(
            &mut pass,
            &op,
            &dy_view,
            &x_view,
            &g_view,
            &stats,
            &mut dx,
            &mut dg,
            Some(&mut db),
            &arena.frame(),
        )
        .expect("it runs");
        let softmax = CudaSoftmax::new(self.gpu).with_block(self.block);
        let op = Softmax::rows(rows, columns);
        let mut lse = Buf::<f32>::zeros(self.gpu, "test", rows).expect("memory");
        {
            let mut p = p.part_mut(range.clone()).expect("inside");
            softmax.forward(&mut pass, &op, &x_view, Mask::default(), &mut p, &mut lse).expect("it runs");
        }
        let mut ds = ds.part_mut(range.clone()).expect("inside");
        softmax.backward(&mut pass, &op, &p.part(range).expect("inside"), &dy_view, &mut ds).expect("it runs");
        let [y, dx, p, ds] = &out;
        vec![
            ("norm", self.read(y)),
            ("norm dx", self.read(dx)),
            ("softmax", self.read(p)),
            ("softmax dx", self.read(ds)),
            ("statistics", stats.read().expect("a copy")),
            ("dweight", dg.read().expect("a copy")),
            ("dbias", db.read().expect("a copy")),
            ("lse", lse.read().expect("a copy")),
        ]
    }

    /// Element by element: the same bits whatever the block size.
    fn elements<T: Storage>(&self, n: usize) -> Vec<(&'static str, Vec<f32>)> {
        let (x, dy) = (self.buffer(&numbers::<T>(n, 1)), self.buffer(&numbers::<T>(n, 2)));
        let range = self.offset..x.len();
        let (x_view, dy_view) = (x.part(range.clone()).expect("inside"), dy.part(range.clone()).expect("inside"));
        let mut out: [Buf<T>; 4] = std::array::from_fn(|_| self.buffer(&vec![T::round(0.5); n]));
        let [y, dx, sum, drop] = &mut out;
        let mut pass = Pass::default();
        let activation = CudaActivation::new(self.gpu).with_block(self.block);
        let act = Activation::GeluTanh;
        activation
            .forward(&mut pass, act, 1, n, &x_view, &mut y.part_mut(range.clone()).expect("inside"))
            .expect("it runs");
        activation
            .backward(&mut pass, act, 1, n, &x_view, &dy_view, &mut dx.part_mut(range.clone()).expect("inside"))
            .expect("it runs");
        let elementwise = CudaElementwise::new(self.gpu).with_block(self.block);
        elementwise.add(&mut pass, &mut sum.part_mut(range.clone()).expect("inside"), &x_view).expect("it runs");
        let dropout = CudaDropout::new(self.gpu).with_block(self.block);
        let op = Dropout { p: 0.3, seed: 7, layer_site: 3, offset: 0 };
        let step = Buf::from_slice(self.gpu, "test", &[DropoutStep::new(&op, 5)]).expect("memory");
        dropout.forward(&mut pass, 3, &step, &mut drop.part_mut(range).expect("inside")).expect("it runs");
        let [y, dx, sum, drop] = &out;
        vec![("gelu", self.read(y)), ("gelu dx", self.read(dx)), ("add", self.read(sum)), ("dropout", self.read(drop))]
    }
}

fn bits(x: &[(&'static str, Vec<f32>)]) -> Vec<(&'static str, Vec<u32>)> {
    x.iter().map(|(name, x)| (*name, x.iter().map(|x| x.to_bits()).collect())).collect()
}

#[test]
fn cuda_block_sizes_change_no_result() {
    let Some(gpu) = gpu() else { return };
    let run = |block: BlockSize| Runner { gpu: &gpu, block, offset: 0 };
    let mut worst = 0.0_f64;
    for columns in [1, 31, 32, 33, 384, 768, 1000, 1024, 4099] {
        let want = run(BlockSize::Automatic).rows::<f32>(3, columns);
        for threads in (32..=1024).step_by(32) {
            for ((name, got), (_, want)) in run(BlockSize::Threads(threads)).rows::<f32>(3, columns).iter().zip(&want) {
                // Of numbers below 1, such as probabilities, the absolute difference.
                let size = want.iter().filter(|w| w.is_finite()).fold(1.0_f32, |size, w| size.max(w.abs()));
                let off = |(g, w): (&f32, &f32)| if g == w { 0.0 } else { f64::from((g - w).abs() / size) };
                let e = got.iter().zip(want).map(off).fold(0.0, f64::max);
                // Gradients are differences of sums of products.
                let tolerance = if name.contains("dx") || *name == "dweight" { 2e-6 } else { 2e-7 };
                assert!(e <= tolerance, "{name}, {columns} columns, {threads} threads: {e:.1e}");
                worst = worst.max(e);
            }
        }
    }
    for n in [1, 5, 1000, 100_003] {
        let want = bits(&run(BlockSize::Automatic).elements::<f32>(n));
        for threads in (32..=1024).step_by(32) {
            assert!(
                bits(&run(BlockSize::Threads(threads)).elements::<f32>(n)) == want,
                "{n} elements, {threads} threads"
            );
        }
    }
}

fn alignment_changes_no_bit<T: Storage>(gpu: &Arc<Gpu>) {
    let run = |offset: usize| Runner { gpu, block: BlockSize::Automatic, offset };
    for n in (1..=20).chain([31, 32, 33, 127, 128, 1000, 1001, 1002, 1003, 4096, 4099]) {
        // 1 of the offsets is not a multiple of 16 bytes; 8 elements of any format are.
        for offset in [1, 8] {
            assert!(
                bits(&run(offset).elements::<T>(n)) == bits(&run(0).elements::<T>(n)),
                "{n} elements, offset {offset}"
            );
            assert!(
                bits(&run(offset).rows::<T>(3, n)) == bits(&run(0).rows::<T>(3, n)),
                "rows of {n}, offset {offset}"
            );
        }
    }
}

#[test]
fn cuda_alignment_changes_no_bit() {
    let Some(gpu) = gpu() else { return };
    alignment_changes_no_bit::<f32>(&gpu);
    alignment_changes_no_bit::<F16>(&gpu);
    alignment_changes_no_bit::<Bf16>(&gpu);
}

#[test]
fn cuda_runs_return_the_same_bits() {
    let Some(gpu) = gpu() else { return };
    let run = || bits(&Runner { gpu: &gpu, block: BlockSize::Automatic, offset: 0 }.rows::<Bf16>(5000, 768));
    assert!(run() == run());
}

/// More elements than threads of a grid of blocks of 32 on any device, and one element.
#[test]
fn cuda_large_and_small_sizes_are_covered() {
    let Some(gpu) = gpu() else { return };
    let ops = CudaElementwise::new(&gpu).with_block(BlockSize::Threads(32));
    for n in [0, 1, (1 << 31) / 256 + 1, (1 << 26) + 3] {
        let mut pass = Pass::default();
        let mut x = Buf::<Bf16>::zeros(&gpu, "test", n).expect("memory");
        let sizes = CudaElementwise::temporaries_of_sum_of_squares(n);
        let mut arena = Arena::new(&gpu, "test", Arena::bytes_of(&sizes).max(256)).expect("memory");
        let mut out = Buf::<f32>::zeros(&gpu, "test", 1).expect("memory");
        ops.fill(&mut pass, &mut x, 0.5).expect("it runs");
        ops.sum_of_squares(&mut pass, &x, &mut out, &arena.frame()).expect("it runs");
        assert_eq!(out.read().expect("a copy")[0], n as f32 / 4.0, "{n}");
    }
}

/// Packs are 16 bytes: the compiler kept the vector accesses.
#[test]
fn kernels_access_sixteen_bytes_at_once() {
    for stem in ["nn-norm", "nn-softmax", "nn-activation", "nn-dropout", "nn-elementwise"] {
        for format in ["f32", "f16", "bf16"] {
            let ptx = module::choose(&format!("{stem}_{format}"), 90).expect("embedded").ptx();
            let count = |what: &str| ptx.matches(what).count();
            let (loads, stores) = (count("ld.global.v4"), count("st.global.v4"));
            assert!(loads > 0 && stores > 0, "{stem}_{format}: {loads} loads and {stores} stores of 16 bytes");
        }
    }
}

#[test]
fn golden_transformer_layernorm_cuda() {
    let Some(gpu) = gpu() else { return };
    for golden in golden::all("transformer", "layernorm") {
        for (case, eps) in golden_norm::cases(&golden.names()) {
            let width = case.split('_').next().expect("a width");
            let input = |name: &str| -> Buf<f32> {
                let values: Vec<f32> = golden.get(&format!("{width}_{name}")).iter().map(|x| *x as f32).collect();
                Buf::from_slice(&gpu, "test", &values).expect("memory")
            };
            let [x, g, b, dy] = ["x", "g", "b", "dy"].map(input);
            let op = Norm { rows: x.len() / g.len(), columns: g.len(), eps, kind: NormKind::Layer };
            let zeros = |n: usize| Buf::<f32>::zeros(&gpu, "test", n).expect("memory");
            let (mut y, mut dx, mut stats) = (zeros(x.len()), zeros(x.len()), zeros(2 * op.rows));
            let (mut dg, mut db) = (zeros(g.len()), zeros(g.len()));
            let mut arena = Arena::new(&gpu, "test", Arena::bytes_of(&CudaNorm::temporaries(&op))).expect("memory");
            let (ops, mut pass) = (CudaNorm::new(&gpu), Pass::default());
            ops.forward(&mut pass, &op, &x, &g, Some(&b), &mut y, &mut stats).expect("it runs");
            ops.backward(&mut pass, &op, &dy, &x, &g, &stats, &mut dx, &mut dg, Some(&mut db), &arena.frame())
                .expect("it runs");
            let read = |x: &Buf<f32>| -> Vec<f64> { x.read().expect("a copy").iter().map(|x| f64::from(*x)).collect() };
            let (got_y, got_dx) = (read(&y), read(&dx));
            let want = |name: &str| golden.get(&format!("{case}_{name}"));
            let inputs = golden.get(&format!("{width}_x")).chunks_exact(op.columns);
            for (row, tolerance) in inputs.map(golden_norm::tolerance).enumerate() {
                let range = row * op.columns..(row + 1) * op.columns;
                for (array, got, most) in [("y", &got_y, tolerance.y), ("dx", &got_dx, tolerance.dx)] {
                    let error = error(&got[range.clone()], &want(array)[range.clone()]);
                    expect(&golden, &format!("{case}_{array} row {row} with CUDA"), error, most);
                }
            }
            // Rows of a large mean are in the sums, with the error of their statistics.
            for (array, got, most) in [("dg", &dg, 5e-5), ("db", &db, 1e-6)] {
                expect(&golden, &format!("{case}_{array} with CUDA"), error(&read(got), want(array)), most);
            }
        }
    }
}

#[test]
fn golden_transformer_softmax_cuda() {
    let Some(gpu) = gpu() else { return };
    let (ops, mut pass) = (CudaSoftmax::new(&gpu), Pass::default());
    for golden in golden::all("transformer", "softmax") {
        let buffer = |name: &str| -> Buf<f32> {
            let values: Vec<f32> = golden.get(name).iter().map(|x| *x as f32).collect();
            Buf::from_slice(&gpu, "test", &values).expect("memory")
        };
        let zeros = |n: usize| Buf::<f32>::zeros(&gpu, "test", n).expect("memory");
        let check = |got: &Buf<f32>, name: &str| {
            let got: Vec<f64> = got.read().expect("a copy").iter().map(|x| f64::from(*x)).collect();
            expect(&golden, &format!("{name} with CUDA"), error(&got, golden.get(name)), 1e-6);
        };
        if let Some(masked) = golden_softmax::masked(&golden) {
            let (op, strides) = (masked.op, masked.strides());
            let upload = |lens: &Vec<i32>| Buf::from_slice(&gpu, "test", lens).expect("memory");
            let [q, k] = [0, 1].map(|i| masked.lens.as_ref().map(|lens| upload(&lens[i])));
            let values = masked.bias.as_ref().map(|bias| Buf::from_slice(&gpu, "test", bias).expect("memory"));
            let (x, dy) = (buffer("x"), buffer("dy"));
            let (mut y, mut lse, mut dx) = (zeros(x.len()), zeros(op.n_rows()), zeros(x.len()));
            let bias = values.as_deref().map(|values| Bias { values, strides });
            let mask = Mask { q_lens: q.as_deref(), k_lens: k.as_deref(), bias };
            ops.forward(&mut pass, &op, &x, mask, &mut y, &mut lse).expect("it runs");
            ops.backward(&mut pass, &op, &y, &dy, &mut dx).expect("it runs");
            check(&y, "y");
            check(&lse, "lse");
            check(&dx, "dx");
        }
        for name in golden.names().iter().filter_map(|name| name.strip_suffix("_x")) {
            let shape = golden.shape(&format!("{name}_x"));
            let (op, x) = (Softmax::rows(shape[0], shape[1]), buffer(&format!("{name}_x")));
            let (mut y, mut lse) = (zeros(x.len()), zeros(op.n_rows()));
            ops.forward(&mut pass, &op, &x, Mask::default(), &mut y, &mut lse).expect("it runs");
            check(&y, &format!("{name}_y"));
            check(&lse, &format!("{name}_lse"));
        }
    }
}

#[test]
fn golden_transformer_gelu_cuda() {
    let Some(gpu) = gpu() else { return };
    let (ops, mut pass) = (CudaActivation::new(&gpu), Pass::default());
    for golden in golden::all("transformer", "gelu") {
        let buffer = |name: &str| -> Buf<f32> {
            let values: Vec<f32> = golden.get(name).iter().map(|x| *x as f32).collect();
            Buf::from_slice(&gpu, "test", &values).expect("memory")
        };
        let (x, dy) = (buffer("x"), buffer("dy"));
        let n = x.len();
        for (act, name) in [(Activation::GeluTanh, "tanh"), (Activation::GeluErf, "erf")] {
            let [mut y, mut dx] = [n; 2].map(|n| Buf::<f32>::zeros(&gpu, "test", n).expect("memory"));
            ops.forward(&mut pass, act, 1, n, &x, &mut y).expect("it runs");
            ops.backward(&mut pass, act, 1, n, &x, &dy, &mut dx).expect("it runs");
            for (got, part) in [(&y, "y"), (&dx, "dx")] {
                let name = format!("{part}_{name}");
                if golden.has(&name) {
                    let got: Vec<f64> = got.read().expect("a copy").iter().map(|x| f64::from(*x)).collect();
                    expect(&golden, &format!("{name} with CUDA"), error(&got, golden.get(&name)), 1e-6);
                }
            }
        }
    }
}

/// 0x1A2B3F: scale, mask and softmax are one launch; three launches read and write all scores three times.
#[test]
fn cuda_softmax_with_scale_and_mask_is_one_launch() {
    let Some(gpu) = gpu_alone() else { return };
    let op = Softmax { batch: 8, heads: 12, q_len: 1024, k_len: 1024, scale: 0.125, causal: true };
    let zeros = |n: usize| Buf::<Bf16>::zeros(&gpu, "test", n).expect("memory");
    let [x, mut y, mut scores] = std::array::from_fn(|_| zeros(op.n_rows() * op.k_len));
    let [mut lse, factor] = [op.n_rows(), 1].map(|n| Buf::<f32>::zeros(&gpu, "test", n).expect("memory"));
    let (softmax, elementwise) = (CudaSoftmax::new(&gpu), CudaElementwise::new(&gpu));
    let mut fused = |pass: &mut Pass| softmax.forward(pass, &op, &x, Mask::default(), &mut y, &mut lse);
    let mut pass = Pass::measuring();
    fused(&mut pass).expect("it runs");
    gpu.synchronize().expect("it ran");
    pass.collect().expect("it ran");
    assert_eq!(pass.timings.iter().map(|row| row.launches).sum::<u32>(), 1, "one launch");
    if !asserts_timings() {
        return;
    }
    let fused = micros(&gpu, fused);
    let rows = Softmax::rows(op.n_rows(), op.k_len);
    let mut apart = |pass: &mut Pass| {
        elementwise.scale(pass, &mut scores, &factor)?;
        elementwise.scale(pass, &mut scores, &factor)?; // moves what a mask that is written over the scores moves
        softmax.forward(pass, &rows, &scores, Mask::default(), &mut y, &mut lse)
    };
    apart(&mut Pass::default()).expect("it runs");
    let apart = micros(&gpu, apart);
    assert!(apart >= 1.6 * fused, "{fused:.1} us in one launch, {apart:.1} us in three");
}
