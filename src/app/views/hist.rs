//! Histogram of a field for all elements and for the selected ones.

use super::{
    MenuEntry, MenuTarget, View, ViewCtx, ViewDeclaration,
    chosen::NamedProbe,
    fields::{self, ElementMask, Fields},
    hidden_text, menu, no_values_ui, unfit_ui,
};
use crate::{
    app::{
        document::{
            features::{has_probe, is_time_since, probes_where, tap},
            layout::Page,
            selection::Selection,
        },
        kit::{self, icons},
    },
    engine::SimSchema,
    num::circular::CircularSum,
    sim::{Frame, Meaning, ProbeId, ProbeSpec, Shape, Tap},
};
use egui::{Align2, Mesh, Rect, Sense, Ui, Vec2, pos2};

const BINS: usize = 60;
/// Minimum number of bins, so that a few values are not in too few bins.
const MIN_BINS: usize = 8;

/// The histogram view.
#[derive(Default)]
pub struct Histogram {
    field: NamedProbe,
    /// Whether counts are logarithmic; `None`: by default if there are many values.
    is_log: Option<bool>,
    fields: Fields,
    /// Generations of the counted values, selection and filter.
    counted: Option<(u64, u64, u64)>,
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
    /// Number of included elements without a value.
    left_out: u32,
    /// Mean of the values; mean direction of angles.
    mean: f64,
    /// Resultant length of angles; `None` for other values.
    resultant: Option<f64>,
}

fn is_field(shape: &Shape) -> bool {
    matches!(shape, Shape::Field { .. })
}

/// Selection of the values of a field that are counted.
struct Counting<'a> {
    meaning: Meaning,
    /// Range of the bins of angles.
    range: (f32, f32),
    included: &'a ElementMask,
}

impl Counting<'_> {
    /// Whether a value has a bin. Negative times since an event (never) and values that are not finite have none.
    fn has_value(&self, v: f32) -> bool {
        v.is_finite() && !(self.meaning == Meaning::TimeSince && v < 0.0)
    }

    fn counts(&self, element: usize, v: f32) -> bool {
        self.has_value(v) && self.included.has(element)
    }

    fn bounds(&self, values: &[f32]) -> (f32, f32) {
        if self.meaning == Meaning::Angle {
            return self.range;
        }
        let counted = values.iter().enumerate().filter(|(i, v)| self.counts(*i, **v));
        counted.fold((f32::INFINITY, f32::NEG_INFINITY), |(a, b), (_, v)| (a.min(*v), b.max(*v)))
    }

    fn count(&self, values: &[f32], selected: &[u32]) -> Counts {
        let n_included = (0..values.len()).filter(|i| self.included.has(*i)).count() as u32;
        let (low, high) = self.bounds(values);
        if low > high {
            return Counts { left_out: n_included, ..Counts::default() };
        }
        let n_bins = match self.meaning {
            Meaning::Angle => BINS,
            _ => n_bins(values.iter().enumerate().filter(|(i, v)| self.counts(*i, **v)).count()),
        };
        let width = bin_width(low, high, n_bins);
        let bin = |v: f32| bin(v, low, width, n_bins);
        let mut out = Counts { low, width, all: vec![0; n_bins], chosen: vec![0; n_bins], ..Counts::default() };
        let (mut sum, mut angles) = (0.0, CircularSum::default());
        for (_, v) in values.iter().enumerate().filter(|(i, v)| self.counts(*i, **v)) {
            out.all[bin(*v)] += 1;
            out.n += 1;
            sum += f64::from(*v);
            if self.meaning == Meaning::Angle {
                angles.add(f64::from(*v));
            }
        }
        for e in selected {
            if let Some(v) = values.get(*e as usize).filter(|v| self.counts(*e as usize, **v)) {
                out.chosen[bin(*v)] += 1;
            }
        }
        out.left_out = n_included - out.n;
        out.mean = if self.meaning == Meaning::Angle { angles.mean() } else { sum / f64::from(out.n.max(1)) };
        out.resultant = (self.meaning == Meaning::Angle).then(|| angles.resultant());
        out
    }

    /// Returns the elements whose values are in these bins.
    fn members(&self, values: &[f32], counts: &Counts, (from, to): (usize, usize)) -> Vec<u32> {
        let is_in = |v: f32| (from..=to).contains(&bin(v, counts.low, counts.width, counts.all.len()));
        let all = values.iter().enumerate().filter(|(i, v)| self.counts(*i, **v) && is_in(**v));
        all.map(|(e, _)| e as u32).collect()
    }
}

/// Returns the width of bins between two values. If these are equal, it is small relative to them.
fn bin_width(low: f32, high: f32, n_bins: usize) -> f32 {
    let scale = low.abs().max(high.abs());
    if high > low { ((high - low) / n_bins as f32).max(scale * 1e-6) } else { scale.max(1.0) * 1e-6 }
}

fn bin(v: f32, low: f32, width: f32, n_bins: usize) -> usize {
    (((v - low) / width).max(0.0) as usize).min(n_bins.max(1) - 1)
}

/// Minimum number of values whose counts are logarithmic by default.
const MANY: u32 = 1000;

/// Returns the number of bins for a number of values.
fn n_bins(n_values: usize) -> usize {
    ((2.0 * (n_values as f64).sqrt()) as usize).clamp(MIN_BINS, BINS)
}

impl Histogram {
    /// Returns the field shown: the chosen one, otherwise the first that is not a time since an event, or the first. `None`
    /// without fields.
    fn probe(&self, schema: &SimSchema) -> Option<(ProbeId, &'static ProbeSpec)> {
        let all: Vec<_> = probes_where(schema, is_field).collect();
        self.field.of(&all, |(_, probe)| !is_time_since(probe))
    }

    fn wanted(&self, schema: &SimSchema) -> Vec<ProbeId> {
        let Some((id, probe)) = self.probe(schema) else { return vec![] };
        let Shape::Field { over, .. } = probe.shape else { return vec![] };
        fields::wanted([Some(id), fields::mask(schema, over)])
    }

    /// Whether counts are logarithmic. By default they are for at least [`MANY`] values, because the bar of a single element would
    /// be invisible.
    fn is_log(&self) -> bool {
        self.is_log.unwrap_or(self.counts.n >= MANY)
    }

    fn caption(&self, unit: &str, n_hidden: u32) -> String {
        let c = &self.counts;
        let mean = match c.resultant {
            Some(r) => format!("circular mean {}  |  r = {r:.3}", kit::angle(c.mean)),
            None => format!("mean {}", kit::with_unit(c.mean, unit)),
        };
        let mut text = format!(
            "n = {}  |  bin {}  |  {mean}  |  counts, {}",
            kit::thousands(u64::from(c.n)),
            kit::with_unit(f64::from(c.width), unit),
            if self.is_log() { "log" } else { "linear" },
        );
        text += &hidden_text(n_hidden);
        if c.left_out > 0 {
            text += &format!("  |  {} without a value", kit::thousands(u64::from(c.left_out)));
        }
        text
    }

    /// Draws the plot. Returns its response, and the clicked or dragged range of bins.
    fn paint(
        &mut self,
        ui: &mut Ui,
        canvas: Rect,
        (title, noun): (&str, &str),
        ctx: &ViewCtx<'_>,
    ) -> (egui::Response, Option<(usize, usize)>) {
        let (c, is_log) = (&self.counts, self.is_log());
        let plot =
            Rect::from_min_max(canvas.min + Vec2::new(54.0, 22.0), canvas.max - Vec2::new(14.0, kit::TITLED_AXIS));
        let painter = ui.painter_at(canvas);
        let height = |n: u32| if is_log { f64::from(n).ln_1p() } else { f64::from(n) };
        let top = c.all.iter().map(|n| height(*n)).fold(1e-9, f64::max) * 1.05;
        let low = f64::from(c.low);
        let n_bins = c.all.len().max(1);
        let high = low + f64::from(c.width) * n_bins as f64;
        let mut mesh = Mesh::default();
        let step = plot.width() / n_bins as f32;
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
        if !is_log {
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
        kit::x_axis(&painter, plot, &font, ctx.tokens, low, high, "");
        kit::x_title(&painter, plot, &kit::small(ui), ctx.tokens, title);
        let counted = format!("{} per bin", kit::spaced(noun));
        painter.text(canvas.min + Vec2::new(58.0, 5.0), Align2::LEFT_TOP, counted, kit::small(ui), ctx.tokens.text_sub);
        let response = ui.interact(plot, ui.scope_id().with("histogram"), Sense::click_and_drag());
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Image, true, "Histogram"));
        let bin_at = |x: f32| (((x - plot.left()) / step).max(0.0) as usize).min(n_bins - 1);
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
            let text = format!(
                "{span}\n{}, {} selected",
                kit::counted(u64::from(c.all[i]), noun),
                kit::thousands(c.chosen[i].into())
            );
            return (response.on_hover_text_at_pointer(text), caught);
        }
        (response, caught)
    }
}

impl Histogram {
    pub const DECLARATION: ViewDeclaration = ViewDeclaration {
        name: "histogram",
        title: "Histogram",
        icon: icons::GRID,
        help: "# Histogram\n\nDistribution of a field over all elements, with the selected ones in \
         the accent colour. The width of a bin is in the caption. A click selects the elements of a bin, a drag those \
         of all bins it covers; **Ctrl** adds them.",
        gestures: &[("hover", "count of a bin")],
        pages: &[Page::Explore, Page::Simulate],
        fits: |schema| has_probe(schema, is_field),
        menu: Some(MenuEntry::plot(2, "Histogram")),
        ..ViewDeclaration::of::<Self>()
    };
}

impl View for Histogram {
    fn declaration(&self) -> &'static ViewDeclaration {
        &Self::DECLARATION
    }

    fn show_probe(&mut self, schema: &SimSchema, probe: ProbeId) {
        self.field = NamedProbe::named(schema, probe);
        self.reset(schema);
    }

    fn taps(&self, schema: &SimSchema, _: &Selection) -> Vec<Tap> {
        self.wanted(schema).into_iter().map(tap).collect()
    }

    fn reset(&mut self, _: &SimSchema) {
        self.fields.clear();
    }

    fn absorb(&mut self, schema: &SimSchema, frame: &Frame) {
        let wanted = self.wanted(schema);
        self.fields.absorb(frame, &wanted);
    }

    fn ui(&mut self, ui: &mut Ui, ctx: &mut ViewCtx<'_>) {
        let shown = self.probe(ctx.schema).and_then(|(id, probe)| match probe.shape {
            Shape::Field { over, range, meaning } => Some((id, probe, over, range, meaning)),
            _ => None,
        });
        let Some((id, probe, over, range, meaning)) = shown else {
            return unfit_ui(ui, ctx, ["No fields", "The histogram needs a field"]);
        };
        let set = ctx.schema.set(over).cloned();
        let values = self.fields.get(id).cloned().unwrap_or_default();
        let included = ElementMask::of(ctx.schema, over, &self.fields, ctx.filter.shown());
        let counting = Counting { meaning, range, included: &included };
        let key = (self.fields.generation, ctx.selection.generation, ctx.filter.shown().generation);
        if self.counted != Some(key) {
            self.counted = Some(key);
            self.counts = counting.count(&values, ctx.selection.of(over));
        }
        let n_hidden = set.as_ref().map_or(0, |set| ctx.filter.shown().n_hidden(set));
        let caption = self.caption(probe.unit, n_hidden);
        let canvas = kit::panel_ui(ui, ctx.tokens, Some(&caption), |ui| {
            let all: Vec<_> = probes_where(ctx.schema, is_field).collect();
            if self.field.ui(ui, ctx, "Field", probe, &fields::named(&all)) {
                self.fields.clear();
            }
            let mut is_log = self.is_log();
            if ui.toggle_value(&mut is_log, "Log").on_hover_text("Logarithmic counts").changed() {
                self.is_log = Some(is_log);
            }
        });
        if self.counts.n == 0 {
            let notice = ["No values yet", "Run to see the distribution"];
            return no_values_ui(ui, canvas, ctx, (n_hidden, "a value"), notice);
        }
        if !kit::fill_ui(ui, canvas, ctx.tokens) {
            return;
        }
        let (response, caught) = self.paint(ui, canvas, (&crate::app::kit::text::probe_title(probe), over), ctx);
        let Some(set) = set else { return };
        if let Some(bins) = caught {
            let modifiers = ui.input(|i| i.modifiers);
            ctx.selection.apply_area(set.name, counting.members(&values, &self.counts, bins), modifiers);
        }
        response.context_menu(|ui| {
            let subject = MenuTarget::at(ctx, &set, None);
            menu::ui(ui, ctx, &set, &subject);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f32::consts::PI;

    #[test]
    fn every_element_is_counted_once() {
        let values: Vec<f32> = (0..1000).map(|i| i as f32).chain([f32::NAN, -1.0]).collect();
        let included = ElementMask::default();
        let counting = Counting { meaning: Meaning::TimeSince, range: (0.0, 1.0), included: &included };
        let counts = counting.count(&values, &[0, 1, 999]);
        assert_eq!((counts.n, counts.left_out), (1000, 2));
        assert_eq!(counts.all.iter().sum::<u32>(), 1000);
        assert_eq!(counts.chosen.iter().sum::<u32>(), 3);
        assert_eq!(counting.members(&values, &counts, (0, BINS - 1)).len(), 1000);
        assert_eq!(counting.members(&values, &counts, (0, 0)), (0..=16).collect::<Vec<_>>());
        assert_eq!(counting.count(&[f32::NAN], &[]).n, 0);
    }

    #[test]
    fn angles_have_a_circular_mean_and_masked_elements_do_not_count() {
        let angles = [3.1, -3.1, 3.0, -3.0, 1.0];
        let included = ElementMask::masked(Some(std::sync::Arc::new(vec![1.0, 1.0, 1.0, 1.0, 0.0])));
        let counting = Counting { meaning: Meaning::Angle, range: (-PI, PI), included: &included };
        let counts = counting.count(&angles, &[4]);
        assert_eq!((counts.n, counts.left_out, counts.chosen.iter().sum::<u32>()), (4, 0, 0));
        assert!(counts.mean.abs() > f64::from(PI) - 0.001, "{}: the linear mean is 0", counts.mean);
        assert!(counts.resultant.is_some_and(|r| r > 0.99));
        assert_eq!((counts.low, counts.all[0], counts.all[BINS - 1]), (-PI, 1, 1), "bins cover the whole turn");
    }

    /// Ratios around 2e-7 have bars over the whole range, and their mean is not shown as 0.
    #[test]
    fn small_values_have_bars_and_a_mean() {
        let values: Vec<f32> = (0..600).map(|i| 1e-7 * (1.0 + i as f32 / 299.5)).collect();
        let included = ElementMask::default();
        let counting = Counting { meaning: Meaning::Number, range: (0.0, 1.0), included: &included };
        let counts = counting.count(&values, &[]);
        assert!(counts.all.iter().all(|n| *n > 0), "{:?}", counts.all);
        let caption = |counts: Counts| Histogram { counts, ..Histogram::default() }.caption("", 0);
        assert!(caption(counts).contains("  |  mean 2e-7  |"), "the mean of 1e-7 to 3e-7");
        let ratios = counting.count(&[0.0001, 0.0003], &[]);
        assert!(caption(ratios).contains("  |  mean 0.0002  |"));
        let equal = counting.count(&[5.0, 5.0], &[]);
        assert_eq!((equal.n, equal.all.iter().sum::<u32>()), (2, 2));
    }
}
