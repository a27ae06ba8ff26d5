//! Painting of the time panel.

use super::{TimePanel, map::Map};
use crate::{
    app::{
        document::{
            features::probes_where,
            open_document::Document,
            time::{self, Time},
        },
        kit::{self, theme::Tokens},
    },
    sim::{Shape, TimeBase},
};
use egui::{Align2, Mesh, Painter, Rect, Response, Shape as Drawn, Stroke, Ui, pos2, vec2};

/// Smoothing factor of the density scale, per frame.
const SMOOTH: f32 = 0.2;

pub(super) fn paint(ui: &Ui, document: &Document, panel: &mut TimePanel, map: &Map) {
    let t = Tokens::of(ui.ctx());
    let painter = ui.painter_at(map.all.expand2(vec2(8.0, 0.0)));
    if !panel.is_collapsed {
        painter.rect_filled(map.bands(), 0.0, t.canvas);
        bands(ui, &painter, document, &mut panel.highest, (map, &t));
        spans(&painter, &document.time, map, &t, &kit::small(ui));
    }
    window(&painter, &document.time, map, &t);
    ruler(ui, &painter, document.session.live.clock.base, map, &t);
    marks(&painter, &document.time, map, &t);
}

/// Draws one density lane per event stream, with one bucket per point. Buckets with a single event are visible.
fn bands(ui: &Ui, painter: &Painter, document: &Document, shown: &mut Vec<f32>, (map, t): (&Map, &Tokens)) {
    let area = map.bands();
    let streams: Vec<_> = probes_where(&document.session.live.schema, |s| matches!(s, Shape::Spikes { .. })).collect();
    if streams.is_empty() {
        let hint = "No event streams: marks and interventions appear here";
        painter.text(area.center(), Align2::CENTER_CENTER, hint, kit::small(ui), t.text_sub);
    }
    shown.resize(streams.len(), 0.0);
    let height = area.height() / streams.len().max(1) as f32;
    for (i, (id, spec)) in streams.iter().enumerate() {
        let top = area.top() + height * i as f32;
        let lane = Rect::from_min_max(pos2(area.left(), top + 2.0), pos2(area.right(), top + height - 1.0));
        let gaps = document.time.past.gaps(*id, map.from, map.to);
        time::paint::not_recorded(painter, lane, &gaps, t, |step| map.x(step));
        if let Some(train) = document.time.past.train(*id) {
            let n = lane.width() as usize;
            let density = train.density.buckets(map.from, map.to, n, train.end as f64);
            let highest = density.iter().copied().fold(0.0, f32::max);
            let shown = &mut shown[i];
            *shown += (highest - *shown) * if *shown == 0.0 { 1.0 } else { SMOOTH };
            if (highest - *shown).abs() > 0.01 * highest {
                ui.ctx().request_repaint();
            }
            let mut mesh = Mesh::default();
            let color = t.canvas.lerp_to_gamma(t.text_sub, 0.6);
            for (x, v) in density.iter().enumerate().filter(|(_, v)| **v > 0.0) {
                let height = (lane.height() * (v / shown.max(f32::MIN_POSITIVE)).min(1.0)).max(1.5);
                let left = lane.left() + x as f32;
                let bar = Rect::from_min_max(pos2(left, lane.bottom() - height), pos2(left + 1.0, lane.bottom()));
                mesh.add_colored_rect(bar, color);
            }
            painter.add(mesh);
        }
        if streams.len() > 1 || document.time.past.train(*id).is_none_or(|t| t.history.is_empty()) {
            let name = painter.layout_no_wrap(spec.label().into_owned(), kit::small(ui), t.text_sub);
            let at = lane.left_top() + vec2(4.0, 0.0);
            painter.rect_filled(
                Rect::from_min_size(at, name.size()).expand2(vec2(3.0, 0.0)),
                2.0,
                Tokens::fade(t.canvas, 0.85),
            );
            painter.galley(at, name, t.text_sub);
        }
    }
}

/// Draws stimuli and silencing as bars with their names.
fn spans(painter: &Painter, time: &Time, map: &Map, t: &Tokens, font: &egui::FontId) {
    let rows = time::rows(&time.spans, map.span_rows);
    let mut free = vec![map.spans().left(); map.span_rows.max(1)];
    for (span, row) in time.spans.iter().zip(rows) {
        let (lane, free) = (map.span_row(row), &mut free[row]);
        let (left, right) =
            (map.x(span.from.max(span.since)).max(lane.left()), map.x(span.to.min(map.to)).min(lane.right()));
        if right <= left {
            continue;
        }
        let color = if span.is_lesion { t.error } else { t.warn };
        let bar = Rect::from_min_max(pos2(left, lane.top() + 1.0), pos2(right, lane.bottom()));
        for (from, to) in span.parts(map.from, map.to) {
            let part =
                Rect::from_x_y_ranges(map.x(from).max(left)..=map.x(to).min(right).max(left + 1.0), bar.y_range());
            painter.rect_filled(part, 2.0, color.gamma_multiply(0.25));
        }
        // If bars overlap, their names are placed next to each other.
        let at = pos2((bar.left() + 4.0).max(*free), bar.center().y);
        if bar.right() - at.x > 30.0 {
            let text = kit::elide(painter, &span.label, font, bar.right() - at.x - 4.0);
            *free = painter.text(at, Align2::LEFT_CENTER, text, font.clone(), t.text).right() + 12.0;
        }
    }
}

/// Draws the visible times and the selected range.
fn window(painter: &Painter, time: &Time, map: &Map, t: &Tokens) {
    let body = Rect::from_min_max(map.ruler().min, map.all.max);
    let across = |from: f64, to: f64| {
        let (left, right) = (map.x(from).max(body.left()), map.x(to).min(body.right()));
        Rect::from_min_max(pos2(left, body.top()), pos2(right.max(left + 1.0), body.bottom()))
    };
    let line = &time.axis.line;
    if line.t1 > map.from && line.t0 < map.to {
        let ruler = map.ruler();
        let rect = across(line.t0, line.t1).with_min_y(ruler.bottom() - 4.0).with_max_y(ruler.bottom());
        painter.rect_filled(rect, 1.0, t.text_sub.gamma_multiply(0.55));
    }
    if let Some((from, to)) = time.axis.range {
        let rect = across(from, to);
        painter.rect_filled(rect, 0.0, t.accent.gamma_multiply(0.16));
        for x in [rect.left(), rect.right()] {
            painter.vline(x, rect.y_range(), (1.0, t.accent.gamma_multiply(0.7)));
        }
    }
}

fn ruler(ui: &Ui, painter: &Painter, base: TimeBase, map: &Map, t: &Tokens) {
    let (ruler, font) = (map.ruler(), kit::mono(ui));
    let secs = base.per_step().max(f64::MIN_POSITIVE);
    let unit = kit::TimeUnit::of(base, map.to * secs, (map.to - map.from) * secs);
    let scale = secs * unit.scale;
    let marks = kit::ticks(map.from * scale, map.to * scale, (ruler.width() / 110.0) as usize);
    let digits = kit::tick_digits(&marks);
    for mark in marks {
        let x = map.x(mark / scale);
        painter.vline(x, ruler.bottom() - 5.0..=ruler.bottom(), (1.0, t.line.lerp_to_gamma(t.text_sub, 0.5)));
        let text = format!("{mark:.digits$} {}", unit.name);
        let galley = painter.layout_no_wrap(text, font.clone(), t.text_sub);
        if x + 4.0 + galley.size().x < ruler.right() {
            painter.galley(pos2(x + 4.0, ruler.top() + 4.0), galley, t.text_sub);
        }
    }
    painter.hline(ruler.x_range(), ruler.bottom(), (1.0, t.line));
}

/// Draws marks of edits, the newest step and the cursor.
fn marks(painter: &Painter, time: &Time, map: &Map, t: &Tokens) {
    let ruler = map.ruler();
    for edit in &time.edits {
        let x = map.x(edit.step as f64);
        if map.all.x_range().contains(x) {
            let (top, size) = (ruler.bottom() - 1.0, 4.0);
            let tip = vec![pos2(x - size, top - size * 1.6), pos2(x + size, top - size * 1.6), pos2(x, top)];
            painter.add(Drawn::convex_polygon(tip, t.accent, Stroke::NONE));
        }
    }
    let live = map.x(time.past.newest() as f64);
    painter.vline(live, map.all.y_range(), (1.0, t.live.gamma_multiply(0.8)));
    if let Some(cursor) = time.axis.cursor() {
        let x = map.x(cursor);
        painter.vline(x, map.all.y_range(), (1.5, t.accent));
        let knob = Rect::from_center_size(pos2(x, ruler.top() + 7.0), vec2(9.0, 11.0));
        painter.rect_filled(knob, 3.0, t.accent);
    }
}

/// Draws a label with the time under the pointer.
pub(super) fn chip(ui: &Ui, document: &Document, map: &Map, x: f32) {
    let t = Tokens::of(ui.ctx());
    let painter = ui.painter();
    let galley = painter.layout_no_wrap(document.time_text(map.step(x)), kit::mono(ui), t.text_strong);
    let half = galley.size().x * 0.5 + 5.0;
    let middle = x.clamp(map.all.left() + half, map.all.right() - half);
    let chip = Rect::from_center_size(pos2(middle, map.ruler().top() + 11.0), galley.size() + vec2(10.0, 3.0));
    painter.rect_filled(chip, 4.0, t.hover);
    painter.galley(chip.min + vec2(5.0, 1.5), galley, t.text_strong);
}

/// Shows a tooltip with edits near the pointer and interventions under it.
pub(super) fn labels_ui(body: &Response, document: &Document, map: &Map) {
    let Some(at) = body.hover_pos().filter(|_| !body.dragged()) else { return };
    let step = map.step(at.x);
    let mut lines = vec![document.time_text(step)];
    let near = document.time.edits.iter().filter(|e| (map.x(e.step as f64) - at.x).abs() < 6.0);
    lines.extend(near.take(6).map(|e| format!("{} · {}", document.time_text(e.step as f64), e.label)));
    let over = document.time.spans.iter().filter(|s| s.start() <= step && step < s.to);
    lines.extend(over.take(6).map(|s| s.label.clone()));
    body.clone().on_hover_text_at_pointer(lines.join("\n"));
}
