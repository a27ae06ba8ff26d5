//! Histograms over time: a heat map of counts, or ridges with one line per time.

use super::{
    ViewCtx, ViewDeclaration,
    single_probe::{Notice, ProbeContents, SingleProbe},
};
use crate::{
    app::{
        document::{features::has_probe, layout::Page},
        kit::{
            self, axes,
            color_scale::ScaleColors,
            colormap::Colormap,
            heatmap::{AxisLabel, Heatmap, HeatmapTexture, HeatmapTitles},
            icons,
        },
    },
    sim::{Histogram, ProbeSpec, Reading, Shape},
};
use egui::{Align2, Pos2, Rect, Sense, Shape as Paint, Stroke, Ui, pos2, vec2};
use std::{collections::VecDeque, sync::Arc};

/// Maximum number of histograms in memory. Above it, every second one is dropped.
const MAX_KEPT: usize = 512;
/// Maximum number of ridges drawn.
const MAX_RIDGES: usize = 24;

#[derive(Default)]
pub struct Distribution {
    has_ridges: bool,
    is_log: bool,
    edges: Arc<Vec<f32>>,
    rows: VecDeque<(u64, Vec<f32>)>,
    /// Minimum number of steps between two histograms in memory.
    every: u64,
    heat: Option<Heatmap>,
    is_stale: bool,
    generation: u64,
    picture: HeatmapTexture,
}

impl Distribution {
    fn add(&mut self, new: &Histogram) {
        if new.n_bins() == 0 || new.steps.is_empty() {
            return;
        }
        if self.edges != new.edges {
            self.clear();
            self.edges = new.edges.clone();
        }
        for (step, counts) in new.steps.iter().zip(new.counts.chunks_exact(new.n_bins())) {
            if self.rows.back().is_none_or(|(last, _)| *step >= last + self.every) {
                self.rows.push_back((*step, counts.to_vec()));
            }
            if self.rows.len() > MAX_KEPT {
                self.thin();
            }
        }
        self.is_stale = true;
    }

    /// Drops every second histogram, and doubles the interval of later ones.
    fn thin(&mut self) {
        let (first, second) = (self.rows[0].0, self.rows[1].0);
        self.every = (self.every.max(second.saturating_sub(first))).saturating_mul(2);
        let mut is_odd = false;
        self.rows.retain(|_| {
            is_odd = !is_odd;
            is_odd
        });
    }

    /// Updates the heat map, with time from left to right and values upwards.
    fn update_heat(&mut self) {
        if !std::mem::take(&mut self.is_stale) {
            return;
        }
        let n_bins = self.edges.len() - 1;
        let bins = (0..n_bins).rev();
        let rows = bins.clone().map(|b| AxisLabel { text: kit::value(self.edges[b].into()), color: None }).collect();
        // The time axis below the cells takes the place of labels of columns.
        let columns = vec![AxisLabel { text: String::new(), color: None }; self.rows.len()];
        let values = bins.flat_map(|b| self.rows.iter().map(move |(_, counts)| counts[b])).collect();
        let scale_colors = ScaleColors::Map(Colormap::Magma);
        self.heat = Some(Heatmap { rows, columns, values, scale_colors, span: None, is_log: self.is_log });
        self.generation += 1;
    }

    fn heat_ui(&mut self, ui: &mut Ui, canvas: Rect, probe: &ProbeSpec, ctx: &ViewCtx<'_>) {
        let Some(heat) = &self.heat else { return };
        self.picture.fixed = ctx.color_scales.of(probe.name).range;
        let titles = HeatmapTitles { rows: title_of(probe), columns: String::new(), values: "count".to_owned() };
        let above_axis = Rect::from_min_max(canvas.min, canvas.max - vec2(0.0, kit::TITLED_AXIS));
        let places = heat.places_titled(ui, above_axis, titles);
        self.time_axis(ui, places.cells, ctx);
        let response = ui.interact(places.cells, ui.scope_id().with("cells"), Sense::hover());
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Image, true, "Histograms over time"));
        let hovered = response.hover_pos().and_then(|at| heat.at(&places, at));
        heat.paint(ui, &places, &mut self.picture, self.generation, hovered, ctx.tokens);
        if let Some((row, column)) = hovered {
            let bin = self.edges.len() - 2 - row;
            response.on_hover_text_at_pointer(self.text(probe, bin, column, ctx));
        }
    }

    /// Draws the time axis below the cells.
    fn time_axis(&self, ui: &Ui, cells: Rect, ctx: &ViewCtx<'_>) {
        let (Some((first, _)), Some((last, _))) = (self.rows.front(), self.rows.back()) else { return };
        let (painter, font, base) = (ui.painter(), kit::small(ui), ctx.clock.base);
        let secs = |step: u64| step as f64 * base.per_step();
        let unit = kit::TimeUnit::of(base, secs(*last), secs(*last) - secs(*first));
        painter.hline(cells.x_range(), cells.bottom(), (1.0, ctx.tokens.line));
        let marks = kit::ticks(secs(*first) * unit.scale, secs(*last) * unit.scale, (cells.width() / 70.0) as usize);
        for (mark, label) in marks.iter().zip(kit::tick_labels(&marks)) {
            let x = cells.left() + self.column_of(mark / unit.scale / base.per_step()) * cells.width();
            painter.vline(x, cells.bottom()..=cells.bottom() + 3.0, (1.0, ctx.tokens.text_sub));
            let at = pos2(x, cells.bottom() + 4.0);
            painter.text(at, Align2::CENTER_TOP, label, font.clone(), ctx.tokens.text_sub);
        }
        axes::x_title(painter, cells, &font, ctx.tokens, &unit.title(base));
    }

    /// Returns the position of a step among the columns, from 0 at the left edge to 1 at the right edge. A column is centred at its
    /// step.
    fn column_of(&self, step: f64) -> f32 {
        let step_at = |i: usize| self.rows[i].0 as f64;
        let next = self.rows.partition_point(|(at, _)| (*at as f64) < step).clamp(1, self.rows.len().max(2) - 1);
        let within = match self.rows.len() {
            0 | 1 => 0.0,
            _ => (step - step_at(next - 1)) / (step_at(next) - step_at(next - 1)).max(1.0),
        };
        let column = if self.rows.len() > 1 { (next - 1) as f64 + within } else { 0.0 };
        ((column + 0.5) / self.rows.len().max(1) as f64).clamp(0.0, 1.0) as f32
    }

    fn text(&self, probe: &ProbeSpec, bin: usize, row: usize, ctx: &ViewCtx<'_>) -> String {
        let Some((step, counts)) = self.rows.get(row) else { return String::new() };
        let [from, to] = [self.edges[bin], self.edges[bin + 1]].map(|edge| kit::value(edge.into()));
        let unit = if probe.unit.is_empty() { String::new() } else { format!(" {}", probe.unit) };
        let n = kit::counted(counts[bin] as u64, "values");
        format!("{}\n{from} to {to}{unit}\n{n}", ctx.step_name(*step))
    }

    /// Draws ridges. The newest line is in front; older ones are behind it and higher.
    fn ridges_ui(&self, ui: &mut Ui, canvas: Rect, probe: &ProbeSpec, ctx: &ViewCtx<'_>) {
        let (tokens, font) = (ctx.tokens, kit::small(ui));
        let Some((low, high)) = self.edges.first().zip(self.edges.last()) else { return };
        let plot = Rect::from_min_max(canvas.min + vec2(70.0, 14.0), canvas.max - vec2(14.0, 32.0));
        axes::x_axis(ui.painter(), plot, &font, tokens, (*low).into(), (*high).into(), &title_of(probe));
        axes::turned_title(ui.painter(), canvas.left() + 2.0, plot, &font, tokens, ctx.clock.base.singular());
        let every = self.rows.len().div_ceil(MAX_RIDGES).max(1);
        let shown: Vec<&(u64, Vec<f32>)> = self.rows.iter().rev().step_by(every).collect();
        let highest = shown.iter().flat_map(|(_, c)| c.iter().copied()).fold(f32::MIN_POSITIVE, f32::max);
        let height = |count: f32| if self.is_log { (1.0 + count).ln() / (1.0 + highest).ln() } else { count / highest };
        let gap = plot.height() / (shown.len() as f32 + 2.0);
        let tall = (gap * 3.0).min(plot.height() * 0.5);
        let painter = ui.painter_at(canvas);
        let x = |edge: f32| egui::remap(edge, *low..=*high, plot.x_range());
        let mut label_above = f32::INFINITY;
        let labels: Vec<bool> = (0..shown.len())
            .map(|i| {
                let y = plot.bottom() - i as f32 * gap;
                let is_free = label_above - y >= kit::LINE;
                label_above = if is_free { y } else { label_above };
                is_free
            })
            .collect();
        for (i, (step, counts)) in shown.iter().enumerate().rev() {
            let base = plot.bottom() - i as f32 * gap;
            let middle = |b: usize| x((self.edges[b] + self.edges[b + 1]) / 2.0);
            let top: Vec<Pos2> =
                counts.iter().enumerate().map(|(b, c)| pos2(middle(b), base - tall * height(*c))).collect();
            // The area below the line is filled bin by bin, because it is not convex.
            for pair in top.windows(2) {
                let quad = vec![pair[0], pair[1], pos2(pair[1].x, base), pos2(pair[0].x, base)];
                painter.add(Paint::convex_polygon(quad, tokens.canvas, Stroke::NONE));
            }
            let color = if i == 0 {
                tokens.accent
            } else {
                tokens.accent.lerp_to_gamma(tokens.text_sub, i as f32 / shown.len() as f32)
            };
            painter.line(top, Stroke::new(if i == 0 { 2.0 } else { 1.2 }, color));
            if labels[i] {
                painter.text(
                    pos2(plot.left() - 8.0, base),
                    Align2::RIGHT_CENTER,
                    kit::thousands(*step),
                    font.clone(),
                    tokens.text_sub,
                );
            }
        }
        let response = ui.interact(plot, ui.scope_id().with("ridges"), Sense::hover());
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Image, true, "Ridges of histograms"));
        if let Some(at) = response.hover_pos() {
            let ridge = (((plot.bottom() - at.y) / gap).round().max(0.0) as usize).min(shown.len() - 1);
            let value = egui::remap(at.x, plot.x_range(), *low..=*high);
            let bin = self.edges.partition_point(|edge| *edge <= value).saturating_sub(1).min(self.edges.len() - 2);
            response.on_hover_text_at_pointer(self.text(probe, bin, self.rows.len() - 1 - ridge * every, ctx));
        }
    }
}

/// Returns the title of the axis of values: the counted quantity, with its unit.
fn title_of(probe: &ProbeSpec) -> String {
    let Shape::Histogram { of } = probe.shape else { return String::new() };
    if probe.unit.is_empty() { of.to_owned() } else { format!("{of} ({})", probe.unit) }
}

impl ProbeContents for Distribution {
    const DECLARATION: ViewDeclaration = ViewDeclaration {
        name: "distribution",
        title: "Histogram over time",
        icon: icons::GAUGE,
        help: "# Histogram over time\n\nCounts of values in bins, sampled while the simulation runs: weights, \
         activations, fitness. As a \
         heat map with time from left to right, or as **Ridges**, the newest in front. Of a long run, every second histogram is \
         dropped whenever there are too many.",
        pages: &[Page::Simulate, Page::Explore],
        fits: |schema| has_probe(schema, Self::is_shown),
        ..ViewDeclaration::of::<SingleProbe<Self>>()
    };
    const MENU: &'static str = "Histogram";
    const NO_PROBE: [&'static str; 2] = ["No histogram", "This simulation publishes no histograms"];

    fn is_shown(shape: &Shape) -> bool {
        matches!(shape, Shape::Histogram { .. })
    }

    fn clear(&mut self) {
        self.rows.clear();
        (self.every, self.heat, self.is_stale) = (0, None, false);
    }

    fn take(&mut self, reading: &Reading) {
        if let Reading::Histogram(new) = reading {
            self.add(new);
        }
    }

    fn range(&self) -> Option<(f32, f32)> {
        self.heat.as_ref()?.range()
    }

    fn caption(&mut self, probe: &ProbeSpec, _: &ViewCtx<'_>) -> String {
        self.update_heat();
        let Shape::Histogram { of } = probe.shape else { return String::new() };
        let total: f32 = self.rows.back().map_or(0.0, |(_, counts)| counts.iter().sum());
        format!(
            "{of}  |  n = {} now  |  {} kept",
            kit::thousands(total as u64),
            kit::counted(self.rows.len() as u64, "histograms")
        )
    }

    fn toolbar_ui(&mut self, ui: &mut Ui, ctx: &mut ViewCtx<'_>, probe: &ProbeSpec) {
        ui.toggle_value(&mut self.has_ridges, "Ridges").on_hover_text("A line per time instead of a heat map");
        if ui.toggle_value(&mut self.is_log, "Log").on_hover_text("Logarithmic counts").changed() {
            self.is_stale = !self.rows.is_empty();
        }
        if let Some(range) = self.range().filter(|_| !self.has_ridges) {
            ctx.color_scales.range_ui(ui, probe.name, range);
        }
    }

    fn notice(&self, _: &ProbeSpec, _: &ViewCtx<'_>) -> Option<Notice> {
        self.rows.is_empty().then_some(Notice::NeedsRun("No values yet", "Run to see the histograms"))
    }

    fn contents_ui(&mut self, ui: &mut Ui, canvas: Rect, probe: &ProbeSpec, ctx: &mut ViewCtx<'_>) {
        if self.has_ridges { self.ridges_ui(ui, canvas, probe, ctx) } else { self.heat_ui(ui, canvas, probe, ctx) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_at_the_columns_of_their_steps() {
        let rows = [10, 20, 40, 50].into_iter().map(|step| (step, vec![])).collect();
        let mut view = Distribution { rows, ..Distribution::default() };
        let at = [10.0, 20.0, 30.0, 50.0].map(|step| view.column_of(step));
        assert_eq!(at, [0.125, 0.375, 0.5, 0.875]);
        view.rows.truncate(1);
        assert_eq!(view.column_of(10.0), 0.5);
    }

    #[test]
    fn a_long_run_is_thinned_evenly() {
        let mut view = Distribution::default();
        for step in 1..=5_000 {
            view.add(&Histogram {
                edges: Arc::new(vec![0.0, 1.0, 2.0]),
                steps: vec![step * 10],
                counts: vec![1.0, 2.0],
            });
        }
        assert!(view.rows.len() <= MAX_KEPT && view.rows.len() > MAX_KEPT / 4);
        let gaps: Vec<u64> = view.rows.iter().zip(view.rows.iter().skip(1)).map(|(a, b)| b.0 - a.0).collect();
        assert!(gaps.iter().all(|gap| *gap <= 2 * gaps[0] && gaps[0] <= 2 * *gap), "{gaps:?}");
        view.add(&Histogram { edges: Arc::new(vec![0.0, 3.0]), steps: vec![60_000], counts: vec![1.0] });
        assert_eq!(view.rows.len(), 1, "other bins begin again");
    }
}
