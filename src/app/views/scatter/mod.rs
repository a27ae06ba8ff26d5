//! Scatter plot of two fields over a set, coloured by a third one.

pub(super) mod axis;

use super::{
    View, ViewCtx, ViewDeclaration,
    cloud::{Cloud, MAX_SINGLE, Placed},
    fields::{self, ElementMask, Fields},
    hidden_text, no_values_ui, unfit_ui,
};
use crate::{
    app::{
        document::{color_scales::ColorScales, features::tap, filter::FilterMask, layout::Page, selection::Selection},
        kit::{self, bar::ColorBar, colors, icons},
    },
    engine::SimSchema,
    sim::{ElementSet, Frame, Meaning, ProbeId, Tap},
};
use axis::Scale;
use egui::{Color32, ColorImage, Rect, Response, Sense, TextureHandle, TextureOptions, Ui, Vec2, pos2};
use std::{collections::BTreeSet, sync::Arc};

/// Size of a density cell, points.
const CELL: f32 = 3.0;

/// Field and scale of an axis.
#[derive(Clone, Copy, Default)]
struct Axis {
    field: Option<ProbeId>,
    is_log: Option<bool>,
}

#[derive(Default)]
struct AxisStats {
    scales: [Scale; 2],
    total: usize,
    /// Number of elements without a value, or whose value has no logarithm.
    left_out: usize,
    /// Number of elements outside the axes, if these cover only the central values.
    beyond: usize,
}

/// The scatter plot.
#[derive(Default)]
pub struct Scatter {
    set: Option<&'static str>,
    axes: [Axis; 2],
    color_by: Option<ProbeId>,
    fields: Fields,
    /// Fields whose values were equal on arrival, which are not chosen by default.
    flat: BTreeSet<ProbeId>,
    settings: u64,
    cloud: Cloud<AxisStats>,
    density: Option<(TextureHandle, DensityKey)>,
}

/// Generation of the placement, size in cells and theme of a density image.
type DensityKey = (u64, [usize; 2], bool);

fn place(x: &[f32], y: &[f32], mask: &ElementMask, logs: [Option<bool>; 2]) -> Placed<AxisStats> {
    let n = x.len().min(y.len());
    let part = || (0..n).filter(|i| mask.has(*i));
    let scales = [Scale::of(part().map(|i| x[i]), logs[0]), Scale::of(part().map(|i| y[i]), logs[1])];
    let mut placed = Placed { of: vec![], at: vec![], found: AxisStats { scales, total: n, ..AxisStats::default() } };
    for i in part() {
        let at = [scales[0].at(x[i]), scales[1].at(y[i])];
        if at.iter().any(|v| v.is_nan()) {
            placed.found.left_out += 1;
        } else if at.iter().all(|v| (0.0..=1.0).contains(v)) {
            placed.of.push(i as u32);
            placed.at.push(at);
        } else {
            placed.found.beyond += 1;
        }
    }
    placed
}

impl Scatter {
    /// Returns the set shown: the user's choice, otherwise the set with the most fields. `None` if no set has two fields.
    fn set(&self, schema: &SimSchema) -> Option<Arc<ElementSet>> {
        let n = |set: &str| candidates(schema, set).len();
        let chosen = self.set.and_then(|s| schema.set(s));
        chosen.or_else(|| schema.sets.iter().rev().max_by_key(|s| n(s.name)).filter(|s| n(s.name) > 1)).cloned()
    }

    /// Returns the fields on the axes: the user's choice, otherwise the first ones that are not constant. `None` if the set has
    /// fewer than two fields.
    fn shown(&self, schema: &SimSchema, set: &str) -> Option<[ProbeId; 2]> {
        let all = candidates(schema, set);
        let is_known = |id: &ProbeId| all.contains(id);
        let chosen = self.axes.map(|a| a.field.filter(is_known));
        let mut free = all.iter().filter(|id| !chosen.contains(&Some(**id)) && !self.flat.contains(*id));
        let mut spare = all.iter().filter(|id| !chosen.contains(&Some(**id)) && self.flat.contains(*id)).rev();
        let mut next = || free.next().or_else(|| spare.next()).copied();
        let x = chosen[0].or_else(&mut next)?;
        Some([x, chosen[1].or_else(next)?])
    }

    fn wanted(&self, schema: &SimSchema) -> Vec<ProbeId> {
        let Some(set) = self.set(schema) else { return vec![] };
        let Some([x, y]) = self.shown(schema, set.name) else { return vec![] };
        let color_by = fields::color_field(schema, set.name, self.color_by);
        fields::wanted([Some(x), Some(y), fields::mask(schema, set.name), color_by])
    }

    /// Records constant fields, so that they are not chosen by default.
    fn note_flat(&mut self, schema: &SimSchema) {
        let Some(set) = self.set(schema) else { return };
        let mask = ElementMask::of(schema, set.name, &self.fields, &FilterMask::default());
        for id in self.shown(schema, set.name).into_iter().flatten() {
            let Some(values) = self.fields.get(id) else { continue };
            if fields::is_constant(values, |i| mask.has(i)) {
                self.flat.insert(id);
            } else {
                self.flat.remove(&id);
            }
        }
    }

    fn caption(&self, set: &str, n_hidden: u32) -> String {
        let placed = self.cloud.placed();
        let (n, total) = (placed.of.len() as u64, placed.found.total as u64);
        let mut text = format!("{} of {} {set}", kit::thousands(n), kit::thousands(total));
        if placed.found.left_out > 0 {
            text += &format!("  |  {} without a value", kit::thousands(placed.found.left_out as u64));
        }
        if placed.found.beyond > 0 {
            text += &format!("  |  {} outside the axes", kit::thousands(placed.found.beyond as u64));
        }
        if n > MAX_SINGLE as u64 {
            text += "  |  density, log";
        }
        text + &hidden_text(n_hidden)
    }

    fn toolbar_ui(&mut self, ui: &mut Ui, ctx: &mut ViewCtx<'_>, set: &ElementSet, shown: [ProbeId; 2]) {
        let named = |ids: Vec<ProbeId>| -> Vec<(ProbeId, String)> {
            ids.into_iter().map(|id| (id, fields::label(&ctx.schema.probes[usize::from(id)]))).collect()
        };
        let options = named(candidates(ctx.schema, set.name));
        let scales = self.cloud.placed().found.scales;
        let before = self.axes.map(|a| (a.field, a.is_log));
        for (i, name) in ["x", "y"].into_iter().enumerate() {
            let mut chosen = shown[i];
            if kit::choice_ui(ui, ctx.tokens, name, &mut chosen, &options) {
                self.axes[i] = Axis { field: Some(chosen), is_log: None };
            }
            let mut is_log = scales[i].is_log;
            let hint = format!("Logarithmic {name}; values of zero and less are left out");
            let label = if ui.max_rect().width() < 420.0 { "log" } else { "log " };
            if ui.push_id(i, |ui| ui.toggle_value(&mut is_log, label).on_hover_text(hint).changed()).inner {
                self.axes[i].is_log = Some(is_log);
            }
        }
        if before != self.axes.map(|a| (a.field, a.is_log)) {
            self.settings += 1;
        }
        self.fields.color_ui(ui, ctx, &mut self.color_by, set.name, ("none".to_owned(), ""));
    }

    fn paint(&mut self, ui: &Ui, canvas: Rect, plot: Rect, set: &ElementSet, shown: [ProbeId; 2], ctx: &ViewCtx<'_>) {
        let painter = ui.painter_at(canvas);
        let (small, mono) = (kit::small(ui), kit::mono(ui));
        let scales = self.cloud.placed().found.scales;
        let [x, y] = shown.map(|id| crate::app::kit::text::probe_title(&ctx.schema.probes[usize::from(id)]));
        axis::x(&painter, plot, (&mono, &small), ctx.tokens, &scales[0], &x);
        axis::y(&painter, canvas.left() + 8.0, plot, (&mono, &small), ctx.tokens, &scales[1], &y);
        if self.cloud.placed().of.len() > MAX_SINGLE {
            self.paint_density(ui, plot, ctx);
        }
        let inside = painter.with_clip_rect(plot.expand(3.0).intersect(painter.clip_rect()));
        let scale = self.color_by.and_then(|id| self.fields.scale(ctx, id));
        let plain = ctx.tokens.categorical[1];
        let color = |of: u32| match &scale {
            Some((_, values, scale)) => values.get(of as usize).map_or(plain, |v| scale.color(*v)),
            None => plain,
        };
        self.cloud.paint(&inside, plot, set, ctx, color);
    }

    fn paint_density(&mut self, ui: &Ui, plot: Rect, ctx: &ViewCtx<'_>) {
        let cells = [plot.width(), plot.height()].map(|side| ((side / CELL) as usize).max(8));
        let key = (self.cloud.generation, cells, ctx.tokens.dark);
        if self.density.as_ref().is_none_or(|(_, shown)| *shown != key) {
            let image = density(&self.cloud.placed().at, cells, ctx.tokens.dark);
            let texture = match self.density.take() {
                Some((mut texture, _)) => {
                    texture.set(image, TextureOptions::NEAREST);
                    texture
                }
                None => ui.ctx().load_texture("scatter density", image, TextureOptions::NEAREST),
            };
            self.density = Some((texture, key));
        }
        if let Some((texture, _)) = &self.density {
            let uv = Rect::from_min_max(pos2(0.0, 0.0), pos2(1.0, 1.0));
            let faded = if ctx.selection.elements.is_empty() { 1.0 } else { 0.5 };
            ui.painter_at(plot).image(texture.id(), plot, uv, Color32::WHITE.gamma_multiply(faded));
        }
    }
}

/// Returns the fields that an axis can show: numbers, then angles and times since an event.
fn candidates(schema: &SimSchema, set: &str) -> Vec<ProbeId> {
    let numbers = fields::over(schema, set, |m| m == Meaning::Number);
    let others = fields::over(schema, set, |m| matches!(m, Meaning::Angle | Meaning::TimeSince));
    numbers.into_iter().chain(others).map(|(id, _)| id).collect()
}

/// Counts the points per cell. Colours are on a logarithmic scale.
fn density(at: &[[f32; 2]], [width, height]: [usize; 2], dark: bool) -> ColorImage {
    let mut counts = vec![0u32; width * height];
    for [x, y] in at {
        let column = ((x * width as f32) as usize).min(width - 1);
        let row = (((1.0 - y) * height as f32) as usize).min(height - 1);
        counts[row * width + column] += 1;
    }
    let most = counts.iter().copied().max().unwrap_or(0).max(1) as f32;
    let table = colors::densities(dark);
    let color = |n: &u32| match n {
        0 => Color32::TRANSPARENT,
        n => table[((*n as f32).ln_1p() / most.ln_1p() * 255.0) as usize],
    };
    ColorImage::new([width, height], counts.iter().map(color).collect())
}

impl Scatter {
    pub const DECLARATION: ViewDeclaration = ViewDeclaration {
        name: "scatter",
        title: "Scatter",
        icon: icons::GRID,
        help: "# Scatter\n\nElements at the values of two fields, coloured by a third. Above 10,000 elements a \
         density on a logarithmic scale is drawn, with the selected elements on top. A scale is logarithmic by default \
         when its values span more than a factor of 50.\n\n\
         - click: select · Ctrl+click: add or remove\n\
         - drag: rectangle · Alt+drag: lasso; with Ctrl they add\n\
         - right-click: actions",
        gestures: super::cloud::GESTURES,
        pages: &[Page::Simulate, Page::Explore],
        fits: fields::has_pairs,
        ..ViewDeclaration::of::<Self>()
    };
}

impl View for Scatter {
    fn declaration(&self) -> &'static ViewDeclaration {
        &Self::DECLARATION
    }

    fn title(&self, schema: &SimSchema) -> String {
        let shown = self.set(schema).and_then(|s| self.shown(schema, s.name));
        let name = |id: ProbeId| fields::label(&schema.probes[usize::from(id)]);
        shown.map_or_else(|| Self::DECLARATION.title.into(), |[x, y]| format!("{} × {}", name(x), name(y)))
    }

    fn taps(&self, schema: &SimSchema, _: &Selection) -> Vec<Tap> {
        self.wanted(schema).into_iter().map(tap).collect()
    }

    fn reset(&mut self, _: &SimSchema) {
        self.fields.clear();
        self.cloud.clear();
        self.flat.clear();
    }

    fn absorb(&mut self, schema: &SimSchema, frame: &Frame) {
        let wanted = self.wanted(schema);
        // Before the first step fields may have no values.
        if self.fields.absorb(frame, &wanted) && frame.clock.step > 0 {
            self.note_flat(schema);
        }
    }

    fn ui(&mut self, ui: &mut Ui, ctx: &mut ViewCtx<'_>) {
        let found = self.set(ctx.schema).and_then(|s| Some((self.shown(ctx.schema, s.name)?, s)));
        let Some((shown, set)) = found else {
            return unfit_ui(
                ui,
                ctx,
                [
                    "No pair of fields",
                    "The scatter needs two values of the same things, such as two fields of all neurons",
                ],
            );
        };
        if let [Some(x), Some(y)] = shown.map(|id| self.fields.get(id).cloned()) {
            let mask = ElementMask::of(ctx.schema, set.name, &self.fields, ctx.filter.shown());
            let logs = self.axes.map(|a| a.is_log);
            let key = [self.fields.generation, self.settings, ctx.filter.shown().generation];
            self.cloud.update(ui.ctx(), key, x.len(), || move || place(&x, &y, &mask, logs));
        }
        let n_hidden = ctx.filter.shown().n_hidden(&set);
        let caption = self.caption(set.name, n_hidden);
        let canvas = kit::panel_ui(ui, ctx.tokens, Some(&caption), |ui| self.toolbar_ui(ui, ctx, &set, shown));
        if self.cloud.placed().of.is_empty() {
            let title = if self.cloud.generation == 0 { "No values yet" } else { "No data for these fields" };
            return no_values_ui(ui, canvas, ctx, (n_hidden, "values"), [title, "Run to see the scatter"]);
        }
        if !kit::fill_ui(ui, canvas, ctx.tokens) {
            return;
        }
        let scale = self.color_by.and_then(|id| self.fields.scale(ctx, id));
        let canvas = ColorBar::beside(ui, canvas, ctx.tokens, scale.as_ref().map(|(probe, _, scale)| (*probe, scale)));
        let left = axis::gutter(ui, &self.cloud.placed().found.scales[1], canvas.height() - 24.0 - kit::TITLED_AXIS);
        let plot =
            Rect::from_min_max(canvas.min + Vec2::new(left, 24.0), canvas.max - Vec2::new(12.0, kit::TITLED_AXIS));
        let response = ui.interact(plot, ui.scope_id().with("scatter"), Sense::click_and_drag());
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Image, true, "Scatter"));
        self.cloud.gestures_ui(ui, &response, plot, &set, ctx);
        self.paint(ui, canvas, plot, &set, shown, ctx);
        self.tooltip_ui(&response, &set, ctx);
    }

    fn toggle_range(&mut self, schema: &SimSchema, scales: &mut ColorScales) -> Option<bool> {
        self.fields.toggle_range(schema, self.color_by?, scales)
    }
}

impl Scatter {
    fn tooltip_ui(&self, response: &Response, set: &ElementSet, ctx: &ViewCtx<'_>) {
        let Some(element) = self.cloud.under_pointer() else { return };
        let values = self.fields.texts(ctx.schema, &self.wanted(ctx.schema), element);
        self.cloud.tooltip_ui(response, set, ctx, &values);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_elements_with_both_values_are_placed() {
        let (x, y) = ([1.0, 2.0, f32::NAN, 4.0, 5.0], [0.1, 0.0, 3.0, 10.0, 1000.0]);
        let placed =
            place(&x, &y, &ElementMask::masked(Some(Arc::new(vec![1.0, 1.0, 1.0, 1.0, 0.0]))), [None, Some(true)]);
        assert_eq!((placed.of.as_slice(), placed.found.left_out, placed.found.total), (&[0, 3][..], 2, 5));
        assert!(placed.at.iter().flatten().all(|v| (0.0..=1.0).contains(v)));
    }

    #[test]
    fn every_point_is_counted_in_the_density() {
        let at: Vec<[f32; 2]> = (0..1000).map(|i| [i as f32 / 999.0, (i as f32 / 999.0).powi(2)]).collect();
        let image = density(&at, [16, 16], true);
        assert!(image.pixels.iter().filter(|p| **p != Color32::TRANSPARENT).count() >= 16);
        assert_ne!(image.pixels[15], Color32::TRANSPARENT, "the highest lie in the upper right corner");
        assert_eq!(image.pixels[0], Color32::TRANSPARENT);
    }
}
