//! Opening of projects and runs. Files outside their folders are read only if the user allows it.

use super::{
    circuits, documents, experiment, recording, runs,
    trees::{self, open_failed},
};
use crate::{
    app::{
        document::playback::{self, OpenedRun, Opening},
        host::consent::{Received, ReceivedPurpose},
        kit::level::Level,
        shell::{
            dialogs::{Dialog, trees::is_tree_file},
            parts::ActionParts,
        },
    },
    data::circuit::config_of,
    experiment::{folder, is_experiment},
    project::{self, Project, Warning, run::MANIFEST},
};
use std::path::{Path, PathBuf};

/// Reads a project, a run folder, a file of trees or a SONATA circuit on a thread.
pub fn open_path(parts: &mut ActionParts<'_>, path: PathBuf) {
    if let Some(folder) = run_folder(&path) {
        return open_run(parts, folder);
    }
    if let Some(folder) = experiment_folder(&path) {
        return experiment::open(parts, folder);
    }
    if is_tree_file(&path) {
        return trees::open(parts.overlays, parts.host, parts.messages, path);
    }
    if let Some(config) = config_of(&path) {
        return circuits::open(parts, config);
    }
    let read = move || {
        let read = project::open(&path).map_err(|e| e.to_string());
        (path, read.map(|(project, warnings)| (Box::new(project), warnings)))
    };
    parts.host.job(parts.messages, "open", read, |parts, (path, read)| match read {
        Ok((project, warnings)) => receive(parts, path, project, warnings),
        Err(e) => open_failed(parts.flow, parts.messages, format!("Could not open: {e}")),
    });
}

/// Opens a project that was read, or first asks whether it may read files outside its folder.
pub fn receive(parts: &mut ActionParts<'_>, path: PathBuf, project: Box<Project>, warnings: Vec<Warning>) {
    let base = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let outside = project::outside_paths(&project, base);
    if parts.host.consent.allows(&path, &outside) {
        return open_project(parts, path, *project, &warnings);
    }
    let purpose = ReceivedPurpose::OpenProject(project, warnings);
    parts.overlays.open_dialog(Dialog::OutsideFiles(Received { path, outside, purpose }));
}

/// Continues after the user has allowed a project or run to read files outside its folder.
pub fn allow_outside(parts: &mut ActionParts<'_>, received: Received) {
    let Received { path, outside, purpose } = received;
    parts.host.consent.allow(&path, &outside);
    match purpose {
        ReceivedPurpose::OpenProject(project, warnings) => open_project(parts, path, *project, &warnings),
        ReceivedPurpose::OpenCircuit => circuits::open(parts, path),
        ReceivedPurpose::OpenRun => open_run(parts, path),
        ReceivedPurpose::ReplayRun => recording::replay(parts, &path),
        ReceivedPurpose::ExportRun(format) => runs::export(parts, Some(path), format),
    }
}

/// Shows that a project or run was not opened, because the user did not allow it to read files outside its folder.
pub fn deny_outside(parts: &mut ActionParts<'_>, received: &Received) {
    let name = received.path.display();
    let why = "it reads files outside its folder";
    match received.purpose {
        ReceivedPurpose::ReplayRun => parts.messages.notify(Level::Info, format!("{name} was not replayed: {why}")),
        ReceivedPurpose::ExportRun(_) => parts.messages.notify(Level::Info, format!("{name} was not exported: {why}")),
        ReceivedPurpose::OpenProject(..) | ReceivedPurpose::OpenCircuit | ReceivedPurpose::OpenRun => {
            open_failed(parts.flow, parts.messages, format!("{name} was not opened: {why}"));
        }
    }
}

/// Opens a project that was read.
pub fn open_project(parts: &mut ActionParts<'_>, path: PathBuf, project: Project, warnings: &[Warning]) {
    for warning in warnings {
        parts.messages.log.add(Level::Warning, format!("{}:{}: {}", path.display(), warning.line, warning.what));
    }
    if !warnings.is_empty() {
        let fields = crate::app::kit::text::plural(warnings.len(), "field was corrected", "fields were corrected");
        parts.messages.notify(Level::Warning, format!("{fields}: see the log"));
    }
    // The project file in a run folder belongs to the run: saving must not overwrite it.
    let is_of_run = path.parent().is_some_and(|folder| folder.join(MANIFEST).exists());
    if !is_of_run {
        parts.host.recent.add(&path);
    }
    documents::set(parts, project, (!is_of_run).then_some(path));
}

/// Opens a run folder on a thread. The elements are those of its project, whose network is built again.
pub fn open_run(parts: &mut ActionParts<'_>, folder: PathBuf) {
    let (builder, consent) = (parts.document.session.live.builder(), parts.host.consent.clone());
    let open = move || {
        let opened = playback::open(&folder, &builder, &|outside| consent.allows_run(&folder, outside));
        (folder, opened)
    };
    let is_started = parts.host.job(parts.messages, "open run", open, |parts, (path, opened)| match opened {
        Ok(Opening::Opened(run)) => show_playback(parts, *run),
        Ok(Opening::NeedsConsent(outside)) => {
            let received = Received { path, outside, purpose: ReceivedPurpose::OpenRun };
            parts.overlays.open_dialog(Dialog::OutsideFiles(received));
        }
        Err(e) => open_failed(parts.flow, parts.messages, format!("Could not open the run: {e}")),
    });
    if is_started {
        parts.messages.log.add(Level::Info, "Opening a run: building its network for positions and categories");
    }
}

/// Shows a finished run instead of the simulation, in the same views and with a time cursor.
pub fn show_playback(parts: &mut ActionParts<'_>, opened: OpenedRun) {
    for note in &opened.notes {
        parts.messages.log.add(Level::Warning, note.clone());
    }
    documents::clear(parts);
    if let Err(e) = parts.document.session.show_run(opened) {
        return parts.messages.notify(Level::Error, format!("Could not open the run: {e}"));
    }
    parts.document.time.reset();
    let layout = parts.document.session.layout.take();
    parts.workspace.open(layout.as_deref(), &parts.document.session.live.schema);
    parts.workspace.unfed.clear();
    if let Some(recorded) = &parts.document.session.live.playback {
        let (first, last) = (recorded.first as f64, recorded.last as f64);
        parts.document.library.select(recorded.open_folder());
        parts.document.time.axis.is_recorded = true;
        parts.document.time.past.begin(recorded.first);
        parts.document.time.axis.set_cursor(first);
        parts.document.time.axis.line.show(first, last);
    }
    runs::list(parts.document, parts.host, parts.messages);
}

/// Returns the folder of an experiment of a path: the folder, or the folder of the manifest. `None` for other paths.
fn experiment_folder(path: &Path) -> Option<PathBuf> {
    let is_manifest = path.file_name().is_some_and(|name| name == folder::MANIFEST);
    let folder = if is_manifest { path.parent()? } else { path };
    is_experiment(folder).then(|| folder.to_owned())
}

/// Returns the run folder of a path: the folder, or the folder of the manifest. `None` for other paths.
fn run_folder(path: &Path) -> Option<PathBuf> {
    let is_manifest = path.file_name().is_some_and(|name| name == MANIFEST);
    let folder = if is_manifest { path.parent()? } else { path };
    folder.join(MANIFEST).exists().then(|| folder.to_owned())
}
