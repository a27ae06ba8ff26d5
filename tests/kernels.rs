//! Every `.cu` file defines exactly the kernels that are declared, the generated headers and the embedded
//! PTX are fresh, and with the compiler's wheels at hand (`python3 kernels/build.py --tools-only`) every
//! kernel is compiled and assembled for every architecture without spilling a register. Needs no GPU.

use neuropil::{
    gpu::{ModuleSpec, ceilings, module, nvrtc::Nvrtc, selftest},
    kinds::Model,
};
use std::{
    collections::BTreeSet,
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::Command,
};

/// Architectures the program promises to run on: Turing to Blackwell.
const DEVICES: [u32; 7] = [75, 80, 86, 89, 90, 100, 120];

fn kernels() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels")
}

fn modules() -> Vec<ModuleSpec> {
    let of_kinds = Model::all().into_iter().flat_map(|model| model.modules().iter().copied());
    [selftest::Kernels::SPEC, ceilings::Kernels::SPEC].into_iter().chain(of_kinds).collect()
}

fn declared(spec: &ModuleSpec) -> BTreeSet<String> {
    spec.kernels.iter().map(|k| k.name.to_owned()).collect()
}

/// Names behind `.visible .entry`.
fn entries(ptx: &str) -> BTreeSet<String> {
    let names = ptx.split(".visible .entry ").skip(1).filter_map(|rest| rest.split('(').next());
    names.map(|name| name.trim().to_owned()).collect()
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    paths.flat_map(|p| if p.is_dir() { sources(&p) } else { vec![p] }).collect()
}

#[test]
fn generated_headers_are_fresh() {
    let mut stale = Vec::new();
    for spec in modules() {
        let path = kernels().join("gen").join(spec.stem()).with_extension("cuh");
        if fs::read_to_string(&path).ok().as_deref() == Some(&spec.header()) {
            continue;
        }
        if std::env::var_os("UPDATE").is_some() {
            fs::write(&path, spec.header()).unwrap();
        } else {
            stale.push(path.strip_prefix(kernels()).unwrap().display().to_string());
        }
    }
    assert!(
        stale.is_empty(),
        "kernels/{} no longer says what Rust declares; run `UPDATE=1 cargo test --test kernels && python3 kernels/build.py`",
        stale.join(", kernels/")
    );
}

#[test]
fn embedded_ptx_is_fresh() {
    let built_from = fs::read_to_string(kernels().join("prebuilt/SOURCE_HASH")).unwrap();
    let stale = "kernels/ changed since kernels/prebuilt was made; run `python3 kernels/build.py`";
    assert_eq!(module::SOURCE_HASH, built_from.trim(), "{stale}");
}

#[test]
fn every_file_defines_exactly_the_declared_kernels() {
    let files: BTreeSet<String> = sources(&kernels())
        .iter()
        .filter(|p| p.extension().is_some_and(|x| x == "cu"))
        .map(|p| p.strip_prefix(kernels()).unwrap().display().to_string())
        .collect();
    let declared_files: BTreeSet<String> = modules().iter().map(|m| m.file.to_owned()).collect();
    assert_eq!(files, declared_files, "files under kernels/ (left) and declared modules (right)");
    for spec in modules() {
        assert!(module::choose(&spec.stem(), 75).is_some(), "{}: nothing embedded for compute_75", spec.file);
        for built in module::PREBUILT.iter().filter(|p| p.stem == spec.stem()) {
            let what =
                format!("{}, compute_{}: kernels defined (left) and declared (right)", spec.file, built.capability);
            assert_eq!(entries(built.ptx), declared(&spec), "{what}");
        }
    }
}

#[test]
fn every_kernel_has_a_tooltip_and_a_sane_block() {
    for spec in modules() {
        for kernel in spec.kernels {
            assert!(!kernel.docs.trim().is_empty(), "{}: {} has no doc comment", spec.file, kernel.name);
            let fine = kernel.block == 1 || (kernel.block.is_multiple_of(32) && kernel.block <= 1024);
            assert!(fine, "{}: {} has blocks of {}", spec.file, kernel.name, kernel.block);
        }
    }
}

/// Says so on the terminal even when the test runner keeps the output of passing tests to itself.
fn skipped(why: &str) {
    let _ = writeln!(std::io::stderr(), "SKIPPED: {why}");
}

/// The compiler and the assembler from the pinned wheels.
struct Tools {
    nvrtc: Nvrtc,
    ptxas: PathBuf,
}

fn tools() -> Option<Tools> {
    let default = || Path::new(env!("CARGO_MANIFEST_DIR")).join("target/cuda-tools");
    let folder = std::env::var_os("CUDA_TOOLS").map_or_else(default, PathBuf::from).join("nvidia");
    let ptxas = folder.join("cu13/bin/ptxas");
    if !ptxas.exists() {
        skipped("no kernel was compiled; run `python3 kernels/build.py --tools-only` to fetch the compiler");
        return None;
    }
    let nvrtc = Nvrtc::open(&folder.join("cuda_nvrtc/lib/libnvrtc.so.12")).unwrap();
    Some(Tools { nvrtc, ptxas })
}

#[test]
fn every_kernel_compiles_and_no_register_spills() {
    let Some(tools) = tools() else { return };
    let mut faults = Vec::new();
    for spec in modules() {
        let source = fs::read_to_string(kernels().join(spec.file)).unwrap();
        let ptx = match tools.nvrtc.compile(spec.file, &source, &kernels(), 75) {
            Ok(ptx) => ptx,
            Err(log) => {
                faults.push(log);
                continue;
            }
        };
        assert_eq!(entries(&ptx), declared(&spec), "{}: kernels defined (left) and declared (right)", spec.file);
        let embedded = module::choose(&spec.stem(), 75).unwrap().ptx;
        assert!(ptx == embedded, "{}: the embedded PTX is not what the pinned compiler makes of it", spec.file);
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(spec.stem()).with_extension("ptx");
        fs::write(&path, ptx).unwrap();
        for sm in DEVICES {
            faults.extend(assemble(&tools, &path, sm).err());
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Prints what each kernel costs; `Err` names those that spill.
fn assemble(tools: &Tools, ptx: &Path, sm: u32) -> Result<(), String> {
    let run = Command::new(&tools.ptxas).args([&format!("-arch=sm_{sm}"), "-v", "-o", "/dev/null"]).arg(ptx).output();
    let run = run.map_err(|e| format!("{}: {e}", tools.ptxas.display()))?;
    let log = String::from_utf8_lossy(&run.stderr);
    if !run.status.success() {
        return Err(format!("sm_{sm}: {log}"));
    }
    let mut spilled = Vec::new();
    for part in log.split("entry function '").skip(1) {
        let name = part.split('\'').next().unwrap_or_default();
        let number_before = |what: &str| {
            let words = part.split(what).next()?.split_whitespace();
            words.last()?.parse::<u32>().ok()
        };
        let spill = number_before(" bytes spill stores").unwrap_or(0);
        println!("sm_{sm:<4} {name:<16} {:>3} registers", number_before(" registers").unwrap_or(0));
        if spill > 0 {
            spilled.push(format!("sm_{sm}: {name} spills {spill} bytes per thread"));
        }
    }
    if spilled.is_empty() { Ok(()) } else { Err(spilled.join("\n")) }
}

#[test]
fn a_swapped_argument_does_not_compile() {
    let Some(tools) = tools() else { return };
    let spec = selftest::Kernels::SPEC;
    let source = fs::read_to_string(kernels().join(spec.file)).unwrap();
    let swapped = source.replace(
        "unsigned int n, const unsigned int* __restrict__ words, unsigned int*",
        "const unsigned int* __restrict__ words, unsigned int n, unsigned int*",
    );
    assert_ne!(source, swapped);
    let log = tools.nvrtc.compile(spec.file, &swapped, &kernels(), 75).unwrap_err();
    assert!(log.contains("apply_twins"), "{log}");
}

#[test]
fn the_newest_known_target_is_taken() {
    let Some(tools) = tools() else { return };
    assert_eq!([75, 86, 90, 120].map(|capability| tools.nvrtc.target(capability)), [75, 86, 90, 90]);
}
