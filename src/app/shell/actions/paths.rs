//! Paths between two elements: asked for in the context menu, listed in a window, drawn in the 3D view.

use crate::{
    app::{
        document::paths::{ElementPath, PathSearch},
        kit::{self, level::Level, theme::Tokens, widgets},
        shell::App,
        views,
    },
    sim::{ElementSet, PathQuery, Progress},
};
use egui::{Align, DragValue, Label, Layout, Rect, RichText, Ui, Vec2, Window, vec2};
use std::sync::Arc;

/// Size of the window at first, points, and its distance from the corner of the views.
const SIZE: Vec2 = Vec2::new(330.0, 280.0);
const MARGIN: f32 = 12.0;

impl App {
    /// Sets one or both ends of a path, and finds it when both are known.
    pub(crate) fn path_between(&mut self, set: &'static str, from: Option<u32>, to: Option<u32>) {
        let search = &mut self.overlays.requests.paths;
        if search.set != set {
            *search = PathSearch { set, at_least: search.at_least, longest: search.longest, ..PathSearch::default() };
        }
        (search.from, search.to) = (from.or(search.from), to.or(search.to));
        match (search.from, search.to, self.document.session.live.schema.set(set)) {
            (Some(from), Some(to), _) if from != to => self.find_path((from, to)),
            (Some(end), Some(_), Some(set)) => {
                let text = format!("{} is both ends of the path: choose another", set.label(end));
                self.messages.notify(Level::Warning, text);
            }
            (Some(end), None, Some(set)) => {
                let text = format!("Path from {}: right-click its end › Path › Path to here", set.label(end));
                self.messages.notify(Level::Info, text);
            }
            (None, Some(end), Some(set)) => {
                let text = format!("Path to {}: right-click the first one › Path › Path from here", set.label(end));
                self.messages.notify(Level::Info, text);
            }
            _ => {}
        }
    }

    fn find_path(&mut self, (from, to): (u32, u32)) {
        let Some(wiring) = self.document.session.live.schema.connectivity.clone() else { return };
        let search = &mut self.overlays.requests.paths;
        let query = PathQuery { from, to, at_least: search.at_least as f32, longest: search.longest as usize };
        let progress = Arc::new(Progress::default());
        if let Some(before) = search.progress.replace(progress.clone()) {
            before.cancel();
        }
        let set = wiring.over;
        let find = move || {
            let found = query.answer(&*wiring.connections, &progress);
            let path = found.map(|steps| ElementPath { set, ends: (from, to), steps }).map_err(|e| e.to_string());
            (progress, path)
        };
        self.job("path", find, |app, (progress, found)| app.path_found(&progress, found));
    }

    /// A search ended: one that was replaced or belongs to another simulation is dropped.
    pub(crate) fn path_found(&mut self, progress: &Arc<Progress>, found: Result<ElementPath, String>) {
        if self.overlays.requests.paths.progress.take_if(|asked| Arc::ptr_eq(asked, progress)).is_none() {
            return;
        }
        match found {
            Ok(path) => self.document.session.selection.path = Some(Arc::new(path)),
            Err(why) => self.messages.notify(Level::Warning, format!("Could not find a path: {why}")),
        }
    }

    /// Another simulation: its elements are others.
    pub(crate) fn forget_path(&mut self) {
        if let Some(progress) = self.overlays.requests.paths.progress.take() {
            progress.cancel();
        }
        (self.overlays.requests.paths.from, self.overlays.requests.paths.to, self.document.session.selection.path) =
            (None, None, None);
    }
}

/// Draws the window of the path, while there is one.
pub fn ui(ctx: &egui::Context, app: &mut App) {
    let Some(path) = app.document.session.selection.path.clone() else { return };
    let Some(set) = app.document.session.live.schema.set(path.set).cloned() else { return };
    let (mut is_open, mut again) = (true, None);
    let corner = app.panels.centre.intersect(ctx.content_rect()).right_top() + vec2(-SIZE.x - MARGIN, MARGIN + 40.0);
    let window = Window::new("Path").open(&mut is_open).default_rect(Rect::from_min_size(corner, SIZE));
    window.collapsible(false).show(ctx, |ui| {
        again = header_ui(ui, &mut app.overlays.requests.paths, &path, &set);
        ui.separator();
        let chosen = steps_ui(ui, &path, &set);
        if let Some(element) = chosen {
            app.document.session.selection.replace(path.set, vec![element]);
            views::ask_focus(ctx);
        }
    });
    if let Some((from, to)) = again {
        (app.overlays.requests.paths.from, app.overlays.requests.paths.to, app.overlays.requests.paths.set) =
            (Some(from), Some(to), path.set);
        app.find_path((from, to));
    }
    if !is_open {
        app.forget_path();
    }
}

/// Ends and limits; returns the ends of another search.
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

/// The connections in order; returns the element that was clicked.
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
                    ui.label(RichText::new(format!("→ {}", kit::value(weight.into()))).small().color(ink));
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
