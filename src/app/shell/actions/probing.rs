//! Probing of the selection: its traces are shown and recorded.

use crate::{
    app::{
        document::{features::probes_where, interventions, open_document::Document, session::Session},
        kit::{level::Level, text},
        shell::{messages::Messages, workspace::Workspaces},
        views::{self, plot::Traces},
    },
    project::record_entry,
    sim::Shape,
};

/// Maximum number of probed elements.
const MAX_PROBED: usize = 64;

/// Shows the traces of the selected elements and adds their probes to the recording. Only the most active elements of a large
/// selection are probed.
pub fn probe_selection(
    document: &mut Document,
    workspace: &mut Workspaces,
    messages: &mut Messages,
    ctx: &egui::Context,
) {
    if !save_selection(&mut document.session, messages) {
        return;
    }
    let session = &mut document.session;
    let (set, n) = (session.selection.set, session.selection.elements.len());
    let spikes = |s: &Shape| matches!(s, Shape::Spikes { over } if *over == set);
    let events = probes_where(&session.live.schema, spikes).next().map(|(id, _)| id);
    let counts = events.and_then(|id| document.time.past.train(id)).map_or(&[][..], |train| train.counts.as_slice());
    let probed = session.selection.most_active(set, counts, MAX_PROBED);
    for (_, probe) in probes_where(&session.live.schema, |s| *s == Shape::Series { of: set }) {
        let is_other = |entry: &String| entry.split('[').next().map(str::trim) != Some(probe.name);
        session.project.record.retain(is_other);
        let entry = record_entry(probe.name, session.live.schema.set(set).map(|set| &**set), &probed);
        session.project.record.push(entry);
    }
    if n > MAX_PROBED {
        let text = format!("Probing the {MAX_PROBED} most active of {} selected", text::count(n as u64));
        messages.notify(Level::Info, text);
    }
    workspace.show_view(Traces::DECLARATION.name, &document.session.live.schema);
    views::ask_pin(ctx, probed);
}

/// Saves the selection as a named group. Returns whether it was saved.
pub fn save_selection(session: &mut Session, messages: &mut Messages) -> bool {
    let name =
        interventions::name_selection(session.project.model.params_mut(), &session.live.schema, &session.selection);
    if let Some(name) = &name {
        messages.notify(Level::Info, format!("Saved group “{name}”"));
    }
    name.is_some()
}
