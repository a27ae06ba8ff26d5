//! Table of the strongest links.

use super::Ends;
use crate::{
    app::{kit, views::ViewCtx},
    sim::{Link, ProbeSpec},
};
use egui::{Align, Button, Layout, Rect, RichText, Sense, Ui, UiBuilder, Vec2};
use egui_extras::{Column, TableBuilder};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum By {
    #[default]
    Value,
    From,
    To,
}

#[derive(Default)]
pub(super) struct List {
    by: By,
    is_reversed: bool,
}

impl List {
    /// Returns the lines in the chosen order. `links` are in descending order of strength.
    fn order(&self, links: &[Link]) -> Vec<u32> {
        let mut order: Vec<u32> = (0..links.len() as u32).collect();
        match self.by {
            By::Value => {}
            By::From => order.sort_by_key(|i| (links[*i as usize].from, *i)),
            By::To => order.sort_by_key(|i| (links[*i as usize].to, *i)),
        }
        if self.is_reversed {
            order.reverse();
        }
        order
    }

    pub fn ui(
        &mut self,
        ui: &mut Ui,
        canvas: Rect,
        links: &[Link],
        ends: &Ends<'_>,
        probe: &ProbeSpec,
        ctx: &mut ViewCtx<'_>,
    ) {
        let area = UiBuilder::new().max_rect(canvas.shrink2(Vec2::new(8.0, 2.0)));
        kit::solid_scroll_bars(ui);
        ui.scope_builder(area, |ui| self.table_ui(ui, links, ends, probe, ctx));
    }

    fn table_ui(&mut self, ui: &mut Ui, links: &[Link], ends: &Ends<'_>, probe: &ProbeSpec, ctx: &mut ViewCtx<'_>) {
        ui.spacing_mut().item_spacing.y = 0.0;
        let width = ((ui.available_width() - 130.0) / 2.0).max(60.0);
        let end = || Column::initial(width).at_least(50.0).clip(true).resizable(true);
        let table = TableBuilder::new(ui).id_salt("links").sense(Sense::hover()).auto_shrink(false);
        let table = table.cell_layout(Layout::left_to_right(Align::Center));
        let table = table.column(end()).column(end()).column(Column::exact(100.0));
        let order = self.order(links);
        let largest = links.first().map_or(0.0, |l| f64::from(l.weight.abs()));
        let decimals = kit::column_decimals(0.0, largest);
        let value = if probe.unit.is_empty() { "Value".to_owned() } else { format!("Value ({})", probe.unit) };
        let titles = [(By::From, ends.names[0].to_owned()), (By::To, ends.names[1].to_owned()), (By::Value, value)];
        table
            .header(24.0, |mut header| {
                for (by, word) in titles {
                    header.col(|ui| self.head_ui(ui, ctx, by, &word));
                }
            })
            .body(|body| {
                body.rows(20.0, order.len(), |mut row| {
                    let link = links[order[row.index()] as usize];
                    row.col(|ui| end_ui(ui, ctx, ends, 0, link.from));
                    row.col(|ui| end_ui(ui, ctx, ends, 1, link.to));
                    row.col(|ui| {
                        let text = RichText::new(kit::fixed(f64::from(link.weight), decimals)).font(kit::mono(ui));
                        ui.with_layout(Layout::right_to_left(Align::Center), |ui| ui.label(text));
                    });
                });
            });
    }

    fn head_ui(&mut self, ui: &mut Ui, ctx: &ViewCtx<'_>, by: By, word: &str) {
        let arrow = match (self.by == by, self.is_reversed) {
            (false, _) => "",
            (true, false) => " ↓",
            (true, true) => " ↑",
        };
        let text = RichText::new(format!("{word}{arrow}")).small().color(ctx.tokens.text_sub);
        if ui.add(Button::new(text).frame(false)).on_hover_text("Sort").clicked() {
            self.is_reversed = self.by == by && !self.is_reversed;
            self.by = by;
        }
    }
}

/// Draws an element; a click selects it.
fn end_ui(ui: &mut Ui, ctx: &mut ViewCtx<'_>, ends: &Ends<'_>, side: usize, element: u32) {
    let name = ends.label(side, element);
    let is_selected = ctx.selection.contains(ends.names[side], element);
    let ink = if is_selected { ctx.tokens.accent } else { ctx.tokens.text };
    let response = ui.add(Button::new(RichText::new(name).color(ink)).frame(false).truncate());
    if response.clicked() && ends.sets[side].is_some() {
        match ui.input(|i| i.modifiers.command) {
            true => ctx.selection.toggle(ends.names[side], element),
            false => ctx.selection.replace(ends.names[side], vec![element]),
        }
    }
}
