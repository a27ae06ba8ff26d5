//! Exports a run folder to formats of other programs. Needs only the folder.

mod csv;
mod npz;
mod parquet;
mod raster;

use crate::{
    project::{Manifest, RunFolder, Stream},
    sim::Spike,
};
use std::{
    io,
    path::{Path, PathBuf},
};

/// Export formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Comma-separated values: spikes, and one more file per other stream.
    Csv,
    /// NumPy archive: spikes and all series.
    Npz,
    /// Apache Parquet: one row per spike.
    Parquet,
    /// A raster of the spikes as an image.
    Png,
}

impl Format {
    /// All of them, for menus.
    pub const ALL: [Self; 4] = [Self::Csv, Self::Npz, Self::Parquet, Self::Png];

    /// File name extension.
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Npz => "npz",
            Self::Parquet => "parquet",
            Self::Png => "png",
        }
    }
}

/// Writes a run; `out` is the file, by default one in the run folder named after the format. Returns the
/// files written. A run of trials is written as one, with the number of the trial beside each spike.
pub fn export(run: &RunFolder, format: Format, out: Option<&Path>) -> io::Result<Vec<PathBuf>> {
    let out = out.map_or_else(|| run.path.join(format!("spikes.{}", format.extension())), Path::to_owned);
    let trials: Vec<Trial> = run.trials()?.iter().map(Trial::read).collect::<io::Result<_>>()?;
    match format {
        Format::Csv => csv::write(run, &trials, &out),
        Format::Npz => npz::write(run, &trials, &out).map(|()| vec![out]),
        Format::Parquet => parquet::write(run, &trials, &out).map(|()| vec![out]),
        Format::Png => raster::write(&trials, &out).map(|()| vec![out]),
    }
}

/// One trial: spikes, ids, manifest.
struct Trial {
    run: RunFolder,
    spikes: Vec<Spike>,
    ids: Vec<u64>,
}

impl Trial {
    fn read(run: &RunFolder) -> io::Result<Self> {
        let over = run.manifest.spikes().map_or("", |s| s.over.as_str());
        Ok(Self { spikes: run.spikes()?, ids: run.ids(over)?, run: run.clone() })
    }

    fn manifest(&self) -> &Manifest {
        &self.run.manifest
    }

    /// Time of a spike, seconds.
    fn secs(&self, spike: Spike) -> f64 {
        secs(spike.step.into(), self.manifest().secs_per_step)
    }

    /// Public id of a spike's neuron; its index when it has none.
    fn id(&self, spike: Spike) -> u64 {
        self.ids.get(spike.lane as usize).copied().unwrap_or(spike.lane.into())
    }

    fn n_lanes(&self) -> u32 {
        let over = self.manifest().spikes().map_or("", |s| s.over.as_str());
        let known = self.manifest().set(over).map_or(0, |s| s.len);
        known.max(self.spikes.iter().map(|s| s.lane + 1).max().unwrap_or(0))
    }

    /// Streams of rows: series, fields, matrices.
    fn row_streams(&self) -> impl Iterator<Item = &Stream> {
        let has_rows = |s: &&Stream| matches!(s.shape.as_str(), "series" | "field" | "matrix") && s.width > 0;
        self.manifest().streams.iter().filter(has_rows)
    }
}

/// Time of a step. A step that is a decimal number of milliseconds is given as such: 0.0005, not 0.0005000000001.
fn secs(step: u64, secs_per_step: f64) -> f64 {
    let per_second = (1.0 / secs_per_step).round();
    let is_whole = (per_second * secs_per_step - 1.0).abs() < 1e-9;
    if is_whole { step as f64 / per_second } else { step as f64 * secs_per_step }
}

/// Names of the lanes of a stream: given ones, else elements, else numbers.
fn lane_names(stream: &Stream) -> Vec<String> {
    let n = stream.width as usize;
    if stream.lanes.len() == n {
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
    move |e| io::Error::new(e.kind(), format!("{}: {e}", path.display()))
}
