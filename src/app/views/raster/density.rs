//! The density picture: a texture that is a ring of columns, kept up to date within the frame's budget.

use super::{
    grid::{Grid, Inks, Job, Lookup, bits},
    history::History,
    rows::Rows,
    window::{Cells, Window},
};
use egui::{Color32, ColorImage, Mesh, Painter, Pos2, Rect, TextureHandle, TextureOptions};
use std::sync::{Arc, mpsc};

/// More spikes than this are counted on the pool, not on the window's thread.
const AT_ONCE: usize = 60_000;

/// What has to be shown.
pub struct Wish<'a> {
    /// How the window is cut.
    pub cells: Cells,
    /// The order of the rows, and a number that changes with it.
    pub rows: (&'a Rows, u64),
    /// The selected elements, and a number that changes with them.
    pub selected: (&'a [u32], u64),
    /// Colours.
    pub inks: Inks,
}

#[derive(PartialEq, Clone, Copy)]
struct Key {
    cells: Cells,
    rows: u64,
    selected: u64,
}

/// The texture and the counts it shows.
#[derive(Default)]
pub struct Density {
    shown: Option<(Key, Grid)>,
    texture: Option<TextureHandle>,
    job: Option<(Key, mpsc::Receiver<(Grid, ColorImage)>)>,
}

impl Density {
    /// Brings the picture up to date, or starts a job that will; the last good picture stays until then.
    pub fn update(&mut self, ctx: &egui::Context, history: &History, wish: &Wish<'_>) {
        self.collect(ctx);
        let key = Key { cells: wish.cells, rows: wish.rows.1, selected: wish.selected.1 };
        if let Some((shown, grid)) = &mut self.shown
            && shown.rows == key.rows
            && shown.selected == key.selected
            && grid.can_scroll_to(&key.cells)
        {
            let recolour = grid.set_inks(wish.inks);
            let changed = grid.scroll(key.cells.first, history);
            *shown = key;
            self.job = None;
            match changed {
                Some(columns) if !recolour => self.paint_columns(columns),
                _ => self.paint_all(ctx),
            }
        } else if self.shown.as_ref().is_none_or(|(shown, _)| *shown != key) && self.job.is_none() {
            self.start(ctx, history, wish, key);
        }
    }

    fn start(&mut self, ctx: &egui::Context, history: &History, wish: &Wish<'_>, key: Key) {
        let job = Job::new(history, &key.cells);
        let (row_of, cells, inks) = (wish.rows.0.row_of.clone(), key.cells, wish.inks);
        let selected = Arc::new(bits(wish.selected.0, wish.rows.0.n_elements()));
        let count = move || {
            let lookup = Lookup { row_of: Arc::new(cells.rows_of(&row_of)), selected };
            let grid = Grid::of(cells, lookup, &job, inks);
            let image = grid.image(0..cells.columns);
            (grid, image)
        };
        if job_len(history, &cells) <= AT_ONCE {
            let (grid, image) = count();
            self.show(ctx, key, grid, image);
            return;
        }
        let (sender, receiver) = mpsc::channel();
        let wake = ctx.clone();
        rayon::spawn(move || {
            // The view may be gone by then.
            sender.send(count()).ok();
            wake.request_repaint();
        });
        self.job = Some((key, receiver));
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

    fn show(&mut self, ctx: &egui::Context, key: Key, grid: Grid, image: ColorImage) {
        self.shown = Some((key, grid));
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

    /// Colours only the columns that changed; a range that runs over the ring's end is two pieces.
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

    /// Draws the picture where its times and rows lie in the present window.
    pub fn paint(&self, painter: &Painter, plot: Rect, window: &Window) {
        let (Some((_, grid)), Some(texture)) = (&self.shown, &self.texture) else { return };
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

    /// The counts shown.
    pub fn grid(&self) -> Option<&Grid> {
        self.shown.as_ref().map(|(_, grid)| grid)
    }

    /// Whether a finer picture is being made.
    pub fn is_busy(&self) -> bool {
        self.job.is_some()
    }
}

fn job_len(history: &History, cells: &Cells) -> usize {
    history.count(cells.first_step(), cells.end_step())
}
