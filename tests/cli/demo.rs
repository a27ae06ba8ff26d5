//! The demonstration kind from outside: every shape of data is recorded, exported, replayed and played back while the set of
//! experts grows.

use crate::{
    checkpoints::{kill_after_a_checkpoint, same_files},
    program::{neuropil, ok, run},
};
use neuropil::{
    kinds::Model,
    project::{RunFolder, Status, playback::PlaybackReader},
    sim::Reading,
};
use neuropil_test_support::temp::TempFolder;
use std::{collections::BTreeSet, fs, path::Path};

/// A project that records everything, and its file.
fn experts(temp: &TempFolder) -> std::path::PathBuf {
    let path = temp.join("experts.ron");
    let text = r#"(
        name: "Experts", seed: 5,
        model: Demo((experts: (weights_mib: 1), growth: (split_every: 500), measure: (text_every: 400))),
        record: ["loss", "count", "load", "age", "load_of[0, 1]", "route", "routed", "predicted:expert=all", "predicted",
            "weights", "stream", "owners", "similarity", "axis_1", "axis_2", "axis_3", "lineage", "text", "log"],
    )"#;
    fs::write(&path, text).unwrap();
    path
}

fn record(temp: &TempFolder, out: &Path, words: &[&str]) {
    let common = ["--device", "cpu", "--threads", "1", "--duration", "3000tokens", "--out"];
    ok(&neuropil().arg("run").arg(experts(temp)).args(common).arg(out).args(words).output().unwrap());
}

#[test]
fn every_shape_of_a_growing_kind_is_recorded_exported_and_replayed() {
    let temp = TempFolder::new("demo");
    let out = temp.join("out");
    record(&temp, &out, &["--probe", "weights:expert=0", "--batch", "90"]);
    let recorded = RunFolder::open(&out).unwrap();
    let manifest = &recorded.manifest;
    let files: BTreeSet<&str> = manifest.streams.iter().map(|s| s.file.as_str()).collect();
    for file in ["predicted.f32", "predicted@expert=all.f32", "weights.f32", "weights@expert=0.f32", "text.jsonl"] {
        assert!(files.contains(file), "{file}: {files:?}");
    }
    assert!(files.contains("load-2.f32") && files.contains("routed-2.f32"), "segments follow the set: {files:?}");
    let sets: Vec<_> = manifest.sets.iter().filter(|s| s.name == "experts").collect();
    assert_eq!(sets.iter().map(|s| s.len).collect::<Vec<_>>(), [2, 3, 4, 5, 6, 7, 8]);
    let steps: Vec<u64> = manifest.sets.iter().filter(|s| s.name == "experts").map(|s| s.from_step).collect();
    assert_eq!(steps, [0, 500, 1000, 1500, 2000, 2500, 3000], "changes have their own steps, in batches of any length");
    let mut ids = BTreeSet::new();
    for set in sets {
        ids.extend(recorded.ids_of(set).unwrap());
    }
    assert_eq!(ids, (0..14).collect(), "ids are never used again");

    ok(&run(&["export", out.to_str().unwrap(), "--format", "csv"]));
    ok(&run(&["export", out.to_str().unwrap(), "--format", "npz"]));
    ok(&run(&["export", out.to_str().unwrap(), "--format", "parquet"]));
    let texts = fs::read_to_string(out.join("text.csv")).unwrap();
    assert_eq!(texts.lines().count(), 1 + 3000 / 400);
    assert!(fs::read_to_string(out.join("weights.csv")).unwrap().contains(",-8 to -7.5,"), "bins are named");
    assert!(fs::read_to_string(out.join("stream.csv")).unwrap().contains("best_candidate"));

    let loss = fs::read_to_string(out.join("loss.csv")).unwrap();
    assert!(loss.lines().next().is_some_and(|head| head.ends_with(",level uniform,level entropy of the source")));
    assert!(loss.lines().nth(1).is_some_and(|line| line.contains(",3.29583")), "ln 27: {}", &loss[..200]);
    let individuals = fs::read_to_string(out.join("lineage.csv")).unwrap();
    assert!(
        individuals.starts_with("id,name,place,parents,born_step,gone_step,end,health,age_at_end,first_symbol,symbols")
    );
    assert!(individuals.lines().any(|line| line.starts_with("0,") && line.ends_with(",space,14")), "{individuals}");
    assert!(fs::read_to_string(out.join("similarity.csv")).unwrap().lines().count() > 3);
    let columns = parquet_columns(&out.join("lineage.parquet"));
    assert!(columns.ends_with(&["age_at_end".into(), "first_symbol".into(), "symbols".into()]), "{columns:?}");

    let again = neuropil().arg("replay").arg(&out).args(["--device", "cpu", "--threads", "1"]).output().unwrap();
    assert!(ok(&again).contains("identical"));
    plays_back(&recorded);
}

fn parquet_columns(file: &Path) -> Vec<String> {
    use parquet::file::reader::{FileReader as _, SerializedFileReader};
    let reader = SerializedFileReader::new(fs::File::open(file).unwrap()).unwrap();
    let schema = reader.metadata().file_metadata().schema_descr_ptr();
    schema.columns().iter().map(|c| c.name().to_owned()).collect()
}

/// The frames of a playback hold every shape, and say which schema they follow.
fn plays_back(run: &RunFolder) {
    let probes = Model::by_name("demo").expect("compiled with the feature").probes();
    let mut slices = PlaybackReader::open(run, probes).unwrap();
    let (mut shapes, mut generation, mut widths) = (BTreeSet::new(), 0, BTreeSet::new());
    while let Some(frame) = slices.next_frame().unwrap() {
        assert!(frame.generation >= generation);
        generation = frame.generation;
        for (_, reading) in &frame.readings {
            shapes.insert(match reading {
                Reading::Series(_) => "series",
                Reading::Spikes(_) => "spikes",
                Reading::Field(values) => {
                    widths.insert(values.len());
                    "field"
                }
                Reading::Matrix(_) => "matrix",
                Reading::Lineage(_) => "lineage",
                Reading::Text(_) => "text",
                Reading::Histogram(_) => "histogram",
                Reading::Samples(_) => "samples",
                Reading::Tokens(_) => "tokens",
                Reading::Links(_) => "links",
            });
        }
    }
    assert_eq!(shapes.len(), 10, "{shapes:?}");
    assert!(generation >= 6 && widths.len() >= 6, "generation {generation}, {widths:?}");
}

/// Segments of streams begin where a set changes, so histories are the same for any batch.
#[test]
fn histories_of_a_growing_kind_do_not_depend_on_batches() {
    let temp = TempFolder::new("demo-batches");
    let hash = |batch: &str| {
        let out = temp.join(batch);
        // Two changes in one batch of 1,500.
        record(&temp, &out, &["--batch", batch]);
        RunFolder::open(&out).unwrap().manifest.data_hash().expect("a hash")
    };
    assert_eq!(hash("7"), hash("1500"));
}

#[test]
fn a_growing_run_that_was_killed_continues_and_branches() {
    let temp = TempFolder::new("demo-killed");
    let path = experts(&temp);
    let words = [
        "run",
        path.to_str().unwrap(),
        "--device",
        "cpu",
        "--threads",
        "1",
        "--batch",
        "20",
        "--duration",
        "5900tokens",
        "--checkpoint-every",
        "300steps",
        // It has ended where the run continues.
        "--probe",
        "weights:expert=0",
    ];
    let (killed, whole) = (temp.join("killed"), temp.join("whole"));
    kill_after_a_checkpoint(&words, &killed);
    let run = RunFolder::open(&killed).unwrap();
    assert_eq!(run.manifest.status, Status::Unclosed, "it was killed before its end");
    ok(&neuropil().args(["run", "--batch", "20", "--device", "cpu", "--resume"]).arg(&killed).output().unwrap());
    ok(&neuropil().args(words).arg("--out").arg(&whole).output().unwrap());
    same_files(&killed, &whole);
    let [one, other] = [&killed, &whole].map(|run| RunFolder::open(run).unwrap().manifest);
    assert_eq!(one.sets, other.sets);
    assert_eq!(one.data_hash(), other.data_hash());
    let replayed = ok(&neuropil().args(["replay", "--device", "cpu"]).arg(&killed).output().unwrap());
    assert!(replayed.starts_with("identical"), "{replayed}");

    let branch = |name: &str, words: &[&str]| {
        let out = temp.join(name);
        let start = [
            "run",
            "--duration",
            "5900tokens",
            "--device",
            "cpu",
            "--branch",
            killed.to_str().unwrap(),
            "--at",
            "5400",
        ];
        ok(&neuropil().args(start).args(words).arg("--out").arg(&out).output().unwrap());
        let replayed = ok(&neuropil().args(["replay", "--device", "cpu"]).arg(&out).output().unwrap());
        assert!(replayed.starts_with("identical"), "{replayed}");
        RunFolder::open(&out).unwrap().manifest
    };
    let same = branch("same", &[]);
    assert_eq!((same.first_step, &same.digest), (5400, &other.digest), "nothing was changed");
    let faster = branch("faster", &["--set", "experts.learning_rate=0.5"]);
    assert_ne!(faster.digest.hash, other.digest.hash);
    assert_eq!(faster.parent.expect("a parent").checkpoint.step, 5400);
}

#[test]
fn arguments_are_checked() {
    let temp = TempFolder::new("demo-args");
    let words =
        |probe: &str| neuropil().arg("run").arg(experts(&temp)).args(["--dry-run", "--probe", probe]).output().unwrap();
    let wrong = words("predicted:head=1");
    assert_eq!(wrong.status.code(), Some(2), "{}", String::from_utf8_lossy(&wrong.stderr));
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("there is no argument `head`; arguments: expert"));
}
