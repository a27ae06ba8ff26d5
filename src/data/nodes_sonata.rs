//! Reads the nodes of a SONATA file as columns: `node_id` as `idx`, the properties of node group 0, and those of the node types in a
//! table beside the file. Properties with names in `@library` are texts.

use super::{
    DataError,
    hdf5_file::{Hdf5File, NumberType},
    memory::Budget,
    messages, read_text_at_most,
};
use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};

/// Maximum size of a table of node types, bytes.
const MAX_TYPES: u64 = 16 << 20;
/// Name of the column that refers to a node type.
const TYPE_ID: &str = "node_type_id";

/// Values of a column.
pub enum NodeValues {
    /// Bits of unsigned numbers.
    Unsigned(Vec<i64>),
    Signed(Vec<i64>),
    Real(Vec<f64>),
    Text(Vec<String>),
    /// Values of a kind that is not read.
    Other,
}

/// Place of a column's values.
enum Place {
    /// Numbers or texts at a path.
    Values(String),
    /// Indices at the first path into texts at the second.
    Names(String, String),
    /// Column of the table of node types.
    Type(usize),
}

/// Node population of a SONATA file.
pub struct SonataNodes {
    file: Hdf5File,
    path: PathBuf,
    group: String,
    /// Number of nodes.
    pub n: u64,
    columns: Vec<(String, Place)>,
    /// Cells of the node types by their id.
    types: HashMap<String, Vec<String>>,
}

impl SonataNodes {
    /// Opens a file and finds its columns. Fails if it is damaged, or has not one population.
    pub fn open(path: &Path) -> Result<Self, DataError> {
        let file = Hdf5File::open(path)?;
        let group = match &file.groups("nodes")?[..] {
            [one] => format!("nodes/{one}"),
            [] => return Err(DataError::format(path, "nodes: there is no population of nodes")),
            several => {
                let names: Vec<String> = several.iter().take(24).map(|name| messages::truncated(name)).collect();
                let what = format!("nodes: one population per file is read, this one has {}", names.join(", "));
                return Err(DataError::format(path, what));
            }
        };
        let n = file.column(&format!("{group}/{TYPE_ID}"))?.n;
        let mut columns = vec![(TYPE_ID.to_owned(), Place::Values(format!("{group}/{TYPE_ID}")))];
        if file.datasets(&group)?.iter().any(|name| name == "node_id") {
            columns.push(("idx".to_owned(), Place::Values(format!("{group}/node_id"))));
        }
        let inner = format!("{group}/0");
        if file.groups(&group)?.iter().any(|name| name == "0") {
            let has_library = file.groups(&inner)?.iter().any(|name| name == "@library");
            let library = if has_library { file.datasets(&format!("{inner}/@library"))? } else { vec![] };
            for name in file.datasets(&inner)? {
                let values = format!("{inner}/{name}");
                let place = match library.contains(&name) {
                    true => Place::Names(values, format!("{inner}/@library/{name}")),
                    false => Place::Values(values),
                };
                columns.push((name, place));
            }
        }
        let (names, types) = node_types(path)?;
        for (i, name) in names.into_iter().enumerate() {
            if !columns.iter().any(|(known, _)| *known == name) {
                columns.push((name, Place::Type(i)));
            }
        }
        Ok(Self { file, path: path.to_owned(), group, n, columns, types })
    }

    /// Returns the names of the columns.
    pub fn names(&self) -> Vec<String> {
        self.columns.iter().map(|(name, _)| name.clone()).collect()
    }

    /// Reads column `i`. Fails if it is damaged or too large.
    pub fn read(&self, i: usize, budget: &mut Budget) -> Result<NodeValues, DataError> {
        budget.take(&self.path, 8 * self.n)?;
        match &self.columns[i].1 {
            Place::Values(path) => self.values(path, budget),
            Place::Names(path, names) => {
                let names = self.file.column(names)?.texts(budget)?;
                let column = self.column(path)?;
                let name = |(row, code): (u64, u64)| {
                    let name = usize::try_from(code).ok().and_then(|code| names.get(code));
                    name.cloned().ok_or_else(|| column.error(Some(row), &format!("{code} has no name in @library")))
                };
                (0..).zip(column.unsigned(0, self.n)?).map(name).collect::<Result<_, _>>().map(NodeValues::Text)
            }
            Place::Type(at) => {
                let ids = self.column(&format!("{}/{TYPE_ID}", self.group))?.unsigned(0, self.n)?;
                let cell = |id: &u64| self.types.get(&id.to_string()).map_or_else(String::new, |row| row[*at].clone());
                Ok(NodeValues::Text(ids.iter().map(cell).collect()))
            }
        }
    }

    fn column(&self, path: &str) -> Result<super::hdf5_file::Hdf5Column, DataError> {
        let column = self.file.column(path)?;
        if column.n == self.n {
            return Ok(column);
        }
        let [found, expected] = [column.n, self.n].map(messages::group_digits);
        Err(column.error(None, &format!("{found} rows where the population has {expected} nodes")))
    }

    fn values(&self, path: &str, budget: &mut Budget) -> Result<NodeValues, DataError> {
        let column = self.column(path)?;
        if column.is_text()? {
            return column.texts(budget).map(NodeValues::Text);
        }
        Ok(match column.number_type() {
            Ok(NumberType::Unsigned) => {
                NodeValues::Unsigned(column.unsigned(0, self.n)?.into_iter().map(u64::cast_signed).collect())
            }
            Ok(NumberType::Signed) => NodeValues::Signed(column.signed(0, self.n)?),
            Ok(NumberType::Real) => NodeValues::Real(column.reals(0, self.n)?),
            Err(_) => NodeValues::Other,
        })
    }
}

/// Names of the columns of node types, and their cells by id.
type NodeTypes = (Vec<String>, HashMap<String, Vec<String>>);

/// Reads the table of node types beside a file: `node_types.csv`, or `v1_node_types.csv` for `v1_nodes.h5`; empty if there is none.
/// Fails if a row has another number of cells than the header.
fn node_types(nodes: &Path) -> Result<NodeTypes, DataError> {
    let stem = nodes.file_stem().unwrap_or_default().to_string_lossy();
    let own = format!("{}_types.csv", stem.strip_suffix('s').unwrap_or(&stem));
    let path = nodes.with_file_name(own);
    if !path.is_file() {
        return Ok(NodeTypes::default());
    }
    let text = read_text_at_most(&path, MAX_TYPES, &|_, _| true)?;
    let mut lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
    let Some((_, head)) = lines.next() else { return Ok(NodeTypes::default()) };
    let mut names = cells(head);
    let Some(id) = names.iter().position(|name| name == TYPE_ID) else {
        return Err(DataError::format(&path, messages::no_column(&[TYPE_ID], &names)));
    };
    let mut types = HashMap::new();
    for (line, text) in lines {
        let mut row = cells(text);
        if row.len() != names.len() {
            let what = format!("{} cells where the header has {}", row.len(), names.len());
            return Err(DataError::at_line(&path, line, what));
        }
        let of = row.remove(id);
        types.insert(of, row);
    }
    names.remove(id);
    Ok((names, types))
}

/// Divides a line at spaces outside of quotes. `NULL` is an empty cell.
fn cells(line: &str) -> Vec<String> {
    let (mut cells, mut cell, mut is_quoted, mut has_cell) = (vec![], String::new(), false, false);
    for c in line.trim().chars() {
        match c {
            '"' => (is_quoted, has_cell) = (!is_quoted, true),
            ' ' | '\t' if !is_quoted => {
                if has_cell || !cell.is_empty() {
                    cells.push(std::mem::take(&mut cell));
                }
                has_cell = false;
            }
            other => cell.push(other),
        }
    }
    if has_cell || !cell.is_empty() {
        cells.push(cell);
    }
    cells.into_iter().map(|cell| if cell == "NULL" { String::new() } else { cell }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_node_types_have_quoted_and_missing_cells() {
        assert_eq!(cells("100 \"a b\" NULL x"), ["100", "a b", "", "x"]);
        assert_eq!(cells("node_type_id  pop_name"), ["node_type_id", "pop_name"]);
        assert_eq!(cells("\"\" 7"), ["", "7"]);
    }
}
