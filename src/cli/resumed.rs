//! `neuropil run --resume RUN`: continues a recording from its last checkpoint.

use super::{
    args::RunArgs,
    device,
    error::CliError,
    progress::ProgressLine,
    run::{changed, is_own, record, refuse_outside, run_start},
    session::{self, Begin},
};
use crate::{
    engine::Command,
    project::{RunFolder, RunWriter, Status, outside_paths_of_run, provenance},
    sim::Progress,
};
use std::{path::Path, time::Instant};

pub(super) fn run(path: &Path, args: &RunArgs) -> Result<(), CliError> {
    let began = Instant::now();
    let run = RunFolder::open(path)?;
    if run.manifest.status == Status::Running {
        return Err(CliError::Usage(format!("{} is still being written", path.display())));
    }
    if run.manifest.trials > 0 {
        return Err(CliError::Usage(format!("{} is a series of trials; resume is for single runs", path.display())));
    }
    if !args.allow_outside && !is_own(path) {
        refuse_outside(&outside_paths_of_run(&run, &run.project()?), "run")?;
    }
    for note in provenance::changed(&run.manifest.data) {
        eprintln!("neuropil: {note}");
    }
    let from = run.continuation(None, &Progress::default())?;
    let step = from.file.directory.step;
    let job = changed(from.project.clone(), run.base(), args)?;
    // A run that was killed behind its last checkpoint is closed only.
    let is_done = |end: u64| end < step || (end == step && run.manifest.status == Status::Complete);
    if job.project.planned_steps().is_some_and(is_done) {
        let what = "its last checkpoint is at the planned end; a longer --duration extends it";
        return Err(CliError::Usage(format!("{}: {what}", path.display())));
    }
    let mut chosen = device::choose(job.project.run.device, job.project.run.gpu, job.project.run.threads)?;
    let mut now = from.now.clone();
    now.run = job.project.run.clone();
    let prepared = session::prepare_with(&now, run.build_context(&now), job.force, &ProgressLine::new())?;
    let mut sim = session::start(&*prepared, run.manifest.seed, &mut chosen)?;
    drop(prepared);
    sim.load(&from.snapshot)?;
    drop(from.snapshot);
    eprintln!("neuropil: continuing {} at step {step}", path.display());
    let start = run_start(&job, &chosen.name, chosen.threads);
    let begin = Begin {
        taps: run.taps(sim.probes(), step),
        command: Command::Resume(sim, from.history),
        writer: &|start| RunWriter::resume(&run, &from.file, &start),
    };
    record(&job, args, path, start, begin, began.elapsed().as_secs_f64())
}
