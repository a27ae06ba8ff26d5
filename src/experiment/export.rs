//! The statistics of an experiment as columns, for CSV and Parquet.

use super::{
    ExperimentFolder, Table,
    statistics::{Line, Report, median_interval, report},
};
use crate::{data::csv_text, export::TableColumn};

/// Computes the statistics of the finished trials of a table.
pub fn statistics(folder: &ExperimentFolder, table: &Table) -> Report {
    report(&table.by_measure(), folder.plan.control)
}

/// Returns the statistics as columns with their names, a row per measure and condition. `median_low` and `median_high` are bounds
/// of the bootstrap.
pub fn statistics_columns(folder: &ExperimentFolder, table: &Table) -> Vec<(&'static str, TableColumn)> {
    let all = statistics(folder, table);
    let values = table.by_measure();
    let medians: Vec<Option<(f64, f64)>> = all
        .lines
        .iter()
        .map(|line| {
            let values: Vec<f64> = values[line.measure][line.condition].values().flatten().copied().collect();
            median_interval(&values, folder.project.seed)
        })
        .collect();
    let text = |of: &dyn Fn(&Line) -> String| TableColumn::Text(all.lines.iter().map(of).collect());
    let real = |of: &dyn Fn(&Line) -> Option<f64>| TableColumn::Real(all.lines.iter().map(of).collect());
    let count = |of: &dyn Fn(&Line) -> usize| TableColumn::Integer(all.lines.iter().map(|l| of(l) as u64).collect());
    let unit =
        |line: &Line| folder.manifest.measures.get(line.measure).map_or_else(String::new, |(_, unit)| unit.clone());
    vec![
        ("measure", text(&|line| table.measures[line.measure].clone())),
        ("unit", text(&unit)),
        ("condition", text(&|line| table.conditions[line.condition].clone())),
        ("trials", count(&|line| line.n_trials)),
        ("n", count(&|line| line.summary.n)),
        ("mean", real(&|line| line.summary.mean)),
        ("sd", real(&|line| line.summary.sd)),
        ("mean_low", real(&|line| line.summary.interval.map(|i| i.0))),
        ("mean_high", real(&|line| line.summary.interval.map(|i| i.1))),
        ("median", real(&|line| line.summary.median)),
        ("median_low", TableColumn::Real(medians.iter().map(|m| m.map(|i| i.0)).collect())),
        ("median_high", TableColumn::Real(medians.iter().map(|m| m.map(|i| i.1)).collect())),
        ("difference", real(&|line| line.comparison.map(|c| c.difference))),
        ("difference_low", real(&|line| line.comparison?.interval.map(|i| i.0))),
        ("difference_high", real(&|line| line.comparison?.interval.map(|i| i.1))),
        ("effect", real(&|line| line.comparison?.effect.map(super::statistics::Effect::value))),
        ("effect_name", text(&|line| line.comparison.and_then(|c| c.effect).map_or("", |e| e.name()).to_owned())),
        ("test", text(&|line| line.comparison.filter(|c| c.p.is_some()).map_or("", |c| c.test.name()).to_owned())),
        ("pairs", count(&|line| line.comparison.map_or(0, |c| c.n))),
        ("t", real(&|line| line.comparison?.t.map(|t| t.0))),
        ("df", real(&|line| line.comparison?.t.map(|t| t.1))),
        ("p", real(&|line| line.comparison?.p)),
        ("q", real(&|line| line.q)),
    ]
}

/// Formats columns as CSV, with an empty cell for a missing value.
pub fn csv(columns: &[(&str, TableColumn)]) -> String {
    let cells = |(name, column): &(&str, TableColumn)| -> Vec<String> {
        let head = std::iter::once((*name).to_owned());
        match column {
            TableColumn::Text(texts) => head.chain(texts.iter().cloned()).collect(),
            TableColumn::Integer(numbers) => head.chain(numbers.iter().map(u64::to_string)).collect(),
            TableColumn::Real(numbers) => {
                head.chain(numbers.iter().map(|x| x.map_or_else(String::new, |x| x.to_string()))).collect()
            }
        }
    };
    let columns: Vec<Vec<String>> = columns.iter().map(cells).collect();
    let n_rows = columns.first().map_or(0, Vec::len);
    csv_text((0..n_rows).map(|row| columns.iter().map(|column| column[row].as_str()).collect::<Vec<_>>()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_values_are_empty_cells() {
        let columns = [
            ("name", TableColumn::Text(vec!["a, b".into(), "c".into()])),
            ("n", TableColumn::Integer(vec![1, 2])),
            ("x", TableColumn::Real(vec![None, Some(0.1)])),
        ];
        assert_eq!(csv(&columns), "name,n,x\n\"a, b\",1,\nc,2,0.1\n");
    }
}
