//! Layout of the lineage, computed on the pool: visible lines, their lanes and highlights, and a density image if there are many
//! lines.

use super::{
    Relatives, Show, Window,
    forest::{ALIVE, Forest, HashIds},
    history::ForestVersion,
    lanes::{Lanes, NO_LANE},
};
use crate::app::kit::{colors, pool};
use egui::{Color32, ColorImage};
use std::{collections::HashSet, sync::Arc};

/// Maximum number of lines that are drawn individually.
pub const MAX_SINGLE: usize = 12_000;

/// The window's filter, by slot of the population.
#[derive(Clone, Default)]
pub struct SlotFilter {
    /// Counter that every change of the filter increments.
    pub generation: u64,
    /// Whether each slot is shown; `None`: no filter.
    pub mask: Option<Arc<Vec<bool>>>,
}

impl PartialEq for SlotFilter {
    fn eq(&self, other: &Self) -> bool {
        self.generation == other.generation
    }
}

/// Inputs of a layout.
#[derive(Clone, PartialEq)]
pub struct LayoutRequest {
    /// Version of the forest.
    pub generation: u64,
    /// Lines that are drawn.
    pub show: Show,
    /// Filter by slot; ancestors of included lines are kept.
    pub filter: SlotFilter,
    /// Highlighted relatives of the marked lines.
    pub relatives: Relatives,
    /// Selected slots, whose lines are marked.
    pub selected: Vec<u32>,
    /// Id of the line last clicked, which is also marked.
    pub focus: Option<u64>,
    /// Size of the density image, pixels.
    pub cells: [usize; 2],
    /// Visible part of the density image; `None`: all lines and steps.
    pub window: Option<Window>,
    /// The newest step.
    pub now: u64,
    /// Whether the theme of the density image is dark.
    pub dark: bool,
}

#[derive(Default)]
pub struct Layout {
    /// The version of the lines that the layout was computed from.
    pub version: Arc<ForestVersion>,
    pub lanes: Lanes,
    /// Number of visible lines.
    pub n_drawn: usize,
    /// Whether each line is highlighted; empty if no line is marked.
    pub highlighted: Vec<bool>,
    /// Founder of each line.
    pub founders: Vec<u32>,
    /// Density image that replaces individual lines if there are more than [`MAX_SINGLE`], and its window.
    pub density: Option<(Window, ColorImage)>,
    /// Counter that every layout increments.
    pub generation: u64,
}

impl Layout {
    fn make(version: Arc<ForestVersion>, request: &LayoutRequest) -> Self {
        let forest = &version.forest;
        let marked = marked(forest, request);
        let is_marked = marked.contains(&true);
        let mut highlighted = marked.clone();
        if request.relatives.ancestors {
            forest.add_ancestors(&mut highlighted);
        }
        if request.relatives.descendants {
            let mut down = marked;
            forest.add_descendants(&mut down);
            highlighted.iter_mut().zip(down).for_each(|(s, d)| *s |= d);
        }
        let mut keep = match request.show {
            Show::All => vec![true; forest.lines.len()],
            Show::Survivors => forest.survivors(),
            Show::Relatives if !is_marked => vec![true; forest.lines.len()],
            Show::Relatives => highlighted.clone(),
        };
        if let Some(mask) = &request.filter.mask {
            let shown = forest.shown(mask);
            keep.iter_mut().zip(shown).for_each(|(k, shown)| *k &= shown);
        }
        let lanes = Lanes::of(forest, &keep);
        let n_drawn = lanes.n_drawn();
        let all = || Window::all(forest, lanes.n, request.now);
        let density = (n_drawn > MAX_SINGLE).then(|| {
            let window = request.window.unwrap_or_else(all);
            (window, density(forest, &lanes, window, request))
        });
        let highlighted = if is_marked { highlighted } else { vec![] };
        let founders = forest.founders();
        Self { version, lanes, n_drawn, highlighted, founders, density, generation: 0 }
    }
}

/// Returns, for each line, whether its individual occupies a selected slot, or the line was clicked last.
fn marked(forest: &Forest, request: &LayoutRequest) -> Vec<bool> {
    let selected: HashSet<u32, HashIds> = request.selected.iter().copied().collect();
    let lives_there = |slot: u32| selected.contains(&slot);
    let marked = forest
        .lines
        .iter()
        .map(|line| request.focus == Some(line.id) || (line.died == ALIVE && line.slot.is_some_and(lives_there)));
    marked.collect()
}

/// Counts the lines through each cell. Colours are on a logarithmic scale.
fn density(forest: &Forest, lanes: &Lanes, window: Window, request: &LayoutRequest) -> ColorImage {
    let [width, height] = request.cells;
    let mut counts = vec![0i32; (width + 1) * height];
    let column = |step: u64| {
        let t = (step as f64 - window.t0) / (window.t1 - window.t0).max(1e-9);
        (t * width as f64).clamp(0.0, width as f64) as usize
    };
    for (line, lane) in forest.lines.iter().zip(&lanes.of).filter(|(_, lane)| **lane != NO_LANE) {
        let row = (f64::from(*lane) + 0.5 - window.l0) / (window.l1 - window.l0).max(1e-9) * height as f64;
        if !(0.0..height as f64).contains(&row) {
            continue;
        }
        let first = row as usize * (width + 1);
        let end = if line.died == ALIVE { request.now } else { line.died };
        let (from, to) = (column(line.born), column(end).max(column(line.born) + 1).min(width));
        counts[first + from.min(width - 1)] += 1;
        counts[first + to] -= 1;
    }
    for row in counts.chunks_exact_mut(width + 1) {
        (1..=width).for_each(|i| row[i] += row[i - 1]);
    }
    let most = counts.iter().copied().max().unwrap_or(0).max(1) as f32;
    let table: Vec<Color32> = (0..256).map(|i| colors::density(i as f32 / 255.0, request.dark)).collect();
    let color = |n: &i32| match n {
        ..=0 => Color32::TRANSPARENT,
        n => table[((*n as f32).ln_1p() / most.ln_1p() * 255.0) as usize],
    };
    let pixels = counts.chunks_exact(width + 1).flat_map(|row| row[..width].iter().map(color)).collect();
    ColorImage::new([width, height], pixels)
}

/// Computes layouts on the pool, one at a time. A newer request replaces a waiting one.
#[derive(Default)]
pub struct LayoutWorker {
    /// The last finished layout.
    pub layout: Layout,
    shown: Option<LayoutRequest>,
    pool_job: pool::PoolJob<LayoutRequest, Layout>,
}

impl LayoutWorker {
    /// Takes a finished layout, and starts the next one if the request has changed. A change of the forest alone starts one only
    /// if `is_due`, which limits the rate.
    pub fn update(&mut self, ctx: &egui::Context, version: &Arc<ForestVersion>, request: LayoutRequest, is_due: bool) {
        if let Some((request, mut layout)) = self.pool_job.poll() {
            layout.generation = self.layout.generation + 1;
            self.shown = Some(request);
            pool::discard(std::mem::replace(&mut self.layout, layout));
        }
        let is_current = |shown: &LayoutRequest| {
            let (generation, now) = (shown.generation, shown.now);
            *shown == request || (!is_due && *shown == LayoutRequest { generation, now, ..request.clone() })
        };
        if !self.pool_job.is_free(&request) || self.shown.as_ref().is_some_and(is_current) {
            return;
        }
        let (version, of) = (version.clone(), request.clone());
        self.pool_job.start(ctx, request, move || Layout::make(version, &of));
    }

    /// Whether a layout is being computed.
    pub fn is_busy(&self) -> bool {
        self.pool_job.is_busy()
    }

    /// Whether a layout was finished.
    pub fn has_layout(&self) -> bool {
        self.shown.is_some()
    }
}
