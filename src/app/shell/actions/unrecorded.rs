//! Runs that were not recorded: kept as a run when the user asks for it, and offered after a crash.

use crate::{
    app::{
        document::{command::Intent, journal, live::Safety},
        host::crash,
        kit::level::Level,
        shell::{App, dialogs::Dialog, flow::Keeping},
    },
    project::{RunFolder, Status, move_run},
    sim::TimeBase,
};
use std::path::{Path, PathBuf};

/// Folder of safety recordings in the state folder.
const FOLDER: &str = "unrecorded";

/// A run that a crashed window did not record.
pub struct LeftRun {
    /// The safety recording.
    pub folder: PathBuf,
    /// Name of the project.
    pub name: String,
    /// The folder of the project's runs.
    pub runs: PathBuf,
    /// First and last step.
    pub steps: (u64, u64),
    /// Time base of a step.
    pub base: TimeBase,
    /// Step of the saved state, if there is one.
    pub state_step: Option<u64>,
}

impl App {
    /// Looks for what a crashed window left in the state folder: unsaved work, runs and reports. New runs are kept there.
    pub(crate) fn look_for_left_work(&mut self, state_dir: Option<PathBuf>) -> Result<(), String> {
        let runs = state_dir.as_ref().map(|folder| folder.join(FOLDER));
        self.document.session.live.safety = Safety::new(runs.clone(), self.host.devices.clone());
        self.document.session.live.safety.limit_bytes = self.preferences.settings.unrecorded_bytes();
        let (Some(folder), Some(runs)) = (state_dir, runs) else { return Ok(()) };
        let reports = folder.clone();
        self.try_job("journal", move || journal::find(&folder), Self::offer_unsaved_work)?;
        self.try_job("unrecorded", move || find(&runs), Self::offer_left_run)?;
        self.try_job("reports", move || crash::find(&reports), Self::show_crash_report)
    }

    /// Writes the data that were kept of the run, and its last state, as a run; then continues with an action.
    pub(crate) fn keep_as_run(&mut self, then: Option<Intent>) {
        let live = &mut self.document.session.live;
        live.pause();
        let has_failed = live.checkpoints.failure.as_ref().is_some_and(|failure| failure.stopped);
        let kept = live.safety_recording().cloned();
        let started = match kept.filter(|_| has_failed) {
            // Without a simulation there is no state to save; only the safety recording is left.
            Some(kept) => self.move_safety_recording(
                kept.folder,
                self.document.session.runs_folder(),
                &self.document.session.project.name.clone(),
            ),
            None => self.prepare_recording(true),
        };
        match started {
            Ok(()) => self.flow.keeping = Some(Keeping { then }),
            Err(why) => self.messages.notify(Level::Error, format!("Could not keep the run: {why}")),
        }
    }

    /// Labels of the probes that are kept of an unrecorded run.
    pub(crate) fn kept_probes(&self) -> Vec<String> {
        let live = &self.document.session.live;
        let taps = live.safety_recording().map_or(&[][..], |kept| &kept.taps);
        let probes = taps.iter().filter_map(|tap| live.schema.probes.get(usize::from(tap.probe)));
        probes.map(|probe| probe.label().into_owned()).collect()
    }

    fn move_safety_recording(&mut self, folder: PathBuf, runs: PathBuf, name: &str) -> Result<(), String> {
        let name = name.to_owned();
        self.try_job("keep run", move || move_run(&folder, &runs, &name).map_err(|e| e.to_string()), Self::run_moved)
    }

    /// Keeps the run of a crashed window.
    pub(crate) fn keep_left_run(&mut self, left: &LeftRun) {
        if let Err(why) = self.move_safety_recording(left.folder.clone(), left.runs.clone(), &left.name) {
            self.messages.notify(Level::Error, why);
        }
    }

    /// Removes the run of a crashed window.
    pub(crate) fn delete_left_run(&mut self, left: &LeftRun) {
        let folder = left.folder.clone();
        let job = move || {
            if let Err(error) = std::fs::remove_dir_all(&folder) {
                tracing::warn!("{}: {error}", folder.display());
            }
            folder.parent().and_then(find)
        };
        self.job("unrecorded", job, Self::offer_left_run);
    }

    /// A safety recording was moved among the runs.
    pub(crate) fn run_moved(&mut self, moved: Result<PathBuf, String>) {
        match moved {
            Ok(folder) => self.run_kept(&folder),
            Err(why) => self.run_not_kept(&why),
        }
        if let Some(folder) = self.document.session.live.safety.folder.clone() {
            self.job("unrecorded", move || find(&folder), Self::offer_left_run);
        }
    }

    /// A run was kept: the action that waited for it follows.
    pub(crate) fn run_kept(&mut self, folder: &Path) {
        self.messages.notify(Level::Info, format!("Kept as {}", folder.display()));
        self.list_runs();
        if let Some(intent) = self.flow.keeping.take().and_then(|keeping| keeping.then) {
            self.confirm_changes(intent);
        }
    }

    /// A run could not be kept: the action that waited for it does not follow.
    pub(crate) fn run_not_kept(&mut self, why: &str) {
        self.flow.keeping = None;
        self.messages.notify(Level::Error, format!("Could not keep the run: {why}"));
    }

    /// Offers the run of a crashed window.
    pub(crate) fn offer_left_run(&mut self, left: Option<Box<LeftRun>>) {
        if let Some(left) = left {
            self.overlays.open_dialog(Dialog::LeftRun(left));
        }
    }
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
