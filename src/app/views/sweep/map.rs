//! Painting of a sweep over two parameters: a heat map with missing cells, axes and a colour bar.

use super::{
    SweepPlot,
    grid::{Grid, Spacing, edges},
    groups::Coordinate,
};
use crate::app::{
    kit::{
        self,
        bar::{ColorBar, round_marks},
        color_scale::{FieldScale, ScaleColors},
        colormap::Colormap,
        heatmap::ink_on,
        theme::Tokens,
    },
    views::ViewCtx,
};
use egui::{Align2, Color32, Painter, Pos2, Rect, Sense, Ui, pos2, vec2};

const COLORS: Colormap = Colormap::Cividis;
/// Minimum size of cells with a gap between them, points.
const WITH_GAP: f32 = 5.0;

/// Heat map in an area.
struct Map<'a> {
    grid: &'a Grid,
    plot: Rect,
    /// Edges of the columns from left to right and of the rows from the bottom, 0 to 1.
    edges: [Vec<f32>; 2],
}

impl Map<'_> {
    fn cell(&self, column: usize, row: usize) -> Rect {
        let x = |i: usize| egui::lerp(self.plot.x_range(), self.edges[0][i]);
        let y = |i: usize| egui::lerp(self.plot.bottom()..=self.plot.top(), self.edges[1][i]);
        Rect::from_min_max(pos2(x(column), y(row + 1)), pos2(x(column + 1), y(row)))
    }

    /// Iterates over the columns and rows of all cells, row by row from the bottom.
    fn cells(&self) -> impl Iterator<Item = (usize, usize)> {
        let n = self.grid.columns.len();
        (0..self.grid.cells.len()).map(move |i| (i % n, i / n))
    }

    fn at(&self, pointer: Pos2) -> Option<(usize, usize)> {
        self.cells().find(|(column, row)| self.cell(*column, *row).contains(pointer))
    }
}

impl SweepPlot {
    fn spacing(&self, axis: usize) -> Spacing {
        match (self.is_numeric(axis), self.is_log(axis)) {
            (false, _) => Spacing::Even,
            (true, false) => Spacing::Linear,
            (true, true) => Spacing::Log,
        }
    }

    /// Formats a value of an axis without its unit.
    fn axis_value(&self, axis: usize, value: &Coordinate) -> String {
        if self.is_numeric(axis) { kit::value(value.x) } else { value.text.clone() }
    }

    pub(super) fn map_ui(&mut self, ui: &mut Ui, canvas: Rect, ctx: &mut ViewCtx<'_>) {
        let Some(group) = self.shown.groups.get(self.shown.map) else { return };
        let values: Vec<f32> = group.points.iter().map(|point| point.mean() as f32).collect();
        let range = ScaleColors::Map(COLORS).range(&values, false).unwrap_or((0.0, 1.0));
        let scale = FieldScale::following(COLORS, range, ctx.tokens);
        let (rest, bar) = ColorBar::titled(ui, canvas, ctx.tokens, (self.title(), round_marks(range)), &scale);
        let map = self.layout(ui, rest);
        let response = ui.interact(map.plot, ui.scope_id().with("sweep"), Sense::click());
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Image, true, self.summary()));
        let painter = ui.painter_at(canvas);
        if let Some(bar) = bar {
            bar.paint(&painter, ctx.tokens);
        }
        let hovered = response.hover_pos().and_then(|at| map.at(at));
        paint_cells(&painter, &map, &values, &scale, ctx.tokens);
        paint_numbers(ui, &painter, &map, &values, &scale, ctx.tokens);
        self.paint_map_axes(ui, &painter, canvas.left() + 8.0, &map, ctx.tokens);
        let Some((column, row)) = hovered else { return };
        let outline = map.cell(column, row);
        painter.rect_stroke(outline, 1.0, (1.5, ctx.tokens.text_strong), egui::StrokeKind::Outside);
        match map.grid.cell(column, row) {
            Some(k) => {
                let i = self.shown.map;
                let response = response.on_hover_ui_at_pointer(|ui| self.tooltip_ui(ui, ctx.tokens, i, k));
                if response.clicked() {
                    self.compare(ctx, i, k);
                }
            }
            None => {
                let at = [&map.grid.columns[column], &map.grid.rows[row]].map(Clone::clone);
                response.on_hover_text_at_pointer(format!("{}: no run", self.values_text(&at)));
            }
        }
    }

    fn layout(&self, ui: &Ui, area: Rect) -> Map<'_> {
        let grid = &self.shown.grid;
        let width = |value: &Coordinate| {
            let text = self.axis_value(1, value);
            ui.painter().layout_no_wrap(text, kit::mono(ui), Color32::WHITE).size().x
        };
        let left = grid.rows.iter().map(width).fold(0.0, f32::max).clamp(16.0, area.width() / 3.0);
        let plot = Rect::from_min_max(area.min + vec2(left + 16.0, 24.0), area.max - vec2(8.0, kit::TITLED_AXIS + 2.0));
        let edges = [(&grid.columns, 0), (&grid.rows, 1)].map(|(values, axis)| edges(values, self.spacing(axis)));
        Map { grid, plot, edges }
    }

    /// Draws the values next to the middles of their cells, as many as fit, and the names of the parameters.
    fn paint_map_axes(&self, ui: &Ui, painter: &Painter, left: f32, map: &Map<'_>, tokens: &Tokens) {
        let (small, mono, color) = (kit::small(ui), kit::mono(ui), tokens.text_sub);
        let names = |axis: usize, values: &[Coordinate]| -> Vec<_> {
            let name = |value| painter.layout_no_wrap(self.axis_value(axis, value), mono.clone(), color);
            values.iter().map(name).collect()
        };
        let mut free = left;
        for (column, name) in names(0, &map.grid.columns).into_iter().enumerate() {
            let at = map.cell(column, 0).center_bottom() + vec2(-name.size().x / 2.0, 4.0);
            if at.x >= free {
                free = at.x + name.size().x + 8.0;
                painter.galley(at, name, color);
            }
        }
        let mut free = map.plot.bottom();
        for (row, name) in names(1, &map.grid.rows).into_iter().enumerate() {
            let at = map.cell(0, row).left_center() - vec2(name.size().x + 6.0, name.size().y / 2.0);
            if at.y + name.size().y <= free + 6.0 {
                free = at.y;
                painter.galley(at, name, color);
            }
        }
        kit::x_title(painter, map.plot, &small, tokens, &self.axis_title(0));
        let above = kit::elide(painter, &self.axis_title(1), &small, map.plot.right() - left);
        painter.text(pos2(left, map.plot.top() - 5.0), Align2::LEFT_BOTTOM, above, small, color);
    }
}

/// Draws the colours of the cells. A missing cell is crossed out.
fn paint_cells(painter: &Painter, map: &Map<'_>, values: &[f32], scale: &FieldScale, tokens: &Tokens) {
    for (column, row) in map.cells() {
        let whole = map.cell(column, row);
        let cell = if whole.size().min_elem() > WITH_GAP { whole.shrink(0.5) } else { whole };
        match map.grid.cell(column, row) {
            Some(point) => drop(painter.rect_filled(cell, 0.0, scale.color(values[point]))),
            None => {
                let line = (1.0, tokens.text_sub.gamma_multiply(0.5));
                painter.rect_stroke(cell, 0.0, line, egui::StrokeKind::Inside);
                painter.line_segment([cell.left_bottom(), cell.right_top()], line);
            }
        }
    }
}

/// Draws the values in the cells if all have room.
fn paint_numbers(ui: &Ui, painter: &Painter, map: &Map<'_>, values: &[f32], scale: &FieldScale, tokens: &Tokens) {
    let mut numbers = vec![];
    for (column, row) in map.cells() {
        let (cell, Some(point)) = (map.cell(column, row), map.grid.cell(column, row)) else { continue };
        let color = ink_on(scale.color(values[point]), tokens);
        let number = painter.layout_no_wrap(kit::value(values[point].into()), kit::mono(ui), color);
        let room = cell.size() - number.size();
        if room.x < 8.0 || room.y < 2.0 {
            return;
        }
        numbers.push((cell.center() - number.size() / 2.0, number, color));
    }
    for (at, number, color) in numbers {
        painter.galley(at, number, color);
    }
}
