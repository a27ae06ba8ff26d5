//! Axes of plots and their ticks.

use super::{
    LINE,
    numbers::{reading, value},
    theme::Tokens,
    y_scale::YScale,
};
use egui::{Align2, FontId, Painter, Pos2, Rect, Vec2, epaint::TextShape};

/// Returns at most about `most` round values between two bounds; empty if the bounds are equal, reversed or not finite.
pub fn ticks(min: f64, max: f64, most: usize) -> Vec<f64> {
    let span = max - min;
    if span <= 0.0 || !span.is_finite() || most == 0 {
        return vec![];
    }
    let raw = span / most as f64;
    let magnitude = 10f64.powf(raw.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|m| m * magnitude).find(|s| *s >= raw * 0.999).unwrap_or(raw);
    let first = (min / step - 1e-9).ceil() as i64;
    (first..).map(|i| i as f64 * step).take_while(|v| *v <= max + step * 1e-9).collect()
}

/// Magnitude from which labels have an exponent. Labels that need more than [`MAX_DECIMALS`] decimals also have one, because
/// left of a chart there is no room for more zeros.
const LARGE: f64 = 1e6;
const MAX_DECIMALS: f64 = 5.0;

/// Returns the distance between adjacent ticks; infinite for fewer than two ticks.
fn tick_step(ticks: &[f64]) -> f64 {
    ticks.windows(2).map(|w| w[1] - w[0]).fold(f64::INFINITY, f64::min)
}

/// Returns the number of decimals that distinguish the ticks. Time axes use it directly, because their labels have no
/// exponent.
pub fn tick_digits(ticks: &[f64]) -> usize {
    let step = tick_step(ticks);
    if step.is_finite() { (-step.log10() - 1e-9).ceil().max(0.0) as usize } else { 0 }
}

/// Formats labels of ticks: all with the decimals that their distance needs, or all with an exponent.
pub fn tick_labels(ticks: &[f64]) -> Vec<String> {
    let (step, decimals) = (tick_step(ticks), tick_digits(ticks));
    let largest = ticks.iter().fold(0.0, |most: f64, v| most.max(v.abs()));
    let is_long = decimals as f64 > MAX_DECIMALS || largest >= LARGE;
    // Four digits suffice to distinguish ticks of this distance.
    let has_exponent = step.is_infinite() || is_long && step >= 2e-3 * largest;
    let label = |v: &f64| match has_exponent {
        false => format!("{v:.decimals$}"),
        // Rounding in the other ticks may give zero a small value.
        true if step.is_finite() && v.abs() < 1e-9 * step => "0".to_owned(),
        true => value(*v),
    };
    ticks.iter().map(label).collect()
}

/// Draws a horizontal axis under a plot: line, ticks inside, labels, and the title at the right end, which hides labels. In a
/// figure, whose axis does not move, the title is between labels if it would hide one.
pub fn x_axis(painter: &Painter, plot: Rect, font: &FontId, tokens: &Tokens, min: f64, max: f64, title: &str) {
    painter.hline(plot.x_range(), plot.bottom(), (1.0, tokens.line));
    let marks = ticks(min, max, ((plot.width() / 64.0) as usize).clamp(1, 8));
    let mut labels = vec![];
    for (v, text) in marks.iter().zip(tick_labels(&marks)) {
        let x = plot.left() + ((v - min) / (max - min)) as f32 * plot.width();
        painter.vline(x, plot.bottom() - 3.0..=plot.bottom(), (1.0, tokens.line.lerp_to_gamma(tokens.text_sub, 0.5)));
        let galley = painter.layout_no_wrap(text, font.clone(), tokens.text_sub);
        labels.push(((x - galley.size().x / 2.0).max(plot.left()), galley));
    }
    let title = painter.layout_no_wrap(title.to_owned(), font.clone(), tokens.text_sub);
    let spans: Vec<(f32, f32)> = labels.iter().map(|(left, galley)| (*left, left + galley.size().x)).collect();
    let end = plot.right() - title.size().x;
    let left = match super::is_staged(painter.ctx()) {
        true => between_labels(&spans, title.size().x, plot).unwrap_or(end),
        false => end,
    };
    for (at, galley) in labels {
        if at + galley.size().x + GAP < left || at > left + title.size().x {
            painter.galley(Pos2::new(at, plot.bottom() + 4.0), galley, tokens.text_sub);
        }
    }
    painter.galley(Pos2::new(left, plot.bottom() + 4.0), title, tokens.text_sub);
}

/// Minimum distance of a label from the title of the axis, points.
const GAP: f32 = 8.0;

/// Returns the left edge of a title of a width that hides none of the labels, given by their left and right edges: at the right
/// end of the plot, or in the middle of the rightmost gap with room. `None` if no gap has room.
fn between_labels(labels: &[(f32, f32)], width: f32, plot: Rect) -> Option<f32> {
    let end = plot.right() - width;
    if labels.last().is_none_or(|(_, right)| right + GAP < end) {
        return Some(end);
    }
    let gaps = labels.windows(2).rev().map(|pair| (pair[0].1, pair[1].0));
    let mut fitting = gaps.filter(|(from, to)| to - from >= width + 2.0 * GAP);
    fitting.next().map(|(from, to)| f32::midpoint(from, to) - width / 2.0)
}

/// Height of a horizontal axis with the title below the labels, points.
pub const TITLED_AXIS: f32 = 35.0;

/// Draws the title of a horizontal axis in its own line below the labels, at the right end.
pub fn x_title(painter: &Painter, plot: Rect, font: &FontId, tokens: &Tokens, title: &str) {
    let room = plot.right() - painter.clip_rect().left().max(plot.left() - 40.0);
    let title = super::elide(painter, title, font, room);
    painter.text(plot.right_bottom() + Vec2::new(0.0, 18.0), Align2::RIGHT_TOP, title, font.clone(), tokens.text_sub);
}

/// Draws the title of a vertical axis at the height of a plot, turned counter-clockwise. `left` is the left edge of the text.
pub fn turned_title(painter: &Painter, left: f32, plot: Rect, font: &FontId, tokens: &Tokens, title: &str) {
    let title = super::elide(painter, title, font, plot.height());
    let galley = painter.layout_no_wrap(title, font.clone(), tokens.text_sub);
    let at = Pos2::new(left, plot.center().y + galley.size().x / 2.0);
    painter.add(TextShape::new(at, galley, tokens.text_sub).with_angle(-std::f32::consts::FRAC_PI_2));
}

/// Draws a linear vertical axis at the left of a plot; nothing in a very low plot.
pub fn y_axis(painter: &Painter, plot: Rect, font: &FontId, tokens: &Tokens, min: f64, max: f64, title: &str) {
    scale_axis(painter, plot, font, tokens, &YScale::linear(min, max), title);
}

/// Draws a vertical axis at the left of a plot; nothing in a very low plot.
pub fn scale_axis(painter: &Painter, plot: Rect, font: &FontId, tokens: &Tokens, scale: &YScale, title: &str) {
    if plot.height() < 14.0 {
        return;
    }
    painter.vline(plot.left(), plot.y_range(), (1.0, tokens.line));
    let marks = scale.marks(((plot.height() / 28.0) as usize).clamp(1, 6));
    // A low plot with a single tick labels its ends instead.
    let is_low = marks.len() < 2 && plot.height() > 2.0 * LINE;
    let ends = || [scale.low, scale.high].map(|v| (v, reading(v as f32))).to_vec();
    for (v, label) in if is_low { ends() } else { marks } {
        let y = scale.y_of(plot, v);
        painter.hline(plot.left()..=plot.left() + 3.0, y, (1.0, tokens.line.lerp_to_gamma(tokens.text_sub, 0.5)));
        let at = Pos2::new(plot.left() - 5.0, y.clamp(plot.top() + 5.0, plot.bottom() - 5.0));
        painter.text(at, Align2::RIGHT_CENTER, label, font.clone(), tokens.text_sub);
    }
    if !title.is_empty() {
        let galley = painter.layout_no_wrap(title.to_owned(), font.clone(), tokens.text_sub);
        let at = plot.left_top() + Vec2::new(6.0, 2.0);
        // The title gets a background, because curves may reach it.
        let ground = Rect::from_min_size(at, galley.size()).expand2(Vec2::new(3.0, 0.0));
        painter.rect_filled(ground, 2.0, Tokens::fade(tokens.canvas, 0.85));
        painter.galley(at, galley, tokens.text_sub);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_inside() {
        assert_eq!(ticks(0.0, 1.0, 5), [0.0, 0.2, 0.4, 0.6000000000000001, 0.8, 1.0]);
        assert_eq!(ticks(990.0, 2005.0, 4), [1000.0, 1500.0, 2000.0]);
        assert!(ticks(1.0, 1.0, 4).is_empty());
        assert_eq!(tick_labels(&[0.5, 1.0, 1.5]), ["0.5", "1.0", "1.5"]);
        assert_eq!(tick_labels(&[0.0, 5e-8, 1e-7]), ["0", "5e-8", "1e-7"]);
        assert_eq!(tick_labels(&[0.0, 5e8, 1e9]), ["0", "5e8", "1e9"]);
        assert_eq!(tick_labels(&[0.0, 2e-6, 4e-6]), ["0", "2e-6", "4e-6"], "no column of zeros");
        assert_eq!(tick_labels(&[0.0002]), ["0.0002"], "a single one");
        assert_eq!(tick_labels(&[12_345_000.0, 12_346_000.0]), ["12345000", "12346000"], "they differ");
        assert_eq!(tick_digits(&[0.5, 0.75]), 1);
    }

    #[test]
    fn the_title_of_a_figure_hides_no_label() {
        let plot = Rect::from_min_max(Pos2::new(0.0, 0.0), Pos2::new(300.0, 100.0));
        assert_eq!(between_labels(&[(0.0, 10.0), (140.0, 160.0)], 60.0, plot), Some(240.0), "room at the end");
        assert_eq!(between_labels(&[(0.0, 10.0), (140.0, 160.0), (270.0, 290.0)], 60.0, plot), Some(185.0));
        assert_eq!(between_labels(&[(0.0, 20.0), (60.0, 80.0), (280.0, 300.0)], 190.0, plot), None);
    }
}
