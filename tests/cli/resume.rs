//! Runs that are continued, from outside: what is damaged, edited, in use or already reached is refused before anything is
//! changed; what is passed over is said.

use crate::{
    checkpoints::{NETWORK, same_files},
    program::{example, json, neuropil, ok},
};
use neuropil::project::{LockedRun, RunFolder};
use neuropil_test_support::temp::TempFolder;
use serde_json::Value as Json;
use std::{
    collections::BTreeMap,
    fs,
    hash::Hasher as _,
    path::{Path, PathBuf},
    process::Output,
};

/// Records a small network, with a checkpoint every 100 steps.
fn record(out: &Path, duration: &str) {
    let project = example("balanced.ron");
    let start = ["--device", "cpu", "--batch", "20", "--checkpoint-every", "100steps", "--out"];
    let mut command = neuropil();
    command.arg("run").arg(project).args(NETWORK).args(start).arg(out).args(["--duration", duration]);
    ok(&command.output().unwrap());
}

fn resume(run: &Path, words: &[&str]) -> Output {
    neuropil().args(["run", "--device", "cpu", "--batch", "20", "--resume"]).arg(run).args(words).output().unwrap()
}

fn branch(run: &Path, out: &Path, words: &[&str]) -> Output {
    let start = ["run", "--device", "cpu", "--batch", "20", "--branch"];
    neuropil().args(start).arg(run).arg("--out").arg(out).args(words).output().unwrap()
}

fn check(run: &Path) -> (bool, Json) {
    let output = neuropil().args(["check", "--json"]).arg(run).output().unwrap();
    let said: Json = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(said["intact"], output.status.success());
    (output.status.success(), said)
}

/// An invalid request is refused with exit code 2 and these words.
fn refused(output: &Output, words: &[&str]) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    for word in words {
        assert!(said.contains(word), "{word}: {said}");
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(|entry| entry.unwrap()) {
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.map(|path| (path.clone(), fs::read(path).unwrap())).collect()
}

fn flip(path: &Path, at: usize) {
    let mut bytes = fs::read(path).unwrap();
    bytes[at] ^= 4;
    fs::write(path, bytes).unwrap();
}

fn replace(path: &Path, old: &str, new: &str) {
    let text = fs::read_to_string(path).unwrap();
    assert!(text.contains(old), "{text}");
    fs::write(path, text.replace(old, new)).unwrap();
}

/// Changes the manifest of a run, as versions wrote it that named no hash in it.
pub fn edit_manifest(run: &Path, old: &str, new: &str) {
    let path = run.join("run.ron");
    replace(&path, old, new);
    let text = fs::read_to_string(&path).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with("// XXH64"));
    fs::write(&path, lines.map(|line| format!("{line}\n")).collect::<String>()).unwrap();
}

/// Damage before the checkpoint is found with file and place, in a closed run and in one that was killed.
#[test]
fn a_damaged_run_is_not_continued() {
    let temp = TempFolder::new("damaged-run");
    let whole = temp.join("whole");
    record(&whole, "35ms");
    let spikes = fs::metadata(whole.join("spikes.u32")).unwrap().len();
    for (name, place, words) in [
        ("spikes.u32", 3, &["spikes.u32: bytes 0 to ", "between the start and the checkpoint of step 100"][..]),
        ("rate.f32", 0, &["rate.f32: bytes 0 to "]),
        ("spikes.u32", spikes as usize * 7 / 10, &["the checkpoint of step 200 and the checkpoint of step 300"]),
        ("commands.ron", 3, &["commands.ron: bytes 0 to "]),
        ("timings.csv", 1, &["timings.csv: bytes 0 to "]),
    ] {
        for status in ["Complete", "Running"] {
            let run = temp.join("run");
            fs::remove_dir_all(&run).ok();
            copy(&whole, &run);
            edit_manifest(&run, "status: Complete", &format!("status: {status}"));
            assert!(check(&run).0, "{name} {status}: it is not damaged yet");
            flip(&run.join(name), place);
            let before = contents(&run);
            assert!(!check(&run).0, "{name} {status}");
            refused(&resume(&run, &["--duration", "45ms"]), words);
            assert_eq!(contents(&run), before, "{name} {status}: nothing was changed");
        }
    }
}

#[test]
fn a_manifest_that_was_changed_is_found_out() {
    let temp = TempFolder::new("manifest");
    let run = temp.join("run");
    record(&run, "35ms");
    assert!(check(&run).0);
    replace(&run.join("run.ron"), "secs_per_step: 0.0001", "secs_per_step: 0.0002");
    assert!(!check(&run).0);
    refused(&resume(&run, &["--duration", "45ms"]), &["run.ron is not what was written", "remove the line"]);
}

/// Behind the last checkpoint nothing is certified: it is computed again.
#[test]
fn damage_behind_the_checkpoint_is_computed_again() {
    let temp = TempFolder::new("behind");
    let (run, whole) = (temp.join("run"), temp.join("whole"));
    record(&run, "35ms");
    copy(&run, &whole);
    edit_manifest(&run, "status: Complete", "status: Running");
    let end = fs::metadata(run.join("spikes.u32")).unwrap().len() as usize - 1;
    flip(&run.join("spikes.u32"), end);
    ok(&resume(&run, &[]));
    same_files(&run, &whole);
    assert!(check(&run).0);
}

#[test]
fn an_edited_project_is_not_continued_but_its_comments_may_change() {
    let temp = TempFolder::new("edited");
    let (run, whole) = (temp.join("run"), temp.join("whole"));
    record(&run, "35ms");
    record(&whole, "45ms");
    let project = run.join("project.ron");
    let text = fs::read_to_string(&project).unwrap();
    for (old, new, said) in [
        ("\n    seed: 1,", "\n    seed: 2,", "seed: 1 → 2"),
        ("n_neurons: 400,", "n_neurons: 401,", "network.n_neurons: 400 → 401"),
        ("rate_hz: 100.0", "rate_hz: 101.0", "100 Hz → 101 Hz"),
    ] {
        replace(&project, old, new);
        refused(&resume(&run, &["--duration", "45ms"]), &["project.ron is not what was recorded", said, "--branch"]);
        fs::write(&project, &text).unwrap();
    }
    edit_manifest(&run, "\n    seed: 1,", "\n    seed: 7,");
    refused(&resume(&run, &["--duration", "45ms"]), &["its seed is 1, that of the run 7"]);
    edit_manifest(&run, "\n    seed: 7,", "\n    seed: 1,");
    fs::write(&project, format!("// a remark\n{}", text.replace("\n    seed: 1,", "\n\n    seed:   1, // the seed\n")))
        .unwrap();
    ok(&resume(&run, &["--duration", "45ms"]));
    same_files(&run, &whole);
    assert!(check(&run).0, "with the comments");
}

/// A branch and a request take the recorded project, and say so.
#[test]
fn a_branch_begins_with_the_recorded_project() {
    let temp = TempFolder::new("recorded");
    let run = temp.join("run");
    record(&run, "35ms");
    replace(&run.join("project.ron"), "rate_hz: 100.0", "rate_hz: 101.0");
    let said = json(&branch(&run, &temp.join("branch"), &["--duration", "45ms", "--json"]));
    let note = said["notices"][0].as_str().unwrap();
    assert!(note.contains("100 Hz → 101 Hz") && note.contains("the recorded project is used"), "{said}");
    assert!(fs::read_to_string(temp.join("branch/project.ron")).unwrap().contains("rate_hz: 100.0"));
}

/// The second of two processes that continue a run is refused while the first reads, prepares or writes.
#[test]
fn a_run_is_continued_by_one_process() {
    let temp = TempFolder::new("two");
    let run = temp.join("run");
    record(&run, "35ms");
    let first = LockedRun::open(&run).unwrap();
    let before = contents(&run);
    refused(&resume(&run, &["--duration", "45ms"]), &["is still being written by process "]);
    assert!(LockedRun::open(&run).is_err());
    assert_eq!(contents(&run), before);
    drop(first);
    ok(&resume(&run, &["--duration", "45ms"]));
}

/// Makes the checkpoints of a run like those of versions that wrote no hashes of files and no project.
fn as_of_an_older_version(run: &Path) {
    let xxh64 = |bytes: &[u8]| {
        let mut hash = twox_hash::XxHash64::with_seed(0);
        hash.write(bytes);
        hash.finish()
    };
    for info in RunFolder::open(run).unwrap().manifest.checkpoints {
        let path = run.join(&info.file);
        let mut bytes = fs::read(&path).unwrap();
        let trailer = bytes.len() - 32;
        let word = |at: usize| u64::from_le_bytes(*bytes[at..].first_chunk().unwrap()) as usize;
        let (start, n) = (word(trailer), word(trailer + 8));
        let text = String::from_utf8(bytes[start..start + n].to_vec()).unwrap();
        let older = text.replace("hashes:", "former:").replace("\n    project:", "\n    unknown:");
        assert!(older != text && older.len() == n);
        bytes[start..start + n].copy_from_slice(older.as_bytes());
        let hash = xxh64(older.as_bytes());
        bytes[trailer + 16..trailer + 24].copy_from_slice(&hash.to_le_bytes());
        fs::write(&path, bytes).unwrap();
        edit_manifest(run, &info.hash, &format!("{hash:016x}"));
    }
}

/// A run with checkpoints of an older version is verified as far as its manifest goes, and says for good that this is less.
#[test]
fn a_run_with_older_checkpoints_says_what_is_not_verified() {
    let temp = TempFolder::new("older");
    let (run, whole) = (temp.join("run"), temp.join("whole"));
    record(&run, "35ms");
    record(&whole, "55ms");
    as_of_an_older_version(&run);
    assert!(check(&run).0 && check(&run).1["not_verified_before"] == 0);
    for (name, said) in [("spikes.u32", "spikes.u32: bytes "), ("project.ron", "project.ron is not what was recorded")]
    {
        let bytes = fs::read(run.join(name)).unwrap();
        fs::write(run.join(name), [&bytes[..bytes.len() - 1], b" "].concat()).unwrap();
        refused(&resume(&run, &["--duration", "45ms"]), &[said]);
        fs::write(run.join(name), bytes).unwrap();
    }
    for duration in ["45ms", "55ms"] {
        ok(&resume(&run, &["--duration", duration]));
        let (is_intact, said) = check(&run);
        assert!(is_intact && said["not_verified_before"] == 300, "{said}");
        let text = ok(&neuropil().arg("check").arg(&run).output().unwrap());
        assert!(text.contains("not verified before step 300"), "{text}");
    }
    same_files(&run, &whole);
    assert_eq!(check(&whole).1["not_verified_before"], 0);
}

/// A damaged checkpoint is named wherever an older one takes its place.
#[test]
fn a_checkpoint_that_is_passed_over_is_named() {
    let temp = TempFolder::new("passed-over");
    let run = temp.join("run");
    record(&run, "35ms");
    let last = run.join("checkpoint-000000300.state");
    flip(&last, fs::metadata(&last).unwrap().len() as usize / 2);
    let note = |said: &Json| said.as_str().unwrap_or_default().to_owned();
    let ask = ["connections", "--elements", "7"];
    let asked = neuropil().args(["ask", "--json", "--device", "cpu"]).arg(&run).args(ask).output().unwrap();
    let branched = branch(&run, &temp.join("branch"), &["--json"]);
    let resumed = resume(&run, &["--json", "--duration", "45ms"]);
    for (output, key) in [(&asked, "notes"), (&branched, "notices"), (&resumed, "notices")] {
        let (said, text) = (note(&json(output)[key][0]), String::from_utf8_lossy(&output.stderr).into_owned());
        for part in ["checkpoint-000000300.state", "is damaged", "the checkpoint of step 200 is used"] {
            assert!(said.contains(part) && text.contains(part), "{key}: {said}, {text}");
        }
    }
    assert_eq!(RunFolder::open(&temp.join("branch")).unwrap().manifest.first_step, 200);
}

/// What a continued run or a branch cannot do is refused, and the run stays as it is.
#[test]
fn a_run_is_never_cut_by_a_request_that_cannot_be_met() {
    let temp = TempFolder::new("cut");
    let run = temp.join("run");
    record(&run, "35ms");
    let before = contents(&run);
    refused(
        &resume(&run, &["--duration", "32ms"]),
        &["recorded up to step 350", "cut at step 320", "longer --duration"],
    );
    refused(&resume(&run, &["--duration", "35ms"]), &["complete at step 350", "longer --duration"]);
    refused(&resume(&run, &[]), &["--duration"]);
    refused(&resume(&run, &["--duration", "45ms", "--probe", "nonsense"]), &["--resume", "--probe"]);
    let out = temp.join("branch");
    refused(
        &branch(&run, &out, &["--at", "50", "--duration", "45ms"]),
        &["its first one is at step 100, after step 50"],
    );
    refused(&branch(&run, &out, &["--duration", "20ms"]), &["begin at step 300 and end at step 200", "--duration"]);
    refused(&branch(&run, &out, &["--duration", "45ms", "--dry-run"]), &["--branch", "--dry-run"]);
    assert!(!out.exists());
    fs::create_dir(temp.join("beside")).unwrap();
    let mut folders = vec![run.clone(), run.join("inside"), temp.join("beside/../run")];
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(&run, temp.join("link")).unwrap();
        folders.extend([temp.join("link"), temp.join("link/inside/deep")]);
    }
    for folder in folders {
        refused(&branch(&run, &folder, &["--duration", "45ms"]), &["--out", "choose another folder"]);
    }
    assert_eq!(contents(&run), before);
}

/// A branch keeps the checkpoint at which it begins: it is replayed when the other run has gone.
#[test]
fn a_branch_is_replayed_without_its_parent() {
    let temp = TempFolder::new("orphan");
    let (run, out, older) = (temp.join("run"), temp.join("branch"), temp.join("older"));
    record(&run, "35ms");
    ok(&branch(&run, &out, &["--duration", "45ms", "--set", "lif.tau_m=12ms"]));
    copy(&out, &older);
    fs::remove_file(older.join("parent.state")).unwrap();
    edit_manifest(&older, "copy: \"parent.state\"", "copy: \"\"");
    let replay = |run: &Path| neuropil().args(["replay", "--device", "cpu"]).arg(run).output().unwrap();
    assert!(ok(&replay(&older)).starts_with("identical"), "it reads the checkpoint of the other run");
    fs::remove_dir_all(&run).unwrap();
    assert!(ok(&replay(&out)).starts_with("identical"));
    refused(&replay(&older), &["the run begins at the checkpoint of step 300 in "]);
    assert!(check(&out).0);
    let n_bytes = fs::metadata(out.join("parent.state")).unwrap().len();
    flip(&out.join("parent.state"), n_bytes as usize / 2);
    assert!(!check(&out).0);
    refused(&replay(&out), &["parent.state", "is damaged"]);
    // A run that is replaced leaves nothing.
    record(&out, "35ms");
    assert!(!out.join("parent.state").exists());
}
