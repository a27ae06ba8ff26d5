//! Commands of the window, and actions that wait for an answer of the user.

use super::{layout::Target, settings::Theme};
use crate::export::Format;
use std::path::PathBuf;

/// A command of the window. Its label, keys and requirements are a row in `shell/commands/table`; `shell/execute.rs` executes it.
#[derive(Clone, Debug, PartialEq)]
pub enum UiCommand {
    /// Creates a project of the open project's kind.
    NewLike,
    /// Creates a project of this kind.
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
    /// Saves the project; asks for a file if it has none.
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
    CancelLoading,
    /// Runs to the end of the planned duration.
    RunToEnd,
    /// Pauses or resumes drawing of all views; counters stay.
    PauseDisplay,
    /// Measures the device's peak performance.
    MeasurePeak,
    /// Runs the project on this device and on the CPU reference for this many steps, and compares.
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
    /// Moves the time cursor by this many times N steps; negative numbers move it back.
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
    /// Shows the settings dialog.
    Settings,
    /// Shows the shortcut editor.
    Keys,
    /// Shows help of the focused panel.
    PanelHelp,
    /// Shows help on the kind of the project.
    ModelHelp,
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
    /// Close the window.
    Close,
    /// Choose a project file.
    Pick,
    /// Open this project or run.
    Open(PathBuf),
    /// Open an example and run it.
    Example(&'static str),
    /// Create a project of this kind.
    New(&'static str),
    /// Build a network from this folder of imported connections.
    Import(PathBuf),
    /// Return to step 0.
    Rewind,
    /// Build the simulation again.
    Rebuild,
    /// Continue from a checkpoint of a run.
    Branch(PathBuf, u64),
    /// Resume a run at its last checkpoint.
    Resume(PathBuf),
}

impl Intent {
    /// Whether the open document is closed, not only its simulation.
    pub const fn closes_document(&self) -> bool {
        !matches!(self, Self::Rewind | Self::Rebuild | Self::Branch(..))
    }
}
