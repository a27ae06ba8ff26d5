//! Phase map: a heat map of the phase agreement or lag between groups of elements in a chosen order.

mod agreement;

use super::{
    MenuTarget, View, ViewCtx, ViewDeclaration,
    chosen::NamedProbe,
    fields::{self, ElementMask, Fields},
    hidden_text, menu, no_values_ui, unfit_ui,
};
use crate::{
    app::{
        document::{features::tap, layout::Page, selection::Selection},
        kit::{
            self,
            color_scale::ScaleColors,
            colormap::Colormap,
            heatmap::{AxisLabel, Heatmap, HeatmapTexture},
            icons, pool,
        },
    },
    engine::SimSchema,
    sim::{ElementSet, Frame, Meaning, ProbeId, ProbeSpec, Tap},
};
use agreement::{Agreement, NONE};
use egui::{Rect, Response, Sense, Ui, pos2, vec2};
use std::{f32::consts::PI, sync::Arc};

/// Maximum number of elements for which groups are computed on the UI thread.
const MAX_INLINE: usize = 20_000;

/// Value that a cell shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Measure {
    /// Mean of cos(φ_i - φ_j).
    #[default]
    Agreement,
    /// Angle of the mean of e^{i(φ_i - φ_j)}.
    Lag,
}

impl Measure {
    const ALL: [(Self, &'static str); 2] = [(Self::Agreement, "agreement"), (Self::Lag, "lag")];

    fn span(self) -> (f32, f32) {
        if self == Self::Agreement { (-1.0, 1.0) } else { (-PI, PI) }
    }

    fn scale_colors(self) -> ScaleColors {
        if self == Self::Agreement { ScaleColors::Diverging } else { ScaleColors::Map(Colormap::Twilight) }
    }
}

/// Generations of values and filter, and the order field.
type AgreementKey = (u64, u64, Option<ProbeId>);

/// The phase map.
#[derive(Default)]
pub struct Phases {
    angle: NamedProbe,
    /// The chosen order field, or `Some(None)` for the index; `None`: the first field of numbers.
    by: Option<Option<ProbeId>>,
    measure: Measure,
    fields: Fields,
    key: Option<AgreementKey>,
    pool_job: pool::PoolJob<AgreementKey, Agreement>,
    agreement: Arc<Agreement>,
    heat: Option<(Measure, Heatmap)>,
    generation: u64,
    picture: HeatmapTexture,
    /// Generations of result and selection, and whether each group has selected elements.
    marked: ((u64, u64), Vec<bool>),
    /// Cells at the start and the end of a dragged rectangle.
    dragged: Option<[(usize, usize); 2]>,
    menu: Arc<Vec<u32>>,
}

impl Phases {
    fn probe(&self, schema: &SimSchema) -> Option<(ProbeId, &'static ProbeSpec, &'static str)> {
        fields::angle(schema, self.angle)
    }

    /// Returns the fields that the order can follow.
    fn orders(schema: &SimSchema, over: &str) -> Vec<(ProbeId, &'static ProbeSpec)> {
        fields::over(schema, over, |m| m != Meaning::Mask)
    }

    fn by(&self, schema: &SimSchema, over: &str) -> Option<ProbeId> {
        let numbers = || fields::over(schema, over, |m| m == Meaning::Number).first().map(|(id, _)| *id);
        let chosen = self.by.unwrap_or_else(numbers)?;
        Self::orders(schema, over).iter().any(|(id, _)| *id == chosen).then_some(chosen)
    }

    fn wanted(&self, schema: &SimSchema) -> Vec<ProbeId> {
        let Some((id, _, over)) = self.probe(schema) else { return vec![] };
        fields::wanted([Some(id), fields::mask(schema, over), self.by(schema, over)])
    }

    fn clear(&mut self) {
        self.fields.clear();
        (self.key, self.heat, self.agreement) = (None, None, Arc::default());
        self.pool_job = pool::PoolJob::default();
    }

    /// Computes the groups if their inputs have changed. The previous result is shown until then.
    fn update(&mut self, ui: &Ui, angle: ProbeId, set: &ElementSet, ctx: &ViewCtx<'_>) {
        if let Some((key, agreement)) = self.pool_job.poll() {
            self.take(key, agreement);
        }
        let by = self.by(ctx.schema, set.name);
        let Some(phases) = self.fields.get(angle).cloned() else { return };
        let order = by.and_then(|by| self.fields.get(by)).cloned();
        if by.is_some() && order.is_none() {
            return;
        }
        let key = (self.fields.generation, ctx.filter.shown().generation, by);
        if self.key == Some(key) || !self.pool_job.is_free(&key) {
            return;
        }
        let part = ElementMask::of(ctx.schema, set.name, &self.fields, ctx.filter.shown());
        let n = phases.len();
        let job = move || Agreement::new(&phases, order.as_ref().map(|o| o.as_slice()), &part);
        if n <= MAX_INLINE { self.take(key, job()) } else { self.pool_job.start(ui.ctx(), key, job) }
    }

    fn take(&mut self, key: AgreementKey, agreement: Agreement) {
        (self.key, self.agreement, self.heat) = (Some(key), Arc::new(agreement), None);
        self.generation += 1;
    }

    /// Returns the heat map, rebuilt if the measure has changed.
    fn heat(&mut self) -> &Heatmap {
        let (measure, agreement) = (self.measure, &self.agreement);
        if self.heat.as_ref().is_some_and(|(of, _)| *of != measure) {
            self.heat = None;
            self.generation += 1;
        }
        let make = || {
            let n = agreement.groups.len();
            let value = |a, b| if measure == Measure::Lag { agreement.lag(a, b) } else { agreement.mean_cos(a, b) };
            let values = (0..n).flat_map(|a| (0..n).map(move |b| value(a, b))).collect();
            let name = |g: &agreement::Group| AxisLabel { text: kit::reading(g.values.0), color: None };
            let rows: Vec<AxisLabel> = agreement.groups.iter().map(name).collect();
            // Columns are the same groups as rows, so they have no labels.
            let columns = vec![AxisLabel { text: String::new(), color: None }; n];
            let span = Some(measure.span());
            Heatmap { rows, columns, values, scale_colors: measure.scale_colors(), span, is_log: false }
        };
        &self.heat.get_or_insert_with(|| (measure, make())).1
    }

    fn caption(&self, schema: &SimSchema, set: &ElementSet, n_hidden: u32) -> String {
        let (n, groups) = (self.agreement.of.len() as u64, self.agreement.groups.len());
        let by = self.by(schema, set.name).map(|by| fields::label(&schema.probes[usize::from(by)]));
        let by = by.unwrap_or_else(|| "index".into());
        let mut text = format!("{} of {}", kit::thousands(n), kit::counted(set.len.into(), &set.noun()));
        text += &format!("  |  ordered by {by}, {}", kit::counted(groups as u64, "groups"));
        text += match self.measure {
            Measure::Agreement => "  |  mean of cos Δφ over all pairs",
            Measure::Lag => "  |  mean Δφ, row ahead of column, rad",
        };
        text + &hidden_text(n_hidden)
    }

    fn toolbar_ui(&mut self, ui: &mut Ui, ctx: &ViewCtx<'_>, probe: &'static ProbeSpec, over: &str) {
        if fields::angle_ui(ui, ctx, &mut self.angle, probe) {
            self.clear();
        }
        let mut by = self.by(ctx.schema, over);
        let mut orders = vec![(None, "index".to_owned())];
        orders.extend(Self::orders(ctx.schema, over).into_iter().map(|(id, p)| (Some(id), fields::label(p))));
        if kit::choice_ui(ui, ctx.tokens, "Order", &mut by, &orders) {
            self.by = Some(by);
        }
        kit::choice_ui(ui, ctx.tokens, "Show", &mut self.measure, &Measure::ALL.map(|(m, text)| (m, text.to_owned())));
    }

    /// Returns the elements of the groups in the rectangle between two cells.
    fn between(&self, [a, b]: [(usize, usize); 2]) -> Vec<u32> {
        let sides = [(a.0.min(b.0), a.0.max(b.0)), (a.1.min(b.1), a.1.max(b.1))];
        let mut all: Vec<u32> = sides
            .iter()
            .flat_map(|(from, to)| (*from..=*to).flat_map(|g| self.agreement.members(g)))
            .copied()
            .collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    fn gestures_ui(
        &mut self,
        ui: &Ui,
        response: &Response,
        at: impl Fn(egui::Pos2) -> Option<(usize, usize)>,
        set: &ElementSet,
        ctx: &mut ViewCtx<'_>,
    ) {
        let here = response.interact_pointer_pos().or(response.hover_pos()).and_then(&at);
        if response.dragged_by(egui::PointerButton::Primary)
            && let (Some(start), Some(here)) = (ui.input(|i| i.pointer.press_origin()).and_then(&at), here)
        {
            self.dragged = Some([start, here]);
        }
        let modifiers = ui.input(|i| i.modifiers);
        if response.drag_stopped()
            && let Some(cells) = self.dragged.take()
        {
            ctx.selection.apply_area(set.name, self.between(cells), modifiers);
        }
        if response.clicked()
            && let Some(cell) = here
        {
            ctx.selection.apply_area(set.name, self.between([cell, cell]), modifiers);
        }
        if response.secondary_clicked() {
            self.menu = Arc::new(here.map(|cell| self.between([cell, cell])).unwrap_or_default());
        }
        response.context_menu(|ui| {
            let name = format!("{} in two groups", kit::thousands(self.menu.len() as u64));
            menu::ui(ui, ctx, set, &MenuTarget { element: None, elements: self.menu.clone(), name });
        });
    }

    /// Draws marks next to groups with selected elements.
    fn paint_selected(&mut self, ui: &Ui, cells: Rect, set: &ElementSet, ctx: &ViewCtx<'_>) {
        let n = self.agreement.groups.len().max(1);
        let key = (self.generation, ctx.selection.generation);
        if self.marked.0 != key || self.marked.1.len() != n {
            self.marked = (key, vec![false; n]);
            for element in ctx.selection.of(set.name) {
                let group = self.agreement.group_of.get(*element as usize).copied().unwrap_or(NONE);
                if let Some(mark) = self.marked.1.get_mut(usize::from(group)) {
                    *mark = true;
                }
            }
        }
        let (width, height) = (cells.width() / n as f32, cells.height() / n as f32);
        for (i, _) in self.marked.1.iter().enumerate().filter(|(_, is_marked)| **is_marked) {
            let (x, y) = (cells.left() + i as f32 * width, cells.top() + i as f32 * height);
            let beside = Rect::from_min_size(pos2(cells.left() - 4.0, y), vec2(3.0, height));
            let above = Rect::from_min_size(pos2(x, cells.top() - 4.0), vec2(width, 3.0));
            for mark in [beside, above] {
                ui.painter().rect_filled(mark, 0.0, ctx.tokens.accent);
            }
        }
    }

    fn tip(&self, (row, column): (usize, usize), ctx: &ViewCtx<'_>, over: &str) -> String {
        let by = self.by(ctx.schema, over).map(|by| &ctx.schema.probes[usize::from(by)]);
        let unit = by.map_or("", |p| p.unit);
        let called = |g: usize| {
            let (from, to) = self.agreement.groups[g].values;
            let n = self.agreement.members(g).len() as u64;
            let to = kit::with_unit(f64::from(to), unit);
            format!("{} … {to}: {} {over}, r {:.2}", kit::reading(from), kit::thousands(n), self.agreement.order(g))
        };
        let (cos, lag) = (self.agreement.mean_cos(row, column), self.agreement.lag(row, column));
        let name = by.map_or_else(|| "index".to_owned(), fields::label);
        let groups = format!("{name}\nrow     {}\ncolumn  {}", called(row), called(column));
        format!("{groups}\nmean cos Δφ  {cos:.3}\nmean Δφ  {}", kit::angle(lag.into()))
    }
}

impl Phases {
    pub const DECLARATION: ViewDeclaration = ViewDeclaration {
        name: "phases",
        title: "Phase × phase",
        icon: icons::GRID,
        help: "# Phase × phase\n\nPhase agreement between groups: all elements, ordered by a field, in up to 96 groups of \
         equal size. \
         *Agreement* is the mean of cos(φ_i - φ_j) over all pairs of two groups, exact: 1 when they move together, -1 \
         when they are opposed, 0 when they are unrelated; within a group i ≠ j. *Lag* is \
         the angle by which the row is ahead of the column. Blocks along the diagonal are clusters; choose another order to \
         see what they depend on. Marks at the edges are groups with selected elements.\n\n\
         - click: select both groups · drag: all rows and columns between · Ctrl: add\n\
         - right-click: actions",
        gestures: &[
            ("click", "select two groups"),
            ("drag", "select all between"),
            ("Ctrl", "add"),
            ("right-click", "menu"),
        ],
        pages: &[Page::Simulate, Page::Explore],
        fits: fields::has_angles,
        ..ViewDeclaration::of::<Self>()
    };
}

impl View for Phases {
    fn declaration(&self) -> &'static ViewDeclaration {
        &Self::DECLARATION
    }

    fn title(&self, schema: &SimSchema) -> String {
        let name = self.probe(schema).map_or_else(|| "phase".into(), |(_, p, _)| fields::label(p));
        crate::app::kit::text::title(&format!("{name} × {name}"))
    }

    fn taps(&self, schema: &SimSchema, _: &Selection) -> Vec<Tap> {
        self.wanted(schema).into_iter().map(tap).collect()
    }

    fn reset(&mut self, _: &SimSchema) {
        self.clear();
    }

    fn absorb(&mut self, schema: &SimSchema, frame: &Frame) {
        let wanted = self.wanted(schema);
        self.fields.absorb(frame, &wanted);
    }

    fn ui(&mut self, ui: &mut Ui, ctx: &mut ViewCtx<'_>) {
        let found = self.probe(ctx.schema).and_then(|(id, p, over)| Some((id, p, ctx.schema.set(over)?.clone())));
        let Some((id, probe, set)) = found else {
            return unfit_ui(ui, ctx, ["No angle field", "The phase map needs a field of angles"]);
        };
        self.update(ui, id, &set, ctx);
        let n_hidden = ctx.filter.shown().n_hidden(&set);
        let caption = self.caption(ctx.schema, &set, n_hidden);
        let canvas = kit::panel_ui(ui, ctx.tokens, Some(&caption), |ui| self.toolbar_ui(ui, ctx, probe, set.name));
        if self.agreement.of.is_empty() {
            let notice = ["No phases yet", "Run to see phase agreement"];
            return no_values_ui(ui, canvas, ctx, (n_hidden, "a phase"), notice);
        }
        if !kit::fill_ui(ui, canvas, ctx.tokens) {
            return;
        }
        let places = self.heat().places(ui, canvas);
        let response = ui.interact(places.cells, ui.scope_id().with("phases"), Sense::click_and_drag());
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Image, true, "Agreement of phases"));
        let n = self.agreement.groups.len();
        let at = |point: egui::Pos2| {
            let share = (point - places.cells.min) / places.cells.size();
            let cell = |t: f32| ((t.clamp(0.0, 1.0) * n as f32) as usize).min(n - 1);
            Some((cell(share.y), cell(share.x)))
        };
        self.gestures_ui(ui, &response, at, &set, ctx);
        let hovered = response.hover_pos().and_then(at);
        self.paint_selected(ui, places.cells, &set, ctx);
        let title = self
            .by(ctx.schema, set.name)
            .map(|by| crate::app::kit::text::probe_title(&ctx.schema.probes[usize::from(by)]));
        let title = format!("{}, increasing downwards and to the right", title.unwrap_or_else(|| "index".into()));
        let corner = places.cells.left_top() - vec2(0.0, 6.0);
        ui.painter().text(corner, egui::Align2::LEFT_BOTTOM, title, kit::small(ui), ctx.tokens.text_sub);
        let mut picture = std::mem::take(&mut self.picture);
        let generation = self.generation;
        self.heat().paint(ui, &places, &mut picture, generation, hovered, ctx.tokens);
        self.picture = picture;
        if let Some([a, b]) = self.dragged {
            let size = places.cells.size() / n as f32;
            let corner = |(row, column): (usize, usize)| places.cells.min + size * vec2(column as f32, row as f32);
            let area =
                Rect::from_two_pos(corner((a.0.min(b.0), a.1.min(b.1))), corner((a.0.max(b.0) + 1, a.1.max(b.1) + 1)));
            ui.painter().rect_stroke(area, 0.0, (1.25, ctx.tokens.accent), egui::StrokeKind::Outside);
        }
        if let Some(cell) = hovered.filter(|_| self.dragged.is_none()) {
            response.on_hover_text_at_pointer(self.tip(cell, ctx, set.name));
        }
    }
}
