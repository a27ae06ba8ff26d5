//! Exports a run folder to formats of other programs. An export needs only the folder, and for connections the input files of
//! the run. The required memory does not depend on the length of the run, except for lineages.

mod checkpoint;
mod columns;
mod csv;
mod edges;
mod format;
mod hugging_face;
pub mod newick;
mod npz;
mod output;
mod parquet;
mod raster;

use crate::{
    data::io_reason,
    project::{
        self, Manifest, RunFolder, Stream,
        check::damage_of,
        read_meter::ReadMeter,
        stream_reader::{LineReader, RowReader, SpikeReader},
    },
    sim::{AttributeValue, Birth, Death, LifeEvent, Progress, SPIKES, Spike, TimeBase},
};
pub use columns::{TableColumn, table_as_parquet};
pub use format::Format;
use output::Outputs;
pub use raster::PictureSize;
use std::{
    collections::{BTreeMap, HashMap},
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

/// File names of an export.
struct FileNames {
    /// File of all spikes, or of all probes.
    main: PathBuf,
    /// Prefix of the file names of probes that are written to separate files.
    prefix: String,
    extension: &'static str,
}

impl FileNames {
    /// Names the main file `out`, or by default a file in the run folder after its contents: `spikes.csv`,
    /// `transformer.npz`. The names of other files begin with that of the main file (`spikes.rate.csv`). Without `out`, spikes
    /// and trees, they are names of probes alone (`loss.csv`).
    fn new(run: &RunFolder, trials: &[Trial], format: Format, out: Option<&Path>) -> Self {
        let has_spikes = trials.iter().any(|trial| trial.spike_stream().is_some());
        let drawn = || trials.iter().find_map(Trial::drawn_stream).map(|stream| stream.probe.clone());
        let stem = match format {
            Format::Safetensors | Format::HuggingFace => "checkpoint".to_owned(),
            Format::Newick => "lineage".to_owned(),
            Format::Edges => "edges".to_owned(),
            Format::Png => drawn().unwrap_or_else(|| SPIKES.to_owned()),
            Format::Csv | Format::Npz | Format::Parquet if has_spikes => SPIKES.to_owned(),
            Format::Csv | Format::Npz | Format::Parquet => run.manifest.kind.clone(),
        };
        let extension = format.extension();
        let main = match format {
            Format::HuggingFace => hugging_face::weights_file(run, out),
            _ => out.map_or_else(|| run.path.join(format!("{stem}.{extension}")), Path::to_owned),
        };
        let prefix = match (out, main.file_stem()) {
            (None, _) if !has_spikes && !matches!(format, Format::Newick | Format::Edges) => String::new(),
            (_, stem) => format!("{}.", stem.unwrap_or_default().to_string_lossy()),
        };
        Self { main, prefix, extension }
    }

    /// Returns the path of a probe's file: `spikes.rate.csv`, or `spikes.rate.3.csv` in a trial.
    fn of_probe(&self, trial: &Trial, stream: &Stream) -> PathBuf {
        let number = trial.run.trial.map_or_else(String::new, |k| format!(".{k}"));
        self.of_part(&format!("{}{number}", array_name(stream)))
    }

    /// Returns the path of a part of the export: `edges.E-I.parquet`.
    fn of_part(&self, name: &str) -> PathBuf {
        self.main.with_file_name(format!("{}{name}.{}", self.prefix, self.extension))
    }
}

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
    let of_project = || if format == Format::Edges { edges::why_not(run) } else { None };
    format.why_not(trials).or_else(of_project)
}

/// File that an export wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenFile {
    pub path: PathBuf,
    pub n_bytes: u64,
}

/// Writes a run and returns the written files; `out` is the main file ([`FileNames`]). A series of trials is written as one
/// file of spikes, with the number of the trial per spike. Each file appears complete or not at all, and never replaces a
/// file of the run. Fails if the run has no data for the format or a file cannot be written.
pub fn export(run: &RunFolder, format: Format, out: Option<&Path>) -> io::Result<Vec<PathBuf>> {
    let files = export_job(run, format, out, PictureSize::default(), &Arc::default())?;
    Ok(files.into_iter().map(|file| file.path).collect())
}

/// Writes a run as [`export`] does, and reports the progress. `picture` is the size of an image. Fails with
/// [`io::ErrorKind::Interrupted`] if the job is cancelled; no file is then left.
pub fn export_job(
    run: &RunFolder,
    format: Format,
    out: Option<&Path>,
    picture: PictureSize,
    progress: &Arc<Progress>,
) -> io::Result<Vec<WrittenFile>> {
    let mut trials: Vec<Trial> = run.trials()?.iter().map(Trial::read).collect::<io::Result<_>>()?;
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
        Format::Png => raster::write(&trials, &names.main, picture, &mut outputs),
        Format::Safetensors => checkpoint::write(run, &names.main, &meter, &mut outputs),
        Format::HuggingFace => hugging_face::write(run, &names.main, &meter, &mut outputs),
        Format::Newick => newick::write(&trials, &names, &mut outputs),
        Format::Edges => edges::write(run, &names, (progress, &meter), &mut outputs),
    };
    // A writer wraps the error of the reader, so the cause is read from the job.
    if progress.is_cancelled() {
        return Err(io::Error::new(io::ErrorKind::Interrupted, "cancelled"));
    }
    written?;
    let files = outputs.commit()?;
    // The list identifies the exports of this run for a later run in the same folder.
    project::list_exports(&run.path, &files).ok();
    let sized = |path: PathBuf| WrittenFile { n_bytes: std::fs::metadata(&path).map_or(0, |m| m.len()), path };
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
        _ => trials.iter().map(streams).sum(),
    }
}

/// Trial with its manifest and the public ids of its neurons.
struct Trial {
    run: RunFolder,
    ids: Vec<u64>,
    /// Counts the bytes that the export reads.
    meter: Option<Arc<ReadMeter>>,
}

impl Trial {
    fn read(run: &RunFolder) -> io::Result<Self> {
        let over = spike_stream(&run.manifest).map_or("", |s| s.over.as_str());
        Ok(Self { ids: run.ids(over)?, run: run.clone(), meter: None })
    }

    fn read_spikes(&self, stream: &Stream) -> io::Result<SpikeReader> {
        Ok(self.run.read_spikes(stream)?.metered(self.meter.as_ref()))
    }

    fn read_rows(&self, stream: &Stream) -> io::Result<RowReader> {
        Ok(self.run.read_rows(stream)?.metered(self.meter.as_ref()))
    }

    fn read_lines<T: serde::de::DeserializeOwned>(&self, stream: &Stream) -> io::Result<LineReader<T>> {
        Ok(self.run.read_lines(stream)?.metered(self.meter.as_ref()))
    }

    /// Returns the number of the trial; 0 for a single run.
    fn number(&self) -> usize {
        self.run.trial.unwrap_or_default() as usize
    }

    fn manifest(&self) -> &Manifest {
        &self.run.manifest
    }

    /// Returns the stream of the spikes of neurons; `None` if no neurons were recorded.
    fn spike_stream(&self) -> Option<&Stream> {
        spike_stream(self.manifest())
    }

    /// Returns the stream that is drawn as a raster: the first recorded stream of events, `None` without events.
    fn drawn_stream(&self) -> Option<&Stream> {
        self.manifest().spikes()
    }

    fn events(&self, stream: Option<&Stream>) -> io::Result<SpikeReader> {
        stream.map_or_else(|| Ok(SpikeReader::empty()), |stream| self.read_spikes(stream))
    }

    fn n_spikes(&self) -> u64 {
        self.spike_stream().map_or(0, |stream| self.run.n_records(stream))
    }

    /// Returns the time of a spike in seconds or counted steps.
    fn secs(&self, spike: Spike) -> f64 {
        secs(spike.step.into(), self.manifest().secs_per_step)
    }

    /// Returns the public id of a spike's neuron, or the neuron's index if it has no id.
    fn id(&self, spike: Spike) -> u64 {
        self.ids.get(spike.lane as usize).copied().unwrap_or(spike.lane.into())
    }

    /// Returns the number of elements that can have events. If the set is unknown, returns 1 + the largest index with an
    /// event. Fails if the stream cannot be read.
    fn n_lanes(&self, stream: Option<&Stream>) -> io::Result<u32> {
        match self.manifest().set(stream.map_or("", |s| s.over.as_str())) {
            Some(set) => Ok(set.len),
            None => self.events(stream)?.try_fold(0, |most, event| Ok(event?.lane.saturating_add(1).max(most))),
        }
    }

    /// Iterates over the streams of rows: series, fields, matrices and histograms.
    fn row_streams(&self) -> impl Iterator<Item = &Stream> {
        self.manifest().streams.iter().filter(|stream| format::has_rows(stream))
    }

    /// Iterates over the streams of events other than spikes of neurons, such as births and deaths.
    fn event_streams(&self) -> impl Iterator<Item = &Stream> {
        let spikes = self.spike_stream().map(|stream| &stream.file);
        self.manifest().streams.iter().filter(move |s| s.shape == "spikes" && Some(&s.file) != spikes)
    }

    /// Calls `each` with every birth in a lineage and the death of the individual, if it died. Keeps all deaths in memory.
    /// Fails if the stream cannot be read or `each` fails.
    fn individuals(
        &self,
        stream: &Stream,
        mut each: impl FnMut(&Birth, Option<&Death>) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut deaths = HashMap::<u64, Death>::new();
        for event in self.read_lines::<LifeEvent>(stream)? {
            if let LifeEvent::Death(death) = event? {
                deaths.insert(death.gone, death);
            }
        }
        for event in self.read_lines::<LifeEvent>(stream)? {
            if let LifeEvent::Birth(birth) = event? {
                each(&birth, deaths.get(&birth.child))?;
            }
        }
        Ok(())
    }

    /// Returns the names of the attributes of births and deaths in a lineage in alphabetical order, and whether each is
    /// always a number. Fails if the stream cannot be read.
    fn attributes(&self, stream: &Stream) -> io::Result<Vec<(String, bool)>> {
        let mut names = BTreeMap::<String, bool>::new();
        for event in self.read_lines::<LifeEvent>(stream)? {
            let attributes = match event? {
                LifeEvent::Birth(birth) => birth.attributes,
                LifeEvent::Death(death) => death.attributes,
            };
            for (name, value) in attributes {
                *names.entry(name.into_owned()).or_insert(true) &= matches!(value, AttributeValue::Number(_));
            }
        }
        Ok(names.into_iter().collect())
    }

    /// Iterates over the streams of texts, tokens and links.
    fn line_streams(&self) -> impl Iterator<Item = &Stream> {
        self.manifest().streams.iter().filter(|stream| format::has_lines(stream))
    }

    fn lineages(&self) -> impl Iterator<Item = &Stream> {
        self.manifest().streams.iter().filter(|s| s.shape == "lineage")
    }
}

/// Returns an attribute of an individual from its birth, or else from its death; `None` if both lack it.
fn attribute<'a>(birth: &'a Birth, death: Option<&'a Death>, name: &str) -> Option<&'a AttributeValue> {
    birth.attributes.get(name).or_else(|| death?.attributes.get(name))
}

/// Returns the stream of the spikes of neurons; `None` if none were recorded.
fn spike_stream(manifest: &Manifest) -> Option<&Stream> {
    manifest.spikes().filter(|stream| stream.probe == SPIKES)
}

/// Returns the file name of a stream without its extension: the probe with its arguments, and the number of a later
/// segment.
fn array_name(stream: &Stream) -> &str {
    stream.file.rsplit_once('.').map_or(stream.probe.as_str(), |(stem, _)| stem)
}

/// Converts a step to seconds, or to counted steps if `secs_per_step` is 1. If a second is a whole number of steps, the result
/// has exact decimals: 0.0005, not 0.0005000000001.
fn secs(step: u64, secs_per_step: f64) -> f64 {
    let per_second = (1.0 / secs_per_step).round();
    let is_whole = (per_second * secs_per_step - 1.0).abs() < 1e-9;
    if is_whole { step as f64 / per_second } else { step as f64 * secs_per_step }
}

/// Returns the unit of times in every format: `s`, or `generations` if the kind counts generations.
fn time_unit(manifest: &Manifest) -> &'static str {
    match manifest.time_base() {
        TimeBase::Seconds { .. } => "s",
        TimeBase::Count { plural, .. } => plural,
    }
}

/// Returns the name of the time column: `t_s`, `t_generations`.
fn time_column(manifest: &Manifest) -> String {
    format!("t_{}", time_unit(manifest))
}

/// Returns the names of the lanes of a stream. The first of these that exists is used: bins, cells of a matrix, declared
/// names, elements, the probe, numbers.
fn lane_names(stream: &Stream) -> Vec<String> {
    let n = stream.width as usize;
    if stream.edges.len() == n + 1 {
        stream.edges.windows(2).map(|bin| format!("{} to {}", bin[0], bin[1])).collect()
    } else if stream.n_columns > 0 {
        let (columns, name) = (stream.n_columns as usize, |names: &[String], i: usize| names.get(i).cloned());
        let cell = |i: usize| {
            let row = name(&stream.rows, i / columns).unwrap_or_else(|| (i / columns).to_string());
            let column = name(&stream.columns, i % columns).unwrap_or_else(|| (i % columns).to_string());
            format!("{row}:{column}")
        };
        (0..n).map(cell).collect()
    } else if stream.lanes.len() == n {
        stream.lanes.clone()
    } else if stream.elements.len() == n {
        stream.elements.iter().map(ToString::to_string).collect()
    } else if n == 1 {
        vec![stream.probe.clone()]
    } else {
        (0..n).map(|i| i.to_string()).collect()
    }
}

/// Adds the file name to the message of an I/O error.
fn at(path: &Path) -> impl Fn(io::Error) -> io::Error + '_ {
    move |e| io::Error::new(e.kind(), format!("{}: {}", path.display(), io_reason(&e)))
}
