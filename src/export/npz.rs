//! NumPy archive: `spike_times` [s], `spike_ids`, `t_start`, `t_stop` as most analysis scripts expect, and every other
//! probe as `NAME_t` and `NAME`.

use super::{Trial, at, secs};
use crate::project::RunFolder;
use npyz::{AutoSerialize, WriterBuilder, npz::NpzWriter, zip::write::FileOptions};
use std::{
    fs::File,
    io::{self, BufWriter},
    path::Path,
};

type Archive = NpzWriter<BufWriter<File>>;

pub(super) fn write(run: &RunFolder, trials: &[Trial], out: &Path) -> io::Result<()> {
    let file = File::create(out).map_err(at(out))?;
    let mut archive = NpzWriter::new(BufWriter::new(file));
    fill(&mut archive, run, trials).map_err(at(out))
}

fn fill(archive: &mut Archive, run: &RunFolder, trials: &[Trial]) -> io::Result<()> {
    let spikes = || trials.iter().flat_map(|t| t.spikes.iter().map(move |s| (t, *s)));
    let n = spikes().count() as u64;
    array(archive, "spike_times", &[n], spikes().map(|(t, s)| t.secs(s)))?;
    array(archive, "spike_ids", &[n], spikes().map(|(_, s)| i64::from(s.lane)))?;
    array(archive, "spike_steps", &[n], spikes().map(|(_, s)| s.step))?;
    if run.manifest.trials > 0 {
        let trial = trials.iter().enumerate().flat_map(|(k, t)| t.spikes.iter().map(move |_| k as i32));
        array(archive, "spike_trials", &[n], trial)?;
    }
    let span = trials.first().map(|t| t.manifest());
    let [start, stop] = span.map_or([0.0; 2], |m| [m.first_step, m.last_step].map(|s| secs(s, m.secs_per_step)));
    array(archive, "t_start", &[], [start])?;
    array(archive, "t_stop", &[], [stop])?;
    array(archive, "n_lanes", &[], [i64::from(trials.iter().map(Trial::n_lanes).max().unwrap_or(0))])?;
    if let Some(ids) = trials.first().map(|t| &t.ids).filter(|ids| !ids.is_empty()) {
        array(archive, "ids", &[ids.len() as u64], ids.iter().copied())?;
    }
    for (k, trial) in trials.iter().enumerate() {
        let suffix = if run.manifest.trials > 0 { format!("_{k}") } else { String::new() };
        for stream in trial.row_streams() {
            let rows = trial.run.rows(stream)?;
            let (n, name) = (rows.steps.len() as u64, &stream.probe);
            let times = rows.steps.iter().map(|s| secs(*s, trial.manifest().secs_per_step));
            array(archive, &format!("{name}{suffix}_t"), &[n], times)?;
            array(archive, &format!("{name}{suffix}"), &[n, rows.width as u64], rows.values.iter().copied())?;
        }
    }
    Ok(())
}

fn array<T: AutoSerialize>(
    archive: &mut Archive,
    name: &str,
    shape: &[u64],
    values: impl IntoIterator<Item = T>,
) -> io::Result<()> {
    let options = FileOptions::default().large_file(true);
    let builder = archive.array::<T>(name, options)?;
    let mut writer = builder.default_dtype().shape(shape).begin_nd()?;
    writer.extend(values)?;
    writer.finish()
}
