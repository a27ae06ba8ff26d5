//! Data of the profile panels: device, peak performance, and comparison with the reference.

use crate::{
    app::{
        document::{
            open_document::Document,
            profile::{Machine, Profile},
        },
        host::device::DeviceInfo,
        kit::level::Level,
        shell::{host::Host, messages::Messages},
    },
    engine::parity::Parity,
    gpu::ceilings::{Ceilings, cpu_name},
    project::peak_performance,
    sim::Progress,
};
use std::sync::Arc;

/// Stores the device on which a simulation was built, and reads its peak performance if it is another one.
pub fn set_machine(document: &mut Document, host: &mut Host, device: &DeviceInfo) {
    let before = std::mem::take(&mut document.profile.machine);
    let same = before.device == device.name;
    document.profile.machine = Machine {
        device: device.name.clone(),
        is_gpu: device.is_gpu,
        threads: device.threads,
        project: document.session.path.clone(),
        predicted: device.predicted.clone(),
        total: device.memory,
        work: document.session.project.model.work(),
        ceilings: before.ceilings.filter(|_| same),
        measuring: before.measuring,
        runs: document.library.runs.iter().map(|run| run.folder.clone()).collect(),
    };
    document.profile.clear();
    if !same {
        fetch_ceilings(host, device.clone());
    }
}

fn fetch_ceilings(host: &mut Host, device: DeviceInfo) {
    let job = move || {
        let name = if device.is_gpu { device.name } else { cpu_name(device.threads as usize) };
        let cache = peak_performance::cache_folder();
        Ok(cache.and_then(|cache| peak_performance::load(&cache, &name)).map(Box::new))
    };
    // Without a thread the roofline has no ceilings.
    host.try_job("ceilings", job, |parts, result| take_ceilings(&mut parts.document.profile, parts.messages, result))
        .ok();
}

/// Measures the peak performance of the device on a thread, and caches it.
pub fn measure_ceilings(document: &mut Document, host: &mut Host, messages: &mut Messages) {
    let devices = host.devices.clone();
    let job = move || {
        devices.measure().and_then(|mut measured| {
            let cache = peak_performance::cache_folder().ok_or("no cache folder")?;
            peak_performance::save(&cache, &mut measured)?;
            Ok(Some(Box::new(measured)))
        })
    };
    document.profile.machine.measuring = host.job(messages, "ceilings", job, |parts, result| {
        take_ceilings(&mut parts.document.profile, parts.messages, result)
    });
}

/// Compares a run of the document with the reference on a thread.
pub fn compare(document: &mut Document, host: &mut Host, messages: &mut Messages, steps: u64) {
    let (devices, project) = (host.devices.clone(), document.session.project.clone());
    let (context, progress) = (project.build_context(&document.session.folder()), Arc::new(Progress::default()));
    let shared = progress.clone();
    let job = move || devices.compare(&project.model, &context, steps, &shared).map_err(|e| e.to_string());
    if host.job(messages, "compare", job, |parts, result| set_parity(&mut parts.document.profile, result)) {
        document.profile.comparison.progress = Some(progress);
    }
}

/// Stores the result of a comparison, unless it was cancelled.
pub fn set_parity(profile: &mut Profile, parity: Result<Parity, String>) {
    let comparison = &mut profile.comparison;
    let was_cancelled = comparison.progress.take().is_some_and(|p| p.report("", 1.0).is_err());
    if !was_cancelled {
        comparison.done = Some(parity);
    }
}

/// Stores peak performance that was read or measured, or shows an error.
pub fn take_ceilings(profile: &mut Profile, messages: &mut Messages, ceilings: Result<Option<Box<Ceilings>>, String>) {
    let machine = &mut profile.machine;
    let was_measuring = std::mem::take(&mut machine.measuring);
    match ceilings {
        Ok(Some(ceilings)) => machine.ceilings = Some(*ceilings),
        Ok(None) => machine.measuring = was_measuring,
        Err(why) => messages.notify(Level::Error, format!("Could not measure peak performance: {why}")),
    }
}
