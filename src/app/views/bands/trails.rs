//! The values of the selected over time, among those of all.

use super::{course::Of, summary::Raw, thinned::Thinned};

/// More of the selected than this would hide each other.
pub const MOST: usize = 8;

/// What a few elements had at the states that were seen since they were selected, and at those remembered from before.
#[derive(Default)]
pub struct Trails {
    of: Option<(Of, u64)>,
    elements: Vec<u32>,
    values: Option<u64>,
    kept: Thinned<[f32; MOST]>,
}

impl Trails {
    /// Catches up, as [`super::course::Course::update`] does. `selected` are the elements and a number that changes with
    /// them.
    pub fn update(&mut self, of: Of, selected: (&[u32], u64), values: u64, raws: impl FnOnce(Option<u64>) -> Vec<Raw>) {
        if self.of != Some((of, selected.1)) {
            *self = Self { of: Some((of, selected.1)), ..Self::default() };
            self.elements.extend(selected.0.iter().filter(|_| selected.0.len() <= MOST));
        }
        if self.elements.is_empty() || self.values.replace(values) == Some(values) {
            return;
        }
        for raw in raws(self.kept.last()) {
            let mut row = [f32::NAN; MOST];
            for (at, element) in row.iter_mut().zip(&self.elements) {
                let value = raw.values.get(*element as usize).copied();
                let counts = |v: &f32| raw.part.has(*element as usize) && !(of.skip_negative && *v < 0.0);
                *at = value.filter(counts).unwrap_or(f32::NAN);
            }
            self.kept.push(raw.step, row);
        }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Whose.
    pub fn elements(&self) -> &[u32] {
        &self.elements
    }

    /// Their values, in this order; not a number where they took no part.
    pub fn kept(&self) -> &Thinned<[f32; MOST]> {
        &self.kept
    }

    /// The value of one of them at the state nearest to a step.
    pub fn at(&self, i: usize, step: f64) -> Option<f32> {
        let row = self.kept.nearest(step).map(|at| self.kept.entries()[at].1)?;
        row.get(i).copied().filter(|v| v.is_finite())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::views::fields::Part;
    use std::sync::Arc;

    #[test]
    fn the_selected_are_followed_while_they_take_part() {
        let of = Of { probe: 0, filter: 0, skip_negative: false };
        let raw = |step: u64, alive: f32| Raw {
            step,
            values: Arc::new(vec![step as f32, 10.0 * step as f32, 5.0]),
            part: Part::masked(Some(Arc::new(vec![1.0, alive, 1.0]))),
        };
        let mut trails = Trails::default();
        trails.update(of, (&[0, 1], 1), 1, |_| vec![raw(1, 1.0), raw(2, 1.0)]);
        trails.update(of, (&[0, 1], 1), 2, |after| {
            assert_eq!(after, Some(2));
            vec![raw(3, 0.0)]
        });
        assert_eq!((trails.at(1, 2.0), trails.at(1, 3.0), trails.at(0, 9.0)), (Some(20.0), None, Some(3.0)));
        let many: Vec<u32> = (0..9).collect();
        trails.update(of, (&many, 2), 2, |_| unreachable!("too many"));
        assert!(trails.elements().is_empty());
    }
}
