//! Names of the columns and of the metadata of edge lists, for readers and writers.

/// Accepted names of the presynaptic index; files are written with the first.
pub const PRE: &[&str] = &["pre", "Presynaptic_Index"];
/// Accepted names of the postsynaptic index; files are written with the first.
pub const POST: &[&str] = &["post", "Postsynaptic_Index"];
/// Accepted names of the signed synapse count or weight; files are written with the first.
pub const WEIGHT: &[&str] = &["w", "Excitatory x Connectivity"];
/// Accepted names of an unsigned count and of its sign.
pub const UNSIGNED: (&str, &str) = ("Connectivity", "Excitatory");
/// Name of the delay in milliseconds.
pub const DELAY_MS: &str = "delay_ms";
/// Metadata of a Parquet file: unit of the weights, `pA`.
pub const WEIGHT_UNIT: &str = "w_unit";
/// Metadata of a Parquet file: exponent of the power of two of which all weights are multiples.
pub const WEIGHT_EXPONENT: &str = "w_exponent";
