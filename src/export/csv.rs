//! Comma-separated values: `spikes.csv`, and `spikes.PROBE.csv` for every stream of rows and every lineage.

use super::{Trial, at, lane_names, secs};
use crate::{
    project::{RunFolder, Stream},
    sim::{Birth, Death, LifeEvent},
};
use std::{
    collections::HashMap,
    fs::File,
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};

pub(super) fn write(run: &RunFolder, trials: &[Trial], out: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = vec![];
    if trials.iter().any(|t| t.manifest().spikes().is_some()) {
        write_spikes(run, trials, out).map_err(at(out))?;
        files.push(out.to_owned());
    }
    for trial in trials {
        for stream in trial.row_streams() {
            let number = if run.manifest.trials > 0 { format!(".{}", files.len()) } else { String::new() };
            let path = out.with_extension(format!("{}{number}.csv", stream.probe));
            write_rows(trial, stream, &path).map_err(at(&path))?;
            files.push(path);
        }
        for stream in trial.manifest().streams.iter().filter(|s| s.shape == "lineage") {
            let number = if run.manifest.trials > 0 { format!(".{}", files.len()) } else { String::new() };
            let path = out.with_extension(format!("{}{number}.csv", stream.probe));
            write_lineage(&trial.run.lineage(stream)?, &path).map_err(at(&path))?;
            files.push(path);
        }
    }
    Ok(files)
}

fn write_spikes(run: &RunFolder, trials: &[Trial], out: &Path) -> io::Result<()> {
    let mut file = BufWriter::new(File::create(out)?);
    let (has_trials, has_ids) = (run.manifest.trials > 0, trials.iter().any(|t| !t.ids.is_empty()));
    let (trial_head, id_head) = (if has_trials { "trial," } else { "" }, if has_ids { ",flywire_id" } else { "" });
    writeln!(file, "{trial_head}t_s,step,idx{id_head}")?;
    for (k, trial) in trials.iter().enumerate() {
        for spike in &trial.spikes {
            if has_trials {
                write!(file, "{k},")?;
            }
            write!(file, "{},{},{}", trial.secs(*spike), spike.step, spike.lane)?;
            if has_ids {
                write!(file, ",{}", trial.id(*spike))?;
            }
            writeln!(file)?;
        }
    }
    file.flush()
}

fn write_rows(trial: &Trial, stream: &Stream, path: &Path) -> io::Result<()> {
    let rows = trial.run.rows(stream)?;
    let mut file = ::csv::Writer::from_path(path)?;
    let head = ["t_s".to_owned(), "step".to_owned()].into_iter().chain(lane_names(stream));
    file.write_record(head)?;
    for (step, row) in rows.steps.iter().zip(rows.values.chunks_exact(rows.width)) {
        let time = secs(*step, trial.manifest().secs_per_step).to_string();
        let values = row.iter().map(ToString::to_string);
        file.write_record([time, step.to_string()].into_iter().chain(values))?;
    }
    file.flush()
}

/// One row per individual: birth, death, parents, slot, cause of the end.
fn write_lineage(events: &[LifeEvent], path: &Path) -> io::Result<()> {
    let death = |e: &LifeEvent| if let LifeEvent::Death(death) = e { Some((death.gone, death.clone())) } else { None };
    let deaths: HashMap<u64, Death> = events.iter().filter_map(death).collect();
    let mut file = ::csv::Writer::from_path(path)?;
    file.write_record(["id", "name", "place", "parents", "born_step", "gone_step", "end", "health"])?;
    for event in events {
        let LifeEvent::Birth(Birth { step, child, parents, slot: place, name }) = event else { continue };
        let death = deaths.get(child);
        let parents = parents.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
        file.write_record([
            child.to_string(),
            name.clone(),
            place.map_or_else(String::new, |p| p.to_string()),
            parents,
            step.to_string(),
            death.map_or_else(String::new, |d| d.step.to_string()),
            death.map_or_else(String::new, |d| d.end.word().to_owned()),
            death.and_then(|d| d.health).map_or_else(String::new, |h| h.to_string()),
        ])?;
    }
    file.flush()
}
