//! Reference values in a chart: dashed lines over the steps for which they hold, with their names next to them. A line is
//! interrupted where its value changes, because a connecting line would look like data.

use super::{
    drawn::DrawnCurves,
    level_names::{LevelLine, Surroundings},
};
use crate::{app::kit::theme::Tokens, sim::Level};
use egui::{FontId, Painter, Rangef, Rect, Shape, Stroke, pos2};

/// Half the distance between the lines before and after a change, points.
const HALF_BREAK: f32 = 3.0;

/// The reference values of a chart that hold within its visible steps.
pub struct Levels<'a> {
    visible: Vec<&'a Level>,
}

/// Mapping of steps and values to positions in a chart, points.
pub struct Placement<X, Y> {
    /// The area of the chart.
    pub plot: Rect,
    /// Converts a step to x.
    pub x: X,
    /// Converts a value to y.
    pub y: Y,
}

impl<'a> Levels<'a> {
    /// Selects the lines that hold between two steps.
    pub fn visible(all: &'a [Level], from: f64, to: f64) -> Self {
        let overlaps =
            |l: &&Level| (l.from_step as f64) < to.max(1.0) && l.to_step.is_none_or(|last| last as f64 > from);
        Self { visible: Level::lines(all).filter(overlaps).collect() }
    }

    /// Returns the smallest and largest visible value of each name.
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

    /// Extends the range of a curve by the reference values that intersect it and the nearest ones on each side. More distant
    /// values would leave little room for the curve. Without a curve (`low > high`), returns the range of all values.
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

    /// Returns the line of each visible reference value; `None` if it is outside the chart.
    fn lines<X: Fn(f64) -> f32, Y: Fn(f32) -> f32>(&self, at: &Placement<X, Y>) -> Vec<Option<LevelLine>> {
        let line = |level: &&Level| {
            let begins = (level.from_step > 0).then(|| (at.x)(level.from_step as f64) + HALF_BREAK);
            let ends = level.to_step.map(|last| (at.x)(last as f64) - HALF_BREAK);
            let plot = at.plot;
            let x = Rangef::new(
                begins.map_or(plot.left(), |x| x.max(plot.left())),
                ends.map_or(plot.right(), |x| x.min(plot.right())),
            );
            let y = (at.y)(level.value as f32);
            (x.span() > 0.0 && plot.expand(1.0).y_range().contains(y)).then_some(LevelLine { x, y })
        };
        self.visible.iter().map(line).collect()
    }

    /// Draws the lines. The caller draws the curves over them.
    pub fn paint<X: Fn(f64) -> f32, Y: Fn(f32) -> f32>(
        &self,
        painter: &Painter,
        at: &Placement<X, Y>,
        tokens: &Tokens,
    ) {
        let stroke = Stroke::new(1.0, tokens.text_sub);
        for LevelLine { x, y } in self.lines(at).into_iter().flatten() {
            painter.extend(Shape::dashed_line(&[pos2(x.min, y), pos2(x.max, y)], stroke, 5.0, 4.0));
        }
    }

    /// Draws the name of each reference value next to its newest visible line, or an earlier one, preferably where it covers no
    /// curve. A name without room is left out.
    pub fn paint_names<X: Fn(f64) -> f32, Y: Fn(f32) -> f32>(
        &self,
        painter: &Painter,
        at: &Placement<X, Y>,
        curves: &DrawnCurves,
        (font, tokens): (&FontId, &Tokens),
    ) {
        let lines = self.lines(at);
        let drawn: Vec<LevelLine> = lines.iter().copied().flatten().collect();
        let around = Surroundings { plot: at.plot, lines: &drawn, curves };
        let mut named: Vec<(&str, Vec<LevelLine>)> = vec![];
        for (level, line) in self.visible.iter().zip(lines).rev().filter_map(|(level, line)| Some((level, line?))) {
            match named.iter_mut().find(|(name, _)| *name == level.name) {
                Some((_, of_name)) => of_name.push(line),
                None => named.push((&level.name, vec![line])),
            }
        }
        let layout = |name: &str| painter.layout_no_wrap(name.to_owned(), font.clone(), tokens.text_sub);
        let mut named: Vec<_> = named.iter().rev().map(|(name, of_name)| (layout(name), of_name)).collect();
        // The longest names are placed first, because fewer positions have room for them.
        named.sort_by(|a, b| b.0.size().x.total_cmp(&a.0.size().x));
        let mut taken = vec![];
        for (text, of_name) in named {
            if let Some(area) = around.place_of(of_name, text.size(), &taken) {
                painter.galley(area.min, text, tokens.text_sub);
                taken.push(area);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::views::plot::samples::Extent;

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
        // The curve crosses "floor".
        assert_eq!(range(0.0, 2000.0, (1.0, 1.1)), (0.7, 5.5));
        assert_eq!(range(1100.0, 2000.0, NONE), (0.7, 5.5));
    }

    /// The text changes at step 500: there are two horizontal lines with a break, and no line connects their values.
    #[test]
    fn a_line_is_interrupted_where_its_value_changes() {
        let entropy = |value, from_step, to_step| Level { from_step, to_step, ..Level::new("entropy", value) };
        let all = [entropy(1.0, 0, Some(500)), entropy(1.05, 500, None), Level::new("uniform", 9.0)];
        let levels = Levels::visible(&all, 0.0, 1000.0);
        let plot = Rect::from_min_max(pos2(0.0, 0.0), pos2(1000.0, 100.0));
        let at = Placement { plot, x: |step: f64| step as f32, y: |value: f32| 100.0 - 20.0 * value };
        let lines = levels.lines(&at);
        let (former, next) = (lines[0].expect("a line"), lines[1].expect("a line"));
        assert_eq!((former.x.min, former.y, next.x.max, next.y), (0.0, 80.0, 1000.0, 79.0));
        assert!(former.x.max < 500.0 && next.x.min > 500.0, "{former:?} and {next:?} look like one line");
        assert_eq!(lines[2], None, "above the chart");
        let painted = painted(|painter| levels.paint(painter, &at, &Tokens::dark()));
        assert!(painted.iter().all(|height| *height == 80.0 || *height == 79.0), "{painted:?}");
    }

    /// A training loss settles between its two lowest levels. The long name fits only at the left, where the short one would fit
    /// too.
    #[test]
    fn a_short_name_leaves_the_only_free_place_to_a_long_one() {
        let all = [Level::new("short", 1.0), Level::new("a long name of a level", 0.2)];
        let levels = Levels::visible(&all, 0.0, 400.0);
        let plot = Rect::from_min_max(pos2(0.0, 0.0), pos2(400.0, 100.0));
        let at = Placement { plot, x: |step: f64| step as f32, y: |value: f32| 100.0 - 20.0 * value };
        let mut curves = DrawnCurves::default();
        let extents: Vec<Extent> = (0..=400)
            .map(|i| {
                let y = match i {
                    0..30 => 10.0 + 2.3 * i as f32,
                    30..150 => 79.0 + 0.025 * (i - 30) as f32,
                    _ => 90.0,
                };
                Extent { column: i as f32, min: y, max: y, gap: i == 0 }
            })
            .collect();
        curves.add(&extents, |column| column, |y| y);
        let (font, tokens) = (FontId::monospace(10.0), Tokens::dark());
        let ctx = egui::Context::default();
        crate::app::kit::fonts::install(&ctx);
        let mut output = ctx.run_ui(egui::RawInput::default(), |ui| {
            let painter = ui.ctx().layer_painter(egui::LayerId::background());
            levels.paint_names(&painter, &at, &curves, (&font, &tokens));
        });
        output.textures_delta.clear();
        let names: Vec<Rect> = output.shapes.iter().map(|clipped| clipped.shape.visual_bounding_rect()).collect();
        assert_eq!(names.len(), 2);
        let covered: Vec<f32> = names.iter().map(|name| curves.covered(*name)).collect();
        assert_eq!(covered, [0.0, 0.0], "{names:?}");
    }

    /// Returns the y coordinates of all points of painted line segments.
    fn painted(paint: impl Fn(&Painter)) -> Vec<f32> {
        let mut output = egui::Context::default().run_ui(egui::RawInput::default(), |ui| {
            paint(&ui.ctx().layer_painter(egui::LayerId::background()));
        });
        let heights = |shape: &Shape| match shape {
            Shape::LineSegment { points, .. } => points.iter().map(|p| p.y).collect(),
            _ => vec![],
        };
        output.textures_delta.clear();
        output.shapes.iter().flat_map(|clipped| heights(&clipped.shape)).collect()
    }
}
