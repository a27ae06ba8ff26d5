//! The evolution strategy: from the losses of the pairs to changed weights.
//!
//! Losses and weighted sums are sums of integers, which have the same result in any order: it does not depend on
//! threads or on the number of members that are evaluated together.

use super::choices::{Generator, Shaping, TextChoice};

/// Fixed-point units per 1.0 of the weights of pairs.
pub const PAIR_UNITS: f64 = 1_048_576.0;
/// Decay of the mean square of a tensor's Z per generation.
const MEAN_SQUARE_DECAY: f32 = 0.95;
/// Constant added to the mean square under the root, and to the denominator of Adam.
const EPSILON: f32 = 1e-3;
/// Limit of shadow weights, so that they do not drift away from the ternary values.
pub const SHADOW_LIMIT: f32 = 1.5;
/// Fractional bits of Z that count in its mean square.
const SQUARE_BITS: u32 = 10;

/// Returns the weight of each evaluated pair from its fitness, the loss of - less the loss of +. Weights are clipped to
/// ±`clip`. Equal values have ranks in the order of their pairs.
pub fn shape(fitness: &[f64], shaping: Shaping, clip: f64) -> Vec<f64> {
    let mut shaped = match shaping {
        Shaping::Sign => return fitness.iter().map(|f| if *f == 0.0 { 0.0 } else { f.signum() }).collect(),
        Shaping::ZScore => fitness.to_vec(),
        Shaping::CentredRank => ranks(fitness),
    };
    let n = shaped.len().max(1) as f64;
    let mean = shaped.iter().sum::<f64>() / n;
    let deviation = (shaped.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n).sqrt();
    shaped.iter_mut().for_each(|x| *x = ((*x - mean) / (deviation + 1e-6)).clamp(-clip, clip));
    shaped
}

/// Returns the rank of each value in ascending order, from -0.5 to 0.5; 0 for a single value.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut ranks = vec![0.0; values.len()];
    if let last @ 1.. = values.len().saturating_sub(1) {
        order.iter().enumerate().for_each(|(rank, at)| ranks[*at] = rank as f64 / last as f64 - 0.5);
    }
    ranks
}

/// Returns the weight of a pair in units of `2^-20`.
pub fn fixed(weight: f64) -> i64 {
    (weight * PAIR_UNITS).round_ties_even() as i64
}

/// Adds the perturbation of a pair, times its weight in units of `2^-20`, to Z of a tensor.
pub fn accumulate(z: &mut [i64], perturbation: &[i8], weight: i64) {
    z.iter_mut().zip(perturbation).for_each(|(z, e)| *z += weight * i64::from(*e));
}

/// Converts an element of Z from units of `2^-20` to f32.
pub fn as_f32(z: i64) -> f32 {
    (z as f64 / PAIR_UNITS) as f32
}

/// Running mean square of a tensor's Z; `None` before the first generation.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MeanSquare(pub Option<f32>);

impl MeanSquare {
    /// Updates the mean square. Returns `sqrt(mean + 1e-3)`, by which Z is divided.
    pub fn update(&mut self, z: &[i64]) -> f32 {
        let reduced = |z: i64| (z as f64 / f64::from(1u32 << SQUARE_BITS)).round_ties_even() as i64;
        let sum: u128 = z.iter().map(|z| u128::from(reduced(*z).unsigned_abs()).pow(2)).sum();
        let units = PAIR_UNITS / f64::from(1u32 << SQUARE_BITS);
        let mean = (sum as f64 / (units * units) / z.len().max(1) as f64) as f32;
        let before = self.0.unwrap_or(mean);
        let now = MEAN_SQUARE_DECAY * before + (1.0 - MEAN_SQUARE_DECAY) * mean;
        self.0 = Some(now);
        (now + EPSILON).sqrt()
    }
}

/// Rule by which Z changes weights.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Rule {
    /// Z divided by the root of its running mean square in the tensor.
    #[default]
    Normalised,
    /// Running mean of the normalised Z.
    Momentum {
        /// Share of the earlier mean.
        decay: f32,
    },
    /// Running mean of Z, divided by the root of the running mean square of each weight, both bias-corrected (Kingma
    /// and Ba 2015).
    Adam {
        /// Decays of the first and of the second moment.
        decay: [f32; 2],
    },
}

impl Rule {
    /// Returns the number of moments that the rule keeps for each weight.
    pub const fn n_moments(&self) -> usize {
        match self {
            Self::Normalised => 0,
            Self::Momentum { .. } => 1,
            Self::Adam { .. } => 2,
        }
    }
}

/// Step of a generation: rule, rate, and threshold of normalised Z below which a weight keeps its value. The threshold of `n`
/// pairs is the setting times `sqrt(n)`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Step {
    pub rule: Rule,
    pub rate: f32,
    pub threshold: f32,
    /// Limit of shadow weights; infinite for none.
    pub shadow_limit: f32,
    /// Bias corrections of Adam: factors of both moments.
    pub corrections: [f32; 2],
    /// Whether the rounding error of a weight is kept in 8 bits.
    pub has_byte_residual: bool,
}

/// Changes of a tensor in a generation.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TensorChange {
    /// Number of ternary weights that changed; 0 for vectors.
    pub changed: u64,
    /// Number of shadow weights at their limit; 0 for vectors.
    pub saturated: u64,
    /// Root of the running mean square of Z.
    pub rms: f32,
}

impl Step {
    /// Returns the step with the bias corrections of Adam for update `update`, counted from 1.
    #[must_use]
    pub fn corrected(mut self, update: u64) -> Self {
        if let Rule::Adam { decay } = self.rule {
            let power = i32::try_from(update).unwrap_or(i32::MAX);
            self.corrections = decay.map(|decay| (1.0 / (1.0 - f64::from(decay).powi(power))) as f32);
        }
        self
    }

    /// Calls `change` with the index and the change of each element whose direction reaches the threshold. Moments that
    /// the rule lacks may be empty.
    fn changes(&self, z: &[i64], root: f32, [first, second]: [&mut [f32]; 2], mut change: impl FnMut(usize, f32)) {
        for (i, z) in z.iter().enumerate() {
            let direction = match self.rule {
                Rule::Normalised => as_f32(*z) / root,
                Rule::Momentum { decay } => {
                    first[i] = decay * first[i] + (1.0 - decay) * (as_f32(*z) / root);
                    first[i]
                }
                Rule::Adam { decay: [a, b] } => {
                    let z = as_f32(*z);
                    first[i] = a * first[i] + (1.0 - a) * z;
                    second[i] = b * second[i] + (1.0 - b) * (z * z);
                    self.corrections[0] * first[i] / ((self.corrections[1] * second[i]).sqrt() + EPSILON)
                }
            };
            if direction.abs() >= self.threshold {
                change(i, self.rate * direction);
            }
        }
    }

    /// Updates ternary weights through their shadow weights, which accumulate changes smaller than 1.
    pub fn update_matrix(
        &self,
        z: &[i64],
        root: f32,
        moments: [&mut [f32]; 2],
        shadow: &mut [f32],
        weights: &mut [i8],
    ) -> TensorChange {
        let mut changed = 0;
        self.changes(z, root, moments, |i, change| {
            let moved = (shadow[i] + change).clamp(-self.shadow_limit, self.shadow_limit);
            let new = ternary_of(moved);
            shadow[i] = if self.has_byte_residual { with_byte_residual(moved, new) } else { moved };
            changed += u64::from(new != weights[i]);
            weights[i] = new;
        });
        let saturated = shadow.iter().filter(|s| s.abs() >= self.shadow_limit).count() as u64;
        TensorChange { changed, saturated, rms: root }
    }

    /// Updates a vector of f32.
    pub fn update_vector(&self, z: &[i64], root: f32, moments: [&mut [f32]; 2], values: &mut [f32]) -> TensorChange {
        self.changes(z, root, moments, |i, change| values[i] += change);
        TensorChange { rms: root, ..TensorChange::default() }
    }
}

/// Rounds a shadow weight to -1, 0 or 1, half to even.
pub fn ternary_of(shadow: f32) -> i8 {
    shadow.round_ties_even().clamp(-1.0, 1.0) as i8
}

/// Rounds the difference between a shadow weight and its ternary value to 1/254.
fn with_byte_residual(shadow: f32, weight: i8) -> f32 {
    let weight = f32::from(weight);
    weight + ((shadow - weight) * 254.0).round_ties_even().clamp(-127.0, 127.0) / 254.0
}

/// Form of the perturbations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoiseForm {
    /// One integer per weight.
    FullRank(Generator),
    /// Two thin factors of -1 and 1 per matrix, of this rank.
    LowRank(usize),
    /// A sign per output of each matrix and token, in place of perturbed weights.
    Activations,
}

/// Largest exponent of the scale of perturbations: perturbed weights fit into 8 bits.
pub const MAX_SHIFT: u32 = 6;

/// Settings that change from generation to generation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Course {
    pub rate: f32,
    /// Threshold of normalised Z for one pair.
    pub threshold: f32,
    /// Perturbations are scaled by 2^-shift; at most [`MAX_SHIFT`].
    pub shift: u32,
    /// Number of pairs that are evaluated.
    pub pairs: usize,
}

/// Settings of the strategy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Sequences per member.
    pub sequences: usize,
    pub texts: TextChoice,
    pub noise: NoiseForm,
    pub shaping: Shaping,
    /// Limit of the weight of a pair.
    pub clip: f64,
    pub rule: Rule,
    /// Rate of the vectors, relative to that of the matrices.
    pub vector_rate: f32,
    pub trains_positions: bool,
    pub has_byte_residual: bool,
    pub seed: u64,
}

impl Settings {
    /// Returns the weight of each pair in units of `2^-20`, from the losses of its members.
    pub fn pair_weights(&self, losses: &[[i64; 2]]) -> Vec<i64> {
        let fitness: Vec<f64> = losses.iter().map(|[plus, minus]| (minus - plus) as f64).collect();
        shape(&fitness, self.shaping, self.clip).into_iter().map(fixed).collect()
    }

    /// Returns the steps of matrices and of vectors in update `update`, counted from 1.
    pub fn steps(&self, course: Course, update: u64) -> [Step; 2] {
        let matrices = Step {
            rule: self.rule,
            rate: course.rate,
            threshold: course.threshold * (course.pairs as f32).sqrt(),
            shadow_limit: SHADOW_LIMIT,
            corrections: [1.0; 2],
            has_byte_residual: self.has_byte_residual,
        }
        .corrected(update);
        [matrices, Step { rate: course.rate * self.vector_rate, ..matrices }]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_and_equal_pairs_have_finite_weights() {
        for shaping in [Shaping::CentredRank, Shaping::ZScore, Shaping::Sign] {
            assert_eq!(shape(&[], shaping, 3.0), [0.0; 0]);
            assert_eq!(shape(&[0.0], shaping, 3.0), [0.0]);
            assert!(shape(&[1.0; 4], shaping, 3.0).iter().all(|w| w.is_finite() && w.abs() <= 3.0));
        }
    }

    #[test]
    fn shadow_weights_accumulate_small_changes_within_their_limit() {
        let step = Step { rate: 0.2, threshold: 0.5, shadow_limit: SHADOW_LIMIT, ..Step::default() };
        let (mut shadow, mut weights) = (vec![0.0; 2], vec![0; 2]);
        let z = [fixed(1.0), fixed(0.25)];
        let mut update = || step.update_matrix(&z, 1.0, [&mut [], &mut []], &mut shadow, &mut weights);
        let changes: Vec<TensorChange> = (0..12).map(|_| update()).collect();
        assert_eq!(changes.iter().map(|c| c.changed).sum::<u64>(), 1, "the second stays below the threshold");
        assert_eq!((weights, shadow, changes[11].saturated), (vec![1, 0], vec![SHADOW_LIMIT, 0.0], 1));
    }

    #[test]
    fn an_8_bit_rounding_error_accumulates_changes_too() {
        let step = Step { rate: 0.01, shadow_limit: SHADOW_LIMIT, has_byte_residual: true, ..Step::default() };
        let (mut shadow, mut weights) = (vec![0.0], vec![0]);
        for update in 1..=60 {
            step.update_matrix(&[fixed(1.0)], 1.0, [&mut [], &mut []], &mut shadow, &mut weights);
            let error = 254.0 * (shadow[0] - f32::from(weights[0]));
            assert!((error - error.round()).abs() < 1e-3 && error.abs() <= 127.0, "{update}: {shadow:?}");
        }
        assert_eq!(weights, [1]);
    }

    #[test]
    fn rules_with_moments_follow_a_constant_direction() {
        for rule in [Rule::Momentum { decay: 0.9 }, Rule::Adam { decay: [0.9, 0.95] }] {
            let (mut shadow, mut weights, mut moments) = (vec![0.0], vec![0], [vec![0.0], vec![0.0]]);
            for update in 1..=40 {
                let step = Step { rule, rate: 0.05, shadow_limit: SHADOW_LIMIT, ..Step::default() }.corrected(update);
                let moments = moments.each_mut().map(|m| &mut m[..]);
                step.update_matrix(&[fixed(1.0)], 1.0, moments, &mut shadow, &mut weights);
            }
            assert!(weights == [1] && shadow[0] > 1.0, "{rule:?}: {shadow:?}");
        }
    }
}
