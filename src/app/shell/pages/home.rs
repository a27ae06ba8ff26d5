//! Home page: examples, recent projects and an area to drop files.

use super::examples::{self, Example};
use crate::app::{
    document::command::UiCommand,
    kit::{fonts, icons, theme::Tokens, widgets},
    shell::{
        commands::CommandState,
        queue::{Queue, ShellRequest},
    },
};
use egui::{
    Align, Button, Color32, ColorImage, CornerRadius, FontFamily, Frame, Id, Label, Layout, Margin, Rect, Response,
    RichText, ScrollArea, Sense, Stroke, StrokeKind, TextureHandle, TextureOptions, Ui, UiBuilder, WidgetInfo,
    accesskit::Role, pos2, vec2,
};
use std::{ffi::OsStr, path::Path};

/// Width of a card and of its picture, points.
const CARD: f32 = 288.0;
/// Height of a card's picture, points.
const PICTURE: f32 = 162.0;
/// Height of a card, points.
const HEIGHT: f32 = 262.0;
/// Gap between cards, points.
const GAP: f32 = 16.0;
/// Width of the column of recent projects, points.
const RECENT: f32 = 300.0;

/// Help text of the home page.
pub const HELP: &str = "# Home\n\nExamples and recent projects. A click on an example opens it; its card says how large the model is \
     and which device it needs. Drop a project, a run folder or a file of connections into the window to open or import it.";

/// Draws the home page.
pub fn ui(ui: &mut Ui, state: &CommandState<'_>, queue: &mut Queue) {
    let room = ui.available_width() - 48.0;
    let beside = room > CARD * 2.0 + GAP + RECENT + 32.0;
    let for_cards = if beside { room - RECENT - 32.0 } else { room };
    let n_columns = (((for_cards + GAP) / (CARD + GAP)) as usize).clamp(1, 3);
    let width = n_columns as f32 * (CARD + GAP) - GAP + if beside { RECENT + 32.0 } else { 0.0 };
    ScrollArea::vertical().auto_shrink(false).show(ui, |ui| {
        let left = ((ui.available_width() - width) / 2.0).max(16.0);
        ui.add_space(28.0);
        ui.horizontal_top(|ui| {
            ui.add_space(left);
            ui.vertical(|ui| {
                ui.set_width(n_columns as f32 * (CARD + GAP) - GAP);
                head_ui(ui);
                if !beside {
                    // The user's own files come first, so that they are visible without scrolling.
                    ui.columns(n_columns.min(2), |columns| {
                        let last = columns.len() - 1;
                        commands_ui(&mut columns[0], state, queue);
                        recent_ui(&mut columns[last], state, queue);
                    });
                    ui.add_space(14.0);
                }
                cards_ui(ui, n_columns, queue);
            });
            if beside {
                ui.add_space(24.0);
                ui.vertical(|ui| {
                    ui.set_width(RECENT);
                    ui.add_space(6.0);
                    commands_ui(ui, state, queue);
                    ui.add_space(14.0);
                    recent_ui(ui, state, queue);
                    ui.add_space(18.0);
                    drop_ui(ui);
                });
            }
        });
        ui.add_space(24.0);
    });
}

fn head_ui(ui: &mut Ui) {
    let t = Tokens::of(ui.ctx());
    let display = RichText::new("Neuropil").size(28.0).family(FontFamily::Name(fonts::SEMIBOLD.into()));
    ui.label(display.color(t.text_strong));
    ui.label(widgets::sub(ui, "A workbench for neural simulation. Click an example to run it."));
    ui.add_space(14.0);
}

fn cards_ui(ui: &mut Ui, n_columns: usize, queue: &mut Queue) {
    for row in examples::ALL.chunks(n_columns) {
        ui.horizontal(|ui| {
            ui.spacing_mut().item_spacing.x = GAP;
            for example in row {
                if card_ui(ui, example).clicked() {
                    queue.push(UiCommand::Example(example.name));
                }
            }
        });
        ui.add_space(GAP - ui.spacing().item_spacing.y);
    }
}

fn card_ui(ui: &mut Ui, example: &'static Example) -> Response {
    let t = Tokens::of(ui.ctx());
    let (rect, response) = ui.allocate_exact_size(vec2(CARD, HEIGHT), Sense::click());
    let verb = if example.needs_files { "Open" } else { "Run" };
    response.widget_info(|| WidgetInfo::labeled(Role::Button, true, format!("{verb} example {}", example.title)));
    if !ui.is_rect_visible(rect) {
        return response;
    }
    let hot = response.hovered() || response.has_focus();
    let (fill, line) = if hot { (t.hover, t.accent) } else { (t.panel, t.line) };
    ui.painter().rect(rect, 8, fill, Stroke::new(1.0, line), StrokeKind::Inside);
    let picture = Rect::from_min_size(rect.min, vec2(CARD, PICTURE)).shrink(1.0);
    let round = CornerRadius { nw: 7, ne: 7, sw: 0, se: 0 };
    if let Some(texture) = texture(ui.ctx(), example) {
        let uv = Rect::from_min_max(pos2(0.0, 0.0), pos2(1.0, 1.0));
        let shape = egui::epaint::RectShape::filled(picture, round, Color32::WHITE).with_texture(texture.id(), uv);
        ui.painter().add(shape);
    } else {
        ui.painter().rect_filled(picture, round, t.canvas);
        let font = egui::FontId::new(40.0, FontFamily::Name(icons::FAMILY.into()));
        let ink = Tokens::fade(t.text_sub, 0.4);
        ui.painter().text(picture.center(), egui::Align2::CENTER_CENTER, icons::DATABASE, font, ink);
    }
    if hot {
        play_mark(ui, picture, example.needs_files);
    }
    let below = Rect::from_min_max(pos2(rect.left(), picture.bottom()), rect.max).shrink2(vec2(12.0, 8.0));
    // A child `Ui` is used, because a scope would move the cursor back into the card.
    let mut inner = ui.new_child(UiBuilder::new().max_rect(below).layout(Layout::top_down(Align::LEFT)));
    inner.spacing_mut().item_spacing.y = 3.0;
    inner.label(RichText::new(example.title).family(widgets::semibold()).size(14.0).color(t.text_strong));
    inner.add(Label::new(RichText::new(example.about).color(t.text)).wrap());
    inner.with_layout(Layout::bottom_up(Align::LEFT), |ui| {
        ui.add(Label::new(widgets::sub(ui, example.facts.join(" · ")).small()).truncate());
    });
    response.on_hover_cursor(egui::CursorIcon::PointingHand)
}

/// Draws the glyph of the click action over the picture.
fn play_mark(ui: &Ui, picture: Rect, needs_files: bool) {
    let t = Tokens::of(ui.ctx());
    ui.painter().circle_filled(picture.center(), 22.0, t.accent);
    let glyph = if needs_files { icons::FOLDER } else { icons::PLAY };
    let font = egui::FontId::new(20.0, FontFamily::Name(icons::FAMILY.into()));
    ui.painter().text(picture.center(), egui::Align2::CENTER_CENTER, glyph, font, t.on_accent);
}

/// Returns the picture of an example, decoded on first use; `None` if it cannot be decoded.
fn texture(ctx: &egui::Context, example: &'static Example) -> Option<TextureHandle> {
    let id = Id::unique(("example", example.name));
    if let Some(known) = ctx.data(|d| d.get_temp::<Option<TextureHandle>>(id)) {
        return known;
    }
    let decoded = image::load_from_memory(example.picture).ok().map(|i| i.to_rgba8());
    let texture = decoded.map(|i| {
        let image = ColorImage::from_rgba_unmultiplied([i.width() as usize, i.height() as usize], i.as_raw());
        ctx.load_texture(example.name, image, TextureOptions::LINEAR)
    });
    ctx.data_mut(|d| d.insert_temp(id, texture.clone()));
    texture
}

/// Draws the commands that open, import and create projects.
fn commands_ui(ui: &mut Ui, state: &CommandState<'_>, queue: &mut Queue) {
    for command in [UiCommand::Open, UiCommand::ImportData] {
        row(ui, state, &command, queue);
    }
    for model in crate::kinds::Model::all() {
        row(ui, state, &UiCommand::New(model.name()), queue);
    }
}

/// Returns the name of a project among recent ones: its file, after its folder if others have this file name.
fn recent_name(paths: &[&Path], i: usize) -> String {
    let text = |part: Option<&OsStr>| part.unwrap_or_default().to_string_lossy().into_owned();
    let name = text(paths[i].file_stem());
    match paths.iter().filter(|path| path.file_stem() == paths[i].file_stem()).count() {
        1 => name,
        _ => format!("{} / {name}", text(paths[i].parent().and_then(Path::file_name))),
    }
}

/// Draws the recent projects.
fn recent_ui(ui: &mut Ui, state: &CommandState<'_>, queue: &mut Queue) {
    let t = Tokens::of(ui.ctx());
    ui.label(RichText::new("Recent").family(widgets::semibold()).color(t.text_strong));
    if state.around.recent.projects.is_empty() {
        ui.label(widgets::sub(ui, "Projects you open or save appear here"));
    }
    let mut forgotten = None;
    let paths: Vec<&Path> = state.around.recent.projects.iter().map(|place| &*place.path).collect();
    for (i, place) in state.around.recent.projects.iter().enumerate() {
        ui.horizontal(|ui| {
            let name = recent_name(&paths, i);
            let ink = if place.is_missing { t.text_sub } else { t.text };
            let button = Button::new((icons::rich(icons::FOLDER).color(t.text_sub), RichText::new(&name).color(ink)));
            let button = button.frame_when_inactive(false).truncate();
            let response = ui.add_enabled(!place.is_missing, button).accessible_name(format!("Open {name}"));
            let path = place.path.display().to_string();
            let gone = format!("{path}\nThe file no longer exists");
            if response.on_hover_text(&path).on_disabled_hover_text(gone).clicked() {
                queue.push(UiCommand::OpenRecent(i));
            }
            if place.is_missing {
                ui.label(RichText::new("missing").small().color(t.warn));
                if widgets::icon_button(ui, icons::CLOSE, &format!("Remove {name} from the list")).clicked() {
                    forgotten = Some(place.path.clone());
                }
            }
        });
    }
    if let Some(path) = forgotten {
        queue.ask(ShellRequest::ForgetRecent(path));
    }
}

fn drop_ui(ui: &mut Ui) {
    let t = Tokens::of(ui.ctx());
    let over = ui.input(|i| !i.raw.hovered_files.is_empty());
    let ink = if over { t.accent } else { t.text_sub };
    let (rect, _) = ui.allocate_exact_size(vec2(ui.available_width(), 96.0), Sense::hover());
    ui.painter().rect(rect, 8, t.panel, Stroke::new(1.0, if over { t.accent } else { t.line }), StrokeKind::Inside);
    ui.scope_builder(UiBuilder::new().max_rect(rect.shrink(14.0)).layout(Layout::top_down(Align::Center)), |ui| {
        ui.label(icons::rich(icons::IMPORT).size(26.0).color(ink));
        ui.label(RichText::new("Drop a project or run folder here").color(ink));
    });
}

fn row(ui: &mut Ui, state: &CommandState<'_>, command: &UiCommand, queue: &mut Queue) {
    ui.with_layout(Layout::top_down_justified(Align::LEFT), |ui| {
        let t = Tokens::of(ui.ctx());
        let keys = state.around.keymap.text(ui.ctx(), command);
        let content = (icons::rich(command.icon()).color(t.text_sub), command.text(state), egui::Atom::grow());
        let button = Button::new(content).right_text(RichText::new(keys).small().color(t.text_sub));
        let response = ui.add(button.frame_when_inactive(false).truncate()).accessible_name(command.text(state));
        if response.on_hover_text(command.tooltip()).clicked() {
            queue.push(command.clone());
        }
    });
}

/// Draws an overlay while files are dragged over the window.
pub fn hover_ui(ctx: &egui::Context) {
    if ctx.input(|i| !i.raw.hovered_files.is_empty()) {
        let t = Tokens::of(ctx);
        let area = egui::Area::new(Id::unique("drop")).order(egui::Order::Foreground).interactable(false);
        area.anchor(egui::Align2::CENTER_CENTER, vec2(0.0, 0.0)).show(ctx, |ui| {
            let frame = Frame::popup(ui.style()).inner_margin(Margin::same(24)).stroke(Stroke::new(2.0, t.accent));
            frame.show(ui, |ui| ui.heading("Drop to open"));
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recent_projects_of_one_name_have_their_folder() {
        let paths = ["/data/first/net.ron", "/data/second/net.ron", "/data/other.ron"].map(Path::new);
        assert_eq!([0, 1, 2].map(|i| recent_name(&paths, i)), ["first / net", "second / net", "other"]);
    }
}
