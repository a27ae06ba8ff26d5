//! The program as a process: its arguments, signals, limits, and inputs that are not files.

#![cfg(unix)]

use crate::program::{example, neuropil, ok};
use neuropil::project::{RunFolder, Status};
use neuropil_test_support::{PATIENCE, temp::TempFolder};
use std::{
    ffi::{OsStr, OsString},
    fs,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    time::{Duration, Instant},
};

/// A small network that fires.
const SMALL: &[&str] =
    &["--set", "network.n_neurons=400", "--set", "network.in_degree=40", "--device", "cpu", "--threads", "1"];

/// The output of a program that must end; one that does not is killed.
fn ended(command: &mut Command) -> Output {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    until(&mut child, "it ends", |child| child.try_wait().expect("a child").is_some());
    child.wait_with_output().expect("its output")
}

fn until(child: &mut Child, what: &str, mut holds: impl FnMut(&mut Child) -> bool) {
    let since = Instant::now();
    while !holds(child) {
        if since.elapsed() > PATIENCE {
            child.kill().ok();
            panic!("timeout waiting until {what}");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn send(child: &Child, signal: &str) {
    assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().expect("kill").success());
}

/// Whether a signal is in a mask of the process: `SigCgt`, `SigIgn`.
fn has_signal(child: &Child, mask: &str, signal: i32) -> bool {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
    let bits = status.lines().find_map(|line| line.strip_prefix(mask)?.strip_prefix(':'));
    bits.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok()).is_some_and(|bits| bits >> (signal - 1) & 1 == 1)
}

/// The names of all commands, from the help.
fn commands() -> Vec<String> {
    let help = ok(&neuropil().arg("--help").output().expect("it starts"));
    let list = help.split("Commands:\n").nth(1).expect("a list of commands");
    let names = list.lines().take_while(|line| !line.is_empty()).filter(|line| !line.starts_with("   "));
    names.filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

#[test]
fn arguments_that_are_not_utf8_are_paths_or_errors() {
    let temp = TempFolder::new("bytes");
    let odd = OsStr::from_bytes(b"od\xffd");
    let names = commands();
    assert!(names.len() > 8 && names.contains(&"run".to_owned()), "{names:?}");
    let words = |words: &[&OsStr]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<OsString>>();
    let mut cases: Vec<Vec<OsString>> = vec![words(&[odd]), words(&[OsStr::from_bytes(b"--od\xffd")])];
    for name in &names {
        cases.push(words(&[name.as_ref(), odd]));
        cases.push(words(&[name.as_ref(), odd, odd, "--json".as_ref()]));
    }
    for words in cases {
        let output = neuropil().current_dir(&temp).args(&words).output().expect("it starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(
            !said.contains("panicked") && output.status.code().is_some_and(|code| code != 101),
            "{words:?}: {said}"
        );
    }
}

#[test]
fn paths_that_are_not_utf8_work() {
    let temp = TempFolder::new("odd-paths");
    let folder = temp.join(OsStr::from_bytes(b"f\xfelder"));
    fs::create_dir(&folder).expect("a folder");
    let (project, out, branch) =
        (folder.join(OsStr::from_bytes(b"\xff.ron")), folder.join("run"), folder.join("branch"));
    fs::copy(example("balanced.ron"), &project).expect("a copy");
    let path = |words: &[&str], paths: &[&Path]| ok(&neuropil().args(words).args(paths).output().expect("it starts"));
    path(&["validate", "--json"], &[&project]);
    let words = [&["run", "--json", "--duration", "5ms", "--checkpoint-every", "20steps"], SMALL, &["--out"]].concat();
    path(&words, &[&out, &project]);
    for words in [&["info", "--json"], &["check", "--json"], &["replay", "--json"], &["export", "--format=csv"]] {
        path(words, &[&out]);
    }
    path(&["diff"], &[&project, &project]);
    path(&["run", "--json", "--device", "cpu", "--branch"], &[&out, Path::new("--out"), &branch]);
    path(&["replay", "--json"], &[&branch]);
    let run = RunFolder::open(&branch).expect("a run");
    assert_eq!(run.manifest.base, fs::canonicalize(&folder).expect("it is there"), "the manifest keeps the bytes");
}

/// A pipe would block its reader for ever, and a device has no end.
#[test]
fn pipes_and_devices_are_refused_as_inputs() {
    let temp = TempFolder::new("pipes");
    let fifo = |name: &str| {
        let path = temp.join(name);
        assert!(Command::new("mkfifo").arg(&path).status().expect("mkfifo").success());
        path
    };
    let pipe = fifo("pipe");
    let (csv, nwk) = (fifo("edges.csv"), fifo("trees.nwk"));
    fs::create_dir(temp.join("run")).expect("a folder");
    let manifest = fifo("run/run.ron");
    let text = |path: &Path| path.display().to_string();
    let set = |parameter: &str, path: &Path| vec!["--set".to_owned(), format!("{parameter}={}", text(path))];
    let run = |name: &str, sets: Vec<String>| {
        [vec!["run".into(), text(&example(name)), "--device=cpu".into()], sets].concat()
    };
    let lines = vec!["--set".to_owned(), "data.tokenizer=Bpe".to_owned()];
    let zero = PathBuf::from("/dev/zero");
    let cases = [
        vec!["run".into(), text(&pipe)],
        vec!["validate".into(), text(&pipe)],
        vec!["info".into(), text(&zero)],
        vec!["info".into(), text(&nwk)],
        vec!["diff".into(), text(&pipe), text(&pipe)],
        vec!["check".into(), text(manifest.parent().expect("a folder"))],
        run("shiu.ron", set("network.path", &csv)),
        run("balanced.ron", set("stimulus.kicks", &pipe)),
        run("balanced.ron", set("stimulus.poisson", &pipe)),
        run("nano.ron", set("data.text", &pipe)),
        run("nano.ron", set("data.weights", &zero)),
        run("nano.ron", [lines, set("data.tokenizer_file", &pipe)].concat()),
    ];
    for words in cases {
        let output = ended(neuropil().current_dir(&temp).args(&words));
        let said = String::from_utf8_lossy(&output.stderr);
        let code = if words[0] == "check" { 1 } else { 2 };
        assert_eq!(output.status.code(), Some(code), "{words:?}: {said}");
        assert!(said.contains("regular file"), "{words:?}: {said}");
    }
}

/// Before there is something to close, the first signal ends the program, and nothing is written.
#[test]
fn a_signal_during_setup_ends_the_program() {
    let temp = TempFolder::new("setup-signal");
    let out = temp.join("run");
    let mut command = neuropil();
    // The weights are drawn while the simulation is started.
    command.arg("run").arg(example("nano.ron")).args(["--set", "model.width=768", "--set", "model.layers=4"]);
    command.args(["--set", "data.grammar_bytes=10000", "--device", "cpu", "--duration", "1steps", "--out"]).arg(&out);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts");
    until(&mut child, "it listens", |child| has_signal(child, "SigCgt", libc::SIGTERM));
    send(&child, "-TERM");
    until(&mut child, "it ends", |child| child.try_wait().expect("a child").is_some());
    let output = child.wait_with_output().expect("its output");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("cancelled") && !out.exists(), "{said}");
}

/// Started with `nohup`, the program survives the end of its terminal.
#[test]
fn an_ignored_hang_up_stays_ignored() {
    let temp = TempFolder::new("nohup");
    let out = temp.join("run");
    let mut command = Command::new("nohup");
    command.arg(env!("CARGO_BIN_EXE_neuropil")).arg("run").arg(example("balanced.ron")).args(SMALL);
    command.args(["--duration", "0", "--out"]).arg(&out);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("nohup");
    let is_set_up = |child: &mut Child| {
        has_signal(child, "SigCgt", libc::SIGTERM)
            && has_signal(child, "SigIgn", libc::SIGHUP)
            && out.join("run.ron").exists()
    };
    until(&mut child, "it listens, but not to SIGHUP", is_set_up);
    send(&child, "-HUP");
    send(&child, "-TERM");
    until(&mut child, "it ends", |child| child.try_wait().expect("a child").is_some());
    // A hang-up that counts as an interrupt would make the second one abort.
    assert_eq!(child.wait().expect("a child").code(), Some(3));
}

/// The limit of `ulimit -f` is handled like a full disk.
#[test]
fn a_limit_on_file_sizes_ends_the_recording_not_the_program() {
    let temp = TempFolder::new("file-limit");
    let out = temp.join("run");
    let mut command = Command::new("bash");
    command.args(["-c", "ulimit -f 48; exec \"$@\"", "bash", env!("CARGO_BIN_EXE_neuropil"), "run"]);
    command.arg(example("balanced.ron")).args(SMALL).args(["--duration", "1s", "--out"]).arg(&out);
    let output = ended(&mut command);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("largest size that is allowed") && said.contains("is not complete"), "{said}");
    let run = RunFolder::open(&out).expect("a run");
    assert!(matches!(run.manifest.status, Status::Failed(_)), "{:?}", run.manifest.status);
    assert!(!run.spikes().expect("they can be read").is_empty());
    ok(&crate::program::run(&["check", out.to_str().expect("a path")]));
}
