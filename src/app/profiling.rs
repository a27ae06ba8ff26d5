//! Data of the Profile panels: device, peak performance, comparison with the reference.

use super::{App, device::DeviceInfo, jobs::JobResult, log::Level, views::profile::Machine};
use crate::{
    engine::parity::Parity,
    gpu::ceilings::{Ceilings, cpu_name},
    project::peak_performance,
    sim::Progress,
};
use std::sync::Arc;

impl App {
    /// Stores the device a simulation was built on.
    pub(super) fn set_machine(&mut self, device: &DeviceInfo) {
        let before = std::mem::take(&mut self.profile.machine);
        let same = before.device == device.name;
        self.profile.machine = Machine {
            device: device.name.clone(),
            is_gpu: device.is_gpu,
            threads: device.threads,
            project: self.session.path.clone(),
            predicted: device.predicted.clone(),
            total: device.memory,
            work: self.session.project.model.work(),
            ceilings: before.ceilings.filter(|_| same),
            measuring: before.measuring,
            runs: self.library.runs.iter().map(|run| run.folder.clone()).collect(),
        };
        self.profile.clear();
        if !same {
            self.fetch_ceilings(device.clone());
        }
    }

    fn fetch_ceilings(&mut self, device: DeviceInfo) {
        let job = move || {
            let name = if device.is_gpu { device.name } else { cpu_name(device.threads as usize) };
            JobResult::Ceilings(Ok(peak_performance::cache_folder()
                .and_then(|cache| peak_performance::load(&cache, &name))
                .map(Box::new)))
        };
        // Without a thread the roofline has no lines.
        self.jobs.spawn("ceilings", job).ok();
    }

    /// Measures the peak performance of the device and caches it.
    pub(super) fn measure_ceilings(&mut self) {
        let devices = self.devices.clone();
        let job = move || {
            let measured = devices.measure().and_then(|mut measured| {
                let cache = peak_performance::cache_folder().ok_or("no cache folder")?;
                peak_performance::save(&cache, &mut measured)?;
                Ok(Some(Box::new(measured)))
            });
            JobResult::Ceilings(measured)
        };
        match self.jobs.spawn("ceilings", job) {
            Ok(()) => self.profile.machine.measuring = true,
            Err(why) => self.notify(Level::Error, why),
        }
    }

    /// Compares a run of the document with the reference, on a thread.
    pub(super) fn compare(&mut self, steps: u64) {
        let (devices, project) = (self.devices.clone(), self.session.project.clone());
        let (context, progress) = (project.build_context(&self.session.folder()), Arc::new(Progress::default()));
        let shared = progress.clone();
        let job = move || {
            let parity = devices.compare(&project.model, &context, steps, &shared);
            JobResult::Compared(Box::new(parity.map_err(|e| e.to_string())))
        };
        match self.jobs.spawn("compare", job) {
            Ok(()) => self.profile.comparison.progress = Some(progress),
            Err(why) => self.notify(Level::Error, why),
        }
    }

    /// Stores the result of a comparison.
    pub(super) fn set_parity(&mut self, parity: Result<Parity, String>) {
        let comparison = &mut self.profile.comparison;
        let was_cancelled = comparison.progress.take().is_some_and(|p| p.report("", 1.0).is_err());
        if !was_cancelled {
            comparison.done = Some(parity);
        }
    }

    /// Stores read or measured peak performance.
    pub(super) fn take_ceilings(&mut self, ceilings: Result<Option<Box<Ceilings>>, String>) {
        let machine = &mut self.profile.machine;
        let was_measuring = std::mem::take(&mut machine.measuring);
        match ceilings {
            Ok(Some(ceilings)) => machine.ceilings = Some(*ceilings),
            Ok(None) => machine.measuring = was_measuring,
            Err(why) => self.notify(Level::Error, format!("Could not measure peak performance: {why}")),
        }
    }
}
