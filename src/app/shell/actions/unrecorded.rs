//! Runs that were not recorded, kept as a run when the user asks for it; and what a crashed window left.

use super::{intents, recording, runs};
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
            App,
            dialogs::{Dialog, answers::LeftRun},
            flow::Keeping,
            host::Host,
            messages::Messages,
            overlays::Overlays,
        },
    },
    project::{RunFolder, Status, move_run},
};
use std::path::{Path, PathBuf};

/// Folder of safety recordings in the state folder.
const FOLDER: &str = "unrecorded";

/// Looks for what a crashed window left in the state folder: unsaved work, runs and reports. New runs are kept there.
pub fn look_for_left_work(app: &mut App, state_dir: Option<PathBuf>) -> Result<(), String> {
    let runs = state_dir.as_ref().map(|folder| folder.join(FOLDER));
    app.document.session.live.safety = Safety::new(runs.clone(), app.host.devices.clone());
    app.document.session.live.safety.limit_bytes = app.preferences.settings.unrecorded_bytes();
    let (Some(folder), Some(runs)) = (state_dir, runs) else { return Ok(()) };
    let reports = folder.clone();
    app.host.try_job(
        "journal",
        move || journal::find(&folder),
        |app, result| offer_unsaved_work(&mut app.overlays, result),
    )?;
    app.host.try_job("unrecorded", move || find(&runs), |app, result| offer_left_run(&mut app.overlays, result))?;
    app.host.try_job(
        "reports",
        move || crash::find(&reports),
        |app, result| show_crash_report(&mut app.overlays, result),
    )
}

/// Writes the data that were kept of the run, and its last state, as a run; then continues with an action.
pub fn keep_as_run(app: &mut App, then: Option<Intent>) {
    let live = &mut app.document.session.live;
    live.pause();
    let has_failed = live.checkpoints.failure.as_ref().is_some_and(|failure| failure.stopped);
    let kept = live.safety_recording().cloned();
    let started = match kept.filter(|_| has_failed) {
        // Without a simulation there is no state to save; only the safety recording is left.
        Some(kept) => move_safety_recording(
            app,
            kept.folder,
            app.document.session.runs_folder(),
            &app.document.session.project.name.clone(),
        ),
        None => recording::prepare_recording(app, true),
    };
    match started {
        Ok(()) => app.flow.keeping = Some(Keeping { then }),
        Err(why) => app.messages.notify(Level::Error, format!("Could not keep the run: {why}")),
    }
}

/// Labels of the probes that are kept of an unrecorded run.
pub fn kept_probes(live: &Live) -> Vec<String> {
    let taps = live.safety_recording().map_or(&[][..], |kept| &kept.taps);
    let probes = taps.iter().filter_map(|tap| live.schema.probes.get(usize::from(tap.probe)));
    probes.map(|probe| probe.label().into_owned()).collect()
}

fn move_safety_recording(app: &mut App, folder: PathBuf, runs: PathBuf, name: &str) -> Result<(), String> {
    let name = name.to_owned();
    app.host.try_job("keep run", move || move_run(&folder, &runs, &name).map_err(|e| e.to_string()), run_moved)
}

/// Keeps the run of a crashed window.
pub fn keep_left_run(app: &mut App, left: &LeftRun) {
    if let Err(why) = move_safety_recording(app, left.folder.clone(), left.runs.clone(), &left.name) {
        app.messages.notify(Level::Error, why);
    }
}

/// Removes the run of a crashed window.
pub fn delete_left_run(app: &mut App, left: &LeftRun) {
    let folder = left.folder.clone();
    let job = move || {
        if let Err(error) = std::fs::remove_dir_all(&folder) {
            tracing::warn!("{}: {error}", folder.display());
        }
        folder.parent().and_then(find)
    };
    app.host.job(&mut app.messages, "unrecorded", job, |app, result| offer_left_run(&mut app.overlays, result));
}

/// A safety recording was moved among the runs.
pub fn run_moved(app: &mut App, moved: Result<PathBuf, String>) {
    match moved {
        Ok(folder) => run_kept(app, &folder),
        Err(why) => run_not_kept(app, &why),
    }
    if let Some(folder) = app.document.session.live.safety.folder.clone() {
        app.host.job(
            &mut app.messages,
            "unrecorded",
            move || find(&folder),
            |app, result| offer_left_run(&mut app.overlays, result),
        );
    }
}

/// A run was kept: the action that waited for it follows.
pub fn run_kept(app: &mut App, folder: &Path) {
    app.messages.notify(Level::Info, format!("Kept as {}", folder.display()));
    runs::list(&mut app.document, &mut app.host, &mut app.messages);
    if let Some(intent) = app.flow.keeping.take().and_then(|keeping| keeping.then) {
        intents::confirm_changes(app, intent);
    }
}

/// A run could not be kept: the action that waited for it does not follow.
pub fn run_not_kept(app: &mut App, why: &str) {
    app.flow.keeping = None;
    app.messages.notify(Level::Error, format!("Could not keep the run: {why}"));
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

/// Deletes the unsaved work of a crashed window and looks for more.
pub fn delete_unsaved_work(host: &mut Host, messages: &mut Messages, left: &Path) {
    std::fs::remove_file(left).ok();
    let Some(folder) = left.parent().map(Path::to_owned) else { return };
    host.job(
        messages,
        "journal",
        move || journal::find(&folder),
        |app, result| offer_unsaved_work(&mut app.overlays, result),
    );
}

/// Finds the newest safety recording whose process has ended. One without data is removed.
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
