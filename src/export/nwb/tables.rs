//! Tables of elements: neurons and other sets with all their columns, and the lanes of series.

use super::{
    Session,
    objects::{Nwb, Table},
};
use crate::{
    export::trial::{Trial, array_name, lane_names},
    project::Stream,
    sim::ElementSet,
};
use std::{borrow::Cow, collections::BTreeSet, io};

/// Maximum number of lanes with names.
const MAX_LANES: u32 = 1 << 20;
/// Axes of positions.
const AXES: [(&str, &str); 3] = [("x", "Position, µm"), ("y", "Position, µm"), ("z", "Position, µm")];

/// Returns the elements of a set: those of the project if they are of this set, otherwise ids and names of the run.
pub(super) fn elements_of<'a>(
    trial: &Trial,
    set: &str,
    made: Option<&'a ElementSet>,
) -> io::Result<Cow<'a, ElementSet>> {
    let info = trial.manifest().set(set);
    match made.filter(|made| made.name == set && info.is_none_or(|info| info.len == made.len)) {
        Some(made) => Ok(Cow::Borrowed(made)),
        None => {
            let (len, names) = info.map_or((0, vec![]), |info| (info.len, info.names.clone()));
            Ok(Cow::Owned(ElementSet { len, names, ids: trial.run.ids(set)?, ..ElementSet::default() }))
        }
    }
}

/// Writes the columns of elements to a table of `n` rows: ids, names, positions and categories.
pub(super) fn write_columns(table: &mut Table<'_>, set: &ElementSet, n: usize) -> io::Result<()> {
    if set.ids.len() == n && n > 0 {
        table.numbers(("public_id", "Id of the element in the input files"), set.ids.iter().copied())?;
    }
    if set.names.len() == n && n > 0 {
        table.texts(("label", "Name of the element"), &set.names)?;
    }
    if set.positions.len() == n && n > 0 && !set.is_diagram {
        for (axis, column) in AXES.into_iter().enumerate() {
            table.numbers(column, set.positions.iter().map(|at| f64::from(at[axis])))?;
        }
    }
    for column in set.columns.iter().filter(|column| column.codes.len() == n) {
        let about = format!("Category of the element: {}", column.name.replace('_', " "));
        table.texts((&column.name, &about), (0..n as u32).map(|element| column.label(element)))?;
    }
    Ok(())
}

/// Writes a table of each recorded set with ids or names, except that of the units.
pub(super) fn write_sets(nwb: &mut Nwb, session: &Session<'_>, made: Option<&ElementSet>) -> io::Result<()> {
    let Some(trial) = session.trials.first() else { return Ok(()) };
    let units = trial.spike_stream().map(|stream| stream.over.clone());
    let mut written = BTreeSet::new();
    for info in &trial.manifest().sets {
        let set = elements_of(trial, &info.name, made)?;
        let has_columns = !set.ids.is_empty() || !set.names.is_empty() || !set.columns.is_empty();
        if Some(&info.name) == units.as_ref() || !has_columns || info.len == 0 || !written.insert(&info.name) {
            continue;
        }
        let path = nwb.path_in_processing(&info.name)?;
        let mut table = nwb.table(&path, "DynamicTable", &format!("Elements of the set {}", info.name))?;
        write_columns(&mut table, &set, info.len as usize)?;
        table.close(info.len.into())?;
    }
    Ok(())
}

/// Writes the names, indices and ids of the lanes of a stream, if there are any. Returns a sentence that names the table, or no text.
pub(super) fn write_lanes(nwb: &mut Nwb, trial: &Trial, stream: &Stream, name: &str) -> io::Result<String> {
    let has_names = [&stream.lanes, &stream.rows, &stream.columns].iter().any(|names| !names.is_empty());
    let has_lanes = has_names || !stream.edges.is_empty() || !stream.elements.is_empty();
    if !has_lanes || stream.width < 2 || stream.width > MAX_LANES {
        return Ok(String::new());
    }
    let path = nwb.path_in_processing(&format!("{name}_lanes"))?;
    let about = format!("Lanes of {}, in the order of its columns", array_name(stream));
    let mut table = nwb.table(&path, "DynamicTable", &about)?;
    table.texts(("lane", "Name of the lane"), lane_names(stream))?;
    if stream.elements.len() == stream.width as usize {
        let elements = &stream.elements;
        table.numbers(("element", "Index of the element"), elements.iter().map(|e| i64::from(*e)))?;
        let ids = if stream.over.is_empty() { vec![] } else { trial.run.ids(&stream.over)? };
        if !ids.is_empty() {
            let id = |e: &u32| ids.get(*e as usize).copied().unwrap_or(u64::from(*e));
            table.numbers(("public_id", "Id of the element in the input files"), elements.iter().map(id))?;
        }
    }
    table.close(stream.width.into())?;
    Ok(format!(" Columns: table {path}."))
}
