//! List of the selection's connections.

use super::{
    ego::{Ego, Synapse},
    graph::element_name,
};
use crate::{
    app::{
        kit,
        views::{MenuTarget, ViewCtx, menu},
    },
    sim::{Connectivity, ElementSet},
};
use egui::{Align, Button, Layout, Rect, RichText, Sense, Ui, UiBuilder, Vec2};
use egui_extras::{Column, TableBuilder};
use std::sync::Arc;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum By {
    #[default]
    Weight,
    Pre,
    Post,
}

/// Connections that are listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Side {
    #[default]
    Both,
    Inputs,
    Outputs,
}

#[derive(Default)]
pub struct List {
    by: By,
    is_reversed: bool,
    side: Side,
    lines: Vec<u32>,
    lines_of: Option<(usize, By, bool, Side)>,
}

pub fn caption(ego: &Ego, wiring: &Connectivity) -> String {
    let (listed, all) = (ego.synapses.len() as u64, ego.n_synapses);
    let delay = wiring.delay_secs.map_or_else(String::new, |secs| format!("  |  delay {}", kit::duration(secs)));
    match listed == all {
        true => format!("{}  |  weights in {}{delay}", kit::counted(all, "connections"), wiring.unit),
        false => format!(
            "strongest {} of {}  |  weights in {}{delay}",
            kit::thousands(listed),
            kit::counted(all, "connections"),
            wiring.unit
        ),
    }
}

impl List {
    pub fn toolbar_ui(&mut self, ui: &mut Ui) {
        for (side, word) in [(Side::Both, "All"), (Side::Inputs, "Inputs"), (Side::Outputs, "Outputs")] {
            ui.selectable_value(&mut self.side, side, word);
        }
    }

    fn update(&mut self, ego: &Arc<Ego>, selected: &[u32]) {
        let key = (Arc::as_ptr(ego) as usize, self.by, self.is_reversed, self.side);
        if self.lines_of == Some(key) {
            return;
        }
        self.lines_of = Some(key);
        let is_in = |e: u32| selected.binary_search(&e).is_ok();
        let is_listed = |s: &Synapse| match self.side {
            Side::Both => true,
            Side::Inputs => is_in(s.post),
            Side::Outputs => is_in(s.pre),
        };
        let all = &ego.synapses;
        self.lines = (0..all.len() as u32).filter(|i| is_listed(&all[*i as usize])).collect();
        match self.by {
            By::Weight => {} // The connections are already in this order.
            By::Pre => self.lines.sort_by_key(|i| (all[*i as usize].pre, *i)),
            By::Post => self.lines.sort_by_key(|i| (all[*i as usize].post, *i)),
        }
        if self.is_reversed {
            self.lines.reverse();
        }
    }

    pub fn ui(
        &mut self,
        ui: &mut Ui,
        canvas: Rect,
        ctx: &mut ViewCtx<'_>,
        set: &Arc<ElementSet>,
        wiring: &Connectivity,
        ego: &Arc<Ego>,
    ) {
        self.update(ego, ctx.selection.of(set.name));
        let area = UiBuilder::new().max_rect(canvas.shrink2(Vec2::new(8.0, 2.0)));
        kit::solid_scroll_bars(ui);
        ui.scope_builder(area, |ui| self.table_ui(ui, ctx, set, wiring, ego));
    }

    fn table_ui(
        &mut self,
        ui: &mut Ui,
        ctx: &mut ViewCtx<'_>,
        set: &Arc<ElementSet>,
        wiring: &Connectivity,
        ego: &Ego,
    ) {
        ui.spacing_mut().item_spacing.y = 0.0;
        let width = ((ui.available_width() - 190.0) / 2.0).max(80.0);
        let end = || Column::initial(width).at_least(60.0).clip(true).resizable(true);
        let table = TableBuilder::new(ui).id_salt("synapses").sense(Sense::hover()).auto_shrink(false);
        let table = table.cell_layout(Layout::left_to_right(Align::Center));
        let table = table.column(end()).column(end()).column(Column::exact(90.0)).column(Column::exact(80.0));
        let lines = std::mem::take(&mut self.lines);
        // Connections are in descending order of absolute weight, so the first has the largest.
        let largest = ego.synapses.first().map_or(0.0, |s| f64::from(s.weight.abs()));
        let is_whole = ego.synapses.iter().take(1000).all(|s| s.weight.fract() == 0.0);
        let decimals = if is_whole { 0 } else { kit::column_decimals(0.0, largest) };
        table
            .header(24.0, |mut header| {
                for (by, word) in
                    [(Some(By::Pre), "From"), (Some(By::Post), "To"), (Some(By::Weight), "Weight"), (None, "Delay")]
                {
                    header.col(|ui| self.head_ui(ui, ctx, by, word));
                }
            })
            .body(|body| {
                body.rows(20.0, lines.len(), |mut row| {
                    let Some(synapse) = ego.synapses.get(lines[row.index()] as usize).copied() else { return };
                    row.col(|ui| end_ui(ui, ctx, set, synapse.pre));
                    row.col(|ui| end_ui(ui, ctx, set, synapse.post));
                    row.col(|ui| {
                        let ink = if synapse.weight < 0.0 { ctx.tokens.inhibitory } else { ctx.tokens.excitatory };
                        let text = RichText::new(kit::fixed(f64::from(synapse.weight), decimals));
                        let text = text.font(kit::mono(ui)).color(ink);
                        ui.with_layout(Layout::right_to_left(Align::Center), |ui| ui.label(text));
                    });
                    row.col(|ui| {
                        let delay = synapse.delay_secs.or(wiring.delay_secs);
                        let text = RichText::new(delay.map_or_else(String::new, kit::duration)).font(kit::mono(ui));
                        ui.label(text.color(ctx.tokens.text_sub));
                    });
                });
            });
        self.lines = lines;
    }

    fn head_ui(&mut self, ui: &mut Ui, ctx: &ViewCtx<'_>, by: Option<By>, word: &str) {
        let is_sorted = by == Some(self.by);
        let arrow = match (is_sorted, self.is_reversed) {
            (false, _) => "",
            (true, false) => " ↓",
            (true, true) => " ↑",
        };
        let ink = if is_sorted { ctx.tokens.accent } else { ctx.tokens.text_sub };
        let text = RichText::new(format!("{word}{arrow}")).small().color(ink);
        let button = ui.add_enabled(by.is_some(), Button::new(text).frame(false));
        if let (true, Some(by)) = (button.clicked(), by) {
            self.is_reversed = is_sorted && !self.is_reversed;
            self.by = by;
        }
    }
}

/// Draws an end of a connection; a click selects the element.
fn end_ui(ui: &mut Ui, ctx: &mut ViewCtx<'_>, set: &Arc<ElementSet>, element: u32) {
    let ink = if ctx.selection.contains(set.name, element) { ctx.tokens.accent } else { ctx.tokens.text };
    let name = element_name(set, element);
    let response = ui.add(Button::new(RichText::new(&name).small().color(ink)).frame(false));
    if response.hovered() && ctx.selection.set == set.name {
        ctx.selection.hovered = Some(element);
    }
    if response.clicked() {
        match ui.input(|i| i.modifiers.command) {
            true => ctx.selection.toggle(set.name, element),
            false => ctx.selection.replace(set.name, vec![element]),
        }
    }
    response.context_menu(|ui| {
        let subject = MenuTarget { element: Some(element), elements: Arc::new(vec![element]), name };
        menu::ui(ui, ctx, set, &subject);
    });
}
