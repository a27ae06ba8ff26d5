//! Every file of the reference data has a test that reads it, and a test reads every array of its files.

use super::{golden_draws, golden_model, golden_operations, golden_storage};
use neuropil_test_support::golden::{self, Check, Golden};

/// How file names begin, and what checks such a file.
const READERS: &[(&str, Check)] = &[
    ("efla_layer", golden_operations::check_delta_rule),
    ("es_tiny", golden_model::check),
    ("int2", golden_storage::check_ternary),
    ("norm_quant", golden_operations::check_quantized),
    ("nvfp4", golden_storage::check_fp4),
    ("rng", golden_draws::check_draws),
    ("schedules", golden_draws::check_schedules),
];

#[test]
fn golden_evolution_files_have_readers() {
    for golden in golden::all("evolution", "") {
        assert!(READERS.iter().any(|(start, _)| golden.name.starts_with(start)), "no test reads {}", golden.name);
    }
}

macro_rules! files {
    ($($test:ident = $pattern:literal;)*) => { $(
        #[test]
        fn $test() {
            // No file of 2-bit words is committed: they are read where a folder of further data has some.
            if $pattern != "int2" || !golden::some("evolution", $pattern).is_empty() {
                golden::check_all("evolution", READERS, $pattern);
            }
        }
    )* };
}
files! {
    golden_evolution_delta_rule = "efla_layer";
    golden_evolution_generations = "es_tiny";
    golden_evolution_ternary_words = "int2";
    golden_evolution_norm_and_rounding = "norm_quant";
    golden_evolution_fp4 = "nvfp4";
    golden_evolution_draws = "rng";
    golden_evolution_schedules_and_shaping = "schedules";
}

/// Compares integers with an array.
#[track_caller]
pub fn same(golden: &Golden, name: &str, got: impl IntoIterator<Item = i64>) {
    let got: Vec<i64> = got.into_iter().collect();
    let want = golden.whole(name);
    assert_eq!(got.len(), want.len(), "{} {name}", golden.name);
    let differ = got.iter().zip(&want).filter(|(g, w)| g != w).count();
    assert_eq!(differ, 0, "{} {name}: {differ} of {} differ", golden.name, want.len());
}

/// Compares numbers with an array, relative to its largest magnitude.
#[track_caller]
pub fn near(golden: &Golden, name: &str, got: impl IntoIterator<Item = f64>, tolerance: f64) {
    let got: Vec<f64> = got.into_iter().collect();
    let want = golden.get(name);
    assert_eq!(got.len(), want.len(), "{} {name}", golden.name);
    let size = want.iter().fold(0.0_f64, |size, w| size.max(w.abs())).max(f64::MIN_POSITIVE);
    let worst =
        got.iter().zip(want).map(|(g, w)| (g - w).abs() / size).fold(0.0, |a: f64, e| if e <= a { a } else { e });
    assert!(worst <= tolerance, "{} {name}: {worst:.2e}, tolerance {tolerance:.0e}", golden.name);
}
