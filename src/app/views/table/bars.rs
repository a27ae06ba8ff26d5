//! Bars that show values along the bottom of their cells. Bars begin at zero, and each column has one scale.

use crate::{
    app::kit::{self, theme::Tokens},
    sim::{Meaning, ProbeId, ProbeSpec, Shape},
};
use egui::{Painter, Rect, pos2};
use std::collections::BTreeMap;

/// Largest value of a column below which the column's values have significant digits instead of a fixed number of decimals.
const SMALL: f32 = 1e-3;

/// Height of a bar, points.
const HEIGHT: f32 = 2.5;

/// Ranges of the columns of numbers, extended to include zero.
#[derive(Default)]
pub struct Bars(BTreeMap<ProbeId, (f32, f32)>);

impl Bars {
    /// Computes the scale of a field of numbers from new values. Ignores other fields.
    pub fn absorb(&mut self, probe: ProbeId, spec: &ProbeSpec, values: &[f32]) {
        if spec.shape.meaning() == Some(Meaning::Number) {
            self.0.insert(probe, scale(values));
        }
    }

    /// Formats a value with as many decimals as the largest value of its column needs, at least `declared`. A column of small
    /// values has significant digits instead, so that a value with a bar is never 0.
    pub fn text(&self, probe: ProbeId, value: f32, declared: usize) -> String {
        let value = f64::from(value);
        let Some((low, high)) = self.0.get(&probe).filter(|(low, high)| high > low) else {
            return kit::fixed(value, declared);
        };
        match low.abs().max(*high) {
            largest if largest < SMALL => kit::value(value),
            _ => kit::fixed(value, declared.max(kit::column_decimals((*low).into(), (*high).into()))),
        }
    }

    /// Removes all scales.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Draws the bar of a value along the bottom of its cell.
    pub fn paint(&self, painter: &Painter, area: Rect, probe: ProbeId, value: f32, tokens: &Tokens) {
        let Some(range) = self.0.get(&probe) else { return };
        let Some((from, to)) = share(*range, value) else { return };
        let x = |share: f32| area.left() + share * area.width();
        let bar = Rect::from_min_max(pos2(x(from), area.bottom() - HEIGHT), pos2(x(to), area.bottom()));
        painter.rect_filled(bar, 1.0, Tokens::fade(tokens.accent, 0.55));
    }
}

fn scale(values: &[f32]) -> (f32, f32) {
    values.iter().filter(|v| v.is_finite()).fold((0.0, 0.0), |(a, b), v| (a.min(*v), b.max(*v)))
}

/// Returns the ends of a value's bar as fractions of the width; `None` if the value is zero or not finite, or the column is all
/// zero.
fn share((low, high): (f32, f32), value: f32) -> Option<(f32, f32)> {
    let at = |v: f32| ((v - low) / (high - low)).clamp(0.0, 1.0);
    let (zero, value) = (at(0.0), at(value));
    (high > low && value != zero && value.is_finite()).then(|| (zero.min(value), zero.max(value)))
}

/// Returns the number of decimals of a field's column.
pub fn decimals(spec: &ProbeSpec) -> usize {
    match spec.shape {
        Shape::Field { range, .. } => kit::column_decimals(f64::from(range.0), f64::from(range.1)),
        _ => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_beside_a_bar_has_digits() {
        let mut bars = Bars(BTreeMap::from([(0, scale(&[0.0, 0.004, 0.0401])), (1, scale(&[80.0, 3.0]))]));
        assert_eq!((bars.text(0, 0.0401, 1), bars.text(0, 0.004, 1)), ("0.0401".into(), "0.0040".into()));
        assert_eq!((bars.text(1, 3.0, 1), bars.text(2, 0.0401, 1)), ("3.0".into(), "0.04".into()));
        bars.0.insert(3, scale(&[2e-6]));
        assert_eq!(bars.text(3, 2e-6, 1), "2e-6");
        bars.clear();
        assert_eq!(bars.text(0, 0.0401, 1), "0.04");
    }

    #[test]
    fn bars_begin_at_zero() {
        let range = scale(&[-1.0, f32::NAN, 3.0, f32::INFINITY]);
        assert_eq!(range, (-1.0, 3.0));
        assert_eq!(share(range, 3.0), Some((0.25, 1.0)));
        assert_eq!(share(range, -1.0), Some((0.0, 0.25)));
        assert_eq!([share(range, 0.0), share(range, f32::NAN), share(scale(&[0.0, 0.0]), 0.0)], [None; 3]);
        assert_eq!(scale(&[2.0, 4.0]), (0.0, 4.0));
    }
}
