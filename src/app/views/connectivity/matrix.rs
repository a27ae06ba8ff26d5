//! Matrix of connections between categories.

use super::blocks::{BlockQuery, Blocks, Cell, Group};
use crate::{
    app::{
        document::color_scales::ColorScales,
        kit::{
            self,
            color_scale::ScaleColors,
            colormap::Colormap,
            colors,
            heatmap::{AxisLabel, Heatmap, HeatmapTexture, HeatmapTitles, short},
            pool::PooledResult,
        },
        views::{MenuTarget, ViewCtx, menu},
    },
    sim::{Connectivity, ElementSet},
};
use egui::{Rect, Sense, Ui};
use std::{
    hash::{DefaultHasher, Hash as _, Hasher as _},
    sync::Arc,
};

/// Value that a cell shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
enum Measure {
    #[default]
    Total,
    Net,
    Count,
    Mean,
}

impl Measure {
    const ALL: [(Self, &'static str); 4] =
        [(Self::Total, "Σ |w|"), (Self::Net, "Σ w"), (Self::Count, "n"), (Self::Mean, "mean |w|")];

    /// Returns the name under which the colour range is stored.
    fn variable(self) -> &'static str {
        match self {
            Self::Total => "connections_total",
            Self::Net => "connections_net",
            Self::Count => "connections_count",
            Self::Mean => "connections_mean",
        }
    }

    fn of(self, cell: Cell) -> f32 {
        if cell.n == 0 {
            return f32::NAN;
        }
        match self {
            Self::Total => cell.total as f32,
            Self::Net => cell.net as f32,
            Self::Count => cell.n as f32,
            Self::Mean => (cell.total / cell.n as f64) as f32,
        }
    }
}

/// Order of rows and columns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
enum Sort {
    #[default]
    Category,
    Strength,
    Name,
}

/// Click on a cell: the elements of its row and its column, whether they are added, and the selection's generation.
#[derive(Clone, PartialEq)]
struct Pick {
    ends: [Vec<u32>; 2],
    is_added: bool,
    selected: u64,
}

#[derive(Default)]
pub struct Matrix {
    /// Queries from the coarsest one to the shown one.
    path: Vec<BlockQuery>,
    /// Query of the drawn cells; the job of the last query may still be running.
    pub drawn: BlockQuery,
    measure: Measure,
    is_linear: bool,
    sort: Sort,
    shown: Option<(u64, Arc<Heatmap>, [Vec<usize>; 2])>,
    picture: HeatmapTexture,
    ends: PooledResult<Pick, Vec<u32>>,
    menu: Option<(usize, usize)>,
}

impl Matrix {
    /// Resets the path to the first column of another set that has several categories.
    pub fn reset(&mut self, set: Option<&ElementSet>) {
        let first = set.and_then(|s| s.columns.iter().position(|c| c.labels.len() > 1)).unwrap_or(0);
        self.path = vec![BlockQuery { column: first, ..BlockQuery::default() }];
        self.shown = None;
    }

    /// Returns the shown query.
    pub fn question(&self) -> BlockQuery {
        self.path.last().cloned().unwrap_or_default()
    }

    pub fn caption(&self, blocks: &Blocks) -> String {
        let cells = kit::counted((blocks.rows.len() * blocks.columns.len()) as u64, "cells");
        let n: u64 = blocks.cells.iter().map(|c| c.n).sum();
        let mut text = format!("{} in {cells}", kit::thousands(n));
        if blocks.merged[0].max(blocks.merged[1]) > 0 {
            text += &format!("  |  weakest {} and {} categories merged", blocks.merged[0], blocks.merged[1]);
        }
        text + if self.is_linear { "  |  linear" } else { "  |  log" }
    }

    pub fn toolbar_ui(&mut self, ui: &mut Ui, ctx: &mut ViewCtx<'_>, set: &ElementSet) {
        if self.path.len() > 1 {
            self.path_ui(ui, set);
        } else if let Some(question) = self.path.last_mut() {
            let worth = |(_, c): &(usize, &crate::sim::Column)| c.labels.len() > 1;
            let options: Vec<_> =
                set.columns.iter().enumerate().filter(worth).map(|(i, c)| (i, kit::column(&c.name))).collect();
            kit::choice_ui(ui, ctx.tokens, "By", &mut question.column, &options);
        }
        let measures = Measure::ALL.map(|(m, text)| (m, text.to_owned()));
        kit::choice_ui(ui, ctx.tokens, "Show", &mut self.measure, &measures);
        let sorts = [(Sort::Category, "category"), (Sort::Strength, "strength"), (Sort::Name, "name")];
        kit::choice_ui(ui, ctx.tokens, "Sort", &mut self.sort, &sorts.map(|(s, text)| (s, text.to_owned())));
        let mut is_log = !self.is_linear;
        ui.toggle_value(&mut is_log, "Log").on_hover_text("Logarithmic colour scale");
        self.is_linear = !is_log;
        if let Some(range) = self.range() {
            ctx.color_scales.range_ui(ui, self.measure.variable(), range);
        }
    }

    /// Returns the colour range of the drawn cells; `None` without values.
    fn range(&self) -> Option<(f32, f32)> {
        self.shown.as_ref()?.1.range()
    }

    /// Locks the colour range, or unlocks it so that it follows the data. Returns whether it is locked now; `None` without
    /// values.
    pub fn toggle_range(&self, color_scales: &mut ColorScales) -> Option<bool> {
        Some(color_scales.toggle(self.measure.variable(), self.range()?))
    }

    /// Draws the path of queries: `super class › sensory → central by class`.
    fn path_ui(&mut self, ui: &mut Ui, set: &ElementSet) {
        let mut back = None;
        for (i, question) in self.path.iter().enumerate() {
            let side = |side: usize| {
                let (column, code) = question.within[side]?;
                let label = set.columns.get(column)?.labels.get(usize::from(code))?;
                Some(if label.is_empty() { "none".to_owned() } else { label.to_owned() })
            };
            let column = kit::column(set.columns.get(question.column).map_or("", |c| c.name.as_str()));
            let name = match (side(0), side(1)) {
                (Some(from), Some(to)) => format!("{from} → {to} by {column}"),
                _ => column,
            };
            if i > 0 {
                ui.label("›");
            }
            if ui.selectable_label(i + 1 == self.path.len(), name).clicked() {
                back = Some(i + 1);
            }
        }
        if let Some(n) = back {
            self.path.truncate(n);
        }
    }

    pub fn ui(
        &mut self,
        ui: &mut Ui,
        canvas: Rect,
        ctx: &mut ViewCtx<'_>,
        set: &Arc<ElementSet>,
        wiring: &Connectivity,
        blocks: &Arc<Blocks>,
    ) {
        let (key, heat, orders) = self.heat(ctx, set, blocks);
        if heat.range().is_none() {
            kit::empty_ui(ui, canvas, ctx, "No connections here", "Use the path at the top to go back", None);
            return;
        }
        self.picture.fixed = ctx.color_scales.of(self.measure.variable()).range;
        let values = Measure::ALL.iter().find(|(measure, _)| *measure == self.measure).map_or("", |(_, name)| name);
        let titles = HeatmapTitles {
            rows: "Presynaptic".to_owned(),
            columns: "Postsynaptic".to_owned(),
            values: values.to_owned(),
        };
        let places = heat.places_titled(ui, canvas, titles);
        let response = ui.interact(places.cells, ui.scope_id().with("matrix"), Sense::click());
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Image, true, "Connectivity matrix"));
        let hovered = response.hover_pos().and_then(|at| heat.at(&places, at));
        let mut clipped = ui.new_child(egui::UiBuilder::new().max_rect(canvas));
        clipped.set_clip_rect(canvas.intersect(ui.clip_rect()));
        heat.paint(&clipped, &places, &mut self.picture, key, hovered, ctx.tokens);
        let under = hovered.map(|(r, c)| (orders[0][r], orders[1][c]));
        if response.secondary_clicked() {
            self.menu = under;
        }
        if let Some((row, column)) = self.menu {
            response.context_menu(|ui| {
                let ends = [0, 1].map(|side| self.members(set, blocks, side, [row, column][side]));
                let [from, to] = [
                    name(set, self.drawn.column, &blocks.rows[row]),
                    name(set, self.drawn.column, &blocks.columns[column]),
                ];
                let mut elements = ends.concat();
                elements.sort_unstable();
                elements.dedup();
                let subject =
                    MenuTarget { element: None, elements: Arc::new(elements), name: format!("{from} → {to}") };
                menu::ui(ui, ctx, set, &subject);
            });
        }
        let Some((row, column)) = under else { return };
        if response.double_clicked() {
            self.drill(ctx, set, &blocks.rows[row], &blocks.columns[column]);
        } else if response.clicked() {
            let ends = [0, 1].map(|side| self.members(set, blocks, side, [row, column][side]));
            let is_added = ui.input(|i| i.modifiers.command);
            let pick = Pick { ends: ends.clone(), is_added, selected: ctx.selection.generation };
            let links = wiring.connections.clone();
            self.ends.clear();
            self.ends.want(ui.ctx(), pick, move |_| Some(connected(&*links, &ends)));
        }
        response.on_hover_ui_at_pointer(|ui| self.tip_ui(ui, ctx, set, wiring, blocks, row, column));
    }

    /// Selects the elements of a click, even if the mode has changed. Elements that replace the selection are dropped if the
    /// selection has changed since.
    pub fn take_ends(&mut self, ctx: &mut ViewCtx<'_>, set: &ElementSet) {
        if !self.ends.poll() {
            return;
        }
        let (Some(pick), Some(found)) = (self.ends.key(), self.ends.get()) else { return };
        if pick.is_added {
            ctx.selection.extend(set.name, found);
        } else {
            ctx.selection.replace_late(set.name, found.to_vec(), pick.selected);
        }
    }

    /// Returns the elements of a row (side 0) or of a column (side 1).
    fn members(&self, set: &ElementSet, blocks: &Blocks, side: usize, at: usize) -> Vec<u32> {
        let question = &self.drawn;
        let groups = [&blocks.rows, &blocks.columns][side];
        let Some(column) = set.columns.get(question.column) else { return vec![] };
        let is_listed = |code: u16| groups.iter().any(|g| g.code == Some(code));
        let is_in = |e: &u32| {
            let code = column.codes[*e as usize];
            let fits = groups[at].code.map_or_else(|| !is_listed(code), |wanted| wanted == code);
            fits && question.within[side]
                .is_none_or(|(c, wanted)| set.columns.get(c).is_some_and(|c| c.codes[*e as usize] == wanted))
        };
        (0..set.len).filter(is_in).collect()
    }

    /// Adds a query of a cell's connections by the next finer column. A merged category has no finer query.
    fn drill(&mut self, ctx: &ViewCtx<'_>, set: &ElementSet, row: &Group, column: &Group) {
        let now = self.drawn.clone();
        let (Some(from), Some(to)) = (row.code, column.code) else { return };
        let within = [Some((now.column, from)), Some((now.column, to))];
        // Skips columns that have only one category in this cell.
        let mut finer = ctx.filter.finer(set, now.column);
        while let Some(next) = finer {
            let question = BlockQuery { column: next, within };
            finer = ctx.filter.finer(set, next);
            if finer.is_none() || has_several_categories(set, &question) {
                return self.path.push(question);
            }
        }
    }

    fn heat(
        &mut self,
        ctx: &ViewCtx<'_>,
        set: &ElementSet,
        blocks: &Arc<Blocks>,
    ) -> (u64, Arc<Heatmap>, [Vec<usize>; 2]) {
        let mut hasher = DefaultHasher::new();
        let look = (self.measure, self.sort, self.is_linear, ctx.tokens.dark);
        (Arc::as_ptr(blocks) as usize, look, blocks.cells.len()).hash(&mut hasher);
        let key = hasher.finish();
        if let Some((known, heat, orders)) = &self.shown
            && *known == key
        {
            return (key, heat.clone(), orders.clone());
        }
        let column = self.drawn.column;
        let orders = [self.order(set, column, &blocks.rows), self.order(set, column, &blocks.columns)];
        let inks = set.columns.get(column).map(|c| colors::of_column(c, ctx.tokens)).unwrap_or_default();
        let named = |group: &Group| AxisLabel {
            text: name(set, column, group),
            color: group.code.and_then(|c| inks.get(usize::from(c)).copied()).filter(|_| inks.len() <= 22),
        };
        let values = orders[0].iter().flat_map(|r| orders[1].iter().map(|c| self.measure.of(blocks.cell(*r, *c))));
        let heat = Arc::new(Heatmap {
            rows: orders[0].iter().map(|r| named(&blocks.rows[*r])).collect(),
            columns: orders[1].iter().map(|c| named(&blocks.columns[*c])).collect(),
            values: values.collect(),
            scale_colors: if self.measure == Measure::Net {
                ScaleColors::Diverging
            } else {
                ScaleColors::Map(Colormap::Viridis)
            },
            span: None,
            is_log: !self.is_linear,
        });
        self.shown = Some((key, heat.clone(), orders.clone()));
        (key, heat, orders)
    }

    fn order(&self, set: &ElementSet, column: usize, groups: &[Group]) -> Vec<usize> {
        let mut order: Vec<usize> = (0..groups.len()).collect();
        match self.sort {
            Sort::Category => {}
            Sort::Strength => order.sort_by(|a, b| groups[*b].strength.total_cmp(&groups[*a].strength)),
            Sort::Name => order.sort_by_cached_key(|i| name(set, column, &groups[*i])),
        }
        order
    }

    fn tip_ui(
        &self,
        ui: &mut Ui,
        ctx: &ViewCtx<'_>,
        set: &ElementSet,
        wiring: &Connectivity,
        blocks: &Blocks,
        row: usize,
        column: usize,
    ) {
        let (from, to, cell) = (&blocks.rows[row], &blocks.columns[column], blocks.cell(row, column));
        let by = self.drawn.column;
        let title = format!("{} → {}", name(set, by, from), name(set, by, to));
        ui.label(egui::RichText::new(title).strong().color(ctx.tokens.text_strong));
        egui::Grid::new("cell").num_columns(2).spacing([12.0, 2.0]).show(ui, |ui| {
            let mut line = |name: &str, text: String| {
                ui.label(egui::RichText::new(name).small().color(ctx.tokens.text_sub));
                ui.label(egui::RichText::new(text).small().color(ctx.tokens.text));
                ui.end_row();
            };
            let (n, pairs) = (cell.n, f64::from(from.n) * f64::from(to.n));
            line("Σ |w|", format!("{} {}", kit::thousands(cell.total as u64), wiring.unit));
            line("Σ w", short(cell.net));
            line("connections", kit::thousands(n));
            if n > 0 {
                line("mean |w|", kit::value((cell.total / n as f64 * 1e3).round() / 1e3));
                line("of all pairs", format!("{:.3} %", 100.0 * n as f64 / pairs));
            }
            line(&set.noun(), format!("{} → {}", kit::thousands(from.n.into()), kit::thousands(to.n.into())));
        });
        let drill = if ctx.filter.finer(set, by).is_some() { " · double-click: drill down" } else { "" };
        ui.label(egui::RichText::new(format!("click: select both ends{drill}")).small().color(ctx.tokens.text_sub));
    }
}

fn name(set: &ElementSet, column: usize, group: &Group) -> String {
    let label = group.code.and_then(|c| set.columns.get(column)?.labels.get(usize::from(c)));
    match label.map(String::as_str) {
        None => "rest".to_owned(),
        Some("") => "none".to_owned(),
        Some(label) => label.to_owned(),
    }
}

/// Whether the rows or the columns of a query have several categories.
fn has_several_categories(set: &ElementSet, question: &BlockQuery) -> bool {
    let codes = &set.columns[question.column].codes;
    question.within.iter().flatten().any(|(column, code)| {
        let within = &set.columns[*column].codes;
        let mut found = within.iter().zip(codes).filter(|(w, _)| *w == code).map(|(_, c)| c);
        let first = found.next();
        found.any(|c| Some(c) != first)
    })
}

/// Returns the elements with a connection from the first list to the second, at both ends.
fn connected(links: &dyn crate::sim::ConnectionSource, [from, to]: &[Vec<u32>; 2]) -> Vec<u32> {
    let n = links.n() as usize;
    let (mut is_to, mut found) = (vec![false; n], vec![false; n]);
    to.iter().filter(|e| (**e as usize) < n).for_each(|e| is_to[*e as usize] = true);
    let mut row = Vec::new();
    for pre in from.iter().filter(|e| (**e as usize) < n) {
        links.read(*pre, &mut row);
        for link in row.iter().filter(|l| is_to.get(l.to as usize) == Some(&true)) {
            found[*pre as usize] = true;
            found[link.to as usize] = true;
        }
    }
    (0..n as u32).filter(|e| found[*e as usize]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::views::connectivity::blocks::tests::Few;

    #[test]
    fn both_ends_are_those_connected() {
        let few = Few(6, vec![(0, 2, 3.0), (1, 4, -4.0), (2, 3, 2.0)]);
        assert_eq!(connected(&few, &[vec![0, 1, 2], vec![2, 3]]), [0, 2, 3]);
    }
}
