//! The legend: categories with counts. Click hides or shows one, Alt+click shows it alone.

use super::View3d;
use crate::{
    app::views::{ViewCtx, colors, kit},
    sim::ElementSet,
};
use egui::{Align2, Rect, ScrollArea, Ui, UiBuilder, Vec2};

const WIDTH: f32 = 176.0;
const ROW: f32 = 17.0;

impl View3d {
    pub(super) fn legend_ui(&mut self, ui: &mut Ui, canvas: Rect, set: &ElementSet, ctx: &ViewCtx<'_>) {
        let Some(column) = set.column(&self.column) else { return };
        let counts = column.counts();
        let rows: Vec<usize> = (0..counts.len()).filter(|c| counts[*c] > 0).collect();
        let most = ((canvas.height() * 0.62 - 30.0) / ROW).max(3.0) as usize;
        let height = rows.len().min(most) as f32 * ROW + 28.0;
        let area = Rect::from_min_size(canvas.min + Vec2::splat(8.0), Vec2::new(WIDTH, height));
        ui.painter().rect_filled(area, 6.0, ctx.tokens.panel.gamma_multiply(0.82));
        let title = kit::spaced(&self.column);
        let at = area.min + Vec2::new(9.0, 12.0);
        ui.painter().text(at, Align2::LEFT_CENTER, title, kit::small(ui), ctx.tokens.text_sub);
        let colors = colors::of_column(column, ctx.tokens);
        let list = Rect::from_min_max(area.min + Vec2::new(2.0, 22.0), area.max - Vec2::new(2.0, 4.0));
        let mut clicked = None;
        ui.scope_builder(UiBuilder::new().max_rect(list), |ui| {
            ui.spacing_mut().item_spacing = Vec2::ZERO;
            ScrollArea::vertical().id_salt("legend").show_rows(ui, ROW, rows.len(), |ui, shown| {
                for code in &rows[shown] {
                    let label = column.labels[*code].as_str();
                    let label = if label.is_empty() { "unlabelled" } else { label };
                    let is_shown = !self.is_hidden(*code as u16);
                    let count = kit::thousands(u64::from(counts[*code]));
                    let row = kit::legend_row_ui(ui, ctx.tokens, colors[*code], label, &count, is_shown, WIDTH - 6.0);
                    if row.on_hover_text("Click: hide or show · Alt+click: only this one").clicked() {
                        clicked = Some(*code as u16);
                    }
                }
            });
        });
        if let Some(code) = clicked {
            let alone = ui.input(|i| i.modifiers.alt);
            self.toggle_class(code, &rows, alone);
        }
    }

    fn toggle_class(&mut self, code: u16, all: &[usize], alone: bool) {
        let hidden = self.hidden.entry(self.column.clone()).or_default();
        if alone {
            let others = all.iter().map(|c| *c as u16).filter(|c| *c != code).collect();
            // A second Alt+click on the only visible category shows all again.
            *hidden = if *hidden == others { Default::default() } else { others };
        } else if !hidden.remove(&code) {
            hidden.insert(code);
        }
        self.hidden_generation += 1;
    }
}
