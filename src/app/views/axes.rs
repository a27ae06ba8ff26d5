//! Axes of plots and their ticks.

use super::{kit::LINE, numbers::reading};
use crate::app::theme::Tokens;
use egui::{Align2, FontId, Painter, Pos2, Rect, Vec2};

/// At most `most` round values between two bounds.
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

/// Digits after the point that a list of ticks needs.
pub fn tick_digits(ticks: &[f64]) -> usize {
    let step = ticks.windows(2).map(|w| w[1] - w[0]).fold(f64::INFINITY, f64::min);
    if step.is_finite() { (-step.log10() - 1e-9).ceil().clamp(0.0, 6.0) as usize } else { 0 }
}

/// A horizontal axis under a plot: line, ticks inside, labels, and the title at the right end.
pub fn x_axis(painter: &Painter, plot: Rect, font: &FontId, tokens: &Tokens, min: f64, max: f64, title: &str) {
    painter.hline(plot.x_range(), plot.bottom(), (1.0, tokens.line));
    let title_rect = painter.text(
        Pos2::new(plot.right(), plot.bottom() + 4.0),
        Align2::RIGHT_TOP,
        title,
        font.clone(),
        tokens.text_sub,
    );
    let marks = ticks(min, max, ((plot.width() / 64.0) as usize).clamp(1, 8));
    let digits = tick_digits(&marks);
    for v in marks {
        let x = plot.left() + ((v - min) / (max - min)) as f32 * plot.width();
        painter.vline(x, plot.bottom() - 3.0..=plot.bottom(), (1.0, tokens.line.lerp_to_gamma(tokens.text_sub, 0.5)));
        let text = format!("{v:.digits$}");
        let galley = painter.layout_no_wrap(text, font.clone(), tokens.text_sub);
        let left = (x - galley.size().x / 2.0).max(plot.left());
        if left + galley.size().x + 8.0 < title_rect.left() {
            painter.galley(Pos2::new(left, plot.bottom() + 4.0), galley, tokens.text_sub);
        }
    }
}

/// Height of a horizontal axis with its title below the labels.
pub const TITLED_AXIS: f32 = 35.0;

/// The title of a horizontal axis in a line of its own below the labels, at the right end.
pub fn x_title(painter: &Painter, plot: Rect, font: &FontId, tokens: &Tokens, title: &str) {
    let room = plot.right() - painter.clip_rect().left().max(plot.left() - 40.0);
    let title = super::kit::elide(painter, title, font, room);
    painter.text(plot.right_bottom() + Vec2::new(0.0, 18.0), Align2::RIGHT_TOP, title, font.clone(), tokens.text_sub);
}

/// A vertical axis left of a plot.
pub fn y_axis(painter: &Painter, plot: Rect, font: &FontId, tokens: &Tokens, min: f64, max: f64, title: &str) {
    if plot.height() < 14.0 {
        return;
    }
    painter.vline(plot.left(), plot.y_range(), (1.0, tokens.line));
    let marks = ticks(min, max, ((plot.height() / 28.0) as usize).clamp(1, 6));
    let digits = tick_digits(&marks);
    // A low plot with a single tick labels its ends instead.
    let is_low = marks.len() < 2 && plot.height() > 2.0 * LINE;
    let label = |v: f64| if is_low { reading(v as f32) } else { format!("{v:.digits$}") };
    for v in if is_low { vec![min, max] } else { marks } {
        let y = plot.bottom() - ((v - min) / (max - min)) as f32 * plot.height();
        painter.hline(plot.left()..=plot.left() + 3.0, y, (1.0, tokens.line.lerp_to_gamma(tokens.text_sub, 0.5)));
        let at = Pos2::new(plot.left() - 5.0, y.clamp(plot.top() + 5.0, plot.bottom() - 5.0));
        painter.text(at, Align2::RIGHT_CENTER, label(v), font.clone(), tokens.text_sub);
    }
    if !title.is_empty() {
        let galley = painter.layout_no_wrap(title.to_owned(), font.clone(), tokens.text_sub);
        let at = plot.left_top() + Vec2::new(6.0, 2.0);
        // The title gets a background: curves may reach it.
        let ground = Rect::from_min_size(at, galley.size()).expand2(Vec2::new(3.0, 0.0));
        painter.rect_filled(ground, 2.0, Tokens::fade(tokens.canvas, 0.85));
        painter.galley(at, galley, tokens.text_sub);
    }
}

/// Names reference values at the right, above or below their line. A name whose place would cover another name moves to the
/// left; one without a place that is free of other lines is left out.
pub fn level_names(painter: &Painter, plot: Rect, levels: &[(f32, &str)], font: &FontId, tokens: &Tokens) {
    let (lines, mut taken): (Vec<f32>, Vec<Rect>) = (levels.iter().map(|(y, _)| *y).collect(), vec![]);
    for (y, name) in levels {
        let text = painter.layout_no_wrap((*name).to_owned(), font.clone(), tokens.text_sub);
        let Some(area) = place_of(plot, *y, text.size(), (&lines, &taken)) else { continue };
        // A curve may run through the name.
        painter.rect_filled(area.expand2(Vec2::new(2.0, -1.0)), 2.0, tokens.canvas.gamma_multiply(0.75));
        painter.galley(area.min, text, tokens.text_sub);
        taken.push(area);
    }
}

/// The first free place of a name beside its line, from the right.
fn place_of(plot: Rect, y: f32, size: Vec2, (lines, taken): (&[f32], &[Rect])) -> Option<Rect> {
    let place = |align: Align2, x: f32, y: f32| align.anchor_size(Pos2::new(x, y), size);
    let is_free = |area: &Rect| {
        let inside = area.top() >= plot.top() - 1.0 && area.bottom() <= plot.bottom() + 1.0;
        let covers = |line: &f32| *line != y && area.shrink(2.0).y_range().contains(*line);
        inside && !lines.iter().any(covers) && !taken.iter().any(|known| known.intersects(*area))
    };
    let step = size.x + 10.0;
    let rights = (0..8).map(|i| plot.right() - 4.0 - i as f32 * step).take_while(|right| right - size.x > plot.left());
    let places = rights.flat_map(|x| [place(Align2::RIGHT_BOTTOM, x, y - 1.0), place(Align2::RIGHT_TOP, x, y + 1.0)]);
    places.into_iter().find(is_free)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_inside() {
        assert_eq!(ticks(0.0, 1.0, 5), [0.0, 0.2, 0.4, 0.6000000000000001, 0.8, 1.0]);
        assert_eq!(ticks(990.0, 2005.0, 4), [1000.0, 1500.0, 2000.0]);
        assert!(ticks(1.0, 1.0, 4).is_empty());
        assert_eq!(tick_digits(&[0.5, 0.75]), 1);
    }

    #[test]
    fn names_of_reference_values_cover_neither_each_other_nor_other_lines() {
        let plot = Rect::from_min_max(Pos2::ZERO, Pos2::new(400.0, 120.0));
        let (lines, mut taken) = ([4.0, 60.0, 66.0, 73.0, 95.0, 119.0], vec![]);
        let named: Vec<bool> = lines
            .iter()
            .map(|y| {
                let area = place_of(plot, *y, Vec2::new(40.0, 11.0), (&lines, &taken));
                taken.extend(area);
                area.is_some()
            })
            .collect();
        assert_eq!(named, [true, true, false, true, true, true], "between near lines there is no room");
        assert_eq!(
            (taken[0].top(), taken[2].top()),
            (5.0, 74.0),
            "below a line at the top, and below the last of a group"
        );
        let other = |area: &Rect| lines.iter().filter(|y| area.shrink(2.0).y_range().contains(**y)).count();
        assert!(taken.iter().all(|area| other(area) == 0), "{taken:?}");
    }
}
