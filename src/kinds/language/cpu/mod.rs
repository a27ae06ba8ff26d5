//! Parts that models of all language kinds share on the CPU, generic over f32 and f64.
//!
//! | file | subject |
//! | --- | --- |
//! | [`layers`], [`blocks`] | embedding, norms, linear layers, losses; attention, activation functions, dropout |
//! | [`arena`] | memory for the activations of a pass |
//! | [`head`] | logits, losses and their gradients, in chunks of rows |
//! | [`trainer`] | gradient, moments and step statistics |
//! | [`backend`], [`decoder`] | a model and its decoders on a thread pool |
//! | [`text_copy`] | copy of a model that samples a text concurrently with training steps |

pub mod arena;
pub mod backend;
pub mod blocks;
pub mod decoder;
pub mod head;
pub mod layers;
pub mod text_copy;
pub mod trainer;

use super::backend::Outcome;
use crate::{
    gpu::StopFlag,
    nn::{
        gemm::{Gemm, cpu::gemm_parts},
        real::Real,
    },
    sim::{
        SimError,
        buffers::{Host, Storage as _},
    },
};
use std::fmt;

/// Allocates zeroed host memory. Fails with the name of the buffer if memory is exhausted.
pub fn zeros<R: Copy + Default>(name: &'static str, len: usize) -> Result<Vec<R>, SimError> {
    Vec::zeros(&Host, name, [len].into())
}

/// Copies a slice to new memory. Fails if memory is exhausted.
pub fn copy<R: Copy + Default>(name: &'static str, from: &[R]) -> Result<Vec<R>, SimError> {
    let mut copy = zeros(name, from.len())?;
    copy.copy_from_slice(from);
    Ok(copy)
}

/// Converts the error of an operation that rejects its sizes, which is a defect of the model.
pub fn refused(error: impl fmt::Display) -> SimError {
    SimError::Input(format!("the model cannot compute this batch: {error}"))
}

/// Fails with [`SimError::Cancelled`] if the stop flag is raised, which ends the pass; see [`outcome`].
pub fn go_on(stop: &StopFlag) -> Result<(), SimError> {
    if stop.is_raised() { Err(SimError::Cancelled) } else { Ok(()) }
}

/// Fails with [`SimError::Cancelled`] if a part of the pass was stopped, which ends the pass; see [`outcome`].
pub const fn outcome_of(part: Outcome) -> Result<(), SimError> {
    match part {
        Outcome::Done => Ok(()),
        Outcome::Stopped => Err(SimError::Cancelled),
    }
}

/// Converts [`SimError::Cancelled`] of [`go_on`] to [`Outcome::Stopped`]. Fails with any other error.
pub fn outcome(pass: Result<(), SimError>) -> Result<Outcome, SimError> {
    match pass {
        Ok(()) => Ok(Outcome::Done),
        Err(SimError::Cancelled) => Ok(Outcome::Stopped),
        Err(error) => Err(error),
    }
}

/// Multiplies matrices, adds `residual` if it is given, and checks the stop flag as [`go_on`] does. Fails if the sizes do
/// not match or the pass is stopped.
pub fn multiply<R: Real>(
    op: &Gemm<R>,
    a: &[R],
    b: &[R],
    c: &mut [R],
    residual: Option<&[R]>,
    stop: &StopFlag,
) -> Result<(), SimError> {
    match gemm_parts(op, a, b, c, residual, stop).map_err(refused)? {
        true => Ok(()),
        false => Err(SimError::Cancelled),
    }
}
