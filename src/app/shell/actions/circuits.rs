//! Opening of SONATA circuits as new projects.

use super::{documents, trees::open_failed};
use crate::{
    app::{
        host::consent::{Received, ReceivedPurpose},
        kit::{level::Level, text},
        shell::{dialogs::Dialog, parts::ActionParts},
    },
    data::circuit::CircuitFiles,
    project::{self, OutsidePath, Project},
};
use std::path::{Path, PathBuf};

/// Result of reading a configuration.
enum Reading {
    /// Project of the circuit, and sentences about parts that it does not hold.
    Opened(Box<Project>, Vec<String>),
    /// The circuit has files outside the folder of its configuration, which the user has not allowed.
    NeedsConsent(Vec<OutsidePath>),
}

/// Reads a circuit on a thread and opens it as a new project. First asks whether it may read files outside the folder of its
/// configuration.
pub fn open(parts: &mut ActionParts<'_>, config: PathBuf) {
    let consent = parts.host.consent.clone();
    let work = move || {
        let read = read(&config, &|outside| consent.allows(&config, outside));
        (config, read)
    };
    parts.host.job(parts.messages, "open circuit", work, |parts, (path, read)| match read {
        Ok(Reading::Opened(project, notes)) => show(parts, &path, *project, notes),
        Ok(Reading::NeedsConsent(outside)) => {
            let received = Received { path, outside, purpose: ReceivedPurpose::OpenCircuit };
            parts.overlays.open_dialog(Dialog::OutsideFiles(received));
        }
        Err(e) => open_failed(parts.flow, parts.messages, format!("Could not open: {e}")),
    });
}

fn read(config: &Path, allows: &dyn Fn(&[OutsidePath]) -> bool) -> Result<Reading, String> {
    let files = CircuitFiles::read(config).map_err(|e| e.to_string())?;
    let outside = |(title, path): (&str, PathBuf)| OutsidePath {
        parameter: title.to_lowercase(),
        title: title.to_owned(),
        path: path.display().to_string(),
    };
    let folder = config.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let outside: Vec<OutsidePath> = files.outside(folder).into_iter().map(outside).collect();
    if !allows(&outside) {
        return Ok(Reading::NeedsConsent(outside));
    }
    let (project, notes) = project::of_circuit(config).map_err(|e| e.to_string())?;
    Ok(Reading::Opened(Box::new(project), notes))
}

/// Shows the project of a circuit, which is not saved yet.
fn show(parts: &mut ActionParts<'_>, config: &Path, project: Project, notes: Vec<String>) {
    documents::set(parts, project, None);
    let n = notes.len();
    for note in notes {
        parts.messages.log.add(Level::Warning, format!("{}: {note}", config.display()));
    }
    match n {
        0 => parts.messages.notify(Level::Info, format!("Opened the circuit {}", config.display())),
        n => {
            let what = text::plural(n, "part of the circuit differs", "parts of the circuit differ");
            parts.messages.notify(Level::Warning, format!("{what} in the project: see the log"));
        }
    }
}
