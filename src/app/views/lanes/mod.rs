//! Series with fixed lanes as a heat map: a row per lane, times to the right. Rates of classes, use of experts, whatever
//! many share.

mod draw;
mod grid;
mod sums;
mod words;

use super::{
    Selection, Subject, View, ViewCtx,
    heat::Name,
    ink::Ink,
    kit, menu,
    plot::{
        lane_colors::{column_of, lane_colors},
        samples::Samples,
    },
    probes_where, run_ui, tap,
    tints::Tints,
};
use crate::{
    app::time::{Link, Timeline, paint},
    engine::Exhibit,
    sim::{Frame, ProbeId, ProbeSpec, Reading, Shape, Tap},
};
use draw::{Layout, Picture};
use egui::{Rect, Response, Sense, Ui};
use grid::{Balance, Grid};
use std::{collections::BTreeMap, sync::Arc};
use sums::Sums;

/// One probe's samples.
#[derive(Default)]
struct Row {
    samples: Samples,
    sums: Sums,
}

/// What can be chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Look {
    is_share: bool,
    is_log: bool,
    by_mean: bool,
}

/// What is in view was worked out of: probe, samples, window, pixels, settings.
type Key = (ProbeId, u64, [u64; 2], usize, Look);

/// What is in view.
#[derive(Default)]
struct Seen {
    key: Option<Key>,
    grid: Grid,
    /// As they are coloured.
    values: Vec<f32>,
    order: Vec<usize>,
    is_positive: bool,
    balance: Option<Balance>,
    /// Counts up when any of it is other.
    generation: u64,
}

/// The lanes over time.
#[derive(Default)]
pub struct Lanes {
    chosen: Option<&'static str>,
    series: BTreeMap<ProbeId, Row>,
    look: Look,
    seen: Seen,
    picture: Picture,
    link: Link,
    /// What the context menu was opened on.
    opened: Option<Subject>,
}

/// Probes with several fixed lanes.
pub fn probes(exhibit: &Exhibit) -> Vec<(ProbeId, &'static ProbeSpec)> {
    let is_wide = |id: ProbeId| exhibit.lanes.get(usize::from(id)).is_some_and(|names| names.len() > 1);
    probes_where(exhibit, |s| matches!(s, Shape::Series { of: "" })).filter(|(id, _)| is_wide(*id)).collect()
}

impl Seen {
    fn update(&mut self, key: Key, row: &Row, line: &Timeline) {
        if self.key == Some(key) {
            return;
        }
        let (.., pixels, look) = key;
        self.grid = Grid::of(&row.samples, &row.sums, (line.t0, line.t1), pixels);
        self.is_positive = self.grid.is_positive();
        self.values = match look.is_share && self.is_positive {
            true => self.grid.shares(),
            false => self.grid.means.clone(),
        };
        self.order = self.grid.order(look.by_mean);
        let means = self.grid.totals.iter().map(|t| t.mean());
        self.balance = self.is_positive.then(|| grid::balance(means)).flatten();
        self.key = Some(key);
        self.generation += 1;
    }

    /// Whether the cells are shares of their columns.
    fn is_share(&self) -> bool {
        self.key.is_some_and(|(.., look)| look.is_share) && self.is_positive
    }
}

impl Lanes {
    /// The probe shown: as chosen, else the first.
    fn probe(&self, exhibit: &Exhibit) -> Option<(ProbeId, &'static ProbeSpec)> {
        let all = probes(exhibit);
        all.iter().find(|(_, p)| Some(p.name) == self.chosen).or(all.first()).copied()
    }

    fn toolbar_ui(&mut self, ui: &mut Ui, ctx: &mut ViewCtx<'_>, probe: &'static ProbeSpec) {
        kit::time_ui(ui, ctx, &mut self.link);
        ui.separator();
        let options: Vec<_> = probes(ctx.exhibit).into_iter().map(|(_, p)| (p.name, kit::spaced(p.name))).collect();
        let mut chosen = probe.name;
        if kit::choice_ui(ui, ctx.tokens, "Series", &mut chosen, &options) {
            self.chosen = Some(chosen);
        }
        let orders = [(false, "as given".to_owned()), (true, "by mean in view".to_owned())];
        kit::choice_ui(ui, ctx.tokens, "Rows", &mut self.look.by_mean, &orders);
        let hint = "Each column divided by its sum, where nothing in view is below zero";
        ui.add_enabled_ui(self.seen.is_positive, |ui| {
            ui.toggle_value(&mut self.look.is_share, "Share").on_hover_text(hint).on_disabled_hover_text(hint);
        });
        let hint = "Equal ratios are equal steps of colour";
        ui.toggle_value(&mut self.look.is_log, "Log").on_hover_text(hint);
        if let Some(range) = grid::range(&self.seen.values, self.look.is_log) {
            ctx.tints.range_ui(ui, self.variable(probe), range);
        }
    }

    /// Under which the range of the colours is remembered.
    fn variable(&self, probe: &ProbeSpec) -> &'static str {
        if self.seen.is_share() { "share" } else { probe.name }
    }

    /// Everything inside the canvas.
    fn chart_ui(&mut self, ui: &mut Ui, canvas: Rect, (id, probe): (ProbeId, &ProbeSpec), ctx: &mut ViewCtx<'_>) {
        let lanes = ctx.exhibit.lanes.get(usize::from(id)).map_or(&[][..], Vec::as_slice);
        let colors = lane_colors(ctx.exhibit, lanes, ctx.tokens);
        let named = |(name, color): (&String, egui::Color32)| Name { text: kit::spaced(name), color: Some(color) };
        let names: Vec<Name> = lanes.iter().zip(colors).map(named).collect();
        let layout = Layout::of(ui, canvas, &names);
        let plot = layout.plot;
        let response = ui.interact(canvas, ui.scope_id().with("lanes"), Sense::click_and_drag());
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Image, true, "Lanes over time"));
        let line = self.link.interact(ui, &response, plot, &mut ctx.time.axis, ctx.clock.step as f64);
        paint::point(&response, plot, &line, &mut ctx.time.axis);
        let Some(row) = self.series.get(&id).filter(|r| r.samples.lanes() == names.len()) else { return };
        let n = row.samples.dropped() + row.samples.len() as u64;
        let pixels = (plot.width() * ui.pixels_per_point()) as usize;
        self.seen.update((id, n, [line.t0, line.t1].map(f64::to_bits), pixels, self.look), row, &line);
        self.paint(ui, canvas, &layout, &line, (probe, &names), &response, ctx);
        self.work(&response, &layout, &line, (probe, lanes), ctx);
    }

    fn paint(
        &mut self,
        ui: &Ui,
        canvas: Rect,
        layout: &Layout,
        line: &Timeline,
        (probe, names): (&ProbeSpec, &[Name]),
        response: &Response,
        ctx: &ViewCtx<'_>,
    ) {
        let (painter, mono, plot, tokens) = (ui.painter_at(canvas), kit::mono(ui), layout.plot, ctx.tokens);
        let seen = &self.seen;
        let ordered: Vec<&Name> = seen.order.iter().filter_map(|lane| names.get(*lane)).collect();
        let hovered = response.hover_pos().and_then(|at| layout.row_at(at.y));
        let fixed = ctx.tints.of(self.variable(probe)).range;
        if let Some(range) = grid::range(&seen.values, self.look.is_log) {
            let ink = Ink::new(grid::inks(range), self.look.is_log, range, fixed, tokens);
            let cells = (&seen.grid, seen.values.as_slice(), seen.order.as_slice());
            self.picture.paint(ui, layout, line, cells, &ink, (seen.generation, tokens.dark, fixed));
            let unit = if seen.is_share() { "share" } else { probe.unit };
            ink.bar(ui, layout.bar, unit, ink.beyond(&seen.values), tokens);
        }
        let inside = ui.painter_at(plot);
        paint::behind(&inside, plot, ctx.time, tokens, (line.t0, line.t1), |step| line.x_of(plot, step));
        draw::names(ui, canvas, layout, &ordered, hovered, tokens);
        if let Some(i) = hovered.filter(|_| !response.dragged()) {
            inside.rect_stroke(
                layout.row(i),
                0.0,
                (1.0, tokens.text_strong.gamma_multiply(0.6)),
                egui::StrokeKind::Inside,
            );
        }
        line.paint_axis(&painter, plot, &mono, tokens, ctx.clock);
        paint::before(&painter, plot, ctx.time, tokens, |step| line.x_of(plot, step));
        paint::pointer_chip(&painter, response, plot, line, (ctx.clock, &mono, tokens));
    }

    /// Tooltip, click and right click on a row.
    fn work(
        &mut self,
        response: &Response,
        layout: &Layout,
        line: &Timeline,
        (probe, lanes): (&ProbeSpec, &[String]),
        ctx: &mut ViewCtx<'_>,
    ) {
        let at = response.hover_pos().or(response.interact_pointer_pos());
        let row = at.and_then(|at| Some((at, layout.row_at(at.y)?)));
        let found = row.and_then(|(at, row)| Some((at, *self.seen.order.get(row)?)));
        let class = |lane: usize| class_of(ctx.exhibit, lanes, lane);
        if let Some((_, lane)) = found.filter(|_| response.clicked())
            && let Some((set, subject)) = class(lane)
        {
            match response.ctx.input(|i| i.modifiers.command) {
                true => ctx.selection.extend(set, &subject.elements),
                false => ctx.selection.replace_shared(set, subject.elements),
            }
        } else if response.secondary_clicked() {
            self.opened = found.and_then(|(_, lane)| class(lane)).map(|(_, subject)| subject);
        }
        self.menu_ui(response, lanes, ctx);
        if let Some((at, lane)) = found.filter(|_| response.hovered() && !response.dragged()) {
            let step = line.step_at(layout.plot, at.x.clamp(layout.plot.left(), layout.plot.right()));
            let text = self.told(lane, step, (probe, lanes), line, ctx);
            response.clone().on_hover_text_at_pointer(text);
        }
    }

    /// The menu of the class a lane is named after.
    fn menu_ui(&self, response: &Response, lanes: &[String], ctx: &mut ViewCtx<'_>) {
        let set = column_of(ctx.exhibit, lanes).and_then(|(set, _)| ctx.exhibit.set(set.name)).cloned();
        let Some((set, subject)) = set.zip(self.opened.clone()) else { return };
        response.context_menu(|ui| menu::ui(ui, ctx, &set, &subject));
    }
}

/// Everyone of the category a lane is named after, and their set.
fn class_of(exhibit: &Exhibit, lanes: &[String], lane: usize) -> Option<(&'static str, Subject)> {
    let (set, column) = column_of(exhibit, lanes)?;
    let code = column.labels.iter().position(|l| Some(l) == lanes.get(lane))?;
    let all = column.codes.iter().enumerate().filter(|(_, c)| usize::from(**c) == code);
    let elements: Vec<u32> = all.map(|(e, _)| e as u32).collect();
    let name = format!("{}: {}", kit::spaced(&column.labels[code]), kit::thousands(elements.len() as u64));
    Some((set.name, Subject { element: None, elements: Arc::new(elements), name }))
}

impl View for Lanes {
    fn name(&self) -> &'static str {
        "lanes"
    }

    fn title(&self, exhibit: &Exhibit) -> String {
        let name = self.probe(exhibit).map(|(_, p)| kit::spaced(p.name));
        name.map_or_else(|| "Lanes".into(), |name| format!("Lanes: {name}"))
    }

    fn taps(&self, exhibit: &Exhibit, _: &Selection) -> Vec<Tap> {
        self.probe(exhibit).map(|(id, _)| tap(id)).into_iter().collect()
    }

    fn reset(&mut self, _: &Exhibit) {
        self.series.clear();
        self.seen = Seen { generation: self.seen.generation + 1, ..Seen::default() };
    }

    fn absorb(&mut self, exhibit: &Exhibit, frame: &Frame) {
        for (id, _) in probes(exhibit) {
            if let Some(Reading::Series(series)) = frame.reading(id) {
                let row = self.series.entry(id).or_default();
                row.samples.push(series.lanes as usize, &series.steps, &series.values);
                row.sums.follow(&row.samples);
            }
        }
    }

    fn ui(&mut self, ui: &mut Ui, ctx: &mut ViewCtx<'_>) {
        let Some((id, probe)) = self.probe(ctx.exhibit) else {
            let canvas = ui.available_rect_before_wrap();
            let how = "This simulation publishes no series with several lanes";
            kit::empty_ui(ui, canvas, ctx, "Nothing to compare over time", how, None);
            return;
        };
        let caption = self.caption(ctx);
        let canvas = kit::panel_ui(ui, ctx.tokens, Some(&caption), |ui| self.toolbar_ui(ui, ctx, probe));
        if self.series.get(&id).is_none_or(|r| r.samples.len() == 0) && !ctx.running {
            return run_ui(ui, canvas, ctx, "No samples yet", "Run the model to see its lanes over time");
        }
        ui.painter().rect_filled(canvas, 0.0, ctx.tokens.canvas);
        if kit::tiny_ui(ui, canvas, ctx.tokens) {
            return;
        }
        self.chart_ui(ui, canvas, (id, probe), ctx);
    }

    fn toggle_range(&mut self, exhibit: &Exhibit, tints: &mut Tints) -> Option<bool> {
        let (_, probe) = self.probe(exhibit)?;
        let range = grid::range(&self.seen.values, self.look.is_log)?;
        Some(tints.toggle(self.variable(probe), range))
    }

    fn icon(&self) -> &'static str {
        crate::app::icons::GRID
    }

    fn gestures(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("click", "select the class of a row"),
            ("drag", "move"),
            ("wheel", "zoom"),
            ("double-click", "newest"),
            ("right click", "menu"),
        ]
    }

    fn help(&self) -> &'static str {
        "# Lanes over time\n\nA series with several lanes as a heat map: a row per lane, the mean of the samples in each \
         column as its colour. Columns are a pixel wide, or as wide as samples are apart; one without a sample is left \
         blank. Values below zero are drawn away from zero, one way and the other.\n\n\
         *Share* divides each column by its sum: who takes how much of what there is at a time. *Rows* sorts by the mean \
         in view. The caption tells of what is in view: *evenness* is the entropy of the shares over that of equal ones, \
         1 when all take the same and 0 when one takes all; *imbalance* is the highest mean over the mean of all; *silent* \
         are lanes that are zero throughout.\n\n\
         - click a row named after a class: select the class · Ctrl+click: add it · right click: what can be done with it\n\
         - drag: move in time · wheel: zoom · double-click or End: newest data"
    }
}
