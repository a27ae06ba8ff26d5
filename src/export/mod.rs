//! Exports a run folder to formats of other programs. An export needs only the folder, and for connections the input files of
//! the run. The required memory does not depend on the length of the run, except for lineages.

pub mod about;
mod checkpoint;
mod columns;
mod csv;
mod edges;
mod file_names;
mod format;
mod hdf5;
mod hugging_face;
pub mod newick;
mod npz;
mod nwb;
mod output;
mod parquet;
mod raster;
mod sonata;
mod trial;
mod zarr;

use crate::{
    project::{self, Manifest, RunFolder, check::damage_of, read_meter::ReadMeter},
    sim::Progress,
};
pub use about::{About, AboutField};
pub use columns::{TableColumn, table_as_parquet};
use file_names::FileNames;
pub use format::Format;
use output::Outputs;
pub use raster::PictureSize;
use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};
use trial::Trial;
pub use trial::TrialCondition;

/// Verifies the streams of a run and its trials that an export in a format reads. Returns a sentence about each damaged
/// stream. Fails if a file cannot be read or the job is cancelled.
pub fn damaged(run: &RunFolder, format: Format, progress: &Progress) -> io::Result<Vec<String>> {
    let mut out = vec![];
    for trial in run.trials()? {
        let folder = trial.trial.map_or_else(String::new, |k| format!("trial {k}: "));
        for stream in trial.manifest.streams.iter().filter(|stream| format.holds(stream)) {
            out.extend(damage_of(&trial, stream, progress)?.map(|why| format!("{folder}{why}")));
        }
    }
    Ok(out)
}

/// Returns every format with the reason why a run cannot be written in it; `None` if the run can be written. The streams of a
/// series of trials are those of its trials. Fails if a trial cannot be read.
pub fn offered(run: &RunFolder) -> io::Result<Vec<(Format, Option<&'static str>)>> {
    let trials = run.trials()?;
    let manifests: Vec<&Manifest> = trials.iter().map(|trial| &trial.manifest).collect();
    Ok(Format::ALL.map(|format| (format, why_not(run, &manifests, format))).to_vec())
}

/// Returns the reason why a run cannot be written in a format; `None` if it can be.
fn why_not(run: &RunFolder, trials: &[&Manifest], format: Format) -> Option<&'static str> {
    let needs_connections = matches!(format, Format::Edges | Format::Sonata);
    let of_project = || if needs_connections { edges::why_not(run) } else { None };
    format.why_not(trials).or_else(of_project)
}

/// File or folder that an export wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenFile {
    pub path: PathBuf,
    pub n_bytes: u64,
}

/// Writes a run and returns the written files; `out` is the main file ([`FileNames`]). A series of trials is written as one
/// file of spikes, with the number of the trial per spike. Each file appears complete or not at all, and never replaces a
/// file of the run. Fails if the run has no data for the format or a file cannot be written.
pub fn export(run: &RunFolder, format: Format, out: Option<&Path>) -> io::Result<Vec<PathBuf>> {
    let files = export_job(run, format, out, &ExportSettings::default(), &Arc::default())?;
    Ok(files.into_iter().map(|file| file.path).collect())
}

/// Settings of exports; each format uses its own.
#[derive(Clone, Debug, Default)]
pub struct ExportSettings {
    /// Size of an image.
    pub picture: PictureSize,
    /// Subject and session.
    pub about: About,
}

/// Writes recorded trials of an experiment as one NWB file, with their conditions. Fails as [`export_job`] does, and without a
/// trial.
pub fn export_trials(
    trials: &[(RunFolder, TrialCondition)],
    out: &Path,
    settings: &ExportSettings,
    progress: &Arc<Progress>,
) -> io::Result<Vec<WrittenFile>> {
    let Some((first, _)) = trials.first() else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "no trial was recorded"));
    };
    let read = |(number, (run, condition)): (u32, &(RunFolder, TrialCondition))| {
        let mut run = run.clone();
        run.trial = Some(number);
        Ok(Trial { condition: condition.clone(), ..Trial::read(&run)? })
    };
    let trials = (0..).zip(trials).map(read).collect::<io::Result<_>>()?;
    write_job(first, trials, Format::Nwb, Some(out), settings, progress)
}

/// Writes a run as [`export`] does, and reports the progress. Fails with [`io::ErrorKind::Interrupted`] if the job is cancelled;
/// no file is then left.
pub fn export_job(
    run: &RunFolder,
    format: Format,
    out: Option<&Path>,
    settings: &ExportSettings,
    progress: &Arc<Progress>,
) -> io::Result<Vec<WrittenFile>> {
    let trials = run.trials()?.iter().map(Trial::read).collect::<io::Result<_>>()?;
    write_job(run, trials, format, out, settings, progress)
}

/// Writes the trials of a run.
fn write_job(
    run: &RunFolder,
    mut trials: Vec<Trial>,
    format: Format,
    out: Option<&Path>,
    settings: &ExportSettings,
    progress: &Arc<Progress>,
) -> io::Result<Vec<WrittenFile>> {
    if let Some(why) = why_not(run, &trials.iter().map(Trial::manifest).collect::<Vec<_>>(), format) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("{}: {why}", run.path.display())));
    }
    let meter = ReadMeter::new(progress, format!("Writing {}", format.label()), bytes_to_read(&trials, format));
    trials.iter_mut().for_each(|trial| trial.meter = Some(meter.clone()));
    let names = FileNames::new(run, &trials, format, out);
    let mut outputs = Outputs::new(run);
    let written = match format {
        Format::Csv => csv::write(run, &trials, &names, &mut outputs),
        Format::Npz => npz::write(run, &trials, &names.main, &mut outputs),
        Format::Parquet => parquet::write(run, &trials, &names, &mut outputs),
        Format::Png => raster::write(&trials, &names.main, settings.picture, &mut outputs),
        Format::Safetensors => checkpoint::write(run, &names.main, &meter, &mut outputs),
        Format::HuggingFace => hugging_face::write(run, &names.main, &meter, &mut outputs),
        Format::Newick => newick::write(&trials, &names, &mut outputs),
        Format::Edges => edges::write(run, &names, (progress, &meter), &mut outputs),
        Format::Nwb => nwb::write(run, &trials, &settings.about, &names.main, progress, &mut outputs),
        Format::Sonata => sonata::write(run, &trials, &names.main, (progress, &meter), &mut outputs),
    };
    // A writer wraps the error of the reader, so the cause is read from the job.
    if progress.is_cancelled() {
        return Err(io::Error::new(io::ErrorKind::Interrupted, "cancelled"));
    }
    written?;
    let files = outputs.commit()?;
    // The list identifies the exports of this run for a later run in the same folder.
    project::list_exports(&run.path, &files).ok();
    let sized = |path: PathBuf| WrittenFile { n_bytes: output::size_of(&path), path };
    Ok(files.into_iter().map(sized).collect())
}

/// Returns the number of bytes that an export reads.
fn bytes_to_read(trials: &[Trial], format: Format) -> u64 {
    let checkpoint = |trial: &Trial| trial.manifest().checkpoints.last().map_or(0, |c| c.n_bytes);
    let streams = |trial: &Trial| -> u64 {
        let held = trial.manifest().streams.iter().filter(|stream| format.holds(stream));
        held.map(|stream| trial.run.n_bytes(stream) * format.n_reads(stream)).sum()
    };
    match format {
        Format::Safetensors | Format::HuggingFace => trials.iter().map(checkpoint).sum(),
        Format::Nwb => {
            let spikes = trials.iter().map(|trial| trial.n_spikes() * 8).sum::<u64>();
            spikes * (nwb::n_passes(trials) - 1) + trials.iter().map(streams).sum::<u64>()
        }
        _ => trials.iter().map(streams).sum(),
    }
}
