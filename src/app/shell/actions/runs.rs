//! Recorded runs on disk: the list, the Runs page, and exports.

use crate::{
    app::{
        document::{
            command::UiCommand,
            layout::Page,
            library::{self, Exporting, Library},
            open_document::Document,
        },
        host::consent::{Received, ReceivedPurpose},
        kit::{level::Level, text},
        shell::{
            dialogs::{Dialog, nwb::NwbForm},
            host::Host,
            messages::Messages,
            panels::toasts::ToastAction,
            parts::ActionParts,
            workspace::Workspaces,
        },
    },
    experiment::folder::TRIALS,
    export::{self, About, ExportSettings, Format, WrittenFile},
    project::{OutsidePath, RunFolder, outside_paths_of_run},
    sim::Progress,
};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

/// Maximum number of files named in a message.
const MAX_NAMED: usize = 3;

/// Reads the list of runs on a thread.
pub fn list(document: &mut Document, host: &mut Host, messages: &mut Messages) {
    let beside = document.session.live.playback.as_ref().and_then(|r| Some(r.open_folder().parent()?.to_owned()));
    let trials = document.library.trials_of.as_ref().map(|experiment| experiment.join(TRIALS));
    let folder = trials.or(beside).unwrap_or_else(|| document.session.runs_folder());
    if document.library.folder != folder {
        let Library { version, exporting, trials_of, .. } = std::mem::take(&mut document.library);
        let kept = Library { exporting, trials_of, version: version + 1, ..Library::default() };
        document.library = Library { is_reading: true, folder: folder.clone(), ..kept };
    }
    let consent = host.consent.clone();
    document.library.groups.set_consent(Arc::new(move |run, outside| consent.allows_run(run, outside)));
    let open = Arc::new(document.session.project.clone());
    let (version, wait) = (document.library.version, document.library.writer.wait());
    host.job(
        messages,
        "runs",
        move || {
            wait();
            library::read(&folder, &open)
        },
        move |parts, runs| {
            parts.document.profile.machine.runs = runs.iter().map(|run| run.folder.clone()).collect();
            parts.document.library.set_runs(runs, version);
        },
    );
}

/// Shows a run in the Runs panel.
pub fn show(
    workspace: &mut Workspaces,
    document: &mut Document,
    host: &mut Host,
    messages: &mut Messages,
    folder: &Path,
) {
    workspace.show_page(Page::Runs);
    document.library.select(folder);
    list(document, host, messages);
}

/// Exports a run on a thread; without a folder, the last run of the list. First asks whether the run may read files outside its
/// folder, if the export makes its network again, and for subject and session of NWB.
pub fn export(parts: &mut ActionParts<'_>, folder: Option<PathBuf>, format: Format) {
    let last = || parts.document.library.runs.last().map(|r| r.folder.clone());
    let Some(run) = folder.or_else(last) else { return };
    if format.remakes_network() {
        let outside = match outside_paths(&run) {
            Ok(outside) => outside,
            Err(why) => return exported(parts.messages, Err(why)),
        };
        if !parts.host.consent.allows_run(&run, &outside) {
            let received = Received { path: run, outside, purpose: ReceivedPurpose::ExportRun(format) };
            return parts.overlays.open_dialog(Dialog::OutsideFiles(received));
        }
    }
    if format == Format::Nwb {
        let form = NwbForm::new(run, &parts.host.about.about);
        return parts.overlays.open_dialog(Dialog::Nwb(form));
    }
    start_export(parts, run, format, ExportSettings::default());
}

/// Exports a run as NWB on a thread, and keeps subject and session for the next export.
pub fn export_nwb(parts: &mut ActionParts<'_>, run: PathBuf, about: About) {
    parts.host.about.keep(&about);
    start_export(parts, run, Format::Nwb, ExportSettings { about, ..ExportSettings::default() });
}

fn start_export(parts: &mut ActionParts<'_>, run: PathBuf, format: Format, settings: ExportSettings) {
    let progress = Arc::new(Progress::default());
    let shared = progress.clone();
    let name = run.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let work = move || export_run(&run, format, &settings, &shared).map_err(|e| e.to_string());
    let has_started = parts.host.job(parts.messages, "export", work, |parts, result| {
        let was_cancelled = parts.document.library.exporting.take().is_some_and(|job| job.progress.is_cancelled());
        match result {
            Err(_) if was_cancelled => parts.messages.notify(Level::Info, "Export cancelled; no file was written"),
            result => exported(parts.messages, result),
        }
    });
    parts.document.library.exporting = has_started.then_some(Exporting { name, format, progress });
}

/// Returns the files outside its folder that a run reads when its network is made again. Fails if the run is unreadable.
fn outside_paths(folder: &Path) -> Result<Vec<OutsidePath>, String> {
    let run = RunFolder::open(folder).map_err(|e| e.to_string())?;
    let project = run.project().map_err(|e| e.to_string())?;
    Ok(outside_paths_of_run(&run, &project))
}

/// Written files, for the message about them.
pub struct Written {
    /// Summary of the files.
    pub text: String,
    /// Folder of the files.
    pub folder: PathBuf,
}

impl Written {
    /// Describes a file with its size: `Wrote rates.png, 85 × 60 mm (48 kB)`.
    pub fn file(path: &Path, what: &str) -> Self {
        let size = std::fs::metadata(path).map_or_else(|_| String::new(), |m| format!(" ({})", text::bytes(m.len())));
        let folder = path.parent().unwrap_or(Path::new(".")).to_owned();
        Self { text: format!("Wrote {}{what}{size}", path.display()), folder }
    }
}

/// Shows the summary of written files with a button that opens their folder, or the reason why they were not written.
pub fn exported(messages: &mut Messages, written: Result<Written, String>) {
    match written {
        Ok(Written { text, folder }) => {
            let action = ToastAction { label: "Show in folder", command: UiCommand::RevealRun(folder) };
            messages.notify_with(Level::Info, text, action);
        }
        Err(e) => messages.notify(Level::Error, format!("Could not export: {e}")),
    }
}

/// Shows a folder in the desktop's file manager.
pub fn reveal(host: &mut Host, messages: &mut Messages, folder: PathBuf) {
    let open = move || {
        let opened = std::process::Command::new("xdg-open").arg(&folder).status();
        let is_open = opened.is_ok_and(|status| status.success());
        (folder, is_open)
    };
    host.job(messages, "reveal", open, |parts, (folder, is_open)| {
        if !is_open {
            parts.messages.notify(Level::Warning, format!("No file manager found. The folder is {}", folder.display()));
        }
    });
}

fn export_run(
    path: &Path,
    format: Format,
    settings: &ExportSettings,
    progress: &Arc<Progress>,
) -> std::io::Result<Written> {
    let run = RunFolder::open(path)?;
    if let Some(why) = export::damaged(&run, format, progress)?.first() {
        let what = format!("{why}; `neuropil export --allow-damaged` exports what is there");
        return Err(std::io::Error::new(std::io::ErrorKind::InvalidData, what));
    }
    let files = export::export_job(&run, format, None, settings, progress)?;
    let named = |file: &WrittenFile| {
        let name = file.path.file_name().unwrap_or_default().to_string_lossy();
        format!("{name} ({})", text::bytes(file.n_bytes))
    };
    let shown: Vec<String> = files.iter().take(MAX_NAMED).map(named).collect();
    let more = match files.len().saturating_sub(MAX_NAMED) {
        0 => String::new(),
        n => {
            let size = text::bytes(files.iter().skip(MAX_NAMED).map(|file| file.n_bytes).sum());
            format!(" and {} ({size})", text::plural(n, "more file", "more files"))
        }
    };
    let folder = files.first().and_then(|file| file.path.parent()).unwrap_or(path).to_owned();
    let text = format!("Exported {}{more} to {}", shown.join(", "), folder.display());
    Ok(Written { text, folder })
}
