//! The views: one folder or file each, one list of them.
//!
//! A view accepts *shapes* of probes (spikes, series, fields, sets, kernel times), never a kind. It requests data with
//! [`View::taps`] while it is visible, receives it in [`View::absorb`] and draws in [`View::ui`], within 2 ms at
//! 138,639 elements and 8 M spikes; slower work runs on the pool.

pub mod area_select;
pub mod axes;
pub mod bands;
mod bar;
pub mod chosen;
pub mod circle;
pub mod cloud;
pub mod color_scale;
pub mod color_scales;
pub mod colormap;
pub mod colors;
pub mod connectivity;
pub mod distribution;
pub mod fields;
pub mod filter;
pub mod heatmap;
pub mod hist;
pub mod kit;
pub mod lanes;
pub mod lineage;
pub mod links;
pub mod matrix;
pub mod menu;
mod numbers;
pub mod phases;
mod pin_and_focus;
pub mod placeholder;
pub mod plot;
pub mod pool;
pub mod profile;
pub mod raster;
pub mod runs;
pub mod scatter;
mod selection;
pub mod statistics;
mod stop_reason;
pub mod table;
pub mod texts;
pub mod token_text;
pub mod view_3d;
pub mod weights;

pub use menu::MenuTarget;
pub use pin_and_focus::ask_pin;
pub(crate) use pin_and_focus::{ask_focus, is_focus_asked, take_pin};
pub use selection::Selection;
pub use stop_reason::StopReason;
pub(crate) use stop_reason::run_ui;

use super::{commands::UiCommand, workspace::Page};
use crate::{
    engine::{SchemaChanges, SimSchema},
    params::ChoiceSpec,
    query::Named,
    sim::{Action, ActionSpec, ElementSet, Frame, Individuals, Meaning, ProbeId, Shape, Tap},
};
use std::sync::Arc;

/// Context of a view while it draws.
pub struct ViewCtx<'a> {
    /// Probes, lanes and sets of the running simulation.
    pub schema: &'a crate::engine::SimSchema,
    /// Step and time of the simulation.
    pub clock: crate::sim::Clock,
    /// Whether the simulation runs.
    pub running: bool,
    /// Why the simulation stopped by itself.
    pub stop_reason: Option<&'a StopReason>,
    /// [`View::icon`] of the view that is drawn.
    pub icon: &'static str,
    /// Labels of the probes of this view that a finished run did not record.
    pub unrecorded: Vec<String>,
    /// The recorded runs of the project.
    pub runs: &'a mut crate::app::library::Library,
    /// Colours and spacings of the theme.
    pub tokens: &'a crate::app::theme::Tokens,
    /// The selection, shared by all views.
    pub selection: &'a mut Selection,
    /// Time axis, cursor and history, shared by all linked views.
    pub time: &'a mut crate::app::time::Time,
    /// The element filter, shared by all views.
    pub filter: &'a mut filter::Filter,
    /// Named sets, and what can be done to the selection.
    pub features: &'a KindFeatures,
    /// How the values of variables become colours, in all views.
    pub color_scales: &'a mut color_scales::ColorScales,
    /// Places that spatial views were looked at from, kept with the project.
    pub saved_views: &'a mut Vec<view_3d::SavedView>,
    /// The device the window draws with; `None` in headless logic tests.
    pub render_state: Option<&'a egui_wgpu::RenderState>,
    /// Description of a timing row, where the kind has one.
    pub timing_docs: &'a dyn Fn(&str) -> Option<&'static str>,
    /// Reference values of timing rows.
    pub share_levels: &'a [crate::sim::ShareLevel],
    /// Profile data, shared by the Profile panels.
    pub profile: &'a mut profile::Profile,
    /// Requests to the window.
    pub requests: &'a mut Vec<ViewRequest>,
}

impl ViewCtx<'_> {
    /// Sets what depends on the view that is drawn next.
    pub fn enter(&mut self, view: &dyn View) {
        self.icon = view.icon();
        self.unrecorded = match self.schema.unrecorded.is_empty() {
            true => vec![],
            false => {
                let taps = view.taps(self.schema, self.selection).into_iter();
                let missing = taps.filter(|tap| self.schema.unrecorded.contains(&tap.probe));
                missing
                    .filter_map(|tap| Some(self.schema.probes.get(usize::from(tap.probe))?.label().into_owned()))
                    .collect()
            }
        };
    }

    /// The time shown: the cursor, else the present.
    pub fn shown_clock(&self) -> crate::sim::Clock {
        crate::sim::Clock { step: self.time.shown(self.clock.step), ..self.clock }
    }
}

/// A request of a view to the window.
pub enum ViewRequest {
    /// Run a command.
    Command(UiCommand),
    /// Add an intervention on the selection: an index into [`KindFeatures::effects`].
    Intervene(u16),
    /// Run an action now. Without values it uses those last entered.
    Act(Action),
    /// Save a query as a named group.
    SaveSet(String),
    /// Select the elements connected to these (`inputs`: presynaptic, else postsynaptic).
    SelectPartners {
        /// Elements whose partners are selected.
        of: Arc<Vec<u32>>,
        /// Whether to select their inputs.
        inputs: bool,
    },
    /// Show the selection in the inspector.
    Parameters,
    /// Save a text to a file.
    SaveText {
        /// Proposed file name.
        name: String,
        /// Contents.
        text: String,
    },
    /// Show a message.
    Toast(String),
}

/// Reads the elements listed in a file.
pub type ElementListReader = Arc<dyn Fn(&str, &ElementSet) -> Result<Vec<u32>, String> + Send + Sync>;

/// Named groups, effects and actions that the kind offers.
#[derive(Clone)]
pub struct KindFeatures {
    /// Named groups of the project.
    pub named: Arc<[Named]>,
    /// The individuals in sets of slots, as far as they are known.
    pub individuals: Vec<(&'static str, Arc<Individuals>)>,
    /// The set of elements that groups are over; empty while there is none.
    pub over: &'static str,
    /// Effects of interventions.
    pub effects: &'static [ChoiceSpec],
    /// Actions on the running simulation.
    pub actions: &'static [ActionSpec],
    /// Seed of random choices.
    pub seed: u64,
    /// Reads lists of elements.
    pub listed: ElementListReader,
}

impl Default for KindFeatures {
    fn default() -> Self {
        let listed = Arc::new(|path: &str, _: &ElementSet| Err(format!("{path}: lists of elements are not available")));
        Self { named: Arc::new([]), individuals: vec![], over: "", effects: &[], actions: &[], seed: 0, listed }
    }
}

impl KindFeatures {
    /// The individuals in a set of slots.
    pub fn individuals(&self, set: &str) -> Option<&Arc<Individuals>> {
        self.individuals.iter().find(|(name, _)| *name == set).map(|(_, now)| now)
    }
}

/// A panel of the workbench.
pub trait View {
    /// Stable name, stored in layout files.
    fn name(&self) -> &'static str;
    /// Tab title.
    fn title(&self, schema: &SimSchema) -> String;
    /// Taps it needs while visible.
    fn taps(&self, schema: &SimSchema, selection: &Selection) -> Vec<Tap>;
    /// Whether it shows [`ViewCtx::profile`], which is only filled while such a view is visible.
    fn profiles(&self) -> bool {
        false
    }
    /// Resets the view for a new simulation or epoch.
    fn reset(&mut self, schema: &SimSchema);
    /// The schema changed while the simulation runs: samples so far of the changed probes belong to the old one. A view that
    /// keeps something about elements follows them, or starts again.
    fn schema_changed(&mut self, schema: &SimSchema, changes: &SchemaChanges) {
        if !changes.sets.is_empty() {
            self.reset(schema);
        }
    }
    /// The chosen probe and its arguments, as kept with the project: `attention:layer=2,head=1`. `None` by default.
    fn choice(&self) -> Option<String> {
        None
    }
    /// Takes over a kept choice.
    fn choose(&mut self, schema: &SimSchema, text: &str) {
        let _ = (schema, text);
    }
    /// Receives new data, also while hidden (then without its own taps).
    fn absorb(&mut self, schema: &SimSchema, frame: &Frame);
    /// Whether it needs data again that it was given before and did not keep; asked during playback. Resets the answer.
    fn take_behind(&mut self) -> bool {
        false
    }
    /// Draws.
    fn ui(&mut self, ui: &mut egui::Ui, ctx: &mut ViewCtx<'_>);
    /// Markdown for the ? button.
    fn help(&self) -> &'static str;
    /// Its icon, shown on its empty state.
    fn icon(&self) -> &'static str {
        crate::app::icons::GRID
    }
    /// Pointer gestures and their effects, for the status bar.
    fn gestures(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }
    /// Colour options, and the index of the current one.
    fn colorings(&self, schema: &SimSchema) -> (Vec<String>, usize) {
        let _ = schema;
        (vec![], 0)
    }
    /// Selects a colour option of [`View::colorings`].
    fn color_by(&mut self, schema: &SimSchema, at: usize) {
        let _ = (schema, at);
    }
    /// Keeps the range of its colours as it is, or lets it follow the data again; whether it is kept now. None when its
    /// colours have no range.
    fn toggle_range(&mut self, schema: &SimSchema, color_scales: &mut color_scales::ColorScales) -> Option<bool> {
        let _ = (schema, color_scales);
        None
    }
    /// Whether a second panel with it makes sense.
    fn can_repeat(&self) -> bool {
        true
    }
}

/// All views, one default instance of each.
pub fn all() -> Vec<Box<dyn View>> {
    vec![
        Box::<view_3d::View3d>::default(),
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
        Box::<links::Links>::default(),
        Box::<distribution::Distribution>::default(),
        Box::<texts::Texts>::default(),
        Box::<token_text::TokenText>::default(),
        Box::<runs::Runs>::default(),
        Box::<circle::Circle>::default(),
        Box::<scatter::Scatter>::default(),
        Box::<phases::Phases>::default(),
        Box::<lineage::Lineage>::default(),
        Box::<bands::Bands>::default(),
        Box::<lanes::Lanes>::default(),
    ]
}

/// The pages of a view, and the simulations it fits, by the shapes of their probes.
struct Fit {
    view: &'static str,
    pages: &'static [Page],
    fits: fn(&SimSchema) -> bool,
}

fn has(schema: &SimSchema, wanted: fn(&Shape) -> bool) -> bool {
    probes_where(schema, wanted).next().is_some()
}

/// Whether elements have phases.
fn has_phases(schema: &SimSchema) -> bool {
    has(schema, |s| s.meaning() == Some(Meaning::Angle))
}

fn has_curves(schema: &SimSchema) -> bool {
    has(schema, |s| matches!(s, Shape::Series { of: "" }))
}

/// Whether there are fields of numbers.
fn has_values(schema: &SimSchema) -> bool {
    has(schema, |s| matches!(s.meaning(), Some(Meaning::Number | Meaning::TimeSince)))
}

/// Whether elements are born and die.
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
        Fit { view: "brain", pages: &[Simulate, Explore], fits: |e| e.sets.iter().any(|s| s.has_places()) },
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
        Fit { view: "links", pages: &[Simulate, Explore], fits: |e| has(e, |s| matches!(s, Shape::Links { .. })) },
        Fit {
            view: "distribution",
            pages: &[Simulate, Explore],
            fits: |e| has(e, |s| matches!(s, Shape::Histogram { .. })),
        },
        Fit { view: "tokens", pages: &[Simulate, Explore], fits: |e| has(e, |s| matches!(s, Shape::Tokens { .. })) },
        Fit {
            view: "texts",
            pages: &[Simulate, Explore],
            fits: |e| has(e, |s| matches!(s, Shape::Samples)) || has(e, |s| matches!(s, Shape::Text)),
        },
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

/// Whether a simulation publishes what a view shows.
pub fn fits(view: &str, schema: &SimSchema) -> bool {
    FITS.iter().any(|f| f.view == view && (f.fits)(schema))
}

/// Whether a menu offers a view: all before a simulation is built, then those whose data it publishes.
pub fn is_offered(view: &str, schema: &SimSchema) -> bool {
    schema.probes.is_empty() || fits(view, schema)
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

/// The probes of a shape that the model uses, with their ids.
pub(crate) fn probes_where(
    schema: &SimSchema,
    wanted: impl Fn(&Shape) -> bool,
) -> impl Iterator<Item = (ProbeId, &'static crate::sim::ProbeSpec)> {
    let all = schema.probes.iter().enumerate().map(|(i, p)| (i as ProbeId, p));
    let chosen: Vec<_> = all.filter(|(i, p)| wanted(&p.shape) && !schema.unused.contains(i)).collect();
    chosen.into_iter()
}

/// A tap of all elements of a probe.
pub(crate) fn tap(probe: ProbeId) -> Tap {
    Tap::of(probe)
}
