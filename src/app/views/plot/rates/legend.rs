//! Legends of the rates view: rows right of a chart, or a row of names above a narrow one.

use super::{LEGEND_ROW, NARROW, Rates};
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
/// Width of the label that counts names without room, points.
const MORE_WIDTH: f32 = 56.0;
const LANE_HINT: &str = "Click: hide or show · Alt+click: show only this one";

impl Rates {
    /// Returns the width of the legends right of the plots, points; that of a margin if there is no room for legends.
    pub(super) fn legend_width(&self, ui: &Ui, shown: &[ProbeId], schema: &SimSchema, width: f32) -> f32 {
        let names = shown.iter().filter_map(|p| schema.lanes.get(usize::from(*p))).filter(|l| l.len() > 1).flatten();
        let font = kit::small(ui);
        let measure = |name: &String| {
            ui.painter().layout_no_wrap((*name).to_owned(), font.clone(), Color32::WHITE).size().x + LEGEND_ROW_EXTRA
        };
        let counted = self.psth.is_shown.then_some(LEGEND.1);
        let needed = names.map(measure).chain(counted).fold(0.0, f32::max);
        let room = (width * LEGEND.0).min(LEGEND.1);
        if needed == 0.0 || room < NARROW { 12.0 } else { needed.min(room).max(NARROW) }
    }

    pub(super) fn legend_ui(
        &mut self,
        ui: &mut Ui,
        area: Rect,
        probe: ProbeId,
        rows: &[(String, Color32, Option<f32>)],
        ctx: &ViewCtx<'_>,
    ) {
        // Only whole rows are drawn; the tooltip of the last one lists the names without room.
        let n_fitting = ((area.height() / LEGEND_ROW) as usize).max(1);
        let n_shown = if rows.len() > n_fitting { n_fitting - 1 } else { rows.len() };
        if n_shown < rows.len() {
            let hidden: Vec<String> = rows[n_shown..].iter().map(|(name, ..)| (*name).to_owned()).collect();
            let at = Rect::from_min_size(
                area.min + Vec2::new(18.0, n_shown as f32 * LEGEND_ROW),
                Vec2::new(area.width() - 18.0, LEGEND_ROW),
            );
            let more = egui::RichText::new(format!("+{} more", hidden.len())).small().color(ctx.tokens.text_sub);
            ui.place(at, egui::Label::new(more).truncate()).on_hover_text(hidden.join("\n"));
        }
        let area = area.with_max_y(area.top() + n_shown as f32 * LEGEND_ROW);
        let width = area.width() - 6.0;
        ui.scope_builder(egui::UiBuilder::new().max_rect(area).id_salt(("legend", probe)), |ui| {
            ui.spacing_mut().item_spacing = Vec2::ZERO;
            egui::ScrollArea::vertical().id_salt(probe).show_rows(ui, LEGEND_ROW, n_shown, |ui, range| {
                for lane in range {
                    let (name, color, value) = &rows[lane];
                    let shown = !self.hidden_lanes.contains(&(probe, lane));
                    let text = value.map_or_else(|| "—".into(), kit::reading);
                    let row = kit::legend_row_ui(ui, ctx.tokens, *color, name, &text, shown, width);
                    if row.on_hover_text(format!("{name}\n{LANE_HINT}")).clicked() {
                        let alone = ui.input(|i| i.modifiers.alt);
                        self.toggle_lane(probe, lane, rows.len(), alone);
                    }
                }
            });
        });
    }

    /// Draws the legend of a narrow chart: a row of names.
    pub(super) fn names_ui(
        &mut self,
        ui: &mut Ui,
        row: Rect,
        probe: ProbeId,
        rows: &[(&str, Color32)],
        tokens: &Tokens,
    ) {
        let font = kit::small(ui);
        let mut left = row.left();
        for (lane, (name, color)) in rows.iter().enumerate() {
            let text = ui.painter().layout_no_wrap((*name).to_owned(), font.clone(), tokens.text);
            let width = text.size().x + NAME_EXTRA;
            let rest = if lane + 1 < rows.len() { MORE_WIDTH } else { 0.0 };
            if left + width + rest > row.right() {
                let hidden: Vec<&str> = rows[lane..].iter().map(|(name, _)| *name).collect();
                let at = Rect::from_min_max(pos2(left, row.top()), row.max);
                let more = egui::RichText::new(format!("+{} more", hidden.len())).small().color(tokens.text_sub);
                ui.put(at, egui::Label::new(more).truncate()).on_hover_text(hidden.join("\n"));
                break;
            }
            let rect = Rect::from_min_size(pos2(left, row.top()), Vec2::new(width, row.height()));
            left += width;
            ui.scope_builder(egui::UiBuilder::new().max_rect(rect).id_salt(("name", probe, lane)), |ui| {
                let shown = !self.hidden_lanes.contains(&(probe, lane));
                let row = kit::legend_row_ui(ui, tokens, *color, name, "", shown, width);
                if row.on_hover_text(format!("{name}\n{LANE_HINT}")).clicked() {
                    let alone = ui.input(|i| i.modifiers.alt);
                    self.toggle_lane(probe, lane, rows.len(), alone);
                }
            });
        }
    }

    fn toggle_lane(&mut self, probe: ProbeId, lane: usize, n: usize, alone: bool) {
        let key = (probe, lane);
        if alone {
            let is_alone = (0..n).all(|l| self.hidden_lanes.contains(&(probe, l)) != (l == lane));
            for l in (0..n).filter(|l| *l != lane) {
                if is_alone {
                    self.hidden_lanes.remove(&(probe, l))
                } else {
                    self.hidden_lanes.insert((probe, l))
                };
            }
            self.hidden_lanes.remove(&key);
        } else if !self.hidden_lanes.remove(&key) {
            self.hidden_lanes.insert(key);
        }
    }
}
