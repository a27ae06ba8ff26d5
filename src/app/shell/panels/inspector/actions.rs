//! Actions that a kind declares for its running simulation, each with a form and a button.

use super::{Inspector, number::NumberField, value_text};
use crate::{
    app::{
        document::{
            features::{action_tooltip, offered_actions, why_not_on},
            session::Session,
        },
        kit::{text, theme::Tokens, widgets},
    },
    params::{ParamSpec, Role, Value, ValueType},
    sim::{Action, ActionSpec},
};
use egui::{Button, ComboBox, Response, ScrollArea, TextEdit, TextStyle, Ui};
use std::collections::BTreeMap;

/// Last entered arguments by kind and action, because different kinds may have actions of equal name.
#[derive(Default)]
pub struct Forms(BTreeMap<(&'static str, &'static str), Vec<Value>>);

impl Forms {
    fn of(&mut self, kind: &'static str, action: &ActionSpec) -> &mut Vec<Value> {
        self.0.entry((kind, action.name)).or_insert_with(|| first_values(action))
    }
}

/// Draws the actions on a set, or on the whole simulation if `over` is empty. Sends the action whose button is pressed.
pub fn ui(ui: &mut Ui, session: &mut Session, forms: &mut Forms, over: &str) {
    let elements = session.selection.of(over);
    let offered = offered_actions(session.project.model.actions(), &session.live.schema, over, elements);
    let (with_form, plain): (Vec<_>, Vec<_>) = offered.into_iter().partition(|a| !a.params.is_empty());
    for action in with_form {
        ui.horizontal_wrapped(|ui| action_ui(ui, session, forms, action));
    }
    if !plain.is_empty() {
        ui.horizontal_wrapped(|ui| plain.into_iter().for_each(|action| action_ui(ui, session, forms, action)));
    }
}

/// Draws the button of an action, and its argument fields.
fn action_ui(ui: &mut Ui, session: &mut Session, forms: &mut Forms, action: &'static ActionSpec) {
    ui.spacing_mut().item_spacing.x = 4.0;
    ui.spacing_mut().text_edit_width = 120.0;
    let values = forms.of(session.project.model.name(), action);
    let name = action.label().into_owned();
    let why_not = match session.live.playback {
        Some(_) => Some("A finished run is read-only".to_owned()),
        None => why_not_on(action, session.selection.of(action.over).len()),
    };
    let button = ui.add_enabled(why_not.is_none(), Button::new(&name)).accessible_name(&name);
    let button = widgets::hover_text(button, || action_tooltip(action));
    let button = button.on_disabled_hover_text(why_not.unwrap_or_default());
    for (spec, value) in action.params.iter().zip(values.iter_mut()) {
        argument_ui(ui, action.name, spec, value);
    }
    if button.clicked() {
        let elements = if action.over.is_empty() { vec![] } else { session.selection.elements.to_vec() };
        let action = Action::on(action.name, elements, values.clone());
        session.live.act(action);
    }
}

/// Returns an action with the last entered arguments, if the action has none.
pub fn with_values(session: &Session, inspector: &mut Inspector, action: Action) -> Action {
    let spec = session.project.model.actions().iter().find(|a| a.name == action.name);
    let Some(spec) = spec.filter(|_| action.values.is_empty()) else { return action };
    let values = inspector.forms.of(session.project.model.name(), spec).clone();
    Action { values, ..action }
}

/// Returns the initial values of arguments, which have no declared defaults: `true`, the first choice, or the middle of the
/// slider range, so that an action has an effect.
fn first_values(action: &ActionSpec) -> Vec<Value> {
    let first = |spec: &ParamSpec| spec.value_at(if matches!(spec.kind, ValueType::Choice(_)) { 0.0 } else { 0.5 });
    action.params.iter().map(first).collect()
}

/// Draws the field of an argument of an action or a request; returns its response, or `None` if the value has no field.
pub fn argument_ui(ui: &mut Ui, action: &str, spec: &ParamSpec, value: &mut Value) -> Option<Response> {
    let name = format!("{action}.{}", spec.name);
    let response = match (value, spec.kind) {
        (Value::Bool(on), _) => widgets::switch(ui, on, &name),
        (value @ (Value::Int(_) | Value::Real(_)), _) => {
            let (response, new) = NumberField { spec, name: &name, width: 84.0, with_unit: true }.show(ui, value);
            if let Some(new) = new {
                *value = new;
            }
            response
        }
        (Value::Choice(chosen), ValueType::Choice(choices)) => {
            let shown = choices.get(usize::from(*chosen)).map_or_else(|| "?".into(), |c| c.label());
            let combo = ComboBox::from_id_salt(&name).selected_text(shown).show_ui(ui, |ui| {
                for (i, choice) in choices.iter().enumerate() {
                    ui.selectable_value(chosen, i as u16, choice.label()).on_hover_text(text::unwrap(choice.docs));
                }
            });
            combo.response
        }
        (value @ (Value::List(_) | Value::Distribution(_) | Value::Variant(..)), _) => {
            let (response, new) = value_text::ui(ui, &name, spec, value);
            if let Some(new) = new {
                *value = new;
            }
            response
        }
        (Value::Text(typed), _) if spec.role == Role::Passage => passage_ui(ui, &name, typed),
        (Value::Text(typed), _) => ui.add(TextEdit::singleline(typed)),
        (Value::Choice(_) | Value::Rows(_), _) => return None,
    };
    let response = response.accessible_name(&name).on_hover_ui(|ui| {
        ui.set_max_width(320.0);
        ui.label(egui::RichText::new(spec.label()).strong().color(Tokens::of(ui.ctx()).text_strong));
        ui.label(text::unwrap(spec.docs));
    });
    Some(response)
}

/// Draws a field of several lines, which scrolls if the text is longer.
fn passage_ui(ui: &mut Ui, name: &str, typed: &mut String) -> Response {
    let height = PASSAGE_LINES * ui.text_style_height(&TextStyle::Body) + PASSAGE_MARGINS;
    // In a row of other fields, the available height is that of one line.
    let scroll = ScrollArea::vertical().id_salt(name).max_height(height).min_scrolled_height(height);
    let field = TextEdit::multiline(typed).desired_rows(PASSAGE_LINES as usize).desired_width(f32::INFINITY);
    scroll.show(ui, |ui| ui.add(field)).inner
}

/// Number of visible lines of a text of several lines.
const PASSAGE_LINES: f32 = 4.0;
/// Height of the margins and the border of such a text, points.
const PASSAGE_MARGINS: f32 = 12.0;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::Model;

    #[test]
    fn an_action_does_not_take_the_arguments_of_another_kind() {
        let mut forms = Forms::default();
        for model in Model::all() {
            for action in model.actions() {
                assert_eq!(*forms.of(model.name(), action), first_values(action), "{}: {}", model.name(), action.name);
            }
        }
    }
}
