//! The way on when the device has failed: on the CPU, from the last state that was kept.

use super::Live;
use crate::{
    project::{DeviceChoice, Project},
    sim::Progress,
};
use std::path::Path;

impl Live {
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
