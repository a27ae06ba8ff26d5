//! Times of block sizes: whether the one that is chosen is among the fastest.

use crate::device::{gpu_alone, micros};
use neuropil::{
    gpu::{BlockSize, Buf, Gpu, Pass},
    nn::{
        activation::{Activation, cuda::CudaActivation},
        dropout::{
            Dropout,
            cuda::{CudaDropout, DropoutStep},
        },
        elementwise::cuda::CudaElementwise,
        norm::{Norm, NormKind, cuda::CudaNorm},
        softmax::{Mask, Softmax, cuda::CudaSoftmax},
    },
    num::elements::Bf16,
};
use std::sync::Arc;

const COLUMNS: usize = 1024;

fn zeros<T: neuropil::gpu::layout::CudaType>(gpu: &Arc<Gpu>, n: usize) -> Buf<T> {
    Buf::zeros(gpu, "times", n).expect("memory")
}

/// Microseconds of a kernel over so many rows of 1,024 bf16.
fn time(gpu: &Arc<Gpu>, kernel: &str, rows: usize, block: BlockSize) -> f64 {
    let n = rows * COLUMNS;
    let (x, mut y) = (zeros::<Bf16>(gpu, n), zeros::<Bf16>(gpu, n));
    match kernel {
        "norm" => {
            let norm = CudaNorm::new(gpu).with_block(block);
            let op = Norm { rows, columns: COLUMNS, eps: 1e-5, kind: NormKind::Layer };
            let (weight, mut stats) = (zeros::<Bf16>(gpu, COLUMNS), zeros::<f32>(gpu, 2 * rows));
            let mut run = |pass: &mut Pass| norm.forward(pass, &op, &x, &weight, None, &mut y, &mut stats);
            run(&mut Pass::default()).expect("it runs");
            micros(gpu, run)
        }
        "softmax" => {
            let softmax = CudaSoftmax::new(gpu).with_block(block);
            let (op, mut lse) = (Softmax::rows(rows, COLUMNS), zeros::<f32>(gpu, rows));
            let mut run = |pass: &mut Pass| softmax.forward(pass, &op, &x, Mask::default(), &mut y, &mut lse);
            run(&mut Pass::default()).expect("it runs");
            micros(gpu, run)
        }
        "gelu" => {
            let activation = CudaActivation::new(gpu).with_block(block);
            let mut run = |pass: &mut Pass| activation.forward(pass, Activation::GeluTanh, rows, COLUMNS, &x, &mut y);
            run(&mut Pass::default()).expect("it runs");
            micros(gpu, run)
        }
        "add" => {
            let elementwise = CudaElementwise::new(gpu).with_block(block);
            let mut run = |pass: &mut Pass| elementwise.add(pass, &mut y, &x);
            run(&mut Pass::default()).expect("it runs");
            micros(gpu, run)
        }
        _ => {
            let dropout = CudaDropout::new(gpu).with_block(block);
            let op = Dropout { p: 0.3, seed: 7, layer_site: 3, offset: 0 };
            let step = Buf::from_slice(gpu, "times", &[DropoutStep::new(&op, 5)]).expect("memory");
            let mut run = |pass: &mut Pass| dropout.forward(pass, 3, &step, &mut y);
            run(&mut Pass::default()).expect("it runs");
            micros(gpu, run)
        }
    }
}

/// 0x1A2B40: five kernels by six sizes; the choice against the best of blocks of 64 to 1,024 threads.
#[test]
#[ignore = "prints times"]
fn cuda_block_choices_are_among_the_fastest() {
    let Some(gpu) = gpu_alone() else { return };
    let mut late = 0;
    for kernel in ["norm", "softmax", "gelu", "add", "dropout"] {
        for rows in [4, 64, 512, 4096, 16_384, 65_536] {
            let chosen = time(&gpu, kernel, rows, BlockSize::Automatic);
            let sizes = [64, 128, 256, 512, 1024];
            let times = sizes.map(|threads| time(&gpu, kernel, rows, BlockSize::Threads(threads)));
            let best = times.iter().fold(f64::INFINITY, |best, t| best.min(*t));
            let off = 100.0 * (chosen / best - 1.0);
            late += u32::from(off > 5.0);
            println!("{kernel:8} {rows:6} rows: chosen {chosen:8.2} us, {off:+6.1} %; 64 to 1024 threads {times:8.2?}");
        }
    }
    println!("{late} of 30 choices are more than 5 % slower than the best");
}

/// 0x1A2B3F: scale, mask and softmax in one launch against three, of which each reads and writes all scores.
#[test]
#[ignore = "prints times"]
fn cuda_fused_softmax_is_faster_than_its_parts() {
    let Some(gpu) = gpu_alone() else { return };
    let op = Softmax { batch: 8, heads: 12, q_len: 1024, k_len: 1024, scale: 0.125, causal: true };
    let n = op.n_rows() * op.k_len;
    let (x, mut y, mut scores) = (zeros::<Bf16>(&gpu, n), zeros::<Bf16>(&gpu, n), zeros::<Bf16>(&gpu, n));
    let (mut lse, factor) = (zeros::<f32>(&gpu, op.n_rows()), zeros::<f32>(&gpu, 1));
    let (softmax, elementwise) = (CudaSoftmax::new(&gpu), CudaElementwise::new(&gpu));
    let rows = Softmax::rows(op.n_rows(), op.k_len);
    let mut fused = |pass: &mut Pass| softmax.forward(pass, &op, &x, Mask::default(), &mut y, &mut lse);
    let mut pass = Pass::measuring();
    fused(&mut pass).expect("it runs");
    gpu.synchronize().expect("it ran");
    pass.collect().expect("it ran");
    assert_eq!(pass.timings.iter().map(|row| row.launches).sum::<u32>(), 1, "one launch");
    let fused = micros(&gpu, fused);
    let mut apart = |pass: &mut Pass| {
        elementwise.scale(pass, &mut scores, &factor)?;
        elementwise.scale(pass, &mut scores, &factor)?; // moves what a mask that is written over the scores moves
        softmax.forward(pass, &rows, &scores, Mask::default(), &mut y, &mut lse)
    };
    apart(&mut Pass::default()).expect("it runs");
    let apart = micros(&gpu, apart);
    let times = apart / fused;
    println!("softmax of [8, 12, 1024, 1024]: {fused:.1} us, in three launches {apart:.1} us, {times:.2} times");
    assert!(times >= 1.6, "{times:.2} times");
}
