//! Everything that touches files or dialogs, on named threads. Results come back as mail, so the window never waits.

use super::figure::Taken;
use crate::{
    project::{self, Project, RunWriter, Warning},
    sim::Tap,
};
use crossbeam_channel::{Receiver, Sender, bounded};
use std::{
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

/// What a file is wanted for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To open a project.
    Open,
    /// To save the project.
    SaveAs,
    /// For a parameter: its path, and whether a folder will do as well.
    Parameter(crate::params::ParamId),
    /// To write a text: a proposed name and the text.
    SaveText(String, Arc<str>),
    /// To write a picture of a panel.
    Figure(Taken),
}

/// What a thread ended with.
pub enum Done {
    /// The system's file dialog was closed.
    Picked {
        /// What for.
        purpose: Purpose,
        /// The choice; none when cancelled or when there is no dialog.
        path: Option<PathBuf>,
        /// How long it was open: a dialog that closes at once was never there.
        took: Duration,
    },
    /// A project was read.
    Opened(PathBuf, Result<(Box<Project>, Vec<Warning>), String>),
    /// A project was written.
    Saved(PathBuf, Arc<Project>, Result<(), String>),
    /// A run folder was claimed; the recording can begin.
    RecordingReady(Vec<Tap>, PathBuf, Result<Box<RunWriter>, String>),
    /// A run was exported; the summary for the toast.
    Exported(Result<String, String>),
    /// What a crashed window left behind, if anything.
    Journal(Option<super::journal::Leftover>),
    /// A run folder was looked into.
    RunOpened(Result<Box<super::recorded::Opened>, String>),
    /// The report of a crash that nobody has read yet.
    Crash(Option<(PathBuf, String)>),
    /// The project's file as somebody wrote it.
    Outside(PathBuf, Box<Project>),
    /// A panel as it is on screen.
    Figure(Taken),
    /// Elements of a set that are to be selected, and the selection's generation when they were asked for.
    Selected(&'static str, Vec<u32>, u64),
    /// The runs found beside the project.
    Runs(Vec<super::library::Run>),
    /// What of the model fits a search in the palette.
    Found(String, Vec<super::palette::Found>),
    /// A recorded run was run again: its name, and whether it came out the same.
    Replayed(String, Result<crate::project::replay::Verdict, String>),
    /// A folder was shown to the user, or could not be.
    Revealed(Result<(), PathBuf>),
    /// The user's own layouts.
    Layouts(Vec<super::workspace::Layout>),
    /// A layout was kept; its name.
    LayoutKept(Result<String, String>),
    /// How the device compares with the reference.
    Compared(Box<Result<crate::engine::parity::Parity, String>>),
    /// What the device can do at best: read (none was kept) or measured.
    Ceilings(Result<Option<Box<crate::gpu::ceilings::Ceilings>>, String>),
}

/// Whoever waits longer than this has gone to do something else.
const LONG: Duration = Duration::from_secs(30);

/// A message is about what has ended when it is no older than this.
const FRESH: Duration = Duration::from_secs(3);

/// What somebody waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// A run.
    Run,
    /// The simulation is built.
    Build,
    /// The device is compared with the reference.
    Comparison,
    /// A recorded run is run again.
    Again,
}

/// Since when there has been something to wait for, and what it was last.
#[derive(Default)]
pub struct Attention(Option<(Instant, Wait)>);

impl Attention {
    /// Whether what is waited for is a run that has been going for long: somebody would miss where it is.
    pub fn is_long_run(&self, now: Instant) -> bool {
        self.0.is_some_and(|(since, wait)| wait == Wait::Run && now.saturating_duration_since(since) > LONG)
    }

    /// Looks once a frame; what has just ended, if it took long.
    pub fn ended(&mut self, busy_with: Option<Wait>, now: Instant) -> Option<Wait> {
        if let Some(wait) = busy_with {
            self.0 = Some((self.0.map_or(now, |(since, _)| since), wait));
            return None;
        }
        let (since, wait) = self.0.take()?;
        (now.saturating_duration_since(since) > LONG).then_some(wait)
    }
}

impl super::App {
    /// A window in the background asks the desktop for attention when a run or a job has ended that took long, and leaves
    /// a notice there.
    pub(super) fn attract(&mut self, ctx: &egui::Context) {
        let busy_with = self.busy_with();
        let is_away = ctx.input(|i| i.viewport().focused) == Some(false);
        if let Some(wait) = self.attention.ended(busy_with, Instant::now())
            && is_away
        {
            let wish = egui::UserAttentionType::Informational;
            ctx.send_viewport_cmd(egui::ViewportCommand::RequestUserAttention(wish));
            if self.native_dialogs {
                notify_desktop(self.what_ended(wait, Instant::now()));
            }
        }
    }

    /// What there is to wait for.
    fn busy_with(&self) -> Option<Wait> {
        let live = &self.session.live;
        let all = [
            (live.running, Wait::Run),
            (live.progress().is_some(), Wait::Build),
            (self.profile.comparison.progress.is_some(), Wait::Comparison),
            (self.library.again.is_some(), Wait::Again),
        ];
        all.into_iter().find(|(is_busy, _)| *is_busy).map(|(_, wait)| wait)
    }

    /// The message that came with the end, if there was one.
    fn what_ended(&self, wait: Wait, now: Instant) -> String {
        let is_fresh = |at: Instant| now.saturating_duration_since(at) < FRESH;
        match self.toasts.history.back().filter(|notice| is_fresh(notice.at)) {
            Some(notice) => notice.text.clone(),
            None => match wait {
                Wait::Run => format!("The run stands still at {}", self.time_text(self.session.live.clock.step as f64)),
                Wait::Build => "The simulation is ready".to_owned(),
                Wait::Comparison => "The device has been compared with the reference".to_owned(),
                Wait::Again => "The recorded run has been run again".to_owned(),
            },
        }
    }
}

/// Leaves a notice on the desktop. Where there is none that takes them, nothing is lost: the messages have it.
fn notify_desktop(what: String) {
    let show = move || {
        let notice = notify_rust::Notification::new().appname("Neuropil").summary("Neuropil").body(&what).show();
        if let Err(e) = notice {
            tracing::debug!("no notice on the desktop: {e}");
        }
    };
    // The desktop may take its time to answer.
    if let Err(e) = std::thread::Builder::new().name("notice".to_owned()).spawn(show) {
        tracing::debug!("no thread for a notice on the desktop: {e}");
    }
}

/// Starts threads and collects what they end with.
pub struct Jobs {
    outbox: Sender<Done>,
    inbox: Receiver<Done>,
    wake: egui::Context,
}

impl Jobs {
    /// `wake` is repainted when a thread ends.
    pub fn new(wake: egui::Context) -> Self {
        let (outbox, inbox) = bounded(64);
        Self { outbox, inbox, wake }
    }

    /// Runs a job on a thread of this name.
    pub fn spawn(&mut self, name: &str, job: impl FnOnce() -> Done + Send + 'static) -> Result<(), String> {
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

    /// Where a thread of its own sends results.
    pub fn outbox(&self) -> Sender<Done> {
        self.outbox.clone()
    }

    /// The next result.
    pub fn poll(&mut self) -> Option<Done> {
        self.inbox.try_recv().ok()
    }

    /// Reads a project.
    pub fn open(&mut self, path: PathBuf) -> Result<(), String> {
        self.spawn("open", move || {
            let read = project::open(&path).map_err(|e| e.to_string());
            Done::Opened(path, read.map(|(p, warnings)| (Box::new(p), warnings)))
        })
    }

    /// Writes a project.
    pub fn save(&mut self, path: PathBuf, project: Arc<Project>) -> Result<(), String> {
        self.spawn("save", move || {
            let result = project::save(&project, &path).map_err(|e| e.to_string());
            Done::Saved(path, project, result)
        })
    }

    /// Writes a text.
    pub fn write(&mut self, path: PathBuf, text: Arc<str>) -> Result<(), String> {
        self.spawn("write", move || {
            let result = std::fs::write(&path, text.as_bytes()).map_err(|e| format!("{}: {e}", path.display()));
            Done::Exported(result.map(|()| format!("Wrote {}", path.display())))
        })
    }

    /// Writes a picture.
    pub fn draw(&mut self, path: PathBuf, figure: Taken) -> Result<(), String> {
        self.spawn("figure", move || Done::Exported(super::figure::write(&figure.0, &path)))
    }

    /// Reads what is known of the runs beside a project.
    pub fn list_runs(&mut self, folder: PathBuf, open: Arc<Project>) -> Result<(), String> {
        self.spawn("runs", move || Done::Runs(super::library::read(&folder, &open)))
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
                Purpose::Open => project(dialog).set_title("Open project").pick_file(),
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
            };
            Done::Picked { purpose, path, took: since.elapsed() }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_took_long_asks_for_attention() {
        let mut attention = Attention::default();
        let start = Instant::now();
        let after = |secs| start + Duration::from_secs(secs);
        for (busy, secs, ends) in [
            (Some(Wait::Run), 0, None),
            (None, 20, None),
            (Some(Wait::Build), 21, None),
            (Some(Wait::Run), 40, None),
            (None, 60, Some(Wait::Run)),
            (None, 99, None),
        ] {
            assert_eq!(attention.ended(busy, after(secs)), ends, "at {secs} s");
            assert_eq!(attention.is_long_run(after(secs + 12)), secs == 40, "12 s after {secs} s");
        }
    }
}
