//! Samples a token from logits.
//!
//! The distribution is `softmax(logits / temperature)`, restricted to the [`Sampling::top_k`] most probable tokens, then to
//! the fewest of those whose probabilities reach [`Sampling::top_p`] of their sum (nucleus sampling, Holtzman et al.,
//! 2020), and normalised again. Tokens of equal logits are ordered by their number. Probabilities are f64.
//!
//! The draw has an address: the words of Philox at (seed, [`Purpose::Sampling`], step, sequence) form a number u of 53 bits in
//! `[0, 1)`, and the first token, in descending order of probability, whose cumulative probability exceeds u is drawn. A
//! continuation therefore depends only on its seed, not on the number of texts generated at the same time.

use crate::num::rng::{Draw, Purpose};

/// Settings of token sampling.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Sampling {
    /// Divisor of the logits; 0 takes the most probable token.
    pub temperature: f32,
    /// Maximum number of candidate tokens; 0: all.
    pub top_k: usize,
    /// Cumulative probability of the candidate tokens; 1: all.
    pub top_p: f32,
    /// Seed of the draws.
    pub seed: u64,
    /// Number of the sequence, for different continuations of the same text.
    pub sequence: u32,
}

impl Default for Sampling {
    fn default() -> Self {
        Self { temperature: 1.0, top_k: 0, top_p: 1.0, seed: 1, sequence: 0 }
    }
}

/// A candidate token.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    /// Token index in the vocabulary.
    pub token: u32,
    /// Probability after temperature and restrictions.
    pub probability: f64,
}

/// A sampled token with the most probable alternatives.
#[derive(Clone, Debug, PartialEq)]
pub struct Drawn {
    /// Token index in the vocabulary.
    pub token: u32,
    /// Probability of the token.
    pub probability: f64,
    /// The most probable tokens, at most [`TOP`], in descending order.
    pub top: Vec<Candidate>,
}

/// Maximum number of candidates returned with a sample.
pub const TOP: usize = 10;

/// Reason why no token was sampled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SamplingError {
    /// A logit is NaN or +infinity, or no logit is finite; contains the index of the first such logit.
    #[error("logit {0} is NaN or infinite: the model has diverged")]
    NonFinite(usize),
    /// There are no logits.
    #[error("there are no logits to draw a token from")]
    Empty,
    /// A setting is out of its range.
    #[error("temperature must be 0 or more, and top-p more than 0 and at most 1")]
    Setting,
}

impl Sampling {
    /// Samples the token of a step. Tokens with logit -infinity are never sampled. Fails as [`Sampling::candidates`]
    /// does.
    pub fn draw(&self, logits: &[f32], step: u64) -> Result<Drawn, SamplingError> {
        let candidates = self.candidates(logits)?;
        let [high, low, ..] = Draw { seed: self.seed, purpose: Purpose::Sampling, step, lane: self.sequence }.words();
        let u = (u64::from(high) << 21 | u64::from(low) >> 11) as f64 / (1_u64 << 53) as f64;
        let mut cumulative = 0.0;
        let drawn = candidates.iter().find(|candidate| {
            cumulative += candidate.probability;
            u < cumulative
        });
        // Rounding may leave the last cumulative probability a little below 1.
        let drawn = drawn.or(candidates.last()).copied().ok_or(SamplingError::Empty)?;
        let top = candidates.into_iter().take(TOP).collect();
        Ok(Drawn { token: drawn.token, probability: drawn.probability, top })
    }

    /// Returns the candidate tokens in descending order of probability. Fails if a setting is out of its range, a logit is NaN
    /// or +infinity, or no logit is finite.
    pub fn candidates(&self, logits: &[f32]) -> Result<Vec<Candidate>, SamplingError> {
        if self.temperature.is_nan() || self.temperature < 0.0 || !(self.top_p > 0.0 && self.top_p <= 1.0) {
            return Err(SamplingError::Setting);
        }
        if let Some(bad) = logits.iter().position(|z| z.is_nan() || *z == f32::INFINITY) {
            return Err(SamplingError::NonFinite(bad));
        }
        let possible = logits.iter().enumerate().filter(|(_, z)| **z > f32::NEG_INFINITY);
        let mut tokens: Vec<(u32, f32)> = possible.map(|(i, z)| (i as u32, *z)).collect();
        let order = |a: &(u32, f32), b: &(u32, f32)| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0));
        let k = match self.top_k {
            _ if self.temperature == 0.0 => 1,
            0 => tokens.len(),
            k => k.min(tokens.len()),
        };
        if k == 0 {
            return Err(if logits.is_empty() { SamplingError::Empty } else { SamplingError::NonFinite(0) });
        }
        if k < tokens.len() {
            tokens.select_nth_unstable_by(k - 1, order);
            tokens.truncate(k);
        }
        tokens.sort_unstable_by(order);
        let temperature = if self.temperature == 0.0 { 1.0 } else { f64::from(self.temperature) };
        let largest = f64::from(tokens[0].1);
        let weight = |z: f32| ((f64::from(z) - largest) / temperature).exp();
        let mut candidates: Vec<Candidate> =
            tokens.iter().map(|(token, z)| Candidate { token: *token, probability: weight(*z) }).collect();
        let sum: f64 = candidates.iter().map(|c| c.probability).sum();
        let (mut reached, enough) = (0.0, f64::from(self.top_p) * sum);
        if self.top_p < 1.0 {
            let n = candidates.iter().position(|c| {
                reached += c.probability;
                reached >= enough
            });
            candidates.truncate(n.map_or(candidates.len(), |n| n + 1));
        }
        let sum: f64 = candidates.iter().map(|c| c.probability).sum();
        candidates.iter_mut().for_each(|c| c.probability /= sum);
        Ok(candidates)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(s: &Sampling, logits: &[f32]) -> Vec<u32> {
        s.candidates(logits).expect("logits").iter().map(|c| c.token).collect()
    }

    #[test]
    fn restrictions_keep_the_most_probable() {
        let logits = [0.4_f32.ln(), 0.1_f32.ln(), 0.3_f32.ln(), 0.15_f32.ln(), 0.05_f32.ln()];
        let all = Sampling::default();
        assert_eq!(tokens(&all, &logits), [0, 2, 3, 1, 4]);
        assert_eq!(tokens(&Sampling { top_k: 2, ..all }, &logits), [0, 2]);
        assert_eq!(tokens(&Sampling { top_p: 0.69, ..all }, &logits), [0, 2]);
        assert_eq!(tokens(&Sampling { top_p: 0.71, ..all }, &logits), [0, 2, 3]);
        assert_eq!(tokens(&Sampling { top_p: 1e-9, ..all }, &logits), [0], "one token is always left");
        let both = Sampling { top_k: 3, top_p: 0.5, ..all };
        let kept = both.candidates(&logits).expect("logits");
        assert_eq!(kept.len(), 2, "top-p is a share of what top-k left");
        assert!((kept.iter().map(|c| c.probability).sum::<f64>() - 1.0).abs() < 1e-15);
        assert_eq!(tokens(&Sampling { temperature: 0.0, ..all }, &[1.0, 3.0, 3.0]), [1], "the first of equals");
        assert_eq!(tokens(&all, &[f32::NEG_INFINITY, 0.0]), [1]);
    }

    /// Tests the frequencies of 20,000 draws by chi-squared with 3 degrees of freedom (0.1 %: 16.27).
    #[test]
    fn draws_follow_the_distribution() {
        let logits = [0.5_f32, -0.5, 1.5, 0.0];
        for temperature in [0.5, 1.0, 2.0] {
            let s = Sampling { temperature, seed: 7, ..Sampling::default() };
            let mut counts = [0.0_f64; 4];
            let n = 20_000;
            (0..n).for_each(|step| counts[s.draw(&logits, step).expect("logits").token as usize] += 1.0);
            let chi: f64 = s
                .candidates(&logits)
                .expect("logits")
                .iter()
                .map(|c| {
                    let expected = c.probability * n as f64;
                    (counts[c.token as usize] - expected).powi(2) / expected
                })
                .sum();
            assert!(chi < 16.27, "temperature {temperature}: {chi}");
        }
    }

    #[test]
    fn a_draw_has_an_address() {
        let logits: Vec<f32> = (0..50).map(|i| (i as f32 * 0.7).sin()).collect();
        let s = Sampling { seed: 3, ..Sampling::default() };
        let draws =
            |s: Sampling| -> Vec<u32> { (0..20).map(|step| s.draw(&logits, step).expect("logits").token).collect() };
        assert_eq!(draws(s), draws(s));
        assert_ne!(draws(s), draws(Sampling { seed: 4, ..s }));
        assert_ne!(draws(s), draws(Sampling { sequence: 1, ..s }));
        let drawn = s.draw(&logits, 0).expect("logits");
        assert_eq!(drawn.top.len(), TOP);
        assert!(drawn.top.is_sorted_by(|a, b| a.probability >= b.probability));
    }

    #[test]
    fn errors_are_values() {
        let s = Sampling::default();
        assert_eq!(s.draw(&[0.0, f32::NAN], 0), Err(SamplingError::NonFinite(1)));
        assert_eq!(s.draw(&[f32::NEG_INFINITY], 0), Err(SamplingError::NonFinite(0)));
        assert_eq!(s.draw(&[], 0), Err(SamplingError::Empty));
        assert_eq!(Sampling { top_p: 0.0, ..s }.draw(&[0.0], 0), Err(SamplingError::Setting));
        assert_eq!(Sampling { temperature: -1.0, ..s }.draw(&[0.0], 0), Err(SamplingError::Setting));
    }
}
