//! Painting of the raster: groups at the left, spikes, the rate strip and the time axis.

use super::{Raster, rows::Group};
use crate::app::{
    document::time,
    kit::{
        self,
        legend::{LegendEntry, figure_legend},
        theme::Tokens,
    },
    views::ViewCtx,
};
use egui::{Align2, Mesh, Painter, Rect, Ui, Vec2, pos2};

/// The areas of the raster.
pub struct Layout {
    /// The whole canvas.
    pub canvas: Rect,
    pub plot: Rect,
    /// The rate strip; empty if there is no room.
    pub strip: Rect,
    /// The row scroll bar; empty if there is no room.
    pub scroll: Rect,
}

const GUTTER: f32 = 118.0;
/// Width of the gutter in a narrow panel, points; labels are elided.
const NARROW_GUTTER: f32 = 84.0;
const AXIS: f32 = 21.0;
pub(super) const STRIP: f32 = 54.0;
/// Minimum height of a group with a label, points.
const LABEL: f32 = 9.0;
/// Width of the scroll bar at the right, points.
const BAR: f32 = 11.0;

impl Layout {
    /// Divides a canvas of any size into areas. A figure has no scroll bar.
    pub fn of(canvas: Rect, is_figure: bool) -> Self {
        let gutter = match canvas.width() {
            w if w > 520.0 => GUTTER,
            w if w > 320.0 => NARROW_GUTTER,
            _ => 16.0,
        };
        let strip_height = if canvas.height() > 190.0 { STRIP } else { 0.0 };
        let bottom = canvas.bottom() - AXIS;
        let bar = if canvas.width() > 320.0 && !is_figure { BAR } else { 0.0 };
        let left = canvas.left() + gutter;
        let right = (canvas.right() - bar - 10.0).max(left + 10.0);
        let gap = if strip_height > 0.0 { 6.0 } else { 0.0 };
        let top = canvas.top() + 8.0;
        let plot_bottom = (bottom - strip_height - gap).max(top + 4.0);
        Self {
            canvas,
            plot: Rect::from_min_max(pos2(left, top), pos2(right, plot_bottom)),
            strip: Rect::from_min_max(pos2(left, bottom - strip_height), pos2(right, bottom)),
            scroll: Rect::from_min_max(pos2(right + 4.0, top), pos2(right + 4.0 + bar, plot_bottom)),
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

    pub(super) fn paint(&self, ui: &Ui, layout: &Layout, ctx: &ViewCtx<'_>) {
        let painter = ui.painter_at(layout.canvas);
        painter.rect_filled(layout.canvas, 0.0, ctx.tokens.canvas);
        let (small, mono) = (kit::small(ui), kit::mono(ui));
        let times = layout.plot.union(if layout.strip.height() > 4.0 { layout.strip } else { layout.plot });
        let x = |step: f64| self.x_of(layout.plot, step - self.origin as f64);
        let origin = self.origin as f64;
        let seen = (self.window.t0 + origin, self.window.t1 + origin);
        time::paint::not_recorded(&painter, times, &self.gaps(ctx.time), ctx.tokens, x);
        time::paint::background(&painter, times, ctx.time, ctx.tokens, seen, x);
        self.paint_groups(&painter, layout, &small, ctx);
        if self.ticks.are_shown() {
            self.paint_ticks(&painter, layout.plot, ctx);
        } else {
            self.density.paint(&painter, layout.plot, &self.window);
        }
        self.paint_collapsed(&painter, layout.plot, &small, ctx);
        self.paint_marks(&painter, layout.plot, ctx);
        if layout.strip.height() > 4.0 {
            self.paint_rate(&painter, layout.strip, &self.gaps(ctx.time), &small, ctx.tokens);
        }
        time::paint::span_labels(&painter, layout.plot, ctx.time, &small, ctx.tokens, x);
        self.paint_time(&painter, layout, &mono, ctx.tokens);
        if kit::is_staged(ui.ctx()) {
            self.paint_row_title(&painter, layout, &small, ctx.tokens);
        } else {
            self.paint_now(&painter, layout, ctx);
        }
        time::paint::overlay(&painter, times, ctx.time, ctx.tokens, x);
    }

    /// Draws coloured bars and labels of groups at the left, and lines between groups.
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
            // Labels are drawn only where they fit without overlap.
            let middle = f32::midpoint(top, bottom);
            if room > 40.0 && middle + 7.0 < free_below && bottom - top > LABEL {
                let mark = if group.is_collapsed { "▸ " } else { "" };
                let text = format!("{mark}{}", group.label);
                let text = kit::elide(painter, &text, font, room);
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

    /// Draws selected rows as marks at the left edge, and the hovered row as a faint line.
    fn paint_marks(&self, painter: &Painter, plot: Rect, ctx: &ViewCtx<'_>) {
        let Some(set) = &self.set else { return };
        let inside = painter.with_clip_rect(plot.expand2(Vec2::new(10.0, 0.0)).intersect(painter.clip_rect()));
        let row = |element: u32| self.rows.row(element).map(|r| f64::from(r) + 0.5);
        let selected = ctx.selection.of(set.name);
        if selected.len() > super::outline::MAX_MARKED {
            let y = |row: u32| self.y_of(plot, f64::from(row));
            self.outline.paint(&inside, plot, y, ctx.tokens.accent);
        } else {
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

    fn paint_time(&self, painter: &Painter, layout: &Layout, font: &egui::FontId, tokens: &Tokens) {
        let (from, to) = (self.secs(self.window.t0), self.secs(self.window.t1));
        let unit = kit::TimeUnit::of(self.clock.base, to, to - from);
        let plot = Rect::from_min_max(layout.plot.min, pos2(layout.plot.right(), layout.canvas.bottom() - 21.0));
        let title = unit.title(self.clock.base);
        kit::x_axis(painter, plot, font, tokens, from * unit.scale, to * unit.scale, &title);
    }

    /// Draws the title of the rows, which is turned counter-clockwise, at the left edge.
    fn paint_row_title(&self, painter: &Painter, layout: &Layout, font: &egui::FontId, tokens: &Tokens) {
        let Some(set) = &self.set else { return };
        let order = &self.arrange.order.column;
        let by = if order.is_empty() { String::new() } else { format!(", by {}", kit::column(order).to_lowercase()) };
        let title = format!("{}{by}", kit::spaced(set.name));
        kit::turned_title(painter, layout.canvas.left() + 2.0, layout.plot, font, tokens, &title);
    }

    /// Draws a legend of all groups above a figure in which some have no room for their labels. Returns the rest of the canvas.
    pub(super) fn figure_legend(&self, ui: &Ui, canvas: Rect, ctx: &ViewCtx<'_>) -> Rect {
        let Some(set) = &self.set else { return canvas };
        let plot = Layout::of(canvas, true).plot;
        let height = |group: &Group| self.y_of(plot, f64::from(group.first)) - self.y_of(plot, f64::from(group.end));
        let has_labels = plot.left() - canvas.left() > NARROW_GUTTER - 1.0;
        if has_labels && self.rows.groups.iter().all(|group| height(group) > LABEL) {
            return canvas;
        }
        let named = self.rows.groups.iter().zip(self.rows.colors(set, ctx.tokens));
        let entries: Vec<_> = named.map(|(group, color)| LegendEntry::new(group.label.clone(), color)).collect();
        ui.painter().rect_filled(canvas, 0.0, ctx.tokens.canvas);
        let area = canvas.shrink2(Vec2::new(8.0, 4.0));
        let rest = figure_legend(&ui.painter_at(canvas), area, &kit::small(ui), ctx.tokens, &entries);
        canvas.with_min_y(rest.top())
    }

    /// Draws a line at the newest complete step.
    fn paint_now(&self, painter: &Painter, layout: &Layout, ctx: &ViewCtx<'_>) {
        let x = self.x_of(layout.plot, self.edge());
        if layout.plot.x_range().contains(x) {
            let is_followed = self.link.line(&ctx.time.axis).follow;
            let color = if is_followed { ctx.tokens.live } else { ctx.tokens.line };
            painter.vline(x, layout.plot.top()..=layout.strip.bottom(), (1.0, color.gamma_multiply(0.8)));
        }
    }
}

/// Returns the smallest of 1, 1.5, 2, 2.5, 4, 5, 7.5 × 10ⁿ that is not less than a positive value.
pub(super) fn nice_above(v: f64) -> f64 {
    let magnitude = 10f64.powf(v.log10().floor());
    [1.0, 1.5, 2.0, 2.5, 4.0, 5.0, 7.5, 10.0].into_iter().map(|m| m * magnitude).find(|m| *m >= v).unwrap_or(v)
}
