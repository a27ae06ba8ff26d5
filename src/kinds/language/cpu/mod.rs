//! What models of all language kinds share on the CPU, generic over f32 and f64.
//!
//! | file | subject |
//! | --- | --- |
//! | [`layers`], [`blocks`] | embedding, norms, linear layers, losses; attention, activation functions, dropout |
//! | [`arena`] | memory for the activations of a pass |
//! | [`head`] | logits, losses and their gradients, some rows at a time |
//! | [`trainer`] | what training keeps beside the weights |
//! | [`backend`], [`decoder`] | a model and its decoders on some threads |
//! | [`text_copy`] | a copy of a model that writes a text beside the steps |

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

/// Zeros of host memory, or an error that names the buffer.
pub fn zeros<R: Copy + Default>(name: &'static str, len: usize) -> Result<Vec<R>, SimError> {
    Vec::zeros(&Host, name, [len].into())
}

/// A copy that may not fit.
pub fn copy<R: Copy + Default>(name: &'static str, from: &[R]) -> Result<Vec<R>, SimError> {
    let mut copy = zeros(name, from.len())?;
    copy.copy_from_slice(from);
    Ok(copy)
}

/// An operation refused its sizes: a defect of the model, reported instead of a panic.
pub fn refused(error: impl fmt::Display) -> SimError {
    SimError::Input(format!("the model cannot compute this batch: {error}"))
}

/// An error that ends a pass which is to be stopped; see [`outcome`].
pub fn go_on(stop: &StopFlag) -> Result<(), SimError> {
    if stop.is_raised() { Err(SimError::Cancelled) } else { Ok(()) }
}

/// An error that ends a pass of which a part was stopped; see [`outcome`].
pub const fn outcome_of(part: Outcome) -> Result<(), SimError> {
    match part {
        Outcome::Done => Ok(()),
        Outcome::Stopped => Err(SimError::Cancelled),
    }
}

/// Whether a pass that looks at the stop flag by [`go_on`] came to its end.
pub fn outcome(pass: Result<(), SimError>) -> Result<Outcome, SimError> {
    match pass {
        Ok(()) => Ok(Outcome::Done),
        Err(SimError::Cancelled) => Ok(Outcome::Stopped),
        Err(error) => Err(error),
    }
}

/// A multiplication, plus `residual` if there is one. It looks at the stop flag as [`go_on`] does.
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
