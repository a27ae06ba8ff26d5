//! Dialog of a figure: size on paper, resolution, text and theme. Its rows follow from the declaration of [`FigureSettings`].

use super::{
    Figures, offscreen,
    stage::{FigureSpec, FigureStage, INCH_MM},
};
use crate::{
    app::{
        document::figure_settings::{FigureSettings, JOURNAL_WIDTHS_MM, RESOLUTIONS_DPI},
        kit::{self, modal, theme::Tokens, widgets},
    },
    params::{ChoiceSpec, ParamGroup, ParamSpec, Value, ValueType},
};
use egui::{Align, ComboBox, DragValue, Frame, Grid, Id, Layout, Margin, Modal, Rect, RichText, Ui, vec2};

/// Numbers offered beside the field of a parameter, by its name.
const PRESETS: [(&str, &[f64]); 2] = [("width_mm", &JOURNAL_WIDTHS_MM), ("dpi", &RESOLUTIONS_DPI)];

/// State of the open dialog.
pub struct FigureDialog {
    name: String,
    settings: FigureSettings,
    /// Height over width of the panel on the screen.
    panel_aspect: f64,
}

/// Draws the dialog if it is open. The settings receive the choice when it is confirmed.
pub fn ui(
    ctx: &egui::Context,
    figures: &mut Figures,
    settings: &mut FigureSettings,
    state: Option<&egui_wgpu::RenderState>,
) {
    let Some(mut dialog) = figures.dialog.take() else { return };
    let t = Tokens::of(ctx);
    let frame = Frame::popup(&ctx.global_style()).inner_margin(Margin::same(20)).corner_radius(8).fill(t.raised);
    let max_side = offscreen::max_side(state);
    let shown = Modal::new(Id::unique("figure dialog")).frame(frame).show(ctx, |ui| {
        ui.set_width(400.0);
        dialog.ui(ui, max_side)
    });
    let should_close = modal::is_closed(&shown);
    match shown.inner {
        Some(true) => {
            let spec = FigureSpec::new(&dialog.settings, dialog.panel_aspect);
            *settings = dialog.settings;
            figures.stage = Some(FigureStage::new(dialog.name, spec));
            ctx.request_repaint();
        }
        Some(false) => {}
        None if should_close => {}
        None => figures.dialog = Some(dialog),
    }
}

impl FigureDialog {
    /// Draws the dialog. Returns `true` to export, `false` to cancel, `None` while it is open.
    fn ui(&mut self, ui: &mut Ui, max_side: u32) -> Option<bool> {
        ui.label(RichText::new("Export figure").size(16.0).family(widgets::semibold()));
        ui.add_space(6.0);
        Grid::new("figure").num_columns(2).spacing([12.0, 6.0]).show(ui, |ui| {
            for (i, spec) in FigureSettings::SPECS.iter().enumerate() {
                if self.settings.shows_field(i, &[]) {
                    row_ui(ui, &mut self.settings, i, spec);
                }
            }
        });
        let settings = &mut self.settings;
        let size = [settings.width_mm, settings.height_on_paper(self.panel_aspect)];
        let max_dpi = offscreen::max_dpi(size.map(|mm| mm as f32), max_side);
        settings.dpi = settings.dpi.min(f64::from(max_dpi));
        if !settings.font.is_bundled() {
            ui.label(widgets::sub(ui, "A PNG is drawn with Inter instead").small());
        }
        let [width, height] = size.map(|mm| kit::value((mm * 10.0).round() / 10.0));
        let [columns, rows] = size.map(|mm| (mm * settings.dpi / f64::from(INCH_MM)).round() as u64);
        let note = format!(
            "{width} × {height} mm. PNG: {} × {} pixels; in this size at most {} dpi. SVG is independent of the resolution",
            kit::thousands(columns),
            kit::thousands(rows),
            kit::thousands(max_dpi as u64)
        );
        ui.label(widgets::sub(ui, note).small());
        ui.add_space(8.0);
        let row = vec2(ui.available_width(), 26.0);
        let buttons = ui.allocate_ui_with_layout(row, Layout::right_to_left(Align::Center), |ui| {
            let exports =
                widgets::primary(ui, "Export…").on_hover_text("Draws the panel, then asks for the file").clicked();
            let cancels = ui.button("Cancel").clicked();
            (exports, cancels)
        });
        match buttons.inner {
            (true, _) => Some(true),
            (_, true) => Some(false),
            _ => None,
        }
    }
}

/// Draws a row: the label, and the widget of the parameter's type with its presets.
fn row_ui(ui: &mut Ui, settings: &mut FigureSettings, i: usize, spec: &ParamSpec) {
    let (label, docs) = (spec.label(), kit::unwrap(spec.docs));
    ui.label(label.as_ref()).on_hover_text(&docs);
    let mut value = settings.field(i);
    ui.horizontal(|ui| match (&mut value, spec.kind) {
        (Value::Real(number), _) => number_ui(ui, number, spec, &docs),
        (Value::Choice(choice), ValueType::Choice(choices)) => choice_ui(ui, choice, choices, (&label, &docs)),
        (Value::Bool(is_on), _) => drop(widgets::switch(ui, is_on, &label).on_hover_text(&docs)),
        _ => {}
    });
    ui.end_row();
    settings.set_field(i, &value);
}

fn number_ui(ui: &mut Ui, number: &mut f64, spec: &ParamSpec, docs: &str) {
    let field = DragValue::new(number).range(spec.hard.0..=spec.hard.1).speed(0.5).max_decimals(1);
    ui.add(field).on_hover_text(docs).accessible_name(spec.label());
    let presets = PRESETS.iter().find(|(name, _)| *name == spec.name).map_or(&[][..], |(_, values)| values);
    for preset in presets {
        let is_chosen = (*number - preset).abs() < 0.05;
        let text = kit::value(*preset);
        let hint = format!("{}: {text}", spec.label());
        let button = ui.selectable_label(is_chosen, &text).on_hover_text(&hint);
        if button.accessible_name(hint).clicked() {
            *number = *preset;
        }
    }
}

fn choice_ui(ui: &mut Ui, choice: &mut u16, choices: &[ChoiceSpec], (label, docs): (&str, &str)) {
    let now = choices.get(usize::from(*choice)).map(ChoiceSpec::label).unwrap_or_default();
    let combo = ComboBox::from_id_salt(label).selected_text(now).show_ui(ui, |ui| {
        widgets::raise_list(ui);
        for (i, one) in choices.iter().enumerate() {
            ui.selectable_value(choice, i as u16, one.label()).on_hover_text(kit::unwrap(one.docs));
        }
    });
    combo.response.accessible_name(label).on_hover_text(docs);
}

impl Figures {
    /// Opens the dialog for a panel with this area, with the settings of the last figure.
    pub fn open(&mut self, name: String, area: Rect, settings: &FigureSettings) {
        let panel_aspect = f64::from(area.height() / area.width().max(1.0));
        self.dialog = Some(FigureDialog { name, settings: settings.clamped(), panel_aspect });
    }
}
