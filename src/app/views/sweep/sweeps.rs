//! Menu of the sweeps whose runs are drawn.

use super::SweepPlot;
use crate::app::{
    document::library::{Library, ListedSweep},
    kit::{self, text},
};
use egui::{Popup, PopupCloseBehavior, Ui};

/// Describes a sweep: `inhibition · 2026-03-01 12:00 · Membrane time constant · 6 runs`.
fn entry(sweep: &ListedSweep) -> String {
    let runs = text::plural(sweep.n_runs, "run", "runs");
    if sweep.id.is_empty() {
        return format!("No sweep · {runs}");
    }
    let parameters = sweep.parameters.join(" × ");
    let parts = [sweep.name(), &sweep.date(), &parameters, &runs].map(str::to_owned);
    let mut parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    // Without another name, a sweep has the names of its parameters.
    parts.dedup();
    if parts.first() == parts.get(2) {
        parts.remove(2);
    }
    parts.join(" · ")
}

impl SweepPlot {
    /// Draws the menu: the newest sweep, or any combination of sweeps and of the runs that belong to none.
    pub(super) fn sweeps_ui(&mut self, ui: &mut Ui, library: &Library) {
        let has_sweeps = library.sweeps.iter().any(|sweep| !sweep.id.is_empty());
        if !has_sweeps {
            return;
        }
        let shown = match self.choices.sweeps.as_deref() {
            None => "Newest sweep".to_owned(),
            Some([]) => "All runs".to_owned(),
            Some([one]) => library.sweeps.iter().find(|sweep| sweep.id == *one).map_or_else(String::new, entry),
            Some(several) => text::plural(several.len(), "sweep", "sweeps"),
        };
        let shown = kit::elide(ui.painter(), &shown, &kit::small(ui), 200.0);
        let button = ui.button(shown).accessible_name("Sweeps");
        let button = button.on_hover_text("Sweeps whose runs are drawn");
        let menu = Popup::menu(&button).close_behavior(PopupCloseBehavior::CloseOnClickOutside);
        menu.show(|ui| self.list_ui(ui, library));
    }

    fn list_ui(&mut self, ui: &mut Ui, library: &Library) {
        let before = self.choices.sweeps.clone();
        let hint = "Follows the newest sweep";
        ui.radio_value(&mut self.choices.sweeps, None, "Newest sweep").on_hover_text(hint);
        let hint = "Draws all runs beside the project, also those of no sweep";
        ui.radio_value(&mut self.choices.sweeps, Some(vec![]), "All runs").on_hover_text(hint);
        ui.separator();
        for sweep in &library.sweeps {
            let mut is_drawn = self.choices.includes(&sweep.id, &self.newest);
            if ui.checkbox(&mut is_drawn, entry(sweep)).on_hover_text("Draws the runs of this sweep").changed() {
                let drawn = library.sweeps.iter().map(|sweep| &sweep.id);
                let drawn = drawn.filter(|id| (self.choices.includes(id, &self.newest)) != (**id == sweep.id));
                let chosen: Vec<String> = drawn.cloned().collect();
                // Without a sweep, nothing would be drawn.
                self.choices.sweeps = if chosen.is_empty() { None } else { Some(chosen) };
                break;
            }
        }
        self.is_stale |= self.choices.sweeps != before;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sweep_is_listed_by_name_date_and_parameters() {
        let sweep = |id: &str, parameters: &[&str], n_runs| ListedSweep {
            id: id.into(),
            started: "2026-03-01T12:00:30Z".into(),
            n_runs,
            parameters: parameters.iter().map(|p| (*p).to_owned()).collect(),
        };
        for (sweep, expected) in [
            (sweep("weak@1", &["A", "B"], 6), "weak · 2026-03-01 12:00 · A × B · 6 runs"),
            (sweep("A × B@1", &["A", "B"], 1), "A × B · 2026-03-01 12:00 · 1 run"),
            (sweep("seeds@1", &[], 2), "seeds · 2026-03-01 12:00 · 2 runs"),
            (sweep("", &["A"], 3), "No sweep · 3 runs"),
        ] {
            assert_eq!(entry(&sweep), expected);
        }
    }
}
