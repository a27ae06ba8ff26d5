//! The formats, and which recorded data each of them holds.

use crate::{
    kinds::Model,
    project::{Manifest, Stream},
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
}

impl Format {
    /// All formats in the order of menus and the command line.
    pub const ALL: [Self; 8] = [
        Self::Csv,
        Self::Npz,
        Self::Parquet,
        Self::Png,
        Self::Safetensors,
        Self::HuggingFace,
        Self::Newick,
        Self::Edges,
    ];

    /// Returns the name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::HuggingFace => "huggingface",
            Self::Edges => "edges",
            _ => self.extension(),
        }
    }

    /// Returns the file name extension.
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Npz => "npz",
            Self::Parquet | Self::Edges => "parquet",
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
            Self::Edges => "Connections (.parquet)",
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
        }
    }

    /// Whether files of the format hold a stream.
    pub fn holds(self, stream: &Stream) -> bool {
        let (is_spikes, is_lineage) = (stream.shape == "spikes", stream.shape == "lineage");
        match self {
            Self::Csv => is_spikes || is_lineage || has_rows(stream) || has_lines(stream),
            Self::Npz => is_spikes || has_rows(stream),
            Self::Parquet => is_spikes || is_lineage || has_rows(stream),
            Self::Png => is_spikes,
            Self::Newick => is_lineage,
            Self::Edges => false,                           // connections are made again
            Self::Safetensors | Self::HuggingFace => false, // the export reads a checkpoint, whose sections are verified on reading
        }
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
            Self::Edges
                if !trials.iter().all(|m| Model::by_name(&m.kind).is_some_and(|model| has_connections(&model))) =>
            {
                Some("Simulations of this kind have no connections")
            }
            Self::Safetensors | Self::HuggingFace | Self::Edges => None,
            _ if is_held => None,
            Self::Png => Some("No events (spikes, births) were recorded"),
            Self::Newick => Some("No lineage was recorded"),
            Self::Csv | Self::Npz | Self::Parquet => Some("Nothing was recorded that this format holds"),
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
        assert_eq!(of(&["spikes"]), ["csv", "npz", "parquet", "png"]);
        assert_eq!(of(&["series"]), ["csv", "npz", "parquet"]);
        assert_eq!(of(&["lineage"]), ["csv", "parquet", "nwk"]);
        assert_eq!(of(&["samples"]), ["csv"]);
        assert!(of(&[]).is_empty());
        assert_eq!(Format::Csv.why_not(&[&Manifest::default()]), Some("Nothing was recorded that this format holds"));
    }
}
