//! `neuropil run --experiment`, `--resume` of an experiment, and `neuropil merge`.

use super::{
    args::RunArgs,
    device::{self, Chosen},
    error::CliError,
    experiment_args::{ExperimentArgs, MergeArgs},
    experiment_info,
    progress::ProgressLine,
    run::{Job, here, is_own, refuse_outside, resolve},
    signal,
    stdout::print_line,
};
use crate::{
    data::counted,
    experiment::{
        ExperimentFolder, Table,
        folder::Status,
        measure, merge,
        run::{self, Counters, Setting, Started},
    },
    project::{
        Project,
        experiment::{ConditionRule, ElementQuery, Experiment, ParameterValues, TrialRecording},
        outside_paths,
        run::next_folder,
    },
    sim::{Progress, SimError},
};
use std::{path::Path, time::Duration};

/// Interval of updates of the progress, and of checks for interrupts.
const POLL: Duration = Duration::from_millis(20);

/// Begins the experiment of a project. Fails if the project or an argument is invalid, or a check of results fails.
pub(super) fn run(args: &RunArgs) -> Result<(), CliError> {
    let mut job = resolve(args)?;
    job.project.experiment = Some(experiment_of(&job.project, &args.experiment)?);
    let made = args.out.is_none();
    let path = match &args.out {
        Some(folder) => folder.clone(),
        None => next_folder(&here().join("runs"), job.project.experiment_name())?,
    };
    let mut chosen = device::choose(job.project.run.device, job.project.run.gpu, job.project.run.threads)?;
    let shard = args.experiment.shard.unwrap_or_default();
    let begin = |chosen: &Chosen, progress: &Progress| {
        run::begin(&job.project, &job.base, &path, shard, &setting(chosen, &job, args), progress)
    };
    let mut ended = watched(args, &chosen, &job, &|progress| begin(&chosen, progress));
    if let Err(SimError::NoDevice(why)) = &ended
        && chosen.may_fall_back
    {
        eprintln!("neuropil: running on the CPU: {why}");
        chosen = device::cpu(chosen.threads);
        ended = watched(args, &chosen, &job, &|progress| begin(&chosen, progress));
    }
    if made && ended.is_err() {
        // An experiment that fails before its first trial leaves its folder empty.
        std::fs::remove_dir(&path).ok();
    }
    finish(ended, &path, args.json)
}

/// Continues an experiment. Fails if the folder is invalid or needs consent.
pub(super) fn resume(path: &Path, args: &RunArgs) -> Result<(), CliError> {
    let folder = ExperimentFolder::open(path).map_err(CliError::Usage)?;
    let base = Path::new(&folder.manifest.base).to_owned();
    if !args.allow_outside && !is_own(path) {
        refuse_outside(&outside_paths(&folder.project, &base), "experiment")?;
    }
    let mut project = folder.project;
    project.run.threads = args.threads.unwrap_or(project.run.threads);
    if let Some(device) = args.device {
        project.run.device = device.choice;
        project.run.gpu = device.gpu.unwrap_or(project.run.gpu);
    }
    let chosen = device::choose(project.run.device, project.run.gpu, project.run.threads)?;
    let command = folder.manifest.command;
    let job = Job { project, base, command, force: args.force, recorded_before: vec![] };
    let setting = setting(&chosen, &job, args);
    let ended = watched(args, &chosen, &job, &|progress| run::resume(path, &setting, progress));
    finish(ended, path, args.json)
}

/// Joins the parts of an experiment. Fails if they are not those of one experiment.
pub(super) fn merge(args: &MergeArgs) -> Result<(), CliError> {
    let (folder, table) = merge::merge(&args.parts, &args.out)?;
    experiment_info::print(&folder, &table, args.json)
}

fn setting(chosen: &Chosen, job: &Job, args: &RunArgs) -> Setting {
    Setting {
        device: chosen.device.clone(),
        device_name: chosen.name.clone(),
        threads: chosen.threads,
        ignores_memory: job.force,
        check_silent: args.experiment.check_silent,
        command: job.command.clone(),
    }
}

/// Returns the experiment of a project with the changes of the arguments. Fails if an argument is invalid, and if neither the
/// project nor the arguments describe an experiment.
fn experiment_of(project: &Project, args: &ExperimentArgs) -> Result<Experiment, CliError> {
    if project.experiment.is_none() && !args.changes_experiment() {
        let what = "the project has no experiment; --vary PATH=VALUES or --silence-each QUERY with --measure make one";
        return Err(CliError::Usage(what.to_owned()));
    }
    let mut experiment = project.experiment.clone().unwrap_or_default();
    let axis = |text: &String| match text.split_once('=') {
        Some((path, values)) => Ok(ParameterValues { path: path.trim().to_owned(), values: values.trim().to_owned() }),
        None => Err(CliError::Usage(format!("--vary {text}: there is no `=`; write e.g. lif.tau_m=10,20"))),
    };
    let axes: Vec<ParameterValues> = args.vary.iter().map(axis).collect::<Result<_, _>>()?;
    let silenced = args.silence_each.clone();
    if !axes.is_empty() || silenced.is_some() {
        let grid = (!axes.is_empty()).then_some(ConditionRule::Grid(axes));
        let each = silenced.map(|query| ConditionRule::SilenceEach(ElementQuery { query, set: String::new() }));
        experiment.conditions = grid.into_iter().chain(each).collect();
        experiment.control.clear();
    }
    if let Some(seeds) = &args.seeds {
        let first = project.seed;
        experiment.seeds = match seeds.trim().parse::<u64>() {
            Ok(0) => return Err(CliError::Usage("--seeds 0: a condition has at least one seed".to_owned())),
            Ok(n) => format!("{first}..{}", first.saturating_add(n - 1)),
            Err(_) => seeds.clone(),
        };
    }
    if !args.measure.is_empty() {
        let measures = args.measure.iter().map(|text| measure::parse(text));
        experiment.measures = measures.collect::<Result<_, _>>().map_err(CliError::Usage)?;
    } else if experiment.measures.is_empty() {
        experiment.measures.extend(measure::usual(&project.model));
    }
    if args.record_trials {
        experiment.record = TrialRecording::EveryTrial;
    }
    experiment.infer_silent &= !args.run_silent;
    Ok(experiment)
}

/// Starts and runs an experiment on a thread, and shows its progress. An interrupt cancels it.
fn watched(
    args: &RunArgs,
    chosen: &Chosen,
    job: &Job,
    start: &(dyn Fn(&Progress) -> Result<Started, SimError> + Sync),
) -> Result<(ExperimentFolder, Table, Counters), SimError> {
    let _closing = signal::closing();
    job.project.model.warnings().iter().for_each(|warning| eprintln!("neuropil: warning: {}", warning.text));
    let (progress, counters, meter) = (Progress::default(), Counters::default(), ProgressLine::new());
    let setting = setting(chosen, job, args);
    let ended = std::thread::scope(|scope| {
        let work = scope.spawn(|| {
            let started = start(&progress)?;
            started.notices().iter().for_each(|notice| eprintln!("neuropil: {notice}"));
            started.run(&setting, &counters, &progress)
        });
        while !work.is_finished() {
            if signal::interrupted() {
                progress.cancel();
            }
            show(&meter, &counters, &progress);
            std::thread::sleep(POLL);
        }
        work.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    });
    meter.clear();
    ended.map(|(folder, table)| (folder, table, counters))
}

fn show(meter: &ProgressLine, counters: &Counters, progress: &Progress) {
    let read = Counters::read;
    let (n, done) = (read(&counters.n_trials), read(&counters.n_done));
    if n == 0 {
        let (stage, fraction) = progress.now();
        return meter.update(fraction.into(), 1.0, || stage);
    }
    let (steps, planned) = (read(&counters.n_steps), read(&counters.n_planned_steps));
    meter.update(steps as f64, planned as f64, || {
        let failed = match read(&counters.n_failed) {
            0 => String::new(),
            n => format!(", {n} failed"),
        };
        format!("{done} of {}{failed}", counted(n, "trial", "trials"))
    });
}

/// Prints the result. Fails if trials failed, or the experiment was cancelled.
fn finish(
    ended: Result<(ExperimentFolder, Table, Counters), SimError>,
    path: &Path,
    as_json: bool,
) -> Result<(), CliError> {
    let (folder, table, counters) = match ended {
        Ok(done) => done,
        Err(SimError::Cancelled) if path.join(crate::experiment::folder::MANIFEST).is_file() => {
            return Err(CliError::Cancelled(format!("; --resume {} continues it", path.display())));
        }
        Err(error) => return Err(error.into()),
    };
    experiment_info::print(&folder, &table, as_json)?;
    let checked = Counters::read(&counters.n_checked);
    if checked > 0 && !as_json {
        let what = counted(checked, "trial", "trials");
        print_line!("{what} marked same as control were run and have the result of the control");
    }
    match table.n_failed() {
        0 if folder.manifest.status == Status::Complete => Ok(()),
        0 => Err(CliError::Failed(format!("trials are missing in {}", path.display()))),
        n => Err(CliError::Failed(format!(
            "{} failed; {} names the reasons",
            counted(n, "trial", "trials"),
            path.display()
        ))),
    }
}
