//! Export of the shown series as a table, in the chosen unit.

use super::{Rates, chart::Curve};
use crate::{
    app::{
        document::time::StepQuantity,
        views::{ViewCtx, ViewRequest, plot::axes_choice::XAxis},
    },
    data::csv_text,
    sim::Level,
};
use egui::{RichText, Ui};
use std::collections::BTreeSet;

impl Rates {
    /// Draws the button that saves the shown series.
    pub(super) fn export_ui(&self, ui: &mut Ui, ctx: &mut ViewCtx<'_>) {
        let hint = "Saves the shown series and reference values in the chosen unit";
        if ui.button(RichText::new("Save CSV…").small()).on_hover_text(hint).clicked() {
            let text = self.csv(ctx);
            ctx.requests.push(ViewRequest::SaveText { name: "series.csv".into(), text });
        }
    }

    /// Formats the samples in memory as a table: a row per sampled step, columns of items, wall time, series and reference
    /// values. A cell is empty if nothing was sampled at the step.
    fn csv(&self, ctx: &ViewCtx<'_>) -> String {
        let shown = self.shown(ctx.schema);
        let curves = self.curves(ctx, &shown);
        let sampled = shown.iter().filter_map(|probe| self.series.get(probe));
        let steps: BTreeSet<u64> = sampled.flat_map(|samples| (0..samples.len()).map(|i| samples.step(i))).collect();
        let (items, wall_clock) = (self.items_of(ctx.schema), ctx.time.past.wall_clock());
        let scales: Vec<_> =
            [XAxis::Items, XAxis::WallTime].iter().filter_map(|x| x.scale(items, wall_clock)).collect();
        let lines: Vec<Level> =
            self.charts(ctx.schema).iter().flat_map(|chart| self.lines(ctx.schema, chart[0])).collect();
        let levels = Level::names(&lines);
        let mut head = vec!["step".to_owned()];
        head.extend(scales.iter().map(|scale| match &scale.quantity {
            StepQuantity::Items(name) => (**name).to_owned(),
            StepQuantity::WallTime => "wall_time_s".to_owned(),
        }));
        head.extend(curves.iter().map(|curve| self.column(curve, ctx)));
        head.extend(levels.iter().map(|name| format!("level {name}")));
        let mut table = vec![head];
        for step in steps {
            let mut row = vec![step.to_string()];
            row.extend(scales.iter().map(|scale| scale.curve.amount_at(step as f64).to_string()));
            let text = |value: Option<f64>| value.map_or_else(String::new, |v| v.to_string());
            row.extend(curves.iter().map(|curve| text(self.sample(curve, step, ctx))));
            row.extend(levels.iter().map(|name| text(Level::value_at(&lines, name, step))));
            table.push(row);
        }
        csv_text(table)
    }

    /// Returns the name of a curve's column with its unit.
    fn column(&self, curve: &Curve, ctx: &ViewCtx<'_>) -> String {
        let (probe, unit) = (&ctx.schema.probes[usize::from(curve.key.0)], self.unit(ctx.schema, curve.key.0));
        let name = self.trial_mean.named(ctx.schema, &curve.name);
        crate::app::views::plot::axes_choice::title_in(&name, probe.unit, &unit, &self.axes.unit)
    }

    /// Returns the sample of a curve at exactly this step, in the chosen unit.
    fn sample(&self, curve: &Curve, step: u64, ctx: &ViewCtx<'_>) -> Option<f64> {
        let samples = self.series.get(&curve.key.0)?;
        let i = samples.index(step as f64);
        let is_exact = i < samples.len() && samples.step(i) == step && curve.key.1 < samples.lanes();
        let value = is_exact.then(|| samples.value(curve.key.1, i))?;
        Some(self.unit(ctx.schema, curve.key.0).convert(value.into(), step as f64))
    }
}
