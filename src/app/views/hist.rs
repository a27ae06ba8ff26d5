//! Histogram of a field: all elements, and the selected ones.

use super::{MenuTarget, Selection, View, ViewCtx, kit, menu, probes_where, run_ui, tap};
use crate::{
    engine::SimSchema,
    sim::{Frame, ProbeId, ProbeSpec, Reading, Shape, Tap},
};
use egui::{Align2, Mesh, Rect, Sense, Ui, Vec2, pos2};

const BINS: usize = 60;

/// The histogram view.
#[derive(Default)]
pub struct Histogram {
    field: Option<&'static str>,
    is_linear: bool,
    values: Vec<f32>,
    generation: u64,
    counted: Option<(u64, u64)>,
    counts: Counts,
    dragged_from: Option<usize>,
}

#[derive(Default)]
struct Counts {
    low: f32,
    width: f32,
    all: Vec<u32>,
    chosen: Vec<u32>,
    n: u32,
    left_out: u32,
    mean: f64,
}

fn is_field(shape: &Shape) -> bool {
    matches!(shape, Shape::Field { .. })
}

/// Counts finite values; negative times since an event (never) are skipped and reported.
fn count(values: &[f32], chosen: &[u32], skip_negative: bool) -> Counts {
    let counts = |v: &&f32| v.is_finite() && !(skip_negative && **v < 0.0);
    let (low, high) =
        values.iter().filter(counts).fold((f32::INFINITY, f32::NEG_INFINITY), |(a, b), v| (a.min(*v), b.max(*v)));
    if low > high {
        return Counts { left_out: values.len() as u32, ..Counts::default() };
    }
    let width = ((high - low) / BINS as f32).max(1e-6);
    let bin = |v: f32| (((v - low) / width) as usize).min(BINS - 1);
    let mut out = Counts { low, width, all: vec![0; BINS], chosen: vec![0; BINS], ..Counts::default() };
    let mut sum = 0.0;
    for v in values.iter().filter(counts) {
        out.all[bin(*v)] += 1;
        out.n += 1;
        sum += f64::from(*v);
    }
    for v in chosen.iter().filter_map(|e| values.get(*e as usize)).filter(counts) {
        out.chosen[bin(*v)] += 1;
    }
    out.left_out = values.len() as u32 - out.n;
    out.mean = sum / f64::from(out.n.max(1));
    out
}

impl Histogram {
    /// The field shown: the user's choice, else the first that is not a time since an event.
    fn probe(&self, schema: &SimSchema) -> Option<(ProbeId, &'static ProbeSpec)> {
        let chosen = probes_where(schema, is_field).find(|(_, p)| Some(p.name) == self.field);
        let plain = || probes_where(schema, is_field).find(|(_, p)| !super::view_3d::is_time_since(p));
        chosen.or_else(plain).or_else(|| probes_where(schema, is_field).next())
    }

    fn caption(&self, unit: &str) -> String {
        let c = &self.counts;
        let mut text = format!(
            "n = {}  |  bin {}  |  mean {}  |  counts, {}",
            kit::thousands(u64::from(c.n)),
            kit::with_unit(f64::from(c.width), unit),
            kit::with_unit((c.mean * 1000.0).round() / 1000.0, unit),
            if self.is_linear { "linear" } else { "log" },
        );
        if c.left_out > 0 {
            text += &format!("  |  {} without a value", kit::thousands(u64::from(c.left_out)));
        }
        text
    }

    /// Draws the plot; returns the clicked or dragged range of bins.
    fn paint(
        &mut self,
        ui: &mut Ui,
        canvas: Rect,
        title: &str,
        ctx: &ViewCtx<'_>,
    ) -> (egui::Response, Option<(usize, usize)>) {
        let c = &self.counts;
        let plot = Rect::from_min_max(canvas.min + Vec2::new(54.0, 22.0), canvas.max - Vec2::new(14.0, 21.0));
        let painter = ui.painter_at(canvas);
        let height = |n: u32| if self.is_linear { f64::from(n) } else { f64::from(n).ln_1p() };
        let top = c.all.iter().map(|n| height(*n)).fold(1e-9, f64::max) * 1.05;
        let low = f64::from(c.low);
        let high = low + f64::from(c.width) * BINS as f64;
        let mut mesh = Mesh::default();
        let step = plot.width() / BINS as f32;
        let bar = |i: usize, n: u32| {
            let y = plot.bottom() - (height(n) / top) as f32 * plot.height();
            let left = plot.left() + i as f32 * step;
            Rect::from_min_max(pos2(left + 0.5, y), pos2(left + step - 0.5, plot.bottom()))
        };
        for (i, n) in c.all.iter().enumerate().filter(|(_, n)| **n > 0) {
            mesh.add_colored_rect(bar(i, *n), ctx.tokens.categorical[4].gamma_multiply(0.75));
        }
        for (i, n) in c.chosen.iter().enumerate().filter(|(_, n)| **n > 0) {
            mesh.add_colored_rect(bar(i, *n), ctx.tokens.accent);
        }
        painter.add(mesh);
        let font = kit::mono(ui);
        if self.is_linear {
            kit::y_axis(&painter, plot, &font, ctx.tokens, 0.0, top, "");
        } else {
            painter.vline(plot.left(), plot.y_range(), (1.0, ctx.tokens.line));
            let mut last = f32::INFINITY;
            for n in (0..7).map(|e| 10u32.pow(e)).filter(|n| height(*n) < top) {
                let y = plot.bottom() - (height(n) / top) as f32 * plot.height();
                painter.hline(plot.left()..=plot.left() + 3.0, y, (1.0, ctx.tokens.text_sub));
                if last - y < kit::LINE {
                    continue;
                }
                last = y;
                let at = pos2(plot.left() - 5.0, y);
                painter.text(at, Align2::RIGHT_CENTER, kit::thousands(u64::from(n)), font.clone(), ctx.tokens.text_sub);
            }
        }
        kit::x_axis(&painter, plot, &font, ctx.tokens, low, high, title);
        painter.text(
            canvas.min + Vec2::new(58.0, 5.0),
            Align2::LEFT_TOP,
            "elements",
            kit::small(ui),
            ctx.tokens.text_sub,
        );
        let response = ui.interact(plot, ui.scope_id().with("histogram"), Sense::click_and_drag());
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Image, true, "Histogram"));
        let bin_at = |x: f32| (((x - plot.left()) / step).max(0.0) as usize).min(BINS - 1);
        let here = response.interact_pointer_pos().or(response.hover_pos()).map(|at| bin_at(at.x));
        if response.drag_started_by(egui::PointerButton::Primary) {
            self.dragged_from = ui.input(|i| i.pointer.press_origin()).map(|at| bin_at(at.x));
        }
        let mut caught = None;
        if let (Some(from), Some(to)) = (self.dragged_from, here) {
            let (a, b) = (from.min(to), from.max(to));
            let x = |bin: usize| plot.left() + bin as f32 * step;
            let area = Rect::from_x_y_ranges(x(a)..=x(b + 1), plot.y_range());
            painter.rect_filled(area, 0.0, ctx.tokens.accent.gamma_multiply(0.12));
            if response.drag_stopped() {
                caught = Some((a, b));
            }
        } else if response.clicked() {
            caught = here.map(|bin| (bin, bin));
        }
        if !response.dragged() {
            self.dragged_from = None;
        }
        if let Some(at) = response.hover_pos() {
            let c = &self.counts;
            let i = bin_at(at.x);
            let from = low + f64::from(c.width) * i as f64;
            let span = format!("{} to {}", kit::value(from), kit::value(from + f64::from(c.width)));
            let text = format!("{span}\n{} elements, {} selected", kit::thousands(u64::from(c.all[i])), c.chosen[i]);
            return (response.on_hover_text_at_pointer(text), caught);
        }
        (response, caught)
    }

    /// The elements whose values fall into these bins.
    fn members(&self, (from, to): (usize, usize), skip_negative: bool) -> Vec<u32> {
        let c = &self.counts;
        let bin = |v: f32| (((v - c.low) / c.width) as usize).min(BINS - 1);
        let is_in = |v: f32| v.is_finite() && !(skip_negative && v < 0.0) && (from..=to).contains(&bin(v));
        self.values.iter().enumerate().filter(|(_, v)| is_in(**v)).map(|(e, _)| e as u32).collect()
    }
}

impl View for Histogram {
    fn name(&self) -> &'static str {
        "histogram"
    }

    fn title(&self, _: &SimSchema) -> String {
        "Histogram".into()
    }

    fn taps(&self, schema: &SimSchema, _: &Selection) -> Vec<Tap> {
        self.probe(schema).map(|(id, _)| tap(id)).into_iter().collect()
    }

    fn reset(&mut self, _: &SimSchema) {
        self.values.clear();
        self.generation += 1;
    }

    fn absorb(&mut self, schema: &SimSchema, frame: &Frame) {
        let reading = self.probe(schema).and_then(|(id, _)| frame.reading(id));
        if let Some(Reading::Field(values)) = reading {
            self.values.clone_from(values);
            self.generation += 1;
        }
    }

    fn ui(&mut self, ui: &mut Ui, ctx: &mut ViewCtx<'_>) {
        let Some((_, probe)) = self.probe(ctx.schema) else {
            let canvas = ui.available_rect_before_wrap();
            kit::empty_ui(ui, canvas, ctx, "No fields", "The histogram needs a field", None);
            return;
        };
        let Shape::Field { over, .. } = probe.shape else { return };
        let key = (self.generation, ctx.selection.generation);
        if self.counted != Some(key) {
            self.counted = Some(key);
            self.counts = count(&self.values, ctx.selection.of(over), super::view_3d::is_time_since(probe));
        }
        let caption = self.caption(probe.unit);
        let canvas = kit::panel_ui(ui, ctx.tokens, Some(&caption), |ui| {
            let name = |p: &ProbeSpec| kit::spaced(p.name);
            let options: Vec<_> = probes_where(ctx.schema, is_field).map(|(_, p)| (Some(p.name), name(p))).collect();
            let mut chosen = Some(probe.name);
            if kit::choice_ui(ui, ctx.tokens, "Field", &mut chosen, &options) {
                self.field = chosen;
                self.values.clear();
                self.generation += 1;
            }
            let mut is_log = !self.is_linear;
            ui.toggle_value(&mut is_log, "Log").on_hover_text("Logarithmic counts");
            self.is_linear = !is_log;
        });
        if self.counts.n == 0 {
            return run_ui(ui, canvas, ctx, "No values yet", "Run to see the distribution");
        }
        ui.painter().rect_filled(canvas, 0.0, ctx.tokens.canvas);
        if kit::tiny_ui(ui, canvas, ctx.tokens) {
            return;
        }
        let name = kit::spaced(probe.name);
        let title = if probe.unit.is_empty() { name } else { format!("{name} ({})", probe.unit) };
        let (response, caught) = self.paint(ui, canvas, &title, ctx);
        let Some(set) = ctx.schema.set(over).cloned() else { return };
        if let Some(bins) = caught {
            let modifiers = ui.input(|i| i.modifiers);
            ctx.selection.apply_area(set.name, self.members(bins, super::view_3d::is_time_since(probe)), modifiers);
        }
        response.context_menu(|ui| {
            let subject = MenuTarget::at(ctx, &set, None);
            menu::ui(ui, ctx, &set, &subject);
        });
    }

    fn icon(&self) -> &'static str {
        crate::app::icons::GRID
    }

    fn gestures(&self) -> &'static [(&'static str, &'static str)] {
        &[("hover", "count of a bin")]
    }

    fn help(&self) -> &'static str {
        "# Histogram\n\nDistribution of a field over all elements, with the selected ones in \
         the accent colour. The width of a bin is in the caption. A click selects the elements of a bin, a drag those \
         of all bins it covers; **Ctrl** adds them."
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_element_is_counted_once() {
        let values: Vec<f32> = (0..1000).map(|i| i as f32).chain([f32::NAN, -1.0]).collect();
        let counts = count(&values, &[0, 1, 999], true);
        assert_eq!((counts.n, counts.left_out), (1000, 2));
        assert_eq!(counts.all.iter().sum::<u32>(), 1000);
        assert_eq!(counts.chosen.iter().sum::<u32>(), 3);
        assert_eq!(count(&[f32::NAN], &[], false).n, 0);
        let hist = Histogram { values, counts, ..Histogram::default() };
        assert_eq!(hist.members((0, BINS - 1), true).len(), 1000);
        assert_eq!(hist.members((0, 0), true), (0..=16).collect::<Vec<_>>());
    }
}
