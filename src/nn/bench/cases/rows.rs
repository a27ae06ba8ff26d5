//! Benchmark cases of norms, softmax, activations, dropout, and operations on buffers.

use super::*;
use crate::{
    gpu::{GpuError, Pass},
    nn::{
        activation::{Activation, cuda::CudaActivation},
        dropout::{
            Dropout,
            cuda::{CudaDropout, DropoutStep},
        },
        elementwise::{LogBins, cuda::CudaElementwise},
        norm::{Norm, NormKind, cuda::CudaNorm},
        softmax::{Mask, Softmax, cuda::CudaSoftmax},
    },
};

/// Number of elements in operations on buffers.
const M: usize = 64 << 20;
/// Tokens and features of an activation function.
const HIDDEN: [usize; 2] = [N, 4 * C];
/// Rows and columns of a softmax without a mask.
const ROWS: [usize; 2] = [10_000, 4096];
const NORM: Norm = Norm { rows: N64, columns: C, eps: 1e-5, kind: NormKind::Layer };
/// Norm of rows that are too wide for a warp.
const WIDE_NORM: Norm = Norm { rows: N, columns: 2048, ..NORM };

pub fn cases() -> Vec<Case> {
    let attention = 8 * HEADS * T * T;
    let buffer = |name, kernels, bytes, prepare| Case { name, kernels, work: Work::bytes(bytes), prepare };
    vec![
        buffer("norm-65536x768", &["norm_forward"], 2 * N64 * C * H, |gpu| norm(gpu, false)),
        buffer("norm-of-sum-65536x768", &["norm_forward"], 4 * N64 * C * H, |gpu| norm(gpu, true)),
        buffer(
            "norm-backward-65536x768",
            &["norm_backward_narrow", "add_norm_partials"],
            // The gradient of the residual stream is read and written.
            4 * N64 * C * H,
            |gpu| norm_backward(gpu, NORM),
        ),
        buffer(
            "norm-backward-16384x2048",
            &["norm_backward", "norm_parameters", "add_norm_partials"],
            4 * WIDE_NORM.rows * WIDE_NORM.columns * H,
            |gpu| norm_backward(gpu, WIDE_NORM),
        ),
        buffer("softmax-10000x4096", &["softmax_forward"], 2 * ROWS[0] * ROWS[1] * H, |gpu| {
            softmax(gpu, Softmax::rows(ROWS[0], ROWS[1]))
        }),
        buffer("softmax-causal-8x12x1024x1024", &["softmax_forward"], 2 * attention * H, |gpu| {
            let op = Softmax { batch: 8, heads: HEADS, q_len: T, k_len: T, scale: 0.125, causal: true };
            softmax(gpu, op)
        }),
        buffer("softmax-backward-10000x4096", &["softmax_backward"], 3 * ROWS[0] * ROWS[1] * H, softmax_backward),
        buffer("gelu-16384x3072", &["activation_forward"], 2 * HIDDEN[0] * HIDDEN[1] * H, |gpu| {
            gelu(gpu, HIDDEN, false)
        }),
        buffer("gelu-64Mi", &["activation_forward"], 2 * M * H, |gpu| gelu(gpu, [M / 1024, 1024], false)),
        buffer("gelu-backward-16384x3072", &["activation_backward"], 3 * HIDDEN[0] * HIDDEN[1] * H, |gpu| {
            gelu(gpu, HIDDEN, true)
        }),
        buffer("dropout-64Mi", &["drop_elements"], 2 * M * H, dropout),
        buffer("dropout-residual-64Mi", &["add_dropped"], 3 * M * H, dropout_and_residual),
        buffer("add-64Mi", &["add_elements"], 3 * M * H, |gpu| {
            let (mut x, y) = (numbers(gpu, M)?, numbers(gpu, M)?);
            on_buffer(gpu, move |ops, pass| ops.add(pass, &mut x, &y))
        }),
        buffer("scale-64Mi", &["scale_elements"], 2 * M * H, |gpu| {
            let (mut x, factor) = (numbers(gpu, M)?, copy(gpu, &[1.0])?);
            on_buffer(gpu, move |ops, pass| ops.scale(pass, &mut x, &factor))
        }),
        buffer("fill-64Mi", &["fill_elements"], M * H, |gpu| {
            let mut x = numbers(gpu, M)?;
            on_buffer(gpu, move |ops, pass| ops.fill(pass, &mut x, 1.0))
        }),
        buffer("round-64Mi", &["round_elements"], M * (4 + H), |gpu| {
            let (from, mut to) = (zeros::<f32>(gpu, M)?, zeros::<Bf16>(gpu, M)?);
            on_buffer(gpu, move |ops, pass| ops.round(pass, &from, &mut to))
        }),
        buffer("widen-64Mi", &["widen_elements"], M * (4 + H), |gpu| {
            let (from, mut to) = (numbers(gpu, M)?, zeros::<f32>(gpu, M)?);
            on_buffer(gpu, move |ops, pass| ops.widen(pass, &from, &mut to))
        }),
        buffer("bias-gradient-16384x3072", &["sum_columns", "add_partials"], HIDDEN[0] * HIDDEN[1] * H, bias_gradient),
        buffer("sum-of-squares-64Mi", &["sum_of_squares", "sum_partials"], M * H, sum_of_squares),
        buffer("find-non-finite-64Mi", &["find_non_finite"], M * H, |gpu| {
            let (x, mut flag) = (numbers(gpu, M)?, zeros(gpu, 1)?);
            on_buffer(gpu, move |ops, pass| ops.find_non_finite(pass, &x, &mut flag))
        }),
        buffer("histogram-64Mi", &["count_elements"], M * H, |gpu| {
            let bins = LogBins { lowest: -20, octaves: 24 };
            let (x, mut counts) = (numbers(gpu, M)?, zeros(gpu, bins.n_counts())?);
            on_buffer(gpu, move |ops, pass| ops.histogram(pass, bins, &x, &mut counts))
        }),
    ]
}

fn on_buffer(
    gpu: &Arc<Gpu>,
    mut run: impl FnMut(&CudaElementwise, &mut Pass) -> Result<(), GpuError> + 'static,
) -> Result<Launch, String> {
    let ops = CudaElementwise::new(gpu);
    Ok(Box::new(move |pass| run(&ops, pass).map_err(text)))
}

fn workspace(gpu: &Arc<Gpu>, temporaries: &[(usize, usize)]) -> Result<Arena, String> {
    Arena::new(gpu, "workspace of the benchmark", Arena::bytes_of(temporaries)).map_err(text)
}

fn norm(gpu: &Arc<Gpu>, is_sum: bool) -> Result<Launch, String> {
    let (cuda, n) = (CudaNorm::new(gpu), NORM.rows * NORM.columns);
    let (x, residual, weight, bias) = (numbers(gpu, n)?, numbers(gpu, n)?, numbers(gpu, C)?, numbers(gpu, C)?);
    let (mut sum, mut y, mut stats) = (zeros::<Bf16>(gpu, n)?, zeros::<Bf16>(gpu, n)?, zeros(gpu, 2 * NORM.rows)?);
    Ok(Box::new(move |pass| {
        if is_sum {
            let addends = (&*x, &*residual);
            return cuda
                .add_forward(pass, &NORM, addends, &weight, Some(&bias), &mut sum, &mut y, &mut stats)
                .map_err(text);
        }
        cuda.forward(pass, &NORM, &x, &weight, Some(&bias), &mut y, &mut stats).map_err(text)
    }))
}

fn norm_backward(gpu: &Arc<Gpu>, op: Norm) -> Result<Launch, String> {
    let (cuda, n) = (CudaNorm::new(gpu), op.rows * op.columns);
    let (x, dy, weight) = (numbers(gpu, n)?, numbers(gpu, n)?, numbers(gpu, op.columns)?);
    let (mut y, mut dx, mut stats) = (zeros::<Bf16>(gpu, n)?, zeros::<Bf16>(gpu, n)?, zeros(gpu, 2 * op.rows)?);
    cuda.forward(&mut Pass::default(), &op, &x, &weight, None, &mut y, &mut stats).map_err(text)?;
    let (mut dweight, mut dbias) = (zeros(gpu, op.columns)?, zeros(gpu, op.columns)?);
    let mut arena = workspace(gpu, &CudaNorm::temporaries(&op))?;
    Ok(Box::new(move |pass| {
        let (frame, dbias) = (arena.frame(), Some(&mut *dbias));
        cuda.backward(pass, &op, &dy, &x, &weight, &stats, &mut dx, &mut dweight, dbias, &frame).map_err(text)
    }))
}

fn softmax(gpu: &Arc<Gpu>, op: Softmax) -> Result<Launch, String> {
    let (cuda, n) = (CudaSoftmax::new(gpu), op.n_rows() * op.k_len);
    let (x, mut y, mut lse) = (numbers(gpu, n)?, zeros::<Bf16>(gpu, n)?, zeros(gpu, op.n_rows())?);
    Ok(Box::new(move |pass| cuda.forward(pass, &op, &x, Mask::default(), &mut y, &mut lse).map_err(text)))
}

fn softmax_backward(gpu: &Arc<Gpu>) -> Result<Launch, String> {
    let (cuda, op, n) = (CudaSoftmax::new(gpu), Softmax::rows(ROWS[0], ROWS[1]), ROWS[0] * ROWS[1]);
    let (y, dy, mut dx) = (numbers(gpu, n)?, numbers(gpu, n)?, zeros::<Bf16>(gpu, n)?);
    Ok(Box::new(move |pass| cuda.backward(pass, &op, &y, &dy, &mut dx).map_err(text)))
}

fn gelu(gpu: &Arc<Gpu>, [rows, columns]: [usize; 2], is_backward: bool) -> Result<Launch, String> {
    let cuda = CudaActivation::new(gpu);
    let (x, dy, mut out) =
        (numbers(gpu, rows * columns)?, numbers(gpu, rows * columns)?, zeros::<Bf16>(gpu, rows * columns)?);
    Ok(Box::new(move |pass| {
        let act = Activation::GeluTanh;
        if is_backward {
            return cuda.backward(pass, act, rows, columns, &x, &dy, &mut out).map_err(text);
        }
        cuda.forward(pass, act, rows, columns, &x, &mut out).map_err(text)
    }))
}

fn dropout(gpu: &Arc<Gpu>) -> Result<Launch, String> {
    let (cuda, op) = (CudaDropout::new(gpu), Dropout { p: 0.1, seed: 1, layer_site: 1, offset: 0 });
    let (step, mut x) = (copy(gpu, &[DropoutStep::new(&op, 0)])?, numbers(gpu, M)?);
    Ok(Box::new(move |pass| cuda.forward(pass, op.layer_site, &step, &mut x).map_err(text)))
}

fn dropout_and_residual(gpu: &Arc<Gpu>) -> Result<Launch, String> {
    let (cuda, op) = (CudaDropout::new(gpu), Dropout { p: 0.1, seed: 1, layer_site: 1, offset: 0 });
    let (step, x) = (copy(gpu, &[DropoutStep::new(&op, 0)])?, numbers(gpu, M)?);
    let (residual, mut y) = (numbers(gpu, M)?, zeros::<Bf16>(gpu, M)?);
    Ok(Box::new(move |pass| cuda.add(pass, op.layer_site, &step, (&x, Some(&*residual)), &mut y).map_err(text)))
}

fn bias_gradient(gpu: &Arc<Gpu>) -> Result<Launch, String> {
    let (cuda, [rows, columns]) = (CudaElementwise::new(gpu), HIDDEN);
    let (dy, mut dbias) = (numbers(gpu, rows * columns)?, zeros(gpu, columns)?);
    let mut arena = workspace(gpu, &CudaElementwise::temporaries_of_bias_gradient(rows, columns))?;
    Ok(Box::new(move |pass| cuda.bias_gradient(pass, rows, columns, &dy, &mut dbias, &arena.frame()).map_err(text)))
}

fn sum_of_squares(gpu: &Arc<Gpu>) -> Result<Launch, String> {
    let (cuda, x, mut out) = (CudaElementwise::new(gpu), numbers(gpu, M)?, zeros(gpu, 1)?);
    let mut arena = workspace(gpu, &CudaElementwise::temporaries_of_sum_of_squares(M))?;
    Ok(Box::new(move |pass| cuda.sum_of_squares(pass, &x, &mut out, &arena.frame()).map_err(text)))
}
