//! An expert of two [`SynapticLinear`] layers that are written after every token. Calcium is 1, so that the energy of the expert
//! gates its fast weights. They begin at zero: before the first write an expert is the trained one.
//!
//! A write adds the product of mean input and mean output to the weights that made the output, nothing takes it away, and so
//! outputs grow until they are infinite; what follows is NaN. The fast memory of the kind has no such feedback.

use super::{
    linear::{Signals, SynapticLinear},
    unit::{Constants, Unit},
};
use crate::synaptic::cuda::noise;
use neuropil::{
    kinds::synaptic::postsynaptic::Gains,
    nn::{lengths::LengthError, real::Real},
};

/// Columns of the traces; all are equal.
const RANK: usize = 8;

/// Weights of an expert of C features and some hidden ones.
struct ExpertWeights<R> {
    /// `[hidden, C]`
    fc1: Vec<R>,
    /// `[hidden]`
    fc1_bias: Vec<R>,
    /// `[C, hidden]`
    fc2: Vec<R>,
    /// `[C]`
    fc2_bias: Vec<R>,
}

/// An expert that writes itself.
#[derive(Clone, Debug)]
struct WrittenExpert<R>([SynapticLinear<R>; 2]);

impl<R: Real> WrittenExpert<R> {
    /// As it was trained.
    fn new(weights: ExpertWeights<R>) -> Self {
        let ExpertWeights { fc1, fc1_bias, fc2, fc2_bias } = weights;
        Self([layer(&fc1, fc1_bias), layer(&fc2, fc2_bias)])
    }

    /// The output `[C]` for the input `[C]` of a token; then both layers are written. `gains` are those of the genome.
    fn step(&mut self, with: &Constants, x: &[R], energy: f32, gains: Gains) -> Result<Vec<R>, LengthError> {
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

/// Writes of the earlier model feed back on outputs: they grow beyond all bounds and become NaN, without a panic. Without a
/// write the expert is the trained one.
#[test]
fn hebbian_expert_begins_as_trained_and_grows_without_bound() {
    const C: usize = 8;
    const HIDDEN: usize = 12;
    let weights = ExpertWeights {
        fc1: noise(C * HIDDEN, 1),
        fc1_bias: noise(HIDDEN, 2),
        fc2: noise(C * HIDDEN, 3),
        fc2_bias: noise(C, 4),
    };
    let x: Vec<f32> = noise(C, 5).into_iter().map(|x| 3.0 * x).collect();
    let row = |w: &[f32], b: f32, x: &[f32]| b + w.iter().zip(x).map(|(w, x)| w * x).sum::<f32>();
    let first = weights.fc1.chunks(C).zip(&weights.fc1_bias).map(|(w, b)| row(w, *b, &x).max(0.0).powi(2));
    let hidden: Vec<f32> = first.collect();
    let want: Vec<f32> = weights.fc2.chunks(HIDDEN).zip(&weights.fc2_bias).map(|(w, b)| row(w, *b, &hidden)).collect();
    let mut expert = WrittenExpert::new(weights);
    let mut step = || {
        let gains = Gains { camkii: 1.0, pp1: 1.0 };
        expert.step(&Constants::default(), &x, 0.9, gains).expect("it fits")
    };
    let size = |y: &[f32]| y.iter().map(|y| f64::from(*y).powi(2)).sum::<f64>().sqrt();
    let y = step();
    assert!(y.iter().zip(&want).all(|(a, b)| (a - b).abs() < 1e-4 * (1.0 + b.abs())), "{y:?} {want:?}");
    let (start, mut largest) = (size(&y), 0.0_f64);
    let steps = (1..5000).find(|_| {
        let now = size(&step());
        largest = largest.max(if now.is_finite() { now } else { 0.0 });
        !now.is_finite()
    });
    assert!(
        steps.is_some() && largest > 1e6 * start,
        "from {start:.2} to {largest:.1e}, not finite at token {steps:?}"
    );
    assert!(step().iter().any(|y| y.is_nan()));
}
