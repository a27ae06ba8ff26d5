//! The formats, and which recorded data each of them holds.

use crate::{
    kinds::Model,
    project::{Manifest, Stream},
    sim::SPIKES,
};

/// Format of exported files.
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
    /// Connections with weights and delays.
    Edges,
    /// Neurodata Without Borders: spikes, series and metadata for archives.
    Nwb,
    /// Network, spikes and reports of the SONATA format.
    Sonata,
}

impl Format {
    /// All formats in the order of menus and the command line.
    pub const ALL: [Self; 10] = [
        Self::Csv,
        Self::Npz,
        Self::Parquet,
        Self::Png,
        Self::Safetensors,
        Self::HuggingFace,
        Self::Newick,
        Self::Edges,
        Self::Nwb,
        Self::Sonata,
    ];

    /// Returns the name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::HuggingFace => "huggingface",
            Self::Edges => "edges",
            Self::Nwb => "nwb",
            _ => self.extension(),
        }
    }

    /// Returns the extension of a file or folder.
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Npz => "npz",
            Self::Parquet | Self::Edges => "parquet",
            Self::Png => "png",
            Self::Safetensors | Self::HuggingFace => "safetensors",
            Self::Newick => "nwk",
            Self::Nwb => "nwb.zarr",
            Self::Sonata => "sonata",
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
            Self::Edges => "Connections (.parquet)",
            Self::Nwb => "NWB (.nwb.zarr)",
            Self::Sonata => "SONATA",
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
            Self::Edges => {
                "Edge lists in Parquet with pre, post, w, delay_ms, made again from the project; weights that learn are those of the \
                 last checkpoint, or those at step 0: one file, or one per projection, which networks from files read"
            }
            Self::Nwb => {
                "Neurodata Without Borders as a folder of Zarr, which PyNWB reads: neurons with their columns and spikes, every series \
                 and field, interventions, edits, trials, project and hashes; subject and session come from a form, or from --about on the command line"
            }
            Self::Sonata => {
                "SONATA: a folder with nodes, edges, spikes and reports in HDF5 and the files of their types, which libsonata reads; \
                 connections are made again from the project, with index groups by source and target; parameters of neurons are in \
                 dynamics_params, by the names of NEST where its model is the same"
            }
        }
    }

    /// Returns the programs and libraries that read the files.
    pub const fn readers(self) -> &'static str {
        match self {
            Self::Csv => "spreadsheets, R, pandas",
            Self::Npz => "NumPy (`numpy.load`)",
            Self::Parquet => "pandas, Polars, DuckDB, R with arrow",
            Self::Png => "any program for images",
            Self::Safetensors => "safetensors for Python and Rust, PyTorch",
            Self::HuggingFace => "`transformers` (`GPT2LMHeadModel.from_pretrained`)",
            Self::Newick => {
                "programs for phylogenies, such as FigTree, ape and ete3; this program opens it in the lineage view"
            }
            Self::Edges => "projections *From file* and *Network folder or file* of this program, pandas, Polars",
            Self::Nwb => "PyNWB with hdmf-zarr (`NWBZarrIO`), nwbinspector, and archives such as DANDI",
            Self::Sonata => "libsonata, bmtk, NEST; this program opens its circuit_config.json as a project",
        }
    }

    /// Returns the help page on all formats as Markdown.
    pub fn help() -> String {
        let mut text = "Each export is made from the folder of a run; the run does not change. A format \
            is offered if the run holds data for it; the tooltip of another one says what is missing.\n"
            .to_owned();
        for format in Self::ALL {
            text += &format!("\n**{}**\n- {}\n- Read by {}\n", format.label(), format.docs(), format.readers());
        }
        text
    }

    /// Whether files of the format hold a stream.
    pub fn holds(self, stream: &Stream) -> bool {
        let (is_spikes, is_lineage) = (stream.shape == "spikes", stream.shape == "lineage");
        match self {
            Self::Csv => is_spikes || is_lineage || has_rows(stream) || has_lines(stream),
            Self::Npz | Self::Nwb => is_spikes || has_rows(stream),
            Self::Sonata => stream.probe == SPIKES || is_report(stream),
            Self::Parquet => is_spikes || is_lineage || has_rows(stream),
            Self::Png => is_spikes,
            Self::Newick => is_lineage,
            Self::Edges => false,                           // connections are made again
            Self::Safetensors | Self::HuggingFace => false, // the export reads a checkpoint, whose sections are verified on reading
        }
    }

    /// Whether an export makes the network of the run again, from its project and its input files.
    pub const fn remakes_network(self) -> bool {
        matches!(self, Self::Edges | Self::Nwb | Self::Sonata)
    }

    /// Returns how often an export reads a stream that the format holds.
    pub(super) fn n_reads(self, stream: &Stream) -> u64 {
        match (self, stream.shape.as_str()) {
            (Self::Npz, "spikes") => 3,
            // The births of a lineage are written with their deaths, which are read first.
            (Self::Csv | Self::Parquet, "lineage") => 3,
            (Self::Newick, "lineage") => 2,
            _ => 1,
        }
    }

    /// Returns the reason why a run cannot be written in this format; `None` if the run can be written.
    pub fn why_not(self, trials: &[&Manifest]) -> Option<&'static str> {
        let is_held = trials.iter().any(|m| m.streams.iter().any(|stream| self.holds(stream)));
        match self {
            Self::HuggingFace
                if !trials.iter().all(|m| Model::by_name(&m.kind).is_some_and(|model| model.has_hugging_face())) =>
            {
                Some("`transformers` has no model of this kind")
            }
            Self::Safetensors | Self::HuggingFace if trials.iter().all(|m| m.checkpoints.is_empty()) => {
                Some("The run has no checkpoint")
            }
            Self::Edges | Self::Sonata
                if !trials.iter().all(|m| Model::by_name(&m.kind).is_some_and(|model| has_connections(&model))) =>
            {
                Some("Simulations of this kind have no connections")
            }
            Self::Safetensors | Self::HuggingFace | Self::Edges | Self::Sonata => None,
            _ if is_held => None,
            Self::Png => Some("No events (spikes, births) were recorded"),
            Self::Newick => Some("No lineage was recorded"),
            Self::Csv | Self::Npz | Self::Parquet | Self::Nwb => Some("Nothing was recorded that this format holds"),
        }
    }
}

fn has_connections(model: &Model) -> bool {
    !model.edge_lists().is_empty()
}

/// Whether a stream has rows of numbers: a series, a field, a matrix or a histogram.
pub(super) fn has_rows(stream: &Stream) -> bool {
    matches!(stream.shape.as_str(), "series" | "field" | "matrix" | "histogram") && stream.width > 0
}

/// Whether a stream has a value of each of several elements per sample.
pub(super) fn is_report(stream: &Stream) -> bool {
    let is_selected = stream.shape == "series" && !stream.elements.is_empty();
    (is_selected || stream.shape == "field") && !stream.over.is_empty() && stream.width > 0
}

/// Whether a stream has lines of texts, tokens or links.
pub(super) fn has_lines(stream: &Stream) -> bool {
    matches!(stream.shape.as_str(), "samples" | "tokens" | "links")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run offers the formats that hold one of its streams, and gives the reason why it does not offer the others.
    #[test]
    fn a_format_is_offered_if_it_holds_a_stream() {
        let stream = |shape: &str| Stream { shape: shape.into(), width: 1, ..Stream::default() };
        let of = |shapes: &[&str]| {
            let manifest = Manifest { streams: shapes.iter().map(|s| stream(s)).collect(), ..Manifest::default() };
            let is_offered = |format: &Format| format.why_not(&[&manifest]).is_none();
            Format::ALL.into_iter().filter(is_offered).map(Format::extension).collect::<Vec<_>>()
        };
        assert_eq!(of(&["spikes"]), ["csv", "npz", "parquet", "png", "nwb.zarr"]);
        assert_eq!(of(&["series"]), ["csv", "npz", "parquet", "nwb.zarr"]);
        assert_eq!(of(&["lineage"]), ["csv", "parquet", "nwk"]);
        assert_eq!(of(&["samples"]), ["csv"]);
        assert!(of(&[]).is_empty());
        assert_eq!(Format::Csv.why_not(&[&Manifest::default()]), Some("Nothing was recorded that this format holds"));
    }
}
