//! Painting of lanes over time: cells and names of rows.

use super::grid::Grid;
use crate::app::{
    document::time::Timeline,
    kit::{self, color_scale::ColorScale, heatmap::AxisLabel, theme::Tokens},
};
use egui::{Align2, Color32, ColorImage, Pos2, Rect, TextureHandle, TextureOptions, Ui, Vec2, pos2};

/// Width right of the cells for the colour bar and its numbers, points.
const BAR: f32 = 66.0;
/// Maximum fraction of the width for names.
const NAMES: f32 = 0.3;
/// Minimum height of a row for which every row has a name, points.
const NAME_HEIGHT: f32 = 11.0;
/// Margins above and below the cells, points.
const FRAME: [f32; 2] = [20.0, 21.0];

/// The areas of the view.
pub struct Layout {
    pub plot: Rect,
    /// Area of the colour bar.
    pub bar: Rect,
    /// Number of rows.
    pub rows: usize,
}

impl Layout {
    /// Divides a canvas into areas, with room for the names of the rows.
    pub fn of(ui: &Ui, canvas: Rect, names: &[AxisLabel]) -> Self {
        let font = kit::small(ui);
        let width = |n: &AxisLabel| ui.painter().layout_no_wrap(n.text.clone(), font.clone(), Color32::WHITE).size().x;
        let longest = names.iter().take(200).map(width).fold(0.0, f32::max);
        // The names in a figure have more room, because no tooltip shows the rest of them.
        let most = if kit::is_staged(ui.ctx()) { 1.5 * NAMES } else { NAMES };
        let left = (longest + 24.0).min(canvas.width() * most);
        let min = canvas.min + Vec2::new(left, FRAME[0]);
        let plot = Rect::from_min_max(min, (canvas.max - Vec2::new(BAR, FRAME[1])).max(min + Vec2::splat(4.0)));
        let corner = plot.right_top() + Vec2::new(14.0, 0.0);
        let bar = Rect::from_min_size(corner, Vec2::new(8.0, plot.height().min(180.0)));
        Self { plot, bar, rows: names.len() }
    }

    pub fn row(&self, i: usize) -> Rect {
        let height = self.plot.height() / self.rows.max(1) as f32;
        let top = self.plot.top() + height * i as f32;
        Rect::from_min_max(pos2(self.plot.left(), top), pos2(self.plot.right(), top + height))
    }

    /// Returns the row at a screen y; `None` outside the rows.
    pub fn row_at(&self, y: f32) -> Option<usize> {
        let at = (y - self.plot.top()) / self.plot.height() * self.rows as f32;
        (at >= 0.0 && at < self.rows as f32).then_some(at as usize)
    }
}

/// Generation of the values, dark theme, and fixed range.
type Generation = (u64, bool, Option<(f32, f32)>);

/// Texture of the cells, updated when they change.
#[derive(Default)]
pub struct LanesImage {
    texture: Option<TextureHandle>,
    generation: Option<Generation>,
}

impl LanesImage {
    /// Draws cells at their times. `values` are row-major, and `order` lists the rows from the top. `generation` must change with
    /// both.
    pub fn paint(
        &mut self,
        ui: &Ui,
        layout: &Layout,
        line: &Timeline,
        (grid, values, order): (&Grid, &[f32], &[usize]),
        ink: &ColorScale,
        generation: Generation,
    ) {
        let columns = grid.cut.columns;
        if self.generation != Some(generation) {
            self.generation = Some(generation);
            let image = image(columns, values, order, ink);
            match &mut self.texture {
                Some(texture) => texture.set(image, TextureOptions::NEAREST),
                None => self.texture = Some(ui.ctx().load_texture("lanes", image, TextureOptions::NEAREST)),
            }
        }
        let Some(texture) = &self.texture else { return };
        let x = |step: f64| line.x_of(layout.plot, step);
        let (left, right) = (x(grid.cut.begin(0)), x(grid.cut.begin(columns)));
        let area = Rect::from_x_y_ranges(left..=right, layout.plot.y_range());
        let uv = Rect::from_min_max(Pos2::ZERO, pos2(1.0, 1.0));
        ui.painter_at(layout.plot).image(texture.id(), area, uv, Color32::WHITE);
    }
}

/// Creates an image of the rows in an order.
fn image(columns: usize, values: &[f32], order: &[usize], ink: &ColorScale) -> ColorImage {
    let row = |lane: &usize| values[lane * columns..(lane + 1) * columns].iter().map(|v| ink.color(*v));
    ColorImage::new([columns, order.len()], order.iter().flat_map(row).collect())
}

/// Draws names left of their rows: as many as fit, and the name of the row under the pointer.
pub fn names(ui: &Ui, canvas: Rect, layout: &Layout, names: &[&AxisLabel], hovered: Option<usize>, tokens: &Tokens) {
    let (painter, font) = (ui.painter_at(canvas), kit::small(ui));
    let height = layout.row(0).height();
    let every = (NAME_HEIGHT / height.max(0.1)).ceil().max(1.0) as usize;
    for (i, name) in names.iter().enumerate() {
        let is_near = hovered.is_some_and(|at| at != i && at.abs_diff(i) < every);
        if hovered != Some(i) && (!i.is_multiple_of(every) || is_near) {
            continue;
        }
        let middle = layout.row(i).left_center();
        if let Some(color) = name.color {
            painter.circle_filled(middle - Vec2::X * 9.0, 3.0, color);
        }
        let room = layout.plot.left() - canvas.left() - 20.0;
        let text = kit::elide(&painter, &name.text, &font, room.max(10.0));
        let ink = if hovered == Some(i) { tokens.text_strong } else { tokens.text_sub };
        painter.text(middle - Vec2::X * 16.0, Align2::RIGHT_CENTER, text, font.clone(), ink);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::views::lanes::grid;

    #[test]
    fn rows_are_painted_in_sorted_order() {
        let values = [1.0, 1.0, f32::NAN, 8.0, 9.0, 10.0, 0.0, 0.0, 0.0];
        let range = grid::range(&values, false, false).expect("values");
        let ink = ColorScale::new(grid::scale_colors(range, false), false, range, None, &Tokens::dark());
        let image = image(3, &values, &[1, 0, 2], &ink);
        assert_eq!((image.size, image.pixels[2]), ([3, 3], ink.color(10.0)));
        assert!(image.pixels[3..].iter().all(|p| *p != ink.color(10.0)));
        assert!(image.pixels[5] != ink.color(1.0) && image.pixels[6] == ink.color(0.0), "no sample, and silence");
    }
}
