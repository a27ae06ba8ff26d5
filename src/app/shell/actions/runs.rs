//! Recorded runs on disk: the list, the Runs page, and exports.

use crate::{
    app::{
        document::{
            layout::Page,
            library::{self, Library},
            open_document::Document,
        },
        kit::level::Level,
        shell::{host::Host, messages::Messages, workspace::Workspaces},
    },
    export::{self, Format},
    project::RunFolder,
    sim::Progress,
};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

/// Reads the list of runs on a thread.
pub fn list(document: &mut Document, host: &mut Host, messages: &mut Messages) {
    let beside = document.session.live.playback.as_ref().and_then(|r| Some(r.folder.parent()?.to_owned()));
    let folder = beside.unwrap_or_else(|| document.session.runs_folder());
    if document.library.folder != folder {
        let Library { sweeping, swept, version, .. } = std::mem::take(&mut document.library);
        let (is_reading, folder, version) = (true, folder.clone(), version + 1);
        document.library = Library { is_reading, folder, sweeping, swept, version, ..Library::default() };
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
        move |app, runs| {
            app.document.profile.machine.runs = runs.iter().map(|run| run.folder.clone()).collect();
            app.document.library.set_runs(runs, version);
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

/// Exports a run on a thread; without a folder, the last run of the list.
pub fn export(library: &Library, host: &mut Host, messages: &mut Messages, folder: Option<PathBuf>, format: Format) {
    let last = || library.runs.last().map(|r| r.folder.clone());
    let Some(run) = folder.or_else(last) else { return };
    host.job(
        messages,
        "export",
        move || export_run(&run, format).map_err(|e| e.to_string()),
        |app, result| exported(&mut app.messages, result),
    );
}

/// Shows the summary of a written file, or the reason why it was not written.
pub fn exported(messages: &mut Messages, written: Result<String, String>) {
    match written {
        Ok(text) => messages.notify(Level::Info, text),
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
    host.job(messages, "reveal", open, |app, (folder, is_open)| {
        if !is_open {
            app.messages.notify(Level::Warning, format!("No file manager found. The folder is {}", folder.display()));
        }
    });
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
