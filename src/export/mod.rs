//! Exports a run folder to formats of other programs. Needs only the folder; memory does not depend on the length of the
//! run.

mod checkpoint;
mod csv;
pub mod newick;
mod npz;
mod output;
mod parquet;
mod raster;

use crate::{
    data::io_reason,
    project::{self, Manifest, RunFolder, Stream, stream_reader::SpikeReader},
    sim::{AttributeValue, Birth, Death, LifeEvent, Spike, TimeBase},
};
use output::Outputs;
use std::{
    collections::{BTreeMap, HashMap},
    io,
    path::{Path, PathBuf},
};

/// Export formats. The list of all, with names and descriptions, is [`Format::ALL`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Comma-separated values: spikes, and one more file per other probe.
    Csv,
    /// NumPy archive: every probe of numbers.
    Npz,
    /// Apache Parquet: one row per spike, and one more file per other probe.
    Parquet,
    /// A raster of the spikes as an image.
    Png,
    /// The state of the last checkpoint: a tensor per section.
    Safetensors,
    /// Lineages as trees.
    Newick,
}

impl Format {
    /// All of them, for menus and the command line.
    pub const ALL: [Self; 6] = [Self::Csv, Self::Npz, Self::Parquet, Self::Png, Self::Safetensors, Self::Newick];

    /// File name extension, and name on the command line.
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Npz => "npz",
            Self::Parquet => "parquet",
            Self::Png => "png",
            Self::Safetensors => "safetensors",
            Self::Newick => "nwk",
        }
    }

    /// Name in menus.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Csv => "CSV",
            Self::Npz => "NumPy (.npz)",
            Self::Parquet => "Parquet",
            Self::Png => "Raster image (.png)",
            Self::Safetensors => "Weights (.safetensors)",
            Self::Newick => "Lineage trees (.nwk)",
        }
    }

    /// What is written, for tooltips and the help of the command line.
    pub const fn docs(self) -> &'static str {
        match self {
            Self::Csv => "Comma-separated values: spikes, and one more file per other probe",
            Self::Npz => "NumPy archive of all probes, with the names and ids of their elements",
            Self::Parquet => {
                "Apache Parquet: spikes with t, trial, flywire_id, exp_name, and one more file per other probe"
            }
            Self::Png => "Spike raster as an image",
            Self::Safetensors => "Weights and other state of the last checkpoint, one tensor per section",
            Self::Newick => "Lineages in the Newick format: a tree per founder, branch lengths in steps",
        }
    }

    /// Name of the file without its extension, unless another is given.
    const fn stem(self) -> &'static str {
        match self {
            Self::Safetensors => "checkpoint",
            Self::Newick => "lineage",
            _ => "spikes",
        }
    }
}

/// Writes a run; `out` is the file, by default one in the run folder named after the format. Returns the
/// files written. A run of trials is written as one, with the number of the trial beside each spike. Files appear whole
/// or not at all, and never in place of a file of the run.
pub fn export(run: &RunFolder, format: Format, out: Option<&Path>) -> io::Result<Vec<PathBuf>> {
    let out = out.map_or_else(|| run.path.join(format!("{}.{}", format.stem(), format.extension())), Path::to_owned);
    let trials: Vec<Trial> = run.trials()?.iter().map(Trial::read).collect::<io::Result<_>>()?;
    let mut outputs = Outputs::new(run);
    match format {
        Format::Csv => csv::write(run, &trials, &out, &mut outputs),
        Format::Npz => npz::write(run, &trials, &out, &mut outputs),
        Format::Parquet => parquet::write(run, &trials, &out, &mut outputs),
        Format::Png => raster::write(&trials, &out, &mut outputs),
        Format::Safetensors => checkpoint::write(run, &out, &mut outputs),
        Format::Newick => newick::write(run, &trials, &out, &mut outputs),
    }?;
    let files = outputs.commit()?;
    // The list shows a later run in the same folder which exports are of this one.
    project::list_exports(&run.path, &files).ok();
    Ok(files)
}

/// One trial: manifest and ids.
struct Trial {
    run: RunFolder,
    ids: Vec<u64>,
}

impl Trial {
    fn read(run: &RunFolder) -> io::Result<Self> {
        let over = run.manifest.spikes().map_or("", |s| s.over.as_str());
        Ok(Self { ids: run.ids(over)?, run: run.clone() })
    }

    /// Number of the trial; 0 for a single run.
    fn number(&self) -> usize {
        self.run.trial.unwrap_or_default() as usize
    }

    fn manifest(&self) -> &Manifest {
        &self.run.manifest
    }

    /// The spikes of the first stream of spikes.
    fn spikes(&self) -> io::Result<SpikeReader> {
        match self.manifest().spikes() {
            Some(stream) => self.run.read_spikes(stream),
            None => Ok(SpikeReader::empty()),
        }
    }

    fn n_spikes(&self) -> u64 {
        self.manifest().spikes().map_or(0, |stream| self.run.n_records(stream))
    }

    /// Time of a spike, seconds.
    fn secs(&self, spike: Spike) -> f64 {
        secs(spike.step.into(), self.manifest().secs_per_step)
    }

    /// Public id of a spike's neuron; its index when it has none.
    fn id(&self, spike: Spike) -> u64 {
        self.ids.get(spike.lane as usize).copied().unwrap_or(spike.lane.into())
    }

    fn n_lanes(&self) -> io::Result<u32> {
        let over = self.manifest().spikes().map_or("", |s| s.over.as_str());
        match self.manifest().set(over) {
            Some(set) => Ok(set.len),
            None => self.spikes()?.try_fold(0, |most, spike| Ok(spike?.lane.saturating_add(1).max(most))),
        }
    }

    /// Streams of rows: series, fields, matrices, histograms.
    fn row_streams(&self) -> impl Iterator<Item = &Stream> {
        let has_rows =
            |s: &&Stream| matches!(s.shape.as_str(), "series" | "field" | "matrix" | "histogram") && s.width > 0;
        self.manifest().streams.iter().filter(has_rows)
    }

    /// Streams of spikes after the first, for example of births and deaths.
    fn event_streams(&self) -> impl Iterator<Item = &Stream> {
        self.manifest().streams.iter().filter(|s| s.shape == "spikes").skip(1)
    }

    /// Calls `each` with every birth of a lineage and the death of that individual. Deaths are held in memory.
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

    /// Names of the attributes of births and deaths in a lineage, and whether each is a number everywhere.
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

    /// Streams of texts, tokens and links.
    fn line_streams(&self) -> impl Iterator<Item = &Stream> {
        self.manifest().streams.iter().filter(|s| matches!(s.shape.as_str(), "samples" | "tokens" | "links"))
    }

    fn lineages(&self) -> impl Iterator<Item = &Stream> {
        self.manifest().streams.iter().filter(|s| s.shape == "lineage")
    }
}

/// An attribute of an individual: of its birth, else of its death.
fn attribute<'a>(birth: &'a Birth, death: Option<&'a Death>, name: &str) -> Option<&'a AttributeValue> {
    birth.attributes.get(name).or_else(|| death?.attributes.get(name))
}

/// The file of a probe beside the main one: `spikes.rate.csv`, and `spikes.rate.3.csv` of a trial.
fn beside(out: &Path, run: &RunFolder, trial: usize, stream: &Stream, format: Format) -> PathBuf {
    let number = if run.manifest.trials > 0 { format!(".{trial}") } else { String::new() };
    out.with_extension(format!("{}{number}.{}", array_name(stream), format.extension()))
}

/// Name of a stream: its probe, with the number of a later segment.
fn array_name(stream: &Stream) -> &str {
    stream.file.rsplit_once('.').map_or(stream.probe.as_str(), |(stem, _)| stem)
}

/// Time of a step. A step that is a decimal number of milliseconds is given as such: 0.0005, not 0.0005000000001.
fn secs(step: u64, secs_per_step: f64) -> f64 {
    let per_second = (1.0 / secs_per_step).round();
    let is_whole = (per_second * secs_per_step - 1.0).abs() < 1e-9;
    if is_whole { step as f64 / per_second } else { step as f64 * secs_per_step }
}

/// The unit of times in every format: `s`, or `generations` where the kind counts.
fn time_unit(manifest: &Manifest) -> &'static str {
    match manifest.time_base() {
        TimeBase::Seconds { .. } => "s",
        TimeBase::Count { plural, .. } => plural,
    }
}

/// Name of the column of times: `t_s`, `t_generations`.
fn time_column(manifest: &Manifest) -> String {
    format!("t_{}", time_unit(manifest))
}

/// Names of the lanes of a stream: given ones, else elements, else numbers.
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

/// An I/O error with its file.
fn at(path: &Path) -> impl Fn(io::Error) -> io::Error + '_ {
    move |e| io::Error::new(e.kind(), format!("{}: {}", path.display(), io_reason(&e)))
}
