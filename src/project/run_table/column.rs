//! Columns of the table of runs: fixed ones, and those of parameters and recorded series.

use super::{
    row::Row,
    run_columns,
    series::{self, SeriesColumn},
    settings,
};
use strsim::levenshtein;

/// Quantity of a column, which determines how its numbers are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// Text, such as a name.
    Text,
    /// Hash in hexadecimal digits.
    Hash,
    /// Time of day, UTC, which sorts as text.
    Date,
    /// Whole number, such as a step or a seed.
    Count,
    /// Number with a few significant digits.
    Value,
    /// Wall time in seconds.
    WallTime,
    /// Simulated time in seconds, or a number of counted steps.
    Simulated,
    /// Tags of the user.
    Tags,
}

impl Quantity {
    /// Whether the values are numbers, which are compared as numbers and aligned to the right.
    pub const fn is_number(self) -> bool {
        matches!(self, Self::Count | Self::Value | Self::WallTime | Self::Simulated)
    }
}

/// Column of the table.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Stable identifier in filters, on the command line and in saved choices: `seed`, `lif.tau_m`, `last(held_out)`.
    pub key: String,
    /// Header of the column.
    pub title: String,
    /// Description of the column.
    pub docs: String,
    /// Unit of the numbers; empty if they have none.
    pub unit: String,
    /// Quantity of the values.
    pub quantity: Quantity,
    /// Title of the group of columns: a parameter group or a series; empty for the fixed columns.
    pub group: String,
    /// Whether the column is shown if the user has chosen no columns.
    pub is_default: bool,
    /// Statistic of a recorded series that the column shows; `None` for other columns.
    pub series: Option<SeriesColumn>,
}

impl Column {
    /// Returns the header with the unit.
    pub fn head(&self) -> String {
        if self.unit.is_empty() { self.title.clone() } else { format!("{} ({})", self.title, self.unit) }
    }
}

/// Returns all columns that the rows can fill: the fixed ones, with those of parameters and of recorded series before the
/// texts at the end.
pub fn columns(rows: &[Row]) -> Vec<Column> {
    let mut all = run_columns::columns(rows);
    let at = |key: &str, all: &[Column]| all.iter().position(|column| column.key == key).unwrap_or(all.len());
    let (objective, other): (Vec<_>, Vec<_>) = series::columns(rows).into_iter().partition(|column| column.is_default);
    let texts = all.split_off(at(run_columns::CHANGES, &all));
    // The results of training follow the length of the training.
    let results = all.split_off(at(run_columns::TOKENS_PER_S, &all));
    [all, objective, results, settings::columns(rows), other, texts].concat()
}

/// Finds a column by its key, the last part of a parameter's path, the name of a series (its last value) or its title; ignores
/// case. Fails with a message that names a similar column if there is one.
pub fn find<'a>(columns: &'a [Column], typed: &str) -> Result<&'a Column, String> {
    let wanted = typed.trim().to_lowercase().replace("best(", "lowest(");
    let by = |is: &dyn Fn(&Column) -> bool| columns.iter().find(|column| is(column));
    let last_part = |column: &Column| column.key.rsplit('.').next().is_some_and(|part| part.to_lowercase() == wanted);
    let found = by(&|column| column.key.to_lowercase() == wanted)
        .or_else(|| by(&|column| column.key.to_lowercase() == format!("last({wanted})")))
        .or_else(|| by(&|column| column.key.contains('.') && column.series.is_none() && last_part(column)))
        .or_else(|| by(&|column| column.title.to_lowercase() == wanted.replace('_', " ")));
    found.ok_or_else(|| {
        let distance = |column: &&Column| levenshtein(&column.key.to_lowercase(), &wanted);
        let nearest = columns.iter().min_by_key(distance).filter(|column| distance(column) <= 3);
        let hint = nearest.map_or_else(String::new, |column| format!("; did you mean `{}`?", column.key));
        format!("There is no column `{}`{hint}", typed.trim())
    })
}
