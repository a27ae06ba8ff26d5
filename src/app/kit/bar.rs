//! Colour bar next to a view that is coloured by values.

use super::{color_scale, colormap, colors, theme::Tokens};
use crate::{
    app::kit,
    sim::{Meaning, ProbeSpec},
};
use egui::{Align2, FontId, Galley, Mesh, Painter, Rect, Ui, Vec2, epaint::TextShape, pos2};
use std::{f32::consts::PI, sync::Arc};

/// Height of the triangles that show the colours of values beyond a fixed range, points.
pub const CAP: f32 = 7.0;

/// Widths of the bar, of the gap next to it, and of both margins, points.
const WIDTH: [f32; 3] = [8.0, 5.0, 8.0];
/// Minimum height of a canvas with a bar, points.
const MIN_HEIGHT: f32 = 80.0;
/// Maximum height of the bar, points.
const MAX_HEIGHT: f32 = 220.0;

/// Colour bar of a canvas: colours from low to high, round tick values, and a vertical title.
pub struct ColorBar<'a> {
    scale: &'a color_scale::FieldScale,
    labels: Vec<(f32, Arc<Galley>)>,
    title: String,
    font: FontId,
    strip: Rect,
}

impl<'a> ColorBar<'a> {
    /// Splits a canvas into the picture and a strip at its right for the bar. The bar is `None` if the canvas is too small.
    pub fn split(
        ui: &Ui,
        canvas: Rect,
        tokens: &Tokens,
        probe: &ProbeSpec,
        scale: &'a color_scale::FieldScale,
    ) -> (Rect, Option<Self>) {
        Self::titled(ui, canvas, tokens, (crate::app::kit::text::probe_title(probe), marks(probe, scale.range)), scale)
    }

    /// Draws the bar of a field at the right of a canvas, if there is room. Returns the rest of the canvas.
    pub fn beside(
        ui: &Ui,
        canvas: Rect,
        tokens: &Tokens,
        field: Option<(&ProbeSpec, &'a color_scale::FieldScale)>,
    ) -> Rect {
        let Some((probe, scale)) = field else { return canvas };
        let (rest, bar) = Self::split(ui, canvas, tokens, probe, scale);
        if let Some(bar) = bar {
            bar.paint(ui.painter(), tokens);
        }
        rest
    }

    /// Splits a canvas as [`ColorBar::split`] does, for a bar with the given title and tick values.
    pub fn titled(
        ui: &Ui,
        canvas: Rect,
        tokens: &Tokens,
        (title, marks): (String, Vec<(f32, String)>),
        scale: &'a color_scale::FieldScale,
    ) -> (Rect, Option<Self>) {
        let (painter, mono, font) = (ui.painter(), kit::mono(ui), kit::small(ui));
        let label = |(value, text): (f32, String)| (value, painter.layout_no_wrap(text, mono.clone(), tokens.text));
        let labels: Vec<_> = marks.into_iter().map(label).collect();
        let widest = labels.iter().map(|(_, g)| g.size().x).fold(0.0, f32::max);
        let [bar, gap, margin] = WIDTH;
        let beyond = beyond_text(scale).map_or(0.0, |t| painter.layout_no_wrap(t, font.clone(), tokens.text).size().x);
        let width = (bar + widest + font.size + 2.0 * gap + 2.0 * margin).max(beyond + 2.0 * margin);
        if canvas.width() < 2.5 * width || canvas.height() < MIN_HEIGHT {
            return (canvas, None);
        }
        let (rest, strip) = canvas.split_left_right_at_x(canvas.right() - width);
        (rest, Some(Self { scale, labels, title, font, strip }))
    }

    /// Draws the bar in its strip.
    pub fn paint(self, painter: &Painter, tokens: &Tokens) {
        let Self { scale, labels, title, font, strip } = self;
        let [width, gap, margin] = WIDTH;
        let ends = if scale.beyond.is_some() { CAP + 16.0 } else { 8.0 };
        let height = (strip.height() - 2.0 * ends - 16.0).clamp(16.0, MAX_HEIGHT);
        let top = strip.top() + ends + 4.0;
        let bar = Rect::from_min_size(pos2(strip.left() + margin, top), Vec2::new(width, height));
        paint_colors(painter, bar, &scale.table);
        let mut right = bar.right();
        for (value, galley) in labels {
            let t = (value - scale.range.0) / (scale.range.1 - scale.range.0);
            let corner = pos2(bar.right() + gap, bar.bottom() - bar.height() * t - galley.size().y / 2.0);
            right = right.max(corner.x + galley.size().x);
            painter.galley(corner, galley, tokens.text);
        }
        if let Some(text) = beyond_text(scale) {
            paint_caps(painter, bar, &scale.table);
            painter.text(
                pos2(bar.left(), bar.bottom() + CAP + 3.0),
                Align2::LEFT_TOP,
                text,
                font.clone(),
                tokens.text_sub,
            );
        }
        let title = kit::elide(painter, &title, &font, bar.height() + 16.0);
        let title = painter.layout_no_wrap(title, font, tokens.text_strong);
        // The text is turned counter-clockwise, so it begins at the lower end.
        let at = pos2(right + gap, bar.center().y + title.size().x / 2.0);
        painter.add(TextShape::new(at, title, tokens.text_strong).with_angle(-PI / 2.0));
    }
}

/// Formats the number of values beyond a fixed range; `None` if the range is not fixed.
fn beyond_text(scale: &color_scale::FieldScale) -> Option<String> {
    scale.beyond.map(|n| format!("{} beyond", kit::thousands(n as u64)))
}

/// Paints the colours within the range.
pub fn paint_colors(painter: &Painter, bar: Rect, table: &colormap::Table) {
    let inside = &table[colormap::BELOW + 1..colormap::ABOVE];
    let mut mesh = Mesh::default();
    for (i, rgba) in inside.iter().enumerate() {
        let y = |i: usize| bar.bottom() - bar.height() * i as f32 / inside.len() as f32;
        let slice = Rect::from_min_max(pos2(bar.left(), y(i + 1)), pos2(bar.right(), y(i)));
        mesh.add_colored_rect(slice, colors::opaque(*rgba));
    }
    painter.add(mesh);
}

/// Paints triangles at both ends in the colours of values beyond the range.
pub fn paint_caps(painter: &Painter, bar: Rect, table: &colormap::Table) {
    for (end, tip, place) in [(bar.bottom() + 1.0, CAP, colormap::BELOW), (bar.top() - 1.0, -CAP, colormap::ABOVE)] {
        let corners = vec![pos2(bar.left(), end), pos2(bar.right(), end), pos2(bar.center().x, end + tip)];
        painter.add(egui::Shape::convex_polygon(corners, colors::opaque(table[place]), egui::Stroke::NONE));
    }
}

/// Returns the tick values of a field with their labels: round values, or fractions of π.
fn marks(probe: &ProbeSpec, (low, high): (f32, f32)) -> Vec<(f32, String)> {
    if probe.shape.meaning() == Some(Meaning::Angle) && (high - PI).abs() < 0.01 && (low + PI).abs() < 0.01 {
        let named = [(low, "-π"), (-PI / 2.0, "-π/2"), (0.0, "0"), (PI / 2.0, "π/2"), (high, "π")];
        return named.map(|(v, text)| (v, text.to_owned())).to_vec();
    }
    round_marks((low, high))
}

/// Returns round values of a range with their labels.
pub fn round_marks((low, high): (f32, f32)) -> Vec<(f32, String)> {
    let round = kit::ticks(low.into(), high.into(), 5);
    let labels = kit::tick_labels(&round);
    round.into_iter().map(|v| v as f32).zip(labels).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::Shape;

    /// A long count of values beyond the range makes the strip wider, and a small canvas has no bar.
    #[test]
    fn the_bar_is_beside_the_picture() {
        let shape = Shape::Field { over: "cells", range: (0.0, 1.0), meaning: Meaning::Number };
        let probe = ProbeSpec { name: "x", title: "", docs: "", unit: "Hz", shape, args: &[] };
        let tokens = Tokens::dark();
        egui::__run_test_ui(|ui| {
            let canvas = Rect::from_min_size(pos2(10.0, 10.0), Vec2::new(400.0, 300.0));
            let mut scale = color_scale::FieldScale::following(colormap::Colormap::Cividis, (0.0, 1.0), &tokens);
            let (rest, bar) = ColorBar::split(ui, canvas, &tokens, &probe, &scale);
            let strip = bar.expect("room for it").strip;
            assert!(rest.right() <= strip.left() && strip.right() == canvas.right() && rest.left() == canvas.left());
            scale.beyond = Some(123_456_789);
            let wide = ColorBar::split(ui, canvas, &tokens, &probe, &scale).1.expect("room for it").strip;
            assert!(wide.width() > strip.width());
            let small = Rect::from_min_size(canvas.min, Vec2::new(90.0, 60.0));
            assert!(ColorBar::split(ui, small, &tokens, &probe, &scale).1.is_none());
        });
    }

    #[test]
    fn ticks_are_round_and_angles_are_fractions_of_pi() {
        let probe = |meaning| ProbeSpec {
            name: "x",
            title: "",
            docs: "",
            unit: "",
            shape: Shape::Field { over: "cells", range: (0.0, 1.0), meaning },
            args: &[],
        };
        let texts = |meaning, range| marks(&probe(meaning), range).into_iter().map(|(_, t)| t).collect::<Vec<_>>();
        assert_eq!(texts(Meaning::Number, (-3.137, 3.134)), ["-2", "0", "2"]);
        assert_eq!(texts(Meaning::Number, (0.0031, 0.0049)), ["0.0035", "0.0040", "0.0045"]);
        assert_eq!(texts(Meaning::Angle, (-PI, PI)), ["-π", "-π/2", "0", "π/2", "π"]);
    }
}
