//! File names of an export.

use super::{
    Format, hugging_face,
    trial::{Trial, array_name},
};
use crate::{
    project::{RunFolder, Stream},
    sim::SPIKES,
};
use std::path::{Path, PathBuf};

/// File names of an export.
pub(super) struct FileNames {
    /// File of all spikes, or of all probes.
    pub main: PathBuf,
    /// Prefix of the file names of probes that are written to separate files.
    prefix: String,
    extension: &'static str,
}

impl FileNames {
    /// Names the main file `out`, or by default a file in the run folder after its contents: `spikes.csv`,
    /// `transformer.npz`. The names of other files begin with that of the main file (`spikes.rate.csv`). Without `out`, spikes
    /// and trees, they are names of probes alone (`loss.csv`).
    pub fn new(run: &RunFolder, trials: &[Trial], format: Format, out: Option<&Path>) -> Self {
        let has_spikes = trials.iter().any(|trial| trial.spike_stream().is_some());
        let drawn = || trials.iter().find_map(Trial::drawn_stream).map(|stream| stream.probe.clone());
        let stem = match format {
            Format::Safetensors | Format::HuggingFace => "checkpoint".to_owned(),
            Format::Newick => "lineage".to_owned(),
            Format::Edges => "edges".to_owned(),
            Format::Nwb => "recording".to_owned(),
            Format::Sonata => "network".to_owned(),
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
            (None, _)
                if !has_spikes && !matches!(format, Format::Newick | Format::Edges | Format::Nwb | Format::Sonata) =>
            {
                String::new()
            }
            (_, stem) => format!("{}.", stem.unwrap_or_default().to_string_lossy()),
        };
        Self { main, prefix, extension }
    }

    /// Returns the path of a probe's file: `spikes.rate.csv`, or `spikes.rate.3.csv` in a trial.
    pub fn of_probe(&self, trial: &Trial, stream: &Stream) -> PathBuf {
        let number = trial.run.trial.map_or_else(String::new, |k| format!(".{k}"));
        self.of_part(&format!("{}{number}", array_name(stream)))
    }

    /// Returns the path of a part of the export: `edges.E-I.parquet`.
    pub fn of_part(&self, name: &str) -> PathBuf {
        self.main.with_file_name(format!("{}{name}.{}", self.prefix, self.extension))
    }
}
