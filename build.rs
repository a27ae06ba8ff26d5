//! Sets the commit that the program names in runs, and compresses the fonts of the window. The library below the window does not
//! depend on the commit, so that a commit does not compile the library again; `src/build.rs` embeds the kernels. Needs no git.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

/// Font files in `assets/fonts`.
const FONTS: [&str; 5] =
    ["Inter-Medium.otf", "Inter-SemiBold.otf", "JetBrainsMono-Regular.ttf", "JetBrainsMono-Medium.ttf", "Phosphor.ttf"];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    println!("cargo::rustc-env=NEUROPIL_GIT={}", commit(&root));
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    fs::write(out.join("fonts.rs"), fonts(&root.join("assets/fonts"), &out)).expect("OUT_DIR is writable");
}

/// Compresses the fonts, one after another, into a file in `out`. Returns Rust code with their names, lengths and bytes.
fn fonts(folder: &Path, out: &Path) -> String {
    let (mut all, mut lengths) = (vec![], vec![]);
    for name in FONTS {
        let path = folder.join(name);
        println!("cargo::rerun-if-changed={}", path.display());
        let font = fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        lengths.push((name, font.len()));
        all.extend(font);
    }
    // The highest level takes a second: only for builds that are kept.
    let level = if env::var("PROFILE").is_ok_and(|profile| profile == "release") { 19 } else { 3 };
    let to = out.join("fonts.zstd");
    fs::write(&to, zstd::bulk::compress(&all, level).expect("memory")).expect("OUT_DIR is writable");
    let bundle = format!("Bundle {{ packed: include_bytes!({to:?}), len: {} }}", all.len());
    format!(
        "/// Name of the file and length, bytes, of each font.\nconst FILES: [(&str, usize); {}] = {lengths:?};\n\
         /// The fonts.\nconst BUNDLE: Bundle = {bundle};\n",
        FONTS.len()
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
