//! SONATA circuits: read as projects, with weights by edge type; damaged ones are refused with the file and the place.

use crate::sonata::{damaged, golden};
use neuropil::{
    data::{circuit::CircuitFiles, fuzz_entry},
    kinds::{Model, spiking::setup},
    project::{self, Project},
    sim::{BuildContext, Progress},
};
use neuropil_test_support::temp::TempFolder;
use std::{fs, path::Path};

/// Returns a copy of the circuit, with parts of one file replaced: name, text and replacement.
fn copy(edits: &[(&str, &str, &str)]) -> TempFolder {
    let temp = TempFolder::new("circuit");
    fs::create_dir(temp.join("network")).expect("a folder");
    for folder in ["", "network"] {
        for entry in fs::read_dir(golden("circuit").join(folder)).expect("a folder").flatten() {
            if entry.path().is_file() {
                fs::copy(entry.path(), temp.join(folder).join(entry.file_name())).expect("copied");
            }
        }
    }
    for (name, from, to) in edits {
        let file = temp.join(name);
        let text = fs::read_to_string(&file).expect("a text");
        assert!(text.contains(from), "{name}: {from}");
        fs::write(&file, text.replace(from, to)).expect("written");
    }
    temp
}

/// Builds the network of a configuration. Returns its connections: both ends, delay in steps and weight.
fn connections(project: &Project) -> Result<Vec<(u32, u32, u32, f64)>, String> {
    let Model::Spiking(params) = &project.model else { panic!("a spiking network") };
    let setup = setup::prepare(params, &BuildContext::default(), &Progress::default()).map_err(|e| e.to_string())?;
    let (network, mut all) = (setup.rules().expect("rules"), vec![]);
    for from in 0..setup.n() {
        network.each(from, |_, to, weight, delay| all.push((from, to, delay, weight)));
    }
    Ok(all)
}

fn refused(folder: &TempFolder, config: &str) -> String {
    let read = project::of_circuit(&folder.join(config)).map_err(|e| e.to_string());
    read.and_then(|(project, _)| connections(&project)).expect_err(config)
}

#[test]
fn a_circuit_of_h5py_is_a_network_with_the_weights_of_its_edge_types() {
    let (project, notes) = project::of_circuit(&golden("circuit/simulation_config.json")).expect("a circuit");
    assert_eq!((project.name.as_str(), project.seed, project.run.duration_ms), ("circuit", 5, 200.0));
    assert_eq!(project.record, ["spikes"]);
    let Model::Spiking(params) = &project.model else { panic!("a spiking network") };
    let populations: Vec<_> =
        params.populations.iter().map(|p| (p.name.as_str(), p.size, p.model.weight_unit())).collect();
    assert_eq!(populations, [("v1", 13, "mV")], "iaf_psc_delta");
    let all = connections(&project).expect("a network");
    assert_eq!(all.len(), 30);
    for (from, _, delay, weight) in all {
        let expected = if from < 6 { (15, 0.25) } else { (20, -1.0) };
        assert!(delay == expected.0 && (weight - expected.1).abs() < 1e-6, "{from}: {delay} steps, {weight} mV");
    }
    let notes = notes.join("\n");
    for part in [
        "\"inputs\" of the simulation is not read (lgn_spikes)",
        "Population `lgn` is left out: its nodes are virtual",
        "Edges `lgn_to_v1` are left out with their population `lgn`",
        "Population `v1` has the model iaf_psc_delta with default values; the circuit names nest:iaf_psc_delta",
    ] {
        assert!(notes.contains(part), "{part}: {notes}");
    }
}

#[test]
fn edges_without_weights_name_the_column_and_the_file() {
    let bytes = fs::read(golden("circuit/network/v1_v1_edges.h5")).expect("a file");
    let Err(why) = fuzz_entry::weighted_sonata(&bytes) else { panic!("edges without weights are refused") };
    let why = why.to_string();
    let parts =
        ["edges/v1_to_v1/0: there are no weights", "no column \"syn_weight\"", "edge_types.csv is not beside the file"];
    assert!(parts.iter().all(|part| why.contains(part)), "{why}");
    let types = "network/v1_v1_edge_types.csv";
    let why = refused(&copy(&[(types, "syn_weight", "strength")]), "circuit_config.json");
    assert!(why.contains("v1_v1_edges.h5: ") && why.contains("v1_v1_edge_types.csv has no such column"), "{why}");
    let why = refused(&copy(&[(types, "201 ", "202 ")]), "circuit_config.json");
    assert!(why.contains("v1_v1_edges.h5: ") && why.contains("no \"syn_weight\" for the type 201"), "{why}");
}

#[test]
fn damaged_circuits_are_refused_with_the_file_and_the_place() {
    let circuit = "circuit_config.json";
    let types = "network/v1_v1_edge_types.csv";
    let cases: [(&str, &str, &str, &[&str]); 17] = [
        (circuit, "v1_nodes.h5", "no_nodes.h5", &["network/no_nodes.h5: there is no such file"]),
        (circuit, "v1_v1_edges.h5", "v1_nodes.h5", &["v1_nodes.h5: ", "edges"]),
        (circuit, "v1_v1_edge_types.csv", "absent.csv", &[]),
        (
            circuit,
            "\"$BASE_DIR\": \".\"",
            "\"$BASE_DIR\": \"$NETWORK_DIR\"",
            &[circuit, "nodes[0].nodes_file: ", "circular reference"],
        ),
        (
            circuit,
            "$BASE_DIR/network",
            "$ROOT/network",
            &[circuit, "no variable `$ROOT` (it has: $BASE_DIR, $NETWORK_DIR)"],
        ),
        (circuit, "\".\"", "1e400", &[circuit, "not JSON"]),
        (circuit, "\".\"", "[\".\"]", &[circuit, "manifest.$BASE_DIR: a text expected, found a list"]),
        (circuit, "\"networks\"", "\"network\"", &[circuit, "network: a text expected, found an object"]),
        (circuit, "\"nodes\"", "\"nodez\"", &[circuit, "networks: it lists no files of nodes"]),
        (circuit, "\"nodes_file\"", "\"file\"", &[circuit, "networks.nodes[0]: there is no \"nodes_file\""]),
        (circuit, "lgn_nodes.h5", "v1_nodes.h5", &["v1_nodes.h5: nodes/v1: another file"]),
        (types, "0.25", "1e999", &["v1_v1_edge_types.csv:2: column \"syn_weight\": a number expected, found `1e999`"]),
        (types, "0.25", "1e30", &["v1_v1_edges.h5: ", "overflows"]),
        (types, "0.25", "much", &["v1_v1_edge_types.csv:2: ", "found `much`"]),
        (types, "200 ", "20x ", &["v1_v1_edge_types.csv:2: ", "a whole number expected, found `20x`"]),
        (types, "-1.0 2.0", "-1.0", &["v1_v1_edge_types.csv:3: 3 cells where the header has 4"]),
        (types, "edge_type_id", "type", &["v1_v1_edge_types.csv: no column \"edge_type_id\""]),
    ];
    for (name, from, to, parts) in cases {
        let folder = copy(&[(name, from, to)]);
        if parts.is_empty() {
            // The reader of edges finds the table beside the file by its name.
            project::of_circuit(&folder.join(circuit)).expect("read");
            continue;
        }
        let why = refused(&folder, circuit);
        assert!(parts.iter().all(|part| why.contains(part)), "{from} as {to}: {why}");
    }
    let simulation = "simulation_config.json";
    for (from, to, part) in [
        ("0.1", "\"fast\"", "run.dt: a number expected, found `\"fast\"`"),
        ("0.1", "1e300", "run.dt: "),
        ("200.0", "-3", "run.tstop: a time above 0 ms expected, found -3"),
        ("\"random_seed\": 5", "\"random_seed\": 1.5", "run.random_seed: a whole number"),
        ("${configdir}/circuit", "${configdir}/missing", "missing_config.json: there is no such file"),
    ] {
        let why = refused(&copy(&[(simulation, from, to)]), simulation);
        assert!(why.contains(part), "{from} as {to}: {why}");
    }
}

/// 200 copies of each text with a changed, removed or repeated part are read, or refused with a sentence that names a file.
#[test]
fn circuits_with_damaged_texts_name_a_file() {
    let folder = copy(&[]);
    let mut n_refused = 0;
    for name in ["circuit_config.json", "network/v1_v1_edge_types.csv", "network/v1_node_types.csv"] {
        let (file, intact) = (folder.join(name), fs::read(golden("circuit").join(name)).expect("a file"));
        for variant in 0..200 {
            fs::write(&file, damaged(&intact, variant)).expect("written");
            let read = project::of_circuit(&folder.join("circuit_config.json")).map_err(|e| e.to_string());
            if let Err(why) = read.and_then(|(project, _)| connections(&project)) {
                n_refused += 1;
                assert!(why.contains(&folder.display().to_string()), "{name}, variant {variant}: {why}");
            }
        }
        fs::write(&file, intact).expect("written");
    }
    assert!(n_refused > 200, "{n_refused} of 600 are refused");
}

#[test]
fn files_outside_the_folder_of_a_circuit_are_listed() {
    let folder = copy(&[]);
    assert!(outside(&folder, "simulation_config.json").is_empty());
    let folder = copy(&[("circuit_config.json", "$NETWORK_DIR/v1_v1_edges.h5", "../elsewhere/v1_v1_edges.h5")]);
    assert_eq!(outside(&folder, "circuit_config.json"), ["Edges v1_v1_edges.h5"]);
}

/// Returns the files of a configuration that are outside its folder, with what names them.
fn outside(folder: &Path, config: &str) -> Vec<String> {
    let files = CircuitFiles::read(&folder.join(config)).expect("a configuration").outside(folder);
    let named = |(kind, file): &(&str, std::path::PathBuf)| {
        format!("{kind} {}", file.file_name().unwrap_or_default().to_string_lossy())
    };
    files.iter().map(named).collect()
}
