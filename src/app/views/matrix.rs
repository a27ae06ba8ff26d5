//! Small matrices as heat maps: couplings, attention, router use.

use super::{
    Selection, View, ViewCtx,
    color_scale::ScaleColors,
    color_scales::ColorScales,
    colormap::Colormap,
    heatmap::{AxisLabel, Heatmap, HeatmapTexture},
    kit, probes_where, run_ui, tap,
};
use crate::{
    engine::SimSchema,
    sim::{Frame, ProbeId, ProbeSpec, Reading, Shape, Tap},
};
use egui::{Sense, Ui};

/// Rows and columns drawn at most; larger matrices are averaged in square blocks.
const MAX_CELLS: usize = 512;

/// The matrix view.
#[derive(Default)]
pub struct Matrix {
    chosen: Option<&'static str>,
    is_log: bool,
    heat: Option<Heatmap>,
    size: (usize, usize),
    generation: u64,
    picture: HeatmapTexture,
}

fn is_matrix(shape: &Shape) -> bool {
    matches!(shape, Shape::Matrix { .. })
}

impl Matrix {
    fn probe(&self, schema: &SimSchema) -> Option<(ProbeId, &'static ProbeSpec)> {
        let chosen = probes_where(schema, is_matrix).find(|(_, p)| Some(p.name) == self.chosen);
        chosen.or_else(|| probes_where(schema, is_matrix).next())
    }

    fn take(&mut self, columns: u32, values: &[f32]) {
        let columns = columns as usize;
        if columns == 0 || values.is_empty() {
            return self.heat = None;
        }
        self.size = (values.len() / columns, columns);
        let (per_block, rows, columns, values) = blocks(values, columns);
        let named = |n: usize| (0..n).map(|i| AxisLabel { text: (i * per_block).to_string(), color: None }).collect();
        let is_signed = values.iter().any(|v| *v < 0.0);
        let scale_colors = if is_signed { ScaleColors::Diverging } else { ScaleColors::Map(Colormap::Magma) };
        let (rows, columns) = (named(rows), named(columns));
        self.heat = Some(Heatmap { rows, columns, values, scale_colors, span: None, is_log: self.is_log });
        self.generation += 1;
    }
}

/// Averages a matrix in blocks: block size, rows, columns, means.
fn blocks(values: &[f32], columns: usize) -> (usize, usize, usize, Vec<f32>) {
    let rows = values.len() / columns;
    let per_block = rows.max(columns).div_ceil(MAX_CELLS).max(1);
    let (n_rows, n_columns) = (rows.div_ceil(per_block), columns.div_ceil(per_block));
    if per_block == 1 {
        return (1, rows, columns, values[..rows * columns].to_vec());
    }
    let mut sums = vec![(0.0_f32, 0_u32); n_rows * n_columns];
    for (i, v) in values[..rows * columns].iter().enumerate().filter(|(_, v)| v.is_finite()) {
        let sum = &mut sums[i / columns / per_block * n_columns + i % columns / per_block];
        *sum = (sum.0 + v, sum.1 + 1);
    }
    (per_block, n_rows, n_columns, sums.into_iter().map(|(sum, n)| sum / n as f32).collect())
}

impl View for Matrix {
    fn name(&self) -> &'static str {
        "matrix"
    }

    fn title(&self, schema: &SimSchema) -> String {
        self.probe(schema).map_or_else(|| "Matrix".into(), |(_, p)| p.label().into_owned())
    }

    fn taps(&self, schema: &SimSchema, _: &Selection) -> Vec<Tap> {
        self.probe(schema).map(|(id, _)| tap(id)).into_iter().collect()
    }

    fn reset(&mut self, _: &SimSchema) {
        self.heat = None;
    }

    fn absorb(&mut self, schema: &SimSchema, frame: &Frame) {
        let reading = self.probe(schema).and_then(|(id, _)| frame.reading(id));
        if let Some(Reading::Matrix(matrix)) = reading {
            self.take(matrix.columns.len, &matrix.values);
        }
    }

    fn ui(&mut self, ui: &mut Ui, ctx: &mut ViewCtx<'_>) {
        let Some((_, probe)) = self.probe(ctx.schema) else {
            let canvas = ui.available_rect_before_wrap();
            kit::empty_ui(ui, canvas, ctx, "No matrix", "This simulation publishes no matrices", None);
            return;
        };
        let Shape::Matrix { rows, columns } = probe.shape else { return };
        let unit = if probe.unit.is_empty() { String::new() } else { format!("  |  {}", probe.unit) };
        let caption = format!("{rows} {} × {columns} {}{unit}", self.size.0, self.size.1);
        let canvas = kit::panel_ui(ui, ctx.tokens, Some(&caption), |ui| {
            let all: Vec<_> =
                probes_where(ctx.schema, is_matrix).map(|(_, p)| (Some(p.name), p.label().into_owned())).collect();
            let mut chosen = Some(probe.name);
            if all.len() > 1 && kit::choice_ui(ui, ctx.tokens, "Matrix", &mut chosen, &all) {
                (self.chosen, self.heat) = (chosen, None);
            }
            if ui.toggle_value(&mut self.is_log, "Log").on_hover_text("Logarithmic colour scale").changed() {
                if let Some(heat) = &mut self.heat {
                    heat.is_log = self.is_log;
                }
                self.generation += 1;
            }
            if let Some(range) = self.heat.as_ref().and_then(Heatmap::range) {
                ctx.color_scales.range_ui(ui, probe.name, range);
            }
        });
        let Some(heat) = &self.heat else {
            return run_ui(ui, canvas, ctx, "No values yet", "Run to see the matrix");
        };
        ui.painter().rect_filled(canvas, 0.0, ctx.tokens.canvas);
        if kit::tiny_ui(ui, canvas, ctx.tokens) {
            return;
        }
        self.picture.fixed = ctx.color_scales.of(probe.name).range;
        let places = heat.places(ui, canvas);
        let response = ui.interact(places.cells, ui.scope_id().with("cells"), Sense::hover());
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Image, true, "Heatmap map"));
        let hovered = response.hover_pos().and_then(|at| heat.at(&places, at));
        heat.paint(ui, &places, &mut self.picture, self.generation, hovered, ctx.tokens);
        if let Some((row, column)) = hovered {
            let value = heat.values.get(row * heat.columns.len() + column).copied().unwrap_or(f32::NAN);
            let (row, column) = (&heat.rows[row].text, &heat.columns[column].text);
            let text = format!("{rows} {row}, {columns} {column}\n{}", kit::with_unit(f64::from(value), probe.unit));
            response.on_hover_text_at_pointer(text);
        }
    }

    fn toggle_range(&mut self, schema: &SimSchema, color_scales: &mut ColorScales) -> Option<bool> {
        let (_, probe) = self.probe(schema)?;
        Some(color_scales.toggle(probe.name, self.heat.as_ref()?.range()?))
    }

    fn help(&self) -> &'static str {
        "# Matrix\n\nThe latest values of a small matrix: couplings, attention, router use. Large matrices are averaged in \
         square blocks; the caption shows the full size. Values of both signs use a diverging colormap."
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_matrices_are_averaged() {
        let (n, rows, columns, values) = blocks(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 3);
        assert_eq!((n, rows, columns, values.len()), (1, 2, 3, 6));
        let large: Vec<f32> = (0..1024 * 1024).map(|i| if i / 1024 < 2 && i % 1024 < 2 { 3.0 } else { 1.0 }).collect();
        let (n, rows, columns, values) = blocks(&large, 1024);
        assert_eq!((n, rows, columns), (2, 512, 512));
        assert_eq!((values[0], values[1]), (3.0, 1.0));
    }
}
