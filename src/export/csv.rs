//! Comma-separated values: `spikes.csv`, and `spikes.PROBE.csv` for every stream of rows.

use super::{Trial, at, lane_names, secs};
use crate::project::{RunFolder, Stream};
use std::{
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
