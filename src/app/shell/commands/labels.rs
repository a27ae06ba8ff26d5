//! Labels, tooltips and icons of commands.

use crate::{
    app::{
        document::{command::UiCommand, layout::Target, settings::Theme},
        kit::icons,
        shell::{commands::CommandState, pages::examples},
    },
    kinds::Model,
};

impl UiCommand {
    /// Returns the label for menus and the palette.
    pub fn text(&self, state: &CommandState<'_>) -> String {
        let live = &state.document.session.live;
        let fixed = match self {
            Self::New(kind) => {
                let title = Model::by_name(kind).map_or(*kind, |m| m.title());
                return format!("New project: {}", title.to_lowercase());
            }
            Self::ColorBy(at) => {
                let (options, now) = state.around.workspace.colorings(&live.schema);
                let name = options.get(*at).map_or("", String::as_str);
                return format!("Colour by {name}{}", if *at == now { " (current)" } else { "" });
            }
            Self::UndoSteps(steps) if *steps < 0 => return format!("Undo {} steps", steps.unsigned_abs()),
            Self::UndoSteps(steps) => return format!("Redo {steps} steps"),
            Self::RunToEnd => {
                let end =
                    state.document.session.project.planned_steps().map(|step| state.document.time_text(step as f64));
                return format!("Run to {}", end.unwrap_or_else(|| "the planned end".into()));
            }
            Self::PauseDisplay if state.around.pacing.updates_are_off => "Resume display",
            Self::PauseDisplay => "Pause display",
            Self::OpenRun(i) => {
                let name = state.document.library.runs.get(*i).map(|run| run.name.clone()).unwrap_or_default();
                return format!("Open run {name}");
            }
            Self::OpenRecent(i) => {
                let path =
                    state.around.recent.projects.get(*i).map(|p| p.path.display().to_string()).unwrap_or_default();
                return format!("Open {path}");
            }
            Self::Example(name) => {
                return format!("Example: {}", examples::Example::by_name(name).map_or(*name, |e| e.title));
            }
            Self::ImportData => "Import connectivity…",
            Self::Export(format) => return format!("Export last run as {}", format.label()),
            Self::ExportRun(_, format) => return format!("Export as {}", format.label()),
            Self::ShowView(name) => {
                return format!(
                    "Show {}",
                    state.around.workspace.view_title(&state.document.session.live.schema, name)
                );
            }
            Self::OpenAnother(name) => {
                return state.around.workspace.another_title(&state.document.session.live.schema, name);
            }
            Self::Workspace(at) => {
                return format!("Workspace {}", state.around.workspace.titles().nth(*at).unwrap_or_default());
            }
            Self::ApplyLayout(at) => {
                let name = state.around.workspace.layouts.iter().nth(*at).map(|l| l.name.clone()).unwrap_or_default();
                return format!("Layout “{name}”");
            }
            Self::Home => "Home",
            Self::NewWorkspace => "New workspace",
            Self::CloseWorkspace => "Close workspace",
            Self::Maximise => "Maximise or restore panel",
            Self::FilterPanel => "Filter panel",
            Self::NextPanel => "Next panel",
            Self::PreviousPanel => "Previous panel",
            Self::UndoLayout => "Undo layout change",
            Self::RedoLayout => "Redo layout change",
            Self::ResetLayout(Target::Workspace) => "Reset layout to workspace default",
            Self::ResetLayout(Target::Project) => "Reset layout to project default",
            Self::ResetLayout(Target::Saved) => "Reset layout to last saved",
            Self::SaveLayout => "Save layout as…",
            Self::RunPause if live.running => "Pause",
            Self::RunPause if state.document.session.runs_again() => "Run again",
            Self::Record if live.recording.is_some() => "Stop recording",
            Self::Theme(Theme::Dark) => "Dark theme",
            Self::Theme(Theme::Light) => "Light theme",
            Self::Theme(Theme::System) => "System theme",
            Self::Step => return format!("Step × {}", state.around.pacing.text(1)),
            Self::StepMore => return format!("Step × {}", state.around.pacing.text(10)),
            Self::MoveCursor(n) => {
                let way = if *n < 0 { "back" } else { "forward" };
                return format!("Time cursor {way} × {}", state.around.pacing.text(n.unsigned_abs()));
            }
            Self::PlayPast if state.document.time.player.is_playing => "Pause playback",
            Self::Loop if state.document.time.axis.is_looping => "Stop looping range",
            Self::NewLike => "New project",
            Self::FocusSelection => "Focus selection",
            Self::ExportPanel => "Export panel as figure…",
            Self::ColorMenu => "Colour by…",
            Self::ToggleRange => "Lock colour range",
            Self::Open => "Open…",
            Self::Save => "Save",
            Self::SaveAs => "Save as…",
            Self::Quit => "Quit",
            Self::Undo => "Undo",
            Self::Redo => "Redo",
            Self::ResetParameters => "Reset all parameters",
            Self::RunPause => "Run",
            Self::Rewind => "Rewind to step 0",
            Self::Rebuild => match state.document.session.counts_in_force() {
                None => "Rebuild simulation",
                Some((_, 0)) => "Rerun project",
                Some(_) => "Rerun with these values",
            },
            Self::RerunRecorded => "Rerun as recorded",
            Self::ContinueOnCpu => "Continue on CPU",
            Self::CancelLoading => "Cancel loading",
            Self::Record => "Record",
            Self::Stimulate => "Stimulate selection",
            Self::Silence => "Silence selection",
            Self::SaveSelection => "Save selection as group",
            Self::Probe => "Probe selection",
            Self::SelectNone => "Clear selection",
            Self::GoStart => "Move cursor to start",
            Self::GoLive if state.document.time.axis.is_recorded => "Move cursor to end",
            Self::GoLive => "Follow live",
            Self::PlayPast => "Play from cursor",
            Self::Loop => "Loop range",
            Self::ZoomToRange => "Zoom to range",
            Self::ClearRange => "Clear range",
            Self::ToggleTree => "Project tree",
            Self::ToggleInspector => "Inspector",
            Self::ToggleLog => "Log",
            Self::ToggleDev => "Developer statistics",
            Self::ZoomIn => "Zoom in",
            Self::ZoomOut => "Zoom out",
            Self::ZoomReset => "Original size",
            Self::FullScreen => "Full screen",
            Self::Palette => "Command palette",
            Self::Help => "Keyboard shortcuts",
            Self::PanelHelp => "Panel help",
            Self::ModelHelp => "Model help",
            Self::MeasurePeak => "Measure peak performance",
            Self::Compare(_) => "Compare with CPU reference",
            Self::Requests => "Requests…",
            Self::Branch(_, step) => return format!("Branch from step {}", crate::app::kit::text::count(*step)),
            Self::Resume(_) => "Resume",
            Self::Rename => "Rename",
            Self::Duplicate => "Duplicate",
            Self::Delete => "Delete",
            Self::RefreshRuns => "Refresh runs",
            Self::RevealRun(_) => "Open run folder",
            Self::Replay(_) => "Replay and verify",
            Self::CancelReplay => "Cancel replay",
            Self::Settings => "Settings…",
            Self::Keys => "Edit shortcuts…",
            Self::System => "System information",
            Self::About => "About Neuropil",
        };
        fixed.to_owned()
    }

    pub const fn tooltip(&self) -> &'static str {
        match self {
            Self::NewLike => "Starts from the defaults of the open project's kind",
            Self::New(_) => "Starts from the defaults of this kind",
            Self::FocusSelection => "Frames the selected elements in spatial views",
            Self::ColorMenu | Self::ColorBy(_) => "Variable that colours the elements of the focused panel",
            Self::ToggleRange => "Keeps the colour range of the focused panel, or lets it follow the data",
            Self::ExportPanel => "Exports the focused panel as PNG, or as SVG with text as text",
            Self::Open | Self::OpenRecent(_) => {
                "Opens a project file; the current simulation continues until the new one is ready"
            }
            Self::OpenRun(_) => "Opens a finished run in the same views",
            Self::Example(_) => "Opens the example and runs it",
            Self::ImportData => "Builds a network from CSV or Parquet files",
            Self::Save | Self::SaveAs => {
                "Parameters, stimuli, groups, probes and layout; run data is stored in run folders"
            }
            Self::Export(_) | Self::ExportRun(..) => "Exports the recorded probes for other programs",
            Self::RunToEnd => "Runs to the project's duration, then pauses",
            Self::PauseDisplay => "The engine continues; the window draws only clock and speed",
            Self::Compare(_) => {
                "Runs the project from step 0 on one CPU thread and on the device in use, and reports the first difference"
            }
            Self::MeasurePeak => {
                "Measures bandwidth, arithmetic and launch rate for a few seconds; used by the roofline"
            }
            Self::Quit => "Closes a recording in progress, then quits",
            Self::Undo | Self::Redo | Self::UndoSteps(_) => "Also applies to the running simulation",
            Self::ResetParameters => "Sets all parameters to their defaults; lists stay",
            Self::RunPause => "Runs to the duration, or until paused where Continuous is on; pauses between two steps",
            Self::Step | Self::StepMore => "Advances this many steps, then pauses",
            Self::Rewind => "Same network, same parameters, time zero; a recording in progress is closed",
            Self::Rebuild => "Applies changes that need a new simulation; the old one continues meanwhile",
            Self::RerunRecorded => {
                "Runs the recorded project from step 0, and repeats its edits and actions at their steps"
            }
            Self::ContinueOnCpu => "Continues from the last checkpoint, else from step 0; the project is unchanged",
            Self::CancelLoading => "Keeps the old simulation, or the old data",
            Self::Record => "Writes the chosen probes and every edit to a run folder",
            Self::Stimulate => "Adds a stimulus on the selected elements",
            Self::Silence => "Silences the selected elements",
            Self::SaveSelection => "Saves the selection as a named group of the project",
            Self::Probe => "Saves the selection as a group, shows its traces and records them",
            Self::SelectNone => "Clears the selection in all views",
            Self::MoveCursor(_) => "All linked views show the states at the cursor",
            Self::GoStart => "The oldest step in the history",
            Self::GoLive => "Views follow the newest data again",
            Self::PlayPast => "Moves the cursor through the history, at the speed of the run or in real time",
            Self::Loop => "Repeats the range during playback",
            Self::ZoomToRange => "All linked views show the range",
            Self::ClearRange => "Clears the time range",
            Self::ShowView(_) => "Brings the view to the front, or adds it",
            Self::OpenAnother(_) => "Opens a second panel with this view",
            Self::Home => "Examples, recent projects, import",
            Self::Workspace(_) => "Brings the workspace to the front",
            Self::NewWorkspace => "Copies the current workspace",
            Self::CloseWorkspace => "Its panels stay in the other workspaces",
            Self::Maximise => "The focused panel fills the centre",
            Self::FilterPanel => "Focuses the filter field of the panel",
            Self::NextPanel | Self::PreviousPanel => "Moves the focus from panel to panel",
            Self::UndoLayout | Self::RedoLayout => "Changes the layout only; parameters stay",
            Self::ResetLayout(Target::Workspace) => "The layout suggested for this simulation",
            Self::ResetLayout(Target::Project) => "The layout stored in the opened project",
            Self::ResetLayout(Target::Saved) => "The layout last saved with the project",
            Self::SaveLayout => "Saves this layout under a name, for this project or for all",
            Self::ApplyLayout(_) => "Applies the saved layout",
            Self::ToggleTree | Self::ToggleInspector | Self::ToggleLog => "Shows or hides the panel",
            Self::ToggleDev => "Frame times, latency, batch times",
            Self::Theme(_) => "Colours of the window",
            Self::ZoomIn | Self::ZoomOut | Self::ZoomReset => "Size of everything in the window",
            Self::FullScreen => "The window fills the screen",
            Self::Palette => "Search commands and parameters; type parameter=value to set one",
            Self::Help => "Lists all shortcuts",
            Self::PanelHelp => "Describes the focused panel",
            Self::ModelHelp => "Describes the mechanisms of the model, and what was measured",
            Self::Rename | Self::Duplicate => "The selected item of the project tree",
            Self::Delete => "Deletes the selected item of the project tree; undo restores it",
            Self::RefreshRuns => "Reads the runs folder of the project again",
            Self::RevealRun(_) => "In the desktop’s file manager",
            Self::Requests => "Questions to the running simulation, which change nothing",
            Self::Branch(..) => "Continues from this state with its parameters; change them, run and record",
            Self::Resume(_) => "Continues the run and its recording from its last checkpoint",
            Self::Replay(_) | Self::CancelReplay => {
                "Runs the run folder again with every logged edit and compares every event"
            }
            Self::Settings => "Colours, sizes, numbers, autosave",
            Self::Keys => "Assigns shortcuts to commands",
            Self::System => "Devices, drivers, folders and environment, for a bug report",
            Self::About => "Version and licences",
        }
    }

    pub const fn icon(&self) -> &'static str {
        match self {
            Self::NewLike | Self::New(_) => icons::FILE_PLUS,
            Self::FocusSelection => icons::CROSSHAIR,
            Self::ExportPanel => icons::EXPORT,
            Self::ColorMenu | Self::ColorBy(_) | Self::ToggleRange => icons::SLIDERS,
            Self::Open | Self::OpenRecent(_) => icons::FOLDER,
            Self::OpenRun(_) => icons::FLASK,
            Self::Example(_) => icons::BRAIN,
            Self::ImportData => icons::IMPORT,
            Self::Save | Self::SaveAs => icons::SAVE,
            Self::Export(_) | Self::ExportRun(..) => icons::EXPORT,
            Self::UndoSteps(_) => icons::CLOCK,
            Self::Undo => icons::UNDO,
            Self::Redo => icons::REDO,
            Self::RunPause => icons::PLAY,
            Self::Step | Self::StepMore => icons::STEP,
            Self::RunToEnd => icons::STEP,
            Self::PauseDisplay => icons::EYE_OFF,
            Self::MeasurePeak => icons::GAUGE,
            Self::Compare(_) => icons::CHECK,
            Self::Rewind => icons::REWIND,
            Self::Rebuild => icons::HAMMER,
            Self::RerunRecorded => icons::PLAY,
            Self::ContinueOnCpu => icons::CPU,
            Self::Record => icons::RECORD,
            Self::Stimulate => icons::LIGHTNING,
            Self::Silence => icons::SCISSORS,
            Self::Probe => icons::CROSSHAIR,
            Self::PlayPast => icons::PLAY,
            Self::Loop => icons::LOOP,
            Self::GoStart => icons::REWIND,
            Self::GoLive => icons::RECORD,
            Self::MoveCursor(_) => icons::STEP,
            Self::ZoomToRange | Self::ClearRange => icons::SEARCH,
            Self::SaveSelection | Self::SelectNone => icons::SELECTION,
            Self::ShowView(_) | Self::OpenAnother(_) | Self::ResetLayout(_) | Self::ApplyLayout(_) => icons::GRID,
            Self::Home => icons::HOUSE,
            Self::Workspace(_) | Self::NextPanel | Self::PreviousPanel => icons::GRID,
            Self::FilterPanel => icons::FUNNEL,
            Self::NewWorkspace => icons::PLUS,
            Self::CloseWorkspace => icons::CLOSE,
            Self::Maximise => icons::MAXIMISE,
            Self::UndoLayout => icons::UNDO,
            Self::RedoLayout => icons::REDO,
            Self::SaveLayout => icons::SAVE,
            Self::ToggleTree | Self::ToggleInspector => icons::SIDEBAR,
            Self::ToggleLog => icons::TERMINAL,
            Self::ToggleDev => icons::GAUGE,
            Self::Theme(_) => icons::SUN,
            Self::Palette => icons::COMMAND,
            Self::Help => icons::HELP,
            Self::PanelHelp => icons::HELP,
            Self::ModelHelp => icons::HELP,
            Self::Rename => icons::PENCIL,
            Self::Duplicate => icons::COPY,
            Self::Delete => icons::TRASH,
            Self::RefreshRuns | Self::RevealRun(_) => icons::FLASK,
            Self::Requests => icons::COMMAND,
            Self::Branch(..) => icons::FLASK,
            Self::Resume(_) => icons::PLAY,
            Self::Replay(_) => icons::REWIND,
            Self::CancelReplay => icons::CLOSE,
            Self::Settings => icons::GEAR,
            Self::Keys => icons::COMMAND,
            Self::System => icons::CPU,
            Self::About => icons::INFO,
            Self::ResetParameters => icons::SLIDERS,
            Self::Quit | Self::CancelLoading => icons::CLOSE,
            Self::ZoomIn | Self::ZoomOut | Self::ZoomReset => icons::SEARCH,
            Self::FullScreen => icons::MAXIMISE,
        }
    }
}
