//! Tags of runs: chips in the table, and the menu that sets them on all marked runs.

use crate::app::{
    document::library::{Library, Run},
    kit::{colors, icons, text, theme::Tokens, widgets},
    views::ViewCtx,
};
use egui::{
    Align, Button, Color32, CornerRadius, Frame, Key, Layout, Margin, PopupCloseBehavior, RichText, TextEdit, Ui,
};
use std::path::PathBuf;

/// Width of the menu, points.
const WIDTH: f32 = 190.0;

/// New tag that is being typed, and the reason why it is not accepted.
#[derive(Default)]
pub struct TagField {
    text: String,
    problem: Option<String>,
}

/// Returns the colour of a tag, which its name determines.
fn color(tag: &str, t: &Tokens) -> Color32 {
    let hash = tag
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    colors::of_number(hash, t)
}

/// Draws the tags of a run and the button of the menu.
pub fn cell_ui(ui: &mut Ui, ctx: &mut ViewCtx<'_>, field: &mut TagField, run: &Run) {
    ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
        ui.spacing_mut().item_spacing.x = 3.0;
        let all = run.labels.tags.join(", ");
        for tag in &run.labels.tags {
            chip_ui(ui, ctx.tokens, tag).on_hover_text(&all);
        }
        if !run.notices.is_empty() {
            let text = RichText::new("unreadable").small().color(ctx.tokens.warn);
            ui.label(text).on_hover_text(run.notices.join("\n"));
        }
        button_ui(ui, ctx, field, run);
    });
}

/// Draws the button of the menu.
fn button_ui(ui: &mut Ui, ctx: &mut ViewCtx<'_>, field: &mut TagField, run: &Run) {
    let ink = Tokens::fade(ctx.tokens.text_sub, if run.labels.tags.is_empty() { 0.7 } else { 0.4 });
    let button = ui.add(Button::new(icons::rich(icons::PLUS).size(10.0).color(ink)).frame(false).small());
    let hint = "Sets tags; on all marked runs if this one is marked";
    let button = button.accessible_name(format!("Tags of {}", run.name)).on_hover_text(hint);
    egui::Popup::menu(&button).close_behavior(PopupCloseBehavior::CloseOnClickOutside).show(|ui| {
        menu_ui(ui, ctx, field, run, button.clicked());
    });
}

fn chip_ui(ui: &mut Ui, t: &Tokens, tag: &str) -> egui::Response {
    let color = color(tag, t);
    let margin = Margin::symmetric(4, 0);
    let frame = Frame::new().fill(Tokens::fade(color, 0.18)).corner_radius(CornerRadius::same(4)).inner_margin(margin);
    let chip = frame.show(ui, |ui| {
        ui.spacing_mut().item_spacing.x = 3.0;
        ui.label(RichText::new("●").size(8.0).color(color));
        ui.add(egui::Label::new(RichText::new(tag).small().color(t.text)).selectable(false));
    });
    chip.response
}

/// Draws the menu: a box per known tag, and a field for new ones. Edits apply to all marked runs if this run is marked. The
/// field has the focus if the menu was just opened by a click.
pub fn menu_ui(ui: &mut Ui, ctx: &mut ViewCtx<'_>, field: &mut TagField, run: &Run, is_opened: bool) {
    ui.set_width(WIDTH);
    let targets = ctx.runs.marked_with(&run.folder);
    let name =
        if targets.len() == 1 { run.name.clone() } else { text::plural(targets.len(), "marked run", "marked runs") };
    ui.add(egui::Label::new(widgets::sub(ui, format!("Tags of {name}")).small()).truncate());
    for tag in ctx.runs.tags() {
        known_ui(ui, ctx.runs, &targets, &tag, ctx.tokens);
    }
    new_ui(ui, ctx.runs, field, &targets, is_opened);
    if let Some(why) = &field.problem {
        ui.label(RichText::new(why).small().color(ctx.tokens.error));
    }
}

/// Draws the box of a known tag: set if all runs have the tag, undetermined if only some have it.
fn known_ui(ui: &mut Ui, library: &mut Library, targets: &[PathBuf], tag: &str, t: &Tokens) {
    let n = library.runs.iter().filter(|run| targets.contains(&run.folder) && run.has_tag(tag)).count();
    let mut is_set = n == targets.len();
    let text = RichText::new(tag).color(t.text);
    let label = if n > 0 && !is_set { text.italics() } else { text };
    ui.horizontal(|ui| {
        ui.label(RichText::new("●").small().color(color(tag, t)));
        let entry = ui.add(egui::Checkbox::new(&mut is_set, label).indeterminate(n > 0 && n < targets.len()));
        if entry.on_hover_text(format!("{n} of {} have this tag", targets.len())).changed() {
            library.set_tag(targets, tag, is_set);
        }
    });
}

/// Draws the field for new tags; Enter adds them.
fn new_ui(ui: &mut Ui, library: &mut Library, field: &mut TagField, targets: &[PathBuf], is_opened: bool) {
    let edit = TextEdit::singleline(&mut field.text).hint_text("New tag, Enter").desired_width(WIDTH - 12.0);
    let edit = edit.margin(widgets::FIELD_MARGIN);
    let hint = "Enter adds the tag; spaces separate several";
    let response = ui.add(edit).on_hover_text(hint).accessible_name("New tag");
    if is_opened {
        response.request_focus();
    }
    if response.changed() {
        field.problem = None;
    }
    if !response.lost_focus() || !ui.input(|i| i.key_pressed(Key::Enter)) {
        return;
    }
    match crate::project::labels::parse_tags(&field.text) {
        Ok(tags) => {
            tags.iter().for_each(|tag| library.set_tag(targets, tag, true));
            *field = TagField::default();
        }
        Err(why) => field.problem = Some(why),
    }
    response.request_focus();
}
