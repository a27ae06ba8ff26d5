//! The views: one folder or file each, one list of them.
//!
//! A view accepts *shapes* of probes (spikes, series, fields, sets, kernel times), never a kind: whatever a
//! simulation publishes in these shapes is shown by all of them. A view asks for what it needs with
//! [`View::taps`] while it is visible, takes new data in [`View::absorb`] and draws in [`View::ui`], within 2 ms
//! at 138,639 elements and 8 M spikes; everything slower runs on the pool and comes in when it is done.

pub mod axes;
pub mod bands;
mod bar;
pub mod brain;
pub mod catch;
pub mod circle;
pub mod cloud;
pub mod colors;
pub mod connectivity;
pub mod fields;
pub mod filter;
pub mod heat;
pub mod hist;
pub mod ink;
pub mod kit;
pub mod lanes;
pub mod lineage;
pub mod matrix;
pub mod menu;
mod numbers;
pub mod phases;
pub mod plot;
pub mod pool;
pub mod profile;
pub mod raster;
pub mod runs;
pub mod scatter;
mod selection;
pub mod states;
pub mod statistics;
pub mod table;
pub mod tints;
mod trouble;
pub mod weights;

pub use menu::Subject;
pub use selection::Selection;
pub use trouble::Trouble;
pub(crate) use trouble::run_ui;

use super::{commands::UiCommand, workspace::Page};
use crate::{
    engine::SimSchema,
    params::ChoiceSpec,
    query::Named,
    sim::{Action, ActionSpec, ElementSet, Frame, Meaning, ProbeId, Shape, Tap},
};
use std::sync::Arc;

/// What a view is given to draw with.
pub struct ViewCtx<'a> {
    /// Probes, lanes and sets of the running simulation.
    pub schema: &'a crate::engine::SimSchema,
    /// Where the simulation is.
    pub clock: crate::sim::Clock,
    /// Whether it runs.
    pub running: bool,
    /// Why it does not go on by itself.
    pub trouble: Option<&'a Trouble>,
    /// [`View::icon`] of the view that is drawn.
    pub icon: &'static str,
    /// The recorded runs of the project.
    pub runs: &'a mut crate::app::library::Library,
    /// The only colours and spacings.
    pub tokens: &'a crate::app::theme::Tokens,
    /// The one selection, shared by all views.
    pub selection: &'a mut Selection,
    /// The one time, shared by all views that are not unlinked: what is in view, the cursor, what is remembered.
    pub time: &'a mut crate::app::time::Time,
    /// Which elements are shown, in all views.
    pub filter: &'a mut filter::Filter,
    /// Named sets, and what can be done to the selection.
    pub abilities: &'a Abilities,
    /// How the values of variables become colours, in all views.
    pub tints: &'a mut tints::Tints,
    /// Places that spatial views were looked at from, kept with the project.
    pub kept_views: &'a mut Vec<brain::Kept>,
    /// The device the window draws with; `None` in headless logic tests.
    pub render_state: Option<&'a egui_wgpu::RenderState>,
    /// What a row of the timings is, when the kind says.
    pub timing_docs: &'a dyn Fn(&str) -> Option<&'static str>,
    /// Where the time goes: shared by the Profile panels.
    pub profile: &'a mut profile::Profile,
    /// What the view wants of the shell.
    pub requests: &'a mut Vec<ViewRequest>,
}

impl ViewCtx<'_> {
    /// When what is shown was: at the cursor, else now.
    pub fn shown_clock(&self) -> crate::sim::Clock {
        crate::sim::Clock { step: self.time.shown(self.clock.step), ..self.clock }
    }
}

/// What a view wants of the shell.
pub enum ViewRequest {
    /// As if chosen from the menu.
    Command(UiCommand),
    /// Do this to the selection from now on: an index into [`Abilities::effects`].
    Intervene(u16),
    /// Do this now. Without values it takes those last typed.
    Act(Action),
    /// Keep what a query means as a named set.
    SaveSet(String),
    /// Select everyone with connections onto these (`inputs`), or from them.
    SelectPartners {
        /// Whose partners.
        of: Arc<Vec<u32>>,
        /// Those that lead to them.
        inputs: bool,
    },
    /// Show what is known about the selection and done to it.
    Parameters,
    /// Write a text to a file of the user's choice.
    SaveText {
        /// Proposed name of the file.
        name: String,
        /// What is written.
        text: String,
    },
    /// Tell the user.
    Toast(String),
}

/// Finds the elements listed in a file.
pub type Listed = Arc<dyn Fn(&str, &ElementSet) -> Result<Vec<u32>, String> + Send + Sync>;

/// What the kind lets be named and done.
#[derive(Clone)]
pub struct Abilities {
    /// Named sets of the project.
    pub named: Arc<[Named]>,
    /// Whether more can be named.
    pub can_name: bool,
    /// What an intervention can do to its target.
    pub effects: &'static [ChoiceSpec],
    /// What can be done at once.
    pub actions: &'static [ActionSpec],
    /// Seed of random choices.
    pub seed: u64,
    /// Reads lists of elements.
    pub listed: Listed,
}

impl Default for Abilities {
    fn default() -> Self {
        let listed = Arc::new(|path: &str, _: &ElementSet| Err(format!("{path}: no files are read here")));
        Self { named: Arc::new([]), can_name: false, effects: &[], actions: &[], seed: 0, listed }
    }
}

/// A panel of the workbench.
pub trait View {
    /// Stable: layout files.
    fn name(&self) -> &'static str;
    /// On its tab.
    fn title(&self, schema: &SimSchema) -> String;
    /// What it needs while visible.
    fn taps(&self, schema: &SimSchema, selection: &Selection) -> Vec<Tap>;
    /// Whether it shows [`ViewCtx::profile`], which is only filled while such a view is visible.
    fn profiles(&self) -> bool {
        false
    }
    /// A new simulation or a new epoch: starts over.
    fn reset(&mut self, schema: &SimSchema);
    /// New data (called also while hidden, when there are no taps of its own).
    fn absorb(&mut self, schema: &SimSchema, frame: &Frame);
    /// Draws.
    fn ui(&mut self, ui: &mut egui::Ui, ctx: &mut ViewCtx<'_>);
    /// Markdown for the ? button.
    fn help(&self) -> &'static str;
    /// Its glyph, on its empty state.
    fn icon(&self) -> &'static str {
        crate::app::icons::GRID
    }
    /// What the pointer does here, for the status bar: gesture and effect.
    fn gestures(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }
    /// What its elements can be coloured by, and which of it they are.
    fn colorings(&self, schema: &SimSchema) -> (Vec<String>, usize) {
        let _ = schema;
        (vec![], 0)
    }
    /// Colours them by the one at this place of [`View::colorings`].
    fn color_by(&mut self, schema: &SimSchema, at: usize) {
        let _ = (schema, at);
    }
    /// Keeps the range of its colours as it is, or lets it follow the data again; whether it is kept now. None when its
    /// colours have no range.
    fn toggle_range(&mut self, schema: &SimSchema, tints: &mut tints::Tints) -> Option<bool> {
        let _ = (schema, tints);
        None
    }
    /// Whether a second panel with it makes sense.
    fn can_repeat(&self) -> bool {
        true
    }
}

/// The only list of views: one default instance of each.
pub fn all() -> Vec<Box<dyn View>> {
    vec![
        Box::<brain::Brain>::default(),
        Box::<raster::Raster>::default(),
        Box::<plot::Rates>::default(),
        Box::<plot::Traces>::default(),
        Box::<profile::Steps>::default(),
        Box::<profile::Timeline>::default(),
        Box::<profile::Kernels>::default(),
        Box::<profile::Roofline>::default(),
        Box::<profile::Memory>::default(),
        Box::<profile::Numerics>::default(),
        Box::<table::Table>::default(),
        Box::<hist::Histogram>::default(),
        Box::<filter::Panel>::default(),
        Box::<connectivity::ConnectivityView>::default(),
        Box::<weights::Weights>::default(),
        Box::<statistics::Statistics>::default(),
        Box::<matrix::Matrix>::default(),
        Box::<runs::Runs>::default(),
        Box::<circle::Circle>::default(),
        Box::<scatter::Scatter>::default(),
        Box::<phases::Phases>::default(),
        Box::<lineage::Lineage>::default(),
        Box::<bands::Bands>::default(),
        Box::<lanes::Lanes>::default(),
    ]
}

/// Where a view belongs, and which simulations it fits: by the shapes of their probes.
struct Fit {
    view: &'static str,
    pages: &'static [Page],
    fits: fn(&SimSchema) -> bool,
}

fn has(schema: &SimSchema, wanted: fn(&Shape) -> bool) -> bool {
    schema.probes.iter().any(|p| wanted(&p.shape))
}

/// Where elements have phases, how these agree comes first.
fn has_phases(schema: &SimSchema) -> bool {
    has(schema, |s| s.meaning() == Some(Meaning::Angle))
}

fn has_curves(schema: &SimSchema) -> bool {
    has(schema, |s| matches!(s, Shape::Series { of: "" }))
}

/// Fields whose values lie on a line.
fn has_values(schema: &SimSchema) -> bool {
    has(schema, |s| matches!(s.meaning(), Some(Meaning::Number | Meaning::TimeSince)))
}

/// Where elements come and go, the distribution over all of them is what one watches.
fn has_generations(schema: &SimSchema) -> bool {
    has(schema, |s| matches!(s, Shape::Lineage { .. }))
}

/// Whether there are two fields to compare.
fn has_pairs(schema: &SimSchema) -> bool {
    schema.sets.iter().any(|s| fields::over(schema, s.name, |m| m == Meaning::Number).len() > 1)
}

/// In layout order: the first view of a page is the large one.
const FITS: &[Fit] = {
    use Page::{Explore, Profile, Runs, Simulate};
    &[
        Fit { view: "circle", pages: &[Simulate], fits: has_phases },
        Fit { view: "scatter", pages: &[Simulate, Explore], fits: |e| has_phases(e) && has_pairs(e) },
        Fit { view: "rates", pages: &[Simulate], fits: |e| has_phases(e) && has_curves(e) },
        Fit { view: "brain", pages: &[Simulate, Explore], fits: |e| e.sets.iter().any(|s| !s.positions.is_empty()) },
        Fit { view: "raster", pages: &[Simulate], fits: |e| has(e, |s| matches!(s, Shape::Spikes { .. })) },
        Fit { view: "lineage", pages: &[Simulate], fits: |e| has(e, |s| matches!(s, Shape::Lineage { .. })) },
        Fit { view: "rates", pages: &[Simulate], fits: |e| !has_phases(e) && has_curves(e) },
        Fit {
            view: "traces",
            pages: &[Simulate],
            fits: |e| has(e, |s| matches!(s, Shape::Series { of } if !of.is_empty())),
        },
        Fit { view: "steps", pages: &[Profile], fits: |e| !e.probes.is_empty() },
        Fit { view: "timeline", pages: &[Profile], fits: |e| !e.probes.is_empty() },
        Fit { view: "timing", pages: &[Profile], fits: |e| !e.probes.is_empty() },
        Fit { view: "roofline", pages: &[Profile], fits: |e| !e.probes.is_empty() },
        Fit { view: "memory", pages: &[Profile], fits: |e| !e.probes.is_empty() },
        Fit { view: "numerics", pages: &[Profile], fits: |e| !e.probes.is_empty() },
        Fit { view: "table", pages: &[Explore, Simulate], fits: |e| !e.sets.is_empty() },
        Fit { view: "histogram", pages: &[Explore, Simulate], fits: |e| has(e, |s| matches!(s, Shape::Field { .. })) },
        Fit {
            view: "filter",
            pages: &[Explore],
            fits: |e| e.sets.iter().any(|s| !s.columns.is_empty()) || has_pairs(e),
        },
        Fit { view: "connectivity", pages: &[Explore], fits: |e| e.connectivity.is_some() },
        Fit { view: "weights", pages: &[Explore], fits: |e| e.connectivity.is_some() },
        Fit {
            view: "statistics",
            pages: &[Simulate, Explore],
            fits: |e| has(e, |s| matches!(s, Shape::Spikes { .. })),
        },
        Fit { view: "matrix", pages: &[Simulate, Explore], fits: |e| has(e, |s| matches!(s, Shape::Matrix { .. })) },
        Fit { view: "phases", pages: &[Simulate, Explore], fits: has_phases },
        Fit { view: "runs", pages: &[Runs], fits: |_| true },
        Fit { view: "scatter", pages: &[Explore], fits: |e| !has_phases(e) && has_pairs(e) },
        Fit { view: "bands", pages: &[Explore], fits: |e| has_values(e) && !has_generations(e) },
        Fit { view: "bands", pages: &[Simulate, Explore], fits: |e| has_values(e) && has_generations(e) },
        Fit { view: "lanes", pages: &[Explore], fits: |e| !lanes::probes(e).is_empty() },
    ]
};

/// Names of the views that fit the probes' shapes, in layout order.
pub fn suggest(schema: &SimSchema) -> Vec<&'static str> {
    FITS.iter().filter(|f| (f.fits)(schema)).map(|f| f.view).collect()
}

/// Names of the views that fit and belong on a page, in layout order.
pub fn suggest_for(page: Page, schema: &SimSchema) -> Vec<&'static str> {
    FITS.iter().filter(|f| f.pages.contains(&page) && (f.fits)(schema)).map(|f| f.view).collect()
}

/// The page a view is mostly for.
pub fn page_of(view: &str) -> Option<Page> {
    FITS.iter().find(|f| f.view == view).and_then(|f| f.pages.first()).copied()
}

/// A fresh view by its stable name.
pub fn by_name(name: &str) -> Option<Box<dyn View>> {
    all().into_iter().find(|v| v.name() == name)
}

/// The probes of a shape, with their ids.
pub(crate) fn probes_where(
    schema: &SimSchema,
    wanted: impl Fn(&Shape) -> bool,
) -> impl Iterator<Item = (ProbeId, &'static crate::sim::ProbeSpec)> {
    let chosen: Vec<_> = schema.probes.iter().enumerate().filter(|(_, p)| wanted(&p.shape)).collect();
    chosen.into_iter().map(|(i, p)| (i as ProbeId, p))
}

/// A wish for all of a probe.
pub(crate) fn tap(probe: ProbeId) -> Tap {
    Tap { probe, elements: vec![] }
}

fn pin_id() -> egui::Id {
    egui::Id::unique("views: pin the selection")
}

/// Asks the traces to keep the selected elements: what the shell's probe command does after showing them.
pub fn ask_pin(ctx: &egui::Context) {
    let now = ctx.cumulative_pass_nr();
    ctx.data_mut(|d| d.insert_temp(pin_id(), now));
    ctx.request_repaint();
}

/// Whether pinning was asked for a moment ago; answers once.
pub(crate) fn take_pin(ctx: &egui::Context) -> bool {
    let now = ctx.cumulative_pass_nr();
    ctx.data_mut(|d| d.remove_temp::<u64>(pin_id())).is_some_and(|asked| now.saturating_sub(asked) <= 3)
}

fn focus_id() -> egui::Id {
    egui::Id::unique("views: focus the selection")
}

/// Asks the spatial views to frame the selection.
pub(crate) fn ask_focus(ctx: &egui::Context) {
    let now = ctx.cumulative_pass_nr();
    ctx.data_mut(|d| d.insert_temp(focus_id(), now));
    ctx.request_repaint();
}

/// Whether framing was asked for in this pass or the last.
pub(crate) fn is_focus_asked(ctx: &egui::Context) -> bool {
    let now = ctx.cumulative_pass_nr();
    ctx.data(|d| d.get_temp::<u64>(focus_id())).is_some_and(|asked| now.saturating_sub(asked) <= 1)
}
