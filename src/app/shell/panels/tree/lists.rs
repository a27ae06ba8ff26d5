//! Lists of the document in the project tree: named selections, stimuli and others. The user can rename, duplicate, delete
//! and enable their items.

use super::{Outline, leaf, section};
use crate::{
    app::{
        document::{
            command::UiCommand,
            experiment::edit,
            graph, interventions,
            items::{self, Item},
            open_document::Document,
        },
        kit::{icons, widgets},
        shell::{
            commands::{Around, CommandState},
            panels::{
                inspector,
                sets::{self, Sets},
            },
            queue::{Queue, ShellRequest},
        },
        views::ViewRequest,
    },
    params::{Change, ParamId, Params, Role, Value, interventions::Intervention},
};
use egui::{Button, Id, Response, TextEdit, Ui};

/// Draws every list group of the kind.
pub fn ui(
    ui: &mut Ui,
    document: &mut Document,
    (tree, sets): (&mut Outline, &mut Sets),
    around: Around<'_>,
    queue: &mut Queue,
) {
    let params = document.session.project.model.params();
    let shown: Vec<_> =
        params.groups().iter().enumerate().filter(|(g, group)| group.list && params.shows_group(*g as u8)).collect();
    for (g, group) in shown {
        let n = document.session.project.model.params().len(g as u8);
        let title = group.label();
        let wanted: Vec<usize> =
            (0..n).filter(|i| tree.wants(&items::item_name(document.session.project.model.params(), g, *i))).collect();
        if tree.is_filtered() && wanted.is_empty() {
            continue;
        }
        section(ui, &title, &n.to_string(), |ui| {
            for item in wanted {
                match group.role {
                    Role::Selections => sets::row_ui(ui, &mut document.session, sets, (g, item), queue),
                    _ => item_ui(ui, document, (tree, sets), (g, item), around, queue),
                }
            }
            if tree.is_filtered() {
                return;
            }
            if leaf(ui, icons::PLUS, &format!("Add {}", items::item_noun(*group).to_lowercase()), false, |_| {})
                .clicked()
            {
                inspector::add_item(document.session.project.model.params_mut(), g);
                queue.ask(ShellRequest::ShowGroup(group.name));
            }
        });
    }
}

fn field(params: &dyn Params, (group, item): Item, role: Role) -> Option<ParamId> {
    let field = params.groups().get(group)?.fields().iter().position(|p| p.role == role)?;
    Some(ParamId { item: item as u16, ..ParamId::of(group, field) })
}

fn item_ui(
    ui: &mut Ui,
    document: &mut Document,
    (tree, sets): (&mut Outline, &mut Sets),
    at: Item,
    around: Around<'_>,
    queue: &mut Queue,
) {
    if tree.renaming.as_ref().is_some_and(|(item, _)| *item == at) {
        return rename_ui(ui, tree, at, document.session.project.model.params_mut());
    }
    let params = document.session.project.model.params_mut();
    let name = items::item_name(params, at.0, at.1);
    let mut enabled = field(params, at, Role::Enabled).map(|id| (id, params.get(id) == Value::Bool(true)));
    let (glyph, before) = (glyph(params, at), enabled);
    let missing = inspector::missing(params, at.0, at.1);
    let strong = enabled.is_none_or(|(_, on)| on);
    let response = leaf(ui, glyph, &name, strong, |ui| {
        if let Some((_, on)) = &mut enabled {
            let switch = |ui: &mut Ui| widgets::switch(ui, on, &format!("Enable {name}"));
            let switch = ui.add_enabled_ui(missing.is_none(), switch).inner;
            switch.on_disabled_hover_text(missing.unwrap_or_default());
        }
    });
    if let (true, Some((id, on))) = (before != enabled, enabled) {
        params.set(&Change { id, value: Value::Bool(on) });
    }
    if tree.selected == Some(at) {
        super::mark(ui, response.rect);
    }
    if response.clicked() || response.secondary_clicked() {
        sets.forget();
        tree.selected = Some(at);
    }
    if response.clicked() {
        let group = document.session.project.model.params().groups()[at.0].name;
        queue.ask(ShellRequest::ShowGroup(group));
    }
    if response.double_clicked() {
        queue.push(UiCommand::Rename);
    }
    let intervention = intervention_at(document.session.project.model.params(), at);
    menu(&response, &around.with(document), intervention, queue);
}

/// Returns the name of an intervention, or its index if it has no name; `None` for other items.
fn intervention_at(params: &dyn Params, at: Item) -> Option<String> {
    let intervention = Intervention::of(params, at.0, at.1)?;
    let name = intervention.text(Role::Name);
    Some(if name.is_empty() { at.1.to_string() } else { name })
}

fn menu(response: &Response, state: &CommandState<'_>, intervention: Option<String>, queue: &mut Queue) {
    response.context_menu(|ui| {
        ui.set_min_width(150.0);
        for command in [UiCommand::Rename, UiCommand::Duplicate, UiCommand::Delete] {
            let keys = state.around.keymap.text(ui.ctx(), &command);
            let button = Button::new((icons::rich(command.icon()).size(13.0), command.text(state))).shortcut_text(keys);
            if ui.add(button).clicked() {
                queue.push(command);
                ui.close();
            }
        }
        let Some(name) = intervention else { return };
        let hint = "Adds a condition to the experiment in which this intervention is disabled";
        if ui.button("Condition without it").on_hover_text(hint).clicked() {
            queue.ask(ShellRequest::View(ViewRequest::AddConditions(edit::without(&name))));
            ui.close();
        }
    });
}

fn rename_ui(ui: &mut Ui, tree: &mut Outline, at: Item, params: &mut dyn Params) {
    let Some((_, typed)) = &mut tree.renaming else { return };
    let field_id = Id::unique("rename in the tree");
    let editor = TextEdit::singleline(typed).id(field_id).desired_width(ui.available_width() - 40.0);
    let response = ui.horizontal(|ui| {
        ui.add_space(22.0);
        ui.add(editor).accessible_name("New name")
    });
    let response = response.inner;
    if response.lost_focus() {
        let cancelled = ui.input(|i| i.key_pressed(egui::Key::Escape));
        let name = tree.renaming.take().map(|(_, typed)| typed.trim().to_owned()).unwrap_or_default();
        if let (false, false, Some(id)) = (cancelled, name.is_empty(), field(params, at, Role::Name)) {
            params.set(&Change { id, value: Value::Text(name) });
        }
    } else if !response.has_focus() {
        response.request_focus();
    }
}

/// Returns the glyph of an item, by the role of its list, of its fields or of its effect.
fn glyph(params: &dyn Params, at: Item) -> &'static str {
    let Some(id) = field(params, at, Role::Effect) else {
        return match params.groups()[at.0].role {
            Role::Edges => icons::LINK,
            _ if field(params, at, Role::OfNode).is_some() => icons::LIGHTNING,
            _ => icons::SELECTION,
        };
    };
    match interventions::choice(params, id).map(|effect| effect.role) {
        Some(role) if role.is_silencing() => icons::SCISSORS,
        Some(Role::SetsParameter) => icons::SLIDERS,
        _ => icons::LIGHTNING,
    }
}

impl Outline {
    /// Returns the selected item; `None` if it no longer exists or a named selection is chosen.
    pub fn item(&self, sets: &Sets, params: &dyn Params) -> Option<Item> {
        self.selected.filter(|_| !sets.is_chosen()).filter(|(g, item)| *item < params.len(*g as u8))
    }

    /// Selects an item, or none.
    pub fn select(&mut self, item: Option<Item>) {
        self.selected = item;
    }

    /// Starts to rename an item that has a name.
    pub fn rename(&mut self, item: Option<Item>, params: &dyn Params) {
        self.renaming = item
            .filter(|at| field(params, *at, Role::Name).is_some())
            .map(|at| (at, items::item_name(params, at.0, at.1)));
    }

    /// Duplicates an item and selects the copy.
    pub fn duplicate(&mut self, item: Item, params: &mut dyn Params) {
        self.selected = Some(graph::edit::duplicate(params, item));
    }

    /// Deletes an item and returns its name. Undo restores the item.
    pub fn delete(&mut self, (group, item): Item, params: &mut dyn Params) -> String {
        let name = items::item_name(params, group, item);
        graph::edit::remove(params, (group, item));
        self.selected = None;
        name
    }
}
