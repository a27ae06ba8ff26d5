//! Painting of the lineage.

use super::{
    LineColor, Lineage, Window, attributes, colors, fields, forest::ALIVE, kit, lanes::NO_LANE, layout::MAX_SINGLE,
};
use crate::{
    app::{kit::color_scale::FieldScale, views::ViewCtx},
    sim::{AttributeSpec, EndCause, ProbeSpec},
};
use egui::{Color32, Mesh, Painter, Pos2, Rect, Stroke, TextureOptions, Ui, Vec2, pos2};

/// Minimum height of a lane for event marks, points.
const MARKS_FROM: f32 = 4.0;
/// Minimum height of a lane for names, points.
const NAMES_FROM: f32 = 12.0;

/// Mapping of steps and lanes to the screen.
#[derive(Clone, Copy)]
pub struct Map {
    plot: Rect,
    window: Window,
}

impl Map {
    /// Returns the x of a step.
    pub fn x(&self, step: f64) -> f32 {
        let t = (step - self.window.t0) / (self.window.t1 - self.window.t0);
        self.plot.left() + t as f32 * self.plot.width()
    }

    /// Returns the y of a lane's centre.
    pub fn y(&self, lane: u32) -> f32 {
        let t = (f64::from(lane) + 0.5 - self.window.l0) / (self.window.l1 - self.window.l0);
        self.plot.top() + t as f32 * self.plot.height()
    }

    /// Returns the height of a lane, points.
    pub fn lane_height(&self) -> f32 {
        self.plot.height() / (self.window.l1 - self.window.l0) as f32
    }

    /// Returns the top left and the bottom right corner of the plot.
    pub fn corners(&self) -> (Pos2, Pos2) {
        (self.plot.min, self.plot.max)
    }

    /// Returns the step and the lane at a position.
    pub fn at(&self, at: Pos2) -> (f64, f64) {
        let [x, y] = [(at.x - self.plot.left()) / self.plot.width(), (at.y - self.plot.top()) / self.plot.height()];
        let w = &self.window;
        (w.t0 + f64::from(x) * (w.t1 - w.t0), w.l0 + f64::from(y) * (w.l1 - w.l0))
    }
}

impl Lineage {
    pub(super) fn map(&self, plot: Rect) -> Map {
        let all = || Window::all(self.forest(), self.worker.layout.lanes.n, self.now);
        Map { plot, window: self.window.unwrap_or_else(all) }
    }

    pub(super) fn paint(&mut self, ui: &Ui, canvas: Rect, plot: Rect, ctx: &ViewCtx<'_>) {
        let (painter, map) = (ui.painter_at(canvas), self.map(plot));
        let (small, mono) = (kit::small(ui), kit::mono(ui));
        kit::x_axis(&painter, plot, &mono, ctx.tokens, map.window.t0, map.window.t1, ctx.clock.base.plural());
        let inside = painter.with_clip_rect(plot.intersect(painter.clip_rect()));
        let is_crowded = self.worker.layout.n_drawn > MAX_SINGLE;
        if is_crowded {
            self.paint_density(ui, &inside, map);
        }
        let scale = self.scale(ctx);
        self.paint_lines(&inside, map, is_crowded, scale.as_ref(), ctx);
        if map.lane_height() >= NAMES_FROM && !is_crowded {
            self.paint_names(&inside, map, &small, ctx);
        }
    }

    pub(super) fn scale(&self, ctx: &ViewCtx<'_>) -> Option<FieldScale> {
        let probe = self.color_probe(ctx)?;
        Some(ctx.color_scales.scale(&probe, self.values(), ctx.tokens))
    }

    /// Returns the field of the colours, or their attribute as a field; `None` for founders and texts.
    pub(super) fn color_probe(&self, ctx: &ViewCtx<'_>) -> Option<ProbeSpec> {
        match self.color_attribute(ctx) {
            Some(_) if !self.texts().is_empty() => None,
            Some(spec) => Some(attributes::as_probe(spec)),
            None => ctx.schema.probes.get(usize::from(self.color.field()?)).copied(),
        }
    }

    fn color(&self, line: usize, scale: Option<&FieldScale>, ctx: &ViewCtx<'_>) -> Color32 {
        let value = self.values().get(line).copied().unwrap_or(f32::NAN);
        match (scale, self.color) {
            (_, LineColor::Attribute(_)) if !self.texts().is_empty() => attributes::text_color(value, ctx),
            (Some(scale), LineColor::Field(_)) if !value.is_finite() => {
                scale.color(self.forest().lines[line].health.unwrap_or(f32::NAN))
            }
            (Some(scale), _) => scale.color(value),
            (None, _) => {
                let founder = self.worker.layout.founders.get(line).map_or(line, |f| *f as usize);
                colors::of_number(self.forest().lines[founder].id, ctx.tokens)
            }
        }
    }

    /// Draws lines, links to their parents, and marks of births and deaths. Over a density only highlighted lines are drawn.
    fn paint_lines(
        &self,
        painter: &Painter,
        map: Map,
        is_crowded: bool,
        scale: Option<&FieldScale>,
        ctx: &ViewCtx<'_>,
    ) {
        let layout = &self.worker.layout;
        if is_crowded && !layout.highlighted.contains(&true) {
            return; // the density shows them
        }
        let (forest, plot, height) = (self.forest(), map.plot, map.lane_height());
        let thick = (height * 0.5).clamp(1.0, 3.0);
        let has_marks = height >= MARKS_FROM;
        let (mut faint, mut highlighted, mut n_highlighted) = (Mesh::default(), Mesh::default(), 0);
        let mut marks: Vec<(Pos2, Option<EndCause>, bool, Color32)> = vec![];
        for (i, lane) in layout.lanes.of.iter().enumerate().filter(|(_, lane)| **lane != NO_LANE) {
            let is_highlighted = layout.highlighted.get(i).copied().unwrap_or(false);
            let line = &forest.lines[i];
            let (left, right) = (map.x(line.born as f64), map.x(line.died.min(self.now.max(line.born)) as f64));
            if right < plot.left()
                || left > plot.right()
                || (is_crowded && (!is_highlighted || n_highlighted >= MAX_SINGLE))
            {
                continue;
            }
            n_highlighted += usize::from(is_highlighted);
            let y = map.y(*lane);
            let is_aside = !layout.highlighted.is_empty() && !is_highlighted;
            let color = self.color(i, scale, ctx).gamma_multiply(if is_aside { 0.22 } else { 1.0 });
            let mesh = if is_highlighted { &mut highlighted } else { &mut faint };
            let thick = if is_highlighted { thick + 0.75 } else { thick };
            let is_seen = (plot.top()..=plot.bottom()).contains(&y);
            if is_seen {
                mesh.add_colored_rect(
                    Rect::from_x_y_ranges(left..=right.max(left + 0.75), y - thick / 2.0..=y + thick / 2.0),
                    color,
                );
            }
            for parent in line.parents.iter() {
                let from = layout.lanes.of.get(*parent as usize).copied().unwrap_or(NO_LANE);
                if from == NO_LANE || from == *lane {
                    continue;
                }
                let y0 = map.y(from);
                let (top, bottom) = (y0.min(y), y0.max(y));
                let color = color.gamma_multiply(if has_marks { 0.7 } else { 0.4 });
                // A narrower rectangle may cover the centre of no pixel and would then be invisible.
                mesh.add_colored_rect(Rect::from_x_y_ranges(left - 0.5..=left + 0.51, top..=bottom), color);
            }
            if has_marks && is_seen {
                if !line.parents.is_empty() {
                    marks.push((pos2(left, y), None, line.parents.len() > 1, color));
                }
                if line.died != ALIVE && line.end == Some(EndCause::Died) {
                    marks.push((pos2(right, y), line.end, false, color));
                }
            }
        }
        painter.add(faint);
        painter.add(highlighted);
        let size = (height * 0.32).clamp(1.6, 3.5);
        for (at, end, is_merge, color) in marks {
            paint_mark(painter, at, size, end, is_merge, color);
        }
        self.paint_hovered(painter, map, thick, ctx);
    }

    fn paint_hovered(&self, painter: &Painter, map: Map, thick: f32, ctx: &ViewCtx<'_>) {
        let lanes = &self.worker.layout.lanes.of;
        for (line, color) in
            [(self.focus.map(|line| line.index), ctx.tokens.accent), (self.hovered, ctx.tokens.text_strong)]
        {
            let Some((line, lane)) = line.and_then(|l| Some((l, *lanes.get(l as usize)?))) else { continue };
            if lane == NO_LANE {
                continue;
            }
            let line = &self.forest().lines[line as usize];
            let (left, right) = (map.x(line.born as f64), map.x(line.died.min(self.now.max(line.born)) as f64));
            let y = map.y(lane);
            let around =
                Rect::from_x_y_ranges(left..=right.max(left + 1.0), y..=y).expand2(Vec2::new(2.5, thick / 2.0 + 2.0));
            painter.rect_stroke(around, 2.0, Stroke::new(1.25, color), egui::StrokeKind::Outside);
        }
    }

    /// Draws names of individuals, or ids of unnamed ones, at the end of each line.
    fn paint_names(&self, painter: &Painter, map: Map, font: &egui::FontId, ctx: &ViewCtx<'_>) {
        for (i, lane) in self.worker.layout.lanes.of.iter().enumerate().filter(|(_, lane)| **lane != NO_LANE) {
            let line = &self.forest().lines[i];
            let (left, right) = (map.x(line.born as f64), map.x(line.died.min(self.now) as f64).min(map.plot.right()));
            let at = pos2(right - 2.0, map.y(*lane) - 1.0);
            if right - left > 48.0 && at.y > map.plot.top() && at.y < map.plot.bottom() + 8.0 {
                let (name, states) = (line.label(), Self::states_of(self.forest(), i as u32, ctx.schema));
                let text = if states.is_empty() { name } else { format!("{name}, {states}") };
                painter.text(at, egui::Align2::RIGHT_BOTTOM, text, font.clone(), ctx.tokens.text_sub);
            }
        }
    }

    fn paint_density(&mut self, ui: &Ui, painter: &Painter, map: Map) {
        let layout = &self.worker.layout;
        let Some((window, image)) = &layout.density else { return };
        if self.texture.as_ref().is_none_or(|(_, shown)| *shown != layout.generation) {
            let texture = match self.texture.take() {
                Some((mut texture, _)) => {
                    texture.set(image.clone(), TextureOptions::NEAREST);
                    texture
                }
                None => ui.ctx().load_texture("lineage density", image.clone(), TextureOptions::NEAREST),
            };
            self.texture = Some((texture, layout.generation));
        }
        let Some((texture, _)) = &self.texture else { return };
        let y = |lane: f64| {
            map.plot.top() + ((lane - map.window.l0) / (map.window.l1 - map.window.l0)) as f32 * map.plot.height()
        };
        let place = Rect::from_min_max(pos2(map.x(window.t0), y(window.l0)), pos2(map.x(window.t1), y(window.l1)));
        let uv = Rect::from_min_max(pos2(0.0, 0.0), pos2(1.0, 1.0));
        let faded = if layout.highlighted.is_empty() { 1.0 } else { 0.4 };
        painter.image(texture.id(), place, uv, Color32::WHITE.gamma_multiply(faded));
    }
}

/// Draws a dot for a split, a diamond for a merge, or a cross for a death.
fn paint_mark(painter: &Painter, at: Pos2, size: f32, end: Option<EndCause>, is_merge: bool, color: Color32) {
    if end.is_some() {
        let stroke = Stroke::new(1.25, color);
        for turn in [Vec2::new(1.0, 1.0), Vec2::new(1.0, -1.0)] {
            painter.line_segment([at - turn * size, at + turn * size], stroke);
        }
    } else if is_merge {
        let r = size * 1.35;
        let corners = [Vec2::new(0.0, -r), Vec2::new(r, 0.0), Vec2::new(0.0, r), Vec2::new(-r, 0.0)].map(|d| at + d);
        painter.add(egui::Shape::convex_polygon(corners.to_vec(), color, Stroke::NONE));
    } else {
        painter.circle_filled(at, size, color);
    }
}

/// Returns the tooltip rows of a line.
pub fn tooltip(lineage: &Lineage, line: u32, ctx: &ViewCtx<'_>) -> Vec<(String, String)> {
    let forest = lineage.forest();
    let l = &forest.lines[line as usize];
    let mut rows = vec![("born".to_owned(), ctx.step_name(l.born))];
    let names = |ids: &[u32]| ids.iter().map(|p| forest.lines[*p as usize].label()).collect::<Vec<_>>().join(", ");
    match l.parents.len() {
        0 if forest.since.is_some_and(|since| since > l.born) => rows.push(("parents".into(), "unknown".into())),
        0 => rows.push(("parents".into(), "founder".into())),
        1 => rows.push(("split from".into(), names(&l.parents))),
        _ => rows.push(("merged from".into(), names(&l.parents))),
    }
    match l.end {
        Some(end) => rows.push((end.word().into(), ctx.step_name(l.died))),
        None if l.died != ALIVE => rows.push(("ended".into(), format!("by {}", ctx.step_name(l.died)))),
        None => {}
    }
    let states = Lineage::states_of(forest, line, ctx.schema);
    rows.extend((!states.is_empty()).then(|| ("state".to_owned(), states)));
    let attribute = |spec: &AttributeSpec| {
        let value = l.attributes.get(spec.name)?;
        Some((spec.label().into_owned(), attributes::text(value, spec)))
    };
    rows.extend(Lineage::attributes(ctx.schema).iter().filter_map(attribute));
    let seen = lineage.values().get(line as usize).copied().filter(|v| v.is_finite()).or(l.health);
    if let Some((value, probe)) = seen.zip(lineage.color.field().and_then(|t| ctx.schema.probes.get(usize::from(t)))) {
        rows.push((fields::label(probe), kit::with_unit(value.into(), probe.unit)));
    }
    rows
}
