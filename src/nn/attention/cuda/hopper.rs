//! Launches the kernels for the tensor cores of compute capability 9.0. Every launch fails if the grid is too large, a TMA
//! descriptor cannot be created or the device reports an error.

use super::{CudaAttentionError, args::Call, kernels::*, tiles::*};
use crate::gpu::{Any, AnyMut, Pass, Slice};

/// Launches one of two kernels with the same arguments: for heads of up to 64 elements, or of up to 128.
macro_rules! launch_by_width {
    ($call:expr, $to:expr, $narrow:ident | $wide:ident <= $($argument:ident)*) => {{
        let (kernels, pass, grid) = $to;
        if $call.is_narrow() {
            $narrow { $($argument),* }.launch(kernels, pass, grid)?;
        } else {
            $wide { $($argument),* }.launch(kernels, pass, grid)?;
        }
    }};
}

/// Computes the results `o` and the log-sum-exps `lse` of attention.
pub fn forward(
    call: &Call<'_>,
    kernels: &HopperKernels,
    pass: &mut Pass,
    (o, lse): (AnyMut<'_>, &mut Slice<f32>),
) -> Result<(), CudaAttentionError> {
    let Call { args: a, v, q_lengths, k_lengths, drop, .. } = *call;
    let tile = if call.is_narrow() { HOPPER_FORWARD_64 } else { HOPPER_FORWARD_128 };
    let grid = call.turns(a.heads, a.q_len, tile)?;
    let [queries, keys, values] = call.copied((tile.0, HOPPER_STAGES.0))?;
    let to = (kernels, pass, grid);
    launch_by_width!(call, to, HopperForward64 | HopperForward128 <= a queries keys values v q_lengths k_lengths drop o lse);
    Ok(())
}

/// Inputs of both parts of the backward pass: gradients of results, `lse`, and dot products of results and their gradients.
#[derive(Clone, Copy)]
pub struct Given<'a> {
    pub d_o: Any<'a>,
    pub lse: &'a Slice<f32>,
    pub dots: &'a Slice<f32>,
}

/// Computes the gradients of queries.
pub fn queries<'a>(
    call: &Call<'a>,
    kernels: &HopperKernels,
    pass: &mut Pass,
    Given { d_o, lse, dots }: Given<'a>,
    dq: AnyMut<'_>,
) -> Result<(), CudaAttentionError> {
    let Call { args: a, k, v, q_lengths, k_lengths, drop, .. } = *call;
    let tile = if call.is_narrow() { HOPPER_QUERIES_64 } else { HOPPER_QUERIES_128 };
    let grid = call.turns(a.heads, a.q_len, tile)?;
    let [queries, keys, values] = call.copied((tile.0, HOPPER_STAGES.1))?;
    let gradients = call.copied_gradients(d_o, tile.0)?;
    let to = (kernels, pass, grid);
    launch_by_width!(call, to,
        HopperQueries64 | HopperQueries128 <= a queries keys values gradients k v q_lengths k_lengths drop lse dots dq);
    Ok(())
}

/// Computes the gradients of keys and values.
pub fn keys<'a>(
    call: &Call<'a>,
    kernels: &HopperKernels,
    pass: &mut Pass,
    Given { d_o, lse, dots }: Given<'a>,
    (dk, dv): (AnyMut<'_>, AnyMut<'_>),
) -> Result<(), CudaAttentionError> {
    let Call { args: a, q, q_lengths, k_lengths, drop, .. } = *call;
    let tile = if call.is_narrow() { HOPPER_KEYS_64 } else { HOPPER_KEYS_128 };
    let grid = call.turns(a.heads / a.group, a.k_len, tile)?;
    let [queries, keys, values] = call.copied((HOPPER_STAGES.1, tile.0))?;
    let gradients = call.copied_gradients(d_o, HOPPER_STAGES.1)?;
    let to = (kernels, pass, grid);
    launch_by_width!(call, to,
        HopperKeys64 | HopperKeys128 <= a queries keys values gradients q d_o q_lengths k_lengths drop lse dots dk dv);
    Ok(())
}

/// Returns the number of f32 sums of query gradients for [`CudaAttention::with_fast_nondeterministic`], rounded up to whole
/// tiles of queries and of the kernel's head width.
///
/// [`CudaAttention::with_fast_nondeterministic`]: super::CudaAttention::with_fast_nondeterministic
pub const fn sums_of_queries(batch: usize, heads: usize, q_len: usize, head_dim: usize) -> usize {
    batch * heads * q_len.next_multiple_of(HOPPER_SUMS) * if head_dim <= 64 { 64 } else { 128 }
}

/// Computes the gradients of keys and values, and adds the gradients of queries by atomics to `sums`, which must be 0.
pub fn backward<'a>(
    call: &Call<'a>,
    kernels: &HopperKernels,
    pass: &mut Pass,
    Given { d_o, lse, dots }: Given<'a>,
    sums: &mut Slice<f32>,
    (dk, dv): (AnyMut<'_>, AnyMut<'_>),
) -> Result<(), CudaAttentionError> {
    let Call { args: a, q, k, v, q_lengths, k_lengths, drop, .. } = *call;
    let tile = if call.is_narrow() { HOPPER_BACKWARD_64 } else { HOPPER_BACKWARD_128 };
    let grid = call.turns(a.heads / a.group, a.k_len, tile)?;
    let [queries, keys, values] = call.copied((HOPPER_STAGES.1, tile.0))?;
    let gradients = call.copied_gradients(d_o, HOPPER_STAGES.1)?;
    let to = (kernels, pass, grid);
    launch_by_width!(call, to,
        HopperBackward64 | HopperBackward128 <= a queries keys values gradients q k v d_o q_lengths k_lengths drop lse dots sums dk dv);
    Ok(())
}

/// Converts the sums of query gradients to the storage type.
pub fn finish_queries(
    call: &Call<'_>,
    kernels: &HopperKernels,
    pass: &mut Pass,
    sums: &Slice<f32>,
    dq: AnyMut<'_>,
) -> Result<(), CudaAttentionError> {
    let Call { args: a, q_lengths, k_lengths, .. } = *call;
    let grid = call.grid(a.heads as usize, a.q_len as usize, (HOPPER_SUMS, 256, 0))?;
    let to = (kernels, pass, grid);
    launch_by_width!(call, to, HopperFinish64 | HopperFinish128 <= a q_lengths k_lengths sums dq);
    Ok(())
}
