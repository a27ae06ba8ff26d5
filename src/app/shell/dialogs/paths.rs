//! Window with the path between two elements. The context menu requests a path, and the 3D view draws it.

use crate::{
    app::{
        document::{
            paths::{ElementPath, PathSearch},
            selection::Selection,
            session::Session,
        },
        kit::{self, theme::Tokens, widgets},
        shell::queue::{Queue, ShellRequest},
    },
    sim::ElementSet,
};
use egui::{Align, DragValue, Label, Layout, Rect, RichText, Ui, Vec2, Window, vec2};

/// Initial size of the window, points, and its distance from the corner of the views.
const SIZE: Vec2 = Vec2::new(330.0, 280.0);
const MARGIN: f32 = 12.0;

/// Removes the path and cancels its search, because another simulation has other elements.
pub fn forget(search: &mut PathSearch, selection: &mut Selection) {
    if let Some(progress) = search.progress.take() {
        progress.cancel();
    }
    (search.from, search.to, selection.path) = (None, None, None);
}

/// Draws the window of the path if a path exists.
pub fn ui(ctx: &egui::Context, search: &mut PathSearch, session: &mut Session, views: Rect, queue: &mut Queue) {
    let Some(path) = session.selection.path.clone() else { return };
    let Some(set) = session.live.schema.set(path.set).cloned() else { return };
    let (mut is_open, mut again) = (true, None);
    let corner = views.intersect(ctx.content_rect()).right_top() + vec2(-SIZE.x - MARGIN, MARGIN + 40.0);
    let window = Window::new("Path").open(&mut is_open).default_rect(Rect::from_min_size(corner, SIZE));
    window.show(ctx, |ui| {
        again = header_ui(ui, search, &path, &set);
        ui.separator();
        let chosen = steps_ui(ui, &path, &set);
        if let Some(element) = chosen {
            queue.ask(ShellRequest::Select(path.set, vec![element]));
        }
    });
    if let Some(ends) = again {
        queue.ask(ShellRequest::Path(path.set, ends));
    }
    if !is_open {
        forget(search, &mut session.selection);
    }
}

/// Draws the ends and limits of the path. Returns the ends of the next search if the user reversed the path or changed a
/// limit; `None` otherwise.
fn header_ui(ui: &mut Ui, search: &mut PathSearch, path: &ElementPath, set: &ElementSet) -> Option<(u32, u32)> {
    let t = Tokens::of(ui.ctx());
    let (from, to) = path.ends;
    let title = RichText::new(format!("{} → {}", set.label(from), set.label(to))).strong().color(t.text_strong);
    let row = |ui: &mut Ui| {
        let reverse = ui.small_button("Reverse").on_hover_text("The path in the other direction").clicked();
        ui.with_layout(Layout::left_to_right(Align::Center), |ui| ui.add(Label::new(title).truncate()));
        reverse
    };
    let reverse = ui.horizontal(|ui| ui.with_layout(Layout::right_to_left(Align::Center), row).inner).inner;
    let before = (search.at_least, search.longest);
    ui.horizontal(|ui| {
        ui.label(widgets::sub(ui, "Min. synapses"));
        let least = DragValue::new(&mut search.at_least).range(1..=1_000_000);
        ui.add(least).accessible_name("Minimum synapses").on_hover_text("Weaker connections do not count");
        ui.label(widgets::sub(ui, "Max. length"));
        let longest = DragValue::new(&mut search.longest).range(1..=1000);
        ui.add(longest).accessible_name("Maximum length").on_hover_text("Connections of the path");
    });
    match (reverse, before != (search.at_least, search.longest)) {
        (true, _) => Some((to, from)),
        (false, true) => Some((from, to)),
        (false, false) => None,
    }
}

/// Draws the connections in order. Returns the element that was clicked; `None` without a click.
fn steps_ui(ui: &mut Ui, path: &ElementPath, set: &ElementSet) -> Option<u32> {
    let t = Tokens::of(ui.ctx());
    if path.steps.is_empty() {
        ui.label("There is no such path. Lower the minimum, or allow a longer path");
        return None;
    }
    let mut chosen = None;
    egui::ScrollArea::vertical().auto_shrink([false, true]).show(ui, |ui| {
        let first = path.steps[0].from;
        let rows = std::iter::once((first, None)).chain(path.steps.iter().map(|step| (step.to, Some(step.weight))));
        for (element, weight) in rows {
            ui.horizontal(|ui| {
                if let Some(weight) = weight {
                    let ink = if weight < 0.0 { t.inhibitory } else { t.excitatory };
                    ui.label(RichText::new(format!("→ {}", kit::value(weight))).small().color(ink));
                }
                let name = set.label(element);
                if ui.link(&name).on_hover_text("Select and show in the 3D view").clicked() {
                    chosen = Some(element);
                }
            });
        }
    });
    chosen
}
