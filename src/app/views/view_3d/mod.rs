//! 3D view of any set with positions, coloured by a column, by a field, or by a glow that decays after recent activity.

mod axis_box;
mod by_selection;
mod effects;
mod gestures;
mod legend;
mod link_lines;
mod motion;
mod names;
mod overlay;
mod paint;
mod path;
mod saved_views;
mod shell_edges;
mod toolbar;
mod viewport;

pub use effects::BY_EFFECT;

use super::{MenuEntry, Opening, View, ViewCtx, ViewDeclaration, fields, unfit_ui};
use crate::{
    app::{
        document::{
            color_scales::ColorScales,
            features::{is_time_since, probes_where, tap},
            layout::Page,
            selection::Selection,
        },
        kit::{self, area_select::AreaSelect, color_scale, icons},
    },
    engine::{SchemaChanges, SimSchema},
    sim::{ElementSet, Frame, ProbeId, ProbeSpec, Reading, Shape, Tap},
    view3d::{Camera, Preset, Vec2, Vec3},
};
use egui::{Rect, Ui};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// Meaning of a point's colour.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Coloring {
    #[default]
    Class,
    /// The value of a field.
    Field(ProbeId),
    /// Category, with a brightness that decays after the last event.
    Glow(ProbeId),
    /// Effect of silencing the element in the experiment on display.
    Effect,
}

impl Coloring {
    fn probe(self) -> Option<ProbeId> {
        match self {
            Self::Class | Self::Effect => None,
            Self::Field(probe) | Self::Glow(probe) => Some(probe),
        }
    }
}

/// The 3D view.
pub struct View3d {
    set: Option<Arc<ElementSet>>,
    set_generation: u64,
    coloring: Option<Coloring>,
    /// The column whose categories are shown, or [`BY_SELECTION`](by_selection::BY_SELECTION).
    column: String,
    by_selection: by_selection::SelectionColumn,
    effects: effects::ElementEffects,
    hidden: BTreeMap<String, BTreeSet<u16>>,
    hidden_generation: u64,
    /// Range of the latest values of the colour field.
    data_range: (f32, f32),
    tau_ms: f32,
    point_size: f32,
    values: Vec<f32>,
    values_of: Option<ProbeId>,
    values_generation: u64,
    has_glowed: bool,
    exposure: f32,
    placement: motion::Placement,
    camera: Camera,
    viewport: viewport::Viewport,
    legend_choice: Option<bool>,
    category_counts: legend::CategoryCounts,
    area_select: AreaSelect,
    under_pointer: Option<u32>,
    menu_element: Option<u32>,
    hover_key: Option<(Vec2, Camera, u64)>,
    uploaded: paint::Uploaded,
    shell_edges: shell_edges::ShellEdges,
    link_lines: link_lines::LinkLines,
}

impl Default for View3d {
    fn default() -> Self {
        Self {
            set: None,
            set_generation: 0,
            coloring: None,
            column: "super_class".into(),
            by_selection: by_selection::SelectionColumn::default(),
            effects: effects::ElementEffects::default(),
            hidden: BTreeMap::new(),
            hidden_generation: 0,
            data_range: (0.0, 1.0),
            tau_ms: 60.0,
            point_size: 1.0,
            values: vec![],
            values_of: None,
            values_generation: 0,
            has_glowed: false,
            exposure: 1.0,
            placement: motion::Placement::default(),
            camera: Camera::default(),
            viewport: viewport::Viewport::default(),
            legend_choice: None,
            category_counts: legend::CategoryCounts::default(),
            area_select: AreaSelect::default(),
            under_pointer: None,
            menu_element: None,
            hover_key: None,
            uploaded: paint::Uploaded::default(),
            shell_edges: shell_edges::ShellEdges::default(),
            link_lines: link_lines::LinkLines::default(),
        }
    }
}

impl View3d {
    /// Shows the first set with positions; resets data if the set has changed.
    fn choose_set(&mut self, schema: &SimSchema) {
        let set = schema.sets.iter().find(|s| s.has_places());
        let same = matches!((&self.set, set), (Some(a), Some(b)) if Arc::ptr_eq(a, b))
            || (self.set.is_none() && set.is_none());
        if same {
            return;
        }
        let is_alike = matches!((&self.set, set), (Some(a), Some(b)) if a.name == b.name);
        self.set = set.cloned();
        self.set_generation += 1;
        self.placement.clear();
        self.clear_links();
        self.values.clear();
        self.values_of = None;
        let Some(set) = set else { return };
        if set.column(&self.column).is_none() && self.column != by_selection::BY_SELECTION {
            self.column = set.columns.first().map(|c| c.name.clone()).unwrap_or_default();
        }
        self.enclose(set);
        self.viewport.needs_fit |= !is_alike; // A set of equal name keeps its camera.
    }

    fn enclose(&mut self, set: &ElementSet) {
        let finite = set.positions.iter().map(|p| Vec3::from(*p)).filter(|p| p.is_finite());
        let (min, max) = finite.fold((Vec3::INFINITY, Vec3::NEG_INFINITY), |(min, max), p| (min.min(p), max.max(p)));
        let (min, max) = if min.x <= max.x { (min, max) } else { (Vec3::splat(-1.0), Vec3::ONE) };
        self.viewport.bounds = (min, max);
        self.camera.enclose(min, max);
    }

    /// Returns the fields over the shown set.
    fn fields<'a>(&self, schema: &'a SimSchema) -> Vec<(ProbeId, &'a ProbeSpec)> {
        let name = self.set.as_ref().map_or("", |s| s.name);
        probes_where(schema, |s| matches!(s, Shape::Field { over, .. } if *over == name)).collect()
    }

    /// Returns the colouring: the user's choice, otherwise the glow if there is one, otherwise the category, or the first field
    /// if the set has no columns.
    fn coloring(&self, schema: &SimSchema) -> Coloring {
        let fields = self.fields(schema);
        let has_effects = self.effects.is_some();
        let known = |c: &Coloring| match c {
            Coloring::Effect => has_effects,
            c => c.probe().is_none_or(|p| fields.iter().any(|(id, _)| *id == p)),
        };
        let glow = || fields.iter().find(|(_, p)| is_time_since(p)).map(|(id, _)| Coloring::Glow(*id));
        let has_categories = self.set.as_ref().is_none_or(|s| !s.columns.is_empty());
        let field = || fields.first().filter(|_| !has_categories).map(|(id, _)| Coloring::Field(*id));
        self.coloring.filter(known).or_else(glow).or_else(field).unwrap_or_default()
    }

    fn is_hidden(&self, code: u16) -> bool {
        self.hidden.get(&self.column).is_some_and(|h| h.contains(&code))
    }

    /// Frames the selected elements, or all if none is selected.
    fn focus(&mut self, selected: &[u32]) {
        let Some(set) = self.set.clone() else { return };
        let places = selected.iter().filter_map(|e| self.places(&set).get(*e as usize)).map(|p| Vec3::from(*p));
        let places = places.filter(|p| p.is_finite());
        let (min, max) = places.fold((Vec3::INFINITY, Vec3::NEG_INFINITY), |(min, max), p| (min.min(p), max.max(p)));
        if min.x > max.x {
            return self.viewport.fit(&mut self.camera);
        }
        let margin = Vec3::splat(self.camera.radius * 0.06);
        self.camera.fit(min - margin, max + margin, self.viewport.aspect);
    }

    fn caption(&self, ctx: &ViewCtx<'_>) -> String {
        let Some(set) = &self.set else { return String::new() };
        let total = u64::from(set.len);
        let has_position = |i: usize| self.placement.places.get(i).is_none_or(|p| !p[0].is_nan());
        // Counting visits all elements, so it runs only if some may be hidden.
        let is_class_hidden = self.hidden.get(&self.column).is_some_and(|h| !h.is_empty());
        let mask = ctx.filter.shown().mask(set.name);
        let shown = if is_class_hidden || mask.is_some() || self.is_in_motion() {
            let passes_filter = |i: usize| mask.is_none_or(|m| m.get(i) == Some(&true));
            let passes = |i: &usize| has_position(*i) && passes_filter(*i) && self.is_shown(set, *i);
            (0..set.len as usize).filter(passes).count() as u64
        } else {
            total
        };
        let n_selected = ctx.selection.of(set.name).len() as u64;
        let at = ctx.shown_clock();
        let clock = if at.base.is_count() { ctx.step_name(at.step) } else { format!("t = {:.3} s", at.secs()) };
        let selected = match n_selected {
            0 => String::new(),
            n => format!(" · {} selected", kit::thousands(n)),
        };
        format!("{} of {} {}{selected} · {clock}", kit::thousands(shown), kit::thousands(total), set.name)
    }

    /// Returns the options of the colour menu.
    fn options(&self, schema: &SimSchema) -> Vec<(Coloring, String)> {
        let mut options = vec![(Coloring::Class, "Category".to_owned())];
        for (id, probe) in self.fields(schema) {
            if is_time_since(probe) {
                options.insert(1, (Coloring::Glow(id), format!("{} (glow)", probe.label())));
            }
            options.push((Coloring::Field(id), fields::label(probe)));
        }
        if self.effects.is_some() {
            options.push((Coloring::Effect, "Effect in the experiment".to_owned()));
        }
        options
    }

    /// Lowers the exposure if many elements glow, so that the image does not saturate.
    fn expose(&mut self) {
        // The counts are integers, because a float sum would run sequentially.
        let bright = self.tau_ms * 2.0;
        let count = |(seen, glowing): (u32, u32), v: &f32| {
            (seen + u32::from(*v >= 0.0), glowing + u32::from(*v >= 0.0 && *v < bright))
        };
        let (seen, glowing) = self.values.iter().fold((0, 0), count);
        self.has_glowed = self.has_glowed || seen > 0;
        let share = glowing as f32 / self.values.len().max(1) as f32;
        self.exposure = (0.03 / share.max(1e-6)).sqrt().clamp(0.3, 1.0);
    }

    /// Returns the taps for colour, positions, sizes and links.
    fn wanted(&self, schema: &SimSchema) -> Vec<Tap> {
        let color = self.coloring(schema).probe().into_iter().chain(self.link_probe());
        let mut all: Vec<ProbeId> = color.chain(self.place_fields(schema)).collect();
        all.sort_unstable();
        all.dedup();
        all.into_iter().map(tap).collect()
    }

    fn view_from(&mut self, preset: Preset) {
        self.camera.look_from(preset);
        self.viewport.fit(&mut self.camera);
    }
}

impl View3d {
    pub const DECLARATION: ViewDeclaration = ViewDeclaration {
        name: "brain",
        title: "3D",
        icon: icons::BRAIN,
        help: "# 3D view\n\nElements at their positions. Colour is a category, the value of a field, or the category with \
         a glow that decays after activity. In the past and in playback the last activity follows from the spikes; other \
         fields that a run did not record are marked *not recorded*. *Effect in the experiment* is the difference from the \
         control of the condition that silences the element.\n\n\
         - drag: rotate · middle or right drag: pan · wheel: zoom at the pointer\n\
         - click: select · Ctrl+click: add or remove\n\
         - Shift+drag: rectangle · Alt+drag: lasso, through depth; with Ctrl they add\n\
         - double-click: focus the element, or fit all · F: frame the selection\n\
         - 1 to 4: front, back, left, top · 5 to 8: saved views\n\n\
         *Edges* are the connections of the selected elements, faint at the source, coloured by sign; at most 20,000, \
         the strongest; or links among the elements, coloured by value. *Shell* is the surface around all elements, from their density. *Position* places the elements by three fields, *Size* scales them by one. A *Path* of the context \
         menu is drawn as arrows; a click on a name selects the element.\n\nLegend: click hides or shows a category, \
         Alt+click shows it alone. Up to 24 elements have names where there is room.",
        gestures: &[
            ("drag", "rotate"),
            ("right-drag", "pan"),
            ("wheel", "zoom"),
            ("click", "select"),
            ("Shift+drag", "rectangle"),
        ],
        pages: &[Page::Simulate, Page::Explore],
        fits: |schema| schema.sets.iter().any(|set| set.has_places()),
        menu: Some(MenuEntry { opening: Opening::Frame, ..MenuEntry::show_in(0, "3D view") }),
        ..ViewDeclaration::of::<Self>()
    };
}

impl View for View3d {
    fn declaration(&self) -> &'static ViewDeclaration {
        &Self::DECLARATION
    }

    fn title(&self, schema: &SimSchema) -> String {
        let name = schema.sets.iter().find(|s| s.has_places()).map_or("", |s| s.name);
        if name.is_empty() || schema.sets.len() == 1 { Self::DECLARATION.title.into() } else { format!("3D: {name}") }
    }

    fn taps(&self, schema: &SimSchema, _: &Selection) -> Vec<Tap> {
        if self.set.is_some() {
            return self.wanted(schema);
        }
        let mut fresh = Self::default();
        fresh.placement.choose(&self.placement.to_text().unwrap_or_default());
        fresh.choose_set(schema);
        fresh.wanted(schema)
    }

    fn reset(&mut self, schema: &SimSchema) {
        self.values.clear();
        self.values_of = None;
        self.values_generation += 1;
        self.has_glowed = false;
        self.stop_motion();
        self.choose_set(schema);
    }

    /// Shows the changed set. The camera stays if the set only grew.
    fn schema_changed(&mut self, schema: &SimSchema, changes: &SchemaChanges) {
        if changes.sets.iter().any(|c| self.set.as_ref().is_none_or(|set| set.name == c.name)) {
            self.choose_set(schema);
        }
    }

    fn choice(&self) -> Option<String> {
        self.choice_text()
    }

    fn choose(&mut self, schema: &SimSchema, text: &str) {
        self.choose_text(schema, text);
    }

    fn absorb(&mut self, schema: &SimSchema, frame: &Frame) {
        self.choose_set(schema);
        self.follow_motion(schema, frame);
        self.follow_links(schema, frame);
        let Some(probe) = self.coloring(schema).probe() else { return };
        let Some(Reading::Field(values)) = frame.reading(probe) else { return };
        self.values.clone_from(values);
        self.values_of = Some(probe);
        self.values_generation += 1;
        self.expose();
        if matches!(self.coloring(schema), Coloring::Field(_)) {
            self.data_range = color_scale::range_of(&schema.probes[usize::from(probe)], &self.values);
        }
    }

    fn ui(&mut self, ui: &mut Ui, ctx: &mut ViewCtx<'_>) {
        self.choose_set(ctx.schema);
        let Some(set) = self.set.clone() else {
            return unfit_ui(ui, ctx, ["No positions", "Nothing in this simulation has positions in space"]);
        };
        self.follow_selections(ui.ctx(), &set, ctx);
        self.follow_effects(&set, ctx);
        let mut caption = self.caption(ctx);
        if let Some(edges) = self.edges_caption(ctx) {
            caption += &format!(" · {edges}");
        }
        let canvas = kit::panel_ui(ui, ctx.tokens, Some(&caption), |ui| self.toolbar_ui(ui, ctx));
        let canvas = self.legends_ui(ui, canvas, &set, ctx);
        self.viewport.aspect = canvas.width() / canvas.height().max(1.0);
        self.viewport.size_px = pixels(ui, canvas);
        self.viewport.refit(&mut self.camera);
        if super::is_focus_asked(ui.ctx()) {
            self.focus(ctx.selection.of(set.name));
        }
        let response = self.gestures_ui(ui, canvas, &set, ctx);
        self.fetch_shell_edges(ui, &set, ctx);
        self.paint(ui, canvas, &set, ctx);
        self.names_ui(ui, canvas, &set, ctx);
        self.overlay_ui(ui, canvas, &set, &response, ctx);
        self.path_ui(ui, canvas, &set, ctx);
    }

    fn colorings(&self, schema: &SimSchema) -> (Vec<String>, usize) {
        let (options, now) = (self.options(schema), self.coloring(schema));
        let at = options.iter().position(|(coloring, _)| *coloring == now).unwrap_or(0);
        (options.into_iter().map(|(_, name)| name).collect(), at)
    }

    fn color_by(&mut self, schema: &SimSchema, at: usize) {
        self.coloring = self.options(schema).get(at).map(|(coloring, _)| *coloring);
    }

    fn toggle_range(&mut self, schema: &SimSchema, scales: &mut ColorScales) -> Option<bool> {
        let Coloring::Field(probe) = self.coloring(schema) else { return None };
        Some(scales.toggle(schema.probes[usize::from(probe)].name, self.data_range))
    }
}

/// Size of a rectangle in device pixels, at least 1.
fn pixels(ui: &Ui, canvas: Rect) -> Vec2 {
    let size = canvas.size() * ui.pixels_per_point();
    Vec2::new(size.x.round().max(1.0), size.y.round().max(1.0))
}
