//! The statistics of every condition of every measure.

use super::{Comparison, Summary, benjamini_hochberg, compare};
use std::collections::BTreeMap;

/// Values of one measure under one condition by seed; `None` for a trial without a value.
pub type BySeed = BTreeMap<u64, Option<f64>>;

/// Statistics of one condition and measure.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Index of the measure.
    pub measure: usize,
    /// Index of the condition.
    pub condition: usize,
    /// Number of finished trials, with or without a value.
    pub n_trials: usize,
    /// Statistics of the values.
    pub summary: Summary,
    /// Difference from the control; `None` for the control, and if one of the two has no value.
    pub comparison: Option<Comparison>,
    /// q value among all conditions of the measure; `None` without a p value.
    pub q: Option<f64>,
}

/// Statistics of an experiment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// Lines by measure, then by condition.
    pub lines: Vec<Line>,
    n_conditions: usize,
}

impl Report {
    /// Returns the line of a measure and a condition; `None` if there is no such line.
    pub fn line(&self, measure: usize, condition: usize) -> Option<&Line> {
        self.lines.get(measure * self.n_conditions + condition).filter(|line| line.measure == measure)
    }
}

/// Computes the statistics. `values[measure][condition]` are the values by seed, with equal numbers of conditions, and `control`
/// is the index of the control.
pub fn report(values: &[Vec<BySeed>], control: usize) -> Report {
    let of_measure = |(measure, conditions): (usize, &Vec<BySeed>)| {
        let nothing = BySeed::new();
        let of_control = conditions.get(control).unwrap_or(&nothing);
        let line = |(condition, by_seed): (usize, &BySeed)| Line {
            measure,
            condition,
            n_trials: by_seed.len(),
            summary: Summary::of(&by_seed.values().flatten().copied().collect::<Vec<f64>>()),
            comparison: if condition == control { None } else { compare(by_seed, of_control) },
            q: None,
        };
        let mut lines: Vec<Line> = conditions.iter().enumerate().map(line).collect();
        let p = |line: &Line| line.comparison.and_then(|comparison| comparison.p);
        let q = benjamini_hochberg(&lines.iter().filter_map(p).collect::<Vec<f64>>());
        lines.iter_mut().filter(|line| p(line).is_some()).zip(q).for_each(|(line, q)| line.q = Some(q));
        lines
    };
    let n_conditions = values.iter().map(Vec::len).max().unwrap_or(0);
    Report { lines: values.iter().enumerate().flat_map(of_measure).collect(), n_conditions }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn q_is_over_the_conditions_of_one_measure() {
        let by_seed = |values: &[f64]| -> BySeed { (1..).zip(values.iter().map(|x| Some(*x))).collect() };
        let control = by_seed(&[1.0, 2.0, 3.0, 4.5]);
        let (near, far) = (by_seed(&[1.1, 2.3, 2.8, 4.4]), by_seed(&[11.0, 12.5, 13.0, 14.6]));
        let first = vec![control.clone(), near, far.clone(), control.clone()];
        let second = vec![control.clone(), far, BySeed::new(), BySeed::new()];
        let all = report(&[first, second], 0);
        assert_eq!((all.lines.len(), all.line(1, 4), all.line(2, 0)), (8, None, None));
        let line = |measure, condition| all.line(measure, condition).expect("a line");
        assert_eq!((line(0, 0).comparison, line(0, 0).q), (None, None), "the control");
        assert_eq!(line(0, 3).comparison.map(|c| (c.difference, c.p)), Some((0.0, None)), "equal to the control");
        let p = |of: &Line| of.comparison.and_then(|c| c.p).expect("a test");
        assert_eq!(line(0, 2).q, Some(2.0 * p(line(0, 2))), "two tests of the first measure");
        assert_eq!(line(1, 1).q, Some(p(line(1, 1))), "one test of the second");
    }
}
