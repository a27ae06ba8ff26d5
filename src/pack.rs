//! Part of both build scripts: compresses files for [`Bundle`](crate::num::bundle::Bundle).

use std::{env, fs, path::Path};

/// Compresses files, one after another, into one. Returns the Rust code of the bundle, and the first byte and the length of
/// each file in it.
pub fn pack<'a>(paths: impl Iterator<Item = &'a Path>, to: &Path) -> (String, Vec<(usize, usize)>) {
    let (mut all, mut ranges) = (Vec::new(), Vec::new());
    for path in paths {
        let file = fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        ranges.push((all.len(), file.len()));
        all.extend(file);
    }
    // The highest level takes 20 s for all kernels: only for builds that are kept.
    let level = if env::var("PROFILE").is_ok_and(|profile| profile == "release") { 19 } else { 3 };
    let packed = zstd::bulk::compress(&all, level).expect("memory");
    let to = to.with_extension("zstd");
    fs::write(&to, packed).expect("OUT_DIR is writable");
    (format!("Bundle {{ packed: include_bytes!({to:?}), len: {} }}", all.len()), ranges)
}
