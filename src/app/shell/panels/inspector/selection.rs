//! Selection card: facts about the selected elements, and actions on them.

use super::actions::{self, Forms};
use crate::{
    app::{
        document::{
            command::UiCommand,
            interventions::{self, Intervention},
            open_document::Document,
            session::Session,
        },
        kit::{icons, text, theme::Tokens, widgets},
        shell::{
            commands::{Around, CommandState},
            queue::Queue,
        },
    },
    engine::SimSchema,
    sim::{Column, ElementSet, ElementState},
};
use egui::{Button, Frame, Grid, Label, Margin, RichText, Ui};

/// Maximum number of elements whose categories are counted. Counting more takes too long for a frame, so only the number of
/// elements is shown.
const MAX_COUNTED: usize = 20_000;

/// Whether there is a selection to describe.
pub fn is_shown(session: &Session) -> bool {
    let (selection, schema) = (&session.selection, &session.live.schema);
    !selection.elements.is_empty() && schema.set(selection.set).is_some()
}

/// Draws the card if elements are selected.
pub fn ui(ui: &mut Ui, document: &mut Document, forms: &mut Forms, around: Around<'_>, queue: &mut Queue) {
    let (selection, schema) = (&document.session.selection, &document.session.live.schema);
    let (false, Some(set)) = (selection.elements.is_empty(), schema.set(selection.set).cloned()) else { return };
    let (title, elements) = (interventions::title(schema, selection), selection.elements.clone());
    let (individuals, states) = (selection.individuals.clone(), states_text(schema, set.name, &elements));
    let t = Tokens::of(ui.ctx());
    let frame = Frame::new().fill(Tokens::fade(t.accent, 0.08)).inner_margin(Margin::symmetric(10, 8));
    frame.show(ui, |ui| {
        ui.set_width(ui.available_width());
        let title = RichText::new(title).family(widgets::semibold()).color(t.text_strong);
        ui.add(Label::new(title).truncate());
        if elements.len() == 1 || !set.columns.is_empty() || states.is_some() {
            Grid::new("selection facts").num_columns(2).spacing([12.0, 3.0]).show(ui, |ui| {
                ui.spacing_mut().interact_size.y = 14.0;
                facts_ui(ui, &set, &elements, individuals.first().copied());
                if let Some(states) = states {
                    fact_ui(ui, "State", states);
                }
            });
        }
        ui.add_space(4.0);
        commands_ui(ui, &around.with(document), queue);
        actions::ui(ui, &mut document.session, forms, set.name);
    });
}

/// Draws the commands that apply to any selection.
fn commands_ui(ui: &mut Ui, state: &CommandState<'_>, queue: &mut Queue) {
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing.x = 4.0;
        let params = state.document.session.project.model.params();
        let commands = [
            ("Stimulate", UiCommand::Stimulate, interventions::can(params, Intervention::Stimulate)),
            ("Silence", UiCommand::Silence, interventions::can(params, Intervention::Silence)),
            ("Probe", UiCommand::Probe, true),
            ("Save", UiCommand::SaveSelection, true),
        ];
        for (word, command, _) in commands.into_iter().filter(|(.., is_offered)| *is_offered) {
            let button = Button::new((icons::rich(command.icon()).size(13.0), word));
            let why_not = command.why_not(state);
            let response =
                ui.add_enabled(why_not.is_none(), button).accessible_name(word).on_hover_text(command.tooltip());
            if response.on_disabled_hover_text(why_not.unwrap_or_default()).clicked() {
                queue.push(command);
            }
        }
    });
}

/// Lists the states of the elements, with the number of elements if not all are in the state: `frozen 2`. `None` without
/// a state.
fn states_text(schema: &SimSchema, set: &str, elements: &[u32]) -> Option<String> {
    let states = schema.states.iter().filter(|state| state.over == set);
    let text = |state: &ElementState| match elements.iter().filter(|element| state.has(**element)).count() {
        0 => None,
        n if n == elements.len() => Some(state.state.to_owned()),
        n => Some(format!("{} {}", state.state, text::count(n as u64))),
    };
    let texts: Vec<String> = states.filter_map(text).collect();
    (!texts.is_empty()).then(|| texts.join(", "))
}

fn fact_ui(ui: &mut Ui, name: &str, value: String) {
    ui.label(widgets::sub(ui, name));
    ui.add(Label::new(RichText::new(value).monospace()).selectable(true).truncate());
    ui.end_row();
}

fn facts_ui(ui: &mut Ui, set: &ElementSet, elements: &[u32], individual: Option<u64>) {
    let mut fact = |name: &str, value: String| fact_ui(ui, name, value);
    if let [one] = elements {
        if let Some(id) = individual.or_else(|| set.ids.get(*one as usize).copied()) {
            fact("ID", id.to_string());
        }
        fact(if set.are_slots { "Slot" } else { "Index" }, one.to_string());
        for column in &set.columns {
            let label = column.label(*one);
            if !label.is_empty() {
                fact(&text::column(&column.name), label.to_owned());
            }
        }
        if let Some([x, y, z]) = set.position_um(*one) {
            fact("Position", format!("{x:.1}, {y:.1}, {z:.1} µm"));
        }
    } else if elements.len() <= MAX_COUNTED {
        for column in &set.columns {
            fact(&text::column(&column.name), most_common(column, elements));
        }
    }
}

/// Lists the three most common categories with their counts: `sensory 12, motor 3, …`.
fn most_common(column: &Column, elements: &[u32]) -> String {
    let mut counts = vec![0_usize; column.labels.len()];
    for e in elements {
        if let Some(n) = column.codes.get(*e as usize).and_then(|c| counts.get_mut(usize::from(*c))) {
            *n += 1;
        }
    }
    let mut order: Vec<(usize, &str)> = counts
        .iter()
        .zip(&column.labels)
        .filter(|(n, l)| **n > 0 && !l.is_empty())
        .map(|(n, l)| (*n, l.as_str()))
        .collect();
    order.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(b.1)));
    let more = if order.len() > 3 { ", …" } else { "" };
    let words: Vec<String> = order.iter().take(3).map(|(n, l)| format!("{l} {n}")).collect();
    words.join(", ") + more
}
