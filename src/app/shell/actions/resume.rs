//! "Resume": the simulation of a recorded run and its recording continue from the last checkpoint.

use super::{
    documents,
    recording::{self, PreparedRecording},
    runs,
};
use crate::{
    app::{
        kit::{level::Level, text},
        shell::{flow::Resuming, parts::ActionParts},
    },
    engine::Sink,
    project::{LockedRun, RunFolder, RunStart, RunWriter, Status, VerifiedRun, outside_paths_of_run},
    sim::Progress,
};
use std::path::Path;

/// Opens a run; fails if it is still being written or has trials.
fn open(folder: &Path) -> Result<RunFolder, String> {
    let run = RunFolder::open(folder).map_err(|e| e.to_string())?;
    match run.manifest.status {
        Status::Running => Err(format!("{} is still being written", folder.display())),
        _ if run.manifest.trials > 0 || run.trial.is_some() => {
            Err(format!("{} is a series of trials: only single runs can be resumed", folder.display()))
        }
        _ => Ok(run),
    }
}

/// Reads the last checkpoint of a run on a thread, if the run may read its files.
pub fn resume(parts: &mut ActionParts<'_>, folder: &Path) {
    let read = open(folder).and_then(|run| run.project().map(|project| (run, project)).map_err(|e| e.to_string()));
    let (run, project) = match read {
        Ok(read) => read,
        Err(why) => return parts.messages.notify(Level::Error, format!("Could not resume: {why}")),
    };
    if !parts.host.consent.allows_run(folder, &outside_paths_of_run(&run, &project)) {
        let what = "The run reads files outside its folder. Open it first, and allow that";
        return parts.messages.notify(Level::Warning, what.to_owned());
    }
    // The run is locked until its recording continues.
    let job = move || {
        let locked = LockedRun::open(&run.path).map_err(|e| e.to_string());
        let verified = locked.and_then(|run| run.verify(&Progress::default()).map_err(|e| e.to_string()));
        verified.map(Box::new)
    };
    parts.host.job(parts.messages, "resume", job, resumed);
}

/// Opens the project of a run in its state at the checkpoint, and builds its simulation.
pub fn resumed(parts: &mut ActionParts<'_>, read: Result<Box<VerifiedRun>, String>) {
    let resumed = match read {
        Ok(resumed) => resumed,
        Err(why) => return parts.messages.notify(Level::Error, format!("Could not resume: {why}")),
    };
    for note in resumed.from.messages() {
        parts.messages.notify(Level::Warning, note);
    }
    documents::clear(parts);
    parts.document.session.resume(&resumed.run, &resumed.from);
    parts.flow.resuming = Some(Resuming::Building(resumed));
    runs::list(parts.document, parts.host, parts.messages);
}

/// Continues the recording of a resumed run after its simulation was loaded. Its writer is prepared on a thread.
pub fn continue_recording(parts: &mut ActionParts<'_>) {
    let Some(Resuming::Building(resumed)) = parts.flow.resuming.take() else { return };
    let (device, schema) = (parts.host.devices.chosen(), parts.document.session.live.schema.clone());
    let step = resumed.from.info.step;
    if parts.document.session.live.clock.step != step && schema.since_step != step {
        let why = "Could not resume: the checkpoint does not fit the simulation";
        return parts.messages.notify(Level::Error, why.to_owned());
    }
    parts.flow.resuming = Some(Resuming::Preparing);
    let name = resumed.run.path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    parts.messages.notify(Level::Info, format!("{name} continues at step {}: press Run", text::count(step)));
    let job = move || {
        let verified = *resumed;
        let (folder, base, now) = (verified.run.path.clone(), verified.run.base(), verified.from.now.clone());
        let taps = verified.run.taps(schema.probes, step);
        let start = RunStart {
            project: &now,
            base: &base,
            taps: taps.clone(),
            sets: &schema.sets,
            device: device.name,
            threads: device.threads,
            command: String::new(),
            trial: None,
            trials: 0,
        };
        let writer = RunWriter::resume(verified, &start).map(|writer| Box::new(writer) as Box<dyn Sink>);
        let writer = writer.map_err(|e| e.to_string());
        PreparedRecording { taps, problems: vec![], folder, writer }
    };
    if !parts.host.job(parts.messages, "record", job, recording::record) {
        parts.flow.resuming = None;
    }
}
