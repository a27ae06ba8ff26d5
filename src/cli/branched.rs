//! `neuropil run --branch RUN`: starts a new run at a checkpoint of another run.

use super::{
    args::RunArgs,
    checkpoint_args::AtStep,
    device,
    error::CliError,
    progress::ProgressLine,
    run::{
        base_of, changed, check_outside, check_taps, folder_for, is_own, record, refuse_outside, run_start, taps_of,
    },
    session::{self, Begin},
};
use crate::{
    engine::Command,
    project::{self, RunFolder, RunStart, RunWriter, outside_paths_of_run, overlap},
    sim::Progress,
};
use std::{path::Path, time::Instant};

pub(super) fn run(path: &Path, args: &RunArgs) -> Result<(), CliError> {
    let began = Instant::now();
    let run = RunFolder::open(path)?;
    if let Some(out) = args.out.as_ref().filter(|out| overlap(out, path)) {
        let (out, run) = (out.display(), path.display());
        return Err(CliError::Usage(format!("--out {out} overlaps {run}, which is branched; choose another folder")));
    }
    if args.project.is_none() && !args.allow_outside && !is_own(path) {
        refuse_outside(&outside_paths_of_run(&run, &run.project()?), "run")?;
    }
    let at = match args.at {
        Some(AtStep::Best) => Some(run.best_step().ok_or_else(|| {
            let folder = path.display();
            CliError::Usage(format!("{folder} keeps no best checkpoint; record with `--set run.keep_best=true`"))
        })?),
        Some(AtStep::Step(step)) => Some(step),
        None => None,
    };
    let from = run.continuation(at, &Progress::default())?;
    let (project, base) = match &args.project {
        Some(file) => {
            let project = project::open(file)?.0;
            check_outside(&project, &base_of(file), args.allow_outside)?;
            (project, base_of(file))
        }
        None => (from.now.clone(), run.base()),
    };
    let mut job = changed(project, base, args)?;
    if std::mem::replace(&mut job.project.run.trials, 1) > 1 {
        eprintln!("neuropil: a branch continues one trial, so run.trials is 1");
    }
    let first = from.info.step;
    if let Some(end) = job.project.planned_steps().filter(|end| *end <= first) {
        let what = format!("the branch would begin at step {first} and end at step {end}");
        return Err(CliError::Usage(format!("{what}; give a longer --duration, or an earlier checkpoint with --at")));
    }
    job.recorded_before.clone_from(&from.now.record);
    check_taps(&job.project)?;
    let mut chosen = device::choose(job.project.run.device, job.project.run.gpu, job.project.run.threads)?;
    let prepared = session::prepare(&job.project, &job.base, job.force, &ProgressLine::new())?;
    let mut sim = session::start(&*prepared, job.project.seed, &mut chosen)?;
    drop(prepared);
    sim.load(&from.snapshot)?;
    let taps = taps_of(&job, &*sim)?;
    let (info, notes) = (from.info.clone(), from.messages());
    drop(from);
    let folder = folder_for(&job, args.out.as_ref())?;
    let start = run_start(&job, &chosen.name, chosen.threads);
    let writer = Box::new(|start: RunStart<'_>| RunWriter::create(&folder, start)?.branch_of(path, info));
    let begin = Begin { command: Command::Load(sim), taps, writer, notes };
    record(&job, args, &folder, start, begin, began.elapsed().as_secs_f64())
}
