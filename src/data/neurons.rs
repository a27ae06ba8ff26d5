//! Neuron tables with any of the columns idx, root_id, name, x, y, z, and categories.

use super::{
    Category, DataError, MAX_NEURONS, NeuronTable, ProgressFn, column_names,
    data_table::{Cells, DataTable},
    messages,
};
use std::{
    collections::HashSet,
    path::{Path, PathBuf},
};

const IDX: &[&str] = &["idx"];
const NAMES: &[&str] = &["name"];
const AXES: [&str; 3] = ["x", "y", "z"];
/// Names of categories with their aliases in files.
const CATEGORY_ALIASES: &[(&str, &[&str])] = &[
    ("super_class", &["super_class"]),
    ("class", &["class", "cell_class"]),
    ("cell_type", &["cell_type"]),
    ("side", &["side"]),
    ("nt", &["nt", "nt_type", "top_nt"]),
];
/// Maximum number of distinct values of a category column.
const MAX_LABELS: usize = 1024;
/// Memory per id in the set of ids seen, bytes.
const SEEN_BYTES: u64 = 24;

/// Order of the neurons in a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowOrder {
    /// Order of the column `idx`.
    Index,
    /// Order of the rows.
    Rows,
}

/// Neuron table as read from a file.
pub struct NeuronFile {
    pub path: PathBuf,
    /// Neurons in the order of `idx` if the file has it, otherwise in the order of the rows.
    pub table: NeuronTable,
    pub order: RowOrder,
    /// Name of the column that contains the ids.
    pub id_column: Option<String>,
    /// Name and values of the key column, if it does not contain ids.
    pub text_key: Option<(String, Vec<String>)>,
    /// One line about the file.
    pub provenance: String,
}

impl NeuronFile {
    /// Returns the name of the file.
    pub fn name(&self) -> String {
        self.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }
}

/// Reads a neuron table. Rows are put in the order of `idx` if the file has it. `key` names the column that identifies
/// the neurons; without a key, that is `root_id`. Fails if the file is not a table, the key column is missing, or an id
/// or index occurs twice.
pub fn read(path: &Path, key: Option<&str>, watch: &ProgressFn) -> Result<NeuronFile, DataError> {
    let source = DataTable::read_at_most(path, |_, _| true, u64::from(MAX_NEURONS), watch)?;
    match key {
        Some(key) => {
            let missing = || DataError::format(path, messages::no_column(&[key], &source.names));
            let column = column_names::find(&[key], &source.column_names()).ok_or_else(missing)?;
            with_key(&source, column)
        }
        None => file(&source, column_names::find(column_names::IDS, &source.column_names()), None),
    }
}

/// Reads the table of Shiu et al., whose first column contains the root ids in model order. Fails if the file is not a table or
/// an id occurs twice.
pub fn read_completeness(path: &Path, watch: &ProgressFn) -> Result<NeuronFile, DataError> {
    let source = DataTable::read_at_most(path, |i, _| i == 0, u64::from(MAX_NEURONS), watch)?;
    let read = file(&source, if source.columns.is_empty() { None } else { Some(0) }, None)?;
    Ok(NeuronFile { order: RowOrder::Index, ..read })
}

/// Reads a table whose key column contains ids or text. Fails if a text key occurs twice.
fn with_key(source: &DataTable, column: usize) -> Result<NeuronFile, DataError> {
    if source.unsigned(column).is_ok() {
        return file(source, Some(column), None);
    }
    let texts = source.texts(column)?;
    let mut seen = HashSet::with_capacity(texts.len());
    if let Some(row) = texts.iter().position(|text| !seen.insert(text)) {
        let what =
            format!("\"{}\" occurs twice; a key column names each neuron once", messages::truncated(&texts[row]));
        return Err(source.error(row, column, &what));
    }
    file(source, None, Some((source.columns[column].0.clone(), texts)))
}

fn provenance(source: &DataTable) -> String {
    let name = source.path.file_name().unwrap_or_default().to_string_lossy();
    format!(
        "{name}: {}, {}",
        messages::counted(source.n_bytes, "byte", "bytes"),
        messages::counted(source.n_rows, "neuron", "neurons")
    )
}

fn file(
    source: &DataTable,
    ids: Option<usize>,
    text_key: Option<(String, Vec<String>)>,
) -> Result<NeuronFile, DataError> {
    let len = u32::try_from(source.n_rows).ok().filter(|n| *n <= MAX_NEURONS).ok_or_else(|| {
        DataError::format(&source.path, format!("more than {} neurons", messages::group_digits(u64::from(MAX_NEURONS))))
    })?;
    let mut table = NeuronTable { len, ..NeuronTable::default() };
    if let Some(column) = ids {
        table.ids = source.unsigned(column)?;
        reject_duplicates(source, column, &table.ids)?;
    }
    if let Some(column) = source.find(NAMES) {
        table.names = source.texts(column)?;
    }
    table.positions = positions(source)?;
    table.categories = categories(source, ids)?;
    let mut read = NeuronFile {
        path: source.path.clone(),
        table,
        order: RowOrder::Rows,
        id_column: ids.map(|column| source.columns[column].0.clone()),
        text_key,
        provenance: provenance(source),
    };
    if let Some(column) = source.find(IDX) {
        sort_by_index(source, column, &mut read)?;
        read.order = RowOrder::Index;
    }
    Ok(read)
}

fn reject_duplicates(source: &DataTable, column: usize, ids: &[u64]) -> Result<(), DataError> {
    source.take_memory(SEEN_BYTES * ids.len() as u64)?;
    let mut seen = HashSet::with_capacity(ids.len());
    match ids.iter().position(|id| !seen.insert(*id)) {
        Some(row) => Err(source.error(row, column, &format!("{} occurs twice", ids[row]))),
        None => Ok(()),
    }
}

fn positions(source: &DataTable) -> Result<Vec<[f32; 3]>, DataError> {
    let found = AXES.map(|axis| source.find(&[axis]));
    let [Some(x), Some(y), Some(z)] = found else {
        return match AXES.iter().zip(found).find(|(_, at)| at.is_none()) {
            Some((missing, _)) if found.iter().any(Option::is_some) => Err(DataError::format(
                &source.path,
                messages::no_column(&[missing], &source.names) + "; positions need x, y and z",
            )),
            _ => Ok(Vec::new()),
        };
    };
    let (x, y, z) = (source.reals(x)?, source.reals(y)?, source.reals(z)?);
    Ok((0..source.n_rows).map(|row| [x[row] as f32, y[row] as f32, z[row] as f32]).collect())
}

fn categories(source: &DataTable, ids: Option<usize>) -> Result<Vec<Category>, DataError> {
    let mut taken: Vec<usize> = ids.into_iter().collect();
    let mut categories = Vec::new();
    for (name, aliases) in CATEGORY_ALIASES {
        if let Some(column) = source.find(aliases) {
            taken.push(column);
            categories.push(Category { name: (*name).to_owned(), texts: source.texts(column)? });
        }
    }
    taken.extend([IDX, NAMES].iter().filter_map(|n| source.find(n)));
    for (column, (name, cells)) in source.columns.iter().enumerate() {
        if let Cells::Text(texts) = cells
            && !taken.contains(&column)
            && !name.is_empty()
            && is_category(texts.iter())
        {
            categories.push(Category { name: name.clone(), texts: source.texts(column)? });
        }
    }
    Ok(categories)
}

/// Whether the values are few and not all numeric.
fn is_category<'a>(texts: impl Iterator<Item = &'a str>) -> bool {
    let mut labels = HashSet::new();
    for text in texts {
        if labels.insert(text) && labels.len() > MAX_LABELS {
            return false;
        }
    }
    labels.iter().any(|t| !t.trim().is_empty() && t.trim().parse::<f64>().is_err())
}

/// Puts the rows in the order of their index. Fails unless each index from 0 to n-1 occurs once.
fn sort_by_index(source: &DataTable, column: usize, read: &mut NeuronFile) -> Result<(), DataError> {
    let index = source.unsigned(column)?;
    let mut row_of = vec![u32::MAX; index.len()];
    for (row, at) in index.iter().enumerate() {
        let slot = usize::try_from(*at).ok().and_then(|at| row_of.get_mut(at)).ok_or_else(|| {
            source.error(
                row,
                column,
                &format!("index {at} is beyond the {} rows of the table", messages::group_digits(source.n_rows as u64)),
            )
        })?;
        if *slot != u32::MAX {
            return Err(source.error(row, column, &format!("index {at} occurs twice")));
        }
        *slot = row as u32;
    }
    if row_of.iter().enumerate().all(|(i, row)| i == *row as usize) {
        return Ok(());
    }
    let NeuronFile { table, text_key, .. } = read;
    let by = |i: &u32| *i as usize;
    let sort = |texts: &mut Vec<String>| {
        if !texts.is_empty() {
            *texts = row_of.iter().map(|i| std::mem::take(&mut texts[by(i)])).collect();
        }
    };
    if !table.ids.is_empty() {
        table.ids = row_of.iter().map(|i| table.ids[by(i)]).collect();
    }
    if !table.positions.is_empty() {
        table.positions = row_of.iter().map(|i| table.positions[by(i)]).collect();
    }
    sort(&mut table.names);
    table.categories.iter_mut().for_each(|category| sort(&mut category.texts));
    text_key.iter_mut().for_each(|(_, texts)| sort(texts));
    Ok(())
}
