//! Drop-down lists, and the choice between groups of parameters.

use super::rows::Rows;
use crate::{
    app::kit::{text, widgets::hover_text},
    params::{ChoiceSpec, ParamId, Value},
};
use egui::{ComboBox, Ui};

/// Draws a drop-down list. Returns the new choice; `None` if the choice is unchanged.
pub(super) fn ui(ui: &mut Ui, name: &str, now: u16, choices: &[ChoiceSpec]) -> Option<u16> {
    let mut chosen = now;
    let shown = choices.get(usize::from(now)).map_or_else(|| "?".into(), ChoiceSpec::label);
    let combo = ComboBox::from_id_salt(name).width(ui.available_width()).truncate().selected_text(shown);
    let response = combo.show_ui(ui, |ui| {
        for (i, choice) in choices.iter().enumerate() {
            ui.selectable_value(&mut chosen, i as u16, choice.label()).on_hover_text(text::unwrap(choice.docs));
        }
    });
    let docs = choices.get(usize::from(now)).map_or("", |choice| choice.docs);
    let label = choices.get(usize::from(now)).map(ChoiceSpec::label).unwrap_or_default();
    hover_text(response.response.accessible_name(name), || format!("{label}\n{}", text::unwrap(docs)));
    (chosen != now).then_some(chosen)
}

/// Returns the value of a sum type after the choice of another group: the last values of the group, or its defaults if it
/// was never chosen before.
pub(super) fn switch(rows: &mut Rows<'_>, id: ParamId, old: &Value, chosen: u16) -> Value {
    let path = rows.params.path(id);
    let spec = rows.params.spec(id);
    let kind = spec.map(|spec| spec.kind.variants()).unwrap_or_default();
    let defaults = || Value::Variant(chosen, kind.get(usize::from(chosen)).map_or(vec![], |v| (v.defaults)()));
    let (Some(left), Value::Variant(was, _)) = (rows.left_choices.as_deref_mut(), old) else { return defaults() };
    left.0.insert((path.clone(), *was), old.clone());
    left.0.get(&(path, chosen)).filter(|value| spec.is_some_and(|s| s.admits(value))).cloned().unwrap_or_else(defaults)
}
