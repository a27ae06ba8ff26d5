//! Every command of the window: text, tooltip, shortcut, and why it cannot be used at the moment. One list for the
//! menus, the palette and the keyboard.

mod keys;
mod words;

pub use keys::pressed;

use super::{
    App, examples,
    settings::Theme,
    workspace::{self, Target},
};
use crate::{export::Format, kinds::Model};
use std::path::PathBuf;

/// Something the user can ask of the window.
#[derive(Clone, Debug, PartialEq)]
pub enum UiCommand {
    /// A new project of the kind that is open.
    NewLike,
    /// A new project of this kind.
    New(&'static str),
    /// A project that comes with the program, by name; it runs.
    Example(&'static str),
    /// Shows where files of one's own are named.
    ImportData,
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
    /// So many steps of the history: back when negative.
    Travel(i32),
    /// All parameters to their defaults.
    ResetParameters,
    /// Runs, or stops between two steps.
    RunPause,
    /// Takes N steps.
    Step,
    /// Takes ten times N steps.
    StepMore,
    /// Back to step 0.
    Rewind,
    /// Builds the simulation anew.
    Rebuild,
    /// Builds the simulation on the CPU after the device has failed.
    ContinueOnCpu,
    /// Stops loading.
    CancelLoading,
    /// Runs to the end of the planned duration.
    RunToEnd,
    /// Draws nothing but gauges, or draws again.
    ToggleUpdates,
    /// Measures what the device can do at best.
    MeasureCeilings,
    /// Runs the project on this device and on the reference for so many steps, and compares.
    Compare(u64),
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
    /// Writes a picture of the panel with the keyboard.
    ExportPanel,
    /// Frames the selection in the views of space.
    FocusSelection,
    /// Offers what the panel with the keyboard can be coloured by.
    ColorMenu,
    /// Colours it by the one at this place.
    ColorBy(usize),
    /// Keeps the range of its colours, or lets it follow the data.
    ToggleRange,
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
    /// The keyboard goes to the filter of the panel it is in.
    FilterPanel,
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
    Theme(Theme),
    /// Another name for the chosen item of the project.
    Rename,
    /// One more of the chosen item of the project.
    Duplicate,
    /// Takes the chosen item out of the project.
    Delete,
    /// Reads the recorded runs again.
    RefreshRuns,
    /// Runs a recorded run again and compares.
    Replay(PathBuf),
    /// Stops that.
    CancelReplay,
    /// Shows a run's folder.
    RevealRun(PathBuf),
    /// What can be set.
    Settings,
    /// Which keys stand for what.
    Keys,
    /// Help on the panel with the keyboard.
    PanelHelp,
    /// What the program runs on.
    System,
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
        let mut all = vec![Self::NewLike];
        all.extend(Model::all().iter().map(|m| Self::New(m.name())));
        all.extend([Self::Open, Self::ImportData]);
        all.extend(examples::ALL.iter().map(|e| Self::Example(e.name)));
        all.extend((0..app.recent.projects.len()).map(Self::OpenRecent));
        all.extend((0..app.library.runs.len()).rev().take(MOST_RUNS).map(Self::OpenRun));
        all.extend([Self::Save, Self::SaveAs]);
        all.push(Self::ExportPanel);
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
            Self::Rename,
            Self::Duplicate,
            Self::Delete,
            Self::RunPause,
            Self::Step,
            Self::StepMore,
            Self::RunToEnd,
            Self::ToggleUpdates,
            Self::MeasureCeilings,
            Self::Compare(200),
            Self::Rewind,
            Self::Rebuild,
            Self::ContinueOnCpu,
            Self::CancelLoading,
            Self::Record,
            Self::RefreshRuns,
        ]);
        all.extend(workspace::view_names(app).map(Self::ShowView));
        all.extend([Self::FocusSelection, Self::ColorMenu, Self::ToggleRange]);
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
        all.extend([Self::Palette, Self::Help, Self::PanelHelp, Self::Settings, Self::Keys]);
        all.extend([Self::ToggleDev, Self::System, Self::About]);
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
            Self::NewLike | Self::New(_) | Self::Open | Self::OpenRecent(_) | Self::SaveAs | Self::ImportData => {
                ("File", false)
            }
            Self::OpenRun(_) => ("File", false),
            Self::Example(_) | Self::ColorBy(_) => ("", false),
            Self::FocusSelection => ("View", true),
            Self::ColorMenu | Self::ToggleRange => ("View", false),
            Self::Save | Self::Quit => ("File", true),
            Self::ExportPanel => ("File", true),
            Self::Export(f) => ("File", matches!(f, Format::Csv)),
            Self::Undo
            | Self::Redo
            | Self::Travel(_)
            | Self::Silence
            | Self::Probe
            | Self::SaveSelection
            | Self::SelectNone => ("Edit", false),
            Self::ResetParameters | Self::Stimulate | Self::Rename => ("Edit", true),
            Self::Duplicate | Self::Delete => ("Edit", false),
            Self::RunPause | Self::Step | Self::StepMore | Self::Rewind | Self::ContinueOnCpu | Self::CancelLoading => {
                ("Simulation", false)
            }
            Self::RunToEnd | Self::ToggleUpdates | Self::MeasureCeilings | Self::Compare(_) => ("Simulation", false),
            Self::RefreshRuns | Self::RevealRun(_) | Self::Replay(_) | Self::CancelReplay => ("Simulation", false),
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
            Self::Rebuild | Self::Record | Self::GoStart => ("Simulation", true),
            Self::Theme(t) => ("View", matches!(t, Theme::Dark)),
            Self::ZoomOut | Self::ZoomReset | Self::FullScreen => ("View", false),
            Self::Palette | Self::Help | Self::PanelHelp | Self::Keys | Self::System | Self::About => ("Help", false),
            Self::Settings | Self::ToggleDev => ("Help", true),
        }
    }

    /// Whether keys can be given to it: not to what comes and goes.
    pub const fn has_own_keys(&self) -> bool {
        !matches!(
            self,
            Self::OpenRecent(_)
                | Self::Travel(_)
                | Self::ApplyLayout(_)
                | Self::Example(_)
                | Self::CancelLoading
                | Self::ColorBy(_)
                | Self::ContinueOnCpu
        )
    }

    /// Why it cannot be used now; `None` when it can.
    pub fn why_not(&self, app: &App) -> Option<&'static str> {
        let (session, live) = (&app.session, &app.session.live);
        let (undo, redo) = session.history.counts();
        let needs = |ok: bool, why| if ok { None } else { Some(why) };
        let failed = live.checkpoints.failure.as_ref().is_some_and(|fault| fault.stopped);
        let alive = needs(!failed, "The device failed: continue on the CPU, or rebuild");
        let loaded = needs(live.is_loaded(), "There is no simulation yet: run the model first");
        match self {
            Self::Undo => needs(undo > 0 || session.history.labels().0.is_some(), "Nothing to undo"),
            Self::Redo => needs(redo > 0, "Nothing to redo"),
            Self::RunToEnd if app.planned_end().is_none() => Some("The project plans no duration"),
            Self::RunToEnd if app.planned_end().is_some_and(|end| end <= live.clock.step) => {
                Some("The planned duration is over: rewind first")
            }
            Self::RunToEnd | Self::Record | Self::Stimulate | Self::Silence if live.playback.is_some() => {
                Some("This is a recording: rebuild to run its project")
            }
            Self::Step | Self::StepMore | Self::RunToEnd | Self::Rewind | Self::Record => alive.or(loaded),
            Self::ContinueOnCpu => needs(live.checkpoints.failure.is_some(), "No device has failed"),
            Self::CancelLoading => needs(live.progress().is_some(), "Nothing is being loaded"),
            Self::RunPause => alive.or(needs(live.has_engine(), "The engine is off")),
            Self::Rebuild => needs(live.has_engine(), "The engine is off"),
            Self::Export(_) => needs(!app.library.runs.is_empty(), "There is no run yet: record one first"),
            Self::Stimulate | Self::Silence | Self::SaveSelection => {
                let named = super::interventions::can_select(session.project.model.params());
                needs(named, "This kind has no selections")
                    .or_else(|| needs(!session.selection.elements.is_empty(), "Nothing is selected"))
            }
            Self::Probe => {
                let chosen = &session.selection;
                let of = |p: &crate::sim::ProbeSpec| p.shape == crate::sim::Shape::Series { of: chosen.set };
                needs(!chosen.elements.is_empty(), "Nothing is selected").or_else(|| {
                    needs(live.schema.probes.iter().any(of), "Nothing is traced of each of these by itself")
                })
            }
            Self::Rename | Self::Duplicate | Self::Delete => {
                needs(app.tree_item().is_some(), "Nothing is chosen in the project tree")
            }
            Self::OpenRecent(i) => {
                let place = app.recent.projects.get(*i);
                needs(place.is_some_and(|p| !p.is_missing), "The file is not there any more")
            }
            Self::ExportPanel => loaded,
            Self::FocusSelection => needs(!session.selection.elements.is_empty(), "Nothing is selected"),
            Self::ColorMenu | Self::ColorBy(_) => {
                let (options, _) = app.workspace.colorings(&live.schema);
                needs(!options.is_empty(), "This panel has no colours to choose")
            }
            Self::Compare(_) => needs(
                live.is_loaded() && app.profile.comparison.progress.is_none(),
                "There is no simulation, or it is being compared",
            ),
            Self::MeasureCeilings => needs(
                live.is_loaded() && !app.profile.machine.measuring,
                "There is no device in use, or it is being measured",
            ),
            Self::Replay(_) => needs(app.library.replaying.is_none(), "Another run is being run again"),
            Self::CancelReplay => needs(app.library.replaying.is_some(), "No run is being run again"),
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
