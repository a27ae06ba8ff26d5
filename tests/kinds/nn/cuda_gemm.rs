//! Matrix multiplication on a GPU against the CPU's definition in f64, on every backend that is present.

use super::{
    attention::relative_rms as exact_relative_rms,
    cuda_every_operation::{Case, Number, wide},
};
use crate::device::gpu;
use neuropil::{
    gpu::{Buf, Pass},
    nn::{
        activation::Activation,
        gemm::{
            Epilogue, Gemm, Layout, Order, cpu,
            cuda::{Backend, CudaGemm, CudaGemmError, Operand, Options, Output},
        },
    },
    num::elements::{Bf16, Element, F16},
};
use neuropil_test_support::{Need, golden, skip};

pub const BACKENDS: [Backend; 5] =
    [Backend::CublasLt, Backend::Wgmma, Backend::TensorCores, Backend::Wmma, Backend::Simt];

/// In (-1, 1), from a linear congruential generator.
pub fn numbers(len: usize, seed: u64) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1 << 23) as f32 - 1.0
    };
    (0..len).map(|_| next()).collect()
}

/// Root of the mean squared difference, relative to that of `want`, or to 1 where that is less: the results of a
/// handful of elements may nearly cancel.
pub fn relative_rms(got: &[f64], want: &[f64]) -> f64 {
    let square: f64 = got.iter().zip(want).map(|(g, w)| (g - w) * (g - w)).sum();
    (square / want.iter().map(|w| w * w).sum::<f64>().max(want.len() as f64)).sqrt()
}

/// The sizes of the tests: ragged and round, m, n, k. The reference is slow without optimisation.
const SIZES: [(usize, usize, usize); 6] =
    [(1, 1, 1), (3, 5, 7), (17, 33, 65), (64, 128, 64), (129, 260, 40), (37, 70, 300)];

/// Every order of the matrices, with leading dimensions that are multiples of 16 elements (`is_aligned`) or odd.
fn layouts((m, n, k): (usize, usize, usize), is_aligned: bool) -> impl Iterator<Item = Gemm<f32>> {
    let layout = move |is_column_major: bool, rows: usize, columns: usize| {
        let (order, length, lines) =
            if is_column_major { (Order::ColMajor, rows, columns) } else { (Order::RowMajor, columns, rows) };
        let ld = if is_aligned { length.next_multiple_of(16) } else { length | 1 };
        Layout { order, ld, stride: ld * lines, outer: 2 * ld * lines + 16 }
    };
    (0..8_usize).map(move |bits| Gemm {
        batch: 2,
        outer: 1 + bits % 2,
        a: layout(bits & 1 > 0, m, k),
        b: layout(bits & 2 > 0, k, n),
        c: layout(bits & 4 > 0, m, n),
        ..Gemm::new(m, n, k)
    })
}

/// One multiplication on one backend against f64; `None` where the backend is absent or unable.
fn error<I, O>(
    gemm: &CudaGemm,
    gpu: &std::sync::Arc<neuropil::gpu::Gpu>,
    g: &Gemm<f32>,
    which: usize,
    options: Options,
) -> Option<f64>
where
    I: Operand<Sum = f32> + Element,
    O: Output<Sum = f32> + Element,
{
    let rounded = |len: usize, seed: u64| -> Vec<I> { numbers(len, seed).into_iter().map(I::from_f32).collect() };
    let outputs = |len: usize, seed: u64| -> Vec<O> { numbers(len, seed).into_iter().map(O::from_f32).collect() };
    let (a, b) = (rounded(2 * g.a.outer, 1), rounded(2 * g.b.outer, 2));
    let (c, bias, other) = (outputs(2 * g.c.outer, 3), outputs(g.n.max(4), 4), outputs(2 * g.c.outer, 5));
    let wide = |x: f32| f64::from(x);
    let f64s = |x: &[O]| -> Vec<f64> { x.iter().map(|x| wide(x.to_f32())).collect() };
    let tf32 = |x: f32| f32::from_bits((x.to_bits() + 0x1000) & !0x1fff);
    let is_tf32 = options.backend == Some(Backend::TensorCores) || options.tf32;
    let operand = |x: &[I]| -> Vec<f64> {
        x.iter().map(|x| wide(if is_tf32 && size_of::<I>() == 4 { tf32(x.to_f32()) } else { x.to_f32() })).collect()
    };
    let (bias64, other64, mut want, mut want_aux) = (f64s(&bias), f64s(&other), f64s(&c), f64s(&c));
    let mut g = *g;
    (g.alpha, g.beta) = [(1.0, 0.0), (0.5, 1.0), (1.0, 0.0), (2.0, 0.0)][which % 4];
    let g64 = g.with_scales(f64::from(g.alpha), f64::from(g.beta));
    let wanted = epilogue(which, &bias64[..], &other64[..], &mut want_aux[..]);
    cpu::gemm(&g64, &operand(&a), &operand(&b), &mut want, wanted).expect("it fits");

    let buffer = |x: &[O]| Buf::from_slice(gpu, "test", x).expect("memory");
    let (bias, other, mut out, mut aux) = (buffer(&bias), buffer(&other), buffer(&c), buffer(&c));
    let (a, b) = (Buf::from_slice(gpu, "a", &a).expect("memory"), Buf::from_slice(gpu, "b", &b).expect("memory"));
    let epilogue = epilogue(which, &*bias, &*other, &mut *aux);
    match gemm.run(&mut Pass::default(), &g, (&a, &b), &mut out, epilogue, options) {
        Ok(_) => {}
        Err(CudaGemmError::Library(_) | CudaGemmError::Unable { .. }) => return None,
        Err(why) => panic!("{g:?}: {why}"),
    }
    // Between the rows nothing is written: whole buffers are compared.
    let error = |got: &[O], want: &[f64]| relative_rms(&f64s(got), want);
    Some(error(&out.read().expect("a copy"), &want).max(error(&aux.read().expect("a copy"), &want_aux)))
}

/// Every epilogue, by number.
fn epilogue<P, M>(which: usize, bias: P, other: P, aux: M) -> Epilogue<P, M> {
    let activation = |f, bias, aux| Epilogue::Activation { f, bias, aux };
    match which {
        0 => Epilogue::None,
        1 => Epilogue::Bias(bias),
        2 => Epilogue::bias_gelu(bias),
        3 => Epilogue::Residual(other),
        4 => activation(Activation::GeluTanh, Some(bias), Some(aux)),
        5 => Epilogue::Gradient { f: Activation::GeluTanh, aux: other },
        6 => Epilogue::BiasResidual(bias, other),
        7 => activation(Activation::Relu, Some(bias), None),
        8 => activation(Activation::GeluTanh, None, Some(aux)),
        9 => activation(Activation::GeluErf, Some(bias), Some(aux)),
        10 => Epilogue::Gradient { f: Activation::GeluErf, aux: other },
        11 => activation(Activation::ReluSquared, None, Some(aux)),
        12 => Epilogue::Gradient { f: Activation::Relu, aux: other },
        15 => Epilogue::Bias(bias),
        _ => Epilogue::Gradient { f: Activation::ReluSquared, aux: other },
    }
}

/// Tolerances (relative RMS): f32 sums 4e-6 (cuBLASLt's GELU of small products reaches 2.0e-6); results rounded to f16 5e-4, to bf16 4e-3: half a unit in the last place,
/// which a single element may reach.
fn agrees<I, O>(tolerance: f64)
where
    I: Operand<Sum = f32> + Element,
    O: Output<Sum = f32> + Element,
{
    let Some(gpu) = gpu() else { return };
    let gemm = CudaGemm::new(&gpu);
    match gemm.library() {
        Ok(library) => println!("{}", library.describe()),
        Err(why) => skip(Need::Gpu, why),
    }
    for backend in BACKENDS {
        let (mut worst, mut ran, mut unable) = (0.0_f64, 0, 0);
        let sizes = SIZES.into_iter().flat_map(|size| [(size, true), (size, false)]);
        let layouts = sizes.enumerate().flat_map(|(s, (size, is_aligned))| {
            layouts(size, is_aligned).enumerate().filter(move |(i, _)| (i + s) % 2 == 0).map(move |(_, g)| (size, g))
        });
        for (case, (size, g)) in layouts.enumerate() {
            // 5 and 14 have no common factor: every epilogue has its turn.
            let which = case * 5 % 14;
            // A square doubles the relative error.
            let tolerance = tolerance * if which == 11 { 2.5 } else { 1.0 };
            let Some(e) = error::<I, O>(&gemm, &gpu, &g, which, Options::only(backend)) else {
                unable += 1;
                continue;
            };
            assert!(e < tolerance, "{backend}, {size:?}, epilogue {which}, {g:?}: {e:.1e}");
            worst = worst.max(e);
            ran += 1;
        }
        let is_narrow = size_of::<I>() == 2;
        let may_be_unable =
            matches!(backend, Backend::CublasLt | Backend::Wgmma) || backend == Backend::Wmma && !is_narrow;
        // Operands that are not aligned are left to others.
        assert!(backend != Backend::Wgmma || (ran > 0) == (is_narrow && gpu.capability == 90), "{backend}");
        assert!(may_be_unable || ran > 0 && unable == 0, "{backend}");
    }
}

#[test]
fn cuda_f32_agrees() {
    agrees::<f32, f32>(4e-6);
}

#[test]
fn cuda_bf16_agrees() {
    agrees::<Bf16, f32>(4e-6);
    agrees::<Bf16, Bf16>(4e-3);
}

#[test]
fn cuda_f16_agrees() {
    agrees::<F16, f32>(4e-6);
    agrees::<F16, F16>(5e-4);
}

/// Results of 16 bits that wgmma writes by boxes: more tiles than multiprocessors, whose last ones have 8 columns and ragged rows, in two
/// levels of batches, and smaller ones in every layout of the operands. Plain, with a bias, with a bias and a GELU.
#[test]
fn cuda_wgmma_writes_boxes() {
    let Some(gpu) = gpu() else { return };
    let gemm = CudaGemm::new(&gpu);
    let of_many = layouts((1100, 1032, 8), true).skip(1).take(1).map(|g| (g, &[0, 2][..]));
    let of_few = layouts((100, 328, 16), true).take(4).map(|g| (g, &[0, 2, 15][..]));
    for (g, epilogues) in of_many.chain(of_few) {
        for which in epilogues {
            let options = Options::only(Backend::Wgmma);
            let errors = [
                (error::<Bf16, Bf16>(&gemm, &gpu, &g, *which, options), 4e-3),
                (error::<F16, F16>(&gemm, &gpu, &g, *which, options), 5e-4),
            ];
            for (e, tolerance) in errors {
                assert_eq!(e.is_some(), gpu.capability == 90);
                assert!(e.is_none_or(|e| e < tolerance), "epilogue {which}, {g:?}: {e:?}");
            }
        }
    }
}

/// Scores and sums of values of all heads of two sequences, strided in `[sequences, tokens, 3, heads, size]` and
/// `[sequences, tokens, heads, size]`.
#[test]
fn cuda_heads_of_attention_agree() {
    let Some(gpu) = gpu() else { return };
    let gemm = CudaGemm::new(&gpu);
    let (sequences, tokens, heads, size) = (2, 200, 6, 64);
    let (width, token) = (heads * size, 3 * heads * size);
    let head = Layout::rows(token).stride(size).outer(tokens * token);
    let inside = Layout::rows(tokens).stride(tokens * tokens).outer(heads * tokens * tokens);
    let new = |m, n, k, a, b, c| Gemm::<f32> { batch: heads, outer: sequences, a, b, c, ..Gemm::new(m, n, k) };
    let scores = new(tokens, tokens, size, head, head.transposed(), inside).scaled(0.125, 0.0);
    let out = Layout::rows(width).stride(size).outer(tokens * width);
    let values = new(tokens, size, tokens, inside, head, out);
    let bf16 = |len: usize, seed: u64| -> Vec<Bf16> { numbers(len, seed).into_iter().map(Bf16::from_f32).collect() };
    let qkv = bf16(sequences * tokens * token, 1);
    let weights = bf16(sequences * heads * tokens * tokens, 2);
    let f64s = |x: &[f32]| -> Vec<f64> { x.iter().map(|x| f64::from(*x)).collect() };
    for (g, a, b) in [(scores, &qkv[..], &qkv[width..]), (values, &weights, &qkv[2 * width..])] {
        let mut want = vec![0.0; g.c.extent(g.m, g.n, g.batches()).expect("small")];
        cpu::gemm(&g, a, b, &mut want, Epilogue::None).expect("it fits");
        let (a, b) = (Buf::from_slice(&gpu, "a", a).expect("memory"), Buf::from_slice(&gpu, "b", b).expect("memory"));
        for backend in BACKENDS {
            let mut out = Buf::from_slice(&gpu, "c", &vec![f32::NAN; want.len()]).expect("memory");
            match gemm.run(&mut Pass::default(), &g, (&a, &b), &mut out, Epilogue::None, Options::only(backend)) {
                Ok(_) => {
                    let e = relative_rms(&f64s(&out.read().expect("a copy")), &f64s(&want));
                    assert!(e < 4e-6, "{backend}, {g:?}: {e:.1e}");
                }
                Err(CudaGemmError::Library(_)) => assert_eq!(backend, Backend::CublasLt),
                Err(CudaGemmError::Unable { .. }) if gpu.capability != 90 => assert_eq!(backend, Backend::Wgmma),
                Err(why) => panic!("{backend}, {g:?}: {why}"),
            }
        }
    }
}

#[test]
fn cuda_bytes_are_exact_on_every_backend() {
    let Some(gpu) = gpu() else { return };
    let gemm = CudaGemm::new(&gpu);
    for (m, n, k) in SIZES {
        for g in [Gemm::<i32>::new(m, n, k), Gemm::new(m, n, k).transposed_b(), Gemm::new(m, n, k).transposed_a()] {
            let g = g.batch(2).scaled(3, -1);
            let bytes =
                |len: usize, seed: u64| -> Vec<i8> { numbers(len, seed).iter().map(|x| (x * 128.0) as i8).collect() };
            let (a, b) = (bytes(2 * m * k, 1), bytes(2 * k * n, 2));
            let c: Vec<i32> = (0..2 * (m * n) as i32).collect();
            let mut want = c.clone();
            cpu::gemm(&g, &a, &b, &mut want, Epilogue::None).expect("it fits");
            let (da, db) =
                (Buf::from_slice(&gpu, "a", &a).expect("memory"), Buf::from_slice(&gpu, "b", &b).expect("memory"));
            for backend in BACKENDS.map(Some).into_iter().chain([None]) {
                let mut out = Buf::from_slice(&gpu, "c", &c).expect("memory");
                let options = Options { backend, is_required: backend.is_some(), tf32: false };
                match gemm.run(&mut Pass::default(), &g, (&da, &db), &mut out, Epilogue::None, options) {
                    Ok(_) => assert_eq!(out.read().expect("a copy"), want, "{backend:?} {g:?}"),
                    Err(CudaGemmError::Library(_) | CudaGemmError::Unable { .. }) => assert!(backend.is_some()),
                    Err(why) => panic!("{why}"),
                }
            }
        }
    }
}

/// 0x1A2B3C, 0x1A2B3E: relative RMS 1e-6 on every backend, of a batch, too; a sum that loses its last terms is another one.
#[test]
fn golden_transformer_gemm_cuda() {
    let Some(gpu) = gpu() else { return };
    let gemm = CudaGemm::new(&gpu);
    for golden in golden::all("transformer", "gemm") {
        let names = (0..64).map(|i| i.to_string()).chain(["b".to_owned()]);
        let products = names.map(|i| [format!("A{i}"), format!("Bt{i}"), format!("C{i}")]);
        for [a, b, c] in products.filter(|[a, ..]| golden.has(a)) {
            let ([.., m, k], [.., n, _]) = (&golden.shape(&a)[..], &golden.shape(&b)[..]) else { panic!("matrices") };
            let g = Gemm::<f32>::new(*m, *n, *k).transposed_b().batch(golden.get(&c).len() / (m * n));
            let [a, b] = [a, b].map(|name| golden.get(&name).iter().map(|x| *x as f32).collect::<Vec<f32>>());
            for backend in BACKENDS {
                let compare = |name: &str, got: Option<Vec<f64>>| {
                    let Some(e) = got.map(|got| exact_relative_rms(&got, golden.get(name))) else { return };
                    assert!(e < 1e-6, "{name} on {backend}: {e:.1e}");
                };
                if golden.has(&format!("{c}_fp16in")) {
                    compare(&format!("{c}_fp16in"), product::<F16>(&gemm, &gpu, &g, &a, &b, backend));
                    compare(&format!("{c}_bf16in"), product::<Bf16>(&gemm, &gpu, &g, &a, &b, backend));
                }
                if backend != Backend::TensorCores {
                    compare(&c, product::<f32>(&gemm, &gpu, &g, &a, &b, backend));
                }
            }
            if *k > 64 {
                let short = Gemm {
                    k: k / 2,
                    a: Layout::rows(*k).stride(m * k),
                    b: Layout::rows(*k).transposed().stride(n * k),
                    ..g
                };
                let got = product::<f32>(&gemm, &gpu, &short, &a, &b, Backend::Simt).expect("it runs everywhere");
                assert!(exact_relative_rms(&got, golden.get(&c)) > 0.1, "half of the sum");
            }
        }
    }
}

/// One case of `cuda_every_operation_agrees`: any sizes, transposes and batch, on every backend; operands that T holds exactly.
pub fn compare_random<T: Number + Operand<Sum = f32>>(case: &mut Case) {
    let sizes = [1, 3, 8, 16, 17, 31, 64, 65, 100, 128, 130, 200];
    let [m, n, k] = [0; 3].map(|_| case.one_of(&sizes));
    let mut g = Gemm::<f32>::new(m, n, k);
    if case.whole(0, 1) == 0 {
        g = g.transposed_a();
    }
    if case.whole(0, 1) == 0 {
        g = g.transposed_b();
    }
    let g = g.batch(case.whole(1, 3)).scaled(case.one_of(&[1.0, 0.5]), 0.0);
    case.text += &format!(": {g:?}");
    let (a, b) = (case.numbers::<T>(g.batch * m * k), case.numbers::<T>(g.batch * k * n));
    let mut want = vec![0.0; g.batch * m * n];
    let g64 = g.with_scales(f64::from(g.alpha), 0.0);
    cpu::gemm(&g64, &wide(&a), &wide(&b), &mut want, Epilogue::None).expect("it fits");
    let (gemm, gpu) = (case.loaded(CudaGemm::new), case.gpu.clone());
    for backend in BACKENDS {
        // Tensor cores round f32 to tf32.
        if size_of::<T>() == 4 && backend == Backend::TensorCores {
            continue;
        }
        let Some(got) = product::<T>(&gemm, &gpu, &g, &a, &b, backend) else { continue };
        let got: Vec<f32> = got.into_iter().map(|x| x as f32).collect();
        // Of sums that nearly cancel, the error relative to terms of the size of 1/3.
        let terms: Vec<f64> = want.iter().map(|w| w.abs().max((k as f64).sqrt() / 3.0).copysign(*w)).collect();
        let off = exact_relative_rms(
            &got.iter().zip(&want).zip(&terms).map(|((g, w), t)| f64::from(*g) - w + t).collect::<Vec<_>>(),
            &terms,
        );
        case.note(&format!("{backend}"), off, 1e-6);
        assert!(off < 1e-6, "{backend}: {off:.1e}: {}", case.text);
    }
}

/// A product with f32 results; `None` where the backend is absent or unable.
fn product<I: Operand<Sum = f32> + Element>(
    gemm: &CudaGemm,
    gpu: &std::sync::Arc<neuropil::gpu::Gpu>,
    g: &Gemm<f32>,
    a: &[f32],
    b: &[f32],
    backend: Backend,
) -> Option<Vec<f64>> {
    let buffer = |x: &[f32]| {
        let x: Vec<I> = x.iter().map(|x| I::from_f32(*x)).collect();
        Buf::from_slice(gpu, "operand", &x).expect("memory")
    };
    let (a, b, mut c) = (buffer(a), buffer(b), Buf::<f32>::zeros(gpu, "c", g.batch * g.m * g.n).expect("memory"));
    let options = Options::only(backend);
    match gemm.run(&mut Pass::default(), g, (&a, &b), &mut c, Epilogue::None, options) {
        Ok(_) => Some(c.read().expect("a copy").iter().map(|x| f64::from(*x)).collect()),
        Err(CudaGemmError::Library(_) | CudaGemmError::Unable { .. }) => None,
        Err(why) => panic!("{why}"),
    }
}

/// Few tiles of long sums are added up in pieces, one after the other: the same bits each time. And more tiles than
/// multiprocessors, whose blocks multiply several.
#[test]
fn cuda_wgmma_adds_pieces_in_order() {
    let Some(gpu) = gpu() else { return };
    let gemm = CudaGemm::new(&gpu);
    if gpu.capability != 90 {
        return skip(Need::Gpu, "wgmma needs compute capability 9.0");
    }
    let cases = [
        Gemm::<f32>::new(200, 136, 20_000).transposed_a().scaled(0.5, 1.0),
        Gemm::new(64, 64, 9_000).transposed_a().transposed_b().batch(2),
        Gemm::new(2048, 2304, 96).transposed_b(),
    ];
    for g in cases {
        let matrices = g.batch;
        let bf16 =
            |len: usize, seed: u64| -> Vec<Bf16> { numbers(len, seed).into_iter().map(Bf16::from_f32).collect() };
        let (a, b) = (bf16(matrices * g.m * g.k, 1), bf16(matrices * g.k * g.n, 2));
        let old = numbers(matrices * g.m * g.n, 3);
        let buffer = |x: &[Bf16]| Buf::from_slice(&gpu, "operand", x).expect("memory");
        let (a, b) = (buffer(&a), buffer(&b));
        let run = |backend: Backend| {
            let mut out = Buf::from_slice(&gpu, "out", &old).expect("memory");
            let options = Options::only(backend);
            gemm.run(&mut Pass::default(), &g, (&a, &b), &mut out, Epilogue::None, options).expect("aligned");
            out.read().expect("a copy")
        };
        let wide = |x: Vec<f32>| -> Vec<f64> { x.into_iter().map(f64::from).collect() };
        let (first, again) = (run(Backend::Wgmma), run(Backend::Wgmma));
        assert!(first.iter().zip(&again).all(|(a, b)| a.to_bits() == b.to_bits()), "{g:?}");
        let e = relative_rms(&wide(first), &wide(run(Backend::TensorCores)));
        assert!(e < 2e-6 * (g.k as f64).sqrt().max(10.0) / 10.0, "{g:?}: {e:.1e}");
    }
}
