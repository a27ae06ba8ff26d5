//! Linear and logarithmic scales with their axes.

use crate::app::kit::{self, theme::Tokens};
use egui::{Align2, FontId, Painter, Rect, pos2};

/// Ratio of a positive range above which its scale is logarithmic by default.
const WIDE: f32 = 50.0;
/// Factor by which the full range must exceed that of the central 99 % for the scale to cover only the latter.
const FAR: f32 = 4.0;

/// Range and kind of a scale.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    pub low: f32,
    pub high: f32,
    /// Whether the scale is logarithmic.
    pub is_log: bool,
}

impl Default for Scale {
    fn default() -> Self {
        Self { low: 0.0, high: 1.0, is_log: false }
    }
}

impl Scale {
    /// Creates a scale of the finite values, with a margin at both ends. A linear scale covers only the central 99 % if there are
    /// far outliers. `is_log` of `None` chooses the kind by the range.
    pub fn of(values: impl Iterator<Item = f32>, is_log: Option<bool>) -> Self {
        let mut sorted: Vec<f32> = values.filter(|v| v.is_finite()).collect();
        sorted.sort_unstable_by(f32::total_cmp);
        let span = |sorted: &[f32]| Some((*sorted.first()?, *sorted.last()?));
        let Some((low, high)) = span(&sorted) else { return Self::default() };
        let is_log = is_log.unwrap_or(low > 0.0 && high > low * WIDE);
        if is_log {
            let positive = &sorted[sorted.partition_point(|v| *v <= 0.0)..];
            let Some((low, high)) = span(positive) else { return Self::default() };
            let (a, b) = with_margin(low.ln(), high.ln());
            return Self { low: a.exp(), high: b.exp(), is_log };
        }
        let rim = sorted.len() / 200;
        let (inner_low, inner_high) = (sorted[rim], sorted[sorted.len() - 1 - rim]);
        let is_far = high - low > FAR * (inner_high - inner_low) && inner_high > inner_low;
        let (low, high) = if is_far { with_margin(inner_low, inner_high) } else { with_margin(low, high) };
        Self { low, high, is_log }
    }

    /// Returns the position of a value, 0 to 1 within the scale; NaN if it has no logarithm.
    pub fn at(&self, v: f32) -> f32 {
        if self.is_log {
            if v > 0.0 { (v / self.low).ln() / (self.high / self.low).ln() } else { f32::NAN }
        } else {
            (v - self.low) / (self.high - self.low)
        }
    }
}

/// Extends a range by a margin at both ends.
pub fn with_margin(a: f32, b: f32) -> (f32, f32) {
    let margin = if b > a { (b - a) * 0.04 } else { 0.5 * a.abs().max(1e-3) };
    (a - margin, b + margin)
}

/// Draws the axis below a plot.
pub fn x(
    painter: &Painter,
    plot: Rect,
    (font, small): (&FontId, &FontId),
    tokens: &Tokens,
    scale: &Scale,
    title: &str,
) {
    painter.hline(plot.x_range(), plot.bottom(), (1.0, tokens.line));
    let color = tokens.text_sub;
    kit::x_title(painter, plot, small, tokens, title);
    let mut free = plot.left() - 20.0;
    for (value, text) in marks(scale, (plot.width() / 60.0) as usize) {
        let x = plot.left() + scale.at(value) * plot.width();
        painter.vline(x, plot.bottom() - 3.0..=plot.bottom(), (1.0, color));
        let galley = painter.layout_no_wrap(text, font.clone(), color);
        let left = x - galley.size().x / 2.0;
        if left >= free && left + galley.size().x < plot.right() + 12.0 {
            free = left + galley.size().x + 8.0;
            painter.galley(pos2(left, plot.bottom() + 4.0), galley, color);
        }
    }
}

/// Returns the width of the labels of a vertical axis, points.
pub fn gutter(ui: &egui::Ui, scale: &Scale, height: f32) -> f32 {
    let (font, painter) = (kit::mono(ui), ui.painter());
    let width = |text: String| painter.layout_no_wrap(text, font.clone(), egui::Color32::WHITE).size().x;
    let widest = marks(scale, (height / 28.0) as usize).into_iter().map(|(_, text)| width(text)).fold(0.0, f32::max);
    (widest + 14.0).max(30.0)
}

/// Draws the axis left of a plot, with its title above.
pub fn y(
    painter: &Painter,
    left: f32,
    plot: Rect,
    (font, small): (&FontId, &FontId),
    tokens: &Tokens,
    scale: &Scale,
    title: &str,
) {
    let color = tokens.text_sub;
    painter.text(pos2(left, plot.top() - 5.0), Align2::LEFT_BOTTOM, title, small.clone(), color);
    painter.vline(plot.left(), plot.y_range(), (1.0, tokens.line));
    let mut free = plot.bottom() + 7.0;
    for (value, text) in marks(scale, (plot.height() / 28.0) as usize) {
        let y = plot.bottom() - scale.at(value) * plot.height();
        painter.hline(plot.left()..=plot.left() + 3.0, y, (1.0, color));
        if y <= free - 7.0 {
            free = y - 7.0;
            painter.text(pos2(plot.left() - 5.0, y), Align2::RIGHT_CENTER, text, font.clone(), color);
        }
    }
}

/// Returns round tick values of a scale, with their labels.
fn marks(scale: &Scale, most: usize) -> Vec<(f32, String)> {
    let decades = if scale.is_log { decades(scale) } else { vec![] };
    // A range with at most one tick per decade has linear ticks.
    if decades.len() > 1 {
        return decades;
    }
    let round = kit::ticks(scale.low.into(), scale.high.into(), most.clamp(2, 8));
    let labels = kit::tick_labels(&round);
    round.into_iter().map(|v| v as f32).zip(labels).collect()
}

/// Returns ticks at 1, 2 and 5 of every decade, or only at 1 if there are many decades.
fn decades(scale: &Scale) -> Vec<(f32, String)> {
    let (first, last) = (scale.low.log10().floor() as i32, scale.high.log10().ceil() as i32);
    let steps: &[f32] = if last - first > 3 { &[1.0] } else { &[1.0, 2.0, 5.0] };
    let all = (first..=last).flat_map(|e| steps.iter().map(move |s| s * 10f32.powi(e)));
    let text = |v: f32| kit::value((f64::from(v) * 1e9).round() / 1e9);
    all.filter(|v| (scale.low..=scale.high).contains(v)).map(|v| (v, text(v))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_are_chosen_by_range_and_cover_the_values() {
        let of = |values: &[f32], is_log| Scale::of(values.iter().copied(), is_log);
        let plain = of(&[1.0, f32::NAN, 3.0], None);
        assert!(!plain.is_log && plain.low < 1.0 && plain.high > 3.0 && (plain.at(2.0) - 0.5).abs() < 1e-6);
        let wide = of(&[0.01, 1.0, 100.0], None);
        assert!(wide.is_log && (wide.at(1.0) - 0.5).abs() < 1e-5 && wide.at(0.0).is_nan());
        assert_eq!(
            decades(&wide).iter().map(|(_, t)| t.as_str()).collect::<Vec<_>>(),
            ["0.01", "0.1", "1", "10", "100"]
        );
        let texts = |scale: &Scale| marks(scale, 6).into_iter().map(|(_, t)| t).collect::<Vec<_>>().join(" ");
        assert_eq!(texts(&wide), "0.01 0.1 1 10 100");
        assert_eq!(texts(&of(&[20.0, 25.0], Some(true))), "20 21 22 23 24 25");
        assert!(!of(&[0.01, 100.0], Some(false)).is_log && !of(&[-1.0, 100.0], None).is_log);
        let flat = of(&[2.0, 2.0], None);
        assert!(flat.low < 2.0 && flat.high > 2.0);
        assert_eq!((of(&[], None), of(&[-1.0], Some(true))), (Scale::default(), Scale::default()));
        let mut many: Vec<f32> = (0..1000).map(|i| i as f32 / 1000.0).collect();
        many.extend([1e6, -1e6]);
        let inner = of(&many, Some(false));
        assert!(inner.low > -0.1 && inner.high < 1.1, "{inner:?}");
    }
}
