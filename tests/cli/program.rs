//! The program from outside: what it prints, what it writes, how it exits.

use neuropil::{
    engine::{Command as Do, Engine, Event},
    project::{self, RunFolder, RunStart, RunWriter, Status},
    sim::{Device, Progress},
};
use neuropil_test_support::{Need, skip, temp::TempFolder};
use serde_json::Value as Json;
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    time::Duration,
};

/// A small network that fires, as command line words.
const SMALL: &[&str] = &["--set", "network.n_neurons=400", "--set", "network.in_degree=40", "--device", "cpu"];

pub fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("projects").join(name)
}

pub fn neuropil() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_neuropil"));
    command.env_remove("DISPLAY").env_remove("WAYLAND_DISPLAY").env_remove("RUST_LOG").env_remove("NEUROPIL_LOG");
    command
}

pub fn run(words: &[&str]) -> Output {
    neuropil().args(words).output().unwrap()
}

/// `run balanced.ron` with a small network.
fn run_small(out: &Path, words: &[&str]) -> Output {
    let output =
        neuropil().arg("run").arg(example("balanced.ron")).args(SMALL).arg("--out").arg(out).args(words).output();
    output.unwrap()
}

pub fn ok(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

pub fn json(output: &Output) -> Json {
    serde_json::from_str(&ok(output)).unwrap()
}

#[test]
fn exit_codes_say_what_kind_of_trouble() {
    let temp = TempFolder::new("codes");
    let (balanced, shiu) = (example("balanced.ron"), example("shiu.ron"));
    let (balanced, shiu) = (balanced.to_str().unwrap(), shiu.to_str().unwrap());
    let out = temp.join("out");
    let out = out.to_str().unwrap();
    let broken = temp.join("broken.ron");
    fs::write(&broken, "(\n seed: 1\n name: 2)").unwrap();
    let broken = broken.to_str().unwrap();
    let here = temp.to_str().unwrap();
    let cases: &[(&[&str], i32, &str)] = &[
        (&["run", "nothere.ron"], 2, "nothere.ron"),
        (&["run", broken], 2, "broken.ron:3:"),
        (&["validate", broken], 2, "broken.ron:3:"),
        (&["validate", balanced], 0, ""),
        (&["run", balanced, "--set", "lif.tau_n=3", "--out", out], 2, "did you mean `lif.tau_m`?"),
        (&["run", balanced, "--set", "lif.tau_m=1e9", "--out", out], 2, "out of range"),
        (&["run", balanced, "--set", "lif.tau_m", "--out", out], 2, "no `=`"),
        (&["run", balanced, "--set", "network.source=Elsewhere", "--out", out], 2, "none of"),
        (&["run", balanced, "--duration", "long", "--out", out], 2, "not a number"),
        (&["run", balanced, "--trials", "0"], 2, "trials"),
        (&["run", balanced, "--trials", "2", "--duration", "0", "--out", out], 2, "--duration"),
        (&["run", balanced, "--nonsense"], 2, "--nonsense"),
        (&["run", shiu, "--set", "network.path=/not/here", "--out", out], 2, "/not/here"),
        (&["run", shiu, "--out", out], 2, "network.path"),
        (&["run", balanced, "--set", "interventions.0.target=root_id = 12", "--device", "cpu", "--out", out], 2, "12"),
        (&["run", balanced, "--device", "cpu", "--out", here], 2, "not empty and not a run"),
        (&["replay", here], 2, "not a run"),
        (&["export", here, "--format", "csv"], 2, "not a run"),
        (&["info", here], 2, "neither"),
        (&["params", "spikin"], 2, "spiking"),
        (&["bench", "spikin"], 2, "spiking"),
        (&["bench", "window", "--examples", "--only", "kuramto"], 2, "kuramoto"),
        (&["bench", "window", "--project", "no.ron"], 2, "no such project"),
    ];
    for (words, code, said) in cases {
        let output = run(words);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(*code), "{words:?}: {stderr}");
        assert!(stderr.contains(said), "{words:?}: {stderr}");
        assert!(!stderr.contains("panicked"), "{words:?}: {stderr}");
    }
    assert!(!Path::new(out).exists(), "nothing is left of a run that did not begin");
}

#[test]
fn without_a_gpu_cuda_is_code_4() {
    if neuropil::gpu::Gpu::open(0).is_ok() {
        skip(Need::Tool, "there is a GPU here");
        return;
    }
    let temp = TempFolder::new("cuda");
    let output = run_small(&temp.join("out"), &["--device", "cuda"]);
    assert_eq!(output.status.code(), Some(2), "--device was given twice");
    let balanced = example("balanced.ron");
    let output = run(&["run", balanced.to_str().unwrap(), "--device", "cuda"]);
    assert_eq!(output.status.code(), Some(4));
    assert!(!output.stderr.is_empty());
}

#[test]
fn a_run_says_and_writes_the_same_thing() {
    let temp = TempFolder::new("run");
    let said = json(&run_small(&temp.join("a"), &["--duration", "300ms", "--json"]));
    let run = RunFolder::open(&temp.join("a")).unwrap();
    assert_eq!(said["steps"], 3000);
    assert_eq!(said["n_neurons"], 400);
    assert_eq!(said["totals"]["spikes"], run.spikes().unwrap().len());
    assert_eq!(said["hash"], run.manifest.digest.hash);
    assert!(said["wall_s"].as_f64().unwrap() > 0.0 && said["realtime_factor"].as_f64().unwrap() > 0.0);
    assert_eq!(run.project().unwrap().run.duration_ms, 300.0);
    let spikes = run.spikes().unwrap();
    assert!(!spikes.is_empty() && spikes.is_sorted(), "ordered by step, then neuron");
    let timings = said["timings"].as_array().unwrap();
    let shares: f64 = timings.iter().map(|row| row["share"].as_f64().unwrap()).sum();
    assert!((shares - 1.0).abs() < 1e-9 && timings.iter().any(|row| row["name"] == "deliver"), "{timings:?}");
    let deliver = timings.iter().find(|row| row["name"] == "deliver").unwrap();
    assert!(
        deliver["p95_us"].as_f64().unwrap() <= deliver["max_us"].as_f64().unwrap() && deliver["registers"].is_null()
    );
}

#[test]
fn memory_is_told_before_anything_is_built() {
    let balanced = example("balanced.ron");
    let balanced = balanced.to_str().unwrap();
    let said = json(&run(&["info", balanced, "--json"]));
    let told: u64 = said["predicted_bytes"]["cpu"].as_object().unwrap().values().map(|n| n.as_u64().unwrap()).sum();
    assert!(told > 1_000_000, "{said}");
    assert!(ok(&run(&["info", balanced])).contains("needs about"));
    assert!(ok(&run(&["validate", balanced])).contains("on the CPU: connectivity"));
    let shiu = example("shiu.ron");
    assert!(ok(&run(&["info", shiu.to_str().unwrap()])).contains("known after its files are read"));
}

#[test]
fn threads_batches_and_the_window_give_the_same_spikes() {
    let temp = TempFolder::new("same");
    let mut hashes = vec![];
    for words in
        [&["--threads", "1"][..], &["--threads", "2"], &["--threads", "2", "--batch", "7"], &["--batch", "5000"]]
    {
        let out = temp.join("a");
        let words = [words, &["--duration", "200ms", "--json"]].concat();
        hashes.push(json(&run_small(&out, &words))["hash"].as_str().unwrap().to_owned());
    }
    // What the window does: the engine, played and paused by hand, with something on screen.
    let project = RunFolder::open(&temp.join("a")).unwrap().project().unwrap();
    let scene = project.build_context(Path::new("."));
    let sim = project.model.build(&scene, &Device::Cpu { threads: 2 }, &Progress::default()).unwrap();
    let engine = Engine::spawn(|| {}).unwrap();
    let taps = project.taps().0;
    let start = RunStart {
        project: &project,
        base: Path::new("."),
        taps: taps.clone(),
        sets: sim.sets(),
        device: String::new(),
        threads: 2,
        command: String::new(),
        trial: None,
        trials: 0,
    };
    let writer = RunWriter::create(&temp.join("window"), start).unwrap();
    engine.send(Do::Load(sim));
    engine.send(Do::Subscribe(taps.clone()));
    engine.send(Do::Record(taps, Box::new(writer)));
    engine.send(Do::Speed(Some(0.5)));
    engine.send(Do::Play);
    std::thread::sleep(Duration::from_millis(40));
    engine.send(Do::Pause);
    engine.send(Do::Speed(None));
    engine.send(Do::Step(1));
    engine.send(Do::RunTo(2000));
    let paused_at = |e: &Event| if let Event::Running(false, clock) = e { clock.step } else { 0 };
    while paused_at(&engine.events.recv_timeout(Duration::from_secs(30)).unwrap()) < 2000 {}
    drop(engine);
    let window = RunFolder::open(&temp.join("window")).unwrap();
    assert_eq!(window.manifest.last_step, 2000);
    hashes.push(window.manifest.digest.hash.clone());
    assert!(hashes.windows(2).all(|h| h[0] == h[1]), "{hashes:?}");
}

#[test]
fn trials_share_the_network_and_sum_up() {
    let temp = TempFolder::new("trials");
    let words = ["--trials", "5", "--seed", "11", "--duration", "200ms", "--json"];
    let said = json(&run_small(&temp.join("t"), &words));
    assert_eq!(said["trials"].as_array().unwrap().len(), 5);
    let mut counts = BTreeMap::<u32, [u32; 5]>::new();
    let trials = RunFolder::open(&temp.join("t")).unwrap().trials().unwrap();
    for (k, trial) in trials.iter().enumerate() {
        assert_eq!((trial.manifest.seed, trial.manifest.setup_seed), (11 + k as u64, 11));
        assert_eq!(said["trials"][k]["seed"], 11 + k);
        assert_eq!(said["trials"][k]["spikes"], trial.spikes().unwrap().len());
        assert_eq!(said["trials"][k]["hash"], trial.manifest.digest.hash);
        trial.spikes().unwrap().iter().for_each(|s| counts.entry(s.lane).or_default()[k] += 1);
    }
    assert_ne!(said["trials"][0]["hash"], said["trials"][1]["hash"]);
    let series = RunFolder::open(&temp.join("t")).unwrap();
    assert_eq!(series.manifest.execution, trials[0].manifest.execution, "by what it was computed");
    let rates = fs::read_to_string(temp.join("t").join("rates.csv")).unwrap();
    let mut lines = rates.lines();
    assert_eq!(lines.next(), Some("idx,rate_hz,std_hz"));
    for ((idx, n), line) in counts.iter().zip(lines) {
        let values: Vec<f64> = line.split(',').map(|v| v.parse().unwrap()).collect();
        let hz: Vec<f64> = n.iter().map(|n| f64::from(*n) / 0.2).collect();
        let mean = hz.iter().sum::<f64>() / 5.0;
        let std = (hz.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 5.0).sqrt();
        assert_eq!(values[0], f64::from(*idx));
        assert!((values[1] - mean).abs() < 1e-9 && (values[2] - std).abs() < 1e-9, "{line}: {mean} {std}");
    }
    assert_eq!(rates.lines().count(), counts.len() + 1);
    let alone = json(&run_small(&temp.join("one"), &["--seed", "11", "--duration", "200ms", "--json"]));
    assert_eq!(alone["hash"], said["trials"][0]["hash"], "trial 0 is the plain run");
    assert!(ok(&run(&["replay", temp.join("t").to_str().unwrap()])).contains("trial 4: identical"));
    let words = ["--set", "run.trials=5", "--seed", "11", "--duration", "200ms", "--json"];
    assert_eq!(json(&run_small(&temp.join("set"), &words))["hash"], said["hash"], "the setting has the same effect");
    let project = |folder: &str| fs::read_to_string(temp.join(folder).join("project.ron")).unwrap();
    assert!(project("t").contains("trials: 5") && !project("t/trials/0004").contains("trials:"), "a trial is one run");
    let parquet = temp.join("t.parquet");
    ok(&run(&["export", temp.join("t").to_str().unwrap(), "--format", "parquet", "--out", parquet.to_str().unwrap()]));
    assert_eq!(&fs::read(parquet).unwrap()[..4], b"PAR1");
}

#[test]
fn replay_export_and_info_work_from_the_folder_alone() {
    let temp = TempFolder::new("folder");
    let first = temp.join("first");
    ok(&run_small(&first, &["--duration", "100ms"]));
    let folder = temp.join("moved");
    fs::rename(&first, &folder).unwrap();
    let place = folder.to_str().unwrap();
    let replayed = json(&run(&["replay", place, "--json"]));
    assert_eq!(replayed["identical"], true);
    let n = RunFolder::open(&folder).unwrap().spikes().unwrap().len();
    assert_eq!(replayed["runs"][0]["compared"], n);
    for (format, head) in [("csv", &b"t_s,step,idx"[..]), ("npz", b"PK"), ("parquet", b"PAR1"), ("png", b"\x89PNG")] {
        let said = ok(&run(&["export", place, "--format", format]));
        let file = said.lines().next().unwrap();
        assert!(fs::read(file).unwrap().starts_with(head), "{format}");
    }
    let csv = fs::read_to_string(folder.join("spikes.csv")).unwrap();
    assert_eq!(csv.lines().count(), n + 1);
    assert!(folder.join("spikes.rate.csv").exists(), "the rate is exported too");
    assert_eq!(json(&run(&["info", place, "--json"]))["kind"], "spiking");
    let mut bytes = fs::read(folder.join("spikes.u32")).unwrap();
    bytes[4] ^= 1;
    fs::write(folder.join("spikes.u32"), bytes).unwrap();
    let output = run(&["replay", place]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stdout).contains("different: spikes: event 0"));
}

#[test]
fn an_interrupt_closes_the_run() {
    let temp = TempFolder::new("interrupt");
    for signal in ["-INT", "-TERM"] {
        let out = temp.join("run");
        let mut command = neuropil();
        command.arg("run").arg(example("balanced.ron")).args(SMALL).args(["--duration", "0", "--out"]).arg(&out);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let recorded = |out: &Path| fs::metadata(out.join("spikes.u32")).map_or(0, |m| m.len());
        for _ in 0..200 {
            std::thread::sleep(Duration::from_millis(25));
            if recorded(&out) > 0 {
                break;
            }
        }
        let sent = Command::new("kill").args([signal, &child.id().to_string()]).status();
        if !sent.is_ok_and(|s| s.success()) {
            child.kill().unwrap();
            child.wait().unwrap();
            skip(Need::Tool, "no `kill` to interrupt with");
            return;
        }
        assert_eq!(child.wait().unwrap().code(), Some(3), "{signal}");
        let run = RunFolder::open(&out).unwrap();
        assert!(matches!(run.manifest.status, Status::Interrupted { step } if step > 0), "{:?}", run.manifest.status);
        assert!(!run.manifest.digest.hash.is_empty());
        fs::remove_dir_all(&out).unwrap();
    }
}

/// A series that ends before its time, by whatever cause, is not left as if it still ran.
#[test]
fn interrupted_trials_close_the_series() {
    let temp = TempFolder::new("series");
    let out = temp.join("run");
    let mut command = neuropil();
    command.arg("run").arg(example("balanced.ron")).args(SMALL).args(["--duration", "1000s", "--trials", "3", "--out"]);
    let mut child = command.arg(&out).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let first = out.join("trials").join("0000").join("spikes.u32");
    for _ in 0..200 {
        std::thread::sleep(Duration::from_millis(25));
        if fs::metadata(&first).is_ok_and(|m| m.len() > 0) {
            break;
        }
    }
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    if !sent.is_ok_and(|s| s.success()) {
        child.kill().unwrap();
        child.wait().unwrap();
        skip(Need::Tool, "no `kill` to interrupt with");
        return;
    }
    assert_eq!(child.wait().unwrap().code(), Some(3));
    let manifest = RunFolder::open(&out).unwrap().manifest;
    assert!(matches!(&manifest.status, Status::Failed(why) if why.contains("of 3 trials")), "{:?}", manifest.status);
    assert!(!manifest.stopped.is_empty());
}

#[test]
fn without_a_display_the_project_runs_anyway() {
    let temp = TempFolder::new("display");
    let path = temp.join("small.ron");
    let mut small = project::open(&example("balanced.ron")).unwrap().0;
    for set in ["network.n_neurons=400", "network.in_degree=40", "run.duration_ms=50", "run.device=Cpu"] {
        small.set(set, Path::new(".")).unwrap();
    }
    project::save(&small, &path).unwrap();
    let output = neuropil().current_dir(&temp).arg("small.ron").output().unwrap();
    ok(&output);
    assert!(String::from_utf8_lossy(&output.stderr).contains("no display"));
    assert!(temp.join("runs").join("0001-balanced-network").join("run.ron").exists());
}

#[test]
fn listings_are_complete() {
    let listed = json(&run(&["params", "spiking", "--json"]));
    let all = listed["parameters"].as_array().unwrap();
    let tau = all.iter().find(|p| p["path"] == "lif.tau_m").unwrap();
    assert_eq!((tau["unit"].as_str(), tau["default"].as_f64()), (Some("ms"), Some(20.0)));
    assert!(all.iter().all(|p| !p["doc"].as_str().unwrap().is_empty()));
    assert!(ok(&run(&["completions", "bash"])).contains("neuropil"));
    assert!(ok(&run(&["--help"])).contains("Exit codes"));
    let pages = TempFolder::new("man");
    ok(&run(&["man", pages.to_str().unwrap()]));
    for (page, option) in [("neuropil.1", "safe\\-mode"), ("neuropil-run.1", "allow\\-outside")] {
        let text = std::fs::read_to_string(pages.join(page)).unwrap();
        assert!(text.contains(option), "{page}: {text}");
    }
    let missing = run(&["man", "/nowhere/at/all"]);
    let said = String::from_utf8_lossy(&missing.stderr);
    assert!(missing.status.code() == Some(1) && said.contains("/nowhere/at/all"), "{said}");
    let dry = ok(&neuropil().arg("run").arg(example("balanced.ron")).args(SMALL).arg("--dry-run").output().unwrap());
    assert!(dry.contains("n_neurons: 400,") && dry.contains("// 400 neurons") && dry.contains("MB"), "{dry}");
}

#[test]
fn the_window_is_measured_beside_a_run_without_it() {
    let words =
        ["bench", "window", "--examples", "--only", "kuramoto", "--duration", "30ms", "--device", "cpu", "--json"];
    let rows = json(&run(&words));
    let row = &rows[0];
    assert_eq!((&row["project"], &row["kind"]), (&Json::from("kuramoto"), &Json::from("nuclei")));
    let is_measured = |of: &str| row[of].as_f64().is_some_and(|rate| rate > 0.0);
    assert!(is_measured("headless_steps_per_s") && is_measured("window_steps_per_s"), "{row}");
    assert!(row["subscribed"].as_array().is_some_and(|probes| probes.contains(&"order".into())), "{row}");
}

#[test]
fn a_project_is_measured_with_its_populations() {
    let small = ["--set", "populations.0.size=80", "--set", "populations.1.size=20"];
    let project = example("cuba.ron");
    let words = ["--project", project.to_str().unwrap(), "--device", "cpu", "--duration", "100ms", "--json"];
    let rows = json(&run(&[&["bench", "project", "--repeats", "2"], &words[..], &small[..]].concat()));
    let row = &rows["cases"][0];
    assert_eq!((&row["steps"], &row["populations"][0]["name"]), (&Json::from(1000), &Json::from("E")));
    assert_eq!(row["populations"][1]["neurons"], 20);
    let rates = row["populations"].as_array().unwrap().iter().map(|p| p["rate_hz"].as_f64().unwrap());
    let spikes = row["totals"][0][1].as_f64().unwrap();
    assert!((rates.zip([80.0, 20.0]).map(|(hz, n)| hz * n * 0.1).sum::<f64>() - spikes).abs() < 1e-6, "{row}");
    assert!(row["realtime_factor"].as_f64().unwrap() > 0.0 && row["energy_j"].is_null(), "{row}");
    let refused = run(&["bench", "project", "--project", "no.ron"]);
    assert_eq!(refused.status.code(), Some(2), "{}", String::from_utf8_lossy(&refused.stderr));
}

#[test]
fn populations_are_measured_and_replayed() {
    let rows = json(&run(&["bench", "nuclei", "--device", "cpu", "--threads", "1", "--only", "default-128", "--json"]));
    let row = &rows["cases"][0];
    assert_eq!(row["name"], "default-128");
    assert!(row["steps_per_s"].as_f64().unwrap() > 1.0 && row["timings"].as_array().unwrap().len() >= 6, "{row}");
    let output = run(&["bench", "nuclei", "--device", "cpu", "--only", "nothing"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("coupling-fast-4096"), "the cases are listed");

    let temp = TempFolder::new("nuclei");
    let (project, out) = (example("nuclei.ron"), temp.join("out"));
    let words = ["--device", "cpu", "--threads", "2", "--duration", "40generations", "--json", "--out"];
    let result = json(&neuropil().arg("run").arg(project).args(words).arg(&out).output().unwrap());
    assert_eq!((&result["steps"], &result["n_nuclei"]), (&Json::from(40), &Json::from(1024)));
    let lineage = std::fs::read_to_string(out.join("lineage.jsonl")).unwrap();
    let founders = lineage.lines().filter(|line| line.contains("\"parents\":[]")).count();
    assert_eq!(founders, 128, "every founder, once");
    let deaths = lineage.lines().filter(|line| line.contains("\"gone\":")).count();
    ok(&run(&["export", out.to_str().unwrap(), "--format", "csv"]));
    let table = std::fs::read_to_string(out.join("lineage.csv")).unwrap();
    assert_eq!(table.lines().count() - 1, lineage.lines().count() - deaths, "a row per individual");
    let ended = |line: &&str| ["died", "split", "merged"].iter().any(|end| line.contains(end));
    assert_eq!(table.lines().filter(ended).count(), deaths);
    let again = neuropil().arg("replay").arg(&out).args(["--device", "cpu", "--threads", "1"]).output().unwrap();
    assert!(ok(&again).contains("identical"));
}

#[test]
fn projects_can_be_compared() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("projects");
    let diff = |a: &str, b: &str| {
        let run = std::process::Command::new(env!("CARGO_BIN_EXE_neuropil"))
            .args(["diff"])
            .args([root.join(a), root.join(b)])
            .output()
            .expect("neuropil");
        (run.status.code(), String::from_utf8_lossy(&run.stdout).into_owned())
    };
    assert_eq!(diff("fly.ron", "fly.ron"), (Some(0), String::new()));
    let (code, said) = diff("balanced.ron", "shiu.ron");
    assert_eq!(code, Some(1));
    assert!(said.lines().any(|l| l.starts_with("name: Balanced network → ")), "{said}");
    assert!(said.contains("network.source: Balanced → "), "{said}");
    assert!(said.lines().any(|l| l.starts_with("− interventions “background”: ")), "{said}");
}
