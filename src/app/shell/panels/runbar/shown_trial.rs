//! Choice of the trial that views show.

use crate::app::{document::live::Live, kit::widgets};
use egui::{ComboBox, Ui};

/// Draws the choice of the shown trial if the simulation holds several. The choice is no part of the document, so it is no undo
/// step.
pub fn ui(ui: &mut Ui, live: &mut Live) {
    let n = live.schema.trials;
    if n < 2 || live.playback.is_some() {
        return;
    }
    let mut shown = live.shown_trial();
    ui.label(widgets::sub(ui, "Trial"));
    let name = |trial: u32| format!("{} of {n}", trial + 1);
    let combo = ComboBox::from_id_salt("shown trial").width(72.0).selected_text(name(shown));
    let response = combo.show_ui(ui, |ui| {
        for trial in 0..n {
            ui.selectable_value(&mut shown, trial, name(trial));
        }
    });
    let hint = "Trial that the 3D view, the raster and all other views show; they begin again at the present step";
    response.response.accessible_name("Shown trial").on_hover_text(hint);
    live.show_trial(shown);
}
