//! Edges: a file per edge list, sorted by source, with weights, delays and the index groups by source and target. Weights and delays that are equal for all edges of a list
//! are also in `edge_types.csv`; the columns stay, because libsonata reads no types of edges.

use super::{
    Attribute, Object, TYPE_ID, Writer, create,
    edge_index::{EdgeIndex, PLACES, by_target},
    finish,
    hdf5::Dataset,
    nodes::{link_name, quoted},
};
use crate::{
    data::edge_columns::{WEIGHT_EXPONENT, WEIGHT_UNIT},
    export::{
        edges::{Network, each_connection},
        trial::at,
    },
    sim::{EdgeList, ElementGroup, Progress, SYNAPSES},
};
use std::{collections::BTreeSet, fs, io, path::Path};

/// Fraction of the time that the columns of a list take; the index takes the rest.
const COLUMNS_SHARE: f32 = 0.6;

/// Files and their populations, and the groups at the ends of edges.
type Written = (Vec<(String, String)>, BTreeSet<ElementGroup>);

/// Writes the files of all edge lists and `edge_types.csv`. Returns names of files and of populations, and the groups of elements at
/// their ends. Fails if a file cannot be written or the job is cancelled.
pub(super) fn write(folder: &Path, network: &Network, progress: &Progress) -> io::Result<Written> {
    let (mut files, mut types, mut ends) = (vec![], String::new(), BTreeSet::new());
    for (i, part) in network.file_parts().into_iter().enumerate() {
        let list = network.list(i, progress)?;
        let [from, to] = &list.ends;
        let population = if part.is_empty() { format!("{}_to_{}", from.name, to.name) } else { part.clone() };
        let population = link_name(&population);
        let counts_synapses = list.connectivity.unit == SYNAPSES;
        let name = if part.is_empty() { "edges.h5".to_owned() } else { format!("edges.{part}.h5") };
        let file = create(folder, &name)?;
        let equal = list_file(file, (i, &list), &population, &|fraction| network.report(progress, i, fraction))?;
        let (synapses, weight) = if counts_synapses { (equal.weight, None) } else { (None, equal.weight) };
        let cells =
            [weight, synapses, equal.delay].map(|value| value.map_or("NULL".to_owned(), |value| value.to_string()));
        types += &format!("{} {} NULL {}\n", type_id(i), quoted(&population), cells.join(" "));
        files.push((name, population));
        ends.extend(list.ends);
    }
    let path = folder.join("edge_types.csv");
    fs::write(&path, format!("edge_type_id population model_template syn_weight nsyns delay\n{types}"))
        .map_err(at(&path))?;
    Ok((files, ends))
}

/// Returns the id of the edge type of a list.
fn type_id(list: usize) -> u32 {
    TYPE_ID + list as u32
}

/// Values that all connections of a list have; `None` if they differ.
struct EqualValues {
    /// Weight, or number of synapses.
    weight: Option<f64>,
    /// Delay of the connections, ms.
    delay: Option<f64>,
}

/// Value of all connections so far.
#[derive(Default)]
struct Equal {
    first: Option<f64>,
    is_other: bool,
}

impl Equal {
    fn add(&mut self, value: f64) {
        let first = *self.first.get_or_insert(value);
        self.is_other |= first.to_bits() != value.to_bits();
    }

    fn value(&self) -> Option<f64> {
        self.first.filter(|_| !self.is_other)
    }
}

/// Columns of the connections, which grow together.
struct Columns {
    source: Dataset<u64>,
    target: Dataset<u64>,
    type_id: Dataset<u32>,
    group_id: Dataset<u32>,
    group_index: Dataset<u64>,
    /// Weights, unless they are whole numbers of synapses.
    weight: Dataset<f64>,
    /// Signed numbers of synapses.
    synapses: Dataset<i32>,
    delay: Dataset<f64>,
    by_source: EdgeIndex,
    /// Number of edges to each target.
    degrees: Vec<u64>,
    n: u64,
}

/// Writes the file of edge list `i` and returns the values that all its edges have.
fn list_file(
    mut file: Writer,
    (i, list): (usize, &EdgeList),
    population: &str,
    report: &dyn Fn(f32) -> io::Result<()>,
) -> io::Result<EqualValues> {
    let (mut equal_weight, mut equal_delay) = (Equal::default(), Equal::default());
    let mut columns = Columns {
        source: Dataset::new(&[]),
        target: Dataset::new(&[]),
        type_id: Dataset::new(&[]),
        group_id: Dataset::new(&[]),
        group_index: Dataset::new(&[]),
        weight: Dataset::new(&[]),
        synapses: Dataset::new(&[]),
        delay: Dataset::new(&[]),
        by_source: EdgeIndex::new(),
        degrees: vec![0; list.ends[1].len as usize],
        n: 0,
    };
    let counts_synapses = list.connectivity.unit == SYNAPSES;
    each_connection(list, &|fraction| report(COLUMNS_SHARE * fraction), |from, to, weight, delay_secs| {
        let c = &mut columns;
        file.push(&mut c.source, &[from.into()])?;
        file.push(&mut c.target, &[to.into()])?;
        file.push(&mut c.type_id, &[type_id(i)])?;
        file.push(&mut c.group_id, &[0])?;
        file.push(&mut c.group_index, &[c.n])?;
        match counts_synapses {
            true => file.push(&mut c.synapses, &[weight as i32])?,
            false => file.push(&mut c.weight, &[weight])?,
        }
        // As in Parquet: the decimal delay that was entered, not the product of steps.
        let delay = f64::from((delay_secs * 1e3) as f32);
        file.push(&mut c.delay, &[delay])?;
        equal_weight.add(weight);
        equal_delay.add(delay);
        c.by_source.push(&mut file, from.into(), c.n)?;
        c.degrees[to as usize] += 1;
        c.n += 1;
        Ok(())
    })?;
    let mut about = vec![Attribute::text(WEIGHT_UNIT, list.connectivity.unit)];
    about.extend(list.weight_exponent.map(|exponent| Attribute::text(WEIGHT_EXPONENT, &exponent.to_string())));
    let weight = match counts_synapses {
        true => ("nsyns".to_owned(), file.close(columns.synapses, &about)?),
        false => ("syn_weight".to_owned(), file.close(columns.weight, &about)?),
    };
    let delay = file.close(columns.delay, &[Attribute::text("units", "ms")])?;
    let properties = file.group(&[weight, ("delay".to_owned(), delay)], &[])?;
    let [from, to] = &list.ends;
    let by_source = columns.by_source.close(&mut file, from.len.into())?;
    let indices = indices(&mut file, by_source, (&columns.target, &columns.degrees), report)?;
    let links = [
        (
            "source_node_id".to_owned(),
            file.close(columns.source, &[Attribute::text("node_population", &link_name(&from.name))])?,
        ),
        (
            "target_node_id".to_owned(),
            file.close(columns.target, &[Attribute::text("node_population", &link_name(&to.name))])?,
        ),
        ("edge_type_id".to_owned(), file.close(columns.type_id, &[])?),
        ("edge_group_id".to_owned(), file.close(columns.group_id, &[])?),
        ("edge_group_index".to_owned(), file.close(columns.group_index, &[])?),
        ("0".to_owned(), properties),
        ("indices".to_owned(), indices),
    ];
    let group = file.group(&links, &[])?;
    let edges = file.group(&[(population.to_owned(), group)], &[])?;
    finish(file, "edges", edges)?;
    Ok(EqualValues { weight: equal_weight.value(), delay: equal_delay.value() })
}

/// Writes the index by target of the columns so far, and returns the group of both indices.
fn indices(
    file: &mut Writer,
    by_source: Object,
    targets: (&Dataset<u64>, &[u64]),
    report: &dyn Fn(f32) -> io::Result<()>,
) -> io::Result<Object> {
    let report = |fraction| report(COLUMNS_SHARE + (1.0 - COLUMNS_SHARE) * fraction);
    let by_target = by_target(file, targets, PLACES, &report)?;
    file.group(&[("source_to_target".to_owned(), by_source), ("target_to_source".to_owned(), by_target)], &[])
}
