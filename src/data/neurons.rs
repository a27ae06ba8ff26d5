//! Neuron tables: any of idx, root_id, name, x, y, z, and categories.

use super::{
    Category, DataError, MAX_NEURONS, NeuronTable, Watcher,
    sheet::{Cells, Sheet},
    words,
};
use std::{collections::HashSet, path::Path};

const IDX: &[&str] = &["idx"];
const IDS: &[&str] = &["root_id"];
const NAMES: &[&str] = &["name"];
const AXES: [&str; 3] = ["x", "y", "z"];
/// What categories are called here, and what files call them.
const KNOWN: &[(&str, &[&str])] = &[
    ("super_class", &["super_class"]),
    ("class", &["class", "cell_class"]),
    ("cell_type", &["cell_type"]),
    ("side", &["side"]),
    ("nt", &["nt", "nt_type", "top_nt"]),
];
/// A text column with more different texts than this is not a category.
const MOST_LABELS: usize = 1024;

/// Reads a neuron table. Its rows are put in the order of `idx` when there is one.
pub fn read(path: &Path, watch: &Watcher) -> Result<(NeuronTable, String), DataError> {
    let sheet = Sheet::read(path, |_, _| true, watch)?;
    let table = table(&sheet, sheet.find(IDS))?;
    Ok((table, provenance(&sheet)))
}

/// Reads the table of Shiu et al.: the first column holds the root ids in model order.
pub fn read_completeness(path: &Path, watch: &Watcher) -> Result<(NeuronTable, String), DataError> {
    let sheet = Sheet::read(path, |i, _| i == 0, watch)?;
    let table = table(&sheet, if sheet.columns.is_empty() { None } else { Some(0) })?;
    Ok((table, provenance(&sheet)))
}

fn provenance(sheet: &Sheet) -> String {
    let name = sheet.path.file_name().unwrap_or_default().to_string_lossy();
    format!("{name}: {} bytes, {} neurons", words::grouped(sheet.n_bytes), words::grouped(sheet.n_rows as u64))
}

fn table(sheet: &Sheet, ids: Option<usize>) -> Result<NeuronTable, DataError> {
    let len = u32::try_from(sheet.n_rows).ok().filter(|n| *n <= MAX_NEURONS).ok_or_else(|| {
        DataError::format(&sheet.path, format!("more than {} neurons", words::grouped(u64::from(MAX_NEURONS))))
    })?;
    let mut table = NeuronTable { len, ..NeuronTable::default() };
    if let Some(column) = ids {
        table.ids = sheet.unsigned(column)?;
        refuse_repeated(sheet, column, &table.ids)?;
    }
    if let Some(column) = sheet.find(NAMES) {
        table.names = sheet.texts(column);
    }
    table.positions = positions(sheet)?;
    table.categories = categories(sheet);
    if let Some(column) = sheet.find(IDX) {
        in_order(sheet, column, &mut table)?;
    }
    Ok(table)
}

fn refuse_repeated(sheet: &Sheet, column: usize, ids: &[u64]) -> Result<(), DataError> {
    let mut seen = HashSet::with_capacity(ids.len());
    match ids.iter().position(|id| !seen.insert(*id)) {
        Some(row) => Err(sheet.error(row, column, &format!("{} occurs twice", ids[row]))),
        None => Ok(()),
    }
}

fn positions(sheet: &Sheet) -> Result<Vec<[f32; 3]>, DataError> {
    let found = AXES.map(|axis| sheet.find(&[axis]));
    let [Some(x), Some(y), Some(z)] = found else {
        return match AXES.iter().zip(found).find(|(_, at)| at.is_none()) {
            Some((missing, _)) if found.iter().any(Option::is_some) => Err(DataError::format(
                &sheet.path,
                words::no_column(&[missing], &sheet.names) + "; positions need x, y and z",
            )),
            _ => Ok(Vec::new()),
        };
    };
    let (x, y, z) = (sheet.reals(x)?, sheet.reals(y)?, sheet.reals(z)?);
    Ok((0..sheet.n_rows).map(|row| [x[row] as f32, y[row] as f32, z[row] as f32]).collect())
}

fn categories(sheet: &Sheet) -> Vec<Category> {
    let mut taken = Vec::new();
    let mut categories = Vec::new();
    for (name, aliases) in KNOWN {
        if let Some(column) = sheet.find(aliases) {
            taken.push(column);
            categories.push(Category { name: (*name).to_owned(), texts: sheet.texts(column) });
        }
    }
    taken.extend([IDX, IDS, NAMES].iter().filter_map(|n| sheet.find(n)));
    for (column, (name, cells)) in sheet.columns.iter().enumerate() {
        if let Cells::Text(texts) = cells
            && !taken.contains(&column)
            && !name.is_empty()
            && is_category(texts.iter())
        {
            categories.push(Category { name: name.clone(), texts: sheet.texts(column) });
        }
    }
    categories
}

/// Few different texts, and not just numbers.
fn is_category<'a>(texts: impl Iterator<Item = &'a str>) -> bool {
    let mut labels = HashSet::new();
    for text in texts {
        if labels.insert(text) && labels.len() > MOST_LABELS {
            return false;
        }
    }
    labels.iter().any(|t| !t.trim().is_empty() && t.trim().parse::<f64>().is_err())
}

/// Puts the rows in the order of their index, each of 0 to n-1 once.
fn in_order(sheet: &Sheet, column: usize, table: &mut NeuronTable) -> Result<(), DataError> {
    let index = sheet.unsigned(column)?;
    let mut row_of = vec![u32::MAX; index.len()];
    for (row, at) in index.iter().enumerate() {
        let slot = usize::try_from(*at).ok().and_then(|at| row_of.get_mut(at)).ok_or_else(|| {
            sheet.error(
                row,
                column,
                &format!("index {at} is beyond the {} rows of the table", words::grouped(sheet.n_rows as u64)),
            )
        })?;
        if *slot != u32::MAX {
            return Err(sheet.error(row, column, &format!("index {at} occurs twice")));
        }
        *slot = row as u32;
    }
    if row_of.iter().enumerate().all(|(i, row)| i == *row as usize) {
        return Ok(());
    }
    let by = |i: &u32| *i as usize;
    if !table.ids.is_empty() {
        table.ids = row_of.iter().map(|i| table.ids[by(i)]).collect();
    }
    if !table.names.is_empty() {
        table.names = row_of.iter().map(|i| std::mem::take(&mut table.names[by(i)])).collect();
    }
    if !table.positions.is_empty() {
        table.positions = row_of.iter().map(|i| table.positions[by(i)]).collect();
    }
    for category in &mut table.categories {
        category.texts = row_of.iter().map(|i| std::mem::take(&mut category.texts[by(i)])).collect();
    }
    Ok(())
}
