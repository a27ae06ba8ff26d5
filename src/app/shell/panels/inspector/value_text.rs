//! Text field for a value of any type. A valid text is applied on Enter or when the field loses the focus. An error is displayed
//! below the field during typing.

use super::number::error_ui;
use crate::{
    app::kit::theme::Tokens,
    params::{ParamSpec, Value, path},
};
use egui::{FontId, Id, Key, Response, TextEdit, Ui};

/// Draws the field in the available width. Returns its response, and the new value after an edit.
pub(super) fn ui(ui: &mut Ui, name: &str, spec: &ParamSpec, now: &Value) -> (Response, Option<Value>) {
    let (id, shown) = (Id::unique(("value text", name)), path::show(spec, now));
    let mut draft = ui.data(|d| d.get_temp::<String>(id)).unwrap_or_else(|| shown.clone());
    let parsed = parse(spec, &draft);
    let t = Tokens::of(ui.ctx());
    let ink = if parsed.is_err() { t.error } else { t.text };
    let field =
        TextEdit::singleline(&mut draft).id(id.with("field")).desired_width(ui.available_width()).clip_text(true);
    let response = ui.add(field.font(FontId::monospace(12.0)).text_color(ink)).accessible_name(name);
    let parsed = parse(spec, &draft);
    if let (Err(why), true) = (&parsed, response.has_focus()) {
        error_ui(ui, id, response.rect, why);
    }
    if response.has_focus() || (parsed.is_err() && ui.input(|i| i.key_pressed(Key::Enter)) && response.lost_focus()) {
        if response.lost_focus() {
            response.request_focus();
        }
        ui.data_mut(|d| d.insert_temp(id, draft));
        return (response, None);
    }
    ui.data_mut(|d| d.remove::<String>(id));
    let is_entered = response.lost_focus() && draft != shown && !ui.input(|i| i.key_pressed(Key::Escape));
    let new = parsed.ok().filter(|value| is_entered && value != now);
    (response, new)
}

fn parse(spec: &ParamSpec, draft: &str) -> Result<Value, String> {
    let value = path::parse_value(spec, draft.trim())?;
    spec.refusal(&value).map_or(Ok(value), Err)
}
