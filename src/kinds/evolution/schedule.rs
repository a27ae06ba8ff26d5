//! Course of a setting over the generations of a run.

use super::choices::Form;

/// A setting that changes over a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Schedule {
    pub form: Form,
    pub first: f64,
    pub last: f64,
}

impl Schedule {
    /// Returns the value in generation `generation` of `generations`: the first value if `generations` is at most 1,
    /// and the last one after the end.
    pub fn at(&self, generation: u64, generations: u64) -> f64 {
        let t = match generations {
            0 | 1 => 0.0,
            n => (generation as f64 / (n - 1) as f64).min(1.0),
        };
        let (a, e) = (self.first, self.last);
        match self.form {
            Form::Constant => a,
            Form::Linear => a + (e - a) * t,
            Form::Cosine => a + (e - a) * (1.0 - (std::f64::consts::PI * t).cos()) / 2.0,
            Form::Exponential if a > 0.0 && e > 0.0 => a * (e / a).powf(t),
            Form::Exponential => a,
        }
    }

    /// Returns the nearest whole value, half to even.
    pub fn whole_at(&self, generation: u64, generations: u64) -> u32 {
        self.at(generation, generations).round_ties_even().max(0.0) as u32
    }
}
