//! Context menu of elements, shared by all views: Select · Show in · Plot · Path · Stimulate or silence (or Actions) · Parameters
//! · Copy id · Export.

use super::{
    ViewCtx, ViewRequest,
    declaration::{Opening, Submenu},
};
use crate::{
    app::{
        document::{
            command::UiCommand,
            experiment::edit,
            features::{action_tooltip, offered_actions, why_not_on},
            interventions::set_text,
        },
        kit::{self, text},
    },
    experiment::changes::can_silence,
    params::ChoiceSpec,
    sim::{Action, ActionUndo, ElementSet},
};
use egui::{RichText, Ui};
use std::{fmt::Write as _, sync::Arc};

/// Elements that a menu applies to.
#[derive(Clone, Debug)]
pub struct MenuTarget {
    /// Element under the pointer; `None` if there is none.
    pub element: Option<u32>,
    pub elements: Arc<Vec<u32>>,
    pub name: String,
}

impl MenuTarget {
    /// Returns the selection if the pointer is on a selected element or on none, otherwise the element under the pointer.
    pub fn at(ctx: &ViewCtx<'_>, set: &ElementSet, element: Option<u32>) -> Self {
        if let Some(one) = element.filter(|e| !ctx.selection.contains(set.name, *e)) {
            return Self { element, elements: Arc::new(vec![one]), name: set.label(one) };
        }
        let elements = if ctx.selection.set == set.name { ctx.selection.elements.clone() } else { Arc::default() };
        let name = match elements.as_slice() {
            [one] => set.label(*one),
            many => format!("{} selected", kit::thousands(many.len() as u64)),
        };
        Self { element, elements, name }
    }
}

/// Maximum number of lines copied or written.
const MAX_LINES: usize = 200_000;

/// Draws the context menu of a target.
pub fn ui(ui: &mut Ui, ctx: &mut ViewCtx<'_>, set: &ElementSet, target: &MenuTarget) {
    ui.set_min_width(190.0);
    ui.label(RichText::new(&target.name).strong().color(ctx.tokens.text_strong));
    if target.elements.is_empty() {
        ui.label(RichText::new("Nothing selected").small().color(ctx.tokens.text_sub));
    }
    ui.separator();
    let is_empty = target.elements.is_empty();
    ui.add_enabled_ui(!is_empty || !ctx.selection.of(set.name).is_empty(), |ui| {
        ui.menu_button("Select", |ui| select_ui(ui, ctx, set, target));
    });
    ui.add_enabled_ui(!is_empty, |ui| {
        ui.menu_button("Show in", |ui| show_ui(ui, ctx, set, target));
        ui.menu_button("Plot", |ui| views_ui(ui, ctx, set, target, Submenu::Plot));
        if ctx.schema.connectivity.as_ref().is_some_and(|wiring| wiring.over == set.name) {
            let can_end = matches!(target.elements.len(), 1 | 2);
            ui.add_enabled_ui(can_end, |ui| ui.menu_button("Path", |ui| path_ui(ui, ctx, set, &target.elements)))
                .response
                .on_disabled_hover_text(format!("Select one or two {}", set.noun()));
        }
        let has_effects = effects(ctx).next().is_some();
        ui.add_enabled_ui(has_effects || !ctx.features.actions.is_empty(), |ui| {
            let word = if has_effects { "Stimulate or silence" } else { "Actions" };
            ui.menu_button(word, |ui| effects_ui(ui, ctx, set, target));
        });
        if can_silence(ctx.experiments.model.params()) {
            ui.menu_button("Experiment", |ui| conditions_ui(ui, ctx, set, target));
        }
        if ui.button("Parameters…").on_hover_text("Show in the inspector").clicked() {
            select_target(ctx, set, target);
            ctx.requests.push(ViewRequest::Parameters);
        }
        ui.separator();
        let word = if target.elements.len() == 1 { "Copy id" } else { "Copy ids" };
        if ui.button(word).clicked() {
            let ids: Vec<String> = target.elements.iter().take(MAX_LINES).map(|e| id(set, *e)).collect();
            ui.ctx().copy_text(ids.join("\n"));
        }
        ui.menu_button("Export", |ui| {
            if ui.button("Copy as CSV").clicked() {
                ui.ctx().copy_text(csv(set, &target.elements));
            }
            if ui.button("Save as CSV…").clicked() {
                let text = csv(set, &target.elements);
                ctx.requests.push(ViewRequest::SaveText { name: format!("{}.csv", set.name), text });
            }
        });
    });
}

/// Returns the public identifier of an element, or its index if the set has no identifiers.
fn id(set: &ElementSet, element: u32) -> String {
    set.ids.get(element as usize).map_or_else(|| element.to_string(), u64::to_string)
}

/// Selects the target, so that every view shows the elements that the command applies to.
fn select_target(ctx: &mut ViewCtx<'_>, set: &ElementSet, target: &MenuTarget) {
    ctx.selection.replace_shared(set.name, target.elements.clone());
}

fn select_ui(ui: &mut Ui, ctx: &mut ViewCtx<'_>, set: &ElementSet, target: &MenuTarget) {
    let n = target.elements.len();
    if n > 0 {
        if ui.button(if n == 1 { "Select only this" } else { "Select only these" }).clicked() {
            select_target(ctx, set, target);
        }
        if ui.button("Add to selection").clicked() {
            ctx.selection.extend(set.name, &target.elements);
        }
        if ui.button("Remove from selection").clicked() {
            ctx.selection.remove(set.name, &target.elements);
        }
    }
    if let Some(element) = target.element {
        alike_ui(ui, ctx, set, element);
    }
    if n > 0 && ctx.schema.connectivity.as_ref().is_some_and(|w| w.over == set.name) {
        ui.separator();
        for (word, inputs) in [("Inputs of these", true), ("Outputs of these", false)] {
            if ui.button(word).on_hover_text("Elements connected by at least one synapse").clicked() {
                let of = target.elements.clone();
                ctx.requests.push(ViewRequest::SelectPartners { of, inputs });
            }
        }
    }
    ui.separator();
    if ui.button("Invert selection").clicked() {
        let mut is_in = vec![false; set.len as usize];
        ctx.selection.of(set.name).iter().for_each(|e| is_in[*e as usize] = true);
        ctx.selection.replace(set.name, (0..set.len).filter(|e| !is_in[*e as usize]).collect());
    }
    if n > 0 && ui.button("Save as group").clicked() {
        select_target(ctx, set, target);
        ctx.requests.push(ViewRequest::Command(UiCommand::SaveSelection));
    }
    if ui.button("Clear selection").clicked() {
        ctx.selection.replace(set.name, vec![]);
    }
}

fn alike_ui(ui: &mut Ui, ctx: &mut ViewCtx<'_>, set: &ElementSet, element: u32) {
    for column in &set.columns {
        let label = column.label(element);
        let Some(code) = column.codes.get(element as usize).filter(|_| !label.is_empty()) else { continue };
        let name = format!("All with {} = {label}", kit::column(&column.name));
        if ui.button(name).clicked() {
            let same = column.codes.iter().enumerate().filter(|(_, c)| *c == code).map(|(e, _)| e as u32);
            ctx.selection.replace(set.name, same.collect());
        }
    }
}

/// Draws the entries of the views that fit. An entry selects the target and opens its view.
fn views_ui(ui: &mut Ui, ctx: &mut ViewCtx<'_>, set: &ElementSet, target: &MenuTarget, submenu: Submenu) {
    let fitting = ctx.views.iter().filter(|view| (view.fits)(ctx.schema));
    let entries = fitting.filter_map(|view| Some((view.name, view.menu.as_ref()?)));
    let mut entries: Vec<_> = entries.filter(|(_, entry)| entry.submenu == submenu).collect();
    entries.sort_by_key(|(_, entry)| entry.position);
    for (name, entry) in entries {
        if ui.button(entry.label).clicked() {
            select_target(ctx, set, target);
            let is_probe = entry.opening == Opening::Probe;
            let command = if is_probe { UiCommand::Probe } else { UiCommand::ShowView(name) };
            ctx.requests.push(ViewRequest::Command(command));
            if entry.opening == Opening::Frame {
                super::ask_focus(ui.ctx());
            }
        }
    }
}

fn show_ui(ui: &mut Ui, ctx: &mut ViewCtx<'_>, set: &ElementSet, target: &MenuTarget) {
    views_ui(ui, ctx, set, target, Submenu::ShowIn);
    ui.separator();
    if ui.button("Hide others").on_hover_text(format!("Filters all views to these {}", set.noun())).clicked() {
        ctx.filter.narrow(crate::query::of_elements(&target.elements));
    }
}

/// Draws entries that request a path from or to an element, or in both directions between two.
fn path_ui(ui: &mut Ui, ctx: &mut ViewCtx<'_>, set: &ElementSet, elements: &[u32]) {
    let ends: Vec<(String, Option<u32>, Option<u32>)> = match *elements {
        [one] => vec![("Path from here".into(), Some(one), None), ("Path to here".into(), None, Some(one))],
        [a, b] => {
            let way =
                |(from, to)| (format!("Path from {} to {}", set.label(from), set.label(to)), Some(from), Some(to));
            [(a, b), (b, a)].map(way).to_vec()
        }
        _ => vec![],
    };
    for (word, from, to) in ends {
        let hint = "A shortest chain of connections, in the 3D view and as a list";
        if ui.button(word).on_hover_text(hint).clicked() {
            ctx.requests.push(ViewRequest::Path { set: set.name, from, to });
            ui.close();
        }
    }
}

/// Returns the effects that take a target, with their index among all effects.
fn effects(ctx: &ViewCtx<'_>) -> impl Iterator<Item = (usize, &'static ChoiceSpec)> + use<> {
    ctx.features.effects.iter().enumerate().filter(|(_, effect)| effect.role.takes_target())
}

fn effects_ui(ui: &mut Ui, ctx: &mut ViewCtx<'_>, set: &ElementSet, target: &MenuTarget) {
    for (i, effect) in effects(ctx) {
        let word = effect.label();
        if ui.button(word).on_hover_text(text::unwrap(effect.docs)).clicked() {
            select_target(ctx, set, target);
            ctx.requests.push(ViewRequest::Intervene(i as u16));
        }
    }
    let actions = offered_actions(ctx.features.actions, ctx.schema, set.name, &target.elements);
    for (i, action) in actions.into_iter().enumerate() {
        if i == 0 && effects(ctx).next().is_some() {
            ui.separator();
        }
        let word = match action.undo {
            ActionUndo::By(_) => action.label().into_owned(), // The effect lasts until it is undone.
            ActionUndo::Impossible | ActionUndo::Unneeded => format!("{} once", action.label()),
        };
        let why_not = why_not_on(action, target.elements.len());
        let button = ui.add_enabled(why_not.is_none(), egui::Button::new(word)).on_hover_text(action_tooltip(action));
        if button.on_disabled_hover_text(why_not.unwrap_or_default()).clicked() {
            select_target(ctx, set, target);
            let elements = target.elements.to_vec();
            let action = Action::on(action.name, elements, vec![]);
            ctx.requests.push(ViewRequest::Act(action));
        }
    }
}

/// Draws the entries that add conditions to the experiment.
fn conditions_ui(ui: &mut Ui, ctx: &mut ViewCtx<'_>, set: &ElementSet, target: &MenuTarget) {
    let query = crate::query::of_elements_by_id(&set.ids, &target.elements);
    let over = set_text(ctx.schema, set.name);
    for (word, hint, is_each) in [
        ("Silence in a condition", "Adds a condition in which these elements are silenced together", false),
        ("Silence each…", "Adds a condition per element, in which it is silenced", true),
    ] {
        if ui.button(word).on_hover_text(hint).clicked() {
            let rule = if is_each { edit::silence_each(&query, over) } else { edit::silence(&target.name, &query) };
            ctx.requests.push(ViewRequest::AddConditions(rule));
            ui.close();
        }
    }
}

/// Formats elements as CSV: one line per element with its index, id, name and categories.
fn csv(set: &ElementSet, elements: &[u32]) -> String {
    let mut out = String::from("idx");
    if !set.ids.is_empty() {
        out += ",root_id";
    }
    if !set.names.is_empty() {
        out += ",name";
    }
    for column in &set.columns {
        out = out + "," + &column.name;
    }
    out.push('\n');
    let cell = |text: &str| match text.contains([',', '"', '\n']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    };
    for e in elements.iter().take(MAX_LINES) {
        // Writing to a string does not fail.
        let _ = write!(out, "{e}");
        if let Some(id) = set.ids.get(*e as usize) {
            let _ = write!(out, ",{id}");
        }
        if let Some(name) = set.names.get(*e as usize) {
            let _ = write!(out, ",{}", cell(name));
        }
        for column in &set.columns {
            let _ = write!(out, ",{}", cell(column.label(*e)));
        }
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::Column;

    #[test]
    fn a_table_of_elements() {
        let set = ElementSet {
            name: "cells",
            len: 2,
            ids: vec![70, 71],
            columns: vec![Column::from_texts("class", &["a, b", "c"])],
            ..ElementSet::default()
        };
        assert_eq!(csv(&set, &[0, 1]), "idx,root_id,class\n0,70,\"a, b\"\n1,71,c\n");
    }
}
