//! Checks for a usable driver before the first call of `cudarc`, which panics if a library or a symbol is missing.

use super::{
    Present,
    error::{explain, open_help},
};
use libloading::Library;
use std::ffi::c_int;

/// Reason why no device could be opened. Each message states the remedy.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum OpenError {
    /// The driver library is missing or is a stub.
    #[error("no NVIDIA driver was found ({0}); simulations run on the CPU until one is installed")]
    NoDriver(String),
    /// The driver is too old for the embedded kernels.
    #[error(
        "the NVIDIA driver supports CUDA {}.{}, and 12.0 is needed; install driver 525 or newer, or run on the CPU",
        .0 / 1000, .0 % 1000 / 10
    )]
    OldDriver(i32),
    /// The driver is present but returns an error.
    #[error("the NVIDIA driver answered: {why}; {help}, or run on the CPU")]
    Driver {
        /// Message of the driver.
        why: String,
        /// Advice for the user.
        help: &'static str,
    },
    /// The device is older than the embedded kernels.
    #[error(
        "{name} has compute capability {}.{}, and {}.{} (Turing) is needed; choose another GPU, or run on the CPU",
        .capability / 10, .capability % 10, OLDEST_DEVICE / 10, OLDEST_DEVICE % 10
    )]
    OldDevice {
        /// Name of the device.
        name: String,
        /// Compute capability of the device: 61 means 6.1.
        capability: u32,
    },
    /// The driver lists no such device.
    #[error(
        "no GPU number {wanted}: the NVIDIA driver lists {}; choose another, check CUDA_VISIBLE_DEVICES, or run on the CPU",
        listed(present)
    )]
    NoDevice {
        /// Ordinal that was requested.
        wanted: usize,
        /// Devices that the driver lists.
        present: Vec<Present>,
    },
}

/// Oldest driver that can load the embedded kernels (PTX 8.0), in the units of `cuDriverGetVersion`.
pub const OLDEST_DRIVER: i32 = 12_000;

/// Lowest compute capability that the embedded kernels are compiled for: 75 is 7.5.
pub const OLDEST_DEVICE: u32 = 75;

/// Lists devices: `cuda:0 NVIDIA H100, cuda:1 NVIDIA L4`.
fn listed(present: &[Present]) -> String {
    let names: Vec<String> = present.iter().map(|p| format!("cuda:{} {}", p.ordinal, p.name)).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

impl OpenError {
    pub(super) fn driver(error: &cudarc::driver::DriverError) -> Self {
        Self::Driver { why: explain(error), help: open_help(error.0 as u32) }
    }

    pub(super) fn old_device(name: &str, capability: u32) -> Self {
        Self::OldDevice { name: name.to_owned(), capability }
    }
}

const LIBRARIES: &[&str] = if cfg!(windows) { &["nvcuda.dll"] } else { &["libcuda.so.1", "libcuda.so"] };

/// Loads the driver library permanently and returns the CUDA version that the driver supports (12020 means 12.2). Never panics;
/// fails if the driver is missing or too old.
pub fn probe() -> Result<i32, OpenError> {
    probe_among(LIBRARIES)
}

fn probe_among(names: &[&str]) -> Result<i32, OpenError> {
    let mut why = String::new();
    for name in names {
        match version_of(name) {
            Ok(version) if version >= OLDEST_DRIVER => return Ok(version),
            Ok(version) => return Err(OpenError::OldDriver(version)),
            Err(e) if why.is_empty() => why = e,
            Err(_) => {}
        }
    }
    Err(OpenError::NoDriver(why))
}

fn version_of(name: &str) -> Result<i32, String> {
    // SAFETY: loading the driver runs its initialisers, as in every CUDA program.
    let library = unsafe { Library::new(name) }.map_err(|e| root_cause(&e))?;
    let mut version: c_int = 0;
    // SAFETY: both signatures are those of cuda.h; `version` outlives the call. cuInit is only looked up: a stub library has
    // neither function.
    let code = unsafe {
        library.get::<unsafe extern "C" fn(u32) -> c_int>(b"cuInit\0").map_err(|_| format!("{name} is a stub"))?;
        let get = library
            .get::<unsafe extern "C" fn(*mut c_int) -> c_int>(b"cuDriverGetVersion\0")
            .map_err(|_| format!("{name} is a stub"))?;
        get(&mut version)
    };
    std::mem::forget(library); // cudarc loads the driver again, so unloading it in between is useless
    if code == 0 { Ok(version) } else { Err(format!("{name}: cuDriverGetVersion answered {code}")) }
}

/// Returns the message of the innermost error, because `libloading` wraps the loader's message.
fn root_cause(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_library_is_a_sentence() {
        let error = probe_among(&["libneuropil-none.so.1", "libneuropil-none.so"]).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("libneuropil-none.so.1") && text.contains("run on the CPU"), "{text}");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_library_without_the_symbols_is_a_stub() {
        let Err(OpenError::NoDriver(why)) = probe_among(&["libm.so.6"]) else { panic!("libm is no driver") };
        assert_eq!(why, "libm.so.6 is a stub");
    }

    #[test]
    fn every_refusal_is_another_sentence_with_the_way_out() {
        let h100 = Present { ordinal: 0, name: "NVIDIA H100".into(), capability: 90, memory: 80 << 30 };
        let refusals = [
            OpenError::NoDriver("libcuda.so.1: not found".into()),
            OpenError::OldDriver(11_040),
            OpenError::Driver { why: "busy".into(), help: open_help(46) },
            OpenError::Driver { why: "busy".into(), help: open_help(802) },
            OpenError::Driver { why: "busy".into(), help: open_help(803) },
            OpenError::NoDevice { wanted: 1, present: vec![h100.clone()] },
            OpenError::NoDevice { wanted: 0, present: vec![] },
            OpenError::old_device("GTX 1080", 61),
        ];
        let mut said: Vec<String> = refusals.iter().map(ToString::to_string).collect();
        assert!(said.iter().all(|s| s.contains("CPU")), "{said:#?}");
        assert!(said[1].contains("CUDA 11.4,"));
        assert!(said[5].contains("no GPU number 1") && said[5].contains("lists cuda:0 NVIDIA H100;"), "{}", said[5]);
        assert!(said[6].contains("lists none;"), "{}", said[6]);
        assert!(said[7].contains("GTX 1080 has compute capability 6.1, and 7.5"));
        said.sort();
        said.dedup();
        assert_eq!(said.len(), refusals.len());
    }
}
