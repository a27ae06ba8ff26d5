//! Button below the path of a file from which the shape of the model follows.

use super::{row, rows::Rows};
use crate::{
    app::kit::icons,
    params::{ParamId, Value},
};
use egui::{Button, Ui};

/// Text of the button, which messages name too.
const USE: &str = "Use the shape of this file";
const HINT: &str = "Sets layers, heads, width, context and the other sizes to those of the weights in this file, from \
                    config.json beside it or from the shapes of its tensors, and a tokenizer.json beside it as the \
                    tokenizer. One undo takes all back.";

/// Whether the button is drawn below a parameter.
pub fn is_below(rows: &Rows<'_>, id: ParamId, name: &str) -> bool {
    let is_set = matches!(rows.params.get(id), Value::Text(typed) if !typed.trim().is_empty());
    !rows.shape_file.is_empty() && name == rows.shape_file && is_set
}

/// Draws the button if it belongs below this parameter.
pub fn ui(ui: &mut Ui, rows: &mut Rows<'_>, id: ParamId, name: &str) {
    if !is_below(rows, id, name) {
        return;
    }
    row::part(ui, "", |ui, cells| {
        let button = Button::new((icons::rich(icons::SLIDERS).size(13.0), USE));
        let response = row::in_wide(ui, cells, |ui| ui.add(button).accessible_name(USE).on_hover_text(HINT));
        rows.uses_shape |= response.clicked();
    });
}
