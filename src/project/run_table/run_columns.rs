//! The fixed columns of runs, from the manifest and the user's labels.

use super::{
    cell::Cell,
    column::{Column, Quantity},
    row::Row,
};
use crate::{
    kinds::Model,
    project::{Manifest, labels::Labels},
    sim::{Counted, TimeBase},
};

/// Key of the column of names.
pub const NAME: &str = "name";
/// Key of the column of tags.
pub const TAGS: &str = "tags";
/// Key of the column of kinds.
pub const KIND: &str = "kind";
/// Key of the column of states: complete, running, failed.
pub const STATUS: &str = "status";
/// Key of the column of start times.
pub const STARTED: &str = "started";
/// Key of the column of simulated times.
const SIMULATED: &str = "simulated";
/// Key of the column of changed parameters.
pub const CHANGES: &str = "changes";
/// Key of the column of tokens per second.
pub(super) const TOKENS_PER_S: &str = "tokens_per_s";
/// Key of the column of notes.
pub const NOTE: &str = "note";

/// Data of a run from which its cells follow.
pub(super) struct Facts<'a> {
    /// Name of the folder.
    pub name: &'a str,
    pub manifest: &'a Manifest,
    /// Parameters at step 0; `None` if they are unreadable.
    pub model: Option<&'a Model>,
    pub labels: &'a Labels,
    /// Changes compared with another project, such as the open one.
    pub changes: &'a [String],
}

/// Declaration of a fixed column.
struct RunColumn {
    key: &'static str,
    title: &'static str,
    docs: &'static str,
    quantity: Quantity,
    is_default: bool,
    cell: fn(&Facts<'_>) -> Cell,
}

/// Declares a column: key, title, description, quantity, whether it is shown by default, and its cell.
const fn column(
    key: &'static str,
    title: &'static str,
    docs: &'static str,
    quantity: Quantity,
    is_default: bool,
    cell: fn(&Facts<'_>) -> Cell,
) -> RunColumn {
    RunColumn { key, title, docs, quantity, is_default, cell }
}

/// The fixed columns in their order.
const ALL: [RunColumn; 18] = [
    column(NAME, "Name", "Name of the run folder", Quantity::Text, true, |f| Cell::text_of(f.name)),
    column(TAGS, "Tags", "Tags of the user", Quantity::Tags, true, |f| Cell::Tags(f.labels.tags.clone())),
    column(KIND, "Kind", "Kind of the simulation", Quantity::Text, true, |f| Cell::text_of(&*f.manifest.kind)),
    column(STATUS, "Status", "Running, complete, interrupted, failed or not closed", Quantity::Text, true, |f| {
        Cell::text_of(f.manifest.status.word())
    }),
    column(STARTED, "Started (UTC)", "Time of the start", Quantity::Date, true, |f| {
        Cell::text_of(f.manifest.started.replace('T', " ").trim_end_matches('Z'))
    }),
    column(
        SIMULATED,
        "Simulated",
        "Recorded simulated time in seconds, or number of counted steps",
        Quantity::Simulated,
        true,
        simulated,
    ),
    column("steps", "Steps", "Number of recorded steps", Quantity::Count, false, |f| {
        Cell::Number(steps(f.manifest) as f64)
    }),
    column(TOKENS_PER_S, "Tokens/s", "Training tokens per second of computing", Quantity::Value, true, |f| {
        Cell::number_of(tokens(f) * steps_per_s(f.manifest))
    }),
    column("steps_per_s", "Steps/s", "Steps per second of computing", Quantity::Value, false, |f| {
        Cell::number_of(steps_per_s(f.manifest))
    }),
    column("computing", "Computing", "Computing time, without pauses", Quantity::WallTime, true, |f| {
        positive(f.manifest.computed_s)
    }),
    column("wall", "Wall time", "Wall time from start to end, with pauses", Quantity::WallTime, true, |f| {
        Cell::number_of(f.manifest.wall_s.max(0.0))
    }),
    column("seed", "Seed", "Seed of random draws", Quantity::Count, true, |f| seed(f.manifest.seed)),
    column("device", "Device", "Device that computed the run", Quantity::Text, false, |f| {
        Cell::text_of(&*f.manifest.device)
    }),
    column("hash", "Hash", "First digits of the hash of the simulation at the end", Quantity::Hash, true, |f| {
        short(&f.manifest.digest.hash)
    }),
    column("data_hash", "Data hash", "First digits of the hash of the recorded histories", Quantity::Hash, true, |f| {
        short(&f.manifest.data_hash().unwrap_or_default())
    }),
    column("checkpoints", "Checkpoints", "Number of checkpoints that the run keeps", Quantity::Count, false, |f| {
        positive(f.manifest.checkpoints.len() as f64)
    }),
    column(
        CHANGES,
        "Changes",
        "Parameters that differ from the open project, with the values of the run",
        Quantity::Text,
        true,
        |f| Cell::text_of(f.changes.join(", ")),
    ),
    column(NOTE, "Note", "Note of the user", Quantity::Text, true, |f| Cell::text_of(&*f.labels.note)),
];

/// Returns the fixed columns. The column of tokens per second is shown by default if a row has a value.
pub(super) fn columns(rows: &[Row]) -> Vec<Column> {
    let has_tokens = rows.iter().any(|row| !row.cell(TOKENS_PER_S).is_empty());
    let column = |of: &RunColumn| Column {
        key: of.key.into(),
        title: of.title.into(),
        docs: of.docs.into(),
        unit: String::new(),
        quantity: of.quantity,
        group: String::new(),
        is_default: of.is_default && (of.key != TOKENS_PER_S || has_tokens),
        series: None,
    };
    ALL.iter().map(column).collect()
}

/// Returns the cells of a run by key.
pub(super) fn cells<'a>(facts: &'a Facts<'_>) -> impl Iterator<Item = (String, Cell)> + use<'a> {
    ALL.iter().map(|column| (column.key.to_owned(), (column.cell)(facts)))
}

const fn steps(manifest: &Manifest) -> u64 {
    manifest.last_step.saturating_sub(manifest.first_step)
}

fn simulated(facts: &Facts<'_>) -> Cell {
    let (n, base) = (steps(facts.manifest), facts.manifest.time_base());
    let number = n as f64 * base.per_step();
    let text = match base {
        TimeBase::Seconds { .. } => format!("{} s", (number * 1e6).round() / 1e6),
        TimeBase::Count { .. } => format!("{n} {}", base.name(n)),
    };
    Cell::Labelled { number, text }
}

/// Returns the steps per second of computing; NaN if the computing time is unknown.
fn steps_per_s(manifest: &Manifest) -> f64 {
    if manifest.computed_s > 0.0 { steps(manifest) as f64 / manifest.computed_s } else { f64::NAN }
}

/// Returns the training tokens per step; NaN for kinds that do not count tokens.
fn tokens(facts: &Facts<'_>) -> f64 {
    let counts = facts.model.map(Model::counts).unwrap_or_default();
    let tokens = counts.iter().find(|count| count.counted == Counted::Items && count.name == "tokens");
    tokens.map_or(f64::NAN, |count| count.per_step)
}

fn positive(number: f64) -> Cell {
    if number > 0.0 { Cell::number_of(number) } else { Cell::Empty }
}

/// Returns a seed as number with all digits, which a number of floating point may lack.
fn seed(seed: u64) -> Cell {
    Cell::Labelled { number: seed as f64, text: seed.to_string() }
}

fn short(hash: &str) -> Cell {
    Cell::text_of(hash.chars().take(8).collect::<String>())
}
