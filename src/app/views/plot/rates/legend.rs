//! Legends of the rates view: rows right of a chart, or a row of names above a narrow one.

use super::{super::lane_colors::column_of, LEGEND_ROW, NARROW, Rates, chart::Curve};
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
/// Width of the value after a name above a chart, points.
const VALUE_WIDTH: f32 = 44.0;
/// Width of the label that counts names without room, points.
const MORE_WIDTH: f32 = 56.0;
const LANE_HINT: &str = "Click: hide or show · Alt+click: show only this one";

impl Rates {
    /// Returns the width of the legends right of the plots, points; that of a margin if there is no room for legends. The legends
    /// of a figure are above its charts.
    pub(super) fn legend_width(&self, ui: &Ui, charts: &[Vec<ProbeId>], schema: &SimSchema, width: f32) -> f32 {
        if kit::is_staged(ui.ctx()) {
            return 12.0;
        }
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

    /// Returns the entries of curves with their values. In a figure, which shows no moment, a lane named after a class has the
    /// number of its elements instead.
    pub(super) fn entries(
        &self,
        curves: &[Curve],
        values: &[Option<f32>],
        is_figure: bool,
        schema: &SimSchema,
    ) -> Vec<LegendEntry> {
        let names: Vec<String> = curves.iter().map(|curve| curve.name.clone()).collect();
        let column = column_of(schema, &names).filter(|_| is_figure).map(|(_, column)| (column, column.counts()));
        let count = |name: &String| {
            let (column, counts) = column.as_ref()?;
            let code = column.labels.iter().position(|label| label == name)?;
            Some(format!("(n = {})", kit::thousands(u64::from(*counts.get(code)?))))
        };
        let entry = |(curve, value): (&Curve, &Option<f32>)| LegendEntry {
            name: curve.name.clone(),
            color: curve.color,
            value: match is_figure {
                true => count(&curve.name).unwrap_or_default(),
                false => value.map_or_else(|| "—".into(), kit::reading),
            },
            is_shown: !self.hidden_lanes.contains(&curve.key),
        };
        curves.iter().zip(values).map(entry).collect()
    }

    /// Draws the legend right of a chart: a row per curve.
    pub(super) fn legend_ui(
        &mut self,
        ui: &mut Ui,
        area: Rect,
        curves: &[Curve],
        entries: &[LegendEntry],
        tokens: &Tokens,
    ) {
        let Some(id) = curves.first().map(|curve| curve.key.0) else { return };
        // Only whole rows are drawn; the last one opens the list of all.
        let n_fitting = ((area.height() / LEGEND_ROW) as usize).max(1);
        let n_shown = if entries.len() > n_fitting { n_fitting - 1 } else { entries.len() };
        if n_shown < entries.len() {
            let at = Rect::from_min_size(
                area.min + Vec2::new(18.0, n_shown as f32 * LEGEND_ROW),
                Vec2::new(area.width() - 18.0, LEGEND_ROW),
            );
            self.more_ui(ui, at, n_shown, curves, entries, tokens);
        }
        let area = area.with_max_y(area.top() + n_shown as f32 * LEGEND_ROW);
        let width = area.width() - 6.0;
        ui.scope_builder(egui::UiBuilder::new().max_rect(area).id_salt(("legend", id)), |ui| {
            ui.spacing_mut().item_spacing = Vec2::ZERO;
            for (curve, entry) in curves.iter().zip(entries).take(n_shown) {
                self.row_ui(ui, curve, (entry, &entry.value), width, curves, tokens);
            }
        });
    }

    /// Draws the row of a curve, which a click hides or shows.
    fn row_ui(
        &mut self,
        ui: &mut Ui,
        curve: &Curve,
        (entry, value): (&LegendEntry, &str),
        width: f32,
        curves: &[Curve],
        tokens: &Tokens,
    ) {
        let row = kit::legend_row_ui(ui, tokens, curve.color, &curve.name, value, entry.is_shown, width);
        if row.on_hover_text(format!("{}\n{LANE_HINT}", curve.name)).clicked() {
            let alone = ui.input(|i| i.modifiers.alt);
            self.toggle_curve(curve.key, curves, alone);
        }
    }

    /// Draws the label that counts the curves without room, whose list hides and shows curves. The first `n_shown` have rows.
    fn more_ui(
        &mut self,
        ui: &mut Ui,
        at: Rect,
        n_shown: usize,
        curves: &[Curve],
        entries: &[LegendEntry],
        tokens: &Tokens,
    ) {
        let text = format!("+{} more", entries.len() - n_shown);
        let id = ("more", curves.first().map(|curve| curve.key.0));
        let clicked = ui.push_id(id, |ui| legend::more_ui(ui, at, tokens, &text, entries)).inner;
        if let Some(curve) = clicked.and_then(|at| curves.get(at)) {
            let alone = ui.input(|i| i.modifiers.alt);
            self.toggle_curve(curve.key, curves, alone);
        }
    }

    /// Draws the legend of a narrow chart: a row of names, with values if `has_values` and if there is room for those of all names.
    pub(super) fn names_ui(
        &mut self,
        ui: &mut Ui,
        row: Rect,
        (curves, entries): (&[Curve], &[LegendEntry]),
        has_values: bool,
        tokens: &Tokens,
    ) {
        let font = kit::small(ui);
        let measure = |curve: &Curve| {
            ui.painter().layout_no_wrap(curve.name.clone(), font.clone(), tokens.text).size().x + NAME_EXTRA
        };
        let widths: Vec<f32> = curves.iter().map(measure).collect();
        let has_values = has_values && widths.iter().map(|width| width + VALUE_WIDTH).sum::<f32>() <= row.width();
        let mut left = row.left();
        for (i, (curve, entry)) in curves.iter().zip(entries).enumerate() {
            let value = if has_values { entry.value.as_str() } else { "" };
            let width = widths[i] + if value.is_empty() { 0.0 } else { VALUE_WIDTH };
            let rest = if i + 1 < curves.len() { MORE_WIDTH } else { 0.0 };
            if left + width + rest > row.right() {
                let at = Rect::from_min_max(pos2(left, row.top()), row.max);
                self.more_ui(ui, at, i, curves, entries, tokens);
                break;
            }
            let rect = Rect::from_min_size(pos2(left, row.top()), Vec2::new(width, row.height()));
            left += width;
            ui.scope_builder(egui::UiBuilder::new().max_rect(rect).id_salt(("name", curve.key)), |ui| {
                self.row_ui(ui, curve, (entry, value), width, curves, tokens);
            });
        }
    }

    fn toggle_curve(&mut self, key: (ProbeId, usize), curves: &[Curve], alone: bool) {
        let others = || curves.iter().map(|curve| curve.key).filter(|other| *other != key);
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
