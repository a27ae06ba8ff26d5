//! Populations of a circuit: sizes, names and columns, from the files of nodes and edges. Edges are not read.

use super::{CircuitFiles, CircuitRun, ListedFile, ModelFile};
use crate::data::{
    DataError, MAX_NEURONS,
    edge_columns::WEIGHT_UNIT,
    edges_sonata::{COUNTS, DELAY, WEIGHTS},
    hdf5_file::Hdf5File,
    messages,
    sonata_types::{TypeOf, TypeTable},
};
use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

/// Number of type ids read at a time.
const BATCH: u64 = 1 << 16;
/// Maximum number of types of a population that are looked up.
const MAX_TYPES: usize = 4096;
/// Maximum number of names in a message.
const NAMED: usize = 24;

/// Populations of a circuit.
pub struct Circuit {
    /// Configuration of the circuit.
    pub path: PathBuf,
    /// Populations in the order of their files and node types.
    pub nodes: Vec<NodePopulation>,
    /// Populations in the order of the configuration.
    pub edges: Vec<EdgePopulation>,
    pub run: CircuitRun,
    /// Sentences about parts of the circuit that are not read.
    pub notes: Vec<String>,
}

/// Population of nodes.
pub struct NodePopulation {
    pub name: String,
    pub file: PathBuf,
    pub n: u32,
    /// Smallest id of a node type.
    first_type: u64,
    /// Whether the nodes have no dynamics: their spikes come from outside of the circuit.
    pub is_virtual: bool,
    /// Templates of the models of its node types, `nest:iaf_psc_exp`.
    pub templates: BTreeSet<String>,
    /// Whether a node type names a file of model parameters.
    pub has_dynamics: bool,
    /// Parameters of the model that all its node types have; `None` if the types or the folder of models have no such file.
    pub model_file: Option<ModelFile>,
    /// Potentials at step 0 that all its node types have, a number or distribution in the column `v_start` of exports, with the table.
    pub v_start: Option<(PathBuf, String)>,
}

/// Population of edges, with the names of the populations of nodes at its ends.
pub struct EdgePopulation {
    pub name: String,
    pub file: PathBuf,
    pub source: String,
    pub target: String,
    /// Unit of the weights; `None` if the file names none.
    pub unit: Option<String>,
    /// Whether the edges have numbers of synapses in place of weights.
    pub counts_synapses: bool,
    pub has_delays: bool,
}

impl CircuitFiles {
    /// Opens the files of nodes and edges, and reads the sizes and names of their populations.
    ///
    /// # Errors
    /// Fails with the file if one is missing or damaged, a listed population is not in its file, a name is not unique, or an end of
    /// edges is no population of the circuit.
    pub fn open(self) -> Result<Circuit, DataError> {
        let Self { path, nodes, edges, models, run, mut notes } = self;
        let mut all: Vec<NodePopulation> = vec![];
        for listed in &nodes {
            let mut of_file = nodes_of(listed, &models)?;
            of_file.sort_by_key(|population| population.first_type);
            if let Some(twice) = of_file.iter().find(|one| all.iter().any(|known| known.name == one.name)) {
                let what = format!(
                    "nodes/{}: another file of the circuit has this population",
                    messages::truncated(&twice.name)
                );
                return Err(DataError::format(&twice.file, what));
            }
            all.extend(of_file);
        }
        let mut circuit = Circuit { path, nodes: all, edges: vec![], run, notes: vec![] };
        for listed in &edges {
            let found = edges_of(listed, &circuit.nodes, &mut notes)?;
            circuit.edges.extend(found);
        }
        Ok(Circuit { notes, ..circuit })
    }
}

/// Returns the populations in a file that are listed, or all of them. Fails if a listed population is not in the file.
fn populations(file: &Hdf5File, listed: &ListedFile, kind: &str) -> Result<Vec<String>, DataError> {
    let there = file.groups(kind)?;
    if there.is_empty() {
        return Err(DataError::format(&listed.file, format!("{kind}: there is no population")));
    }
    if let Some((missing, _)) = listed.populations.iter().find(|(name, _)| !there.contains(name)) {
        let what =
            format!("{kind}: there is no population `{}` (it has: {})", messages::truncated(missing), names(&there));
        return Err(DataError::format(&listed.file, what));
    }
    let is_listed =
        |name: &String| listed.populations.is_empty() || listed.populations.iter().any(|(one, _)| one == name);
    Ok(there.into_iter().filter(is_listed).collect())
}

fn names(all: &[String]) -> String {
    all.iter().take(NAMED).map(|name| messages::truncated(name)).collect::<Vec<_>>().join(", ")
}

fn of_type<'a>(listed: &'a ListedFile, name: &str) -> &'a str {
    listed.populations.iter().find(|(known, _)| known == name).map_or("", |(_, of)| of)
}

fn nodes_of(listed: &ListedFile, models: &Path) -> Result<Vec<NodePopulation>, DataError> {
    let file = Hdf5File::open(&listed.file)?;
    let path = listed.types.clone().or_else(|| TypeOf::Node.beside(&listed.file));
    let table = path.map(|path| TypeTable::read(&path, TypeOf::Node)).transpose()?;
    let population = |name: String| {
        let column = file.column(&format!("nodes/{name}/{}", TypeOf::Node.id()))?;
        let n = u32::try_from(column.n).ok().filter(|n| *n <= MAX_NEURONS);
        let n = n.ok_or_else(|| {
            let [found, most] = [column.n, MAX_NEURONS.into()].map(messages::group_digits);
            column.error(None, &format!("{found} nodes; at most {most} are read"))
        })?;
        let mut ids = BTreeSet::new();
        for first in (0..column.n).step_by(BATCH as usize) {
            ids.extend(column.unsigned(first, BATCH.min(column.n - first))?);
            if ids.len() > MAX_TYPES {
                break;
            }
        }
        let cells = |column: &str| table.as_ref().map(|table| table.cells_of(&ids, column)).unwrap_or_default();
        let of_types = cells("model_type");
        let table = table.as_ref();
        let v_start = |of: &TypeTable| Some((of.path.clone(), of.common_cell(&ids, "v_start")?.to_owned()));
        let v_start = table.and_then(v_start);
        let model_file = table.map(|table| ModelFile::of_types(table, &ids, models)).transpose()?.flatten();
        Ok(NodePopulation {
            is_virtual: of_type(listed, &name) == "virtual" || of_types.iter().eq(["virtual"]),
            templates: cells("model_template"),
            has_dynamics: !cells("dynamics_params").is_empty(),
            model_file,
            v_start,
            first_type: ids.first().copied().unwrap_or(u64::MAX),
            file: listed.file.clone(),
            name,
            n,
        })
    };
    populations(&file, listed, "nodes")?.into_iter().map(population).collect()
}

fn edges_of(
    listed: &ListedFile,
    nodes: &[NodePopulation],
    notes: &mut Vec<String>,
) -> Result<Vec<EdgePopulation>, DataError> {
    let file = Hdf5File::open(&listed.file)?;
    let there = file.groups("edges")?;
    let wanted = populations(&file, listed, "edges")?;
    let shown = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    if there.len() > 1 {
        notes.push(format!(
            "{} has {} populations of edges ({}), and is left out: one per file is read. Write each to a file of its own",
            shown(&listed.file),
            there.len(),
            names(&there)
        ));
        return Ok(vec![]);
    }
    let mut found = vec![];
    for name in wanted {
        let of = of_type(listed, &name);
        if !["", "chemical"].contains(&of) {
            notes.push(format!(
                "Edges `{name}` are left out: they are of the type `{of}`, and networks have chemical synapses"
            ));
            continue;
        }
        found.push(edge_population(&file, listed, nodes, name)?);
    }
    Ok(found)
}

fn edge_population(
    file: &Hdf5File,
    listed: &ListedFile,
    nodes: &[NodePopulation],
    name: String,
) -> Result<EdgePopulation, DataError> {
    let path = &listed.file;
    let end = |column: &str| {
        let column = file.column(&format!("edges/{name}/{column}"))?;
        let population = match (column.attribute("node_population"), nodes) {
            (Some(population), _) => population,
            (None, [only]) => only.name.clone(),
            (None, _) => {
                return Err(column.error(
                    None,
                    "there is no attribute \"node_population\", which names the population of the nodes",
                ));
            }
        };
        if nodes.iter().any(|known| known.name == population) {
            return Ok(population);
        }
        let known: Vec<String> = nodes.iter().map(|one| one.name.clone()).collect();
        let what =
            format!("the circuit has no population `{}` (it has: {})", messages::truncated(&population), names(&known));
        Err(column.error(None, &what))
    };
    let (source, target) = (end("source_node_id")?, end("target_node_id")?);
    let group = format!("edges/{name}");
    let has_group = file.groups(&group)?.iter().any(|inner| inner == "0");
    let own = if has_group { file.datasets(&format!("{group}/0"))? } else { vec![] };
    let beside = TypeOf::Edge.beside(path);
    let table = beside.as_ref().map(|path| TypeTable::read(path, TypeOf::Edge)).transpose()?;
    let has_numbers = |column: &str| table.as_ref().is_some_and(|of| matches!(of.numbers(column), Ok(Some(_))));
    let has = |column: &&str| own.iter().any(|known| known == column) || has_numbers(column);
    let weight = WEIGHTS.iter().find(|name| own.iter().any(|known| known == *name));
    let has_weights = WEIGHTS.iter().any(has);
    let counts_synapses = !has_weights && COUNTS.iter().any(has);
    if let Some(types) =
        listed.types.as_ref().filter(|types| !has_weights && !counts_synapses && beside.as_ref() != Some(types))
    {
        let what = format!(
            "{group}/0: the edges have no weights, and their types in {} are not read: copy that file beside this one, with the name \
             edge_types.csv",
            types.display()
        );
        return Err(DataError::format(path, what));
    }
    let column = weight.map(|weight| file.column(&format!("{group}/0/{weight}"))).transpose()?;
    let unit = column.and_then(|column| column.attribute(WEIGHT_UNIT));
    let has_delays = has(&DELAY);
    Ok(EdgePopulation { name, file: path.clone(), source, target, unit, counts_synapses, has_delays })
}
