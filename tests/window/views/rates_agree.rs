//! Every view gives the same rate of the same spikes: per neuron of what is shown, live and in playback of the run.

use crate::support::stage::Stage;
use neuropil::{
    engine::SimSchema,
    project::{self, Manifest, RunFolder, Status, Stream, playback::PlaybackReader},
    sim::{Clock, Column, ElementSet, Frame, ProbeSpec, Reading, Series, Shape, Spike},
};
use neuropil_test_support::temp::TempFolder;
use std::{path::Path, sync::Arc};

const N: u32 = 2_000;
const STEPS: u64 = 3_000;
/// Spikes per step: 90 Hz per neuron of all, 900 Hz per neuron of those that spike.
const PER_STEP: u32 = 18;
const SPIKING: u32 = 200;

const fn probe(name: &'static str, shape: Shape) -> ProbeSpec {
    ProbeSpec { name, title: "", docs: "Made up for this test.", unit: "", shape, args: &[] }
}

const PROBES: &[ProbeSpec] =
    &[probe("spikes", Shape::Spikes { over: "neurons" }), probe("load", Shape::Series { of: "" })];

fn schema() -> SimSchema {
    let sides: Vec<&str> = (0..N).map(|neuron| if neuron < 100 { "left" } else { "right" }).collect();
    let columns = vec![Column::from_texts("side", &sides)];
    let set = ElementSet { name: "neurons", len: N, columns, ..ElementSet::default() };
    let lanes = vec![vec![], vec!["load".into()]];
    SimSchema { probes: PROBES, lanes, sets: vec![Arc::new(set)], ..SimSchema::default() }
}

/// The spikes of some steps. The last of the spiking neurons is silent in the first half.
fn spikes(steps: std::ops::Range<u64>) -> Vec<Spike> {
    let n_spiking = |step: u64| if step < STEPS / 2 { u64::from(SPIKING) - 1 } else { u64::from(SPIKING) };
    let lane = |step: u64, k: u32| ((step * u64::from(PER_STEP) + u64::from(k)) % n_spiking(step)) as u32;
    let of = |step: u64| (0..PER_STEP).map(move |k| Spike { step: step as u32, lane: lane(step, k) });
    steps.flat_map(of).collect()
}

/// The run as its folder, with what a reader needs of it.
fn write_run(path: &Path) -> RunFolder {
    let bytes: Vec<u8> = spikes(0..STEPS).iter().flat_map(|s| [s.step, s.lane]).flat_map(u32::to_le_bytes).collect();
    std::fs::write(path.join("spikes.u32"), bytes).expect("a writable folder");
    let (probe, file, shape) = ("spikes".into(), "spikes.u32".into(), "spikes".into());
    let streams = vec![Stream { probe, file, shape, width: 2, ..Stream::default() }];
    let (format, status) = (project::run::FORMAT, Status::Complete);
    let manifest = Manifest { format, status, secs_per_step: 1e-4, last_step: STEPS, streams, ..Manifest::default() };
    std::fs::write(path.join("run.ron"), project::to_ron(&manifest).expect("a text")).expect("a writable folder");
    RunFolder::open(path).expect("a run folder")
}

fn live(name: &str) -> Stage {
    let mut stage = Stage::new(name, schema(), (1500.0, 500.0)).headless();
    stage.run(2);
    for from in (0..STEPS).step_by(350) {
        let to = (from + 350).min(STEPS);
        let series = Series { elements: vec![], lanes: 1, steps: vec![from], values: vec![1.0] };
        let readings = vec![(0.into(), Reading::Spikes(spikes(from..to))), (1.into(), Reading::Series(series))];
        stage.absorb(Frame { clock: Clock::seconds(to, 1e-4), readings, epoch: 1, ..Frame::default() });
        stage.run(1);
    }
    stage
}

fn playback(name: &str, run: &RunFolder) -> Stage {
    let mut stage = Stage::new(name, schema(), (1500.0, 500.0)).headless();
    stage.run(2);
    let mut reader = PlaybackReader::open(run, PROBES).expect("a reader");
    while let Some(frame) = reader.next_frame().expect("a frame") {
        stage.absorb(frame);
        stage.run(1);
    }
    stage.pause();
    stage.show_recorded(0, STEPS);
    stage
}

#[test]
fn rates_are_per_neuron_of_what_is_shown_live_and_in_playback() {
    let temp = TempFolder::new("rates-agree");
    let run = write_run(&temp);
    for (name, button, value) in [
        // The scale of the strip ends above 90 Hz.
        ("raster", None, "100 Hz"),
        ("rates", Some("from spikes"), "90"),
        ("statistics", Some("Use all neurons"), "90 Hz per neuron, n = 2,000"),
    ] {
        for (how, mut stage) in [("live", live(name)), ("in playback", playback(name, &run))] {
            if let Some(button) = button {
                stage.press(button);
            }
            stage.settle();
            let texts = stage.painted_texts();
            assert!(texts.iter().any(|t| t.contains("Hz per neuron, n = 2,000")), "{name} {how}: {texts:?}");
            let has_value = |text: &String| text == value || text.starts_with(value);
            assert!(texts.iter().any(has_value), "{name} {how}: {texts:?}");
        }
    }
}

/// A filter changes what the rate is a mean of.
#[test]
fn a_filter_narrows_the_neurons_of_a_rate() {
    let mut stage = live("raster");
    stage.filter("side = left");
    stage.settle();
    let texts = stage.painted_texts();
    assert!(texts.iter().any(|t| t.contains("Hz per neuron, n = 100")), "{texts:?}");
}
