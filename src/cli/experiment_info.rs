//! `neuropil info`, `check`, `export` and `replay` of an experiment.

use super::{
    args::{ExportArgs, ReplayArgs},
    device,
    error::CliError,
    export::{about, print as print_files, watched},
    run::{is_own, refuse_outside},
    signal,
    stdout::print_line,
};
use crate::{
    data::{counted, group_digits},
    experiment::{
        ExperimentFolder, Table, changes,
        export::{csv, statistics, statistics_columns},
        folder::{RESULTS_PARQUET, Status},
        repeat,
        run::Setting,
        statistics::Line,
        table::{RESULTS, TrialState},
    },
    export::{self, ExportSettings, Format, TrialCondition, table_as_parquet},
    project::{RunFolder, check::check as check_run, outside_paths, write_atomic},
    sim::Progress,
};
use serde_json::{Value as Json, json};
use std::path::{Path, PathBuf};

/// Maximum number of conditions that the text form lists per measure.
const MAX_LISTED: usize = 50;

fn open(path: &Path) -> Result<(ExperimentFolder, Table), CliError> {
    let folder = ExperimentFolder::open(path).map_err(CliError::Usage)?;
    let table = folder.table().map_err(CliError::Failed)?;
    Ok((folder, table))
}

/// Describes an experiment: conditions, finished trials and statistics. Fails if a file is invalid.
pub(super) fn info(path: &Path, as_json: bool) -> Result<(), CliError> {
    let (folder, table) = open(path)?;
    print(&folder, &table, as_json)
}

/// Prints an experiment with its statistics.
pub(super) fn print(folder: &ExperimentFolder, table: &Table, as_json: bool) -> Result<(), CliError> {
    if as_json {
        print_line!("{:#}", to_json(folder, table));
        return Ok(());
    }
    let (manifest, n_all) = (&folder.manifest, folder.trials().len());
    let part = if manifest.shard.is_whole() { String::new() } else { format!(", part {}", manifest.shard) };
    print_line!("{}: {} on {}, {}{part}", manifest.name, manifest.kind, manifest.device, manifest.status.words());
    let n_same = table.trials.values().filter(|trial| trial.state == TrialState::SameAsControl).count();
    let more = [(n_same, "same as control"), (table.n_failed(), "failed")];
    let more: String =
        more.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!(", {} {what}", group_digits(*n as u64))).collect();
    print_line!(
        "{}, {} of {}{more}, {:.1} s",
        counted(folder.plan.conditions.len(), "condition", "conditions"),
        group_digits(table.trials.len() as u64),
        counted(n_all, "trial", "trials"),
        manifest.wall_s
    );
    let report = statistics(folder, table);
    for (i, measure) in table.measures.iter().enumerate() {
        let unit = manifest.measures.get(i).map_or("", |(_, unit)| unit.as_str());
        let unit = if unit.is_empty() { String::new() } else { format!(" ({unit})") };
        print_line!("\n{measure}{unit}");
        print_line!("{}", head());
        let mut lines: Vec<&Line> = report.lines.iter().filter(|line| line.measure == i).collect();
        let n = lines.len();
        if n > MAX_LISTED {
            let control = folder.plan.control;
            lines.sort_by(|a, b| strength(b, control).total_cmp(&strength(a, control)));
            lines.truncate(MAX_LISTED);
        }
        lines.iter().for_each(|line| print_line!("{}", row(line, &table.conditions[line.condition])));
        if n > MAX_LISTED {
            print_line!(
                "the {MAX_LISTED} largest differences of {}; export has all",
                counted(n, "condition", "conditions")
            );
        }
    }
    let failed = |(key, trial): (&(usize, u64), &crate::experiment::table::TrialResult)| match &trial.state {
        TrialState::Failed(why) => Some(format!("{} with seed {}: {why}", table.conditions[key.0], key.1)),
        _ => None,
    };
    table.trials.iter().filter_map(failed).take(MAX_LISTED).for_each(|line| print_line!("failed: {line}"));
    print_line!("\n{}", folder.path.display());
    Ok(())
}

/// Returns the absolute difference from the control, by which conditions are listed: the control first, those without a value
/// last.
fn strength(line: &Line, control: usize) -> f64 {
    let rest = if line.condition == control { f64::INFINITY } else { -1.0 };
    line.comparison.map_or(rest, |comparison| comparison.difference.abs())
}

fn head() -> String {
    let columns = ["n", "mean", "sd", "95 % interval", "difference", "95 % interval", "effect", "p", "q", "test"];
    let [n, mean, sd, interval, difference, of_difference, effect, p, q, test] = columns;
    format!(
        "  {:<28} {n:>4} {mean:>10} {sd:>9} {interval:>19} {difference:>10} {of_difference:>19} {effect:>8} {p:>9} {q:>9} {test}",
        "condition"
    )
}

fn row(line: &Line, name: &str) -> String {
    let number = |x: Option<f64>| x.map_or_else(|| "-".to_owned(), short);
    let interval =
        |i: Option<(f64, f64)>| i.map_or_else(|| "-".to_owned(), |(a, b)| format!("{} to {}", short(a), short(b)));
    let comparison = line.comparison.as_ref();
    let summary = &line.summary;
    format!(
        "  {name:<28} {:>4} {:>10} {:>9} {:>19} {:>10} {:>19} {:>8} {:>9} {:>9} {}",
        summary.n,
        number(summary.mean),
        number(summary.sd),
        interval(summary.interval),
        number(comparison.map(|c| c.difference)),
        interval(comparison.and_then(|c| c.interval)),
        number(comparison.and_then(|c| c.effect).map(|effect| effect.value())),
        number(comparison.and_then(|c| c.p)),
        number(line.q),
        comparison.filter(|c| c.p.is_some()).map_or("", |c| c.test.name()),
    )
    .trim_end()
    .to_owned()
}

/// Formats a number with four significant digits.
fn short(x: f64) -> String {
    match x.abs() {
        0.0 => "0".to_owned(),
        1e-3..1e5 => {
            let decimals = (3 - x.abs().log10().floor() as i32).clamp(0, 6) as usize;
            format!("{x:.decimals$}")
        }
        _ => format!("{x:.2e}"),
    }
}

fn to_json(folder: &ExperimentFolder, table: &Table) -> Json {
    let manifest = &folder.manifest;
    let condition = |(i, planned): (usize, &crate::experiment::Planned)| {
        let trials = || table.trials.range((i, 0)..=(i, u64::MAX)).map(|(_, trial)| trial);
        let count = |of: fn(&TrialState) -> bool| trials().filter(|trial| of(&trial.state)).count();
        json!({
            "name": planned.name,
            "changes": planned.changes.iter().map(|c| changes::describe(&folder.project, c)).collect::<Vec<_>>(),
            "n_seeds": planned.seeds.len(),
            "n_finished": count(|state| !matches!(state, TrialState::Failed(_))),
            "n_same_as_control": count(|state| *state == TrialState::SameAsControl),
            "n_failed": count(|state| matches!(state, TrialState::Failed(_))),
        })
    };
    let line = |line: &Line| {
        let (summary, comparison) = (&line.summary, line.comparison.as_ref());
        json!({
            "condition": table.conditions[line.condition], "measure": table.measures[line.measure],
            "n": summary.n, "mean": summary.mean, "sd": summary.sd, "interval": summary.interval.map(|(a, b)| [a, b]),
            "median": summary.median,
            "difference": comparison.map(|c| c.difference),
            "difference_interval": comparison.and_then(|c| c.interval).map(|(a, b)| [a, b]),
            "effect": comparison.and_then(|c| c.effect).map(|e| e.value()),
            "effect_name": comparison.and_then(|c| c.effect).map(|e| e.name()),
            "test": comparison.filter(|c| c.p.is_some()).map(|c| c.test.name()),
            "t": comparison.and_then(|c| c.t).map(|t| t.0), "df": comparison.and_then(|c| c.t).map(|t| t.1),
            "p": comparison.and_then(|c| c.p), "q": line.q,
        })
    };
    json!({
        "name": manifest.name, "kind": manifest.kind, "device": manifest.device, "status": manifest.status.words(),
        "out": folder.path.display().to_string(), "control": manifest.control, "shard": manifest.shard.to_string(),
        "wall_s": manifest.wall_s, "n_trials": folder.trials().len(), "n_finished": table.trials.len() - table.n_failed(),
        "n_failed": table.n_failed(),
        "measures": manifest.measures.iter().map(|(name, unit)| json!({ "name": name, "unit": unit })).collect::<Vec<_>>(),
        "conditions": folder.plan.conditions.iter().enumerate().map(condition).collect::<Vec<_>>(),
        "statistics": statistics(folder, table).lines.iter().map(line).collect::<Vec<_>>(),
    })
}

/// Checks the table of an experiment, its Parquet file and its recorded trials. Fails if anything is damaged.
pub(super) fn check(path: &Path, as_json: bool) -> Result<(), CliError> {
    let (folder, table) = open(path)?;
    let mut damaged = vec![];
    if folder.manifest.status == Status::Complete {
        let text = std::fs::read_to_string(path.join(RESULTS))?;
        if text != table.text() {
            damaged.push(format!("{RESULTS}: the rows are not in the order in which they were written"));
        }
        let parquet = table.parquet()?;
        if std::fs::read(path.join(RESULTS_PARQUET)).ok() != Some(parquet) {
            damaged.push(format!("{RESULTS_PARQUET} does not hold the rows of {RESULTS}"));
        }
    }
    let mut n_checked = 0;
    for ((condition, seed), trial) in &table.trials {
        let run = folder.trial_folder(*condition, *seed);
        if trial.state != TrialState::Run || !run.is_dir() {
            continue;
        }
        n_checked += 1;
        let run = RunFolder::open(&run)?;
        let files = check_run(&run, &Progress::default())?;
        damaged.extend(
            files.iter().filter(|file| file.is_damaged()).map(|file| format!("{}: {file}", run.path.display())),
        );
        if run.manifest.digest.hash != trial.hash {
            damaged.push(format!("{}: the hash of the run is not that of the table", run.path.display()));
        }
    }
    if as_json {
        print_line!(
            "{:#}",
            json!({
                "experiment": path.display().to_string(), "status": folder.manifest.status.words(),
                "intact": damaged.is_empty(), "damage": damaged, "n_trials": table.trials.len(), "n_recorded": n_checked,
            })
        );
    } else {
        damaged.iter().for_each(|what| print_line!("{what}"));
        print_line!(
            "{}: {}, {} in the table, {} recorded",
            path.display(),
            folder.manifest.status.words(),
            counted(table.trials.len(), "trial", "trials"),
            n_checked
        );
    }
    if damaged.is_empty() { Ok(()) } else { Err(CliError::Failed("the experiment is damaged".to_owned())) }
}

/// Writes the table and the statistics as CSV or Parquet. Fails for other formats, and if a file is invalid or cannot be written.
pub(super) fn export(args: &ExportArgs) -> Result<(), CliError> {
    let (folder, table) = open(&args.run)?;
    let format = match args.format {
        Some(format @ (Format::Csv | Format::Parquet)) => format,
        Some(Format::Nwb) => return export_trials(args, &folder),
        Some(other) => {
            let what = format!("an experiment is written as csv, parquet or nwb, not as {}", other.name());
            return Err(CliError::Usage(what));
        }
        None => {
            let line = |format: Format| format!("{:<12} statistics.{0} and results.{0}", format.name());
            [Format::Csv, Format::Parquet].iter().for_each(|format| print_line!("{}", line(*format)));
            print_line!("{:<12} the recorded trials with their conditions", Format::Nwb.name());
            return Ok(());
        }
    };
    let extension = format.extension();
    let out = args.out.clone().unwrap_or_else(|| args.run.join(format!("statistics.{extension}")));
    let columns = statistics_columns(&folder, &table);
    let statistics = if format == Format::Csv { csv(&columns).into_bytes() } else { table_as_parquet(&columns)? };
    let mut files: Vec<(PathBuf, Vec<u8>)> = vec![(out.clone(), statistics)];
    // The folder has the rows already, unless trials are missing.
    let beside = if args.out.is_some() { out.with_file_name(format!("results.{extension}")) } else { PathBuf::new() };
    if args.out.is_some() {
        let rows = if format == Format::Csv { table.text().into_bytes() } else { table.parquet()? };
        files.push((beside, rows));
    }
    let mut written = vec![];
    for (path, bytes) in files {
        write_atomic(&path, &bytes, false)?;
        written.push(json!({ "file": path.display().to_string(), "bytes": bytes.len() }));
        if !args.json {
            print_line!("{}", path.display());
        }
    }
    if args.json {
        print_line!("{:#}", json!({ "files": written }));
    }
    Ok(())
}

/// Writes the recorded trials as an NWB file. Fails if no trial was recorded or the file cannot be written.
fn export_trials(args: &ExportArgs, folder: &ExperimentFolder) -> Result<(), CliError> {
    if !args.allow_outside && !is_own(&args.run) {
        refuse_outside(&outside_paths(&folder.project, Path::new(&folder.manifest.base)), "experiment")?;
    }
    let mut trials = vec![];
    for (i, seed) in folder.trials() {
        let path = folder.trial_folder(i, seed);
        if path.is_dir() {
            let condition = &folder.plan.conditions[i];
            let of = TrialCondition { name: condition.name.clone(), factors: condition.factors.clone() };
            trials.push((RunFolder::open(&path)?, of));
        }
    }
    let settings = ExportSettings { about: about(args, Format::Nwb)?, ..ExportSettings::default() };
    let out = args.out.clone().unwrap_or_else(|| args.run.join(format!("trials.{}", Format::Nwb.extension())));
    let files = watched(|progress| export::export_trials(&trials, &out, &settings, progress))?;
    print_files(&files, args.json);
    Ok(())
}

/// Repeats a trial and compares it with the table. Fails if it differs.
pub(super) fn replay(args: &ReplayArgs) -> Result<(), CliError> {
    signal::listen();
    let folder = ExperimentFolder::open(&args.run).map_err(CliError::Usage)?;
    let (Some(condition), Some(seed)) = (&args.condition, args.seed) else {
        let what = "this is an experiment: --condition NAME --seed N chooses the trial to repeat";
        return Err(CliError::Usage(what.to_owned()));
    };
    if !args.allow_outside && !is_own(&args.run) {
        refuse_outside(&outside_paths(&folder.project, Path::new(&folder.manifest.base)), "experiment")?;
    }
    let run = &folder.project.run;
    let (gpu, threads) = (args.device.gpu.unwrap_or(run.gpu), args.threads.unwrap_or(run.threads));
    let chosen = device::choose(args.device.choice, gpu, threads)?;
    let setting = Setting {
        device: chosen.device,
        device_name: chosen.name,
        threads: chosen.threads,
        ignores_memory: args.force,
        check_silent: 0,
        command: String::new(),
    };
    let done = repeat::repeat(&folder, condition, seed, &setting, &Progress::default())?;
    let identical = done.is_identical();
    if args.json {
        print_line!(
            "{:#}",
            json!({
                "experiment": args.run.display().to_string(), "condition": condition, "seed": seed, "identical": identical,
                "hash": done.now.hash, "recorded_hash": done.recorded.hash, "values": done.now.values,
                "recorded_values": done.recorded.values,
            })
        );
    } else {
        print_line!("{condition}, seed {seed}: hash {}, recorded {}", done.now.hash, done.recorded.hash);
        print_line!("{}", if identical { "identical" } else { "the repetition differs from the table" });
    }
    if identical { Ok(()) } else { Err(CliError::Failed("the repetition differs from the table".to_owned())) }
}
