//! Conditions under which commands are available.

use crate::app::{
    document::{command::UiCommand, interventions, layout::Target},
    shell::commands::CommandState,
    views,
};

impl UiCommand {
    /// Whether the command needs an open project.
    const fn needs_document(&self) -> bool {
        use UiCommand as C;
        matches!(self, C::Save | C::SaveAs | C::Undo | C::Redo | C::ResetParameters | C::Compare(_))
            || matches!(self, C::RunPause | C::Step | C::StepMore | C::RunToEnd | C::Rewind | C::Rebuild | C::Record)
    }

    /// Returns the reason why the command is not available; `None` if it is.
    pub fn why_not(&self, state: &CommandState<'_>) -> Option<&'static str> {
        let (session, live) = (&state.document.session, &state.document.session.live);
        let (undo, redo) = session.history.counts();
        let needs = |ok: bool, why| if ok { None } else { Some(why) };
        if let Some(why) = state.around.flow.not_ready().filter(|_| self.needs_document()) {
            return Some(why);
        }
        let failed = live.checkpoints.failure.as_ref().is_some_and(|fault| fault.stopped);
        let alive = needs(!failed, "The device failed: continue on the CPU, or rebuild");
        let loaded = needs(live.is_loaded(), "No simulation: run the model first");
        let selected = needs(!session.selection.elements.is_empty(), "Nothing is selected");
        match self {
            Self::Undo => needs(undo > 0 || session.history.labels().0.is_some(), "Nothing to undo"),
            Self::Redo => needs(redo > 0, "Nothing to redo"),
            Self::RunToEnd if state.document.session.project.planned_steps().is_none() => {
                Some("The project has no duration")
            }
            Self::RunToEnd
                if state.document.session.project.planned_steps().is_some_and(|end| end <= live.clock.step) =>
            {
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
                Some("A finished run is read-only: rerun it first")
            }
            Self::Step | Self::StepMore | Self::RunToEnd | Self::Rewind | Self::Record => alive.or(loaded),
            Self::ContinueOnCpu => needs(live.checkpoints.failure.is_some(), "No device has failed"),
            Self::CancelLoading => {
                needs(live.progress().is_some() || live.data_progress().is_some(), "Nothing is loading")
            }
            Self::RunPause => alive.or(needs(live.has_engine(), "The engine is off")),
            Self::Rebuild => needs(live.has_engine(), "The engine is off"),
            Self::RerunRecorded => live.why_not_rerun(),
            Self::Export(format) => state.document.library.why_not_export(*format),
            _ if !interventions::offers(session.project.model.params(), self) => {
                Some("This model has no such intervention")
            }
            Self::SaveSelection | Self::FocusSelection => selected,
            Self::Stimulate | Self::Silence => {
                let can_target = interventions::can_target(&live.schema, &session.selection);
                selected.or_else(|| needs(can_target, "Interventions do not act on these elements"))
            }
            Self::Probe => {
                let chosen = &session.selection;
                let of = |p: &crate::sim::ProbeSpec| p.shape == crate::sim::Shape::Series { of: chosen.set };
                selected
                    .or_else(|| needs(live.schema.probes.iter().any(of), "No traces are available for these elements"))
            }
            Self::Rename | Self::Duplicate | Self::Delete => {
                needs(state.around.has_item, "No item is selected in the project tree")
            }
            Self::OpenRecent(i) => {
                needs(state.around.recent.projects.get(*i).is_some_and(|p| !p.is_missing), "The file no longer exists")
            }
            Self::ColorMenu | Self::ColorBy(_) => {
                let (options, _) = state.around.workspace.colorings(&live.schema);
                needs(!options.is_empty(), "This panel has no colour options")
            }
            Self::Compare(_) => needs(
                live.is_loaded() && state.document.profile.comparison.progress.is_none(),
                "No simulation, or a comparison is running",
            ),
            Self::MeasurePeak => needs(
                live.is_loaded() && !state.document.profile.machine.measuring,
                "No device in use, or a measurement is running",
            ),
            Self::Requests => needs(!session.project.model.requests().is_empty(), "This kind answers no requests"),
            Self::Replay(_) => needs(state.document.library.replaying.is_none(), "Another replay is running"),
            Self::CancelReplay => needs(state.document.library.replaying.is_some(), "No replay is running"),
            Self::CloseWorkspace => {
                needs(state.around.workspace.can_close(), "Only a copy of a workspace can be closed")
            }
            Self::UndoLayout => needs(state.around.workspace.steps().0 > 0, "No layout change to undo"),
            Self::RedoLayout => needs(state.around.workspace.steps().1 > 0, "No layout change to redo"),
            Self::ResetLayout(Target::Project) => {
                needs(state.around.workspace.can_reset(Target::Project), "The project has no layout")
            }
            Self::ResetLayout(Target::Saved) => {
                needs(state.around.workspace.can_reset(Target::Saved), "No saved layout in the project")
            }
            Self::ShowView(v) | Self::OpenAnother(v) if !views::needs_simulation(v) => None,
            Self::ShowView(_) | Self::OpenAnother(_) | Self::ExportPanel => loaded,
            Self::MoveCursor(_) | Self::GoStart | Self::PlayPast => loaded.or_else(|| {
                needs(state.document.time.past.newest() > state.document.time.past.oldest(), "The history is empty")
            }),
            Self::ZoomToRange | Self::ClearRange => {
                needs(state.document.time.axis.range.is_some(), "No range: drag over the time panel")
            }
            _ => None,
        }
    }
}
