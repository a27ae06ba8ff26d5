//! What is worked out on the pool: who is drawn, in which lanes, who stands out; and a density when they are too many.

use super::{
    Relatives, Show, Window,
    forest::{ALIVE, Forest},
    lanes::{Lanes, NOWHERE},
};
use crate::app::views::{colors, pool};
use egui::{Color32, ColorImage};
use std::sync::Arc;

/// Up to this many lines are drawn one by one.
pub const SINGLES: usize = 12_000;

/// Whom the window's filter shows.
#[derive(Clone, Default)]
pub struct Admitted {
    /// Counts up whenever it is somebody else.
    pub generation: u64,
    /// By place; none: everybody.
    pub mask: Option<Arc<Vec<bool>>>,
}

impl PartialEq for Admitted {
    fn eq(&self, other: &Self) -> bool {
        self.generation == other.generation
    }
}

/// What a picture is asked to show.
#[derive(Clone, PartialEq)]
pub struct Wish {
    /// Counts up with the forest.
    pub generation: u64,
    /// Who is drawn.
    pub show: Show,
    /// Of those, only who lives at a place that is shown, and all they came out of.
    pub admitted: Admitted,
    /// Who stands out with the marked.
    pub relatives: Relatives,
    /// The marked lines.
    pub marked: Vec<u32>,
    /// Of the density.
    pub cells: [usize; 2],
    /// Of the density; none: everything.
    pub window: Option<Window>,
    /// The newest step.
    pub now: u64,
    /// Theme of the density.
    pub dark: bool,
}

/// A picture.
#[derive(Default)]
pub struct Picture {
    /// The lanes.
    pub lanes: Lanes,
    /// How many lines are drawn.
    pub n_drawn: usize,
    /// By line: whether it stands out. Empty when nobody is marked.
    pub strong: Vec<bool>,
    /// By line: the founder it came from.
    pub founders: Vec<u32>,
    /// Instead of lines, when they are too many.
    pub density: Option<(Window, ColorImage)>,
    /// Counts up.
    pub generation: u64,
}

impl Picture {
    fn make(forest: &Forest, wish: &Wish) -> Self {
        let mut marked = vec![false; forest.lines.len()];
        for line in &wish.marked {
            if let Some(mark) = marked.get_mut(*line as usize) {
                *mark = true;
            }
        }
        let mut strong = marked.clone();
        if wish.relatives.ancestors {
            forest.add_ancestors(&mut strong);
        }
        if wish.relatives.descendants {
            let mut down = marked;
            forest.add_descendants(&mut down);
            strong.iter_mut().zip(down).for_each(|(s, d)| *s |= d);
        }
        let mut keep = match wish.show {
            Show::All => vec![true; forest.lines.len()],
            Show::Survivors => forest.survivors(),
            Show::Relatives if wish.marked.is_empty() => vec![true; forest.lines.len()],
            Show::Relatives => strong.clone(),
        };
        if let Some(mask) = &wish.admitted.mask {
            let shown = forest.shown(mask);
            keep.iter_mut().zip(shown).for_each(|(k, shown)| *k &= shown);
        }
        let lanes = Lanes::of(forest, &keep);
        let n_drawn = keep.iter().filter(|k| **k).count();
        let all = || Window::all(forest, lanes.n, wish.now);
        let density = (n_drawn > SINGLES).then(|| {
            let window = wish.window.unwrap_or_else(all);
            (window, density(forest, &lanes, window, wish))
        });
        let strong = if wish.marked.is_empty() { vec![] } else { strong };
        Self { lanes, n_drawn, strong, founders: forest.founders(), density, generation: 0 }
    }
}

/// How many lines pass through each cell, as colours on a logarithmic scale.
fn density(forest: &Forest, lanes: &Lanes, window: Window, wish: &Wish) -> ColorImage {
    let [width, height] = wish.cells;
    let mut counts = vec![0i32; (width + 1) * height];
    let column = |step: u64| {
        let t = (step as f64 - window.t0) / (window.t1 - window.t0).max(1e-9);
        (t * width as f64).clamp(0.0, width as f64) as usize
    };
    for (line, lane) in forest.lines.iter().zip(&lanes.of).filter(|(_, lane)| **lane != NOWHERE) {
        let row = (f64::from(*lane) + 0.5 - window.l0) / (window.l1 - window.l0).max(1e-9) * height as f64;
        if !(0.0..height as f64).contains(&row) {
            continue;
        }
        let first = row as usize * (width + 1);
        let end = if line.gone == ALIVE { wish.now } else { line.gone };
        let (from, to) = (column(line.born), column(end).max(column(line.born) + 1).min(width));
        counts[first + from.min(width - 1)] += 1;
        counts[first + to] -= 1;
    }
    for row in counts.chunks_exact_mut(width + 1) {
        (1..=width).for_each(|i| row[i] += row[i - 1]);
    }
    let most = counts.iter().copied().max().unwrap_or(0).max(1) as f32;
    let table: Vec<Color32> = (0..256).map(|i| colors::density(i as f32 / 255.0, wish.dark)).collect();
    let color = |n: &i32| match n {
        ..=0 => Color32::TRANSPARENT,
        n => table[((*n as f32).ln_1p() / most.ln_1p() * 255.0) as usize],
    };
    let pixels = counts.chunks_exact(width + 1).flat_map(|row| row[..width].iter().map(color)).collect();
    ColorImage::new([width, height], pixels)
}

/// Makes pictures on the pool, one at a time, the newest wish first.
#[derive(Default)]
pub struct Studio {
    /// The last one that was finished.
    pub picture: Picture,
    shown: Option<Wish>,
    pool_job: pool::PoolJob<Wish, Picture>,
}

impl Studio {
    /// Takes what is finished, and starts the next when the wish is another. A run makes no more than a few a second:
    /// `is_due` says whether a change of the forest alone is a reason.
    pub fn update(&mut self, ctx: &egui::Context, forest: &Arc<Forest>, wish: Wish, is_due: bool) {
        if let Some((wish, mut picture)) = self.pool_job.poll() {
            picture.generation = self.picture.generation + 1;
            (self.shown, self.picture) = (Some(wish), picture);
        }
        let is_same = |shown: &Wish| {
            let (generation, now) = (shown.generation, shown.now);
            *shown == wish || (!is_due && *shown == Wish { generation, now, ..wish.clone() })
        };
        if !self.pool_job.is_free(&wish) || self.shown.as_ref().is_some_and(is_same) {
            return;
        }
        let (forest, of) = (forest.clone(), wish.clone());
        self.pool_job.start(ctx, wish, move || Picture::make(&forest, &of));
    }

    /// Whether a picture is being made.
    pub fn is_busy(&self) -> bool {
        self.pool_job.is_busy()
    }

    /// Whether there is a picture.
    pub fn has_picture(&self) -> bool {
        self.shown.is_some()
    }
}
