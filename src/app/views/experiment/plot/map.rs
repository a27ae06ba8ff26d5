//! Heat map of an experiment over two parameters.

use super::choices::MapValue;
use crate::app::{
    document::experiment::{FactorValue, Factors, Results},
    kit::{
        color_scale::ScaleColors,
        colormap::Colormap,
        heatmap::{AxisLabel, Heatmap, HeatmapTexture, HeatmapTitles},
    },
    views::{
        ViewCtx,
        experiment::{click, texts},
    },
};
use egui::{Rect, Sense, Ui};

/// Draws the heat map.
pub fn ui(
    ui: &mut Ui,
    canvas: Rect,
    ctx: &mut ViewCtx<'_>,
    (results, measure): (&Results, usize),
    value: MapValue,
    texture: &mut HeatmapTexture,
) {
    let Some(factors) = results.factors.as_ref().filter(|factors| factors.axes.len() == 2) else { return };
    let (columns, mut rows) = (factors.levels(0), factors.levels(1));
    rows.reverse();
    let conditions = cells(factors, &columns, &rows);
    let of = |condition: &Option<usize>| condition.and_then(|i| value_of(results, measure, i, value));
    let values: Vec<f32> = conditions.iter().map(|c| of(c).map_or(f32::NAN, |x| x as f32)).collect();
    let label = |value: &&FactorValue| AxisLabel { text: value.text.clone(), color: None };
    let scale_colors = match value {
        MapValue::Mean => ScaleColors::Map(Colormap::Cividis),
        MapValue::Difference | MapValue::Effect => ScaleColors::Diverging,
    };
    let map = Heatmap {
        rows: rows.iter().map(label).collect(),
        columns: columns.iter().map(label).collect(),
        values,
        scale_colors,
        span: None,
        is_log: false,
    };
    let titles = HeatmapTitles {
        rows: factors.axes[1].title.clone(),
        columns: factors.axes[0].title.clone(),
        values: title(results, measure, value),
    };
    let places = map.places_titled(ui, canvas.shrink(8.0), titles);
    let response = ui.interact(places.cells, ui.scope_id().with("map"), Sense::click());
    response.widget_info(|| {
        let (a, b) = (&factors.axes[0].title, &factors.axes[1].title);
        egui::WidgetInfo::labeled(egui::Role::Image, true, format!("{} by {a} and {b}", results.title(measure)))
    });
    let hovered = response.hover_pos().and_then(|at| map.at(&places, at));
    map.paint(ui, &places, texture, key(&map.values, value), hovered, ctx.tokens);
    map.paint_numbers(ui, &places, &map.values, None, ctx.tokens);
    let Some((row, column)) = hovered else { return };
    match conditions[row * columns.len() + column] {
        Some(condition) => {
            let response = response.on_hover_text_at_pointer(texts::about(results, measure, condition));
            if response.clicked() {
                click(ctx, results, condition);
            }
        }
        None => {
            let text = format!("{}, {}: no condition", columns[column].text, rows[row].text);
            response.on_hover_text_at_pointer(text);
        }
    }
}

/// Returns the condition of each cell, row by row from the top; `None` for a combination without one.
fn cells(factors: &Factors, columns: &[&FactorValue], rows: &[&FactorValue]) -> Vec<Option<usize>> {
    let mut cells = vec![None; columns.len() * rows.len()];
    for (condition, values) in factors.values.iter().enumerate() {
        let [x, y] = &values[..] else { continue };
        let at = (columns.iter().position(|known| *known == x), rows.iter().position(|known| *known == y));
        if let (Some(column), Some(row)) = at {
            cells[row * columns.len() + column] = Some(condition);
        }
    }
    cells
}

fn value_of(results: &Results, measure: usize, condition: usize, value: MapValue) -> Option<f64> {
    let line = results.line(measure, condition)?;
    match value {
        MapValue::Mean => line.summary.mean,
        // A control inside the grid differs from itself by nothing.
        MapValue::Difference if condition == results.control() => Some(0.0),
        MapValue::Difference => Some(line.comparison?.difference),
        MapValue::Effect => Some(line.comparison?.effect?.value()),
    }
}

fn title(results: &Results, measure: usize, value: MapValue) -> String {
    let (measure, control) = (results.title(measure), texts::control(results));
    match value {
        MapValue::Mean => format!("Mean of {measure}"),
        MapValue::Difference => format!("{measure}, difference from {control}"),
        MapValue::Effect => format!("Effect size against {control}"),
    }
}

/// Returns a key that identifies the values, for the texture.
fn key(values: &[f32], value: MapValue) -> u64 {
    values.iter().fold(value as u64, |hash, x| (hash ^ u64::from(x.to_bits())).wrapping_mul(0x0100_0000_01b3))
}
