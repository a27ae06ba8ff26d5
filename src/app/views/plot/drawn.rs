//! The curves that a chart has drawn, for labels that must not cover them.

use super::samples::Extent;
use egui::{Rangef, Rect, emath::lerp};

/// The curves of a chart, in points.
#[derive(Default)]
pub struct DrawnCurves(Vec<Vec<Column>>);

/// The range of a curve in a pixel column.
struct Column {
    x: f32,
    y: Rangef,
    /// Whether the curve is interrupted before this column.
    gap: bool,
}

impl DrawnCurves {
    /// Adds the curve of `extents`; `x` and `y` convert columns and values to points.
    pub fn add(&mut self, extents: &[Extent], x: impl Fn(f32) -> f32, y: impl Fn(f32) -> f32) {
        let column = |e: &Extent| {
            let (a, b) = (y(e.min), y(e.max));
            Column { x: x(e.column), y: Rangef::new(a.min(b), a.max(b)), gap: e.gap }
        };
        self.0.push(extents.iter().map(column).collect());
    }

    /// Sums over the curves the height that each covers in an area, points. A curve that crosses the area covers at least 1, a
    /// curve outside it 0.
    pub fn covered(&self, area: Rect) -> f32 {
        let height = |curve: &Vec<Column>| {
            let range = range_within(curve, area.x_range());
            let inside = range.max.min(area.bottom()) - range.min.max(area.top());
            // A horizontal curve has a range of height 0, but its line is visible.
            if inside < 0.0 { 0.0 } else { inside.max(1.0) }
        };
        self.0.iter().map(height).sum()
    }
}

/// Returns the y range of a curve within an x range, including the line segments that cross its ends.
fn range_within(curve: &[Column], x: Rangef) -> Rangef {
    let (from, to) = (curve.partition_point(|c| c.x < x.min), curve.partition_point(|c| c.x <= x.max));
    let inside = curve[from..to].iter().map(|c| c.y);
    let crossing = |end: f32, after: usize| {
        let (before, after) = (curve.get(after.checked_sub(1)?)?, curve.get(after).filter(|c| !c.gap)?);
        let share = (end - before.x) / (after.x - before.x).max(f32::MIN_POSITIVE);
        let at = |a: f32, b: f32| lerp(a..=b, share);
        Some(Rangef::new(at(before.y.min, after.y.min), at(before.y.max, after.y.max)))
    };
    let ends = [crossing(x.min, from), crossing(x.max, to)];
    let all = inside.chain(ends.into_iter().flatten());
    all.fold(Rangef::NOTHING, |all, y| Rangef::new(all.min.min(y.min), all.max.max(y.max)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use egui::pos2;

    #[test]
    fn a_flat_curve_covers_what_it_runs_through() {
        let mut drawn = DrawnCurves::default();
        drawn.add(&[extent(0.0, 50.0, 50.0, true), extent(100.0, 50.0, 50.0, false)], |column| column, |y| y);
        let area = |top: f32| Rect::from_min_max(pos2(20.0, top), pos2(60.0, top + 10.0));
        assert_eq!([30.0, 45.0, 55.0].map(|top| drawn.covered(area(top))), [0.0, 1.0, 0.0]);
    }

    fn extent(column: f32, min: f32, max: f32, gap: bool) -> Extent {
        Extent { column, min, max, gap }
    }

    #[test]
    fn a_curve_covers_what_it_runs_through_between_its_columns_too() {
        let mut drawn = DrawnCurves::default();
        let area = |left: f32, top: f32| Rect::from_min_max(pos2(left, top), pos2(left + 10.0, top + 10.0));
        assert_eq!(drawn.covered(area(0.0, 0.0)), 0.0);
        // The curve is a straight line from (0, 100) to (100, 0), a gap, and a single sample at (200, 50).
        let curve = [extent(0.0, 100.0, 100.0, true), extent(100.0, 0.0, 0.0, false), extent(200.0, 48.0, 52.0, true)];
        drawn.add(&curve, |column| column, |y| y);
        assert!((drawn.covered(area(45.0, 45.0)) - 10.0).abs() < 1e-3);
        assert_eq!(drawn.covered(area(45.0, 60.0)), 0.0);
        assert_eq!(drawn.covered(area(140.0, 20.0)), 0.0, "there is no line in a gap");
        assert!((drawn.covered(area(195.0, 45.0)) - 4.0).abs() < 1e-3);
        drawn.add(&curve, |column| column, |y| y);
        assert!((drawn.covered(area(195.0, 45.0)) - 8.0).abs() < 1e-3, "of both curves");
    }
}
