//! Menus of the editor: new conditions, parameters, queries and interventions.

use super::edited;
use crate::{
    app::{
        document::{experiment::edit, varied::VariedParameter},
        kit::{icons, text},
        views::ViewCtx,
    },
    params::{Params, interventions::Intervention},
    project::experiment::{Condition, ConditionChange, ConditionRule, ParameterValues},
    query,
};
use egui::{Button, Ui};

/// Number of parameters of a group from which they scroll, and the height of the list, points.
const LONG: (usize, f32) = (14, 320.0);

/// Draws the buttons that add conditions.
pub fn add_conditions_ui(ui: &mut Ui, ctx: &mut ViewCtx<'_>) {
    let added = ui.horizontal_wrapped(|ui| {
        let mut added = None;
        let silence = ui.menu_button((icons::rich(icons::SCISSORS).size(13.0), "Silence"), |ui| silence_ui(ui, ctx));
        silence
            .response
            .accessible_name("Silence")
            .on_hover_text("Adds a condition in which the output of a group is silenced");
        added = silence.inner.flatten().or(added);
        let each = ui.menu_button((icons::rich(icons::SELECTION).size(13.0), "Silence each"), |ui| each_ui(ui, ctx));
        each.response
            .accessible_name("Silence each")
            .on_hover_text("Adds a condition per element of a group, in which the element is silenced");
        added = each.inner.flatten().or(added);
        let values = ui.menu_button((icons::rich(icons::DISTRIBUTION).size(13.0), "Values"), |ui| {
            parameter_ui(ui, ctx.experiments.model.params()).map(|(path, now)| edit::values(&path, &now))
        });
        values
            .response
            .accessible_name("Values of a parameter")
            .on_hover_text("Adds a condition per value of a parameter");
        added = values.inner.flatten().or(added);
        if ui.button("Grid").on_hover_text("Adds a condition per combination of the values of parameters").clicked() {
            added = Some(ConditionRule::Grid(vec![ParameterValues::default(), ParameterValues::default()]));
        }
        let by_hand = ui.menu_button("By hand", |ui| by_hand_ui(ui, ctx));
        by_hand.response.on_hover_text("Adds a condition with a name and any changes");
        by_hand.inner.flatten().or(added)
    });
    if let Some(rule) = added.inner {
        edit::add(edited(ctx), rule);
    }
}

/// Draws the groups, and the selection, as targets of a condition that silences them.
fn silence_ui(ui: &mut Ui, ctx: &ViewCtx<'_>) -> Option<ConditionRule> {
    query_ui(ui, ctx).map(|query| {
        let name = ctx.features.named.iter().find(|named| query::quote(&named.name) == query || named.name == query);
        edit::silence(name.map_or("selection", |named| named.name.as_str()), &query)
    })
}

fn each_ui(ui: &mut Ui, ctx: &ViewCtx<'_>) -> Option<ConditionRule> {
    query_ui(ui, ctx).map(|query| {
        let named = ctx.features.named.iter().find(|named| named.name == query);
        edit::silence_each(&query, named.map_or("", |named| named.set.as_str()))
    })
}

fn by_hand_ui(ui: &mut Ui, ctx: &ViewCtx<'_>) -> Option<ConditionRule> {
    ui.set_min_width(180.0);
    let mut rule = None;
    let condition = |name: &str| ConditionRule::Condition(Condition { name: name.to_owned(), ..Condition::default() });
    if ui.button("Unchanged project").on_hover_text("A condition without changes").clicked() {
        rule = Some(condition("unchanged"));
    }
    if ui.button("Change of a parameter").clicked() {
        let change = ConditionChange::Set(String::new(), String::new());
        rule = Some(ConditionRule::Condition(Condition {
            name: "changed".to_owned(),
            changes: vec![change],
            ..Condition::default()
        }));
    }
    ui.separator();
    for name in interventions(ctx.experiments.model.params()) {
        if ui.button(format!("Without “{name}”")).on_hover_text("The intervention is disabled").clicked() {
            rule = Some(edit::without(&name));
        }
    }
    rule
}

/// Returns the names of the interventions; one without a name has its index.
pub fn interventions(params: &dyn Params) -> Vec<String> {
    let name = |(i, intervention): (usize, Intervention<'_>)| match intervention.text(crate::params::Role::Name) {
        name if name.is_empty() => i.to_string(),
        name => name,
    };
    Intervention::all(params).enumerate().map(name).collect()
}

/// Draws the named groups, and the selected elements, as queries. Returns the chosen one; `None` without a choice.
pub fn query_ui(ui: &mut Ui, ctx: &ViewCtx<'_>) -> Option<String> {
    ui.set_min_width(160.0);
    let mut chosen = None;
    for named in ctx.features.named.iter() {
        if ui.button(&named.name).on_hover_text(text::first_line(&named.query)).clicked() {
            chosen = Some(named.name.clone());
        }
    }
    let selection = &ctx.selection;
    let set = ctx.schema.sets.iter().find(|set| set.name == selection.set);
    if let Some(set) = set.filter(|_| !selection.elements.is_empty()) {
        let label = format!("Selected {}", text::counted(selection.elements.len() as u64, &set.noun()));
        if ui.button(label).on_hover_text("The elements that are selected now").clicked() {
            chosen = Some(query::of_elements_by_id(&set.ids, &selection.elements));
        }
    }
    if ui.button("All").on_hover_text("Every element of the first set").clicked() {
        chosen = Some("all".to_owned());
    }
    chosen
}

/// Draws the parameters that can be varied, a submenu per group. Returns the path and the present value of the chosen one; `None`
/// without a choice.
pub fn parameter_ui(ui: &mut Ui, params: &dyn Params) -> Option<(String, String)> {
    ui.set_min_width(180.0);
    let mut chosen = None;
    for (g, group) in params.groups().iter().enumerate() {
        let of_group = |id: &crate::params::ParamId| usize::from(id.group) == g && params.is_shown(*id);
        let ids: Vec<_> = params.ids().into_iter().filter(of_group).collect();
        let ways: Vec<VariedParameter> = ids.into_iter().flat_map(|id| VariedParameter::all(params, id)).collect();
        if ways.is_empty() {
            continue;
        }
        ui.menu_button(group.label().to_string(), |ui| {
            let mut list = |ui: &mut Ui| {
                for way in &ways {
                    let button =
                        ui.add(Button::new(&way.label)).on_hover_text(format!("{}, now {}", way.path, way.now));
                    if button.clicked() {
                        chosen = Some((way.path.clone(), way.now.clone()));
                        ui.close();
                    }
                }
            };
            if ways.len() > LONG.0 {
                egui::ScrollArea::vertical().max_height(LONG.1).show(ui, list);
            } else {
                list(ui);
            }
        });
    }
    chosen
}
