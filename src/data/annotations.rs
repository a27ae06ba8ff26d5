//! FlyWire annotations (Schlegel et al. 2024): classes and positions by root id.

use super::{Category, DataError, NeuronTable, ProgressFn, data_table::DataTable, messages, neuron_join};
use std::path::Path;

/// Size of a FAFB voxel along each axis, µm. The volume has x across, y down and z to the back, and shows the brain mirrored.
/// Turned into x to the right, y up and z towards the viewer who faces the fly, the brain has its left side on the right.
const UM_PER_VOXEL: [f64; 3] = [-0.004, -0.004, -0.040];
const SOMA: [&str; 3] = ["soma_x", "soma_y", "soma_z"];
const POS: [&str; 3] = ["pos_x", "pos_y", "pos_z"];
const CATEGORIES: &[(&str, &[&str])] = &[
    ("super_class", &["super_class"]),
    ("class", &["cell_class", "class"]),
    ("cell_type", &["cell_type"]),
    ("side", &["side"]),
    ("nt", &["top_nt", "nt_type"]),
];

/// Adds the annotations of the neurons in the table; a category of the annotations replaces the table's. Positions are those of
/// the soma, or else of the neuron's point; NaN if neither is known. Neurons without annotations become a notice. Returns a
/// line about the file. Fails if the table or the file has no root ids.
pub fn join(
    path: &Path,
    table: &mut NeuronTable,
    notices: &mut Vec<String>,
    watch: &ProgressFn,
) -> Result<String, DataError> {
    let known = |name: &str| {
        name == "root_id"
            || SOMA.contains(&name)
            || POS.contains(&name)
            || CATEGORIES.iter().any(|(_, a)| a.contains(&name))
    };
    let source = DataTable::read(path, |_, name| known(name), watch)?;
    let id_column = source
        .find(&["root_id"])
        .ok_or_else(|| DataError::format(path, messages::no_column(&["root_id"], &source.names)))?;
    if table.ids.is_empty() {
        return Err(DataError::format(
            path,
            "annotations are joined by root_id, but the neurons have none; give a neuron table with a root_id column",
        ));
    }
    let row_of = rows_by_id(&source, id_column, &table.ids)?;
    notices.extend(missing_notice(path, &table.ids, &row_of));
    for (name, aliases) in CATEGORIES {
        if let Some(column) = source.find(aliases) {
            set_category(table, name, &source.texts(column)?, &row_of);
        }
    }
    let places = positions(&source, &row_of)?;
    if places.iter().any(|p| p[0].is_finite()) {
        table.positions = places;
    }
    let n_bytes = messages::counted(source.n_bytes, "byte", "bytes");
    let found = row_of.iter().flatten().count() as u64;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    Ok(format!(
        "{name}: {n_bytes}, {}, {} of the neurons found",
        messages::counted(source.n_rows, "row", "rows"),
        messages::group_digits(found)
    ))
}

/// Returns a notice about the neurons without annotations; `None` if there are none.
fn missing_notice(path: &Path, ids: &[u64], row_of: &[Option<usize>]) -> Option<String> {
    let missing: Vec<u64> = ids.iter().zip(row_of).filter(|(_, row)| row.is_none()).map(|(id, _)| *id).collect();
    let [n, all] = [missing.len(), ids.len()].map(|n| messages::group_digits(n as u64));
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let examples = neuron_join::examples(&missing);
    (!missing.is_empty())
        .then(|| format!("{name}, joined by root_id: {n} of the {all} neurons have no annotations ({examples})"))
}

/// Returns the row of each neuron in the annotations; `None` for neurons without a row. Fails if an id is not an unsigned
/// integer.
fn rows_by_id(source: &DataTable, column: usize, ids: &[u64]) -> Result<Vec<Option<usize>>, DataError> {
    let mut known: Vec<(u64, usize)> = source.unsigned(column)?.into_iter().zip(0..).collect();
    known.sort_unstable();
    Ok(ids.iter().map(|id| known.binary_search_by_key(id, |k| k.0).ok().map(|at| known[at].1)).collect())
}

fn set_category(table: &mut NeuronTable, name: &str, texts: &[String], row_of: &[Option<usize>]) {
    let texts = row_of.iter().map(|row| row.map_or_else(String::new, |r| texts[r].clone())).collect();
    match table.categories.iter_mut().find(|c| c.name == name) {
        Some(category) => category.texts = texts,
        None => table.categories.push(Category { name: name.to_owned(), texts }),
    }
}

fn positions(source: &DataTable, row_of: &[Option<usize>]) -> Result<Vec<[f32; 3]>, DataError> {
    let read = |names: [&str; 3]| -> Result<Option<[Vec<f64>; 3]>, DataError> {
        let found = names.map(|n| source.find(&[n]));
        let [Some(x), Some(y), Some(z)] = found else { return Ok(None) };
        Ok(Some([source.reals(x)?, source.reals(y)?, source.reals(z)?]))
    };
    let (soma, pos) = (read(SOMA)?, read(POS)?);
    let at = |of: &Option<[Vec<f64>; 3]>, row: usize| {
        let of = of.as_ref()?;
        let point = [0, 1, 2].map(|axis| (of[axis][row] * UM_PER_VOXEL[axis]) as f32);
        point.iter().all(|v| v.is_finite()).then_some(point)
    };
    let place = |row: &Option<usize>| row.and_then(|r| at(&soma, r).or_else(|| at(&pos, r)));
    Ok(row_of.iter().map(|row| place(row).unwrap_or([f32::NAN; 3])).collect())
}
