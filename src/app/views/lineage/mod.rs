//! Lineage of a population over time: births, splits, merges and deaths from any lineage probe.

mod attributes;
mod compaction;
mod draw;
mod forest;
mod history;
mod lanes;
mod layout;
mod line_ref;
mod lines;
mod list;
mod pointer;

use super::{
    View, ViewCtx, ViewDeclaration,
    fields::{self, Fields},
    run_ui, unfit_ui,
};
use crate::{
    app::{
        document::{
            color_scales::ColorScales,
            features::{probes_where, tap},
            layout::Page,
            selection::Selection,
        },
        kit::{self, bar::ColorBar, colors, icons, pool},
    },
    engine::{SchemaChanges, SimSchema},
    sim::{AttributeSpec, Frame, Meaning, ProbeId, ProbeSpec, Reading, Shape, Tap},
};
use egui::{Rect, TextureHandle, Ui, Vec2};
use forest::Forest;
use history::{ForestVersion, History, LineColor};
use layout::{LayoutRequest, LayoutWorker, MAX_SINGLE, SlotFilter};
use line_ref::LineRef;
use std::{mem, sync::Arc};

/// Minimum time between two layouts during a run, seconds.
const LAYOUT_SECS: f64 = 0.4;
/// Number of lines above which only survivors are shown by default.
const SURVIVORS_FROM: usize = 3_000;

/// Lines that are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Show {
    #[default]
    All,
    /// The living individuals and their ancestors.
    Survivors,
    /// The marked lines and their relatives.
    Relatives,
}

/// Relatives of the marked lines that are highlighted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Relatives {
    pub ancestors: bool,
    pub descendants: bool,
}

/// The visible steps and lanes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Window {
    pub t0: f64,
    pub t1: f64,
    pub l0: f64,
    pub l1: f64,
}

impl Window {
    /// Returns the window of all lines and steps.
    fn all(forest: &Forest, n_lanes: u32, now: u64) -> Self {
        let first = forest.lines.first().map_or(0, |l| l.born) as f64;
        let span = (now as f64 - first).max(10.0);
        let l1 = f64::from(n_lanes).max(1.0);
        // The margin has room for the names of the living individuals.
        Self { t0: first, t1: first + span * 1.02, l0: -0.5, l1: l1 + 0.5 }
    }
}

/// The lineage view.
pub struct Lineage {
    history: History,
    now: u64,
    show: Option<Show>,
    relatives: Relatives,
    /// The clicked line, which is marked together with the lines of the selected elements.
    focus: Option<LineRef>,
    color: LineColor,
    /// Whether a table replaces the drawing.
    is_list: bool,
    list: list::List,
    fields: Fields,
    worker: LayoutWorker,
    window: Option<Window>,
    texture: Option<(TextureHandle, u64)>,
    hovered: Option<u32>,
    /// The line on which the context menu was opened.
    menu_line: Option<LineRef>,
    last_made: f64,
}

impl Default for Lineage {
    fn default() -> Self {
        Self {
            history: History::default(),
            now: 0,
            show: None,
            relatives: Relatives { ancestors: true, descendants: true },
            focus: None,
            color: LineColor::Founder,
            is_list: false,
            list: list::List::default(),
            fields: Fields::default(),
            worker: LayoutWorker::default(),
            window: None,
            texture: None,
            hovered: None,
            menu_line: None,
            last_made: 0.0,
        }
    }
}

fn is_lineage(shape: &Shape) -> bool {
    matches!(shape, Shape::Lineage { .. })
}

impl Lineage {
    fn probe(schema: &SimSchema) -> Option<(ProbeId, &'static str)> {
        let (id, probe) = probes_where(schema, is_lineage).next()?;
        if let Shape::Lineage { over, .. } = probe.shape { Some((id, over)) } else { None }
    }

    fn attributes(schema: &SimSchema) -> &'static [AttributeSpec] {
        let probe = probes_where(schema, is_lineage).next();
        match probe.map(|(_, p)| p.shape) {
            Some(Shape::Lineage { attributes, .. }) => attributes,
            _ => &[],
        }
    }

    fn color_fields(schema: &SimSchema, over: &str) -> Vec<(ProbeId, &'static ProbeSpec)> {
        fields::over(schema, over, |m| m != Meaning::Mask)
    }

    /// Returns the version that is drawn: the newest one, or that of the layout while their line indices differ.
    fn drawn(&self) -> &Arc<ForestVersion> {
        let (newest, laid_out) = (&self.history.version, &self.worker.layout.version);
        if newest.n_drops == laid_out.n_drops { newest } else { laid_out }
    }

    fn forest(&self) -> &Forest {
        &self.drawn().forest
    }

    /// Returns the values that colour the lines; empty until those of a new choice arrive.
    fn values(&self) -> &[f32] {
        let drawn = self.drawn();
        if drawn.color == self.color { &drawn.values } else { &[] }
    }

    /// Returns the texts that colour the lines; empty for numbers, and until those of a new choice arrive.
    fn texts(&self) -> &[String] {
        let drawn = self.drawn();
        if drawn.color == self.color { &drawn.texts } else { &[] }
    }

    /// Returns the user's choice; otherwise survivors if there are many lines, or all.
    fn show(&self) -> Show {
        let is_large = self.history.version.forest.lines.len() > SURVIVORS_FROM;
        self.show.unwrap_or(if is_large { Show::Survivors } else { Show::All })
    }

    /// Returns the states of a living individual: `frozen`; empty without a state.
    fn states_of(forest: &Forest, line: u32, schema: &SimSchema) -> String {
        let slot = Self::probe(schema).and_then(|(_, over)| Some((over, forest.living_slot(line)?)));
        let states = slot.map(|(over, slot)| schema.states_of(over, slot).collect::<Vec<_>>());
        states.unwrap_or_default().join(", ")
    }

    fn set_color(&mut self, color: LineColor) {
        self.color = color;
        self.history.color_by(color);
    }

    fn caption(&self, is_filtered: bool, ctx: &ViewCtx<'_>) -> String {
        let (forest, layout) = (&self.history.version.forest, &self.worker.layout);
        let totals = forest.totals;
        let drawn = kit::thousands(layout.n_drawn as u64);
        let mut text = format!("{drawn} of {}", kit::counted(totals.lines, "lines"));
        text += &format!("  |  {} alive", kit::thousands(forest.n_alive as u64));
        let counted = [("•", totals.splits, "splits"), ("◆", totals.merges, "merges"), ("×", totals.deaths, "deaths")];
        for (mark, n, what) in counted {
            text += &format!("  |  {mark} {}", kit::counted(n, what));
        }
        if layout.n_drawn > MAX_SINGLE {
            text += "  |  density, log";
        }
        // Events before the tap began were not recorded.
        if let Some(step) = forest.since.filter(|step| *step > 0) {
            text += &format!("  |  from {}", ctx.step_name(step));
        }
        if totals.unknown_parents > 0 {
            text += "  |  individuals born earlier are missing";
        }
        if is_filtered {
            text += "  |  filtered, with ancestors";
        }
        if totals.dropped > 0 {
            text += &format!("  |  {} dropped", kit::plural(totals.dropped as usize, "older line", "older lines"));
        }
        text
    }

    fn toolbar_ui(&mut self, ui: &mut Ui, ctx: &mut ViewCtx<'_>, over: &str) {
        let mut show = self.show();
        let options = [(Show::All, "all"), (Show::Survivors, "survivors"), (Show::Relatives, "relatives")];
        let options = options.map(|(show, text)| (show, text.to_owned()));
        if kit::choice_ui(ui, ctx.tokens, "Show", &mut show, &options) {
            self.show = Some(show);
            self.window = None;
        }
        let mut color_options = vec![(LineColor::Founder, "founder".to_owned())];
        let fields = Self::color_fields(ctx.schema, over).into_iter();
        color_options.extend(fields.map(|(id, p)| (LineColor::Field(id), fields::label(p))));
        let attributes = Self::attributes(ctx.schema).iter();
        color_options.extend(attributes.map(|spec| (LineColor::Attribute(spec.name), spec.label().into_owned())));
        let mut color = self.color;
        if kit::choice_ui(ui, ctx.tokens, "Colour", &mut color, &color_options) {
            self.set_color(color);
        }
        self.fields.range_ui(ui, ctx, self.color.field());
        ui.toggle_value(&mut self.is_list, "List").on_hover_text("Individuals as a table");
        if self.is_list {
            return;
        }
        ui.separator();
        ui.toggle_value(&mut self.relatives.ancestors, "Ancestors").on_hover_text("Also highlight ancestors");
        let hint = "Also highlight descendants";
        ui.toggle_value(&mut self.relatives.descendants, "Descendants").on_hover_text(hint);
        if ui.button("Fit").on_hover_text("Show all (double-click)").clicked() {
            self.window = None;
        }
    }

    fn request(&self, canvas: Rect, ctx: &ViewCtx<'_>, over: &str) -> LayoutRequest {
        let filter = ctx.filter.shown();
        LayoutRequest {
            generation: self.history.version.generation,
            show: self.show(),
            filter: SlotFilter { generation: filter.generation, mask: filter.shared(over) },
            relatives: self.relatives,
            selected: ctx.selection.of(over).to_vec(),
            focus: self.focus.map(|line| line.id),
            cells: [canvas.width(), canvas.height()].map(|side| (side as usize).clamp(8, 4096)),
            window: self.window,
            now: self.now,
            dark: ctx.tokens.dark,
        }
    }

    /// Updates the layout, and follows the clicked lines to their new indices.
    fn update(&mut self, ui: &Ui, canvas: Rect, ctx: &ViewCtx<'_>, over: &str) {
        let time = ui.input(|i| i.time);
        let is_due = !ctx.running || time - self.last_made > LAYOUT_SECS;
        let request = self.request(canvas, ctx, over);
        let before = self.worker.is_busy();
        self.worker.update(ui.ctx(), &self.history.version, request, is_due);
        if self.worker.is_busy() && !before {
            self.last_made = time;
        }
        let follow = |line: Option<LineRef>| line.and_then(|line| line.follow(self.forest()));
        (self.focus, self.menu_line) = (follow(self.focus), follow(self.menu_line));
    }
}

impl Lineage {
    pub const DECLARATION: ViewDeclaration = ViewDeclaration {
        name: "lineage",
        title: "Lineage",
        icon: icons::GRID,
        help: "# Lineage\n\nOne line per individual, from birth to death; time runs to the right. A dot is a split, a \
         diamond a merge, a cross a death without offspring. Families stay together. *Survivors* are the living \
         and their ancestors. Colour is the founder, a field, or an attribute of births and deaths; states that an action set, such as \
         frozen, follow the name; *List* is a table of \
         all individuals with their attributes. Above 12,000 lines a density on a logarithmic scale is drawn.\n\n\
         - click: mark a line; a living individual is selected in all views · Ctrl+click: add\n\
         - right-click: actions, for the individual and its living descendants\n\
         - drag: pan · wheel: zoom both ways · Ctrl+wheel: time · Shift+wheel: rows\n\
         - double-click: show all",
        gestures: &[
            ("click", "mark"),
            ("drag", "pan"),
            ("wheel", "zoom"),
            ("double-click", "show all"),
            ("right-click", "menu"),
        ],
        pages: &[Page::Simulate],
        fits: |schema| Self::probe(schema).is_some(),
        ..ViewDeclaration::of::<Self>()
    };
}

impl View for Lineage {
    fn declaration(&self) -> &'static ViewDeclaration {
        &Self::DECLARATION
    }

    fn taps(&self, schema: &SimSchema, _: &Selection) -> Vec<Tap> {
        let Some((id, _)) = Self::probe(schema) else { return vec![] };
        self.color.field().into_iter().chain([id]).map(tap).collect()
    }

    fn reset(&mut self, _: &SimSchema) {
        let Self { show, relatives, color, is_list, .. } = *self;
        // Lines are freed on the pool, because this takes longer than drawing a frame.
        pool::discard((mem::take(&mut self.history), mem::take(&mut self.worker)));
        *self = Self { show, relatives, is_list, ..Self::default() };
        self.set_color(color);
    }

    /// Keeps all data, because individuals are identified by their ids.
    fn schema_changed(&mut self, _: &SimSchema, _: &SchemaChanges) {}

    fn absorb(&mut self, schema: &SimSchema, frame: &Frame) {
        let Some((id, _)) = Self::probe(schema) else { return };
        self.now = frame.clock.step;
        if let Some(Reading::Lineage(events)) = frame.reading(id)
            && !events.is_empty()
        {
            self.history.add(events);
        }
        let color = self.color.field();
        if self.fields.absorb(frame, color.as_slice())
            && let Some((field, values)) = color.and_then(|field| Some((field, self.fields.get(field)?)))
        {
            self.history.add_field(field, values);
        }
    }

    fn ui(&mut self, ui: &mut Ui, ctx: &mut ViewCtx<'_>) {
        let Some((_, over)) = Self::probe(ctx.schema) else {
            return unfit_ui(ui, ctx, ["No lineage", "The lineage needs a probe of births and deaths"]);
        };
        self.history.update(ui.ctx(), ctx.running);
        let set = ctx.schema.set(over).cloned();
        let is_filtered = ctx.filter.shown().mask(over).is_some();
        let caption = self.caption(is_filtered, ctx);
        let canvas = kit::panel_ui(ui, ctx.tokens, Some(&caption), |ui| self.toolbar_ui(ui, ctx, over));
        if self.history.version.forest.lines.is_empty() && self.history.is_behind() {
            kit::empty_ui(ui, canvas, ctx, "Computing the layout…", "", None);
            return;
        }
        if self.history.version.forest.lines.is_empty() {
            return run_ui(ui, canvas, ctx, "No births yet", "No births or deaths so far");
        }
        if !kit::fill_ui(ui, canvas, ctx.tokens) {
            return;
        }
        if self.is_list {
            return self.list_ui(ui, canvas, set.as_deref(), ctx);
        }
        let scale = self.scale(ctx).zip(self.color_probe(ctx));
        let canvas = ColorBar::beside(ui, canvas, ctx.tokens, scale.as_ref().map(|(scale, probe)| (probe, scale)));
        let is_figure = kit::is_staged(ui.ctx());
        let named = self.color_attribute(ctx).filter(|_| !self.texts().is_empty());
        let canvas = match named.filter(|_| is_figure) {
            Some(_) => attributes::figure_legend(ui, canvas, self.texts(), ctx),
            None => canvas,
        };
        let left = if is_figure { 22.0 } else { 10.0 };
        let plot = Rect::from_min_max(canvas.min + Vec2::new(left, 6.0), canvas.max - Vec2::new(12.0, 22.0));
        self.update(ui, plot, ctx, over);
        if !self.worker.has_layout() {
            kit::empty_ui(ui, canvas, ctx, "Computing the layout…", "", None);
            return;
        }
        if self.worker.layout.n_drawn == 0 && !is_filtered && self.forest().n_alive > 0 {
            let how = "Lines are born faster than they are arranged: run slower, or pause";
            kit::empty_ui(ui, canvas, ctx, "Computing the layout…", how, None);
            return;
        }
        if self.worker.layout.n_drawn == 0 && is_filtered {
            kit::empty_ui(ui, canvas, ctx, "All filtered out", "The filter hides every living individual", None);
            return;
        }
        self.pointer_ui(ui, plot, set.as_deref(), ctx);
        self.paint(ui, canvas, plot, ctx);
        if is_figure {
            let title = if over.is_empty() { "individuals".to_owned() } else { kit::spaced(over) };
            let painter = ui.painter_at(canvas);
            kit::turned_title(&painter, canvas.left() + 4.0, plot, &kit::small(ui), ctx.tokens, &title);
        } else if let Some(spec) = named {
            attributes::legend(ui, plot, spec, self.texts(), ctx);
        }
    }

    fn toggle_range(&mut self, schema: &SimSchema, scales: &mut ColorScales) -> Option<bool> {
        match self.color {
            LineColor::Founder => None,
            LineColor::Field(field) => self.fields.toggle_range(schema, field, scales),
            LineColor::Attribute(_) if !self.texts().is_empty() => None,
            LineColor::Attribute(name) => {
                let spec = Self::attributes(schema).iter().find(|spec| spec.name == name)?;
                Some(scales.toggle_of(&attributes::as_probe(spec), self.values()))
            }
        }
    }
}

fn label(forest: &Forest, line: u32) -> String {
    let line = &forest.lines[line as usize];
    match line.slot {
        Some(slot) if line.name.is_empty() => format!("Individual {}, slot {slot}", line.id),
        _ => line.label(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Line indices are equal in both versions if no lines were dropped between them.
    #[test]
    fn the_newest_lines_are_drawn_when_the_layout_fits_them() {
        let version = |generation, n_drops| Arc::new(ForestVersion { generation, n_drops, ..ForestVersion::default() });
        let mut view = Lineage::default();
        for (newest, laid_out, drawn) in [((5, 0), (3, 0), 5), ((7, 1), (3, 0), 3), ((8, 1), (7, 1), 8)] {
            view.history.version = version(newest.0, newest.1);
            view.worker.layout.version = version(laid_out.0, laid_out.1);
            assert_eq!(view.drawn().generation, drawn);
        }
    }
}
