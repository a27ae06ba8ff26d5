//! Sortable table of the statistics, with one row per element.

use super::compute::{Line, Stats};
use crate::{
    app::{
        kit,
        views::{MenuTarget, ViewCtx, connectivity::element_name, menu},
    },
    sim::ElementSet,
};
use egui::{Align, Button, Layout, Rect, RichText, Sense, Ui, UiBuilder, Vec2};
use egui_extras::{Column, TableBuilder};
use std::sync::Arc;

/// Sort column and displayed order.
#[derive(Default)]
pub struct StatsTable {
    by: usize,
    is_reversed: bool,
    order: Vec<u32>,
    order_of: Option<(usize, usize, bool)>,
}

/// Header of a column, and its value of a row. The header of the counts, the noun of the events, is empty.
type ColumnSpec = (&'static str, fn(&Line) -> f32);

const COLUMNS: [ColumnSpec; 5] = [
    ("", |l| l.n as f32),
    ("rate (Hz)", |l| l.rate_hz),
    ("ISI (ms)", |l| l.isi_ms),
    ("CV", |l| l.cv),
    ("Fano", |l| l.fano),
];

impl StatsTable {
    fn update(&mut self, stats: &Arc<Stats>) {
        let key = (Arc::as_ptr(stats) as usize, self.by, self.is_reversed);
        if self.order_of == Some(key) {
            return;
        }
        self.order_of = Some(key);
        let value = |i: &u32| COLUMNS[self.by].1(&stats.lines[*i as usize]);
        self.order = (0..stats.lines.len() as u32).collect();
        // The largest values are first; undefined values are last in both directions.
        let reversed = self.is_reversed;
        self.order.sort_by(|a, b| {
            let (a, b) = (value(a), value(b));
            let plain = if reversed { a.total_cmp(&b) } else { b.total_cmp(&a) };
            a.is_nan().cmp(&b.is_nan()).then(plain)
        });
    }

    pub fn ui(
        &mut self,
        ui: &mut Ui,
        area: Rect,
        ctx: &mut ViewCtx<'_>,
        (set, noun): (&Arc<ElementSet>, &str),
        stats: &Arc<Stats>,
    ) {
        self.update(stats);
        ui.scope_builder(UiBuilder::new().max_rect(area.shrink2(Vec2::new(8.0, 2.0))), |ui| {
            ui.spacing_mut().item_spacing.y = 0.0;
            self.table_ui(ui, ctx, (set, noun), stats);
        });
    }

    fn table_ui(&mut self, ui: &mut Ui, ctx: &mut ViewCtx<'_>, (set, noun): (&Arc<ElementSet>, &str), stats: &Stats) {
        ui.spacing_mut().item_spacing.x = 4.0;
        let width = (ui.available_width() - 5.0 * 58.0 - 30.0).clamp(60.0, 220.0);
        let mut table = TableBuilder::new(ui).id_salt("statistics").sense(Sense::click()).auto_shrink(false);
        table = table.cell_layout(Layout::left_to_right(Align::Center));
        table = table.column(Column::initial(width).at_least(60.0).clip(true).resizable(true));
        for _ in COLUMNS {
            table = table.column(Column::exact(54.0));
        }
        let mut clicked = None;
        table
            .header(24.0, |mut header| {
                header.col(|ui| drop(ui.label(RichText::new(set.noun()).small().color(ctx.tokens.text_sub))));
                for (i, (word, _)) in COLUMNS.iter().enumerate() {
                    header.col(|ui| self.head_ui(ui, ctx, i, if word.is_empty() { noun } else { word }));
                }
            })
            .body(|body| {
                body.rows(20.0, self.order.len(), |mut row| {
                    let Some(line) = stats.lines.get(self.order[row.index()] as usize) else { return };
                    row.set_selected(ctx.selection.contains(set.name, line.element));
                    row.col(|ui| {
                        drop(ui.label(RichText::new(element_name(set, line.element)).small().color(ctx.tokens.text)))
                    });
                    for (_, value) in COLUMNS {
                        row.col(|ui| number_ui(ui, ctx, value(line)));
                    }
                    let response = row.response();
                    if response.clicked() {
                        clicked = Some(line.element);
                    }
                    response.context_menu(|ui| {
                        let subject = MenuTarget::at(ctx, set, Some(line.element));
                        menu::ui(ui, ctx, set, &subject);
                    });
                });
            });
        if let Some(element) = clicked {
            match ui.input(|i| i.modifiers.command) {
                true => ctx.selection.toggle(set.name, element),
                false => ctx.selection.replace(set.name, vec![element]),
            }
        }
    }

    fn head_ui(&mut self, ui: &mut Ui, ctx: &ViewCtx<'_>, by: usize, word: &str) {
        let is_sorted = by == self.by;
        let arrow = match (is_sorted, self.is_reversed) {
            (false, _) => "",
            (true, false) => " ↓",
            (true, true) => " ↑",
        };
        let color = if is_sorted { ctx.tokens.accent } else { ctx.tokens.text_sub };
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            let button = Button::new(RichText::new(format!("{word}{arrow}")).small().color(color)).frame(false);
            if ui.add(button).on_hover_text("Click to sort").clicked() {
                self.is_reversed = is_sorted && !self.is_reversed;
                self.by = by;
            }
        });
    }
}

fn number_ui(ui: &mut Ui, ctx: &ViewCtx<'_>, value: f32) {
    let text = if value.is_finite() { kit::value(f64::from((value * 1000.0).round() / 1000.0)) } else { "—".into() };
    ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
        ui.label(RichText::new(text).font(kit::mono(ui)).color(ctx.tokens.text));
    });
}
