//! Density image: a texture that is a ring buffer of columns, updated incrementally.

use super::{
    count_colors::CountColors,
    grid::{Grid, Job, Lookup, bits},
    rows::Rows,
    tiles::{Level, Pyramid},
    window::{Cells, Window},
};
use crate::app::{
    document::time::{ElementBins, spikes::History},
    kit::pool,
};
use egui::{Color32, ColorImage, Mesh, Painter, Pos2, Rect, TextureHandle, TextureOptions};
use std::sync::{Arc, mpsc};

/// Maximum numbers of spikes and of cells that are counted on the UI thread.
const MAX_INLINE: usize = 30_000;
const MAX_INLINE_CELLS: usize = 120_000;
/// Maximum number of new spikes that are added to a followed image on the UI thread.
const MAX_SCROLLED: usize = 200_000;
/// Maximum number of spikes that are counted one by one; more are counted from tiles.
const FROM_TILES: usize = 5_000_000;

/// Parameters of an image.
pub struct DensityRequest<'a> {
    /// Visible times and rows.
    pub window: Window,
    /// Size of the image, pixels.
    pub size_px: (usize, usize),
    /// The rows, and their generation.
    pub rows: (&'a Rows, u64),
    /// The selected elements, and the generation of the selection.
    pub selected: (&'a [u32], u64),
    pub colors: CountColors,
}

impl DensityRequest<'_> {
    fn cells(&self, units: (u32, u32)) -> Cells {
        Cells::in_units(&self.window, self.size_px, self.rows.0.len(), units)
    }

    fn lookup(&self, cells: &Cells) -> impl FnOnce() -> Lookup + Send + use<> {
        let (row_of, cells) = (self.rows.0.row_of.clone(), *cells);
        let selected = Arc::new(bits(self.selected.0, self.rows.0.n_elements()));
        let bands = self.bands(&cells);
        move || Lookup { row_of: Arc::new(cells.rows_of(&row_of)), selected, bands }
    }

    /// Returns the cell rows of collapsed groups.
    fn bands(&self, cells: &Cells) -> Vec<usize> {
        self.rows.0.collapsed().filter_map(|g| cells.cell_of(g.middle())).collect()
    }
}

#[derive(PartialEq, Clone, Copy)]
struct DensityKey {
    cells: Cells,
    rows: u64,
    selected: u64,
}

/// Texture of the density image, and its counts.
#[derive(Default)]
pub struct Density {
    shown: Option<(DensityKey, Arc<Grid>)>,
    texture: Option<TextureHandle>,
    job: Option<(DensityKey, mpsc::Receiver<(Grid, ColorImage)>)>,
    /// Preview from coarse tiles, if the last image does not cover the window.
    preview: Option<(DensityKey, Grid, TextureHandle)>,
    /// Row generation, cells and the cell row of each element in the last preview.
    preview_row_of: Option<(u64, Cells, Arc<Vec<u16>>)>,
}

impl Density {
    /// Updates the image, or starts a job that does. Until the job ends the last image is shown, or a preview if the last image
    /// does not cover the window.
    pub fn update(
        &mut self,
        ctx: &egui::Context,
        source: (&History, &ElementBins),
        pyramid: &Pyramid,
        request: &DensityRequest<'_>,
    ) {
        self.collect(ctx);
        let history = source.0;
        let (level, cells) = choose(history, pyramid, request);
        let key = DensityKey { cells, rows: request.rows.1, selected: request.selected.1 };
        let can_scroll = self.shown.as_ref().is_some_and(|(shown, grid)| {
            (shown.rows, shown.selected) == (key.rows, key.selected) && grid.can_scroll_to(&key.cells)
        });
        let n_new = self.shown.as_ref().map_or(0, |(_, grid)| grid.count_new(key.cells.first, history));
        match &mut self.shown {
            Some((shown, grid)) if can_scroll && n_new <= MAX_SCROLLED => {
                let grid = Arc::make_mut(grid);
                let recolour = grid.set_colors(request.colors);
                let changed = grid.scroll(key.cells.first, history);
                *shown = key;
                self.job = None;
                match changed {
                    Some(columns) if !recolour => self.paint_columns(columns),
                    _ => self.paint_all(ctx),
                }
            }
            Some((_, grid)) if can_scroll => {
                if self.job.is_none() {
                    let grid = grid.clone();
                    self.start_scroll(ctx, grid, history, request, key);
                }
            }
            _ => {
                if self.shown.as_ref().is_none_or(|(shown, _)| *shown != key) && self.job.is_none() {
                    self.start(ctx, (source, pyramid), request, level, key);
                }
                self.follow(ctx, history, &key.cells);
            }
        }
        let reaches =
            |(shown, _): &(DensityKey, Arc<Grid>)| shown.rows == request.rows.1 && shown.cells.covers(&request.window);
        if self.job.is_none() || self.shown.as_ref().is_some_and(reaches) {
            self.preview = None;
        } else {
            self.update_preview(ctx, history, pyramid, request);
        }
    }

    /// Scrolls the last image with its own rows while a job counts new rows, so that the image keeps following the newest data.
    fn follow(&mut self, ctx: &egui::Context, history: &History, cells: &Cells) {
        let Some((shown, grid)) = &mut self.shown else { return };
        let later = Cells { first: cells.first, ..grid.cells };
        let is_cut_alike = (cells.steps, cells.columns) == (later.steps, later.columns);
        let is_much = grid.count_new(later.first, history) > MAX_SCROLLED;
        if self.job.is_none() || is_much || !is_cut_alike || !grid.can_scroll_to(&later) {
            return;
        }
        let changed = Arc::make_mut(grid).scroll(later.first, history);
        shown.cells = later;
        match changed {
            Some(columns) => self.paint_columns(columns),
            None => self.paint_all(ctx),
        }
    }

    fn start(
        &mut self,
        ctx: &egui::Context,
        (source, pyramid): ((&History, &ElementBins), &Pyramid),
        request: &DensityRequest<'_>,
        level: Level,
        key: DensityKey,
    ) {
        let (cells, colors) = (key.cells, request.colors);
        let (history, job) = (source.0, Job::new(source, pyramid, level, &cells));
        let lookup = request.lookup(&cells);
        let count = move || {
            let grid = Grid::of(cells, lookup(), &job, colors);
            let image = grid.image(0..cells.columns);
            (grid, image)
        };
        let is_small = cells.columns * cells.height <= MAX_INLINE_CELLS;
        let has_bins = history.dropped() > 0 && history.first_step().is_some_and(|oldest| oldest > cells.first_step());
        if is_small && !has_bins && history.count(cells.first_step(), cells.end_step()) <= MAX_INLINE {
            let (grid, image) = count();
            self.show(ctx, key, grid, image);
            return;
        }
        let (sender, receiver) = mpsc::channel();
        pool::spawn(ctx, move || {
            sender.send(count()).ok(); // fails if the view was closed
        });
        self.job = Some((key, receiver));
    }

    /// Scrolls a copy of the image on the pool, because there are too many new spikes for the UI thread.
    fn start_scroll(
        &mut self,
        ctx: &egui::Context,
        grid: Arc<Grid>,
        history: &History,
        request: &DensityRequest<'_>,
        key: DensityKey,
    ) {
        let (history, colors) = (history.clone(), request.colors);
        let (sender, receiver) = mpsc::channel();
        pool::spawn(ctx, move || {
            let mut grid = Grid::clone(&grid);
            grid.set_colors(colors);
            grid.scroll(key.cells.first, &history);
            let image = grid.image(0..grid.cells.columns);
            sender.send((grid, image)).ok(); // fails if the view was closed
        });
        self.job = Some((key, receiver));
    }

    /// Updates the preview. It runs on the UI thread, so it only uses tiles.
    fn update_preview(
        &mut self,
        ctx: &egui::Context,
        history: &History,
        pyramid: &Pyramid,
        request: &DensityRequest<'_>,
    ) {
        let all = request.cells((1, 1));
        let Some(units) = pyramid.quanta(history, Level::Coarse, all.first_step(), all.end_step()) else {
            self.preview = None; // The preview of another window would hide the last image.
            return;
        };
        // A preview has half the screen resolution, because it is shown for only a few frames.
        let half = DensityRequest { size_px: (request.size_px.0 / 2, request.size_px.1 / 2), ..*request };
        let cells = half.cells(units);
        let key = DensityKey { cells, rows: request.rows.1, selected: 0 };
        if self.preview.as_ref().is_some_and(|(known, ..)| *known == key) {
            return;
        }
        let lookup = Lookup {
            row_of: self.preview_rows(request, &cells),
            selected: Arc::default(),
            bands: request.bands(&cells),
        };
        let grid = Grid::of(
            cells,
            lookup,
            &Job::new((history, &ElementBins::default()), pyramid, Level::Coarse, &cells),
            request.colors,
        );
        let image = grid.image(0..cells.columns);
        let texture = match self.preview.take() {
            Some((.., mut texture)) => {
                texture.set(image, TextureOptions::NEAREST);
                texture
            }
            None => ctx.load_texture("raster preview", image, TextureOptions::NEAREST),
        };
        self.preview = Some((key, grid, texture));
    }

    fn preview_rows(&mut self, request: &DensityRequest<'_>, cells: &Cells) -> Arc<Vec<u16>> {
        let (rows, generation) = request.rows;
        match &self.preview_row_of {
            Some((known, of, row_of)) if *known == generation && of.has_rows_of(cells) => row_of.clone(),
            _ => {
                let row_of = Arc::new(cells.rows_of(&rows.row_of));
                self.preview_row_of = Some((generation, *cells, row_of.clone()));
                row_of
            }
        }
    }

    fn collect(&mut self, ctx: &egui::Context) {
        let Some((key, receiver)) = &self.job else { return };
        match receiver.try_recv() {
            Ok((grid, image)) => {
                let key = *key;
                self.job = None;
                self.show(ctx, key, grid, image);
            }
            Err(mpsc::TryRecvError::Disconnected) => self.job = None,
            Err(mpsc::TryRecvError::Empty) => {}
        }
    }

    fn show(&mut self, ctx: &egui::Context, key: DensityKey, grid: Grid, image: ColorImage) {
        pool::discard(self.shown.replace((key, Arc::new(grid))));
        self.set_texture(ctx, image);
    }

    fn set_texture(&mut self, ctx: &egui::Context, image: ColorImage) {
        match &mut self.texture {
            Some(texture) => texture.set(image, TextureOptions::NEAREST),
            none => *none = Some(ctx.load_texture("raster density", image, TextureOptions::NEAREST)),
        }
    }

    fn paint_all(&mut self, ctx: &egui::Context) {
        if let Some((_, grid)) = &self.shown {
            let image = grid.image(0..grid.cells.columns);
            self.set_texture(ctx, image);
        }
    }

    /// Colours only the changed columns. A range that wraps around the ring has two parts.
    fn paint_columns(&mut self, columns: std::ops::Range<i64>) {
        let (Some((_, grid)), Some(texture)) = (&self.shown, &mut self.texture) else { return };
        let (ring, changed) = (grid.cells.columns, (columns.end - columns.start).max(0) as usize);
        if changed == 0 {
            return;
        }
        let start = grid.slot(columns.start);
        let first = start..(start + changed.min(ring)).min(ring);
        let rest = 0..changed.min(ring) - first.len();
        for slots in [first, rest].into_iter().filter(|s| !s.is_empty()) {
            let at = slots.start;
            texture.set_partial([at, 0], grid.image(slots), TextureOptions::NEAREST);
        }
    }

    /// Draws the image, or the preview, at its times and rows.
    pub fn paint(&self, painter: &Painter, plot: Rect, window: &Window) {
        match (&self.preview, &self.shown, &self.texture) {
            (Some((_, grid, texture)), ..) => paint_ring(grid, texture, painter, plot, window),
            (None, Some((_, grid)), Some(texture)) => paint_ring(grid, texture, painter, plot, window),
            _ => {}
        }
    }

    /// Returns the counts of the displayed image; `None` before the first one.
    pub fn grid(&self) -> Option<&Grid> {
        let preview = self.preview.as_ref().map(|(_, grid, _)| grid);
        preview.or(self.shown.as_ref().map(|(_, grid)| &**grid))
    }

    /// Returns the relative steps to show instead of the window while a job counts later columns: as many steps, up to the end of
    /// the last image. `None` if the last image covers at least half of the window, or without a job.
    pub fn late_times(&self, window: &Window) -> Option<(f64, f64)> {
        let (_, grid) = self.shown.as_ref().filter(|_| self.job.is_some() && self.preview.is_none())?;
        let step = f64::from(grid.cells.steps);
        let (from, to) = (grid.cells.first as f64 * step, (grid.cells.first + grid.cells.columns as i64) as f64 * step);
        let common = to.min(window.t1) - from.max(window.t0);
        (common < 0.5 * window.span() && to <= window.t1).then_some((to - window.span(), to))
    }

    /// Whether a job is counting spikes.
    pub fn is_busy(&self) -> bool {
        self.job.is_some()
    }
}

/// Selects the source and the cells of the counts. Single spikes are counted if they are few or elements are selected; otherwise
/// tiles, and fine ones only if their cells are at most two pixels.
fn choose(history: &History, pyramid: &Pyramid, request: &DensityRequest<'_>) -> (Level, Cells) {
    let cells = request.cells((1, 1));
    let (from, to) = (cells.first_step(), cells.end_step());
    if !request.selected.0.is_empty() || history.count(from, to) <= FROM_TILES {
        return (Level::Spikes, cells);
    }
    match pyramid.quanta(history, Level::Fine, from, to) {
        Some(units) if units.0 <= cells.steps * 2 && units.1 <= cells.rows * 2 => (Level::Fine, request.cells(units)),
        _ => (Level::Spikes, cells),
    }
}

/// Draws a ring of columns at their times and rows.
fn paint_ring(grid: &Grid, texture: &TextureHandle, painter: &Painter, plot: Rect, window: &Window) {
    let cells = grid.cells;
    let x = |column: i64| {
        let step = column as f64 * f64::from(cells.steps);
        plot.left() + ((step - window.t0) / window.span()) as f32 * plot.width()
    };
    let y = |row: u32| plot.bottom() - ((f64::from(row) - window.r0) / window.rows()) as f32 * plot.height();
    let (top, bottom) = (y(cells.row0 + cells.height as u32 * cells.rows), y(cells.row0));
    let (ring, start) = (cells.columns as i64, grid.slot(cells.first) as i64);
    let turn = cells.first + ring - start;
    let mut mesh = Mesh::with_texture(texture.id());
    for (from, to) in [(cells.first, turn), (turn, cells.first + ring)] {
        let u = |column: i64| (column - from + grid.slot(from) as i64) as f32 / ring as f32;
        let place = Rect::from_min_max(Pos2::new(x(from), top), Pos2::new(x(to), bottom));
        let uv = Rect::from_min_max(Pos2::new(u(from), 0.0), Pos2::new(u(to), 1.0));
        if to > from {
            mesh.add_rect_with_uv(place, uv, Color32::WHITE);
        }
    }
    painter.with_clip_rect(plot.intersect(painter.clip_rect())).add(mesh);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::views::raster::rows::{Order, Rows};
    use crate::sim::{ElementSet, Spike};

    #[test]
    fn the_last_image_scrolls_while_new_rows_are_counted() {
        let ctx = egui::Context::default();
        let (mut history, pyramid, bins) = (History::default(), Pyramid::default(), ElementBins::default());
        let rows = Rows::new(&ElementSet { len: 100, ..ElementSet::default() }, &Order::default(), &[], |_| true);
        let feed = |history: &mut History, steps: std::ops::Range<u32>| {
            let spikes: Vec<Spike> = steps.clone().map(|step| Spike { step, lane: step % 100 }).collect();
            history.push(&spikes, steps.end.into());
        };
        let colors = CountColors { scale: Default::default(), accent: Color32::RED, dark: true, dim: false };
        let request = |end: f64, generation| DensityRequest {
            window: Window { t0: end - 1000.0, t1: end, r0: 0.0, r1: 100.0 },
            size_px: (100, 50),
            rows: (&rows, generation),
            selected: (&[], 0),
            colors,
        };
        feed(&mut history, 0..2000);
        let mut density = Density::default();
        density.update(&ctx, (&history, &bins), &pyramid, &request(2000.0, 1));
        let before = density.grid().expect("few are counted at once").cells;
        // This job never ends.
        let (_sender, receiver) = mpsc::channel();
        density.job = Some((DensityKey { cells: before, rows: 2, selected: 0 }, receiver));
        feed(&mut history, 2000..4000);
        density.update(&ctx, (&history, &bins), &pyramid, &request(4000.0, 2));
        let grid = density.grid().expect("still there");
        assert!(grid.cells.first > before.first && grid.cells.covers(&request(4000.0, 2).window), "{:?}", grid.cells);
        assert!(grid.spikes() >= 1000 && density.is_busy());
    }
    #[test]
    fn many_new_spikes_are_counted_on_the_pool() {
        let ctx = egui::Context::default();
        let (mut history, pyramid, bins) = (History::default(), Pyramid::default(), ElementBins::default());
        let rows = Rows::new(&ElementSet { len: 100, ..ElementSet::default() }, &Order::default(), &[], |_| true);
        let colors = CountColors { scale: Default::default(), accent: Color32::RED, dark: true, dim: false };
        let request = |end: f64| DensityRequest {
            window: Window { t0: end - 4000.0, t1: end, r0: 0.0, r1: 100.0 },
            size_px: (100, 50),
            rows: (&rows, 1),
            selected: (&[], 0),
            colors,
        };
        let feed = |history: &mut History, steps: std::ops::Range<u32>, per_step: u32| {
            let spikes: Vec<Spike> =
                steps.clone().flat_map(|step| (0..per_step).map(move |k| Spike { step, lane: k % 100 })).collect();
            history.push(&spikes, steps.end.into());
        };
        let mut density = Density::default();
        feed(&mut history, 0..4000, 1);
        density.update(&ctx, (&history, &bins), &pyramid, &request(4000.0));
        let before = density.grid().map(Grid::spikes);
        assert!(before.is_some() && !density.is_busy(), "few spikes are counted at once");
        feed(&mut history, 4000..8000, 100);
        density.update(&ctx, (&history, &bins), &pyramid, &request(8000.0));
        assert!(density.is_busy() && density.grid().map(Grid::spikes) == before, "nothing is counted on the UI thread");
        let late = density.late_times(&request(8000.0).window).expect("the image is late");
        assert!(late.1 < 4200.0, "its own times are shown");
        while density.is_busy() {
            std::thread::yield_now();
            density.update(&ctx, (&history, &bins), &pyramid, &request(8000.0));
        }
        assert!(density.grid().is_some_and(|grid| grid.spikes() >= 400_000));
    }
}
