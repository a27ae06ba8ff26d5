//! The Hebbian rule of the earlier model, as a switch: experts that are written while a text is continued.
//!
//! Each expert that a token selects is a copy of the trained one with a second matrix per layer, traces and gains, all of that
//! text alone; its layers are [`SynapticLinear`], whose writes are those of the earlier model, after every token. Calcium is 1, so
//! that the energy of the expert gates its second matrix. That matrix begins at zero here, as the trained model has none: before
//! the first write an expert is the trained one.
//!
//! The rule is unstable. A write adds the product of mean input and mean output to the weights that made the output, nothing
//! takes it away, and so outputs grow until they are infinite; what follows is NaN. [`FastMemory`](super::FastMemory) has no such
//! feedback.

use super::reference::{Constants, Gains, Signals, SynapticLinear, Unit};
use crate::nn::{lengths::LengthError, real::Real};

/// Columns of the traces; all are equal.
const RANK: usize = 8;

/// Weights of an expert of C features and some hidden ones.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExpertCopy<R> {
    /// `[hidden, C]`
    pub fc1: Vec<R>,
    /// `[hidden]`
    pub fc1_bias: Vec<R>,
    /// `[C, hidden]`
    pub fc2: Vec<R>,
    /// `[C]`
    pub fc2_bias: Vec<R>,
}

/// An expert that writes itself.
#[derive(Clone, Debug)]
pub struct WrittenExpert<R>([SynapticLinear<R>; 2]);

impl<R: Real> WrittenExpert<R> {
    /// As it was trained.
    pub fn new(weights: ExpertCopy<R>) -> Self {
        let ExpertCopy { fc1, fc1_bias, fc2, fc2_bias } = weights;
        Self([layer(&fc1, fc1_bias), layer(&fc2, fc2_bias)])
    }

    /// The output `[C]` for the input `[C]` of a token; then both layers are written. `gains` are those of the genome.
    pub fn step(&mut self, with: &Constants, x: &[R], energy: f32, gains: Gains) -> Result<Vec<R>, LengthError> {
        let energy = [R::of(energy.into())];
        let signals = Signals { calcium: &[R::one()], energy: &energy };
        let [fc1, fc2] = &mut self.0;
        let first = fc1.forward(x, signals)?;
        let hidden: Vec<R> = first.y.iter().map(|y| if *y < R::zero() { R::zero() } else { *y * *y }).collect();
        let second = fc2.forward(&hidden, signals)?;
        fc1.write(with, &first, Some(gains));
        fc2.write(with, &second, Some(gains));
        Ok(second.y)
    }
}

/// A layer from its matrix `[O, I]` and bias.
fn layer<R: Real>(weight: &[R], bias: Vec<R>) -> SynapticLinear<R> {
    let outputs = bias.len();
    let inputs = weight.len() / outputs.max(1);
    let zeros = |len: usize| vec![R::zero(); len];
    SynapticLinear {
        inputs,
        outputs,
        w_slow: (0..weight.len()).map(|at| weight[at % outputs * inputs + at / outputs]).collect(),
        w_fast: zeros(weight.len()),
        bias,
        norm: None,
        u_trace: zeros(inputs * RANK),
        v_trace: zeros(RANK * outputs),
        unit: Unit {
            rank: RANK,
            fast: zeros(outputs),
            slow: zeros(outputs),
            u: zeros(outputs * RANK),
            v: zeros(RANK * outputs),
            camkii: zeros(outputs),
            pp1: vec![R::of(0.5); outputs],
            bdnf: zeros(outputs),
            bdnf_drive: zeros(outputs),
        },
    }
}
