//! Mean rate of the visible rows, drawn in a strip below the raster.

use super::{Raster, draw::nice_above, window::Cells};
use crate::app::{
    kit::{self, theme::Tokens},
    views::rate,
};
use egui::{Align2, Mesh, Painter, Pos2, Rect, pos2};
use std::ops::RangeInclusive;

/// Minimum width of a rate bin, points.
const BIN: f64 = 3.0;

impl Raster {
    /// Returns the number of columns per rate bin.
    fn bin_columns(&self, plot: Rect) -> i64 {
        let Some(grid) = self.density.grid() else { return 1 };
        let columns_per_pt = self.window.span() / f64::from(grid.cells.steps) / f64::from(plot.width().max(1.0));
        (BIN * columns_per_pt).ceil().max(1.0) as i64
    }

    /// Returns bin centres (relative steps) and rates, from counts per column and a number of elements. Bins that are incomplete
    /// or out of view are left out.
    pub(super) fn bins(&self, plot: Rect, count: impl Fn(i64) -> u64, n_elements: u32) -> Vec<(f64, f64)> {
        let Some(grid) = self.density.grid() else { return vec![] };
        let (cells, per_bin) = (grid.cells, self.bin_columns(plot));
        let (steps, base) = (f64::from(cells.steps) * per_bin as f64, self.clock.base);
        let (first, last) = (cells.first.div_euclid(per_bin), (cells.first + cells.columns as i64).div_euclid(per_bin));
        let bin = |bin: i64| {
            let from = bin * per_bin;
            let n: u64 = (from..from + per_bin).map(&count).sum();
            (
                (from as f64 + per_bin as f64 * 0.5) * f64::from(cells.steps),
                rate::rate(n as f64, n_elements, steps, base),
            )
        };
        let in_view = |(step, _): &(f64, f64)| *step >= self.window.t0 && *step <= self.window.t1;
        complete(first..=last, per_bin, &cells, self.counted_to).map(bin).filter(in_view).collect()
    }

    /// Draws the mean rate of the elements in view, in bins of at least three points and one step. Times without data (`gaps`,
    /// absolute steps) have no rate.
    pub(super) fn paint_rate(
        &self,
        painter: &Painter,
        strip: Rect,
        gaps: &[(f64, f64)],
        font: &egui::FontId,
        tokens: &Tokens,
    ) {
        let Some(grid) = self.density.grid() else { return };
        let bins = self.bins(strip, |column| u64::from(grid.total(column)), self.elements_in_view());
        let unit = rate::short_unit(self.clock.base);
        let name = if unit.is_empty() { "0" } else { "rate  0" };
        let highest = bins.iter().map(|(_, v)| *v).fold(0.0, f64::max);
        let top = if highest > 0.0 { nice_above(highest) } else { 1.0 };
        let steps = f64::from(grid.cells.steps) * self.bin_columns(strip) as f64;
        let caption = format!("{} · bin {}", self.rate_unit(), kit::steps(steps, self.clock.base));
        let caption = painter.layout_no_wrap(caption, font.clone(), tokens.text_sub);
        // The curve is below its caption.
        let height = curve_height(strip.height(), caption.size().y);
        let y = |v: f64| strip.bottom() - (v / top) as f32 * height;
        let color = tokens.text_sub.lerp_to_gamma(tokens.text, 0.6);
        let half = f64::from(grid.cells.steps) * self.bin_columns(strip) as f64 * 0.5;
        let origin = self.origin as f64;
        let is_missing = |step: f64| {
            let (from, to) = (step + origin - half, step + origin + half);
            gaps.iter().any(|(a, b)| from < *b && to > *a)
        };
        let inside = painter.with_clip_rect(strip.intersect(painter.clip_rect()));
        for part in bins.split(|(step, _)| is_missing(*step)).filter(|part| !part.is_empty()) {
            let mut area = Mesh::default();
            let points: Vec<Pos2> = part.iter().map(|(s, v)| pos2(self.x_of(strip, *s), y(*v))).collect();
            for (i, p) in points.iter().enumerate() {
                area.colored_vertex(*p, color.gamma_multiply(0.22));
                area.colored_vertex(pos2(p.x, strip.bottom()), color.gamma_multiply(0.05));
                if i > 0 {
                    let k = (i as u32) * 2;
                    area.add_triangle(k - 2, k - 1, k);
                    area.add_triangle(k - 1, k, k + 1);
                }
            }
            inside.add(area);
            inside.line(points, egui::Stroke::new(1.25, color));
        }
        painter.vline(strip.left(), strip.y_range(), (1.0, tokens.line));
        // Labels are in the gutter if there is one, otherwise inside the strip.
        let has_gutter = strip.left() - painter.clip_rect().left() > 60.0;
        let (x, align) = if has_gutter {
            (strip.left() - 6.0, Align2::RIGHT_CENTER)
        } else {
            (strip.left() + 5.0, Align2::LEFT_CENTER)
        };
        if highest > 0.0 {
            painter.hline(strip.left()..=strip.left() + 3.0, y(top), (1.0, tokens.text_sub));
            painter.text(pos2(x, y(top) + 3.0), align, kit::with_unit(top, unit), font.clone(), tokens.text_sub);
        }
        painter.galley(strip.right_top() - egui::vec2(caption.size().x + 3.0, 0.0), caption, tokens.text_sub);
        painter.text(pos2(x, strip.bottom() - 4.0), align, name, font.clone(), tokens.text_sub);
    }

    /// Returns the unit of the strip with the number of elements: `Hz per neuron, n = 408`.
    fn rate_unit(&self) -> String {
        let (n, base) = (self.elements_in_view(), self.clock.base);
        self.set.as_ref().map_or_else(String::new, |set| rate::unit_of(set, n, base))
    }

    /// Returns the number of elements in view: all that the filter shows, including silent ones. If rows are zoomed, counts the
    /// elements of visible rows and of visible collapsed groups.
    fn elements_in_view(&self) -> u32 {
        if !self.is_zoomed() {
            return self.rows.n_filtered;
        }
        let (from, to) = (self.window.r0.max(0.0) as u32, (self.window.r1.ceil() as u32).min(self.rows.len()));
        let band = |g: &super::rows::Group| -> i64 {
            let inside = i64::from(g.end.min(to)) - i64::from(g.first.max(from));
            if inside > 0 { i64::from(g.n_filtered) - inside } else { 0 }
        };
        (i64::from(to.saturating_sub(from)) + self.rows.collapsed().map(band).sum::<i64>()).max(1) as u32
    }
}

/// Returns the height of the highest rate above the bottom of a strip with a caption at its top.
fn curve_height(strip: f32, caption: f32) -> f32 {
    (strip - caption - 1.0).max(strip * 0.5)
}

/// Returns the bins whose columns are all in the image and completely counted. The rate of other bins would be too low.
fn complete(bins: RangeInclusive<i64>, per_bin: i64, cells: &Cells, counted_to: f64) -> impl Iterator<Item = i64> {
    let columns = cells.first..=cells.first + cells.columns as i64;
    let steps = f64::from(cells.steps);
    let is_whole = move |bin: &i64| columns.contains(&(bin * per_bin)) && columns.contains(&((bin + 1) * per_bin));
    bins.filter(move |bin| is_whole(bin) && ((bin + 1) * per_bin) as f64 * steps <= counted_to)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_curve_stays_below_its_caption() {
        for caption in [9.0, 12.0, 14.0] {
            let top = super::super::draw::STRIP - curve_height(super::super::draw::STRIP, caption);
            assert!(top >= caption, "{top} below a caption of {caption}");
        }
    }

    #[test]
    fn incomplete_bins_are_not_drawn() {
        let cells = Cells { steps: 10, first: 4, columns: 12, rows: 1, row0: 0, height: 1 };
        let of = |counted_to| complete(1..=5, 3, &cells, counted_to).collect::<Vec<_>>();
        assert_eq!(of(1000.0), [2, 3, 4], "columns 4 to 15: bins 1 and 5 reach beyond the image");
        assert_eq!(of(149.0), [2, 3], "the bin at the live edge is not complete");
        assert_eq!(of(150.0), [2, 3, 4]);
    }
}
