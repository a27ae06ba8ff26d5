//! The one context menu of elements, the same in every view: Select · Show in · Plot · Stimulate or silence (or Actions,
//! where nothing can be driven) · Parameters · Copy id · Export.

use super::{ViewCtx, ViewRequest, kit};
use crate::{
    app::{commands::UiCommand, text},
    sim::{Action, ElementSet},
};
use egui::{RichText, Ui};
use std::{fmt::Write as _, sync::Arc};

/// Elements a menu is about.
#[derive(Clone, Debug)]
pub struct Subject {
    /// The one under the pointer, when there is one.
    pub element: Option<u32>,
    /// All it is about.
    pub elements: Arc<Vec<u32>>,
    /// How they are called.
    pub name: String,
}

impl Subject {
    /// The selection when the pointer is on part of it or on nothing, else the element under the pointer.
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

/// The most lines copied or written.
const MOST_LINES: usize = 200_000;

/// Draws the menu of a subject.
pub fn ui(ui: &mut Ui, ctx: &mut ViewCtx<'_>, set: &ElementSet, subject: &Subject) {
    ui.set_min_width(190.0);
    ui.label(RichText::new(&subject.name).strong().color(ctx.tokens.text_strong));
    if subject.elements.is_empty() {
        ui.label(RichText::new("Select something, or point at it").small().color(ctx.tokens.text_sub));
    }
    ui.separator();
    let is_empty = subject.elements.is_empty();
    ui.add_enabled_ui(!is_empty || !ctx.selection.of(set.name).is_empty(), |ui| {
        ui.menu_button("Select", |ui| select_ui(ui, ctx, set, subject));
    });
    ui.add_enabled_ui(!is_empty, |ui| {
        ui.menu_button("Show in", |ui| show_ui(ui, ctx, set, subject));
        ui.menu_button("Plot", |ui| plot_ui(ui, ctx, set, subject));
        ui.add_enabled_ui(!ctx.abilities.effects.is_empty() || !ctx.abilities.actions.is_empty(), |ui| {
            let word = if ctx.abilities.effects.is_empty() { "Actions" } else { "Stimulate or silence" };
            ui.menu_button(word, |ui| deeds_ui(ui, ctx, set, subject));
        });
        if ui.button("Parameters…").on_hover_text("What is known about them, and what is done to them").clicked() {
            take(ctx, set, subject);
            ctx.requests.push(ViewRequest::Parameters);
        }
        ui.separator();
        let word = if subject.elements.len() == 1 { "Copy id" } else { "Copy ids" };
        if ui.button(word).clicked() {
            let ids: Vec<String> = subject.elements.iter().take(MOST_LINES).map(|e| id(set, *e)).collect();
            ui.ctx().copy_text(ids.join("\n"));
        }
        ui.menu_button("Export", |ui| {
            if ui.button("Copy as CSV").clicked() {
                ui.ctx().copy_text(csv(set, &subject.elements));
            }
            if ui.button("Save as CSV…").clicked() {
                let text = csv(set, &subject.elements);
                ctx.requests.push(ViewRequest::SaveText { name: format!("{}.csv", set.name), text });
            }
        });
    });
}

/// The public identifier of an element, else its index.
fn id(set: &ElementSet, element: u32) -> String {
    set.ids.get(element as usize).map_or_else(|| element.to_string(), u64::to_string)
}

/// What is done to a subject is done to the selection, so that everyone sees to whom.
fn take(ctx: &mut ViewCtx<'_>, set: &ElementSet, subject: &Subject) {
    ctx.selection.replace_shared(set.name, subject.elements.clone());
}

fn select_ui(ui: &mut Ui, ctx: &mut ViewCtx<'_>, set: &ElementSet, subject: &Subject) {
    let n = subject.elements.len();
    if n > 0 {
        if ui.button(if n == 1 { "Only this" } else { "Only these" }).clicked() {
            take(ctx, set, subject);
        }
        if ui.button("Add to the selection").clicked() {
            ctx.selection.extend(set.name, &subject.elements);
        }
        if ui.button("Take from the selection").clicked() {
            ctx.selection.remove(set.name, &subject.elements);
        }
    }
    if let Some(element) = subject.element {
        alike_ui(ui, ctx, set, element);
    }
    if n > 0 && ctx.schema.connectivity.as_ref().is_some_and(|w| w.over == set.name) {
        ui.separator();
        for (word, inputs) in [("Inputs of these", true), ("Outputs of these", false)] {
            if ui.button(word).on_hover_text("Everyone connected by at least one synapse").clicked() {
                let of = subject.elements.clone();
                ctx.requests.push(ViewRequest::SelectPartners { of, inputs });
            }
        }
    }
    ui.separator();
    if ui.button("All others").clicked() {
        let mut is_in = vec![false; set.len as usize];
        ctx.selection.of(set.name).iter().for_each(|e| is_in[*e as usize] = true);
        ctx.selection.replace(set.name, (0..set.len).filter(|e| !is_in[*e as usize]).collect());
    }
    if n > 0 && ctx.abilities.can_name && ui.button("Save as a set").clicked() {
        take(ctx, set, subject);
        ctx.requests.push(ViewRequest::Command(UiCommand::SaveSelection));
    }
    if ui.button("Nothing").clicked() {
        ctx.selection.replace(set.name, vec![]);
    }
}

fn alike_ui(ui: &mut Ui, ctx: &mut ViewCtx<'_>, set: &ElementSet, element: u32) {
    for column in &set.columns {
        let label = column.label(element);
        let Some(code) = column.codes.get(element as usize).filter(|_| !label.is_empty()) else { continue };
        let name = format!("All with {} = {}", kit::spaced(&column.name), kit::spaced(label));
        if ui.button(name).clicked() {
            let same = column.codes.iter().enumerate().filter(|(_, c)| *c == code).map(|(e, _)| e as u32);
            ctx.selection.replace(set.name, same.collect());
        }
    }
}

fn show_ui(ui: &mut Ui, ctx: &mut ViewCtx<'_>, set: &ElementSet, subject: &Subject) {
    let views = [
        ("brain", "3D view"),
        ("raster", "Raster"),
        ("table", "Table"),
        ("connectivity", "Connectivity"),
        ("filter", "Filter"),
    ];
    let fits = super::suggest(ctx.schema);
    for (name, word) in views.iter().filter(|(name, _)| fits.contains(name)) {
        if ui.button(*word).clicked() {
            take(ctx, set, subject);
            ctx.requests.push(ViewRequest::Command(UiCommand::ShowView(name)));
            if *name == "brain" {
                super::ask_focus(ui.ctx());
            }
        }
    }
    ui.separator();
    if ui.button("Nothing else").on_hover_text("Hides all others in every view; the filter says so").clicked() {
        ctx.filter.narrow(crate::query::of_elements(&subject.elements));
    }
}

fn plot_ui(ui: &mut Ui, ctx: &mut ViewCtx<'_>, set: &ElementSet, subject: &Subject) {
    let plots = [
        ("traces", "Traces of these", UiCommand::Probe),
        ("statistics", "Statistics of these", UiCommand::ShowView("statistics")),
        ("histogram", "Histogram", UiCommand::ShowView("histogram")),
        ("bands", "Distribution over time", UiCommand::ShowView("bands")),
    ];
    let fits = super::suggest(ctx.schema);
    for (_, word, command) in plots.into_iter().filter(|(name, ..)| fits.contains(name)) {
        if ui.button(word).clicked() {
            take(ctx, set, subject);
            ctx.requests.push(ViewRequest::Command(command));
        }
    }
}

fn deeds_ui(ui: &mut Ui, ctx: &mut ViewCtx<'_>, set: &ElementSet, subject: &Subject) {
    for (i, effect) in ctx.abilities.effects.iter().enumerate() {
        let word = effect.label();
        if ui.button(word).on_hover_text(text::unwrap(effect.docs)).clicked() {
            take(ctx, set, subject);
            ctx.requests.push(ViewRequest::Intervene(i as u16));
        }
    }
    let actions = ctx.abilities.actions.iter().filter(|a| a.over == set.name);
    for (i, action) in actions.enumerate() {
        if i == 0 && !ctx.abilities.effects.is_empty() {
            ui.separator();
        }
        let word = format!("{} once", action.label());
        if ui.button(word).on_hover_text(text::unwrap(action.docs)).clicked() {
            take(ctx, set, subject);
            let elements = subject.elements.to_vec();
            let action = Action { name: action.name.to_owned(), elements, values: vec![] };
            ctx.requests.push(ViewRequest::Act(action));
        }
    }
}

/// Index, id, name and categories, one line per element.
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
    for e in elements.iter().take(MOST_LINES) {
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
