//! Exports a run folder to formats of other programs. An export needs only the folder. The required memory does not depend
//! on the length of the run, except for lineages.

mod checkpoint;
mod csv;
mod hugging_face;
pub mod newick;
mod npz;
mod output;
mod parquet;
mod raster;

use crate::{
    data::io_reason,
    kinds::Model,
    project::{self, Manifest, RunFolder, Stream, check::damage_of, stream_reader::SpikeReader},
    sim::{AttributeValue, Birth, Death, LifeEvent, Progress, SPIKES, Spike, TimeBase},
};
use output::Outputs;
use std::{
    collections::{BTreeMap, HashMap},
    io,
    path::{Path, PathBuf},
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Comma-separated values: spikes, and one file per other probe.
    Csv,
    /// NumPy archive: every probe of numbers.
    Npz,
    /// Apache Parquet: one row per spike, and one file per other probe.
    Parquet,
    /// Image: a raster of the first stream of events.
    Png,
    /// The state of the last checkpoint: a tensor per section.
    Safetensors,
    /// Weights of the last checkpoint for `transformers`: a file of tensors and `config.json`.
    HuggingFace,
    /// Lineages as trees.
    Newick,
}

impl Format {
    /// All formats in the order of menus and the command line.
    pub const ALL: [Self; 7] =
        [Self::Csv, Self::Npz, Self::Parquet, Self::Png, Self::Safetensors, Self::HuggingFace, Self::Newick];

    /// Returns the name on the command line.
    pub const fn name(self) -> &'static str {
        if matches!(self, Self::HuggingFace) { "huggingface" } else { self.extension() }
    }

    /// Returns the file name extension.
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Npz => "npz",
            Self::Parquet => "parquet",
            Self::Png => "png",
            Self::Safetensors | Self::HuggingFace => "safetensors",
            Self::Newick => "nwk",
        }
    }

    /// Returns the display name in menus.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Csv => "CSV",
            Self::Npz => "NumPy (.npz)",
            Self::Parquet => "Parquet",
            Self::Png => "Raster image (.png)",
            Self::Safetensors => "Weights (.safetensors)",
            Self::HuggingFace => "Weights for transformers (GPT-2)",
            Self::Newick => "Lineage trees (.nwk)",
        }
    }

    /// Returns a description of the written data, for tooltips and the command line.
    pub const fn docs(self) -> &'static str {
        match self {
            Self::Csv => "Comma-separated values: spikes, and one file per other probe",
            Self::Npz => "NumPy archive of all probes, with the names and ids of their elements",
            Self::Parquet => "Apache Parquet: spikes with t, trial, flywire_id, exp_name, and one file per other probe",
            Self::Png => "Raster of recorded events (spikes, births) as an image",
            Self::Safetensors => "Weights and other state of the last checkpoint, one tensor per section",
            Self::HuggingFace => {
                "Weights of the last checkpoint as a GPT-2 of Hugging Face: model.safetensors and config.json, which \
                 GPT2LMHeadModel.from_pretrained(folder) reads"
            }
            Self::Newick => "Lineages in the Newick format: a tree per founder, branch lengths in steps",
        }
    }

    /// Returns the reason why a run cannot be written in this format; `None` if the run can be written.
    pub fn why_not(self, trials: &[&Manifest]) -> Option<&'static str> {
        let has = |shape: &str| trials.iter().any(|m| m.streams.iter().any(|stream| stream.shape == shape));
        match self {
            Self::Png if !has("spikes") => Some("No events (spikes, births) were recorded"),
            Self::Newick if !has("lineage") => Some("No lineage was recorded"),
            Self::HuggingFace
                if !trials.iter().all(|m| Model::by_name(&m.kind).is_some_and(|m| m.has_hugging_face())) =>
            {
                Some("`transformers` has no model of this kind")
            }
            Self::Safetensors | Self::HuggingFace if trials.iter().all(|m| m.checkpoints.is_empty()) => {
                Some("The run has no checkpoint")
            }
            _ => None,
        }
    }
}

/// Whether an export in a format reads a stream, so that damage of the stream is reported.
fn is_read(format: Format, stream: &Stream) -> bool {
    match format {
        Format::Csv | Format::Npz | Format::Parquet => true,
        Format::Png => stream.shape == "spikes",
        Format::Newick => stream.shape == "lineage",
        // These exports read a checkpoint, whose sections are verified on reading.
        Format::Safetensors | Format::HuggingFace => false,
    }
}

/// Verifies the streams of a run and its trials that an export in a format reads. Returns a sentence about each damaged
/// stream. Fails if a file cannot be read or the job is cancelled.
pub fn damaged(run: &RunFolder, format: Format, progress: &Progress) -> io::Result<Vec<String>> {
    let mut out = vec![];
    for trial in run.trials()? {
        let folder = trial.trial.map_or_else(String::new, |k| format!("trial {k}: "));
        for stream in trial.manifest.streams.iter().filter(|stream| is_read(format, stream)) {
            out.extend(damage_of(&trial, stream, progress)?.map(|why| format!("{folder}{why}")));
        }
    }
    Ok(out)
}

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
            (None, _) if !has_spikes && format != Format::Newick => String::new(),
            (_, stem) => format!("{}.", stem.unwrap_or_default().to_string_lossy()),
        };
        Self { main, prefix, extension }
    }

    /// Returns the path of a probe's file: `spikes.rate.csv`, or `spikes.rate.3.csv` in a trial.
    fn of_probe(&self, trial: &Trial, stream: &Stream) -> PathBuf {
        let number = trial.run.trial.map_or_else(String::new, |k| format!(".{k}"));
        self.main.with_file_name(format!("{}{}{number}.{}", self.prefix, array_name(stream), self.extension))
    }
}

/// Writes a run and returns the written files; `out` is the main file ([`FileNames`]). A series of trials is written as one
/// file of spikes, with the number of the trial per spike. Each file appears complete or not at all, and never replaces a
/// file of the run. Fails if the run has no data for the format or a file cannot be written.
pub fn export(run: &RunFolder, format: Format, out: Option<&Path>) -> io::Result<Vec<PathBuf>> {
    let trials: Vec<Trial> = run.trials()?.iter().map(Trial::read).collect::<io::Result<_>>()?;
    if let Some(why) = format.why_not(&trials.iter().map(Trial::manifest).collect::<Vec<_>>()) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("{}: {why}", run.path.display())));
    }
    let names = FileNames::new(run, &trials, format, out);
    let mut outputs = Outputs::new(run);
    match format {
        Format::Csv => csv::write(run, &trials, &names, &mut outputs),
        Format::Npz => npz::write(run, &trials, &names.main, &mut outputs),
        Format::Parquet => parquet::write(run, &trials, &names, &mut outputs),
        Format::Png => raster::write(&trials, &names.main, &mut outputs),
        Format::Safetensors => checkpoint::write(run, &names.main, &mut outputs),
        Format::HuggingFace => hugging_face::write(run, &names.main, &mut outputs),
        Format::Newick => newick::write(&trials, &names, &mut outputs),
    }?;
    if outputs.is_empty() {
        let what = format!("{}: the run recorded nothing that {} files hold", run.path.display(), format.extension());
        return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
    }
    let files = outputs.commit()?;
    // The list identifies the exports of this run for a later run in the same folder.
    project::list_exports(&run.path, &files).ok();
    Ok(files)
}

/// Trial with its manifest and the public ids of its neurons.
struct Trial {
    run: RunFolder,
    ids: Vec<u64>,
}

impl Trial {
    fn read(run: &RunFolder) -> io::Result<Self> {
        let over = spike_stream(&run.manifest).map_or("", |s| s.over.as_str());
        Ok(Self { ids: run.ids(over)?, run: run.clone() })
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
        stream.map_or_else(|| Ok(SpikeReader::empty()), |stream| self.run.read_spikes(stream))
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
        let has_rows =
            |s: &&Stream| matches!(s.shape.as_str(), "series" | "field" | "matrix" | "histogram") && s.width > 0;
        self.manifest().streams.iter().filter(has_rows)
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
        for event in self.run.read_lineage(stream)? {
            if let LifeEvent::Death(death) = event? {
                deaths.insert(death.gone, death);
            }
        }
        for event in self.run.read_lineage(stream)? {
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
        for event in self.run.read_lineage(stream)? {
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
        self.manifest().streams.iter().filter(|s| matches!(s.shape.as_str(), "samples" | "tokens" | "links"))
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
