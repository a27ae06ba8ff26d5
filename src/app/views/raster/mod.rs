//! Spikes as a raster: any `Spikes` probe over any set. A density picture when there are many, ticks when few,
//! the rate of the rows in view underneath.

mod active;
mod density;
mod draw;
mod grid;
mod history;
mod pointer;
mod rows;
mod window;

use super::{View, ViewCtx, kit, probes_where, tap};
use crate::{
    engine::Exhibit,
    sim::{Clock, ElementSet, Frame, ProbeId, Reading, Shape, Spike, Tap},
};
use active::Active;
use density::{Density, Wish};
use grid::Inks;
use history::History;
use rows::Rows;
use std::sync::Arc;
use window::{Cells, Window};

/// Up to this many spikes in view are drawn one by one.
const TICKS: usize = 20_000;
/// Steps in view at first.
const SPAN: f64 = 10_000.0;
/// The same where steps have no length.
const SPAN_STEPS: f64 = 1_000.0;
/// A jump of more steps than this per frame is not worth a look for single ticks.
const SCAN: usize = 250_000;

/// The raster view.
pub struct Raster {
    probe: Option<ProbeId>,
    /// What the events are called: `spikes`, `births`.
    noun: String,
    set: Option<Arc<ElementSet>>,
    column: String,
    rows: Rows,
    rows_generation: u64,
    active: Active,
    is_active_only: bool,
    history: History,
    skipped: u64,
    clock: Clock,
    window: Window,
    /// Steps across while following.
    span: f64,
    follow: bool,
    density: Density,
    ticks: Vec<Spike>,
    ticks_key: Option<(Cells, u64, u64)>,
    plot_px: egui::Vec2,
}

impl Default for Raster {
    fn default() -> Self {
        Self {
            probe: None,
            noun: "spikes".into(),
            set: None,
            column: "super_class".into(),
            rows: Rows::default(),
            rows_generation: 0,
            active: Active::default(),
            is_active_only: true,
            history: History::default(),
            skipped: 0,
            clock: Clock::default(),
            window: Window { t0: 0.0, t1: SPAN, r0: 0.0, r1: 1.0 },
            span: SPAN,
            follow: true,
            density: Density::default(),
            ticks: vec![],
            ticks_key: None,
            plot_px: egui::Vec2::ZERO,
        }
    }
}

impl Raster {
    /// Finds the probe and the set of an exhibit, when they are not those already shown.
    fn settle(&mut self, exhibit: &Exhibit) {
        let spikes = |s: &Shape| matches!(s, Shape::Spikes { .. });
        let found = self.probe.filter(|p| exhibit.probes.get(usize::from(*p)).is_some_and(|p| spikes(&p.shape)));
        self.probe = found.or_else(|| probes_where(exhibit, spikes).next().map(|(id, _)| id));
        let Some(probe) = self.probe.map(|p| &exhibit.probes[usize::from(p)]) else { return };
        let Shape::Spikes { over } = probe.shape else { return };
        self.noun = probe.name.replace('_', " ");
        let set = exhibit.set(over).cloned();
        let same = match (&self.set, &set) {
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            (None, None) => true,
            _ => false,
        };
        if !same {
            self.set = set;
            self.arrange();
        }
    }

    /// Puts the rows in order, and all of them in view.
    fn arrange(&mut self) {
        let Some(set) = &self.set else { return };
        if !self.column.is_empty() && set.column(&self.column).is_none() {
            self.column = set.columns.first().map(|c| c.name.clone()).unwrap_or_default();
        }
        self.order();
        (self.window.r0, self.window.r1) = (0.0, f64::from(self.rows.len().max(1)));
    }

    /// Puts the rows in order.
    fn order(&mut self) {
        let Some(set) = &self.set else { return };
        let all = !self.is_active_only;
        self.rows = Rows::new(set, &self.column, |element| all || self.active.contains(element));
        self.rows_generation += 1;
    }

    /// Gives rows to those that spiked since, unless someone has zoomed in on the rows there are.
    fn rearrange(&mut self, now_secs: f64) {
        let is_zoomed = self.window.rows() < f64::from(self.rows.len().max(1)) - 0.5;
        if self.is_active_only && !is_zoomed && self.active.is_due(now_secs) {
            self.arrange();
            self.active.arranged(now_secs);
        }
    }

    /// Which rows there are, as the caption says it.
    fn rows_text(&self) -> String {
        let number = |n: u32| kit::thousands(u64::from(n));
        let in_view = (self.window.r1.ceil() - self.window.r0.floor()).min(f64::from(self.rows.len())) as u32;
        if !self.is_active_only {
            return format!("rows {} of {}", number(in_view), number(self.rows.len()));
        }
        let (active, all) = (number(self.rows.len()), number(self.rows.n_elements()));
        let mut text = if in_view < self.rows.len() {
            format!("rows {} of {active} active of {all}", number(in_view))
        } else {
            format!("rows {active} active of {all}")
        };
        // Those who spiked a moment ago get their rows in a moment; for longer only beside a zoom.
        if in_view < self.rows.len() && self.active.waiting() > 0 {
            text += &format!(" (+{} since zoomed)", number(self.active.waiting()));
        }
        text
    }

    /// The present, in steps relative to the history.
    fn now(&self) -> f64 {
        self.clock.step.saturating_sub(self.history.origin()) as f64
    }

    /// Absolute seconds (or steps) of a relative step.
    fn secs(&self, step: f64) -> f64 {
        (self.history.origin() as f64 + step) * self.clock.secs_per_step
    }

    fn follow_now(&mut self, width_px: usize) {
        if !self.follow {
            return;
        }
        // The right edge stands on the border of a column, so that pictures scroll by whole columns.
        let steps = (self.span / width_px.max(1) as f64 - 1e-6).ceil().max(1.0);
        let across = steps * width_px.max(1) as f64;
        let now = (self.now() / steps).ceil() * steps;
        self.window.t1 = now.max(across);
        self.window.t0 = self.window.t1 - across;
    }

    fn caption(&self, plot_px: egui::Vec2) -> String {
        if plot_px.x < 1.0 {
            return self.rows_text();
        }
        let spikes = self.spikes_in_view();
        let per_px = kit::duration(self.window.span() * self.clock.secs_per_step / f64::from(plot_px.x.max(1.0)));
        let rows_per_px = kit::value((self.window.rows() / f64::from(plot_px.y.max(1.0)) * 10.0).round() / 10.0);
        let mode = if self.are_ticks() { "ticks" } else { "density, log" };
        let per_px = if self.clock.secs_per_step >= 1.0 {
            format!("{} steps", kit::value(self.window.span() / f64::from(plot_px.x.max(1.0))))
        } else {
            per_px
        };
        let mut text = format!(
            "{}  |  {} {} in view  |  {mode}  |  1 px = {per_px} × {rows_per_px} rows",
            self.rows_text(),
            kit::thousands(spikes),
            self.noun,
        );
        if self.density.is_busy() {
            text += "  |  counting…";
        }
        if self.history.dropped() > 0 {
            text +=
                &format!("  |  oldest {} {} no longer in memory", kit::thousands(self.history.dropped()), self.noun);
        }
        if self.skipped > 0 {
            text += &format!("  |  {} {} skipped while not drawn", kit::thousands(self.skipped), self.noun);
        }
        text
    }

    fn spikes_in_view(&self) -> u64 {
        if self.are_ticks() { self.ticks.len() as u64 } else { self.density.grid().map_or(0, grid::Grid::spikes) }
    }

    fn are_ticks(&self) -> bool {
        self.ticks_key.is_some()
    }

    /// Collects single spikes when they are few enough to be drawn one by one.
    fn update_ticks(&mut self, cells: Cells) {
        let key = (cells, self.history.sequence(), self.rows_generation);
        if self.ticks_key == Some(key) {
            return;
        }
        self.ticks_key = None;
        self.ticks.clear();
        // Where the picture has counted too many, nobody looks at them one by one.
        if self.density.grid().is_some_and(|g| g.cells == cells && g.spikes() > TICKS as u64) {
            return;
        }
        let (from, to) = (self.window.t0.max(0.0) as u32, self.window.t1.ceil().max(0.0) as u32);
        if self.history.count(from, to) > SCAN {
            return;
        }
        let (r0, r1) = (self.window.r0.floor().max(0.0) as u32, self.window.r1.ceil() as u32);
        let rows = &self.rows.row_of;
        for spike in self.history.slices(from, to).flatten() {
            if rows.get(spike.lane as usize).is_some_and(|r| (r0..r1).contains(r)) {
                self.ticks.push(*spike);
                if self.ticks.len() > TICKS {
                    return self.ticks.clear();
                }
            }
        }
        self.ticks_key = Some(key);
    }

    fn toolbar_ui(&mut self, ui: &mut egui::Ui, ctx: &ViewCtx<'_>) {
        let Some(set) = self.set.clone() else { return };
        self.events_ui(ui, ctx);
        let mut columns: Vec<(String, String)> =
            set.columns.iter().map(|c| (c.name.clone(), c.name.replace('_', " "))).collect();
        columns.push((String::new(), "index".into()));
        if columns.len() > 1 && kit::choice_ui(ui, ctx.tokens, "Group by", &mut self.column, &columns) {
            self.order();
        }
        let hint = "Rows only for those that have spiked since the run began; the caption says how many";
        if ui.toggle_value(&mut self.is_active_only, "Active only").on_hover_text(hint).changed() {
            self.arrange();
        }
        ui.separator();
        kit::live_ui(ui, ctx.tokens, &mut self.follow, ctx.running);
        if ui.button("Fit").on_hover_text("All rows, newest second (double-click)").clicked() {
            self.fit();
        }
    }

    /// Which events, when there are several kinds of them.
    fn events_ui(&mut self, ui: &mut egui::Ui, ctx: &ViewCtx<'_>) {
        let spikes = |s: &Shape| matches!(s, Shape::Spikes { .. });
        let all: Vec<_> = probes_where(ctx.exhibit, spikes).map(|(id, p)| (id, p.name.replace('_', " "))).collect();
        let mut chosen = self.probe.unwrap_or_default();
        if all.len() > 1 && kit::choice_ui(ui, ctx.tokens, "Events", &mut chosen, &all) {
            self.probe = Some(chosen);
            self.reset(ctx.exhibit);
        }
    }

    fn fit(&mut self) {
        (self.window.r0, self.window.r1) = (0.0, f64::from(self.rows.len().max(1)));
        self.span = self.first_span();
        self.follow = true;
    }

    fn first_span(&self) -> f64 {
        if self.clock.secs_per_step >= 1.0 { SPAN_STEPS } else { SPAN }
    }

    fn wish<'a>(&'a self, cells: Cells, ctx: &'a ViewCtx<'_>) -> Wish<'a> {
        let selected = self.set.as_ref().map_or(&[][..], |s| ctx.selection.of(s.name));
        Wish {
            cells,
            rows: (&self.rows, self.rows_generation),
            selected: (selected, ctx.selection.generation),
            inks: Inks { accent: ctx.tokens.accent, dark: ctx.tokens.dark, dim: !selected.is_empty() },
        }
    }
}

impl View for Raster {
    fn name(&self) -> &'static str {
        "raster"
    }

    fn title(&self, exhibit: &Exhibit) -> String {
        let name = self.probe.and_then(|p| exhibit.probes.get(usize::from(p))).map_or("", |p| p.name);
        if name.is_empty() || name == "spikes" { "Raster".into() } else { format!("Raster: {name}") }
    }

    fn taps(&self, exhibit: &Exhibit, _: &super::Selection) -> Vec<Tap> {
        let spikes = |s: &Shape| matches!(s, Shape::Spikes { .. });
        let probe = self.probe.or_else(|| probes_where(exhibit, spikes).next().map(|(id, _)| id));
        probe.map(tap).into_iter().collect()
    }

    fn reset(&mut self, exhibit: &Exhibit) {
        let (column, span) = (std::mem::take(&mut self.column), self.span);
        let set = self.set.take();
        let rows = std::mem::take(&mut self.rows);
        let (window, probe) = (self.window, self.probe);
        let (is_active_only, rows_generation) = (self.is_active_only, self.rows_generation);
        *self = Self { column, span, set, rows, window, rows_generation, is_active_only, probe, ..Self::default() };
        (self.window.t0, self.window.t1) = (0.0, span);
        self.settle(exhibit);
        if self.is_active_only {
            self.arrange();
        }
    }

    fn absorb(&mut self, exhibit: &Exhibit, frame: &Frame) {
        self.settle(exhibit);
        self.clock = frame.clock;
        let Some(probe) = self.probe else { return };
        if let Some(Reading::Spikes(spikes)) = frame.reading(probe) {
            self.history.push(spikes, frame.clock.step);
            self.active.note(spikes);
            self.skipped += frame.skipped;
        }
    }

    fn ui(&mut self, ui: &mut egui::Ui, ctx: &mut ViewCtx<'_>) {
        self.settle(ctx.exhibit);
        if self.probe.is_none() || self.set.is_none() {
            let canvas = ui.available_rect_before_wrap();
            let how = "A raster shows any spikes probe of a simulation";
            kit::empty_ui(ui, canvas, ctx.tokens, "Nothing here spikes", how, None);
            return;
        }
        self.clock = Clock { step: ctx.clock.step.max(self.clock.step), ..ctx.clock };
        if self.span == SPAN {
            self.span = self.first_span();
        }
        self.rearrange(ui.input(|i| i.time));
        let tokens = ctx.tokens;
        let caption = self.caption(self.plot_px);
        let canvas = kit::panel_ui(ui, tokens, Some(&caption), |ui| self.toolbar_ui(ui, ctx));
        if self.history.is_empty() && !ctx.running {
            let title = format!("No {} yet", self.noun);
            super::run_ui(ui, canvas, ctx, &title, "Run the model to see whose they are, and when");
            return;
        }
        if kit::is_tiny(canvas) {
            ui.painter().rect_filled(canvas, 0.0, ctx.tokens.canvas);
            return;
        }
        let layout = draw::Layout::of(canvas);
        let px = ui.pixels_per_point();
        self.plot_px = layout.plot.size() * px;
        let (width_px, height_px) = ((layout.plot.width() * px) as usize, (layout.plot.height() * px) as usize);
        let response = self.pointer_ui(ui, &layout, ctx);
        self.follow_now(width_px);
        let cells = Cells::of(&self.window, width_px, height_px, self.rows.len());
        let mut density = std::mem::take(&mut self.density);
        density.update(ui.ctx(), &self.history, &self.wish(cells, ctx));
        self.density = density;
        self.update_ticks(cells);
        self.paint(ui, &layout, &response, ctx);
    }

    fn help(&self) -> &'static str {
        "# Raster\n\nTime runs to the right, one row per element, grouped by a category. When more than 20,000 spikes \
         are in view the picture shows their density on a logarithmic scale; a cell with a single spike is never \
         darker than a quarter of the scale. Closer in, every spike is a tick in the colour of its group.\n\n\
         - drag: move · wheel: zoom both ways · Ctrl+wheel: time · Shift+wheel: rows\n\
         - click: select · Ctrl+click: add or remove · double-click: all rows, newest data\n\
         - LIVE or End: follow the newest data\n\nThe strip below is the mean rate of the rows in view.\n\nWith *Active only* \
         there are rows for those that have spiked since the run began and for nobody else; the caption says how \
         many that is of all."
    }
}
