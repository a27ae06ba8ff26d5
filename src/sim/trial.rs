//! Trials: copies of a simulation that are stepped together, and that differ in their random draws and interventions.

use super::{ProbeSpec, Reading, Series, Shape, SimError, Tap};
use std::sync::Arc;

/// Trial to start: the argument of [`Kind::start`](super::Kind::start).
#[derive(Debug)]
pub struct Trial<'a, P> {
    /// Seed of the random draws. A generated network keeps the seed of the project.
    pub seed: u64,
    /// Parameters of the trial. They differ from those of the other trials in interventions only. Trials with equal
    /// interventions refer to the same parameters.
    pub params: &'a P,
}

impl<P> Clone for Trial<'_, P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P> Copy for Trial<'_, P> {}

/// Trials whose values a tap reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TrialChoice {
    /// The trial with this index, from 0.
    One(u32),
    /// Every trial, with one reading each.
    All,
    /// A statistic over the trials.
    Statistic(TrialStatistic),
}

impl Default for TrialChoice {
    fn default() -> Self {
        Self::One(0)
    }
}

impl TrialChoice {
    /// Whether the choice reads a trial.
    pub const fn includes(self, trial: u32) -> bool {
        match self {
            Self::One(one) => one == trial,
            Self::All | Self::Statistic(_) => true,
        }
    }
}

/// Statistic over the trials, for every value of a series, field, matrix or histogram.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TrialStatistic {
    /// Mean over the trials.
    Mean,
    /// Sample standard deviation, with n - 1 in the denominator; NaN for one trial.
    Sd,
}

impl TrialStatistic {
    /// Returns the statistic of values, one per trial, computed in double precision in the order of the trials.
    pub fn of(self, values: impl ExactSizeIterator<Item = f32> + Clone) -> f32 {
        let n = values.len() as f64;
        let mean = values.clone().map(f64::from).sum::<f64>() / n;
        match self {
            Self::Mean => mean as f32,
            Self::Sd if n < 2.0 => f32::NAN,
            Self::Sd => {
                let squares = values.map(|x| (f64::from(x) - mean).powi(2)).sum::<f64>();
                (squares / (n - 1.0)).sqrt() as f32
            }
        }
    }

    /// Returns the statistic of the readings of all trials; `None` without readings, and if their shapes differ or the shape
    /// has no statistic.
    pub fn of_readings(self, trials: &[&Reading]) -> Option<Reading> {
        match trials.first()? {
            Reading::Series(first) => {
                let same = |other: &Series| {
                    (&other.steps, other.lanes, &other.elements) == (&first.steps, first.lanes, &first.elements)
                };
                let values = self.of_rows(trials, |reading| match reading {
                    Reading::Series(series) if same(series) => Some(&series.values),
                    _ => None,
                })?;
                Some(Reading::Series(Series { values, ..first.clone() }))
            }
            Reading::Field(_) => self
                .of_rows(trials, |reading| match reading {
                    Reading::Field(values) => Some(values),
                    _ => None,
                })
                .map(Reading::field),
            Reading::Matrix(first) => {
                let values = self.of_rows(trials, |reading| match reading {
                    Reading::Matrix(matrix) if (&matrix.rows, &matrix.columns) == (&first.rows, &first.columns) => {
                        Some(&matrix.values)
                    }
                    _ => None,
                })?;
                Some(Reading::Matrix(super::Matrix { values: Arc::new(values), ..first.clone() }))
            }
            Reading::Histogram(first) => {
                let counts = self.of_rows(trials, |reading| match reading {
                    Reading::Histogram(other) if (&other.edges, &other.steps) == (&first.edges, &first.steps) => {
                        Some(&other.counts)
                    }
                    _ => None,
                })?;
                Some(Reading::Histogram(super::Histogram { counts, ..first.clone() }))
            }
            _ => None,
        }
    }

    /// Returns the statistic of each value; `None` if a reading has no values or another number of them.
    fn of_rows<'a>(
        self,
        trials: &[&'a Reading],
        values: impl Fn(&'a Reading) -> Option<&'a Vec<f32>>,
    ) -> Option<Vec<f32>> {
        let rows: Vec<&[f32]> =
            trials.iter().map(|reading| values(reading).map(Vec::as_slice)).collect::<Option<_>>()?;
        let n = rows.first()?.len();
        if rows.iter().any(|row| row.len() != n) {
            return None;
        }
        Some((0..n).map(|i| self.of(rows.iter().map(|row| row[i]))).collect())
    }
}

/// Checks the trials of taps of a simulation with `n` trials.
///
/// # Errors
/// Fails if a trial does not exist, or a statistic is taken of a probe whose shape has none.
pub fn check_trials(taps: &[Tap], probes: &[ProbeSpec], n: u32) -> Result<(), SimError> {
    for tap in taps {
        match tap.trial {
            TrialChoice::One(trial) if trial >= n => {
                return Err(SimError::Input(format!(
                    "there is no trial {trial}; the last one is {}",
                    n.saturating_sub(1)
                )));
            }
            TrialChoice::Statistic(_) => {
                let Some(probe) = probes.get(usize::from(tap.probe)) else { continue };
                let has_one = matches!(
                    probe.shape,
                    Shape::Series { .. } | Shape::Field { .. } | Shape::Matrix { .. } | Shape::Histogram { .. }
                );
                if !has_one {
                    return Err(SimError::Input(format!("`{}` has no statistic over trials", probe.name)));
                }
            }
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_are_those_of_each_value() {
        let field = |values: &[f32]| Reading::field(values.to_vec());
        let trials = [field(&[1.0, 4.0]), field(&[2.0, 4.0]), field(&[6.0, 4.0])];
        let of = |statistic: TrialStatistic, n: usize| {
            statistic.of_readings(&trials[..n].iter().collect::<Vec<_>>()).expect("equal shapes")
        };
        assert_eq!(of(TrialStatistic::Mean, 3), field(&[3.0, 4.0]));
        assert_eq!(of(TrialStatistic::Sd, 3), field(&[7f32.sqrt(), 0.0]));
        let Reading::Field(one) = of(TrialStatistic::Sd, 1) else { panic!() };
        assert!(one.iter().all(|sd| sd.is_nan()), "one trial has no deviation");
        assert_eq!(TrialStatistic::Mean.of_readings(&[&trials[0], &field(&[1.0])]), None, "other lengths");
        assert_eq!(TrialStatistic::Mean.of_readings(&[&Reading::Spikes(vec![])]), None);
    }
}
