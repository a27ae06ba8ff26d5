//! Benchmark cases of embedding, rotary positions and cross-entropy.

use super::*;
use crate::nn::{
    cross_entropy::{
        CrossEntropy,
        cuda::{CudaCrossEntropy, LossTotal},
    },
    embedding::{Embedding, cuda::CudaEmbedding},
    rope::{
        Rope, RopeLayout, RopeTable,
        cuda::{CudaRope, CudaRopeTable},
    },
};

pub fn cases() -> Vec<Case> {
    vec![
        Case {
            name: "embedding-65536x768",
            kernels: &["embed_tokens"],
            work: Work::bytes(N64 * (2 * C * H + 4)),
            prepare: |gpu| embedding(gpu, false),
        },
        Case {
            name: "embedding-positions-65536x768",
            kernels: &["embed_tokens"],
            work: Work::bytes(N64 * (2 * C * H + 4) + T * C * H),
            prepare: |gpu| embedding(gpu, true),
        },
        Case {
            name: "embedding-backward-65536x768",
            kernels: &["count_digits", "sort_places", "add_gradients", "add_partial_sums"],
            // Gradients are read once for tokens and once for positions; the rows of the occurring tokens are read and written.
            work: Work::bytes(2 * N64 * C * H + 8 * C * (distinct() + T)),
            prepare: embedding_backward,
        },
        Case {
            name: "rope-16384x24x64",
            kernels: &["rotate_heads"],
            work: Work::bytes(2 * N * 2 * C * H),
            prepare: rope,
        },
        Case {
            name: "cross-entropy-8192x50304",
            kernels: &["cross_entropy_kept", "add_losses"],
            work: Work::bytes(2 * ROWS * VP * H),
            prepare: |gpu| cross_entropy(gpu, ROWS, V, VP),
        },
        Case {
            // Rows are too long for shared memory.
            name: "cross-entropy-2048x131072",
            kernels: &["cross_entropy_large", "add_losses"],
            work: Work::bytes(2 * 2048 * 131_072 * H),
            prepare: |gpu| cross_entropy(gpu, 2048, 131_072, 131_072),
        },
        Case {
            name: "cross-entropy-65536x256",
            kernels: &["cross_entropy_small", "add_losses"],
            work: Work::bytes(2 * N64 * 256 * H),
            prepare: |gpu| cross_entropy(gpu, N64, 256, 256),
        },
    ]
}

/// Returns tokens with the frequencies of a text, about the inverse of their rank.
fn tokens() -> Vec<u32> {
    let unit = |i: u32| f64::from(i.wrapping_mul(2_654_435_761)) / 2.0_f64.powi(32);
    (0..N64 as u32).map(|i| ((V as f64).powf(unit(i)) as u32 - 1).min(V as u32 - 1)).collect()
}

fn distinct() -> usize {
    let mut tokens = tokens();
    tokens.sort_unstable();
    tokens.dedup();
    tokens.len()
}

fn embedding(gpu: &Arc<Gpu>, has_positions: bool) -> Result<Launch, String> {
    let (op, cuda) = (Embedding::new(N64, V, C, T), CudaEmbedding::new(gpu));
    let (tokens, table, positions) = (copy(gpu, &tokens())?, numbers(gpu, V * C)?, numbers(gpu, T * C)?);
    let (mut y, mut flag) = (zeros::<Bf16>(gpu, N64 * C)?, zeros(gpu, 1)?);
    Ok(Box::new(move |pass| {
        let positions = has_positions.then_some(&*positions);
        cuda.forward(pass, &op, &tokens, &table, positions, None, &mut y, &mut flag).map_err(text)
    }))
}

fn embedding_backward(gpu: &Arc<Gpu>) -> Result<Launch, String> {
    let (op, cuda) = (Embedding::new(N64, V, C, T), CudaEmbedding::new(gpu));
    let (tokens, dy, mut flag) = (copy(gpu, &tokens())?, numbers(gpu, N64 * C)?, zeros(gpu, 1)?);
    let (mut dtable, mut dpositions) = (zeros(gpu, V * C)?, zeros(gpu, T * C)?);
    let scratch = CudaEmbedding::scratch_bytes(&op);
    let mut arena = Arena::new(gpu, "workspace of the benchmark", scratch).map_err(text)?;
    Ok(Box::new(move |pass| {
        let frame = arena.frame();
        cuda.backward(pass, &op, &tokens, &dy, &mut dtable, Some(&mut dpositions), None, &mut flag, &frame)
            .map_err(text)
    }))
}

/// Rotates queries and keys in packed `[q, k, v]`.
fn rope(gpu: &Arc<Gpu>) -> Result<Launch, String> {
    let op = Rope::new(N, 2 * HEADS, C / HEADS, T, RopeLayout::Half).stride(3 * C);
    let table = CudaRopeTable::new(gpu, &RopeTable::new(T, C / HEADS, 1e4)).map_err(text)?;
    let (cuda, mut x, mut flag) = (CudaRope::new(gpu), numbers(gpu, N * 3 * C)?, zeros(gpu, 1)?);
    Ok(Box::new(move |pass| cuda.apply(pass, &op, &table, None, &mut x, false, &mut flag).map_err(text)))
}

fn cross_entropy(gpu: &Arc<Gpu>, rows: usize, vocab: usize, padded: usize) -> Result<Launch, String> {
    let (op, cuda) = (CrossEntropy { rows, vocab, padded }, CudaCrossEntropy::new(gpu));
    let targets: Vec<i32> = (0..rows).map(|i| (i * 7919 % vocab) as i32).collect();
    let (mut logits, targets, scale) = (numbers(gpu, rows * padded)?, copy(gpu, &targets)?, copy(gpu, &[1.0])?);
    let (mut losses, mut lse, mut flag) = (zeros(gpu, rows)?, zeros(gpu, rows)?, zeros(gpu, 1)?);
    let mut total = zeros::<LossTotal>(gpu, 1)?;
    Ok(Box::new(move |pass| {
        let out = (&mut *losses, &mut *lse);
        cuda.backward(pass, &op, &mut logits, &targets, &scale, out.0, out.1, &mut flag).map_err(text)?;
        cuda.add_losses(pass, &losses, &targets, &mut total).map_err(text)
    }))
}
