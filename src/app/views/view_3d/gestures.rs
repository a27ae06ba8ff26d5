//! Pointer and keyboard input of the 3D view.

use super::{View3d, pixels};
use crate::{
    app::views::{MenuTarget, ViewCtx, menu},
    sim::ElementSet,
    view3d::{Preset, Projector, Vec2},
};
use egui::{Key, PointerButton, Rect, Response, Sense, Ui};

/// Maximum distance from a point to the pointer, points.
const SLACK: f32 = 5.0;
/// Keys of [`Preset::ALL`].
const KEYS: [Key; 4] = [Key::Num1, Key::Num2, Key::Num3, Key::Num4];
/// Keys of the saved views.
const SAVED_VIEW_KEYS: [Key; super::saved_views::N_KEYS] = [Key::Num5, Key::Num6, Key::Num7, Key::Num8];

impl View3d {
    pub(super) fn gestures_ui(
        &mut self,
        ui: &mut Ui,
        canvas: Rect,
        set: &ElementSet,
        ctx: &mut ViewCtx<'_>,
    ) -> Response {
        let response = ui.interact(canvas, ui.scope_id().with("view_3d"), Sense::click_and_drag());
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Image, true, "3D view"));
        let size_px = pixels(ui, canvas);
        let scale = ui.pixels_per_point();
        self.wheel(ui, &response, canvas, size_px, scale);
        self.keys(ui, &response, ctx);
        self.drag(ui, &response, canvas, set, ctx, size_px);
        self.hover(&response, canvas, set, ctx, size_px, scale);
        self.click(&response, set, ctx);
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

    fn keys(&mut self, ui: &Ui, response: &Response, ctx: &ViewCtx<'_>) {
        if !response.contains_pointer() || ui.ctx().text_edit_focused() {
            return;
        }
        let pressed = |key: Key| ui.input(|i| i.modifiers.is_none() && i.key_pressed(key));
        for (key, preset) in KEYS.into_iter().zip(Preset::ALL) {
            if pressed(key) {
                self.view_from(preset);
            }
        }
        for (n, key) in SAVED_VIEW_KEYS.into_iter().enumerate() {
            if pressed(key) {
                self.go_to_saved(n, ctx);
            }
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
        if let Some(area) = self.area_select.update(ui, response, canvas) {
            let to_px = |p: &Vec2| Vec2::new(p.x - canvas.left(), p.y - canvas.top()) * scale;
            let polygon: Vec<Vec2> = area.outline.iter().map(to_px).collect();
            let projector = Projector::new(&self.camera, size_px);
            let shown = |i: usize| self.is_shown(set, i) && ctx.filter.shown().shows(set.name, i as u32);
            let caught = projector.inside(self.places(set), shown, &polygon);
            ctx.selection.apply_area(set.name, caught, modifiers);
        } else if response.dragged_by(PointerButton::Middle) || response.dragged_by(PointerButton::Secondary) {
            self.camera.pan(moved, size_px.y);
        } else if response.dragged_by(PointerButton::Primary) && !self.area_select.is_drawing() {
            self.camera.orbit(moved, size_px.y);
        }
    }

    /// Whether the category of a point is shown.
    pub(super) fn is_shown(&self, set: &ElementSet, i: usize) -> bool {
        let column = self.category(set);
        !column.and_then(|c| c.codes.get(i)).is_some_and(|code| self.is_hidden(*code))
    }

    /// Finds the element under the pointer; only if pointer, camera or visible elements have changed.
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
        let key = Some((
            at,
            self.camera,
            self.hidden_generation + self.placement.places_generation + ctx.filter.shown().generation,
        ));
        if self.hover_key == key {
            return;
        }
        self.hover_key = key;
        let look = self.look(size_px, scale, ctx);
        let projector = Projector::new(&self.camera, size_px);
        let codes = self.category(set).map_or(&[][..], |c| &c.codes);
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

    fn click(&mut self, response: &Response, set: &ElementSet, ctx: &mut ViewCtx<'_>) {
        let under = self.under_pointer.filter(|_| self.hover_key.is_some());
        if response.double_clicked() {
            match under {
                Some(element) => self.focus(&[element]),
                None => self.viewport.fit(&mut self.camera),
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
            let subject = MenuTarget::at(ctx, set, element);
            menu::ui(ui, ctx, set, &subject);
        });
    }
}
