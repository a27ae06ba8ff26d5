//! Matrices such as couplings, attention or router use, as a heat map or with a line per row.

use super::{
    ViewCtx, ViewDeclaration,
    single_probe::{Notice, ProbeContents, SingleProbe},
};
use crate::{
    app::{
        document::{features::has_probe, layout::Page},
        kit::{
            self, axes,
            color_scale::ScaleColors,
            colormap::Colormap,
            colors,
            heatmap::{AxisLabel, Heatmap, HeatmapTexture, HeatmapTitles},
            icons,
        },
    },
    sim::{Axis, Matrix as Values, ProbeSpec, Reading, Shape},
};
use egui::{Pos2, Rect, Sense, Stroke, Ui, pos2};
use std::borrow::Cow;

/// Maximum number of rows and columns drawn; larger matrices are averaged in square blocks.
const MAX_CELLS: usize = 512;
/// Maximum number of rows drawn as lines.
const MAX_LINES: usize = 28;
/// Maximum number of rows (or columns) that may have separate scales by default.
const MAX_SCALED: usize = 40;
/// Fraction of the largest value below which a row or column is faint. If a third of the rows or columns are faint, each has its
/// own scale by default.
const FAINT: f32 = 0.1;

/// The matrix view.
#[derive(Default)]
pub struct Matrix {
    is_log: bool,
    /// Whether a line per row replaces the heat map.
    has_lines: bool,
    /// Parts with separate scales; `None`: rows or columns if their magnitudes differ much.
    scaling: Option<Scaling>,
    /// Values of the heat map's cells, before scaling.
    cells: Vec<f32>,
    heat: Option<Heatmap>,
    shown: Values,
    generation: u64,
    picture: HeatmapTexture,
}

/// Parts of a matrix with separate scales.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Scaling {
    #[default]
    Whole,
    Rows,
    Columns,
}

impl Scaling {
    const ALL: [Self; 3] = [Self::Whole, Self::Rows, Self::Columns];

    const fn label(self) -> &'static str {
        match self {
            Self::Whole => "one scale",
            Self::Rows => "by row",
            Self::Columns => "by column",
        }
    }

    /// Returns the default scaling: by row or column if some of them would be hardly visible on a common scale.
    fn of(matrix: &Values) -> Self {
        let columns = matrix.columns.len as usize;
        let is_small = |axis: &Axis| (2..=MAX_SCALED).contains(&axis.labels.len());
        if is_small(&matrix.rows) && has_other_magnitudes(matrix.values.chunks(columns.max(1)).map(largest)) {
            Self::Rows
        } else if is_small(&matrix.columns) && has_other_magnitudes(largest_in_columns(&matrix.values, columns)) {
            Self::Columns
        } else {
            Self::Whole
        }
    }

    /// Divides the values by the largest magnitude of their row or column.
    fn apply(self, values: &[f32], columns: usize) -> Cow<'_, [f32]> {
        let scaled =
            |(row, most): (&[f32], f32)| row.iter().map(|v| v / most.max(f32::MIN_POSITIVE)).collect::<Vec<_>>();
        match self {
            Self::Whole => Cow::Borrowed(values),
            Self::Rows => values.chunks(columns.max(1)).flat_map(|row| scaled((row, largest(row)))).collect(),
            Self::Columns => {
                let most: Vec<f32> = largest_in_columns(values, columns).map(|m| m.max(f32::MIN_POSITIVE)).collect();
                values.iter().zip(most.iter().cycle()).map(|(v, most)| v / most).collect()
            }
        }
    }
}

impl Matrix {
    fn update(&mut self, matrix: &Values) {
        if matrix.values.is_empty() || matrix.columns.len == 0 {
            return self.heat = None;
        }
        let columns = matrix.columns.len as usize;
        let (per_block, n_rows, n_columns, values) = blocks(&matrix.values, columns);
        let named = |axis: &Axis, n: usize| {
            (0..n).map(|i| AxisLabel { text: axis.label(i * per_block), color: None }).collect::<Vec<_>>()
        };
        let is_signed = values.iter().any(|v| *v < 0.0);
        let scale_colors = if is_signed { ScaleColors::Diverging } else { ScaleColors::Map(Colormap::Magma) };
        let (rows, columns) = (named(&matrix.rows, n_rows), named(&matrix.columns, n_columns));
        self.cells.clone_from(&values);
        let values = self.scaling(matrix).apply(&values, n_columns).into_owned();
        self.heat = Some(Heatmap { rows, columns, values, scale_colors, span: None, is_log: self.is_log });
        self.shown = matrix.clone();
        self.generation += 1;
    }

    fn scaling(&self, matrix: &Values) -> Scaling {
        self.scaling.unwrap_or_else(|| Scaling::of(matrix))
    }

    fn heat_ui(&mut self, ui: &mut Ui, canvas: Rect, probe: &ProbeSpec, ctx: &ViewCtx<'_>) {
        let (Shape::Matrix { rows, columns }, Some(heat)) = (probe.shape, &self.heat) else { return };
        let has_one_scale = self.scaling(&self.shown) == Scaling::Whole;
        self.picture.fixed = ctx.color_scales.of(probe.name).range.filter(|_| has_one_scale);
        let values = if has_one_scale { probe.unit.to_owned() } else { String::new() };
        let titles = HeatmapTitles { rows: rows.to_owned(), columns: columns.to_owned(), values };
        let places = heat.places_titled(ui, canvas, titles);
        let response = ui.interact(places.cells, ui.scope_id().with("cells"), Sense::hover());
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Image, true, "Heat map"));
        let hovered = response.hover_pos().and_then(|at| heat.at(&places, at));
        heat.paint(ui, &places, &mut self.picture, self.generation, hovered, ctx.tokens);
        heat.paint_numbers(ui, &places, &self.cells, self.picture.fixed, ctx.tokens);
        if let Some((row, column)) = hovered {
            let value = self.cells.get(row * heat.columns.len() + column).copied().unwrap_or(f32::NAN);
            let (row, column) = (&heat.rows[row].text, &heat.columns[column].text);
            let text = format!("{rows} {row}, {columns} {column}\n{}", kit::with_unit(f64::from(value), probe.unit));
            response.on_hover_text_at_pointer(text);
        }
    }

    /// Draws a line per row over the columns. The columns are at their numbers if all labels are ascending numbers, otherwise
    /// evenly spaced.
    fn lines_ui(&self, ui: &mut Ui, canvas: Rect, probe: &ProbeSpec, ctx: &ViewCtx<'_>) {
        let Shape::Matrix { rows, columns } = probe.shape else { return };
        let (tokens, font, Values { rows: row_axis, columns: column_axis, values }) =
            (ctx.tokens, kit::small(ui), &self.shown);
        let n = column_axis.len as usize;
        let numbers: Option<Vec<f64>> = column_axis.labels.iter().map(|label| label.parse().ok()).collect();
        let xs =
            numbers.filter(|xs| xs.len() == n && xs.is_sorted()).unwrap_or_else(|| (0..n).map(|i| i as f64).collect());
        let (Some(x0), Some(x1)) = (xs.first().copied(), xs.last().copied()) else { return };
        let scaling = self.scaling(&self.shown);
        let drawn = scaling.apply(values, n);
        let finite = drawn.iter().copied().filter(|v| v.is_finite());
        let (low, high) = finite.fold((0.0_f32, f32::MIN_POSITIVE), |(a, b), v| (a.min(v), b.max(v)));
        let plot = Rect::from_min_max(canvas.min + egui::vec2(54.0, 14.0), canvas.max - egui::vec2(14.0, 30.0));
        let x = |i: usize| egui::lerp(plot.x_range(), ((xs[i] - x0) / (x1 - x0).max(f64::MIN_POSITIVE)) as f32);
        let y = |v: f32| egui::lerp(plot.bottom()..=plot.top(), (v - low) / (high - low));
        axes::y_axis(
            ui.painter(),
            plot,
            &font,
            tokens,
            low.into(),
            high.into(),
            if scaling == Scaling::Whole { probe.unit } else { "" },
        );
        ui.painter().hline(plot.x_range(), plot.bottom(), (1.0, tokens.line));
        let widest = (0..n).map(|i| column_axis.label(i).chars().count()).max().unwrap_or(1) as f32 * 6.0 + 8.0;
        let every = ((widest * n as f32) / plot.width().max(1.0)).ceil().max(1.0) as usize;
        for i in (0..n).step_by(every) {
            let text = column_axis.label(i);
            ui.painter().text(
                pos2(x(i), plot.bottom() + 3.0),
                egui::Align2::CENTER_TOP,
                text,
                font.clone(),
                tokens.text_sub,
            );
        }
        let below = pos2(plot.right(), plot.bottom() + 16.0);
        ui.painter().text(below, egui::Align2::RIGHT_TOP, columns, font.clone(), tokens.text_sub);
        let response = ui.interact(plot, ui.scope_id().with("lines"), Sense::hover());
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Image, true, "Lines of a matrix"));
        let lines = || drawn.chunks_exact(n).take(MAX_LINES).enumerate();
        let nearest = response.hover_pos().and_then(|at| {
            let column = (0..n).min_by(|a, b| (x(*a) - at.x).abs().total_cmp(&(x(*b) - at.x).abs()))?;
            let distance = |row: &[f32]| (y(row[column]) - at.y).abs();
            let (row, _) = lines().min_by(|(_, a), (_, b)| distance(a).total_cmp(&distance(b)))?;
            Some((row, column))
        });
        for (i, row) in lines() {
            let points: Vec<Pos2> = row.iter().enumerate().map(|(c, v)| pos2(x(c), y(*v))).collect();
            let is_near = nearest.is_some_and(|(near, _)| near == i);
            let width = if is_near { 2.5 } else { 1.2 };
            ui.painter()
                .with_clip_rect(plot.expand(2.0))
                .line(points, Stroke::new(width, colors::categorical(i, tokens)));
        }
        if let Some((row, column)) = nearest {
            let value = kit::with_unit(values[row * n + column].into(), probe.unit);
            let text = format!("{rows} {}, {columns} {}\n{value}", row_axis.label(row), column_axis.label(column));
            response.on_hover_text_at_pointer(text);
        }
    }
}

/// Returns the largest finite magnitude, or 0.
fn largest(values: &[f32]) -> f32 {
    values.iter().filter(|v| v.is_finite()).fold(0.0, |a, v| a.max(v.abs()))
}

fn largest_in_columns(values: &[f32], columns: usize) -> impl Iterator<Item = f32> + '_ {
    let of_column = move |column: usize| values.iter().skip(column).step_by(columns.max(1)).copied();
    (0..columns).map(move |column| largest(&of_column(column).collect::<Vec<_>>()))
}

/// Whether at least a third of the rows or columns would be nearly invisible on the scale of the largest one.
fn has_other_magnitudes(most: impl Iterator<Item = f32>) -> bool {
    let most: Vec<f32> = most.filter(|most| *most > 0.0).collect();
    let n_faint = most.iter().filter(|v| **v < FAINT * largest(&most)).count();
    3 * n_faint >= most.len().max(1)
}

/// Returns the notice without values, by the name of the rows. A matrix over tokens belongs to the newest text.
fn missing(rows: &str) -> Notice {
    match rows {
        "token" => Notice::NeedsRun("No text yet", "Run to see the first text"),
        _ => Notice::NeedsRun("No values yet", "Run to see the matrix"),
    }
}

/// Averages a matrix in square blocks. Returns the size of a block, the numbers of rows and columns of blocks, and their means.
fn blocks(values: &[f32], columns: usize) -> (usize, usize, usize, Vec<f32>) {
    let rows = values.len() / columns;
    let per_block = rows.max(columns).div_ceil(MAX_CELLS).max(1);
    let (n_rows, n_columns) = (rows.div_ceil(per_block), columns.div_ceil(per_block));
    if per_block == 1 {
        return (1, rows, columns, values[..rows * columns].to_vec());
    }
    let mut sums = vec![(0.0_f32, 0_u32); n_rows * n_columns];
    for (i, v) in values[..rows * columns].iter().enumerate().filter(|(_, v)| v.is_finite()) {
        let sum = &mut sums[i / columns / per_block * n_columns + i % columns / per_block];
        *sum = (sum.0 + v, sum.1 + 1);
    }
    (per_block, n_rows, n_columns, sums.into_iter().map(|(sum, n)| sum / n as f32).collect())
}

impl ProbeContents for Matrix {
    const DECLARATION: ViewDeclaration = ViewDeclaration {
        name: "matrix",
        title: "Matrix",
        icon: icons::GRID,
        help: "# Matrix\n\nThe latest values of a matrix: couplings, attention, router use. Which one is chosen in the \
         toolbar, with \
         its arguments. Large matrices are averaged in square blocks; the caption shows the full size. Values of both signs \
         use a diverging colormap. **Lines** draws a line per row over the columns. **Scale** gives each row or column a scale of \
         its own, from 0 to its largest magnitude. Cells with room for it show their value.",
        pages: &[Page::Simulate, Page::Explore],
        fits: |schema| has_probe(schema, Self::is_shown),
        ..ViewDeclaration::of::<SingleProbe<Self>>()
    };
    const MENU: &'static str = "Matrix";
    const NO_PROBE: [&'static str; 2] = ["No matrix", "This simulation publishes no matrices"];

    fn is_shown(shape: &Shape) -> bool {
        matches!(shape, Shape::Matrix { .. })
    }

    fn clear(&mut self) {
        self.heat = None;
    }

    fn take(&mut self, reading: &Reading) {
        if let Reading::Matrix(matrix) = reading {
            self.update(matrix);
        }
    }

    fn range(&self) -> Option<(f32, f32)> {
        self.heat.as_ref()?.range()
    }

    fn caption(&mut self, probe: &ProbeSpec, _: &ViewCtx<'_>) -> String {
        // Without values the sizes are unknown.
        let (Shape::Matrix { rows, columns }, Some(_)) = (probe.shape, &self.heat) else { return String::new() };
        let unit = if probe.unit.is_empty() { String::new() } else { format!("  |  {}", probe.unit) };
        let size = (self.shown.rows.len, self.shown.columns.len);
        let drawn = if self.has_lines && size.0 as usize > MAX_LINES {
            format!("  |  first {MAX_LINES} rows")
        } else {
            String::new()
        };
        let scaled = match self.scaling(&self.shown) {
            Scaling::Whole => "",
            Scaling::Rows => "  |  each row on its own scale",
            Scaling::Columns => "  |  each column on its own scale",
        };
        format!("{rows} {} × {columns} {}{unit}{drawn}{scaled}", size.0, size.1)
    }

    fn toolbar_ui(&mut self, ui: &mut Ui, ctx: &mut ViewCtx<'_>, probe: &ProbeSpec) {
        ui.toggle_value(&mut self.has_lines, "Lines").on_hover_text("A line per row over the columns");
        let mut scaling = self.scaling(&self.shown);
        let options = Scaling::ALL.map(|scaling| (scaling, scaling.label().to_owned()));
        if kit::choice_ui(ui, ctx.tokens, "Scale", &mut scaling, &options) {
            self.scaling = Some(scaling);
            self.update(&self.shown.clone());
        }
        if self.has_lines {
            return;
        }
        if ui.toggle_value(&mut self.is_log, "Log").on_hover_text("Logarithmic colour scale").changed() {
            if let Some(heat) = &mut self.heat {
                heat.is_log = self.is_log;
            }
            self.generation += 1;
        }
        if let Some(range) = self.range().filter(|_| scaling == Scaling::Whole) {
            ctx.color_scales.range_ui(ui, probe.name, range);
        }
    }

    fn notice(&self, probe: &ProbeSpec, _: &ViewCtx<'_>) -> Option<Notice> {
        let Shape::Matrix { rows, .. } = probe.shape else { return None };
        self.heat.is_none().then(|| missing(rows))
    }

    fn contents_ui(&mut self, ui: &mut Ui, canvas: Rect, probe: &ProbeSpec, ctx: &mut ViewCtx<'_>) {
        if self.has_lines { self.lines_ui(ui, canvas, probe, ctx) } else { self.heat_ui(ui, canvas, probe, ctx) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_matrix_over_tokens_waits_for_a_text() {
        assert!(matches!(missing("token"), Notice::NeedsRun("No text yet", _)));
        assert!(matches!(missing("neuron"), Notice::NeedsRun("No values yet", _)));
    }

    #[test]
    fn rows_or_columns_of_other_magnitudes_have_their_own_scales() {
        let named = |n: usize| Axis::named((0..n).map(|i| format!("q{i}")).collect());
        let matrix = |values: &[f32], rows: usize, columns| Values {
            rows: if rows > 0 { named(rows) } else { Axis::numbered((values.len() / columns) as u32) },
            columns: named(columns),
            values: values.to_vec().into(),
        };
        let quantities = [0.1, 0.2, 24.0, 12.0, -0.5, 0.25];
        assert_eq!(Scaling::of(&matrix(&quantities, 3, 2)), Scaling::Rows);
        assert_eq!(Scaling::Rows.apply(&quantities, 2)[..], [0.5, 1.0, 1.0, 0.5, -1.0, 0.5]);
        let terms = [4.0, 0.1, 0.0, -2.0, 0.2, 0.0];
        assert_eq!(Scaling::of(&matrix(&terms, 2, 3)), Scaling::Columns);
        assert_eq!(Scaling::Columns.apply(&terms, 3)[..], [1.0, 0.5, 0.0, -0.5, 1.0, 0.0]);
        assert_eq!(Scaling::of(&matrix(&terms, 0, 3)), Scaling::Columns, "rows without names");
        assert_eq!(Scaling::of(&matrix(&[1.0, 0.1, 0.4, 0.2, 0.1, 0.9], 3, 2)), Scaling::Whole, "of one kind");
        assert_eq!(Scaling::Columns.apply(&[0.0; 4], 2)[..], [0.0; 4]);
    }

    #[test]
    fn large_matrices_are_averaged() {
        let (n, rows, columns, values) = blocks(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 3);
        assert_eq!((n, rows, columns, values.len()), (1, 2, 3, 6));
        let large: Vec<f32> = (0..1024 * 1024).map(|i| if i / 1024 < 2 && i % 1024 < 2 { 3.0 } else { 1.0 }).collect();
        let (n, rows, columns, values) = blocks(&large, 1024);
        assert_eq!((n, rows, columns), (2, 512, 512));
        assert_eq!((values[0], values[1]), (3.0, 1.0));
    }
}
