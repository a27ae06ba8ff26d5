//! Recovery: continues on the CPU from the last checkpoint after a device failure, and restarts the engine thread after a
//! panic.

use super::Live;
use crate::{
    engine::Engine,
    project::{DeviceChoice, Project},
    sim::Progress,
};
use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

/// Delay of the repaint for new data, because egui draws a second frame after a delay of zero.
const PROMPT: Duration = Duration::from_micros(1);

/// Repaint interval while the display is paused.
const PAUSED_INTERVAL: Duration = Duration::from_millis(250);

/// Starts the engine thread with the nice value `nice`. Fails if the thread cannot be started.
pub(super) fn start_engine(nice: i32, wake: &egui::Context, quiet: &Arc<AtomicBool>) -> std::io::Result<Engine> {
    let (screen, is_quiet) = (wake.clone(), quiet.clone());
    Engine::spawn_with_priority(nice, move || {
        let is_quiet = is_quiet.load(Ordering::Relaxed);
        screen.request_repaint_after(if is_quiet { PAUSED_INTERVAL } else { PROMPT });
    })
}

impl Live {
    /// Restarts the engine if its thread has ended by a panic.
    pub(super) fn revive(&mut self) {
        if let (Some(nice), true) = (self.nice, self.engine.as_ref().is_some_and(Engine::is_gone)) {
            match start_engine(nice, &self.wake, &self.quiet) {
                Ok(engine) => {
                    self.engine = Some(engine);
                    self.versions.n_loads_pending = 0;
                }
                Err(e) => tracing::error!("engine thread: {e}"),
            }
        }
    }

    /// Builds a simulation on the CPU after a device failure, in the state of the last checkpoint, or without a checkpoint
    /// from `project` at step 0. The device setting of the document is kept.
    pub fn continue_on_cpu(&mut self, project: &Project, folder: &Path) {
        let play = self.checkpoints.failure.as_ref().is_some_and(|failure| failure.play);
        let checkpoint = self.checkpoints.recovery_point().cloned().zip(self.versions.run_log.clone());
        let (project, state, resume) = match checkpoint {
            Some((at, mut since)) => {
                since.log.truncate(at.state.n_logged as usize);
                let step = at.state.clock.step;
                (at.project, Some(at.state.snapshot), Some((step, since)))
            }
            None => (project.clone(), None, None),
        };
        let (builder, context) = (self.builder.clone(), project.build_context(folder));
        let mut on_cpu = project.clone();
        on_cpu.run.device = DeviceChoice::Cpu;
        let job = move |progress: &Progress| {
            let mut sim = builder(&on_cpu, &context, progress)?;
            if let Some(Err(error)) = state.map(|state| sim.load(&state)) {
                tracing::warn!("the checkpoint is not used: {error}");
            }
            Ok(sim)
        };
        let origin = self.origin.clone().filter(|_| resume.is_some());
        self.load(job, project, play, resume);
        if let Some(loading) = &mut self.loading {
            loading.origin = origin;
        }
    }
}
