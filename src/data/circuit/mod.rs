//! SONATA circuits: the populations of nodes and edges that a `circuit_config.json` names, or the `simulation_config.json` of a
//! run of it.
//!
//! [`CircuitFiles::read`] reads the configuration, [`CircuitFiles::open`] the sizes and names in the files of nodes and edges, and the
//! parameters of neuron models. The edges themselves are read by the readers of edge lists.

mod item;
mod manifest;
mod model_file;
mod populations;

use super::{DataError, read_text_at_most};
use item::Item;
use manifest::Manifest;
pub use model_file::ModelFile;
pub use populations::{Circuit, EdgePopulation, NodePopulation};
use serde_json::Value;
use std::path::{Component, Path, PathBuf};

/// Maximum size of a configuration, bytes.
const MAX_BYTES: u64 = 16 << 20;
/// Maximum number of entries of a list of files.
const MAX_FILES: usize = 4096;
/// Name of the configuration in the folder of a circuit.
const CONFIG: &str = "circuit_config.json";

/// Files of a configuration.
pub struct CircuitFiles {
    /// Configuration of the circuit.
    pub path: PathBuf,
    nodes: Vec<ListedFile>,
    edges: Vec<ListedFile>,
    /// Folder of the parameters of neuron models: `components.point_neuron_models_dir`, or that of the configuration.
    models: PathBuf,
    pub run: CircuitRun,
    /// Sentences about parts of the configuration that are not read.
    pub notes: Vec<String>,
}

/// File of nodes or edges.
struct ListedFile {
    file: PathBuf,
    /// Table of the types.
    types: Option<PathBuf>,
    /// Types of the populations that the configuration lists, by name.
    populations: Vec<(String, String)>,
}

/// Settings of a run, from a simulation configuration.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CircuitRun {
    /// Duration of the run, ms.
    pub duration_ms: Option<f64>,
    /// Time step, ms.
    pub dt_ms: Option<f64>,
    pub seed: Option<u64>,
}

/// Returns the configuration that a path names: a `.json` file, or the `circuit_config.json` in a folder. `None` for other paths.
pub fn config_of(path: &Path) -> Option<PathBuf> {
    if path.is_dir() {
        return Some(path.join(CONFIG)).filter(|config| config.is_file());
    }
    path.extension().is_some_and(|end| end.eq_ignore_ascii_case("json")).then(|| path.to_owned())
}

impl CircuitFiles {
    /// Reads the configuration of a circuit, or of a simulation and the circuit that it names. Opens no file of nodes or edges.
    ///
    /// # Errors
    /// Fails with the file and the place in it if a configuration is missing, is not JSON, has a value of another type, or names a
    /// variable that its manifest does not resolve.
    pub fn read(path: &Path) -> Result<Self, DataError> {
        let path = &std::path::absolute(path).map_err(|e| DataError::io(path, e))?;
        let config = parse(path)?;
        let root = Item::root(path, &config);
        let network = root.get("network")?.filter(|_| config.get("networks").is_none());
        let Some(network) = network else { return Self::of_circuit(path, &config) };
        let manifest = Manifest::read(&root)?;
        let circuit = manifest.path(&network)?;
        let mut files = Self::of_circuit(&circuit, &parse(&circuit)?)?;
        files.read_simulation(&root)?;
        Ok(files)
    }

    fn of_circuit(path: &Path, config: &Value) -> Result<Self, DataError> {
        let root = Item::root(path, config);
        let manifest = Manifest::read(&root)?;
        let Some(networks) = root.get("networks")? else {
            let what = "there is no \"networks\"; a SONATA circuit lists its files of nodes and edges there, and a simulation names a \
                        circuit in \"network\"";
            return Err(DataError::format(path, what));
        };
        let list = |kind: &str| -> Result<Vec<ListedFile>, DataError> {
            let Some(list) = networks.get(kind)? else { return Ok(vec![]) };
            list.list(MAX_FILES)?.iter().map(|entry| listed(entry, kind, &manifest)).collect()
        };
        let (nodes, edges) = (list("nodes")?, list("edges")?);
        if nodes.is_empty() {
            return Err(networks.error("it lists no files of nodes: \"nodes\" is missing or empty"));
        }
        let components = root.get("components")?;
        let models = components.map(|of| of.get("point_neuron_models_dir")).transpose()?.flatten();
        let models = models.map(|item| manifest.path(&item)).transpose()?;
        let models = models.unwrap_or_else(|| path.parent().unwrap_or(Path::new(".")).to_owned());
        Ok(Self { path: path.to_owned(), nodes, edges, models, run: CircuitRun::default(), notes: vec![] })
    }

    /// Takes duration, time step and seed of a simulation, and notes what is not read.
    fn read_simulation(&mut self, root: &Item<'_>) -> Result<(), DataError> {
        if let Some(run) = root.get("run")? {
            let positive = |name: &str| {
                let Some(item) = run.get(name)? else { return Ok(None) };
                let value = item.number()?;
                let is_positive = value > 0.0 && value.is_finite();
                if is_positive {
                    Ok(Some(value))
                } else {
                    Err(item.error(&format!("a time above 0 ms expected, found {value}")))
                }
            };
            self.run.duration_ms = positive("tstop")?;
            self.run.dt_ms = positive("dt")?;
            self.run.seed = run.get("random_seed")?.map(|item| item.whole()).transpose()?;
        }
        for name in ["inputs", "node_sets_file", "conditions", "reports"] {
            let Some(item) = root.get(name)? else { continue };
            let names = item.keys();
            if !names.is_empty() {
                let names = names.join(", ");
                self.notes.push(format!("\"{name}\" of the simulation is not read ({names}): add it to the project"));
            }
        }
        Ok(())
    }

    /// Returns the files that are not in the folder of a configuration, with what names them; links are followed.
    pub fn outside(&self, folder: &Path) -> Vec<(&'static str, PathBuf)> {
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| without_parents(path));
        let (inside, typed) = (real(folder), without_parents(folder));
        let of = |kind, list: &[ListedFile]| -> Vec<(&'static str, PathBuf)> {
            let files = list.iter().flat_map(|one| std::iter::once(&one.file).chain(&one.types));
            files.map(|file| (kind, file.clone())).collect()
        };
        let mut all =
            [vec![("Circuit", self.path.clone())], of("Nodes", &self.nodes), of("Edges", &self.edges)].concat();
        if self.models.is_dir() && self.models.as_path() != self.path.parent().unwrap_or(Path::new("")) {
            all.push(("Neuron models", self.models.clone()));
        }
        let is_outside = |file: &Path| {
            let file = real(file);
            !file.starts_with(&inside) && !file.starts_with(&typed)
        };
        all.into_iter().filter(|(_, file)| is_outside(file)).collect()
    }
}

/// Returns an absolute path without `..`; the folders need not exist.
fn without_parents(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in std::path::absolute(path).unwrap_or_else(|_| path.to_owned()).components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            part => plain.push(part),
        }
    }
    plain
}

fn parse(path: &Path) -> Result<Value, DataError> {
    let text = read_text_at_most(path, MAX_BYTES, &|_, _| true)?;
    serde_json::from_str(&text).map_err(|e| DataError::at_line(path, e.line() as u64, format!("not JSON: {e}")))
}

/// Reads an entry of the list of files of `nodes` or `edges`.
fn listed(entry: &Item<'_>, kind: &str, manifest: &Manifest) -> Result<ListedFile, DataError> {
    let file = |name: &str| entry.get(name)?.map(|item| manifest.path(&item)).transpose();
    let (name, types) = (format!("{kind}_file"), format!("{}_types_file", kind.trim_end_matches('s')));
    let Some(path) = file(&name)? else { return Err(entry.error(&format!("there is no \"{name}\""))) };
    let types = file(&types)?;
    let mut populations = vec![];
    if let Some(listed) = entry.get("populations")? {
        for name in listed.keys() {
            let Some(population) = listed.get(&name)? else { continue };
            let of_type = population.get("type")?.map(|item| item.text().map(str::to_owned)).transpose()?;
            populations.push((name, of_type.unwrap_or_default()));
        }
    }
    Ok(ListedFile { file: path, types, populations })
}
