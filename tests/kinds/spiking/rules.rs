//! Statistics of published networks that are built from rules. The tolerances are those of the figures.

use crate::settings;
use neuropil::{
    gpu::Pass,
    kinds::Model,
    sim::{BuildContext, Device, Frame, Progress, Reading, Simulation, Spike, Tap},
};
use std::path::Path;

/// Reads a project of the folder `projects`, with other parameters.
fn model(project: &str, edits: &[&str]) -> Model {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("projects/{project}.ron"));
    let text = std::fs::read_to_string(path).expect("a file");
    let (project, warnings) = neuropil::project::read(&text).expect("a project");
    assert_eq!(warnings, [], "the project is as written");
    let mut model = project.model;
    settings::set(model.params_mut(), edits);
    model
}

/// Runs a network for a number of steps of 0.1 ms and returns its spikes.
fn spikes(model: &Model, seed: u64, steps: u32) -> (Box<dyn Simulation>, Vec<Spike>) {
    let context = BuildContext { seed, ..BuildContext::default() };
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(4);
    let mut sim = model.build(&context, &Device::Cpu { threads }, &Progress::default()).expect("built");
    sim.tap(&[Tap::of(neuropil::kinds::spiking::probes::SPIKES)]).expect("tapped");
    let mut all = vec![];
    for _ in 0..steps / 1000 {
        sim.advance(1000, &mut Pass::default()).expect("it runs");
        let mut frame = Frame { clock: sim.clock(), ..Frame::default() };
        sim.sample(&mut frame).expect("sampled");
        let Reading::Spikes(found) = frame.readings.remove(0).1 else { panic!("spikes") };
        all.extend_from_slice(&found);
    }
    (sim, all)
}

/// Returns the mean rate in Hz of the neurons `first..end`, and the mean coefficient of variation of the intervals of those with
/// more than 5 spikes, from a step on.
fn statistics(spikes: &[Spike], (first, end): (u32, u32), since: u32, steps: u32) -> (f64, f64) {
    let mut times = vec![vec![]; (end - first) as usize];
    let own = spikes.iter().filter(|s| s.step >= since && (first..end).contains(&s.lane));
    own.for_each(|s| times[(s.lane - first) as usize].push(f64::from(s.step)));
    let n: usize = times.iter().map(Vec::len).sum();
    let rate = n as f64 / f64::from(end - first) / (f64::from(steps - since) * 1e-4);
    let variation = |times: &Vec<f64>| {
        let intervals: Vec<f64> = times.windows(2).map(|t| t[1] - t[0]).collect();
        let mean = intervals.iter().sum::<f64>() / intervals.len() as f64;
        let variance = intervals.iter().map(|i| (i - mean) * (i - mean)).sum::<f64>() / intervals.len() as f64;
        variance.sqrt() / mean
    };
    let many: Vec<f64> = times.iter().filter(|t| t.len() > 5).map(variation).collect();
    (rate, many.iter().sum::<f64>() / many.len() as f64)
}

/// Vogels & Abbott 2005, as Brette et al. 2007: 5.58 Hz with Brian2, 5.62 Hz with NEST.
#[test]
fn cuba_fires_at_the_published_rate() {
    let model = model("cuba", &[]);
    let steps = 50_000;
    let rates: Vec<f64> =
        (1..=5).map(|seed| statistics(&spikes(&model, seed, steps).1, (0, 4000), 0, steps).0).collect();
    let mean = rates.iter().sum::<f64>() / 5.0;
    assert!((mean / 5.60 - 1.0).abs() < 0.02, "{mean} Hz of {rates:?}");
}

/// Brunel 2000 with delta synapses: 32.1 Hz and a coefficient of variation of 0.17 with NEST 3.10, over 1 s.
#[test]
fn brunel_s_network_is_as_regular_as_with_nest() {
    let steps = 10_000;
    let (_, spikes) = spikes(&model("brunel", &[]), 1, steps);
    for range in [(0, 10_000), (10_000, 12_500)] {
        let (rate, variation) = statistics(&spikes, range, 0, steps);
        assert!((rate / 32.1 - 1.0).abs() < 0.02 && (variation - 0.17).abs() < 0.02, "{rate} Hz, {variation}");
    }
}

/// Compares a tenth of the microcircuit, as the mean of several networks, with ten networks of NEST 3.10: figures and script
/// are in tests/golden/spiking. `tolerance` is that of the rates; L23E, with 0.4 Hz, has twice the tolerance.
fn compare_with_nest(seeds: u64, seconds: u32, tolerance: f64, variation_tolerance: f64) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/spiking/nest_microcircuit.json");
    let nest: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(path).expect("a file")).expect("JSON");
    let model = model("microcircuit-10", &[]);
    let (steps, since) = (5_000 + seconds * 10_000, 5_000);
    let runs: Vec<_> = (1..=seeds).map(|seed| spikes(&model, seed, steps)).collect();
    let column = runs[0].0.sets()[0].column("population").expect("a column").clone();
    for (i, name) in column.labels.iter().enumerate() {
        let first = column.codes.iter().position(|c| usize::from(*c) == i).expect("a neuron") as u32;
        let n = column.codes.iter().filter(|c| usize::from(**c) == i).count() as u32;
        let found = runs.iter().map(|(_, s)| statistics(s, (first, first + n), since, steps));
        let sums = found.fold((0.0, 0.0), |sum, (r, cv)| (sum.0 + r, sum.1 + cv));
        let (rate, variation) = (sums.0 / seeds as f64, sums.1 / seeds as f64);
        assert_eq!(nest["populations"][i], name.as_str());
        let [expected, cv] = ["rates_hz", "cv"].map(|key| nest[key][i].as_f64().expect("a number"));
        let tolerance = if name == "L23E" { 2.0 * tolerance } else { tolerance };
        assert!((rate / expected - 1.0).abs() < tolerance, "{name}: {rate} Hz, NEST {expected} Hz");
        assert!((variation - cv).abs() < variation_tolerance, "{name}: CV {variation}, NEST {cv}");
    }
}

/// One short run: networks of 485 neurons (L5E) differ by 4 % (standard deviation), and short runs have smaller variations. Six
/// networks over 5 s agree within 5 % and 0.03: `compare_with_nest(6, 5, 0.05, 0.03)`, two minutes without optimisation.
#[test]
fn a_tenth_of_the_microcircuit_is_near_nest() {
    compare_with_nest(1, 1, 0.2, 0.3);
}

#[test]
fn one_run_has_one_hash() {
    let edits = ["populations.0.size=320", "populations.1.size=80"];
    let model = model("cuba", &[&edits[..], &["projections.0.rule.p=0.2", "projections.2.rule.p=0.2"]].concat());
    let digest = |threads: usize| {
        let mut sim =
            model.build(&BuildContext::default(), &Device::Cpu { threads }, &Progress::default()).expect("built");
        super::digest_of(&mut *sim, 3000, 7)
    };
    let first = digest(1);
    assert!(!first.contains("(\"spikes\", 0)"), "{first}");
    assert_eq!([digest(2), digest(3)], [first.clone(), first]);
}

/// The predicted memory is allocated, and a cancelled start says so.
#[test]
fn a_start_is_cancelled_while_it_makes_connections() {
    let prepared = model("brunel", &[]).prepare(&BuildContext::default(), &Progress::default()).expect("prepared");
    let start = prepared.start_with(1, &Device::Cpu { threads: 1 }, &Progress::cancelled_at(3));
    assert!(matches!(start, Err(neuropil::sim::SimError::Cancelled)));
}
