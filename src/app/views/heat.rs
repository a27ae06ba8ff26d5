//! A heat map: rows and columns of cells as a picture, their names along the edges, a colour bar.

use super::{
    bar,
    colors::{self, Ramp, Table},
    kit,
};
use crate::app::theme::Tokens;
use egui::{
    Align2, Color32, ColorImage, Painter, Pos2, Rect, TextureHandle, TextureOptions, Ui, Vec2, epaint::TextShape, pos2,
};

/// A name beside a row or above a column.
#[derive(Clone, Debug, PartialEq)]
pub struct Name {
    /// The name.
    pub text: String,
    /// Its colour, when it has one.
    pub color: Option<Color32>,
}

/// How values become colours.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Inks {
    /// Along a ramp, from the lowest value to the highest.
    Ramp(Ramp),
    /// Away from zero: negative one way, positive the other.
    Signed,
}

/// What is drawn.
pub struct Heat {
    /// Names of the rows, top down.
    pub rows: Vec<Name>,
    /// Names of the columns.
    pub columns: Vec<Name>,
    /// Row by row; not finite where there is nothing.
    pub values: Vec<f32>,
    /// How values become colours.
    pub inks: Inks,
    /// The range, where it does not follow from the values.
    pub span: Option<(f32, f32)>,
    /// Equal ratios are equal steps of colour.
    pub is_log: bool,
    /// Behind values.
    pub unit: String,
}

/// A heat map's picture.
#[derive(Default)]
pub struct Picture {
    /// Values of the ends of the colours, where they do not follow the data.
    pub fixed: Option<(f32, f32)>,
    texture: Option<TextureHandle>,
    key: Option<Key>,
    /// How many values lie beyond a fixed range.
    beyond: usize,
}

/// The values, whether the ground is dark, and the fixed range.
type Key = (u64, bool, Option<(f32, f32)>);

/// Where the parts are.
pub struct Places {
    /// The cells.
    pub cells: Rect,
    bar: Rect,
}

impl Heat {
    /// The lowest and the highest value that have a colour.
    pub fn range(&self) -> Option<(f32, f32)> {
        let has_color = |v: &&f32| v.is_finite() && !(self.is_log && self.inks != Inks::Signed && **v <= 0.0);
        let of = |(a, b): (f32, f32), v: &f32| (a.min(*v), b.max(*v));
        let (low, high) = self.values.iter().filter(has_color).fold((f32::INFINITY, f32::NEG_INFINITY), of);
        match (low <= high, self.inks) {
            (false, _) => None,
            (true, _) if self.span.is_some() => self.span,
            (true, Inks::Signed) => Some(even((low, high))),
            (true, Inks::Ramp(_)) => Some((low, if high > low { high } else { low + low.abs().max(1e-6) })),
        }
    }

    /// A range somebody fixed, as these colours can have it.
    fn fit(&self, (low, high): (f32, f32)) -> (f32, f32) {
        match self.inks {
            Inks::Signed => even((low, high)),
            Inks::Ramp(_) if self.is_log && low <= 0.0 => (high.max(1e-12) * 1e-3, high.max(1e-12)),
            Inks::Ramp(_) => (low, high),
        }
    }

    /// How far a value is along the colours: 0 to 1 within the range.
    fn place(&self, value: f32, (low, high): (f32, f32)) -> f32 {
        match (self.inks, self.is_log) {
            (Inks::Signed, true) => {
                let top = high.max(1e-12);
                let t = (1.0 + 999.0 * (value.abs() / top)).ln() / 1000.0_f32.ln();
                0.5 + 0.5 * t.copysign(value)
            }
            (Inks::Signed, false) => 0.5 + 0.5 * value / high.max(1e-12),
            (Inks::Ramp(_), true) => (value.max(1e-12) / low).ln() / (high / low).ln().max(1e-6),
            (Inks::Ramp(_), false) => (value - low) / (high - low).max(1e-12),
        }
    }

    /// The colours; with a fixed range, what lies beyond it has its own.
    fn table(&self, is_fixed: bool, tokens: &Tokens) -> Table {
        let table = match self.inks {
            Inks::Ramp(ramp) => ramp.table(tokens.dark),
            Inks::Signed => std::array::from_fn(|i| signed(i as f32 / 255.0, tokens).to_array()),
        };
        if is_fixed { colors::with_ends(table, tokens) } else { table }
    }

    /// Where the parts go in a canvas.
    pub fn places(&self, ui: &Ui, canvas: Rect) -> Places {
        let font = kit::small(ui);
        let width = |name: &Name| ui.painter().layout_no_wrap(name.text.clone(), font.clone(), Color32::WHITE).size().x;
        let longest = |names: &[Name]| names.iter().take(80).map(width).fold(0.0, f32::max);
        let left = (longest(&self.rows) + 22.0).min(canvas.width() * 0.3);
        let above = longest(&self.columns) + 12.0;
        let cell = (canvas.width() - left - 70.0) / self.columns.len().max(1) as f32;
        let top = if above <= cell { 22.0 } else { (above + 8.0).min(canvas.height() * 0.3) };
        let cells = Rect::from_min_max(canvas.min + Vec2::new(left, top), canvas.max - Vec2::new(70.0, 10.0));
        let cells = Rect::from_min_max(cells.min, cells.max.max(cells.min + Vec2::splat(4.0)));
        let bar = Rect::from_min_max(
            pos2(cells.right() + 14.0, cells.top()),
            pos2(cells.right() + 22.0, cells.bottom().min(cells.top() + 180.0)),
        );
        Places { cells, bar }
    }

    /// The row and the column under a point.
    pub fn at(&self, places: &Places, at: Pos2) -> Option<(usize, usize)> {
        if !places.cells.contains(at) || self.rows.is_empty() || self.columns.is_empty() {
            return None;
        }
        let place = (at - places.cells.min) / places.cells.size();
        let row = ((place.y * self.rows.len() as f32) as usize).min(self.rows.len() - 1);
        Some((row, ((place.x * self.columns.len() as f32) as usize).min(self.columns.len() - 1)))
    }

    fn cell(&self, places: &Places, row: usize, column: usize) -> Rect {
        let size = places.cells.size() / Vec2::new(self.columns.len() as f32, self.rows.len() as f32);
        Rect::from_min_size(places.cells.min + size * Vec2::new(column as f32, row as f32), size)
    }

    /// Draws everything; `key` says when the values are others.
    pub fn paint(
        &self,
        ui: &Ui,
        places: &Places,
        picture: &mut Picture,
        key: u64,
        hovered: Option<(usize, usize)>,
        tokens: &Tokens,
    ) {
        let painter = ui.painter();
        let Some(of_data) = self.range() else { return };
        let range = picture.fixed.map_or(of_data, |fixed| self.fit(fixed));
        let table = self.table(picture.fixed.is_some(), tokens);
        let key = (key, tokens.dark, picture.fixed);
        if picture.key != Some(key) {
            picture.key = Some(key);
            let ground = tokens.canvas.lerp_to_gamma(tokens.panel, 0.6);
            let has_color = |v: f32| v.is_finite() && !(self.is_log && self.inks != Inks::Signed && v <= 0.0);
            let at = |v: &f32| has_color(*v).then(|| colors::place(self.place(*v, range)));
            let ink = |v: &f32| at(v).map_or(ground, |at| colors::opaque(table[at]));
            let pixels: Vec<Color32> = self.values.iter().map(ink).collect();
            let is_beyond = |at: &usize| matches!(*at, colors::BELOW | colors::ABOVE);
            picture.beyond = self.values.iter().filter_map(at).filter(is_beyond).count();
            let image = ColorImage::new([self.columns.len(), self.rows.len()], pixels);
            match &mut picture.texture {
                Some(texture) => texture.set(image, TextureOptions::NEAREST),
                None => picture.texture = Some(ui.ctx().load_texture("heat", image, TextureOptions::NEAREST)),
            }
        }
        if let Some(texture) = &picture.texture {
            let uv = Rect::from_min_max(Pos2::ZERO, pos2(1.0, 1.0));
            painter.image(texture.id(), places.cells, uv, Color32::WHITE);
        }
        self.names(ui, places, hovered, tokens);
        let beyond = picture.fixed.map(|_| picture.beyond);
        self.bar(ui, places, range, (&table, beyond), tokens);
        if let Some((row, column)) = hovered {
            let cell = self.cell(places, row, column).expand(1.0);
            painter.rect_stroke(cell, 1.0, (1.5, tokens.text_strong), egui::StrokeKind::Outside);
        }
    }

    fn names(&self, ui: &Ui, places: &Places, hovered: Option<(usize, usize)>, tokens: &Tokens) {
        let (painter, font) = (ui.painter(), kit::small(ui));
        let ink = |is_hovered: bool| if is_hovered { tokens.text_strong } else { tokens.text_sub };
        let cell = self.cell(places, 0, 0);
        let every = |size: f32, n: usize| (0..n).step_by((11.0 / size.max(0.1)).ceil().max(1.0) as usize);
        let shown = |i: usize, at: Option<usize>, mut every: std::iter::StepBy<std::ops::Range<usize>>| {
            at == Some(i) || (every.any(|e| e == i) && at.is_none_or(|at| at.abs_diff(i) > 0))
        };
        for (i, name) in self.rows.iter().enumerate() {
            let at = hovered.map(|h| h.0);
            if !shown(i, at, every(cell.height(), self.rows.len())) {
                continue;
            }
            let middle = self.cell(places, i, 0).left_center();
            if let Some(color) = name.color {
                painter.circle_filled(middle - Vec2::X * 8.0, 3.0, color);
            }
            let room = places.cells.left() - ui.clip_rect().left() - 18.0;
            let text = kit::elide(painter, &name.text, &font, room.max(10.0));
            painter.text(middle - Vec2::X * 14.0, Align2::RIGHT_CENTER, text, font.clone(), ink(at == Some(i)));
        }
        let widest = |n: &Name| painter.layout_no_wrap(n.text.clone(), font.clone(), Color32::WHITE).size().x;
        let is_flat = self.columns.iter().take(80).all(|n| widest(n) + 16.0 <= cell.width());
        for (i, name) in self.columns.iter().enumerate() {
            let at = hovered.map(|h| h.1);
            if !shown(i, at, every(cell.width(), self.columns.len())) {
                continue;
            }
            let foot = self.cell(places, 0, i).center_top() - Vec2::Y * 4.0;
            if is_flat {
                painter.text(foot, Align2::CENTER_BOTTOM, &name.text, font.clone(), ink(at == Some(i)));
            } else {
                standing(
                    painter,
                    foot,
                    &name.text,
                    &font,
                    places.cells.top() - ui.clip_rect().top(),
                    ink(at == Some(i)),
                );
            }
        }
    }

    fn bar(
        &self,
        ui: &Ui,
        places: &Places,
        (low, high): (f32, f32),
        (table, beyond): (&Table, Option<usize>),
        tokens: &Tokens,
    ) {
        let (painter, font, mut bar) = (ui.painter(), kit::mono(ui), places.bar);
        if let Some(beyond) = beyond {
            bar = bar.shrink2(Vec2::new(0.0, bar::CAP + 2.0));
            bar::paint_caps(painter, bar, table);
            let at = pos2(bar.left() - 6.0, bar.bottom() + bar::CAP + 4.0);
            let text = format!("{} beyond", kit::thousands(beyond as u64));
            painter.text(at, Align2::LEFT_TOP, text, kit::small(ui), tokens.text_sub);
        }
        bar::paint_colors(painter, bar, table);
        let value = |v: f32| short(f64::from(v));
        let x = bar.right() + 4.0;
        painter.text(pos2(x, bar.top()), Align2::LEFT_TOP, value(high), font.clone(), tokens.text_sub);
        painter.text(pos2(x, bar.bottom()), Align2::LEFT_BOTTOM, value(low), font.clone(), tokens.text_sub);
        if self.inks == Inks::Signed {
            painter.text(pos2(x, bar.center().y), Align2::LEFT_CENTER, "0", font, tokens.text_sub);
        }
    }
}

/// The same distance from zero on both sides.
fn even((low, high): (f32, f32)) -> (f32, f32) {
    let most = low.abs().max(high.abs());
    (-most, most)
}

/// Away from zero in the middle.
fn signed(t: f32, tokens: &Tokens) -> Color32 {
    if t < 0.5 {
        return tokens.canvas.lerp_to_gamma(tokens.inhibitory, 1.0 - 2.0 * t);
    }
    tokens.canvas.lerp_to_gamma(tokens.excitatory, 2.0 * t - 1.0)
}

/// A text that stands on its beginning, cut to a height.
fn standing(painter: &Painter, foot: Pos2, text: &str, font: &egui::FontId, room: f32, ink: Color32) {
    let text = kit::elide(painter, text, font, room - 8.0);
    let galley = painter.layout_no_wrap(text, font.clone(), ink);
    let at = pos2(foot.x - galley.size().y / 2.0, foot.y);
    painter.add(TextShape::new(at, galley, ink).with_angle(-std::f32::consts::FRAC_PI_2));
}

/// A number that fits beside a colour bar: `1.2 M`.
pub fn short(v: f64) -> String {
    match v.abs() {
        a if a >= 1e9 => format!("{:.1} G", v / 1e9),
        a if a >= 1e6 => format!("{:.1} M", v / 1e6),
        a if a >= 1e4 => format!("{:.0} k", v / 1e3),
        a if a > 0.0 && a < 5e-3 => format!("{v:.0e}"),
        _ => kit::value((v * 1e3).round() / 1e3),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heat(values: &[f32], inks: Inks, is_log: bool) -> Heat {
        let name = |i: usize| Name { text: i.to_string(), color: None };
        let names: Vec<Name> = (0..2).map(name).collect();
        Heat {
            rows: names.clone(),
            columns: names,
            values: values.to_vec(),
            inks,
            span: None,
            is_log,
            unit: String::new(),
        }
    }

    #[test]
    fn values_find_their_colours() {
        let log = heat(&[0.0, 1.0, 10.0, 100.0], Inks::Ramp(Ramp::Viridis), true);
        assert_eq!(log.range(), Some((1.0, 100.0)), "nothing has no logarithm");
        assert!((log.place(10.0, (1.0, 100.0)) - 0.5).abs() < 1e-6);
        let signed = heat(&[-4.0, 1.0, f32::NAN, 0.0], Inks::Signed, false);
        let range = signed.range().unwrap();
        assert_eq!(range, (-4.0, 4.0));
        assert_eq!([-4.0, 0.0, 4.0].map(|v| signed.place(v, range)), [0.0, 0.5, 1.0]);
        let signed = heat(&[-4.0, 1.0, 0.0, 0.0], Inks::Signed, true);
        assert_eq!([-4.0, 0.0, 4.0].map(|v| signed.place(v, range)), [0.0, 0.5, 1.0]);
        assert_eq!(heat(&[f32::NAN; 4], Inks::Signed, false).range(), None);
        assert_eq!([1.25e6, 34_000.0, 12.0, 3e-4].map(short), ["1.2 M", "34 k", "12", "3e-4"]);
    }
}
