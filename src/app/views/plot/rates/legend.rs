//! Legends of the rates view: rows right of a chart, or a row of names above a narrow one.

use super::{LEGEND_ROW, NARROW, Rates, chart::Curve};
use crate::{
    app::{
        kit::{self, theme::Tokens},
        views::ViewCtx,
    },
    engine::SimSchema,
    sim::ProbeId,
};
use egui::{Color32, Rect, Ui, Vec2, pos2};

/// Maximum width of a legend: a fraction of the view's width, and points.
const LEGEND: (f32, f32) = (0.25, 176.0);
/// Width of a legend row in addition to its name, points: the dot and the value.
const LEGEND_ROW_EXTRA: f32 = 80.0;
/// Width of a name above a chart in addition to its text, points: dot and margins.
const NAME_EXTRA: f32 = 32.0;
/// Width of the value after a name above a chart, points.
const VALUE_WIDTH: f32 = 44.0;
/// Width of the label that counts names without room, points.
const MORE_WIDTH: f32 = 56.0;
const LANE_HINT: &str = "Click: hide or show · Alt+click: show only this one";

impl Rates {
    /// Returns the width of the legends right of the plots, points; that of a margin if there is no room for legends.
    pub(super) fn legend_width(&self, ui: &Ui, charts: &[Vec<ProbeId>], schema: &SimSchema, width: f32) -> f32 {
        // The names of several probes are above their chart.
        let alone = charts.iter().filter(|probes| probes.len() == 1).flatten();
        let names = alone.filter_map(|p| schema.lanes.get(usize::from(*p))).filter(|l| l.len() > 1).flatten();
        let font = kit::small(ui);
        let measure = |name: &String| {
            ui.painter().layout_no_wrap((*name).to_owned(), font.clone(), Color32::WHITE).size().x + LEGEND_ROW_EXTRA
        };
        let counted = self.psth.is_shown.then_some(LEGEND.1);
        let needed = names.map(measure).chain(counted).fold(0.0, f32::max);
        let room = (width * LEGEND.0).min(LEGEND.1);
        if needed == 0.0 || room < NARROW { 12.0 } else { needed.min(room).max(NARROW) }
    }

    pub(super) fn legend_ui(&mut self, ui: &mut Ui, area: Rect, rows: &[(Curve, Option<f32>)], ctx: &ViewCtx<'_>) {
        let Some(id) = rows.first().map(|(curve, _)| curve.key.0) else { return };
        // Only whole rows are drawn; the tooltip of the last one lists the names without room.
        let n_fitting = ((area.height() / LEGEND_ROW) as usize).max(1);
        let n_shown = if rows.len() > n_fitting { n_fitting - 1 } else { rows.len() };
        if n_shown < rows.len() {
            let hidden: Vec<String> = rows[n_shown..].iter().map(|(curve, _)| curve.name.clone()).collect();
            let at = Rect::from_min_size(
                area.min + Vec2::new(18.0, n_shown as f32 * LEGEND_ROW),
                Vec2::new(area.width() - 18.0, LEGEND_ROW),
            );
            let more = egui::RichText::new(format!("+{} more", hidden.len())).small().color(ctx.tokens.text_sub);
            ui.place(at, egui::Label::new(more).truncate()).on_hover_text(hidden.join("\n"));
        }
        let area = area.with_max_y(area.top() + n_shown as f32 * LEGEND_ROW);
        let width = area.width() - 6.0;
        ui.scope_builder(egui::UiBuilder::new().max_rect(area).id_salt(("legend", id)), |ui| {
            ui.spacing_mut().item_spacing = Vec2::ZERO;
            egui::ScrollArea::vertical().id_salt(id).show_rows(ui, LEGEND_ROW, n_shown, |ui, range| {
                for (curve, value) in &rows[range] {
                    let text = value.map_or_else(|| "—".into(), kit::reading);
                    self.row_ui(ui, curve, &text, width, rows, ctx.tokens);
                }
            });
        });
    }

    /// Draws the row of a curve, which a click hides or shows.
    fn row_ui(
        &mut self,
        ui: &mut Ui,
        curve: &Curve,
        text: &str,
        width: f32,
        rows: &[(Curve, Option<f32>)],
        tokens: &Tokens,
    ) {
        let shown = !self.hidden_lanes.contains(&curve.key);
        let row = kit::legend_row_ui(ui, tokens, curve.color, &curve.name, text, shown, width);
        if row.on_hover_text(format!("{}\n{LANE_HINT}", curve.name)).clicked() {
            let alone = ui.input(|i| i.modifiers.alt);
            self.toggle_curve(curve.key, rows, alone);
        }
    }

    /// Draws the legend of a narrow chart: a row of names, with values if there is room.
    pub(super) fn names_ui(
        &mut self,
        ui: &mut Ui,
        row: Rect,
        rows: &[(Curve, Option<f32>)],
        has_values: bool,
        tokens: &Tokens,
    ) {
        let font = kit::small(ui);
        let mut left = row.left();
        for (i, (curve, value)) in rows.iter().enumerate() {
            let text = ui.painter().layout_no_wrap(curve.name.clone(), font.clone(), tokens.text);
            let value = value.filter(|_| has_values).map_or_else(String::new, kit::reading);
            let extra = if value.is_empty() { 0.0 } else { VALUE_WIDTH };
            let width = text.size().x + NAME_EXTRA + extra;
            let rest = if i + 1 < rows.len() { MORE_WIDTH } else { 0.0 };
            if left + width + rest > row.right() {
                let hidden: Vec<&str> = rows[i..].iter().map(|(curve, _)| curve.name.as_str()).collect();
                let at = Rect::from_min_max(pos2(left, row.top()), row.max);
                let more = egui::RichText::new(format!("+{} more", hidden.len())).small().color(tokens.text_sub);
                ui.put(at, egui::Label::new(more).truncate()).on_hover_text(hidden.join("\n"));
                break;
            }
            let rect = Rect::from_min_size(pos2(left, row.top()), Vec2::new(width, row.height()));
            left += width;
            ui.scope_builder(egui::UiBuilder::new().max_rect(rect).id_salt(("name", curve.key)), |ui| {
                self.row_ui(ui, curve, &value, width, rows, tokens);
            });
        }
    }

    fn toggle_curve(&mut self, key: (ProbeId, usize), rows: &[(Curve, Option<f32>)], alone: bool) {
        let others = || rows.iter().map(|(curve, _)| curve.key).filter(|other| *other != key);
        if alone {
            let is_alone =
                others().all(|other| self.hidden_lanes.contains(&other)) && !self.hidden_lanes.contains(&key);
            for other in others() {
                if is_alone {
                    self.hidden_lanes.remove(&other)
                } else {
                    self.hidden_lanes.insert(other)
                };
            }
            self.hidden_lanes.remove(&key);
        } else if !self.hidden_lanes.remove(&key) {
            self.hidden_lanes.insert(key);
        }
    }
}
