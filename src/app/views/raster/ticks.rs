//! Single spikes, drawn as ticks if there are few.

use super::{
    Raster,
    rows::Rows,
    window::{Cells, Window},
};
use crate::{
    app::{document::time::spikes::History, views::ViewCtx},
    sim::Spike,
};
use egui::{Mesh, Painter, Rect, Vec2, pos2};

/// Maximum number of visible spikes drawn as ticks.
const MAX_TICKS: usize = 50_000;
/// Maximum number of spikes in the visible times for which the spikes of visible rows are searched.
const MAX_SCANNED: usize = 150_000;

/// A spike, its row and the index of its group.
#[derive(Clone, Copy)]
struct Tick {
    spike: Spike,
    row: u32,
    group: u32,
}

/// The visible spikes.
#[derive(Default)]
pub struct Ticks {
    ticks: Vec<Tick>,
    key: Option<(Cells, u64, u64)>,
}

impl Ticks {
    /// Whether ticks are shown.
    pub fn are_shown(&self) -> bool {
        self.key.is_some()
    }

    /// Number of ticks.
    pub fn len(&self) -> usize {
        self.ticks.len()
    }

    /// Collects the visible spikes, or none if there are too many. `counted` is their number in an up-to-date density image of
    /// the same cells.
    pub fn update(
        &mut self,
        history: &History,
        window: &Window,
        (rows, generation): (&Rows, u64),
        cells: Cells,
        counted: Option<u64>,
    ) {
        let key = (cells, history.sequence(), generation);
        if self.key == Some(key) {
            return;
        }
        self.key = None;
        self.ticks.clear();
        let (from, to) = (window.t0.max(0.0) as u32, window.t1.ceil().max(0.0) as u32);
        if counted.is_some_and(|n| n > MAX_TICKS as u64) || history.count(from, to) > MAX_SCANNED {
            return;
        }
        let (r0, r1) = (window.r0.floor().max(0.0) as u32, window.r1.ceil() as u32);
        for spike in history.slices(from, to).flatten() {
            if let Some(row) = rows.row_of.get(spike.lane as usize).copied().filter(|r| (r0..r1).contains(r)) {
                let group = rows.groups.partition_point(|g| g.end <= row) as u32;
                self.ticks.push(Tick { spike: *spike, row, group });
                if self.ticks.len() > MAX_TICKS {
                    return self.ticks.clear();
                }
            }
        }
        self.key = Some(key);
    }
}

impl Raster {
    pub(super) fn paint_ticks(&self, painter: &Painter, plot: Rect, ctx: &ViewCtx<'_>) {
        let Some(set) = &self.set else { return };
        let colors = self.rows.colors(set, ctx.tokens);
        let dimmed: Vec<_> = colors.iter().map(|c| c.gamma_multiply(0.35)).collect();
        let selected = ctx.selection.of(set.name);
        let row_height = plot.height() / self.window.rows() as f32;
        let height = (row_height * 0.8).clamp(3.0, 14.0);
        let width = (plot.width() / self.window.span() as f32 * 0.7).clamp(1.25, 2.5);
        let mut mesh = Mesh::default();
        mesh.reserve_triangles(self.ticks.ticks.len() * 2);
        mesh.reserve_vertices(self.ticks.ticks.len() * 4);
        let is_band: Vec<bool> = self.rows.groups.iter().map(|g| g.is_collapsed).collect();
        for Tick { spike, row, group } in &self.ticks.ticks {
            let group = *group as usize;
            if is_band.get(group) == Some(&true) {
                continue;
            }
            let of = |colors: &[egui::Color32]| colors.get(group).copied().unwrap_or(ctx.tokens.text);
            let color = match (selected.is_empty(), selected.binary_search(&spike.lane).is_ok()) {
                (true, _) => of(&colors),
                (false, true) => ctx.tokens.accent,
                (false, false) => of(&dimmed),
            };
            let at = pos2(self.x_of(plot, f64::from(spike.step) + 0.5), self.y_of(plot, f64::from(*row) + 0.5));
            mesh.add_colored_rect(Rect::from_center_size(at, Vec2::new(width, height)), color);
        }
        painter.with_clip_rect(plot.intersect(painter.clip_rect())).add(mesh);
    }
}
