//! Background jobs on named threads: files and dialogs. Results arrive in a queue, so the window never blocks.

use super::{figure::FigureHandle, paths::ElementPath};
use crate::{
    data::io_reason,
    project::{self, Project, RunWriter, Warning},
    sim::{Progress, Tap},
};
use crossbeam_channel::{Receiver, Sender, bounded};
use std::{
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

/// Purpose of a file dialog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To open a project.
    Open,
    /// To save the project.
    SaveAs,
    /// To set a parameter to the path.
    Parameter(crate::params::ParamId),
    /// A connection list to import.
    Import,
    /// To write a text: a proposed name and the text.
    SaveText(String, Arc<str>),
    /// To write a picture of a panel.
    Figure(FigureHandle),
}

/// Result of a background job.
pub enum JobResult {
    /// The system's file dialog was closed.
    Picked {
        /// Purpose of the dialog.
        purpose: Purpose,
        /// The chosen path; none when cancelled or when there is no dialog.
        path: Option<PathBuf>,
        /// How long it was open: a dialog that closes at once was never shown.
        took: Duration,
    },
    /// A project was read.
    Opened(PathBuf, Result<(Box<Project>, Vec<Warning>), String>),
    /// A path was searched; its progress tells searches apart.
    Path(Arc<Progress>, Result<ElementPath, String>),
    /// A file of trees was read.
    Trees(PathBuf, Result<crate::export::newick::Trees, String>),
    /// A project was written.
    Saved(PathBuf, Arc<Project>, Result<(), String>),
    /// What is recorded was looked up and a run folder was created; the recording can start.
    RecordingReady {
        /// The recorded taps.
        taps: Vec<Tap>,
        /// The entries of `record` without a tap, in words.
        problems: Vec<String>,
        /// The run folder.
        folder: PathBuf,
        /// Writes into it.
        writer: Result<Box<RunWriter>, String>,
    },
    /// A run was exported; the summary for the toast.
    Exported(Result<String, String>),
    /// Unsaved work of a crashed window, if any.
    Journal(Option<super::journal::UnsavedWork>),
    /// The run of a crashed window that was not recorded, if any.
    LeftRun(Option<Box<super::unrecorded::LeftRun>>),
    /// A run that was not recorded was moved among the runs.
    RunKept(Result<PathBuf, String>),
    /// A run folder was opened.
    RunOpened(Result<Box<super::playback::OpenedRun>, String>),
    /// A run reads files outside its folder, which are not allowed yet.
    RunNeedsConsent(PathBuf, Vec<crate::project::OutsidePath>),
    /// The newest unread crash report.
    Crash(Option<(PathBuf, String)>),
    /// The project's file was written, and its content.
    FileChanged(PathBuf, Box<Project>),
    /// The image of a panel, or why there is none.
    Figure(Result<FigureHandle, String>),
    /// Elements to select, and the generation of the selection at the request.
    Selected(&'static str, Vec<u32>, u64),
    /// The runs found beside the project.
    Runs(Vec<super::library::Run>),
    /// Search results of the palette in the model.
    Found(String, Vec<super::palette::SearchHit>),
    /// A recorded run was replayed: its name, and whether it is identical.
    Replayed(String, Result<crate::project::replay::ReplayResult, String>),
    /// A run of a sweep ended: its folder.
    SweepRun(PathBuf),
    /// A sweep ended: the number of its runs, or why it stopped.
    SweepEnded(Result<usize, String>),
    /// A checkpoint of a recorded run was read.
    Branched(Result<Box<super::branch::Branch>, String>),
    /// The last checkpoint of a run was read, to resume it.
    Resumed(Result<Box<crate::project::VerifiedRun>, String>),
    /// A folder was shown to the user, or could not be.
    Revealed(Result<(), PathBuf>),
    /// The user's own layouts.
    Layouts(Vec<super::workspace::Layout>),
    /// A layout was kept; its name.
    LayoutKept(Result<String, String>),
    /// Comparison of the device with the reference.
    Compared(Box<Result<crate::engine::parity::Parity, String>>),
    /// Peak performance of the device: read from the cache (none: not cached) or measured.
    Ceilings(Result<Option<Box<crate::gpu::ceilings::Ceilings>>, String>),
}

/// Longer tasks request attention when they end.
pub const LONG: Duration = Duration::from_secs(30);

/// A message younger than this is used for the notification.
const FRESH: Duration = Duration::from_secs(3);

/// A task the user may wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LongTask {
    /// A run.
    Run,
    /// The simulation is built.
    Build,
    /// The device is compared with the reference.
    Comparison,
    /// A recorded run is replayed.
    Replay,
}

/// Start time of the current long task, and its last kind.
#[derive(Default)]
pub struct Attention(Option<(Instant, LongTask)>);

impl Attention {
    /// Called once per frame; returns a long task that has just ended.
    pub fn ended(&mut self, busy_with: Option<LongTask>, now: Instant) -> Option<LongTask> {
        if let Some(task) = busy_with {
            self.0 = Some((self.0.map_or(now, |(since, _)| since), task));
            return None;
        }
        let (since, task) = self.0.take()?;
        (now.saturating_duration_since(since) > LONG).then_some(task)
    }
}

impl super::App {
    /// Requests attention and shows a desktop notification when a long task ends while the window is in the background.
    pub(super) fn request_attention(&mut self, ctx: &egui::Context) {
        let busy_with = self.busy_with();
        let is_away = ctx.input(|i| i.viewport().focused) == Some(false);
        if let Some(task) = self.attention.ended(busy_with, Instant::now())
            && is_away
        {
            let attention = egui::UserAttentionType::Informational;
            ctx.send_viewport_cmd(egui::ViewportCommand::RequestUserAttention(attention));
            if self.native_dialogs {
                notify_desktop(self.end_message(task, Instant::now()));
            }
        }
    }

    /// The current long task.
    fn busy_with(&self) -> Option<LongTask> {
        let live = &self.session.live;
        let all = [
            (live.running, LongTask::Run),
            (live.progress().is_some(), LongTask::Build),
            (self.profile.comparison.progress.is_some(), LongTask::Comparison),
            (self.library.replaying.is_some(), LongTask::Replay),
        ];
        all.into_iter().find(|(is_busy, _)| *is_busy).map(|(_, task)| task)
    }

    /// Text of the notification: the latest message, or a default.
    fn end_message(&self, task: LongTask, now: Instant) -> String {
        let is_fresh = |at: Instant| now.saturating_duration_since(at) < FRESH;
        match self.toasts.history.back().filter(|notice| is_fresh(notice.at)) {
            Some(notice) => notice.text.clone(),
            None => match task {
                LongTask::Run => format!("Run stopped at {}", self.time_text(self.session.live.clock.step as f64)),
                LongTask::Build => "Simulation ready".to_owned(),
                LongTask::Comparison => "Device comparison finished".to_owned(),
                LongTask::Replay => "Replay finished".to_owned(),
            },
        }
    }
}

/// Shows a desktop notification. The message is also in the window.
fn notify_desktop(what: String) {
    let show = move || {
        let notice = notify_rust::Notification::new().appname("Neuropil").summary("Neuropil").body(&what).show();
        if let Err(e) = notice {
            tracing::debug!("no desktop notification: {e}");
        }
    };
    // On a thread: the desktop may be slow to answer.
    if let Err(e) = std::thread::Builder::new().name("notice".to_owned()).spawn(show) {
        tracing::debug!("no thread for a desktop notification: {e}");
    }
}

/// Starts jobs and collects their results.
pub struct Jobs {
    outbox: Sender<JobResult>,
    inbox: Receiver<JobResult>,
    wake: egui::Context,
}

impl Jobs {
    /// `wake` is repainted when a job ends.
    pub fn new(wake: egui::Context) -> Self {
        let (outbox, inbox) = bounded(64);
        Self { outbox, inbox, wake }
    }

    /// Runs a job on a thread of this name.
    pub fn spawn(&mut self, name: &str, job: impl FnOnce() -> JobResult + Send + 'static) -> Result<(), String> {
        let (outbox, wake) = (self.outbox.clone(), self.wake.clone());
        let run = move || {
            outbox.send(job()).ok();
            wake.request_repaint();
        };
        std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(run)
            .map_err(|e| format!("no thread for {name}: {e}"))?;
        Ok(())
    }

    /// For threads outside [`Jobs::spawn`]: where results go.
    pub fn outbox(&self) -> Sender<JobResult> {
        self.outbox.clone()
    }

    /// The next result.
    pub fn poll(&mut self) -> Option<JobResult> {
        self.inbox.try_recv().ok()
    }

    /// Drops results until one of a kind arrives, for a time at most: for a window that closes.
    pub fn wait_for(&self, time: Duration, is_last: impl Fn(&JobResult) -> bool) {
        let end = Instant::now() + time;
        while let Ok(done) = self.inbox.recv_deadline(end) {
            if is_last(&done) {
                return;
            }
        }
    }

    /// Reads a project.
    pub fn open(&mut self, path: PathBuf) -> Result<(), String> {
        self.spawn("open", move || {
            let read = project::open(&path).map_err(|e| e.to_string());
            JobResult::Opened(path, read.map(|(p, warnings)| (Box::new(p), warnings)))
        })
    }

    /// Writes a project.
    pub fn save(&mut self, path: PathBuf, project: Arc<Project>) -> Result<(), String> {
        self.spawn("save", move || {
            let result = project::save(&project, &path).map_err(|e| e.to_string());
            JobResult::Saved(path, project, result)
        })
    }

    /// Writes a text.
    pub fn write(&mut self, path: PathBuf, text: Arc<str>) -> Result<(), String> {
        self.spawn("write", move || {
            let result =
                std::fs::write(&path, text.as_bytes()).map_err(|e| format!("{}: {}", path.display(), io_reason(&e)));
            JobResult::Exported(result.map(|()| format!("Wrote {}", path.display())))
        })
    }

    /// Writes a picture.
    pub fn draw(&mut self, path: PathBuf, figure: FigureHandle) -> Result<(), String> {
        self.spawn("figure", move || JobResult::Exported(super::figure::write(&figure.0, &path)))
    }

    /// Reads the list of runs beside a project.
    pub fn list_runs(&mut self, folder: PathBuf, open: Arc<Project>) -> Result<(), String> {
        self.spawn("runs", move || JobResult::Runs(super::library::read(&folder, &open)))
    }

    /// Shows the system's file dialog.
    pub fn pick(&mut self, purpose: Purpose, place: PathBuf) -> Result<(), String> {
        self.spawn("dialog", move || {
            let since = Instant::now();
            let mut dialog = rfd::FileDialog::new();
            if let Some(folder) = place.parent() {
                dialog = dialog.set_directory(folder);
            }
            let project = |d: rfd::FileDialog| d.add_filter("Project", &["ron"]);
            let path = match purpose {
                Purpose::Open => {
                    let trees = crate::export::Format::Newick;
                    let dialog = project(dialog).add_filter(trees.label(), &[trees.extension()]);
                    dialog.set_title("Open project").pick_file()
                }
                Purpose::SaveAs => {
                    let name = place.file_name().unwrap_or_default().to_string_lossy();
                    project(dialog).set_title("Save project").set_file_name(name).save_file()
                }
                Purpose::Figure(ref figure) => {
                    let dialog = dialog.add_filter("PNG, SVG", &["png", "svg"]);
                    dialog.set_title("Export panel").set_file_name(figure.file_name()).save_file()
                }
                Purpose::SaveText(ref name, _) => dialog.set_title("Save").set_file_name(name).save_file(),
                Purpose::Parameter(_) => dialog.set_title("Choose a file").pick_file(),
                Purpose::Import => dialog.set_title("Choose a connection list").pick_file(),
            };
            JobResult::Picked { purpose, path, took: since.elapsed() }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_long_tasks_request_attention() {
        let mut attention = Attention::default();
        let start = Instant::now();
        let after = |secs| start + Duration::from_secs(secs);
        for (busy, secs, ends) in [
            (Some(LongTask::Run), 0, None),
            (None, 20, None),
            (Some(LongTask::Build), 21, None),
            (Some(LongTask::Run), 40, None),
            (None, 60, Some(LongTask::Run)),
            (None, 99, None),
        ] {
            assert_eq!(attention.ended(busy, after(secs)), ends, "at {secs} s");
        }
    }
}
