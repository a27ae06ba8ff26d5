//! How the raster looks: groups at the left, spikes, the rate strip, the time axis.

use super::Raster;
use crate::app::{
    theme::Tokens,
    views::{ViewCtx, kit},
};
use egui::{Align2, Mesh, Painter, Pos2, Rect, Response, Ui, Vec2, pos2};

/// Where things are.
pub struct Layout {
    /// Everything.
    pub canvas: Rect,
    /// The spikes.
    pub plot: Rect,
    /// The rate under them; empty when there is no room.
    pub strip: Rect,
}

const GUTTER: f32 = 118.0;
/// In a narrow panel; labels are elided.
const NARROW_GUTTER: f32 = 84.0;
const AXIS: f32 = 21.0;
const STRIP: f32 = 46.0;

impl Layout {
    /// Of a canvas of any size.
    pub fn of(canvas: Rect) -> Self {
        let gutter = match canvas.width() {
            w if w > 520.0 => GUTTER,
            w if w > 320.0 => NARROW_GUTTER,
            _ => 16.0,
        };
        let strip_height = if canvas.height() > 190.0 { STRIP } else { 0.0 };
        let bottom = canvas.bottom() - AXIS;
        let (left, right) = (canvas.left() + gutter, (canvas.right() - 12.0).max(canvas.left() + gutter + 10.0));
        let gap = if strip_height > 0.0 { 6.0 } else { 0.0 };
        let top = canvas.top() + 8.0;
        let plot_bottom = (bottom - strip_height - gap).max(top + 4.0);
        Self {
            canvas,
            plot: Rect::from_min_max(pos2(left, top), pos2(right, plot_bottom)),
            strip: Rect::from_min_max(pos2(left, bottom - strip_height), pos2(right, bottom)),
        }
    }
}

impl Raster {
    pub(super) fn x_of(&self, plot: Rect, step: f64) -> f32 {
        plot.left() + ((step - self.window.t0) / self.window.span()) as f32 * plot.width()
    }

    pub(super) fn y_of(&self, plot: Rect, row: f64) -> f32 {
        plot.bottom() - ((row - self.window.r0) / self.window.rows()) as f32 * plot.height()
    }

    pub(super) fn paint(&self, ui: &mut Ui, layout: &Layout, response: &Response, ctx: &ViewCtx<'_>) {
        let painter = ui.painter_at(layout.canvas);
        painter.rect_filled(layout.canvas, 0.0, ctx.tokens.canvas);
        let (small, mono) = (kit::small(ui), kit::mono(ui));
        self.paint_groups(&painter, layout, &small, ctx);
        if self.are_ticks() {
            self.paint_ticks(&painter, layout.plot, ctx);
        } else {
            self.density.paint(&painter, layout.plot, &self.window);
        }
        self.paint_marks(&painter, layout.plot, ctx);
        if layout.strip.height() > 4.0 {
            self.paint_rate(&painter, layout.strip, &small, ctx.tokens);
        }
        self.paint_time(&painter, layout, &mono, ctx.tokens);
        self.paint_now(&painter, layout, ctx.tokens);
        self.paint_crosshair(&painter, layout, response, ctx.tokens);
    }

    /// Coloured bars and labels at the left, hairlines between blocks.
    fn paint_groups(&self, painter: &Painter, layout: &Layout, font: &egui::FontId, ctx: &ViewCtx<'_>) {
        let (Some(set), plot) = (&self.set, layout.plot) else { return };
        painter.vline(plot.left(), plot.y_range(), (1.0, ctx.tokens.line));
        let colors = self.rows.colors(set, ctx.tokens);
        let room = plot.left() - layout.canvas.left() - 18.0;
        let mut free_below = plot.bottom() + 8.0;
        for (group, color) in self.rows.groups.iter().zip(&colors) {
            let top = self.y_of(plot, f64::from(group.end)).clamp(plot.top(), plot.bottom());
            let bottom = self.y_of(plot, f64::from(group.first)).clamp(plot.top(), plot.bottom());
            if bottom - top <= 0.0 {
                continue;
            }
            let bar = Rect::from_min_max(pos2(plot.left() - 8.0, top), pos2(plot.left() - 3.0, bottom.max(top + 0.5)));
            painter.rect_filled(bar, 0.0, *color);
            if top > plot.top() + 0.5 && bottom - top > 3.0 {
                painter.hline(plot.x_range(), top, (1.0, ctx.tokens.line.gamma_multiply(0.45)));
            }
            // Labels only where they fit, without running into the one below.
            let middle = f32::midpoint(top, bottom);
            if room > 40.0 && middle + 7.0 < free_below && bottom - top > 9.0 {
                let text = kit::elide(painter, &group.label.replace('_', " "), font, room);
                painter.text(
                    pos2(plot.left() - 13.0, middle),
                    Align2::RIGHT_CENTER,
                    text,
                    font.clone(),
                    ctx.tokens.text,
                );
                free_below = middle - 7.0;
            }
        }
    }

    fn paint_ticks(&self, painter: &Painter, plot: Rect, ctx: &ViewCtx<'_>) {
        let Some(set) = &self.set else { return };
        let colors = self.rows.colors(set, ctx.tokens);
        let selected = ctx.selection.of(set.name);
        let row_height = plot.height() / self.window.rows() as f32;
        let height = (row_height * 0.8).clamp(3.0, 14.0);
        let width = (plot.width() / self.window.span() as f32 * 0.7).clamp(1.25, 2.5);
        let mut mesh = Mesh::default();
        mesh.reserve_triangles(self.ticks.len() * 2);
        mesh.reserve_vertices(self.ticks.len() * 4);
        for spike in &self.ticks {
            let row = self.rows.row_of[spike.lane as usize];
            let group = self.rows.groups.partition_point(|g| g.end <= row);
            let color = colors.get(group).copied().unwrap_or(ctx.tokens.text);
            let color = match (selected.is_empty(), selected.binary_search(&spike.lane).is_ok()) {
                (true, _) => color,
                (false, true) => ctx.tokens.accent,
                (false, false) => color.gamma_multiply(0.35),
            };
            let at = pos2(self.x_of(plot, f64::from(spike.step) + 0.5), self.y_of(plot, f64::from(row) + 0.5));
            mesh.add_colored_rect(Rect::from_center_size(at, Vec2::new(width, height)), color);
        }
        painter.with_clip_rect(plot.intersect(painter.clip_rect())).add(mesh);
    }

    /// Selected and hovered rows: marks in the gutter, a faint line across.
    fn paint_marks(&self, painter: &Painter, plot: Rect, ctx: &ViewCtx<'_>) {
        let Some(set) = &self.set else { return };
        let inside = painter.with_clip_rect(plot.expand2(Vec2::new(10.0, 0.0)).intersect(painter.clip_rect()));
        let row = |element: u32| self.rows.row(element).map(|r| f64::from(r) + 0.5);
        let selected = ctx.selection.of(set.name);
        if selected.len() <= 2_000 {
            let mut mesh = Mesh::default();
            for y in selected.iter().filter_map(|e| row(*e)).map(|r| self.y_of(plot, r)) {
                let mark = Rect::from_center_size(pos2(plot.left() + 2.5, y), Vec2::new(5.0, 2.0));
                mesh.add_colored_rect(mark, ctx.tokens.accent);
            }
            inside.add(mesh);
        }
        if let Some(row) = ctx.selection.hovered_in(set.name).and_then(row) {
            let y = self.y_of(plot, row);
            inside.hline(plot.x_range(), y, (1.0, ctx.tokens.text_sub.gamma_multiply(0.5)));
        }
    }

    /// Mean rate of the rows in view, in bins of at least three points and one step. Where steps have no length, how
    /// many events a step has in all rows.
    fn paint_rate(&self, painter: &Painter, strip: Rect, font: &egui::FontId, tokens: &Tokens) {
        let Some(grid) = self.density.grid() else { return };
        let cells = grid.cells;
        let columns_per_px = self.window.span() / f64::from(cells.steps) / f64::from(strip.width().max(1.0));
        let per_bin = (3.0 * columns_per_px).ceil().max(1.0) as i64;
        let rows = (cells.height as u32 * cells.rows).min(self.rows.len() - cells.row0.min(self.rows.len())).max(1);
        let secs = f64::from(cells.steps) * per_bin as f64 * self.clock.secs_per_step;
        let are_steps = self.clock.secs_per_step >= 1.0;
        let scale = if are_steps { 1.0 / secs } else { 1.0 / (f64::from(rows) * secs) };
        let (name, unit) = if are_steps { ("per step  0", "") } else { ("rate  0", "Hz") };
        let first = cells.first.div_euclid(per_bin);
        let last = (cells.first + cells.columns as i64).div_euclid(per_bin);
        let end = self.now();
        let bins: Vec<(f64, f64)> = (first..=last)
            .map(|bin| {
                let from = bin * per_bin;
                let n: u64 = (from..from + per_bin).map(|c| u64::from(grid.total(c))).sum();
                ((from as f64 + per_bin as f64 * 0.5) * f64::from(cells.steps), n as f64 * scale)
            })
            .filter(|(step, _)| *step < end && *step >= self.window.t0 && *step <= self.window.t1)
            .collect();
        let highest = bins.iter().map(|(_, v)| *v).fold(0.0, f64::max);
        let top = if highest > 0.0 { nice_above(highest) } else { 1.0 };
        let y = |v: f64| strip.bottom() - (v / top) as f32 * (strip.height() - 3.0);
        let color = tokens.text_sub.lerp_to_gamma(tokens.text, 0.6);
        let mut area = Mesh::default();
        let points: Vec<Pos2> = bins.iter().map(|(s, v)| pos2(self.x_of(strip, *s), y(*v))).collect();
        for (i, p) in points.iter().enumerate() {
            area.colored_vertex(*p, color.gamma_multiply(0.22));
            area.colored_vertex(pos2(p.x, strip.bottom()), color.gamma_multiply(0.05));
            if i > 0 {
                let k = (i as u32) * 2;
                area.add_triangle(k - 2, k - 1, k);
                area.add_triangle(k - 1, k, k + 1);
            }
        }
        let inside = painter.with_clip_rect(strip.intersect(painter.clip_rect()));
        inside.add(area);
        inside.line(points, egui::Stroke::new(1.25, color));
        painter.vline(strip.left(), strip.y_range(), (1.0, tokens.line));
        // Beside the strip when there is a gutter, else inside it.
        let has_gutter = strip.left() - painter.clip_rect().left() > 60.0;
        let (x, align) = if has_gutter {
            (strip.left() - 6.0, Align2::RIGHT_CENTER)
        } else {
            (strip.left() + 5.0, Align2::LEFT_CENTER)
        };
        if highest > 0.0 {
            painter.hline(strip.left()..=strip.left() + 3.0, y(top), (1.0, tokens.text_sub));
            painter.text(pos2(x, y(top) + 3.0), align, kit::with_unit(top, unit), font.clone(), tokens.text_sub);
        }
        painter.text(pos2(x, strip.bottom() - 4.0), align, name, font.clone(), tokens.text_sub);
    }

    fn paint_time(&self, painter: &Painter, layout: &Layout, font: &egui::FontId, tokens: &Tokens) {
        let (from, to) = (self.secs(self.window.t0), self.secs(self.window.t1));
        let unit = kit::TimeUnit::of(self.clock.secs_per_step, to, to - from);
        let plot = Rect::from_min_max(layout.plot.min, pos2(layout.plot.right(), layout.canvas.bottom() - 21.0));
        let title = if unit.name == "steps" { "steps".to_owned() } else { format!("time ({})", unit.name) };
        kit::x_axis(painter, plot, font, tokens, from * unit.scale, to * unit.scale, &title);
    }

    /// The live edge.
    fn paint_now(&self, painter: &Painter, layout: &Layout, tokens: &Tokens) {
        let x = self.x_of(layout.plot, self.now());
        if layout.plot.x_range().contains(x) {
            let color = if self.follow { tokens.live } else { tokens.line };
            painter.vline(x, layout.plot.top()..=layout.strip.bottom(), (1.0, color.gamma_multiply(0.8)));
        }
    }

    fn paint_crosshair(&self, painter: &Painter, layout: &Layout, response: &Response, tokens: &Tokens) {
        let Some(at) = response.hover_pos().filter(|p| layout.plot.contains(*p)) else { return };
        let hair = (1.0, tokens.text_sub.gamma_multiply(0.35));
        painter.vline(at.x, layout.plot.top()..=layout.strip.bottom(), hair);
    }
}

/// The next of 1, 2, 2.5, 5 × 10ⁿ above a value.
fn nice_above(v: f64) -> f64 {
    let magnitude = 10f64.powf(v.log10().floor());
    [1.0, 1.5, 2.0, 2.5, 4.0, 5.0, 7.5, 10.0].into_iter().map(|m| m * magnitude).find(|m| *m >= v).unwrap_or(v)
}
