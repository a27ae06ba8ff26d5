//! The definition of [`Attention`], for f32 and f64.
//!
//! # Order of summation
//!
//! Queries are processed in tiles of [`ROWS`] from the first query of a sequence on, keys in tiles of [`KEYS`] from the first
//! key that a tile of queries sees. Products are those of [`gemm`](crate::nn::gemm::cpu). A forward pass keeps a running
//! maximum, sum and result per query; sums of a row run over [`LANES`](crate::nn::real::LANES) interleaved parts. A backward
//! pass adds tile after tile, and the heads of a group one after the other. Heads are independent tasks, so results do not
//! depend on the number of threads. A hidden key has weight 0 in the products of its tile: later tokens do not change a result,
//! unless they are NaN or infinite; tokens beyond the length of a sequence are not read.

mod call;
mod head;
mod rows;

use super::{Attention, AttentionError, Given, Gradients, Inputs};
use crate::nn::real::Real;
use call::Call;
use rayon::prelude::*;

/// Number of queries per tile.
pub const ROWS: usize = 64;
/// Number of keys per tile.
pub const KEYS: usize = 256;
/// Maximum number of heads whose gradients of logits are in memory at once, if the gradient of the bias is requested.
const BIAS_TASKS: usize = 16;

/// Inputs in host memory: tensors, lengths and bias.
pub type HostInputs<'a, R> = Inputs<'a, [R], [i32], [R]>;

/// Computes `o` and `lse`.
pub fn forward<R: Real>(
    op: &Attention,
    inputs: &HostInputs<'_, R>,
    o: &mut [R],
    lse: &mut [R],
) -> Result<(), AttentionError> {
    let call = Call::new(op, inputs, o.len(), lse.len())?;
    lse[..op.lse_len()].fill(R::neg_infinity());
    let tasks = call.tasks(op.heads);
    let results: Vec<_> = tasks.par_iter().map(|&(b, h)| call.forward(b, h)).collect();
    for ((b, h), (rows, row_lse)) in tasks.into_iter().zip(results) {
        call.put_queries(&op.o, b, h, &rows, o);
        lse[call.row(b, h)..][..row_lse.len()].copy_from_slice(&row_lse);
    }
    Ok(())
}

/// Computes the gradients of queries, keys and values from `d_o`, the gradient of the result, and adds to `dbias`. `o` and
/// `lse` are those of [`forward`].
pub fn backward<R: Real>(
    op: &Attention,
    inputs: &HostInputs<'_, R>,
    (o, lse): (&[R], &[R]),
    d_o: &[R],
    mut gradients: Gradients<'_, [R]>,
    mut dbias: Option<&mut [R]>,
) -> Result<(), AttentionError> {
    let call = Call::new(op, inputs, o.len().min(d_o.len()), lse.len())?;
    let [q, k, v] = [gradients.q().len(), gradients.k().len(), gradients.v().len()];
    call.check_lengths(&Given { q, k, v, ..call.given })?;
    match (&dbias, inputs.bias) {
        (Some(_), None) => return Err(AttentionError::Unused { what: "dbias" }),
        (Some(dbias), Some(bias)) => super::length("dbias", bias.len(), dbias.len())?,
        _ => {}
    }
    let (tasks, group, keeps) = (call.tasks(op.kv_heads), op.group(), dbias.is_some());
    for some in tasks.chunks(if keeps { BIAS_TASKS } else { tasks.len().max(1) }) {
        let results: Vec<_> = some.par_iter().map(|&(b, kv)| call.backward(b, kv, (o, lse), d_o, keeps)).collect();
        for (&(b, kv), (queries, keys)) in some.iter().zip(results) {
            for (h, query) in (kv * group..).zip(queries) {
                call.put_queries(&op.q, b, h, &query.dq, gradients.q());
                if let Some(dbias) = &mut dbias {
                    call.add_bias(b, h, &query.ds, dbias);
                }
            }
            call.put_keys(&op.k, b, kv, &keys.dk, gradients.k());
            call.put_keys(&op.v, b, kv, &keys.dv, gradients.v());
        }
    }
    Ok(())
}

/// Computes the probabilities `[q_len, k_len]` of one sequence and query head, from the `lse` of [`forward`]; 0 outside the
/// sequence.
pub fn map<R: Real>(
    op: &Attention,
    inputs: &HostInputs<'_, R>,
    (batch, head): (usize, usize),
    lse: &[R],
    out: &mut [R],
) -> Result<(), AttentionError> {
    let call = Call::new(op, inputs, usize::MAX, lse.len())?;
    op.check_index(batch, head)?;
    super::length("map", op.q_len * op.k_len, out.len())?;
    out[..op.q_len * op.k_len].fill(R::zero());
    call.map(batch, head, lse, out);
    Ok(())
}

#[cfg(test)]
mod tests;
