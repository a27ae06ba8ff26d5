//! Pointer input of the raster.

use super::{Raster, draw::Layout, rows::Group};
use crate::{
    app::{
        document::time::{paint, spikes::History},
        kit::{self, area_select::SelectedArea},
        views::{MenuTarget, View as _, ViewCtx, element, menu},
    },
    sim::{ElementSet, Spike},
};
use egui::{Key, PointerButton, Pos2, Rect, Response, Sense, Ui};
use std::sync::Arc;

/// Hit distance of a spike, points.
const HIT_RADIUS: f32 = 5.0;
/// Maximum number of spikes tested under the pointer. The horizontal hit distance shrinks if there are more.
const MAX_TESTED: usize = 15_000;

impl Raster {
    pub(super) fn pointer_ui(&mut self, ui: &mut Ui, layout: &Layout, ctx: &mut ViewCtx<'_>) {
        let response = ui.interact(layout.canvas, ui.scope_id().with("raster"), Sense::click_and_drag());
        let name = || if self.shows_spikes(ctx.schema) { "Spike raster".to_owned() } else { self.title(ctx.schema) };
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Image, true, name()));
        let plot = layout.plot;
        let times = plot.with_max_y(layout.strip.bottom());
        let line = self.link.line(&ctx.time.axis).clone();
        let is_range = paint::choose_range(&response, times, &line, &mut ctx.time.axis);
        if !is_range && !self.select_area(ui, &response, plot, ctx) {
            self.drag(&response, plot, ctx);
        }
        self.wheel(ui, &response, layout, ctx);
        if response.double_clicked() {
            self.fit(ctx);
        }
        if response.hovered() && ui.input(|i| i.key_pressed(Key::End)) {
            self.link.line_mut(&mut ctx.time.axis).follow = true;
        }
        self.link.update(ui, ctx.live_edge() as f64);
        if let Some(at) = response.hover_pos().filter(|p| times.contains(*p)) {
            ctx.time.axis.set_pointer(line.step_at(plot, at.x), ui.ctx().cumulative_pass_nr());
        }
        if !self.gutter_ui(&response, plot) {
            self.hover_ui(&response, plot, ctx);
        }
        self.menu_ui(&response, plot, ctx);
    }

    fn menu_ui(&mut self, response: &Response, plot: Rect, ctx: &mut ViewCtx<'_>) {
        let Some(set) = self.set.clone() else { return };
        if response.secondary_clicked() {
            self.menu_element = ctx.selection.hovered_in(set.name);
            let group = response.interact_pointer_pos().and_then(|at| self.group_at(at, plot));
            self.menu_group = group.map(|g| self.all_in(&set, g));
        }
        response.context_menu(|ui| {
            let subject = self.menu_group.clone().unwrap_or_else(|| MenuTarget::at(ctx, &set, self.menu_element));
            menu::ui(ui, ctx, &set, &subject);
        });
    }

    /// Returns all elements of a category, with or without rows.
    fn all_in(&self, set: &ElementSet, group: &Group) -> MenuTarget {
        let codes = set.column(&self.rows.column).map_or(&[][..], |c| &c.codes);
        let elements: Vec<u32> = (0..codes.len() as u32).filter(|e| codes[*e as usize] == group.code).collect();
        let name = format!("{}: {}", group.label, kit::thousands(elements.len() as u64));
        MenuTarget { element: None, elements: Arc::new(elements), name }
    }

    /// Returns the group at a position left of the plot; `None` in the plot or without groups.
    fn group_at(&self, at: Pos2, plot: Rect) -> Option<&Group> {
        let is_left_of_plot = at.x < plot.left() && plot.y_range().contains(at.y);
        let row = self.window.r0 + f64::from((plot.bottom() - at.y) / plot.height()) * self.window.rows();
        self.rows.group(row.max(0.0) as u32).filter(|_| is_left_of_plot)
    }

    /// Selects the elements with a spike in the area that Shift or Alt and a drag draw. Returns whether the pointer draws an
    /// area.
    fn select_area(&mut self, ui: &Ui, response: &Response, plot: Rect, ctx: &mut ViewCtx<'_>) -> bool {
        let selected = self.area_select.update(ui, response, plot);
        self.area_select.paint(&ui.painter_at(plot), ctx.tokens);
        let Some(area) = selected else { return self.area_select.is_drawing() };
        let history = self.probe.and_then(|p| ctx.time.past.train(p)).map(|t| &t.history);
        if let (Some(set), Some(history)) = (&self.set, history) {
            ctx.selection.apply_area(set.name, self.spiking_in(plot, &area, history), ui.input(|i| i.modifiers));
        }
        true
    }

    /// Returns the elements with a spike in an area.
    fn spiking_in(&self, plot: Rect, area: &SelectedArea, history: &History) -> Vec<u32> {
        let bounds = area.bounds;
        let step = |x: f32| self.window.t0 + f64::from((x - plot.left()) / plot.width()) * self.window.span();
        let row = |y: f32| self.window.r0 + f64::from((plot.bottom() - y) / plot.height()) * self.window.rows();
        let steps = step(bounds.left()).max(0.0) as u32..step(bounds.right()).max(0.0).ceil() as u32 + 1;
        let rows = row(bounds.bottom()).max(0.0) as u32..row(bounds.top()).max(0.0).ceil() as u32;
        let x = |step: u32| (f64::from(step) + 0.5 - self.window.t0) / self.window.span() * f64::from(plot.width());
        let y = |row: u32| (f64::from(row) + 0.5 - self.window.r0) / self.window.rows() * f64::from(plot.height());
        let at = |step: u32, row: u32| Pos2::new(plot.left() + x(step) as f32, plot.bottom() - y(row) as f32);
        let mut is_in = vec![false; self.rows.n_elements() as usize];
        for spike in history.slices(steps.start, steps.end).flatten() {
            let Some(found) = is_in.get_mut(spike.lane as usize).filter(|found| !**found) else { continue };
            let row = self.rows.row(spike.lane).filter(|r| rows.contains(r));
            *found = row.is_some_and(|row| area.is_box() || area.holds(at(spike.step, row)));
        }
        (0..is_in.len() as u32).filter(|e| is_in[*e as usize]).collect()
    }

    /// Handles the groups left of the plot: a click collapses a group to its rate or expands it. Returns whether the pointer is
    /// on a group.
    fn gutter_ui(&mut self, response: &Response, plot: Rect) -> bool {
        let Some(group) = response.hover_pos().and_then(|at| self.group_at(at, plot)).cloned() else { return false };
        response.ctx.set_cursor_icon(egui::CursorIcon::PointingHand);
        if response.clicked() {
            let collapsed = &mut self.arrange.order.collapsed;
            if !collapsed.remove(&group.code) {
                collapsed.insert(group.code);
            }
            self.arrange.ask(true);
        }
        let (label, n) = (&group.label, kit::counted(u64::from(group.len), "rows"));
        let what = if group.is_collapsed { "click to expand" } else { "click to collapse to its rate" };
        response.clone().on_hover_text_at_pointer(format!("{label}: {n} · {what} · right-click: menu"));
        true
    }

    fn drag(&mut self, response: &Response, plot: Rect, ctx: &mut ViewCtx<'_>) {
        if !response.dragged_by(PointerButton::Primary) && !response.dragged_by(PointerButton::Middle) {
            return;
        }
        let delta = response.drag_delta();
        if delta.x.abs() > 0.5 {
            let steps = -f64::from(delta.x) * self.window.span() / f64::from(plot.width());
            self.link.line_mut(&mut ctx.time.axis).pan(steps);
        }
        let rows = f64::from(delta.y) * self.window.rows() / f64::from(plot.height());
        self.window.pan_rows(rows, self.rows.len());
    }

    /// Zooms times and rows; with Ctrl, a pinch or over the time axis only times, with Shift or over the groups only rows.
    fn wheel(&mut self, ui: &Ui, response: &Response, layout: &Layout, ctx: &mut ViewCtx<'_>) {
        let Some(at) = response.hover_pos() else { return };
        let (scroll, pinch, shift) = ui.input(|i| (i.smooth_scroll_delta(), i.zoom_delta(), i.modifiers.shift));
        let notches = if shift && scroll.y == 0.0 { scroll.x } else { scroll.y };
        let factor = f64::from(pinch) * (f64::from(notches) * 0.004).exp();
        if (factor - 1.0).abs() < 1e-6 {
            return;
        }
        let plot = layout.plot;
        let (below, beside) = (at.y > plot.bottom(), at.x < plot.left());
        if !(shift || beside) {
            let share = f64::from((at.x - plot.left()) / plot.width());
            self.link.line_mut(&mut ctx.time.axis).zoom(1.0 / factor, share);
        }
        if !(below || (pinch - 1.0).abs() > 1e-6) {
            let from_bottom = f64::from((plot.bottom() - at.y) / plot.height()).clamp(0.0, 1.0);
            self.window.zoom_rows(1.0 / factor, from_bottom, self.rows.len());
        }
    }

    fn hover_ui(&mut self, response: &Response, plot: Rect, ctx: &mut ViewCtx<'_>) {
        let Some(set) = self.set.clone() else { return };
        let Some(at) = response.hover_pos().filter(|p| plot.contains(*p)) else { return };
        let time = &*ctx.time;
        let found = self.probe.and_then(|p| time.past.train(p)).and_then(|t| self.spike_at(&t.history, plot, at));
        let row_height = plot.height() / self.window.rows() as f32;
        let row = (self.window.r0 + f64::from((plot.bottom() - at.y) / plot.height()) * self.window.rows()) as usize;
        let tall = (row_height >= 4.0).then(|| self.rows.element(row as u32)).flatten();
        let element = found.map(|s| s.lane).or(tall);
        if ctx.selection.set == set.name || ctx.selection.set.is_empty() {
            ctx.selection.hovered = element;
        }
        if let Some(element) = element.filter(|_| response.clicked()) {
            if response.ctx.input(|i| i.modifiers.command) {
                ctx.selection.toggle(set.name, element);
            } else {
                ctx.selection.replace(set.name, vec![element]);
            }
        }
        let (Some(element), false) = (element, response.dragged()) else { return };
        let time = found.map(|s| {
            let secs = self.secs(f64::from(s.step));
            kit::TimeUnit::of(self.clock.base, secs, 0.0).text(secs, self.clock.base.per_step())
        });
        let values: Vec<_> =
            time.into_iter().map(|t| (format!("Last {}", kit::text::singular(&self.noun)), t)).collect();
        response.clone().on_hover_ui_at_pointer(|ui| element::element_ui(ui, ctx, &set, element, &values));
    }

    /// Returns the spike nearest to the pointer; `None` if none is within the hit distance.
    fn spike_at(&self, history: &History, plot: Rect, at: Pos2) -> Option<Spike> {
        let steps_per_pt = self.window.span() / f64::from(plot.width());
        let step = self.window.t0 + f64::from(at.x - plot.left()) * steps_per_pt;
        let rows_per_pt = self.window.rows() / f64::from(plot.height());
        let row = self.window.r0 + f64::from(plot.bottom() - at.y) * rows_per_pt;
        let is_drawn = |row: u32| !self.rows.group(row).is_some_and(|g| g.is_collapsed);
        let distance = |spike: &Spike| {
            let spike_row = self.rows.row(spike.lane)?;
            let dx = (f64::from(spike.step) + 0.5 - step) / steps_per_pt;
            let dy = (f64::from(spike_row) + 0.5 - row) / rows_per_pt;
            let d2 = dx * dx + dy * dy;
            (d2 <= f64::from(HIT_RADIUS * HIT_RADIUS) && is_drawn(spike_row)).then_some(d2)
        };
        let (from, to) = steps_near(history, step, f64::from(HIT_RADIUS) * steps_per_pt)?;
        let near = history.slices(from, to).flatten();
        let best = near.filter_map(|s| distance(s).map(|d| (d, *s)));
        best.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, s)| s)
    }
}

/// Returns the range of steps to test around the pointer: within `most` steps, or fewer if there are many spikes. `None` if even
/// the smallest range has more than [`MAX_TESTED`] spikes.
fn steps_near(history: &History, step: f64, most: f64) -> Option<(u32, u32)> {
    let around = |radius: f64| ((step - radius).max(0.0) as u32, (step + radius).max(0.0).ceil() as u32 + 1);
    let halves = std::iter::successors(Some(most), |radius| Some(radius * 0.5)).take_while(|r| *r > most / 64.0);
    halves.map(around).find(|(from, to)| history.count(*from, *to) <= MAX_TESTED)
}
