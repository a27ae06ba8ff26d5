//! Benchmarks of the fly brain: three stimuli that load different parts of the step, and the FastFly model.
//!
//! | case | stimulus | purpose |
//! | --- | --- | --- |
//! | `sugar21` | 21 sugar neurons at 150 Hz | a nearly silent network: the cost of a step |
//! | `gustatory408` | 408 gustatory neurons at 150 Hz | sparse activity: deliveries |
//! | `broad10` | kicks of 1 mV at 200 Hz to every neuron | 8 to 10 Hz everywhere: all parts |
//! | `fastfly` | noise in every unit of the [`leaky`](super::leaky) model | comparison with FastFly, in steps of 1 ms |

use super::{
    kind::SpikingKind,
    params::{Effect, Intervention, NeuronModel, Params, Source},
    probes,
    setup::Setup,
};
use crate::{
    gpu::{
        Pass,
        timing::{self, Row},
    },
    sim::{
        BenchOptions, BenchRow, BuildContext, Device, Frame, Kind, Progress, Reading, SimError, Simulation,
        StartRequest, Tap,
    },
};
use std::{path::Path, sync::Arc, time::Instant};

/// Number of warm-up steps before timing.
const UNTIMED_STEPS: u32 = 400;

/// Returns the number of steps per call of `advance`, similar to the engine's choice for batches of 8 ms.
fn batch_on(device: &Device, secs_per_step: f64) -> u32 {
    match device {
        Device::Cpu { .. } => 1000,
        Device::Cuda(_) => (0.8 / secs_per_step).round() as u32,
    }
}

/// Measurement of one case.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct CaseRow {
    pub name: String,
    /// Name of the device.
    pub device: String,
    /// Simulated time that was timed, seconds.
    pub bio_s: f64,
    /// Median wall time of the repeats, seconds.
    pub wall_s: f64,
    /// Shortest and longest wall time of the repeats, seconds.
    pub wall_s_range: (f64, f64),
    /// Wall milliseconds per simulated second.
    pub ms_per_bio_s: f64,
    /// Ratio of simulated time to wall time.
    pub realtime_factor: f64,
    /// Wall time per step, µs.
    pub us_per_step: f64,
    /// Spikes in the timed interval.
    pub spikes: u64,
    /// Synaptic events in the timed interval.
    pub synaptic_events: u64,
    /// Synaptic events per second of wall time.
    pub events_per_wall_s: f64,
    /// Memory of the simulation, bytes.
    pub memory_bytes: u64,
    /// Time to read or generate the network and to start, seconds.
    pub build_s: f64,
    /// Mean rate of all neurons, Hz.
    pub mean_rate_hz: f64,
    /// Description of the network, number of active neurons, and whether the spike statistics are as expected.
    pub note: String,
    /// Time per kernel or CPU stage, from an additional profiled interval.
    pub timings: Vec<Row>,
}

impl CaseRow {
    /// Returns the row of a case that could not be measured.
    fn missing(name: &str, device: &str, why: String) -> Self {
        Self {
            name: name.to_owned(),
            device: device.to_owned(),
            note: format!("NOT MEASURED: {why}"),
            ..Self::default()
        }
    }
}

struct Case {
    name: &'static str,
    model: NeuronModel,
    effect: Effect,
    rate_hz: f64,
    weight_mv: f64,
    /// Query for the stimulated neurons if the network has no `stim_<name>.csv`.
    query: &'static str,
    /// Number of spikes per simulated second on the synthetic fly network, and the tolerated relative error.
    expected: (f64, f64),
}

const CASES: &[Case] = &[
    Case {
        name: "sugar21",
        model: NeuronModel::ExponentialLif,
        effect: Effect::Poisson,
        rate_hz: 150.0,
        weight_mv: 68.75,
        query: "first 21 of class = gustatory",
        expected: (4_132.0, 0.1),
    },
    Case {
        name: "gustatory408",
        model: NeuronModel::ExponentialLif,
        effect: Effect::Poisson,
        rate_hz: 150.0,
        weight_mv: 68.75,
        query: "class = gustatory",
        expected: (95_850.0, 0.03),
    },
    Case {
        name: "broad10",
        model: NeuronModel::ExponentialLif,
        effect: Effect::Noise,
        rate_hz: 200.0,
        weight_mv: 1.0,
        query: "all",
        expected: (7.94 * 138_639.0, 0.05),
    },
    Case {
        name: "fastfly",
        model: NeuronModel::NoisyLeaky,
        effect: Effect::Noise,
        rate_hz: 0.0, // its noise is part of the model
        weight_mv: 0.0,
        query: "all",
        expected: (28.67 * 138_639.0, 0.03),
    },
];

/// Number of neurons and of connections in the synthetic network for which `Case::expected` was measured.
const REFERENCE_SIZE: (u32, usize) = (138_639, 15_091_983);

/// Runs the selected cases. Fails if no case is selected or the simulated time is not positive.
pub fn run(options: &BenchOptions, progress: &Progress) -> Result<Vec<BenchRow>, SimError> {
    Ok(measure_cases(options, progress)?.iter().map(|row| BenchRow::new(row, line(row))).collect())
}

fn line(row: &CaseRow) -> String {
    format!(
        "{:14} {:7.2}x real time  {:8.2} µs/step  {:7.2} Hz  {:9} spikes  {:6.1} M events/s  {:6.1} MB  {}",
        row.name,
        row.realtime_factor,
        row.us_per_step,
        row.mean_rate_hz,
        row.spikes,
        row.events_per_wall_s * 1e-6,
        row.memory_bytes as f64 * 1e-6,
        row.note
    )
}

/// Measures the selected cases. Fails if no case is selected, the simulated time is 0, or a measurement fails.
fn measure_cases(options: &BenchOptions, progress: &Progress) -> Result<Vec<CaseRow>, SimError> {
    let wanted = |c: &&Case| options.only.as_ref().is_none_or(|o| o == c.name);
    let cases: Vec<&Case> = CASES.iter().filter(wanted).collect();
    if cases.is_empty() {
        let names: Vec<&str> = CASES.iter().map(|c| c.name).collect();
        return Err(SimError::Input(format!("there is no such case; there is {}", names.join(", "))));
    }
    if !(options.simulated_s > 0.0 && options.simulated_s.is_finite()) {
        return Err(SimError::Input("the simulated time must be more than 0 s".to_owned()));
    }
    let mut params = Params::default();
    if let Some(path) = &options.network {
        params.network.source = Source::Files;
        params.network.path = path.display().to_string().into();
    }
    let context = BuildContext::default();
    let since = Instant::now();
    let setup = Arc::new(SpikingKind::prepare(&params, &context, progress)?);
    let prepared_s = since.elapsed().as_secs_f64();
    let alone = cases.len() == 1;
    let mut rows = vec![];
    for case in cases {
        match measure(case, &params, &context, &setup, options, prepared_s, progress) {
            // If a model has no backend for this device, the other cases are still measured.
            Err(SimError::NoDevice(why)) if !alone => rows.push(CaseRow::missing(case.name, &options.device_name, why)),
            row => rows.push(row?),
        }
    }
    Ok(rows)
}

fn measure(
    case: &Case,
    params: &Params,
    context: &BuildContext,
    setup: &Arc<Setup>,
    options: &BenchOptions,
    prepared_s: f64,
    progress: &Progress,
) -> Result<CaseRow, SimError> {
    let mut params = params.clone();
    params.network.model = case.model;
    params.interventions.push(Intervention {
        name: case.name.to_owned(),
        effect: case.effect,
        rate_hz: case.rate_hz,
        weight_mv: case.weight_mv,
        target: target(case, options.network.as_deref()).into(),
        ..Intervention::default()
    });
    let since = Instant::now();
    let mut sim =
        SpikingKind::start(StartRequest::new(&params, context, setup.clone(), &options.device, &Progress::default()))?;
    let build_s = prepared_s + since.elapsed().as_secs_f64();
    sim.tap(&[Tap::of(probes::SPIKES)])?;
    sim.advance(UNTIMED_STEPS, &mut Pass::default())?;
    sim.sample(&mut Frame::default())?;

    let steps = (options.simulated_s / SpikingKind::time_base(&params).per_step()).round().max(1.0) as u64;
    let batch = batch_on(&options.device, SpikingKind::time_base(&params).per_step());
    let mut fired = vec![false; setup.n() as usize];
    let mut stretches = vec![];
    for repeat in 0..options.repeats.max(1) {
        let done = |left: u64| (f64::from(repeat + 1) - left as f64 / steps as f64) / f64::from(options.repeats.max(1));
        let report = |left| progress.report(case.name, done(left) as f32);
        stretches.push(stretch(&mut *sim, steps, batch, &mut fired, report)?);
    }
    stretches.sort_by(|a, b| a.wall_s.total_cmp(&b.wall_s));
    let Stretch { wall_s, spikes, synaptic_events } = stretches[stretches.len() / 2];
    let bio_s = steps as f64 * SpikingKind::time_base(&params).per_step();
    let n_active = fired.iter().filter(|f| **f).count();
    Ok(CaseRow {
        name: case.name.to_owned(),
        device: options.device_name.clone(),
        bio_s,
        wall_s,
        wall_s_range: (stretches[0].wall_s, stretches[stretches.len() - 1].wall_s),
        ms_per_bio_s: wall_s * 1e3 / bio_s,
        realtime_factor: bio_s / wall_s,
        us_per_step: wall_s * 1e6 / steps as f64,
        spikes,
        synaptic_events,
        events_per_wall_s: synaptic_events as f64 / wall_s,
        memory_bytes: sim.memory().total(),
        build_s,
        mean_rate_hz: spikes as f64 / f64::from(setup.n()) / bio_s,
        note: note(case, setup, options, spikes as f64 / bio_s, n_active),
        timings: profile(&mut *sim, batch)?,
    })
}

#[derive(Clone, Copy)]
struct Stretch {
    wall_s: f64,
    spikes: u64,
    synaptic_events: u64,
}

/// Times `steps` steps in batches, reading all spikes.
fn stretch(
    sim: &mut dyn Simulation,
    steps: u64,
    batch: u32,
    fired: &mut [bool],
    report: impl Fn(u64) -> Result<(), SimError>,
) -> Result<Stretch, SimError> {
    let before = totals(sim);
    let (mut wall_s, mut left) = (0.0, steps);
    let mut pass = Pass::default();
    while left > 0 {
        report(left)?;
        let now = left.min(batch.into());
        let since = Instant::now();
        sim.advance(now as u32, &mut pass)?;
        let mut frame = Frame::default();
        sim.sample(&mut frame)?;
        wall_s += since.elapsed().as_secs_f64();
        if let Some(Reading::Spikes(spikes)) = frame.reading(probes::SPIKES) {
            spikes.iter().for_each(|s| fired[s.lane as usize] = true);
        }
        left -= now;
    }
    let after = totals(sim);
    Ok(Stretch { wall_s, spikes: after.0 - before.0, synaptic_events: after.1 - before.1 })
}

/// Profiles one batch kernel by kernel.
fn profile(sim: &mut dyn Simulation, batch: u32) -> Result<Vec<Row>, SimError> {
    let mut pass = Pass::measuring();
    sim.advance(batch, &mut pass)?;
    sim.sample(&mut Frame::default())?;
    Ok(timing::report(&pass.timings, &sim.kernels()))
}

/// Returns the target of the stimulus: a list of neurons in the folder of the network, or a query.
fn target(case: &Case, network: Option<&Path>) -> String {
    let list = network.map(|folder| folder.join(format!("stim_{}.csv", case.name))).filter(|p| p.exists());
    list.map_or_else(|| case.query.to_owned(), |p| format!("file = '{}'", p.display()))
}

fn totals(sim: &dyn Simulation) -> (u64, u64) {
    let digest = sim.digest(0);
    let total = |name| digest.totals.iter().find(|(n, _)| n == name).map_or(0, |(_, v)| *v);
    (total("spikes"), total("synaptic_events"))
}

fn note(case: &Case, setup: &Setup, options: &BenchOptions, spikes_per_s: f64, active: usize) -> String {
    let size = (setup.n(), setup.connectivity.len());
    let sizes = format!("{} neurons, {} connections; {active} active", size.0, size.1);
    let (want, tolerance) = case.expected;
    if options.network.is_none() || size != REFERENCE_SIZE {
        return sizes;
    }
    // Short runs scatter more, because bursts are not independent spikes.
    let tolerance = tolerance * (1.0 / options.simulated_s).sqrt().max(1.0);
    let off = (spikes_per_s / want - 1.0).abs() > tolerance;
    let verdict = if off { "STATISTICS ARE OFF: this measurement does not count" } else { "statistics as expected" };
    format!("{sizes}; {spikes_per_s:.0} spikes per s, reference {want:.0} ± {:.0} %: {verdict}", tolerance * 100.0)
}
