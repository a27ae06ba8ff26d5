//! Benchmarks of coupling algorithms and of whole generations.
//!
//! | case | measurement |
//! | --- | --- |
//! | `coupling-METHOD-N` | one coupling sum: S and d of N nuclei, including preparation |
//! | `default-N` | generations of the default preset with N nuclei |
//! | `kuramoto-N` | the classical Kuramoto model: four mean-field sums per generation |
//! | `substep-INTEGRATOR-N` | one substep of coupled phases: one coupling sum (Euler) or four (RK4) |

use super::{
    choices::{CouplingMethod, Dynamics, Integrator},
    kind::NucleiKind,
    params::Params,
};
use crate::{
    gpu::{
        Pass,
        timing::{self, Row},
    },
    params::path,
    sim::{BenchOptions, BenchRow, BuildContext, Device, Kind, Progress, SimError, Simulation, StartRequest},
};
use std::{sync::Arc, time::Instant};

/// Measurement of one case.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct CaseRow {
    pub name: String,
    /// Name of the device.
    pub device: String,
    /// Number of nuclei at the start and at the end.
    pub n: (u64, u64),
    /// Number of generations timed.
    pub steps: u64,
    /// Median wall time of the repeats, seconds.
    pub wall_s: f64,
    /// Generations per second.
    pub steps_per_s: f64,
    /// Mean time of one coupling sum, ms.
    pub coupling_ms: f64,
    /// Mean time to prepare one coupling sum, ms.
    pub plan_ms: f64,
    /// Time of one substep as part of a generation (on a GPU inside a graph), µs; 0 if not measured.
    pub substep_us: f64,
    /// N² pairs per second, including preparation, for any algorithm.
    pub pairs_per_s: f64,
    /// Memory of the simulation, bytes.
    pub memory_bytes: u64,
    /// Timings by kernel or CPU stage.
    pub timings: Vec<Row>,
}

struct Case {
    name: String,
    params: Params,
}

/// Number of substeps in the cases that measure them.
const SUBSTEPS: u32 = 101;

/// Minimum duration of a measurement, seconds.
const MIN_WALL_S: f64 = 0.5;

/// Returns a case with a constant population, so that only the coupling algorithm differs.
fn coupling(method: CouplingMethod, n: u32) -> Case {
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

/// Returns a case with a constant population and moving phases.
fn substep(integrator: Integrator, n: u32) -> Case {
    let mut case = coupling(CouplingMethod::Auto, n);
    let phases = &mut case.params.phases;
    (phases.dynamics, phases.integrator, phases.substeps) = (Dynamics::Kuramoto, integrator, SUBSTEPS);
    case.name = format!("substep-{}-{n}", format!("{integrator:?}").to_lowercase());
    case
}

fn cases(on: &Device) -> Vec<Case> {
    let mut cases = vec![];
    // For larger populations, one sum over all pairs takes minutes.
    let on_gpu = matches!(on, Device::Cuda(_));
    let most_pairs = if on_gpu { 262_144 } else { 16_384 };
    for n in [4096, 16_384, 65_536, 262_144] {
        cases.extend([CouplingMethod::Naive].into_iter().filter(|_| n <= 4096).map(|m| coupling(m, n)));
        cases.extend([CouplingMethod::Tiled].into_iter().filter(|_| n <= most_pairs).map(|m| coupling(m, n)));
        cases.extend([CouplingMethod::Dense].into_iter().filter(|_| n <= 4096 && !on_gpu).map(|m| coupling(m, n)));
        cases.extend([CouplingMethod::Scan1d].into_iter().filter(|_| !on_gpu).map(|m| coupling(m, n)));
        cases.extend([CouplingMethod::Fast, CouplingMethod::MeanField].map(|m| coupling(m, n)));
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

/// Runs the selected cases. Fails if no case is selected.
pub fn run(options: &BenchOptions, progress: &Progress) -> Result<Vec<BenchRow>, SimError> {
    Ok(measure_cases(options, progress)?.iter().map(|row| BenchRow::new(row, line(row))).collect())
}

fn line(row: &CaseRow) -> String {
    let substep = if row.substep_us > 0.0 { format!("  {:8.2} µs/substep", row.substep_us) } else { String::new() };
    format!(
        "{:26} {:10.2} generations/s  coupling {:9.3} ms  prepared in {:9.3} ms  {:8.2} G pairs/s  {:7.1} MB  {} nuclei{substep}",
        row.name,
        row.steps_per_s,
        row.coupling_ms,
        row.plan_ms,
        row.pairs_per_s * 1e-9,
        row.memory_bytes as f64 * 1e-6,
        row.n.1
    )
}

/// Measures the selected cases. Fails if no case is selected, a measurement fails, or `progress` is cancelled.
fn measure_cases(options: &BenchOptions, progress: &Progress) -> Result<Vec<CaseRow>, SimError> {
    let with_details = |case: &Case| options.only.as_ref().is_none_or(|only| case.name.starts_with(only.as_str()));
    let all = cases(&options.device);
    let names = all.iter().map(|case| case.name.clone()).collect::<Vec<_>>().join(", ");
    let cases: Vec<Case> = all.into_iter().filter(with_details).collect();
    if cases.is_empty() {
        return Err(SimError::Input(format!("there is no such case; the cases are {names}")));
    }
    let mut rows = vec![];
    for (at, case) in cases.iter().enumerate() {
        progress.report(&case.name, at as f32 / cases.len() as f32)?;
        rows.push(measure(case, options)?);
    }
    Ok(rows)
}

fn measure(case: &Case, options: &BenchOptions) -> Result<CaseRow, SimError> {
    let setup = Arc::new(NucleiKind::prepare(&case.params, &BuildContext::default(), &Progress::default())?);
    let mut sim = NucleiKind::start(StartRequest::new(
        &case.params,
        &BuildContext { seed: 1, ..BuildContext::default() },
        setup,
        &options.device,
        &Progress::default(),
    ))?;
    let first = timed(&mut *sim, 1)?;
    let steps = ((MIN_WALL_S / first.max(1e-9)).ceil() as u64).clamp(1, 10_000);
    let mut walls = (0..options.repeats.max(1)).map(|_| timed(&mut *sim, steps)).collect::<Result<Vec<f64>, _>>()?;
    walls.sort_by(f64::total_cmp);
    let wall_s = walls[walls.len() / 2];
    let mut pass = Pass::measuring();
    sim.advance(steps.min(20) as u32, &mut pass)?;
    let (coupling_ms, plan_ms) = (once(&pass, SUMS), once(&pass, PLAN));
    let substep_us = if case.params.phases.substeps == SUBSTEPS {
        (wall_s - time_single_substep(&mut *sim, &case.params, steps)?) / steps as f64 * 1e6 / f64::from(SUBSTEPS - 1)
    } else {
        0.0
    };
    let n = sim.digest(0).totals.iter().find(|(name, _)| name == "alive").map_or(0, |(_, n)| *n);
    Ok(CaseRow {
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
        memory_bytes: sim.memory().total(),
        timings: timing::report(&pass.timings, &sim.kernels()),
    })
}

/// Timing rows of one coupling sum, and of its preparation: stages on the CPU, kernels on a GPU. The launches of the first
/// measured row are the number of sums.
const SUMS: &[&str] = &[
    "coupling",
    "couple_naive",
    "reduce_tiles",
    "couple_tiled",
    "couple_mean_field",
    "sum_phasors",
    "gather_far",
    "sum_near",
    "scan_far",
    "scan_far_offsets",
];
const PLAN: &[&str] = &["plan", "sort_blocks", "sort_blocks_by_h", "merge_by_x", "merge_by_h"];

/// Computes the total time of the rows `names` per sum, ms.
fn once(pass: &Pass, names: &[&str]) -> f64 {
    let rows: Vec<_> = names.iter().filter_map(|name| pass.timings.iter().find(|t| t.name == *name)).collect();
    let times = rows.first().map_or(1, |t| t.launches.max(1));
    rows.iter().map(|t| t.nanos as f64 * 1e-6).sum::<f64>() / f64::from(times)
}

/// Measures the wall time of `steps` generations with a single substep, seconds.
fn time_single_substep(sim: &mut dyn Simulation, params: &Params, steps: u64) -> Result<f64, SimError> {
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
