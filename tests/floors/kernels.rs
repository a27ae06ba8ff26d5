//! Every `.cu` file defines exactly the kernels that are declared, the generated headers and the embedded
//! PTX are fresh, and with the compiler's wheels at hand (`python3 kernels/build.py --tools-only`) every
//! kernel is compiled and assembled for every architecture without spilling a register. Needs no GPU.

use neuropil::{
    gpu::{ModuleSpec, Target, ceilings, compile::DEVICES, header, launch_cost, module, nvrtc::Nvrtc, selftest},
    kinds::Model,
    nn,
};
use neuropil_test_support::{Need, skip};
use rayon::prelude::*;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    hash::{Hash as _, Hasher as _},
    path::{Path, PathBuf},
    process::Command,
};

fn kernels() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels")
}

pub fn modules() -> Vec<ModuleSpec> {
    let of_kinds = Model::all().into_iter().flat_map(|model| model.modules().iter().copied());
    let of_nn = nn::MODULES.iter().copied().flatten().copied();
    [selftest::Kernels::SPEC, ceilings::Kernels::SPEC, launch_cost::Kernels::SPEC]
        .into_iter()
        .chain(of_nn)
        .chain(of_kinds)
        .collect()
}

/// Whether a file, a stem or a line of modules.txt is declared in this build: the demonstration kind is with its feature.
fn is_compiled(name: &str) -> bool {
    cfg!(feature = "demo") || !(name.starts_with("demo-") || name.starts_with("demo/"))
}

fn compiled_lines(text: &str) -> String {
    text.lines().filter(|line| is_compiled(line)).map(|line| format!("{line}\n")).collect()
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
    let folder = kernels().join("gen");
    let mut wanted = header::all(&modules());
    wanted.insert("modules.txt".to_owned(), header::list(&modules()));
    let found: BTreeMap<String, String> = sources(&folder)
        .iter()
        .map(|path| (path.strip_prefix(&folder).unwrap().display().to_string(), fs::read_to_string(path).unwrap()))
        .filter(|(name, _)| is_compiled(name))
        .map(|(name, text)| (name, compiled_lines(&text)))
        .collect();
    let files: BTreeSet<&String> = wanted.keys().chain(found.keys()).collect();
    let stale: Vec<&str> = files.into_iter().filter(|f| wanted.get(*f) != found.get(*f)).map(String::as_str).collect();
    if std::env::var_os("UPDATE").is_some() {
        if !cfg!(feature = "demo") {
            panic!("update with --features demo, which declares kernels too");
        }
        fs::create_dir_all(folder.join("shared")).unwrap();
        for file in &stale {
            match wanted.get(*file) {
                Some(text) => fs::write(folder.join(file), text).unwrap(),
                None => fs::remove_file(folder.join(file)).unwrap(),
            }
        }
        return;
    }
    assert!(
        stale.is_empty(),
        "kernels/gen/{} no longer says what Rust declares; run `UPDATE=1 cargo test --test floors kernels && python3 kernels/build.py`",
        stale.join(", kernels/gen/")
    );
}

#[test]
fn embedded_ptx_is_fresh() {
    let stale = module::STALE.join(", ");
    assert!(
        stale.is_empty(),
        "not made from the sources, in kernels/prebuilt: {stale}; run `python3 kernels/build.py`"
    );
}

#[test]
fn every_file_defines_exactly_the_declared_kernels() {
    let files: BTreeSet<String> = sources(&kernels())
        .iter()
        .filter(|p| p.extension().is_some_and(|x| x == "cu"))
        .map(|p| p.strip_prefix(kernels()).unwrap().display().to_string())
        .filter(|name| is_compiled(name))
        .collect();
    let declared_files: BTreeSet<String> = modules().iter().map(|m| m.file.to_owned()).collect();
    assert_eq!(files, declared_files, "files under kernels/ (left) and declared modules (right)");
    for spec in modules() {
        assert!(module::choose(&spec.stem(), 75).is_some(), "{}: nothing embedded for compute_75", spec.file);
        for built in module::PREBUILT.iter().filter(|p| p.stem == spec.stem()) {
            let what = format!("{}, {}: kernels defined (left) and declared (right)", spec.file, built.target);
            assert_eq!(entries(&built.ptx()), declared(&spec), "{what}");
        }
        let source = fs::read_to_string(kernels().join(spec.file)).unwrap();
        let branches = source.contains("__CUDA_ARCH__") && spec.compile.targets.len() == 1;
        assert!(!branches, "{} branches on __CUDA_ARCH__ and is compiled for one target only", spec.file);
    }
    let embedded: BTreeSet<(String, Target)> =
        module::PREBUILT.iter().filter(|p| is_compiled(p.stem)).map(|p| (p.stem.to_owned(), p.target)).collect();
    let targets = |spec: ModuleSpec| spec.compile.targets.iter().map(move |target| (spec.stem(), *target));
    let wanted: BTreeSet<(String, Target)> = modules().into_iter().flat_map(targets).collect();
    assert_eq!(embedded, wanted, "embedded translations (left) and declared targets (right)");
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
        skip(Need::Tool, "no kernel was compiled; run `python3 kernels/build.py --tools-only` to fetch the compiler");
        return None;
    }
    let nvrtc = Nvrtc::open(&folder.join("cuda_nvrtc/lib/libnvrtc.so.12")).unwrap();
    Some(Tools { nvrtc, ptxas })
}

#[test]
fn every_kernel_compiles_and_no_register_spills() {
    let Some(tools) = tools() else { return };
    let pairs = |spec: ModuleSpec| spec.compile.targets.iter().map(move |target| (spec, *target));
    let mut pairs: Vec<(ModuleSpec, Target)> = modules().into_iter().flat_map(pairs).collect();
    let built =
        |spec: &ModuleSpec, target| module::PREBUILT.iter().find(|p| p.stem == spec.stem() && p.target == target);
    // The longest first, so that no thread is left with it at the end.
    pairs.sort_by_key(|(spec, target)| std::cmp::Reverse(built(spec, *target).map_or(0, |p| p.len)));
    let compiled = |(spec, target): &(ModuleSpec, Target)| -> Result<Vec<(PathBuf, String)>, String> {
        let source = fs::read_to_string(kernels().join(spec.file)).unwrap();
        let flags = &spec.flags();
        let embedded = built(spec, *target).map(module::Prebuilt::ptx).unwrap_or_default();
        let ptx = cached(&["ptx", &headers(), &source, spec.file, &target.to_string(), &flags.join(" ")], || {
            let compile = || tools.nvrtc.compile(spec.file, &source, &kernels(), *target, flags);
            let is_embedded = |ptx: &Result<String, String>| ptx.as_ref() == Ok(&embedded);
            // Passes of the compiler that go by addresses in its memory may hoist an instruction or not, by what it compiled
            // before: the embedded PTX is one of its translations.
            let mut ptx = compile();
            for _ in 0..10 {
                if ptx.is_err() || is_embedded(&ptx) {
                    break;
                }
                ptx = compile();
            }
            ptx
        });
        let ptx = ptx.map_err(|log| format!("{target}: {log}"))?;
        if entries(&ptx) != declared(spec) {
            return Err(format!("{}: it defines {:?} and declares {:?}", spec.file, entries(&ptx), declared(spec)));
        }
        if embedded != ptx {
            return Err(format!(
                "{}, {target}: the embedded PTX is not what the pinned compiler makes of it",
                spec.file
            ));
        }
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}.{target}.ptx", spec.stem()));
        fs::write(&path, ptx).unwrap();
        let devices = DEVICES.iter().filter(|sm| Target::best(spec.compile.targets, **sm) == Some(*target));
        Ok(devices.map(|sm| (path.clone(), target.architecture(*sm))).collect())
    };
    let assembled = |(path, arch): &(PathBuf, String)| {
        cached(&["assembled", &fs::read_to_string(path).unwrap(), arch], || assemble(&tools, path, arch))
    };
    let jobs: Vec<Result<_, String>> = pairs.par_iter().map(compiled).collect();
    let (jobs, mut faults): (Vec<_>, Vec<_>) = jobs.into_iter().partition(Result::is_ok);
    let jobs: Vec<_> = jobs.into_iter().flatten().flatten().collect();
    let reports: Vec<_> = jobs.par_iter().with_max_len(1).map(assembled).collect();
    for report in reports {
        match report {
            Ok(text) => println!("{text}"),
            Err(fault) => faults.push(Err(fault)),
        }
    }
    let faults: Vec<String> = faults.into_iter().filter_map(Result::err).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Everything that kernels include, and the pinned tools.
fn headers() -> String {
    let mut files = sources(&kernels());
    files.retain(|path| path.extension().is_some_and(|x| x == "cuh" || x == "py"));
    files.sort();
    files.iter().map(|path| fs::read_to_string(path).unwrap()).collect()
}

/// The result of `work` if it succeeded before on the same inputs.
fn cached(inputs: &[&str], work: impl FnOnce() -> Result<String, String>) -> Result<String, String> {
    let mut hash = twox_hash::XxHash64::default();
    inputs.hash(&mut hash);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("kernels");
    let path = folder.join(format!("{:016x}", hash.finish()));
    if let Ok(known) = fs::read_to_string(&path) {
        return Ok(known);
    }
    let result = work()?;
    fs::create_dir_all(&folder).unwrap();
    // Two test runs may write the same file: each writes its own, then renames it.
    let unfinished = folder.join(format!("{:016x}.{}", hash.finish(), std::process::id()));
    fs::write(&unfinished, &result).unwrap();
    fs::rename(unfinished, path).unwrap();
    Ok(result)
}

/// What each kernel costs; `Err` names those that spill.
fn assemble(tools: &Tools, ptx: &Path, arch: &str) -> Result<String, String> {
    let run = Command::new(&tools.ptxas).args([&format!("-arch={arch}"), "-v", "-o", "/dev/null"]).arg(ptx).output();
    let run = run.map_err(|e| format!("{}: {e}", tools.ptxas.display()))?;
    let log = String::from_utf8_lossy(&run.stderr);
    if !run.status.success() {
        return Err(format!("{arch}: {log}"));
    }
    let (mut costs, mut spilled) = (vec![], vec![]);
    for part in log.split("entry function '").skip(1) {
        let name = part.split('\'').next().unwrap_or_default();
        let number_before = |what: &str| {
            let words = part.split(what).next()?.split_whitespace();
            words.last()?.parse::<u32>().ok()
        };
        let spill = number_before(" bytes spill stores").unwrap_or(0);
        costs.push(format!("{arch:<7} {name:<16} {:>3} registers", number_before(" registers").unwrap_or(0)));
        if spill > 0 {
            spilled.push(format!("{arch}: {name} spills {spill} bytes per thread"));
        }
    }
    if spilled.is_empty() { Ok(costs.join("\n")) } else { Err(spilled.join("\n")) }
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
    let flags = &spec.flags();
    let log = tools.nvrtc.compile(spec.file, &swapped, &kernels(), Target::portable(75), flags).unwrap_err();
    assert!(log.contains("apply_twins"), "{log}");
}

#[test]
fn arch_specific_code_compiles_and_assembles() {
    let Some(tools) = tools() else { return };
    let (spec, target) = (selftest::Kernels::SPEC, Target::specific(90));
    let source = fs::read_to_string(kernels().join(spec.file)).unwrap();
    let ptx = tools.nvrtc.compile(spec.file, &source, &kernels(), target, &spec.flags()).unwrap();
    assert!(ptx.contains(".target sm_90a"));
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("specific.{target}.ptx"));
    fs::write(&path, ptx).unwrap();
    assemble(&tools, &path, &target.architecture(90)).unwrap();
    assert!(assemble(&tools, &path, "sm_100").is_err(), "it runs on its own architecture only");
}

#[test]
fn the_newest_known_target_is_taken() {
    let Some(tools) = tools() else { return };
    assert_eq!([75, 86, 90, 120].map(|capability| tools.nvrtc.target(capability)), [75, 86, 90, 90]);
}

/// Numbers in C source, without their suffix.
fn literals(source: &str) -> Vec<f64> {
    let code = source.lines().map(|line| line.split("//").next().unwrap_or_default());
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '_';
    let words = code.flat_map(|line| line.split(move |c| !is_part(c)).collect::<Vec<_>>());
    let number = |word: &str| word.trim_end_matches(['f', 'F']).parse().ok();
    words.filter(|word| word.contains('.')).filter_map(number).collect()
}

/// The factor of attention logits is an argument: 1/sqrt(head) is computed from the configuration, or replaced by it. A
/// generator that printed it into the source (as `0.17677669529663687f`) fixed the head of every model.
#[test]
fn no_kernel_contains_the_factor_of_attention_logits() {
    let is_factor = |x: f64, heads: &[u32]| heads.iter().any(|d| (x * f64::from(*d).sqrt() - 1.0).abs() < 1e-4);
    assert!(is_factor(literals("x * 0.17677669529663687f; // 0.5")[0], &[32]));
    assert_eq!(literals("a.x[2] = 1.5f + 2.0 * b1.y - 3; // 0.25"), [1.5, 2.0]);
    let mut n = 0;
    for path in sources(&kernels().join("nn")) {
        let (source, name) = (fs::read_to_string(&path).unwrap(), path.display().to_string());
        // Powers of two are other things elsewhere.
        let is_attention = name.contains("attention") || name.contains("softmax");
        let heads: &[u32] = if is_attention { &[16, 32, 48, 64, 80, 96, 128, 256] } else { &[32, 48, 80, 96, 128] };
        let found: Vec<f64> = literals(&source).into_iter().filter(|x| is_factor(*x, heads)).collect();
        assert!(found.is_empty(), "{name} contains {found:?}: pass the factor of attention logits as an argument");
        assert!(!(is_attention && source.contains("rsqrt")), "{name} computes a root: pass the factor as an argument");
        n += 1;
    }
    assert!(n > 0);
}
