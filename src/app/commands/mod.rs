//! Every command of the window: label, tooltip, shortcut, and why it is disabled. Menus, the palette and the keyboard
//! read this one list.

mod keys;
mod labels;

pub use keys::pressed;

use super::{
    App, examples,
    settings::Theme,
    workspace::{self, Target},
};
use crate::{export::Format, kinds::Model};
use std::path::PathBuf;

/// A command of the window.
#[derive(Clone, Debug, PartialEq)]
pub enum UiCommand {
    /// A new project of the open project's kind.
    NewLike,
    /// A new project of this kind.
    New(&'static str),
    /// Opens a bundled example by name and runs it.
    Example(&'static str),
    /// Imports neurons and connections from files.
    ImportData,
    /// The file dialog.
    Open,
    /// A recent project, by index.
    OpenRecent(usize),
    /// Opens a finished run, by index.
    OpenRun(usize),
    /// Saves; asks for a file when the project has none.
    Save,
    /// Asks for a file, then saves.
    SaveAs,
    /// Exports the last run in this format.
    Export(Format),
    /// Exports a run in this format.
    ExportRun(PathBuf, Format),
    /// Quits the program.
    Quit,
    /// Undoes the last edit.
    Undo,
    /// Redoes the last undone edit.
    Redo,
    /// Undoes (negative) or redoes (positive) this many edits.
    UndoSteps(i32),
    /// Resets all parameters to their defaults.
    ResetParameters,
    /// Runs, or pauses between two steps.
    RunPause,
    /// Advances N steps.
    Step,
    /// Advances 10 N steps.
    StepMore,
    /// Rewinds to step 0.
    Rewind,
    /// Rebuilds the simulation.
    Rebuild,
    /// Runs the shown run again, with its edits at their steps.
    RerunRecorded,
    /// Rebuilds the simulation on the CPU after a device failure.
    ContinueOnCpu,
    /// Cancels loading.
    CancelLoading,
    /// Runs to the end of the planned duration.
    RunToEnd,
    /// Pauses or resumes drawing of all views; counters stay.
    PauseDisplay,
    /// Measures the device's peak performance.
    MeasurePeak,
    /// Runs the project on this device and on the CPU reference for this many steps, and compares.
    Compare(u64),
    /// The window of requests.
    Requests,
    /// Continues from a checkpoint of a run: its folder, the step.
    Branch(PathBuf, u64),
    /// Continues a run and its recording from its last checkpoint: its folder.
    Resume(PathBuf),
    /// Starts or stops a recording.
    Record,
    /// Adds a stimulus on the selected elements.
    Stimulate,
    /// Silences the selected elements.
    Silence,
    /// Saves the selected elements as a named group.
    SaveSelection,
    /// Shows and records traces of the selected elements.
    Probe,
    /// Moves the time cursor by this many times N steps; negative is back.
    MoveCursor(i32),
    /// Moves the time cursor to the oldest step in the history.
    GoStart,
    /// Follows the newest data.
    GoLive,
    /// Plays the history from the cursor, or stops.
    PlayPast,
    /// Toggles looping over the time range.
    Loop,
    /// Zooms linked views to the time range.
    ZoomToRange,
    /// Clears the time range.
    ClearRange,
    /// Clears the selection.
    SelectNone,
    /// Exports a figure of the focused panel.
    ExportPanel,
    /// Frames the selection in spatial views.
    FocusSelection,
    /// Lists the variables that the focused panel can be coloured by.
    ColorMenu,
    /// Colours the focused panel by the variable at this index.
    ColorBy(usize),
    /// Locks or unlocks the focused panel's colour range.
    ToggleRange,
    /// Brings a view to the front.
    ShowView(&'static str),
    /// Opens another panel with a view.
    OpenAnother(&'static str),
    /// The welcome page.
    Home,
    /// Brings a workspace to the front, by index.
    Workspace(usize),
    /// Copies the active workspace.
    NewWorkspace,
    /// Closes a copied workspace.
    CloseWorkspace,
    /// Maximises or restores the focused panel.
    Maximise,
    /// Focuses the filter field of the focused panel.
    FilterPanel,
    /// Focuses the next panel.
    NextPanel,
    /// Focuses the previous panel.
    PreviousPanel,
    /// Undoes the last layout change.
    UndoLayout,
    /// Redoes the last undone layout change.
    RedoLayout,
    /// Resets the layout.
    ResetLayout(Target),
    /// Saves the layout under a name.
    SaveLayout,
    /// Applies a saved layout, by index.
    ApplyLayout(usize),
    /// Shows or hides the project tree.
    ToggleTree,
    /// Shows or hides the inspector.
    ToggleInspector,
    /// Shows or hides the log.
    ToggleLog,
    /// Shows or hides statistics of the window itself.
    ToggleDev,
    /// Dark, light or system theme.
    Theme(Theme),
    /// Renames the selected tree item.
    Rename,
    /// Duplicates the selected tree item.
    Duplicate,
    /// Deletes the selected tree item.
    Delete,
    /// Reads the run folders again.
    RefreshRuns,
    /// Replays a recorded run and verifies it.
    Replay(PathBuf),
    /// Cancels the replay.
    CancelReplay,
    /// Opens a run's folder in the file manager.
    RevealRun(PathBuf),
    /// The settings dialog.
    Settings,
    /// The shortcut editor.
    Keys,
    /// Help of the focused panel.
    PanelHelp,
    /// Help on the kind of the project.
    ModelHelp,
    /// System information.
    System,
    /// Zooms the window in.
    ZoomIn,
    /// Zooms the window out.
    ZoomOut,
    /// Resets the window's zoom.
    ZoomReset,
    /// Toggles full screen.
    FullScreen,
    /// The command palette.
    Palette,
    /// The list of shortcuts.
    Help,
    /// Version, licence and device.
    About,
}

/// Newest runs offered in menus and the palette.
const MAX_RUNS: usize = 20;

/// The menus, in order.
pub const MENUS: [&str; 7] = ["File", "Edit", "Simulation", "Runs", "View", "Window", "Help"];

impl UiCommand {
    /// All commands, in menu order. Recent files and views come from the app.
    pub fn all(app: &App) -> Vec<Self> {
        let mut all = vec![Self::NewLike];
        all.extend(Model::all().iter().map(|m| Self::New(m.name())));
        all.extend([Self::Open, Self::ImportData]);
        all.extend(examples::ALL.iter().map(|e| Self::Example(e.name)));
        all.extend((0..app.recent.projects.len()).map(Self::OpenRecent));
        all.extend([Self::Save, Self::SaveAs]);
        all.push(Self::ExportPanel);
        all.extend([
            Self::Quit,
            Self::Undo,
            Self::Redo,
            Self::ResetParameters,
            Self::Stimulate,
            Self::Silence,
            Self::Probe,
            Self::SaveSelection,
            Self::SelectNone,
            Self::Rename,
            Self::Duplicate,
            Self::Delete,
            Self::RunPause,
            Self::Step,
            Self::StepMore,
            Self::RunToEnd,
            Self::PauseDisplay,
            Self::MeasurePeak,
            Self::Compare(200),
            Self::Requests,
            Self::Rewind,
            Self::Rebuild,
            Self::ContinueOnCpu,
            Self::CancelLoading,
            Self::Record,
            Self::RefreshRuns,
        ]);
        all.extend((0..app.library.runs.len()).rev().take(MAX_RUNS).map(Self::OpenRun));
        all.extend(Format::ALL.map(Self::Export));
        all.extend(workspace::view_names(app).map(Self::ShowView));
        all.extend([Self::RerunRecorded, Self::FocusSelection, Self::ColorMenu, Self::ToggleRange]);
        all.extend((0..app.workspace.colorings(&app.session.live.schema).0.len()).map(Self::ColorBy));
        all.extend([-1, 1, -10, 10].map(Self::MoveCursor));
        all.extend([Self::GoStart, Self::GoLive, Self::PlayPast, Self::Loop, Self::ZoomToRange, Self::ClearRange]);
        all.extend([Theme::Dark, Theme::Light, Theme::System].map(Self::Theme));
        all.extend([Self::ZoomIn, Self::ZoomOut, Self::ZoomReset, Self::FullScreen]);
        all.push(Self::Home);
        all.extend((0..app.workspace.titles().count()).map(Self::Workspace));
        all.extend([
            Self::NewWorkspace,
            Self::CloseWorkspace,
            Self::Maximise,
            Self::FilterPanel,
            Self::NextPanel,
            Self::PreviousPanel,
        ]);
        all.extend(Self::layout(app));
        all.extend([Self::ToggleTree, Self::ToggleInspector, Self::ToggleLog]);
        all.extend([Self::Palette, Self::Help, Self::PanelHelp, Self::ModelHelp, Self::Settings, Self::Keys]);
        all.extend([Self::ToggleDev, Self::System, Self::About]);
        all
    }

    /// Commands on the layout.
    pub fn layout(app: &App) -> Vec<Self> {
        let mut all = vec![Self::UndoLayout, Self::RedoLayout];
        all.extend(Target::ALL.map(Self::ResetLayout));
        all.push(Self::SaveLayout);
        all.extend((0..app.workspace.layouts.iter().count()).map(Self::ApplyLayout));
        all
    }

    /// Its menu, and whether a separator precedes it.
    pub const fn menu(&self) -> (&'static str, bool) {
        match self {
            Self::NewLike | Self::New(_) | Self::Open | Self::OpenRecent(_) | Self::SaveAs | Self::ImportData => {
                ("File", false)
            }
            Self::Example(_) | Self::ColorBy(_) => ("", false),
            Self::FocusSelection => ("View", true),
            Self::ColorMenu | Self::ToggleRange => ("View", false),
            Self::Save | Self::Quit => ("File", true),
            Self::ExportPanel => ("File", true),
            Self::Export(f) => ("Runs", matches!(f, Format::Csv)),
            Self::OpenRun(_) => ("Runs", false),
            Self::Undo
            | Self::Redo
            | Self::UndoSteps(_)
            | Self::Silence
            | Self::Probe
            | Self::SaveSelection
            | Self::SelectNone => ("Edit", false),
            Self::ResetParameters | Self::Stimulate | Self::Rename => ("Edit", true),
            Self::Duplicate | Self::Delete => ("Edit", false),
            Self::RunPause | Self::Step | Self::StepMore | Self::Rewind | Self::ContinueOnCpu | Self::CancelLoading => {
                ("Simulation", false)
            }
            Self::RunToEnd | Self::PauseDisplay | Self::MeasurePeak | Self::Compare(_) => ("Simulation", false),
            Self::Requests | Self::Branch(..) | Self::Resume(_) => ("Simulation", false),
            Self::ExportRun(..) | Self::RefreshRuns | Self::RevealRun(_) | Self::Replay(_) | Self::CancelReplay => {
                ("Runs", false)
            }
            Self::ShowView(_) | Self::OpenAnother(_) => ("View", false),
            Self::Workspace(_)
            | Self::CloseWorkspace
            | Self::FilterPanel
            | Self::NextPanel
            | Self::PreviousPanel
            | Self::RedoLayout => ("Window", false),
            Self::Home | Self::NewWorkspace | Self::Maximise | Self::UndoLayout | Self::SaveLayout => ("Window", true),
            Self::ResetLayout(t) => ("Window", matches!(t, Target::Workspace)),
            Self::ApplyLayout(_) | Self::ToggleInspector | Self::ToggleLog => ("Window", false),
            Self::ToggleTree => ("Window", true),
            Self::ZoomIn => ("View", true),
            Self::MoveCursor(_) | Self::GoLive | Self::PlayPast | Self::Loop | Self::ZoomToRange | Self::ClearRange => {
                ("Simulation", false)
            }
            Self::Rebuild | Self::RerunRecorded | Self::Record | Self::GoStart => ("Simulation", true),
            Self::Theme(t) => ("View", matches!(t, Theme::Dark)),
            Self::ZoomOut | Self::ZoomReset | Self::FullScreen => ("View", false),
            Self::Palette | Self::Help | Self::PanelHelp | Self::ModelHelp => ("Help", false),
            Self::Keys | Self::System | Self::About => ("Help", false),
            Self::Settings | Self::ToggleDev => ("Help", true),
        }
    }

    /// Whether a shortcut can be assigned: not to entries that come and go.
    pub const fn has_own_keys(&self) -> bool {
        !matches!(
            self,
            Self::OpenRecent(_)
                | Self::UndoSteps(_)
                | Self::ApplyLayout(_)
                | Self::Example(_)
                | Self::CancelLoading
                | Self::ColorBy(_)
                | Self::ContinueOnCpu
        )
    }

    /// Whether it needs an open project.
    const fn needs_document(&self) -> bool {
        use UiCommand as C;
        matches!(self, C::Save | C::SaveAs | C::Undo | C::Redo | C::ResetParameters | C::Compare(_))
            || matches!(self, C::RunPause | C::Step | C::StepMore | C::RunToEnd | C::Rewind | C::Rebuild | C::Record)
    }

    /// Why it cannot be used now; `None` when it can.
    pub fn why_not(&self, app: &App) -> Option<&'static str> {
        let (session, live) = (&app.session, &app.session.live);
        let (undo, redo) = session.history.counts();
        let needs = |ok: bool, why| if ok { None } else { Some(why) };
        if let Some(why) = app.not_ready().filter(|_| self.needs_document()) {
            return Some(why);
        }
        let failed = live.checkpoints.failure.as_ref().is_some_and(|fault| fault.stopped);
        let alive = needs(!failed, "The device failed: continue on the CPU, or rebuild");
        let loaded = needs(live.is_loaded(), "No simulation: run the model first");
        let selected = needs(!session.selection.elements.is_empty(), "Nothing is selected");
        match self {
            Self::Undo => needs(undo > 0 || session.history.labels().0.is_some(), "Nothing to undo"),
            Self::Redo => needs(redo > 0, "Nothing to redo"),
            Self::RunToEnd if app.planned_end().is_none() => Some("The project has no duration"),
            Self::RunToEnd if app.planned_end().is_some_and(|end| end <= live.clock.step) => {
                Some("The duration is over: rewind first")
            }
            Self::RunToEnd
            | Self::Record
            | Self::Stimulate
            | Self::Silence
            | Self::SaveSelection
            | Self::ResetParameters
            | Self::Rename
            | Self::Duplicate
            | Self::Delete
            | Self::MeasurePeak
            | Self::Compare(_)
            | Self::Requests
                if live.playback.is_some() =>
            {
                Some("A finished run is shown: choose Rerun project to change and run it")
            }
            Self::Step | Self::StepMore | Self::RunToEnd | Self::Rewind | Self::Record => alive.or(loaded),
            Self::ContinueOnCpu => needs(live.checkpoints.failure.is_some(), "No device has failed"),
            Self::CancelLoading => {
                needs(live.progress().is_some() || live.data_progress().is_some(), "Nothing is loading")
            }
            Self::RunPause => alive.or(needs(live.has_engine(), "The engine is off")),
            Self::Rebuild => needs(live.has_engine(), "The engine is off"),
            Self::RerunRecorded => live.why_not_rerun(),
            Self::Export(format) => app.library.why_not_export(*format),
            _ if !super::interventions::offers(session.project.model.params(), self) => {
                Some("This model has no such intervention")
            }
            Self::SaveSelection | Self::FocusSelection => selected,
            Self::Stimulate | Self::Silence => {
                let can_target = super::interventions::can_target(&live.schema, &session.selection);
                selected.or_else(|| needs(can_target, "Interventions do not act on these elements"))
            }
            Self::Probe => {
                let chosen = &session.selection;
                let of = |p: &crate::sim::ProbeSpec| p.shape == crate::sim::Shape::Series { of: chosen.set };
                selected
                    .or_else(|| needs(live.schema.probes.iter().any(of), "No traces are available for these elements"))
            }
            Self::Rename | Self::Duplicate | Self::Delete => {
                needs(app.tree_item().is_some(), "No item is selected in the project tree")
            }
            Self::OpenRecent(i) => {
                needs(app.recent.projects.get(*i).is_some_and(|p| !p.is_missing), "The file no longer exists")
            }
            Self::ColorMenu | Self::ColorBy(_) => {
                let (options, _) = app.workspace.colorings(&live.schema);
                needs(!options.is_empty(), "This panel has no colour options")
            }
            Self::Compare(_) => needs(
                live.is_loaded() && app.profile.comparison.progress.is_none(),
                "No simulation, or a comparison is running",
            ),
            Self::MeasurePeak => needs(
                live.is_loaded() && !app.profile.machine.measuring,
                "No device in use, or a measurement is running",
            ),
            Self::Requests => needs(!session.project.model.requests().is_empty(), "This kind answers no requests"),
            Self::Replay(_) => needs(app.library.replaying.is_none(), "Another replay is running"),
            Self::CancelReplay => needs(app.library.replaying.is_some(), "No replay is running"),
            Self::CloseWorkspace => needs(app.workspace.can_close(), "Only a copy of a workspace can be closed"),
            Self::UndoLayout => needs(app.workspace.steps().0 > 0, "No layout change to undo"),
            Self::RedoLayout => needs(app.workspace.steps().1 > 0, "No layout change to redo"),
            Self::ResetLayout(Target::Project) => {
                needs(app.workspace.can_reset(Target::Project), "The project has no layout")
            }
            Self::ResetLayout(Target::Saved) => {
                needs(app.workspace.can_reset(Target::Saved), "No saved layout in the project")
            }
            Self::ShowView(v) | Self::OpenAnother(v) if super::views::needs_no_simulation(v) => None,
            Self::ShowView(_) | Self::OpenAnother(_) | Self::ExportPanel => loaded,
            Self::MoveCursor(_) | Self::GoStart | Self::PlayPast => {
                loaded.or_else(|| needs(app.time.past.newest() > app.time.past.oldest(), "The history is empty"))
            }
            Self::ZoomToRange | Self::ClearRange => {
                needs(app.time.axis.range.is_some(), "No range: drag over the time panel")
            }
            _ => None,
        }
    }
}
