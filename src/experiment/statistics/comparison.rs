//! Difference of a condition from the control: estimate, interval, effect size and test.

use super::{around, deviation, mean};
use crate::num::student;
use std::collections::BTreeMap;

/// Test of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Test {
    /// Paired t test of trials with equal seeds.
    PairedT,
    /// Welch's t test of independent trials.
    Welch,
}

impl Test {
    /// Returns the name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::PairedT => "paired t",
            Self::Welch => "Welch",
        }
    }
}

/// Standardised difference, with the name of its definition.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Effect {
    /// Mean of the paired differences, divided by their standard deviation: d_z.
    Dz(f64),
    /// Difference of the means, divided by the pooled standard deviation: Cohen's d.
    CohenD(f64),
}

impl Effect {
    /// Returns the name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Dz(_) => "d_z",
            Self::CohenD(_) => "Cohen's d",
        }
    }

    /// Returns the standardised difference.
    pub const fn value(self) -> f64 {
        match self {
            Self::Dz(d) | Self::CohenD(d) => d,
        }
    }
}

/// Difference of a condition from the control.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// Test that fits the seeds of both conditions.
    pub test: Test,
    /// Number of pairs; for Welch's test, of values of the condition.
    pub n: usize,
    /// Mean of the condition minus that of the control; for pairs, the mean of their differences.
    pub difference: f64,
    /// Interval of the difference; `None` without variance, and for fewer than two values.
    pub interval: Option<(f64, f64)>,
    /// Effect size, under the same condition.
    pub effect: Option<Effect>,
    /// Test statistic with its degrees of freedom, under the same condition.
    pub t: Option<(f64, f64)>,
    /// Two-sided p value, under the same condition.
    pub p: Option<f64>,
}

/// Compares a condition with the control: values by seed, `None` for a trial without a value. The comparison is paired if any
/// seed is shared; trials without a partner are then left out. Returns `None` if there is no pair, or a side has no value.
pub fn compare(condition: &BTreeMap<u64, Option<f64>>, control: &BTreeMap<u64, Option<f64>>) -> Option<Comparison> {
    if condition.keys().any(|seed| control.contains_key(seed)) {
        let pair = |(seed, value): (&u64, &Option<f64>)| Some((*value)? - (*control.get(seed)?)?);
        let mut differences: Vec<f64> = condition.iter().filter_map(pair).collect();
        differences.sort_by(f64::total_cmp);
        return paired(&differences);
    }
    let values = |of: &BTreeMap<u64, Option<f64>>| {
        let mut values: Vec<f64> = of.values().flatten().copied().collect();
        values.sort_by(f64::total_cmp);
        values
    };
    welch(&values(condition), &values(control))
}

fn paired(differences: &[f64]) -> Option<Comparison> {
    let (n, difference) = (differences.len(), mean(differences)?);
    let only = Comparison { test: Test::PairedT, n, difference, interval: None, effect: None, t: None, p: None };
    let Some(sd) = deviation(differences, difference).filter(|sd| *sd > 0.0) else { return Some(only) };
    let (error, df) = (sd / (n as f64).sqrt(), (n - 1) as f64);
    Some(Comparison { effect: Some(Effect::Dz(difference / sd)), ..only }.tested(error, df))
}

fn welch(condition: &[f64], control: &[f64]) -> Option<Comparison> {
    let (a, b) = (mean(condition)?, mean(control)?);
    let (n, difference) = (condition.len(), a - b);
    let only = Comparison { test: Test::Welch, n, difference, interval: None, effect: None, t: None, p: None };
    let (Some(sd_a), Some(sd_b)) = (deviation(condition, a), deviation(control, b)) else { return Some(only) };
    let (n_a, n_b) = (condition.len() as f64, control.len() as f64);
    let (of_a, of_b) = (sd_a * sd_a / n_a, sd_b * sd_b / n_b);
    if of_a + of_b <= 0.0 {
        return Some(only);
    }
    let df = (of_a + of_b).powi(2) / (of_a * of_a / (n_a - 1.0) + of_b * of_b / (n_b - 1.0));
    let pooled = (((n_a - 1.0) * sd_a * sd_a + (n_b - 1.0) * sd_b * sd_b) / (n_a + n_b - 2.0)).sqrt();
    Some(Comparison { effect: Some(Effect::CohenD(difference / pooled)), ..only }.tested((of_a + of_b).sqrt(), df))
}

impl Comparison {
    fn tested(self, error: f64, df: f64) -> Self {
        let t = self.difference / error;
        let interval = Some(around(self.difference, error, df));
        Self { interval, t: Some((t, df)), p: Some(student::two_sided(t, df)), ..self }
    }
}

/// Returns the q values of p values (Benjamini and Hochberg, 1995), in their order: the expected share of false positives among
/// the tests with a q at most as large.
pub fn benjamini_hochberg(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|a, b| p[*b].total_cmp(&p[*a]));
    let (mut q, mut least) = (vec![1.0; p.len()], 1.0_f64);
    for (from_top, i) in order.into_iter().enumerate() {
        let rank = (p.len() - from_top) as f64;
        least = least.min(p[i] * p.len() as f64 / rank);
        q[i] = least;
    }
    q
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: [f64; 8] = [93.1, 88.4, 101.7, 95.0, 90.2, 97.3, 84.9, 99.8];
    const B: [f64; 8] = [71.5, 69.9, 80.2, 77.7, 66.1, 72.4, 64.0, 79.3];
    const C: [f64; 5] = [3.1, 2.7, 5.9, 4.4, 3.8];

    fn by_seed(values: &[f64], first: u64) -> BTreeMap<u64, Option<f64>> {
        (first..).zip(values.iter().map(|x| Some(*x))).collect()
    }

    /// Checks difference, t, degrees of freedom, p, interval and effect size.
    fn check(got: &Comparison, want: [f64; 7]) {
        let ((t, df), (low, high)) = (got.t.expect("a test"), got.interval.expect("an interval"));
        let found = [got.difference, t, df, got.p.expect("p"), low, high, got.effect.expect("an effect").value()];
        for (found, want) in found.iter().zip(want) {
            assert!((found - want).abs() <= 1e-9 * want.abs(), "{found}, {want}: {got:?}");
        }
    }

    /// Values of scipy.stats.ttest_rel 1.17.
    #[test]
    fn shared_seeds_are_compared_in_pairs() {
        let got = compare(&by_seed(&B, 1), &by_seed(&A, 1)).expect("pairs");
        assert_eq!((got.test, got.n, got.effect.map(Effect::name)), (Test::PairedT, 8, Some("d_z")));
        let want = [
            -21.1625,
            -23.498_676_140_945_62,
            7.0,
            6.418_724_624_582_894e-8,
            -23.292_039_571_684_082,
            -19.032_960_428_315_92,
            -8.308_036_624_084_59,
        ];
        check(&got, want);
    }

    /// Values of scipy.stats.ttest_ind with equal_var=False 1.17.
    #[test]
    fn other_seeds_are_compared_by_welch() {
        let got = compare(&by_seed(&C, 100), &by_seed(&A, 1)).expect("values");
        assert_eq!((got.test, got.n, got.effect.map(Effect::name)), (Test::Welch, 5, Some("Cohen's d")));
        let want = [
            -89.82,
            -42.376_680_722_844_67,
            8.017_008_233_961_857,
            1.019_745_723_865_652_4e-10,
            -94.705_914_277_184_69,
            -84.934_085_722_815_3,
            -19.220_185_749_278_684,
        ];
        check(&got, want);
    }

    #[test]
    fn missing_values_and_equal_differences_have_no_test() {
        let control = by_seed(&A, 1);
        let same = compare(&control, &control).expect("pairs");
        assert_eq!((same.difference, same.interval, same.p, same.effect), (0.0, None, None, None));
        let mut missing = control.clone();
        missing.values_mut().skip(1).for_each(|value| *value = None);
        let one = compare(&missing, &control).expect("a pair");
        assert_eq!((one.n, one.difference, one.p), (1, 0.0, None));
        missing.insert(1, None);
        assert_eq!(compare(&missing, &control), None, "no pair");
        assert_eq!(
            compare(&by_seed(&[2.0], 90), &by_seed(&[1.0, 1.0], 1)).map(|c| (c.difference, c.p)),
            Some((1.0, None))
        );
    }

    /// Values of scipy.stats.false_discovery_control 1.17.
    #[test]
    fn q_values_are_those_of_scipy() {
        let q = benjamini_hochberg(&[0.01, 0.04, 0.03, 0.005, 0.9, 0.04]);
        let want = [0.03, 0.048, 0.048, 0.03, 0.9, 0.048];
        assert!(q.iter().zip(want).all(|(q, want)| (q - want).abs() < 1e-12), "{q:?}");
        assert_eq!(benjamini_hochberg(&[]), [0.0; 0]);
    }

    /// Two samples of one distribution: 5 % of the p values are below 0.05. Both tests, 20,000 repetitions with addressed draws.
    #[test]
    fn equal_conditions_differ_in_one_of_twenty_tests() {
        use crate::num::{
            exact,
            rng::{Draw, Purpose},
        };
        let draw =
            |step, lane| f64::from(exact::normal(Draw { seed: 7, purpose: Purpose::Noise, step, lane }.words()[0]));
        for n in [5_u32, 12] {
            let mut below = [0; 2];
            for step in 0..20_000 {
                let values = |from: u32| (from..from + n).map(|lane| draw(step, lane)).collect::<Vec<_>>();
                let (a, b) = (values(0), values(100));
                for (shift, below) in [0, 1000].into_iter().zip(&mut below) {
                    let p = compare(&by_seed(&a, shift), &by_seed(&b, 0)).and_then(|c| c.p);
                    *below += u32::from(p.expect("a test") < 0.05);
                }
            }
            assert!(below.iter().all(|n| (700..=1300).contains(n)), "{n} trials: {below:?} of 20,000");
        }
    }
}
