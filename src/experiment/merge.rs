//! Joins the parts of an experiment that ran as shards.

use super::{
    folder::{ExperimentFolder, Status, TRIALS},
    plan_file::CONDITIONS,
    run::write_table,
    shard::Shard,
    table::Table,
};
use crate::{
    data::{counted, io_reason},
    project::{
        Project, RunPlan,
        run::{PROJECT, now_utc},
    },
    sim::SimError,
};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// Joins parts in a new folder. Its table equals that of the experiment in one piece, bit for bit. Recorded trials are copied.
/// Returns the folder with its table.
///
/// # Errors
/// Fails if the parts belong to different experiments, overlap, are not complete, or do not contain all trials; and if a file
/// cannot be read or written.
pub fn merge(parts: &[PathBuf], out: &Path) -> Result<(ExperimentFolder, Table), SimError> {
    join(parts, out).map_err(SimError::Input)
}

fn join(parts: &[PathBuf], out: &Path) -> Result<(ExperimentFolder, Table), String> {
    let opened: Vec<ExperimentFolder> =
        parts.iter().map(|part| ExperimentFolder::open(part)).collect::<Result<_, _>>()?;
    let Some(first) = opened.first() else { return Err("there are no parts to merge".to_owned()) };
    let mut joined = first.empty_table();
    for part in &opened {
        let are_equal = [
            (PROJECT, without_device(&part.project) == without_device(&first.project)),
            (CONDITIONS, read(&part.path.join(CONDITIONS))? == read(&first.path.join(CONDITIONS))?),
        ];
        if let Some((name, _)) = are_equal.iter().find(|(_, are_equal)| !are_equal) {
            let (a, b) = (part.path.display(), first.path.display());
            return Err(format!("{a} and {b} are not parts of one experiment: their {name} differ"));
        }
        if part.manifest.status != Status::Complete {
            let words = part.manifest.status.words();
            return Err(format!("{} is {words}; --resume completes it", part.path.display()));
        }
        for (key, trial) in part.table()?.trials {
            if joined.trials.insert(key, trial).is_some() {
                let name = &first.plan.conditions[key.0].name;
                return Err(format!(
                    "{}: another part has the trial of `{name}` with seed {} too",
                    part.path.display(),
                    key.1
                ));
            }
        }
    }
    let missing = first.plan.n_trials() - joined.trials.len();
    if missing > 0 {
        return Err(format!(
            "{} of {} are missing: {}",
            counted(missing, "trial", "trials"),
            first.plan.n_trials(),
            absent(&opened)
        ));
    }
    let mut manifest = first.manifest.clone();
    manifest.shard = Shard::default();
    manifest.status = Status::Running;
    manifest.wall_s = opened.iter().map(|part| part.manifest.wall_s).sum();
    manifest.started = opened.iter().map(|part| part.manifest.started.clone()).min().unwrap_or_default();
    let (mut folder, _lock) = ExperimentFolder::create(out, manifest, first.project.clone(), first.plan.clone())?;
    for part in &opened {
        copy_recordings(&part.path, out)?;
    }
    write_table(&folder, &joined).map_err(|e| e.to_string())?;
    folder.manifest.status = Status::Complete;
    folder.manifest.stopped = now_utc();
    folder.save_manifest()?;
    Ok((folder, joined))
}

/// Returns a project without the settings that may differ between machines and have no effect on results.
fn without_device(project: &Project) -> Project {
    let usual = RunPlan::default();
    let run = RunPlan {
        threads: usual.threads,
        device: usual.device,
        gpu: usual.gpu,
        speed: usual.speed,
        ..project.run.clone()
    };
    Project { run, workspace: None, ..project.clone() }
}

/// Names the parts that are absent: `parts 2/4, 3/4`.
fn absent(parts: &[ExperimentFolder]) -> String {
    let of = parts.iter().map(|part| part.manifest.shard.of).max().unwrap_or(1);
    let has = |n: &u32| parts.iter().any(|part| part.manifest.shard == Shard { part: *n, of });
    let absent: Vec<String> = (1..=of).filter(|n| !has(n)).map(|n| Shard { part: n, of }.to_string()).collect();
    if absent.is_empty() {
        "the parts have different numbers of parts".to_owned()
    } else {
        format!("parts {}", absent.join(", "))
    }
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(|e| format!("{}: {}", path.display(), io_reason(&e)))
}

/// Copies the run folders of trials, and the ids of their elements.
fn copy_recordings(part: &Path, out: &Path) -> Result<(), String> {
    let wrong = |path: &Path, e: std::io::Error| format!("{}: {}", path.display(), io_reason(&e));
    let trials = part.join(TRIALS);
    if !trials.is_dir() {
        return Ok(());
    }
    for entry in fs::read_dir(part).map_err(|e| wrong(part, e))?.flatten() {
        if entry.path().extension().is_some_and(|extension| extension == "u64") {
            fs::copy(entry.path(), out.join(entry.file_name())).map_err(|e| wrong(&entry.path(), e))?;
        }
    }
    for trial in fs::read_dir(&trials).map_err(|e| wrong(&trials, e))?.flatten() {
        let to = out.join(TRIALS).join(trial.file_name());
        fs::create_dir_all(&to).map_err(|e| wrong(&to, e))?;
        for file in fs::read_dir(trial.path()).map_err(|e| wrong(&trial.path(), e))?.flatten() {
            fs::copy(file.path(), to.join(file.file_name())).map_err(|e| wrong(&file.path(), e))?;
        }
    }
    Ok(())
}
