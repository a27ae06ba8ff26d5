//! The command palette: every command, every parameter by its path, and `path=value` to set one.

use super::{App, commands::UiCommand, icons, text, theme::Tokens, widgets};
use crate::params::{Change, ParamId, path};
use egui::{
    Align, Align2, Area, Frame, Id, Key, Label, Layout, Margin, Modal, Order, Response, RichText, ScrollArea, Sense,
    TextEdit, Ui, vec2,
};

/// Entries shown at most.
const MAX_SHOWN: usize = 60;

/// The palette while it is open.
#[derive(Default)]
pub struct Palette {
    query: String,
    at: usize,
    opened: bool,
}

enum Entry {
    Command(UiCommand),
    Show(ParamId),
    Set(Change),
    Select(String),
    Wrong,
}

struct Row {
    entry: Entry,
    glyph: &'static str,
    text: String,
    aside: String,
    why_not: Option<&'static str>,
}

/// Draws the palette when it is open.
pub fn ui(ctx: &egui::Context, app: &mut App, queue: &mut Vec<UiCommand>) {
    let Some(mut palette) = app.palette.take() else { return };
    let rows = matches(app, &palette.query);
    let area = Area::new(Id::unique("palette")).order(Order::Foreground).anchor(Align2::CENTER_TOP, vec2(0.0, 60.0));
    let frame = Frame::popup(&ctx.global_style()).inner_margin(Margin::same(8)).corner_radius(8);
    let modal = Modal::new(Id::unique("palette modal")).area(area).frame(frame).show(ctx, |ui| {
        ui.set_width(560.0);
        palette.ui(ui, &rows)
    });
    let chosen = modal.inner;
    if chosen.is_none() && !modal.should_close() {
        app.palette = Some(palette);
    }
    if let Some(row) = chosen.and_then(|i| rows.into_iter().nth(i)) {
        take(app, row, queue);
    }
}

fn take(app: &mut App, row: Row, queue: &mut Vec<UiCommand>) {
    match row.entry {
        Entry::Command(command) => queue.push(command),
        Entry::Show(id) => {
            app.panels.inspector = true;
            app.inspector.find(&app.session.project.model.params().path(id));
        }
        Entry::Set(change) => {
            app.session.project.model.params_mut().set(&change);
        }
        Entry::Select(name) => app.select_set(&name),
        Entry::Wrong => {}
    }
}

impl Palette {
    /// Search field and list; the index of what was chosen.
    fn ui(&mut self, ui: &mut Ui, rows: &[Row]) -> Option<usize> {
        let (down, up, enter) = ui.input_mut(|i| {
            let mut key = |k| i.consume_key(egui::Modifiers::NONE, k);
            (key(Key::ArrowDown), key(Key::ArrowUp), key(Key::Enter))
        });
        let field = TextEdit::singleline(&mut self.query)
            .hint_text("Search, or type lif.tau_m=15ms")
            .desired_width(f32::INFINITY);
        let response = ui.add(field.margin(Margin::symmetric(8, 6))).accessible_name("Palette");
        if response.changed() {
            self.at = 0;
        }
        if !std::mem::replace(&mut self.opened, true) || !response.has_focus() {
            response.request_focus();
        }
        self.at = (self.at + usize::from(down)).min(rows.len().saturating_sub(1)).saturating_sub(usize::from(up));
        let mut chosen = (enter && rows.get(self.at).is_some_and(|r| r.why_not.is_none())).then_some(self.at);
        ui.add_space(4.0);
        ScrollArea::vertical().max_height(380.0).show(ui, |ui| {
            ui.spacing_mut().item_spacing.y = 0.0;
            for (i, row) in rows.iter().enumerate() {
                let response = row_ui(ui, row, i == self.at);
                if i == self.at && (up || down) {
                    response.scroll_to_me(None);
                }
                if response.clicked() && row.why_not.is_none() {
                    chosen = Some(i);
                }
            }
            if rows.is_empty() {
                ui.label(widgets::sub(ui, "Nothing has this name"));
            }
        });
        chosen
    }
}

fn row_ui(ui: &mut Ui, row: &Row, selected: bool) -> Response {
    let t = Tokens::of(ui.ctx());
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), 26.0), Sense::click());
    response.widget_info(|| {
        egui::WidgetInfo::selected(egui::accesskit::Role::Button, row.why_not.is_none(), selected, &row.text)
    });
    if selected || response.hovered() {
        ui.painter().rect_filled(rect, 4, if selected { Tokens::fade(t.accent, 0.22) } else { t.hover });
    }
    let ink = if row.why_not.is_some() { Tokens::fade(t.text_sub, 0.7) } else { t.text };
    let inner = rect.shrink2(vec2(8.0, 0.0));
    ui.scope_builder(egui::UiBuilder::new().max_rect(inner).layout(Layout::left_to_right(Align::Center)), |ui| {
        ui.label(icons::rich(row.glyph).color(t.text_sub));
        ui.label(RichText::new(&row.text).color(ink));
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            ui.add(Label::new(widgets::sub(ui, row.why_not.unwrap_or(&row.aside)).small()).truncate());
        });
    });
    response
}

/// What fits the query, best first.
fn matches(app: &App, query: &str) -> Vec<Row> {
    let params = app.session.project.model.params();
    let query = query.trim();
    if query.contains('=') {
        return vec![assignment(params, query)];
    }
    let mut found: Vec<(i32, Row)> = Vec::new();
    for command in UiCommand::all(app) {
        let text = command.text(app);
        if let Some(score) = score(&text, query) {
            let keys =
                app.keymap.of(&command).map(|s| s.format(&egui::ModifierNames::NAMES, false)).unwrap_or_default();
            let row = Row {
                glyph: command.icon(),
                why_not: command.why_not(app),
                aside: keys,
                text,
                entry: Entry::Command(command),
            };
            found.push((score, row));
        }
    }
    for id in params.ids().into_iter().filter(|_| !query.is_empty()) {
        let (Some(spec), path) = (params.spec(id), params.path(id)) else { continue };
        let best = score(&path, query).max(score(&text::first_sentence(spec.docs), query).map(|s| s - 10));
        if let (Some(score), true) = (best, params.is_shown(id)) {
            let aside = path::show(spec, &params.get(id));
            found.push((
                score - 1,
                Row { entry: Entry::Show(id), glyph: icons::SLIDERS, text: path, aside, why_not: None },
            ));
        }
    }
    for set in super::interventions::named(params).into_iter().filter(|s| !query.is_empty() && !s.name.is_empty()) {
        let text = format!("Select {}", set.name);
        if let Some(score) = score(&text, query) {
            let aside = text::first_line(&set.query);
            found.push((
                score,
                Row { entry: Entry::Select(set.name), glyph: icons::SELECTION, text, aside, why_not: None },
            ));
        }
    }
    found.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
    found.into_iter().map(|(_, row)| row).take(MAX_SHOWN).collect()
}

fn assignment(params: &dyn crate::params::Params, query: &str) -> Row {
    let (entry, text, why_not) = match path::parse(params, query) {
        Ok(change) => {
            let value = params.spec(change.id).map(|s| path::show(s, &change.value)).unwrap_or_default();
            let text = format!("Set {} to {value}", params.path(change.id));
            (Entry::Set(change), text, None)
        }
        Err(e) => (Entry::Wrong, e.to_string(), Some("")),
    };
    Row { entry, glyph: icons::SLIDERS, text, aside: String::new(), why_not }
}

/// How well a text fits: the letters in order; runs and word starts count more. `None` when they are not all there.
fn score(text: &str, query: &str) -> Option<i32> {
    let (text, query) = (text.to_lowercase(), query.to_lowercase());
    if let Some(at) = text.find(&query) {
        return Some(1000 - at as i32 * 4 - text.len() as i32);
    }
    let (mut score, mut last) = (0_i32, None);
    let letters: Vec<char> = text.chars().collect();
    let mut from = 0;
    for wanted in query.chars().filter(|c| !c.is_whitespace()) {
        let at = from + letters[from..].iter().position(|c| *c == wanted)?;
        score += if last == Some(at.wrapping_sub(1)) { 12 } else { 0 };
        score += if at == 0 || !letters[at - 1].is_alphanumeric() { 8 } else { -1 };
        last = Some(at);
        from = at + 1;
    }
    Some(score - letters.len() as i32 / 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_words_first() {
        assert!(score("lif.tau_m", "tau").unwrap() > score("Show traces, autumn", "tau").unwrap());
        assert!(score("Reset layout", "rl").is_some());
        assert_eq!(score("Run", "xyz"), None);
    }
}
