//! Table of a set's elements with categories and live values. Only visible rows are laid out; filtering and sorting run on the
//! pool.

mod bars;
mod head;
mod order;
mod pointer;
mod trail;

use super::{MenuEntry, MenuTarget, View, ViewCtx, ViewDeclaration, menu, unfit_ui};
use crate::{
    app::{
        document::{
            features::{probes_where, tap},
            filter::{self, QueryContext},
            layout::Page,
            selection::Selection,
        },
        kit::{self, colors, icons},
    },
    engine::SimSchema,
    sim::{ElementSet, Frame, ProbeId, ProbeSpec, Reading, Shape, Tap},
};
use egui::{Align, Layout, RichText, Sense, Ui, UiBuilder, Vec2};
use egui_extras::{Column, TableBuilder};
use order::{By, Order};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

const ROW: f32 = 20.0;

/// The table view.
#[derive(Default)]
pub struct Table {
    set: Option<Arc<ElementSet>>,
    /// Names of the fields shown; `None`: the first field of numbers.
    fields: Option<BTreeSet<&'static str>>,
    values: BTreeMap<ProbeId, Arc<Vec<f32>>>,
    bars: bars::Bars,
    trail: trail::Trail,
    filter: String,
    order: Order,
    /// Fraction of the elements that have a name.
    named: f32,
    cursor: Option<usize>,
    scroll_to: Option<usize>,
}

/// Contents of a table column.
#[derive(Clone, Copy)]
enum Cell<'a> {
    Index,
    Id,
    Name,
    Category(usize, &'a str),
    /// States of the element, such as `frozen`.
    State,
    Field(ProbeId, &'a ProbeSpec),
    /// Recent history of a field.
    Trail(ProbeId),
}

/// Minimum fraction of named elements for which the name column is placed before the values.
const MANY_NAMED: f32 = 0.5;

impl Table {
    fn settle(&mut self, schema: &SimSchema) {
        let name = self.set.as_ref().map(|s| s.name);
        let set = name.and_then(|n| schema.set(n)).or_else(|| schema.sets.first());
        let same = matches!((&self.set, set), (Some(a), Some(b)) if Arc::ptr_eq(a, b))
            || (self.set.is_none() && set.is_none());
        if !same {
            self.set = set.cloned();
            self.named = set.map_or(0.0, |s| share_of_named(s));
            self.values.clear();
            self.bars.clear();
            self.trail.clear();
            self.order = Order::default();
            self.cursor = None;
        }
    }

    fn fields_over(schema: &SimSchema, set: &str) -> Vec<(ProbeId, &'static ProbeSpec)> {
        probes_where(schema, |s| matches!(s, Shape::Field { over, .. } if *over == set)).collect()
    }

    fn shown_fields(&self, schema: &SimSchema) -> Vec<(ProbeId, &'static ProbeSpec)> {
        let name = self.set.as_ref().or_else(|| schema.sets.first()).map_or("", |s| s.name);
        let all = Self::fields_over(schema, name);
        match &self.fields {
            Some(names) => all.into_iter().filter(|(_, p)| names.contains(p.name)).collect(),
            None => {
                all.into_iter().filter(|(_, p)| !crate::app::document::features::is_time_since(p)).take(1).collect()
            }
        }
    }

    /// Returns the shown fields, then fields that only the query reads.
    fn sampled_fields(&self, schema: &SimSchema) -> Vec<(ProbeId, &'static ProbeSpec)> {
        let mut fields = self.shown_fields(schema);
        let set = self.set.as_ref().or_else(|| schema.sets.first());
        let queried = set.map(|set| filter::field_probes(schema, set, &self.filter, &[])).unwrap_or_default();
        for id in queried {
            if fields.iter().all(|(known, _)| *known != id) {
                fields.push((id, &schema.probes[usize::from(id)]));
            }
        }
        fields
    }

    fn cells<'a>(&self, set: &'a ElementSet, schema: &'a SimSchema) -> Vec<Cell<'a>> {
        let mut cells = vec![Cell::Index];
        cells.extend((!set.ids.is_empty()).then_some(Cell::Id));
        cells.extend((self.named >= MANY_NAMED).then_some(Cell::Name));
        let has_states = schema.states.iter().any(|state| state.over == set.name && !state.elements.is_empty());
        cells.extend(has_states.then_some(Cell::State));
        for (i, (id, spec)) in self.shown_fields(schema).into_iter().enumerate() {
            cells.push(Cell::Field(id, spec));
            cells.extend((i == 0).then_some(Cell::Trail(id)));
        }
        cells.extend(set.columns.iter().enumerate().map(|(i, c)| Cell::Category(i, &c.name)));
        // A mostly empty name column is placed last.
        cells.extend((self.named > 0.0 && self.named < MANY_NAMED).then_some(Cell::Name));
        cells
    }

    fn by(&self, cell: Cell<'_>) -> By {
        match cell {
            Cell::Index | Cell::State => By::Index,
            Cell::Id => By::Id,
            Cell::Name => By::Name,
            Cell::Category(i, _) => By::Category(i),
            Cell::Field(id, _) | Cell::Trail(id) => By::Field(id),
        }
    }

    fn toolbar_ui(&mut self, ui: &mut Ui, ctx: &ViewCtx<'_>, set: &ElementSet) {
        if ctx.schema.sets.len() > 1 {
            let options: Vec<_> = ctx.schema.sets.iter().map(|s| (s.name, s.name.to_owned())).collect();
            let mut name = set.name;
            if kit::choice_ui(ui, ctx.tokens, "Set", &mut name, &options) {
                self.set = ctx.schema.set(name).cloned();
                (self.order, self.cursor) = (Order::default(), None);
            }
        }
        let hint = "ID, name, category or query";
        let edit = egui::TextEdit::singleline(&mut self.filter).hint_text(hint).desired_width(190.0);
        let response = ui.add(edit.id(crate::app::kit::focus::filter_id("table"))).accessible_name(hint);
        if response.changed() {
            self.cursor = None;
        }
        let all = Self::fields_over(ctx.schema, set.name);
        if !all.is_empty() {
            let shown: BTreeSet<_> = self.shown_fields(ctx.schema).into_iter().map(|(_, p)| p.name).collect();
            ui.menu_button("Values", |ui| {
                for (_, probe) in all {
                    let mut on = shown.contains(probe.name);
                    if ui.checkbox(&mut on, probe.label()).on_hover_text(kit::unwrap(probe.docs)).changed() {
                        let names = self.fields.get_or_insert_with(|| shown.clone());
                        if on {
                            names.insert(probe.name)
                        } else {
                            names.remove(probe.name)
                        };
                        self.trail.clear();
                    }
                }
            })
            .response
            .on_hover_text("Live values to show as columns");
        }
        if self.order.is_busy() {
            ui.spinner();
        }
    }

    fn table_ui(&mut self, ui: &mut Ui, set: &ElementSet, ctx: &mut ViewCtx<'_>) {
        let cells = self.cells(set, ctx.schema);
        let rows = self.order.rows();
        let class_colors: Vec<_> = set.columns.iter().map(|c| colors::of_column(c, ctx.tokens)).collect();
        ui.spacing_mut().item_spacing.y = 0.0;
        ui.visuals_mut().widgets.noninteractive.bg_stroke.color = ctx.tokens.line.gamma_multiply(0.35);
        let mut table = TableBuilder::new(ui)
            .id_salt(set.name)
            .striped(false)
            .sense(Sense::click())
            .auto_shrink(false)
            .min_scrolled_height(0.0)
            .cell_layout(Layout::left_to_right(Align::Center));
        for cell in &cells {
            let width = match cell {
                Cell::Index => 64.0,
                Cell::Id => 150.0,
                Cell::Name => 120.0,
                Cell::Category(..) => 118.0,
                Cell::Field(..) => 92.0,
                Cell::Trail(..) | Cell::State => 84.0,
            };
            table = table.column(Column::initial(width).at_least(40.0).clip(true).resizable(true));
        }
        if let Some(row) = self.scroll_to.take() {
            table = table.scroll_to_row(row, None);
        }
        let mut sort = None;
        let mut clicked = None;
        let mut hovered = None;
        let table = table.header(24.0, |mut header| {
            for cell in &cells {
                header.col(|ui| {
                    if head::ui(ui, *cell, self.order.sorted(self.by(*cell)), ctx.tokens) {
                        sort = Some(self.by(*cell));
                    }
                });
            }
        });
        table.body(|body| {
            body.rows(ROW, rows.len(), |mut row| {
                let index = row.index();
                let element = rows[index];
                row.set_selected(ctx.selection.contains(set.name, element));
                row.set_hovered(ctx.selection.hovered_in(set.name) == Some(element));
                for cell in &cells {
                    row.col(|ui| self.cell_ui(ui, *cell, set, element, &class_colors, ctx));
                }
                let response = row.response();
                if response.hovered() {
                    hovered = Some(element);
                }
                response.context_menu(|ui| {
                    let subject = MenuTarget::at(ctx, set, Some(element));
                    menu::ui(ui, ctx, set, &subject);
                });
                if response.clicked() {
                    clicked = Some((index, response.double_clicked()));
                }
            });
        });
        if let Some(by) = sort {
            self.order.sort_by(by);
        }
        if hovered.is_some() && (ctx.selection.set == set.name || ctx.selection.set.is_empty()) {
            ctx.selection.hovered = hovered;
        }
        if let Some((index, twice)) = clicked {
            self.click(ui, set, &rows, index, ctx);
            if twice {
                super::ask_focus(ui.ctx());
            }
        }
    }

    fn cell_ui(
        &self,
        ui: &mut Ui,
        cell: Cell<'_>,
        set: &ElementSet,
        element: u32,
        colors: &[Vec<egui::Color32>],
        ctx: &ViewCtx<'_>,
    ) {
        let tokens = ctx.tokens;
        let i = element as usize;
        let number = |text: String| RichText::new(text).color(tokens.text);
        let mono = kit::mono(ui);
        match cell {
            Cell::Index => {
                let text = RichText::new(kit::thousands(element.into())).font(mono).color(tokens.text_sub);
                right_ui(ui, text);
            }
            Cell::Id => {
                right_ui(ui, number(set.ids.get(i).map(u64::to_string).unwrap_or_default()).font(mono));
            }
            Cell::Name => {
                text_ui(ui, number(set.names.get(i).cloned().unwrap_or_default()));
            }
            Cell::Category(column, _) => {
                let column_colors = &colors[column];
                let code = set.columns[column].codes.get(i).copied().unwrap_or(0);
                let color = column_colors.get(usize::from(code)).copied().unwrap_or(tokens.other);
                if column_colors.len() <= 22 {
                    let (dot, _) = ui.allocate_exact_size(Vec2::splat(7.0), Sense::hover());
                    ui.painter().circle_filled(dot.center(), 3.0, color);
                }
                text_ui(ui, number(set.columns[column].label(element).to_owned()));
            }
            Cell::State => {
                let states: Vec<_> = ctx.schema.states_of(set.name, element).collect();
                text_ui(ui, number(states.join(", ")));
            }
            Cell::Trail(..) => {
                let area = ui.max_rect().shrink2(Vec2::new(4.0, 3.0));
                self.trail.paint(&ui.painter_at(area.expand(1.0)), area, element, tokens);
            }
            Cell::Field(probe, spec) => {
                let value = self.values.get(&probe).and_then(|v| v.get(i)).copied();
                let text = match value {
                    Some(v) if crate::app::document::features::is_time_since(spec) && v < 0.0 => "never".to_owned(),
                    Some(v) => self.bars.text(probe, v, bars::decimals(spec)),
                    None => "—".to_owned(),
                };
                let area = ui.max_rect().shrink2(Vec2::new(6.0, 1.0));
                self.bars.paint(ui.painter(), area, probe, value.unwrap_or(f32::NAN), tokens);
                right_ui(ui, number(text).font(mono));
            }
        }
    }
}

/// Draws a text, whose tooltip is the whole text if the column is too narrow.
fn text_ui(ui: &mut Ui, text: RichText) {
    ui.add(egui::Label::new(text).selectable(false).truncate());
}

/// Draws a number, right-aligned in its cell.
fn right_ui(ui: &mut Ui, text: RichText) {
    ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
        ui.add_space(6.0);
        ui.label(text);
    });
}

fn share_of_named(set: &ElementSet) -> f32 {
    set.names.iter().filter(|n| !n.is_empty()).count() as f32 / set.len.max(1) as f32
}

impl Table {
    pub const DECLARATION: ViewDeclaration = ViewDeclaration {
        name: "table",
        title: "Table",
        icon: icons::SELECTION,
        help: "# Table\n\nOne row per element of a set: index, id, categories, live values, each with a bar to the scale \
         of its column. Click a header to sort; live \
         values are re-sorted twice a second. *History* is the first value over time, on one scale for all rows; *State* \
         appears while an action holds elements, such as frozen ones.\n\n\
         - click: select · Ctrl+click: add or remove · Shift+click: up to here\n\
         - arrows: up and down · Enter or double-click: frame in the 3D view",
        gestures: &[("click", "select"), ("Ctrl+click", "add"), ("Shift+click", "extend"), ("click a header", "sort")],
        pages: &[Page::Explore, Page::Simulate],
        fits: |schema| !schema.sets.is_empty(),
        menu: Some(MenuEntry::show_in(2, "Table")),
        ..ViewDeclaration::of::<Self>()
    };
}

impl View for Table {
    fn declaration(&self) -> &'static ViewDeclaration {
        &Self::DECLARATION
    }

    fn title(&self, schema: &SimSchema) -> String {
        let name = self.set.as_ref().or_else(|| schema.sets.first()).map_or("", |s| s.name);
        if name.is_empty() || schema.sets.len() == 1 {
            Self::DECLARATION.title.into()
        } else {
            format!("Table: {name}")
        }
    }

    fn show_set(&mut self, schema: &SimSchema, set: &str) {
        self.set = schema.set(set).cloned();
        self.reset(schema);
    }

    fn taps(&self, schema: &SimSchema, _: &Selection) -> Vec<Tap> {
        self.sampled_fields(schema).into_iter().map(|(id, _)| tap(id)).collect()
    }

    fn reset(&mut self, schema: &SimSchema) {
        self.values.clear();
        self.trail.clear();
        self.settle(schema);
    }

    fn absorb(&mut self, schema: &SimSchema, frame: &Frame) {
        self.settle(schema);
        let shown = self.shown_fields(schema);
        for (i, (id, _)) in self.sampled_fields(schema).into_iter().enumerate() {
            if let Some(Reading::Field(values)) = frame.reading(id) {
                if i == 0 && !shown.is_empty() {
                    self.trail.push(frame.clock.secs(), values);
                }
                self.bars.absorb(id, &schema.probes[usize::from(id)], values);
                self.values.insert(id, values.clone());
            }
        }
    }

    fn ui(&mut self, ui: &mut Ui, ctx: &mut ViewCtx<'_>) {
        self.settle(ctx.schema);
        let Some(set) = self.set.clone() else {
            return unfit_ui(ui, ctx, ["Nothing to list", "This simulation publishes no sets"]);
        };
        let query_context = || QueryContext::new(ctx.schema, ctx.features, set.clone(), &self.values);
        let queried = filter::field_probes(ctx.schema, &set, &self.filter, &ctx.features.named);
        let missing = queried.iter().find(|id| !self.values.contains_key(id));
        let missing = missing.map(|id| ctx.schema.probes[usize::from(*id)].name);
        match missing {
            Some(_) => ui.ctx().request_repaint_after(order::RESORT_EVERY),
            None => {
                let (shown, reads_fields) = (ctx.filter.shown(), !queried.is_empty());
                self.order.update(ui.ctx(), &set, &self.filter, shown, query_context, &self.values, reads_fields);
            }
        }
        let (shown, total) = (self.order.rows().len() as u64, u64::from(set.len));
        let selected = ctx.selection.of(set.name).len() as u64;
        let caption = format!(
            "{}{} of {} {}  |  {} selected",
            missing.map(|name| format!("Sampling {name}…  |  ")).unwrap_or_default(),
            kit::thousands(shown),
            kit::thousands(total),
            set.name,
            kit::thousands(selected)
        );
        let canvas = kit::panel_ui(ui, ctx.tokens, Some(&caption), |ui| self.toolbar_ui(ui, ctx, &set));
        ui.painter().rect_filled(canvas, 0.0, ctx.tokens.canvas);
        let is_under_pointer = ui.rect_contains_pointer(canvas);
        self.keys(ui, &set, is_under_pointer, ctx);
        if shown == 0 && !self.order.is_busy() {
            let how = match self.order.mistake() {
                Some(mistake) => mistake.to_owned(),
                None if self.filter.is_empty() => "All rows are hidden by the filter".to_owned(),
                None => format!("No {} match “{}”", set.noun(), self.filter),
            };
            kit::empty_ui(ui, canvas, ctx, "Nothing found", &how, None);
            return;
        }
        let inner = canvas.shrink2(Vec2::new(8.0, 2.0));
        ui.scope_builder(UiBuilder::new().max_rect(inner), |ui| {
            kit::solid_scroll_bars(ui);
            egui::ScrollArea::horizontal().id_salt("columns").show(ui, |ui| self.table_ui(ui, &set, ctx));
        });
    }
}
