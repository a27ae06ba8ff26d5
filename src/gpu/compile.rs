//! Flags and targets with which a module is compiled. They are declared with the module, written to `kernels/gen/modules.txt`
//! next to the generated headers, and read there by `kernels/build.py`.

use std::fmt;

/// Architectures for which every kernel is assembled in tests: Turing to Blackwell.
pub const DEVICES: &[u32] = &[75, 80, 86, 89, 90, 100, 120];

/// Architecture for which PTX is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Target {
    /// Compute capability: 75 is 7.5.
    pub capability: u32,
    /// Whether the PTX uses instructions of this architecture only (`compute_90a`: wgmma, TMA multicast), so that it runs on
    /// exactly this capability instead of on every later one.
    pub is_specific: bool,
}

impl Target {
    /// Returns a target such as `compute_75`, which runs on that capability and on every later one.
    pub const fn portable(capability: u32) -> Self {
        Self { capability, is_specific: false }
    }

    /// Returns a target such as `compute_90a`, which runs on that capability only. The pinned compiler supports 90; 100 and 120
    /// need a newer compiler.
    pub const fn specific(capability: u32) -> Self {
        Self { capability, is_specific: true }
    }

    /// Whether a device of this compute capability can load the PTX.
    pub const fn runs_on(self, capability: u32) -> bool {
        if self.is_specific { self.capability == capability } else { self.capability <= capability }
    }

    /// Returns the best target for a device: the highest capability, and the specific target of two with equal capability.
    /// `None` if no target runs on the device.
    pub fn best(of: &[Self], capability: u32) -> Option<Self> {
        of.iter().copied().filter(|t| t.runs_on(capability)).max()
    }

    /// Returns the architecture for which the assembler translates the PTX on a device: `sm_86`, `sm_90a`.
    pub fn architecture(self, device: u32) -> String {
        format!("sm_{device}{}", self.suffix())
    }

    const fn suffix(self) -> &'static str {
        if self.is_specific { "a" } else { "" }
    }
}

/// Formats a target as the compiler and the names of embedded files spell it: `compute_90a`.
impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "compute_{}{}", self.capability, self.suffix())
    }
}

/// Flags and targets of a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compile {
    /// Whether `a * b + c` may be fused to one operation with one rounding; `false` if the bits must match the CPU's.
    pub fuses: bool,
    /// Targets for which the module is compiled; `compute_75` alone runs everywhere. A file that branches on
    /// `__CUDA_ARCH__` lists the targets of its branches.
    pub targets: &'static [Target],
}

impl Compile {
    /// Flags with which every operation rounds as in Rust, for kernels that return the same bits as the CPU backend.
    pub const EXACT: Self = Self { fuses: false, targets: &[Target::portable(75)] };
    /// Flags with which multiply-adds are fused, for kernels that agree with the CPU backend within a tolerance.
    pub const FUSED: Self = Self { fuses: true, ..Self::EXACT };

    /// Targets of a file that branches on `__CUDA_ARCH__` for instructions of Ampere and Hopper.
    pub const PER_GENERATION: &'static [Target] = &[Target::portable(75), Target::portable(80), Target::portable(90)];

    /// Targets of a file that includes `nn/narrow.cuh`: Ampere and later round two floats to 16 bits in one instruction.
    pub const NARROWS: &'static [Target] = &[Target::portable(75), Target::portable(80)];

    /// Returns the flags with other targets.
    pub const fn on(self, targets: &'static [Target]) -> Self {
        Self { targets, ..self }
    }

    /// Returns the options of NVRTC other than target, include folder and definitions of macros.
    pub const fn flags(&self) -> &'static [&'static str] {
        if self.fuses { &["--std=c++17"] } else { &["--std=c++17", "--fmad=false"] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_target_is_the_highest_that_runs() {
        let all = [75, 90, 80].map(Target::portable);
        let best = |capability| Target::best(&all, capability).map(|t| t.capability);
        assert_eq!([70, 75, 86, 90, 120].map(best), [None, Some(75), Some(80), Some(90), Some(90)]);
    }

    #[test]
    fn a_specific_target_runs_on_its_own_architecture_only() {
        let all = [Target::specific(90), Target::portable(90), Target::portable(75)];
        let best = |capability| Target::best(&all, capability).map(|t| t.to_string());
        assert_eq!([89, 90, 100].map(best), ["compute_75", "compute_90a", "compute_90"].map(|t| Some(t.to_owned())));
        assert_eq!(Target::specific(90).architecture(90), "sm_90a");
        assert_eq!(Target::portable(75).architecture(86), "sm_86");
    }

    #[test]
    fn only_fused_modules_lack_the_flag_that_keeps_bits() {
        const HOPPER: &[Target] = &[Target::portable(75), Target::specific(90)];
        assert!(Compile::EXACT.on(HOPPER).flags().contains(&"--fmad=false"));
        assert!(!Compile::FUSED.on(HOPPER).flags().contains(&"--fmad=false"));
    }
}
