//! Interface between views and the window: the [`View`] trait, the context of a view while it draws, and its requests.
//!
//! A view accepts *shapes* of probes (spikes, series, fields, sets, kernel times), never a kind. It requests data with
//! [`View::taps`] while it is visible, receives it in [`View::absorb`] and draws in [`View::ui`], within 2 ms at
//! 138,639 elements and 8 M spikes; slower work runs on the pool.

use crate::{
    app::{
        document::{
            color_scales::ColorScales,
            command::UiCommand,
            experiment::ExperimentContext,
            features::KindFeatures,
            filter::Filter,
            graph::{EditedGraph, edit::GraphEdit},
            library::Library,
            live::StopReason,
            profile::Profile,
            saved_view::SavedView,
            selection::Selection,
            time::Time,
        },
        kit::{notice::Look, text, theme::Tokens},
        views::declaration::ViewDeclaration,
    },
    engine::{SchemaChanges, SimSchema},
    project::experiment::ConditionRule,
    sim::{Action, Clock, Frame, ProbeId, ShareLevel, Tap},
};
use std::{path::PathBuf, sync::Arc};

/// Context of a view while it draws.
pub struct ViewCtx<'a> {
    /// Probes, lanes and sets of the running simulation.
    pub schema: &'a SimSchema,
    /// Step and time of the simulation.
    pub clock: Clock,
    /// Whether the simulation runs.
    pub running: bool,
    /// Reason why the simulation stopped by itself; `None` if it runs or was stopped by the user.
    pub stop_reason: Option<&'a StopReason>,
    /// Icon of the view that is being drawn.
    pub icon: &'static str,
    /// Labels of the probes of this view that a finished run did not record.
    pub unrecorded: Vec<String>,
    /// The declarations of all views.
    pub views: &'static [&'static ViewDeclaration],
    /// The recorded runs of the project.
    pub runs: &'a mut Library,
    /// The experiments of the project, and the one that the document describes.
    pub experiments: ExperimentContext<'a>,
    /// Colours and spacings of the theme.
    pub tokens: &'a Tokens,
    /// The selection, shared by all views.
    pub selection: &'a mut Selection,
    /// Time axis, cursor and history, shared by all linked views.
    pub time: &'a mut Time,
    /// The element filter, shared by all views.
    pub filter: &'a mut Filter,
    /// Named sets of the kind, and the actions and interventions that it offers on a selection.
    pub features: &'a KindFeatures,
    /// Ranges and colormaps of variables, shared by all views.
    pub color_scales: &'a mut ColorScales,
    /// Saved camera positions of spatial views, stored in the project.
    pub saved_views: &'a mut Vec<SavedView>,
    /// Graph that the document describes, and the positions of its nodes.
    pub graph: &'a mut EditedGraph,
    /// Render state of the window; `None` in headless tests of the logic.
    pub render_state: Option<&'a egui_wgpu::RenderState>,
    /// Returns the description of a timing row; `None` if the kind has none for the row.
    pub timing_docs: &'a dyn Fn(&str) -> Option<&'static str>,
    /// Returns the keyboard shortcut of a command; empty if it has none.
    pub keys: &'a dyn Fn(&UiCommand) -> String,
    /// Reference values of timing rows.
    pub share_levels: &'a [ShareLevel],
    /// Profile data, shared by the Profile panels.
    pub profile: &'a mut Profile,
    /// Requests to the window.
    pub requests: &'a mut Vec<ViewRequest>,
}

impl ViewCtx<'_> {
    /// Sets the fields that depend on the view that is drawn next.
    pub fn enter(&mut self, view: &dyn View) {
        self.icon = view.declaration().icon;
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

    /// Returns the newest step that followed views show; all spikes up to it have arrived.
    pub fn live_edge(&self) -> u64 {
        self.time.past.complete_to(self.clock.step)
    }

    /// Clock at the displayed step: the cursor, or the present without a cursor.
    pub fn shown_clock(&self) -> Clock {
        Clock { step: self.time.shown(self.clock.step), ..self.clock }
    }

    /// Names a step by the noun of the kind: `generation 6,564`; `step 12` if steps have a duration.
    pub fn step_name(&self, step: u64) -> String {
        format!("{} {}", self.clock.base.singular(), text::count(step))
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
    /// Add an intervention on the selection. The number is an index into [`KindFeatures::effects`].
    Intervene(u16),
    /// Run an action now. Parameters without a value keep the last entered one.
    Act(Action),
    /// Save a query as a named group of a set. The fields are the query and the name of the set.
    SaveSet(String, &'static str),
    /// Select the elements that are connected to some elements.
    SelectPartners {
        /// Elements whose partners are selected.
        of: Arc<Vec<u32>>,
        /// Whether to select presynaptic elements; otherwise postsynaptic ones.
        inputs: bool,
    },
    /// Find a path between two elements of a set. At least one end is given.
    Path {
        /// The set of the elements.
        set: &'static str,
        /// The first element of the path; `None`: not chosen yet.
        from: Option<u32>,
        /// The last element of the path; `None`: not chosen yet.
        to: Option<u32>,
    },
    /// Edit the graph that the document describes.
    Graph(GraphEdit),
    /// Add a rule of conditions to the document's experiment, and show it.
    AddConditions(ConditionRule),
    /// Show the recorded trials of a condition among the runs. The fields are the folder of the experiment and those of the trials.
    ShowTrials(PathBuf, Vec<PathBuf>),
    /// Colour the 3D view by the effects of an experiment.
    ColorByEffect,
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

/// Panel of the workbench, which draws data of the simulation.
pub trait View {
    fn declaration(&self) -> &'static ViewDeclaration;
    /// Returns the title, which may name the displayed data.
    fn title(&self, schema: &SimSchema) -> String {
        let _ = schema;
        self.declaration().title.to_owned()
    }
    /// Returns the taps that the view needs while it is visible; none by default.
    fn taps(&self, schema: &SimSchema, selection: &Selection) -> Vec<Tap> {
        let _ = (schema, selection);
        vec![]
    }
    /// Resets the view for a new simulation or epoch. Has no effect by default.
    fn reset(&mut self, schema: &SimSchema) {
        let _ = schema;
    }
    /// Handles a change of the schema while the simulation runs. Earlier samples of the changed probes belong to the old schema.
    /// A view that stores data by element maps them to the new elements or discards them. The default resets the view if a set
    /// has changed.
    fn schema_changed(&mut self, schema: &SimSchema, changes: &SchemaChanges) {
        if !changes.sets.is_empty() {
            self.reset(schema);
        }
    }
    /// Returns the chosen probe and its arguments as stored in the project: `attention:layer=2,head=1`. `None` without a choice,
    /// and by default.
    fn choice(&self) -> Option<String> {
        None
    }
    /// Restores a choice that [`View::choice`] returned. Has no effect by default.
    fn choose(&mut self, schema: &SimSchema, text: &str) {
        let _ = (schema, text);
    }
    /// Shows a probe that the user chose in the project tree, if the view can. Has no effect by default.
    fn show_probe(&mut self, schema: &SimSchema, probe: ProbeId) {
        let _ = (schema, probe);
    }
    /// Shows a set that the user chose in the project tree, if the view can. Has no effect by default.
    fn show_set(&mut self, schema: &SimSchema, set: &str) {
        let _ = (schema, set);
    }
    /// Receives new data, also while the view is hidden; its own taps are then inactive. Has no effect by default.
    fn absorb(&mut self, schema: &SimSchema, frame: &Frame) {
        let _ = (schema, frame);
    }
    /// Returns whether the view needs data again that it received earlier and discarded, and clears this flag. Called during
    /// playback.
    fn take_needs_refresh(&mut self) -> bool {
        false
    }
    fn ui(&mut self, ui: &mut egui::Ui, ctx: &mut ViewCtx<'_>);
    /// Returns the colour options and the index of the current one.
    fn colorings(&self, schema: &SimSchema) -> (Vec<String>, usize) {
        let _ = schema;
        (vec![], 0)
    }
    /// Selects a colour option of [`View::colorings`].
    fn color_by(&mut self, schema: &SimSchema, at: usize) {
        let _ = (schema, at);
    }
    /// Locks the colour range, or unlocks it so that it follows the data. Returns whether it is locked now; `None` if the colours
    /// have no range.
    fn toggle_range(&mut self, schema: &SimSchema, color_scales: &mut ColorScales) -> Option<bool> {
        let _ = (schema, color_scales);
        None
    }
}
