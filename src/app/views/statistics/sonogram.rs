//! Spectrogram of the mean rate.

use super::{
    compute::Stats,
    plots::{framed, hover, none_ui},
};
use crate::{
    app::{
        kit::{
            self,
            color_scale::ScaleColors,
            colormap::Colormap,
            heatmap::{AxisLabel, Heatmap, HeatmapTexture, HeatmapTitles},
        },
        views::ViewCtx,
    },
    num::welch::Spectrogram,
};
use egui::{Rect, Ui, Vec2};

/// Dynamic range of the colours, as a ratio of power densities.
const DYNAMIC_RANGE: f32 = 1e4;

/// Heat map of the spectrogram, cached per result.
#[derive(Default)]
pub struct Sonogram {
    heat: Option<(u64, Heatmap)>,
    picture: HeatmapTexture,
}

/// Draws the spectrogram; `noun` names the events, and `key` identifies the result.
pub fn ui(
    ui: &mut Ui,
    area: Rect,
    ctx: &ViewCtx<'_>,
    (stats, noun): (&Stats, &str),
    prepared: &mut Sonogram,
    key: u64,
) {
    let note = stats.spectrogram.as_ref().map_or_else(String::new, |s| {
        let segment = kit::duration(s.segment as f64 * stats.sample_secs);
        let mean = if s.per_column > 1 { format!(", {} averaged per column", s.per_column) } else { String::new() };
        format!("Hz²/Hz, log, Hann {segment}, 50 % overlap{mean}")
    });
    let Some(plot) = framed(ui, area, ctx.tokens, "Spectrogram of the mean rate", &note) else { return };
    let Some(spectrogram) = &stats.spectrogram else {
        return none_ui(&ui.painter_at(area), plot, ui, ctx.tokens, &format!("needs 64 ms with {noun}"));
    };
    let Sonogram { heat, picture } = prepared;
    if heat.as_ref().is_some_and(|(of, _)| *of != key) {
        *heat = None;
    }
    let (_, heat) = heat.get_or_insert_with(|| (key, heat_of(spectrogram)));
    let canvas = Rect::from_min_max(area.min + Vec2::new(0.0, 6.0), area.max - Vec2::new(0.0, 12.0));
    let titles = HeatmapTitles { rows: "frequency".to_owned(), ..HeatmapTitles::default() };
    let places = heat.places_titled(ui, canvas, titles);
    let mut inside = ui.new_child(egui::UiBuilder::new().max_rect(area));
    inside.set_clip_rect(area.intersect(ui.clip_rect()));
    heat.paint(&inside, &places, picture, key, None, ctx.tokens);
    let from = stats.from_secs + spectrogram.first_secs - spectrogram.column_secs / 2.0;
    let to = from + spectrogram.column_secs * heat.columns.len() as f64;
    let unit = kit::TimeUnit::of(crate::sim::TimeBase::seconds(0.0), to, to - from);
    let (painter, font) = (ui.painter_at(area), kit::mono(ui));
    let title = format!("time ({})", unit.name);
    kit::x_axis(&painter, places.cells, &font, ctx.tokens, from * unit.scale, to * unit.scale, &title);
    // Frequency 0 is left out, because the mean was removed.
    let height = spectrogram.frequencies.len() - 1;
    let pointer = ui.input(|i| i.pointer.hover_pos());
    hover(ui, places.cells, "Spectrogram", |x| {
        let y = pointer.map_or(0.0, |at| ((at.y - places.cells.top()) / places.cells.height()).clamp(0.0, 0.999));
        let column = ((x * heat.columns.len() as f32) as usize).min(heat.columns.len() - 1);
        let row = (y * height as f32) as usize;
        let value = f64::from(heat.values[row * heat.columns.len() + column]);
        let at = unit.text(from + (column as f64 + 0.5) * spectrogram.column_secs, spectrogram.column_secs);
        format!("{at}, {} Hz\n{} Hz²/Hz", kit::value(spectrogram.frequencies[height - row]), kit::value(value))
    });
}

/// Converts a spectrogram to a heat map with high frequencies at the top.
fn heat_of(spectrogram: &Spectrogram) -> Heatmap {
    let height = spectrogram.frequencies.len();
    let columns = spectrogram.density.len() / height;
    let rows: Vec<usize> = (1..height).rev().collect();
    let value = |row: usize, column: usize| spectrogram.density[column * height + row] as f32;
    let values: Vec<f32> = rows.iter().flat_map(|r| (0..columns).map(move |c| value(*r, c))).collect();
    let top = values.iter().copied().fold(0.0, f32::max);
    let name =
        |r: &usize| AxisLabel { text: format!("{} Hz", kit::reading(spectrogram.frequencies[*r] as f32)), color: None };
    Heatmap {
        rows: rows.iter().map(name).collect(),
        columns: vec![AxisLabel { text: String::new(), color: None }; columns],
        values,
        scale_colors: ScaleColors::Map(Colormap::Magma),
        span: (top > 0.0).then_some((top / DYNAMIC_RANGE, top)),
        is_log: true,
    }
}
