//! Choice of the trial that views show.

use crate::app::{
    document::{command::UiCommand, live::Live},
    shell::keymap::Keymap,
};
use egui::{DragValue, Ui};

/// Draws the choice of the shown trial, *Trial 3 of 8*, if the simulation or the shown series holds several. The choice is no part of
/// the document, so it is no undo step.
pub fn ui(ui: &mut Ui, live: &mut Live, keymap: &Keymap) {
    let n = live.n_trials();
    if n < 2 {
        return;
    }
    let mut number = live.shown_trial() + 1;
    let value = DragValue::new(&mut number).range(1..=n).speed(0.05).prefix("Trial ").suffix(format!(" of {n}"));
    let response = ui.add(value.update_while_editing(false)).accessible_name("Shown trial");
    let [next, previous] =
        [UiCommand::NextTrial, UiCommand::PreviousTrial].map(|command| keymap.text(ui.ctx(), &command));
    let shows = match live.playback.is_some() {
        true => {
            "Recorded trial that the 3D view, the raster and all other views show, at the same time. Export in the list of runs \
             writes the series with all trials"
        }
        false => "Trial that the 3D view, the raster and all other views show, from the present step on",
    };
    response.on_hover_text(format!("{shows}. Drag, or type a number. Next: {next}, previous: {previous}"));
    live.show_trial(number - 1);
}
