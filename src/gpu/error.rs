//! What can go wrong on the device, said with the place and the way out.

use cudarc::driver::DriverError;

/// A failure of the device after it was opened.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum GpuError {
    /// An allocation did not fit.
    #[error(
        "{what} needs {}, but only {} of the GPU's {} are free; make the model smaller, close other programs that use the GPU, or run on the CPU",
        bytes(*needed), bytes(*free), bytes(*total)
    )]
    OutOfMemory {
        /// Which buffer.
        what: &'static str,
        /// Bytes asked for.
        needed: u64,
        /// Bytes free when it was asked for.
        free: u64,
        /// Bytes the device has.
        total: u64,
    },
    /// A kernel could not be launched.
    #[error("kernel {kernel} ({threads} threads in blocks of {block}): {why}")]
    Launch {
        /// Its name.
        kernel: &'static str,
        /// Threads asked for.
        threads: u32,
        /// Threads per block.
        block: u32,
        /// The driver's words.
        why: String,
    },
    /// A module could not be compiled or loaded, or lacks a kernel.
    #[error("kernels/{file}: {why}")]
    Module {
        /// File under `kernels/`.
        file: &'static str,
        /// The driver's or the compiler's words.
        why: String,
    },
    /// Lengths of host and device disagree.
    #[error("{what} holds {device} elements on the GPU, {host} were given")]
    Length {
        /// Which buffer.
        what: &'static str,
        /// Elements on the device.
        device: usize,
        /// Elements on the host.
        host: usize,
    },
    /// Anything else the driver refused.
    #[error("{doing}: {why}")]
    Driver {
        /// What was being done, with sizes.
        doing: String,
        /// The driver's words.
        why: String,
    },
}

/// Adds what was being done to the driver's answer.
pub(super) trait Doing<T> {
    /// `doing` is a phrase such as `reading v_m (140000 × 4 B)`.
    fn doing(self, doing: impl FnOnce() -> String) -> Result<T, GpuError>;
}

impl<T> Doing<T> for Result<T, DriverError> {
    fn doing(self, doing: impl FnOnce() -> String) -> Result<T, GpuError> {
        self.map_err(|e| GpuError::Driver { doing: doing(), why: explain(&e) })
    }
}

/// The driver's own sentence with the code people search for.
pub(super) fn explain(error: &DriverError) -> String {
    match error.error_string() {
        Ok(text) => format!("{} ({:?})", text.to_string_lossy(), error.0),
        Err(_) => format!("{:?}", error.0),
    }
}

/// `1.50 GiB`.
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
}
