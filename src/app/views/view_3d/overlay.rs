//! Overlays of the 3D view: axes, scale bar, colour bar and tooltip.

use super::{Coloring, View3d, pixels};
use crate::{
    app::{
        kit::{self, bar::ColorBar, color_scale::FieldScale},
        views::{ViewCtx, element, fields},
    },
    sim::{ElementSet, ProbeSpec},
    view3d::Vec3,
};
use egui::{Align2, Painter, Rect, Response, Stroke, Ui, pos2, vec2};

impl View3d {
    pub(super) fn overlay_ui(
        &mut self,
        ui: &mut Ui,
        canvas: Rect,
        set: &ElementSet,
        response: &Response,
        ctx: &ViewCtx<'_>,
    ) {
        let painter = ui.painter_at(canvas);
        let font = kit::small(ui);
        if self.is_in_motion() {
            self.paint_motion(&painter, canvas, pixels(ui, canvas), ui.pixels_per_point(), ctx);
        }
        if canvas.width() > 160.0 && canvas.height() > 120.0 {
            self.paint_axes(&painter, canvas, &font, ctx);
            self.paint_scale(&painter, canvas, &font, pixels(ui, canvas).y, ui.pixels_per_point(), ctx);
        }
        self.area_select.paint(&painter, ctx.tokens);
        if let (Some(element), true) = (self.under_pointer.filter(|_| self.hover_key.is_some()), response.hovered()) {
            let values = self.value_text(ctx, element);
            response.clone().on_hover_ui_at_pointer(|ui| element::element_ui(ui, ctx, set, element, &values));
        }
    }

    /// Draws legends next to the image: a colour bar of values, and categories with their counts. Returns the area of the image.
    pub(super) fn legends_ui(&mut self, ui: &mut Ui, canvas: Rect, set: &ElementSet, ctx: &ViewCtx<'_>) -> Rect {
        ui.painter().rect_filled(canvas, 0.0, ctx.tokens.canvas);
        let mut picture = canvas;
        if let Coloring::Field(id) = self.coloring(ctx.schema)
            && let Some(probe) = ctx.schema.probes.get(usize::from(id))
        {
            if ctx.schema.unrecorded.contains(&id) {
                let at = canvas.right_top() + vec2(-8.0, 8.0);
                let text = format!("{}: not recorded", fields::label(probe));
                ui.painter().text(at, Align2::RIGHT_TOP, text, kit::small(ui), ctx.tokens.text_sub);
            } else {
                let scale = self.scale(probe, ctx);
                let (rest, bar) = ColorBar::split(ui, picture, ctx.tokens, probe, &scale);
                picture = rest;
                if let Some(bar) = bar {
                    bar.paint(ui.painter(), ctx.tokens);
                }
            }
        }
        if self.coloring(ctx.schema) == Coloring::Effect {
            picture = self.effects_bar_ui(ui, picture, ctx);
        }
        let has_room = canvas.width() > 260.0 && canvas.height() > 100.0;
        // The legend of a figure is above the image, so the width does not hide it.
        let width = if kit::is_staged(ui.ctx()) { f32::INFINITY } else { canvas.width() };
        if has_room && self.is_legend_open(width, ctx.schema) {
            picture = self.legend_ui(ui, picture, set, ctx);
        }
        picture
    }

    /// Returns the colour scale of the current values. Their range was computed on arrival.
    fn scale(&self, probe: &ProbeSpec, ctx: &ViewCtx<'_>) -> FieldScale {
        match ctx.color_scales.of(probe.name).range {
            Some(range) => FieldScale::fixed(ctx.color_scales.colormap(probe), range, &self.values, ctx.tokens),
            None => FieldScale::following(ctx.color_scales.colormap(probe), self.data_range, ctx.tokens),
        }
    }

    /// Returns the label and the current value of an element for its tooltip; empty without values.
    fn value_text(&self, ctx: &ViewCtx<'_>, element: u32) -> Vec<(String, String)> {
        if self.coloring(ctx.schema) == Coloring::Effect {
            return self.effect_text(element);
        }
        let Some(probe) = self.values_of.and_then(|p| ctx.schema.probes.get(usize::from(p))) else { return vec![] };
        let Some(value) = self.values.get(element as usize).copied() else { return vec![] };
        let text = if crate::app::document::features::is_time_since(probe) {
            if value < 0.0 {
                "never".to_owned()
            } else {
                format!("{} ago", kit::with_unit(f64::from(value), probe.unit))
            }
        } else {
            kit::with_unit(f64::from(value), probe.unit)
        };
        vec![(fields::label(probe), text)]
    }

    /// Draws the axis directions. Axes that point to the viewer are drawn last.
    fn paint_axes(&self, painter: &Painter, canvas: Rect, font: &egui::FontId, ctx: &ViewCtx<'_>) {
        let origin = pos2(canvas.left() + 34.0, canvas.bottom() - 34.0);
        let (right, up, back) = (self.camera.right(), self.camera.up(), self.camera.backward());
        // The three hues are theme tokens.
        let t = ctx.tokens;
        let mut axes = [(Vec3::X, "x", t.error), (Vec3::Y, "y", t.ok), (Vec3::Z, "z", t.inhibitory)];
        axes.sort_by(|a, b| a.0.dot(back).total_cmp(&b.0.dot(back)));
        for (axis, name, color) in axes {
            let tip = vec2(axis.dot(right), -axis.dot(up)) * 20.0;
            let color = if axis.dot(back) < -0.5 { color.gamma_multiply(0.5) } else { color };
            painter.line_segment([origin, origin + tip], Stroke::new(1.75, color));
            if tip.length() > 6.0 {
                painter.text(origin + tip * 1.38, Align2::CENTER_CENTER, name, font.clone(), color);
            } else {
                painter.circle_filled(origin, 2.5, color);
            }
        }
    }

    /// Draws the scale bar: a round length of 60 to 150 points, exact in the target plane. Draws none for diagrams and positions
    /// from fields.
    fn paint_scale(
        &self,
        painter: &Painter,
        canvas: Rect,
        font: &egui::FontId,
        height_px: f32,
        scale: f32,
        ctx: &ViewCtx<'_>,
    ) {
        if self.is_in_motion() || self.set.as_ref().is_some_and(|s| s.is_diagram) {
            return;
        }
        let um_per_point = f64::from(self.camera.world_per_pixel(height_px) * scale);
        let longest = um_per_point * 150.0;
        let magnitude = 10f64.powf(longest.log10().floor());
        let length = [5.0, 2.0, 1.0].into_iter().map(|m| m * magnitude).find(|l| *l <= longest).unwrap_or(magnitude);
        let points = (length / um_per_point) as f32;
        let text =
            if length >= 1000.0 { format!("{} mm", length / 1000.0) } else { format!("{} µm", kit::value(length)) };
        let (right, y) = (canvas.right() - 16.0, canvas.bottom() - 16.0);
        let stroke = Stroke::new(1.5, ctx.tokens.text);
        painter.line_segment([pos2(right - points, y), pos2(right, y)], stroke);
        for x in [right - points, right] {
            painter.line_segment([pos2(x, y - 3.0), pos2(x, y + 3.0)], stroke);
        }
        painter.text(pos2(right - points / 2.0, y - 5.0), Align2::CENTER_BOTTOM, text, font.clone(), ctx.tokens.text);
    }
}
