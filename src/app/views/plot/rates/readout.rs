//! Tooltip of the rates view: the values of all shown series and reference values at the step under the pointer.

use super::{Rates, chart::Curve};
use crate::{
    app::{kit, views::ViewCtx},
    sim::{Level, ProbeId},
};
use egui::{Color32, Rect, Response, RichText, Ui};

/// Maximum number of curves of a chart in the tooltip.
const MAX_CURVES: usize = 12;

/// Row of the tooltip: colour of a curve, `None` for a reference value; name; value.
type Row = (Option<Color32>, String, String);

impl Rates {
    /// Shows the values at the step under the pointer, if a shown series has reference values.
    pub(super) fn readout_ui(&self, response: &Response, plot: Rect, charts: &[Vec<ProbeId>], ctx: &ViewCtx<'_>) {
        let has_lines = charts.iter().any(|probes| Level::lines(ctx.schema.levels(probes[0])).next().is_some());
        let Some(at) = response.hover_pos().filter(|at| plot.contains(*at) && has_lines && !response.dragged()) else {
            return;
        };
        let step = self.line.step_at(plot, at.x).max(0.0).round();
        let mut title = kit::steps(step, self.clock.base);
        title.extend(self.line.scale.as_ref().map(|scale| format!(", {}", scale.text(step))));
        let rows: Vec<Row> = charts.iter().flat_map(|probes| self.rows(probes, step, ctx)).collect();
        response.clone().on_hover_ui_at_pointer(|ui| rows_ui(ui, &title, &rows, ctx));
    }

    /// Returns the values of a chart's curves and reference lines at a step.
    fn rows(&self, probes: &[ProbeId], step: f64, ctx: &ViewCtx<'_>) -> Vec<Row> {
        let curves = self.curves(ctx, probes);
        let is_shown = |curve: &&Curve| !self.hidden_lanes.contains(&curve.key);
        let row = |curve: &Curve| {
            let value = self.value_at(ctx.schema, curve.key, Some(step)).map_or_else(|| "—".to_owned(), kit::reading);
            // The lanes of different probes may have equal names.
            let label = ctx.schema.probes[usize::from(curve.key.0)].label();
            let name = if curve.name == label || probes.len() > 1 {
                curve.name.clone()
            } else {
                format!("{label}, {}", curve.name)
            };
            (Some(curve.color), name, value)
        };
        let lines = self.lines(ctx.schema, probes[0]);
        let value = |name: &str| Some((None, name.to_owned(), kit::value(Level::value_at(&lines, name, step as u64)?)));
        let levels: Vec<Row> = Level::names(&lines).into_iter().filter_map(value).collect();
        curves.iter().filter(is_shown).take(MAX_CURVES).map(row).chain(levels).collect()
    }
}

fn rows_ui(ui: &mut Ui, title: &str, rows: &[Row], ctx: &ViewCtx<'_>) {
    ui.label(RichText::new(title).strong().color(ctx.tokens.text_strong));
    egui::Grid::new("values at the pointer").num_columns(2).spacing([16.0, 2.0]).show(ui, |ui| {
        for (color, name, value) in rows {
            ui.label(RichText::new(name).small().color(color.unwrap_or(ctx.tokens.text_sub)));
            ui.label(RichText::new(value).monospace().size(kit::small(ui).size).color(ctx.tokens.text));
            ui.end_row();
        }
    });
}
