//! Dialogs about runs that were not recorded.

use super::{
    answers::{Answer, LeftRun},
    recovery::{AtRisk, danger},
    title_ui,
};
use crate::{
    app::{
        document::{command::Intent, live::Unrecorded},
        kit::{text, widgets},
    },
    sim::TimeBase,
};
use egui::{Align, Layout, Ui};

/// Says why a run of several trials cannot be kept.
const NO_TRIALS: &str = "Several trials can only be recorded: press Record before Run, or set Trials to 1";

/// Formats the length of a run: `5,109 steps`, or `12.4 s of simulated time`.
fn length(steps: u64, base: TimeBase) -> String {
    match base {
        TimeBase::Count { .. } => format!("{} {}", text::count(steps), base.name(steps)),
        TimeBase::Seconds { per_step } => format!("{} of simulated time", text::sim_time(steps as f64 * per_step)),
    }
}

/// Asks whether to keep the run before an action that loses it. Returns the answer; `None` until a button is pressed.
pub fn unrecorded_ui(ui: &mut Ui, at_risk: &AtRisk, intent: &Intent, lost: Unrecorded) -> Option<Answer> {
    title_ui(ui, "Keep the unrecorded run?");
    let (steps, computed) = (length(lost.steps, at_risk.base), text::wall_time(lost.computed));
    ui.label(format!("“{}”: {steps} ({computed} of computing) were not recorded and would be lost.", at_risk.name));
    let kept = match at_risk.keeps.as_slice() {
        [] => "the last state".to_owned(),
        names => format!("{} and the last state", names.join(", ")),
    };
    ui.add_space(4.0);
    let has_one_trial = at_risk.trials <= 1;
    let note = match has_one_trial {
        true => format!("Keep as run writes {kept} to a run folder: to open, play back and resume."),
        false => NO_TRIALS.to_owned(),
    };
    ui.label(widgets::sub(ui, note));
    ui.add_space(14.0);
    ui.horizontal(|ui| {
        let discard = danger(ui, "Discard run");
        let (keep, cancel) = ui
            .with_layout(Layout::right_to_left(Align::Center), |ui| {
                let keep = ui.add_enabled_ui(has_one_trial, |ui| widgets::primary(ui, "Keep as run")).inner;
                (keep.on_disabled_hover_text(NO_TRIALS).clicked(), ui.button("Cancel").clicked())
            })
            .inner;
        match (keep, discard, cancel) {
            (true, ..) => Some(Answer::KeepRun(intent.clone())),
            (_, true, _) => Some(Answer::DiscardRun(intent.clone())),
            (.., cancel) => cancel.then_some(Answer::Cancel),
        }
    })
    .inner
}

/// Offers the run of a crashed window. Returns the answer; `None` until a button is pressed.
pub fn left_run_ui(ui: &mut Ui, left: &LeftRun) -> Option<Answer> {
    title_ui(ui, "Keep the unrecorded run?");
    ui.label(format!("Neuropil ended unexpectedly while “{}” ran without a recording.", left.name));
    let (first, last) = left.steps;
    let state = match left.state_step {
        Some(step) => format!("it can be resumed from step {}", text::count(step)),
        None => "its state is not kept".to_owned(),
    };
    ui.add_space(4.0);
    let kept = length(last - first, left.base);
    ui.label(widgets::sub(ui, format!("{kept} are kept, up to step {}; {state}.", text::count(last))));
    ui.label(widgets::sub(ui, left.folder.display().to_string()));
    ui.add_space(14.0);
    ui.horizontal(|ui| {
        let discard = danger(ui, "Discard run");
        let (keep, later) = ui
            .with_layout(Layout::right_to_left(Align::Center), |ui| {
                let keep = widgets::primary(ui, "Keep as run").on_hover_text(left.runs.display().to_string());
                (keep.clicked(), ui.button("Later").on_hover_text("Asks at the next start").clicked())
            })
            .inner;
        match (keep, discard, later) {
            (true, ..) => Some(Answer::Restore),
            (_, true, _) => Some(Answer::Forget),
            (.., later) => later.then_some(Answer::Cancel),
        }
    })
    .inner
}
