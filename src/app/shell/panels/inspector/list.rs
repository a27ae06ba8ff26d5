//! List groups as cards, which can be added, removed, enabled and collapsed.

use super::{
    header::header_ui,
    query::{add_item, missing, set_value},
    row,
    rows::Rows,
};
use crate::{
    app::{
        document::{
            graph,
            items::{item_name, item_noun},
        },
        kit::{icons, theme::Tokens, widgets},
    },
    params::{Change, ParamId, Role, Value},
};
use egui::{Align, Frame, Id, Label, Layout, Margin, RichText, Sense, Stroke, Ui, collapsing_header::CollapsingState};

/// Draws a list group.
pub fn ui(ui: &mut Ui, rows: &mut Rows<'_>, group: usize) {
    if !rows.params.shows_group(group as u8) {
        return;
    }
    let spec = rows.params.groups()[group];
    let n = rows.params.len(group as u8);
    let wanted: Vec<usize> =
        (0..n).filter(|item| rows.ids(group, *item).iter().any(|id| rows.is_wanted(*id))).collect();
    let filtered = !rows.search.is_empty() || rows.only_changed;
    if filtered && wanted.is_empty() {
        return;
    }
    let (count, words) = (if n > 0 { n.to_string() } else { String::new() }, rows.search.clone());
    header_ui(ui, &spec, (&count, &words), |ui| {
        let mut remove = None;
        for item in wanted {
            if card_ui(ui, rows, group, item) {
                remove = Some(item);
            }
            ui.add_space(4.0);
        }
        if let Some(item) = remove {
            graph::edit::remove(rows.params, (group, item));
        }
        if !filtered {
            ui.horizontal(|ui| buttons_ui(ui, rows, group));
        }
    });
}

fn buttons_ui(ui: &mut Ui, rows: &mut Rows<'_>, group: usize) {
    let spec = rows.params.groups()[group];
    let word = item_noun(spec).to_lowercase();
    let add = egui::Button::new((icons::rich(icons::PLUS).size(12.0), format!("Add {word}")));
    if ui.add(add).accessible_name(format!("Add {word}")).clicked() {
        add_item(rows.params, group);
    }
    if let Some(table) = rows.table.as_deref_mut() {
        let name = format!("{} as a table", spec.label());
        if widgets::icon_button(ui, icons::TABLE, &name).on_hover_text(&name).clicked() {
            table.open(spec.name);
        }
    }
}

/// Draws an item. Returns whether the user removes it.
fn card_ui(ui: &mut Ui, rows: &mut Rows<'_>, group: usize, item: usize) -> bool {
    let t = Tokens::of(ui.ctx());
    let frame = Frame::new()
        .fill(t.raised)
        .stroke(Stroke::new(1.0, if rows.marked == Some((group, item)) { t.accent } else { t.line }))
        .corner_radius(6)
        .inner_margin(Margin::symmetric(8, 4));
    let scrolls = rows.scroll_to_item == Some((group, item));
    let card = frame.show(ui, |ui| {
        ui.set_width(ui.available_width());
        ui.spacing_mut().item_spacing.y = 2.0;
        let id = Id::unique(("card", group, item));
        let mut state = CollapsingState::load_with_default_open(ui.ctx(), id, true);
        if scrolls {
            state.set_open(true);
        }
        let removed = head(ui, rows, group, item, &mut state);
        let enabled = rows.params.groups()[group].fields().iter().position(|p| p.role == Role::Enabled).unwrap_or(0);
        let id = ParamId { item: item as u16, ..ParamId::of(group, enabled) };
        if let Some(rejection) = rows.live.and_then(|live| live.rejection(id)) {
            let text = RichText::new(format!("Not applied: {}", rejection.why)).small().color(t.error);
            ui.add(Label::new(text).wrap());
        }
        state.show_body_unindented(ui, |ui| {
            for id in rows.ids(group, item) {
                let hidden = rows.params.spec(id).is_some_and(|s| s.role == Role::Enabled);
                if !hidden && rows.is_wanted(id) {
                    row::ui(ui, rows, id);
                }
            }
        });
        removed
    });
    if scrolls {
        ui.scroll_to_rect(card.response.rect, Some(Align::TOP));
    }
    card.inner
}

fn head(ui: &mut Ui, rows: &mut Rows<'_>, group: usize, item: usize, state: &mut CollapsingState) -> bool {
    let t = Tokens::of(ui.ctx());
    let name = item_name(rows.params, group, item);
    ui.horizontal(|ui| {
        ui.spacing_mut().item_spacing.x = 6.0;
        let caret = if state.is_open() { icons::CARET_DOWN } else { icons::CARET_RIGHT };
        let fold = ui.add(Label::new(icons::rich(caret).size(10.0).color(t.text_sub)).sense(Sense::click()));
        // The layout is from right to left, so that a long name is truncated instead of widening the panel.
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            let removed = widgets::icon_button(ui, icons::TRASH, &format!("Remove {name}")).clicked();
            let field = rows.params.groups()[group].fields().iter().position(|p| p.role == Role::Enabled);
            if let Some(f) = field {
                let id = ParamId { item: item as u16, ..ParamId::of(group, f) };
                let mut on = rows.params.get(id) == Value::Bool(true);
                let name = rows.params.path(id);
                let missing = missing(rows.params, group, item);
                let switch = ui.add_enabled_ui(missing.is_none(), |ui| widgets::switch(ui, &mut on, &name)).inner;
                if switch.on_disabled_hover_text(missing.unwrap_or_default()).changed() {
                    set_value(rows.params, &Change { id, value: Value::Bool(on) });
                }
            }
            let title = RichText::new(&name).family(widgets::semibold()).color(t.text_strong);
            let title = |ui: &mut Ui| ui.add(Label::new(title).truncate().sense(Sense::click()));
            let title = ui.with_layout(Layout::left_to_right(Align::Center), title).inner;
            if fold.clicked() || title.clicked() {
                state.toggle(ui);
            }
            removed
        })
        .inner
    })
    .inner
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_can_be_removed() {
        let mut model = crate::kinds::Model::all().remove(0);
        let params = model.params_mut();
        let group = params.groups().iter().position(|g| g.list).unwrap();
        params.push(group as u8);
        params.push(group as u8);
        let name = ParamId { item: 1, ..ParamId::of(group, 0) };
        params.set(&Change { id: name, value: Value::Text("second".into()) });
        graph::edit::remove(params, (group, 0));
        assert_eq!(params.len(group as u8), 1);
        assert_eq!(item_name(params, group, 0), "second");
    }
}
