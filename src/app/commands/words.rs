//! What every command is called, what it does in a sentence, and its glyph.

use super::UiCommand;
use crate::{
    app::{
        App, examples, icons,
        settings::Theme,
        workspace::{self, Target},
    },
    kinds::Model,
};

impl UiCommand {
    /// As menus, palette and tooltips say it.
    pub fn text(&self, app: &App) -> String {
        let live = &app.session.live;
        let fixed = match self {
            Self::New(kind) => {
                let title = Model::by_name(kind).map_or(*kind, |m| m.title());
                return format!("New project: {}", title.to_lowercase());
            }
            Self::ColorBy(at) => {
                let (options, now) = app.workspace.colorings(&live.schema);
                let name = options.get(*at).map_or("", String::as_str);
                return format!("Colour by {name}{}", if *at == now { ", as now" } else { "" });
            }
            Self::Travel(steps) if *steps < 0 => return format!("Undo {} steps", steps.unsigned_abs()),
            Self::Travel(steps) => return format!("Redo {steps} steps"),
            Self::RunToEnd => {
                let end = app.planned_end().map(|step| app.time_text(step as f64));
                return format!("Run to {}", end.unwrap_or_else(|| "the planned end".into()));
            }
            Self::ToggleUpdates if app.pacing.updates_are_off => "Draw again",
            Self::ToggleUpdates => "Updates off",
            Self::OpenRun(i) => {
                let name = app.library.runs.get(*i).map(|run| run.name.clone()).unwrap_or_default();
                return format!("Open run {name}");
            }
            Self::OpenRecent(i) => {
                let path = app.recent.projects.get(*i).map(|p| p.path.display().to_string()).unwrap_or_default();
                return format!("Open {path}");
            }
            Self::Example(name) => {
                return format!("Example: {}", examples::Example::by_name(name).map_or(*name, |e| e.title));
            }
            Self::ImportData => "Import wiring…",
            Self::Export(format) => return format!("Export last run as {}", format.extension().to_uppercase()),
            Self::ShowView(name) => return format!("Show {}", workspace::view_title(app, name)),
            Self::OpenAnother(name) => return format!("Open another panel: {}", workspace::view_title(app, name)),
            Self::Workspace(at) => return format!("Workspace {}", app.workspace.titles().nth(*at).unwrap_or_default()),
            Self::ApplyLayout(at) => {
                let name = app.workspace.layouts.iter().nth(*at).map(|l| l.name.clone()).unwrap_or_default();
                return format!("Layout “{name}”");
            }
            Self::Home => "Home",
            Self::NewWorkspace => "Another workspace",
            Self::CloseWorkspace => "Close the workspace",
            Self::Maximise => "Maximise the panel, or restore it",
            Self::FilterPanel => "Filter the panel",
            Self::NextPanel => "Next panel",
            Self::PreviousPanel => "Previous panel",
            Self::UndoLayout => "Undo the layout change",
            Self::RedoLayout => "Redo the layout change",
            Self::ResetLayout(Target::Workspace) => "Reset layout to the workspace’s default",
            Self::ResetLayout(Target::Project) => "Reset layout to the project’s default",
            Self::ResetLayout(Target::Saved) => "Reset layout to the last saved",
            Self::SaveLayout => "Save layout as…",
            Self::RunPause if live.running => "Pause",
            Self::Record if live.recording.is_some() => "Stop recording",
            Self::Theme(Theme::Dark) => "Dark theme",
            Self::Theme(Theme::Light) => "Light theme",
            Self::Theme(Theme::System) => "Theme of the system",
            Self::Step => return format!("Step × {}", app.step_text(1)),
            Self::StepMore => return format!("Step × {}", app.step_text(10)),
            Self::MoveCursor(n) => {
                let way = if *n < 0 { "back" } else { "forward" };
                return format!("Time cursor {way} × {}", app.step_text(n.unsigned_abs()));
            }
            Self::PlayPast if app.time.player.is_playing => "Pause the playback",
            Self::Loop if app.time.axis.is_looping => "Do not loop the range",
            Self::NewLike => "New project",
            Self::FocusSelection => "Focus the selection",
            Self::ExportPanel => "Export the panel as a picture…",
            Self::ColorMenu => "Colour by…",
            Self::ToggleRange => "Keep the range of colours, or let it follow",
            Self::Open => "Open…",
            Self::Save => "Save",
            Self::SaveAs => "Save as…",
            Self::Quit => "Quit",
            Self::Undo => "Undo",
            Self::Redo => "Redo",
            Self::ResetParameters => "Reset all parameters",
            Self::RunPause => "Run",
            Self::Rewind => "Rewind to step 0",
            Self::Rebuild => "Rebuild the simulation",
            Self::ContinueOnCpu => "Continue on the CPU",
            Self::CancelLoading => "Cancel loading",
            Self::Record => "Record",
            Self::Stimulate => "Stimulate the selection",
            Self::Silence => "Silence the selection",
            Self::SaveSelection => "Save the selection as a set",
            Self::Probe => "Probe the selection",
            Self::SelectNone => "Clear the selection",
            Self::GoStart => "Time cursor to the start",
            Self::GoLive => "Back to LIVE",
            Self::PlayPast => "Play from the cursor",
            Self::Loop => "Loop the range",
            Self::ZoomToRange => "Zoom to the range",
            Self::ClearRange => "Clear the range",
            Self::ToggleTree => "Project tree",
            Self::ToggleInspector => "Inspector",
            Self::ToggleLog => "Log",
            Self::ToggleDev => "Developer figures",
            Self::ZoomIn => "Zoom in",
            Self::ZoomOut => "Zoom out",
            Self::ZoomReset => "Original size",
            Self::FullScreen => "Full screen",
            Self::Palette => "Command palette",
            Self::Help => "Keyboard shortcuts",
            Self::PanelHelp => "Help on the panel",
            Self::MeasureCeilings => "Measure the device's ceilings",
            Self::Compare(_) => "Compare with the reference",
            Self::Rename => "Rename",
            Self::Duplicate => "Duplicate",
            Self::Delete => "Delete",
            Self::RefreshRuns => "Read the runs again",
            Self::RevealRun(_) => "Open the run’s folder",
            Self::Replay(_) => "Run again exactly",
            Self::CancelReplay => "Stop running it again",
            Self::Settings => "Settings…",
            Self::Keys => "Change keys…",
            Self::System => "System information",
            Self::About => "About Neuropil",
        };
        fixed.to_owned()
    }

    /// One sentence more.
    pub const fn tooltip(&self) -> &'static str {
        match self {
            Self::NewLike => "Starts from the defaults of the kind that is open",
            Self::New(_) => "Starts from the defaults of this kind",
            Self::FocusSelection => "The views of space frame the selected elements",
            Self::ColorMenu | Self::ColorBy(_) => {
                "What the elements in the panel that was clicked last are coloured by"
            }
            Self::ToggleRange => "In the panel that was clicked last",
            Self::ExportPanel => {
                "The panel that was clicked last, in the colours of the screen: PNG, or SVG with text as text"
            }
            Self::Open | Self::OpenRecent(_) => {
                "Opens a project file; the present simulation runs on until the new one is ready"
            }
            Self::OpenRun(_) => "Shows a finished run in the same views, to be scrubbed and played",
            Self::Example(_) => "Opens the example and runs it",
            Self::ImportData => "A project that reads neurons and connections from CSV or Parquet files",
            Self::Save | Self::SaveAs => {
                "Parameters, stimuli, selections, probes and layout; run data is kept in run folders"
            }
            Self::Export(_) => "Writes the recorded probes for other programs",
            Self::RunToEnd => "Up to the duration the project plans, then pauses",
            Self::ToggleUpdates => "The engine runs freely; the window draws only its clock and speed",
            Self::Compare(_) => {
                "Runs the project from step 0 on one CPU thread and on the device in use, and says where they part"
            }
            Self::MeasureCeilings => {
                "Takes a few seconds of the whole device: bandwidth, arithmetic, launches; kept for the roofline"
            }
            Self::Quit => "Ends the program; a recording in progress is closed properly",
            Self::Undo | Self::Redo | Self::Travel(_) => "Also reaches the running simulation",
            Self::ResetParameters => "All parameters to the kind's defaults; lists stay",
            Self::RunPause => "Stops between two steps; nothing is lost",
            Self::Step | Self::StepMore => "Takes exactly this many steps, then pauses",
            Self::Rewind => "Same network, same parameters, time zero; a recording in progress is closed",
            Self::Rebuild => "Takes up the changes that a running simulation cannot; the old one runs on meanwhile",
            Self::ContinueOnCpu => {
                "Goes on where the last state was kept, else from step 0; the project stays as it is"
            }
            Self::CancelLoading => "The old simulation stays",
            Self::Record => "Writes the chosen probes and every edit to a run folder",
            Self::Stimulate => "Adds a stimulus on the selected elements",
            Self::Silence => "Adds a lesion on the selected elements",
            Self::SaveSelection => "Adds a named selection to the project",
            Self::Probe => "Names the selection, shows its traces and records them",
            Self::SelectNone => "Nothing is selected in any view",
            Self::MoveCursor(_) => "All linked views show the states at the cursor",
            Self::GoStart => "The oldest step that is still remembered",
            Self::GoLive => "Views follow the newest data again",
            Self::PlayPast => "Moves the cursor through what is remembered, at the speed of the run or in real time",
            Self::Loop => "Playing starts over at the end of the range",
            Self::ZoomToRange => "All linked views show the range",
            Self::ClearRange => "No range of time is chosen",
            Self::ShowView(_) => "Brings the view to the front, or adds it",
            Self::OpenAnother(_) => "A second panel with a view of its own",
            Self::Home => "Examples, recent projects, import",
            Self::Workspace(_) => "Brings the workspace to the front",
            Self::NewWorkspace => "A copy of this workspace, to be arranged otherwise",
            Self::CloseWorkspace => "Its panels stay in the other workspaces",
            Self::Maximise => "The panel that was clicked last fills the centre",
            Self::FilterPanel => "The field that says what the panel shows",
            Self::NextPanel | Self::PreviousPanel => "The keyboard goes from panel to panel",
            Self::UndoLayout | Self::RedoLayout => "Only the arrangement of panels; parameters stay",
            Self::ResetLayout(Target::Workspace) => "The layout that fits what this simulation can show",
            Self::ResetLayout(Target::Project) => "The layout the project came with",
            Self::ResetLayout(Target::Saved) => "The layout as it was last saved with the project",
            Self::SaveLayout => "Keeps this arrangement under a name, for this project or for all",
            Self::ApplyLayout(_) => "Arranges the panels as they were kept",
            Self::ToggleTree | Self::ToggleInspector | Self::ToggleLog => "Shows or hides the panel",
            Self::ToggleDev => "Frame times, latency, batch times",
            Self::Theme(_) => "Colours of the window",
            Self::ZoomIn | Self::ZoomOut | Self::ZoomReset => "Size of everything in the window",
            Self::FullScreen => "The window fills the screen",
            Self::Palette => "Search commands and parameters; type lif.tau_m=15ms to set one",
            Self::Help => "All keys at a glance",
            Self::PanelHelp => "What the panel shows, and how to work with it",
            Self::Rename | Self::Duplicate => "The chosen selection, stimulus or lesion of the project",
            Self::Delete => "Takes the chosen item out of the project; undo brings it back",
            Self::RefreshRuns => "Looks into the folder of runs beside the project",
            Self::RevealRun(_) => "In the desktop’s file manager",
            Self::Replay(_) | Self::CancelReplay => {
                "From its folder alone, with every live edit at its step; every event is compared with the recorded ones"
            }
            Self::Settings => "Colours, sizes, numbers, autosave",
            Self::Keys => "Other keys for any command",
            Self::System => "Devices, drivers, folders, environment: to copy into a report",
            Self::About => "Version and licences",
        }
    }

    /// Its glyph, when it has one.
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
            Self::Export(_) => icons::EXPORT,
            Self::Travel(_) => icons::CLOCK,
            Self::Undo => icons::UNDO,
            Self::Redo => icons::REDO,
            Self::RunPause => icons::PLAY,
            Self::Step | Self::StepMore => icons::STEP,
            Self::RunToEnd => icons::STEP,
            Self::ToggleUpdates => icons::EYE_OFF,
            Self::MeasureCeilings => icons::GAUGE,
            Self::Compare(_) => icons::CHECK,
            Self::Rewind => icons::REWIND,
            Self::Rebuild => icons::HAMMER,
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
            Self::Rename => icons::PENCIL,
            Self::Duplicate => icons::COPY,
            Self::Delete => icons::TRASH,
            Self::RefreshRuns | Self::RevealRun(_) => icons::FLASK,
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
