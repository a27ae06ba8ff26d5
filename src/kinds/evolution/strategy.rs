//! The evolution strategy: from the losses of the pairs to changed weights.
//!
//! Losses and weighted sums are integers, so they have no order: results do not depend on threads or on how many members are
//! evaluated at a time.

/// Units per 1 of the weights of pairs.
pub const PAIR_UNITS: f64 = 1_048_576.0;
/// Decay of the mean square of a tensor's Z per generation.
const MEAN_SQUARE_DECAY: f32 = 0.95;
/// Guard of the root of the mean square.
const EPSILON: f32 = 1e-3;
/// Limit of shadow weights, so that they do not drift away from the ternary values.
pub const SHADOW_LIMIT: f32 = 1.5;
/// Fractional bits of Z that count in its mean square.
const SQUARE_BITS: u32 = 10;

/// How the fitness of a pair becomes its weight in the update.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum Shaping {
    /// Rank, centred and divided by the standard deviation of the ranks.
    #[default]
    CentredRank,
    /// Deviation from the mean in standard deviations.
    ZScore,
    /// Sign of the fitness.
    Sign,
}

/// Returns the weight of each pair. `fitness` of a pair is `-(loss of + less loss of -)`; only evaluated pairs are passed. Weights
/// are clipped to ±`clip`. Equal values have the ranks of their order.
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

/// Returns the ranks in ascending order, from -0.5 to 0.5; 0 for a single value.
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

/// Returns Z as a number.
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

/// Step of a generation: rate, and threshold of normalised Z below which a weight keeps its value. The threshold of `n` pairs is
/// the setting times `sqrt(n)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    pub rate: f32,
    pub threshold: f32,
    /// Limit of shadow weights; infinite for none.
    pub shadow_limit: f32,
}

impl Step {
    /// Returns the change of a value; `None` below the threshold.
    fn change(&self, z: i64, root: f32) -> Option<f32> {
        let g = as_f32(z) / root;
        (g.abs() >= self.threshold).then_some(self.rate * g)
    }

    /// Updates ternary weights through their shadow weights, which accumulate changes smaller than 1. Returns the number of
    /// weights that changed.
    pub fn update_matrix(&self, z: &[i64], root: f32, shadow: &mut [f32], weights: &mut [i8]) -> u64 {
        let mut changed = 0;
        for ((z, shadow), weight) in z.iter().zip(shadow).zip(weights) {
            let Some(change) = self.change(*z, root) else { continue };
            *shadow = (*shadow + change).clamp(-self.shadow_limit, self.shadow_limit);
            let new = shadow.round_ties_even().clamp(-1.0, 1.0) as i8;
            changed += u64::from(new != *weight);
            *weight = new;
        }
        changed
    }

    /// Updates a vector of f32.
    pub fn update_vector(&self, z: &[i64], root: f32, values: &mut [f32]) {
        for (z, value) in z.iter().zip(values) {
            *value += self.change(*z, root).unwrap_or(0.0);
        }
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
        let step = Step { rate: 0.2, threshold: 0.5, shadow_limit: SHADOW_LIMIT };
        let (mut shadow, mut weights) = (vec![0.0; 2], vec![0; 2]);
        let z = [fixed(1.0), fixed(0.25)];
        let changes: Vec<u64> = (0..12).map(|_| step.update_matrix(&z, 1.0, &mut shadow, &mut weights)).collect();
        assert_eq!((changes.iter().sum::<u64>(), weights), (1, vec![1, 0]), "the second stays below the threshold");
        assert_eq!(shadow, [SHADOW_LIMIT, 0.0]);
    }
}
