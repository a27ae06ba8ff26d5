//! Legends of the rates view: rows right of a chart, or a row of names above a narrow one.

use super::{super::lane_colors::column_of, LEGEND_ROW, NARROW, Rates};
use crate::{
    app::kit::{
        self,
        legend::{self, LegendEntry},
        theme::Tokens,
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
    /// Returns the width of the legends right of the plots, points; that of a margin if there is no room for legends. The legends
    /// of a figure are above its charts.
    pub(super) fn legend_width(&self, ui: &Ui, shown: &[ProbeId], schema: &SimSchema, width: f32) -> f32 {
        if kit::is_staged(ui.ctx()) {
            return 12.0;
        }
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

    /// Returns the entries of the lanes of a probe; `value` returns the value of a lane. In a figure, which shows no moment, a
    /// lane named after a class has the number of its elements instead.
    pub(super) fn entries(
        &self,
        (probe, names, colors): (ProbeId, &[String], &[Color32]),
        value: impl Fn(usize) -> Option<f32>,
        is_figure: bool,
        schema: &SimSchema,
    ) -> Vec<LegendEntry> {
        let column = column_of(schema, names).filter(|_| is_figure).map(|(_, column)| (column, column.counts()));
        let count = |name: &String| {
            let (column, counts) = column.as_ref()?;
            let code = column.labels.iter().position(|label| label == name)?;
            Some(format!("(n = {})", kit::thousands(u64::from(*counts.get(code)?))))
        };
        let entry = |(lane, (name, color)): (usize, (&String, &Color32))| LegendEntry {
            name: name.clone(),
            color: *color,
            value: match is_figure {
                true => count(name).unwrap_or_default(),
                false => value(lane).map_or_else(|| "—".into(), kit::reading),
            },
            is_shown: !self.hidden_lanes.contains(&(probe, lane)),
        };
        names.iter().zip(colors).enumerate().map(entry).collect()
    }

    pub(super) fn legend_ui(
        &mut self,
        ui: &mut Ui,
        area: Rect,
        probe: ProbeId,
        entries: &[LegendEntry],
        tokens: &Tokens,
    ) {
        // Only whole rows are drawn; the last one opens the list of all.
        let n_fitting = ((area.height() / LEGEND_ROW) as usize).max(1);
        let n_shown = if entries.len() > n_fitting { n_fitting - 1 } else { entries.len() };
        if n_shown < entries.len() {
            let at = Rect::from_min_size(
                area.min + Vec2::new(18.0, n_shown as f32 * LEGEND_ROW),
                Vec2::new(area.width() - 18.0, LEGEND_ROW),
            );
            self.more_ui(ui, at, probe, entries.len() - n_shown, entries, tokens);
        }
        let area = area.with_max_y(area.top() + n_shown as f32 * LEGEND_ROW);
        let width = area.width() - 6.0;
        ui.scope_builder(egui::UiBuilder::new().max_rect(area).id_salt(("legend", probe)), |ui| {
            ui.spacing_mut().item_spacing = Vec2::ZERO;
            for (lane, entry) in entries.iter().enumerate().take(n_shown) {
                let LegendEntry { name, color, value, is_shown } = entry;
                let row = kit::legend_row_ui(ui, tokens, *color, name, value, *is_shown, width);
                if row.on_hover_text(format!("{name}\n{LANE_HINT}")).clicked() {
                    let alone = ui.input(|i| i.modifiers.alt);
                    self.toggle_lane(probe, lane, entries.len(), alone);
                }
            }
        });
    }

    /// Draws the label that counts the lanes without room, whose list hides and shows lanes.
    fn more_ui(
        &mut self,
        ui: &mut Ui,
        at: Rect,
        probe: ProbeId,
        n_more: usize,
        entries: &[LegendEntry],
        tokens: &Tokens,
    ) {
        let text = format!("+{n_more} more");
        let clicked = ui.push_id(("more", probe), |ui| legend::more_ui(ui, at, tokens, &text, entries)).inner;
        if let Some(lane) = clicked {
            let alone = ui.input(|i| i.modifiers.alt);
            self.toggle_lane(probe, lane, entries.len(), alone);
        }
    }

    /// Draws the legend of a narrow chart: a row of names.
    pub(super) fn names_ui(
        &mut self,
        ui: &mut Ui,
        row: Rect,
        probe: ProbeId,
        entries: &[LegendEntry],
        tokens: &Tokens,
    ) {
        let font = kit::small(ui);
        let mut left = row.left();
        for (lane, LegendEntry { name, color, is_shown, .. }) in entries.iter().enumerate() {
            let text = ui.painter().layout_no_wrap(name.clone(), font.clone(), tokens.text);
            let width = text.size().x + NAME_EXTRA;
            let rest = if lane + 1 < entries.len() { MORE_WIDTH } else { 0.0 };
            if left + width + rest > row.right() {
                let at = Rect::from_min_max(pos2(left, row.top()), row.max);
                self.more_ui(ui, at, probe, entries.len() - lane, entries, tokens);
                break;
            }
            let rect = Rect::from_min_size(pos2(left, row.top()), Vec2::new(width, row.height()));
            left += width;
            ui.scope_builder(egui::UiBuilder::new().max_rect(rect).id_salt(("name", probe, lane)), |ui| {
                let row = kit::legend_row_ui(ui, tokens, *color, name, "", *is_shown, width);
                if row.on_hover_text(format!("{name}\n{LANE_HINT}")).clicked() {
                    let alone = ui.input(|i| i.modifiers.alt);
                    self.toggle_lane(probe, lane, entries.len(), alone);
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
