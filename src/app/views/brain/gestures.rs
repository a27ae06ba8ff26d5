//! What pointer and keys do in the 3D view.

use super::{Brain, pixels};
use crate::{
    app::views::{Subject, ViewCtx, menu},
    sim::ElementSet,
    view3d::{Preset, Projector, Vec2},
};
use egui::{Key, PointerButton, Pos2, Rect, Response, Sense, Stroke, Ui};

/// How far from a point the pointer may be, points.
const SLACK: f32 = 5.0;
/// The keys of [`Preset::ALL`].
const KEYS: [Key; 4] = [Key::Num1, Key::Num2, Key::Num3, Key::Num4];

impl Brain {
    pub(super) fn gestures_ui(
        &mut self,
        ui: &mut Ui,
        canvas: Rect,
        set: &ElementSet,
        ctx: &mut ViewCtx<'_>,
    ) -> Response {
        let response = ui.interact(canvas, ui.scope_id().with("brain"), Sense::click_and_drag());
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Image, true, "3D view"));
        let size_px = pixels(ui, canvas);
        let scale = ui.pixels_per_point();
        self.wheel(ui, &response, canvas, size_px, scale);
        self.keys(ui, &response, set, ctx, size_px.x / size_px.y);
        self.drag(ui, &response, canvas, set, ctx, size_px);
        self.hover(&response, canvas, set, ctx, size_px, scale);
        self.click(&response, set, ctx, size_px);
        self.menu_ui(&response, set, ctx);
        response
    }

    fn wheel(&mut self, ui: &Ui, response: &Response, canvas: Rect, size_px: Vec2, scale: f32) {
        let Some(at) = response.hover_pos() else { return };
        let (scroll, pinch) = ui.input(|i| (i.smooth_scroll_delta().y, i.zoom_delta()));
        let factor = (-scroll * 0.004).exp() / pinch;
        if (factor - 1.0).abs() > 1e-6 {
            let from_centre = (at - canvas.center()) * scale;
            self.camera.zoom_at(factor, Vec2::new(from_centre.x, from_centre.y), size_px.y);
        }
    }

    fn keys(&mut self, ui: &Ui, response: &Response, set: &ElementSet, ctx: &ViewCtx<'_>, aspect: f32) {
        if !response.contains_pointer() || ui.ctx().text_edit_focused() {
            return;
        }
        let pressed = |key: Key| ui.input(|i| i.modifiers.is_none() && i.key_pressed(key));
        for (key, preset) in KEYS.into_iter().zip(Preset::ALL) {
            if pressed(key) {
                self.look_from(preset, aspect);
            }
        }
        if pressed(Key::F) {
            self.focus(ctx.selection.of(set.name), aspect);
        }
    }

    fn drag(
        &mut self,
        ui: &Ui,
        response: &Response,
        canvas: Rect,
        set: &ElementSet,
        ctx: &mut ViewCtx<'_>,
        size_px: Vec2,
    ) {
        let (modifiers, scale) = (ui.input(|i| i.modifiers), ui.pixels_per_point());
        let moved = response.drag_delta() * scale;
        let moved = Vec2::new(moved.x, moved.y);
        let to_px = |p: Pos2| Vec2::new((p.x - canvas.left()) * scale, (p.y - canvas.top()) * scale);
        if response.dragged_by(PointerButton::Middle) || response.dragged_by(PointerButton::Secondary) {
            self.camera.pan(moved, size_px.y);
        } else if response.dragged_by(PointerButton::Primary) {
            let here = response.interact_pointer_pos().map(to_px);
            let start = ui.input(|i| i.pointer.press_origin()).map(to_px);
            match (here, start) {
                (Some(here), Some(start)) if self.lasso.is_empty() && (modifiers.shift || modifiers.alt) => {
                    self.lasso = if modifiers.shift { rectangle(start, here) } else { vec![start, here] };
                    self.is_rectangle = modifiers.shift;
                }
                (Some(here), Some(start)) if !self.lasso.is_empty() => {
                    if self.is_rectangle {
                        self.lasso = rectangle(start, here);
                    } else if self.lasso.last().is_none_or(|last| last.distance(here) > 2.0) {
                        self.lasso.push(here);
                    }
                }
                _ => self.camera.orbit(moved, size_px.y),
            }
        }
        if response.drag_stopped() && !self.lasso.is_empty() {
            let polygon = std::mem::take(&mut self.lasso);
            let projector = Projector::new(&self.camera, size_px);
            let shown = |i: usize| self.is_shown(set, i) && ctx.filter.shown().shows(set.name, i as u32);
            let caught = projector.inside(self.places(set), shown, &polygon);
            ctx.selection.catch(set.name, caught, modifiers);
        }
    }

    /// Whether a point's category is shown.
    pub(super) fn is_shown(&self, set: &ElementSet, i: usize) -> bool {
        let column = set.column(&self.column);
        !column.and_then(|c| c.codes.get(i)).is_some_and(|code| self.is_hidden(*code))
    }

    /// Picks, when the pointer, the camera or the visible classes changed since the last time.
    fn hover(
        &mut self,
        response: &Response,
        canvas: Rect,
        set: &ElementSet,
        ctx: &mut ViewCtx<'_>,
        size_px: Vec2,
        scale: f32,
    ) {
        let Some(at) = response.hover_pos().filter(|_| !response.dragged()) else {
            if self.hover_key.take().is_some() && ctx.selection.hovered_in(set.name).is_some() {
                ctx.selection.hovered = None;
            }
            return;
        };
        let at = Vec2::new((at.x - canvas.left()) * scale, (at.y - canvas.top()) * scale);
        let key =
            Some((at, self.camera, self.hidden_generation + self.places_generation + ctx.filter.shown().generation));
        if self.hover_key == key {
            return;
        }
        self.hover_key = key;
        let look = self.look(size_px, scale, ctx);
        let projector = Projector::new(&self.camera, size_px);
        let codes = set.column(&self.column).map_or(&[][..], |c| &c.codes);
        let hidden = self.hidden.get(&self.column).filter(|h| !h.is_empty());
        let mask = ctx.filter.shown().mask(set.name);
        let visible = |i: usize| {
            hidden.is_none_or(|h| codes.get(i).is_none_or(|c| !h.contains(c)))
                && mask.is_none_or(|m| m.get(i).copied().unwrap_or(true))
        };
        let found = projector.pick(self.places(set), visible, |depth| look.radius_px(depth), at, SLACK * scale);
        if ctx.selection.set == set.name || ctx.selection.set.is_empty() {
            ctx.selection.hovered = found;
        }
        self.under_pointer = found;
    }

    fn click(&mut self, response: &Response, set: &ElementSet, ctx: &mut ViewCtx<'_>, size_px: Vec2) {
        let under = self.under_pointer.filter(|_| self.hover_key.is_some());
        if response.double_clicked() {
            let aspect = size_px.x / size_px.y;
            match under {
                Some(element) => self.focus(&[element], aspect),
                None => self.fit(aspect),
            }
        } else if response.clicked()
            && let Some(element) = under
        {
            if response.ctx.input(|i| i.modifiers.command) {
                ctx.selection.toggle(set.name, element);
            } else {
                ctx.selection.replace(set.name, vec![element]);
            }
        }
    }

    fn menu_ui(&mut self, response: &Response, set: &ElementSet, ctx: &mut ViewCtx<'_>) {
        if response.secondary_clicked() {
            self.menu_element = self.under_pointer;
        }
        let element = self.menu_element;
        response.context_menu(|ui| {
            let subject = Subject::at(ctx, set, element);
            menu::ui(ui, ctx, set, &subject);
        });
    }

    /// The outline of a selection being drawn.
    pub(super) fn paint_lasso(&self, ui: &Ui, canvas: Rect, ctx: &ViewCtx<'_>) {
        if self.lasso.len() < 2 {
            return;
        }
        let scale = ui.pixels_per_point();
        let mut outline: Vec<Pos2> = self.lasso.iter().map(|p| canvas.min + egui::vec2(p.x, p.y) / scale).collect();
        outline.push(outline[0]);
        let painter = ui.painter_at(canvas);
        if self.is_rectangle {
            painter.rect_filled(Rect::from_points(&outline), 0.0, ctx.tokens.accent.gamma_multiply(0.12));
        }
        painter.line(outline, Stroke::new(1.25, ctx.tokens.accent));
    }
}

fn rectangle(a: Vec2, b: Vec2) -> Vec<Vec2> {
    vec![a, Vec2::new(b.x, a.y), b, Vec2::new(a.x, b.y)]
}
