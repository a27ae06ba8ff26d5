//! Layout of the lineage, computed on the pool: visible lines, lanes, highlights, or a density for many lines.

use super::{
    Relatives, Show, Window,
    forest::{ALIVE, DROPPED, Forest},
    lanes::{Lanes, NO_LANE},
};
use crate::app::views::{colors, pool};
use egui::{Color32, ColorImage};
use std::sync::Arc;

/// Maximum number of lines drawn one by one.
pub const MAX_SINGLE: usize = 12_000;

/// The window's filter.
#[derive(Clone, Default)]
pub struct SlotFilter {
    /// Incremented with every change.
    pub generation: u64,
    /// Per slot; none: no filter.
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
    /// Which lines are drawn.
    pub show: Show,
    /// Filter by slot; ancestors of included lines stay.
    pub filter: SlotFilter,
    /// Highlighted relatives of the marked lines.
    pub relatives: Relatives,
    /// The marked lines.
    pub marked: Vec<u32>,
    /// Size of the density.
    pub cells: [usize; 2],
    /// Visible part of the density; none: all.
    pub window: Option<Window>,
    /// The newest step.
    pub now: u64,
    /// Theme of the density.
    pub dark: bool,
}

/// A layout.
#[derive(Default)]
pub struct Layout {
    /// The lanes.
    pub lanes: Lanes,
    /// Number of visible lines.
    pub n_drawn: usize,
    /// Per line: whether it is highlighted. Empty when no line is marked.
    pub highlighted: Vec<bool>,
    /// Per line: its founder.
    pub founders: Vec<u32>,
    /// Instead of single lines when there are many.
    pub density: Option<(Window, ColorImage)>,
    /// Incremented with every layout.
    pub generation: u64,
}

/// Removes what is given for each line that was dropped. There may be fewer values than lines.
pub fn retain_lines<T>(values: &mut Vec<T>, new_index: &[u32]) {
    let mut index = new_index.iter();
    values.retain(|_| index.next().is_some_and(|new| *new != DROPPED));
}

impl Layout {
    /// Lines without their founder become founders.
    fn rearrange(&mut self, new_index: &[u32]) {
        retain_lines(&mut self.lanes.of, new_index);
        retain_lines(&mut self.highlighted, new_index);
        retain_lines(&mut self.founders, new_index);
        for (line, founder) in self.founders.iter_mut().enumerate() {
            let new = new_index[*founder as usize];
            *founder = if new == DROPPED { line as u32 } else { new };
        }
        self.n_drawn = self.lanes.n_drawn();
    }

    fn make(forest: &Forest, request: &LayoutRequest) -> Self {
        let mut marked = vec![false; forest.lines.len()];
        for line in &request.marked {
            if let Some(mark) = marked.get_mut(*line as usize) {
                *mark = true;
            }
        }
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
            Show::Relatives if request.marked.is_empty() => vec![true; forest.lines.len()],
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
        let highlighted = if request.marked.is_empty() { vec![] } else { highlighted };
        Self { lanes, n_drawn, highlighted, founders: forest.founders(), density, generation: 0 }
    }
}

/// Number of lines through each cell, as colours on a logarithmic scale.
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

/// Computes layouts on the pool, one at a time, newest request first.
#[derive(Default)]
pub struct LayoutWorker {
    /// The last finished layout.
    pub layout: Layout,
    shown: Option<LayoutRequest>,
    /// New indices of lines since the layout in progress was begun.
    moved: Vec<Vec<u32>>,
    pool_job: pool::PoolJob<LayoutRequest, Layout>,
}

impl LayoutWorker {
    /// Takes a finished layout, and starts the next if the request changed. `is_due` limits the rate: it says whether a
    /// change of the forest alone is a reason.
    pub fn update(&mut self, ctx: &egui::Context, forest: &Forest, request: LayoutRequest, is_due: bool) {
        if let Some((request, mut layout)) = self.pool_job.poll() {
            self.moved.drain(..).for_each(|new_index| layout.rearrange(&new_index));
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
        self.moved.clear();
        let (forest, of) = (forest.snapshot(), request.clone());
        self.pool_job.start(ctx, request, move || Layout::make(&forest, &of));
    }

    /// Follows lines that have other indices ([`Forest::drop_lines`]). The layout in progress follows when it is finished.
    pub fn rearrange(&mut self, new_index: Vec<u32>) {
        self.layout.rearrange(&new_index);
        if self.pool_job.is_busy() {
            self.moved.push(new_index);
        }
    }

    /// Whether a layout is being computed.
    pub fn is_busy(&self) -> bool {
        self.pool_job.is_busy()
    }

    /// Whether there is a layout.
    pub fn has_layout(&self) -> bool {
        self.shown.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::{super::forest::tests::small, *};

    /// Lines may be dropped more often than a layout is finished.
    #[test]
    fn a_layout_in_progress_follows_dropped_lines() {
        let (ctx, mut forest, mut worker) = (egui::Context::default(), small(), LayoutWorker::default());
        let request = LayoutRequest {
            generation: 1,
            show: Show::All,
            filter: SlotFilter::default(),
            relatives: Relatives { ancestors: true, descendants: true },
            marked: vec![],
            cells: [8, 8],
            window: None,
            now: 40,
            dark: true,
        };
        worker.update(&ctx, &forest, request.clone(), true);
        worker.rearrange(forest.drop_lines(100));
        let since = std::time::Instant::now();
        while worker.is_busy() && since.elapsed().as_secs() < 20 {
            std::thread::sleep(std::time::Duration::from_millis(1));
            worker.update(&ctx, &forest, LayoutRequest { generation: 2, ..request.clone() }, false);
        }
        assert!(worker.has_layout());
        assert_eq!((worker.layout.lanes.of.len(), worker.layout.n_drawn), (4, 4), "of the lines that are left");
    }

    #[test]
    fn a_layout_follows_dropped_lines() {
        let mut forest = small(); // lines 0, 1, 4, 2, 3; 4 is extinct, 0 and 3 live
        let lanes = Lanes { of: vec![0, 1, 2, 3, 4], n: 5 };
        let mut layout = Layout { lanes, founders: forest.founders(), highlighted: vec![], ..Layout::default() };
        assert_eq!(layout.founders, [0, 1, 2, 0, 1]);
        layout.rearrange(&forest.drop_lines(100));
        assert_eq!((&layout.lanes.of[..], &layout.founders[..]), (&[0, 1, 3, 4][..], &[0, 1, 0, 1][..]));
        layout.rearrange(&forest.drop_lines(3));
        let ids: Vec<u64> = forest.lines.iter().map(|line| line.id).collect();
        assert_eq!((ids, &layout.lanes.of[..]), (vec![0, 2, 3], &[0, 3, 4][..]));
        assert_eq!(layout.founders, [0, 0, 2], "a line without its founder is one");
        assert_eq!(layout.n_drawn, 3);
    }
}
