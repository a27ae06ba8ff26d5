//! Sets the commit that the program names in runs, and compresses the fonts of the window. The library below the window does not
//! depend on the commit, so that a commit does not compile the library again; `src/build.rs` embeds the kernels. Needs no git.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

#[path = "src/pack.rs"]
mod pack;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    println!("cargo::rustc-env=NEUROPIL_GIT={}", commit(&root));
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    fs::write(out.join("fonts.rs"), fonts(&root.join("assets/fonts"), &out)).expect("OUT_DIR is writable");
}

/// Compresses the fonts in a folder into a file in `out`. Returns Rust code with their names, places and bytes.
fn fonts(folder: &Path, out: &Path) -> String {
    println!("cargo::rerun-if-changed={}", folder.display());
    let is_font = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "otf" || extension == "ttf");
    let files = fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut paths: Vec<PathBuf> = files.filter_map(|file| Some(file.ok()?.path())).filter(is_font).collect();
    paths.sort();
    let (bundle, ranges) = pack::pack(paths.iter().map(PathBuf::as_path), &out.join("fonts"));
    let names = paths.iter().filter_map(|path| path.file_name()?.to_str());
    let places: Vec<(&str, usize, usize)> = names.zip(ranges).map(|(name, (start, len))| (name, start, len)).collect();
    format!(
        "/// Name of the file, first byte in `BUNDLE` and length, bytes, of each font.\n\
         const FILES: &[(&str, usize, usize)] = &{places:?};\n\
         /// The fonts.\nconst BUNDLE: Bundle = {bundle};\n"
    )
}

/// Short id of the commit; `unknown` outside a checkout.
fn commit(root: &Path) -> String {
    let git = |args: &[&str]| {
        let output = Command::new("git").arg("-C").arg(root).args(args).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    // The reflog moves with every commit and checkout; without one, the build script runs once.
    if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"]).map(|p| root.join(p)).filter(|p| p.exists()) {
        println!("cargo::rerun-if-changed={}", log.display());
    }
    git(&["rev-parse", "--short=12", "HEAD"]).filter(|hash| !hash.is_empty()).unwrap_or_else(|| "unknown".into())
}
