//! Connections: exported from a run as edge lists, and read back by networks from files.

use neuropil::{
    engine::{RecordingEnd, RecordingStart, Sink as _},
    export::{ExportSettings, Format, export, export_job, offered},
    gpu::Pass,
    kinds::{
        Model,
        spiking::{Params, setup::Setup},
    },
    params::path,
    project::{self, Project, RunFolder, RunStart, RunWriter},
    sim::{BuildContext, Device, Progress},
};
use neuropil_test_support::temp::TempFolder;
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

/// Rule, weight and delay of each projection between two populations. Every smallest delay occurs.
const PROJECTIONS: [(&str, &str, &str, &str, &str); 7] = [
    ("a/1", "b", "Bernoulli(p: 0.2)", "87.8", "1.5"),
    ("a/1", "b", "FixedTotal(n: 3000)", "normal(80, 8)", "normal(1.5, 0.75) in 0.1..5"),
    ("b", "a/1", "FixedInDegree(n: 40)", "normal(-350, 35) in -1000..0", "uniform(0.5, 3)"),
    ("b", "b", "FixedOutDegree(n: 30, autapses: false, multapses: false)", "-9.25", "0.8"),
    ("a/1", "a/1", "AllToAll()", "log_normal(1, 1.2) in 0..500", "uniform(1, 7.2)"),
    ("a/1", "c", "FixedInDegree(n: 20, multapses: false)", "uniform(0.1, 2)", "0.1"),
    ("c", "c", "OneToOne", "-1.62", "900"),
];

/// Returns a network from rules with other projections: lines of the project file.
fn network(projections: &str) -> Project {
    let populations = r#"(name: "a/1", size: 90), (name: "b", size: 70), (name: "c", size: 30, model: Cuba()),"#;
    let inputs = r#"(population: "a/1", source: Poisson(rate: 9000, weight: 90)),
        (population: "b", source: Poisson(rate: 8000, weight: 87.8)),"#;
    with_inputs(populations, projections, inputs)
}

/// Returns a network from rules without input: items of its lists as in a project file.
pub fn network_of(populations: &str, projections: &str) -> Project {
    with_inputs(populations, projections, "")
}

fn with_inputs(populations: &str, projections: &str, inputs: &str) -> Project {
    let text = format!(
        r#"(version: 2, name: "net", seed: 7, model: Spiking((network: (source: Rules), populations: [{populations}],
            projections: [{projections}], external_inputs: [{inputs}])))"#
    );
    project::read(&text).expect("a project").0
}

fn of_rules() -> Project {
    let one = |(from, to, rule, weight, delay): &(&str, &str, &str, &str, &str)| {
        format!(r#"(from: "{from}", to: "{to}", rule: {rule}, weight: "{weight}", delay: "{delay}"),"#)
    };
    network(&PROJECTIONS.iter().map(one).collect::<String>())
}

/// Returns the network whose projections are read from files, with their weights as they are.
fn of_files(files: &[PathBuf]) -> Project {
    let one = |((from, to, ..), file): (&(&str, &str, &str, &str, &str), &PathBuf)| {
        format!(r#"(from: "{from}", to: "{to}", rule: FromFile(path: "{}"), weight: 1),"#, file.display())
    };
    network(&PROJECTIONS.iter().zip(files).map(one).collect::<String>())
}

/// Records an empty run of a project.
pub fn record(folder: &Path, project: &Project) -> RunFolder {
    let start = RunStart {
        project,
        base: Path::new("."),
        taps: vec![],
        sets: &[],
        device: "CPU".into(),
        threads: 1,
        command: String::new(),
        trial: None,
        trials: 0,
    };
    let mut writer = Box::new(RunWriter::create(folder, start).expect("a run folder"));
    writer.begin(&RecordingStart::default()).expect("begun");
    writer.finish(&RecordingEnd::default()).expect("finished");
    RunFolder::open(folder).expect("a run")
}

fn context(project: &Project) -> BuildContext {
    BuildContext { seed: project.seed, ..BuildContext::default() }
}

fn setup(project: &Project) -> Setup {
    let Model::Spiking(params) = &project.model else { panic!("a spiking network") };
    neuropil::kinds::spiking::setup::prepare(params, &context(project), &Progress::default()).expect("a network")
}

/// Returns all connections: both ends, delay in steps and bits of the weight, in order.
fn connections(setup: &Setup) -> Vec<(u32, u32, u32, u64)> {
    let (network, mut all) = (setup.rules().expect("rules"), vec![]);
    for from in 0..setup.n() {
        network.each(from, |_, to, weight, delay| all.push((from, to, delay, weight.to_bits())));
    }
    all.sort_unstable();
    all
}

/// Returns the hash of the spikes and the saved state after 200 ms.
fn ran(project: &Project) -> (neuropil::sim::Digest, neuropil::sim::Snapshot) {
    let device = Device::Cpu { threads: 2 };
    let mut sim = project.model.build(&context(project), &device, &Progress::default()).expect("built");
    sim.advance(2000, &mut Pass::default()).expect("it runs");
    (sim.digest(0), sim.save().expect("saved"))
}

/// A network that is exported and read back has the same connections, units of the weights, spikes and saved state, bit for
/// bit.
#[test]
fn projections_from_exported_files_are_those_of_the_rules() {
    let temp = TempFolder::new("edges");
    let project = of_rules();
    let run = record(&temp.join("run"), &project);
    let files = export(&run, Format::Edges, Some(&temp.join("net.parquet"))).expect("exported");
    let folder = temp.join("net.sonata");
    assert_eq!(export(&run, Format::Sonata, Some(&folder)).expect("exported"), std::slice::from_ref(&folder));
    let names: Vec<_> = files.iter().map(|f| f.file_name().expect("a name").to_string_lossy().into_owned()).collect();
    let expected = ["a_1-b", "a_1-b.2", "b-a_1", "b-b", "a_1-a_1", "a_1-c", "c-c"].map(|n| format!("net.{n}.parquet"));
    assert_eq!(names, expected);

    let parts = ["a_1-b", "a_1-b.2", "b-a_1", "b-b", "a_1-a_1", "a_1-c", "c-c"];
    let sonata: Vec<PathBuf> = parts.iter().map(|part| folder.join(format!("edges.{part}.h5"))).collect();
    for files in [files, sonata] {
        read_back_is_equal(&project, &of_files(&files));
    }
    read_back_is_equal(&project, &of_circuit(&folder, &project));
}

/// Returns the project of an exported circuit, with the external input, which circuits do not hold.
fn of_circuit(folder: &Path, of: &Project) -> Project {
    let (mut project, notes) = project::of_circuit(&folder.join("circuit_config.json")).expect("a circuit");
    assert!(notes.is_empty(), "{notes:?}");
    project.seed = of.seed;
    let (Model::Spiking(params), Model::Spiking(from)) = (&mut project.model, &of.model) else { panic!("networks") };
    params.external_inputs.clone_from(&from.external_inputs);
    params.external_inputs.iter_mut().for_each(|input| input.population = input.population.replace('/', "_"));
    project
}

/// Fails unless two projects have the same connections, units of the weights, spikes and saved state.
fn read_back_is_equal(project: &Project, again: &Project) {
    let (rules, read) = (setup(project), setup(again));
    let [a, b] = [&rules, &read].map(|setup| setup.rules().expect("rules"));
    let exponents = |i: usize| [a, b].map(|network| network.plan.populations[i].exponents);
    for i in 0..3 {
        assert_eq!(exponents(i)[0], exponents(i)[1], "population {i}");
    }
    let hash =
        |setup: &Setup| setup.rules().expect("rules").connections(2, &Progress::default()).expect("connections").hash;
    assert!(connections(&rules) == connections(&read));
    assert_eq!(hash(&rules), hash(&read));
    assert_eq!(rules.neurons.column("ei"), read.neurons.column("ei"));
    let (first, second) = (ran(project), ran(again));
    assert!(first.0.totals.iter().any(|(_, n)| *n > 100), "{:?}", first.0);
    assert_eq!(first.0, second.0);
    assert!(first.1 == second.1, "the saved states differ");
}

/// Synapse counts of a network with one neuron model are whole numbers, in one file.
#[test]
fn a_network_of_synapse_counts_is_one_file_that_a_network_from_files_reads() {
    let temp = TempFolder::new("counts");
    let mut project = Project { model: Model::by_name("spiking").expect("a kind"), seed: 3, ..Project::default() };
    let set = |project: &mut Project, texts: &[&str]| {
        for text in texts {
            let change = path::parse(project.model.params(), text).unwrap_or_else(|why| panic!("{text}: {why}"));
            assert!(project.model.params_mut().set(&change), "{text}");
        }
    };
    set(&mut project, &["network.source=Balanced", "network.n_neurons=300", "network.in_degree=20"]);
    let run = record(&temp.join("run"), &project);
    let files = export(&run, Format::Edges, None).expect("exported");
    assert_eq!(files, [temp.join("run").join("edges.parquet")]);
    let mut again = project.clone();
    set(&mut again, &["network.source=Files", &format!("network.path={}", files[0].display())]);
    let (made, read) = (setup(&project), setup(&again));
    assert_eq!((made.n(), &made.connectivity), (read.n(), &read.connectivity));
    assert_eq!(read.notices, ["edges.parquet: the column \"delay_ms\" is not used; all connections have one delay."]);
    let folder = temp.join("net.sonata");
    export(&run, Format::Sonata, Some(&folder)).expect("exported");
    let (circuit, _) = project::of_circuit(&folder.join("circuit_config.json")).expect("a circuit");
    assert_eq!(setup(&circuit).connectivity, made.connectivity);
    let types = std::fs::read_to_string(folder.join("edge_types.csv")).expect("a table");
    assert!(
        types.ends_with(" NULL NULL 1.7999999523162842\n"),
        "signed counts differ, the delay is that of all: {types}"
    );
}

/// A cancelled export leaves no file, at whichever report it is cancelled.
#[test]
fn an_export_of_connections_is_cancelled_at_each_report() {
    let temp = TempFolder::new("cancelled");
    let run = record(&temp.join("run"), &of_rules());
    for (format, name, reports_of_list) in [(Format::Edges, "net.parquet", 1), (Format::Sonata, "net.sonata", 3)] {
        let exported = |progress: Progress| {
            let (progress, out) = (Arc::new(progress), temp.join(name));
            let files = export_job(&run, format, Some(&out), &ExportSettings::default(), &progress);
            (files, progress.reports())
        };
        let (files, n) = exported(Progress::default());
        for file in files.expect("exported") {
            let remove: fn(PathBuf) -> std::io::Result<()> =
                if file.path.is_dir() { std::fs::remove_dir_all } else { std::fs::remove_file };
            remove(file.path).expect("removed");
        }
        assert!(n >= reports_of_list * PROJECTIONS.len() as u32, "{name}: {n} reports");
        let before = std::fs::read_dir(&temp).expect("a folder").count();
        for report in 1..=n {
            let why = exported(Progress::cancelled_at(report)).0.expect_err("cancelled");
            assert_eq!(why.kind(), std::io::ErrorKind::Interrupted, "{name}, report {report}: {why}");
            assert_eq!(std::fs::read_dir(&temp).expect("a folder").count(), before, "{name}, report {report}");
        }
    }
}

#[test]
fn connections_are_offered_where_there_are_any() {
    let temp = TempFolder::new("offered");
    let why_not = |name: &str, project: &Project| {
        let offered = offered(&record(&temp.join(name), project)).expect("formats");
        offered.into_iter().find(|(format, _)| *format == Format::Edges).expect("listed").1
    };
    let of_kind = |kind: &str| Project { model: Model::by_name(kind).expect("a kind"), ..Project::default() };
    assert_eq!(why_not("rules", &of_rules()), None);
    assert_eq!(why_not("alone", &network("")), Some("The network has no connections"));
    assert_eq!(why_not("nuclei", &of_kind("nuclei")), Some("Simulations of this kind have no connections"));
}

#[test]
fn a_file_is_read_with_the_weight_and_delay_of_each_connection() {
    let temp = TempFolder::new("from-file");
    let file = temp.join("w.csv");
    std::fs::write(&file, "pre,post,w,delay_ms\n0,1,1.5,2\n0,1,-0.5,0.3\n3,0,2,1.04\n").expect("written");
    let of = |weight: &str| {
        let rule = format!(r#"FromFile(path: "{}")"#, file.display());
        network(&format!(r#"(from: "b", to: "a/1", rule: {rule}, weight: "{weight}", delay: "5"),"#))
    };
    let found = |weight: &str| -> Vec<(u32, u32, u32, f64)> {
        let all = connections(&setup(&of(weight)));
        all.into_iter().map(|(from, to, delay, w)| (from, to, delay, f64::from_bits(w))).collect()
    };
    let near = |found: Vec<(u32, u32, u32, f64)>, expected: [(u32, u32, u32, f64); 3]| {
        for (found, expected) in found.iter().zip(expected) {
            assert_eq!((found.0, found.1, found.2), (expected.0, expected.1, expected.2));
            assert!((found.3 - expected.3).abs() < 1e-5, "{found:?}, expected {expected:?}");
        }
        assert_eq!(found.len(), 3);
    };
    near(found("1"), [(90, 1, 3, -0.5), (90, 1, 20, 1.5), (93, 0, 10, 2.0)]);
    near(found("-20"), [(90, 1, 3, 10.0), (90, 1, 20, -30.0), (93, 0, 10, -40.0)]);
    let refused = |text: &str| {
        std::fs::write(&file, text).expect("written");
        let Model::Spiking(params) = of("1").model else { panic!("a spiking network") };
        let params: Box<Params> = params;
        let made = neuropil::kinds::spiking::setup::prepare(&params, &BuildContext::default(), &Progress::default());
        made.err().expect("refused").to_string()
    };
    let said = refused("pre,post,w\n0,90,1.5\n");
    assert!(
        said.starts_with("projections.0: rule.path: ") && said.contains("w.csv:2: column \"post\": index 90"),
        "{said}"
    );
    // Weights from 1 to 1e9 do not fit one receptor; the row of the largest one is named.
    let said = refused("pre,post,w\n0,1,1.5\n1,1,1e9\n2,1,1.5\n3,1,1.5\n");
    assert!(said.contains("w.csv:3: column \"w\": 1000000000: the excitatory input of `a/1` overflows"), "{said}");
}

/// The sums of a receptor hold the counts of a file whatever the number of presynaptic neurons.
#[test]
fn a_large_population_is_read_from_synapse_counts() {
    let temp = TempFolder::new("large");
    let file = temp.join("edges.csv");
    std::fs::write(&file, "pre,post,w\n0,1,5\n19999,1,-3\n").expect("written");
    let rule = format!(r#"FromFile(path: "{}")"#, file.display());
    let mut project = network(&format!(r#"(from: "b", to: "a/1", rule: {rule}, weight: 2),"#));
    project.set("populations.1.size=20000", Path::new(".")).expect("a size");
    let ends: Vec<_> = connections(&setup(&project)).into_iter().map(|c| (c.0, c.1, f64::from_bits(c.3))).collect();
    assert_eq!(ends, [(90, 1, 10.0), (20_089, 1, -6.0)]);
}
