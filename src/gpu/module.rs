//! Which PTX a module is loaded from: the embedded one, or, while kernels are being written, one compiled
//! at run time.
//!
//! The driver compiles PTX for the device when it is loaded the first time on a machine, for all kernels of a text, one text at
//! a time whatever the number of threads. A module of an operation on tensors has kernels for many sizes, of which a model
//! launches few: each of them is loaded as a text of its own when it is first launched. On an H100, attention with dropout
//! takes 1.5 s instead of 6.5 s of them for heads of 64.

use super::{Gpu, GpuError, ModuleSpec, OpenError, Target, compiling, error::bytes, nvrtc::Nvrtc};
use cudarc::{
    driver::{CudaFunction, CudaModule},
    nvrtc::Ptx,
};
use std::{path::Path, sync::Arc};

/// One embedded translation of one `.cu` file.
#[derive(Clone, Copy, Debug)]
pub struct Prebuilt {
    /// [`ModuleSpec::stem`].
    pub stem: &'static str,
    /// What it was made for.
    pub target: Target,
    /// The text.
    pub ptx: &'static str,
}

include!(concat!(env!("OUT_DIR"), "/prebuilt.rs"));

/// A folder with kernel sources: modules are then compiled from it when they are loaded, with whatever
/// NVRTC the machine has. For kernel development only.
pub const SOURCES_VARIABLE: &str = "NEUROPIL_KERNELS";

/// The embedded translation for a device: the one for the highest capability it has, arch-specific first.
pub fn choose(stem: &str, capability: u32) -> Option<&'static Prebuilt> {
    choose_among(PREBUILT, stem, capability)
}

fn choose_among<'a>(all: &'a [Prebuilt], stem: &str, capability: u32) -> Option<&'a Prebuilt> {
    all.iter().filter(|p| p.stem == stem && p.target.runs_on(capability)).max_by_key(|p| p.target)
}

/// A module.
#[derive(Clone)]
pub struct Module {
    /// What it was declared as.
    pub spec: ModuleSpec,
    pub(super) gpu: Arc<Gpu>,
    source: Source,
}

/// Where the kernels of a module are.
#[derive(Clone)]
enum Source {
    /// All of them are loaded.
    Loaded(Arc<CudaModule>),
    /// Each is loaded from this PTX when it is first used.
    ByKernel(&'static str),
}

impl Module {
    /// Chooses the best translation and loads it, unless that is done kernel by kernel. The driver compiles it for the device once
    /// and keeps the result.
    pub fn load(gpu: &Arc<Gpu>, spec: &ModuleSpec) -> Result<Self, GpuError> {
        let failed = |why: String| GpuError::Module { file: spec.file, why };
        let ptx = match std::env::var_os(SOURCES_VARIABLE) {
            // Kept for the rest of a program that kernels are being written with.
            Some(folder) => compile(Path::new(&folder), spec, gpu.capability).map_err(failed)?.leak(),
            None => {
                let none = || failed(OpenError::old_device(&gpu.name, gpu.capability).to_string());
                choose(&spec.stem(), gpu.capability).ok_or_else(none)?.ptx
            }
        };
        let module = Self { spec: *spec, gpu: gpu.clone(), source: Source::ByKernel(ptx) };
        match spec.is_loaded_by_kernel() {
            true => Ok(module),
            false => Ok(Self { source: Source::Loaded(module.load_text(ptx, spec.file)?), ..module }),
        }
    }

    /// Loads a text, for a module or one of its kernels.
    fn load_text(&self, ptx: &str, what: &'static str) -> Result<Arc<CudaModule>, GpuError> {
        let size = ptx.len() as u64;
        let (_loading, begin) = (compiling::begin(what), std::time::Instant::now());
        let module = self
            .gpu
            .context
            .load_module(Ptx::from_src(ptx))
            .map_err(|e| GpuError::module(self.spec.file, format!("loading {} of PTX", bytes(size)), &e))?;
        tracing::debug!("{what} ({}) loaded in {:.1?}", bytes(size), begin.elapsed());
        Ok(module)
    }

    /// A kernel by name.
    pub(super) fn function(&self, name: &'static str) -> Result<CudaFunction, GpuError> {
        let module = match &self.source {
            Source::Loaded(module) => module.clone(),
            Source::ByKernel(ptx) => match kernel_text(ptx, name) {
                Some(text) => self.load_text(&text, name)?,
                None => self.load_text(ptx, self.spec.file)?,
            },
        };
        module
            .load_function(name)
            .map_err(|e| GpuError::module(self.spec.file, format!("looking for the kernel `{name}`"), &e))
    }

    #[doc(hidden)]
    pub fn lacks(&self, what: &str) -> GpuError {
        GpuError::Module { file: self.spec.file, why: format!("lacks {what}") }
    }
}

/// The PTX of one kernel: the text without the other kernels. `None` where it is not found.
fn kernel_text(ptx: &str, name: &str) -> Option<String> {
    const ENTRY: &str = "\n.visible .entry ";
    let (mut shared, mut kernel, mut rest) = (String::new(), None, ptx);
    while let Some(start) = rest.find(ENTRY) {
        let (before, entry) = rest.split_at(start + 1);
        // The line break stays in front of what follows.
        let mut ends = entry.match_indices("\n}\n").map(|(at, _)| at + 2);
        let end = ends.find(|end| entry[..*end].matches('{').count() == entry[..*end].matches('}').count())?;
        shared.push_str(before);
        if entry[ENTRY.len() - 1..].split(|c: char| !c.is_alphanumeric() && c != '_').next() == Some(name) {
            kernel = Some(&entry[..end]);
        }
        rest = &entry[end..];
    }
    shared.push_str(rest);
    shared.push_str(kernel?);
    Some(shared)
}

fn compile(folder: &Path, spec: &ModuleSpec, capability: u32) -> Result<String, String> {
    let path = folder.join(spec.file);
    let source = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    let nvrtc = Nvrtc::find()?;
    let target = match Target::best(spec.compile.targets, capability) {
        Some(target) if target.is_specific => target,
        _ => Target::portable(nvrtc.target(capability)),
    };
    nvrtc.compile(spec.file, &source, folder, target, spec.compile.flags())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_that_runs_is_chosen() {
        let of = |target| Prebuilt { stem: "a", target, ptx: "" };
        let [t75, t80] = [75, 80].map(Target::portable);
        let all = [of(t75), of(Target::specific(90)), of(t80), Prebuilt { stem: "b", ..of(t75) }];
        let chosen = |capability| choose_among(&all, "a", capability).map(|p| p.target);
        let want = [None, Some(t75), Some(t80), Some(Target::specific(90)), Some(t80)];
        assert_eq!([70, 75, 86, 90, 120].map(chosen), want);
    }

    /// One kernel each, with everything that is no kernel.
    #[test]
    fn kernels_are_taken_out_of_a_text() {
        let text = "//\n.version 8.0\n.target sm_80\n\n.global .f32 K = 1;\n// .globl a_b\n.visible .entry a_b(\n)\n{\n{\nret;\n}\n}\n                    .func helper()\n{\nret;\n}\n.visible .entry a(\n.param .u32 p\n)\n.maxntid 256\n{\nx;\n}\n";
        let a = kernel_text(text, "a").expect("it is there");
        assert!(a.contains(".entry a(\n.param") && a.contains(".func helper") && a.contains("K = 1;"), "{a}");
        assert!(!a.contains("a_b(") && a.matches(".entry").count() == 1 && a.starts_with("//\n.version 8.0"), "{a}");
        assert_eq!(kernel_text(text, "b"), None);
    }

    #[test]
    fn every_kernel_of_an_operation_is_found_in_its_text() {
        let operations: Vec<_> = PREBUILT.iter().filter(|built| built.stem.starts_with("nn-")).collect();
        assert!(operations.len() > 50);
        for built in operations {
            let names = built.ptx.split(".visible .entry ").skip(1).filter_map(|rest| rest.split('(').next());
            for name in names {
                let text = kernel_text(built.ptx, name).unwrap_or_default();
                assert!(text.contains(&format!(".entry {name}(")), "{} {name}", built.stem);
                assert_eq!(text.matches(".visible .entry").count(), 1, "{} {name}", built.stem);
            }
        }
    }

    #[test]
    fn the_self_test_is_embedded() {
        assert!(choose("selftest", 75).is_some_and(|p| p.ptx.contains(".visible .entry")));
    }
}
