//! Painting of collapsed groups: the rate of a group as a line in a band.

use super::{Raster, draw::nice_above};
use crate::app::{
    kit,
    views::{ViewCtx, rate},
};
use egui::{Align2, Mesh, Painter, Rect, Stroke, pos2};

impl Raster {
    pub(super) fn paint_collapsed(&self, painter: &Painter, plot: Rect, font: &egui::FontId, ctx: &ViewCtx<'_>) {
        let (Some(set), Some(grid)) = (&self.set, self.density.grid()) else { return };
        let colors = self.rows.colors(set, ctx.tokens);
        let inside = painter.with_clip_rect(plot.intersect(painter.clip_rect()));
        for (group, color) in self.rows.groups.iter().zip(colors).filter(|(g, _)| g.is_collapsed) {
            let Some(cell) = grid.cells.cell_of(group.middle()) else { continue };
            let (top, bottom) = (self.y_of(plot, f64::from(group.end)), self.y_of(plot, f64::from(group.first)));
            let band = Rect::from_min_max(pos2(plot.left(), top + 2.0), pos2(plot.right(), bottom - 1.0));
            if band.height() < 4.0 || !band.intersects(plot) {
                continue;
            }
            inside.rect_filled(band, 0.0, color.gamma_multiply(0.06));
            let bins = self.bins(plot, |column| u64::from(grid.count(column, cell)), group.n_filtered);
            let highest = bins.iter().map(|(_, v)| *v).fold(0.0, f64::max);
            let top = if highest > 0.0 { nice_above(highest) } else { 1.0 };
            let y = |v: f64| band.bottom() - (v / top) as f32 * (band.height() - 2.0);
            let points: Vec<_> = bins.iter().map(|(step, v)| pos2(self.x_of(plot, *step), y(*v))).collect();
            let mut area = Mesh::default();
            for (i, p) in points.iter().enumerate() {
                area.colored_vertex(*p, color.gamma_multiply(0.35));
                area.colored_vertex(pos2(p.x, band.bottom()), color.gamma_multiply(0.08));
                if i > 0 {
                    let k = i as u32 * 2;
                    area.add_triangle(k - 2, k - 1, k);
                    area.add_triangle(k - 1, k, k + 1);
                }
            }
            inside.add(area);
            inside.line(points, Stroke::new(1.25, color));
            if highest > 0.0 && band.height() > 14.0 {
                let text = kit::with_unit(top, &rate::unit_of(set, group.n_filtered, self.clock.base));
                inside.text(
                    band.right_top() - egui::vec2(4.0, 0.0),
                    Align2::RIGHT_TOP,
                    text,
                    font.clone(),
                    ctx.tokens.text_sub,
                );
            }
        }
    }
}
