//! `neuropil run --trials N`: runs one network with different random draws.
//!
//! Trial k (from 0) draws with seed + k. The network is shared and keeps the project's seed; a worker reuses its simulation and
//! restarts it with the seed of the next trial. Each trial has its own run folder `trials/000k/`; all folders are synced to
//! disk together at the end. `rates.csv` holds the mean rates if there are spikes.

use super::{
    args::RunArgs,
    device,
    error::CliError,
    progress::ProgressLine,
    run::{Job, check_taps, checked_taps, common, folder_for, pacing, run_start},
    session::{self, Outcome},
    signal,
    speed::{put_speed, speed_text},
    stdout::print_line,
};
use crate::{
    engine::{EndStatus, RecordingEnd, RecordingStart, Sink},
    experiment::ReusedSimulation,
    kinds::Prepared,
    num::digits,
    project::{
        DeferredSync, RunPlan, RunStart, RunWriter,
        folder::trial_folder,
        series::{rates, with_spikes},
        write_atomic,
    },
    sim::{Clock, Device, Digest, Execution, Shape, SimError, Simulation, Tap},
};
use serde_json::json;
use std::{
    path::Path,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU32, AtomicU64, Ordering},
    },
    time::Instant,
};

/// Result of one trial.
struct Trial {
    number: u32,
    seed: u64,
    outcome: Outcome,
}

/// Returns the number of trials of a series; `None` for a single run. `--trials 1` writes a series of one trial, the setting 1 a
/// single run. Fails for several trials in a sweep.
pub(super) fn wanted(plan: &RunPlan, args: &RunArgs) -> Result<Option<u32>, CliError> {
    let wanted = args.trials.or(Some(plan.trials).filter(|n| *n > 1));
    match wanted {
        Some(_) if args.sweep.is_some() => {
            Err(CliError::Usage("--sweep marks single runs: add --set run.trials=1".into()))
        }
        _ => Ok(wanted),
    }
}

pub(super) fn run(job: &Job, args: &RunArgs, n: u32) -> Result<(), CliError> {
    let plan = pacing(job, args.batch);
    let Some(until) = plan.until else {
        return Err(CliError::Usage("trials need an end: give --duration".into()));
    };
    check_taps(&job.project)?;
    let mut chosen = device::choose(job.project.run.device, job.project.run.gpu, job.project.run.threads)?;
    let began = Instant::now();
    let prepared = session::prepare(&job.project, &job.base, job.force, &ProgressLine::new())?;
    // The first simulation shows whether the device is usable, and which elements exist.
    let first = session::start(&*prepared, job.project.seed, &mut chosen)?;
    first.notices().iter().for_each(|notice| eprintln!("neuropil: {notice}"));
    let mut taps = checked_taps(job, &*prepared, &chosen.device, &*first)?;
    with_spikes(&mut taps, job.project.model.probes());
    let counted = first_spikes(job, &taps);
    let execution = first.execution();
    let setup_s = began.elapsed().as_secs_f64();
    let folder = folder_for(job, args.out.as_ref())?;
    let start = RunStart { trials: n, sets: first.sets(), ..run_start(job, &chosen.name, chosen.threads) };
    let _closing = signal::closing();
    let writer = RunWriter::create(&folder, start)?;
    let stepping = Instant::now();
    let series =
        Series { job, folder: &folder, prepared: &*prepared, taps: &taps, plan: &plan, chosen: &chosen, n, until };
    let trials = match series.run(first) {
        Ok(trials) => trials,
        Err(error) => {
            // The completed trials are valid runs, but the series is not.
            writer.fail(&error.to_string())?;
            return Err(error);
        }
    };
    let wall_s = stepping.elapsed().as_secs_f64();
    let end = Clock { step: until, base: job.project.model.time_base() };
    let digest = Digest::of_trials(trials.iter().map(|trial| trial.outcome.digest.clone()).collect());
    close(writer, &digest, end, execution)?;
    let mut rates_said = String::new();
    let mut active = 0;
    if let Some(noun) = counted {
        let (file, rates) = (folder.join("rates.csv"), rates(&folder, n, end)?.unwrap_or_default());
        active = rates.lines().count().saturating_sub(1);
        write_atomic(&file, rates.as_bytes(), false)?;
        rates_said = format!("{} {noun} with events; rates in {}", digits::group_digits(active as u64), file.display());
    }
    let sizes = trials.first().map_or(&[][..], |t| &t.outcome.n_elements);
    let mut out = common(job, &folder, &chosen.name, sizes);
    out["trials"] = trials.iter().map(trial_json).collect();
    out["totals"] = digest.totals.iter().map(|(n, v)| (n.clone(), json!(v))).collect::<serde_json::Map<_, _>>().into();
    out["hash"] = json!(digest.hash);
    out["steps"] = json!(until);
    put_speed(&mut out, until, n, end.base, wall_s);
    out["setup_s"] = json!(setup_s);
    out["wall_s"] = json!(wall_s);
    out["n_active"] = json!(active);
    if args.json {
        print_line!("{out:#}");
    } else {
        print_line!(
            "{}, {} on {}",
            digits::counted(n, "trial", "trials"),
            speed_text(u64::from(n) * until, end.base, wall_s),
            chosen.name
        );
        print_line!("{}", if rates_said.is_empty() { folder.display().to_string() } else { rates_said });
    }
    Ok(())
}

/// Returns the element set whose events `rates.csv` counts; `None` if no events are tapped.
fn first_spikes(job: &Job, taps: &[Tap]) -> Option<&'static str> {
    let probes = job.project.model.probes();
    taps.iter().find_map(|tap| match probes.get(usize::from(tap.probe))?.shape {
        Shape::Spikes { over } => Some(over),
        _ => None,
    })
}

fn trial_json(trial: &Trial) -> serde_json::Value {
    let digest = &trial.outcome.digest;
    let mut out = json!({
        "trial": trial.number,
        "seed": trial.seed,
        "hash": digest.hash,
        "wall_s": trial.outcome.wall_s,
    });
    for (name, value) in &digest.totals {
        out[name] = json!(value);
    }
    out
}

struct Series<'a> {
    job: &'a Job,
    folder: &'a Path,
    prepared: &'a dyn Prepared,
    taps: &'a [Tap],
    plan: &'a session::Pacing,
    chosen: &'a device::Chosen,
    n: u32,
    until: u64,
}

impl Series<'_> {
    /// Runs all trials. On the CPU, as many trials run concurrently as there are threads, each on one thread; on a GPU, up to 16
    /// whose memory fits, each with streams of its own. Fails if a trial fails or the series was interrupted.
    fn run(&self, first: Box<dyn Simulation>) -> Result<Vec<Trial>, CliError> {
        let n_workers = self.prepared.concurrent_trials(self.n as usize, &self.chosen.device)?;
        // With several CPU threads, each simulation uses one of them. The first simulation, which has all, is then not reused.
        let (first, kept_alive, device) = match &self.chosen.device {
            Device::Cpu { threads } if n_workers > 1 && *threads > 1 => {
                drop(first);
                (None, None, Device::Cpu { threads: 1 })
            }
            // A simulation that shares a GPU may use other kernels than one that has it alone. Until the series ends, it keeps the
            // modules and the data that all simulations share on the device.
            device @ Device::Cuda(_) if n_workers > 1 => (None, Some(first), device.clone()),
            device => (Some(first), None, device.clone()),
        };
        let series = DeferredSync::new(self.folder);
        let first = Mutex::new(first);
        let (next, done) = (AtomicU32::new(0), (0..self.n).map(|_| AtomicU64::new(0)).collect::<Vec<_>>());
        let results = Mutex::new(vec![]);
        let meter = ProgressLine::new();
        std::thread::scope(|scope| {
            for _ in 0..n_workers {
                scope.spawn(|| {
                    let mut kept = first.lock().unwrap_or_else(PoisonError::into_inner).take();
                    let device = match device.with_own_streams(n_workers) {
                        Ok(device) => device,
                        Err(e) => {
                            let failed = Err(CliError::from(SimError::from(e)));
                            return results.lock().unwrap_or_else(PoisonError::into_inner).push(failed);
                        }
                    };
                    loop {
                        let k = next.fetch_add(1, Ordering::Relaxed);
                        if k >= self.n || signal::interrupted() {
                            break;
                        }
                        let result = self.trial(k, &mut kept, &device, &done, &meter);
                        let failed = result.is_err();
                        results.lock().unwrap_or_else(PoisonError::into_inner).push(result);
                        if failed {
                            next.store(self.n, Ordering::Relaxed);
                        }
                    }
                });
            }
        });
        drop(kept_alive);
        let results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut trials = results.into_iter().collect::<Result<Vec<Trial>, CliError>>()?;
        trials.sort_by_key(|t| t.number);
        series.finish()?;
        if signal::interrupted() || trials.len() < self.n as usize {
            let what = {
                let all = digits::counted(self.n, "trial", "trials");
                format!("; {} of {all} are in {}", trials.len(), self.folder.display())
            };
            return Err(CliError::Cancelled(what));
        }
        Ok(trials)
    }

    /// Runs the k-th trial. `kept` is the worker's simulation, which every trial reuses. Fails if the simulation or its
    /// recording fails.
    fn trial(
        &self,
        k: u32,
        kept: &mut Option<Box<dyn Simulation>>,
        device: &Device,
        done: &[AtomicU64],
        meter: &ProgressLine,
    ) -> Result<Trial, CliError> {
        let seed = self.job.project.seed.wrapping_add(u64::from(k));
        let (sim, returned) = ReusedSimulation::new(self.simulation(kept.take(), seed, device)?);
        let start =
            RunStart { trial: Some((seed, "../../")), ..run_start(self.job, &self.chosen.name, self.chosen.threads) };
        let tick = |clock: Clock| {
            done[k as usize].store(clock.step, Ordering::Relaxed);
            let steps: u64 = done.iter().map(|d| d.load(Ordering::Relaxed)).sum();
            let n_done = done.iter().filter(|d| d.load(Ordering::Relaxed) >= self.until).count();
            meter.update(steps as f64, (self.until * u64::from(self.n)) as f64, || {
                format!("{n_done} of {}", digits::counted(self.n, "trial", "trials"))
            });
        };
        let folder = trial_folder(self.folder, k);
        let outcome = session::record(sim, &folder, start, self.taps.to_vec(), self.plan, &tick)?;
        done[k as usize].store(self.until, Ordering::Relaxed);
        *kept = returned.try_recv().ok();
        match &outcome.recording_failed {
            Some(why) => Err(CliError::Failed(format!("trial {k}: {why}"))),
            None => Ok(Trial { number: k, seed, outcome }),
        }
    }

    /// Restarts the kept simulation with a seed. Without a kept simulation, or if its kind cannot restart, starts a new
    /// one. Fails if the device fails.
    fn simulation(
        &self,
        kept: Option<Box<dyn Simulation>>,
        seed: u64,
        device: &Device,
    ) -> Result<Box<dyn Simulation>, CliError> {
        if let Some(mut sim) = kept
            && sim.restart(seed)?
        {
            return Ok(sim);
        }
        Ok(self.prepared.start(seed, device)?)
    }
}

fn close(mut writer: RunWriter, digest: &Digest, clock: Clock, execution: Execution) -> Result<(), CliError> {
    writer.begin(&RecordingStart { clock: Clock { step: 0, ..clock }, execution, ..RecordingStart::default() })?;
    Box::new(writer).finish(&RecordingEnd {
        status: EndStatus::Complete,
        digest: digest.clone(),
        clock,
        ..RecordingEnd::default()
    })?;
    Ok(())
}
