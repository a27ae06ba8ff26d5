//! Embeds the prebuilt PTX of every kernel and the commit. Needs neither CUDA nor git.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

fn main() {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let kernels = root.join("kernels");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={}", kernels.display());
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it")).join("prebuilt.rs");
    let embedded = embed(&kernels.join("prebuilt")) + &embed_sources(&kernels);
    fs::write(out, embedded).expect("OUT_DIR is writable");

    let hash = source_hash(&kernels);
    let built_from = fs::read_to_string(kernels.join("prebuilt/SOURCE_HASH")).unwrap_or_default();
    if built_from.trim() != hash {
        println!(
            "cargo::warning=kernels/ changed since kernels/prebuilt was made: the OLD PTX is embedded. Run `python3 kernels/build.py`."
        );
    }
    println!("cargo::rustc-env=NEUROPIL_KERNELS_HASH={hash}");
    println!("cargo::rustc-env=NEUROPIL_GIT={}", commit(&root));
}

/// A table of `<stem>.compute_<capability>.ptx`.
fn embed(folder: &Path) -> String {
    let mut files = list(folder, &["ptx"]);
    files.sort();
    let rows: String = files.iter().filter_map(|path| row(path)).collect();
    format!("/// Every embedded translation.\npub const PREBUILT: &[Prebuilt] = &[\n{rows}];\n")
}

/// A table of the kernel sources, shown in the window.
fn embed_sources(kernels: &Path) -> String {
    let mut files = list(kernels, &["cu", "cuh"]);
    files.retain(|path| !path.starts_with(kernels.join("gen")));
    files.sort();
    let row = |path: &PathBuf| {
        let name = path.strip_prefix(kernels).ok()?.to_string_lossy().replace('\\', "/");
        Some(format!("    ({name:?}, include_str!({path:?})),\n"))
    };
    let rows: String = files.iter().filter_map(row).collect();
    format!("/// Every source: file under `kernels/`, text.\npub const SOURCES: &[(&str, &str)] = &[\n{rows}];\n")
}

fn row(path: &Path) -> Option<String> {
    let name = path.file_stem()?.to_str()?;
    let (stem, capability) = name.rsplit_once(".compute_")?;
    let capability: u32 = capability.parse().ok()?;
    Some(format!("    Prebuilt {{ stem: {stem:?}, capability: {capability}, ptx: include_str!({path:?}) }},\n"))
}

/// FNV-1a over path and bytes of every source, as in `kernels/build.py`.
fn source_hash(kernels: &Path) -> String {
    let mut sources: Vec<(String, PathBuf)> = list(kernels, &["cu", "cuh"])
        .into_iter()
        .map(|path| {
            let inside = path.strip_prefix(kernels).expect("listed from there");
            (inside.to_string_lossy().replace('\\', "/"), path)
        })
        .collect();
    sources.sort();
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for (name, path) in sources {
        let bytes = fs::read(&path).unwrap_or_default();
        for byte in name.bytes().chain(bytes) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
    format!("{hash:016x}")
}

fn list(folder: &Path, extensions: &[&str]) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for path in fs::read_dir(folder).into_iter().flatten().filter_map(|e| Some(e.ok()?.path())) {
        if path.is_dir() {
            files.extend(list(&path, extensions));
        } else if path.extension().is_some_and(|x| extensions.iter().any(|e| x == *e)) {
            files.push(path);
        }
    }
    files
}

/// The commit, short; `unknown` outside a checkout.
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
