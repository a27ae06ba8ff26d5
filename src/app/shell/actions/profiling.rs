//! Data of the Profile panels: device, peak performance, comparison with the reference.

use crate::{
    app::{document::profile::Machine, host::device::DeviceInfo, kit::level::Level, shell::App},
    engine::parity::Parity,
    gpu::ceilings::{Ceilings, cpu_name},
    project::peak_performance,
    sim::Progress,
};
use std::sync::Arc;

impl App {
    /// Stores the device a simulation was built on.
    pub(crate) fn set_machine(&mut self, device: &DeviceInfo) {
        let before = std::mem::take(&mut self.document.profile.machine);
        let same = before.device == device.name;
        self.document.profile.machine = Machine {
            device: device.name.clone(),
            is_gpu: device.is_gpu,
            threads: device.threads,
            project: self.document.session.path.clone(),
            predicted: device.predicted.clone(),
            total: device.memory,
            work: self.document.session.project.model.work(),
            ceilings: before.ceilings.filter(|_| same),
            measuring: before.measuring,
            runs: self.document.library.runs.iter().map(|run| run.folder.clone()).collect(),
        };
        self.document.profile.clear();
        if !same {
            self.fetch_ceilings(device.clone());
        }
    }

    fn fetch_ceilings(&mut self, device: DeviceInfo) {
        let job = move || {
            let name = if device.is_gpu { device.name } else { cpu_name(device.threads as usize) };
            let cache = peak_performance::cache_folder();
            Ok(cache.and_then(|cache| peak_performance::load(&cache, &name)).map(Box::new))
        };
        // Without a thread the roofline has no lines.
        self.try_job("ceilings", job, Self::take_ceilings).ok();
    }

    /// Measures the peak performance of the device and caches it.
    pub(crate) fn measure_ceilings(&mut self) {
        let devices = self.host.devices.clone();
        let job = move || {
            devices.measure().and_then(|mut measured| {
                let cache = peak_performance::cache_folder().ok_or("no cache folder")?;
                peak_performance::save(&cache, &mut measured)?;
                Ok(Some(Box::new(measured)))
            })
        };
        self.document.profile.machine.measuring = self.job("ceilings", job, Self::take_ceilings);
    }

    /// Compares a run of the document with the reference, on a thread.
    pub(crate) fn compare(&mut self, steps: u64) {
        let (devices, project) = (self.host.devices.clone(), self.document.session.project.clone());
        let (context, progress) =
            (project.build_context(&self.document.session.folder()), Arc::new(Progress::default()));
        let shared = progress.clone();
        let job = move || devices.compare(&project.model, &context, steps, &shared).map_err(|e| e.to_string());
        if self.job("compare", job, Self::set_parity) {
            self.document.profile.comparison.progress = Some(progress);
        }
    }

    /// Stores the result of a comparison.
    pub(crate) fn set_parity(&mut self, parity: Result<Parity, String>) {
        let comparison = &mut self.document.profile.comparison;
        let was_cancelled = comparison.progress.take().is_some_and(|p| p.report("", 1.0).is_err());
        if !was_cancelled {
            comparison.done = Some(parity);
        }
    }

    /// Stores read or measured peak performance.
    pub(crate) fn take_ceilings(&mut self, ceilings: Result<Option<Box<Ceilings>>, String>) {
        let machine = &mut self.document.profile.machine;
        let was_measuring = std::mem::take(&mut machine.measuring);
        match ceilings {
            Ok(Some(ceilings)) => machine.ceilings = Some(*ceilings),
            Ok(None) => machine.measuring = was_measuring,
            Err(why) => self.messages.notify(Level::Error, format!("Could not measure peak performance: {why}")),
        }
    }
}
