//! Spike raster of any `Spikes` probe over any set. Many spikes are drawn as a density image, few as ticks; the mean rate of the
//! visible rows is below.

mod arrange;
mod caption;
mod collapsed;
mod count_colors;
mod density;
mod draw;
mod grid;
mod outline;
mod pointer;
mod rows;
mod scroll;
mod strip;
mod ticks;
mod tiles;
mod toolbar;
mod window;

use super::{MenuEntry, MenuTarget, View, ViewCtx, ViewDeclaration, unfit_ui};
use crate::{
    app::{
        document::{
            features::{has_probe, probes_where, tap},
            layout::Page,
            time::{ElementBins, Time, TimeLink, Train, spikes::History},
        },
        kit::{self, area_select::AreaSelect, icons},
    },
    engine::SimSchema,
    sim::{Clock, ElementSet, Frame, ProbeId, SPIKES, Shape, Tap},
};
use arrange::RowArranger;
use count_colors::{CountColors, Scale};
use density::{Density, DensityRequest};
use rows::{Order, Rows};
use std::sync::Arc;
use ticks::Ticks;
use tiles::Pyramid;
use window::{Cells, Window};

/// The raster view.
pub struct Raster {
    probe: Option<ProbeId>,
    /// Name of the events in captions: `spikes`, `births`.
    noun: String,
    set: Option<Arc<ElementSet>>,
    arrange: RowArranger,
    rows: Rows,
    rows_generation: u64,
    is_active_only: bool,
    scale: Scale,
    clock: Clock,
    /// The newest step whose spikes have all arrived.
    live_edge: u64,
    /// Text about the lag of the last drawn window relative to the simulation; `None` if there is little.
    lag: Option<String>,
    link: TimeLink,
    /// Absolute step at which the relative steps of the history begin.
    origin: u64,
    window: Window,
    /// Relative step up to which the shown density is counted.
    counted_to: f64,
    density: Density,
    pyramid: Pyramid,
    ticks: Ticks,
    plot_px: egui::Vec2,
    area_select: AreaSelect,
    outline: outline::Outline,
    menu_element: Option<u32>,
    /// The group on which the context menu was opened.
    menu_group: Option<MenuTarget>,
}

impl Default for Raster {
    fn default() -> Self {
        let mut arrange = RowArranger::default();
        arrange.order = Order { column: "super_class".into(), ..Order::default() };
        Self {
            probe: None,
            noun: SPIKES.into(),
            set: None,
            arrange,
            rows: Rows::default(),
            rows_generation: 0,
            is_active_only: true,
            scale: Scale::default(),
            clock: Clock::default(),
            live_edge: 0,
            lag: None,
            link: TimeLink::default(),
            origin: 0,
            window: Window { t0: 0.0, t1: 10_000.0, r0: 0.0, r1: 1.0 },
            counted_to: 0.0,
            density: Density::default(),
            pyramid: Pyramid::default(),
            ticks: Ticks::default(),
            plot_px: egui::Vec2::ZERO,
            area_select: AreaSelect::default(),
            outline: outline::Outline::default(),
            menu_element: None,
            menu_group: None,
        }
    }
}

impl Raster {
    /// Finds the probe and the set in the schema. A new set gets new rows.
    fn settle(&mut self, schema: &SimSchema) {
        let spikes = |s: &Shape| matches!(s, Shape::Spikes { .. });
        let found = self.probe.filter(|p| schema.probes.get(usize::from(*p)).is_some_and(|p| spikes(&p.shape)));
        self.probe = found.or_else(|| probes_where(schema, spikes).next().map(|(id, _)| id));
        let Some(probe) = self.probe.map(|p| &schema.probes[usize::from(p)]) else { return };
        let Shape::Spikes { over } = probe.shape else { return };
        self.noun = probe.events();
        let set = schema.set(over);
        let same = match (&self.set, set) {
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            (None, None) => true,
            _ => false,
        };
        if !same {
            self.set = set.cloned();
            self.choose_column();
            self.arrange.ask(true);
        }
    }

    /// Replaces a column that the set does not have by its first column.
    fn choose_column(&mut self) {
        let Some(set) = &self.set else { return };
        let column = &mut self.arrange.order.column;
        if !column.is_empty() && set.column(column).is_none() {
            *column = set.columns.first().map(|c| c.name.clone()).unwrap_or_default();
        }
    }

    /// Assigns rows to newly active elements, unless the rows are zoomed.
    fn rearrange(&mut self, ctx: &egui::Context, train: Option<&Train>, now_secs: f64) {
        let Some(set) = self.set.clone() else { return };
        let n_active = train.map_or(0, |t| t.active.count());
        if self.is_active_only && !self.is_zoomed() && self.arrange.is_due(ctx, n_active, now_secs) {
            self.arrange.ask(true);
        }
        if let Some((rows, refit)) = self.arrange.update(ctx, &set, train, self.is_active_only, now_secs) {
            self.rows = rows;
            self.rows_generation += 1;
            if refit || self.window.r1 > f64::from(self.rows.len()) {
                (self.window.r0, self.window.r1) = (0.0, f64::from(self.rows.len().max(1)));
            }
        }
    }

    fn is_zoomed(&self) -> bool {
        self.window.rows() < f64::from(self.rows.len().max(1)) - 0.5
    }

    /// Returns the part of the caption about rows.
    fn rows_text(&self, n_active: u32) -> String {
        // Counted from the set: rows of a large set arrive later than its filter.
        let (n, hidden) = self.set.as_ref().map_or((0, 0), |set| (set.len, self.arrange.shown.n_hidden(set)));
        let number = |n: u32| kit::thousands(u64::from(n));
        let all = number(n - hidden) + if hidden > 0 { " shown" } else { "" };
        let (len, shown) = (self.rows.len(), self.rows.n_shown);
        let in_view = (self.window.r1.ceil() - self.window.r0.floor()).min(f64::from(len)) as u32;
        let is_partial = in_view < len;
        let mut text = match (self.is_active_only, is_partial) {
            (false, _) => format!("rows {} of {all}", number(in_view)),
            (true, true) => {
                format!("rows {} of {} active of {all}", number(in_view), number(shown))
            }
            (true, false) => format!("rows {} active of {all}", number(shown)),
        };
        let n_collapsed = self.rows.collapsed().count();
        if n_collapsed > 0 {
            text += &format!(" ({n_collapsed} as rates)");
        }
        // Newly active elements wait for a row only while rows are zoomed.
        if is_partial && self.is_active_only && self.arrange.waiting(n_active) > 0 {
            text += &format!(" (+{} since zoomed)", number(self.arrange.waiting(n_active)));
        }
        text
    }

    /// Newest complete step, relative to the origin.
    fn edge(&self) -> f64 {
        self.live_edge.saturating_sub(self.origin) as f64
    }

    /// Converts a relative step to absolute seconds (or steps).
    fn secs(&self, step: f64) -> f64 {
        (self.origin as f64 + step) * self.clock.base.per_step()
    }

    /// Sets the window to the visible times of the axis, or of this view if it is not linked.
    fn take_times(&mut self, ctx: &ViewCtx<'_>) {
        let line = self.link.line(&ctx.time.axis);
        let origin = self.origin as f64;
        (self.window.t0, self.window.t1) = (line.t0 - origin, line.t1 - origin);
    }

    /// Returns the visible times for which no spikes were recorded.
    fn gaps(&self, time: &Time) -> Vec<(f64, f64)> {
        let origin = self.origin as f64;
        let gaps = |probe| time.past.gaps(probe, self.window.t0 + origin, self.window.t1 + origin);
        self.probe.map(gaps).unwrap_or_default()
    }

    fn spikes_in_view(&self) -> u64 {
        match self.ticks.are_shown() {
            true => self.ticks.len() as u64,
            false => self.density.grid().map_or(0, grid::Grid::spikes),
        }
    }

    fn request<'a>(&'a self, size_px: (usize, usize), ctx: &'a ViewCtx<'_>) -> DensityRequest<'a> {
        let selected = self.set.as_ref().map_or(&[][..], |s| ctx.selection.of(s.name));
        // A large selection is outlined, because marked cells would cover the whole image.
        let selected = if selected.len() > outline::MAX_MARKED { &[][..] } else { selected };
        let colors = CountColors {
            scale: self.scale,
            accent: ctx.tokens.accent,
            dark: ctx.tokens.dark,
            dim: !selected.is_empty(),
        };
        DensityRequest {
            window: self.window,
            size_px,
            rows: (&self.rows, self.rows_generation),
            selected: (selected, ctx.selection.generation),
            colors,
        }
    }

    /// Updates the density image and the ticks of the window.
    fn update_image(
        &mut self,
        ui: &egui::Ui,
        (history, bins): (&History, &ElementBins),
        size_px: (usize, usize),
        ctx: &ViewCtx<'_>,
    ) {
        self.pyramid.update(ui.ctx(), history, &self.rows, self.rows_generation);
        let mut density = std::mem::take(&mut self.density);
        density.update(ui.ctx(), (history, bins), &self.pyramid, &self.request(size_px, ctx));
        self.density = density;
        let cells = Cells::of(&self.window, size_px.0, size_px.1, self.rows.len());
        let counted =
            self.density.grid().filter(|g| g.cells == cells && !self.density.is_busy()).map(grid::Grid::spikes);
        self.ticks.update(history, &self.window, (&self.rows, self.rows_generation), cells, counted);
    }

    fn view_ui(&mut self, ui: &mut egui::Ui, canvas: egui::Rect, ctx: &mut ViewCtx<'_>) {
        let is_figure = kit::is_staged(ui.ctx());
        let canvas = if is_figure { self.figure_legend(ui, canvas, ctx) } else { canvas };
        let layout = draw::Layout::of(canvas, is_figure);
        let px = ui.pixels_per_point();
        self.plot_px = layout.plot.size() * px;
        let size_px = (self.plot_px.x as usize, self.plot_px.y as usize);
        self.pointer_ui(ui, &layout, ctx);
        self.take_times(ctx);
        let empty = Train::default();
        if self.arrange.shown.generation != ctx.filter.shown().generation {
            self.arrange.shown = ctx.filter.shown().clone();
            self.arrange.ask(true);
        }
        let time = &*ctx.time;
        let train = self.probe.and_then(|p| time.past.train(p)).unwrap_or(&empty);
        self.update_image(ui, (&train.history, &train.bins), size_px, ctx);
        let end = train.end.saturating_sub(self.origin) as f64;
        self.counted_to = self.density.grid().map_or(0.0, |grid| grid.counted_to(&train.history, end));
        // At high speed a followed image is older than the window; the axis then shows the times of the image.
        if let Some(times) = self.density.late_times(&self.window).filter(|_| !self.ticks.are_shown()) {
            (self.window.t0, self.window.t1) = times;
        }
        self.lag = self.lag_text(ctx.time);
        if let Some(set) = &self.set {
            let selected = (ctx.selection.of(set.name), ctx.selection.generation);
            self.outline.update(selected, (&self.rows, self.rows_generation));
        }
        self.paint(ui, &layout, ctx);
        if !is_figure {
            self.scroll_ui(ui, layout.scroll, ctx);
        }
    }
}

impl Raster {
    pub const DECLARATION: ViewDeclaration = ViewDeclaration {
        name: "raster",
        title: "Raster",
        icon: icons::RASTER,
        help: "# Raster\n\nTime runs to the right, one row per element, grouped by a category and sorted inside. With more than \
         50,000 visible spikes the image shows their density; a cell with a single spike is never darker than a \
         quarter of the scale. Closer in, every spike is a tick in the colour of its group.\n\n\
         - drag: move · wheel: zoom both ways · Ctrl+wheel: time · Shift+wheel: rows\n\
         - click: select · Ctrl+click: add or remove · double-click: all rows, newest data\n\
         - click a group's bar or name: collapse it to its rate, or expand it; right-click: menu\n\
         - drag at the right edge: scroll the rows; the grey bars show the spike density\n\
         - LIVE or End: follow the newest data\n\nThe strip below is the rate, Hz per neuron: the mean over \
         all neurons that the filter shows, silent ones included, or over the rows in view when they are zoomed. Shaded \
         spans are stimuli and silencing. Where the simulation is faster than the window, the newest times whose spikes \
         have arrived are shown, and the caption says how far they are behind.\n\n*Active only* shows rows only for elements that have spiked since the start \
         of the run; the caption gives their number.",
        gestures: &[
            ("drag", "move"),
            ("wheel", "zoom"),
            ("click", "select"),
            ("Shift+drag", "rectangle"),
            ("double-click", "fit"),
        ],
        pages: &[Page::Simulate],
        fits: |schema| has_probe(schema, |shape| matches!(shape, Shape::Spikes { .. })),
        menu: Some(MenuEntry::show_in(1, "Raster")),
        ..ViewDeclaration::of::<Self>()
    };
}

impl Raster {
    /// Whether the shown events are spikes.
    fn shows_spikes(&self, schema: &SimSchema) -> bool {
        self.probe.and_then(|p| schema.probes.get(usize::from(p))).is_some_and(|probe| probe.name == SPIKES)
    }
}

impl View for Raster {
    fn declaration(&self) -> &'static ViewDeclaration {
        &Self::DECLARATION
    }

    fn title(&self, schema: &SimSchema) -> String {
        match self.probe.and_then(|p| schema.probes.get(usize::from(p))) {
            Some(probe) if !self.shows_spikes(schema) => format!("Raster: {}", probe.events()),
            _ => Self::DECLARATION.title.into(),
        }
    }

    fn show_probe(&mut self, schema: &SimSchema, probe: ProbeId) {
        if self.probe != Some(probe) {
            self.probe = Some(probe);
            self.reset(schema);
        }
    }

    fn taps(&self, schema: &SimSchema, _: &crate::app::document::selection::Selection) -> Vec<Tap> {
        let spikes = |s: &Shape| matches!(s, Shape::Spikes { .. });
        let probe = self.probe.or_else(|| probes_where(schema, spikes).next().map(|(id, _)| id));
        probe.map(tap).into_iter().collect()
    }

    fn reset(&mut self, schema: &SimSchema) {
        let mut arrange = std::mem::take(&mut self.arrange);
        arrange.clear();
        *self = Self {
            arrange,
            probe: self.probe,
            set: self.set.take(),
            rows: std::mem::take(&mut self.rows),
            window: self.window,
            link: std::mem::take(&mut self.link),
            is_active_only: self.is_active_only,
            scale: self.scale,
            rows_generation: self.rows_generation,
            ..Self::default()
        };
        self.settle(schema);
        if self.is_active_only {
            self.arrange.ask(true);
        }
    }

    fn absorb(&mut self, schema: &SimSchema, frame: &Frame) {
        self.settle(schema);
        self.clock = frame.clock;
    }

    fn ui(&mut self, ui: &mut egui::Ui, ctx: &mut ViewCtx<'_>) {
        self.settle(ctx.schema);
        let (Some(probe), true) = (self.probe, self.set.is_some()) else {
            return unfit_ui(ui, ctx, ["No events", "This simulation reports no events in time"]);
        };
        self.clock = Clock { step: ctx.clock.step.max(self.clock.step), ..ctx.clock };
        self.live_edge = ctx.live_edge();
        let time = &*ctx.time;
        let train = time.past.train(probe);
        self.origin = train.map_or(0, |t| t.history.origin());
        self.rearrange(ui.ctx(), train, ui.input(|i| i.time));
        let caption = self.caption(train, time, kit::is_staged(ui.ctx()));
        let is_empty = train.is_none_or(|t| t.history.is_empty());
        let tokens = ctx.tokens;
        let canvas = kit::panel_ui(ui, tokens, Some(&caption), |ui| self.toolbar_ui(ui, ctx));
        if is_empty && !ctx.running {
            super::no_events_ui(ui, canvas, ctx, probe, &format!("Run to see {}", self.noun));
            return;
        }
        if kit::tiny_ui(ui, canvas, tokens) {
            return;
        }
        self.view_ui(ui, canvas, ctx);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::document::filter::FilterMask;

    /// The rows of a large set arrive from the pool, later than the filter.
    #[test]
    fn the_caption_counts_shown_elements_before_rows_arrive() {
        let set = Arc::new(ElementSet { name: "cells", len: 100, ..ElementSet::default() });
        let mut raster = Raster { set: Some(set.clone()), ..Raster::default() };
        let caption = |raster: &Raster| raster.rows_text(0);
        assert_eq!(caption(&raster), "rows 0 active of 100");
        raster.arrange.shown = FilterMask::of("cells", (0..100).map(|e| e % 4 == 0).collect());
        assert_eq!(caption(&raster), "rows 0 active of 25 shown");
        // A rebuild made the set smaller; its filter is not evaluated yet.
        raster.set = Some(Arc::new(ElementSet { len: 40, ..ElementSet::clone(&set) }));
        assert_eq!(caption(&raster), "rows 0 active of 0 shown");
    }
}
