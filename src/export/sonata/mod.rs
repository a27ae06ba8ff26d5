//! Exports the SONATA format as a folder: the network, its spikes and reports of its elements, which libsonata reads.
//!
//! | file | content |
//! | --- | --- |
//! | `circuit_config.json`, `simulation_config.json` | the files below, duration, time step, seed |
//! | `nodes.h5`, `node_types.csv` | a population per group of elements, with ids, positions in µm and categories |
//! | `node_type.100.json`, … | parameters of the neuron model of a node type: names and units of NEST (pF, ms, mV, pA), or texts with units |
//! | `edges.h5`, `edges.E-I.h5`, …; `edge_types.csv` | a population per edge list: weights and delays in ms, those that all edges of a list have also per type; index groups by source and target; [`read`](crate::data::read) reads these files |
//! | `spikes.h5` | times in ms and elements, by time; `spikes.3.h5` for trial 3 |
//! | `NAME.h5` | reports: fields, and series over elements, with samples at equal distances |
//!
//! Connections are made again from project and seed, as `export/edges.rs` describes; that page also describes the memory.

mod edge_index;
mod edges;
mod nodes;
mod reports;
mod spikes;

use super::{
    edges::Network,
    format::is_report,
    hdf5,
    output::Outputs,
    trial::{Trial, array_name, at, secs},
};
use crate::{
    project::{RunFolder, Stream, read_meter::ReadMeter},
    sim::{ElementGroup, Progress},
};
use hdf5::{Attribute, Links, Object, Writer};
use serde_json::{Map, Value, json};
use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

/// Value of the root attribute `magic`, by which SONATA files are recognised.
const MAGIC: u32 = 0x0a7a;
/// Version of the format in the root attribute `version`.
const VERSION: [u32; 2] = [0, 1];
/// Type id of the nodes of the first population and of the edges of the first list; the next ones have the next ids.
const TYPE_ID: u32 = 100;

/// Folder of an export and the groups of its network.
struct Target {
    folder: PathBuf,
    groups: Vec<ElementGroup>,
}

impl Target {
    /// Returns the group of an element and its index in it; `None` if there is no such element.
    fn place(&self, element: u32) -> Option<(usize, u32)> {
        let group = self.groups.partition_point(|group| group.first <= element).checked_sub(1)?;
        let index = element - self.groups[group].first;
        (index < self.groups[group].len).then_some((group, index))
    }
}

/// Creates a file in a folder. Fails if it cannot be created.
fn create(folder: &Path, name: &str) -> io::Result<Writer> {
    let path = folder.join(name);
    Writer::new(File::create_new(&path).map_err(at(&path))?).map_err(at(&path))
}

/// Ends a file with one group at the root.
fn finish(mut file: Writer, name: &str, group: Object) -> io::Result<()> {
    let about = [Attribute::number("magic", MAGIC), Attribute::numbers("version", &VERSION)];
    let root = file.group(&[(name.to_owned(), group)], &about)?;
    file.finish(root)
}

/// Writes the folder `out`. Fails if a stream cannot be read, a file cannot be written, or the job is cancelled.
pub(super) fn write(
    run: &RunFolder,
    trials: &[Trial],
    out: &Path,
    (progress, meter): (&Progress, &ReadMeter),
    outputs: &mut Outputs,
) -> io::Result<()> {
    let folder = outputs.create_folder(out)?;
    let network = Network::make(run, (progress, meter))?;
    let (edge_files, ends) = edges::write(&folder, &network, progress)?;
    let target = Target { folder, groups: nodes::groups(network.elements(), ends) };
    nodes::write(&target, &network, &run.manifest.kind)?;
    let (mut spike_files, mut reports) = (vec![], Map::new());
    for trial in trials {
        let number = trial.run.trial.map_or_else(String::new, |k| format!(".{k}"));
        if trial.spike_stream().is_some() {
            let name = format!("spikes{number}.h5");
            spikes::write(&target, trial, &name)?;
            spike_files.push(name);
        }
        let of_elements = |stream: &&Stream| is_report(stream) && network.has_elements(&stream.over);
        for stream in trial.manifest().streams.iter().filter(of_elements) {
            let report = format!("{}{number}", array_name(stream));
            let file = format!("{report}.h5");
            if let Some([start, stop, step]) = reports::write(&target, trial, stream, &file)? {
                let about = json!({
                    "type": "compartment", "variable_name": stream.probe, "unit": stream.unit, "file_name": file,
                    "start_time": start, "end_time": stop, "dt": step, "enabled": true,
                });
                reports.insert(report, about);
            }
        }
    }
    circuit(&target, &edge_files)?;
    simulation(&target, run, &spike_files, reports)
}

/// Writes the configuration of the network; `edge_files` are names of files and of populations.
fn circuit(target: &Target, edge_files: &[(String, String)]) -> io::Result<()> {
    let populations = |names: &mut dyn Iterator<Item = &String>, of: &str| {
        Value::Object(names.map(|name| (name.clone(), json!({ "type": of }))).collect::<Map<_, _>>())
    };
    let nodes = json!({
        "nodes_file": "$BASE_DIR/nodes.h5", "node_types_file": "$BASE_DIR/node_types.csv",
        "populations": populations(&mut target.groups.iter().map(|group| &group.name), "point_neuron"),
    });
    let edges = edge_files.iter().map(|(file, population)| {
        json!({
            "edges_file": format!("$BASE_DIR/{file}"), "edge_types_file": "$BASE_DIR/edge_types.csv",
            "populations": populations(&mut std::iter::once(population), "chemical"),
        })
    });
    let networks = json!({ "nodes": [nodes], "edges": edges.collect::<Vec<_>>() });
    let components = json!({ "point_neuron_models_dir": "$BASE_DIR" });
    let circuit = json!({
        "version": 2.4, "manifest": { "$BASE_DIR": "." }, "components": components, "networks": networks,
    });
    write_json(&target.folder.join("circuit_config.json"), &circuit)
}

/// Writes the configuration of the run.
fn simulation(target: &Target, run: &RunFolder, spike_files: &[String], reports: Map<String, Value>) -> io::Result<()> {
    let m = &run.manifest;
    let ms_per_step = m.secs_per_step * 1e3;
    let simulation = json!({
        "version": 2.4, "manifest": { "$BASE_DIR": "." }, "network": "$BASE_DIR/circuit_config.json",
        "run": { "tstop": secs(m.last_step, ms_per_step), "dt": ms_per_step, "random_seed": m.seed },
        "output": { "output_dir": "$BASE_DIR", "spikes_file": spike_files.first(), "spikes_files": spike_files },
        "reports": reports,
        "metadata": { "program": m.app, "run": m.id, "hash": m.digest.hash, "data_hash": m.data_hash().unwrap_or_default(), "kind": m.kind },
    });
    write_json(&target.folder.join("simulation_config.json"), &simulation)
}

fn write_json(path: &Path, content: &Value) -> io::Result<()> {
    fs::write(path, format!("{content:#}\n")).map_err(at(path))
}
