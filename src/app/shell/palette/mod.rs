//! Command palette: commands, parameters, settings, elements and categories of the model, runs and recent projects. `path=value`
//! sets a parameter.

mod elements;
mod entries;
mod score;

pub use elements::{SearchHit, search};

use super::queue::{Queue, ShellRequest};
use crate::app::{
    document::session::Session,
    host::recent::RecentCommands,
    kit::{icons, theme::Tokens, widgets},
};
use egui::{
    Align, Align2, Area, Frame, Id, Key, Label, Layout, Margin, Modal, Order, Response, RichText, ScrollArea, Sense,
    TextEdit, Ui, vec2,
};
pub use entries::Sources;
use entries::{Entry, Row};

/// Maximum height of the list, points.
const LIST_HEIGHT: f32 = 400.0;

/// State of the open palette.
#[derive(Default)]
pub struct Palette {
    query: String,
    at: usize,
    opened: bool,
    /// Query that was sent to the search thread. `hits` is the last result with its query.
    sent: String,
    hits: (String, Vec<SearchHit>),
}

impl Palette {
    /// Creates a palette with a query.
    pub fn with(query: &str) -> Self {
        Self { query: query.to_owned(), ..Self::default() }
    }

    /// Stores a search result, unless the query has changed since.
    pub fn set_hits(&mut self, query: String, hits: Vec<SearchHit>) {
        if query == self.sent {
            self.hits = (query, hits);
        }
    }
}

/// Draws the palette if it is open, and executes a chosen entry.
pub fn ui(
    ctx: &egui::Context,
    open: &mut Option<Palette>,
    sources: Sources<'_>,
    used: &mut RecentCommands,
    queue: &mut Queue,
) {
    let Some(mut palette) = open.take() else { return };
    let rows = entries::matching(ctx, sources, used, &palette.query, &palette.hits.1);
    let area = Area::new(Id::unique("palette")).order(Order::Foreground).anchor(Align2::CENTER_TOP, vec2(0.0, 60.0));
    let frame = Frame::popup(&ctx.global_style()).inner_margin(Margin::same(8)).corner_radius(8);
    let modal = Modal::new(Id::unique("palette modal")).area(area).frame(frame).show(ctx, |ui| {
        ui.set_width(600.0_f32.min(ctx.content_rect().width() - 60.0));
        palette.ui(ui, &rows)
    });
    palette.search(queue);
    let chosen = modal.inner;
    if chosen.is_none() && !modal.should_close() {
        *open = Some(palette);
    }
    if let Some(row) = chosen.and_then(|i| rows.into_iter().nth(i)) {
        used.add(row.text);
        execute(row.entry, &sources.state.document.session, queue);
    }
}

fn execute(entry: Entry, session: &Session, queue: &mut Queue) {
    queue.ask(match entry {
        Entry::Command(command) => return queue.push(command),
        Entry::Request(spec) => ShellRequest::Requests(spec),
        Entry::Show(path) => ShellRequest::FindParameter(path),
        Entry::SelectSet(name) => ShellRequest::SelectNamed(name),
        Entry::Group(name) => ShellRequest::ShowGroup(name),
        Entry::Set(change) => ShellRequest::Set(change),
        Entry::Setting(path) => ShellRequest::Settings(path),
        Entry::Run(folder) => ShellRequest::ShowRun(folder),
        Entry::Select(found) => select(session, &found),
        Entry::Invalid => return,
    });
}

/// Returns the request that selects a search hit.
fn select(session: &Session, found: &SearchHit) -> ShellRequest {
    match *found {
        SearchHit::Element { set, element, .. } => ShellRequest::Select(set, vec![element]),
        SearchHit::Category { set, column, code, .. } => {
            let sets = &session.live.schema.sets;
            let column = sets.iter().find(|s| s.name == set).and_then(|s| s.columns.get(column));
            let codes = column.map(|c| c.codes.as_slice()).unwrap_or_default();
            ShellRequest::Select(set, (0..codes.len() as u32).filter(|i| codes[*i as usize] == code).collect())
        }
    }
}

impl Palette {
    /// Requests a search for elements if the query has changed. One letter matches too many elements, so it has no hits.
    fn search(&mut self, queue: &mut Queue) {
        let query = self.query.trim().to_owned();
        if query == self.sent {
            return;
        }
        self.sent.clone_from(&query);
        if query.len() < 2 {
            return self.hits = Default::default();
        }
        queue.ask(ShellRequest::SearchElements(query));
    }

    /// Draws the search field and the list. Returns the index of the chosen row.
    fn ui(&mut self, ui: &mut Ui, rows: &[Row]) -> Option<usize> {
        let (down, up, enter) = ui.input_mut(|i| {
            let mut key = |k| i.consume_key(egui::Modifiers::NONE, k);
            (key(Key::ArrowDown), key(Key::ArrowUp), key(Key::Enter))
        });
        let field = TextEdit::singleline(&mut self.query)
            .hint_text("Search commands, parameters, names and ids, runs, or type parameter=value")
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
        // The list is laid out at its full height in each frame, so that a short list in the last frame does not limit it.
        ScrollArea::vertical().max_height(LIST_HEIGHT).min_scrolled_height(LIST_HEIGHT).show(ui, |ui| {
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
                ui.label(widgets::sub(ui, "No matches"));
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
    ui.scope_builder(egui::UiBuilder::new().max_rect(inner).layout(Layout::right_to_left(Align::Center)), |ui| {
        let aside = widgets::sub(ui, row.why_not.unwrap_or(&row.aside)).small();
        ui.add(Label::new(aside));
        ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
            ui.label(icons::rich(row.glyph).color(t.text_sub));
            ui.add(Label::new(RichText::new(&row.text).color(ink)).truncate());
        });
    });
    response
}
