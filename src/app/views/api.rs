//! What a view is: the trait, its context while it draws, and its requests to the window.
//!
//! A view accepts *shapes* of probes (spikes, series, fields, sets, kernel times), never a kind. It requests data with
//! [`View::taps`] while it is visible, receives it in [`View::absorb`] and draws in [`View::ui`], within 2 ms at
//! 138,639 elements and 8 M spikes; slower work runs on the pool.

use crate::{
    app::{
        document::{
            color_scales::ColorScales, command::UiCommand, features::KindFeatures, filter::Filter, library::Library,
            live::StopReason, profile::Profile, saved_view::SavedView, selection::Selection, time::Time,
        },
        kit::{icons, notice::Look, theme::Tokens},
    },
    engine::{SchemaChanges, SimSchema},
    sim::{Action, Clock, Frame, ShareLevel, Tap},
};
use std::sync::Arc;

/// Context of a view while it draws.
pub struct ViewCtx<'a> {
    /// Probes, lanes and sets of the running simulation.
    pub schema: &'a SimSchema,
    /// Step and time of the simulation.
    pub clock: Clock,
    /// Whether the simulation runs.
    pub running: bool,
    /// Why the simulation stopped by itself.
    pub stop_reason: Option<&'a StopReason>,
    /// [`View::icon`] of the view that is drawn.
    pub icon: &'static str,
    /// Labels of the probes of this view that a finished run did not record.
    pub unrecorded: Vec<String>,
    /// The recorded runs of the project.
    pub runs: &'a mut Library,
    /// Colours and spacings of the theme.
    pub tokens: &'a Tokens,
    /// The selection, shared by all views.
    pub selection: &'a mut Selection,
    /// Time axis, cursor and history, shared by all linked views.
    pub time: &'a mut Time,
    /// The element filter, shared by all views.
    pub filter: &'a mut Filter,
    /// Named sets, and what can be done to the selection.
    pub features: &'a KindFeatures,
    /// How the values of variables become colours, in all views.
    pub color_scales: &'a mut ColorScales,
    /// Places that spatial views were looked at from, kept with the project.
    pub saved_views: &'a mut Vec<SavedView>,
    /// The device the window draws with; `None` in headless logic tests.
    pub render_state: Option<&'a egui_wgpu::RenderState>,
    /// Description of a timing row, where the kind has one.
    pub timing_docs: &'a dyn Fn(&str) -> Option<&'static str>,
    /// Reference values of timing rows.
    pub share_levels: &'a [ShareLevel],
    /// Profile data, shared by the Profile panels.
    pub profile: &'a mut Profile,
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
    pub fn shown_clock(&self) -> Clock {
        Clock { step: self.time.shown(self.clock.step), ..self.clock }
    }
}

impl Look for ViewCtx<'_> {
    fn tokens(&self) -> &Tokens {
        self.tokens
    }

    fn icon(&self) -> &'static str {
        self.icon
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
        text: String,
    },
    /// Show a message.
    Toast(String),
}

/// A panel of the workbench.
pub trait View {
    /// Stable name, stored in layout files.
    fn name(&self) -> &'static str;
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
    fn ui(&mut self, ui: &mut egui::Ui, ctx: &mut ViewCtx<'_>);
    /// Markdown for the ? button.
    fn help(&self) -> &'static str;
    /// Its icon, shown on its empty state.
    fn icon(&self) -> &'static str {
        icons::GRID
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
    fn toggle_range(&mut self, schema: &SimSchema, color_scales: &mut ColorScales) -> Option<bool> {
        let _ = (schema, color_scales);
        None
    }
    /// Whether a second panel with it makes sense.
    fn can_repeat(&self) -> bool {
        true
    }
}
