//! The way on: on the CPU when the device has failed, from the last state that was kept; with another engine when a fault
//! has ended the thread of the first.

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

/// For new data one frame is drawn. Without any delay egui draws a second one, for layouts that need it to settle.
const AT_ONCE: Duration = Duration::from_micros(1);

/// While nothing but gauges is drawn.
const NOW_AND_THEN: Duration = Duration::from_millis(250);

/// Starts the engine's thread so far behind the window's.
pub(super) fn start_engine(nice: i32, wake: &egui::Context, quiet: &Arc<AtomicBool>) -> std::io::Result<Engine> {
    let (screen, is_quiet) = (wake.clone(), quiet.clone());
    Engine::spawn_beside_window(nice, move || {
        let is_quiet = is_quiet.load(Ordering::Relaxed);
        screen.request_repaint_after(if is_quiet { NOW_AND_THEN } else { AT_ONCE });
    })
}

impl Live {
    /// Another engine in place of one whose thread has ended by a fault.
    pub(super) fn revive(&mut self) {
        if let (Some(nice), true) = (self.nice, self.engine.as_ref().is_some_and(Engine::is_gone)) {
            match start_engine(nice, &self.wake, &self.quiet) {
                Ok(engine) => self.engine = Some(engine),
                Err(e) => tracing::error!("engine thread: {e}"),
            }
        }
    }

    /// Builds on the CPU after the device has failed: from the last checkpoint when there is one, else `project` from
    /// step 0. The document keeps asking for the device it asked for.
    pub fn continue_on_cpu(&mut self, project: &Project, folder: &Path) {
        let play = self.rescue.fault.as_ref().is_some_and(|fault| fault.play);
        let checkpoint = self.rescue.way_on().cloned().zip(self.since_zero.clone());
        let (project, state, resume) = match checkpoint {
            Some((at, mut since)) => {
                since.log.truncate(at.n_logged);
                (at.project, Some(at.state), Some((at.clock.step, since)))
            }
            None => (project.clone(), None, None),
        };
        let (builder, scene) = (self.builder.clone(), project.scene(folder));
        let mut on_cpu = project.clone();
        on_cpu.run.device = DeviceChoice::Cpu;
        let job = move |progress: &Progress| {
            let mut sim = builder(&on_cpu, &scene, progress)?;
            if let Some(Err(error)) = state.map(|state| sim.load(&state)) {
                tracing::warn!("the checkpoint is left out: {error}");
            }
            Ok(sim)
        };
        self.load(job, project, play, resume);
    }
}
