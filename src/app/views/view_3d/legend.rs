//! Legend of categories with counts. A click hides or shows a category; Alt+click shows only this one.

use super::{Coloring, View3d, by_selection::BY_SELECTION};
use crate::{
    app::{
        kit::{
            self,
            legend::{self, LegendEntry},
        },
        views::ViewCtx,
    },
    sim::{Column, ElementSet, ProbeId},
};
use egui::{Align2, Color32, Painter, Pos2, Rect, ScrollArea, Ui, UiBuilder, Vec2, pos2, vec2};
use std::sync::Arc;

/// Maximum width: points, and fraction of the canvas.
const WIDTH: (f32, f32) = (176.0, 0.34);
/// Width of a row in addition to its texts, points: dot and margins.
const ROW_EXTRA: f32 = 36.0;
const ROW: f32 = 17.0;
/// Width of the title or of a line of the note in addition to its text, points.
const MARGINS: f32 = 16.0;
/// Heights of the title and of the note on brightness, points.
const TITLE: f32 = 22.0;
const NOTE: f32 = 36.0;

/// Number of elements per category, counted when set or categories change.
#[derive(Default)]
pub(super) struct CategoryCounts {
    /// Name of the column, and generations of the set and of the selections; `None` before the first count.
    of: Option<(String, u64, u64)>,
    counts: Arc<Vec<u32>>,
}

impl View3d {
    fn count_categories(&mut self, set: &ElementSet) -> Option<Arc<Vec<u32>>> {
        let column = self.category(set)?;
        let of = (self.column.clone(), self.set_generation, self.by_selection.generation);
        if self.category_counts.of.as_ref() != Some(&of) || self.category_counts.counts.len() != column.labels.len() {
            let counts = Arc::new(column.counts());
            self.category_counts = CategoryCounts { of: Some(of), counts };
        }
        Some(self.category_counts.counts.clone())
    }

    /// Draws the legend at the left of the canvas. Returns the rest of the canvas.
    pub(super) fn legend_ui(&mut self, ui: &mut Ui, canvas: Rect, set: &ElementSet, ctx: &ViewCtx<'_>) -> Rect {
        let Some(counts) = self.count_categories(set) else { return canvas };
        let Some(column) = self.category(set) else { return canvas };
        let rows: Vec<usize> = (0..counts.len()).filter(|c| counts[*c] > 0).collect();
        let coloring = self.coloring(ctx.schema);
        let label = |code: usize| match column.labels[code].as_str() {
            "" if self.column == BY_SELECTION => "none",
            "" => "unlabelled",
            label => label,
        };
        let count = |code: usize| kit::thousands(u64::from(counts[code]));
        if kit::is_staged(ui.ctx()) {
            let shown = rows.iter().copied().filter(|code| !self.is_hidden(*code as u16));
            let entries = shown.map(|code| (code, label(code).to_owned(), count(code))).collect::<Vec<_>>();
            return self.figure_legend(ui, canvas, (column, entries), coloring, ctx);
        }
        let size = |text: String, font| ui.painter().layout_no_wrap(text, font, Color32::WHITE).size().x;
        let row_width = |code: &usize| {
            size(label(*code).to_owned(), kit::small(ui)) + size(count(*code), kit::mono(ui)) + ROW_EXTRA
        };
        let notes = if let Coloring::Glow(probe) = coloring { self.note(probe, ctx).to_vec() } else { vec![] };
        let note_widths = notes.into_iter().map(|text| size(text, kit::small(ui)) + MARGINS);
        let widest = rows.iter().map(row_width).chain(note_widths).fold(96.0, f32::max);
        let width = widest.min(WIDTH.0).min(canvas.width() * WIDTH.1);
        let (area, rest) = canvas.split_left_right_at_x(canvas.left() + width);
        let painter = ui.painter_at(area);
        let title = kit::column(&self.column);
        let title = kit::elide(&painter, &title, &kit::small(ui), width - MARGINS);
        painter.text(area.min + vec2(7.0, 13.0), Align2::LEFT_CENTER, title, kit::small(ui), ctx.tokens.text_strong);
        let note = if matches!(coloring, Coloring::Glow(_)) { NOTE } else { 0.0 };
        let n_fitting = ((area.height() - TITLE - note - 4.0) / ROW).max(1.0) as usize;
        // The last row shows the number of categories without room.
        let n_shown = if rows.len() > n_fitting { (n_fitting - 1).max(1) } else { rows.len() };
        let colors = match coloring {
            // The colours show the field, so the legend only hides or shows categories.
            Coloring::Field(_) | Coloring::Effect => vec![ctx.tokens.text_sub; counts.len()],
            _ => self.category_colors(column, ctx.tokens),
        };
        let list = Rect::from_min_size(area.min + vec2(2.0, TITLE), vec2(width - 4.0, n_shown as f32 * ROW));
        let mut clicked = None;
        let scrolled = ui.scope_builder(UiBuilder::new().max_rect(list), |ui| {
            ui.spacing_mut().item_spacing = Vec2::ZERO;
            // Clips to whole rows.
            ui.set_clip_rect(list.intersect(ui.clip_rect()));
            let list = ScrollArea::vertical().id_salt("legend").show_rows(ui, ROW, rows.len(), |ui, shown| {
                for code in rows[shown].iter().copied() {
                    let is_shown = !self.is_hidden(code as u16);
                    let (label, count) = (label(code), count(code));
                    let row = kit::legend_row_ui(ui, ctx.tokens, colors[code], label, &count, is_shown, width - 6.0);
                    let hint = format!("{label}: {count}\nClick: hide or show · Alt+click: only this one");
                    if row.on_hover_text(hint).clicked() {
                        clicked = Some(code as u16);
                    }
                }
            });
            list.state.clamped_offset().y
        });
        let n_above = (scrolled.inner / ROW).round() as usize;
        let mut bottom = list.bottom();
        if n_shown < rows.len() {
            let at = Rect::from_min_size(list.left_bottom() + vec2(18.0, 0.0), vec2(width - 22.0, ROW));
            let text = match rows.len().saturating_sub(n_above + n_shown) {
                0 => "end of list".to_owned(),
                following => format!("+{following} more"),
            };
            let entry = |code: &usize| LegendEntry {
                value: count(*code),
                is_shown: !self.is_hidden(*code as u16),
                ..LegendEntry::new(label(*code), colors[*code])
            };
            let entries: Vec<LegendEntry> = rows.iter().map(entry).collect();
            clicked = clicked.or(legend::more_ui(ui, at, ctx.tokens, &text, &entries).map(|i| rows[i] as u16));
            bottom += ROW;
        }
        if let Coloring::Glow(probe) = coloring {
            self.paint_note(&painter, pos2(area.left() + 7.0, bottom + 6.0), width - MARGINS, probe, ui, ctx);
        }
        if let Some(code) = clicked {
            let alone = ui.input(|i| i.modifiers.alt);
            self.toggle_class(code, &rows, alone);
        }
        rest
    }

    /// Draws the legend of a figure above the image: the visible categories with their counts, and the meaning of a glow. Colours of
    /// values have a bar instead. Returns the rest of the canvas.
    fn figure_legend(
        &self,
        ui: &Ui,
        canvas: Rect,
        (column, shown): (&Column, Vec<(usize, String, String)>),
        coloring: Coloring,
        ctx: &ViewCtx<'_>,
    ) -> Rect {
        if matches!(coloring, Coloring::Field(_) | Coloring::Effect) {
            return canvas;
        }
        let colors = self.category_colors(column, ctx.tokens);
        let entry = |(code, name, count): (usize, String, String)| LegendEntry {
            value: format!("({count})"),
            ..LegendEntry::new(name, colors[code])
        };
        let entries: Vec<LegendEntry> = shown.into_iter().map(entry).collect();
        let (painter, area) = (ui.painter_at(canvas), canvas.shrink2(vec2(8.0, 4.0)));
        let mut rest = legend::figure_legend(&painter, area, &kit::small(ui), ctx.tokens, &entries);
        if let Coloring::Glow(probe) = coloring {
            let text = self.note(probe, ctx).join(" · ");
            painter.text(rest.left_top(), Align2::LEFT_TOP, text, kit::small(ui), ctx.tokens.text_sub);
            rest.min.y += NOTE / 2.0;
        }
        canvas.with_min_y(rest.top())
    }

    /// Returns the note that explains the brightness of a glow: its field, and its decay.
    fn note(&self, id: ProbeId, ctx: &ViewCtx<'_>) -> [String; 2] {
        let probe = &ctx.schema.probes[usize::from(id)];
        let tau = kit::with_unit(f64::from(self.tau_ms), probe.unit);
        let meaning = match ctx.schema.unrecorded.contains(&id) {
            true => "not recorded".to_owned(),
            false => format!("decay τ {tau}"),
        };
        [format!("Glow: {}", probe.label()), meaning]
    }

    /// Draws the note that explains the brightness of a glow.
    fn paint_note(&self, painter: &Painter, at: Pos2, width: f32, id: ProbeId, ui: &Ui, ctx: &ViewCtx<'_>) {
        for (i, text) in self.note(id, ctx).iter().enumerate() {
            let text = kit::elide(painter, text, &kit::small(ui), width);
            painter.text(at + vec2(0.0, i as f32 * 14.0), Align2::LEFT_TOP, text, kit::small(ui), ctx.tokens.text_sub);
        }
    }

    fn toggle_class(&mut self, code: u16, all: &[usize], alone: bool) {
        let hidden = self.hidden.entry(self.column.clone()).or_default();
        if alone {
            let others = all.iter().map(|c| *c as u16).filter(|c| *c != code).collect();
            // A second Alt+click on the only visible category shows all categories.
            *hidden = if *hidden == others { Default::default() } else { others };
        } else if !hidden.remove(&code) {
            hidden.insert(code);
        }
        self.hidden_generation += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{engine::SimSchema, sim::Column};

    fn schema(classes: &[&str]) -> SimSchema {
        let columns = vec![Column::from_texts("super_class", classes)];
        let positions = vec![[0.0; 3]; classes.len()];
        let set =
            ElementSet { name: "neurons", len: classes.len() as u32, columns, positions, ..ElementSet::default() };
        SimSchema { sets: vec![Arc::new(set)], ..SimSchema::default() }
    }

    #[test]
    fn elements_are_counted_once_per_set() {
        let (mut view, first, second) = (View3d::default(), schema(&["a", "a", "b"]), schema(&["a", "b", "b", "b"]));
        view.choose_set(&first);
        let counts = view.count_categories(&first.sets[0]).unwrap();
        let again = view.count_categories(&first.sets[0]).unwrap();
        assert!(Arc::ptr_eq(&counts, &again) && **counts == [2, 1]);
        view.choose_set(&second);
        assert_eq!(**view.count_categories(&second.sets[0]).unwrap(), [3, 1]);
        view.column = "side".into();
        assert!(view.count_categories(&second.sets[0]).is_none());
    }
}
