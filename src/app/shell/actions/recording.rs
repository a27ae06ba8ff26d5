//! Recording to run folders, playback, replay and export.

use crate::{
    app::{
        document::{
            command::UiCommand,
            library::{self, Library, Replaying},
            playback::{self, OpenedRun, Opening},
        },
        host::consent::{Received, ReceivedPurpose},
        kit::{level::Level, text},
        shell::{App, dialogs::Dialog},
    },
    export::{self, Format},
    project::{Elements, RunFolder, RunStart, RunWriter, outside_paths_of_run, replay::ReplayResult},
    sim::{Progress, Tap},
};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

/// A recording that can start: its run folder was created, or could not be.
pub struct PreparedRecording {
    /// The recorded taps.
    pub taps: Vec<Tap>,
    /// The entries of `record` without a tap, in words.
    pub problems: Vec<String>,
    /// The run folder.
    pub folder: PathBuf,
    /// Writes into it.
    pub writer: Result<Box<RunWriter>, String>,
}

impl App {
    /// Replays a recorded run on a thread and compares it. Asks first whether it may read files outside its folder.
    pub(crate) fn replay(&mut self, folder: &Path) {
        let read = RunFolder::open(folder).map_err(|e| e.to_string());
        let read = read.and_then(|run| run.project().map(|project| (run, project)).map_err(|e| e.to_string()));
        let (run, project) = match read {
            Ok(read) => read,
            Err(why) => return self.messages.notify(Level::Error, why),
        };
        let outside = outside_paths_of_run(&run, &project);
        if !self.host.consent.allows_run(folder, &outside) {
            let received = Received { path: folder.to_owned(), outside, purpose: ReceivedPurpose::ReplayRun };
            return self.overlays.open_dialog(Dialog::OutsideFiles(received));
        }
        let name = folder.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        let (devices, progress) = (self.host.devices.clone(), Arc::new(Progress::default()));
        let (shared, called) = (progress.clone(), name.clone());
        let job = move || devices.replay(&run, &shared).map_err(|e| e.to_string());
        if self.job("replay", job, move |app, verdict| app.replayed(&called, verdict)) {
            self.document.library.replaying = Some(Replaying { name, progress });
        }
    }

    /// Shows the result of a replay.
    pub(crate) fn replayed(&mut self, name: &str, verdict: Result<ReplayResult, String>) {
        let was_cancelled = self.document.library.replaying.take().is_some_and(|replay| replay.progress.is_cancelled());
        match verdict {
            _ if was_cancelled => {}
            Ok(result @ ReplayResult::Identical { .. }) => {
                self.messages.notify(Level::Info, format!("Replay of {name}: {}", result.text()));
            }
            Ok(ReplayResult::Differs(what)) => {
                self.messages.notify(Level::Error, format!("Replay of {name} differs: {what}"))
            }
            Err(why) => self.messages.notify(Level::Error, format!("Could not replay {name}: {why}")),
        }
    }

    /// Starts or stops a recording.
    pub(crate) fn toggle_recording(&mut self) {
        if self.document.session.live.recording.is_some() {
            return self.document.session.live.stop_recording();
        }
        if let Err(e) = self.prepare_recording(false) {
            self.messages.notify(Level::Error, format!("Could not record: {e}"));
        }
    }

    /// Prepares a run folder on a thread. With `keeps_only`, it holds the data of the safety recording and the last state.
    pub(crate) fn prepare_recording(&mut self, keeps_only: bool) -> Result<(), String> {
        let session = &self.document.session;
        let mut since = session.live.run_log().ok_or("there is no simulation")?.clone();
        // The log changes parameters only; other properties of a recording are the present ones.
        let now = session.project.clone();
        since.project.run = now.run.clone();
        since.project.record = now.record.clone();
        (since.project.name, since.project.notes) = (now.name.clone(), now.notes.clone());
        let origin = session.live.origin.clone();
        let safety = session.live.safety_recording().cloned();
        let (runs, name) = (session.runs_folder(), session.project.name.clone());
        let (base, device, schema) = (session.folder(), self.host.devices.chosen(), session.live.schema.clone());
        let prepare = move || {
            // Queries of `record` read files and search all elements.
            let connectivity = schema.connectivity.as_ref();
            let elements = Elements { sets: &schema.sets, connectivity, base: Some(&base) };
            let (mut taps, problems) = if keeps_only { (vec![], vec![]) } else { now.taps_in(&elements) };
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
                trials: 0,
            };
            // Before there is a folder.
            let checked = schema.check_taps(&taps).map_err(std::io::Error::other);
            let writer = checked.and_then(|()| RunWriter::create(&folder, start)).and_then(|w| {
                let writer = w.with_probes(schema.probes).with_beginning(beginning);
                let writer = if keeps_only { writer.with_final_state() } else { writer };
                match &origin {
                    Some((run, checkpoint)) => writer.branch_of(run, checkpoint.clone()),
                    None => Ok(writer),
                }
            });
            let writer = writer.map(Box::new).map_err(|e| e.to_string());
            PreparedRecording { taps, problems, folder, writer }
        };
        self.try_job("record", prepare, Self::record)
    }

    /// Starts the recording that was prepared.
    pub(crate) fn record(&mut self, prepared: PreparedRecording) {
        let PreparedRecording { taps, problems, folder, writer } = prepared;
        for problem in problems {
            self.messages.log.add(Level::Warning, problem);
        }
        self.flow.resuming = None;
        match writer {
            Ok(writer) => {
                self.document.session.live.record(taps, writer, folder);
                if self.flow.keeping.is_some() {
                    self.document.session.live.stop_recording();
                }
            }
            Err(e) if self.flow.keeping.is_some() => self.run_not_kept(&e),
            Err(e) => self.messages.notify(Level::Error, format!("Could not record: {e}")),
        }
    }

    /// A recording is complete.
    pub(crate) fn recorded(&mut self, folder: &Path, took: Duration) {
        if self.flow.keeping.is_some() {
            return self.run_kept(folder);
        }
        let name = folder.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        self.messages.notify(Level::Info, format!("Recorded {name} in {} of computing", text::wall_time(took)));
        self.list_runs();
    }

    /// Exports a run, else the last one, on a thread.
    pub(crate) fn export(&mut self, folder: Option<PathBuf>, format: Format) {
        let last = || self.document.library.runs.last().map(|r| r.folder.clone());
        let Some(run) = folder.or_else(last) else { return };
        self.job("export", move || export_run(&run, format).map_err(|e| e.to_string()), Self::exported);
    }

    /// Opens a run folder, on a thread. Its elements come from its project, which is built again.
    pub(crate) fn open_run(&mut self, folder: PathBuf) {
        let (builder, consent) = (self.document.session.live.builder(), self.host.consent.clone());
        let open = move || {
            let opened = playback::open(&folder, &builder, &|outside| consent.allows_run(&folder, outside));
            (folder, opened)
        };
        let is_started = self.job("open run", open, |app, (path, opened)| match opened {
            Ok(Opening::Opened(run)) => app.show_playback(*run),
            Ok(Opening::NeedsConsent(outside)) => {
                let received = Received { path, outside, purpose: ReceivedPurpose::OpenRun };
                app.overlays.open_dialog(Dialog::OutsideFiles(received));
            }
            Err(e) => app.open_failed(format!("Could not open the run: {e}")),
        });
        if is_started {
            self.messages.log.add(Level::Info, "Opening a run: building its network for positions and categories");
        }
    }

    /// Shows a finished run instead of the simulation: the same views, with a time cursor instead of the live edge.
    pub(crate) fn show_playback(&mut self, opened: OpenedRun) {
        for note in &opened.notes {
            self.messages.log.add(Level::Warning, note.clone());
        }
        self.clear_document();
        if let Err(e) = self.document.session.show_run(opened) {
            return self.messages.notify(Level::Error, format!("Could not open the run: {e}"));
        }
        self.document.time.reset();
        let layout = self.document.session.layout.take();
        self.workspace.open(layout.as_deref(), &self.document.session.live.schema);
        self.workspace.unfed.clear();
        if let Some(recorded) = &self.document.session.live.playback {
            let (first, last) = (recorded.first as f64, recorded.last as f64);
            self.document.library.select(&recorded.folder);
            self.document.time.axis.is_recorded = true;
            self.document.time.past.begin(recorded.first);
            self.document.time.axis.set_cursor(first);
            self.document.time.axis.line.show(first, last);
        }
        self.list_runs();
    }

    /// Reads the shown run again for panels that were opened after it was read.
    pub(crate) fn feed_new_panels(&mut self) {
        let (live, workspace) = (&mut self.document.session.live, &mut self.workspace);
        if live.playback.is_none() {
            return workspace.unfed.clear();
        }
        workspace.list_behind();
        let panes = live.read_again(&mut workspace.unfed);
        workspace.reset_views(&panes, &live.schema);
        let (panes, frames) = live.take_again();
        frames.iter().for_each(|frame| workspace.absorb_into(&panes, &live.schema, frame));
    }

    /// Step and rewind move the time cursor.
    pub(crate) fn move_in_playback(&mut self, command: &UiCommand) {
        let step = self.step_steps() as f64;
        self.move_cursor(match command {
            UiCommand::Step => step,
            UiCommand::StepMore => step * 10.0,
            _ => f64::NEG_INFINITY,
        });
    }

    /// Reads the list of runs, on a thread.
    pub(crate) fn list_runs(&mut self) {
        let beside = self.document.session.live.playback.as_ref().and_then(|r| Some(r.folder.parent()?.to_owned()));
        let folder = beside.unwrap_or_else(|| self.document.session.runs_folder());
        if self.document.library.folder != folder {
            let Library { sweeping, swept, .. } = std::mem::take(&mut self.document.library);
            self.document.library =
                Library { is_reading: true, folder: folder.clone(), sweeping, swept, ..Library::default() };
        }
        let open = Arc::new(self.document.session.project.clone());
        self.job(
            "runs",
            move || library::read(&folder, &open),
            |app, runs| {
                app.document.profile.machine.runs = runs.iter().map(|run| run.folder.clone()).collect();
                app.document.library.set_runs(runs);
            },
        );
    }
}

fn export_run(run: &Path, format: Format) -> std::io::Result<String> {
    let run = RunFolder::open(run)?;
    if let Some(why) = export::damaged(&run, format, &Progress::default())?.first() {
        let what = format!("{why}; `neuropil export --allow-damaged` exports what is there");
        return Err(std::io::Error::new(std::io::ErrorKind::InvalidData, what));
    }
    let files = export::export(&run, format, None)?;
    let names: Vec<String> = files.iter().map(|f| f.display().to_string()).collect();
    Ok(format!("Exported {}", names.join(", ")))
}

/// `runs/0007-sugar-to-motor`: the next number and the project's name.
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
