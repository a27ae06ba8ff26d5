//! Selects the PTX of a module: embedded, or compiled at run time during kernel development.

use super::{Gpu, GpuError, ModuleSpec, OpenError, Target, compiling, error::bytes, nvrtc::Nvrtc};
use crate::num::bundle::Bundle;
use cudarc::{
    driver::{CudaFunction, CudaModule},
    nvrtc::Ptx,
};
use std::{
    collections::BTreeMap,
    path::Path,
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Instant,
};

/// Embedded PTX of a module for one target.
#[derive(Clone, Copy, Debug)]
pub struct Prebuilt {
    /// Stem of the module, as in [`ModuleSpec::stem`].
    pub stem: &'static str,
    /// Target for which the PTX was compiled.
    pub target: Target,
    /// PTX of the module and its variants for all targets.
    pub bundle: Bundle,
    /// First byte of this PTX in the texts of `bundle`.
    pub start: usize,
    /// Length of this PTX, bytes.
    pub len: usize,
}

impl Prebuilt {
    /// Decompresses the PTX.
    pub fn ptx(&self) -> String {
        self.bundle.text()[self.start..self.start + self.len].into()
    }
}

include!(concat!(env!("OUT_DIR"), "/prebuilt.rs"));

/// Environment variable that names a folder with kernel sources. Modules are then compiled from these sources when they are
/// loaded, by the installed NVRTC. The variable is for kernel development only.
pub const SOURCES_VARIABLE: &str = "NEUROPIL_KERNELS";

/// Returns the embedded PTX for a device: the highest target that the device supports, architecture-specific before portable.
/// `None` if there is no such target.
pub fn choose(stem: &str, capability: u32) -> Option<&'static Prebuilt> {
    choose_among(PREBUILT, stem, capability)
}

fn choose_among<'a>(all: &'a [Prebuilt], stem: &str, capability: u32) -> Option<&'a Prebuilt> {
    all.iter().filter(|p| p.stem == stem && p.target.runs_on(capability)).max_by_key(|p| p.target)
}

/// Module of a device while it is in use. The lock is held while the module is loaded, so that simulations that start together load
/// it once.
type Entry = Mutex<Weak<CudaModule>>;

/// Modules that a device has loaded, by [`ModuleSpec::stem`].
#[derive(Default)]
pub(super) struct Loaded(Mutex<BTreeMap<String, Arc<Entry>>>);

impl Loaded {
    fn entry(&self, stem: &str) -> Arc<Entry> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(stem.to_owned()).or_default().clone()
    }

    /// Whether a module is loaded. Returns false while it is being loaded.
    fn has(&self, stem: &str) -> bool {
        self.entry(stem).try_lock().is_ok_and(|module| module.strong_count() > 0)
    }
}

impl Gpu {
    /// Announces the modules that a simulation will load, to show the progress of their compilation, without loading them.
    /// Ignores modules that are already loaded or have no PTX for this device.
    pub fn expect_modules(&self, specs: &[ModuleSpec]) {
        let missing = specs.iter().filter(|spec| !self.modules.has(&spec.stem()));
        let sized = missing.filter_map(|spec| Some((spec.id(), choose(&spec.stem(), self.capability)?.len as u64)));
        compiling::expect(sized.collect());
    }
}

/// A loaded module.
pub struct Module {
    /// Declaration of the module.
    pub spec: ModuleSpec,
    pub(super) gpu: Arc<Gpu>,
    module: Arc<CudaModule>,
}

impl Module {
    /// Loads the best PTX, unless the device has loaded the module. The driver assembles the PTX for the device once and caches
    /// the result. Fails if no PTX runs on the device or the driver rejects it.
    pub fn load(gpu: &Arc<Gpu>, spec: &ModuleSpec) -> Result<Self, GpuError> {
        let failed = |why: String| GpuError::Module { file: spec.file, why };
        let stem = spec.stem();
        let entry = gpu.modules.entry(&stem);
        let mut loaded = entry.lock().unwrap_or_else(PoisonError::into_inner);
        let ptx = match std::env::var_os(SOURCES_VARIABLE) {
            // The sources may have changed since the module was loaded, so a loaded module is not reused.
            Some(folder) => compile(Path::new(&folder), spec, gpu.capability).map_err(failed)?,
            None => {
                if let Some(module) = loaded.upgrade() {
                    return Ok(Self { spec: *spec, gpu: gpu.clone(), module });
                }
                let none = || failed(OpenError::old_device(&gpu.name, gpu.capability).to_string());
                choose(&stem, gpu.capability).ok_or_else(none)?.ptx()
            }
        };
        let size = ptx.len() as u64;
        let (_loading, since) = (compiling::begin(spec.id(), size), Instant::now());
        let module = gpu
            .context
            .load_module(Ptx::from_src(ptx))
            .map_err(|e| GpuError::module(spec.file, format!("loading {} of PTX", bytes(size)), &e))?;
        tracing::debug!("{} loaded in {:.1?}, {} of PTX", spec.id(), since.elapsed(), bytes(size));
        *loaded = Arc::downgrade(&module);
        Ok(Self { spec: *spec, gpu: gpu.clone(), module })
    }

    /// Looks up a kernel by name. Fails if the module lacks the kernel.
    pub(super) fn function(&self, name: &str) -> Result<CudaFunction, GpuError> {
        self.module
            .load_function(name)
            .map_err(|e| GpuError::module(self.spec.file, format!("looking for the kernel `{name}`"), &e))
    }

    #[doc(hidden)]
    pub fn lacks(&self, what: &str) -> GpuError {
        GpuError::Module { file: self.spec.file, why: format!("lacks {what}") }
    }
}

fn compile(folder: &Path, spec: &ModuleSpec, capability: u32) -> Result<String, String> {
    let path = folder.join(spec.file);
    let source = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    let nvrtc = Nvrtc::find()?;
    let target = match Target::best(spec.compile.targets, capability) {
        Some(target) if target.is_specific => target,
        _ => Target::portable(nvrtc.target(capability)),
    };
    nvrtc.compile(spec.file, &source, folder, target, &spec.flags())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_that_runs_is_chosen() {
        let of = |target| Prebuilt { stem: "a", target, bundle: Bundle { packed: &[], len: 0 }, start: 0, len: 0 };
        let [t75, t80] = [75, 80].map(Target::portable);
        let all = [of(t75), of(Target::specific(90)), of(t80), Prebuilt { stem: "b", ..of(t75) }];
        let chosen = |capability| choose_among(&all, "a", capability).map(|p| p.target);
        let want = [None, Some(t75), Some(t80), Some(Target::specific(90)), Some(t80)];
        assert_eq!([70, 75, 86, 90, 120].map(chosen), want);
    }

    #[test]
    fn every_ptx_build_unpacks_to_its_length() {
        for built in PREBUILT {
            let ptx = built.ptx();
            assert_eq!(ptx.len(), built.len, "{}.{}", built.stem, built.target);
            assert!(ptx.contains(".visible .entry"), "{}.{}", built.stem, built.target);
        }
        assert!(choose("selftest", 75).is_some());
    }
}
