//! Attention at the sizes of the specification: every head dimension that it names, and 1,024 tokens of normally distributed
//! numbers, beside an implementation that stores scores and probabilities in the format of its inputs.

use super::{attention::relative_rms, cuda_every_operation::Number};
use crate::device::gpu;
use neuropil::{
    gpu::{Arena, Buf, Gpu, Pass},
    nn::{
        attention::{
            Attention, Gradients, Inputs, cpu,
            cuda::{CudaAttention, CudaAttentionError, Variant},
        },
        gemm::{Epilogue, Gemm, cpu::gemm},
        storage::Format,
    },
    num::{
        elements::{Bf16, F16},
        rng::{Draw, Purpose},
    },
};
use std::sync::Arc;

/// Normally distributed, representable in `T`.
fn normal<T: Number>(len: usize, seed: u64) -> Vec<T> {
    let pair = |lane: usize| {
        let [a, b, ..] = Draw { seed, purpose: Purpose::Choice, step: 0, lane: lane as u32 }.words();
        let unit = |word: u32| (f64::from(word) + 0.5) / 4_294_967_296.0;
        let (radius, angle) = ((-2.0 * unit(a).ln()).sqrt(), std::f64::consts::TAU * unit(b));
        [radius * angle.cos(), radius * angle.sin()]
    };
    (0..len.div_ceil(2)).flat_map(pair).take(len).map(|x| T::round(x as f32)).collect()
}

fn wide<T: Number>(x: &[T]) -> Vec<f64> {
    x.iter().map(|x| x.widen().into()).collect()
}

/// o, dq, dk, dv of packed projections.
type Results = [Vec<f64>; 4];

/// Divides packed gradients, `[batch, tokens, 3, heads, dim]`.
fn divided(op: &Attention, o: Vec<f64>, dqkv: &[f64]) -> Results {
    let width = op.heads * op.head_dim;
    let part =
        |i: usize| dqkv.chunks_exact(3 * width).flat_map(|row| row[i * width..(i + 1) * width].to_vec()).collect();
    [o, part(0), part(1), part(2)]
}

fn in_f64(op: &Attention, qkv: &[f64], d_o: &[f64]) -> Results {
    let (mut o, mut lse, mut dqkv) = (vec![0.0; d_o.len()], vec![0.0; op.lse_len()], vec![0.0; qkv.len()]);
    let inputs = Inputs::packed(qkv);
    cpu::forward(op, &inputs, &mut o, &mut lse).expect("it fits");
    cpu::backward(op, &inputs, (&o, &lse), d_o, Gradients::Packed(&mut dqkv[..]), None).expect("it fits");
    divided(op, o, &dqkv)
}

/// `None` where the variant cannot.
fn on_gpu<T: Number>(
    gpu: &Arc<Gpu>,
    cuda: &CudaAttention,
    variant: Variant,
    op: &Attention,
    qkv: &[T],
    d_o: &[T],
) -> Option<Results> {
    let upload = |x: &[T]| Buf::from_slice(gpu, "attention", x).expect("memory");
    let (qkv, d_o) = (upload(qkv), upload(d_o));
    let [mut o, mut dqkv] = [d_o.len(), qkv.len()].map(|n| Buf::<T>::zeros(gpu, "attention", n).expect("memory"));
    let mut lse = Buf::<f32>::zeros(gpu, "attention", op.lse_len()).expect("memory");
    let mut arena = Arena::new(gpu, "attention", cuda.scratch_bytes(op).max(256)).expect("memory");
    let (inputs, pass) = (Inputs::packed(&*qkv), &mut Pass::default());
    match cuda.forward(pass, op, &inputs, &mut o, &mut lse, Some(variant), &arena.frame()) {
        Ok(_) => {}
        Err(CudaAttentionError::Unable { .. }) => return None,
        Err(why) => panic!("{op:?}: {why}"),
    }
    let gradients = Gradients::Packed(&mut *dqkv);
    cuda.backward(pass, op, &inputs, (&o, &lse), &d_o, gradients, None, Some(variant), &arena.frame())
        .expect("it runs");
    let read = |x: &Buf<T>| wide(&x.read().expect("a copy"));
    Some(divided(op, read(&o), &read(&dqkv)))
}

/// Relative RMS of o and of gradients, and the largest difference of o, of the specification.
const fn tolerances<T: Number>() -> [f64; 3] {
    match T::STORAGE {
        Format::F32 => [1e-6, 2e-6, 1e-5],
        Format::F16 => [6e-4, 7e-4, 4e-3],
        Format::Bf16 => [5e-3, 6e-3, 2.5e-2],
    }
}

const VARIANTS: [Variant; 3] = [Variant::Hopper, Variant::Flash, Variant::Naive];
const NAMES: [&str; 4] = ["o", "dq", "dk", "dv"];

/// Packed projections, the gradient of the output, and what follows from them.
struct Case<T> {
    qkv: Vec<T>,
    d_o: Vec<T>,
    want: Results,
}

impl<T: Number> Case<T> {
    fn new(op: &Attention, seed: u64) -> Self {
        let (qkv, d_o) = (normal::<T>(op.batch * op.q.batch, seed), normal::<T>(op.batch * op.o.batch, seed + 1));
        let want = in_f64(op, &wide(&qkv), &wide(&d_o));
        Self { qkv, d_o, want }
    }
}

/// Each variant within the tolerances of its format; the largest difference of each result.
fn check<T: Number>(gpu: &Arc<Gpu>, op: &Attention, case: &Case<T>) -> Vec<(Variant, [f64; 4])> {
    let cuda = CudaAttention::new(gpu);
    let Case { qkv, d_o, want } = case;
    let [of_o, of_gradients, largest] = tolerances::<T>();
    let mut differences = vec![];
    for variant in VARIANTS {
        let Some(got) = on_gpu(gpu, &cuda, variant, op, qkv, d_o) else { continue };
        let errors: [f64; 4] = std::array::from_fn(|i| relative_rms(&got[i], &want[i]));
        let most: [f64; 4] = std::array::from_fn(|i| largest_difference(&got[i], &want[i]));
        for (i, error) in errors.into_iter().enumerate() {
            let limit = if i == 0 { of_o } else { of_gradients };
            assert!(error <= limit, "{} of {variant:?}, {:?}, {op:?}: {error:.1e}", NAMES[i], T::STORAGE);
        }
        assert!(most[0] <= largest, "{variant:?}, {:?}, {op:?}: {:.1e}", T::STORAGE, most[0]);
        differences.push((variant, most));
    }
    assert!(!differences.is_empty());
    differences
}

fn largest_difference(got: &[f64], want: &[f64]) -> f64 {
    got.iter().zip(want).map(|(g, w)| (g - w).abs()).fold(0.0, |most, d| if d <= most { most } else { d })
}

/// 0x4D5E6F: the scale follows from the head dimension, or is the one that is set.
#[test]
fn cuda_attention_of_every_head_dimension_agrees() {
    let Some(gpu) = gpu() else { return };
    for dim in [16, 32, 48, 64, 80, 96, 128] {
        for scale in [None, Some(0.3)] {
            let mut op = Attention::packed_qkv(2, 100, 2, 2, dim).causal();
            assert_eq!(op.scale, 1.0 / (dim as f32).sqrt());
            op.scale = scale.unwrap_or(op.scale);
            check(&gpu, &op, &Case::<f32>::new(&op, dim as u64));
            check(&gpu, &op, &Case::<F16>::new(&op, dim as u64));
            check(&gpu, &op, &Case::<Bf16>::new(&op, dim as u64));
        }
    }
}

/// Gradients of queries by atomics are within the tolerances of those in order; gradients of keys and values are the same bits.
#[test]
fn cuda_gradients_by_atomics_differ_in_rounding_alone() {
    let Some(gpu) = gpu() else { return };
    let fixed = CudaAttention::new(&gpu);
    let fast = CudaAttention::new(&gpu).with_fast_nondeterministic(true);
    for (dim, causal) in [(64, true), (128, true), (64, false), (128, false), (40, true), (96, false)] {
        let mut op = Attention::packed_qkv(2, 700, 3, 3, dim);
        op.causal = causal;
        let Case { qkv, d_o, .. } = Case::<Bf16>::new(&op, dim as u64);
        let of = |cuda: &CudaAttention| on_gpu(&gpu, cuda, Variant::Hopper, &op, &qkv, &d_o);
        let (Some(want), Some(got)) = (of(&fixed), of(&fast)) else { continue };
        let error = relative_rms(&got[1], &want[1]);
        assert!(error < tolerances::<Bf16>()[1], "heads of {dim}, causal {causal}: {error:.1e}");
        for i in [0, 2, 3] {
            assert!(got[i] == want[i], "{} of heads of {dim}, causal {causal}", NAMES[i]);
        }
    }
}

/// Attention of one sequence that rounds scores, probabilities, and their gradients to `T`, as separate operations would.
fn in_parts<T: Number>(op: &Attention, qkv: &[T], d_o: &[T]) -> Results {
    let (n, dim, width) = (op.q_len, op.head_dim, op.heads * op.head_dim);
    let round = |x: f64| f64::from(T::round(x as f32).widen());
    let multiply = |op: Gemm<f64>, a: &[f64], b: &[f64]| {
        let mut c = vec![0.0; op.m * op.n];
        gemm(&op, a, b, &mut c, Epilogue::None).expect("it fits");
        c.iter_mut().for_each(|x| *x = round(*x));
        c
    };
    let (by_key, by_row, by_column) =
        (Gemm::new(n, n, dim).transposed_b(), Gemm::new(n, dim, n), Gemm::new(n, dim, n).transposed_a());
    let scale = f64::from(op.scale);
    let (mut o, mut dqkv) = (vec![0.0; n * width], vec![0.0; 3 * n * width]);
    for head in 0..op.heads {
        let rows = |x: &[T], first: usize| -> Vec<f64> {
            x.chunks_exact(x.len() / n).flat_map(|row| wide(&row[first..first + dim])).collect()
        };
        let [q, k, v] = [0, 1, 2].map(|part| rows(qkv, part * width + head * dim));
        let grad = rows(d_o, head * dim);
        let (mut p, mut ds) = (multiply(by_key, &q, &k), multiply(by_key, &grad, &v));
        for (i, (p, ds)) in p.chunks_exact_mut(n).zip(ds.chunks_exact_mut(n)).enumerate() {
            let (p, hidden) = p.split_at_mut(if op.causal { i + 1 } else { n });
            hidden.fill(0.0);
            p.iter_mut().for_each(|s| *s = round(scale * *s));
            let most = p.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            p.iter_mut().for_each(|s| *s = (*s - most).exp());
            let sum: f64 = p.iter().sum();
            p.iter_mut().for_each(|x| *x = round(*x / sum));
            let (ds, hidden) = ds.split_at_mut(p.len());
            hidden.fill(0.0);
            let delta: f64 = p.iter().zip(&*ds).map(|(p, dp)| p * dp).sum();
            ds.iter_mut().zip(&*p).for_each(|(d, p)| *d = round(scale * round(p * (*d - delta))));
        }
        let store = |to: &mut [f64], first: usize, x: &[f64]| {
            let row = to.len() / n;
            to.chunks_exact_mut(row)
                .zip(x.chunks_exact(dim))
                .for_each(|(to, x)| to[first..first + dim].copy_from_slice(x));
        };
        store(&mut o, head * dim, &multiply(by_row, &p, &v));
        let gradients = [multiply(by_row, &ds, &k), multiply(by_column, &ds, &q), multiply(by_column, &p, &grad)];
        gradients.iter().enumerate().for_each(|(part, x)| store(&mut dqkv, part * width + head * dim, x));
    }
    divided(op, o, &dqkv)
}

/// 0x6F7082: 1,024 tokens; the largest differences from f64 are at most twice those of the operations one by one.
#[test]
fn cuda_flash_attention_is_as_exact_as_separate_operations() {
    fn compare<T: Number>(gpu: &Arc<Gpu>, op: &Attention) {
        let case = Case::<T>::new(op, 5);
        let parts = in_parts(op, &case.qkv, &case.d_o);
        let parts: [f64; 4] = std::array::from_fn(|i| largest_difference(&parts[i], &case.want[i]));
        for (variant, most) in check(gpu, op, &case) {
            assert!(most.iter().zip(parts).all(|(e, parts)| *e <= 2.0 * parts), "{variant:?}: {most:?} {parts:?}");
        }
    }
    let Some(gpu) = gpu() else { return };
    for op in [Attention::packed_qkv(1, 1024, 1, 1, 64), Attention::packed_qkv(1, 1024, 1, 1, 128).causal()] {
        check(&gpu, &op, &Case::<f32>::new(&op, 5));
        compare::<F16>(&gpu, &op);
        compare::<Bf16>(&gpu, &op);
    }
}
