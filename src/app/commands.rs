//! Every command of the window: text, tooltip, shortcut, and why it cannot be used at the moment. One list for the
//! menus, the palette and the keyboard.

use super::{
    App, icons,
    workspace::{self, Target},
};
use crate::{export::Format, kinds::Model};
use egui::{Key, KeyboardShortcut, Modifiers};

/// Something the user can ask of the window.
#[derive(Clone, Debug, PartialEq)]
pub enum UiCommand {
    /// A new project of this kind.
    New(&'static str),
    /// The file dialog.
    Open,
    /// A project that was open before, by its place in the list.
    OpenRecent(usize),
    /// Shows a finished run, by its place in the list.
    OpenRun(usize),
    /// Saves, asking for a file when there is none.
    Save,
    /// Asks for a file, then saves.
    SaveAs,
    /// Writes the last run for other programs.
    Export(Format),
    /// Ends the program.
    Quit,
    /// One step back.
    Undo,
    /// One step forward.
    Redo,
    /// All parameters to their defaults.
    ResetParameters,
    /// Runs, or stops between two steps.
    RunPause,
    /// Takes N steps.
    Step,
    /// Takes ten times N steps.
    StepMore,
    /// Runs to the end of the planned duration.
    RunToEnd,
    /// Draws nothing but gauges, or draws again.
    ToggleUpdates,
    /// Back to step 0.
    Rewind,
    /// Builds the simulation anew.
    Rebuild,
    /// Builds the simulation on the CPU after the device has failed.
    ContinueOnCpu,
    /// Measures what the device can do at best.
    MeasureCeilings,
    /// Runs the project on this device and on the reference for so many steps, and compares.
    Compare(u64),
    /// Stops loading.
    CancelLoading,
    /// Starts or ends a recording.
    Record,
    /// Drives the selected elements.
    Stimulate,
    /// Silences the selected elements.
    Silence,
    /// Names the selected elements.
    SaveSelection,
    /// Shows and records the selected elements.
    Probe,
    /// Moves the time cursor by this many times N steps; back when negative.
    MoveCursor(i32),
    /// The time cursor to the oldest remembered step.
    GoStart,
    /// Back to the present.
    GoLive,
    /// Plays what is remembered from the cursor, or stops.
    PlayPast,
    /// Playing starts over at the end of the chosen range.
    Loop,
    /// Views show the chosen range.
    ZoomToRange,
    /// No range is chosen.
    ClearRange,
    /// Nothing is selected.
    SelectNone,
    /// Shows a view.
    ShowView(&'static str),
    /// One more panel with a view.
    OpenAnother(&'static str),
    /// The page to begin with.
    Home,
    /// Brings a workspace to the front, by its place.
    Workspace(usize),
    /// A copy of the workspace in front.
    NewWorkspace,
    /// Closes a workspace that is a copy.
    CloseWorkspace,
    /// The panel with the keyboard fills the centre, or goes back.
    Maximise,
    /// The keyboard goes to the next panel.
    NextPanel,
    /// The keyboard goes to the panel before.
    PreviousPanel,
    /// The arrangement of panels as it was before the last change.
    UndoLayout,
    /// Takes back the last undo of the arrangement.
    RedoLayout,
    /// The arrangement as it was.
    ResetLayout(Target),
    /// Keeps the arrangement under a name.
    SaveLayout,
    /// An arrangement that was kept, by its place in the list.
    ApplyLayout(usize),
    /// Shows or hides the project tree.
    ToggleTree,
    /// Shows or hides the inspector.
    ToggleInspector,
    /// Shows or hides the log.
    ToggleLog,
    /// Shows or hides the figures about the window itself.
    ToggleDev,
    /// Dark, light, or as the system has it.
    Theme(egui::ThemePreference),
    /// Larger.
    ZoomIn,
    /// Smaller.
    ZoomOut,
    /// Original size.
    ZoomReset,
    /// The whole screen.
    FullScreen,
    /// The command palette.
    Palette,
    /// So many steps of the history: back when negative.
    Travel(i32),
    /// The shortcuts.
    Help,
    /// Version, licence, device.
    About,
}

/// So many of the newest runs are offered in menus and the palette.
const MOST_RUNS: usize = 20;

/// The menus, in order.
pub const MENUS: [&str; 6] = ["File", "Edit", "Simulation", "View", "Window", "Help"];

impl UiCommand {
    /// All commands, in menu order. Recent files and views come from the app.
    pub fn all(app: &App) -> Vec<Self> {
        let mut all: Vec<Self> = Model::all().iter().map(|m| Self::New(m.name())).collect();
        all.extend([Self::Open]);
        all.extend((0..app.recent.paths.len()).map(Self::OpenRecent));
        all.extend((0..app.runs.len()).rev().take(MOST_RUNS).map(Self::OpenRun));
        all.extend([Self::Save, Self::SaveAs]);
        all.extend(Format::ALL.map(Self::Export));
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
            Self::RunPause,
            Self::Step,
            Self::StepMore,
            Self::RunToEnd,
            Self::ToggleUpdates,
            Self::Rewind,
            Self::Rebuild,
            Self::ContinueOnCpu,
            Self::MeasureCeilings,
            Self::Compare(200),
            Self::CancelLoading,
            Self::Record,
        ]);
        all.extend(workspace::view_names(app).map(Self::ShowView));
        all.extend([-1, 1, -10, 10].map(Self::MoveCursor));
        all.extend([Self::GoStart, Self::GoLive, Self::PlayPast, Self::Loop, Self::ZoomToRange, Self::ClearRange]);
        use egui::ThemePreference::{Dark, Light, System};
        all.extend([Dark, Light, System].map(Self::Theme));
        all.extend([Self::ZoomIn, Self::ZoomOut, Self::ZoomReset, Self::FullScreen]);
        all.push(Self::Home);
        all.extend((0..app.workspace.titles().count()).map(Self::Workspace));
        all.extend([Self::NewWorkspace, Self::CloseWorkspace, Self::Maximise, Self::NextPanel, Self::PreviousPanel]);
        all.extend(Self::layout(app));
        all.extend([Self::ToggleTree, Self::ToggleInspector, Self::ToggleLog]);
        all.extend([Self::Palette, Self::Help, Self::ToggleDev, Self::About]);
        all
    }

    /// What can be done to the arrangement of panels.
    pub fn layout(app: &App) -> Vec<Self> {
        let mut all = vec![Self::UndoLayout, Self::RedoLayout];
        all.extend(Target::ALL.map(Self::ResetLayout));
        all.push(Self::SaveLayout);
        all.extend((0..app.workspace.layouts.iter().count()).map(Self::ApplyLayout));
        all
    }

    /// Which menu it is in, and whether a line goes above it.
    pub const fn menu(&self) -> (&'static str, bool) {
        match self {
            Self::New(_) | Self::Open | Self::OpenRecent(_) | Self::OpenRun(_) | Self::SaveAs => ("File", false),
            Self::Save | Self::Quit => ("File", true),
            Self::Export(f) => ("File", matches!(f, Format::Csv)),
            Self::Undo
            | Self::Redo
            | Self::Travel(_)
            | Self::Silence
            | Self::Probe
            | Self::SaveSelection
            | Self::SelectNone => ("Edit", false),
            Self::ResetParameters | Self::Stimulate => ("Edit", true),
            Self::RunToEnd | Self::ToggleUpdates => ("Simulation", false),
            Self::RunPause
            | Self::Step
            | Self::StepMore
            | Self::Rewind
            | Self::ContinueOnCpu
            | Self::MeasureCeilings
            | Self::Compare(_)
            | Self::CancelLoading => ("Simulation", false),
            Self::ShowView(_) | Self::OpenAnother(_) => ("View", false),
            Self::Workspace(_) | Self::CloseWorkspace | Self::NextPanel | Self::PreviousPanel | Self::RedoLayout => {
                ("Window", false)
            }
            Self::Home | Self::NewWorkspace | Self::Maximise | Self::UndoLayout | Self::SaveLayout => ("Window", true),
            Self::ResetLayout(t) => ("Window", matches!(t, Target::Workspace)),
            Self::ApplyLayout(_) | Self::ToggleInspector | Self::ToggleLog => ("Window", false),
            Self::ToggleTree => ("Window", true),
            Self::ZoomIn => ("View", true),
            Self::MoveCursor(_) | Self::GoLive | Self::PlayPast | Self::Loop | Self::ZoomToRange | Self::ClearRange => {
                ("Simulation", false)
            }
            Self::Rebuild | Self::Record | Self::GoStart => ("Simulation", true),
            Self::Theme(t) => ("View", matches!(t, egui::ThemePreference::Dark)),
            Self::ZoomOut | Self::ZoomReset | Self::FullScreen => ("View", false),
            Self::Palette | Self::Help => ("Help", false),
            Self::ToggleDev | Self::About => ("Help", true),
        }
    }

    /// As menus, palette and tooltips say it.
    pub fn text(&self, app: &App) -> String {
        let live = &app.session.live;
        let fixed = match self {
            Self::New(kind) => {
                let title = Model::by_name(kind).map_or(*kind, |m| m.title());
                return format!("New project: {}", title.to_lowercase());
            }
            Self::OpenRun(i) => {
                let name = app.runs.get(*i).and_then(|run| run.file_name()).unwrap_or_default();
                return format!("Open run {}", name.to_string_lossy());
            }
            Self::OpenRecent(i) => {
                let path = app.recent.paths.get(*i).map(|p| p.display().to_string()).unwrap_or_default();
                return format!("Open {path}");
            }
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
            Self::Theme(egui::ThemePreference::Dark) => "Dark theme",
            Self::Theme(egui::ThemePreference::Light) => "Light theme",
            Self::Theme(egui::ThemePreference::System) => "Theme of the system",
            Self::Step => return format!("Step × {}", app.step_text(1)),
            Self::StepMore => return format!("Step × {}", app.step_text(10)),
            Self::MoveCursor(n) => {
                let way = if *n < 0 { "back" } else { "forward" };
                return format!("Time cursor {way} × {}", app.step_text(n.unsigned_abs()));
            }
            Self::RunToEnd => {
                let end = app.planned_end().map(|step| app.time_text(step as f64));
                return format!("Run to {}", end.unwrap_or_else(|| "the planned end".into()));
            }
            Self::ToggleUpdates if app.pacing.updates_are_off => "Draw again",
            Self::ToggleUpdates => "Updates off",
            Self::PlayPast if app.time.player.is_playing => "Pause the playback",
            Self::Loop if app.time.axis.is_looping => "Do not loop the range",
            Self::Open => "Open…",
            Self::Save => "Save",
            Self::SaveAs => "Save as…",
            Self::Quit => "Quit",
            Self::Travel(steps) if *steps < 0 => return format!("Undo {} steps", steps.unsigned_abs()),
            Self::Travel(steps) => return format!("Redo {steps} steps"),
            Self::Undo => "Undo",
            Self::Redo => "Redo",
            Self::ResetParameters => "Reset all parameters",
            Self::RunPause => "Run",
            Self::Rewind => "Rewind to step 0",
            Self::Rebuild => "Rebuild the simulation",
            Self::ContinueOnCpu => "Continue on the CPU",
            Self::MeasureCeilings => "Measure the device's ceilings",
            Self::Compare(_) => "Compare with the reference",
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
            Self::About => "About Neuropil",
        };
        fixed.to_owned()
    }

    /// One sentence more.
    pub const fn tooltip(&self) -> &'static str {
        match self {
            Self::New(_) => "Starts from the defaults of this kind",
            Self::Open | Self::OpenRecent(_) => {
                "Opens a project file; the present simulation runs on until the new one is ready"
            }
            Self::OpenRun(_) => "Shows a finished run in the same views, to be scrubbed and played",
            Self::Save | Self::SaveAs => {
                "Parameters, stimuli, selections, probes and layout; run data is kept in run folders"
            }
            Self::Export(_) => "Writes the recorded probes for other programs",
            Self::Quit => "Ends the program; a recording in progress is closed properly",
            Self::Undo | Self::Redo | Self::Travel(_) => "Also reaches the running simulation",
            Self::ResetParameters => "All parameters to the kind's defaults; lists stay",
            Self::RunPause => "Stops between two steps; nothing is lost",
            Self::RunToEnd => "Up to the duration the project plans, then pauses",
            Self::ToggleUpdates => "The engine runs freely; the window draws only its clock and speed",
            Self::Step | Self::StepMore => "Takes exactly this many steps, then pauses",
            Self::Rewind => "Same network, same parameters, time zero; a recording in progress is closed",
            Self::Rebuild => "Takes up the changes that a running simulation cannot; the old one runs on meanwhile",
            Self::Compare(_) => {
                "Runs the project from step 0 on one CPU thread and on the device in use, and says where they part"
            }
            Self::MeasureCeilings => {
                "Takes a few seconds of the whole device: bandwidth, arithmetic, launches; kept for the roofline"
            }
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
            Self::About => "Version, licences, device",
        }
    }

    /// Its glyph, when it has one.
    pub const fn icon(&self) -> &'static str {
        match self {
            Self::New(_) => icons::FILE_PLUS,
            Self::Open | Self::OpenRecent(_) => icons::FOLDER,
            Self::OpenRun(_) => icons::FLASK,
            Self::Save | Self::SaveAs => icons::SAVE,
            Self::Export(_) => icons::EXPORT,
            Self::Undo => icons::UNDO,
            Self::Travel(_) => icons::CLOCK,
            Self::Redo => icons::REDO,
            Self::RunPause => icons::PLAY,
            Self::Step | Self::StepMore => icons::STEP,
            Self::RunToEnd => icons::STEP,
            Self::ToggleUpdates => icons::EYE_OFF,
            Self::Rewind => icons::REWIND,
            Self::Rebuild => icons::HAMMER,
            Self::ContinueOnCpu => icons::CPU,
            Self::MeasureCeilings => icons::GAUGE,
            Self::Compare(_) => icons::CHECK,
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
            Self::About => icons::INFO,
            Self::ResetParameters => icons::SLIDERS,
            Self::Quit | Self::CancelLoading => icons::CLOSE,
            Self::ZoomIn | Self::ZoomOut | Self::ZoomReset => icons::SEARCH,
            Self::FullScreen => icons::MAXIMISE,
        }
    }

    /// Its keys. Single letters count only while no text is being typed.
    pub const fn shortcut(&self) -> Option<KeyboardShortcut> {
        const CTRL: Modifiers = Modifiers::COMMAND;
        const SHIFT_CTRL: Modifiers = Modifiers { shift: true, ..Modifiers::COMMAND };
        const ALT_CTRL: Modifiers = Modifiers { alt: true, ..Modifiers::COMMAND };
        const NUMBERS: [Key; workspace::WITH_KEYS] = [Key::Num1, Key::Num2, Key::Num3, Key::Num4, Key::Num5, Key::Num6];
        let (modifiers, key) = match self {
            Self::Open => (CTRL, Key::O),
            Self::Save => (CTRL, Key::S),
            Self::SaveAs => (SHIFT_CTRL, Key::S),
            Self::Quit => (CTRL, Key::Q),
            Self::Undo => (CTRL, Key::Z),
            Self::Redo => (SHIFT_CTRL, Key::Z),
            Self::RunPause => (Modifiers::NONE, Key::Space),
            Self::Step => (Modifiers::NONE, Key::Period),
            Self::StepMore => (Modifiers::SHIFT, Key::Period),
            Self::Rewind => (CTRL, Key::Backspace),
            Self::MoveCursor(-1) => (Modifiers::NONE, Key::ArrowLeft),
            Self::MoveCursor(1) => (Modifiers::NONE, Key::ArrowRight),
            Self::MoveCursor(-10) => (Modifiers::SHIFT, Key::ArrowLeft),
            Self::MoveCursor(10) => (Modifiers::SHIFT, Key::ArrowRight),
            Self::GoStart => (Modifiers::NONE, Key::Home),
            Self::GoLive => (Modifiers::NONE, Key::End),
            Self::PlayPast => (Modifiers::SHIFT, Key::Space),
            Self::Rebuild => (CTRL, Key::R),
            Self::Stimulate => (Modifiers::NONE, Key::S),
            Self::Silence => (Modifiers::NONE, Key::X),
            Self::Probe => (Modifiers::NONE, Key::P),
            Self::SelectNone => (Modifiers::NONE, Key::Escape),
            Self::Workspace(at) if *at < workspace::WITH_KEYS => (CTRL, NUMBERS[*at]),
            Self::Maximise => (Modifiers::SHIFT, Key::F),
            Self::NextPanel => (Modifiers::NONE, Key::F6),
            Self::PreviousPanel => (Modifiers::SHIFT, Key::F6),
            Self::UndoLayout => (ALT_CTRL, Key::Z),
            Self::RedoLayout => (ALT_CTRL, Key::Y),
            Self::ToggleTree => (CTRL, Key::B),
            Self::ToggleInspector => (CTRL, Key::I),
            Self::ToggleLog => (CTRL, Key::J),
            Self::ToggleDev => (Modifiers::NONE, Key::F12),
            Self::FullScreen => (Modifiers::NONE, Key::F11),
            Self::ZoomIn => (CTRL, Key::Plus),
            Self::ZoomOut => (CTRL, Key::Minus),
            Self::ZoomReset => (CTRL, Key::Num0),
            Self::Palette => (CTRL, Key::K),
            Self::Help => (Modifiers::NONE, Key::F1),
            _ => return None,
        };
        Some(KeyboardShortcut::new(modifiers, key))
    }

    /// Why it cannot be used now; `None` when it can.
    pub fn why_not(&self, app: &App) -> Option<&'static str> {
        let (session, live) = (&app.session, &app.session.live);
        let (undo, redo) = session.history.counts();
        let needs = |ok: bool, why| if ok { None } else { Some(why) };
        let failed = live.rescue.fault.as_ref().is_some_and(|fault| fault.stopped);
        let alive = needs(!failed, "The device failed: continue on the CPU, or rebuild");
        let loaded = needs(live.is_loaded(), "There is no simulation yet: run the model first");
        match self {
            Self::Undo => needs(undo > 0 || session.history.labels().0.is_some(), "Nothing to undo"),
            Self::Redo => needs(redo > 0, "Nothing to redo"),
            Self::RunToEnd if app.planned_end().is_none() => Some("The project plans no duration"),
            Self::RunToEnd if app.planned_end().is_some_and(|end| end <= live.clock.step) => {
                Some("The planned duration is over: rewind first")
            }
            Self::RunToEnd | Self::Record | Self::Stimulate | Self::Silence if live.recorded.is_some() => {
                Some("This is a recording: rebuild to run its project")
            }
            Self::Step | Self::StepMore | Self::RunToEnd | Self::Rewind | Self::Record => alive.or(loaded),
            Self::Compare(_) => needs(
                live.is_loaded() && app.profile.comparison.progress.is_none(),
                "There is no simulation, or it is being compared",
            ),
            Self::MeasureCeilings => needs(
                live.is_loaded() && !app.profile.machine.measuring,
                "There is no device in use, or it is being measured",
            ),
            Self::ContinueOnCpu => needs(live.rescue.fault.is_some(), "No device has failed"),
            Self::CancelLoading => needs(live.progress().is_some(), "Nothing is being loaded"),
            Self::RunPause => alive.or(needs(live.has_engine(), "The engine is off")),
            Self::Rebuild => needs(live.has_engine(), "The engine is off"),
            Self::Export(_) => needs(!app.runs.is_empty(), "There is no run yet: record one first"),
            Self::Stimulate | Self::Silence | Self::SaveSelection | Self::Probe => {
                let named = super::interventions::can_select(session.project.model.params());
                needs(named, "This kind has no selections")
                    .or_else(|| needs(!session.selection.elements.is_empty(), "Nothing is selected"))
            }
            Self::CloseWorkspace => needs(app.workspace.can_close(), "Only a copy of a workspace can be closed"),
            Self::UndoLayout => needs(app.workspace.steps().0 > 0, "The layout was not changed"),
            Self::RedoLayout => needs(app.workspace.steps().1 > 0, "No layout change was undone"),
            Self::ResetLayout(Target::Project) => {
                needs(app.workspace.can_reset(Target::Project), "The project came without a layout")
            }
            Self::ResetLayout(Target::Saved) => {
                needs(app.workspace.can_reset(Target::Saved), "No layout was saved with the project yet")
            }
            Self::ShowView("runs") | Self::OpenAnother("runs") => None,
            Self::ShowView(_) | Self::OpenAnother(_) => loaded,
            Self::MoveCursor(_) | Self::GoStart | Self::PlayPast => {
                loaded.or_else(|| needs(app.time.past.newest() > app.time.past.oldest(), "Nothing has happened yet"))
            }
            Self::ZoomToRange | Self::ClearRange => {
                needs(app.time.axis.range.is_some(), "No range is chosen: drag over the bands of the time panel")
            }
            _ => None,
        }
    }
}

/// The command whose keys were pressed this frame. Keys without Ctrl or Alt are left to text fields that have the focus.
pub fn pressed(ctx: &egui::Context, app: &App) -> Option<UiCommand> {
    let typing = ctx.text_edit_focused() || app.is_modal();
    let menu_is_open = egui::Popup::is_any_open(ctx);
    // A slider or a list that has the keyboard takes the arrows.
    let has_focus = ctx.memory(|m| m.focused().is_some());
    let moves = |c: &UiCommand| matches!(c, UiCommand::MoveCursor(_) | UiCommand::GoStart | UiCommand::GoLive);
    let mut all = UiCommand::all(app);
    // Ctrl+Shift+Z must be tried before Ctrl+Z, which would match it as well.
    let extra = |s: KeyboardShortcut| s.modifiers.shift as u8 + s.modifiers.alt as u8;
    all.sort_by_key(|c| std::cmp::Reverse(app.keymap.of(c).map_or(0, extra)));
    ctx.input_mut(|input| {
        if !typing && input.consume_shortcut(&KeyboardShortcut::new(Modifiers::COMMAND, Key::Y)) {
            return Some(UiCommand::Redo);
        }
        if input.consume_shortcut(&KeyboardShortcut::new(Modifiers { shift: true, ..Modifiers::COMMAND }, Key::P)) {
            return Some(UiCommand::Palette);
        }
        if !typing && input.consume_key(Modifiers::NONE, Key::Questionmark) {
            return Some(UiCommand::Help);
        }
        all.into_iter().find(|command| {
            let Some(shortcut) = app.keymap.of(command) else { return false };
            let plain =
                !shortcut.modifiers.command && !shortcut.modifiers.alt && !is_function_key(shortcut.logical_key);
            let leave = typing && (plain || matches!(command, UiCommand::Undo | UiCommand::Redo));
            let closes_menu = menu_is_open && *command == UiCommand::SelectNone;
            let leave = leave || (has_focus && moves(command));
            !leave && !closes_menu && !app.is_modal() && input.consume_shortcut(&shortcut)
        })
    })
}

fn is_function_key(key: Key) -> bool {
    matches!(key, Key::F1 | Key::F6 | Key::F11 | Key::F12)
}
