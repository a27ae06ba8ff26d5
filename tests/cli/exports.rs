//! `neuropil export`: the formats that a run can be written in, and pictures with a size on paper.

use crate::program::{example, json, neuropil, ok, run};
use neuropil_test_support::temp::TempFolder;
use std::path::Path;

/// A short run of a small network without a checkpoint.
fn record(out: &Path) {
    let words = ["--set", "network.n_neurons=400", "--device", "cpu", "--threads", "1", "--duration", "20ms", "--out"];
    ok(&neuropil().arg("run").arg(example("balanced.ron")).args(words).arg(out).output().expect("it starts"));
}

#[test]
fn the_formats_that_a_run_can_give_are_listed() {
    let temp = TempFolder::new("formats");
    let folder = temp.join("run");
    record(&folder);
    let place = folder.to_str().expect("text");
    let said = json(&run(&["export", place, "--json"]));
    let formats = said["formats"].as_array().expect("a list");
    let can: Vec<&str> =
        formats.iter().filter(|f| f["can_export"] == true).filter_map(|f| f["format"].as_str()).collect();
    assert_eq!(can, ["csv", "npz", "parquet", "png", "edges", "nwb", "sonata"]);
    let lineage = formats.iter().find(|f| f["label"] == "Lineage trees (.nwk)").expect("listed");
    assert_eq!(lineage["format"], "nwk");
    assert_eq!(lineage["why_not"], "No lineage was recorded");
    let text = ok(&run(&["export", place]));
    assert!(text.contains("nwk          not possible: No lineage was recorded"), "{text}");
    let files = json(&run(&["export", place, "--format", "npz", "--json"]));
    let file = &files["files"][0];
    let written = std::fs::metadata(file["file"].as_str().expect("a path")).expect("a file").len();
    assert_eq!(file["bytes"], written);
}

/// A circuit is written as a project, which runs; its notes say what is left out.
#[test]
fn a_circuit_becomes_a_project() {
    let temp = TempFolder::new("circuit");
    let circuit = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/sonata/circuit");
    let out = temp.join("net.ron");
    let (from, to) = (circuit.to_str().expect("text"), out.to_str().expect("text"));
    let said = json(&run(&["new", from, "--out", to, "--json"]));
    let notes = said["notes"].as_array().expect("a list");
    assert!(notes.iter().any(|note| note.as_str().is_some_and(|text| text.contains("`lgn` is left out"))), "{said}");
    let words = ["--device", "cpu", "--duration", "20ms", "--allow-outside", "--out"];
    ok(&neuropil().arg("run").arg(&out).args(words).arg(temp.join("run")).output().expect("it starts"));
    let absent = run(&["new", temp.join("absent.json").to_str().expect("text")]);
    assert_eq!(absent.status.code(), Some(2));
}

/// The network is made again from the project in the run folder. The file is one that a network from files reads.
#[test]
fn connections_are_written_for_networks_from_files() {
    let temp = TempFolder::new("edge-lists");
    let (folder, out) = (temp.join("run"), temp.join("network.parquet"));
    record(&folder);
    let (place, to) = (folder.to_str().expect("text"), out.to_str().expect("text"));
    let said = json(&run(&["export", place, "--format", "edges", "--out", to, "--json"]));
    assert_eq!(said["files"].as_array().map(Vec::len), Some(1));
    assert_eq!((said["files"][0]["file"].as_str(), out.is_file()), (Some(to), true));
    let path = format!("network.path={to}");
    let words = ["--set", "network.source=Files", "--set", &path, "--device", "cpu", "--duration", "20ms", "--out"];
    let again = temp.join("again");
    ok(&neuropil().arg("run").arg(example("balanced.ron")).args(words).arg(&again).output().expect("it starts"));
    let spikes = |run: &Path| std::fs::read(run.join("spikes.u32")).expect("recorded");
    assert!(!spikes(&folder).is_empty());
    assert_eq!(spikes(&folder), spikes(&again));
}

#[test]
fn a_picture_has_a_size_on_paper() {
    let temp = TempFolder::new("picture");
    let folder = temp.join("run");
    record(&folder);
    let export = |words: &[&str]| run(&[&["export", folder.to_str().expect("text")][..], words].concat());
    ok(&export(&["--format", "png", "--width-mm", "85", "--dpi", "150"]));
    let file = std::fs::File::open(folder.join("spikes.png")).expect("a picture");
    let reader = png::Decoder::new(std::io::BufReader::new(file)).read_info().expect("its head");
    let info = reader.info();
    assert_eq!((info.width, info.height), (502, 282), "85 mm at 150 dpi");
    assert_eq!(info.pixel_dims.map(|d| (d.xppu, d.unit)), Some((5_906, png::Unit::Meter)));
    for (words, what) in [
        (&["--format", "csv", "--width-mm", "85"][..], "--width-mm is the width of a picture"),
        (&["--format", "png", "--width-mm", "100000", "--dpi", "600"], "at most 50 million are written"),
        (&["--format", "png", "--dpi", "600"], "--width-mm"),
    ] {
        let output = export(words);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(what), "{said}");
    }
}
