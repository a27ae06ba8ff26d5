//! Parameters of neuron models: exported with a SONATA circuit, and read back; damaged files are refused with their place.

use crate::edge_lists::{network_of, record};
use neuropil::{
    data::fuzz_entry,
    export::{Format, export},
    kinds::{Model, spiking::Params},
    project::{self, Project},
};
use neuropil_test_support::temp::TempFolder;
use std::{fs, path::Path};

/// Template that the export names, and name and model of a population.
const POPULATIONS: [(&str, &str, &str); 6] = [
    (
        "nest:iaf_psc_exp",
        "E",
        r#"model: IafPscExp(c_m: "10.123456789012345", tau_m: "0.30000000000000004", e_l: "-70.5", i_e: "1e-7"), v_start: "normal(-58, 10) in -90..-50.5""#,
    ),
    ("nest:iaf_psc_alpha", "I 4/2", r#"model: IafPscAlpha(tau_syn_ex: "0.7", t_ref: "1.5"), v_start: "-61.25""#),
    ("nest:iaf_psc_delta", "delta", r#"model: IafPscDelta(v_th: "17.5", refractory_input: Accumulate), v_start: "0""#),
    ("neuropil:iaf_psc_exp", "frozen", r#"model: IafPscExp(tau_syn_in: "2.5", refractory_input: Drop)"#),
    (
        "neuropil:iaf_psc_exp",
        "drawn",
        r#"model: IafPscExp(tau_m: "normal(10, 0.7) in 5..20"), v_start: "uniform(-70, -50)""#,
    ),
    ("neuropil:CUBA", "adapting", r#"model: Cuba(i_e: "3.7"), adaptation: Threshold(increase: 0.07, interval: 20)"#),
];

fn project() -> Project {
    let one = |(_, name, model): &(&str, &str, &str)| format!(r#"(name: "{name}", size: 20, {model}),"#);
    let populations: String = POPULATIONS.iter().map(one).collect();
    network_of(&populations, r#"(from: "E", to: "E", rule: FixedInDegree(n: 3), weight: "80"),"#)
}

fn params(project: &Project) -> &Params {
    let Model::Spiking(params) = &project.model else { panic!("a spiking network") };
    params
}

/// Exports a project to the folder `net.sonata` and returns the notes of the circuit and its project, or why it is refused.
fn exported(temp: &Path, project: &Project, edit: impl Fn(&Path)) -> Result<(Project, Vec<String>), String> {
    let run = record(&temp.join("run"), project);
    let folder = temp.join("net.sonata");
    export(&run, Format::Sonata, Some(&folder)).expect("exported");
    edit(&folder);
    project::of_circuit(&folder.join("circuit_config.json")).map_err(|why| why.to_string())
}

#[test]
fn parameters_other_than_the_defaults_are_read_back() {
    let temp = TempFolder::new("cell-models");
    let project = project();
    let (again, notes) = exported(&temp, &project, |_| {}).expect("a circuit");
    assert!(notes.is_empty(), "{notes:?}");
    let table = fs::read_to_string(temp.join("net.sonata/node_types.csv")).expect("a table");
    assert_eq!(params(&again).populations.len(), POPULATIONS.len());
    for (i, (template, name, _)) in POPULATIONS.iter().enumerate() {
        let [old, new] = [&project, &again].map(|project| &params(project).populations[i]);
        assert_eq!((&old.model, old.v_start, &old.adaptation), (&new.model, new.v_start, &new.adaptation), "{name}");
        let line = table.lines().nth(i + 1).expect("a line");
        assert!(line.contains(&format!(" {template} node_type.{}.json ", 100 + i)), "{line}");
    }
    let nest = fs::read_to_string(temp.join("net.sonata/node_type.101.json")).expect("parameters");
    assert!(nest.contains("\"V_m\": -61.25") && nest.contains("\"t_ref\": 1.5"), "{nest}");
    let own = fs::read_to_string(temp.join("net.sonata/node_type.104.json")).expect("parameters");
    assert!(own.contains("\"model.c_m\": \"250 pF\""), "{own}");
}

/// Networks of synapse counts keep the parameters of their only neuron model.
#[test]
fn parameters_of_a_network_of_counts_are_read_back() {
    let temp = TempFolder::new("cell-models-of-counts");
    let mut project = Project { model: Model::by_name("spiking").expect("a kind"), ..Project::default() };
    for text in [
        "network.source=Balanced",
        "network.n_neurons=100",
        "network.in_degree=5",
        "lif.tau_m=17.123456789012345",
        "lif.w_syn=0.3",
        "lif.precision=F32",
        "lif.start=Drawn(v: normal(-51, 2))",
    ] {
        project.set(text, Path::new(".")).expect(text);
    }
    let (again, notes) = exported(&temp, &project, |_| {}).expect("a circuit");
    assert!(notes.is_empty(), "{notes:?}");
    assert_eq!(params(&again).lif, params(&project).lif);
}

#[test]
fn damaged_parameters_name_the_file_and_the_value() {
    for (from, to, parts) in [
        ("-61.25", "\"much\"", &["node_type.101.json: V_m: ", "much"][..]),
        ("-61.25", "1e9", &["node_type.101.json: V_m: "]),
        ("-61.25", "[1]", &["node_type.101.json: V_m: "]),
        ("{", "[", &["node_type.101.json:", "a JSON object of parameters expected"]),
    ] {
        let temp = TempFolder::new("damaged-models");
        let edit = |folder: &Path| {
            let path = folder.join("node_type.101.json");
            let text = fs::read_to_string(&path).expect("parameters");
            fs::write(&path, text.replacen(from, to, 1)).expect("written");
        };
        let why = exported(&temp, &project(), edit).expect_err(to);
        assert!(parts.iter().all(|part| why.contains(part)), "{from} as {to}: {why}");
    }
}

/// Values that are unknown or missing, unknown models and files elsewhere are named, and defaults are used.
#[test]
fn parts_that_are_not_read_are_named() {
    for (file, from, to, part) in [
        (
            "node_type.101.json",
            "\"V_m\"",
            "\"g_L\"",
            "node_type.101.json: values that the model does not have are left out: g_L",
        ),
        ("node_type.101.json", "\"t_ref\"", "\"x\"", "node_type.101.json has no t_ref: default values"),
        ("node_types.csv", "nest:iaf_psc_alpha", "nest:glif_cond", "the circuit names nest:glif_cond"),
        (
            "node_types.csv",
            "node_type.101.json",
            "../net.sonata/node_type.101.json",
            "with default values; the circuit names nest:iaf_psc_alpha",
        ),
        (
            "node_types.csv",
            "node_type.101.json",
            "absent.json",
            "with default values; the circuit names nest:iaf_psc_alpha",
        ),
    ] {
        let temp = TempFolder::new("unread-models");
        let edit = |folder: &Path| {
            let text = fs::read_to_string(folder.join(file)).expect("a text");
            assert!(text.contains(from), "{file}: {from}");
            fs::write(folder.join(file), text.replacen(from, to, 1)).expect("written");
        };
        let (_, notes) = exported(&temp, &project(), edit).expect(part);
        assert!(notes.iter().any(|note| note.contains(part)), "{part}: {notes:?}");
    }
}

/// Index groups are not read: edges are the same whichever byte of an index is damaged.
#[test]
fn damaged_index_groups_are_ignored() {
    let temp = TempFolder::new("damaged-index");
    let project = network_of(
        r#"(name: "a", size: 8), (name: "b", size: 5),"#,
        r#"(from: "a", to: "b", rule: FixedInDegree(n: 6), weight: "80"),"#,
    );
    exported(&temp, &project, |_| {}).expect("a circuit");
    let intact = fs::read(temp.join("net.sonata/edges.h5")).expect("a file");
    let words = |bytes: &[u8]| fuzz_entry::weighted_sonata(bytes).map(|edges| edges.expect("weights").words);
    let expected = words(&intact).expect("read");
    let places = |name: &[u8]| {
        intact.windows(name.len()).enumerate().filter(|(_, part)| *part == name).map(|(i, _)| i).collect::<Vec<_>>()
    };
    let (first, last) = (places(b"node_id_to_ranges")[0], *places(b"range_to_edge_id").last().expect("an index"));
    assert!(first < last && last - first > 300, "the index by target is between the groups of both indices");
    for place in (first..last).step_by(5) {
        let mut bytes = intact.clone();
        bytes[place] ^= 0x5a;
        let read = words(&bytes).unwrap_or_else(|why| panic!("byte {place}: {why}"));
        assert!(read == expected, "byte {place}");
    }
}
