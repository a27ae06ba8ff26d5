//! Table of conditions, sorted by their effect.

mod interval;

use super::{click, is_selected, results_bar, texts, without_results_ui};
use crate::{
    app::{
        document::{
            experiment::{
                Results,
                effects::{SortBy, order},
            },
            layout::Page,
        },
        kit::{self, icons},
        views::{View, ViewCtx, ViewDeclaration},
    },
    engine::SimSchema,
};
use egui::{Align, Button, Label, Layout, Rect, RichText, Sense, Ui, UiBuilder};
use egui_extras::{Column, TableBuilder};
use interval::Bars;
use std::sync::Arc;

/// Height of a row, points.
const ROW: f32 = 22.0;

/// Contents of a column.
#[derive(Clone, Copy, PartialEq)]
enum Cell {
    Name,
    Count,
    Mean,
    Sd,
    Bar,
    Difference,
    Effect,
    Test,
    P,
    Q,
    State,
}

/// Column: contents, header, width in points, property by which a click sorts, and tooltip of the header.
type ColumnSpec = (Cell, &'static str, f32, Option<SortBy>, &'static str);

const COLUMNS: [ColumnSpec; 11] = [
    (Cell::Name, "Condition", 130.0, Some(SortBy::Name), "Name of the condition; the control is the first row"),
    (
        Cell::Count,
        "n",
        56.0,
        Some(SortBy::Plan),
        "Trials with a value, of the planned ones; click for the order of the experiment",
    ),
    (Cell::Mean, "Mean", 56.0, Some(SortBy::Mean), "Mean of the trials with a value"),
    (
        Cell::Bar,
        "95 % interval",
        110.0,
        None,
        "Bar: mean from zero. Whisker: 95 % interval of Student’s t. Line: mean of the control",
    ),
    (
        Cell::Difference,
        "Difference [95 %]",
        148.0,
        Some(SortBy::Difference),
        "Difference from the control with its 95 % interval; with shared seeds, the mean of paired differences",
    ),
    (
        Cell::Q,
        "q",
        58.0,
        Some(SortBy::Q),
        "p value corrected for all conditions of this measure (Benjamini and Hochberg)",
    ),
    (
        Cell::Effect,
        "Effect size",
        86.0,
        Some(SortBy::Effect),
        "Standardised difference: d_z for pairs, Cohen’s d for independent trials",
    ),
    (Cell::P, "p", 58.0, Some(SortBy::P), "Two-sided p value"),
    (Cell::Test, "Test", 58.0, None, "Paired t test where seeds are shared with the control, otherwise Welch’s t test"),
    (Cell::Sd, "SD", 56.0, None, "Sample standard deviation, n − 1 in the denominator"),
    (
        Cell::State,
        "State",
        170.0,
        None,
        "Failed, missing and damaged trials; conditions without an effect that were not run",
    ),
];

/// State on which the order depends: results, measure, property.
type OrderKey = (Arc<Results>, usize, SortBy);

/// Table of the effects of all conditions.
#[derive(Default)]
pub struct EffectTable {
    by: SortBy,
    order: Vec<usize>,
    order_of: Option<OrderKey>,
}

impl EffectTable {
    pub const DECLARATION: ViewDeclaration = ViewDeclaration {
        name: "experiment_table",
        title: "Effects",
        icon: icons::TABLE,
        help: "# Effects\n\nOne row per condition of an experiment, the control first, the others by the size of their difference \
         from it. *n* counts the trials with a value: a trial without one, such as a latency without a spike, is missing.\n\n\
         The bar is the mean, its whisker the 95 % interval (Student’s t). *Difference* is against the control: with shared seeds \
         the mean of paired differences (paired t test), otherwise the difference of means (Welch). *q* corrects p for all \
         conditions of the measure. With one value or without variance there is only the difference.\n\n\
         - click a header: sort · click a row: mark the condition, select its element, and show its runs if every trial was \
         recorded\n\
         - *same as control*: the silenced element never spikes in the control of the same seed, so the trial was not run\n\
         - failed trials and damaged rows of the table are named in *State*; the others count\n\
         - the table fills while an experiment runs; *Continue* runs what is missing",
        gestures: &[("click", "mark and show runs"), ("click a header", "sort"), ("hover", "all statistics")],
        pages: &[Page::Experiment],
        fits: |_| true,
        ..ViewDeclaration::of::<Self>()
    };

    fn update(&mut self, results: &Arc<Results>, measure: usize) {
        let is_same =
            |(of, by_measure, by): &OrderKey| Arc::ptr_eq(of, results) && (*by_measure, *by) == (measure, self.by);
        if !self.order_of.as_ref().is_some_and(is_same) {
            self.order = order(results, measure, self.by);
            self.order_of = Some((results.clone(), measure, self.by));
        }
    }

    fn table_ui(&mut self, ui: &mut Ui, ctx: &mut ViewCtx<'_>, results: &Results, measure: usize) {
        ui.spacing_mut().item_spacing.y = 0.0;
        let is_figure = kit::is_staged(ui.ctx());
        let mut builder = TableBuilder::new(ui).id_salt("effects").sense(Sense::click()).resizable(!is_figure);
        builder = builder.auto_shrink(false).min_scrolled_height(0.0);
        for (cell, _, width, ..) in COLUMNS {
            let column = match cell {
                Cell::State => Column::remainder().at_least(width),
                _ => Column::initial(width).at_least(36.0),
            };
            builder = builder.column(column.clip(true));
        }
        let bars = Bars::of(results, measure, &self.order);
        let order = self.order.clone();
        let mut clicked = None;
        let table = builder.header(24.0, |mut header| {
            for spec in COLUMNS {
                header.col(|ui| self.head_ui(ui, ctx, spec));
            }
        });
        table.body(|body| {
            body.rows(ROW, order.len(), |mut row| {
                let condition = order[row.index()];
                row.set_selected(is_selected(ctx, results, condition));
                for (cell, ..) in COLUMNS {
                    row.col(|ui| cell_ui(ui, ctx, results, (measure, condition), cell, &bars));
                }
                if row.response().clicked() {
                    clicked = Some(condition);
                }
            });
        });
        if let Some(condition) = clicked {
            click(ctx, results, condition);
        }
    }

    fn head_ui(&mut self, ui: &mut Ui, ctx: &ViewCtx<'_>, (cell, word, _, by, about): ColumnSpec) {
        let is_sorted = by == Some(self.by);
        let color = if is_sorted { ctx.tokens.accent } else { ctx.tokens.text_sub };
        let arrow = if is_sorted { " ↓" } else { "" };
        let text = RichText::new(format!("{word}{arrow}")).small().color(color);
        let layout = layout_of(cell);
        let response = ui.with_layout(layout, |ui| ui.add(Button::new(text).frame(false).truncate())).inner;
        let response = response.accessible_name(format!("Sort by {word}")).on_hover_text(about);
        if let (true, Some(by)) = (response.clicked(), by) {
            self.by = by;
        }
    }
}

fn layout_of(cell: Cell) -> Layout {
    match cell {
        Cell::Name | Cell::Bar | Cell::Test | Cell::State => Layout::left_to_right(Align::Center),
        _ => Layout::right_to_left(Align::Center),
    }
}

fn cell_ui(
    ui: &mut Ui,
    ctx: &ViewCtx<'_>,
    results: &Results,
    (measure, condition): (usize, usize),
    cell: Cell,
    bars: &Bars,
) {
    let line = results.line(measure, condition);
    let comparison = line.and_then(|line| line.comparison.as_ref());
    let is_control = condition == results.control();
    if cell == Cell::Bar {
        return bars.ui(ui, ctx.tokens, line, is_control);
    }
    let state = results.states.get(condition);
    let text = match cell {
        Cell::Name => results.table.conditions.get(condition).cloned().unwrap_or_default(),
        Cell::Count => texts::count(results, line, condition),
        Cell::Mean => texts::number(line.and_then(|line| line.summary.mean)),
        Cell::Sd => texts::number(line.and_then(|line| line.summary.sd)),
        Cell::Difference => texts::difference(comparison),
        Cell::Effect => texts::effect(comparison),
        Cell::Test => comparison.filter(|c| c.p.is_some()).map_or("—", |c| c.test.name()).to_owned(),
        Cell::P => texts::probability(comparison.and_then(|c| c.p)),
        Cell::Q => texts::probability(line.and_then(|line| line.q)),
        Cell::State if is_control && state.is_some_and(|state| state.text().is_empty()) => "control".to_owned(),
        Cell::State => state.map_or_else(String::new, |state| state.text()),
        Cell::Bar => String::new(),
    };
    let color = match cell {
        Cell::State if state.is_some_and(|state| state.is_bad()) => ctx.tokens.error,
        Cell::State => ctx.tokens.text_sub,
        Cell::Name if state.is_some_and(|state| state.is_bad()) => ctx.tokens.error,
        Cell::Name if is_control => ctx.tokens.text_strong,
        _ if text == "—" => ctx.tokens.text_sub,
        _ => ctx.tokens.text,
    };
    let rich = RichText::new(&text).color(color).small();
    let rich = if matches!(cell, Cell::Name | Cell::Test | Cell::State) { rich } else { rich.font(kit::mono(ui)) };
    let label = Label::new(rich).truncate().selectable(false).show_tooltip_when_elided(false);
    let response = ui.with_layout(layout_of(cell), |ui| ui.add(label)).inner;
    if !text.is_empty() {
        response.on_hover_text(texts::about(results, measure, condition));
    }
}

impl View for EffectTable {
    fn declaration(&self) -> &'static ViewDeclaration {
        &Self::DECLARATION
    }

    fn choice(&self) -> Option<String> {
        let name = SortBy::ALL.iter().find(|(by, _)| *by == self.by).map(|(_, name)| *name);
        name.filter(|_| self.by != SortBy::default()).map(|name| format!("by={name}"))
    }

    fn choose(&mut self, _: &SimSchema, text: &str) {
        let name = text.strip_prefix("by=").unwrap_or_default();
        self.by = SortBy::ALL.iter().find(|(_, known)| *known == name).map_or(SortBy::default(), |(by, _)| *by);
    }

    fn ui(&mut self, ui: &mut Ui, ctx: &mut ViewCtx<'_>) {
        let results = ctx.experiments.state.results();
        let measure = results.as_ref().map_or(0, |results| ctx.experiments.state.measure_of(results));
        let caption = results.as_ref().map_or_else(String::new, |results| texts::caption(results, measure));
        let canvas = kit::panel_ui(ui, ctx.tokens, Some(&caption), |ui| {
            results_bar::folder_ui(ui, ctx);
            if let Some(results) = &results {
                results_bar::measure_ui(ui, ctx, results);
                results_bar::export_ui(ui, ctx, results);
                results_bar::figure_ui(ui, ctx);
            }
            results_bar::progress_ui(ui, ctx, results.as_deref());
        });
        let Some(results) = results else { return without_results_ui(ui, canvas, ctx) };
        if !kit::fill_ui(ui, canvas, ctx.tokens) {
            return;
        }
        self.update(&results, measure);
        ui.scope_builder(UiBuilder::new().max_rect(inner(canvas)), |ui| {
            kit::solid_scroll_bars(ui);
            egui::ScrollArea::horizontal().show(ui, |ui| self.table_ui(ui, ctx, &results, measure));
        });
    }
}

fn inner(canvas: Rect) -> Rect {
    canvas.shrink2(egui::vec2(8.0, 2.0))
}
