//! How values of lanes become colours, and the bar that says which.

use crate::app::{
    theme::Tokens,
    views::{
        colors::{self, Ramp},
        heat::short,
        kit,
    },
};
use egui::{Align2, Color32, Mesh, Painter, Rect, Ui, Vec2, pos2};

/// Steps of the colours.
const STEPS: usize = 256;
/// On a logarithmic scale on both sides of zero, the smallest part of the largest value that is told from it.
const SMALL: f32 = 1e-3;

/// From values to colours.
#[derive(Clone, Debug, PartialEq)]
pub struct Ink {
    range: (f32, f32),
    is_log: bool,
    is_signed: bool,
    table: Vec<Color32>,
    /// Where there is nothing.
    ground: Color32,
}

impl Ink {
    /// For these values; none when there are none to be coloured.
    pub fn of(values: &[f32], is_log: bool, tokens: &Tokens) -> Option<Self> {
        let ends = |(a, b): (f32, f32), v: &f32| (a.min(*v), b.max(*v));
        let none = (f32::INFINITY, f32::NEG_INFINITY);
        let finite = || values.iter().filter(|v| v.is_finite());
        let (low, high) = finite().fold(none, ends);
        if low > high {
            return None;
        }
        let is_signed = low < 0.0;
        let range = match (is_signed, is_log) {
            (true, _) => (-high.abs().max(low.abs()), high.abs().max(low.abs())),
            (false, true) => finite().filter(|v| **v > 0.0).fold(none, ends),
            // What is nothing is the lowest colour, so that the silent are told from the faint.
            (false, false) => (if low < high * 0.6 { 0.0 } else { low }, high),
        };
        let range = if range.0 > range.1 { (0.0, 1.0) } else { range };
        let range = if range.1 > range.0 { range } else { (range.0, range.0 + range.0.abs().max(1e-6)) };
        let ground = tokens.canvas.lerp_to_gamma(tokens.panel, 0.6);
        Some(Self { range, is_log, is_signed, table: table(is_signed, tokens), ground })
    }

    /// The colour of a value.
    pub fn color(&self, value: f32) -> Color32 {
        let is_none = !value.is_finite() || (self.is_log && !self.is_signed && value <= 0.0);
        if is_none { self.ground } else { self.table[(self.place(value) * (STEPS - 1) as f32 + 0.5) as usize] }
    }

    /// How far along the colours a value is.
    fn place(&self, value: f32) -> f32 {
        let (low, high) = self.range;
        match (self.is_signed, self.is_log) {
            (true, true) => {
                let t = (1.0 + (1.0 / SMALL - 1.0) * (value.abs() / high)).ln() / (1.0 / SMALL).ln();
                0.5 + 0.5 * t.copysign(value)
            }
            (false, true) => (value / low).ln() / (high / low).ln(),
            (_, false) => (value - low) / (high - low),
        }
        .clamp(0.0, 1.0)
    }

    /// The colours from low to high, and the values at their ends and in the middle.
    pub fn bar(&self, ui: &Ui, bar: Rect, unit: &str, tokens: &Tokens) {
        let (painter, font) = (ui.painter(), kit::mono(ui));
        let mut mesh = Mesh::default();
        let n = (bar.height() as usize).clamp(2, STEPS);
        for i in 0..n {
            let y = |i: usize| bar.bottom() - bar.height() * i as f32 / n as f32;
            let slice = Rect::from_min_max(pos2(bar.left(), y(i + 1)), pos2(bar.right(), y(i)));
            mesh.add_colored_rect(slice, self.table[i * (STEPS - 1) / (n - 1)]);
        }
        painter.add(mesh);
        let (low, high) = self.range;
        let middle = match (self.is_signed, self.is_log) {
            (true, _) => 0.0,
            (false, true) => (low * high).sqrt(),
            (false, false) => (low + high) / 2.0,
        };
        let mark = |y: f32, align: Align2, v: f32| {
            painter.text(pos2(bar.right() + 4.0, y), align, short(v.into()), font.clone(), tokens.text_sub);
        };
        mark(bar.top(), Align2::LEFT_TOP, high);
        if bar.height() > 40.0 {
            mark(bar.center().y, Align2::LEFT_CENTER, middle);
        }
        mark(bar.bottom(), Align2::LEFT_BOTTOM, low);
        title(painter, bar, unit, kit::small(ui), tokens);
    }
}

fn title(painter: &Painter, bar: Rect, unit: &str, font: egui::FontId, tokens: &Tokens) {
    let at = bar.left_top() - Vec2::new(2.0, 4.0);
    painter.text(at, Align2::LEFT_BOTTOM, unit, font, tokens.text_sub);
}

/// Along a ramp; or away from zero, negative one way, positive the other.
fn table(is_signed: bool, tokens: &Tokens) -> Vec<Color32> {
    if !is_signed {
        return Ramp::Cividis.table(tokens.dark).into_iter().map(colors::opaque).collect();
    }
    let color = |i: usize| {
        let t = i as f32 / (STEPS - 1) as f32 * 2.0 - 1.0;
        tokens.canvas.lerp_to_gamma(if t < 0.0 { tokens.inhibitory } else { tokens.excitatory }, t.abs())
    };
    (0..STEPS).map(color).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_find_their_colours() {
        let tokens = Tokens::dark();
        let of = |values: &[f32], is_log| Ink::of(values, is_log, &tokens).unwrap();
        let plain = of(&[1.0, 4.0, f32::NAN], false);
        assert_eq!((plain.range, plain.place(2.0)), ((0.0, 4.0), 0.5));
        assert!(plain.color(f32::NAN) == plain.ground && plain.color(0.0) != plain.ground);
        let log = of(&[0.0, 1.0, 100.0], true);
        assert!((log.place(10.0) - 0.5).abs() < 1e-6 && log.color(0.0) == log.ground, "nothing has no logarithm");
        for is_log in [false, true] {
            let signed = of(&[-4.0, 1.0], is_log);
            assert_eq!([-4.0, 0.0, 4.0].map(|v| signed.place(v)), [0.0, 0.5, 1.0]);
        }
        let flat = of(&[0.0, 0.0], false);
        assert!(flat.range.1 > flat.range.0 && flat.place(0.0) == 0.0);
        assert!(of(&[0.0], true).color(0.0) == flat.ground && Ink::of(&[f32::NAN], false, &tokens).is_none());
    }
}
