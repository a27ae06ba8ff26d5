//! Values of the selected elements over time.

use super::{course::Source, summary::RawState, thinned::Thinned};

/// Maximum number of selected elements with lines; a larger selection has none.
pub const MAX_LINES: usize = 8;

/// Values of a few selected elements at the states in the history.
#[derive(Default)]
pub struct HistoryLines {
    of: Option<(Source, u64)>,
    elements: Vec<u32>,
    values: Option<u64>,
    kept: Thinned<[f32; MAX_LINES]>,
}

impl HistoryLines {
    /// Adds the values of new states. `selected` is the elements and the generation of the selection; `raws` returns the states
    /// after a step.
    pub fn update(
        &mut self,
        of: Source,
        selected: (&[u32], u64),
        values: u64,
        raws: impl FnOnce(Option<u64>) -> Vec<RawState>,
    ) {
        if self.of != Some((of, selected.1)) {
            *self = Self { of: Some((of, selected.1)), ..Self::default() };
            self.elements.extend(selected.0.iter().filter(|_| selected.0.len() <= MAX_LINES));
        }
        if self.elements.is_empty() || self.values.replace(values) == Some(values) {
            return;
        }
        for raw in raws(self.kept.last()) {
            let mut row = [f32::NAN; MAX_LINES];
            for (at, element) in row.iter_mut().zip(&self.elements) {
                let value = raw.values.get(*element as usize).copied();
                let counts = |v: &f32| raw.part.has(*element as usize) && !(of.skip_negative && *v < 0.0);
                *at = value.filter(counts).unwrap_or(f32::NAN);
            }
            self.kept.push(raw.step, row);
        }
    }

    pub fn clear(&mut self) {
        *self = Self::default();
    }

    pub fn elements(&self) -> &[u32] {
        &self.elements
    }

    /// Returns the values in the order of [`Self::elements`]; NaN where an element is masked out.
    pub fn kept(&self) -> &Thinned<[f32; MAX_LINES]> {
        &self.kept
    }

    /// Returns the value of an element at the state nearest to a step; `None` if it is masked out or there is no state.
    pub fn at(&self, i: usize, step: f64) -> Option<f32> {
        let row = self.kept.nearest(step).map(|at| self.kept.entries()[at].1)?;
        row.get(i).copied().filter(|v| v.is_finite())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::views::fields::ElementMask;
    use std::sync::Arc;

    #[test]
    fn lines_skip_masked_states() {
        let of = Source { probe: 0, filter: 0, skip_negative: false };
        let raw = |step: u64, alive: f32| RawState {
            step,
            values: Arc::new(vec![step as f32, 10.0 * step as f32, 5.0]),
            part: ElementMask::masked(Some(Arc::new(vec![1.0, alive, 1.0]))),
        };
        let mut history_lines = HistoryLines::default();
        history_lines.update(of, (&[0, 1], 1), 1, |_| vec![raw(1, 1.0), raw(2, 1.0)]);
        history_lines.update(of, (&[0, 1], 1), 2, |after| {
            assert_eq!(after, Some(2));
            vec![raw(3, 0.0)]
        });
        assert_eq!(
            (history_lines.at(1, 2.0), history_lines.at(1, 3.0), history_lines.at(0, 9.0)),
            (Some(20.0), None, Some(3.0))
        );
        let many: Vec<u32> = (0..9).collect();
        history_lines.update(of, (&many, 2), 2, |_| unreachable!("too many"));
        assert!(history_lines.elements().is_empty());
    }
}
