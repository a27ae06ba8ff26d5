//! `neuropil bench taps`: cost of readings for the screen in a running simulation of any kind.

use super::{
    bench_args::BenchArgs, device::Chosen, error::CliError, progress::ProgressLine, run::base_of, session,
    stdout::print_line,
};
use crate::{
    gpu::Pass,
    project,
    sim::{Digest, Frame, Shape, SimError, Simulation, Tap},
};
use serde::Serialize;
use serde_json::json;
use std::{
    path::Path,
    time::{Duration, Instant},
};

/// Interval between two readings of states, and target duration of a batch in seconds; both equal those of the engine.
const READ_EVERY: Duration = Duration::from_millis(16);
const BATCH_SECS: f64 = 0.008;
/// Duration of a measurement without taps, seconds.
const SECS: f64 = 1.0;
/// Number of elements that a series over elements reads.
const N_CHOSEN: u32 = 8;

#[derive(Serialize)]
struct Row {
    /// Name of the case.
    case: &'static str,
    device: String,
    /// Number of steps of a measurement, from step 0.
    steps: u64,
    /// Median number of steps per second, without taps and with taps.
    without: f64,
    with: f64,
    /// Median relative difference of the pairs of measurements, percent.
    change_percent: f64,
    /// Mean time for which the simulation waits for a reading of fields, ms.
    reading_ms: f64,
    /// Whether hash and totals at the end are equal with and without taps.
    same_digest: bool,
}

/// Benchmarks the project of `--project`. Fails if the project cannot be read or simulated.
pub(super) fn bench(args: &BenchArgs, mut chosen: Chosen) -> Result<(), CliError> {
    let [path] = &args.project[..] else {
        return Err(CliError::Usage("bench taps needs one --project FILE".to_owned()));
    };
    let (mut project, _) = project::open(path)?;
    for text in &args.set {
        project.set(text, Path::new("."))?;
    }
    let prepared = session::prepare(&project, &base_of(path), false, &ProgressLine::new())?;
    let mut sim = session::start(&*prepared, project.seed, &mut chosen)?;
    let mut rows = vec![];
    for (case, taps) in cases(&*sim) {
        rows.push(measure(&mut *sim, case, &taps, args.repeats, &chosen.name)?);
    }
    for row in &rows {
        if args.json {
            continue;
        }
        let Row { case, steps, without, with, change_percent, reading_ms, same_digest, .. } = row;
        let digest = if *same_digest { "same hash" } else { "ANOTHER HASH" };
        print_line!(
            "{case:34} {without:12.1} steps/s without, {with:12.1} with: {change_percent:+6.2} %, {reading_ms:.3} ms per reading  ({steps} steps, {digest})"
        );
    }
    if args.json {
        let project = path.display().to_string();
        print_line!("{:#}", json!({ "project": project, "app": crate::project::run::app_version(), "cases": rows }));
    }
    Ok(())
}

/// Returns the cases: three fields and two series, and, if the kind has series over elements, three fields and two series over
/// chosen elements.
fn cases(sim: &dyn Simulation) -> Vec<(&'static str, Vec<Tap>)> {
    let of = |is: fn(&Shape) -> bool, n: usize| -> Vec<Tap> {
        let all = (0..).zip(sim.probes()).filter(|(_, p)| is(&p.shape));
        all.take(n).map(|(probe, _)| Tap::of(probe)).collect()
    };
    let fields = of(|s| matches!(s, Shape::Field { .. }), 3);
    let mut chosen = of(|s| matches!(s, Shape::Series { of } if !of.is_empty()), 2);
    for tap in &mut chosen {
        let Shape::Series { of } = sim.probes()[usize::from(tap.probe)].shape else { continue };
        let len = sim.sets().iter().find(|set| set.name == of).map_or(0, |set| set.len);
        tap.elements = (0..len.min(N_CHOSEN)).collect();
    }
    let series = of(|s| matches!(s, Shape::Series { of: "" }), 2);
    let mut cases = vec![("3 fields, 2 series", [fields.clone(), series].concat())];
    if !chosen.is_empty() {
        cases.push(("3 fields, 2 series of 8 elements", [fields, chosen].concat()));
    }
    cases
}

fn measure(
    sim: &mut dyn Simulation,
    case: &'static str,
    taps: &[Tap],
    repeats: u32,
    device: &str,
) -> Result<Row, SimError> {
    let steps = steps_in(sim, SECS)?;
    let (mut pairs, mut same_digest, mut readings) = (vec![], true, Loop::default());
    for _ in 0..repeats.max(1) {
        let (without, untapped, _) = timed(sim, &[], steps)?;
        let (with, tapped, read) = timed(sim, taps, steps)?;
        same_digest &= untapped == tapped;
        pairs.push((steps as f64 / without, steps as f64 / with));
        (readings.n_readings, readings.reading_secs) =
            (readings.n_readings + read.n_readings, readings.reading_secs + read.reading_secs);
    }
    sim.tap(&[])?;
    Ok(Row {
        case,
        device: device.to_owned(),
        steps,
        without: median(pairs.iter().map(|p| p.0)),
        with: median(pairs.iter().map(|p| p.1)),
        change_percent: median(pairs.iter().map(|p| 100.0 * (p.1 / p.0 - 1.0))),
        reading_ms: 1e3 * readings.reading_secs / f64::from(readings.n_readings.max(1)),
        same_digest,
    })
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Returns the number of steps from step 0 that take about `secs` seconds without taps; at least 1. Fails if the simulation
/// fails.
fn steps_in(sim: &mut dyn Simulation, secs: f64) -> Result<u64, SimError> {
    sim.tap(&[])?;
    sim.rewind()?;
    let (mut loops, start) = (Loop::default(), Instant::now());
    while start.elapsed().as_secs_f64() < secs {
        loops.batch(sim, u64::MAX)?;
    }
    Ok(sim.clock().step.max(1))
}

/// Runs `steps` steps from step 0. Returns the wall time in seconds, the final digest, and the loop with its readings.
/// Fails if the simulation fails.
fn timed(sim: &mut dyn Simulation, taps: &[Tap], steps: u64) -> Result<(f64, Digest, Loop), SimError> {
    sim.tap(taps)?;
    sim.rewind()?;
    let (mut loops, start) = (Loop::default(), Instant::now());
    while sim.clock().step < steps {
        loops.batch(sim, steps)?;
    }
    Ok((start.elapsed().as_secs_f64(), sim.digest(0), loops))
}

/// Loop that runs batches and takes readings as the engine does.
#[derive(Default)]
struct Loop {
    steps: u32,
    last_read: Option<Instant>,
    n_readings: u32,
    reading_secs: f64,
    pass: Pass,
}

impl Loop {
    /// Runs one batch, at most up to step `end`, and samples the taps. Reads fields only if they are due. Fails if the
    /// simulation fails.
    fn batch(&mut self, sim: &mut dyn Simulation, end: u64) -> Result<(), SimError> {
        let (start, left) = (Instant::now(), end - sim.clock().step);
        let steps = u64::from(self.steps.max(1)).min(left) as u32;
        sim.advance(steps, &mut self.pass)?;
        let states = self.last_read.is_none_or(|last| last.elapsed() >= READ_EVERY);
        let before = Instant::now();
        sim.sample(&mut Frame { may_lag: true, histories_only: !states, ..Frame::default() })?;
        if states {
            self.last_read = Some(Instant::now());
            self.n_readings += 1;
            self.reading_secs += before.elapsed().as_secs_f64();
        }
        let ratio = (BATCH_SECS / start.elapsed().as_secs_f64().max(1e-9)).clamp(0.5, 2.0);
        if u64::from(steps) < left {
            self.steps = ((f64::from(steps) * ratio).round() as u32).clamp(1, 1 << 16);
        }
        Ok(())
    }
}
