//! Views of a simulation that is faster than the window: every frame brings more time than the views show.

use crate::support::stage::Stage;
use neuropil::{
    engine::SimSchema,
    sim::{Clock, ElementSet, Frame, ProbeSpec, Reading, Series, Shape, Spike},
};
use std::sync::Arc;

const N: u32 = 2_000;
/// Visible steps.
const SPAN: u64 = 1_000;

const fn probe(name: &'static str, unit: &'static str, shape: Shape) -> ProbeSpec {
    ProbeSpec { name, title: "", docs: "Made up for this test.", unit, shape, args: &[] }
}

const PROBES: &[ProbeSpec] =
    &[probe("spikes", "", Shape::Spikes { over: "neurons" }), probe("rate", "Hz", Shape::Series { of: "" })];

fn schema() -> SimSchema {
    let set = ElementSet { name: "neurons", len: N, ..ElementSet::default() };
    SimSchema {
        probes: PROBES,
        lanes: vec![vec![], vec!["rate".into()]],
        sets: vec![Arc::new(set)],
        ..SimSchema::default()
    }
}

/// The n-th frame of this many steps, with this many spikes per step; 60 frames per second.
fn frame(n: u64, steps: u64, per_step: u32) -> Frame {
    let (from, to) = (n * steps, (n + 1) * steps);
    let spikes = (from..to)
        .flat_map(|step| (0..per_step).map(move |k| Spike { step: step as u32, lane: (step as u32 * 7 + k * 31) % N }));
    let series = Series { elements: vec![], lanes: 1, steps: vec![from], values: vec![1.0] };
    Frame {
        clock: Clock::seconds(to, 1e-4),
        readings: vec![(0.into(), Reading::Spikes(spikes.collect())), (1.into(), Reading::Series(series))],
        ran_secs: to as f64 / steps as f64 / 60.0,
        epoch: 1,
        ..Frame::default()
    }
}

/// The number before ` spikes in view`.
fn spikes_in_view(caption: &str) -> u64 {
    let number = caption.split(" spikes in view").next().unwrap_or_default();
    number.chars().filter(char::is_ascii_digit).collect::<String>().parse().unwrap_or(0)
}

/// Draws frames while the simulation runs; the captions after the spikes of the first frames have arrived.
fn captions(steps: u64, per_step: u32) -> Vec<String> {
    let mut stage = Stage::new("raster", schema(), (1000.0, 500.0)).headless().indexed(SPAN);
    stage.run(2);
    let draw = |n: u64| {
        stage.absorb_ahead(frame(n, steps, per_step));
        stage.caption()
    };
    (0..9).map(draw).skip(4).collect()
}

#[test]
fn raster_draws_the_newest_complete_window_while_frames_are_longer_than_it() {
    for caption in captions(SPAN * 7 / 2, 20) {
        let shown = spikes_in_view(&caption);
        assert!((19_000..=21_500).contains(&shown), "{shown} of 20,000 spikes: {caption}");
        assert!(caption.contains("16.7 ms behind (350 ms simulated)"), "{caption}");
    }
}

/// More spikes in the window than are counted at once: the image is one frame later, on the times that it shows.
#[test]
fn raster_draws_what_is_counted_on_the_pool_while_frames_are_longer_than_the_window() {
    for caption in captions(SPAN * 3 / 2, 250) {
        let shown = spikes_in_view(&caption);
        assert!((240_000..=260_000).contains(&shown), "{shown} of 250,000 spikes: {caption}");
        assert!(caption.contains("33.3 ms behind (300 ms simulated)"), "{caption}");
    }
}

#[test]
fn a_window_that_keeps_up_writes_no_lag() {
    for caption in captions(SPAN / 20, 20) {
        assert!(spikes_in_view(&caption) > 0 && !caption.contains("behind"), "{caption}");
    }
}

/// Statistics divide by the time of the spikes that they count, not by the time of the simulation.
#[test]
fn statistics_end_where_the_spikes_end() {
    let mut stage = Stage::new("statistics", schema(), (1000.0, 500.0)).headless().indexed(SPAN);
    stage.run(2);
    for n in 0..3 {
        stage.absorb_ahead(frame(n, SPAN * 10, 2));
    }
    stage.press("Use all neurons");
    stage.until("40,000 spikes in 2 s");
}
