//! Files that the program wrote on 2026-11-22 (commit 64b4471), before its vocabulary changed: projects open without a
//! warning, runs replay to the last bit and export.

use neuropil::{
    project::{
        self, RunFolder,
        replay::{ReplayResult, replay},
    },
    sim::{Device, Progress},
};
use neuropil_test_support::temp::TempFolder;
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

fn capsule() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/capsule_2026_11")
}

/// The entries of a folder of the capsule, sorted.
fn entries(folder: &str) -> Vec<PathBuf> {
    let mut paths: Vec<_> = fs::read_dir(capsule().join(folder)).unwrap().map(|e| e.unwrap().path()).collect();
    paths.sort();
    assert!(!paths.is_empty(), "{folder} is empty");
    paths
}

#[test]
fn projects_open_without_a_warning() {
    for path in entries("projects") {
        let (project, warnings) = project::open(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        assert!(warnings.is_empty(), "{}: {warnings:?}", path.display());
        let (_, problems) = project.taps();
        assert!(problems.is_empty(), "{}: {problems:?}", path.display());
    }
}

#[test]
fn example_projects_are_the_same_documents() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("projects");
    for path in entries("projects") {
        let now = examples.join(path.file_name().unwrap());
        if now.exists() {
            let (old, new) = (project::open(&path).unwrap().0, project::open(&now).unwrap().0);
            assert_eq!(old.model, new.model, "{}", path.display());
        }
    }
}

#[test]
fn runs_replay_identically() {
    for name in ["balanced-edits", "leaky", "nuclei-edits", "kuramoto", "trials/trials/0001"] {
        let folder = capsule().join("runs").join(name);
        let run = RunFolder::open(&folder).unwrap_or_else(|e| panic!("{name}: {e}"));
        let mut project = run.project().unwrap();
        let setup_seed = run.manifest.setup_seed;
        project.seed = setup_seed;
        let context = project.build_context(Path::new("."));
        let prepared = project.model.prepare(&context, &Progress::default()).unwrap();
        let mut sim = prepared.start(run.manifest.seed, &Device::Cpu { threads: 2 }).unwrap();
        let verdict = replay(&run, &mut *sim, &Progress::default()).unwrap();
        assert!(matches!(verdict, ReplayResult::Identical { .. }), "{name}: {verdict:?}");
    }
}

#[test]
fn runs_are_described_and_exported() {
    let out = TempFolder::new("capsule");
    for folder in entries("runs") {
        let run = |args: &[&str]| {
            let output = Command::new(env!("CARGO_BIN_EXE_neuropil")).args(args).output().unwrap();
            assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
            String::from_utf8_lossy(&output.stdout).into_owned()
        };
        let text = folder.to_str().unwrap();
        assert!(run(&["info", text]).contains("spiking") || run(&["info", text]).contains("nuclei"), "{text}");
        for format in ["csv", "npz"] {
            let name = format!("{}-{format}", folder.file_name().unwrap().to_string_lossy());
            run(&["export", text, "--format", format, "--out", out.join(&name).to_str().unwrap()]);
            let is_written = |e: fs::DirEntry| e.file_name().to_string_lossy().starts_with(&name);
            assert!(fs::read_dir(&out).unwrap().flatten().any(is_written), "{text} as {format}");
        }
    }
}
