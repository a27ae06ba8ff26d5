//! Runs that were not recorded, which the user can keep, and data that a crashed window left.

use super::{recording, requests, runs};
use crate::{
    app::{
        document::{
            command::Intent,
            journal::{self, UnsavedWork},
            live::{Live, Safety},
        },
        host::crash,
        kit::level::Level,
        shell::{
            dialogs::{Dialog, answers::LeftRun},
            flow::Keeping,
            host::Host,
            messages::Messages,
            overlays::Overlays,
            parts::ActionParts,
        },
    },
    project::{RunFolder, Status, move_run},
};
use std::path::{Path, PathBuf};

/// Folder of safety recordings in the state folder.
const FOLDER: &str = "unrecorded";

/// Searches the state folder for data that a crashed window left: unsaved work, runs and reports. Safety recordings of new runs
/// are stored there too. Fails if a thread cannot be started.
pub fn look_for_left_work(
    parts: &mut ActionParts<'_>,
    state_dir: Option<PathBuf>,
    limit_bytes: u64,
) -> Result<(), String> {
    let runs = state_dir.as_ref().map(|folder| folder.join(FOLDER));
    parts.document.session.live.safety = Safety::new(runs.clone(), parts.host.devices.clone());
    parts.document.session.live.safety.limit_bytes = limit_bytes;
    let (Some(folder), Some(runs)) = (state_dir, runs) else { return Ok(()) };
    let reports = folder.clone();
    parts.host.try_job(
        "journal",
        move || journal::find(&folder),
        |parts, result| offer_unsaved_work(parts.overlays, result),
    )?;
    parts.host.try_job("unrecorded", move || find(&runs), |parts, result| offer_left_run(parts.overlays, result))?;
    parts.host.try_job(
        "reports",
        move || crash::find(&reports),
        |parts, result| show_crash_report(parts.overlays, result),
    )
}

/// Writes the data of the safety recording and the last state as a run. The action `then` follows when the run is written.
pub fn keep_as_run(parts: &mut ActionParts<'_>, then: Option<Intent>) {
    let live = &mut parts.document.session.live;
    live.pause();
    let has_failed = live.checkpoints.failure.as_ref().is_some_and(|failure| failure.stopped);
    let kept = live.safety_recording().cloned();
    let started = match kept.filter(|_| has_failed) {
        // A failed simulation has no state to save, so only the safety recording is moved.
        Some(kept) => move_safety_recording(
            parts,
            kept.folder,
            parts.document.session.runs_folder(),
            &parts.document.session.project.name.clone(),
        ),
        None => recording::prepare_recording(parts, true),
    };
    match started {
        Ok(()) => parts.flow.keeping = Some(Keeping { then }),
        Err(why) => parts.messages.notify(Level::Error, format!("Could not keep the run: {why}")),
    }
}

/// Labels of the probes whose data are kept for an unrecorded run.
pub fn kept_probes(live: &Live) -> Vec<String> {
    let taps = live.safety_recording().map_or(&[][..], |kept| &kept.taps);
    let probes = taps.iter().filter_map(|tap| live.schema.probes.get(usize::from(tap.probe)));
    probes.map(|probe| probe.label().into_owned()).collect()
}

fn move_safety_recording(
    parts: &mut ActionParts<'_>,
    folder: PathBuf,
    runs: PathBuf,
    name: &str,
) -> Result<(), String> {
    let name = name.to_owned();
    parts.host.try_job(
        "keep run",
        move || move_run(&folder, &runs, &name).map_err(|e| e.to_string()),
        |parts, moved| {
            if let Some(intent) = run_moved(parts, moved) {
                requests::confirm_changes(parts, intent);
            }
        },
    )
}

/// Moves the run of a crashed window to the runs of its project.
pub fn keep_left_run(parts: &mut ActionParts<'_>, left: &LeftRun) {
    if let Err(why) = move_safety_recording(parts, left.folder.clone(), left.runs.clone(), &left.name) {
        parts.messages.notify(Level::Error, why);
    }
}

/// Deletes the run of a crashed window on a thread, and offers the next one.
pub fn delete_left_run(parts: &mut ActionParts<'_>, left: &LeftRun) {
    let folder = left.folder.clone();
    let job = move || {
        if let Err(error) = std::fs::remove_dir_all(&folder) {
            tracing::warn!("{}: {error}", folder.display());
        }
        folder.parent().and_then(find)
    };
    parts.host.job(parts.messages, "unrecorded", job, |parts, result| offer_left_run(parts.overlays, result));
}

/// Handles a safety recording that was moved to the runs. Returns the action that waited for it.
fn run_moved(parts: &mut ActionParts<'_>, moved: Result<PathBuf, String>) -> Option<Intent> {
    let then = match moved {
        Ok(folder) => run_kept(parts, &folder),
        Err(why) => {
            run_not_kept(parts, &why);
            None
        }
    };
    if let Some(folder) = parts.document.session.live.safety.folder.clone() {
        parts.host.job(
            parts.messages,
            "unrecorded",
            move || find(&folder),
            |parts, result| offer_left_run(parts.overlays, result),
        );
    }
    then
}

/// Handles a run that was kept. Returns the action that waited for it.
pub fn run_kept(parts: &mut ActionParts<'_>, folder: &Path) -> Option<Intent> {
    parts.messages.notify(Level::Info, format!("Kept as {}", folder.display()));
    runs::list(parts.document, parts.host, parts.messages);
    parts.flow.keeping.take().and_then(|keeping| keeping.then)
}

/// Handles a run that could not be kept. The action that waited for it is dropped.
pub fn run_not_kept(parts: &mut ActionParts<'_>, why: &str) {
    parts.flow.keeping = None;
    parts.messages.notify(Level::Error, format!("Could not keep the run: {why}"));
}

/// Offers the run of a crashed window.
pub fn offer_left_run(overlays: &mut Overlays, left: Option<Box<LeftRun>>) {
    if let Some(left) = left {
        overlays.open_dialog(Dialog::LeftRun(left));
    }
}

/// Offers the unsaved work of a crashed window.
pub fn offer_unsaved_work(overlays: &mut Overlays, left: Option<UnsavedWork>) {
    if let Some(left) = left {
        let lines = left.differences();
        overlays.open_dialog(Dialog::Restore(left, lines));
    }
}

/// Shows the report of a crash.
pub fn show_crash_report(overlays: &mut Overlays, report: Option<(PathBuf, String)>) {
    if let Some((file, text)) = report {
        overlays.open_dialog(Dialog::Crash(file, text));
    }
}

/// Deletes the unsaved work of a crashed window, and offers further work.
pub fn delete_unsaved_work(host: &mut Host, messages: &mut Messages, left: &Path) {
    std::fs::remove_file(left).ok();
    let Some(folder) = left.parent().map(Path::to_owned) else { return };
    host.job(
        messages,
        "journal",
        move || journal::find(&folder),
        |parts, result| offer_unsaved_work(parts.overlays, result),
    );
}

/// Finds the newest safety recording whose process has ended. Recordings without data are deleted.
fn find(folder: &Path) -> Option<Box<LeftRun>> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let is_left = |path: &PathBuf| process_of(path).is_some_and(|id| !journal::is_alive(id));
    let mut folders: Vec<PathBuf> = entries.map(|e| e.path()).filter(is_left).collect();
    folders.sort_by_key(|f| f.metadata().and_then(|m| m.modified()).ok());
    folders.into_iter().rev().find_map(read).map(Box::new)
}

fn read(folder: PathBuf) -> Option<LeftRun> {
    let run = RunFolder::open(&folder).ok().filter(|run| run.manifest.last_step > run.manifest.first_step);
    let Some(run) = run else {
        std::fs::remove_dir_all(&folder).ok();
        return None;
    };
    let m = run.manifest;
    (m.status != Status::Running).then(|| LeftRun {
        folder,
        runs: m.base.join("runs"),
        steps: (m.first_step, m.last_step),
        state_step: m.checkpoints.last().map(|c| c.step),
        base: m.time_base(),
        name: m.name,
    })
}

fn process_of(folder: &Path) -> Option<u32> {
    folder.file_name()?.to_str()?.split_once('-')?.0.parse().ok()
}
