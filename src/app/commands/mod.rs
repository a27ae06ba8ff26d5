//! Every command of the window: label, tooltip, shortcut, and why it is disabled. Menus, the palette and the keyboard
//! read this one list.

mod availability;
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
}
