//! Plastic networks from the command line: recorded readings of weights, and weights shuffled in a condition of an experiment.

use crate::program::{example, json, neuropil, ok};
use neuropil_test_support::temp::TempFolder;
use std::fs;

const NETWORK: &str = r#"(version: 2, name: "pair", seed: 3, model: Spiking((
    network: (source: Rules),
    rules: (weight_interval_ms: 10),
    populations: [(name: "a", size: 40, model: IafPscExp(), v_start: "uniform(-65, -50)"), (name: "b", size: 30)],
    projections: [
        (from: "a", to: "b", rule: Bernoulli(p: 0.3), weight: 90, delay: 1, plasticity: PairStdp(a_plus: 0.05, a_minus: 0.05)),
        (from: "b", to: "b", rule: Bernoulli(p: 0.3), weight: 50, delay: 1, plasticity: RewardStdp(third_factor: 0.5, interval: 2.3)),
    ],
    external_inputs: [
        (population: "a", source: Poisson(rate: 9000, weight: 90)),
        (population: "b", source: Poisson(rate: 8000, weight: 90)),
    ],
    recorded_synapses: [(), (from: "50")],
    )),
    run: (duration_ms: 100.0, device: Cpu, threads: 2),
    record: ["spikes", "weight_matrix", "weight_matrix:projection=a → b,by=ei", "synapse_weight", "presynaptic_trace",
        "postsynaptic_trace", "eligibility"],
)"#;

#[test]
fn matrices_and_single_synapses_are_recorded_repeated_and_exported() {
    let temp = TempFolder::new("readings");
    let (file, out) = (temp.join("pair.ron"), temp.join("out"));
    fs::write(&file, NETWORK).expect("written");
    ok(&neuropil().arg("run").arg(&file).arg("--out").arg(&out).output().expect("it starts"));
    let info = json(&neuropil().arg("info").arg(&out).arg("--json").output().expect("it starts"));
    let recorded = info.to_string();
    for name in ["weight_matrix", "synapse_weight", "presynaptic_trace", "postsynaptic_trace", "eligibility"] {
        assert!(recorded.contains(name), "{name} in {recorded}");
    }
    let replay = json(
        &neuropil()
            .arg("replay")
            .arg(&out)
            .args(["--threads", "1", "--device", "cpu", "--json"])
            .output()
            .expect("it starts"),
    );
    assert_eq!(replay["identical"], true, "{replay}");
    ok(&neuropil().arg("export").arg(&out).args(["--format", "csv"]).output().expect("it starts"));
    let table = |probe: &str| fs::read_to_string(out.join(format!("spikes.{probe}.csv"))).expect("a table");
    let weights = table("synapse_weight");
    assert_eq!(weights.lines().count(), 11, "ten samples: {weights}");
    assert!(weights.lines().next().expect("a head").contains("#0 → #") && weights.contains("#50 → #"), "{weights}");
    assert!(table("weight_matrix").lines().count() > 1);
}

#[test]
fn an_experiment_measures_the_accuracy_with_shuffled_weights() {
    let temp = TempFolder::new("shuffled");
    let out = temp.join("out");
    let mut command = neuropil();
    command.arg("run").arg(example("stdp-digits.ron")).args([
        "--experiment",
        "--seeds",
        "1",
        "--json",
        "--device",
        "cpu",
    ]);
    for text in [
        "external_inputs.0.source.training=20",
        "external_inputs.0.source.labelling=10",
        "external_inputs.0.source.held_out=10",
        "interventions.0.start=4000",
        "run.duration_ms=8000",
    ] {
        command.args(["--set", text]);
    }
    let result = json(&command.arg("--out").arg(&out).output().expect("it starts"));
    assert_eq!((&result["n_finished"], &result["control"]), (&3.into(), &"trained".into()), "{result}");
    let table = fs::read_to_string(out.join("results.csv")).expect("results");
    let cells = |condition: &str| -> Vec<String> {
        let row = table.lines().find(|row| row.starts_with(&format!("{condition},"))).expect(condition);
        row.split(',').map(str::to_owned).collect()
    };
    let [trained, shuffled, fixed] = ["trained", "shuffled weights", "no learning"].map(cells);
    for row in [&trained, &shuffled, &fixed] {
        assert!((0.0..=1.0).contains(&row[3].parse::<f64>().expect("an accuracy")), "{table}");
    }
    assert!(trained[4] != shuffled[4] && trained[4] != fixed[4], "other spikes: {table}");
}
