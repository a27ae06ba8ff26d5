//! Duration of a run: the step where *Run* pauses, and the switch that lets the run continue.

use crate::app::{
    document::{open_document::Document, session::Session},
    kit::{icons, widgets},
};
use egui::Ui;

/// Returns the tooltip of *Run*, which names the step of the pause and the effect of *Run* after the end.
pub fn hint(document: &Document) -> String {
    let (session, live) = (&document.session, &document.session.live);
    let step = live.clock.step;
    let end = session.project.steps_per_run().and_then(|_| live.next_end(step));
    let reached = || document.time_text(step as f64);
    let text = match end.map(|end| document.time_text(end as f64)) {
        _ if live.playback.is_some() => return "Space".to_owned(),
        _ if session.runs_again() => format!(
            "The run ended at its duration, {}. Run starts again from step 0 and closes a recording in progress. To \
             continue instead, raise Duration or switch Continuous on",
            reached()
        ),
        Some(end) if live.has_ended() => {
            format!("The run ended at its duration, {}. Run continues to {end}, then pauses", reached())
        }
        Some(end) => format!("Runs to {end}, then pauses: Run settings › Duration"),
        None => "Runs until paused".to_owned(),
    };
    format!("Space. {text}")
}

/// Draws the switch *Continuous*, which is part of the document.
pub fn continuous_ui(ui: &mut Ui, session: &mut Session) {
    let is_recorded = session.live.playback.is_some();
    let has_end = session.project.planned_steps().is_some();
    let plan = &mut session.project.run;
    let name = match plan.continuous {
        true => "Continuous: Run continues beyond the duration",
        false => "Continuous is off: Run pauses at the duration",
    };
    let why_not = match has_end {
        true => "A finished run has an end",
        false => "The project has no duration: Run continues until paused",
    };
    let switch = |ui: &mut Ui| widgets::icon_toggle(ui, icons::INFINITY, name, plan.continuous || !has_end);
    let response = ui.add_enabled_ui(has_end && !is_recorded, switch).inner;
    if response.on_disabled_hover_text(why_not).clicked() {
        plan.continuous ^= true;
    }
}
