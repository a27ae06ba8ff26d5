//! `neuropil runs`: lists the table of runs.

use super::{error::CliError, runs_args::RunsArgs, stdout::print_line};
use crate::{
    data::io_reason,
    project::{
        run::MANIFEST,
        run_table::{
            self, Cell, Column, Filter, Quantity, Row, SeriesSummary, Sort, differing, find, needed_series,
            run_folders, to_csv,
        },
    },
};
use serde_json::{Map, Value as Json, json};
use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

/// Largest width of a column on the terminal, characters.
const MAX_WIDTH: usize = 48;
/// Name that lists all columns instead of runs.
const ALL: &str = "all";

/// Prints the runs of a folder. Fails if the folder does not exist, or a filter or column cannot be read.
pub(super) fn runs(args: &RunsArgs) -> Result<(), CliError> {
    let folder = folder_of(&args.folder)?;
    let mut rows: Vec<Row> = run_folders(&folder).iter().map(|run| read(run)).collect();
    let columns = run_table::columns(&rows);
    if args.columns.as_deref() == Some(ALL) {
        columns.iter().for_each(|column| print_line!("{:40} {}", column.key, column.head()));
        return Ok(());
    }
    let filter = Filter::parse(args.filter.as_deref().unwrap_or(""), &columns).map_err(CliError::Usage)?;
    let typed = Sort::parse(&args.sort);
    let sort = Sort { key: find(&columns, &typed.key).map_err(CliError::Usage)?.key.clone(), ..typed };
    let typed = split_keys(args.columns.as_deref().unwrap_or(""));
    let chosen = typed.into_iter().map(|key| find(&columns, key)).collect::<Result<Vec<&Column>, _>>();
    let chosen = chosen.map_err(CliError::Usage)?;
    let shown = |column: &&Column| if chosen.is_empty() { column.is_default } else { chosen.contains(column) };
    let keys = columns.iter().filter(shown).map(|column| &*column.key).chain(filter.keys()).chain([&*sort.key]);
    add_series(&mut rows, &needed_series(&columns, keys));
    let mut order: Vec<usize> = (0..rows.len()).filter(|i| filter.fits(&rows[*i])).collect();
    run_table::sort(&rows, &mut order, &sort);
    let listed: Vec<&Row> = order.iter().map(|i| &rows[*i]).collect();
    let shown = if chosen.is_empty() { usual(&columns, &listed) } else { chosen };
    match (args.json, args.csv) {
        (true, _) => print_line!("{:#}", to_json(&folder, &columns, &shown, &listed)),
        (_, true) => print_line!("{}", to_csv(&shown, listed).trim_end()),
        _ => print_table(&shown, &listed),
    }
    Ok(())
}

/// Splits keys of columns at commas outside parentheses: a series may have several arguments.
fn split_keys(text: &str) -> Vec<&str> {
    let mut depth = 0_i32;
    let ends = move |c: char| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        c == ',' && depth <= 0
    };
    text.split(ends).map(str::trim).filter(|key| !key.is_empty()).collect()
}

/// Returns the folder of the runs that a path names: itself, or `runs` in it or beside a project file. Fails if there is none.
fn folder_of(path: &Path) -> Result<PathBuf, CliError> {
    if path.is_file() {
        return Ok(path.with_file_name("runs"));
    }
    if let Err(e) = std::fs::read_dir(path) {
        return Err(CliError::Usage(format!("{}: {}", path.display(), io_reason(&e))));
    }
    if path.join(MANIFEST).exists() {
        let what = format!("{} is a run; `neuropil info` describes it", path.display());
        return Err(CliError::Usage(what));
    }
    let inside = path.join("runs");
    Ok(if run_folders(path).is_empty() && inside.is_dir() { inside } else { path.to_owned() })
}

fn read(folder: &Path) -> Row {
    let (row, notices) = Row::read(folder);
    notices.iter().for_each(|notice| eprintln!("neuropil: {}: {notice}", folder.display()));
    row
}

/// Reads series into the rows that recorded them; one that cannot be read is a notice.
fn add_series(rows: &mut [Row], names: &BTreeSet<String>) {
    for row in rows {
        for series in row.series.clone().iter().filter(|series| names.contains(&series.name)) {
            match SeriesSummary::read(&row.folder, &series.name) {
                Ok(summary) => row.add_summary(&summary),
                Err(e) => eprintln!("neuropil: {e}"),
            }
        }
    }
}

/// Returns the default columns in which a row has a value.
fn usual<'a>(columns: &'a [Column], rows: &[&Row]) -> Vec<&'a Column> {
    let has_value = |column: &&Column| rows.iter().any(|row| !row.cell(&column.key).is_empty());
    columns.iter().filter(|column| column.is_default).filter(has_value).collect()
}

/// Returns the shown columns and the parameters that differ, as JSON.
fn to_json(folder: &Path, columns: &[Column], shown: &[&Column], rows: &[&Row]) -> Json {
    let differing = differing(rows.iter().copied());
    let is_listed = |column: &&Column| shown.contains(column) || differing.contains(&column.key);
    let listed: Vec<&Column> = columns.iter().filter(is_listed).collect();
    let row = |row: &&Row| {
        let mut out: Map<String, Json> =
            listed.iter().map(|column| (column.key.clone(), value(row.cell(&column.key)))).collect();
        out.insert("folder".into(), json!(row.folder.display().to_string()));
        Json::Object(out)
    };
    let about = |column: &&Column| json!({ "key": column.key, "title": column.title, "unit": column.unit });
    json!({
        "folder": folder.display().to_string(),
        "columns": listed.iter().map(about).collect::<Vec<_>>(),
        "runs": rows.iter().map(row).collect::<Vec<_>>(),
    })
}

fn value(cell: &Cell) -> Json {
    match cell {
        Cell::Empty => Json::Null,
        Cell::Tags(tags) => json!(tags),
        // A seed above 2^53 has all its digits only as text.
        Cell::Labelled { number, text } => text.parse::<u64>().map_or_else(|_| json!(number), |n| json!(n)),
        Cell::Number(number) => json!(number),
        Cell::Text(text) | Cell::Named { name: text, .. } => json!(text),
    }
}

/// Prints a table with columns as wide as their values.
fn print_table(columns: &[&Column], rows: &[&Row]) {
    let lines = |column: &&&Column| -> Vec<String> {
        let values = rows.iter().map(|row| shortened(&text(column, row.cell(&column.key))));
        std::iter::once(shortened(&column.head())).chain(values).collect()
    };
    let texts: Vec<Vec<String>> = columns.iter().map(|column| lines(&column)).collect();
    for i in 0..=rows.len() {
        let cells = columns.iter().zip(&texts).map(|(column, texts)| {
            let width = texts.iter().map(|text| text.chars().count()).max().unwrap_or(0);
            if column.quantity.is_number() { format!("{:>width$}", texts[i]) } else { format!("{:width$}", texts[i]) }
        });
        print_line!("{}", cells.collect::<Vec<_>>().join("  ").trim_end());
    }
}

fn shortened(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    match line.char_indices().nth(MAX_WIDTH) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line.to_owned(),
    }
}

fn text(column: &Column, cell: &Cell) -> String {
    match (column.quantity, cell) {
        (Quantity::WallTime, Cell::Number(secs)) => format!("{secs:.1} s"),
        (Quantity::Value, Cell::Number(n)) if n.abs() >= 1000.0 => format!("{n:.0}"),
        (Quantity::Value, Cell::Number(n)) => format!("{n:.4}"),
        (_, cell) => cell.text().into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_columns_may_contain_commas() {
        assert_eq!(split_keys("name, last(map:layer=1,head=2),seed,"), ["name", "last(map:layer=1,head=2)", "seed"]);
        assert_eq!(shortened("first\nsecond"), "first");
    }
}
