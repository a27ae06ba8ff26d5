//! Probing the selection: traces on screen and in the recording.

use crate::{
    app::{
        kit::{level::Level, text},
        shell::App,
        views,
    },
    project::record_entry,
    sim::Shape,
};

/// Elements probed at most.
const MAX_PROBED: usize = 64;

impl App {
    /// Shows the traces of the selected elements and adds their probes to the recording; of a large selection, those of
    /// the most active elements.
    pub(crate) fn probe_selection(&mut self, ctx: &egui::Context) {
        if !self.save_selection() {
            return;
        }
        let session = &mut self.document.session;
        let (set, n) = (session.selection.set, session.selection.elements.len());
        let spikes = |s: &Shape| matches!(s, Shape::Spikes { over } if *over == set);
        let events =
            crate::app::document::features::probes_where(&session.live.schema, spikes).next().map(|(id, _)| id);
        let counts =
            events.and_then(|id| self.document.time.past.train(id)).map_or(&[][..], |train| train.counts.as_slice());
        let probed = session.selection.most_active(set, counts, MAX_PROBED);
        for (_, probe) in
            crate::app::document::features::probes_where(&session.live.schema, |s| *s == Shape::Series { of: set })
        {
            let is_other = |entry: &String| entry.split('[').next().map(str::trim) != Some(probe.name);
            session.project.record.retain(is_other);
            let entry = record_entry(probe.name, session.live.schema.set(set).map(|set| &**set), &probed);
            session.project.record.push(entry);
        }
        if n > MAX_PROBED {
            let text = format!("Probing the {MAX_PROBED} most active of {} selected", text::count(n as u64));
            self.messages.notify(Level::Info, text);
        }
        if views::by_name("traces").is_some() {
            self.workspace.show_view("traces", &self.document.session.live.schema);
            views::ask_pin(ctx, probed);
        }
    }
}
