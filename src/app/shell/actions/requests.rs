//! Handles the requests of views.

use crate::{
    app::{
        document::{command::UiCommand, interventions},
        kit::{level::Level, text},
        shell::actions::files::Purpose,
        shell::{App, panels::inspector},
        views::ViewRequest,
    },
    params::Role,
    sim::Connectivity,
};
use std::sync::Arc;

impl App {
    /// Handles a request of a view.
    pub(crate) fn handle_request(&mut self, request: ViewRequest, queue: &mut Vec<UiCommand>) {
        match request {
            ViewRequest::Command(command) => queue.push(command),
            ViewRequest::Toast(text) => self.messages.notify(Level::Info, text),
            ViewRequest::Act(action) => {
                let action = inspector::with_values(self, action);
                self.document.session.live.act(action);
            }
            ViewRequest::Intervene(effect) => self.intervene_with(effect),
            ViewRequest::SaveSet(query, set) => self.save_set(&query, set),
            ViewRequest::SelectPartners { of, inputs } => self.select_partners(of, inputs),
            ViewRequest::Path { set, from, to } => self.path_between(set, from, to),
            ViewRequest::Parameters => {
                self.panels.open.inspector = true;
            }
            ViewRequest::SaveText { name, text } => self.pick(Purpose::SaveText(name, text.into())),
        }
    }

    fn intervene_with(&mut self, effect: u16) {
        let session = &mut self.document.session;
        let params = session.project.model.params_mut();
        let verb = interventions::effects(params).get(usize::from(effect)).map_or("", |c| c.name);
        let verb = text::title(&text::words(verb));
        let group = interventions::list(params, Role::Interventions).map(|g| params.groups()[g].name);
        match interventions::add_effect(params, &session.live.schema, &session.selection, effect, &verb) {
            Some(name) => {
                self.messages.notify(Level::Info, format!("Added “{name}”"));
                self.panels.open.inspector = true;
                group.into_iter().for_each(|name| self.panels.inspector.show_group(name));
            }
            None => self.messages.notify(Level::Warning, "This kind has no stimuli"),
        }
    }

    fn save_set(&mut self, query: &str, set: &str) {
        let proposed = match query.len() {
            0..=40 => query.to_owned(),
            _ => "Filtered".to_owned(),
        };
        let over = interventions::set_text(&self.document.session.live.schema, set);
        if let Some(name) =
            interventions::add_set(self.document.session.project.model.params_mut(), query, &proposed, over)
        {
            self.messages.notify(Level::Info, format!("Saved group “{name}”"));
        }
    }

    fn select_partners(&mut self, of: Arc<Vec<u32>>, inputs: bool) {
        let Some(wiring) = self.document.session.live.schema.connectivity.clone() else { return };
        let (over, asked_at) = (wiring.over, self.document.session.selection.generation);
        let find = move || partners(&wiring, &of, inputs);
        self.job("partners", find, move |app, found| {
            app.document.session.selection.replace_late(over, found, asked_at)
        });
    }
}

/// Elements with a connection onto these elements, or from them; ascending.
fn partners(wiring: &Connectivity, of: &[u32], inputs: bool) -> Vec<u32> {
    let links = &*wiring.connections;
    let n = links.n() as usize;
    let mut is_in = vec![false; n];
    of.iter().filter(|e| (**e as usize) < n).for_each(|e| is_in[*e as usize] = true);
    let (mut found, mut row) = (vec![false; n], Vec::new());
    for from in 0..links.n() {
        if !inputs && !is_in[from as usize] {
            continue;
        }
        links.read(from, &mut row);
        match inputs {
            true => found[from as usize] = row.iter().any(|l| is_in.get(l.to as usize) == Some(&true)),
            false => row.iter().filter(|l| (l.to as usize) < n).for_each(|l| found[l.to as usize] = true),
        }
    }
    (0..n as u32).filter(|e| found[*e as usize]).collect()
}
