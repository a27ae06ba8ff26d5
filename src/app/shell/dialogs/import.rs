//! Dialog “Import connectivity…”: files, delimiter, columns, preview and counts. The dialog writes a network to a folder
//! next to the first file.

use crate::{
    app::{
        document::command::Intent,
        kit::{
            icons, modal,
            pool::{JobEnd, PooledResult},
            text,
            theme::Tokens,
            widgets,
        },
        shell::queue::{Queue, ShellRequest},
    },
    data::import::{
        self, INHIBITORY, INHIBITORY_CONVENTION, ImportSpec, Imported, Mapping, NO_WEIGHT, PREVIEW_ROWS, Preview,
    },
    sim::Progress,
};
use egui::{Align, ComboBox, Frame, Grid, Id, Layout, Margin, Modal, ProgressBar, RichText, ScrollArea, TextEdit, Ui};
use std::path::{Path, PathBuf};

/// Maximum number of transmitters listed.
const MAX_TRANSMITTERS: usize = 8;
const DELIMITERS: [(u8, &str); 5] =
    [(b',', "Comma"), (b'\t', "Tab"), (b';', "Semicolon"), (b' ', "Space"), (b'|', "Vertical bar")];

/// Result of a job, or its error.
type Outcome<T> = Result<T, String>;

/// State of the open dialog.
pub struct Import {
    typed: String,
    delimiter: Option<u8>,
    /// Chosen columns; `None` for the columns that the preview proposes.
    mapping: Option<Mapping>,
    inhibitory: String,
    preview: PooledResult<(Vec<PathBuf>, Option<u8>), Outcome<Preview>>,
    counts: PooledResult<ImportSpec, Outcome<Imported>>,
    written: PooledResult<ImportSpec, Outcome<PathBuf>>,
    is_building: bool,
    /// Whether the field of the files has had the keyboard focus.
    was_shown: bool,
}

impl Default for Import {
    fn default() -> Self {
        Self {
            typed: String::new(),
            delimiter: None,
            mapping: None,
            inhibitory: INHIBITORY.to_owned(),
            preview: PooledResult::default(),
            counts: PooledResult::default(),
            written: PooledResult::default(),
            is_building: false,
            was_shown: false,
        }
    }
}

enum Choice {
    Browse,
    Close,
    Build(PathBuf),
}

impl Import {
    /// Adds a file to the field of the files.
    pub fn add(&mut self, file: &Path) {
        if !self.typed.trim().is_empty() {
            self.typed.push_str("; ");
        }
        self.typed.push_str(&file.display().to_string());
    }

    fn files(&self) -> Vec<PathBuf> {
        self.typed.split(';').map(str::trim).filter(|f| !f.is_empty()).map(PathBuf::from).collect()
    }

    fn spec(&self, preview: &Preview) -> ImportSpec {
        ImportSpec {
            files: self.files(),
            delimiter: preview.delimiter,
            mapping: self.mapping.clone().unwrap_or_else(|| preview.mapping.clone()),
            inhibitory: self.inhibitory.clone(),
        }
    }

    /// Starts the jobs whose inputs have changed. Returns [`Choice::Build`] when the network was written; `None` otherwise.
    fn update(&mut self, ctx: &egui::Context) -> Option<Choice> {
        let files = self.files();
        let key = (files.clone(), self.delimiter);
        if let Some(first) = files.first().cloned() {
            let delimiter = self.delimiter;
            let read = move |_: &Progress| Some(import::preview(&first, delimiter).map_err(|e| e.to_string()));
            self.preview.want(ctx, key.clone(), read);
        }
        let preview = self.preview.get().filter(|_| !self.preview.is_stale(&key)).cloned();
        let spec = self.spec(preview.as_ref().and_then(|p| p.as_ref().as_ref().ok())?);
        let for_counts = spec.clone();
        self.counts.want(ctx, spec.clone(), move |progress| {
            let watch = |what: &str, done: f32| progress.report(what, done).is_ok();
            let read = import::read(&for_counts, &watch).map_err(|e| e.to_string());
            (!progress.is_cancelled()).then_some(read)
        });
        if !self.is_building || self.counts.is_stale(&spec) {
            return None;
        }
        let imported = self.counts.get().cloned()?;
        let for_writing = spec.clone();
        self.written.want(ctx, spec.clone(), move |progress| {
            let watch = |what: &str, done: f32| progress.report(what, done).is_ok();
            let folder = network_folder(&for_writing.files);
            let imported = imported.as_ref().as_ref().map_err(Clone::clone);
            let write = |i| import::write(i, &for_writing, &folder, &watch).map_err(|e| e.to_string());
            let written = imported.and_then(write).map(|()| folder.clone());
            (!progress.is_cancelled()).then_some(written)
        });
        let written = self.written.get().filter(|_| !self.written.is_stale(&spec)).cloned();
        match written.as_ref().map(|w| w.as_ref()) {
            Some(Ok(folder)) => Some(Choice::Build(folder.clone())),
            Some(Err(_)) => {
                self.is_building = false;
                None
            }
            None => None,
        }
    }

    fn ui(&mut self, ui: &mut Ui) -> Option<Choice> {
        let mut choice = None;
        ui.label(RichText::new("Import connectivity").size(16.0).family(widgets::semibold()));
        ui.label(widgets::sub(ui, "A table with one connection per row: text, plain or as .gz, or Parquet"));
        ui.add_space(6.0);
        ui.horizontal(|ui| {
            ui.label("Files");
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                if ui.button("Choose…").clicked() {
                    choice = Some(Choice::Browse);
                }
                let field = TextEdit::singleline(&mut self.typed).hint_text("connections.csv; more.csv");
                let field = ui.add(field.desired_width(ui.available_width())).accessible_name("Import files");
                if !std::mem::replace(&mut self.was_shown, true) {
                    field.request_focus();
                }
                if field.changed() {
                    self.mapping = None;
                }
            });
        });
        let preview = self.preview.get().cloned();
        match preview.as_ref().map(|p| p.as_ref()) {
            Some(Ok(preview)) if !self.files().is_empty() => {
                self.columns_ui(ui, preview);
                preview_ui(ui, preview, &self.spec(preview).mapping);
                self.counts_ui(ui, &self.spec(preview));
            }
            Some(Err(why)) if !self.files().is_empty() => error_ui(ui, why),
            _ => {}
        }
        ui.add_space(8.0);
        ui.allocate_ui_with_layout(
            egui::vec2(ui.available_width(), 26.0),
            Layout::right_to_left(Align::Center),
            |ui| {
                let is_counted = self.counts.get().is_some_and(|c| c.is_ok()) && !self.counts.is_busy();
                let is_ready = is_counted && !self.is_building;
                let build = ui.add_enabled_ui(is_ready, |ui| widgets::primary(ui, "Build")).inner;
                if build.on_disabled_hover_text("Choose files with connections first").clicked() {
                    self.is_building = true;
                    self.written.retry();
                }
                if ui.button("Cancel").clicked() {
                    choice = Some(Choice::Close);
                }
                if let Some(done) = self.written.progress() {
                    ui.add(ProgressBar::new(done).desired_width(160.0).desired_height(6.0));
                }
            },
        );
        choice
    }

    fn columns_ui(&mut self, ui: &mut Ui, preview: &Preview) {
        let mut mapping = self.spec(preview).mapping;
        let before = mapping.clone();
        Grid::new("import columns").num_columns(4).spacing([12.0, 4.0]).show(ui, |ui| {
            let is_text =
                !self.files().iter().all(|f| f.extension().is_some_and(|e| e.eq_ignore_ascii_case("parquet")));
            ui.label("Delimiter");
            let name = |d: u8| DELIMITERS.iter().find(|(known, _)| *known == d).map_or("Other", |(_, name)| *name);
            ui.add_enabled_ui(is_text, |ui| {
                let shown = if is_text { name(preview.delimiter) } else { "None" };
                let shown = ComboBox::from_id_salt("delimiter").selected_text(shown).show_ui(ui, |ui| {
                    widgets::raise_list(ui);
                    for (delimiter, name) in DELIMITERS {
                        if ui.selectable_label(preview.delimiter == delimiter, name).clicked() {
                            (self.delimiter, self.mapping) = (Some(delimiter), None);
                        }
                    }
                });
                shown.response.accessible_name("Delimiter");
            });
            ui.label("Inhibitory transmitters");
            let field = TextEdit::singleline(&mut self.inhibitory).desired_width(180.0);
            let field = ui.add_enabled(mapping.transmitter.is_some(), field).on_hover_text(INHIBITORY_CONVENTION);
            field.accessible_name("Inhibitory transmitters");
            ui.end_row();
            column_ui(ui, preview, "Source", &mut mapping.source);
            column_ui(ui, preview, "Target", &mut mapping.target);
            ui.end_row();
            optional_ui(ui, preview, "Weight", "one synapse per row", &mut mapping.weight);
            optional_ui(ui, preview, "Transmitter", "sign of the weight", &mut mapping.transmitter);
            ui.end_row();
        });
        if mapping.transmitter.is_some() && self.inhibitory == INHIBITORY {
            ui.label(widgets::sub(ui, format!("Signs: {INHIBITORY_CONVENTION}")).small());
        }
        if mapping.weight.is_none() {
            warning_ui(ui, NO_WEIGHT);
        }
        if mapping != before {
            self.mapping = Some(mapping);
        }
    }

    fn counts_ui(&mut self, ui: &mut Ui, spec: &ImportSpec) {
        if let Some(done) = self.counts.progress() {
            ui.horizontal(|ui| {
                ui.add(ProgressBar::new(done).desired_width(200.0).desired_height(6.0));
                ui.label(widgets::sub(ui, "Reading connections"));
                if ui.small_button("Stop").clicked() {
                    self.counts.stop();
                }
            });
            return;
        }
        match (self.counts.ended(), self.counts.get().filter(|_| !self.counts.is_stale(spec)).map(|c| c.as_ref())) {
            (Some(JobEnd::Stopped), _) => {
                if ui.button("Read again").clicked() {
                    self.counts.retry();
                }
            }
            (Some(JobEnd::Failed(why)), _) | (None, Some(Err(why))) => error_ui(ui, why),
            (None, Some(Ok(imported))) => {
                ui.label(counts_text(imported));
                if !imported.transmitters.is_empty() {
                    let each = imported.transmitters.iter().take(MAX_TRANSMITTERS);
                    let each: Vec<String> = each
                        .map(|(name, n)| {
                            let sign = if import::is_inhibitory(&spec.inhibitory, name) { "−" } else { "+" };
                            format!("{name} {} ({sign})", text::count(*n))
                        })
                        .collect();
                    ui.label(widgets::sub(ui, format!("Rows by transmitter: {}", each.join(", "))).small());
                }
                let folder = network_folder(&spec.files);
                ui.label(widgets::sub(ui, format!("Written to {}", folder.display())).small());
            }
            (None, None) => drop(ui.spinner()),
        }
        if let Some(Err(why)) = self.written.get().map(|w| w.as_ref()) {
            error_ui(ui, why);
        }
    }
}

/// Formats the counts: `3 neurons, 4 connections, 11 synapses, 2 inhibitory connections, from 4 rows`.
fn counts_text(imported: &Imported) -> String {
    format!(
        "{}, {}, {}, {}, from {}",
        text::counted(imported.ids.len() as u64, "neurons"),
        text::counted(imported.connections.len() as u64, "connections"),
        text::counted(imported.n_synapses, "synapses"),
        text::counted(imported.n_inhibitory, "inhibitory connections"),
        text::counted(imported.n_rows, "rows")
    )
}

fn error_ui(ui: &mut Ui, why: &str) {
    message_ui(ui, icons::ERROR, Tokens::of(ui.ctx()).error, why);
}

fn warning_ui(ui: &mut Ui, what: &str) {
    message_ui(ui, icons::WARNING, Tokens::of(ui.ctx()).warn, what);
}

fn message_ui(ui: &mut Ui, icon: &str, color: egui::Color32, text: &str) {
    ui.horizontal_wrapped(|ui| {
        ui.label(icons::rich(icon).color(color));
        ui.label(RichText::new(text).color(color));
    });
}

fn column_ui(ui: &mut Ui, preview: &Preview, label: &str, chosen: &mut usize) {
    ui.label(label);
    let name = |at: usize| preview.columns.get(at).map_or("—", String::as_str);
    let combo = ComboBox::from_id_salt(label).selected_text(name(*chosen)).show_ui(ui, |ui| {
        widgets::raise_list(ui);
        (0..preview.columns.len()).for_each(|at| drop(ui.selectable_value(chosen, at, name(at))));
    });
    combo.response.accessible_name(format!("{label} column"));
}

fn optional_ui(ui: &mut Ui, preview: &Preview, label: &str, hint: &str, chosen: &mut Option<usize>) {
    ui.label(label).on_hover_text(hint);
    let name = |at: Option<usize>| at.and_then(|at| preview.columns.get(at)).map_or("None", String::as_str);
    let combo = ComboBox::from_id_salt(label).selected_text(name(*chosen)).show_ui(ui, |ui| {
        widgets::raise_list(ui);
        ui.selectable_value(chosen, None, "None");
        (0..preview.columns.len()).for_each(|at| drop(ui.selectable_value(chosen, Some(at), name(Some(at)))));
    });
    combo.response.accessible_name(format!("{label} column"));
}

fn preview_ui(ui: &mut Ui, preview: &Preview, mapping: &Mapping) {
    let t = Tokens::of(ui.ctx());
    let is_used = |at: usize| {
        at == mapping.source || at == mapping.target || mapping.weight == Some(at) || mapping.transmitter == Some(at)
    };
    ui.add_space(6.0);
    ui.label(
        widgets::sub(ui, format!("First {}", text::plural(preview.rows.len().min(PREVIEW_ROWS), "row", "rows")))
            .small(),
    );
    Frame::new().fill(t.canvas).inner_margin(Margin::same(6)).corner_radius(4).show(ui, |ui| {
        ScrollArea::both().max_height(220.0).auto_shrink(false).show(ui, |ui| {
            Grid::new("import preview").num_columns(preview.columns.len()).spacing([14.0, 2.0]).show(ui, |ui| {
                for (at, name) in preview.columns.iter().enumerate() {
                    let ink = if is_used(at) { t.accent } else { t.text_sub };
                    ui.label(RichText::new(name).small().color(ink));
                }
                ui.end_row();
                for row in &preview.rows {
                    for (at, cell) in row.iter().enumerate() {
                        let ink = if is_used(at) { t.text } else { t.text_sub };
                        ui.label(RichText::new(cell).monospace().size(11.0).color(ink));
                    }
                    ui.end_row();
                }
            });
        });
    });
}

/// Returns the folder of the converted network, next to the first file.
fn network_folder(files: &[PathBuf]) -> PathBuf {
    let first = files.first().map_or(Path::new("connections"), |f| f.as_path());
    let name = first.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let stem = name.split('.').next().unwrap_or("connections");
    first.with_file_name(format!("{stem}-network"))
}

/// Draws the dialog if it is open. With `is_covered`, the file dialog is drawn over it.
pub fn ui(ctx: &egui::Context, open: &mut Option<Import>, is_covered: bool, queue: &mut Queue) {
    let Some(mut import) = open.take() else { return };
    let built = import.update(ctx);
    let t = Tokens::of(ctx);
    let frame = Frame::popup(&ctx.global_style()).inner_margin(Margin::same(20)).corner_radius(8).fill(t.raised);
    let shown = Modal::new(Id::unique("import")).frame(frame).show(ctx, |ui| {
        ui.set_width(640.0_f32.min(ctx.content_rect().width() - 60.0));
        import.ui(ui)
    });
    let closes = modal::is_closed(&shown) && !is_covered && !egui::Popup::is_any_open(ctx);
    match built.or(shown.inner) {
        Some(Choice::Close) => {}
        Some(Choice::Build(folder)) => queue.ask(ShellRequest::Intent(Intent::Import(folder))),
        Some(Choice::Browse) => {
            *open = Some(import);
            queue.ask(ShellRequest::BrowseImport);
        }
        None if closes => {}
        None => *open = Some(import),
    }
}
