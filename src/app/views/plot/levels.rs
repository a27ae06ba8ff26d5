//! Reference values in a chart: step functions of time as dashed lines, with their names at the right.

use crate::{
    app::{theme::Tokens, views::kit},
    sim::Level,
};
use egui::{FontId, Painter, Rect, Shape, Stroke, pos2};

/// The reference values of a chart that hold within its visible steps.
pub struct Levels<'a> {
    visible: Vec<&'a Level>,
    /// The last visible step.
    last: f64,
}

impl<'a> Levels<'a> {
    /// Those that hold between two steps.
    pub fn visible(all: &'a [Level], from: f64, to: f64) -> Self {
        let overlaps =
            |l: &&Level| (l.from_step as f64) < to.max(1.0) && l.to_step.is_none_or(|last| last as f64 > from);
        Self { visible: all.iter().filter(overlaps).collect(), last: to }
    }

    /// Smallest and largest value by name.
    fn extents(&self) -> Vec<(f32, f32)> {
        let mut extents: Vec<(&str, f32, f32)> = vec![];
        for level in &self.visible {
            let value = level.value as f32;
            match extents.iter_mut().find(|(name, ..)| *name == level.name) {
                Some((_, low, high)) => (*low, *high) = (low.min(value), high.max(value)),
                None => extents.push((&level.name, value, value)),
            }
        }
        extents.into_iter().map(|(_, low, high)| (low, high)).collect()
    }

    /// The range of a curve with the reference values that it meets and the nearest ones on each side: all of them would leave no
    /// room for a curve that is far below the highest. Without a curve, all.
    pub fn widen(&self, (low, high): (f32, f32)) -> (f32, f32) {
        let extents = self.extents();
        let around = |(a, b): (f32, f32), (low, high): &(f32, f32)| (a.min(*low), b.max(*high));
        if low > high {
            return extents.iter().fold((low, high), around);
        }
        let met = extents.iter().filter(|(a, b)| *a < high && *b > low);
        let below = extents.iter().filter(|(_, b)| *b <= low).max_by(|a, b| a.1.total_cmp(&b.1));
        let above = extents.iter().filter(|(a, _)| *a >= high).min_by(|a, b| a.0.total_cmp(&b.0));
        met.chain(below).chain(above).fold((low, high), around)
    }

    /// Draws dashed lines; faint ones where a value changes.
    pub fn paint(
        &self,
        painter: &Painter,
        plot: Rect,
        x: impl Fn(f64) -> f32,
        y: impl Fn(f32) -> f32,
        tokens: &Tokens,
    ) {
        let stroke = Stroke::new(1.0, tokens.text_sub);
        let faint = Stroke::new(1.0, tokens.text_sub.gamma_multiply(0.4));
        for level in &self.visible {
            let left = if level.from_step == 0 { plot.left() } else { x(level.from_step as f64).max(plot.left()) };
            let right = level.to_step.map_or(plot.right(), |last| x(last as f64).min(plot.right()));
            let height = y(level.value as f32);
            if height < plot.top() - 1.0 || height > plot.bottom() + 1.0 {
                continue;
            }
            painter.extend(Shape::dashed_line(&[pos2(left, height), pos2(right, height)], stroke, 5.0, 4.0));
            let next = |other: &&&Level| other.name == level.name && Some(other.from_step) == level.to_step;
            if let Some(next) = self.visible.iter().find(next) {
                painter.line_segment([pos2(right, height), pos2(right, y(next.value as f32))], faint);
            }
        }
    }

    /// Names those that hold at the right edge.
    pub fn paint_names(&self, painter: &Painter, plot: Rect, y: impl Fn(f32) -> f32, font: &FontId, tokens: &Tokens) {
        let holding = self.visible.iter().filter(|level| level.to_step.is_none_or(|last| last as f64 >= self.last));
        let places = holding.map(|level| (y(level.value as f32), &*level.name));
        let inside = plot.expand(1.0).y_range();
        let places: Vec<_> = places.filter(|(y, _)| inside.contains(*y)).collect();
        kit::level_names(painter, plot, &places, font, tokens);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: (f32, f32) = (f32::INFINITY, f32::NEG_INFINITY);

    #[test]
    fn the_nearest_reference_values_are_in_the_range() {
        let all: Vec<Level> = [5.5, 2.7, 0.8, 0.26].iter().map(|value| Level::new(value.to_string(), *value)).collect();
        let levels = Levels::visible(&all, 0.0, 100.0);
        for (values, expected) in [
            ((0.3, 5.6), (0.26, 5.6)),
            ((0.3, 0.4), (0.26, 0.8)),
            ((0.1, 0.2), (0.1, 0.26)),
            ((1.0, 3.0), (0.8, 5.5)),
            (NONE, (0.26, 5.5)),
        ] {
            assert_eq!(levels.widen(values), expected, "{values:?}");
        }
        assert_eq!(Levels::visible(&[], 0.0, 1.0).widen((0.3, 0.4)), (0.3, 0.4));
    }

    #[test]
    fn a_value_that_changes_is_in_the_range_as_a_whole_where_it_is_visible() {
        let floor = |value, from_step, to_step| Level { from_step, to_step, ..Level::new("floor", value) };
        let mut all = vec![floor(0.9, 0, Some(500)), floor(1.2, 500, Some(1000)), floor(0.7, 1000, None)];
        all.push(Level::new("uniform", 5.5));
        let range = |from, to, values| Levels::visible(&all, from, to).widen(values);
        assert_eq!(range(0.0, 2000.0, (1.3, 2.0)), (0.7, 5.5));
        assert_eq!(range(0.0, 400.0, (1.3, 2.0)), (0.9, 5.5));
        assert_eq!(range(600.0, 900.0, (1.3, 2.0)), (1.2, 5.5));
        // A curve that crosses it.
        assert_eq!(range(0.0, 2000.0, (1.0, 1.1)), (0.7, 5.5));
        assert_eq!(range(1100.0, 2000.0, NONE), (0.7, 5.5));
    }
}
