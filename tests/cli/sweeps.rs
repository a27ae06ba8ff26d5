//! Runs of a sweep from the command line.

use crate::program::{neuropil, ok};
use neuropil::{params::path, project::RunFolder};
use neuropil_test_support::temp::TempFolder;

#[test]
fn a_run_carries_its_sweep_and_sets_arguments_of_distributions() {
    let temp = TempFolder::new("sweep");
    let (file, out) = (temp.join("small.ron"), temp.join("out"));
    let text = r#"(model: Spiking((network: (source: Balanced, n_neurons: 100, in_degree: 10, inhibitory_count: "normal(30, 2)"))),
        run: (duration_ms: 5.0, device: Cpu, threads: 1))"#;
    std::fs::write(&file, text).unwrap();
    let sets = ["--set", "network.inhibitory_count.mean=12", "--set", "network.inhibitory_count.sd=1"];
    ok(&neuropil().arg("run").args(["--sweep", "g@1"]).args(sets).arg("--out").arg(&out).arg(&file).output().unwrap());
    let run = RunFolder::open(&out).unwrap();
    let project = run.project().unwrap();
    let (id, spec) = path::find(project.model.params(), "network.inhibitory_count").unwrap();
    assert_eq!(path::show(spec, &project.model.params().get(id)), "normal(12, 1)");
    assert_eq!(run.manifest.sweep, "g@1");
    let info = neuropil().arg("info").arg(&out).arg("--json").output().unwrap();
    let info: serde_json::Value = serde_json::from_slice(&info.stdout).unwrap();
    assert_eq!(info["sweep"], "g@1");
}
