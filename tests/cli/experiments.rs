//! Experiments from the command line.

use crate::program::{json, neuropil, ok};
use neuropil_test_support::temp::TempFolder;
use serde_json::Value as Json;
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

/// Writes a project of the committed network of 200 neurons, of which twelve are driven; `more` are its other fields.
fn project(folder: &Path, duration_ms: u32, more: &str) -> PathBuf {
    let network = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/spiking/net200");
    let text = format!(
        r#"(name: "net", seed: 5, model: Spiking((network: (source: Files, path: {network:?}),
            interventions: [(name: "drive", effect: Poisson, target: "idx < 12", rate_hz: 100.0)])),
            run: (duration_ms: {duration_ms}.0, device: Cpu, threads: 2), {more})"#
    );
    let file = folder.join("net.ron");
    fs::write(&file, text).unwrap();
    file
}

const EXPERIMENT: &str = r#"experiment: (seeds: "1..4", conditions: [
        Values((path: "interventions.drive.rate_hz", values: "50, 200")), SilenceEach((query: "idx < 3 or idx > 195"))],
    measures: [(name: "rate", read: "spikes"), (name: "late", read: "spikes[idx >= 12]", from: 20.0, bin: 10.0, reduce: Highest)])"#;

fn run(words: &[&str], file: &Path, out: &Path) -> Output {
    neuropil().arg("run").arg(file).args(words).arg("--out").arg(out).arg("--allow-outside").output().unwrap()
}

fn resume(folder: &Path) -> Command {
    let mut command = neuropil();
    command.arg("run").arg("--resume").arg(folder).arg("--allow-outside");
    command
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Table of an experiment: value and hash by condition, seed and measure.
fn rows(folder: &Path) -> BTreeMap<(String, u64, String), (String, String)> {
    let text = fs::read_to_string(folder.join("results.csv")).unwrap();
    let row = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        (
            (cells[0].to_owned(), cells[1].parse().unwrap(), cells[2].to_owned()),
            (cells[3].to_owned(), cells[4].to_owned()),
        )
    };
    text.lines().skip(1).map(row).collect()
}

#[test]
fn trials_give_the_numbers_of_single_runs() {
    let temp = TempFolder::new("experiment");
    let (file, out) = (project(&temp, 60, ""), temp.join("out"));
    let vary = ["--vary", "interventions.drive.rate_hz=50,200", "--seeds", "3", "--measure", "n = count spikes"];
    let result = json(&run(&[&vary[..], &["--json"]].concat(), &file, &out));
    assert_eq!(
        (&result["n_finished"], &result["control"], &result["status"]),
        (&9.into(), &"control".into(), &"complete".into())
    );
    let rows = rows(&out);
    assert_eq!(rows.len(), 9);
    for (rate, seed) in [(50, 5), (200, 6), (50, 7)] {
        let (set, seed_word) = (format!("interventions.0.rate_hz={rate}"), seed.to_string());
        let single = json(&run(&["--set", &set, "--seed", &seed_word, "--json"], &file, &temp.join("single")));
        let (n, hash) = &rows[&(format!("rate_hz {rate} Hz"), seed, "n".to_owned())];
        assert_eq!(
            (Some(n.as_str()), single["hash"].as_str()),
            (Some(single["totals"]["spikes"].to_string().as_str()), Some(hash.as_str()))
        );
    }
    let written = fs::read_to_string(out.join("project.ron")).unwrap();
    assert!(written.contains("experiment: ") && written.contains("seeds: \"5..7\""), "{written}");
}

#[test]
fn an_experiment_is_described_checked_exported_and_repeated() {
    let temp = TempFolder::new("experiment");
    let (file, out) = (project(&temp, 40, EXPERIMENT), temp.join("out"));
    let text = ok(&run(&["--experiment", "--check-silent", "3"], &file, &out));
    assert!(text.contains("10 conditions, 40 of 40 trials"), "{text}");
    assert!(text.contains("rate (Hz)") && text.contains("paired t"), "{text}");
    let info = json(&neuropil().arg("info").arg(&out).arg("--json").output().unwrap());
    let line = |condition: &str| {
        let all = info["statistics"].as_array().unwrap();
        all.iter().find(|line| line["condition"] == condition && line["measure"] == "rate").unwrap().clone()
    };
    let strong: Json = line("rate_hz 200 Hz");
    assert!(strong["difference"].as_f64().unwrap() > 0.0 && strong["p"].as_f64().unwrap() < 1.0, "{strong}");
    assert_eq!((&strong["n"], &strong["test"]), (&4.into(), &"paired t".into()));
    assert!(json(&neuropil().arg("check").arg(&out).arg("--json").output().unwrap())["intact"].as_bool().unwrap());
    ok(&neuropil().arg("export").arg(&out).args(["--format", "parquet"]).output().unwrap());
    assert!(out.join("statistics.parquet").is_file());
    let csv = temp.join("statistics.csv");
    ok(&neuropil().arg("export").arg(&out).args(["--format", "csv"]).arg("--out").arg(&csv).output().unwrap());
    let csv = fs::read_to_string(csv).unwrap();
    assert!(csv.starts_with("measure,unit,condition,trials,n,mean,sd,"), "{csv}");
    assert_eq!(csv.lines().count(), 1 + 2 * info["conditions"].as_array().unwrap().len());
    for (condition, seed) in [("rate_hz 50 Hz", "2"), ("silence #1", "4"), ("control", "1")] {
        let words = ["--condition", condition, "--seed", seed, "--device", "cpu", "--json", "--allow-outside"];
        let replay = json(&neuropil().arg("replay").arg(&out).args(words).output().unwrap());
        assert_eq!(replay["identical"], true, "{replay}");
    }
    // A value that was changed by hand is found by the repetition, and by the check of the Parquet file.
    let table = fs::read_to_string(out.join("results.csv")).unwrap();
    let row = table.lines().find(|line| line.starts_with("control,1,rate,")).unwrap();
    let value = row.split(',').nth(3).unwrap();
    fs::write(out.join("results.csv"), table.replacen(&format!("rate,{value}"), "rate,1.5", 1)).unwrap();
    let words = ["--condition", "control", "--seed", "1", "--device", "cpu", "--allow-outside"];
    assert_eq!(neuropil().arg("replay").arg(&out).args(words).output().unwrap().status.code(), Some(1));
    let check = neuropil().arg("check").arg(&out).output().unwrap();
    assert_eq!(check.status.code(), Some(1));
    fs::write(out.join("results.csv"), table.replacen(&format!("rate,{value}"), "rate,1.5.5", 1)).unwrap();
    let info = neuropil().arg("info").arg(&out).output().unwrap();
    assert!(said(&info).contains("results.csv line 2: value `1.5.5` is not a number"), "{}", said(&info));
    assert_eq!(info.status.code(), Some(1));
}

#[test]
fn parts_of_a_job_array_are_merged() {
    let temp = TempFolder::new("experiment");
    let (file, whole, parts) = (project(&temp, 40, EXPERIMENT), temp.join("whole"), temp.join("parts"));
    ok(&run(&["--experiment"], &file, &whole));
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/cluster/experiment.sbatch");
    let tasks = (1..=3).map(|part: u32| {
        let mut bash = Command::new("bash");
        bash.arg(&script).arg(&file).arg(&parts).arg("--allow-outside").env("NEUROPIL", env!("CARGO_BIN_EXE_neuropil"));
        bash.env("SLURM_ARRAY_TASK_ID", part.to_string()).env("SLURM_ARRAY_TASK_COUNT", "3");
        bash.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    });
    let tasks: Vec<_> = tasks.collect();
    for mut task in tasks {
        assert!(task.wait().unwrap().success());
    }
    let parts: Vec<PathBuf> = (1..=3).map(|part| parts.join(format!("part-{part}"))).collect();
    let merged = temp.join("merged");
    let lacking = neuropil().arg("merge").args(&parts[..2]).arg("--out").arg(temp.join("lacking")).output().unwrap();
    assert_eq!(lacking.status.code(), Some(2));
    assert!(said(&lacking).contains("missing: parts 3/3"), "{}", said(&lacking));
    ok(&neuropil().arg("merge").args(&parts).arg("--out").arg(&merged).output().unwrap());
    for name in ["results.csv", "results.parquet", "conditions.csv"] {
        assert!(fs::read(merged.join(name)).unwrap() == fs::read(whole.join(name)).unwrap(), "{name}");
    }
}

#[test]
fn an_experiment_continues_after_its_process_was_killed() {
    let temp = TempFolder::new("experiment");
    let long = EXPERIMENT.replace("1..4", "1..12");
    let (file, whole, out) = (project(&temp, 60, &long), temp.join("whole"), temp.join("killed"));
    ok(&run(&["--experiment", "--run-silent"], &file, &whole));
    let lines = || fs::read_to_string(out.join("results.csv")).map_or(0, |text| text.lines().count());
    let mut command = neuropil();
    command.arg("run").arg(&file).args(["--experiment", "--run-silent", "--allow-outside"]).arg("--out").arg(&out);
    let mut n_kills = 0;
    loop {
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let before = lines();
        let ended = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break Some(status);
            }
            if n_kills < 20 && lines() >= before + 8 {
                break None;
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
        };
        match ended {
            Some(status) => {
                let output = child.wait_with_output().unwrap();
                assert!(status.success(), "after {n_kills} kills: {}", said(&output));
                break;
            }
            None => child.kill().unwrap(),
        }
        child.wait().unwrap();
        n_kills += 1;
        command = resume(&out);
    }
    assert!(n_kills >= 5, "only {n_kills} kills");
    for name in ["results.csv", "results.parquet"] {
        assert!(
            fs::read(out.join(name)).unwrap() == fs::read(whole.join(name)).unwrap(),
            "{name} after {n_kills} kills"
        );
    }
    // A complete experiment has nothing to do.
    assert_eq!(json(&resume(&out).arg("--json").output().unwrap())["status"], "complete");
}

#[test]
fn mistakes_in_arguments_are_named() {
    let temp = TempFolder::new("experiment");
    let (file, out) = (project(&temp, 20, ""), temp.join("out"));
    for (words, why) in [
        (&["--experiment"][..], "the project has no experiment; --vary PATH=VALUES"),
        (&["--vary", "lif.tau_m"], "there is no `=`"),
        (&["--vary", "lif.tau_n=1,2"], "did you mean `lif.tau_m`?"),
        (&["--vary", "lif.tau_m=10,20", "--measure", "median spikes"], "`median` is not a reduction"),
        (&["--vary", "lif.tau_m=10,20", "--measure", "mean spikes 0..900"], "after the trial"),
        (&["--silence-each", "clas = 3"], "there is no column `clas`"),
        (&["--seeds", "0"], "at least one seed"),
        (&["--seeds", "2", "--shard", "3/2"], "is not a part"),
        (&["--seeds", "2", "--trials", "3"], "cannot be used with"),
        (&["--seeds", "2", "--duration", "0"], "trials need an end"),
    ] {
        let output = run(words, &file, &out);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {}", said(&output));
        assert!(said(&output).contains(why), "{words:?}: {}", said(&output));
    }
    assert!(!out.join("experiment.ron").exists());
    let missing = neuropil().arg("run").arg("--resume").arg(&out).output().unwrap();
    assert_eq!(missing.status.code(), Some(2));
}
