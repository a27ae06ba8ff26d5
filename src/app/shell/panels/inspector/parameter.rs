//! Pickers of names: the parameter that an intervention sets, with its declaration for the field of the value, and the nodes
//! of a graph.

use super::{query, rows::Rows};
use crate::{
    app::{
        document::graph,
        kit::{text, theme::Tokens, widgets},
    },
    params::{
        Change, ParamId, ParamSpec, Params, Role, Value,
        interventions::{field, settable},
        path, titles,
    },
};
use egui::{ComboBox, Popup, RichText, ScrollArea, Ui};

/// Returns the declaration of the parameter that the intervention of the field `of` sets; `None` if the parameter cannot be
/// set.
pub(super) fn target(params: &dyn Params, of: ParamId) -> Option<&'static ParamSpec> {
    let group = usize::from(of.group);
    let at = ParamId { item: of.item, ..ParamId::of(group, field(params, group, Role::Parameter)?) };
    let Value::Text(path) = params.get(at) else { return None };
    let (id, spec) = path::find(params, path.trim()).ok()?;
    settable(params, id, spec).ok()?;
    Some(spec)
}

/// Label of the choice of no node.
const NO_NODE: &str = "None";

/// Whether the text of a field with this role is chosen from a list.
pub(super) const fn is_picked(role: Role) -> bool {
    matches!(role, Role::Parameter | Role::From | Role::To | Role::OfNode | Role::OtherNode)
}

/// Draws the picker of a field with a picked role. Returns the new value; `None` without a choice.
pub(super) fn picker_ui(ui: &mut Ui, rows: &mut Rows<'_>, of: ParamId, name: &str, now: &str) -> Option<Value> {
    match rows.params.spec(of).map(|spec| spec.role) {
        Some(Role::Parameter) => parameter_ui(ui, rows, of, name, now),
        role => node_ui(ui, rows.params, (name, role == Some(Role::OtherNode)), now),
    }
}

/// Draws a drop-down of the names of all nodes, and of an empty name if `may_be_none`. Returns the chosen name; `None` without a
/// choice.
fn node_ui(ui: &mut Ui, params: &dyn Params, (name, may_be_none): (&str, bool), now: &str) -> Option<Value> {
    let nodes = graph::edit::names(params);
    let is_known = nodes.iter().any(|node| node == now);
    let text = match now {
        "" => RichText::new(if may_be_none { NO_NODE } else { "Choose" }),
        _ if is_known => RichText::new(now),
        _ => RichText::new(now).color(Tokens::of(ui.ctx()).warn),
    };
    let mut chosen = None;
    let list = ComboBox::from_id_salt(name).selected_text(text).width(ui.available_width()).truncate();
    let list = list.show_ui(ui, |ui| {
        widgets::raise_list(ui);
        if may_be_none && ui.selectable_label(now.is_empty(), NO_NODE).clicked() {
            chosen = Some(Value::Text(String::new()));
        }
        for node in nodes {
            if ui.selectable_label(node == now, &node).clicked() {
                chosen = Some(Value::Text(node));
            }
        }
    });
    list.response.accessible_name(name);
    chosen
}

/// Draws the chosen parameter and a menu of all parameters that can be set. A choice also copies the present value of the
/// parameter. Returns the path of the newly chosen parameter; `None` without a choice.
fn parameter_ui(ui: &mut Ui, rows: &mut Rows<'_>, of: ParamId, name: &str, now: &str) -> Option<Value> {
    let label = match path::find(rows.params, now.trim()) {
        Ok((_, spec)) => spec.label().into_owned(),
        Err(_) if now.trim().is_empty() => "Choose a parameter".to_owned(),
        Err(_) => titles::in_text(rows.params, now),
    };
    let button = egui::Button::new(label).truncate().min_size(egui::vec2(ui.available_width(), 0.0));
    let button = ui.add(button).accessible_name(name);
    let button = if now.is_empty() { button } else { button.on_hover_text(titles::in_text(rows.params, now)) };
    let mut chosen = None;
    Popup::menu(&button).show(|ui| {
        ui.set_min_width(180.0);
        let params = &*rows.params;
        for (g, group) in params.groups().iter().enumerate() {
            let ids = (0..group.params.len()).map(|f| ParamId::of(g, f));
            let fits = |id: &ParamId| settable(params, *id, &group.params[usize::from(id.field)]).is_ok();
            let ids: Vec<ParamId> = ids.filter(|id| fits(id) && params.is_shown(*id)).collect();
            if ids.is_empty() {
                continue;
            }
            ui.menu_button(group.label(), |ui| {
                ScrollArea::vertical().max_height(360.0).show(ui, |ui| {
                    for id in ids {
                        let spec = &group.params[usize::from(id.field)];
                        let button = ui.button(spec.label()).on_hover_text(text::first_sentence(spec.docs));
                        if button.clicked() {
                            chosen = Some((id, spec));
                            ui.close();
                        }
                    }
                });
            });
        }
    });
    let (id, spec) = chosen?;
    let group = usize::from(of.group);
    if let Some(value) = field(rows.params, group, Role::ParameterValue) {
        let text = path::show(spec, &rows.params.get(id));
        let id = ParamId { item: of.item, ..ParamId::of(group, value) };
        query::set_value(rows.params, &Change { id, value: Value::Text(text) });
    }
    Some(Value::Text(rows.params.path(id)))
}
