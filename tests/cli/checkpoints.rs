//! Checkpoints from outside: a run that was killed continues as if nothing had happened; branches.

use crate::{
    program::{example, neuropil, ok, run},
    resume::edit_manifest,
};
use neuropil::project::{RunFolder, Status, check::check};
use neuropil_test_support::{PATIENCE, temp::TempFolder};
use std::{
    fs,
    path::Path,
    time::{Duration, Instant},
};

pub const NETWORK: &[&str] = &["--set", "network.n_neurons=400", "--set", "network.in_degree=40"];

/// A project of nuclei with every history recorded, and its file.
fn nuclei(temp: &TempFolder) -> std::path::PathBuf {
    let path = temp.join("nuclei.ron");
    let text = r#"(
        name: "Nuclei", seed: 5,
        model: Nuclei((population: (capacity: 128, n_start: 64))),
        run: (steps: 600),
        record: ["order", "births", "deaths", "lineage", "log", "phase"],
    )"#;
    fs::write(&path, text).unwrap();
    path
}

/// Starts a run and kills it without warning when it has written a checkpoint.
pub fn kill_after_a_checkpoint(words: &[&str], out: &Path) {
    // On a busy machine a run may end before this process looks again: then it is run again.
    for _ in 0..20 {
        let mut child = neuropil().args(words).arg("--out").arg(out).spawn().expect("it starts");
        let end = Instant::now() + PATIENCE;
        let has_checkpoint = || RunFolder::open(out).is_ok_and(|run| run.manifest.checkpoints.len() > 1);
        while Instant::now() < end && !has_checkpoint() {
            std::thread::sleep(Duration::from_millis(5));
        }
        child.kill().expect("it is killed");
        child.wait().expect("it ends");
        if !RunFolder::open(out).is_ok_and(|run| run.is_complete()) {
            return;
        }
        fs::remove_dir_all(out).expect("the run of before");
    }
}

pub fn same_files(a: &Path, b: &Path) {
    let (one, other) = (RunFolder::open(a).unwrap(), RunFolder::open(b).unwrap());
    assert_eq!(one.manifest.digest, other.manifest.digest);
    assert_eq!(one.manifest.last_step, other.manifest.last_step);
    assert!(!one.manifest.streams.is_empty());
    for (one, other) in one.manifest.streams.iter().zip(&other.manifest.streams) {
        assert_eq!((&one.file, one.n_bytes, &one.hash), (&other.file, other.n_bytes, &other.hash));
        // The elements of a series may all have ended.
        assert!(one.n_bytes > 0 || one.width == 0, "{}", one.file);
    }
    assert_eq!(fs::read(a.join("commands.ron")).unwrap(), fs::read(b.join("commands.ron")).unwrap());
}

#[test]
fn a_run_that_was_killed_continues_and_equals_one_that_was_not() {
    let temp = TempFolder::new("killed");
    let (balanced, nuclei) = (example("balanced.ron"), nuclei(&temp));
    let network = [&["run", balanced.to_str().unwrap(), "--duration", "2s"], NETWORK].concat();
    for (name, words) in [("network", network), ("nuclei", vec!["run", nuclei.to_str().unwrap()])] {
        let words =
            [&words[..], &["--device", "cpu", "--threads", "1", "--batch", "20", "--checkpoint-every", "60steps"]];
        let words = words.concat();
        let (killed, whole) = (temp.join(format!("{name}-killed")), temp.join(format!("{name}-whole")));
        kill_after_a_checkpoint(&words, &killed);
        let run = RunFolder::open(&killed).unwrap();
        assert_eq!(run.manifest.status, Status::Unclosed, "{name}: it was killed before its end");
        let step = run.manifest.checkpoints.last().expect("a checkpoint").step;
        assert!(step > 0 && step.is_multiple_of(60));
        ok(&neuropil().args(["run", "--batch", "20", "--device", "cpu", "--resume"]).arg(&killed).output().unwrap());
        ok(&neuropil().args(&words).arg("--out").arg(&whole).output().unwrap());
        same_files(&killed, &whole);
        let run = RunFolder::open(&killed).unwrap();
        assert!(run.is_complete() && run.manifest.resumed.len() == 1 && run.manifest.checkpoints.len() == 3);
        let files = check(&run, &neuropil::sim::Progress::default()).unwrap();
        assert!(files.iter().all(|f| !f.is_damaged()) && files.iter().any(|f| f.name.ends_with(".state")), "{files:?}");
        let replayed = ok(&neuropil().args(["replay", "--device", "cpu"]).arg(&killed).output().unwrap());
        assert!(replayed.starts_with("identical"), "{replayed}");
    }
}

#[test]
fn a_damaged_checkpoint_is_passed_over_and_a_complete_run_is_extended() {
    let temp = TempFolder::new("damaged");
    let (out, balanced) = (temp.join("run"), example("balanced.ron"));
    let start = [&["run", balanced.to_str().unwrap(), "--device", "cpu", "--batch", "20"], NETWORK].concat();
    let of = |duration, out: &Path| {
        let words = ["--duration", duration, "--checkpoint-every", "100steps", "--out", out.to_str().unwrap()];
        [&start[..], &words[..]].concat().iter().map(|w| (*w).to_owned()).collect::<Vec<_>>()
    };
    ok(&neuropil().args(of("30ms", &out)).output().unwrap());
    let last = out.join(&RunFolder::open(&out).unwrap().manifest.checkpoints[2].file);
    let resume = ["run", "--device", "cpu", "--batch", "20", "--resume", out.to_str().unwrap()];
    let again = run(&resume);
    assert_eq!(again.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&again.stderr).contains("a longer --duration extends it"));
    was_killed_behind_its_last_checkpoint(&out);
    ok(&run(&resume));
    assert!(RunFolder::open(&out).unwrap().is_complete(), "nothing is computed, the run is closed");
    assert_eq!(run(&resume).status.code(), Some(2));
    let mut bytes = fs::read(&last).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&last, bytes).unwrap();
    let checked = run(&["check", out.to_str().unwrap()]);
    assert_eq!(checked.status.code(), Some(1));
    let extend = [&resume[..], &["--duration", "50ms"]].concat();
    let output = run(&extend);
    assert!(
        String::from_utf8_lossy(&output.stderr).contains("at step 200"),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    ok(&output);
    let whole = temp.join("whole");
    ok(&neuropil().args(of("50ms", &whole)).output().unwrap());
    same_files(&out, &whole);
}

/// Makes a run look like one whose process ended before its last manifest.
fn was_killed_behind_its_last_checkpoint(run: &Path) {
    edit_manifest(run, "status: Complete", "status: Running");
    assert_eq!(RunFolder::open(run).unwrap().manifest.status, Status::Unclosed);
}

#[test]
fn a_branch_begins_at_a_checkpoint_with_other_parameters() {
    let temp = TempFolder::new("branch");
    let (parent, balanced) = (temp.join("parent"), example("balanced.ron"));
    let words = ["--duration", "40ms", "--checkpoint-every", "100steps", "--device", "cpu", "--out"];
    let start = [&["run", balanced.to_str().unwrap()], NETWORK, &words[..]].concat();
    ok(&neuropil().args(&start).arg(&parent).output().unwrap());
    let branch = |name: &str, words: &[&str]| {
        let out = temp.join(name);
        let start = ["run", "--duration", "60ms", "--device", "cpu", "--branch", parent.to_str().unwrap(), "--out"];
        ok(&neuropil().args(start).arg(&out).args(words).output().unwrap());
        RunFolder::open(&out).unwrap()
    };
    let same = branch("same", &["--at", "250"]);
    let whole = temp.join("whole");
    let words = ["--duration", "60ms", "--device", "cpu", "--out"];
    let start = [&["run", balanced.to_str().unwrap()], NETWORK, &words[..]].concat();
    ok(&neuropil().args(&start).arg(&whole).output().unwrap());
    assert_eq!(same.manifest.digest, RunFolder::open(&whole).unwrap().manifest.digest, "nothing was changed");
    assert_eq!((same.manifest.first_step, same.manifest.last_step), (200, 600));
    let faster = branch("faster", &["--set", "lif.tau_m=12ms", "--set", "lif.precision=F32"]);
    assert_ne!(faster.manifest.digest, same.manifest.digest);
    let origin = faster.manifest.parent.as_ref().expect("a parent");
    assert_eq!((origin.checkpoint.step, origin.run.to_str()), (400, Some("../parent")));
    for run in [&same, &faster] {
        let replayed = ok(&neuropil().args(["replay", "--device", "cpu"]).arg(&run.path).output().unwrap());
        assert!(replayed.starts_with("identical"), "{replayed}");
    }
    let told = ok(&neuropil().arg("info").arg(&faster.path).output().unwrap());
    assert!(told.contains("begins at the checkpoint of step 400"), "{told}");
    let other = run(&[
        "run",
        "--branch",
        parent.to_str().unwrap(),
        "--set",
        "network.n_neurons=300",
        "--duration",
        "60ms",
        "--device",
        "cpu",
        "--out",
        temp.join("other").to_str().unwrap(),
    ]);
    let why = String::from_utf8_lossy(&other.stderr);
    assert!(other.status.code() == Some(2) && why.contains("shape [400], expected [300]"), "{why}");
}

#[test]
fn a_run_answers_requests_at_its_checkpoint_or_end() {
    let temp = TempFolder::new("ask");
    let (with, without, balanced) = (temp.join("with"), temp.join("without"), example("balanced.ron"));
    let start = [&["run", balanced.to_str().unwrap(), "--duration", "20ms", "--device", "cpu"], NETWORK].concat();
    ok(&neuropil().args(&start).args(["--checkpoint-every", "100steps", "--out"]).arg(&with).output().unwrap());
    ok(&neuropil().args(&start).arg("--out").arg(&without).output().unwrap());
    let listed = ok(&neuropil().arg("ask").arg(&with).output().unwrap());
    assert!(listed.contains("connections:") && listed.contains("--most = 20"), "{listed}");
    let ask = |run: &Path| {
        let words = ["connections", "--elements", "7,9", "--most=3"];
        ok(&neuropil().args(["ask", "--device", "cpu"]).arg(run).args(words).output().unwrap())
    };
    let answer = ask(&with);
    assert_eq!(answer.lines().count(), 7, "{answer}");
    assert!(answer.starts_with("presynaptic\tpostsynaptic\tsynapses\n7\t"), "{answer}");
    assert_eq!(ask(&without), answer);
    let json =
        ok(&neuropil().args(["ask", "--json"]).arg(&with).args(["connections", "--elements", "7"]).output().unwrap());
    assert!(json.contains("\"step\": 200") && json.contains("\"synapses\""), "{json}");
    let other = answer.lines().nth(1).and_then(|row| row.split('\t').nth(1)).unwrap();
    for (from, to) in [("7", other), (other, "7")] {
        let words = ["path", "--from", from, "--to", to, "--at-least", "1"];
        let path = ok(&neuropil().args(["ask", "--device", "cpu"]).arg(&with).args(words).output().unwrap());
        let rows: Vec<Vec<&str>> = path.lines().skip(1).map(|row| row.split('\t').collect()).collect();
        assert_eq!((rows[0][0], rows.last().unwrap()[1]), (from, to), "{path}");
    }
    for (words, said) in [
        (&["conections"][..], "there are connections, synapse, path"),
        (&["connections", "--mots", "3"], "there are --inputs, --most"),
        (&["connections", "--most", "0"], "out of range"),
        (&["path", "--elements", "1"], "choose two neurons"),
        (&["path", "--elements", "1,400"], "there is no neuron 400"),
        (&["path", "--from", "1", "--to", "nowhere"], "no neuron is named `nowhere`"),
    ] {
        let output = neuropil().args(["ask", "--device", "cpu"]).arg(&with).args(words).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && stderr.contains(said), "{words:?}: {stderr}");
    }
}
