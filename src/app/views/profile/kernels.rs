//! Kernel table: one row per kernel over the chosen range. A click on a row opens its details.

use super::{
    detail::Detail,
    figures::{Figure, Row, TimeUnit, When, fitting, percent_signed},
    hold_ui, overhead_text,
};
use crate::{
    app::{
        document::{
            layout::Page,
            profile::{Baseline, Profile},
        },
        kit::{self, icons},
        views::{View, ViewCtx, ViewDeclaration, run_ui},
    },
    gpu::Timing,
    sim::ShareLevel,
};
use crossbeam_channel::Receiver;
use egui::{Align, Color32, Key, Layout, Rect, RichText, Sense, Ui, UiBuilder, Vec2, pos2};
use egui_extras::{Column, TableBuilder};
use std::rc::Rc;

/// Width of the name column, points.
const NAME: f32 = 130.0;
/// Space between columns, points.
const SPACING: f32 = 8.0;
/// Minimum width of the share column, points.
const SHARE: f32 = 84.0;
/// Width of the name, the minimum share, the spaces after them and the table's margin, points.
const FIXED: f32 = NAME + SHARE + 2.0 * SPACING + 20.0;
/// Width of the details, points.
const DETAIL: f32 = 330.0;

/// The kernel table.
#[derive(Default)]
pub struct Kernels {
    detail: Detail,
    filter: String,
    /// Sort column, and whether the order is ascending; `None`: by share.
    sort: Option<(&'static str, bool)>,
    coming: Option<Receiver<Result<Baseline, String>>>,
}

impl Kernels {
    /// Returns the rows that match the filter, sorted.
    fn rows<'a>(&self, sums: &'a [Timing], ctx: &'a ViewCtx<'_>) -> Vec<Row<'a>> {
        let profile: &Profile = ctx.profile;
        let batches = profile.measured().count().max(1) as f64;
        let all = sums.iter().map(|t| t.nanos).sum::<u64>().max(1) as f64;
        let words = self.filter.to_lowercase();
        let row = |timing: &'a Timing| Row {
            timing,
            facts: ctx.schema.kernels.iter().find(|f| f.name == timing.name),
            baseline: profile.baseline.as_ref(),
            bytes: crate::app::document::profile::bytes_of(timing, &profile.machine),
            ops: crate::app::document::profile::ops_of(timing, &profile.machine),
            of_peak: profile.machine.of_peak(timing),
            share: timing.nanos as f64 / all,
            batches,
        };
        let mut rows: Vec<Row<'_>> = sums.iter().filter(|t| kit::spaced(t.name).contains(&words)).map(row).collect();
        if let Some((head, ascending)) = self.sort {
            let figure = super::figures::FIGURES.iter().find(|f| f.head == head);
            let key = |r: &Row<'_>| figure.and_then(|f| (f.value)(r));
            match figure {
                None => rows.sort_by_key(|r| r.timing.name),
                Some(_) => rows.sort_by(|a, b| {
                    key(a).unwrap_or(f64::NEG_INFINITY).total_cmp(&key(b).unwrap_or(f64::NEG_INFINITY))
                }),
            }
            if !ascending {
                rows.reverse();
            }
        }
        rows
    }

    fn table_ui(&mut self, ui: &mut Ui, sums: &[Timing], ctx: &mut ViewCtx<'_>) {
        let has_data = has_data(sums, ctx);
        let figures = fitting(ui.available_width() - FIXED, SPACING, |when| has_data[when as usize]);
        let total = total_of(sums);
        let mut clicked = None;
        let mut hovered = None;
        let mut sort = self.sort;
        let rows = self.rows(sums, ctx);
        let batches = rows.first().map_or(1.0, |r| r.batches);
        let sum =
            Row { timing: &total, facts: None, baseline: None, bytes: 0, ops: 0, of_peak: None, share: 1.0, batches };
        let unit = TimeUnit::of(&rows);
        let decimals: Vec<usize> = figures.iter().map(|f| f.decimals(&rows, unit)).collect();
        let right = Layout::right_to_left(Align::Center);
        ui.spacing_mut().item_spacing = Vec2::new(SPACING, 2.0);
        ui.spacing_mut().scroll.floating_allocated_width = SPACING; // Otherwise the scroll bar covers the last digits.
        let mut table = TableBuilder::new(ui)
            .id_salt(("kernels", figures.len()))
            .striped(false)
            .sense(Sense::click())
            .cell_layout(Layout::left_to_right(Align::Center))
            .column(Column::initial(NAME).at_least(80.0).clip(true))
            .column(Column::remainder().at_least(SHARE));
        for figure in &figures {
            table = table.column(Column::initial(figure.width).at_least(44.0).clip(true));
        }
        table
            .header(24.0, |mut header| {
                for (head, hint) in HEADS {
                    header.col(|ui| head_ui(ui, head, (head, hint), &mut sort, ctx));
                }
                for figure in &figures {
                    header.col(|ui| {
                        ui.with_layout(right, |ui| {
                            head_ui(ui, figure.head, (&figure.head_in(unit), figure.hint), &mut sort, ctx)
                        });
                    });
                }
            })
            .body(|body| {
                body.rows(22.0, rows.len() + 1, |mut line| {
                    let row = rows.get(line.index()).unwrap_or(&sum);
                    let name = row.timing.name;
                    let is_total = line.index() == rows.len();
                    line.set_selected(!is_total && ctx.profile.kernel == Some(name));
                    let color = if is_total { ctx.tokens.text_sub } else { ctx.profile.color(name, ctx.tokens) };
                    line.col(|ui| name_ui(ui, row, is_total, ctx));
                    let level = ctx.share_levels.iter().find(|level| level.row == name && !is_total);
                    line.col(|ui| share_ui(ui, row.share, color, level, ctx));
                    for (figure, decimals) in figures.iter().zip(&decimals) {
                        line.col(|ui| {
                            ui.with_layout(right, |ui| figure_ui(ui, figure, (*decimals, unit), row, is_total, ctx));
                        });
                    }
                    let response = line.response();
                    if !is_total && response.hovered() {
                        hovered = Some(name);
                    }
                    if !is_total && response.clicked() {
                        clicked = Some(name);
                    }
                });
            });
        self.sort = sort;
        ctx.profile.hover(Self::DECLARATION.name, hovered);
        if let Some(name) = clicked {
            ctx.profile.kernel = if ctx.profile.kernel == Some(name) { None } else { Some(name) };
        }
    }

    fn toolbar_ui(&mut self, ui: &mut Ui, sums: &Rc<Vec<Timing>>, ctx: &mut ViewCtx<'_>) {
        let field = egui::TextEdit::singleline(&mut self.filter).hint_text("Filter").desired_width(90.0);
        ui.add(field).accessible_name("Filter kernels by name");
        self.baseline_ui(ui, sums, ctx);
        hold_ui(ui, ctx);
        kit::overflow_ui(ui, 190.0, |ui| {
            if ui.small_button("Copy table").on_hover_text("As tab-separated text, for a spreadsheet").clicked() {
                let rows = self.rows(sums, ctx);
                ui.ctx().copy_text(as_text(&rows, ctx.share_levels));
                ctx.requests.push(crate::app::views::ViewRequest::Toast("Copied the kernel table".into()));
            }
            super::commands::menu_ui(ui, ctx);
        });
    }

    fn baseline_ui(&mut self, ui: &mut Ui, sums: &Rc<Vec<Timing>>, ctx: &mut ViewCtx<'_>) {
        if let Some(answer) = self.coming.as_ref().and_then(|c| c.try_recv().ok()) {
            self.coming = None;
            match answer {
                Ok(baseline) => ctx.profile.baseline = Some(baseline),
                Err(why) => ctx.requests.push(crate::app::views::ViewRequest::Toast(format!("No baseline: {why}"))),
            }
        }
        let name = ctx.profile.baseline.as_ref().map_or("none".to_owned(), |b| b.name.clone());
        let text = RichText::new(format!("Baseline: {name}")).small();
        let button = ui.button(text).on_hover_text("Baseline of the comparison (B: use the range shown)");
        button.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Button, true, "Baseline"));
        egui::Popup::menu(&button).show(|ui| {
            if ui.add_enabled(!sums.is_empty(), egui::Button::new("From the range shown   B")).clicked() {
                set_baseline(sums, ctx);
            }
            for folder in ctx.profile.machine.runs.iter().rev().take(12) {
                let label = folder.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
                if ui.button(format!("Run {label}")).clicked() {
                    self.coming = Baseline::fetch(folder.clone(), ui.ctx().clone());
                }
            }
            if ctx.profile.machine.runs.is_empty() {
                ui.label(RichText::new("No recorded runs").small().color(ctx.tokens.text_sub));
            }
            if ctx.profile.baseline.is_some() && ui.button("None").clicked() {
                ctx.profile.baseline = None;
            }
        });
    }
}

fn set_baseline(sums: &Rc<Vec<Timing>>, ctx: &mut ViewCtx<'_>) {
    let at = ctx.profile.in_range().next_back().map_or(0, |b| b.step);
    let name = format!("now at {}", ctx.profile.time_of(at));
    ctx.profile.baseline = Some(Baseline::of(name, sums));
}

/// Returns, for each [`When`], whether its columns have data.
fn has_data(sums: &[Timing], ctx: &ViewCtx<'_>) -> [bool; 4] {
    let is_checked = sums.iter().any(|t| t.off.is_some());
    [true, !ctx.schema.kernels.is_empty(), ctx.profile.baseline.is_some(), is_checked]
}

const HEADS: [(&str, &str); 2] =
    [("kernel", "Kernel, or the corresponding loop on the CPU"), ("share", "Fraction of all measured time")];

/// Draws a column head. A click sorts by the column; another click reverses the order.
fn head_ui(
    ui: &mut Ui,
    head: &'static str,
    (shown, hint): (&str, &str),
    sort: &mut Option<(&'static str, bool)>,
    ctx: &ViewCtx<'_>,
) {
    let now = sort.filter(|(by, _)| *by == head);
    let by_default = sort.is_none() && head == "share";
    let arrow = match now {
        Some((_, true)) => " ▲",
        Some((_, false)) => " ▼",
        None if by_default => " ▼",
        None => "",
    };
    let color = if arrow.is_empty() { ctx.tokens.text_sub } else { ctx.tokens.accent };
    let label = egui::Label::new(RichText::new(format!("{shown}{arrow}")).small().color(color)).sense(Sense::click());
    let response = ui.add(label.selectable(false)).on_hover_text(format!("{hint}\nClick to sort"));
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Button, true, format!("Sort by {shown}")));
    if response.clicked() {
        *sort = match (head, now) {
            ("share", _) => None,
            (_, Some((_, ascending))) => Some((head, !ascending)),
            ("kernel", None) => Some((head, true)),
            _ => Some((head, false)),
        };
    }
}

/// Draws the kernel's name, with its documentation as tooltip.
fn name_ui(ui: &mut Ui, row: &Row<'_>, is_total: bool, ctx: &ViewCtx<'_>) {
    let color = if is_total { ctx.tokens.text_strong } else { ctx.tokens.text };
    let text = RichText::new(kit::spaced(row.timing.name)).color(color);
    let label = ui.add(egui::Label::new(text).selectable(false).truncate());
    if let Some(docs) = (ctx.timing_docs)(row.timing.name) {
        label.on_hover_text(kit::unwrap(docs));
    }
}

const NONE: &str = "—";

fn figure_ui(
    ui: &mut Ui,
    figure: &Figure,
    (decimals, unit): (usize, TimeUnit),
    row: &Row<'_>,
    is_total: bool,
    ctx: &ViewCtx<'_>,
) {
    let mut color = ctx.tokens.text;
    let text = match (figure.value)(row) {
        Some(value) => {
            if figure.when == When::Compared && value.abs() >= 0.03 {
                color = if value > 0.0 { ctx.tokens.warn } else { ctx.tokens.ok };
            }
            figure.text(value, decimals, unit)
        }
        None if is_total => String::new(),
        None if figure.when == When::Compared => "new".to_owned(),
        None => NONE.to_owned(),
    };
    ui.add(egui::Label::new(RichText::new(text).color(color).font(kit::mono(ui))).selectable(false));
}

fn total_of(rows: &[Timing]) -> Timing {
    // Sums of items over different kernels have no meaning.
    let mut sum = Timing::of("total");
    rows.iter().for_each(|r| sum.add(r));
    (sum.items, sum.off) = (0, None);
    sum
}

/// Draws the bar of a share with a line at its reference value. The text of a share above the reference value has the warning
/// colour.
fn share_ui(ui: &mut Ui, share: f64, color: Color32, level: Option<&ShareLevel>, ctx: &ViewCtx<'_>) {
    let (rect, response) = ui.allocate_exact_size(Vec2::new(ui.available_width() - 4.0, 14.0), Sense::hover());
    let track = Rect::from_min_max(rect.min, pos2((rect.right() - 58.0).max(rect.left() + 10.0), rect.bottom()));
    ui.painter().rect_filled(track.shrink2(Vec2::new(0.0, 3.0)), 2.0, ctx.tokens.hover);
    let mut bar = track.shrink2(Vec2::new(0.0, 3.0));
    bar.set_width((track.width() * share as f32).max(1.0));
    ui.painter().rect_filled(bar, 2.0, color);
    let mut ink = ctx.tokens.text;
    if let Some(ShareLevel { name, share: limit, .. }) = level {
        let x = track.left() + track.width() * *limit as f32;
        ui.painter().vline(x, track.y_range().expand(2.0), (1.5, ctx.tokens.text_strong));
        let is_above = share > *limit;
        ink = if is_above { ctx.tokens.warn } else { ctx.tokens.ok };
        let is = if is_above { "above" } else { "within" };
        response.on_hover_text(format!("{name}: {} % of a step; it is {is} that", limit * 100.0));
    }
    let text = format!("{:.1} %", share * 100.0);
    ui.painter().text(rect.right_center(), egui::Align2::RIGHT_CENTER, text, kit::mono(ui), ink);
}

/// Formats all columns of the rows as tab-separated text.
fn as_text(rows: &[Row<'_>], levels: &[ShareLevel]) -> String {
    let figures = &super::figures::FIGURES;
    let heads: Vec<&str> =
        ["kernel", "share", "share_level"].into_iter().chain(figures.iter().map(|f| f.head)).collect();
    let mut text = heads.join("\t") + "\n";
    for row in rows {
        let level = levels.iter().find(|level| level.row == row.timing.name);
        let level = level.map_or_else(String::new, |level| level.share.to_string());
        text += &format!("{}\t{:.4}\t{level}", row.timing.name, row.share);
        for figure in figures {
            let value = (figure.value)(row).map_or_else(String::new, |v| match figure.when {
                When::Compared => percent_signed(v),
                _ => figure.plain(v),
            });
            text += &format!("\t{value}");
        }
        text.push('\n');
    }
    text
}

impl Kernels {
    pub const DECLARATION: ViewDeclaration = ViewDeclaration {
        name: "timing",
        title: "Kernels",
        icon: icons::GRID,
        help: "# Kernel times\n\nA sample of the batches is measured kernel by kernel. Figures are over \
         the range chosen in *Steps*. A click on a column head sorts. On the CPU a row \
         is the corresponding loop, its times summed over the threads; on a GPU there are also its \
         registers, shared memory and occupancy. A line in the bar of a share is a reference value that the model declares. \
         A narrow panel drops columns; *Copy table* has them all.\n\nA click \
         on a row shows the distribution of its launches, its launch configuration, and its source. **B** sets the range shown as \
         the baseline of Δ; a recorded run can also be the baseline.",
        pages: &[Page::Profile],
        fits: |schema| !schema.probes.is_empty(),
        profiles: true,
        ..ViewDeclaration::of::<Self>()
    };
}

impl View for Kernels {
    fn declaration(&self) -> &'static ViewDeclaration {
        &Self::DECLARATION
    }

    fn ui(&mut self, ui: &mut Ui, ctx: &mut ViewCtx<'_>) {
        let sums = ctx.profile.sums();
        let n = ctx.profile.measured().count();
        let per_batch = sums.iter().map(|r| r.nanos).sum::<u64>() as f64 * 1e-9 / n.max(1) as f64;
        let range = if ctx.profile.range.is_some() { "chosen range: " } else { "" };
        let caption = format!(
            "{range}mean over {}, {}  |  {} per batch  |  {}",
            crate::app::kit::text::plural(n, "measured batch", "measured batches"),
            super::steps_text(ctx.profile),
            kit::duration(per_batch),
            overhead_text(ctx.profile)
        );
        let tokens = ctx.tokens;
        let canvas = kit::panel_ui(ui, tokens, Some(&caption), |ui| self.toolbar_ui(ui, &sums, ctx));
        if sums.is_empty() {
            let how = super::waiting(ctx.profile);
            return run_ui(ui, canvas, ctx, "No kernel times yet", &how);
        }
        ui.painter().rect_filled(canvas, 0.0, tokens.canvas);
        let typing = ui.ctx().text_edit_focused();
        if !typing && ui.rect_contains_pointer(canvas) && ui.input(|i| i.key_pressed(Key::B)) {
            set_baseline(&sums, ctx);
        }
        let (table, detail) = split(canvas, ctx.profile.kernel.is_some());
        let inner = table.shrink2(Vec2::new(10.0, 4.0));
        ui.scope_builder(UiBuilder::new().max_rect(inner), |ui| {
            ui.set_clip_rect(inner.intersect(ui.clip_rect()));
            self.table_ui(ui, &sums, ctx);
        });
        if let (Some(area), Some(name)) = (detail, ctx.profile.kernel) {
            ui.painter().rect_filled(area, 0.0, tokens.panel);
            ui.painter().vline(area.left(), area.y_range(), (1.0, tokens.line));
            let timing = sums.iter().find(|t| t.name == name);
            let inner = area.shrink2(Vec2::new(10.0, 6.0));
            ui.scope_builder(UiBuilder::new().max_rect(inner), |ui| self.detail.ui(ui, name, timing, ctx));
        }
    }
}

/// Divides the canvas into table and details: side by side in wide panels, otherwise the details below.
fn split(canvas: Rect, is_open: bool) -> (Rect, Option<Rect>) {
    if !is_open {
        return (canvas, None);
    }
    if canvas.width() > 2.0 * DETAIL {
        let x = canvas.right() - DETAIL;
        let table = Rect::from_min_max(canvas.min, pos2(x, canvas.bottom()));
        return (table, Some(Rect::from_min_max(pos2(x, canvas.top()), canvas.max)));
    }
    let y = canvas.top() + canvas.height() * 0.45;
    let table = Rect::from_min_max(canvas.min, pos2(canvas.right(), y));
    (table, Some(Rect::from_min_max(pos2(canvas.left(), y), canvas.max)))
}
