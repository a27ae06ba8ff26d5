//! Device errors. Each message names the operation and the remedy.

use super::Shape;
use cudarc::driver::DriverError;

/// Failure of an opened device.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum GpuError {
    /// An allocation did not fit into device memory.
    #[error(
        "{what} needs {}, but only {} of the GPU's {} are free; make the model smaller, close other programs that use the GPU, or run on the CPU",
        bytes(*needed), bytes(*free), bytes(*total)
    )]
    OutOfMemory {
        /// Name of the buffer.
        what: &'static str,
        /// Number of bytes requested.
        needed: u64,
        /// Number of bytes free at the request.
        free: u64,
        /// Total memory of the device, bytes.
        total: u64,
    },
    /// A temporary did not fit into its arena.
    #[error(
        "{what} needs {}, but only {} of the {} of {arena} are free; make the model smaller, or run on the CPU",
        bytes(*needed), bytes(*free), bytes(*total)
    )]
    ArenaFull {
        /// Name of the temporary.
        what: &'static str,
        /// Name of the arena.
        arena: &'static str,
        /// Number of bytes requested.
        needed: u64,
        /// Number of bytes free at the request.
        free: u64,
        /// Size of the arena, bytes.
        total: u64,
    },
    /// The driver found no memory for a module, a graph or page-locked memory.
    #[error(
        "{doing}: {why}; the GPU or the memory it shares with the CPU is full: make the model smaller, close other programs that use the GPU, or run on the CPU"
    )]
    Full {
        /// Operation that failed, with sizes.
        doing: String,
        /// Message of the driver.
        why: String,
    },
    /// The device or this program's context on it is lost: every later call fails as well.
    #[error(
        "{doing}: {why}. The GPU is lost to this program; the project and the recording are safe: continue on the CPU, or restart the program"
    )]
    Lost {
        /// Operation that reported the error; an earlier operation may be the cause.
        doing: String,
        /// Message of the driver.
        why: String,
    },
    /// A kernel could not be launched.
    #[error("kernel {kernel} ({threads} threads in blocks of {block}): {why}; run on the CPU until this is mended")]
    Launch {
        /// Name of the kernel.
        kernel: &'static str,
        /// Number of threads requested.
        threads: u32,
        /// Threads per block.
        block: u32,
        /// Message of the driver.
        why: String,
    },
    /// A module could not be compiled or loaded, or lacks a kernel.
    #[error("kernels/{file}: {why}")]
    Module {
        /// File under `kernels/`.
        file: &'static str,
        /// Message of the driver or the compiler.
        why: String,
    },
    /// Lengths of host and device memory differ.
    #[error("{what} holds {device} elements on the GPU, {host} were given")]
    Length {
        /// Name of the buffer.
        what: &'static str,
        /// Number of elements on the device.
        device: usize,
        /// Number of elements on the host.
        host: usize,
    },
    /// A part or shape was requested that the buffer does not have.
    #[error("{what} has the shape {has} on the GPU and was used {asked}")]
    Shape {
        /// Name of the buffer.
        what: &'static str,
        /// Shape of the buffer.
        has: Shape,
        /// Requested part or shape.
        asked: String,
    },
    /// Any other error of the driver.
    #[error("{doing}: {why}; try again, or run on the CPU")]
    Driver {
        /// Operation that failed, with sizes.
        doing: String,
        /// Message of the driver.
        why: String,
    },
}

impl GpuError {
    /// Whether the device is lost: every call on it fails until the program is restarted.
    pub const fn is_sticky(&self) -> bool {
        matches!(self, Self::Lost { .. })
    }

    /// Classifies a driver error by its code; `doing` names the operation.
    pub(super) fn of(doing: String, error: &DriverError) -> Self {
        Self::judged(error.0 as u32, doing, explain(error))
    }

    /// Returns the error of a launch that was rejected or that detected a lost device.
    pub(super) fn launch(kernel: &'static str, threads: u32, block: u32, error: &DriverError) -> Self {
        match Self::of(format!("kernel {kernel} ({threads} threads in blocks of {block})"), error) {
            Self::Driver { why, .. } => Self::Launch { kernel, threads, block, why },
            other => other,
        }
    }

    /// Returns the error of a module that the driver rejected.
    pub(super) fn module(file: &'static str, doing: String, error: &DriverError) -> Self {
        Self::module_judged(file, error.0 as u32, doing, explain(error))
    }

    fn module_judged(file: &'static str, code: u32, doing: String, why: String) -> Self {
        match Self::judged(code, doing, why) {
            Self::Driver { doing, why } => Self::Module { file, why: format!("{doing}: {why}; {}", module_help(code)) },
            other => other,
        }
    }

    fn judged(code: u32, doing: String, why: String) -> Self {
        match code {
            2 => Self::Full { doing, why },
            _ if LOST.contains(&code) => Self::Lost { doing, why },
            _ => Self::Driver { doing, why },
        }
    }
}

/// Driver codes after which a context or its device is lost, as numbers: newer drivers have more codes than the headers of this
/// build.
const LOST: &[u32] = &[
    4,   // deinitialised
    46,  // device unavailable: in exclusive use by another program
    100, // no device, though it was present when it was opened
    214, // uncorrectable ECC error
    220, // uncorrectable NVLink error
    226, // contained memory error
    700, // illegal address
    702, // launch timeout: a display driver's watchdog
    709, // context destroyed
    710, // assertion in a kernel
    714, // hardware stack error
    715, // illegal instruction
    716, // misaligned address
    717, // invalid address space
    718, // invalid program counter
    719, // launch failed
    721, // tensor memory leaked
    802, // system not ready
    806, // MPS server gone
    999, // unknown: reported after a suspend, or after the card was disconnected from the bus
];

/// Returns advice for a rejected module.
const fn module_help(code: u32) -> &'static str {
    match code {
        209 | 218 => {
            "this GPU's architecture is not supported by the kernels: choose another GPU, install a newer driver, or run on the CPU"
        }
        221 | 223 => "the driver's PTX compiler is missing: install the whole driver package, or run on the CPU",
        500 => "the program and its kernels do not belong together: install it again, or run on the CPU",
        222 => "the driver is too old for these kernels: install driver 525 or newer, or run on the CPU",
        _ => "install a newer driver, or run on the CPU",
    }
}

/// Returns advice for a device that cannot be opened.
pub(super) const fn open_help(code: u32) -> &'static str {
    match code {
        2 => "its memory is full: close other programs that use it",
        46 | 101 => "in exclusive use by another program, or it is in an exclusive mode: end that program",
        802 => "its system services are still starting: wait a moment, and see that nvidia-fabricmanager runs",
        803 => "driver and kernel module differ: restart the machine",
        804 => "the compatibility libraries do not fit this GPU: take them out of the library path",
        805..=809 => "see that the MPS server runs",
        999 => "after a suspend or an update: restart the machine",
        _ => "check with `nvidia-smi`",
    }
}

/// Adds the name of the operation to the driver's error.
pub(super) trait Doing<T> {
    /// Converts a driver error to a [`GpuError`]. `doing` returns a phrase such as `reading v_m (140000 × 4 B)`.
    fn doing(self, doing: impl FnOnce() -> String) -> Result<T, GpuError>;
}

impl<T> Doing<T> for Result<T, DriverError> {
    fn doing(self, doing: impl FnOnce() -> String) -> Result<T, GpuError> {
        self.map_err(|e| GpuError::of(doing(), &e))
    }
}

/// Returns the driver's message with its error code.
pub(super) fn explain(error: &DriverError) -> String {
    match error.error_string() {
        Ok(text) => format!("{} ({:?})", text.to_string_lossy(), error.0),
        Err(_) => format!("{:?}", error.0),
    }
}

/// Formats a byte count: `1.50 GiB`.
pub(super) fn bytes(n: u64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut x = n as f64;
    let mut unit = 0;
    while x >= 1024.0 && unit + 1 < units.len() {
        x /= 1024.0;
        unit += 1;
    }
    if unit == 0 { format!("{n} B") } else { format!("{x:.2} {}", units[unit]) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cudarc::driver::sys::CUresult;

    fn judged(code: CUresult) -> GpuError {
        GpuError::judged(code as u32, "reading v".into(), format!("{code:?}"))
    }

    #[test]
    fn out_of_memory_says_needed_and_free() {
        let error = GpuError::OutOfMemory { what: "synapses", needed: 3 << 30, free: 1 << 29, total: 8 << 30 };
        let text = error.to_string();
        assert!(
            text.starts_with("synapses needs 3.00 GiB, but only 512.00 MiB of the GPU's 8.00 GiB are free; "),
            "{text}"
        );
        assert_eq!(bytes(17), "17 B");
    }

    #[test]
    fn a_lost_device_says_what_is_safe_and_where_to_go() {
        use CUresult::*;
        for code in [
            CUDA_ERROR_ILLEGAL_ADDRESS,
            CUDA_ERROR_LAUNCH_FAILED,
            CUDA_ERROR_LAUNCH_TIMEOUT,
            CUDA_ERROR_ECC_UNCORRECTABLE,
            CUDA_ERROR_MISALIGNED_ADDRESS,
            CUDA_ERROR_ILLEGAL_INSTRUCTION,
            CUDA_ERROR_ASSERT,
            CUDA_ERROR_CONTEXT_IS_DESTROYED,
            CUDA_ERROR_SYSTEM_NOT_READY,
            CUDA_ERROR_UNKNOWN,
        ] {
            let error = judged(code);
            assert!(error.is_sticky(), "{code:?}");
            let text = error.to_string();
            assert!(text.starts_with(&format!("reading v: {code:?}. ")), "{text}");
            assert!(text.contains("project and the recording are safe") && text.contains("CPU"), "{text}");
        }
    }

    #[test]
    fn what_passes_is_not_lost() {
        use CUresult::*;
        for code in [CUDA_ERROR_OUT_OF_MEMORY, CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_NOT_READY, CUDA_ERROR_NOT_FOUND] {
            let error = judged(code);
            assert!(!error.is_sticky() && error.to_string().contains("CPU"), "{error}");
        }
        assert!(matches!(judged(CUDA_ERROR_OUT_OF_MEMORY), GpuError::Full { .. }));
    }

    #[test]
    fn a_module_that_is_not_taken_says_which_of_the_two_is_too_old() {
        use CUresult::*;
        let said = |code: CUresult| {
            GpuError::module_judged("a.cu", code as u32, "loading 3 B of PTX".into(), "no".into()).to_string()
        };
        assert!(said(CUDA_ERROR_UNSUPPORTED_PTX_VERSION).contains("driver is too old"));
        assert!(said(CUDA_ERROR_NO_BINARY_FOR_GPU).contains("architecture is not supported"));
        assert!(said(CUDA_ERROR_JIT_COMPILER_NOT_FOUND).contains("PTX compiler is missing"));
        for code in [CUDA_ERROR_NO_BINARY_FOR_GPU, CUDA_ERROR_INVALID_PTX, CUDA_ERROR_INVALID_IMAGE] {
            let text = said(code);
            assert!(text.starts_with("kernels/a.cu: loading 3 B of PTX: no; ") && text.contains("CPU"), "{text}");
        }
        assert!(said(CUDA_ERROR_LAUNCH_FAILED).contains("is lost"));
    }
}
