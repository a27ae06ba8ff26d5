//! Heat map: cells as a texture, row and column labels, and a colour bar.

use super::{
    color_scale::{ColorScale, ScaleColors},
    theme::Tokens,
};
use crate::app::kit;
use egui::{
    Align2, Color32, ColorImage, Painter, Pos2, Rect, TextureHandle, TextureOptions, Ui, Vec2, epaint::TextShape, pos2,
};

/// Minimum size of cells that show their value, points.
const NUMBER: Vec2 = Vec2::new(46.0, 14.0);

/// Label of a row or a column.
#[derive(Clone, Debug, PartialEq)]
pub struct AxisLabel {
    pub text: String,
    /// Colour of the dot next to the label; `None` for no dot.
    pub color: Option<Color32>,
}

/// Data of a heat map, and how values map to colours.
pub struct Heatmap {
    /// Row labels from top to bottom.
    pub rows: Vec<AxisLabel>,
    pub columns: Vec<AxisLabel>,
    /// Values in row-major order; the cell of a value that is not finite is empty.
    pub values: Vec<f32>,
    /// Mapping of values to colours.
    pub scale_colors: ScaleColors,
    /// Colour range; `None` for the range of the values.
    pub span: Option<(f32, f32)>,
    /// Whether the colour scale is logarithmic.
    pub is_log: bool,
}

/// Cached texture of a heat map.
#[derive(Default)]
pub struct HeatmapTexture {
    /// Colour range locked by the user; `None` if the range follows the values.
    pub fixed: Option<(f32, f32)>,
    texture: Option<TextureHandle>,
    key: Option<HeatmapKey>,
    /// Number of values outside a locked range; `None` if the range is not locked.
    beyond: Option<usize>,
}

/// Inputs of the cached texture: key of the values, whether the theme is dark, locked range.
type HeatmapKey = (u64, bool, Option<(f32, f32)>);

/// Titles of the axes and of the colour bar; empty for none.
#[derive(Default)]
pub struct HeatmapTitles {
    pub rows: String,
    pub columns: String,
    pub values: String,
}

/// Rectangles of the cells and the colour bar, with their titles.
pub struct HeatmapLayout {
    pub cells: Rect,
    bar: Rect,
    canvas: Rect,
    titles: HeatmapTitles,
}

/// Width of the title of an axis, points.
const AXIS_TITLE: f32 = 14.0;

impl Heatmap {
    /// Returns the colour range: `span` if it is set, otherwise the range of the values; `None` if no value has a colour.
    pub fn range(&self) -> Option<(f32, f32)> {
        let of_values = self.scale_colors.range(&self.values, self.is_log)?;
        Some(self.span.unwrap_or(of_values))
    }

    /// Lays out the cells, labels and colour bar in a canvas.
    pub fn places(&self, ui: &Ui, canvas: Rect) -> HeatmapLayout {
        self.places_titled(ui, canvas, HeatmapTitles::default())
    }

    /// Lays out the heat map as [`Heatmap::places`] does, with titles.
    pub fn places_titled(&self, ui: &Ui, whole: Rect, titles: HeatmapTitles) -> HeatmapLayout {
        let canvas = Rect::from_min_max(whole.min + titles.room(), whole.max);
        let font = kit::small(ui);
        let width =
            |name: &AxisLabel| ui.painter().layout_no_wrap(name.text.clone(), font.clone(), Color32::WHITE).size().x;
        let longest = |names: &[AxisLabel]| names.iter().take(80).map(width).fold(0.0, f32::max);
        // The labels of a figure have more room, because no tooltip shows the rest of them.
        let most = if kit::is_staged(ui.ctx()) { 0.45 } else { 0.3 };
        let left = (longest(&self.rows) + 22.0).min(canvas.width() * most);
        let above = longest(&self.columns);
        let cell = (canvas.width() - left - 70.0) / self.columns.len().max(1) as f32;
        let top = if fits_flat(above, cell) { 22.0 } else { (above + 20.0).min(canvas.height() * most) };
        let cells = Rect::from_min_max(canvas.min + Vec2::new(left, top), canvas.max - Vec2::new(70.0, 10.0));
        let cells = Rect::from_min_max(cells.min, cells.max.max(cells.min + Vec2::splat(4.0)));
        let bar = Rect::from_min_max(
            pos2(cells.right() + 14.0, cells.top()),
            pos2(cells.right() + 22.0, cells.bottom().min(cells.top() + 180.0)),
        );
        HeatmapLayout { cells, bar, canvas: whole, titles }
    }

    /// Returns the row and column of the cell under a point; `None` outside the cells.
    pub fn at(&self, places: &HeatmapLayout, at: Pos2) -> Option<(usize, usize)> {
        if !places.cells.contains(at) || self.rows.is_empty() || self.columns.is_empty() {
            return None;
        }
        let place = (at - places.cells.min) / places.cells.size();
        let row = ((place.y * self.rows.len() as f32) as usize).min(self.rows.len() - 1);
        Some((row, ((place.x * self.columns.len() as f32) as usize).min(self.columns.len() - 1)))
    }

    fn cell(&self, places: &HeatmapLayout, row: usize, column: usize) -> Rect {
        let size = places.cells.size() / Vec2::new(self.columns.len() as f32, self.rows.len() as f32);
        Rect::from_min_size(places.cells.min + size * Vec2::new(column as f32, row as f32), size)
    }

    /// Draws the heat map. `key` identifies the values; a changed key updates the texture.
    pub fn paint(
        &self,
        ui: &Ui,
        places: &HeatmapLayout,
        picture: &mut HeatmapTexture,
        key: u64,
        hovered: Option<(usize, usize)>,
        tokens: &Tokens,
    ) {
        let painter = ui.painter();
        let Some(of_data) = self.range() else { return };
        let ink = ColorScale::new(self.scale_colors, self.is_log, of_data, picture.fixed, tokens);
        let key = (key, tokens.dark, picture.fixed);
        if picture.key != Some(key) {
            picture.key = Some(key);
            picture.beyond = ink.beyond(&self.values);
            let pixels: Vec<Color32> = self.values.iter().map(|v| ink.color(*v)).collect();
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
        ink.bar(ui, places.bar, &places.titles.values, picture.beyond, tokens);
        places.paint_titles(ui, tokens);
        if let Some((row, column)) = hovered {
            let cell = self.cell(places, row, column).expand(1.0);
            painter.rect_stroke(cell, 1.0, (1.5, tokens.text_strong), egui::StrokeKind::Outside);
        }
    }

    /// Writes the values into cells that have room for them; `numbers` are the values before scaling.
    pub fn paint_numbers(
        &self,
        ui: &Ui,
        places: &HeatmapLayout,
        numbers: &[f32],
        fixed: Option<(f32, f32)>,
        tokens: &Tokens,
    ) {
        let size = self.cell(places, 0, 0).size();
        let Some(of_data) = self.range().filter(|_| size.x >= NUMBER.x && size.y >= NUMBER.y) else { return };
        let ink = ColorScale::new(self.scale_colors, self.is_log, of_data, fixed, tokens);
        let font = kit::small(ui);
        for (i, (number, value)) in numbers.iter().zip(&self.values).enumerate().filter(|(_, (n, _))| n.is_finite()) {
            let cell = self.cell(places, i / self.columns.len(), i % self.columns.len());
            let color = ink_on(ink.color(*value), tokens);
            let text = short(f64::from(*number));
            ui.painter().text(cell.center(), Align2::CENTER_CENTER, text, font.clone(), color);
        }
    }

    fn names(&self, ui: &Ui, places: &HeatmapLayout, hovered: Option<(usize, usize)>, tokens: &Tokens) {
        let (painter, font) = (ui.painter(), kit::small(ui));
        let ink = |is_hovered: bool| if is_hovered { tokens.text_strong } else { tokens.text_sub };
        let cell = self.cell(places, 0, 0);
        let every = |size: f32, n: usize| (0..n).step_by(spacing(size));
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
            let room = places.cells.left() - ui.clip_rect().left() - 18.0 - places.titles.room().x;
            let text = kit::elide(painter, &name.text, &font, room.max(10.0));
            painter.text(middle - Vec2::X * 14.0, Align2::RIGHT_CENTER, text, font.clone(), ink(at == Some(i)));
        }
        let widest = |n: &AxisLabel| painter.layout_no_wrap(n.text.clone(), font.clone(), Color32::WHITE).size().x;
        let is_flat = self.columns.iter().take(80).all(|n| fits_flat(widest(n), cell.width()));
        for (i, name) in self.columns.iter().enumerate() {
            let at = hovered.map(|h| h.1);
            if !shown(i, at, every(cell.width(), self.columns.len())) {
                continue;
            }
            let foot = self.cell(places, 0, i).center_top() - Vec2::Y * 4.0;
            if is_flat {
                painter.text(foot, Align2::CENTER_BOTTOM, &name.text, font.clone(), ink(at == Some(i)));
            } else {
                vertical_text(
                    painter,
                    foot,
                    &name.text,
                    &font,
                    places.cells.top() - ui.clip_rect().top() - places.titles.room().y,
                    ink(at == Some(i)),
                );
            }
        }
    }
}

impl HeatmapLayout {
    /// Draws the title of the columns above them, and that of the rows turned at the left edge.
    fn paint_titles(&self, ui: &Ui, tokens: &Tokens) {
        let (painter, font, Self { cells, canvas, titles, .. }) = (ui.painter(), kit::small(ui), self);
        let columns = kit::elide(painter, &titles.columns, &font, cells.width());
        let at = pos2(cells.center().x, canvas.top() + 2.0);
        painter.text(at, Align2::CENTER_TOP, columns, font.clone(), tokens.text_sub);
        if !titles.rows.is_empty() {
            kit::turned_title(painter, canvas.left() + 2.0, *cells, &font, tokens, &titles.rows);
        }
    }
}

impl HeatmapTitles {
    /// Returns the widths of the titles of the rows and of the columns, points.
    fn room(&self) -> Vec2 {
        let room = |title: &str| if title.is_empty() { 0.0 } else { AXIS_TITLE };
        Vec2::new(room(&self.rows), room(&self.columns))
    }
}

/// Returns n for cells of size `size` points, where every n-th label is shown.
fn spacing(size: f32) -> usize {
    (11.0 / size.max(0.1)).ceil().max(1.0) as usize
}

/// Whether labels of width `label` fit horizontally above columns of width `cell`. Labels of one letter also fit above
/// narrow columns.
fn fits_flat(label: f32, cell: f32) -> bool {
    label + 12.0 <= cell || label + 1.0 <= (cell * spacing(cell) as f32).min(11.0)
}

/// Returns the text colour of the theme that is readable on `color`.
pub(crate) fn ink_on(color: Color32, tokens: &Tokens) -> Color32 {
    let [r, g, b, _] = color.to_array().map(f32::from);
    let is_bright = 0.299 * r + 0.587 * g + 0.114 * b > 140.0;
    let (dark, bright) =
        if tokens.dark { (tokens.canvas, tokens.text_strong) } else { (tokens.text_strong, tokens.canvas) };
    if is_bright { dark } else { bright }
}

/// Draws vertical text that ends at `foot`, truncated to the height `room`.
fn vertical_text(painter: &Painter, foot: Pos2, text: &str, font: &egui::FontId, room: f32, ink: Color32) {
    let text = kit::elide(painter, text, font, room - 8.0);
    let galley = painter.layout_no_wrap(text, font.clone(), ink);
    let at = pos2(foot.x - galley.size().y / 2.0, foot.y);
    painter.add(TextShape::new(at, galley, ink).with_angle(-std::f32::consts::FRAC_PI_2));
}

/// Formats a number for a colour bar with few digits: `1.2 M`.
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

    #[test]
    fn numbers_fit_beside_a_bar() {
        assert_eq!([1.25e6, 34_000.0, 12.0, 3e-4].map(short), ["1.2 M", "34 k", "12", "3e-4"]);
    }
}
