//! Name, control, seeds and recording of the experiment.

use super::{
    fields::{row_ui, text_ui},
    heading_ui,
};
use crate::{
    app::{kit::text, views::ViewCtx},
    project::experiment::{ConditionRule, Experiment, TrialRecording},
};
use egui::{ComboBox, Ui};

/// Label of the control if no condition is named.
const UNCHANGED: &str = "The unchanged project";

/// Draws name, control and seeds.
pub fn ui(ui: &mut Ui, ctx: &mut ViewCtx<'_>) {
    heading_ui(ui, ctx.tokens, "Name, control and seeds");
    let names = ctx.experiments.state.plan.get().map_or_else(Vec::new, |plan| plan.names.clone());
    let Some(experiment) = ctx.experiments.edited else { return };
    let about = ("that of the project", "Name in the list of experiments, and in the folder of results");
    text_ui(ui, ("Name", "Name of the experiment"), &mut experiment.name, about, None);
    row_ui(ui, "Control", |ui| control_ui(ui, experiment, &names));
    let about = (
        "1..10",
        "Seeds of the random draws: 1..10 or 1, 2, 5. Each condition runs with each; a generated network keeps the seed of the project",
    );
    text_ui(ui, ("Seeds", "Seeds of the experiment"), &mut experiment.seeds, about, None);
}

fn control_ui(ui: &mut Ui, experiment: &mut Experiment, planned: &[String]) {
    let by_hand = experiment.conditions.iter().filter_map(|rule| match rule {
        ConditionRule::Condition(condition) => Some(condition.name.clone()),
        _ => None,
    });
    let mut names: Vec<String> = by_hand.collect();
    let is_new = |name: &&String| !experiment.control.is_empty() || **name != crate::experiment::expand::CONTROL;
    let others: Vec<String> = planned.iter().filter(is_new).filter(|name| !names.contains(name)).cloned().collect();
    names.extend(others);
    let shown = if experiment.control.is_empty() { UNCHANGED } else { &experiment.control };
    let list = ComboBox::from_id_salt("control")
        .selected_text(shown.to_owned())
        .width(ui.available_width())
        .truncate()
        .show_ui(ui, |ui| {
            ui.selectable_value(&mut experiment.control, String::new(), UNCHANGED);
            for name in names {
                ui.selectable_value(&mut experiment.control, name.clone(), name);
            }
        });
    list.response.accessible_name("Control").on_hover_text("Condition with which the others are compared");
}

/// Draws the recording mode, and whether silent elements are run.
pub fn recording_ui(ui: &mut Ui, ctx: &mut ViewCtx<'_>) {
    heading_ui(ui, ctx.tokens, "Recording");
    let Some(experiment) = ctx.experiments.edited else { return };
    row_ui(ui, "Keep", |ui| {
        for (mode, label, about) in [
            (
                TrialRecording::MeasuresOnly,
                "Measures only",
                "A table with the hash of each trial, by which a trial can be repeated",
            ),
            (
                TrialRecording::EveryTrial,
                "Every trial",
                "Also a run folder per trial with the recorded probes; it opens in Runs",
            ),
        ] {
            ui.radio_value(&mut experiment.record, mode, label).on_hover_text(about);
        }
    });
    if experiment.conditions.iter().any(|rule| matches!(rule, ConditionRule::SilenceEach(_))) {
        let about =
            "An element that never spikes in the control of the same seed has the result of the control, without a run";
        ui.checkbox(&mut experiment.infer_silent, "Skip silent elements").on_hover_text(text::unwrap(about));
    }
}
