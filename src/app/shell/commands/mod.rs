//! The commands of the window: label, tooltip, shortcut and availability. Menus, the palette and the keyboard use this list.

mod availability;
mod keys;
mod labels;
pub mod menu;
mod state;

pub use keys::pressed;
pub use state::{Around, CommandState};

use super::pages::examples;
use crate::{
    app::document::{command::UiCommand, layout::Target, settings::Theme},
    export::Format,
    kinds::Model,
};

/// Maximum number of runs offered in menus and the palette; only the newest are.
const MAX_RUNS: usize = 20;

/// Titles of the menus, in order.
pub const MENUS: [&str; 7] = ["File", "Edit", "Simulation", "Runs", "View", "Window", "Help"];

impl UiCommand {
    /// Returns all commands in menu order. The state determines those of recent files, runs and views.
    pub fn all(state: &CommandState<'_>) -> Vec<Self> {
        let mut all = vec![Self::NewLike];
        all.extend(Model::all().iter().map(|m| Self::New(m.name())));
        all.extend([Self::Open, Self::ImportData]);
        all.extend(examples::ALL.iter().map(|e| Self::Example(e.name)));
        all.extend((0..state.around.recent.projects.len()).map(Self::OpenRecent));
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
        all.extend((0..state.document.library.runs.len()).rev().take(MAX_RUNS).map(Self::OpenRun));
        all.extend(Format::ALL.map(Self::Export));
        all.extend(state.around.workspace.view_names(&state.document.session.live.schema).map(Self::ShowView));
        all.extend([Self::RerunRecorded, Self::FocusSelection, Self::ColorMenu, Self::ToggleRange]);
        all.extend(
            (0..state.around.workspace.colorings(&state.document.session.live.schema).0.len()).map(Self::ColorBy),
        );
        all.extend([-1, 1, -10, 10].map(Self::MoveCursor));
        all.extend([Self::GoStart, Self::GoLive, Self::PlayPast, Self::Loop, Self::ZoomToRange, Self::ClearRange]);
        all.extend([Theme::Dark, Theme::Light, Theme::System].map(Self::Theme));
        all.extend([Self::ZoomIn, Self::ZoomOut, Self::ZoomReset, Self::FullScreen]);
        all.push(Self::Home);
        all.extend((0..state.around.workspace.titles().count()).map(Self::Workspace));
        all.extend([
            Self::NewWorkspace,
            Self::CloseWorkspace,
            Self::Maximise,
            Self::FilterPanel,
            Self::NextPanel,
            Self::PreviousPanel,
        ]);
        all.extend(Self::layout(state));
        all.extend([Self::ToggleTree, Self::ToggleInspector, Self::ToggleLog]);
        all.extend([Self::Palette, Self::Help, Self::PanelHelp, Self::ModelHelp, Self::Settings, Self::Keys]);
        all.extend([Self::ToggleDev, Self::System, Self::About]);
        all
    }

    /// Returns the commands on the layout.
    pub fn layout(state: &CommandState<'_>) -> Vec<Self> {
        let mut all = vec![Self::UndoLayout, Self::RedoLayout];
        all.extend(Target::ALL.map(Self::ResetLayout));
        all.push(Self::SaveLayout);
        all.extend((0..state.around.workspace.layouts.iter().count()).map(Self::ApplyLayout));
        all
    }

    /// Returns the menu of the command (empty: none), and whether a separator precedes it.
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

    /// Whether a shortcut can be assigned. It cannot be for entries that depend on the state.
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
