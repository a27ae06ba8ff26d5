//! Parameters linked to a formula: the formula field of a row, and the list of all links.

use super::{row, rows::Rows};
use crate::{
    app::{
        document::varied::can_vary,
        kit::{icons, level::Level, theme::Tokens, widgets},
    },
    params::{
        ParamId, ParamSpec, Params, Role, Value, ValueType,
        link::{self, Link},
        path, titles,
    },
    project::Project,
};
use egui::{Align, Layout, Rect, Response, RichText, TextEdit, Ui, UiBuilder};

/// Width of the button that unlinks a parameter, points.
const UNLINK: f32 = 22.0;

/// Whether a parameter can be linked to a formula.
pub fn can_follow(spec: &ParamSpec) -> bool {
    matches!(spec.kind, ValueType::Real | ValueType::Int | ValueType::Distribution)
}

/// Returns a path that remains valid when list items are added or removed. If the item has a name, the path contains the
/// name instead of the index.
fn stable_path(params: &dyn Params, id: ParamId) -> String {
    let group = params.groups()[usize::from(id.group)];
    let name = group.fields().iter().position(|p| p.role == Role::Name).filter(|_| group.list);
    let name = name.map(|f| params.get(ParamId { field: f as u8, ..id }));
    let path = params.path(id);
    match (name, path.strip_prefix(&format!("{}.{}", group.name, id.item))) {
        (Some(Value::Text(name)), Some(rest)) if !name.is_empty() && !name.contains('.') => {
            format!("{}.{name}{rest}", group.name)
        }
        _ => path,
    }
}

impl Rows<'_> {
    /// Links a parameter to a formula, or reports why the link is not possible.
    pub(super) fn follow(&mut self, id: ParamId, formula: &str) {
        let link = Link { path: stable_path(self.params, id), formula: formula.trim().to_owned() };
        let Some(links) = self.links.as_deref_mut() else { return };
        let problem = link.value(self.params).err().or_else(|| link::goes_round(self.params, links, &link));
        if let Some(why) = problem {
            let (title, why) = (titles::title(self.params, id), titles::in_text(self.params, &why));
            return self.messages.push((Level::Warning, format!("{title} = {}: {why}", link.formula)));
        }
        match links.iter_mut().find(|known| known.target(self.params).is_some_and(|(target, _)| target == id)) {
            Some(known) => *known = link,
            None => links.push(link),
        }
    }

    /// Removes the link of a parameter. The parameter keeps its value.
    pub(super) fn unlink(&mut self, id: ParamId) {
        let params = &*self.params;
        if let Some(links) = self.links.as_deref_mut() {
            links.retain(|link| link.target(params).is_none_or(|(target, _)| target != id));
        }
    }
}

/// Draws the formula field instead of the slider. A formula is applied on Enter or when the field loses the focus.
pub fn formula_ui(ui: &mut Ui, rows: &mut Rows<'_>, id: ParamId, name: &str) {
    let Some(now) = rows.link(id).map(|link| link.formula.clone()) else { return };
    let draft_id = ui.scope_id().with(("formula", name));
    let mut text = ui.data(|d| d.get_temp::<String>(draft_id)).unwrap_or_else(|| format!("= {now}"));
    let field = TextEdit::singleline(&mut text).desired_width(ui.available_width()).clip_text(true);
    let response = ui.add(field.font(egui::TextStyle::Monospace)).accessible_name(format!("Formula of {name}"));
    if response.has_focus() {
        ui.data_mut(|d| d.insert_temp(draft_id, text));
        return;
    }
    ui.data_mut(|d| d.remove::<String>(draft_id));
    let typed = text.trim().trim_start_matches('=').trim();
    match typed {
        _ if !response.lost_focus() || typed == now => {}
        "" => rows.unlink(id),
        formula => rows.follow(id, formula),
    }
}

/// Draws the button that unlinks a parameter, at the right end of an area. Returns whether it was clicked.
pub fn unlink_ui(ui: &mut Ui, rows: &Rows<'_>, id: ParamId, area: Rect) -> bool {
    let Some(link) = rows.link(id) else { return false };
    let (text, title) = (format!("Follows {}; click to unlink", link.formula), titles::title(rows.params, id));
    // A button beyond the area would widen the row, and so the panel in every frame.
    let area = UiBuilder::new().max_rect(area.with_min_x(area.right() - UNLINK));
    let button = |ui: &mut Ui| widgets::icon_button(ui, icons::LINK, &format!("Unlink {title}"));
    ui.scope_builder(area.layout(Layout::left_to_right(Align::Center)), button).inner.on_hover_text(text).clicked()
}

/// Draws the context menu of a row.
pub fn menu_ui(label: &Response, rows: &mut Rows<'_>, id: ParamId, spec: &ParamSpec) {
    if rows.links.is_none() || !(can_follow(spec) || can_vary(spec)) {
        return;
    }
    label.context_menu(|ui| {
        if can_vary(spec) {
            let vary = ui
                .button("Vary…")
                .on_hover_text("A sweep: runs the project for each of several values, as an experiment");
            if vary.clicked() {
                rows.vary = Some(id);
                ui.close();
            }
        }
        if !can_follow(spec) {
            return;
        }
        if rows.link(id).is_some() {
            if ui.button("Unlink (keep value)").clicked() {
                rows.unlink(id);
                ui.close();
            }
        } else if ui.button("Link to a formula…").on_hover_text("Or type = before a formula in the field").clicked() {
            let value = path::show(spec, &rows.params.get(id));
            rows.follow(id, &value);
            ui.close();
        }
    });
}

/// Draws all links of the project.
pub fn list_ui(ui: &mut Ui, project: &mut Project) {
    let mut gone = None;
    for (i, link) in project.links.iter().enumerate() {
        row::plain(ui, "Link", |ui| {
            let t = Tokens::of(ui.ctx());
            ui.label(icons::rich(icons::LINK).size(12.0).color(t.accent));
            let params = project.model.params();
            let title = titles::of_path(params, &link.path).unwrap_or_else(|| link.path.clone());
            if widgets::icon_button(ui, icons::CLOSE, &format!("Remove link of {title}")).clicked() {
                gone = Some(i);
            }
            let text = RichText::new(format!("{title} = {}", link.formula)).size(11.0);
            ui.add(egui::Label::new(text).truncate())
        });
    }
    if let Some(i) = gone {
        project.links.remove(i);
    }
}
