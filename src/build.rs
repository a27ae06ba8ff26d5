//! Embeds the prebuilt PTX and the sources of every kernel, compressed. Needs no CUDA.

use std::{
    collections::BTreeMap,
    env,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

#[path = "pack.rs"]
mod pack;
#[path = "gpu/stale.rs"]
mod stale;

use pack::pack;

fn main() {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("..");
    let kernels = root.join("kernels");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={}", kernels.display());
    let files = sort_files(&kernels);
    let stale = stale::translations(&|name| fs::read(kernels.join(name)).unwrap_or_default());
    if !stale.is_empty() {
        println!(
            "cargo::warning={} of kernels/prebuilt are not what the sources are now ({}, …): the OLD PTX is embedded. Run `python3 kernels/build.py`.",
            stale.len(),
            stale[0]
        );
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    fs::write(out.join("prebuilt.rs"), files.tables(&stale, &out)).expect("OUT_DIR is writable");
}

/// Files under `kernels/`, by relative path.
#[derive(Default)]
struct Files {
    /// Inputs of PTX builds: kernels, headers, the list of modules.
    sources: BTreeMap<String, PathBuf>,
    /// PTX builds, named `<stem>.compute_<capability>[a].ptx`.
    translations: BTreeMap<String, PathBuf>,
}

/// A file with no part in the build is an error, because it would be missing from the program unnoticed.
fn sort_files(kernels: &Path) -> Files {
    let mut files = Files::default();
    for path in list(kernels) {
        let name = path.strip_prefix(kernels).expect("listed from there").to_string_lossy().replace('\\', "/");
        let extension = path.extension().and_then(|x| x.to_str()).unwrap_or_default();
        match (name.as_str(), extension) {
            ("build.py" | "prebuilt/SOURCES", _) => {}
            ("gen/modules.txt", _) | (_, "cu" | "cuh") => drop(files.sources.insert(name, path)),
            (_, "ptx") if translation(&name).is_some() => drop(files.translations.insert(name, path)),
            _ => panic!(
                "kernels/{name}: not a .cu or .cuh file and not named prebuilt/<stem>.compute_<capability>[a].ptx; remove or rename it"
            ),
        }
    }
    files
}

/// Stem and capability of a PTX build, and whether it is specific to that architecture.
fn translation(name: &str) -> Option<(&str, u32, bool)> {
    let (stem, target) = name.strip_prefix("prebuilt/")?.strip_suffix(".ptx")?.rsplit_once(".compute_")?;
    let capability = target.strip_suffix('a');
    Some((stem, capability.unwrap_or(target).parse().ok()?, capability.is_some()))
}

impl Files {
    /// Tables of the PTX builds, of the sources shown in the window, and of stale builds. Writes the compressed texts to
    /// `folder`.
    fn tables(&self, stale: &[String], folder: &Path) -> String {
        let mut out = String::from("/// Every embedded PTX build.\npub const PREBUILT: &[Prebuilt] = &[\n");
        for (family, builds) in self.builds_by_family() {
            let (bundle, ranges) = pack(builds.iter().map(|build| build.2.as_path()), &folder.join(family));
            for ((stem, target, _), (start, len)) in builds.iter().zip(ranges) {
                let _ = writeln!(
                    out,
                    "    Prebuilt {{ stem: {stem:?}, target: {target}, bundle: {bundle}, start: {start}, len: {len} }},"
                );
            }
        }
        let shown: Vec<_> = self.sources.iter().filter(|(name, _)| !name.starts_with("gen/")).collect();
        let (bundle, ranges) = pack(shown.iter().map(|(_, path)| path.as_path()), &folder.join("sources"));
        let docs = "/// Every kernel source: path under `kernels/`, first byte in [`SOURCE_TEXTS`], length.";
        let _ = writeln!(out, "];\n{docs}\npub const SOURCES: &[(&str, usize, usize)] = &[");
        for ((name, _), (start, len)) in shown.iter().zip(ranges) {
            let _ = writeln!(out, "    ({name:?}, {start}, {len}),");
        }
        let _ = writeln!(out, "];\n/// Texts of the kernel sources.\npub const SOURCE_TEXTS: Bundle = {bundle};");
        let docs = "/// PTX builds whose inputs are not the present sources.";
        let _ = writeln!(out, "{docs}\npub const STALE: &[&str] = &{stale:?};");
        out
    }

    /// Stem, target as Rust code and path of every build, by the part of the stem before `_`: builds of one module, and of its
    /// variants for other types, differ little, so that together they compress to a fraction of the size.
    fn builds_by_family(&self) -> BTreeMap<&str, Vec<(&str, String, &PathBuf)>> {
        let mut families: BTreeMap<&str, Vec<(&str, String, &PathBuf)>> = BTreeMap::new();
        for (name, path) in &self.translations {
            let (stem, capability, is_specific) = translation(name).expect("sorted by it");
            let target = format!("Target {{ capability: {capability}, is_specific: {is_specific} }}");
            families.entry(stem.split('_').next().unwrap_or(stem)).or_default().push((stem, target, path));
        }
        families
    }
}

/// Lists all files except hidden ones, which belong to editors.
fn list(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for path in fs::read_dir(folder).into_iter().flatten().filter_map(|e| Some(e.ok()?.path())) {
        let is_hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        if path.is_dir() {
            files.extend(list(&path));
        } else if !is_hidden {
            files.push(path);
        }
    }
    files
}
