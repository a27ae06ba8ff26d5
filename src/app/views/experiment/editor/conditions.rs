//! Rules of conditions.

use super::{
    fields::{card_ui, row_ui, text_ui},
    menus,
};
use crate::{
    app::{
        kit::{icons, widgets},
        views::ViewCtx,
    },
    params::Params,
    project::experiment::{Condition, ConditionChange, ConditionRule, ElementQuery, ParameterValues},
};
use egui::{ComboBox, Ui};

const VALUES: (&str, &str) =
    ("10, 20 ms or 10..40 ms/4", "Values with units, separated by commas; 10..40 ms/4 gives four values");
const PATH: (&str, &str) =
    ("group.parameter", "Path of the parameter, as in --set; the list beside the field names all");
const QUERY: (&str, &str) = ("class = sensory", "Name of a group, or a query over the elements");

/// Draws all rules.
pub fn ui(ui: &mut Ui, ctx: &mut ViewCtx<'_>) {
    let Some(mut conditions) = ctx.experiments.edited.as_mut().map(|e| std::mem::take(&mut e.conditions)) else {
        return;
    };
    let mut removed = None;
    for (i, rule) in conditions.iter_mut().enumerate() {
        if ui.push_id(("rule", i), |ui| rule_ui(ui, ctx, rule)).inner {
            removed = Some(i);
        }
    }
    removed.into_iter().for_each(|i| drop(conditions.remove(i)));
    if let Some(experiment) = ctx.experiments.edited {
        experiment.conditions = conditions;
    }
}

/// Draws a rule. Returns whether it was removed.
fn rule_ui(ui: &mut Ui, ctx: &ViewCtx<'_>, rule: &mut ConditionRule) -> bool {
    let params = ctx.experiments.model.params();
    let title = match rule {
        ConditionRule::Condition(_) => (icons::PENCIL, "Condition"),
        ConditionRule::Values(_) => (icons::DISTRIBUTION, "Values of a parameter"),
        ConditionRule::Grid(_) => (icons::GRID, "Grid of parameters"),
        ConditionRule::SilenceEach(_) => (icons::SELECTION, "Silence each element"),
    };
    card_ui(ui, ctx.tokens, title, |ui| match rule {
        ConditionRule::Condition(condition) => condition_ui(ui, ctx, condition),
        ConditionRule::Values(axis) => axis_ui(ui, params, axis, ""),
        ConditionRule::Grid(axes) => grid_ui(ui, params, axes),
        ConditionRule::SilenceEach(of) => each_ui(ui, ctx, of),
    })
}

fn axis_ui(ui: &mut Ui, params: &dyn Params, axis: &mut ParameterValues, number: &str) {
    let mut value = None;
    let mut menu = |ui: &mut Ui| {
        let (path, now) = menus::parameter_ui(ui, params)?;
        value = Some(now);
        Some(path)
    };
    text_ui(ui, ("Parameter", &format!("Parameter{number}")), &mut axis.path, PATH, Some(&mut menu));
    axis.values = value.unwrap_or_else(|| std::mem::take(&mut axis.values));
    text_ui(ui, ("Values", &format!("Values{number}")), &mut axis.values, VALUES, None);
}

fn grid_ui(ui: &mut Ui, params: &dyn Params, axes: &mut Vec<ParameterValues>) {
    let (mut removed, n) = (None, axes.len());
    for (i, axis) in axes.iter_mut().enumerate() {
        ui.push_id(i, |ui| axis_ui(ui, params, axis, &format!(" {}", i + 1)));
        if n > 1 && ui.small_button("Remove this parameter").clicked() {
            removed = Some(i);
        }
    }
    removed.into_iter().for_each(|i| drop(axes.remove(i)));
    if ui.small_button("Add a parameter").on_hover_text("Every combination of values is a condition").clicked() {
        axes.push(ParameterValues::default());
    }
}

fn each_ui(ui: &mut Ui, ctx: &ViewCtx<'_>, of: &mut ElementQuery) {
    text_ui(ui, ("Elements", "Elements to silence"), &mut of.query, QUERY, Some(&mut |ui| menus::query_ui(ui, ctx)));
    if ctx.schema.sets.len() > 1 {
        row_ui(ui, "Set", |ui| {
            let shown = if of.set.is_empty() { ctx.schema.sets[0].name } else { of.set.as_str() };
            ComboBox::from_id_salt("set").selected_text(shown).show_ui(ui, |ui| {
                for set in &ctx.schema.sets {
                    ui.selectable_value(&mut of.set, set.name.to_owned(), set.name);
                }
            });
        });
    }
}

fn condition_ui(ui: &mut Ui, ctx: &ViewCtx<'_>, condition: &mut Condition) {
    let about = ("name", "Name of the condition, unique in the experiment");
    text_ui(ui, ("Name", "Name of the condition"), &mut condition.name, about, None);
    let mut removed = None;
    for (i, change) in condition.changes.iter_mut().enumerate() {
        if ui.push_id(("change", i), |ui| change_ui(ui, ctx, change)).inner {
            removed = Some(i);
        }
    }
    removed.into_iter().for_each(|i| drop(condition.changes.remove(i)));
    if condition.changes.is_empty() {
        ui.label(widgets::sub(ui, "No changes: the project as it is").small());
    }
    let added = ui.menu_button("Add a change", |ui| new_change_ui(ui, ctx));
    added.response.on_hover_text("Changes apply in their order");
    condition.changes.extend(added.inner.flatten());
    if !condition.seeds.is_empty() || !condition.changes.is_empty() {
        let about = (
            "those of the experiment",
            "Seeds of this condition alone; other seeds than the control’s are compared by Welch’s test",
        );
        text_ui(ui, ("Seeds", "Seeds of the condition"), &mut condition.seeds, about, None);
    }
}

/// Draws a change. Returns whether it was removed.
fn change_ui(ui: &mut Ui, ctx: &ViewCtx<'_>, change: &mut ConditionChange) -> bool {
    let params = ctx.experiments.model.params();
    let mut of_intervention = |ui: &mut Ui| intervention_ui(ui, ctx);
    let mut of_query = |ui: &mut Ui| menus::query_ui(ui, ctx);
    let named = ("name", "Name of the intervention, or its index");
    match change {
        ConditionChange::Set(path, value) => {
            let mut now = None;
            let mut menu = |ui: &mut Ui| {
                let (path, value) = menus::parameter_ui(ui, params)?;
                now = Some(value);
                Some(path)
            };
            text_ui(ui, ("Set", "Changed parameter"), path, PATH, Some(&mut menu));
            *value = now.unwrap_or_else(|| std::mem::take(value));
            text_ui(ui, ("To", "Value"), value, ("10 ms", "Value with its unit"), None);
        }
        ConditionChange::On(name) => {
            text_ui(ui, ("Enable", "Enabled intervention"), name, named, Some(&mut of_intervention))
        }
        ConditionChange::Off(name) => {
            text_ui(ui, ("Disable", "Disabled intervention"), name, named, Some(&mut of_intervention));
        }
        ConditionChange::Target(name, query) => {
            text_ui(ui, ("Intervention", "Intervention"), name, named, Some(&mut of_intervention));
            text_ui(ui, ("Target", "Target"), query, QUERY, Some(&mut of_query));
        }
        ConditionChange::Silence(query) => {
            text_ui(ui, ("Silence", "Silenced elements"), query, QUERY, Some(&mut of_query));
        }
    }
    ui.small_button("Remove this change").clicked()
}

fn intervention_ui(ui: &mut Ui, ctx: &ViewCtx<'_>) -> Option<String> {
    let names = menus::interventions(ctx.experiments.model.params());
    names.into_iter().fold(None, |chosen, name| if ui.button(&name).clicked() { Some(name) } else { chosen })
}

fn new_change_ui(ui: &mut Ui, ctx: &ViewCtx<'_>) -> Option<ConditionChange> {
    ui.set_min_width(170.0);
    let mut change = None;
    let text = String::new;
    let has_interventions = !menus::interventions(ctx.experiments.model.params()).is_empty();
    for (label, needs_interventions, new) in [
        ("Set a parameter", false, ConditionChange::Set(text(), text())),
        ("Silence elements", false, ConditionChange::Silence(text())),
        ("Disable an intervention", true, ConditionChange::Off(text())),
        ("Enable an intervention", true, ConditionChange::On(text())),
        ("Retarget an intervention", true, ConditionChange::Target(text(), text())),
    ] {
        let button = ui.add_enabled(has_interventions || !needs_interventions, egui::Button::new(label));
        if button.on_disabled_hover_text("The project has no intervention").clicked() {
            change = Some(new);
        }
    }
    change
}
