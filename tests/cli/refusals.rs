//! What is refused leaves everything as it was: old runs, and programs that read an export.

use crate::{
    language::TINY,
    program::{example, neuropil, ok},
};
use neuropil_test_support::temp::TempFolder;
use std::{collections::BTreeMap, fs, path::Path, process::Output};

/// The files of a folder with their contents.
fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder).expect("a folder").flatten();
    let file = |entry: fs::DirEntry| {
        (entry.file_name().to_string_lossy().into_owned(), fs::read(entry.path()).unwrap_or_default())
    };
    entries.map(file).collect()
}

fn refused(output: &Output, code: i32, why: &str) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{said}");
    assert!(said.contains(why), "{said}");
}

#[test]
fn a_wrong_probe_is_refused_before_an_old_run_is_touched() {
    let temp = TempFolder::new("wrong-probe");
    let (project, wrong, old, parent) =
        (example("nano.ron"), temp.join("wrong.ron"), temp.join("old"), temp.join("parent"));
    let probe = "attention:layer=99,head=0";
    let mut in_file = neuropil::project::open(&project).expect("an example").0;
    in_file.record.push(probe.to_owned());
    neuropil::project::save(&in_file, &wrong).expect("a file");
    let run = |project: Option<&Path>, words: &[&str]| {
        let mut command = neuropil();
        command.arg("run").args(project).args(TINY).args(["--set", "data.grammar_bytes=10000"]);
        command.args(words).output().expect("it starts")
    };
    let (old_path, parent_path) = (old.to_str().expect("a path"), parent.to_str().expect("a path"));
    ok(&run(Some(&project), &["--duration", "1steps", "--out", old_path]));
    ok(&run(Some(&project), &["--duration", "2steps", "--checkpoint-every", "1steps", "--out", parent_path]));
    let before = contents(&old);
    let cases: [(Option<&Path>, &[&str]); 5] = [
        (Some(&project), &["--duration", "1steps", "--probe", probe, "--out", old_path]),
        (Some(&wrong), &["--duration", "1steps", "--out", old_path]),
        (Some(&project), &["--duration", "1steps", "--trials", "2", "--probe", probe, "--out", old_path]),
        (None, &["--duration", "3steps", "--branch", parent_path, "--probe", probe, "--out", old_path]),
        (Some(&wrong), &["--dry-run"]),
    ];
    for (project, words) in cases {
        let output = run(project, words);
        refused(&output, 2, "there is no layer `99`; there are: 0");
        assert_eq!(contents(&old), before, "{words:?}");
    }
}

#[test]
fn damaged_streams_are_not_exported_unless_asked_for() {
    let temp = TempFolder::new("damaged-export");
    let run = temp.join("run");
    let words =
        ["--set", "network.n_neurons=400", "--device", "cpu", "--threads", "1", "--duration", "20ms", "--trials=2"];
    ok(&neuropil()
        .arg("run")
        .arg(example("balanced.ron"))
        .args(words)
        .arg("--out")
        .arg(&run)
        .output()
        .expect("starts"));
    let file = run.join("trials/0001/spikes.u32");
    let whole = fs::read(&file).expect("spikes");
    let mut flipped = whole.clone();
    *flipped.last_mut().expect("spikes") ^= 1;
    let longer = [&whole[..], &whole[..8]].concat();
    let export = |words: &[&str]| neuropil().arg("export").arg(&run).args(words).output().expect("it starts");
    for damaged in [&flipped[..], &whole[..whole.len() - 8], &longer] {
        fs::write(&file, damaged).expect("it is written");
        for format in ["csv", "npz", "parquet", "png"] {
            refused(&export(&["--format", format]), 1, "trial 1: spikes.u32 is damaged");
            assert!(!run.join(format!("spikes.{format}")).exists());
        }
        let output = export(&["--format", "csv", "--allow-damaged"]);
        refused(&output, 0, "spikes.u32 is damaged");
        fs::remove_file(run.join("spikes.csv")).expect("it is exported");
    }
    fs::write(&file, whole).expect("it is written");
    ok(&export(&["--format", "csv"]));
}
