//! Every file of the reference data has a test that reads it, and a test reads every array of its files.
//!
//! The full set is in `$NEUROPIL_GOLDEN/transformer`, with a manifest of its names; a part of it is committed.

use super::{activation, attention, golden_embedding, golden_transformer, norm, optimizer, softmax};
use neuropil_test_support::golden::{self, Check, Golden};
use std::{collections::BTreeSet, fs};

/// How file names begin, and what checks such a file. A new operation is one line here and a test that calls [`read`].
const READERS: &[(&str, Check)] = &[
    ("adamw", optimizer::check_adamw),
    ("attention", attention::check),
    ("cross_entropy", golden_embedding::check_cross_entropy),
    ("embedding", golden_embedding::check_embedding),
    ("gelu", activation::check),
    ("gemm", golden_transformer::check_file),
    ("loss_scaler", optimizer::check_loss_scaler),
    ("layernorm", norm::check),
    ("rope", golden_embedding::check_rope),
    ("sinusoid", golden_embedding::check_sinusoid),
    ("softmax", softmax::check),
    ("tiny_gpt", crate::transformer::check),
];

/// Largest difference, relative to the largest wanted number; infinities must be equal.
pub fn error(got: &[f64], want: &[f64]) -> f64 {
    assert_eq!(got.len(), want.len());
    let size = want.iter().filter(|w| w.is_finite()).fold(0.0_f64, |size, w| size.max(w.abs()));
    let off = |(g, w): (&f64, &f64)| if g == w { 0.0 } else { (g - w).abs() / if size > 0.0 { size } else { 1.0 } };
    // NaN is larger than any tolerance.
    got.iter().zip(want).map(off).fold(0.0, |worst, e| if e <= worst { worst } else { e })
}

/// Prints an error, and fails with the name of the file where it exceeds its tolerance, or is NaN.
#[track_caller]
pub fn expect(golden: &Golden, what: &str, error: f64, tolerance: f64) {
    assert!(error <= tolerance, "{} {what}: {error:.2e}, tolerance {tolerance:.0e}", golden.name);
}

/// What the manifest says of a file, if there is one and it lists the file.
pub fn note(golden: &Golden) -> Option<String> {
    let text = fs::read_to_string(golden::folder("transformer").join("manifest.json")).ok()?;
    let manifest: serde_json::Value = serde_json::from_str(&text).expect("a map of files");
    manifest.get(&golden.name)?.get("note")?.as_str().map(str::to_owned)
}

/// Checks every file of a pattern of [`READERS`], at least one.
pub fn read(pattern: &str) {
    golden::check_all("transformer", READERS, pattern);
}

/// The reader of a file; a longer pattern is preferred.
fn reader(name: &str) -> Option<&'static str> {
    READERS.iter().map(|(start, _)| *start).filter(|start| name.starts_with(start)).max_by_key(|start| start.len())
}

#[test]
fn golden_transformer_files_have_readers() {
    let folder = golden::folder("transformer");
    let entries = fs::read_dir(&folder).expect("the folder of reference data");
    let files = entries.flatten().filter_map(|e| e.file_name().into_string().ok());
    let mut names: BTreeSet<String> = files.filter_map(|f| f.strip_suffix(".npz").map(str::to_owned)).collect();
    if let Ok(text) = fs::read_to_string(folder.join("manifest.json")) {
        let manifest: serde_json::Map<String, serde_json::Value> = serde_json::from_str(&text).expect("a map of files");
        names.extend(manifest.keys().cloned());
    }
    let unread: Vec<&String> = names.iter().filter(|name| reader(name).is_none()).collect();
    assert!(unread.is_empty(), "no test reads {unread:?}");
}
