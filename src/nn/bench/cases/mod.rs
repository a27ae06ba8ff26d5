//! Cases of the benchmark.

mod attention;
mod embedding;
mod optimizer;
mod rows;

use super::{Case, Launch, Work};
use crate::{
    gpu::{Arena, Buf, Gpu, layout::CudaType},
    nn::storage::Storage as _,
    num::elements::Bf16,
};
use std::{fmt::Display, sync::Arc};

/// Width, heads, padded vocabulary and context of GPT-2 with 124 million parameters.
const C: usize = 768;
const HEADS: usize = 12;
const V: usize = 50_257;
const VP: usize = 50_304;
const T: usize = 1024;
/// Tokens of a batch of 16 sequences, and of 64.
const N: usize = 16 * T;
const N64: usize = 64 * T;
/// Rows of a block of logits.
const ROWS: usize = 8192;
/// Size of a bf16 in bytes.
const H: usize = 2;

/// Kernels that no case measures: they use a single block for any model, or run only between steps.
#[cfg(test)]
pub const LEFT_OUT: &[&[&str]] = &[&["set_gradient_scale", "edit_range"], attention::LEFT_OUT];

/// Returns all cases of the benchmark.
pub fn all() -> Vec<Case> {
    [attention::cases(), embedding::cases(), optimizer::cases(), rows::cases()].into_iter().flatten().collect()
}

fn text(error: impl Display) -> String {
    error.to_string()
}

/// Returns values between -1 and 1 with varied bits: power draw, and with it the clock, depends on the operands.
fn numbers(gpu: &Arc<Gpu>, n: usize) -> Result<Buf<Bf16>, String> {
    let number = |i: u32| Bf16::round((i.wrapping_mul(2_654_435_761) >> 8) as f32 / (1 << 23) as f32 - 1.0);
    let block: Vec<Bf16> = (0..(1 << 20).min(n as u32)).map(number).collect();
    let mut buffer = Buf::zeros(gpu, "numbers of the benchmark", n).map_err(text)?;
    for start in (0..n).step_by(block.len().max(1)) {
        buffer.write_at(start, &block[..block.len().min(n - start)]).map_err(text)?;
    }
    Ok(buffer)
}

fn zeros<X: CudaType>(gpu: &Arc<Gpu>, n: usize) -> Result<Buf<X>, String> {
    Buf::zeros(gpu, "results of the benchmark", n).map_err(text)
}

fn copy<X: CudaType>(gpu: &Arc<Gpu>, values: &[X]) -> Result<Buf<X>, String> {
    Buf::from_slice(gpu, "inputs of the benchmark", values).map_err(text)
}
