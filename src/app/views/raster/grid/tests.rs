//! Counts in a ring of columns: scrolled, from tiles and from bins.

use super::*;
use crate::app::views::raster::{
    count_colors::Scale,
    rows::{Order, Rows},
    window::Window,
};

fn history(steps: u32) -> History {
    let mut history = History::default();
    let spikes: Vec<Spike> =
        (0..steps).flat_map(|s| (0..3).map(move |k| Spike { step: s, lane: (s * 7 + k * 11) % 100 })).collect();
    history.push(&spikes, u64::from(steps));
    history
}

fn grid(history: &History, t1: f64) -> Grid {
    let window = Window { t0: t1 - 4000.0, t1, r0: 0.0, r1: 100.0 };
    let cells = Cells::of(&window, 400, 50, 100);
    let row_of: Vec<u32> = (0..100).collect();
    let selected = Arc::new(bits(&[5], 100));
    let lookup = Lookup { row_of: Arc::new(cells.rows_of(&row_of)), selected, bands: vec![] };
    let colors = CountColors { scale: Scale::Log, accent: Color32::RED, dark: true, dim: false };
    Grid::of(
        cells,
        lookup,
        &Job::new((history, &ElementBins::default()), &Pyramid::default(), Level::Spikes, &cells),
        colors,
    )
}

#[test]
fn scrolling_equals_binning() {
    let (long, short) = (history(10_000), history(8_000));
    let mut scrolled = grid(&short, 8_000.0);
    let binned = grid(&long, 10_000.0);
    assert!(scrolled.cells.scrolls_to(&binned.cells));
    assert!(scrolled.can_scroll_to(&binned.cells));
    scrolled.scroll(binned.cells.first, &long);
    assert_eq!(scrolled.counts, binned.counts);
    assert_eq!(scrolled.spikes(), binned.spikes());
    assert!(binned.spikes() >= 12_000);
}

#[test]
fn tiles_equal_spikes() {
    let mut history = History::default();
    let spikes: Vec<Spike> =
        (0..300_000u32).map(|i| Spike { step: i / 9, lane: i.wrapping_mul(2_654_435_761) % 5_000 }).collect();
    history.push(&spikes, 40_000);
    let set = crate::sim::ElementSet { name: "cells", len: 5_000, ..Default::default() };
    let rows = Rows::new(&set, &Order::default(), &[], |_| true);
    let mut pyramid = Pyramid::default();
    let ctx = egui::Context::default();
    while pyramid.quanta(&history, Level::Fine, 0, u32::MAX).is_none() {
        pyramid.update(&ctx, &history, &rows, 1);
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    let window = Window { t0: 3_000.0, t1: 30_000.0, r0: 0.0, r1: 5_000.0 };
    for level in [Level::Fine, Level::Coarse] {
        let units = pyramid.quanta(&history, level, 3_000, 30_000).unwrap();
        assert!(units.0 > 1 && units.1 > 1);
        let cells = Cells::in_units(&window, (200, 40), 5_000, units);
        let lookup =
            Lookup { row_of: Arc::new(cells.rows_of(&rows.row_of)), selected: Arc::new(vec![]), bands: vec![] };
        let colors = CountColors { scale: Scale::Root, accent: Color32::RED, dark: true, dim: false };
        let count = |level| {
            Grid::of(
                cells,
                lookup.clone(),
                &Job::new((&history, &ElementBins::default()), &pyramid, level, &cells),
                colors,
            )
        };
        let (exact, tiled) = (count(Level::Spikes), count(level));
        assert!(exact.spikes() > 200_000);
        assert_eq!((&exact.counts, exact.max), (&tiled.counts, tiled.max));
    }
}

#[test]
fn dropped_spikes_are_counted_from_bins() {
    let (mut short, mut bins) = (History::with_capacity(100_000), ElementBins::new(100));
    for block in 0..40_u32 {
        let spikes: Vec<Spike> = (0..10_000).map(|i| Spike { step: block * 1_000 + i / 10, lane: i % 100 }).collect();
        short.push_dropping(&spikes, u64::from(block + 1) * 1_000, |old, origin| bins.push(old, origin));
    }
    assert!(short.dropped() > 200_000);
    let window = Window { t0: 0.0, t1: 40_000.0, r0: 0.0, r1: 100.0 };
    let cells = Cells::of(&window, 400, 50, 100);
    let row_of: Vec<u32> = (0..100).collect();
    let lookup =
        Lookup { row_of: Arc::new(cells.rows_of(&row_of)), selected: Arc::new(bits(&[5], 100)), bands: vec![] };
    let colors = CountColors { scale: Scale::Log, accent: Color32::RED, dark: true, dim: false };
    let job = Job::new((&short, &bins), &Pyramid::default(), Level::Spikes, &cells);
    let grid = Grid::of(cells, lookup, &job, colors);
    let n = grid.spikes() as f64;
    assert!((n / 400_000.0 - 1.0).abs() < 0.02, "the whole run is counted: {n}");
    let per_column = |steps: std::ops::Range<i64>| steps.map(|c| u64::from(grid.total(c))).sum::<u64>();
    let (early, late) = (per_column(10..100), per_column(300..390));
    assert!((early as f64 / late as f64 - 1.0).abs() < 0.05, "{early} against {late}");
    assert!(grid.image(0..grid.cells.columns).pixels[..].contains(&Color32::RED), "selected rows are marked");
}

#[test]
fn one_spike_is_seen_and_the_selected_stand_out() {
    let history = history(8_000);
    let grid = grid(&history, 8_000.0);
    assert_eq!(grid.color(0), Color32::TRANSPARENT);
    let faint = grid.color(1);
    assert!(faint.a() == 255 && faint != Color32::BLACK);
    assert!(grid.image(0..grid.cells.columns).pixels.contains(&Color32::RED));
}
