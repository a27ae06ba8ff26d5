//! Reruns of a recorded run with its edits and actions at their steps.

use super::Live;
use crate::{
    engine::{LoggedCommand, Scheduled},
    project::{Project, load_logged_data},
    sim::{BuildContext, Progress, SimError},
};
use std::sync::{Arc, Mutex, PoisonError};

/// Schedule for the engine: commands with their steps. The loading job writes it after it has built the simulation.
pub(super) type SharedSchedule = Arc<Mutex<Vec<(u64, Scheduled)>>>;

impl Live {
    /// Returns the reason why the shown run cannot be rerun with its edits; `None` if a rerun is possible.
    pub fn why_not_rerun(&self) -> Option<&'static str> {
        match &self.playback {
            None => Some("No finished run is shown"),
            Some(_) if !self.has_engine() => Some("The engine is off"),
            Some(run) => run.why_not_rerun(),
        }
    }

    /// Builds the simulation of the shown run at step 0 and runs it. Its edits and actions are applied at their steps.
    pub fn rerun_as_recorded(&mut self, context: BuildContext) {
        let Some(run) = self.run_log().cloned() else { return };
        let (builder, project, prepared) = (self.builder(), run.project.clone(), SharedSchedule::default());
        let shared = prepared.clone();
        let job = move |progress: &Progress| {
            let sim = builder(&run.project, &context, progress)?;
            let commands = schedule(&run.project, &run.log, &context, progress)?;
            *shared.lock().unwrap_or_else(PoisonError::into_inner) = commands;
            Ok(sim)
        };
        self.load(job, project, true, None);
        if let Some(loading) = &mut self.loading {
            loading.scheduled = Some(prepared);
        }
    }
}

/// Converts a run's log to commands of the engine with their steps, and reads their input data.
///
/// Fails if data cannot be read or the run was rewound.
fn schedule(
    project: &Project,
    log: &[(u64, LoggedCommand)],
    context: &BuildContext,
    progress: &Progress,
) -> Result<Vec<(u64, Scheduled)>, SimError> {
    let (mut model, mut commands) = (project.model.clone(), vec![]);
    for (step, logged) in log {
        let command = match logged {
            LoggedCommand::Set(change) => Scheduled::Set(change.clone()),
            LoggedCommand::Data(change, hash) => {
                Scheduled::Replace(load_logged_data(&model, context, (change, hash), progress)?)
            }
            LoggedCommand::Act(action) => Scheduled::Act(action.clone()),
            LoggedCommand::Former(..) => continue,
            LoggedCommand::Rewind => {
                let why = format!(
                    "the run was rewound at step {}: only Replay repeats it",
                    crate::app::kit::text::count(*step)
                );
                return Err(SimError::Input(why));
            }
        };
        if let Some(change) = logged.change() {
            model.params_mut().set(change);
        }
        commands.push((*step, command));
    }
    Ok(commands)
}
