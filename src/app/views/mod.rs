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
pub mod compare;
pub mod connectivity;
pub mod distribution;
pub mod fields;
pub mod filter;
mod fits;
pub mod heatmap;
pub mod hist;
pub mod kit;
pub mod lanes;
pub mod lineage;
pub mod links;
pub mod matrix;
pub mod menu;
mod notice;
mod numbers;
pub mod phases;
mod pin_and_focus;
pub mod placeholder;
pub mod plot;
pub mod pool;
pub mod profile;
pub mod raster;
pub mod rate;
pub mod runs;
pub mod scatter;
mod selection;
pub mod statistics;
mod stop_reason;
pub mod sweep;
pub mod table;
pub mod texts;
pub mod token_text;
pub mod view_3d;
pub mod weights;

pub use fits::{fits, is_offered, needs_no_simulation, page_of, suggest, suggest_for};
pub use menu::MenuTarget;
pub use pin_and_focus::ask_pin;
pub(crate) use pin_and_focus::{ask_focus, is_focus_asked, take_pin};
pub use selection::Selection;
pub use stop_reason::StopReason;
pub(crate) use stop_reason::{no_events_ui, run_ui};

use super::commands::UiCommand;
use crate::{
    engine::{SchemaChanges, SimSchema},
    params::ChoiceSpec,
    query::Named,
    sim::{Action, ActionSpec, ElementSet, Frame, Individuals, ProbeId, Shape, Tap},
};
use std::{collections::BTreeMap, sync::Arc};

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

    /// The newest step that followed views show: all spikes up to it have arrived.
    pub fn live_edge(&self) -> u64 {
        self.time.past.complete_to(self.clock.step)
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
    /// Save a query as a named group of a set.
    SaveSet(String, &'static str),
    /// Select the elements connected to these (`inputs`: presynaptic, else postsynaptic).
    SelectPartners {
        /// Elements whose partners are selected.
        of: Arc<Vec<u32>>,
        /// Whether to select their inputs.
        inputs: bool,
    },
    /// Find a path: its set, and one or both of its ends.
    Path {
        /// The set of the elements.
        set: &'static str,
        /// The first element.
        from: Option<u32>,
        /// The last element.
        to: Option<u32>,
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
    /// Colours of named groups, as numbers of categorical colours from 1.
    pub colors: BTreeMap<String, u8>,
    /// The individuals in sets of slots, as far as they are known.
    pub individuals: Vec<(&'static str, Arc<Individuals>)>,
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
        Self {
            named: Arc::new([]),
            colors: BTreeMap::new(),
            individuals: vec![],
            effects: &[],
            actions: &[],
            seed: 0,
            listed,
        }
    }
}

impl KindFeatures {
    /// The named selections of a set.
    pub fn named_over(&self, schema: &SimSchema, set: &str) -> Arc<[Named]> {
        let is_first = schema.sets.first().is_none_or(|first| first.name == set);
        self.named.iter().filter(|named| named.is_over(set, is_first)).cloned().collect()
    }

    /// The set of a named selection.
    pub fn set_named<'a>(&self, schema: &'a SimSchema, name: &str) -> Option<&'a Arc<ElementSet>> {
        let named = self.named.iter().find(|named| named.name == name)?;
        schema.sets.iter().enumerate().find(|(i, set)| named.is_over(set.name, *i == 0)).map(|(_, set)| set)
    }

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
        Box::<compare::Compare>::default(),
        Box::<sweep::SweepPlot>::default(),
        Box::<circle::Circle>::default(),
        Box::<scatter::Scatter>::default(),
        Box::<phases::Phases>::default(),
        Box::<lineage::Lineage>::default(),
        Box::<bands::Bands>::default(),
        Box::<lanes::Lanes>::default(),
    ]
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
