//! Pointer input of the lineage.

use super::{
    LineRef, Lineage, Window,
    draw::{self, Map},
    forest::ALIVE,
    label,
    lanes::NO_LANE,
};
use crate::{
    app::views::{MenuTarget, ViewCtx, menu},
    sim::ElementSet,
};
use egui::{Pos2, Rect, Response, RichText, Sense, Ui};

/// Maximum distance from a line to the pointer, points.
const SLACK: f32 = 6.0;

impl Lineage {
    pub(super) fn pointer_ui(&mut self, ui: &Ui, plot: Rect, set: Option<&ElementSet>, ctx: &mut ViewCtx<'_>) {
        let response = ui.interact(plot, ui.scope_id().with("lineage"), Sense::click_and_drag());
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Image, true, "Lineage"));
        let map = self.map(plot);
        self.wheel(ui, &response, map);
        if response.dragged() {
            let (by, mut w) = (response.drag_delta(), self.window_of(map));
            let (dt, dl) = per_point(&w, plot);
            let (t, l) = (f64::from(by.x) * dt, f64::from(by.y) * dl);
            (w.t0, w.t1, w.l0, w.l1) = (w.t0 - t, w.t1 - t, w.l0 - l, w.l1 - l);
            self.window = Some(w);
        }
        if response.double_clicked() {
            self.window = None;
        }
        let at = response.hover_pos().filter(|_| !response.dragged());
        self.hovered = at.and_then(|at| self.line_at(map, at));
        self.link(&response, set, ctx);
        self.menu_ui(&response, set, ctx);
        let Some(line) = self.hovered.filter(|_| response.hovered()) else { return };
        response.on_hover_ui_at_pointer(|ui| {
            tooltip_ui(ui, ctx, &label(self.forest(), line), &draw::tooltip(self, line, ctx));
        });
    }

    fn window_of(&self, map: Map) -> Window {
        let (t0, l0) = map.at(map.corners().0);
        let (t1, l1) = map.at(map.corners().1);
        Window { t0, t1, l0, l1 }
    }

    fn wheel(&mut self, ui: &Ui, response: &Response, map: Map) {
        let Some(at) = response.hover_pos() else { return };
        let (scroll, pinch, modifiers) = ui.input(|i| (i.smooth_scroll_delta(), i.zoom_delta(), i.modifiers));
        let scroll = if scroll.y.abs() > scroll.x.abs() { scroll.y } else { scroll.x };
        let factor = f64::from((-scroll * 0.004).exp() / pinch);
        if (factor - 1.0).abs() < 1e-6 {
            return;
        }
        let (mut w, (t, l)) = (self.window_of(map), map.at(at));
        if !modifiers.shift {
            (w.t0, w.t1) = (t + (w.t0 - t) * factor, t + (w.t1 - t) * factor);
        }
        if !modifiers.command {
            (w.l0, w.l1) = (l + (w.l0 - l) * factor, l + (w.l1 - l) * factor);
        }
        if w.t1 - w.t0 > 2.0 && w.l1 - w.l0 > 1.0 {
            self.window = Some(w);
        }
    }

    /// Returns the line nearest to the pointer among those that live at the pointer's step; `None` if none is within [`SLACK`].
    fn line_at(&self, map: Map, at: Pos2) -> Option<u32> {
        let (step, _) = map.at(at);
        let slack = map.at(at + egui::vec2(SLACK, 0.0)).0 - step;
        let lanes = self.worker.layout.lanes.of.iter().zip(self.forest().lines.iter()).enumerate();
        let near = lanes.filter(|(_, (lane, _))| **lane != NO_LANE).filter_map(|(i, (lane, line))| {
            let distance = (map.y(*lane) - at.y).abs();
            let end = if line.died == ALIVE { self.now } else { line.died };
            let is_then = line.born as f64 - slack <= step && step <= end as f64 + slack;
            (distance <= SLACK && is_then).then_some((distance, i as u32))
        });
        near.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, i)| i)
    }

    /// Connects hover and clicks to the other views through the slot of a living individual.
    fn link(&mut self, response: &Response, set: Option<&ElementSet>, ctx: &mut ViewCtx<'_>) {
        let Some(set) = set else { return };
        let slot = |line: u32| self.slot_of(line);
        if response.hovered() && (ctx.selection.set == set.name || ctx.selection.set.is_empty()) {
            ctx.selection.hovered = self.hovered.and_then(slot);
        }
        if !response.clicked() {
            return;
        }
        let is_added = response.ctx.input(|i| i.modifiers.command);
        match self.hovered.and_then(slot) {
            Some(slot) if is_added => ctx.selection.toggle(set.name, slot),
            Some(slot) => ctx.selection.replace(set.name, vec![slot]),
            None if !is_added => ctx.selection.replace(set.name, vec![]),
            None => {}
        }
        self.focus = self.hovered.map(|line| LineRef::at(self.forest(), line));
    }

    /// Draws the menu of the element in the line's slot, below entries of the lineage.
    fn menu_ui(&mut self, response: &Response, set: Option<&ElementSet>, ctx: &mut ViewCtx<'_>) {
        if response.secondary_clicked() {
            self.menu_line = self.hovered.map(|line| LineRef::at(self.forest(), line));
            self.focus = self.menu_line.or(self.focus);
        }
        let Some(set) = set else { return };
        response.context_menu(|ui| {
            if let Some(line) = self.menu_line {
                self.relatives_ui(ui, line.index, set, ctx);
                ui.separator();
            }
            let subject = MenuTarget::at(ctx, set, self.menu_line.and_then(|line| self.slot_of(line.index)));
            menu::ui(ui, ctx, set, &subject);
        });
    }

    fn relatives_ui(&self, ui: &mut Ui, line: u32, set: &ElementSet, ctx: &mut ViewCtx<'_>) {
        ui.label(RichText::new(label(self.forest(), line)).strong().color(ctx.tokens.text_strong));
        let relatives = [("Select living descendants", true), ("Select living relatives", false)];
        for (text, only_down) in relatives {
            if ui.button(text).clicked() {
                ctx.selection.replace(set.name, self.living_relatives(line, only_down));
            }
        }
        if ui.button("Copy ID").clicked() {
            ui.ctx().copy_text(self.forest().lines[line as usize].id.to_string());
        }
    }

    /// Returns the slot of a living line; `None` if the line has ended or has no slot.
    fn slot_of(&self, line: u32) -> Option<u32> {
        self.forest().living_slot(line)
    }

    /// Returns the slots of the living descendants of a line, or of all its living relatives.
    fn living_relatives(&self, line: u32, only_down: bool) -> Vec<u32> {
        let mut marked = vec![false; self.forest().lines.len()];
        marked[line as usize] = true;
        if !only_down {
            self.forest().add_ancestors(&mut marked);
        }
        self.forest().add_descendants(&mut marked);
        let living = self.forest().lines.iter().zip(&marked).filter(|(l, m)| **m && l.died == ALIVE);
        living.filter_map(|(l, _)| l.slot).collect()
    }
}

fn per_point(w: &Window, plot: Rect) -> (f64, f64) {
    ((w.t1 - w.t0) / f64::from(plot.width()), (w.l1 - w.l0) / f64::from(plot.height()))
}

fn tooltip_ui(ui: &mut Ui, ctx: &ViewCtx<'_>, title: &str, rows: &[(String, String)]) {
    ui.label(RichText::new(title).strong().color(ctx.tokens.text_strong));
    egui::Grid::new("line").num_columns(2).spacing([12.0, 2.0]).show(ui, |ui| {
        for (name, text) in rows {
            ui.label(RichText::new(name).small().color(ctx.tokens.text_sub));
            ui.label(RichText::new(text).small().color(ctx.tokens.text));
            ui.end_row();
        }
    });
}
