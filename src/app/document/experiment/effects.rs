//! Conditions in the order of their effects, and effects of single elements.

use super::Results;
use crate::experiment::statistics::{Effect, Line};

/// Property by which conditions are sorted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SortBy {
    /// Magnitude of the difference from the control, the largest first.
    #[default]
    Difference,
    /// Magnitude of the effect size, the largest first.
    Effect,
    /// q value, the smallest first.
    Q,
    /// p value, the smallest first.
    P,
    /// Mean of the measure, the largest first.
    Mean,
    /// Name in alphabetical order.
    Name,
    /// Order of the experiment.
    Plan,
}

impl SortBy {
    /// All properties with their names in stored choices.
    pub const ALL: [(Self, &'static str); 7] = [
        (Self::Difference, "difference"),
        (Self::Effect, "effect"),
        (Self::Q, "q"),
        (Self::P, "p"),
        (Self::Mean, "mean"),
        (Self::Name, "name"),
        (Self::Plan, "plan"),
    ];

    /// Returns the number by which a line is sorted, in ascending order; `None` for a line without a value, which is last.
    fn key(self, line: &Line) -> Option<f64> {
        let comparison = line.comparison.as_ref();
        match self {
            Self::Difference => comparison.map(|c| -c.difference.abs()),
            Self::Effect => comparison.and_then(|c| c.effect).map(|effect| -Effect::value(effect).abs()),
            Self::Q => line.q,
            Self::P => comparison.and_then(|c| c.p),
            Self::Mean => line.summary.mean.map(|mean| -mean),
            Self::Name | Self::Plan => None,
        }
    }
}

/// Returns the conditions in the order of a property of a measure. The control is the first; conditions with equal values keep the
/// order of the experiment, and those without a value are last.
pub fn order(results: &Results, measure: usize, by: SortBy) -> Vec<usize> {
    let control = results.control();
    let mut rest: Vec<usize> = (0..results.table.conditions.len()).filter(|i| *i != control).collect();
    match by {
        SortBy::Plan => {}
        SortBy::Name => rest.sort_by(|a, b| results.table.conditions[*a].cmp(&results.table.conditions[*b])),
        _ => {
            let key = |i: &usize| results.line(measure, *i).and_then(|line| by.key(line)).unwrap_or(f64::INFINITY);
            rest.sort_by(|a, b| key(a).total_cmp(&key(b)));
        }
    }
    let first = (control < results.table.conditions.len()).then_some(control);
    first.into_iter().chain(rest).collect()
}

/// Returns the difference from the control by element of a set of `n` elements, for the conditions that silence one element each;
/// NaN for other elements. `None` if no condition silences an element of this set.
pub fn by_element(results: &Results, measure: usize, set: &str, n: usize) -> Option<Vec<f32>> {
    let (mut values, mut has_any) = (vec![f32::NAN; n], false);
    for (i, condition) in results.folder.plan.conditions.iter().enumerate() {
        let Some((_, element)) = condition.element.as_ref().filter(|(over, _)| over == set) else { continue };
        let difference = results.line(measure, i).and_then(|line| line.comparison).map(|c| c.difference as f32);
        if let Some(place) = values.get_mut(*element as usize) {
            has_any = true;
            *place = difference.unwrap_or(f32::NAN);
        }
    }
    has_any.then_some(values)
}
