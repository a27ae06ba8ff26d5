//! Nodes: the groups of elements of a network with their properties.

use super::{Links, Object, TYPE_ID, Target, Writer, create, finish, hdf5::Number, write_json};
use crate::{
    export::{edges::Network, trial::at},
    sim::{CellModel, Column, ElementGroup, ElementSet},
};
use serde_json::Value;
use std::{collections::BTreeSet, fs, io, ops::Range};

/// Axes of positions.
const AXES: [&str; 3] = ["x", "y", "z"];

/// Returns the groups of a network in the order of their elements, without gaps: the ends of its edge lists, and the elements
/// that no edge list has, by population.
pub(super) fn groups(set: Option<&ElementSet>, ends: BTreeSet<ElementGroup>) -> Vec<ElementGroup> {
    let len = set.map_or(0, |set| set.len);
    let (mut all, mut next) = (vec![], 0);
    for end in ends {
        all.extend(gap(set, next..end.first));
        next = end.first + end.len;
        all.push(end);
    }
    all.extend(gap(set, next..len));
    all.iter_mut().for_each(|group| group.name = link_name(&group.name));
    all
}

/// Returns a name as that of an HDF5 group, in which a slash divides the names of groups.
pub(super) fn link_name(name: &str) -> String {
    name.replace('/', "_")
}

/// Returns the groups of elements without edges: runs of one category of the column `population`.
fn gap(set: Option<&ElementSet>, range: Range<u32>) -> Vec<ElementGroup> {
    let Some(set) = set else { return vec![] };
    let label = |element: u32| set.column("population").map_or(set.name, |column| column.label(element));
    let mut groups: Vec<ElementGroup> = vec![];
    for element in range {
        match groups.last_mut().filter(|group| group.name == label(element)) {
            Some(group) => group.len += 1,
            None => groups.push(ElementGroup { first: element, len: 1, name: label(element).to_owned() }),
        }
    }
    groups
}

/// Writes `nodes.h5`, `node_types.csv` and the parameters of the neuron models. Fails if a file cannot be written.
pub(super) fn write(target: &Target, network: &Network, kind: &str) -> io::Result<()> {
    let set = network.elements();
    let mut file = create(&target.folder, "nodes.h5")?;
    let mut populations = Links::new();
    for (i, group) in target.groups.iter().enumerate() {
        populations.push((group.name.clone(), population(&mut file, (i, group), set)?));
    }
    let nodes = file.group(&populations, &[])?;
    finish(file, "nodes", nodes)?;
    let mut table = "node_type_id pop_name model_type model_template dynamics_params v_start\n".to_owned();
    for (i, group) in target.groups.iter().enumerate() {
        let [template, parameters, v_start] = match model_of(&network.cell_models, group) {
            Some(model) => {
                let name = format!("node_type.{}.json", type_id(i));
                write_json(&target.folder.join(&name), &Value::Object(model.values.clone()))?;
                [model.template.clone(), name, model.v_start.as_deref().map_or("NULL".to_owned(), quoted)]
            }
            None => [format!("neuropil:{kind}"), "NULL".to_owned(), "NULL".to_owned()],
        };
        let name = quoted(&group.name);
        table += &format!("{} {name} point_neuron {template} {parameters} {v_start}\n", type_id(i));
    }
    let path = target.folder.join("node_types.csv");
    fs::write(&path, table).map_err(at(&path))
}

/// Returns the neuron model of a group; `None` if it has none.
fn model_of<'a>(models: &'a [CellModel], group: &ElementGroup) -> Option<&'a CellModel> {
    let is_of = |model: &&CellModel| model.population.as_deref().is_none_or(|name| link_name(name) == group.name);
    models.iter().find(is_of)
}

/// Quotes a cell of a table that is separated by spaces, if necessary.
pub(super) fn quoted(text: &str) -> String {
    let is_plain = !text.is_empty() && !text.contains([' ', '"', '\n', '\r', '\t']);
    if is_plain { text.to_owned() } else { format!("\"{}\"", text.replace('"', "\"\"")) }
}

/// Returns the id of the node type of a group.
fn type_id(group: usize) -> u32 {
    TYPE_ID + group as u32
}

fn population(file: &mut Writer, (i, group): (usize, &ElementGroup), set: Option<&ElementSet>) -> io::Result<Object> {
    let n = u64::from(group.len);
    let range = group.first as usize..(group.first + group.len) as usize;
    let properties = match set {
        Some(set) => properties(file, set, range)?,
        None => Links::new(),
    };
    let properties = file.group(&properties, &[])?;
    let type_ids = std::iter::repeat_n(type_id(i), n as usize);
    let links = [
        ("node_id".to_owned(), file.numbers(0..n, &[])?),
        ("node_type_id".to_owned(), file.numbers(type_ids, &[])?),
        ("node_group_id".to_owned(), file.numbers(std::iter::repeat_n(0_u32, n as usize), &[])?),
        ("node_group_index".to_owned(), file.numbers(0..n, &[])?),
        ("0".to_owned(), properties),
    ];
    file.group(&links, &[])
}

/// Writes ids, positions, names and categories of some elements of a set.
fn properties(file: &mut Writer, set: &ElementSet, range: Range<usize>) -> io::Result<Links> {
    let (mut links, mut library) = (Links::new(), Links::new());
    if let Some(ids) = set.ids.get(range.clone()) {
        links.push(("root_id".to_owned(), numbers(file, ids.iter().copied())?));
    }
    if let Some(positions) = set.positions.get(range.clone()).filter(|_| !set.is_diagram) {
        for (axis, name) in AXES.into_iter().enumerate() {
            links.push((name.to_owned(), numbers(file, positions.iter().map(|at| f64::from(at[axis])))?));
        }
    }
    if let Some(names) = set.names.get(range.clone()).filter(|names| !names.is_empty()) {
        links.push(("name".to_owned(), file.texts(names)?));
    }
    for Column { name, labels, codes } in &set.columns {
        if let Some(codes) = codes.get(range.clone()).filter(|_| !["x", "y", "z", "name", "root_id"].contains(&&**name))
        {
            links.push((name.clone(), numbers(file, codes.iter().map(|code| u32::from(*code)))?));
            library.push((name.clone(), file.texts(labels)?));
        }
    }
    if !library.is_empty() {
        links.push(("@library".to_owned(), file.group(&library, &[])?));
    }
    Ok(links)
}

fn numbers<T: Number>(file: &mut Writer, values: impl IntoIterator<Item = T>) -> io::Result<Object> {
    file.numbers(values, &[])
}
