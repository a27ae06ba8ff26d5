//! A chart of the rates view: the curves of one or several probes over a shared vertical axis, with reference values.

use super::{
    LEFT, LEGEND_ROW, MIN_NAMED, MIN_ROWS, NARROW, Rates, XAxis,
    trial_mean::{band, paint_band},
};
use crate::{
    app::{
        document::time::paint,
        kit::{self, colors, legend::figure_legend, theme::Tokens},
        views::{
            ViewCtx,
            plot::{
                axes_choice::{convert_extents, title_in},
                drawn::DrawnCurves,
                lane_colors::lane_colors,
                levels::{Levels, Placement},
                line::{limits, paint_line, paint_points},
                samples::{Cuts, Extent, Samples},
                smooth::Smooth,
            },
        },
    },
    engine::SimSchema,
    sim::{Level, ProbeId, SeriesUnit},
};
use egui::{Align2, Color32, Painter, Rect, Stroke, Ui, Vec2, pos2};

/// Maximum number of samples of a curve that are drawn as points, in a chart of several probes.
const MAX_POINTS: usize = 64;

/// A lane of a probe in a chart.
pub(super) struct Curve {
    /// The probe, and the number of the lane.
    pub key: (ProbeId, usize),
    pub name: String,
    pub color: Color32,
}

/// Drawn part of a curve.
struct Drawn<'a> {
    curve: &'a Curve,
    raw: Vec<Extent>,
    /// Empty without smoothing.
    smooth: Vec<Extent>,
    /// Mean of the trials ± SD; empty if one trial is shown.
    band: Vec<Extent>,
}

impl Rates {
    /// Returns the unit in which a series is shown.
    pub(super) fn unit<'a>(&self, schema: &'a SimSchema, probe: ProbeId) -> SeriesUnit<'a> {
        SeriesUnit::of(schema.levels(probe), &self.axes.unit)
    }

    /// Returns the value of a lane at a step, or its newest value, in the chosen unit; `None` if there is no value.
    pub(super) fn value_at(&self, schema: &SimSchema, key: (ProbeId, usize), at: Option<f64>) -> Option<f32> {
        let (samples, step) = (self.series.get(&key.0)?, at.unwrap_or(self.clock.step as f64));
        let value = at.map_or_else(|| samples.last(key.1), |step| samples.at(key.1, step))?;
        Some(self.unit(schema, key.0).convert(value.into(), step) as f32)
    }

    /// Returns the reference lines of a probe in the chosen unit.
    pub(super) fn lines(&self, schema: &SimSchema, probe: ProbeId) -> Vec<Level> {
        self.unit(schema, probe).lines(schema.levels(probe), self.clock.step)
    }

    /// Returns the lanes of the probes of a chart. Several probes have different colours.
    pub(super) fn curves(&self, ctx: &ViewCtx<'_>, probes: &[ProbeId]) -> Vec<Curve> {
        let mut curves: Vec<Curve> = vec![];
        for probe in probes {
            let names = ctx.schema.lanes.get(usize::from(*probe)).map_or(&[][..], Vec::as_slice);
            let label = ctx.schema.probes[usize::from(*probe)].label();
            for (lane, color) in lane_colors(ctx.schema, names, ctx.tokens).into_iter().enumerate() {
                let name = match (names.get(lane), probes.len()) {
                    (Some(name), 1) if names.len() > 1 => name.clone(),
                    (Some(name), _) if names.len() > 1 => format!("{label}, {name}"),
                    _ => label.clone().into_owned(),
                };
                let color = if probes.len() > 1 { colors::categorical(curves.len(), ctx.tokens) } else { color };
                curves.push(Curve { key: (*probe, lane), name, color });
            }
        }
        curves
    }

    /// Returns the visible parts of the shown curves in the chosen unit.
    fn drawn<'a>(&self, schema: &SimSchema, curves: &'a [Curve], columns: usize) -> Vec<Drawn<'a>> {
        let mut drawn = vec![];
        for of_probe in curves.chunk_by(|a, b| a.key.0 == b.key.0) {
            let probe = of_probe[0].key.0;
            let Some(samples) = self.series.get(&probe) else { continue };
            let unit = self.unit(schema, probe);
            let smooth = self.smoothed.get(&probe).filter(|_| self.smooth_over > 0).map(Smooth::samples);
            // The lanes of a probe have the same columns.
            let cut = |samples: &Samples| samples.cuts_along(&self.line, columns);
            let (cuts, smooth) = (cut(samples), smooth.map(|smooth| (smooth, cut(smooth))));
            let deviations = self.trial_mean.deviations(schema, probe).map(|sd| (sd, cut(sd)));
            let converted = |mut extents: Vec<Extent>| {
                convert_extents(&mut extents, &unit, columns, |share| self.line.step_of(share));
                extents
            };
            let extents = |samples: &Samples, cuts: &Cuts, lane: usize| converted(samples.extents(lane, cuts));
            for curve in of_probe.iter().filter(|curve| !self.hidden_lanes.contains(&curve.key)) {
                let lane = curve.key.1;
                let smooth = smooth.as_ref().map(|(samples, cuts)| extents(samples, cuts, lane)).unwrap_or_default();
                let around = |(sd, of_sd): &(&Samples, Cuts)| {
                    converted(band(&samples.extents(lane, &cuts), &sd.extents(lane, of_sd)))
                };
                let band = deviations.as_ref().map(around).unwrap_or_default();
                drawn.push(Drawn { curve, raw: extents(samples, &cuts, lane), smooth, band });
            }
        }
        drawn
    }

    /// Hatches the times without samples.
    fn gaps_ui(&self, painter: &Painter, plot: Rect, probes: &[ProbeId], ctx: &ViewCtx<'_>) {
        let x = |step| self.line.x_of(plot, step);
        // Each of several curves shows by itself where it has no samples.
        let Some(samples) = probes.iter().find_map(|probe| self.series.get(probe)) else {
            if probes.iter().all(|probe| ctx.schema.unrecorded.contains(probe)) {
                paint::not_recorded(painter, plot, &ctx.time.past.whole(), ctx.tokens, x);
            }
            return;
        };
        paint::not_recorded(painter, plot, &samples.gaps(self.line.t0, self.line.t1), ctx.tokens, x);
        paint::other_lanes(painter, plot, &samples.former(self.line.t0, self.line.t1), ctx.tokens, x);
    }

    /// Draws a chart. `right` is the width of the legends, and `at` the step of the shown values.
    pub(super) fn chart_ui(
        &mut self,
        ui: &mut Ui,
        area: Rect,
        probes: &[ProbeId],
        ctx: &ViewCtx<'_>,
        right: f32,
        at: Option<f64>,
    ) {
        let plot = Rect::from_min_max(area.min + Vec2::new(LEFT, 20.0), area.max - Vec2::new(right, 0.0));
        let painter = ui.painter_at(area.expand(1.0));
        let curves = self.curves(ctx, probes);
        let is_figure = kit::is_staged(ui.ctx());
        let plot = match is_figure && curves.len() > 1 {
            true => {
                let mut entries = self.entries(&curves, &vec![None; curves.len()], true, ctx.schema);
                entries.retain(|entry| entry.is_shown);
                figure_legend(&painter, plot, &kit::small(ui), ctx.tokens, &entries)
            }
            false => plot,
        };
        if self.axes.x != XAxis::WallTime {
            self.gaps_ui(&painter, plot, probes, ctx);
        }
        if probes.iter().any(|probe| self.series.contains_key(probe)) {
            self.curves_ui(ui, &painter, plot, probes[0], &curves, ctx);
        }
        let values: Vec<Option<f32>> = curves.iter().map(|c| self.value_at(ctx.schema, c.key, at)).collect();
        let title = self.title(ctx.schema, probes);
        let only = if curves.len() == 1 && !is_figure { values[0] } else { None };
        let end = title_ui(ui, &painter, area, title, only, ctx.tokens);
        if curves.len() == 1 || is_figure {
            return;
        }
        let entries = self.entries(&curves, &values, false, ctx.schema);
        // The names of a low chart, and those of few probes, are in a row above it.
        let n_fitting = (area.height() / LEGEND_ROW) as usize;
        if probes.len() == 1 && right >= NARROW && n_fitting >= entries.len().min(MIN_ROWS) {
            let area = Rect::from_min_max(pos2(plot.right() + 8.0, area.top()), area.max);
            self.legend_ui(ui, area, &curves, &entries, ctx.tokens);
        } else {
            let row = Rect::from_min_max(pos2(end + 10.0, area.top() + 2.0), pos2(plot.right(), area.top() + 19.0));
            self.names_ui(ui, row, (&curves, &entries), probes.len() > 1, ctx.tokens);
        }
    }

    /// Returns the title of a chart with its unit: the label of its probe, or the common words of the labels of several
    /// probes.
    fn title(&self, schema: &SimSchema, probes: &[ProbeId]) -> String {
        let labels: Vec<String> =
            probes.iter().map(|id| schema.probes[usize::from(*id)].label().into_owned()).collect();
        let (own, unit) = (schema.probes[usize::from(probes[0])].unit, self.unit(schema, probes[0]));
        title_in(&common_label(&labels), own, &unit, &self.axes.unit)
    }

    /// Draws axis, reference values and curves.
    fn curves_ui(&self, ui: &Ui, painter: &Painter, plot: Rect, first: ProbeId, curves: &[Curve], ctx: &ViewCtx<'_>) {
        let px = ui.pixels_per_point();
        let drawn = self.drawn(ctx.schema, curves, (plot.width() * px) as usize);
        let mut lines = self.lines(ctx.schema, first);
        lines.retain(|level| !self.axes.is_log || level.value > 0.0);
        let levels = Levels::visible(&lines, self.line.t0, self.line.t1);
        let (low, high) =
            levels.widen(limits(drawn.iter().flat_map(|d| d.raw.iter().chain(&d.band)), self.axes.is_log));
        let scale = self.axes.y_scale(low, high);
        kit::scale_axis(painter, plot, &kit::mono(ui), ctx.tokens, &scale, "");
        painter.hline(plot.x_range(), plot.bottom(), (1.0, ctx.tokens.line));
        let y = |v: f32| scale.y_of(plot, v.into());
        let inside = painter.with_clip_rect(plot.expand2(Vec2::new(0.0, 2.0)).intersect(painter.clip_rect()));
        let place = Placement { plot, x: |step| self.line.x_of(plot, step), y };
        levels.paint(&inside, &place, ctx.tokens);
        let occupied = paint_curves(&inside, &drawn, |column| plot.left() + column / px, y);
        // A low chart has room only for the lines.
        if plot.height() >= MIN_NAMED {
            levels.paint_names(painter, &place, &occupied, (&kit::small(ui), ctx.tokens));
        }
    }
}

/// Draws curves, the raw data of smoothed ones faint. Returns the drawn curves, in points.
fn paint_curves(
    painter: &Painter,
    drawn: &[Drawn<'_>],
    x: impl Fn(f32) -> f32 + Copy,
    y: impl Fn(f32) -> f32 + Copy,
) -> DrawnCurves {
    let mut occupied = DrawnCurves::default();
    let has_several = drawn.iter().any(|d| d.curve.key.0 != drawn[0].curve.key.0);
    for Drawn { curve, band, .. } in drawn {
        paint_band(painter, band, x, y, curve.color);
    }
    for Drawn { curve, raw, smooth, .. } in drawn {
        let faint = if smooth.is_empty() { 1.0 } else { 0.3 };
        paint_line(painter, raw, x, y, Stroke::new(1.25, curve.color.gamma_multiply(faint)));
        if has_several && raw.len() <= MAX_POINTS {
            paint_points(painter, raw, x, y, curve.color);
        }
        occupied.add(raw, x, y);
    }
    for Drawn { curve, smooth, .. } in drawn {
        paint_line(painter, smooth, x, y, Stroke::new(1.5, curve.color));
        occupied.add(smooth, x, y);
    }
    occupied
}

/// Returns the words with which all labels end, in sentence case; all labels if there are none.
fn common_label(labels: &[String]) -> String {
    let words: Vec<Vec<&str>> = labels.iter().map(|label| label.split(' ').rev().collect()).collect();
    let is_common = |i: &usize| words.iter().all(|of| of.get(*i).is_some_and(|word| Some(word) == words[0].get(*i)));
    let n = (0..).take_while(is_common).take(words.first().map_or(0, Vec::len)).count();
    if labels.len() < 2 || n == 0 {
        return labels.join(", ");
    }
    let common: Vec<&str> = words[0][..n].iter().rev().copied().collect();
    kit::text::title(&common.join(" "))
}

/// Draws a chart's title and, with a single lane, its value. Returns the right edge of the text.
fn title_ui(ui: &Ui, painter: &Painter, area: Rect, title: String, value: Option<f32>, tokens: &Tokens) -> f32 {
    let at = area.min + Vec2::new(LEFT + 4.0, 3.0);
    let rect = painter.text(at, Align2::LEFT_TOP, title, kit::small(ui), tokens.text);
    if let Some(value) = value {
        let at = pos2(rect.right() + 10.0, rect.center().y);
        let value = kit::reading(value);
        return painter.text(at, Align2::LEFT_CENTER, value, kit::mono(ui), tokens.text_strong).right();
    }
    rect.right()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_probes_are_titled_by_what_their_labels_share() {
        let labels = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        assert_eq!(common_label(&labels(&["Training loss", "Held-out loss"])), "Loss");
        assert_eq!(common_label(&labels(&["Loss", "Rate"])), "Loss, Rate");
        assert_eq!(common_label(&labels(&["Loss", "Loss"])), "Loss");
        assert_eq!(common_label(&labels(&["Training loss"])), "Training loss");
    }
}
