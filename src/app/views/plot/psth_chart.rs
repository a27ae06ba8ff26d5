//! Painting of rates counted from spikes, with their legend.

use super::{
    line::range,
    onsets::OnsetWindows,
    psth::{Curve, Psth},
};
use crate::{
    app::{
        document::time::Timeline,
        kit::{
            self, colors,
            legend::{self, LegendEntry, figure_legend},
        },
        views::ViewCtx,
    },
    sim::ElementSet,
};
use egui::{Align2, Color32, Painter, Rect, Stroke, Ui, Vec2, pos2};

/// Height of a row of the legend, points.
const ROW: f32 = 15.0;
/// Height of the aligned time axis, points.
const AXIS: f32 = 18.0;

/// Draws the chart; `noun` names the counted events. `left` and `right` are the distances of the plot from the edges of the
/// area, points.
pub fn paint(
    ui: &mut Ui,
    area: Rect,
    (left, right): (f32, f32),
    psth: &Psth,
    (set, noun): (&ElementSet, &str),
    line: &Timeline,
    ctx: &ViewCtx<'_>,
) {
    let around = psth.curves().and_then(|c| c.around.as_ref());
    let axis = if around.is_some() { AXIS } else { 0.0 };
    let plot = Rect::from_min_max(area.min + Vec2::new(left, 20.0), area.max - Vec2::new(right, axis));
    let painter = ui.painter_at(area.expand(1.0));
    let title = psth.title(set, noun, ctx.clock);
    painter.text(area.min + Vec2::new(left + 4.0, 3.0), Align2::LEFT_TOP, title, kit::small(ui), ctx.tokens.text);
    let Some(curves) = psth.curves() else { return };
    let is_figure = kit::is_staged(ui.ctx());
    let plot = match is_figure {
        true => {
            let entries: Vec<LegendEntry> = (curves.list.iter().enumerate())
                .map(|(i, curve)| LegendEntry::new(label(curve, psth), color(curve, i, set, psth, ctx)))
                .collect();
            figure_legend(&painter, plot, &kit::small(ui), ctx.tokens, &entries)
        }
        false => plot,
    };
    let steps = f64::from(curves.steps);
    let now = ctx.live_edge() as f64;
    let step_of = |bin: usize| match around {
        Some(around) => around.from as f64 + bin as f64 * steps,
        None => (curves.first + bin as u64) as f64 * steps,
    };
    let x_of = |step: f64| match around {
        Some(around) => plot.left() + ((step - around.from as f64) / around.len as f64) as f32 * plot.width(),
        None => line.x_of(plot, step),
    };
    // The last bin is left out if it is incomplete.
    let is_full =
        |bin: &usize| step_of(*bin) + steps <= now && step_of(*bin) + steps >= line.t0 && step_of(*bin) <= line.t1;
    let full = |bin: &usize| around.is_some() || is_full(bin);
    let values = |curve: &Curve| {
        let bins = (0..curve.rates.len()).filter(|_| psth.problem_of(&curve.of.name).is_none()).filter(full);
        bins.map(|b| (step_of(b), curve.rates[b])).collect::<Vec<_>>()
    };
    if let Some(around) = around {
        paint_around(ui, &painter, plot, around, x_of, ctx);
    }
    let drawn: Vec<_> = curves.list.iter().map(|curve| (curve, values(curve))).collect();
    let all = drawn.iter().flat_map(|(_, v)| v).map(|(_, rate)| *rate);
    let (low, high) = all.fold((f32::INFINITY, f32::NEG_INFINITY), |(a, b), v| (a.min(v), b.max(v)));
    let (low, high) = range(low, high);
    kit::y_axis(&painter, plot, &kit::mono(ui), ctx.tokens, low, high, "");
    painter.hline(plot.x_range(), plot.bottom(), (1.0, ctx.tokens.line));
    let inside = painter.with_clip_rect(plot.expand2(Vec2::new(0.0, 2.0)).intersect(painter.clip_rect()));
    let y = |v: f32| plot.bottom() - ((f64::from(v) - low) / (high - low)) as f32 * plot.height();
    for (i, (curve, values)) in drawn.iter().enumerate() {
        let mut points = Vec::with_capacity(values.len() * 2);
        for (step, rate) in values {
            points.push(pos2(x_of(*step), y(*rate)));
            points.push(pos2(x_of(step + steps), y(*rate)));
        }
        inside.line(points, Stroke::new(1.25, color(curve, i, set, psth, ctx)));
    }
    if !is_figure {
        let area = Rect::from_min_max(pos2(plot.right() + 8.0, area.top() + 18.0), area.max);
        let entries = drawn.iter().enumerate().map(|(i, (curve, values))| LegendEntry {
            value: values.last().map_or_else(String::new, |(_, rate)| kit::reading(*rate)),
            ..LegendEntry::new(label(curve, psth), color(curve, i, set, psth, ctx))
        });
        legend(ui, area, &entries.collect::<Vec<_>>(), ctx);
    }
}

/// Returns the name of a curve with its number of elements, `DNp (n = 408)`, or with the reason why it is not counted.
fn label(curve: &Curve, psth: &Psth) -> String {
    let name = if curve.of.name.is_empty() { "—" } else { &curve.of.name };
    match psth.problem_of(&curve.of.name) {
        Some(why) => format!("{name}: {why}"),
        None => format!("{name} (n = {})", kit::thousands(curve.of.n.into())),
    }
}

/// Draws the axis around an onset, or a hint if there is no onset.
fn paint_around(
    ui: &Ui,
    painter: &Painter,
    plot: Rect,
    around: &OnsetWindows,
    x: impl Fn(f64) -> f32,
    ctx: &ViewCtx<'_>,
) {
    let (font, t, secs) = (kit::mono(ui), ctx.tokens, ctx.clock.base.per_step());
    let (from, to) = (around.from as f64, around.from as f64 + around.len as f64);
    let unit = kit::TimeUnit::of(ctx.clock.base, 0.0, 0.0);
    let marks = kit::ticks(from * secs * unit.scale, to * secs * unit.scale, (plot.width() / 70.0) as usize);
    let digits = kit::tick_digits(&marks);
    for mark in marks {
        let at = pos2(x(mark / (secs * unit.scale)), plot.bottom() + 3.0);
        painter.vline(at.x, plot.bottom() - 3.0..=plot.bottom(), (1.0, t.text_sub));
        painter.text(at, Align2::CENTER_TOP, format!("{mark:.digits$} {}", unit.name), font.clone(), t.text_sub);
    }
    painter.vline(x(0.0), plot.y_range(), (1.0, t.warn.gamma_multiply(0.7)));
    if around.onsets.is_empty() {
        let how = "No complete window yet: set a start time or a period on a stimulus";
        painter.text(plot.center(), Align2::CENTER_CENTER, how, kit::small(ui), t.text_sub);
    }
}

/// Returns the colour of a curve: the colour of its category or named group, otherwise the text colour for the first
/// curve and a categorical colour for the others.
fn color(curve: &Curve, i: usize, set: &ElementSet, psth: &Psth, ctx: &ViewCtx<'_>) -> Color32 {
    let column = psth.column().and_then(|name| set.column(name));
    match (curve.of.code, column) {
        (Some(code), Some(column)) => {
            colors::of_column(column, ctx.tokens).get(usize::from(code)).copied().unwrap_or(ctx.tokens.other)
        }
        // A named group has the colour that the user chose for it.
        _ if ctx.features.colors.contains_key(&curve.of.name) && psth.has_groups() => {
            colors::categorical(usize::from(ctx.features.colors[&curve.of.name].max(1) - 1), ctx.tokens)
        }
        _ if psth.has_groups() => colors::categorical(i, ctx.tokens),
        _ if i == 0 => ctx.tokens.text,
        _ => colors::categorical(i, ctx.tokens),
    }
}

fn legend(ui: &mut Ui, area: Rect, entries: &[LegendEntry], ctx: &ViewCtx<'_>) {
    if area.width() < 60.0 {
        return;
    }
    let rows = (area.height() / ROW) as usize;
    // The last row opens the list of all curves.
    let fits = if rows >= entries.len() { entries.len() } else { rows.saturating_sub(1) };
    if fits < entries.len() && rows > 0 {
        let at =
            Rect::from_min_size(area.min + Vec2::new(14.0, ROW * fits as f32), Vec2::new(area.width() - 14.0, ROW));
        let text = format!("+{} more", entries.len() - fits);
        ui.push_id("curves", |ui| legend::more_ui(ui, at, ctx.tokens, &text, entries));
    }
    let painter = ui.painter_at(area.expand(1.0));
    for (i, entry) in entries.iter().enumerate().take(fits) {
        let row = area.top() + ROW * i as f32 + ROW / 2.0;
        painter.circle_filled(pos2(area.left() + 5.0, row), 3.5, entry.color);
        let value = painter.layout_no_wrap(entry.value.clone(), kit::mono(ui), ctx.tokens.text_sub).size().x;
        let text = kit::elide_before(&painter, &entry.name, " (n = ", &kit::small(ui), area.width() - value - 26.0);
        painter.text(pos2(area.left() + 14.0, row), Align2::LEFT_CENTER, text, kit::small(ui), ctx.tokens.text);
        let right = pos2(area.right() - 6.0, row);
        painter.text(right, Align2::RIGHT_CENTER, &entry.value, kit::mono(ui), ctx.tokens.text_sub);
    }
}
