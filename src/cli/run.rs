//! `neuropil run`: runs a project and records it.

use super::{
    args::{Duration, RunArgs},
    branched, device,
    error::CliError,
    experiment,
    progress::ProgressLine,
    resumed,
    session::{self, Begin, Outcome, Pacing},
    signal,
    speed::{measured_peaks, parameters_text, per_second, progress_text, put_speed, speed_text},
    stdout::print_line,
    trials,
};
use crate::{
    engine::{Command, SimSchema},
    experiment::is_experiment,
    kinds::Prepared,
    project::{self, Elements, OutsidePath, Project, RunFolder, RunStart, RunWriter, run::next_folder},
    sim::{Clock, Device, Simulation, Tap, TimeBase, rate_texts, share_of_peak},
};
use serde_json::{Value as Json, json};
use std::{
    path::{Path, PathBuf},
    time::Instant,
};

/// A project with the changes of the command line.
pub(super) struct Job {
    pub project: Project,
    /// Folder of the project's relative paths.
    pub base: PathBuf,
    pub command: String,
    /// Whether to build a model that needs more memory than is available.
    pub force: bool,
    /// Entries of `record` that the parent of a branch already has; their elements may no longer exist.
    pub recorded_before: Vec<String>,
}

pub(super) fn run(args: &RunArgs) -> Result<(), CliError> {
    signal::listen();
    match &args.resume {
        Some(folder) if is_experiment(folder) => return experiment::resume(folder, args),
        Some(run) => return resumed::run(run, args),
        None if args.experiment.is_wanted() => return experiment::run(args),
        None => {}
    }
    if let Some(run) = &args.branch {
        return branched::run(run, args);
    }
    let job = resolve(args)?;
    if args.dry_run {
        return dry_run(&job);
    }
    match trials::wanted(&job.project.run, args)? {
        Some(n) => trials::run(&job, args, n),
        None => single(&job, args),
    }
}

/// Runs a saved project without a window. Fails if the run fails.
pub(super) fn headless(project: Option<PathBuf>) -> Result<(), CliError> {
    signal::listen();
    let args = |project| RunArgs {
        project,
        resume: None,
        branch: None,
        at: None,
        checkpoint_every: None,
        stop_early: None,
        set: vec![],
        probe: vec![],
        duration: None,
        seed: None,
        device: None,
        threads: None,
        trials: None,
        out: None,
        sweep: None,
        json: false,
        batch: None,
        dry_run: false,
        force: false,
        allow_outside: false,
        experiment: Default::default(),
    };
    match project {
        Some(path) => run(&args(Some(path))),
        None => {
            let job = Job {
                project: project::default_project(),
                base: here(),
                command: "neuropil".into(),
                force: false,
                recorded_before: vec![],
            };
            single(&job, &args(None))
        }
    }
}

pub(super) fn here() -> PathBuf {
    std::env::current_dir().unwrap_or_default()
}

/// Opens the project and applies the arguments of the command line. Fails if the project is unreadable or an argument is
/// invalid.
pub(super) fn resolve(args: &RunArgs) -> Result<Job, CliError> {
    let path = args.project.as_deref().unwrap_or(Path::new(""));
    let (project, warnings) = project::open(path)?;
    for warning in warnings {
        eprintln!("{}: {warning}", path.display());
    }
    let base = base_of(path);
    // The check precedes --set, because a path on the command line is the user's own.
    check_outside(&project, &base, args.allow_outside)?;
    changed(project, base, args)
}

/// Applies the arguments to a project. Fails if an argument is invalid.
pub(super) fn changed(mut project: Project, base: PathBuf, args: &RunArgs) -> Result<Job, CliError> {
    for text in &args.set {
        project.set(text, &here())?;
    }
    check_paths(&project, &args.set)?;
    project.record.extend(args.probe.iter().cloned());
    project.seed = args.seed.unwrap_or(project.seed);
    if let Some(duration) = &args.duration {
        duration.apply(&mut project.run, project.model.time_base()).map_err(CliError::Usage)?;
        say_duration(&project, duration);
    }
    project.run.threads = args.threads.unwrap_or(project.run.threads);
    project.run.trials = args.trials.unwrap_or(project.run.trials);
    if let Some(device) = args.device {
        project.run.device = device.choice;
        project.run.gpu = device.gpu.unwrap_or(project.run.gpu);
    }
    args.apply_checkpoints(&mut project)?;
    let words: Vec<String> = std::env::args_os().map(|word| quoted(&word.to_string_lossy())).collect();
    Ok(Job { project, base, command: words.join(" "), force: args.force, recorded_before: vec![] })
}

/// Returns the folder of a project file, from which relative paths of the project start.
pub(super) fn base_of(project: &Path) -> PathBuf {
    let folder = project.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned())
}

/// Fails for a project from another folder that names files outside that folder. Projects in or below the working directory
/// count as the user's own.
pub(super) fn check_outside(project: &Project, base: &Path, allow_outside: bool) -> Result<(), CliError> {
    if allow_outside || is_own(base) {
        return Ok(());
    }
    refuse_outside(&project::outside_paths(project, base), "project")
}

/// Whether a folder is in or below the working directory.
pub(super) fn is_own(folder: &Path) -> bool {
    let real = std::fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
    std::fs::canonicalize(here()).is_ok_and(|here| real.starts_with(here))
}

/// Fails with a message about the first file outside the folder of a project or run; succeeds if there are no such files.
pub(super) fn refuse_outside(outside: &[OutsidePath], of: &str) -> Result<(), CliError> {
    match outside.first() {
        None => Ok(()),
        Some(outside) => Err(CliError::Usage(format!(
            "{} is {}, which is outside the {of}'s folder; --allow-outside accepts it",
            outside.parameter, outside.path
        ))),
    }
}

/// Prints how a duration without a unit is understood, because users may mean seconds.
fn say_duration(project: &Project, duration: &Duration) {
    if let (Duration::Bare(ms), TimeBase::Seconds { .. }, Some(steps)) =
        (duration, project.model.time_base(), project.planned_steps())
    {
        eprintln!("neuropil: --duration {ms} is read as {ms} ms, {steps} steps; write e.g. {ms}ms or {ms}s");
    }
}

/// Fails if a file named on the command line does not exist.
fn check_paths(project: &Project, set: &[String]) -> Result<(), CliError> {
    let params = project.model.params();
    for (id, typed) in project.paths() {
        let name = params.path(id);
        let is_named = set.iter().any(|s| s.split('=').next().is_some_and(|p| p.trim() == name));
        if is_named && !Path::new(&typed.0).exists() {
            return Err(CliError::Usage(format!("--set {name}: there is no {}", typed.0)));
        }
    }
    Ok(())
}

/// Quotes a word for a shell.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./=,:+%@".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// Returns the requested run folder, or creates the next numbered folder in `runs`. Fails if the numbered folder cannot be
/// created.
pub(super) fn folder_for(job: &Job, out: Option<&PathBuf>) -> Result<PathBuf, CliError> {
    Ok(match out {
        Some(folder) => folder.clone(),
        None => next_folder(&here().join("runs"), &job.project.name)?,
    })
}

/// Checks the taps before a simulation exists, without looking up elements. Fails with a usage error for an unknown name.
pub(super) fn check_taps(project: &Project) -> Result<(), CliError> {
    project.taps().1.into_iter().next().map_or(Ok(()), |problem| Err(CliError::Usage(problem)))
}

/// Resolves the taps of a job. Fails with a usage error for ids of missing elements, queries that the simulation cannot
/// answer, and arguments of probes without a match.
pub(super) fn taps_of(job: &Job, sim: &dyn Simulation) -> Result<Vec<Tap>, CliError> {
    let schema = SimSchema::of(sim);
    let elements = Elements { sets: &schema.sets, connectivity: schema.connectivity.as_ref(), base: Some(&job.base) };
    let (taps, problems) = job.project.taps_in(&elements);
    if let Some(problem) = problems.into_iter().next() {
        return Err(CliError::Usage(problem));
    }
    let checked = if job.recorded_before.is_empty() {
        schema.check_taps(&taps)
    } else {
        let mut added = job.project.clone();
        added.record.retain(|entry| !job.recorded_before.contains(entry));
        schema.check_taps(&added.taps_in(&elements).0)
    };
    checked.map(|()| taps).map_err(|why| CliError::Usage(format!("`record`: {why}")))
}

/// Resolves the taps with [`taps_of`], and makes all checks of a recording, so that they precede the replacement of an
/// older run. Fails if a tap is invalid, or the model does not fit the device.
pub(super) fn checked_taps(
    job: &Job,
    prepared: &dyn Prepared,
    on: &Device,
    sim: &dyn Simulation,
) -> Result<Vec<Tap>, CliError> {
    let taps = taps_of(job, sim)?;
    prepared.check(on.kind(), &taps)?;
    Ok(taps)
}

pub(super) fn pacing(job: &Job, batch: Option<u32>) -> Pacing {
    let speed = job.project.run.speed;
    Pacing { until: job.project.planned_steps(), batch, speed: (speed > 0.0).then_some(speed) }
}

/// Returns the inputs of a recording, without `taps` and `sets`, which the session adds.
pub(super) fn run_start<'a>(job: &'a Job, device: &str, threads: u32) -> RunStart<'a> {
    RunStart {
        project: &job.project,
        base: &job.base,
        taps: vec![],
        sets: &[],
        device: device.to_owned(),
        threads,
        command: job.command.clone(),
        trial: None,
        trials: 0,
    }
}

fn single(job: &Job, args: &RunArgs) -> Result<(), CliError> {
    check_taps(&job.project)?;
    let began = Instant::now();
    let (prepared, mut chosen) = session::prepare_beside_device(&job.project, &job.base, job.force)?;
    let sim = session::start(&*prepared, job.project.seed, &mut chosen)?;
    let taps = checked_taps(job, &*prepared, &chosen.device, &*sim)?;
    drop(prepared);
    let setup_s = began.elapsed().as_secs_f64();
    let folder = folder_for(job, args.out.as_ref())?;
    let start = run_start(job, &chosen.name, chosen.threads);
    let sweep = args.sweep.clone().unwrap_or_default();
    let writer = Box::new(|start: RunStart<'_>| RunWriter::create(&folder, start)?.in_sweep(&sweep));
    let begin = Begin { command: Command::Load(sim), taps, writer, notes: vec![] };
    record(job, args, &folder, start, begin, setup_s)
}

/// Records a simulation and prints the result. Fails if the run was interrupted or its recording failed.
pub(super) fn record(
    job: &Job,
    args: &RunArgs,
    folder: &Path,
    start: RunStart<'_>,
    begin: Begin<'_>,
    setup_s: f64,
) -> Result<(), CliError> {
    let plan = pacing(job, args.batch);
    let (device, threads) = (start.device.clone(), start.threads);
    let notices = begin.notices();
    notices.iter().for_each(|notice| eprintln!("neuropil: {notice}"));
    let meter = ProgressLine::new();
    let (first, end) = (begin.clock(), Clock { step: plan.until.unwrap_or(0), ..begin.clock() }.secs());
    let (since, counts) = (Instant::now(), job.project.model.counts());
    let tick = |clock: Clock| {
        meter.update(clock.secs(), end, || progress_text(first, clock, since.elapsed().as_secs_f64(), &counts));
    };
    let outcome = session::record_from(begin, folder, start, &plan, &tick)?;
    meter.clear();
    report(job, args.json, folder, (&device, threads), setup_s, &outcome, &notices);
    ended(&outcome, folder)
}

/// Fails if the run was interrupted or its recording failed.
fn ended(outcome: &Outcome, folder: &Path) -> Result<(), CliError> {
    if let Some(why) = &outcome.recording_failed {
        return Err(CliError::Failed(format!("the recording in {} is not complete: {why}", folder.display())));
    }
    if outcome.interrupted {
        return Err(CliError::Cancelled(format!("; {} is closed properly", folder.display())));
    }
    Ok(())
}

/// Formats the unit of the steps: `steps of 0.1 ms`, `generations`.
pub(super) fn steps_text(base: TimeBase) -> String {
    match base {
        TimeBase::Seconds { per_step } => format!("steps of {} ms", per_step * 1e3),
        TimeBase::Count { plural, .. } => plural.to_owned(),
    }
}

fn report(
    job: &Job,
    as_json: bool,
    folder: &Path,
    (device, threads): (&str, u32),
    setup_s: f64,
    outcome: &Outcome,
    notices: &[String],
) {
    let (clock, digest) = (outcome.clock, &outcome.digest);
    let n_steps = clock.step - outcome.first_step;
    let steps_per_s = per_second(n_steps as f64, outcome.wall_s);
    let counts = if outcome.counts.is_empty() { job.project.model.counts() } else { outcome.counts.clone() };
    if as_json {
        let mut out = common(job, folder, device, &outcome.n_elements);
        out["first_step"] = json!(outcome.first_step);
        out["steps"] = json!(clock.step);
        put_speed(&mut out, n_steps, 1, clock.base, outcome.wall_s);
        let rates =
            counts.iter().map(|c| json!({ "name": c.name, "of": c.counted.word(), "per_s": c.rate(steps_per_s) }));
        out["rates"] = rates.collect();
        if outcome.n_parameters > 0 {
            out["n_parameters"] = json!(outcome.n_parameters);
            out["share_of_peak"] = json!(share_of_peak(&counts, steps_per_s, measured_peaks(device, threads).as_ref()));
        }
        out["setup_s"] = json!(setup_s);
        out["wall_s"] = json!(outcome.wall_s);
        out["disk_wait_s"] = json!(outcome.stalled_s);
        out["hash"] = json!(digest.hash);
        if let Ok(run) = RunFolder::open(folder) {
            out["data_hash"] = json!(run.manifest.data_hash());
            out["execution"] = json!(run.manifest.execution);
        }
        out["totals"] =
            digest.totals.iter().map(|(n, v)| (n.clone(), json!(v))).collect::<serde_json::Map<_, _>>().into();
        out["memory_bytes"] = outcome
            .memory
            .by_owner()
            .iter()
            .map(|(n, v)| ((*n).to_owned(), json!(v)))
            .collect::<serde_json::Map<_, _>>()
            .into();
        out["timings"] = json!(outcome.timings);
        out["interrupted"] = json!(outcome.interrupted);
        out["notices"] = json!(notices);
        print_line!("{out:#}");
        return;
    }
    print_line!("{} on {device}", speed_text(n_steps, clock.base, outcome.wall_s));
    if !counts.is_empty() {
        print_line!("{}", rate_texts(&counts, steps_per_s, measured_peaks(device, threads).as_ref()).join(", "));
    }
    if outcome.n_parameters > 0 {
        print_line!("{}", parameters_text(outcome.n_parameters));
    }
    let data = RunFolder::open(folder).ok().and_then(|run| run.manifest.data_hash());
    let data = data.map_or_else(String::new, |hash| format!(", data hash {hash}"));
    print_line!("{}; hash {}{data}", digest.totals_text(), digest.hash);
    print_line!("{}", folder.display());
}

/// Returns the fields that every JSON result has.
pub(super) fn common(job: &Job, folder: &Path, device: &str, sizes: &[(&'static str, u32)]) -> Json {
    let mut out = json!({
        "name": job.project.name,
        "kind": job.project.model.name(),
        "seed": job.project.seed,
        "device": device,
        "out": folder.display().to_string(),
        "app": project::run::app_version(),
    });
    if let TimeBase::Seconds { per_step } = job.project.model.time_base() {
        out["dt_ms"] = json!(per_step * 1e3);
    }
    for (set, len) in sizes {
        out[format!("n_{set}")] = json!(len);
    }
    out
}

/// Prints the plan of a run and its requirements without running it. Fails if the project or its input is invalid.
fn dry_run(job: &Job) -> Result<(), CliError> {
    check_taps(&job.project)?;
    let mut chosen = device::choose(job.project.run.device, job.project.run.gpu, job.project.run.threads)?;
    let prepared = session::prepare(&job.project, &job.base, job.force, &ProgressLine::new())?;
    let predicted = prepared.predict(chosen.device.kind());
    let sim = session::start(&*prepared, job.project.seed, &mut chosen)?;
    checked_taps(job, &*prepared, &chosen.device, &*sim)?;
    print_line!("{}", project::write(&job.project)?.trim_end());
    print_line!("// runs on {}", chosen.name);
    for set in sim.sets() {
        print_line!("// {} {}", set.len, set.name);
    }
    if sim.n_parameters() > 0 {
        print_line!("// {}", parameters_text(sim.n_parameters()));
    }
    for (owner, n_bytes) in sim.memory().by_owner() {
        print_line!("// {:9.1} MB {owner}", n_bytes as f64 * 1e-6);
    }
    let predicted = predicted.total();
    if predicted > 0 {
        print_line!("// {:9.1} MB was predicted", predicted as f64 * 1e-6);
    }
    match job.project.planned_steps() {
        Some(steps) => print_line!("// {steps} {}", steps_text(job.project.model.time_base())),
        None => print_line!("// until it is interrupted"),
    }
    if let Some(when) = job.project.checkpoint_words(sim.snapshot_bytes()) {
        print_line!("// checkpoints {when}");
    }
    if let Device::Cuda(_) = chosen.device {
        print_line!("// memory is on the device");
    }
    Ok(())
}
