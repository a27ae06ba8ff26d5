//! Form for the subject and session of an NWB export, from the declarations of [`FIELDS`].

use super::{answers::Answer, title_ui};
use crate::{
    app::{
        kit::{theme::Tokens, widgets},
        shell::pages::help,
    },
    export::{About, AboutField, Format, about::FIELDS},
};
use egui::{Align, Grid, Key, Layout, Modifiers, RichText, ScrollArea, TextEdit, Ui};
use std::path::PathBuf;

/// Height of the title, the messages and the buttons around the fields, points.
const AROUND_FIELDS: f32 = 230.0;

/// Entries of the form.
pub struct NwbForm {
    /// Folder of the run.
    run: PathBuf,
    /// Texts of the fields, in their order.
    entries: Vec<String>,
    shows_help: bool,
    /// Whether the first field has had the keyboard focus.
    was_shown: bool,
}

impl NwbForm {
    /// Creates the form for a run, with proposed values.
    pub fn new(run: PathBuf, proposed: &About) -> Self {
        let entry = |field: &AboutField| proposed.get(field.name).unwrap_or_default().to_owned();
        Self { run, entries: FIELDS.iter().map(entry).collect(), shows_help: false, was_shown: false }
    }

    /// Draws the form. Returns the answer; `None` until a button is pressed.
    pub fn ui(&mut self, ui: &mut Ui) -> Option<Answer> {
        title_ui(ui, "Export as NWB");
        if ui.input_mut(|i| i.consume_key(Modifiers::NONE, Key::F1)) {
            self.shows_help = !self.shows_help;
        }
        let most = (ui.ctx().content_rect().height() - AROUND_FIELDS).max(120.0);
        ScrollArea::vertical().max_height(most).show(ui, |ui| {
            if self.shows_help {
                help::markdown_ui(ui, &help_text());
            } else {
                ui.label(widgets::sub(ui, "Archives require the fields marked with *. F1 describes all of them."));
                ui.add_space(6.0);
                self.fields_ui(ui);
            }
        });
        let about = self.about();
        let (line, color) = match &about {
            Err(why) => (plain(why), Tokens::of(ui.ctx()).warn),
            Ok(about) => (missing_text(about), Tokens::of(ui.ctx()).text_sub),
        };
        ui.add_space(6.0);
        ui.label(RichText::new(line).small().color(color));
        ui.add_space(8.0);
        ui.horizontal(|ui| {
            let name = if self.shows_help { "Back to the fields" } else { "Help" };
            if ui.button(name).on_hover_text("What the format holds, and the form of each field (F1)").clicked() {
                self.shows_help = !self.shows_help;
            }
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                let go = ui.add_enabled_ui(about.is_ok(), |ui| widgets::primary(ui, "Export NWB")).inner;
                if go.on_disabled_hover_text("A field has another form than expected").clicked() {
                    return about.ok().map(|about| Answer::ExportNwb(self.run.clone(), about));
                }
                ui.button("Cancel").clicked().then_some(Answer::Cancel)
            })
            .inner
        })
        .inner
    }

    fn fields_ui(&mut self, ui: &mut Ui) {
        let t = Tokens::of(ui.ctx());
        Grid::new("nwb fields").num_columns(2).spacing([12.0, 4.0]).show(ui, |ui| {
            for (field, entry) in FIELDS.iter().zip(&mut self.entries) {
                let mark = if field.is_required { " *" } else { "" };
                let hint = plain(&format!("{} ({})", field.docs, field.name));
                let example = if field.example.is_empty() { String::new() } else { format!("e.g. {}", field.example) };
                ui.label(format!("{}{mark}", field.title)).on_hover_text(&hint);
                ui.vertical(|ui| {
                    let text = TextEdit::singleline(entry).desired_width(f32::INFINITY).hint_text(example);
                    let response = ui.add(text).accessible_name(field.title).on_hover_text(hint);
                    if !std::mem::replace(&mut self.was_shown, true) {
                        response.request_focus();
                    }
                    if let Some(why) = field.why_not(entry) {
                        ui.label(RichText::new(plain(why)).small().color(t.warn));
                    }
                });
                ui.end_row();
            }
        });
    }

    /// Returns the entered values. Fails with a sentence about the first one that has another form.
    fn about(&self) -> Result<About, String> {
        let mut about = About::default();
        for (field, entry) in FIELDS.iter().zip(&self.entries) {
            if let Some(why) = field.why_not(entry) {
                return Err(format!("{}: {why}", field.title));
            }
            about.set(&format!("{}={entry}", field.name))?;
        }
        Ok(about)
    }
}

/// Returns a text without the marks of code, which labels do not draw.
fn plain(text: &str) -> String {
    text.replace('`', "")
}

/// Returns the sentence about required fields without a value; empty if all have one.
fn missing_text(about: &About) -> String {
    let missing = about.missing();
    let titles: Vec<&str> =
        FIELDS.iter().filter(|field| missing.contains(&field.name)).map(|field| field.title).collect();
    match titles.is_empty() {
        true => String::new(),
        false => format!("nwbinspector reports a file without {}; the export is possible", titles.join(", ")),
    }
}

/// Returns the help page of the form as Markdown.
fn help_text() -> String {
    let mut text = format!("{}\n- Read by {}\n\n# Fields\n", Format::Nwb.docs(), Format::Nwb.readers());
    for AboutField { title, docs, name, .. } in &FIELDS {
        text += &format!("- **{title}** (`{name}`): {docs}\n");
    }
    text + "\nThe values are proposed for the next export, also of other projects; those of a single run (session, start, \
            experiment) are not. A finished run and the open project do not change, so there is nothing to undo. On the command \
            line: `neuropil export RUN --format nwb --about age=P90D`."
}
