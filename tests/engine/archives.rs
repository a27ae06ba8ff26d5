//! Exports as folders: NWB in Zarr, whole and in bounded memory, and never in place of other folders.

use crate::exports::record;
use neuropil::{
    export::{About, ExportSettings, Format, export, export_job},
    sim::Progress,
};
use neuropil_test_support::temp::TempFolder;
use serde_json::Value;
use std::{fs, path::Path, sync::Arc};

fn json(path: &Path) -> Value {
    let text = fs::read_to_string(path).unwrap_or_else(|why| panic!("{}: {why}", path.display()));
    serde_json::from_str(&text).expect("JSON")
}

/// Returns shape and bytes of an array with one chunk.
fn array(file: &Path, path: &str) -> (Vec<u64>, Vec<u8>) {
    let about = json(&file.join(path).join(".zarray"));
    let shape: Vec<u64> = about["shape"].as_array().expect("a shape").iter().filter_map(Value::as_u64).collect();
    assert_eq!(about["chunks"], about["shape"], "{path} is one chunk");
    let name = vec!["0"; shape.len()].join(".");
    let packed = fs::read(file.join(path).join(name)).expect("a chunk");
    (shape, zstd::bulk::decompress(&packed, 1 << 24).expect("a chunk"))
}

fn reals(file: &Path, path: &str) -> (Vec<u64>, Vec<f64>) {
    let (shape, bytes) = array(file, path);
    (shape, bytes.chunks_exact(8).map(|b| f64::from_le_bytes(b.try_into().expect("8 bytes"))).collect())
}

/// Returns the single text of an array.
fn text(file: &Path, path: &str) -> String {
    let (shape, bytes) = array(file, path);
    assert_eq!(shape, [1]);
    String::from_utf8(bytes[8..].to_vec()).expect("UTF-8")
}

#[test]
fn an_nwb_file_holds_units_series_and_metadata() {
    let temp = TempFolder::new("nwb");
    let run = record(&temp.join("run"));
    let out = temp.join("out.nwb.zarr");
    let mut about = About::default();
    about.set("subject_id=model").expect("accepted");
    let settings = ExportSettings { about, ..ExportSettings::default() };
    let files = export_job(&run, Format::Nwb, Some(&out), &settings, &Arc::default()).expect("exported");
    assert_eq!((files.len(), &files[0].path), (1, &out));
    assert!(files[0].n_bytes > 1000);

    // Lane `l` spikes at the steps `l` and `l + 50` of 1 ms.
    let (shape, times) = reals(&out, "units/spike_times");
    let expected: Vec<f64> = (0..50).flat_map(|lane| [f64::from(lane) / 1e3, f64::from(lane + 50) / 1e3]).collect();
    assert_eq!((shape, times), (vec![100], expected));
    let (shape, ends) = array(&out, "units/spike_times_index");
    assert_eq!((shape, ends.len(), &ends[392..]), (vec![50], 400, &100_u64.to_le_bytes()[..]));
    let (shape, ids) = array(&out, "units/public_id");
    assert_eq!((shape, &ids[8..16]), (vec![50], &(1_u64 << 40).to_le_bytes()[..]));
    let index = json(&out.join("units/spike_times_index/.zattrs"));
    assert_eq!(index["target"]["value"]["path"], "/units/spike_times");

    let v = json(&out.join("acquisition/v/data/.zarray"));
    assert_eq!(v["shape"], serde_json::json!([100, 2]));
    assert_eq!(json(&out.join("acquisition/v/data/.zattrs"))["unit"], "mV");
    assert_eq!(json(&out.join("acquisition/v/starting_time/.zattrs"))["rate"], 1000.0);
    assert_eq!(json(&out.join("processing/neuropil/v_lanes/.zattrs"))["colnames"][2], "public_id");
    let field = array(&out, "processing/neuropil/field/value");
    assert_eq!((field.0, field.1.len()), (vec![2, 50], 400), "a field with more elements than samples is a table");

    assert_eq!(text(&out, "general/subject/subject_id"), "model");
    assert!(text(&out, "general/source_script").contains("Balanced"));
    assert!(text(&out, "general/notes").contains("XXH64 of project.ron"));
    let all = json(&out.join(".zmetadata"));
    assert_eq!(all["metadata"]["units/.zattrs"], json(&out.join("units/.zattrs")));
}

#[test]
fn an_exported_folder_replaces_exports_only_and_a_cancelled_one_leaves_nothing() {
    let temp = TempFolder::new("folders");
    let run = record(&temp.join("run"));
    let out = temp.join("out.nwb.zarr");
    fs::create_dir(&out).expect("a folder");
    fs::write(out.join("thesis.txt"), "text").expect("a file");
    let why = export(&run, Format::Nwb, Some(&out)).expect_err("a folder of the user").to_string();
    assert!(why.contains("exists and is no export"), "{why}");
    assert!(out.join("thesis.txt").exists());

    let out = temp.join("again.nwb.zarr");
    let n = || fs::read_dir(&temp).expect("a folder").count();
    let before = n();
    let cancelled = Arc::new(Progress::cancelled_at(1));
    let settings = ExportSettings::default();
    let why = export_job(&run, Format::Nwb, Some(&out), &settings, &cancelled).expect_err("cancelled");
    assert_eq!((why.kind(), n()), (std::io::ErrorKind::Interrupted, before));
    for _ in 0..2 {
        export(&run, Format::Nwb, Some(&out)).expect("exported");
        assert_eq!(n(), before + 1);
    }
}
