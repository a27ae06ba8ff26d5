//! The colour bar of a view coloured by values.

use super::{color_scale, colormap, colors, fields, kit};
use crate::{
    app::theme::Tokens,
    sim::{Meaning, ProbeSpec},
};
use egui::{Align2, FontId, Mesh, Painter, Pos2, Rect, Vec2, pos2};
use std::f32::consts::PI;

/// Height of the triangles for values beyond a fixed range.
pub const CAP: f32 = 7.0;

/// Draws the bar at the right of a canvas: title, colours from low to high, round tick values.
pub fn paint(
    painter: &Painter,
    canvas: Rect,
    (small, mono): (&FontId, &FontId),
    tokens: &Tokens,
    probe: &ProbeSpec,
    scale: &color_scale::FieldScale,
) {
    let height = (canvas.height() * 0.4).clamp(60.0, 180.0);
    let bar = Rect::from_min_size(pos2(canvas.right() - 20.0, canvas.top() + 26.0), Vec2::new(8.0, height));
    let labels = marks(probe, scale.range).into_iter().map(|(value, text)| {
        let t = (value - scale.range.0) / (scale.range.1 - scale.range.0);
        let at = pos2(bar.left() - 6.0, bar.bottom() - bar.height() * t);
        let galley = painter.layout_no_wrap(text, mono.clone(), tokens.text);
        (at, galley)
    });
    let labels: Vec<_> = labels.collect();
    let widest = labels.iter().map(|(_, g)| g.size().x).fold(0.0, f32::max);
    // A translucent background keeps the numbers readable.
    let more = if scale.beyond.is_some() { CAP + 16.0 } else { 0.0 };
    let reach = bar.right_bottom() + Vec2::new(4.0, 6.0 + more);
    let ground = Rect::from_min_max(bar.left_top() - Vec2::new(widest + 10.0, 6.0), reach);
    painter.rect_filled(ground, 4.0, tokens.canvas.gamma_multiply(0.7));
    paint_colors(painter, bar, &scale.table);
    if let Some(beyond) = scale.beyond {
        paint_caps(painter, bar, &scale.table);
        let text = format!("{} beyond", kit::thousands(beyond as u64));
        let at = pos2(bar.right() + 2.0, bar.bottom() + CAP + 4.0);
        painter.text(at, Align2::RIGHT_TOP, text, small.clone(), tokens.text_sub);
    }
    for (at, galley) in labels {
        let corner = Pos2::new(at.x - galley.size().x, at.y - galley.size().y / 2.0);
        painter.galley(corner, galley, tokens.text);
    }
    let at = pos2(bar.right() + 2.0, bar.top() - 8.0 - if scale.beyond.is_some() { CAP } else { 0.0 });
    painter.text(at, Align2::RIGHT_BOTTOM, fields::title(probe), small.clone(), tokens.text_strong);
}

/// The colours within the range.
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

/// Triangles at both ends in the colours of values beyond the range.
pub fn paint_caps(painter: &Painter, bar: Rect, table: &colormap::Table) {
    for (end, tip, place) in [(bar.bottom() + 1.0, CAP, colormap::BELOW), (bar.top() - 1.0, -CAP, colormap::ABOVE)] {
        let corners = vec![pos2(bar.left(), end), pos2(bar.right(), end), pos2(bar.center().x, end + tip)];
        painter.add(egui::Shape::convex_polygon(corners, colors::opaque(table[place]), egui::Stroke::NONE));
    }
}

/// Round tick values of a range, with their labels.
fn marks(probe: &ProbeSpec, (low, high): (f32, f32)) -> Vec<(f32, String)> {
    if probe.shape.meaning() == Some(Meaning::Angle) && (high - PI).abs() < 0.01 && (low + PI).abs() < 0.01 {
        let named = [(low, "-π"), (-PI / 2.0, "-π/2"), (0.0, "0"), (PI / 2.0, "π/2"), (high, "π")];
        return named.map(|(v, text)| (v, text.to_owned())).to_vec();
    }
    let round = kit::ticks(low.into(), high.into(), 5);
    let digits = kit::tick_digits(&round);
    let is_far = high.abs().max(low.abs()) >= 1e5;
    let text = |v: f64| if is_far { kit::value(v) } else { format!("{v:.digits$}") };
    round.into_iter().map(|v| (v as f32, text(v))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::Shape;

    #[test]
    fn ticks_are_round_and_angles_are_fractions_of_pi() {
        let probe = |meaning| ProbeSpec {
            name: "x",
            title: "",
            docs: "",
            unit: "",
            shape: Shape::Field { over: "cells", range: (0.0, 1.0), meaning },
        };
        let texts = |meaning, range| marks(&probe(meaning), range).into_iter().map(|(_, t)| t).collect::<Vec<_>>();
        assert_eq!(texts(Meaning::Number, (-3.137, 3.134)), ["-2", "0", "2"]);
        assert_eq!(texts(Meaning::Number, (0.0031, 0.0049)), ["0.0035", "0.0040", "0.0045"]);
        assert_eq!(texts(Meaning::Angle, (-PI, PI)), ["-π", "-π/2", "0", "π/2", "π"]);
    }
}
