//! Heat map of the distribution: time from left to right, values upwards, and the share of each bin as a colour.

use super::{
    draw::Chart,
    summary::{State, fill},
    thinned::Thinned,
};
use crate::app::kit::{colors, theme::Tokens};
use egui::{Color32, ColorImage, Painter, Rect, TextureHandle, TextureOptions, pos2};
use std::ops::Range;

/// Minimum width and height of a cell, points.
const CELL: [f32; 2] = [2.0, 3.0];
/// Maximum numbers of columns and rows of cells.
const MAX_CELLS: [usize; 2] = [1024, 192];

/// Shares of cells, column-major.
#[derive(Clone, Debug, Default)]
struct Cells {
    size: [usize; 2],
    shares: Vec<f32>,
}

/// Inputs of an image: generation of the states, range of times, range of values, logarithmic scale, size, dark theme.
type HeatBandsKey = (u64, [u64; 2], [u32; 2], bool, [usize; 2], bool);

/// Texture of the heat map, and the share at the top of its colour scale.
#[derive(Default)]
pub struct HeatMapImage {
    shown: Option<(HeatBandsKey, TextureHandle)>,
    most: f32,
}

impl HeatMapImage {
    /// Returns the share at the top of the colour scale.
    pub fn most(&self) -> f32 {
        self.most
    }

    /// Draws the visible states. `generation` must change with them.
    pub fn paint(
        &mut self,
        painter: &Painter,
        chart: &Chart<'_>,
        (history, seen): (&Thinned<State>, Range<usize>),
        generation: u64,
        tokens: &Tokens,
    ) {
        let side = |i: usize, points: f32| ((points / CELL[i]) as usize).clamp(8, MAX_CELLS[i]);
        let size = [side(0, chart.plot.width()), side(1, chart.plot.height())];
        let (times, values) = ([chart.line.t0, chart.line.t1], [chart.scale.low, chart.scale.high]);
        let key =
            (generation, times.map(f64::to_bits), values.map(f32::to_bits), chart.scale.is_log, size, tokens.dark);
        if self.shown.as_ref().is_none_or(|(shown, _)| *shown != key) {
            let cells = cells_of(history, seen, chart, size);
            self.most = cells.full();
            let image = cells.image(self.most, tokens.dark);
            let texture = match self.shown.take() {
                Some((_, mut texture)) => {
                    texture.set(image, TextureOptions::NEAREST);
                    texture
                }
                None => painter.ctx().load_texture("distribution heat map", image, TextureOptions::NEAREST),
            };
            self.shown = Some((key, texture));
        }
        if let Some((_, texture)) = &self.shown {
            let uv = Rect::from_min_max(pos2(0.0, 0.0), pos2(1.0, 1.0));
            painter.image(texture.id(), chart.plot, uv, Color32::WHITE);
        }
    }
}

/// Computes the cells: each column is the mean of the states in it, or the nearest state. Columns in gaps are empty.
fn cells_of(history: &Thinned<State>, seen: Range<usize>, chart: &Chart<'_>, [width, height]: [usize; 2]) -> Cells {
    let mut shares = vec![0.0_f32; width * height];
    let mut n = vec![0_u32; width];
    let mut bins = vec![0.0_f32; height];
    let column = |step: f64| (step - chart.line.t0) / (chart.line.t1 - chart.line.t0) * width as f64;
    let entries = history.entries();
    for piece in history.pieces(seen) {
        for i in piece.clone() {
            let here = entries[i].0 as f64;
            let half = |j: usize| if piece.contains(&j) { (entries[j].0 as f64 + here) / 2.0 } else { here };
            let first = column(if i > piece.start { half(i - 1) } else { here }).floor().max(0.0) as usize;
            let last = column(half(i + 1)).floor().clamp(-1.0, width as f64 - 1.0);
            if last < 0.0 || first >= width {
                continue;
            }
            bins.fill(0.0);
            fill(&mut bins, &entries[i].1.edges, |v| chart.scale.at(v));
            for column in first..=(last as usize).max(first) {
                n[column] += 1;
                let cells = &mut shares[column * height..(column + 1) * height];
                cells.iter_mut().zip(&bins).for_each(|(cell, bin)| *cell += bin);
            }
        }
    }
    for (cells, n) in shares.chunks_exact_mut(height).zip(&n) {
        cells.iter_mut().for_each(|cell| *cell /= (*n).max(1) as f32);
    }
    Cells { size: [width, height], shares }
}

impl Cells {
    /// Returns the upper quartile, over columns, of the share of the fullest bin. A maximum would let a few narrow distributions
    /// darken all other columns.
    fn full(&self) -> f32 {
        let fullest = |column: &[f32]| column.iter().copied().fold(0.0, f32::max);
        let mut all: Vec<f32> =
            self.shares.chunks_exact(self.size[1]).map(fullest).filter(|share| *share > 0.0).collect();
        all.sort_unstable_by(f32::total_cmp);
        all.get(all.len() * 3 / 4).copied().unwrap_or(1.0)
    }

    /// Creates the image, with colours on a square-root scale up to `most`.
    fn image(&self, most: f32, dark: bool) -> ColorImage {
        let [width, height] = self.size;
        let table = colors::densities(dark);
        let color = |share: f32| match share > 0.0 {
            true => table[((share / most).sqrt().min(1.0) * 255.0) as usize],
            false => Color32::TRANSPARENT,
        };
        let of = |i: usize| self.shares[(i % width) * height + (height - 1 - i / width)];
        ColorImage::new(self.size, (0..width * height).map(|i| color(of(i))).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::{
        document::time::Timeline,
        views::{bands::summary::PARTS, scatter::axis::Scale},
    };

    #[test]
    fn every_column_that_was_seen_is_a_whole_distribution() {
        let mut history = Thinned::default();
        for step in 0..=50_u64 {
            let at = step as f32 / 50.0;
            history.push(step, State { n: 64, quantiles: [at; 7], edges: [at; PARTS + 1] });
        }
        let line = Timeline::across(100.0);
        let plot = Rect::from_min_max(pos2(0.0, 0.0), pos2(100.0, 100.0));
        let chart = Chart { plot, scale: Scale { low: 0.0, high: 1.1, is_log: false }, line: &line };
        let cells = cells_of(&history, 0..51, &chart, [40, 10]);
        let sums: Vec<f32> = cells.shares.chunks_exact(10).map(|c| c.iter().sum()).collect();
        assert!(sums[..21].iter().all(|s| (s - 1.0).abs() < 1e-4) && sums[21..].iter().all(|s| *s == 0.0), "{sums:?}");
        assert!((cells.full() - 1.0).abs() < 1e-4);
        let image = cells.image(cells.full(), true);
        let is_lit = |x: usize, y: usize| image.pixels[y * 40 + x] != Color32::TRANSPARENT;
        assert!(is_lit(0, 9) && !is_lit(0, 0) && is_lit(20, 0) && !is_lit(20, 9), "values grow upwards");
    }
}
