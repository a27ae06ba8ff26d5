//! Bars of means with the whiskers of their intervals, on one scale for all rows.

use crate::{
    app::{document::experiment::Results, kit::theme::Tokens},
    experiment::statistics::Line,
};
use egui::{Rect, Sense, Ui, pos2, vec2};

/// Half the height of a bar and of the ends of a whisker, points.
const HALF: (f32, f32) = (4.0, 3.0);

/// Scale of the bars of a measure.
pub struct Bars {
    low: f64,
    high: f64,
    /// Mean of the control; `None` without one.
    control: Option<f64>,
}

impl Bars {
    /// Returns the scale for the conditions of a table; it contains zero.
    pub fn of(results: &Results, measure: usize, conditions: &[usize]) -> Self {
        let lines = conditions.iter().filter_map(|condition| results.line(measure, *condition));
        let ends = |line: &Line| {
            let (low, high) = line.summary.interval.unwrap_or((f64::NAN, f64::NAN));
            [low, high, line.summary.mean.unwrap_or(f64::NAN)]
        };
        let ends = lines.flat_map(ends).filter(|x| x.is_finite());
        let (low, high) = ends.fold((0.0, 0.0), |(low, high): (f64, f64), x| (low.min(x), high.max(x)));
        let control = results.line(measure, results.control()).and_then(|line| line.summary.mean);
        Self { low, high, control }
    }

    /// Draws the bar of a condition.
    pub fn ui(&self, ui: &mut Ui, tokens: &Tokens, line: Option<&Line>, is_control: bool) {
        let size = vec2(ui.available_width(), ui.available_height());
        let (area, _) = ui.allocate_exact_size(size, Sense::hover());
        let area = area.shrink2(vec2(4.0, 0.0));
        let Some(mean) = line.and_then(|line| line.summary.mean) else { return };
        let (x, y) = (|value: f64| self.x(area, value), area.center().y);
        let painter = ui.painter_at(area.expand2(vec2(4.0, 0.0)));
        let color = if is_control { tokens.other } else { tokens.categorical[0] };
        let bar = Rect::from_two_pos(pos2(x(0.0), y - HALF.0), pos2(x(mean), y + HALF.0));
        painter.rect_filled(bar, 1.0, Tokens::fade(color, 0.55));
        if let Some(control) = self.control {
            painter.vline(x(control), area.y_range(), (1.0, Tokens::fade(tokens.text_sub, 0.5)));
        }
        if let Some((low, high)) = line.and_then(|line| line.summary.interval) {
            painter.hline(x(low)..=x(high), y, (1.25, tokens.text));
            for end in [low, high] {
                painter.vline(x(end), y - HALF.1..=y + HALF.1, (1.25, tokens.text));
            }
        }
        painter.circle_filled(pos2(x(mean), y), 2.0, tokens.text);
    }

    fn x(&self, area: Rect, value: f64) -> f32 {
        let span = (self.high - self.low).max(f64::MIN_POSITIVE);
        area.left() + ((value - self.low) / span) as f32 * area.width()
    }
}
