//! Recording to run folders, and replay of runs.

use super::{runs, unrecorded};
use crate::{
    app::{
        document::{command::Intent, library::Replaying},
        host::consent::{Received, ReceivedPurpose},
        kit::{level::Level, text},
        shell::{dialogs::Dialog, parts::ActionParts},
    },
    engine::Sink,
    project::{
        Elements, RunFolder, RunStart, RunWriter, SeriesWriter, outside_paths_of_run, replay::ReplayResult,
        series::with_spikes,
    },
    sim::{Progress, Tap, TrialChoice},
};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

/// Recording that was prepared: its run folder was created, or could not be.
pub struct PreparedRecording {
    /// Taps that are recorded.
    pub taps: Vec<Tap>,
    /// Descriptions of the entries of `record` that have no tap.
    pub problems: Vec<String>,
    /// Path of the run folder.
    pub folder: PathBuf,
    /// Writer of the run folder, or the reason why it could not be created.
    pub writer: Result<Box<dyn Sink>, String>,
}

/// Replays a recorded run on a thread and compares the results. First asks whether the run may read files outside its folder.
pub fn replay(parts: &mut ActionParts<'_>, folder: &Path) {
    let read = RunFolder::open(folder).map_err(|e| e.to_string());
    let read = read.and_then(|run| run.project().map(|project| (run, project)).map_err(|e| e.to_string()));
    let (run, project) = match read {
        Ok(read) => read,
        Err(why) => return parts.messages.notify(Level::Error, why),
    };
    let outside = outside_paths_of_run(&run, &project);
    if !parts.host.consent.allows_run(folder, &outside) {
        let received = Received { path: folder.to_owned(), outside, purpose: ReceivedPurpose::ReplayRun };
        return parts.overlays.open_dialog(Dialog::OutsideFiles(received));
    }
    let name = folder.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let (devices, progress) = (parts.host.devices.clone(), Arc::new(Progress::default()));
    let (shared, called) = (progress.clone(), name.clone());
    let job = move || devices.replay(&run, &shared).map_err(|e| e.to_string());
    if parts.host.job(parts.messages, "replay", job, move |parts, verdict| replayed(parts, &called, verdict)) {
        parts.document.library.replaying = Some(Replaying { name, progress });
    }
}

/// Shows the result of a replay.
fn replayed(parts: &mut ActionParts<'_>, name: &str, verdict: Result<ReplayResult, String>) {
    let was_cancelled = parts.document.library.replaying.take().is_some_and(|replay| replay.progress.is_cancelled());
    match verdict {
        _ if was_cancelled => {}
        Ok(result @ ReplayResult::Identical { .. }) => {
            parts.messages.notify(Level::Info, format!("Replay of {name}: {}", result.text()));
        }
        Ok(ReplayResult::Differs(what)) => {
            parts.messages.notify(Level::Error, format!("Replay of {name} differs: {what}"))
        }
        Err(why) => parts.messages.notify(Level::Error, format!("Could not replay {name}: {why}")),
    }
}

/// Starts or stops a recording.
pub fn toggle_recording(parts: &mut ActionParts<'_>) {
    if parts.document.session.live.recording.is_some() {
        return parts.document.session.live.stop_recording();
    }
    if let Err(e) = prepare_recording(parts, false) {
        parts.messages.notify(Level::Error, format!("Could not record: {e}"));
    }
}

/// Prepares a run folder on a thread. With `keeps_only`, the run contains only the data of the safety recording and the last
/// state. Several trials are recorded as a series. Fails if there is no simulation or no thread can be started, and for several
/// trials with `keeps_only`.
pub fn prepare_recording(parts: &mut ActionParts<'_>, keeps_only: bool) -> Result<(), String> {
    let session = &parts.document.session;
    if session.live.is_load_pending() {
        // Taps are checked against the schema, which is that of the former simulation.
        return Err("the simulation is not loaded yet: record again in a moment".to_owned());
    }
    let n_trials = session.live.schema.trials;
    if n_trials > 1 && keeps_only {
        return Err("several trials are kept only if they are recorded: press Record before Run".to_owned());
    }
    let mut since = session.live.run_log().ok_or("there is no simulation")?.clone();
    // The log changes only parameters, so other properties of a recording are the present ones.
    let now = session.project.clone();
    since.project.run = now.run.clone();
    since.project.record = now.record.clone();
    (since.project.name, since.project.notes) = (now.name.clone(), now.notes.clone());
    let origin = session.live.origin.clone();
    let safety = session.live.safety_recording().cloned();
    let (runs, name) = (session.runs_folder(), session.project.name.clone());
    let (base, device, schema) = (session.folder(), parts.host.devices.chosen(), session.live.schema.clone());
    let prepare = move || {
        // Queries of `record` read files and search all elements, so they are evaluated on the thread.
        let connectivity = schema.connectivity.as_ref();
        let elements = Elements { sets: &schema.sets, connectivity, base: Some(&base) };
        let (mut taps, problems) = if keeps_only { (vec![], vec![]) } else { now.taps_in(&elements) };
        if n_trials > 1 {
            with_spikes(&mut taps, schema.probes);
        }
        let folder = free_folder(&runs, &name);
        let beginning = safety.map(|safety| {
            RunWriter::join_taps(&mut taps, &safety.taps);
            safety.folder
        });
        let start = RunStart {
            project: &since.project,
            base: &base,
            taps: taps.clone(),
            sets: &schema.sets,
            threads: device.threads,
            device: device.name,
            command: String::new(),
            trial: None,
            trials: if n_trials > 1 { n_trials } else { 0 },
        };
        // The taps are checked before the folder is created.
        let checked = schema.check_taps(&taps).map_err(std::io::Error::other);
        if n_trials > 1 {
            let writer = checked.and_then(|()| SeriesWriter::create(&folder, &start, schema.probes));
            let writer = writer.map(|writer| Box::new(writer) as Box<dyn Sink>).map_err(|e| e.to_string());
            let taps = taps.into_iter().map(|tap| Tap { trial: TrialChoice::All, ..tap }).collect();
            return PreparedRecording { taps, problems, folder, writer };
        }
        let writer = checked.and_then(|()| RunWriter::create(&folder, start)).and_then(|w| {
            let writer = w.with_probes(schema.probes).with_beginning(beginning);
            let writer = if keeps_only { writer.with_final_state() } else { writer };
            match &origin {
                Some((run, checkpoint)) => writer.branch_of(run, checkpoint.clone()),
                None => Ok(writer),
            }
        });
        let writer = writer.map(|writer| Box::new(writer) as Box<dyn Sink>).map_err(|e| e.to_string());
        PreparedRecording { taps, problems, folder, writer }
    };
    parts.host.try_job("record", prepare, record)
}

/// Starts a prepared recording, or shows the reason why it cannot start.
pub fn record(parts: &mut ActionParts<'_>, prepared: PreparedRecording) {
    let PreparedRecording { taps, problems, folder, writer } = prepared;
    for problem in problems {
        parts.messages.log.add(Level::Warning, problem);
    }
    parts.flow.resuming = None;
    match writer {
        Ok(writer) => {
            parts.document.session.live.record(taps, writer, folder);
            if parts.flow.keeping.is_some() {
                parts.document.session.live.stop_recording();
            }
        }
        Err(e) if parts.flow.keeping.is_some() => unrecorded::run_not_kept(parts, &e),
        Err(e) => parts.messages.notify(Level::Error, format!("Could not record: {e}")),
    }
}

/// Handles a complete recording. Returns the action that waited for it, if the run was being kept.
pub fn recorded(parts: &mut ActionParts<'_>, folder: &Path, took: Duration) -> Option<Intent> {
    if parts.flow.keeping.is_some() {
        return unrecorded::run_kept(parts, folder);
    }
    let name = folder.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    parts.messages.notify(Level::Info, format!("Recorded {name} in {} of computing", text::wall_time(took)));
    runs::list(parts.document, parts.host, parts.messages);
    None
}

/// Returns a new folder for a run with the next number and the project's name: `runs/0007-sugar-to-motor`.
fn free_folder(runs: &Path, name: &str) -> PathBuf {
    let number = |p: &Path| p.file_name()?.to_str()?.split('-').next()?.parse::<u32>().ok();
    let taken = std::fs::read_dir(runs).into_iter().flatten().flatten().filter_map(|e| number(&e.path())).max();
    let words: Vec<String> =
        name.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty()).map(str::to_lowercase).collect();
    runs.join(format!("{:04}-{}", taken.unwrap_or(0) + 1, words.join("-")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use neuropil_test_support::temp::TempFolder;

    #[test]
    fn folders_are_numbered() {
        let runs = TempFolder::new("runs");
        std::fs::create_dir_all(runs.join("0041-old")).unwrap();
        assert!(free_folder(&runs, "Sugar → motor!").ends_with("0042-sugar-motor"));
    }
}
