//! CSV files that list neurons, or kicks of neurons: a header, columns in any order, additional columns ignored.

use crate::{
    data::{input_file, io_reason, list_columns},
    sim::SimError,
};
use std::path::Path;

/// Contents of a CSV file: header and lines.
struct Table {
    path: String,
    header: Vec<String>,
    text: String,
}

/// Reads the neurons listed in a column `idx`, or else `root_id`. Ascending, without duplicates. Fails if the file cannot be
/// read, has neither column, or names a neuron that does not exist.
pub fn read_neurons(path: &Path, ids: &[u64], n: u32) -> Result<Vec<u32>, SimError> {
    let table = Table::open(path)?;
    let mut out: Vec<u32> = match (table.position("idx"), table.position("root_id")) {
        (Some(column), _) => {
            table.rows().map(|(line, row)| table.index(line, &row, column, n)).collect::<Result<_, _>>()
        }
        (None, Some(column)) => {
            table.rows().map(|(line, row)| table.root_id(line, &row, column, ids)).collect::<Result<_, _>>()
        }
        (None, None) => Err(table.wrong(1, &format!("no column idx or root_id ({})", list_columns(&table.header)))),
    }?;
    out.sort_unstable();
    out.dedup();
    Ok(out)
}

/// Reads kicks from the columns `idx` and `step`. Sorted by step, then neuron. Fails if the file cannot be read, lacks a
/// column, or names a neuron that does not exist.
pub fn read_kicks(path: &Path, n: u32) -> Result<Vec<(u64, u32)>, SimError> {
    let table = Table::open(path)?;
    let column = |name| {
        let missing = || table.wrong(1, &format!("no column {name} ({})", list_columns(&table.header)));
        table.position(name).ok_or_else(missing)
    };
    let (idx, step) = (column("idx")?, column("step")?);
    let mut out = Vec::new();
    for (line, row) in table.rows() {
        out.push((table.number(line, &row, step)?, table.index(line, &row, idx, n)?));
    }
    out.sort_unstable();
    Ok(out)
}

impl Table {
    fn open(path: &Path) -> Result<Self, SimError> {
        let name = path.display().to_string();
        let text =
            input_file::read_to_string(path).map_err(|e| SimError::Input(format!("{name}: {}", io_reason(&e))))?;
        let header = text.trim_start_matches('\u{feff}').lines().next().unwrap_or_default();
        let header = cells(header).map(str::to_owned).collect();
        Ok(Self { path: name, header, text })
    }

    fn position(&self, column: &str) -> Option<usize> {
        self.header.iter().position(|h| h.eq_ignore_ascii_case(column))
    }

    /// Returns the line numbers and cells, without the header and empty lines.
    fn rows(&self) -> impl Iterator<Item = (usize, Vec<&str>)> {
        self.text
            .lines()
            .enumerate()
            .skip(1)
            .filter(|(_, l)| !l.trim().is_empty())
            .map(|(i, l)| (i + 1, cells(l).collect()))
    }

    fn number(&self, line: usize, row: &[&str], column: usize) -> Result<u64, SimError> {
        let cell = row.get(column).copied().unwrap_or_default();
        cell.parse().map_err(|_| {
            self.wrong(line, &format!("`{cell}` in column {} is not a whole number from 0", self.header[column]))
        })
    }

    fn index(&self, line: usize, row: &[&str], column: usize, n: u32) -> Result<u32, SimError> {
        let idx = self.number(line, row, column)?;
        let beyond = || self.wrong(line, &format!("idx {idx} is beyond the last neuron, {}", n.saturating_sub(1)));
        u32::try_from(idx).ok().filter(|i| *i < n).ok_or_else(beyond)
    }

    fn root_id(&self, line: usize, row: &[&str], column: usize, ids: &[u64]) -> Result<u32, SimError> {
        let id = self.number(line, row, column)?;
        let unknown = || self.wrong(line, &format!("no neuron of this network has root_id {id}"));
        ids.iter().position(|known| *known == id).map(|i| i as u32).ok_or_else(unknown)
    }

    fn wrong(&self, line: usize, what: &str) -> SimError {
        SimError::Input(format!("{}:{line}: {what}", self.path))
    }
}

fn cells(line: &str) -> impl Iterator<Item = &str> {
    line.split(',').map(|cell| cell.trim().trim_matches('"'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use neuropil_test_support::temp::TempFolder;

    fn file(folder: &Path, name: &str, text: &str) -> std::path::PathBuf {
        let path = folder.join(name);
        std::fs::write(&path, text).expect("temporary folder");
        path
    }

    #[test]
    fn columns_in_any_order() {
        let folder = TempFolder::new("files");
        let path = file(&folder, "a.csv", "name,step,idx\nx,10,3\n\"y\",2,1\n\nz,2,0\n");
        assert_eq!(read_kicks(&path, 4).unwrap(), [(2, 0), (2, 1), (10, 3)]);
        assert_eq!(read_neurons(&path, &[], 4).unwrap(), [0, 1, 3]);
        let path = file(&folder, "b.csv", "root_id\n77\n55\n");
        assert_eq!(read_neurons(&path, &[55, 66, 77], 3).unwrap(), [0, 2]);
    }

    #[test]
    fn errors_name_the_line() {
        let folder = TempFolder::new("files");
        let text = |r: Result<Vec<u32>, SimError>| r.unwrap_err().to_string();
        let path = file(&folder, "c.csv", "idx\n1\n9\n");
        assert!(text(read_neurons(&path, &[], 4)).ends_with("c.csv:3: idx 9 is beyond the last neuron, 3"));
        let path = file(&folder, "d.csv", "idx\n1\nx\n");
        assert!(text(read_neurons(&path, &[], 4)).contains("d.csv:3: `x`"));
        let path = file(&folder, "e.csv", "neuron\n1\n");
        assert!(text(read_neurons(&path, &[], 4)).contains("e.csv:1: no column idx"));
        assert!(text(read_neurons(Path::new("/nowhere.csv"), &[], 4)).starts_with("/nowhere.csv: "));
    }
}
