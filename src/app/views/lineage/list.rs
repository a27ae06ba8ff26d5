//! Table of the individuals, with the attributes of their births and deaths.

use super::{
    LAYOUT_SECS, LineRef, Lineage, attributes,
    forest::{ALIVE, Forest, Line},
    history::ForestVersion,
    kit, label,
};
use crate::{
    app::{
        kit::pool::{self, PoolJob},
        views::ViewCtx,
    },
    engine::SimSchema,
    sim::{AttributeSpec, AttributeValue, ElementSet},
};
use egui::{Align, Button, Layout, Rect, RichText, Sense, Ui, UiBuilder, Vec2};
use egui_extras::{Column, TableBuilder};
use std::{cmp::Ordering, mem, sync::Arc};

/// A column of the table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum By {
    #[default]
    Born,
    Name,
    Ended,
    Cause,
    Parents,
    Attribute(usize),
}

#[derive(Default)]
pub(super) struct List {
    by: By,
    is_reversed: bool,
    /// Order of the rows that are drawn.
    sorted: Sorted,
    sorting: PoolJob<Sorting, Sorted>,
    /// Time at which the last sort was requested, seconds.
    requested: f64,
}

/// Inputs of a sort: generation of the lines, column, and whether the order is reversed.
type Sorting = (u64, By, bool);

/// Line indices in the order of a column.
#[derive(Default)]
struct Sorted {
    of: Option<Sorting>,
    version: Arc<ForestVersion>,
    order: Vec<u32>,
}

impl Sorted {
    fn new(version: Arc<ForestVersion>, of: Sorting, specs: &[AttributeSpec]) -> Self {
        let (lines, (_, by, is_reversed)) = (&version.forest.lines, of);
        let mut order: Vec<u32> = (0..lines.len() as u32).collect();
        // Lines are already in order of birth.
        if by != By::Born {
            order.sort_by(|a, b| compare(&lines[*a as usize], &lines[*b as usize], by, specs));
        }
        if is_reversed {
            order.reverse();
        }
        Self { of: Some(of), version, order }
    }
}

impl List {
    /// Takes a finished order, and sorts newer lines on the pool: at most every [`LAYOUT_SECS`] during a run.
    fn update(
        &mut self,
        ctx: &egui::Context,
        version: &Arc<ForestVersion>,
        specs: &'static [AttributeSpec],
        is_running: bool,
    ) {
        if let Some((_, sorted)) = self.sorting.poll() {
            pool::discard(mem::replace(&mut self.sorted, sorted));
        }
        let (key, time) = ((version.generation, self.by, self.is_reversed), ctx.input(|i| i.time));
        let is_resorted = self.sorted.of.is_none_or(|(_, by, is_reversed)| (by, is_reversed) != (key.1, key.2));
        let is_due = !is_running || is_resorted || time - self.requested > LAYOUT_SECS;
        if self.sorted.of != Some(key) && is_due && self.sorting.is_free(&key) {
            self.requested = time;
            let version = version.clone();
            self.sorting.start(ctx, key, move || Sorted::new(version, key, specs));
        }
    }
}

fn compare(a: &Line, b: &Line, by: By, specs: &[AttributeSpec]) -> Ordering {
    match by {
        By::Born => a.born.cmp(&b.born),
        By::Name => a.label().cmp(&b.label()),
        By::Ended => a.died.cmp(&b.died),
        By::Cause => a.end.map(|e| e.word()).cmp(&b.end.map(|e| e.word())),
        By::Parents => a.parents.len().cmp(&b.parents.len()).then(a.parents.cmp(&b.parents)),
        By::Attribute(i) => {
            let value = |l: &'_ Line| specs.get(i).and_then(|spec| l.attributes.get(spec.name).cloned());
            match (value(a), value(b)) {
                (Some(AttributeValue::Number(a)), Some(AttributeValue::Number(b))) => a.total_cmp(&b),
                (Some(AttributeValue::Text(a)), Some(AttributeValue::Text(b))) => a.cmp(&b),
                (a, b) => a.is_none().cmp(&b.is_none()),
            }
        }
    }
}

impl Lineage {
    pub(super) fn list_ui(&mut self, ui: &mut Ui, canvas: Rect, set: Option<&ElementSet>, ctx: &mut ViewCtx<'_>) {
        let specs = Self::attributes(ctx.schema);
        self.list.update(ui.ctx(), &self.history.version, specs, ctx.running);
        let area = UiBuilder::new().max_rect(canvas.shrink2(Vec2::new(8.0, 2.0)));
        kit::solid_scroll_bars(ui);
        ui.scope_builder(area, |ui| {
            egui::ScrollArea::horizontal().show(ui, |ui| self.table_ui(ui, specs, set, ctx));
        });
    }

    fn table_ui(&mut self, ui: &mut Ui, specs: &[AttributeSpec], set: Option<&ElementSet>, ctx: &mut ViewCtx<'_>) {
        ui.spacing_mut().item_spacing.y = 0.0;
        let mut titles: Vec<(By, String)> = vec![
            (By::Name, "Individual".into()),
            (By::Born, "Born".into()),
            (By::Ended, "Ended".into()),
            (By::Cause, "Cause".into()),
            (By::Parents, "Parents".into()),
        ];
        let attribute = |(i, spec): (usize, &AttributeSpec)| {
            let unit = if spec.unit.is_empty() { String::new() } else { format!(" ({})", spec.unit) };
            (By::Attribute(i), format!("{}{unit}", spec.label()))
        };
        titles.extend(specs.iter().enumerate().map(attribute));
        let table = TableBuilder::new(ui).id_salt("individuals").sense(Sense::click()).auto_shrink(false);
        let mut table = table.cell_layout(Layout::left_to_right(Align::Center));
        for (by, _) in &titles {
            let width = if matches!(by, By::Name | By::Parents) { 110.0 } else { 84.0 };
            table = table.column(Column::initial(width).at_least(40.0).clip(true).resizable(true));
        }
        let sorted = mem::take(&mut self.list.sorted);
        let Sorted { version, order, .. } = &sorted;
        let (forest, focus) = (&version.forest, self.focus.map(|line| line.id));
        let mut clicked = None;
        table
            .header(24.0, |mut header| {
                for (by, word) in &titles {
                    header.col(|ui| self.head_ui(ui, ctx, *by, word));
                }
            })
            .body(|body| {
                body.rows(20.0, order.len(), |mut row| {
                    let line = order[row.index()];
                    row.set_selected(focus == Some(forest.lines[line as usize].id));
                    for text in cells(forest, line, specs, ctx.schema) {
                        row.col(|ui| drop(ui.add(egui::Label::new(text).selectable(false).truncate())));
                    }
                    if row.response().clicked() {
                        clicked = Some(line);
                    }
                });
            });
        let clicked = clicked.map(|line| (LineRef::at(forest, line), forest.living_slot(line)));
        self.list.sorted = sorted;
        if let Some((line, slot)) = clicked {
            self.focus = Some(line);
            if let Some((set, slot)) = set.zip(slot) {
                ctx.selection.replace(set.name, vec![slot]);
            }
        }
    }

    fn head_ui(&mut self, ui: &mut Ui, ctx: &ViewCtx<'_>, by: By, word: &str) {
        let arrow = match (self.list.by == by, self.list.is_reversed) {
            (false, _) => "",
            (true, false) => " ↑",
            (true, true) => " ↓",
        };
        let text = RichText::new(format!("{word}{arrow}")).small().color(ctx.tokens.text_sub);
        if ui.add(Button::new(text).frame(false)).on_hover_text("Sort").clicked() {
            self.list.is_reversed = self.list.by == by && !self.list.is_reversed;
            self.list.by = by;
        }
    }
}

/// Returns the texts of a line's row.
fn cells(forest: &Forest, line: u32, specs: &[AttributeSpec], schema: &SimSchema) -> Vec<String> {
    let l = &forest.lines[line as usize];
    let parents = l.parents.iter().map(|p| forest.lines[*p as usize].label());
    let ended = if l.died == ALIVE { String::new() } else { kit::thousands(l.died) };
    let cause = match (l.end, Lineage::states_of(forest, line, schema)) {
        (Some(end), _) => end.word().to_owned(),
        (None, states) if !states.is_empty() => format!("alive, {states}"),
        (None, _) if l.died == ALIVE => "alive".to_owned(),
        (None, _) => "unknown".to_owned(),
    };
    let mut cells =
        vec![label(forest, line), kit::thousands(l.born), ended, cause, parents.collect::<Vec<_>>().join(", ")];
    let value = |spec: &AttributeSpec| {
        // The column's title contains the unit.
        let plain = AttributeSpec { unit: "", ..*spec };
        l.attributes.get(spec.name).map_or_else(String::new, |value| attributes::text(value, &plain))
    };
    cells.extend(specs.iter().map(value));
    cells
}
