//! Heat map of a series with fixed lanes, such as rates of classes or loads of experts: one row per lane, time from left to
//! right.

mod draw;
mod grid;
mod sums;
mod text;

use super::{
    MenuTarget, View, ViewCtx, ViewDeclaration,
    chosen::NamedProbe,
    fields, menu,
    plot::{
        lane_colors::{column_of, lane_colors},
        samples::Samples,
    },
    run_ui, unfit_ui,
};
use crate::{
    app::{
        document::{
            color_scales::ColorScales,
            features::{probes_where, tap},
            layout::Page,
            selection::Selection,
            time::{TimeLink, Timeline, paint},
        },
        kit::{self, color_scale::ColorScale, heatmap::AxisLabel, icons},
        views::element,
    },
    engine::{SchemaChanges, SimSchema},
    sim::{Frame, ProbeId, ProbeSpec, Reading, Shape, Tap},
};
use draw::{LanesImage, Layout};
use egui::{Rect, Response, Sense, Ui};
use grid::{Balance, Grid};
use std::{collections::BTreeMap, sync::Arc};
use sums::Sums;

/// Samples of one probe, and their prefix sums.
#[derive(Default)]
struct Row {
    samples: Samples,
    sums: Sums,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Settings {
    is_share: bool,
    is_log: bool,
    by_mean: bool,
}

/// Inputs of a result: probe, number of samples, bits of the visible times, width in pixels, settings.
type LanesKey = (ProbeId, u64, [u64; 2], usize, Settings);

/// The result for the visible times.
#[derive(Default)]
struct Visible {
    key: Option<LanesKey>,
    grid: Grid,
    /// Values that the cells show: means or shares.
    values: Vec<f32>,
    order: Vec<usize>,
    is_positive: bool,
    balance: Option<Balance>,
    /// Counter that every change increments.
    generation: u64,
}

/// The view of lanes over time.
#[derive(Default)]
pub struct Lanes {
    chosen: NamedProbe,
    series: BTreeMap<ProbeId, Row>,
    settings: Settings,
    visible: Visible,
    image: LanesImage,
    link: TimeLink,
    /// The elements for which the context menu was opened.
    opened: Option<MenuTarget>,
}

/// Returns the probes of series with several fixed lanes.
pub fn probes(schema: &SimSchema) -> Vec<(ProbeId, &'static ProbeSpec)> {
    let is_wide = |id: ProbeId| schema.lanes.get(usize::from(id)).is_some_and(|names| names.len() > 1);
    probes_where(schema, |s| matches!(s, Shape::Series { of: "" })).filter(|(id, _)| is_wide(*id)).collect()
}

impl Visible {
    fn update(&mut self, key: LanesKey, row: &Row, line: &Timeline) {
        if self.key == Some(key) {
            return;
        }
        let (.., pixels, settings) = key;
        self.grid = Grid::of(&row.samples, &row.sums, (line.t0, line.t1), pixels);
        self.is_positive = self.grid.is_positive() && !row.sums.is_angle();
        self.values = match settings.is_share && self.is_positive {
            true => self.grid.shares(),
            false => self.grid.means.clone(),
        };
        self.order = self.grid.order(settings.by_mean);
        let means = self.grid.lane_means.iter().copied();
        self.balance = self.is_positive.then(|| grid::balance(means)).flatten();
        self.key = Some(key);
        self.generation += 1;
    }

    /// Whether the cells are fractions of the sums of their columns.
    fn is_share(&self) -> bool {
        self.key.is_some_and(|(.., settings)| settings.is_share) && self.is_positive
    }
}

impl Lanes {
    /// Returns the displayed probe: the chosen one if it exists, otherwise the first. `None` without probes.
    fn probe(&self, schema: &SimSchema) -> Option<(ProbeId, &'static ProbeSpec)> {
        self.chosen.of(&probes(schema), |_| true)
    }

    fn toolbar_ui(&mut self, ui: &mut Ui, ctx: &mut ViewCtx<'_>, probe: &'static ProbeSpec) {
        element::time_ui(ui, ctx, &mut self.link);
        ui.separator();
        self.chosen.ui(ui, ctx, "Series", probe, &fields::named(&probes(ctx.schema)));
        let orders = [(false, "as given".to_owned()), (true, "by visible mean".to_owned())];
        kit::choice_ui(ui, ctx.tokens, "Rows", &mut self.settings.by_mean, &orders);
        let hint = "Divide each column by its sum, if no visible value is negative";
        ui.add_enabled_ui(self.visible.is_positive, |ui| {
            ui.toggle_value(&mut self.settings.is_share, "Share").on_hover_text(hint).on_disabled_hover_text(hint);
        });
        let hint = "Logarithmic colour scale";
        ui.add_enabled_ui(!probe.is_angle(), |ui| {
            ui.toggle_value(&mut self.settings.is_log, "Log").on_hover_text(hint);
        });
        if let Some(range) = self.range(probe) {
            ctx.color_scales.range_ui(ui, self.variable(probe), range);
        }
    }

    /// Returns the colour range of the visible values; `None` without finite values.
    fn range(&self, probe: &ProbeSpec) -> Option<(f32, f32)> {
        grid::range(&self.visible.values, self.is_log(probe), probe.is_angle())
    }

    /// Whether colours are logarithmic, which they never are for angles.
    fn is_log(&self, probe: &ProbeSpec) -> bool {
        self.settings.is_log && !probe.is_angle()
    }

    /// Returns the name under which the colour range is stored.
    fn variable(&self, probe: &ProbeSpec) -> &'static str {
        if self.visible.is_share() { "share" } else { probe.name }
    }

    /// Draws the chart and handles its pointer input.
    fn chart_ui(&mut self, ui: &mut Ui, canvas: Rect, (id, probe): (ProbeId, &ProbeSpec), ctx: &mut ViewCtx<'_>) {
        let lanes = ctx.schema.lanes.get(usize::from(id)).map_or(&[][..], Vec::as_slice);
        let colors = lane_colors(ctx.schema, lanes, ctx.tokens);
        let named = |(name, color): (&String, egui::Color32)| AxisLabel { text: name.clone(), color: Some(color) };
        let names: Vec<AxisLabel> = lanes.iter().zip(colors).map(named).collect();
        let layout = Layout::of(ui, canvas, &names);
        let plot = layout.plot;
        let response = ui.interact(canvas, ui.scope_id().with("lanes"), Sense::click_and_drag());
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Image, true, "Heat map over time"));
        let edge = ctx.live_edge() as f64;
        let line = self.link.interact(ui, &response, plot, &mut ctx.time.axis, edge);
        paint::point(&response, plot, &line, &mut ctx.time.axis);
        let Some(row) = self.series.get(&id).filter(|r| r.samples.lanes() == names.len()) else { return };
        let n = row.samples.dropped() + row.samples.len() as u64;
        let pixels = (plot.width() * ui.pixels_per_point()) as usize;
        self.visible.update((id, n, [line.t0, line.t1].map(f64::to_bits), pixels, self.settings), row, &line);
        self.paint(ui, canvas, &layout, &line, (probe, &names), &response, ctx);
        self.handle_pointer(&response, &layout, &line, (probe, lanes), ctx);
    }

    fn paint(
        &mut self,
        ui: &Ui,
        canvas: Rect,
        layout: &Layout,
        line: &Timeline,
        (probe, names): (&ProbeSpec, &[AxisLabel]),
        response: &Response,
        ctx: &ViewCtx<'_>,
    ) {
        let (painter, mono, plot, tokens) = (ui.painter_at(canvas), kit::mono(ui), layout.plot, ctx.tokens);
        let visible = &self.visible;
        let ordered: Vec<&AxisLabel> = visible.order.iter().filter_map(|lane| names.get(*lane)).collect();
        let hovered = response.hover_pos().and_then(|at| layout.row_at(at.y));
        let fixed = ctx.color_scales.of(self.variable(probe)).range;
        if let Some(range) = self.range(probe) {
            let (is_angle, is_log) = (probe.is_angle(), self.is_log(probe));
            let ink = ColorScale::new(grid::scale_colors(range, is_angle), is_log, range, fixed, tokens);
            let cells = (&visible.grid, visible.values.as_slice(), visible.order.as_slice());
            self.image.paint(ui, layout, line, cells, &ink, (visible.generation, tokens.dark, fixed));
            let unit = if visible.is_share() { "share" } else { probe.unit };
            ink.bar(ui, layout.bar, unit, ink.beyond(&visible.values), tokens);
        }
        let inside = ui.painter_at(plot);
        if let Some((id, _)) = self.probe(ctx.schema)
            && let Some(row) = self.series.get(&id)
        {
            let gaps = row.samples.gaps_of_single(line.t0, line.t1);
            paint::not_recorded(&inside, plot, &gaps, tokens, |step| line.x_of(plot, step));
            let former = row.samples.former(line.t0, line.t1);
            paint::other_lanes(&inside, plot, &former, tokens, |step| line.x_of(plot, step));
        }
        paint::background(&inside, plot, ctx.time, tokens, (line.t0, line.t1), |step| line.x_of(plot, step));
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
        paint::overlay(&painter, plot, ctx.time, tokens, |step| line.x_of(plot, step));
        paint::pointer_chip(&painter, response, plot, line, (ctx.clock, &mono, tokens));
    }

    /// Handles tooltip, click and context menu of a row.
    fn handle_pointer(
        &mut self,
        response: &Response,
        layout: &Layout,
        line: &Timeline,
        (probe, lanes): (&ProbeSpec, &[String]),
        ctx: &mut ViewCtx<'_>,
    ) {
        let at = response.hover_pos().or(response.interact_pointer_pos());
        let row = at.and_then(|at| Some((at, layout.row_at(at.y)?)));
        let found = row.and_then(|(at, row)| Some((at, *self.visible.order.get(row)?)));
        let class = |lane: usize| class_of(ctx.schema, lanes, lane);
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
            let text = self.tooltip_text(lane, step, (probe, lanes), line, ctx);
            response.clone().on_hover_text_at_pointer(text);
        }
    }

    /// Draws the context menu of the category after which a lane is named.
    fn menu_ui(&self, response: &Response, lanes: &[String], ctx: &mut ViewCtx<'_>) {
        let set = column_of(ctx.schema, lanes).and_then(|(set, _)| ctx.schema.set(set.name)).cloned();
        let Some((set, subject)) = set.zip(self.opened.clone()) else { return };
        response.context_menu(|ui| menu::ui(ui, ctx, &set, &subject));
    }
}

/// Returns the set and all elements of the category after which a lane is named; `None` if it is not named after one.
fn class_of(schema: &SimSchema, lanes: &[String], lane: usize) -> Option<(&'static str, MenuTarget)> {
    let (set, column) = column_of(schema, lanes)?;
    let code = column.labels.iter().position(|l| Some(l) == lanes.get(lane))?;
    let all = column.codes.iter().enumerate().filter(|(_, c)| usize::from(**c) == code);
    let elements: Vec<u32> = all.map(|(e, _)| e as u32).collect();
    let name = format!("{}: {}", column.labels[code], kit::thousands(elements.len() as u64));
    Some((set.name, MenuTarget { element: None, elements: Arc::new(elements), name }))
}

impl Lanes {
    pub const DECLARATION: ViewDeclaration = ViewDeclaration {
        name: "lanes",
        title: "Heat map",
        icon: icons::GRID,
        help: "# Heat map\n\nA series with several curves, such as the rates of all classes: a row per curve, the mean of the samples \
         in each column as its colour. Columns are a pixel wide, or as wide as samples are apart; one without a sample is left \
         blank. Negative values use a diverging colormap.\n\n\
         *Share* divides each column by its sum. *Rows* sorts by the visible mean. The caption describes the visible \
         times: *evenness* is the normalised entropy of the shares, 1 for equal rows and 0 for a single one; \
         *imbalance* is the highest mean over the mean of all; *silent* rows are zero throughout.\n\n\
         - click a row named after a class: select the class · Ctrl+click: add it · right-click: menu\n\
         - drag: move in time · wheel: zoom · double-click or End: newest data",
        gestures: &[
            ("click", "select the class of a row"),
            ("drag", "move"),
            ("wheel", "zoom"),
            ("double-click", "newest"),
            ("right-click", "menu"),
        ],
        pages: &[Page::Explore],
        fits: |schema| !probes(schema).is_empty(),
        ..ViewDeclaration::of::<Self>()
    };
}

impl View for Lanes {
    fn declaration(&self) -> &'static ViewDeclaration {
        &Self::DECLARATION
    }

    fn title(&self, schema: &SimSchema) -> String {
        let name = self.probe(schema).map(|(_, p)| fields::label(p));
        name.map_or_else(|| Self::DECLARATION.title.into(), |name| format!("Heat map: {name}"))
    }

    fn taps(&self, schema: &SimSchema, _: &Selection) -> Vec<Tap> {
        self.probe(schema).map(|(id, _)| tap(id)).into_iter().collect()
    }

    fn reset(&mut self, _: &SimSchema) {
        self.series.clear();
        self.visible = Visible { generation: self.visible.generation + 1, ..Visible::default() };
    }

    fn schema_changed(&mut self, _: &SimSchema, changes: &SchemaChanges) {
        for (_, row) in self.series.iter_mut().filter(|(id, _)| changes.probes.contains(id)) {
            row.samples.change_lanes();
            row.sums = Sums::of_angles(row.sums.is_angle());
        }
        self.visible = Visible { generation: self.visible.generation + 1, ..Visible::default() };
    }

    fn absorb(&mut self, schema: &SimSchema, frame: &Frame) {
        for (id, probe) in probes(schema) {
            if let Some(Reading::Series(series)) = frame.reading(id) {
                let new = || Row { sums: Sums::of_angles(probe.is_angle()), ..Row::default() };
                let row = self.series.entry(id).or_insert_with(new);
                row.samples.push(series.lanes as usize, &series.steps, &series.values);
                row.sums.follow(&row.samples);
            }
        }
    }

    fn ui(&mut self, ui: &mut Ui, ctx: &mut ViewCtx<'_>) {
        let Some((id, probe)) = self.probe(ctx.schema) else {
            return unfit_ui(ui, ctx, ["No rows", "This simulation has no series with several curves"]);
        };
        let caption = self.caption(ctx);
        let canvas = kit::panel_ui(ui, ctx.tokens, Some(&caption), |ui| self.toolbar_ui(ui, ctx, probe));
        if self.series.get(&id).is_none_or(|r| r.samples.len() == 0) && !ctx.running {
            return run_ui(ui, canvas, ctx, "No samples yet", "Run to see the rows over time");
        }
        if !kit::fill_ui(ui, canvas, ctx.tokens) {
            return;
        }
        self.chart_ui(ui, canvas, (id, probe), ctx);
    }

    fn toggle_range(&mut self, schema: &SimSchema, color_scales: &mut ColorScales) -> Option<bool> {
        let (_, probe) = self.probe(schema)?;
        let range = self.range(probe)?;
        Some(color_scales.toggle(self.variable(probe), range))
    }
}
