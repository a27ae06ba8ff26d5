//! The table of an experiment: a row per condition, seed and measure.
//!
//! While trials run, rows are appended in the order in which trials end, all rows of a trial in one write. A finished table is
//! sorted by condition, seed and measure and written anew, so that its bytes depend on the results alone: not on the order of
//! execution, the number of workers, interruptions or shards.

use super::Plan;
use crate::{
    data::{csv_text, io_reason},
    export::{TableColumn, table_as_parquet},
};
use std::{
    collections::{BTreeMap, HashMap},
    fmt,
    path::Path,
};

/// File name of the table in the folder of an experiment.
pub const RESULTS: &str = "results.csv";
/// Columns of the table.
pub const COLUMNS: [&str; 6] = ["condition", "seed", "measure", "value", "hash", "state"];

/// Origin of the values of a trial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TrialState {
    /// The trial was run.
    Run,
    /// The element that the condition silences never spikes in the control of the same seed; values and hash are those of the
    /// control.
    SameAsControl,
    /// The trial failed for this reason and has no values.
    Failed(String),
}

/// Text of [`TrialState::SameAsControl`] in files.
const SAME: &str = "same as control";
/// Start of the text of [`TrialState::Failed`] in files.
const FAILED: &str = "failed: ";

impl fmt::Display for TrialState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Run => f.write_str("run"),
            Self::SameAsControl => f.write_str(SAME),
            Self::Failed(why) => write!(f, "{FAILED}{}", why.split_whitespace().collect::<Vec<_>>().join(" ")),
        }
    }
}

/// Result of a trial.
#[derive(Clone, Debug, PartialEq)]
pub struct TrialResult {
    /// Value of each measure, in the order of the experiment; `None` for a trial without a value.
    pub values: Vec<Option<f64>>,
    /// Hash of the trial's events; empty for a failed trial.
    pub hash: String,
    /// Origin of the values.
    pub state: TrialState,
}

/// Table of an experiment: the results of trials by index of the condition and seed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// Names of the conditions.
    pub conditions: Vec<String>,
    /// Names of the measures.
    pub measures: Vec<String>,
    /// Results of the finished and the failed trials.
    pub trials: BTreeMap<(usize, u64), TrialResult>,
}

/// Returns the text of a column, given condition and seed, the trial, and the index of the measure.
type TextOf<'a> = dyn Fn(&(&(usize, u64), &TrialResult, usize)) -> String + 'a;

impl Table {
    /// Creates a table without rows for the conditions of a plan.
    pub fn new(plan: &Plan, measures: Vec<String>) -> Self {
        let conditions = plan.conditions.iter().map(|condition| condition.name.clone()).collect();
        Self { conditions, measures, trials: BTreeMap::new() }
    }

    /// Returns the first line of the file.
    pub fn head() -> String {
        csv_text([COLUMNS])
    }

    /// Formats the rows of a trial, one per measure.
    pub fn rows(&self, condition: usize, seed: u64, trial: &TrialResult) -> String {
        let (name, seed, state) = (&self.conditions[condition], seed.to_string(), trial.state.to_string());
        let row = |(i, measure): (usize, &String)| {
            let value = trial.values.get(i).copied().flatten().map_or_else(String::new, |x| x.to_string());
            [name.clone(), seed.clone(), measure.clone(), value, trial.hash.clone(), state.clone()]
        };
        csv_text(self.measures.iter().enumerate().map(row))
    }

    /// Formats the whole table, sorted by condition, seed and measure.
    pub fn text(&self) -> String {
        let rows = self.trials.iter().map(|((condition, seed), trial)| self.rows(*condition, *seed, trial));
        std::iter::once(Self::head()).chain(rows).collect()
    }

    /// Formats the whole table as Parquet, with the rows in the order of [`Table::text`]. Columns of conditions are repeated per
    /// row.
    ///
    /// # Errors
    /// Fails if the format cannot hold the table.
    pub fn parquet(&self) -> std::io::Result<Vec<u8>> {
        let rows: Vec<_> = self
            .trials
            .iter()
            .flat_map(|(key, trial)| (0..self.measures.len()).map(move |measure| (key, trial, measure)))
            .collect();
        let texts = |of: &TextOf<'_>| TableColumn::Text(rows.iter().map(of).collect());
        table_as_parquet(&[
            (COLUMNS[0], texts(&|((condition, _), ..)| self.conditions[*condition].clone())),
            (COLUMNS[1], TableColumn::Integer(rows.iter().map(|((_, seed), ..)| *seed).collect())),
            (COLUMNS[2], texts(&|(.., measure)| self.measures[*measure].clone())),
            (
                COLUMNS[3],
                TableColumn::Real(rows.iter().map(|(_, trial, i)| trial.values.get(*i).copied().flatten()).collect()),
            ),
            (COLUMNS[4], texts(&|(_, trial, _)| trial.hash.clone())),
            (COLUMNS[5], texts(&|(_, trial, _)| trial.state.to_string())),
        ])
    }

    /// Reads a table for the conditions and measures of an empty table. Rows may be in any order. Trials of which not all rows
    /// were written, at the end of an interrupted file, are left out; with `is_closed` they are an error.
    ///
    /// # Errors
    /// Fails with the line of the first mistake.
    pub fn read(self, text: &str, file: &Path, is_closed: bool) -> Result<Self, String> {
        let (table, problems) = self.read_with_problems(text, file, is_closed);
        problems.into_iter().next().map_or(Ok(table), Err)
    }

    /// Reads a table as [`Table::read`] does, and leaves out the damaged rows. Returns a message with the line of each.
    pub fn read_with_problems(self, text: &str, file: &Path, is_closed: bool) -> (Self, Vec<String>) {
        let wrong = |line: u64, what: &str| format!("{} line {line}: {what}", file.display());
        let whole = text.rfind('\n').map_or("", |end| &text[..=end]);
        let mut problems = vec![];
        if is_closed && whole.len() < text.len() {
            problems.push(wrong(text.lines().count() as u64, "the line is cut off"));
        }
        let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(whole.as_bytes());
        match reader.headers() {
            Ok(head) if head.iter().eq(COLUMNS) => {}
            Ok(_) => problems.push(wrong(1, &format!("the columns are not {}", COLUMNS.join(",")))),
            Err(error) => problems.push(wrong(1, &error.to_string())),
        }
        let mut rows = RowReader::new(&self);
        for record in reader.records() {
            match record {
                Ok(record) => {
                    let line = record.position().map_or(0, csv::Position::line);
                    problems.extend(rows.add(&record).err().map(|what| wrong(line, &what)));
                }
                Err(error) => {
                    problems.push(wrong(error.position().map_or(0, csv::Position::line), &error.to_string()));
                }
            }
        }
        let n_open = rows.open.len();
        if is_closed && n_open > 0 {
            problems.push(format!("{}: rows of {n_open} trials are missing", file.display()));
        }
        (Self { trials: rows.finished, ..self }, problems)
    }

    /// Reads the table in a file ([`Table::read`]); an empty table if there is no file.
    ///
    /// # Errors
    /// Fails if the file cannot be read or contains a mistake.
    pub fn open(self, file: &Path, is_closed: bool) -> Result<Self, String> {
        match std::fs::read(file) {
            Ok(bytes) => match std::str::from_utf8(&bytes) {
                Ok(text) => self.read(text, file, is_closed),
                Err(error) => {
                    let line = 1 + bytes[..error.valid_up_to()].iter().filter(|b| **b == b'\n').count();
                    Err(format!("{} line {line}: not a text in UTF-8", file.display()))
                }
            },
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && !is_closed => Ok(self),
            Err(error) => Err(format!("{}: {}", file.display(), io_reason(&error))),
        }
    }

    /// Returns the number of trials that failed.
    pub fn n_failed(&self) -> usize {
        self.trials.values().filter(|trial| matches!(trial.state, TrialState::Failed(_))).count()
    }

    /// Returns the values by measure, condition and seed, for [`statistics`](super::statistics::report). Failed trials are left
    /// out.
    pub fn by_measure(&self) -> Vec<Vec<BTreeMap<u64, Option<f64>>>> {
        let mut all = vec![vec![BTreeMap::new(); self.conditions.len()]; self.measures.len()];
        for ((condition, seed), trial) in &self.trials {
            if !matches!(trial.state, TrialState::Failed(_)) {
                for (of_measure, value) in all.iter_mut().zip(&trial.values) {
                    of_measure[*condition].insert(*seed, *value);
                }
            }
        }
        all
    }
}

/// Trial of which some rows are read: the values by measure that were read, hash and state.
type OpenTrial = (Vec<Option<Option<f64>>>, String, TrialState);

/// Reader of single rows.
struct RowReader<'a> {
    conditions: HashMap<&'a str, usize>,
    measures: HashMap<&'a str, usize>,
    open: BTreeMap<(usize, u64), OpenTrial>,
    finished: BTreeMap<(usize, u64), TrialResult>,
}

impl<'a> RowReader<'a> {
    fn new(table: &'a Table) -> Self {
        let by_name = |names: &'a [String]| names.iter().enumerate().map(|(i, name)| (name.as_str(), i)).collect();
        Self {
            conditions: by_name(&table.conditions),
            measures: by_name(&table.measures),
            open: BTreeMap::new(),
            finished: BTreeMap::new(),
        }
    }

    fn add(&mut self, record: &csv::StringRecord) -> Result<(), String> {
        if record.len() != COLUMNS.len() {
            return Err(format!("{} cells in place of {}", record.len(), COLUMNS.len()));
        }
        let find = |of: &HashMap<&str, usize>, what: &str, name: &str| {
            of.get(name).copied().ok_or_else(|| format!("there is no {what} `{name}` in the experiment"))
        };
        let condition = find(&self.conditions, "condition", &record[0])?;
        let seed = record[1].parse().map_err(|_| format!("seed `{}` is not a whole number", &record[1]))?;
        let measure = find(&self.measures, "measure", &record[2])?;
        let value = value(&record[3])?;
        let (hash, state) = (hash(&record[4])?, state(&record[5])?);
        let key = (condition, seed);
        if self.finished.contains_key(&key) {
            return Err(format!("the trial of `{}` with seed {seed} occurs twice", &record[0]));
        }
        let n = self.measures.len();
        let (values, ..) = {
            let open = self.open.entry(key).or_insert_with(|| (vec![None; n], hash.clone(), state.clone()));
            if (&open.1, &open.2) != (&hash, &state) {
                return Err("hash or state differ from those of the row before of the same trial".to_owned());
            }
            open
        };
        if values[measure].replace(value).is_some() {
            return Err(format!("the measure `{}` occurs twice in the trial", &record[2]));
        }
        if values.iter().all(Option::is_some) {
            let (values, hash, state) = self.open.remove(&key).unwrap_or((vec![], hash, state));
            let values = values.into_iter().map(Option::flatten).collect();
            self.finished.insert(key, TrialResult { values, hash, state });
        }
        Ok(())
    }
}

fn value(text: &str) -> Result<Option<f64>, String> {
    match text {
        "" => Ok(None),
        text => match text.parse::<f64>() {
            Ok(x) if x.is_finite() => Ok(Some(x)),
            _ => Err(format!("value `{text}` is not a number")),
        },
    }
}

/// Checks a hash: hexadecimal digits, or nothing.
fn hash(text: &str) -> Result<String, String> {
    if text.chars().all(|c| c.is_ascii_hexdigit()) {
        Ok(text.to_owned())
    } else {
        Err(format!("`{text}` is not a hash"))
    }
}

fn state(text: &str) -> Result<TrialState, String> {
    match (text, text.strip_prefix(FAILED)) {
        ("run", _) => Ok(TrialState::Run),
        (SAME, _) => Ok(TrialState::SameAsControl),
        (_, Some(why)) => Ok(TrialState::Failed(why.to_owned())),
        _ => Err(format!("there is no state `{text}`")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn empty() -> Table {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<String>>();
        Table { conditions: names(&["control", "a, b"]), measures: names(&["rate", "t"]), trials: BTreeMap::new() }
    }

    fn full() -> Table {
        let mut table = empty();
        let trial = |x: f64, t, hash: &str, state| TrialResult { values: vec![Some(x), t], hash: hash.into(), state };
        table.trials.insert((0, 2), trial(0.1 + 0.2, Some(1e-7), "0a", TrialState::Run));
        table.trials.insert((1, 2), trial(1e21, None, "ff", TrialState::SameAsControl));
        let why = TrialState::Failed("became NaN, at step 3".into());
        table.trials.insert((1, 10), TrialResult { values: vec![None, None], hash: String::new(), state: why });
        table
    }

    #[test]
    fn rows_are_read_back_in_any_order() {
        let (table, file) = (full(), Path::new("results.csv"));
        let text = table.text();
        assert_eq!(empty().read(&text, file, true).as_ref(), Ok(&table), "{text}");
        let mut lines: Vec<&str> = text.lines().skip(1).collect();
        lines.reverse();
        let turned = format!("{}{}\n", Table::head(), lines.join("\n"));
        assert_eq!(empty().read(&turned, file, true).map(|table| table.text()), Ok(text));
        assert_eq!(table.n_failed(), 1);
        let values = table.by_measure();
        assert_eq!((values[0][1].len(), values[1][1].get(&2)), (1, Some(&None)), "failed trials have no values");
    }

    #[test]
    fn interrupted_tables_keep_whole_trials() {
        let (table, file) = (full(), Path::new("results.csv"));
        let text = table.text();
        for end in 0..=text.len() {
            if end < Table::head().len() || !text.is_char_boundary(end) {
                continue;
            }
            let cut = &text[..end];
            let read = empty().read(cut, file, false).unwrap_or_else(|why| panic!("{end}: {why}"));
            assert!(read.trials.iter().all(|(key, trial)| table.trials.get(key) == Some(trial)), "{end}");
            let n_whole = cut.matches('\n').count().saturating_sub(1) / 2;
            assert_eq!(read.trials.len(), n_whole, "{end}");
            assert_eq!(
                empty().read(cut, file, true).is_ok(),
                cut.ends_with('\n') && cut.matches('\n').count() % 2 == 1
            );
        }
    }

    #[test]
    fn damage_is_named_with_its_line() {
        let text = full().text();
        for (from, to, why) in [
            ("condition,", "name,", "results.csv line 1: the columns are not condition,seed,"),
            ("control,2,rate,0.30000000000000004", "control,2,rate,0.3x", "line 2: value `0.3x` is not a number"),
            ("control,2,rate,", "contrl,2,rate,", "line 2: there is no condition `contrl`"),
            ("control,2,t,", "control,2,rate,", "line 3: the measure `rate` occurs twice"),
            ("control,2,t,", "control,-2,t,", "line 3: seed `-2` is not a whole number"),
            ("0.0000001,0a,run", "0.0000001,0b,run", "line 3: hash or state differ"),
            (",0a,", ",0g,", "line 2: `0g` is not a hash"),
            ("same as control", "same", "line 4: there is no state `same`"),
            (",0a,run\n", ",0a\n", "line 2: 5 cells in place of 6"),
        ] {
            assert!(text.contains(from), "{from}: {text}");
            let damaged = text.replacen(from, to, 1);
            let said = empty().read(&damaged, Path::new("results.csv"), false).expect_err("damage");
            assert!(said.contains(why), "{from}: {said}");
            let (rest, problems) = empty().read_with_problems(&damaged, Path::new("results.csv"), true);
            assert!(!problems.is_empty() && rest.trials.len() >= 2, "{from}: the other trials are read");
        }
        let twice = format!("{text}{}", text.lines().skip(1).take(1).collect::<String>() + "\n");
        let said = empty().read(&twice, Path::new("results.csv"), true).expect_err("a row twice");
        assert!(said.contains("line 8: the trial of `control` with seed 2 occurs twice"), "{said}");
    }
}
