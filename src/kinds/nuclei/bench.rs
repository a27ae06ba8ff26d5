//! How fast populations are: the ways to compute the coupling side by side, and whole generations.
//!
//! | case | what it measures |
//! | --- | --- |
//! | `coupling-METHOD-N` | one sum over all pairs: S and d of N nuclei, prepared anew |
//! | `default-N` | generations of the default preset with N nuclei |
//! | `kuramoto-N` | the classical model: four mean fields per generation |
//! | `substep-INTEGRATOR-N` | one substep of coupled phases: one sum over all pairs (Euler) or four (RK4) |

use super::{Dynamics, Integrator, Method, NucleiKind, Params};
use crate::{
    gpu::{
        Pass,
        timing::{self, Row},
    },
    params::path,
    sim::{BuildContext, Device, Kind, Progress, SimError, Simulation},
};
use std::{sync::Arc, time::Instant};

/// What to measure.
#[derive(Clone)]
pub struct BenchOptions {
    /// On what.
    pub device: Device,
    /// How its name is shown.
    pub device_name: String,
    /// Measurements per case; the median counts.
    pub repeats: u32,
    /// Only cases whose names begin like this.
    pub only: Option<String>,
}

/// One measurement.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct BenchRow {
    /// The case.
    pub name: String,
    /// On what it ran.
    pub device: String,
    /// Nuclei at the start, and at the end.
    pub n: (u64, u64),
    /// Generations timed.
    pub steps: u64,
    /// Time they took, seconds; the median of the repeats.
    pub wall_s: f64,
    /// Generations per second.
    pub steps_per_s: f64,
    /// Mean time of one sum over all pairs, ms.
    pub coupling_ms: f64,
    /// Mean time of its preparation, ms.
    pub plan_ms: f64,
    /// Time of one substep, µs, as part of a whole generation: on a GPU inside a graph. 0 where it is not asked for.
    pub substep_us: f64,
    /// Pairs per second of sum and preparation together, whether or not they are visited one by one.
    pub pairs_per_s: f64,
    /// Memory held by the simulation.
    pub memory_bytes: u64,
    /// Where the time goes.
    pub timings: Vec<Row>,
}

struct Case {
    name: String,
    params: Params,
}

/// Substeps of the cases that measure them.
const SUBSTEPS: u32 = 101;

/// Least time a case is measured for, seconds.
const LONG_ENOUGH: f64 = 0.5;

/// A population of that size which is measured, but stays as it is: only the coupling differs between cases.
fn coupling(method: Method, n: u32) -> Case {
    let mut params = Params::default();
    let population = &mut params.population;
    (population.n_start, population.capacity) = (n, n);
    (population.k_worst, population.m_fuse, population.death_rate) = (0, 0, 0.0);
    params.phases.dynamics = Dynamics::Still;
    params.coupling.method = method;
    Case { name: format!("coupling-{}-{n}", format!("{method:?}").to_lowercase()), params }
}

fn default(n: u32) -> Case {
    let mut params = Params::default();
    (params.population.n_start, params.population.capacity) = (n, n + n / 4);
    params.population.worst_share = 0.01;
    Case { name: format!("default-{n}"), params }
}

/// A population that stays as it is, and whose phases move.
fn substep(integrator: Integrator, n: u32) -> Case {
    let mut case = coupling(Method::Auto, n);
    let phases = &mut case.params.phases;
    (phases.dynamics, phases.integrator, phases.substeps) = (Dynamics::Kuramoto, integrator, SUBSTEPS);
    case.name = format!("substep-{}-{n}", format!("{integrator:?}").to_lowercase());
    case
}

fn cases(on: &Device) -> Vec<Case> {
    let mut cases = vec![];
    // Beyond these sizes a single sum over all pairs takes a processor longer than anybody waits.
    let on_gpu = matches!(on, Device::Cuda(_));
    let most_pairs = if on_gpu { 262_144 } else { 16_384 };
    for n in [4096, 16_384, 65_536, 262_144] {
        cases.extend([Method::Naive].into_iter().filter(|_| n <= 4096).map(|m| coupling(m, n)));
        cases.extend([Method::Tiled].into_iter().filter(|_| n <= most_pairs).map(|m| coupling(m, n)));
        cases.extend([Method::Dense].into_iter().filter(|_| n <= 4096 && !on_gpu).map(|m| coupling(m, n)));
        cases.extend([Method::Scan1d].into_iter().filter(|_| !on_gpu).map(|m| coupling(m, n)));
        cases.extend([Method::Fast, Method::MeanField].map(|m| coupling(m, n)));
    }
    cases.extend([128, 4096, 65_536, 262_144].map(default));
    for n in [4096, 262_144] {
        let mut params = Params::kuramoto(n);
        params.phases.coupling = 4.0;
        cases.push(Case { name: format!("kuramoto-{n}"), params });
    }
    let sizes = [1024, 4096, 16_384].into_iter().filter(|n| on_gpu || *n <= 4096);
    cases.extend(sizes.flat_map(|n| [Integrator::Euler, Integrator::Rk4].map(|i| substep(i, n))));
    cases
}

/// Runs the cases.
pub fn run(options: &BenchOptions, progress: &Progress) -> Result<Vec<BenchRow>, SimError> {
    let wanted = |case: &Case| options.only.as_ref().is_none_or(|only| case.name.starts_with(only.as_str()));
    let all = cases(&options.device);
    let names = all.iter().map(|case| case.name.clone()).collect::<Vec<_>>().join(", ");
    let cases: Vec<Case> = all.into_iter().filter(wanted).collect();
    if cases.is_empty() {
        return Err(SimError::Input(format!("there is no such case; there is {names}")));
    }
    let mut rows = vec![];
    for (at, case) in cases.iter().enumerate() {
        progress.report(&case.name, at as f32 / cases.len() as f32)?;
        rows.push(measure(case, options)?);
    }
    Ok(rows)
}

fn measure(case: &Case, options: &BenchOptions) -> Result<BenchRow, SimError> {
    let setup = Arc::new(NucleiKind::prepare(&case.params, &BuildContext::default(), &Progress::default())?);
    let mut sim =
        NucleiKind::start(&case.params, &BuildContext { seed: 1, ..BuildContext::default() }, setup, &options.device)?;
    let first = timed(&mut *sim, 1)?;
    let steps = ((LONG_ENOUGH / first.max(1e-9)).ceil() as u64).clamp(1, 10_000);
    let mut walls = (0..options.repeats.max(1)).map(|_| timed(&mut *sim, steps)).collect::<Result<Vec<f64>, _>>()?;
    walls.sort_by(f64::total_cmp);
    let wall_s = walls[walls.len() / 2];
    let mut pass = Pass::measuring();
    sim.advance(steps.min(20) as u32, &mut pass)?;
    let (coupling_ms, plan_ms) = (once(&pass, SUMS), once(&pass, PLAN));
    let substep_us = if case.params.phases.substeps == SUBSTEPS {
        (wall_s - alone(&mut *sim, &case.params, steps)?) / steps as f64 * 1e6 / f64::from(SUBSTEPS - 1)
    } else {
        0.0
    };
    let n = sim.digest().totals.iter().find(|(name, _)| name == "alive").map_or(0, |(_, n)| *n);
    Ok(BenchRow {
        name: case.name.clone(),
        device: options.device_name.clone(),
        n: (case.params.population.n_start.into(), n),
        steps,
        wall_s,
        steps_per_s: steps as f64 / wall_s,
        coupling_ms,
        plan_ms,
        substep_us,
        pairs_per_s: (n * n) as f64 / ((coupling_ms + plan_ms) * 1e-3).max(1e-12),
        memory_bytes: sim.memory().iter().map(|(_, bytes)| bytes).sum(),
        timings: timing::report(&pass.timings, &sim.kernels()),
    })
}

/// Rows that one sum over all pairs is made of, and those of its preparation: spans on the CPU, kernels on a GPU. The
/// first that was measured says how often it was made.
const SUMS: &[&str] = &[
    "coupling",
    "couple_naive",
    "couple_reduce",
    "couple_tiled",
    "couple_meanfield",
    "sum_rotors",
    "far_gather",
    "near",
    "far_scan",
    "far_offsets",
];
const PLAN: &[&str] = &["plan", "sort_blocks", "order_blocks", "merge_x", "merge_h"];

/// Milliseconds of all these rows together, once.
fn once(pass: &Pass, names: &[&str]) -> f64 {
    let rows: Vec<_> = names.iter().filter_map(|name| pass.timings.iter().find(|t| t.name == *name)).collect();
    let times = rows.first().map_or(1, |t| t.launches.max(1));
    rows.iter().map(|t| t.nanos as f64 * 1e-6).sum::<f64>() / f64::from(times)
}

/// The same generations with a single substep.
fn alone(sim: &mut dyn Simulation, params: &Params, steps: u64) -> Result<f64, SimError> {
    let one = path::parse(params, "phases.substeps=1").map_err(|e| SimError::Input(e.to_string()))?;
    sim.set(&one)?;
    timed(sim, 1)?;
    timed(sim, steps)
}

fn timed(sim: &mut dyn Simulation, steps: u64) -> Result<f64, SimError> {
    let since = Instant::now();
    sim.advance(steps as u32, &mut Pass::default())?;
    Ok(since.elapsed().as_secs_f64())
}
