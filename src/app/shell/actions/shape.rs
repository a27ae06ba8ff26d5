//! "Use the shape of this file": parameters of the model follow from its file of weights.

use crate::{
    app::{
        document::open_document::Document,
        kit::{level::Level, text},
        shell::{host::Host, messages::Messages},
    },
    project::titled_diff,
    sim::{FileValues, SimError},
};

/// Reads the file on a thread, and then sets the parameters as one undoable step.
pub fn take(document: &Document, host: &mut Host, messages: &mut Messages) {
    let session = &document.session;
    let Some(file) = session.project.shape_file() else { return };
    let (model, context) = (session.project.model.clone(), session.project.build_context(&session.folder()));
    host.job(
        messages,
        "shape of weights",
        move || model.values_of_file(&context),
        move |parts, read| apply(parts.document, parts.messages, &file, read),
    );
}

/// Sets the parameters, unless the user has chosen another file meanwhile.
fn apply(document: &mut Document, messages: &mut Messages, file: &str, read: Result<FileValues, SimError>) {
    if document.session.project.shape_file().as_deref() != Some(file) {
        return;
    }
    let mut edited = document.session.project.clone();
    match read.and_then(|values| values.apply(edited.model.params_mut()).map(|_| values.notes)) {
        Ok(notes) => {
            let changed = titled_diff(&document.session.project, &edited);
            document.session.project = edited;
            let n = text::plural(changed.len(), "parameter", "parameters");
            let lines = changed.iter().map(ToString::to_string);
            let lines: Vec<String> = [format!("The shape of {file}: {n} changed")].into_iter().chain(lines).collect();
            messages.notify(Level::Info, lines.join("\n"));
            notes.into_iter().for_each(|note| messages.notify(Level::Warning, note));
        }
        Err(why) => messages.notify(Level::Error, format!("Could not read the shape: {why}")),
    }
}
