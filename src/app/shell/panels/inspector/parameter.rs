//! Parameter that an intervention sets: its picker, and its declaration for the field of the value.

use super::{query, rows::Rows};
use crate::{
    app::kit::text,
    params::{
        Change, ParamId, ParamSpec, Params, Role, Value,
        interventions::{field, settable},
        path, titles,
    },
};
use egui::{Popup, ScrollArea, Ui};

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

/// Draws the chosen parameter and a menu of all parameters that can be set. A choice also copies the present value of the
/// parameter. Returns the path of the newly chosen parameter; `None` without a choice.
pub(super) fn picker_ui(ui: &mut Ui, rows: &mut Rows<'_>, of: ParamId, name: &str, now: &str) -> Option<Value> {
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
