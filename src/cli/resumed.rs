//! `neuropil run --resume RUN`: continues a recording from its last checkpoint.

use super::{
    args::RunArgs,
    ask::in_thread,
    device,
    error::CliError,
    progress::ProgressLine,
    run::{Job, changed, is_own, record, refuse_outside, run_start},
    session::{self, Begin},
};
use crate::{
    engine::Command,
    project::{LockedRun, RunFolder, RunStart, RunWriter, VerifiedRun, outside_paths_of_run, provenance},
};
use std::{io::ErrorKind, path::Path, time::Instant};

pub(super) fn run(path: &Path, args: &RunArgs) -> Result<(), CliError> {
    let began = Instant::now();
    let verified = verified(path, args)?;
    let (run, from) = (&verified.run, &verified.from);
    for note in provenance::changed(&run.manifest.data) {
        eprintln!("neuropil: {note}");
    }
    let step = from.info.step;
    let job = changed(from.project.clone(), run.base(), args)?;
    check_end(run, step, &job)?;
    let mut chosen = device::choose(job.project.run.device, job.project.run.gpu, job.project.run.threads)?;
    let mut now = from.now.clone();
    now.run = job.project.run.clone();
    let prepared = session::prepare_with(&now, run.build_context(&now), job.force, &ProgressLine::new())?;
    let mut sim = session::start(&*prepared, run.manifest.seed, &mut chosen)?;
    drop(prepared);
    sim.load(&from.snapshot)?;
    let taps = run.taps(sim.probes(), step);
    sim.tap(&taps)?; // all that can fail is done before the run is changed
    if sim.clock().step != step {
        let what = format!("{}: the state is of step {}, not {step}", path.display(), sim.clock().step);
        return Err(CliError::Failed(what));
    }
    eprintln!("neuropil: continuing {} at step {step}", path.display());
    let start = run_start(&job, &chosen.name, chosen.threads);
    let (history, notes) = (from.history.clone(), from.notes.clone());
    let writer = Box::new(|start: RunStart<'_>| RunWriter::resume(verified, &start));
    let begin = Begin { taps, command: Command::Resume(sim, history), writer, notes };
    record(&job, args, path, start, begin, began.elapsed().as_secs_f64())
}

/// Locks a run and verifies its files. Fails for a series of trials, and for a run that is being written or needs consent.
fn verified(path: &Path, args: &RunArgs) -> Result<VerifiedRun, CliError> {
    let locked = LockedRun::open(path).map_err(|e| match e.kind() {
        ErrorKind::ResourceBusy => CliError::Usage(e.to_string()),
        _ => e.into(),
    })?;
    if locked.run.manifest.trials > 0 {
        return Err(CliError::Usage(format!("{} is a series of trials; resume is for single runs", path.display())));
    }
    if !args.allow_outside && !is_own(path) {
        refuse_outside(&outside_paths_of_run(&locked.run, &locked.run.project()?), "run")?;
    }
    in_thread("verify", move |progress| locked.verify(progress))
}

/// Rejects an end before the last recorded step, because the recording would be truncated, and rejects the present end of a
/// complete run. A run that was killed at its end, after the last checkpoint, is accepted; such a run is only closed.
fn check_end(run: &RunFolder, step: u64, job: &Job) -> Result<(), CliError> {
    let Some(end) = job.project.planned_steps() else { return Ok(()) };
    let last = run.manifest.last_step.max(step);
    let path = run.path.display();
    if end < last {
        let what = format!("it is recorded up to step {last} and would be cut at step {end}");
        return Err(CliError::Usage(format!("{path}: {what}; a longer --duration extends it")));
    }
    if end == last && run.is_complete() {
        return Err(CliError::Usage(format!("{path}: it is complete at step {last}; a longer --duration extends it")));
    }
    Ok(())
}
