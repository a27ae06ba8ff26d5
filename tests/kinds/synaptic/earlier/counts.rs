//! Three estimators of a binomial count, and their derivatives with respect to the probability.

use neuropil::kinds::synaptic::presynaptic::step::{clip, sigmoid};

/// How a count is drawn in training.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Estimator {
    /// A normal variable of the same mean and variance, clipped: not an integer, and biased where `n·p` is small.
    #[default]
    NormalReparam,
    /// Trials by the Gumbel-sigmoid at temperature `tau`, rounded; the gradient is that of the unrounded ones.
    GumbelSigmoidSte {
        /// Temperature.
        tau: f64,
    },
    /// Bernoulli trials; the gradient is that of the mean.
    StraightThrough,
}

/// Random numbers of one count.
#[derive(Clone, Copy, Debug)]
pub struct Noise<'a> {
    /// Standard normal.
    pub z: f64,
    /// Uniform, one per trial.
    pub u: &'a [f64],
}

/// Distance of probabilities and uniform numbers from 0 and 1.
const MARGIN: f64 = 1e-6;

/// Trials of a pool: rounded, halves to even, `cap` at most.
pub fn trials(pool: f64, cap: f64) -> f64 {
    clip(pool, 0.0, cap).round_ties_even()
}

impl Estimator {
    /// The count of `n` trials of probability `p`, and its derivative.
    pub fn count(self, n: f64, p: f64, noise: Noise<'_>) -> (f64, f64) {
        let is_inside = (MARGIN..=1.0 - MARGIN).contains(&p);
        let p = clip(p, MARGIN, 1.0 - MARGIN);
        let trials = noise.u.iter().take(n as usize).map(|u| clip(*u, MARGIN, 1.0 - MARGIN));
        let (count, slope) = match self {
            Self::NormalReparam => {
                let deviation = (n * p * (1.0 - p) + MARGIN).sqrt();
                let x = n * p + deviation * noise.z;
                let slope = n + noise.z * n * (1.0 - 2.0 * p) / (2.0 * deviation);
                (clip(x, 0.0, n), if (0.0..=n).contains(&x) { slope } else { 0.0 })
            }
            Self::GumbelSigmoidSte { tau } => trials.fold((0.0, 0.0), |(count, slope), u| {
                let logit = (p / (1.0 - p)).ln() + u.ln() - (1.0 - u).ln();
                let soft = sigmoid::<f64>(logit / tau);
                (count + f64::from(soft > 0.5), slope + soft * (1.0 - soft) / (tau * p * (1.0 - p)))
            }),
            Self::StraightThrough => (trials.filter(|u| *u < p).count() as f64, n),
        };
        (count, if is_inside { slope } else { 0.0 })
    }
}
