//! `neuropil bench project`: measures the speed of any project. For networks that spike it also measures rate and
//! regularity of each population, and on a GPU the energy.

use super::{
    bench_args::BenchArgs, device::Chosen, error::CliError, progress::ProgressLine, run::base_of, session,
    stdout::print_line,
};
use crate::{
    gpu::{EnergyCounter, Pass},
    num::spike_stats,
    project,
    sim::{Device, Frame, Progress, Reading, Shape, SimError, Simulation, Tap, TrialChoice},
};
use serde::Serialize;
use serde_json::json;
use std::{path::Path, time::Instant};

/// Number of neurons per population that keep the intervals between their spikes.
const KEPT: usize = 2000;
/// Number of spikes that a neuron must exceed to count in the coefficient of variation.
const MIN_SPIKES: usize = 5;
/// Target duration of a batch, seconds.
const BATCH_SECS: f64 = 0.1;

#[derive(Serialize)]
struct Row {
    device: String,
    trials: u32,
    /// Number of steps of a measurement and trial, after the warm-up.
    steps: u64,
    /// Median, shortest and longest wall time of the measurements, seconds.
    wall_s: f64,
    wall_s_range: (f64, f64),
    steps_per_s: f64,
    /// Ratio of simulated time, summed over the trials, to wall time; `null` if steps have no duration.
    realtime_factor: Option<f64>,
    /// Time to read or make the project's data, and to start, seconds.
    prepare_s: f64,
    start_s: f64,
    memory_bytes: u64,
    /// Totals of the last measurement, over all trials.
    totals: Vec<(String, u64)>,
    /// Energy of the device in the last measurement, J, and per synaptic event, nJ.
    energy_j: Option<f64>,
    nj_per_synaptic_event: Option<f64>,
    /// Spikes of each population in the last measurement.
    populations: Vec<Population>,
    /// Hash of the first trial.
    hash: String,
}

/// Spikes of a population.
#[derive(Serialize)]
struct Population {
    name: String,
    neurons: u32,
    rate_hz: f64,
    /// Mean coefficient of variation of the intervals in the first trial, over the neurons with more than 5 spikes among the
    /// first 2,000.
    cv: Option<f64>,
}

/// Benchmarks the project of `--project`. Fails unless there is exactly one, or if it cannot be read or simulated.
pub(super) fn bench(args: &BenchArgs, mut chosen: Chosen) -> Result<(), CliError> {
    let [path] = &args.project[..] else {
        return Err(CliError::Usage("bench project needs one --project FILE".to_owned()));
    };
    let (mut project, _) = project::open(path)?;
    for text in &args.set {
        project.set(text, Path::new("."))?;
    }
    let since = Instant::now();
    let prepared = session::prepare(&project, &base_of(path), false, &ProgressLine::new())?;
    let prepare_s = since.elapsed().as_secs_f64();
    let since = Instant::now();
    let mut sim = match args.trials {
        1 => session::start(&*prepared, project.seed, &mut chosen)?,
        n => {
            let trials: Vec<_> = (0..u64::from(n)).map(|k| (project.seed.wrapping_add(k), &[][..])).collect();
            prepared.start_trials(&trials, &chosen.device, &Progress::default())?
        }
    };
    let start_s = since.elapsed().as_secs_f64();
    let row = Row { prepare_s, start_s, device: chosen.name.clone(), ..measure(&mut *sim, args, &chosen.device)? };
    if args.json {
        let project = path.display().to_string();
        print_line!("{:#}", json!({ "project": project, "app": crate::project::run::app_version(), "cases": [row] }));
    } else {
        print(&row);
    }
    Ok(())
}

fn print(row: &Row) {
    let factor = row.realtime_factor.map_or_else(String::new, |f| format!("  {f:.3}x real time"));
    print_line!(
        "{:.1} steps/s{factor}  {:.3} s for {} steps ({:.3} to {:.3})",
        row.steps_per_s,
        row.wall_s,
        row.steps,
        row.wall_s_range.0,
        row.wall_s_range.1
    );
    print_line!(
        "prepared in {:.3} s, started in {:.3} s; {:.1} MB; hash {}",
        row.prepare_s,
        row.start_s,
        row.memory_bytes as f64 * 1e-6,
        row.hash
    );
    for (name, total) in &row.totals {
        print_line!("{name} {total}");
    }
    if let Some(energy) = row.energy_j {
        let each = row.nj_per_synaptic_event.map_or_else(String::new, |nj| format!(", {nj:.2} nJ per synaptic event"));
        print_line!("{energy:.2} J{each}");
    }
    for of in &row.populations {
        let cv = of.cv.map_or_else(String::new, |cv| format!("  CV {cv:.3}"));
        print_line!("{:12} {:8} neurons  {:8.3} Hz{cv}", of.name, of.neurons, of.rate_hz);
    }
}

/// Measures a simulation: warm-up, then the repeats. All spikes are read.
fn measure(sim: &mut dyn Simulation, args: &BenchArgs, device: &Device) -> Result<Row, SimError> {
    let base = sim.clock().base;
    let secs_per_step = (!base.is_count()).then(|| base.per_step());
    let steps_of = |ms: f64| (ms * 1e-3 / secs_per_step.unwrap_or(1e-3)).round().max(1.0) as u64;
    let spikes = sim.probes().iter().position(|probe| matches!(probe.shape, Shape::Spikes { .. }));
    let of_all = |probe: usize| Tap { trial: TrialChoice::All, ..Tap::of(probe as u16) };
    let taps: Vec<Tap> = spikes.map(of_all).into_iter().collect();
    sim.tap(&taps)?;
    let mut batch = 1;
    run(sim, steps_of(args.warm_up.unwrap_or(100.0)), &mut batch, |_, _, _| {})?;
    let steps = steps_of(args.duration.unwrap_or(1000.0));
    let counter = if let Device::Cuda(gpu) = device { EnergyCounter::open(gpu) } else { None };
    let joules = || counter.as_ref().and_then(EnergyCounter::joules);
    let n = sim.sets().first().map_or(0, |set| set.len) as usize;
    let (mut walls, mut counts, mut trains) = (vec![], vec![], vec![]);
    let (mut before, mut energy) = (totals(sim), None);
    let kept = kept(sim);
    for _ in 0..args.repeats.max(1) {
        (counts, trains) = (vec![0_u32; n], vec![vec![]; n]);
        before = totals(sim);
        let (used, since) = (joules(), Instant::now());
        run(sim, steps, &mut batch, |trial, step, neuron| {
            counts[neuron] += 1;
            if trial == TrialChoice::default() && kept[neuron] {
                trains[neuron].push(step);
            }
        })?;
        walls.push(since.elapsed().as_secs_f64());
        energy = used.zip(joules()).map(|(before, after)| after - before);
    }
    walls.sort_by(f64::total_cmp);
    let wall_s = walls[walls.len() / 2];
    let totals: Vec<(String, u64)> =
        totals(sim).into_iter().zip(&before).map(|((name, after), (_, before))| (name, after - before)).collect();
    let events = totals.iter().find(|(name, n)| name == "synaptic_events" && *n > 0).map(|(_, n)| *n as f64);
    let trials = sim.trials();
    let simulated = secs_per_step.map(|secs| secs * steps as f64 * f64::from(trials));
    Ok(Row {
        device: String::new(),
        trials,
        steps,
        wall_s,
        wall_s_range: (walls[0], walls[walls.len() - 1]),
        steps_per_s: steps as f64 * f64::from(trials) / wall_s,
        realtime_factor: simulated.map(|secs| secs / wall_s),
        prepare_s: 0.0,
        start_s: 0.0,
        memory_bytes: sim.memory().total(),
        totals,
        energy_j: energy,
        nj_per_synaptic_event: energy.zip(events).map(|(joules, events)| joules * 1e9 / events),
        populations: simulated.map_or_else(Vec::new, |secs| populations(sim, &counts, &trains, secs)),
        hash: sim.digest(0).hash,
    })
}

/// Returns the totals of a simulation, summed over its trials.
fn totals(sim: &dyn Simulation) -> Vec<(String, u64)> {
    let mut sums = sim.digest(0).totals;
    for trial in 1..sim.trials() {
        for (sum, (_, more)) in sums.iter_mut().zip(sim.digest(trial).totals) {
            sum.1 += more;
        }
    }
    sums
}

/// Runs steps in batches and calls `found` with trial, step and neuron of each spike.
fn run(
    sim: &mut dyn Simulation,
    steps: u64,
    batch: &mut u64,
    mut found: impl FnMut(TrialChoice, u32, usize),
) -> Result<(), SimError> {
    let (mut left, mut pass) = (steps, Pass::default());
    while left > 0 {
        let since = Instant::now();
        let now = left.min(*batch);
        sim.advance(now as u32, &mut pass)?;
        let mut frame = Frame::default();
        sim.sample(&mut frame)?;
        for (key, reading) in &frame.readings {
            if let Reading::Spikes(spikes) = reading {
                spikes.iter().for_each(|spike| found(key.trial, spike.step, spike.lane as usize));
            }
        }
        left -= now;
        let ratio = (BATCH_SECS / since.elapsed().as_secs_f64().max(1e-9)).clamp(0.5, 2.0);
        *batch = ((*batch as f64 * ratio).round() as u64).clamp(1, 1 << 16);
    }
    Ok(())
}

/// Returns, for each neuron, whether it is among the first [`KEPT`] neurons of its population.
fn kept(sim: &dyn Simulation) -> Vec<bool> {
    let Some(set) = sim.sets().first() else { return vec![] };
    let Some(column) = set.columns.first() else { return (0..set.len as usize).map(|i| i < KEPT).collect() };
    let mut seen = vec![0; column.labels.len()];
    let first = |code: &u16| {
        let seen = &mut seen[usize::from(*code)];
        *seen += 1;
        *seen <= KEPT
    };
    column.codes.iter().map(first).collect()
}

/// Returns rate and coefficient of variation for each label of the first column of the neurons.
fn populations(sim: &dyn Simulation, counts: &[u32], trains: &[Vec<u32>], secs: f64) -> Vec<Population> {
    let Some(column) = sim.sets().first().and_then(|set| set.columns.first()) else { return vec![] };
    let of = |(code, name): (usize, &String)| {
        let own = || (0..counts.len()).filter(|i| usize::from(column.codes[*i]) == code);
        let neurons = own().count() as u32;
        let spikes: u64 = own().map(|i| u64::from(counts[i])).sum();
        let variations = own().filter(|i| trains[*i].len() > MIN_SPIKES);
        let variations = variations.filter_map(|i| spike_stats::interval_stats(&trains[i]).1);
        let cv = spike_stats::mean_and_variance(variations).map(|(mean, _)| mean);
        Population { name: name.clone(), neurons, rate_hz: spikes as f64 / f64::from(neurons.max(1)) / secs, cv }
    };
    column.labels.iter().enumerate().map(of).filter(|p| p.neurons > 0).collect()
}
