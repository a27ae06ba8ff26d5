//! Curves of the compared runs over a shared axis.

use super::{Compare, Line, base_of};
use crate::{
    app::{
        document::time::{Timeline, paint},
        kit,
        views::{
            ViewCtx,
            plot::{
                axes_choice::convert_extents,
                drawn::DrawnCurves,
                levels::{Levels, Placement},
                line::{limits, paint_line},
                samples::{Extent, Samples},
                smooth::Smooth,
            },
        },
    },
    sim::Clock,
};
use egui::{Align2, Rect, Sense, Stroke, Ui, Vec2};

const LEFT: f32 = 52.0;
const AXIS: f32 = 21.0;
/// Margins right of the plot and, for the title, above it, points.
const MARGIN: Vec2 = Vec2::new(14.0, 22.0);

impl Line {
    /// Returns the position of a step on the horizontal axis: simulated time, steps, items or wall time.
    pub(super) fn amount_at(&self, step: f64) -> f64 {
        self.scale.as_ref().map_or(step * self.series.base.per_step(), |scale| scale.curve.amount_at(step))
    }

    /// Returns the step at a position on the horizontal axis.
    pub(super) fn step_at(&self, amount: f64) -> f64 {
        self.scale.as_ref().map_or(amount / self.series.base.per_step(), |scale| scale.curve.step_at(amount))
    }

    /// Returns the extents of a lane at the visible steps of the first curve.
    fn extents(
        &self,
        samples: &Samples,
        lane: usize,
        (first, shown): (&Self, &Timeline),
        columns: usize,
    ) -> Vec<Extent> {
        let [from, to] = [shown.t0, shown.t1].map(|step| self.step_at(first.amount_at(step)));
        let own = Timeline::between(from, to).with_scale(self.scale.clone());
        samples.extents(lane, &samples.cuts_along(&own, columns))
    }
}

impl Compare {
    /// Returns the extents of a lane in the chosen unit.
    fn converted(&self, line: &Line, samples: &Samples, shown: (&Line, &Timeline), columns: usize) -> Vec<Extent> {
        let mut extents = line.extents(samples, self.lane, shown, columns);
        convert_extents(&mut extents, &self.unit(line), columns, |share| {
            line.step_at(shown.0.amount_at(shown.1.step_of(share)))
        });
        extents
    }

    /// Draws the curves. Returns the position under the pointer on the horizontal axis; `None` if the pointer is elsewhere or
    /// there are no curves.
    pub(super) fn chart_ui(
        &mut self,
        ui: &mut Ui,
        area: Rect,
        ctx: &ViewCtx<'_>,
        lines: &[Line],
        title: &str,
    ) -> Option<f64> {
        let base = base_of(lines)?;
        let first = lines.iter().find(|line| line.problem.is_none())?;
        let response = ui.interact(area, ui.scope_id().with("compare"), Sense::click_and_drag());
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Image, true, "Curves of the compared runs"));
        let plot = Rect::from_min_max(area.min + Vec2::new(LEFT, MARGIN.y), area.max - Vec2::new(MARGIN.x, AXIS));
        let shown = self.visible(ui, &response, plot, lines, first).with_scale(first.scale.clone());
        self.smooth(ui.ctx(), lines);
        let (painter, px) = (ui.painter_at(area), ui.pixels_per_point());
        let columns = (plot.width() * px) as usize;
        let drawn = || lines.iter().filter(|line| line.problem.is_none());
        let curves: Vec<(&Line, Vec<Extent>)> =
            drawn().map(|line| (line, self.converted(line, &line.series.samples, (first, &shown), columns))).collect();
        let (low, high) = limits(curves.iter().flat_map(|(_, extents)| extents), self.axes.is_log);
        let levels = self.unit(first).lines(&first.series.levels, first.series.steps.1);
        let levels = Levels::visible(&levels, shown.t0, shown.t1);
        // The range is that of the curves, so only reference values within it are drawn.
        let scale = self.axes.y_scale(low, high);
        let y = |v: f32| scale.y_of(plot, v.into());
        let inside = painter.with_clip_rect(plot.expand2(Vec2::new(0.0, 2.0)));
        let place = Placement { plot, x: |step| shown.x_of(plot, step), y };
        levels.paint(&inside, &place, ctx.tokens);
        let mut occupied = DrawnCurves::default();
        let x = |column: f32| plot.left() + column / px;
        let faint = if self.smooth_over > 0 { 0.3 } else { 1.0 };
        for (line, extents) in &curves {
            paint_line(&inside, extents, x, y, Stroke::new(1.25, line.color.gamma_multiply(faint)));
            occupied.add(extents, x, y);
        }
        for (line, _) in &curves {
            let smooth = line.folder.as_ref().and_then(|folder| self.smoothed.get(folder)).map(Smooth::samples);
            if let Some(samples) = smooth {
                let extents = self.converted(line, samples, (first, &shown), columns);
                paint_line(&inside, &extents, x, y, Stroke::new(1.5, line.color));
                occupied.add(&extents, x, y);
            }
        }
        levels.paint_names(&painter, &place, &occupied, (&kit::small(ui), ctx.tokens));
        kit::scale_axis(&painter, plot, &kit::mono(ui), ctx.tokens, &scale, "");
        let at = area.min + Vec2::new(LEFT + 4.0, 5.0);
        painter.text(at, Align2::LEFT_TOP, title, kit::small(ui), ctx.tokens.text);
        let clock = Clock { step: 0, base };
        shown.paint_axis(&painter, plot, &kit::mono(ui), ctx.tokens, clock);
        let at = response.hover_pos().filter(|at| plot.x_range().contains(at.x))?;
        let step = shown.step_at(plot, at.x).max(0.0);
        painter.vline(at.x, plot.y_range(), (1.0, ctx.tokens.text_sub));
        let shown_step = if base.is_count() { step.round() } else { step };
        let text = shown.scale.as_ref().map_or_else(|| kit::steps(shown_step, base), |scale| scale.text(step));
        paint::chip(&painter, plot, at.x, text, &kit::mono(ui), ctx.tokens);
        Some(first.amount_at(step))
    }

    /// Returns the visible steps of a run after the gestures of this frame.
    fn visible(&mut self, ui: &Ui, response: &egui::Response, plot: Rect, lines: &[Line], run: &Line) -> Timeline {
        // The current run may be much longer than the selected ones, so it does not set the range.
        let drawn = lines.iter().filter(|line| line.problem.is_none());
        let ends = drawn.filter(|line| line.folder.is_some()).map(|line| {
            let (first, last) = line.series.steps;
            let of_run = |step: u64| run.step_at(line.amount_at(step as f64));
            (of_run(first), of_run(last))
        });
        let (from, to) = ends.fold((f64::INFINITY, 0.0_f64), |(a, b), (from, to)| (a.min(from), b.max(to)));
        let whole = Timeline::between(from.min(to), to.max(from.min(to) + 1.0));
        let before = self.line.clone().unwrap_or_else(|| whole.clone());
        let mut line = before.clone();
        line.gestures(ui, response, plot);
        if line.follow {
            self.line = None;
            return whole;
        }
        if line != before {
            self.line = Some(line.clone());
        }
        line
    }

    /// Smooths data read since the last frame, and requests a repaint if some are left for the next frame.
    fn smooth(&mut self, ctx: &egui::Context, lines: &[Line]) {
        if self.smooth_over == 0 {
            return self.smoothed.clear();
        }
        for line in lines.iter().filter(|line| line.problem.is_none()) {
            let Some(folder) = &line.folder else { continue };
            let smooth = self.smoothed.entry(folder.clone()).or_default();
            if !smooth.follow(&line.series.samples, self.smooth_over, line.series.is_angle) {
                ctx.request_repaint();
            }
        }
    }
}
