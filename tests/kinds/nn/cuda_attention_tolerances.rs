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

/// Each variant within the tolerances of its format; the largest difference of each result.
fn check<T: Number>(gpu: &Arc<Gpu>, op: &Attention, seed: u64) -> Vec<(Variant, [f64; 4])> {
    let cuda = CudaAttention::new(gpu);
    let (qkv, d_o) = (normal::<T>(op.batch * op.q.batch, seed), normal::<T>(op.batch * op.o.batch, seed + 1));
    let want = in_f64(op, &wide(&qkv), &wide(&d_o));
    let [of_o, of_gradients, largest] = tolerances::<T>();
    let mut differences = vec![];
    for variant in VARIANTS {
        let Some(got) = on_gpu(gpu, &cuda, variant, op, &qkv, &d_o) else { continue };
        let errors: [f64; 4] = std::array::from_fn(|i| relative_rms(&got[i], &want[i]));
        let most: [f64; 4] = std::array::from_fn(|i| largest_difference(&got[i], &want[i]));
        println!(
            "{:?} {variant:?}, heads of {}, {} tokens, causal {}: o, dq, dk, dv {} of {of_o:.0e}, {of_gradients:.0e}; \
             largest difference {} of {largest:.0e}",
            T::STORAGE,
            op.head_dim,
            op.q_len,
            op.causal,
            brief(&errors),
            brief(&most)
        );
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

fn brief(errors: &[f64]) -> String {
    errors.iter().map(|e| format!("{e:.1e}")).collect::<Vec<_>>().join(" ")
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
            check::<f32>(&gpu, &op, dim as u64);
            check::<F16>(&gpu, &op, dim as u64);
            check::<Bf16>(&gpu, &op, dim as u64);
        }
    }
}

/// Attention of one sequence that rounds scores, probabilities, and their gradients to `T`, as separate operations would.
fn in_parts<T: Number>(op: &Attention, qkv: &[T], d_o: &[T]) -> Results {
    let (n, dim, width) = (op.q_len, op.head_dim, op.heads * op.head_dim);
    let round = |x: f64| f64::from(T::round(x as f32).widen());
    let (mut o, mut dqkv) = (vec![0.0; n * width], vec![0.0; 3 * n * width]);
    let scale = f64::from(op.scale);
    for head in 0..op.heads {
        let rows = |part: usize| -> Vec<f64> {
            (0..n)
                .flat_map(|t| {
                    qkv[t * 3 * width + part * width + head * dim..][..dim].iter().map(|x| f64::from(x.widen()))
                })
                .collect()
        };
        let (q, k, v) = (rows(0), rows(1), rows(2));
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        for i in 0..n {
            let keys = if op.causal { i + 1 } else { n };
            let (own, grad) = (&q[i * dim..(i + 1) * dim], &d_o[i * width + head * dim..][..dim]);
            let grad: Vec<f64> = grad.iter().map(|x| f64::from(x.widen())).collect();
            let s: Vec<f64> = (0..keys).map(|j| round(scale * round(dot(own, &k[j * dim..(j + 1) * dim])))).collect();
            let most = s.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let sum: f64 = s.iter().map(|s| (s - most).exp()).sum();
            let p: Vec<f64> = s.iter().map(|s| round((s - most).exp() / sum)).collect();
            let dp: Vec<f64> = (0..keys).map(|j| round(dot(&grad, &v[j * dim..(j + 1) * dim]))).collect();
            let delta = dot(&p, &dp);
            let ds: Vec<f64> = p.iter().zip(&dp).map(|(p, dp)| round(scale * round(p * (dp - delta)))).collect();
            for d in 0..dim {
                o[i * width + head * dim + d] = round((0..keys).map(|j| p[j] * v[j * dim + d]).sum());
                let at = |t: usize, part: usize| t * 3 * width + part * width + head * dim + d;
                dqkv[at(i, 0)] = (0..keys).map(|j| ds[j] * k[j * dim + d]).sum();
                for j in 0..keys {
                    dqkv[at(j, 1)] += ds[j] * own[d];
                    dqkv[at(j, 2)] += p[j] * grad[d];
                }
            }
        }
    }
    dqkv.iter_mut().for_each(|x| *x = round(*x));
    divided(op, o, &dqkv)
}

/// 0x6F7082: 1,024 tokens; the largest differences from f64 are at most twice those of the operations one by one.
#[test]
fn cuda_flash_attention_is_as_exact_as_separate_operations() {
    fn compare<T: Number>(gpu: &Arc<Gpu>, op: &Attention) {
        let (qkv, d_o) = (normal::<T>(op.q.batch, 5), normal::<T>(op.o.batch, 6));
        let want = in_f64(op, &wide(&qkv), &wide(&d_o));
        let parts = in_parts(op, &qkv, &d_o);
        let parts: [f64; 4] = std::array::from_fn(|i| largest_difference(&parts[i], &want[i]));
        for (variant, most) in check::<T>(gpu, op, 5) {
            println!("{:?} {variant:?}: {}, of separate operations {}", T::STORAGE, brief(&most), brief(&parts));
            assert!(most.iter().zip(parts).all(|(e, parts)| *e <= 2.0 * parts), "{variant:?}: {most:?} {parts:?}");
        }
    }
    let Some(gpu) = gpu() else { return };
    for op in [Attention::packed_qkv(1, 1024, 1, 1, 64), Attention::packed_qkv(1, 1024, 1, 1, 128).causal()] {
        check::<f32>(&gpu, &op, 5);
        compare::<F16>(&gpu, &op);
        compare::<Bf16>(&gpu, &op);
    }
}
