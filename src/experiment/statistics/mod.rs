//! Statistics of an experiment: values of one measure per condition, and the differences from the control.
//!
//! Conditions that share seeds with the control are compared by the differences of the trials with equal seeds (paired t test),
//! other conditions by Welch's test. A trial without a value is missing and is not counted. With fewer than two values, or
//! without variance, there is only the difference: no interval, effect size, p or q.

mod bootstrap;
mod comparison;
mod report;

pub use bootstrap::{N_RESAMPLES, median_interval};
pub use comparison::{Comparison, Effect, Test, benjamini_hochberg, compare};
pub use report::{BySeed, Line, Report, report};

use crate::num::student;

/// Probability that an interval covers the value that it estimates.
pub const CONFIDENCE: f64 = 0.95;

/// Values of one measure under one condition, summarised.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Summary {
    /// Number of trials with a value.
    pub n: usize,
    /// Mean of the values; `None` without values.
    pub mean: Option<f64>,
    /// Sample standard deviation, with n - 1 in the denominator; `None` for fewer than two values.
    pub sd: Option<f64>,
    /// Interval of the mean that Student's t gives; `None` for fewer than two values, or equal ones.
    pub interval: Option<(f64, f64)>,
    /// Median of the values; `None` without values.
    pub median: Option<f64>,
}

impl Summary {
    /// Summarises values in any order; the sums are taken in ascending order of the values, so that the order has no effect.
    pub fn of(values: &[f64]) -> Self {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let Some(mean) = mean(&sorted) else { return Self::default() };
        let sd = deviation(&sorted, mean);
        let interval = sd.filter(|sd| *sd > 0.0).map(|sd| {
            let n = sorted.len() as f64;
            around(mean, sd / n.sqrt(), n - 1.0)
        });
        Self { n: sorted.len(), mean: Some(mean), sd, interval, median: median(&sorted) }
    }
}

/// Returns the mean; `None` without values.
fn mean(values: &[f64]) -> Option<f64> {
    let first = *values.first()?;
    // Differences from the first value are exactly 0 for equal values, which a plain sum is not.
    Some(first + values.iter().map(|x| x - first).sum::<f64>() / values.len() as f64)
}

/// Returns the sample standard deviation; `None` for fewer than two values.
fn deviation(values: &[f64], mean: f64) -> Option<f64> {
    if values.len() < 2 {
        return None;
    }
    let squares: f64 = values.iter().map(|x| (x - mean).powi(2)).sum();
    Some((squares / (values.len() - 1) as f64).sqrt())
}

/// Returns the median of ascending values; `None` without values.
fn median(sorted: &[f64]) -> Option<f64> {
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        n if n.is_multiple_of(2) => Some(0.5 * (sorted[middle - 1] + sorted[middle])),
        _ => Some(sorted[middle]),
    }
}

/// Returns the interval around an estimate with a standard error and degrees of freedom.
fn around(estimate: f64, error: f64, df: f64) -> (f64, f64) {
    let half = student::quantile(0.5 + 0.5 * CONFIDENCE, df) * error;
    (estimate - half, estimate + half)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summaries_are_those_of_scipy() {
        let values = [93.1, 88.4, 101.7, 95.0, 90.2, 97.3, 84.9, 99.8];
        let all = Summary::of(&values);
        let (low, high) = all.interval.expect("eight values");
        for (got, want) in [
            (all.mean.expect("values"), 93.8),
            (all.sd.expect("values"), 5.780_756_253_047_072),
            (low, 88.967_166_829_610_87),
            (high, 98.632_833_170_389_12),
            (all.median.expect("values"), 94.05),
        ] {
            assert!((got - want).abs() < 1e-9, "{got}, {want}");
        }
        let mut turned = values;
        turned.reverse();
        assert_eq!(Summary::of(&turned), all, "the order of the trials has no effect");
    }

    #[test]
    fn few_or_equal_values_have_no_interval() {
        let one = Summary::of(&[4.0]);
        assert_eq!((one.n, one.mean, one.sd, one.interval), (1, Some(4.0), None, None));
        let equal = Summary::of(&[0.1; 7]);
        assert_eq!((equal.n, equal.mean, equal.sd, equal.interval), (7, Some(0.1), Some(0.0), None));
        assert_eq!(Summary::of(&[]), Summary::default());
    }
}
