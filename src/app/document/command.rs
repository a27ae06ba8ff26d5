//! Commands of the window, and actions that wait for an answer of the user.

use super::{layout::Target, settings::Theme};
use crate::export::Format;
use std::path::PathBuf;

/// Command of the window. Its label, keys and requirements are a row in `shell/commands/table`; `shell/execute.rs` executes it.
#[derive(Clone, Debug, PartialEq)]
pub enum UiCommand {
    /// Creates a project of the open project's kind.
    NewLike,
    /// Creates a project of the given kind, or from the further template of this name.
    New(&'static str),
    /// Opens a bundled example by name and runs it.
    Example(&'static str),
    /// Imports neurons and connections from files.
    ImportData,
    /// Shows the file dialog to open a project.
    Open,
    /// Opens a recent project, by index.
    OpenRecent(usize),
    /// Opens a finished run, by index.
    OpenRun(usize),
    /// Saves the project. Asks for a file if the project has none.
    Save,
    /// Asks for a file, then saves.
    SaveAs,
    /// Exports the last run in a format.
    Export(Format),
    /// Exports a run, given by its folder, in a format.
    ExportRun(PathBuf, Format),
    /// Quits the program.
    Quit,
    /// Undoes the last edit.
    Undo,
    /// Redoes the last undone edit.
    Redo,
    /// Undoes (negative) or redoes (positive) a number of edits.
    UndoSteps(i32),
    /// Resets all parameters to their defaults.
    ResetParameters,
    /// Sets the shape of the model to that of its file of weights.
    UseShape,
    /// Runs, or pauses between two steps.
    RunPause,
    /// Advances N steps.
    Step,
    /// Advances 10 N steps.
    StepMore,
    /// Rewinds to step 0.
    Rewind,
    /// Shows the next trial of the simulation.
    NextTrial,
    /// Shows the previous trial of the simulation.
    PreviousTrial,
    /// Rebuilds the simulation.
    Rebuild,
    /// Runs the shown run again, with its edits at their steps.
    RerunRecorded,
    /// Rebuilds the simulation on the CPU after a device failure.
    ContinueOnCpu,
    CancelLoading,
    /// Runs to the end of the planned duration.
    RunToEnd,
    /// Pauses or resumes drawing of all views. Counters continue to be drawn.
    PauseDisplay,
    /// Measures the device's peak performance.
    MeasurePeak,
    /// Runs the project for a number of steps on this device and on the CPU reference, and compares the results.
    Compare(u64),
    /// Shows the window of requests.
    Requests,
    /// Continues from a checkpoint of a run, given by its folder and the step.
    Branch(PathBuf, u64),
    /// Continues a run and its recording from its last checkpoint. The run is given by its folder.
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
    /// Moves the time cursor by a multiple of N steps; negative numbers move it back.
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
    /// Lists the variables by which the focused panel can be coloured.
    ColorMenu,
    /// Colours the focused panel by a variable, given by its index.
    ColorBy(usize),
    /// Locks or unlocks the focused panel's colour range.
    ToggleRange,
    /// Brings a view to the front.
    ShowView(&'static str),
    /// Opens another panel with a view.
    OpenAnother(&'static str),
    /// Shows the welcome page.
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
    /// Selects the dark, light or system theme.
    Theme(Theme),
    /// Adds a node to the graph that the document describes.
    AddNode,
    /// Adds an input, or another item that belongs to a node, to the selected node.
    AddToNode,
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
    /// Cancels the export in progress.
    CancelExport,
    /// Runs every condition of the document's experiment with every seed.
    StartExperiment,
    /// Cancels the experiment in progress.
    CancelExperiment,
    /// Runs the missing and the failed trials of an experiment, given by its folder.
    ContinueExperiment(PathBuf),
    /// Opens a run's folder in the file manager.
    RevealRun(PathBuf),
    /// Asks for a new name of a run, given by its folder.
    RenameRun(PathBuf),
    /// Asks whether to delete runs, given by their folders.
    DeleteRuns(Vec<PathBuf>),
    /// Shows the settings dialog.
    Settings,
    /// Shows the shortcut editor.
    Keys,
    /// Shows help of the focused panel.
    PanelHelp,
    /// Shows help on the kind of the project.
    ModelHelp,
    /// Shows the rules of a step in which simulators differ.
    Semantics,
    /// Shows what each format of an exported run holds.
    ExportFormats,
    System,
    /// Zooms the window in.
    ZoomIn,
    /// Zooms the window out.
    ZoomOut,
    /// Resets the window's zoom.
    ZoomReset,
    /// Toggles full screen.
    FullScreen,
    /// Shows the command palette.
    Palette,
    /// Shows the list of shortcuts.
    Help,
    /// Shows version, licence and device.
    About,
}

/// Action that waits for an answer of the user.
#[derive(Clone, Debug, PartialEq)]
pub enum Intent {
    /// Closes the window.
    Close,
    /// Opens a project or run.
    Open(PathBuf),
    /// Opens an example and runs it.
    Example(&'static str),
    /// Creates a project of the given kind.
    New(&'static str),
    /// Builds a network from a folder of imported connections.
    Import(PathBuf),
    /// Rewinds to step 0.
    Rewind,
    /// Builds the simulation again.
    Rebuild,
    /// Continues from a checkpoint of a run, given by its folder and the step.
    Branch(PathBuf, u64),
    /// Resumes a run at its last checkpoint. The run is given by its folder.
    Resume(PathBuf),
}

impl Intent {
    /// Whether the open document is closed, not only its simulation.
    pub const fn closes_document(&self) -> bool {
        !matches!(self, Self::Rewind | Self::Rebuild | Self::Branch(..))
    }
}
