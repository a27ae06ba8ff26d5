//! Groups of sizes known on the device, scaled bytes, and the choice of an implementation, on a GPU.

use super::cuda_gemm::{BACKENDS, numbers, relative_rms};
use crate::device::gpu;
use neuropil::{
    gpu::{Buf, Gpu, Pass},
    nn::{
        activation::Activation,
        gemm::{
            Epilogue, Gemm, Scales, Split, cpu,
            cuda::{Backend, CudaGemm, CudaGemmError, Implementation, Operand, Options, Output},
        },
    },
    num::elements::{Bf16, Element, F16},
};
use neuropil_test_support::temp::TempFolder;
use std::sync::Arc;

fn f64s<T: Element>(x: &[T]) -> Vec<f64> {
    x.iter().map(|x| f64::from(x.to_f32())).collect()
}

fn rounded<T: Element>(len: usize, seed: u64) -> Vec<T> {
    numbers(len, seed).into_iter().map(T::from_f32).collect()
}

/// Experts without rows, with one, with many; rows before the first and behind the last belong to none.
const OFFSETS: [u32; 8] = [3, 3, 4, 70, 70, 133, 400, 517];
const ROWS: usize = 530;
const GROUPS: usize = 7;

/// Forward, both gradients: error of each, relative RMS.
fn errors<I, O>(gpu: &Arc<Gpu>, gemm: &CudaGemm, (n, k): (usize, usize), backend: Backend) -> [f64; 3]
where
    I: Operand<Sum = f32> + Element,
    O: Output<Sum = f32> + Element,
{
    let (x, w, dy) = (rounded::<I>(ROWS * k, 1), rounded::<I>(GROUPS * n * k, 2), rounded::<I>(ROWS * n, 3));
    let (bias, old) = (rounded::<O>(GROUPS * n, 4), rounded::<O>((GROUPS * n * k).max(ROWS * n.max(k)), 5));
    let forward = Gemm::<f32>::new(ROWS, n, k).transposed_b().groups(Split::Rows, GROUPS);
    let by_x = Gemm::<f32>::new(ROWS, k, n).groups(Split::Rows, GROUPS);
    let by_w = Gemm::<f32>::new(n, k, ROWS).transposed_a().scaled(1.0, 1.0).groups(Split::Depth, GROUPS);
    let upload = |x: &[I]| Buf::from_slice(gpu, "operand", x).expect("memory");
    let offsets = Buf::from_slice(gpu, "offsets", &OFFSETS).expect("memory");
    let device_bias = Buf::from_slice(gpu, "bias", &bias).expect("memory");
    let run = |g: &Gemm<f32>, split: Split, a: &[I], b: &[I], len: usize, has_bias: bool| {
        let (old, bias64) = (&old[..len], f64s(&bias));
        let mut want = f64s(old);
        let activation = |bias| Epilogue::Activation { f: Activation::GeluTanh, bias: Some(bias), aux: None };
        let epilogue = if has_bias { activation(&bias64[..]) } else { Epilogue::None };
        let g64 = g.with_scales(1.0, f64::from(g.beta));
        cpu::groups(&g64, (split, &OFFSETS), (&f64s(a), &f64s(b)), &mut want, epilogue).expect("it fits");
        let mut out = Buf::from_slice(gpu, "out", old).expect("memory");
        let epilogue = if has_bias {
            Epilogue::Activation { f: Activation::GeluTanh, bias: Some(&*device_bias), aux: None }
        } else {
            Epilogue::None
        };
        let (a, b) = (upload(a), upload(b));
        // wgmma exists on one generation, and its operands are aligned groups of rows.
        let is_other = backend == Backend::Wgmma
            && (gpu.capability != 90 || split == Split::Depth || !n.is_multiple_of(8) || !k.is_multiple_of(8));
        let options = Options { backend: Some(backend), is_required: !is_other, tf32: false };
        let used = gemm.run_groups(&mut Pass::default(), g, (split, &offsets), (&a, &b), &mut out, epilogue, options);
        assert_eq!(used.expect("groups") == backend, !is_other);
        relative_rms(&f64s(&out.read().expect("a copy")), &want)
    };
    [
        run(&forward, Split::Rows, &x, &w, ROWS * n, true),
        run(&by_x, Split::Rows, &dy, &w, ROWS * k, false),
        run(&by_w, Split::Depth, &dy, &x, GROUPS * n * k, false),
    ]
}

#[test]
fn cuda_groups_of_rows_agree() {
    let Some(gpu) = gpu() else { return };
    let gemm = CudaGemm::new(&gpu);
    let sizes = [(64, 64), (128, 96), (200, 72), (33, 35)];
    for size in sizes {
        for backend in [Backend::Wgmma, Backend::TensorCores, Backend::Simt] {
            for (what, limit, e) in [
                ("bf16", 4e-3, errors::<Bf16, Bf16>(&gpu, &gemm, size, backend)),
                ("bf16 into f32", 4e-6, errors::<Bf16, f32>(&gpu, &gemm, size, backend)),
                ("f16", 5e-4, errors::<F16, F16>(&gpu, &gemm, size, backend)),
            ] {
                assert!(e.iter().all(|e| *e < limit), "{size:?} {what} on {backend}: {e:?}");
            }
        }
        let e = errors::<f32, f32>(&gpu, &gemm, size, Backend::Simt);
        assert!(e.iter().all(|e| *e < 4e-6), "{size:?}: {e:?}");
    }
}

#[test]
fn cuda_scaled_bytes_agree() {
    let Some(gpu) = gpu() else { return };
    let gemm = CudaGemm::new(&gpu);
    let bytes = |len: usize, seed: u64| -> Vec<i8> { numbers(len, seed).iter().map(|x| (x * 128.0) as i8).collect() };
    for (m, n, k) in [(64, 128, 64), (37, 70, 129), (300, 520, 256), (1, 16, 32)] {
        for g in [Gemm::<f32>::new(m, n, k).transposed_b(), Gemm::new(m, n, k)] {
            let g = g.batch(2).scaled(0.5, 1.0);
            let (a, b) = (bytes(2 * m * k, 1), bytes(2 * k * n, 2));
            let (rows, columns, bias) = (numbers(2 * m, 3), numbers(2 * n, 4), numbers(n, 5));
            let old = numbers(2 * m * n, 6);
            let mut want = old.clone();
            let scales = Scales { rows: Some(&rows[..]), columns: Some(&columns[..]) };
            cpu::scaled(&g, scales, (&a, &b), &mut want, Epilogue::Bias(&bias[..])).expect("it fits");
            let upload = |x: &[f32]| Buf::from_slice(&gpu, "f32", x).expect("memory");
            let (rows, columns, bias) = (upload(&rows), upload(&columns), upload(&bias));
            let (a, b) =
                (Buf::from_slice(&gpu, "a", &a).expect("memory"), Buf::from_slice(&gpu, "b", &b).expect("memory"));
            for backend in [Backend::TensorCores, Backend::Simt] {
                let mut out = upload(&old);
                let scales = Scales { rows: Some(&*rows), columns: Some(&*columns) };
                let (operands, options) = ((&*a, &*b), Options::only(backend));
                let epilogue = Epilogue::Bias(&*bias);
                let used = gemm.run_scaled(&mut Pass::default(), &g, scales, operands, &mut out, epilogue, options);
                assert_eq!(used.expect("scaled"), backend);
                let e = relative_rms(&f64s(&out.read().expect("a copy")), &f64s(&want));
                assert!(e < 1e-6, "{m}x{n}x{k} on {backend}: {e:.1e}");
                let mut out = Buf::<Bf16>::zeros(&gpu, "bf16", 2 * m * n).expect("memory");
                let g = g.scaled(0.5, 0.0);
                let scales = Scales { rows: Some(&*rows), columns: None };
                let run =
                    gemm.run_scaled(&mut Pass::default(), &g, scales, operands, &mut out, Epilogue::None, options);
                run.expect("scaled into bf16");
            }
        }
    }
}

/// What cannot be used is replaced, with a message; what is required is an error.
#[test]
fn cuda_backends_fall_back() {
    let Some(gpu) = gpu() else { return };
    let gemm = CudaGemm::new(&gpu);
    let g = Gemm::<f32>::new(64, 64, 64);
    let x = Buf::from_slice(&gpu, "x", &numbers(64 * 64, 1)).expect("memory");
    let mut out = Buf::<f32>::zeros(&gpu, "out", 64 * 64).expect("memory");
    let mut run = |options: Options| gemm.run(&mut Pass::default(), &g, (&x, &x), &mut out, Epilogue::None, options);
    let required = run(Options::only(Backend::Wmma));
    assert!(matches!(required, Err(CudaGemmError::Unable { backend: Backend::Wmma, .. })), "{required:?}");
    let instead = run(Options { backend: Some(Backend::Wmma), ..Options::default() }).expect("another backend");
    assert_ne!(instead, Backend::Wmma);
    let wanted = run(Options { backend: Some(Backend::CublasLt), ..Options::default() }).expect("some backend");
    assert_eq!(wanted != Backend::CublasLt, gemm.notice(Some(Backend::CublasLt)).is_some());
}

#[test]
fn cuda_tuning_keeps_the_fastest_and_a_file_has_it() {
    let Some(gpu) = gpu() else { return };
    let gemm = CudaGemm::new(&gpu);
    let product = Gemm::<f32>::new(2048, 768, 768).transposed_b();
    let chosen = gemm.tune::<Bf16, Bf16>(&product, Epilogue::Bias(()), Options::default()).expect("timed");
    assert_eq!(gemm.choices().len(), 1);
    let temp = TempFolder::new("tuning");
    let path = temp.join("tuning");
    gemm.write_choices(&path).expect("a file");
    let other = CudaGemm::new(&gpu);
    assert_eq!(other.read_choices(&path).expect("a file"), 1);
    assert_eq!(other.choices(), gemm.choices());
    // The first run of another multiplication is timed, and a file has it too.
    assert_eq!(other.tune_automatically(path.clone()).expect("a file"), 0);
    let first = Buf::from_slice(&gpu, "x", &rounded::<Bf16>(256 * 256, 1)).expect("memory");
    let mut product_of_first = Buf::<Bf16>::zeros(&gpu, "out", 256 * 256).expect("memory");
    let small = Gemm::<f32>::new(256, 256, 256);
    let (pass, options) = (&mut Pass::default(), Options::default());
    other.run(pass, &small, (&first, &first), &mut product_of_first, Epilogue::None, options).expect("it runs");
    assert_eq!(CudaGemm::new(&gpu).read_choices(&path).expect("a file"), 2);
    // A choice is followed, whatever is fastest.
    let simt = CudaGemm::new(&gpu);
    let name = gemm.choices()[0].0.clone();
    simt.set_choices([(name.as_str(), "simt"), ("attention", "naive")]);
    let x = Buf::from_slice(&gpu, "x", &rounded::<Bf16>(2048 * 768, 1)).expect("memory");
    let mut out = Buf::<Bf16>::zeros(&gpu, "out", 2048 * 768).expect("memory");
    let bias = Buf::<Bf16>::zeros(&gpu, "bias", 768).expect("memory");
    for (gemm, want) in [(&simt, Backend::Simt), (&gemm, chosen.backend())] {
        let epilogue = Epilogue::Bias(&*bias);
        let used = gemm.run(&mut Pass::default(), &product, (&x, &x), &mut out, epilogue, Options::default());
        assert_eq!(used.expect("it runs"), want);
    }
    assert!(Implementation::ALL.contains(&chosen));
    assert!(BACKENDS.contains(&chosen.backend()));
}
