//! Table of the statistics of compared runs, and of the parameters by which they differ.

use super::{Compare, Line, differences::differences};
use crate::app::{kit, views::ViewCtx};
use egui::{Align, Label, Layout, Rect, RichText, Sense, Ui, UiBuilder, vec2};
use egui_extras::{Column, TableBuilder};

/// Heights of a row and of the header, points.
const ROW: f32 = 20.0;
const HEAD: f32 = 24.0;
/// Space between rows, points.
const GAP: f32 = 2.0;
/// Height of the horizontal scroll bar, points.
const BAR: f32 = 12.0;
/// Widths of columns, points: name, number, parameter.
const WIDTHS: [f32; 3] = [170.0, 84.0, 190.0];

/// Number of columns with numbers after the name.
const NUMBERS: usize = 5;

/// Returns the height of a table with this number of rows, points.
pub(super) fn height(rows: usize) -> f32 {
    HEAD + (rows as f32 + 0.5) * (ROW + GAP) + BAR
}

impl Compare {
    pub(super) fn table_ui(&self, ui: &mut Ui, area: Rect, ctx: &ViewCtx<'_>, lines: &[Line], pointer: Option<f64>) {
        ui.painter().hline(area.x_range(), area.top(), (1.0, ctx.tokens.line));
        let runs: Vec<_> = lines.iter().filter(|l| l.folder.is_some()).map(|l| l.series.params.as_ref()).collect();
        let differing = differences(&runs);
        let value = if pointer.is_some() { "At pointer" } else { "Last" };
        let heads = ["Run", value, "Difference", "Mean", "Lowest", "Highest"].map(str::to_owned);
        let heads: Vec<String> = heads.into_iter().chain(differing.iter().map(|(name, _)| name.clone())).collect();
        let values: Vec<f32> = lines.iter().map(|line| self.value(line, pointer)).collect();
        let cells = |i: usize| -> Vec<String> {
            let line = &lines[i];
            let summary = line.series.summaries.get(self.lane).copied().unwrap_or_default();
            let number = |v: f32| if v.is_finite() { kit::reading(v) } else { String::new() };
            let (unit, last) = (self.unit(line), line.series.steps.1 as f64);
            let summary = [summary.mean(), summary.min, summary.max]
                .map(|v| if v.is_finite() { number(unit.convert(v.into(), last) as f32) } else { String::new() });
            let delta = if i == 0 { String::new() } else { number(values[i] - values[0]) };
            let mut cells = [vec![number(values[i]), delta], summary.to_vec()].concat();
            let of_run = |(_, values): &(String, Vec<String>)| values.get(i).cloned().unwrap_or_default();
            cells.extend(differing.iter().map(of_run));
            cells
        };
        ui.scope_builder(UiBuilder::new().max_rect(area.shrink2(vec2(8.0, 2.0))), |ui| {
            kit::solid_scroll_bars(ui);
            ui.spacing_mut().item_spacing.y = GAP;
            egui::ScrollArea::horizontal().id_salt("compared").show(ui, |ui| {
                let mut table = TableBuilder::new(ui).id_salt("compared runs").sense(Sense::hover());
                for i in 0..heads.len() {
                    let width = match i {
                        0 => WIDTHS[0],
                        1..=NUMBERS => WIDTHS[1],
                        _ => WIDTHS[2],
                    };
                    table = table.column(Column::initial(width).at_least(48.0).clip(true).resizable(true));
                }
                let table = table.min_scrolled_height(0.0).header(HEAD, |mut header| {
                    for (i, head) in heads.iter().enumerate() {
                        let text = RichText::new(head).small().color(ctx.tokens.text_sub);
                        header.col(|ui| drop(aligned(ui, i, Label::new(text).truncate())));
                    }
                });
                table.body(|body| {
                    body.rows(ROW, lines.len(), |mut row| {
                        let i = row.index();
                        row.col(|ui| drop(ui.horizontal_centered(|ui| name_ui(ui, ctx, &lines[i]))));
                        for (column, text) in cells(i).into_iter().enumerate() {
                            let text = RichText::new(text).monospace().color(ctx.tokens.text);
                            row.col(|ui| drop(aligned(ui, column + 1, Label::new(text).truncate())));
                        }
                    });
                });
            });
        });
    }

    /// Returns the value at the pointer, or the last one without a pointer; NaN if there is none.
    fn value(&self, line: &Line, pointer: Option<f64>) -> f32 {
        let (first, last) = (line.series.steps.0 as f64, line.series.steps.1 as f64);
        let step = pointer.map_or(last, |amount| line.step_at(amount));
        let value = match pointer {
            _ if line.problem.is_some() => None,
            Some(_) => line.series.samples.at(self.lane, step).filter(|_| (first..=last).contains(&step)),
            None => line.series.samples.last(self.lane),
        };
        value.map_or(f32::NAN, |value| self.unit(line).convert(value.into(), step) as f32)
    }
}

/// Adds a label: numbers are right-aligned, texts left-aligned.
fn aligned(ui: &mut Ui, column: usize, label: Label) -> egui::Response {
    let layout = match (1..=NUMBERS).contains(&column) {
        true => Layout::right_to_left(Align::Center),
        false => Layout::left_to_right(Align::Center),
    };
    ui.with_layout(layout, |ui| ui.add(label.selectable(false))).inner
}

fn name_ui(ui: &mut Ui, ctx: &ViewCtx<'_>, line: &Line) {
    kit::swatch_ui(ui, line.color, line.problem.is_none());
    let text = match &line.problem {
        None => RichText::new(&line.name).color(ctx.tokens.text),
        Some(why) => RichText::new(format!("{}: {why}", line.name)).color(ctx.tokens.text_sub),
    };
    ui.add(Label::new(text).truncate().selectable(false));
}
