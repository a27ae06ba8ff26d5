//! Reads the nodes of a SONATA file as columns: `node_id` as `idx`, the properties of node group 0, and those of the node types in a
//! table beside the file. Properties with names in `@library` are texts.

use super::{
    DataError,
    hdf5_file::{Hdf5File, NumberType},
    memory::Budget,
    messages,
    sonata_types::{TypeOf, TypeTable},
};
use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};

/// Name of the column that refers to a node type.
const TYPE_ID: &str = TypeOf::Node.id();

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
        let table = TypeOf::Node.beside(path).map(|path| TypeTable::read(&path, TypeOf::Node)).transpose()?;
        let (names, types) = table.map(TypeTable::into_cells).unwrap_or_default();
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
