//! Declarations of modules: the input of the compiler and the kernels that a module defines.

use super::{
    Compile, KernelSpec,
    layout::{Constants, Definition},
};
use std::fmt;

/// Declaration of a module: a `.cu` file, the macros that are defined for it, and the kernels that it must define.
#[derive(Clone, Copy, Debug)]
pub struct ModuleSpec {
    /// Path of the file under `kernels/`.
    pub file: &'static str,
    /// Name of the module among those compiled from the file: `bf16`. One of these modules may have an empty name.
    pub variant: &'static str,
    /// Options of NVRTC that define macros of the file: `-DELEMENT=bf16`.
    pub defines: &'static [&'static str],
    /// Kernels in launch order.
    pub kernels: &'static [KernelSpec],
    /// Definitions of the device structs that the kernels take.
    pub structs: fn() -> Vec<Definition>,
    /// Constants that the kernels share with the host.
    pub constants: &'static [Constants],
    /// Compiler flags and targets.
    pub compile: Compile,
}

impl ModuleSpec {
    /// Returns the id of the module.
    pub const fn id(&self) -> ModuleId {
        ModuleId { file: self.file, variant: self.variant }
    }

    /// Returns the stem of the generated header: `spiking/step.cu` gives `spiking-step`, `common/selftest.cu` gives `selftest`.
    pub fn file_stem(&self) -> String {
        self.file.trim_start_matches("common/").trim_end_matches(".cu").replace('/', "-")
    }

    /// Returns the stem of the embedded PTX: `spiking-step_f64`.
    pub fn stem(&self) -> String {
        self.file_stem() + &suffix(self.variant)
    }

    /// Returns the options of NVRTC other than target and include folder.
    pub fn flags(&self) -> Vec<&'static str> {
        [self.compile.flags(), self.defines].concat()
    }
}

/// Id of a module: path of the file under `kernels/`, and name among the modules compiled from the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModuleId {
    /// Path of the file under `kernels/`.
    pub file: &'static str,
    /// Name among the modules compiled from the file, see [`ModuleSpec::variant`].
    pub variant: &'static str,
}

/// Formats the id as `nn/softmax_bf16`.
impl fmt::Display for ModuleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.file.trim_end_matches(".cu"), suffix(self.variant))
    }
}

fn suffix(variant: &str) -> String {
    if variant.is_empty() { String::new() } else { format!("_{variant}") }
}
