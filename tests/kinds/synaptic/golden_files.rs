//! Every file of the reference data of the synaptic model has a reader, which reads every array of it.
//!
//! The full set is in `$NEUROPIL_GOLDEN/synaptic`; a part of it is committed, with the list of all names in its
//! `README.md` and the constants in `index.json`.

use super::{
    golden_attention, golden_experts, golden_life, golden_model, golden_optimizers, golden_postsynaptic,
    golden_presynaptic,
};
use neuropil_test_support::{
    Need,
    golden::{self, Golden},
    skip,
};
use serde_json::Value;
use std::{collections::BTreeSet, fs, path::Path};

/// Checks one file.
type Check = fn(&Golden);

/// Tolerance of one call, of f32 arithmetic: `|a - b| <= TOLERANCE (1 + |b|)`.
pub const TOLERANCE: f64 = 2e-5;
/// The same after dozens of steps.
pub const SEQUENCE: f64 = 1e-4;
/// Of the largest number of an array: small ones, as gradients of genomes, would pass whatever they are.
const OF_LARGEST: f64 = 5e-3;

/// `TEST "NN_": reader;` makes a line of `READERS` and a test that reads the files whose names begin like that.
macro_rules! readers {
    ($($test:ident $start:literal: $check:expr;)*) => {
        /// How file names begin, and what checks such a file.
        const READERS: &[(&str, Check)] = &[$(($start, $check)),*];
        $(
            #[test]
            fn $test() {
                read($start, $check);
            }
        )*
    };
}
readers! {
    golden_synaptic_release_probability "01_": golden_presynaptic::check_probability;
    golden_synaptic_release_step "02_": golden_presynaptic::check_step;
    golden_synaptic_release_step_masked "03_": golden_presynaptic::check_step;
    golden_synaptic_release_step_without_queue "04_": golden_presynaptic::check_step;
    golden_synaptic_release_step_other_constants "05_": golden_presynaptic::check_step;
    golden_synaptic_release_sequence "06_": golden_presynaptic::check_sequence;
    golden_synaptic_release_depression "07_": golden_presynaptic::check_sequence;
    golden_synaptic_stochastic_counts "08_": golden_presynaptic::check_counts;
    golden_synaptic_hill "09_": golden_presynaptic::check_hill;
    golden_synaptic_hill_masked "10_": golden_presynaptic::check_hill;
    golden_synaptic_hill_default_state "11_": golden_presynaptic::check_hill;
    golden_synaptic_hill_recurrent "12_": golden_presynaptic::check_recurrent;
    golden_synaptic_postsynaptic_square "13_": golden_postsynaptic::check_unit;
    golden_synaptic_postsynaptic_genes "14_": golden_postsynaptic::check_unit;
    golden_synaptic_postsynaptic_legacy_bdnf "15_": golden_postsynaptic::check_unit;
    golden_synaptic_linear "16_": golden_postsynaptic::check_linear;
    golden_synaptic_linear_square "17_": golden_postsynaptic::check_linear;
    golden_synaptic_phenotype "18_": golden_experts::check_phenotype;
    golden_synaptic_mixture "19_": golden_experts::check_mixture;
    golden_synaptic_router_contrastive "20_": golden_experts::check_contrastive;
    golden_synaptic_neuroscore "21_": golden_life::check_neuroscore;
    golden_synaptic_merge "22_": golden_life::check_merge;
    golden_synaptic_split "23_": golden_life::check_split;
    golden_synaptic_structural_picks "24_": golden_life::check_picks;
    golden_synaptic_attention "25_": golden_attention::check;
    golden_synaptic_attention_grouped "26_": golden_attention::check;
    golden_synaptic_tiny_model "27_": golden_model::check_network;
    golden_synaptic_optimizers "28_": golden_optimizers::check_optimizers;
    golden_synaptic_cellular_automaton "29_": golden_optimizers::check_automaton;
}

/// Checks every file that begins like that: all of its arrays are read.
fn read(start: &str, check: Check) {
    let files = golden::some("synaptic", start);
    if files.is_empty() {
        skip(Need::Golden, format!("no {start}*.npz in {}", golden::folder("synaptic").display()));
    }
    for file in files {
        check(&file);
        let unread = file.unread();
        assert!(unread.is_empty(), "{} has arrays that its test does not read: {unread:?}", file.name);
    }
}

/// Asserts `|a - b| <= tolerance (1 + |b|)` of every element, and that it is small beside the largest of the array; prints file,
/// error and tolerance.
#[track_caller]
pub fn compare(file: &Golden, array: &str, got: &[f64], tolerance: f64) {
    let want = file.get(array);
    assert_eq!(got.len(), want.len(), "{} {array}: lengths", file.name);
    let off = |scale: &dyn Fn(f64) -> f64| {
        let errors = got.iter().zip(want).map(|(g, w)| if g == w { 0.0 } else { (g - w).abs() / scale(*w) });
        // NaN is larger than any tolerance.
        errors.fold(0.0, |worst, e| if e <= worst { worst } else { e })
    };
    let worst = off(&|w| 1.0 + w.abs());
    assert!(worst <= tolerance, "{} {array}: {worst:.2e}, tolerance {tolerance:.0e}", file.name);
    let largest = want.iter().fold(0.0_f64, |most, w| most.max(w.abs()));
    let part = if tolerance > 0.0 && largest > 0.0 { off(&|_| largest) } else { 0.0 };
    assert!(part <= OF_LARGEST, "{} {array}: {part:.2e} of the largest, tolerance {OF_LARGEST:.0e}", file.name);
}

/// Asserts that integers are the same; prints the file and how many differ.
#[track_caller]
pub fn compare_whole(file: &Golden, array: &str, got: &[i64]) {
    let want = file.whole(array);
    let n = got.iter().zip(&want).filter(|(g, w)| g != w).count() + got.len().abs_diff(want.len());
    assert_eq!(n, 0, "{} {array}: {n} of {} differ, tolerance 0", file.name, want.len());
}

/// A text beside the reference data; of a set without it, the committed one.
fn text(name: &str) -> String {
    let committed = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/synaptic");
    let read = |folder: &Path| fs::read_to_string(folder.join(name));
    read(&golden::folder("synaptic")).or_else(|_| read(&committed)).unwrap_or_else(|e| panic!("{name}: {e}"))
}

/// A part of `index.json`.
pub fn index(part: &str) -> Value {
    let all: Value = serde_json::from_str(&text("index.json")).expect("JSON");
    all.get(part).cloned().unwrap_or_else(|| panic!("index.json has no {part}"))
}

/// Names in the table of the README, in `index.json` and of the files that are there; `/` separates names in the table.
fn names() -> BTreeSet<String> {
    let folder = golden::folder("synaptic");
    let entries = fs::read_dir(&folder).expect("the folder of reference data");
    let files = entries.flatten().filter_map(|e| e.file_name().into_string().ok());
    let mut names: BTreeSet<String> = files.filter_map(|f| f.strip_suffix(".npz").map(str::to_owned)).collect();
    let readme = text("README.md");
    let cells = readme.lines().filter_map(|line| line.strip_prefix("| ")?.split('|').next());
    let starts_with_number = |name: &str| name.as_bytes().first().is_some_and(u8::is_ascii_digit);
    names.extend(cells.flat_map(|c| c.split('/')).map(|n| n.trim().to_owned()).filter(|n| starts_with_number(n)));
    names.extend(index("files").as_object().expect("a map of files").keys().cloned());
    names
}

#[test]
fn golden_synaptic_files_have_readers() {
    let names = names();
    let lines = |name: &str| READERS.iter().filter(|(start, _)| name.starts_with(start)).count();
    let unread: Vec<&String> = names.iter().filter(|name| lines(name) != 1).collect();
    assert!(names.len() >= 29 && unread.is_empty(), "no test, or more than one, reads {unread:?}");
}
