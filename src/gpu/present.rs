//! Lists the devices of the driver without opening one.

use super::{OpenError, probe};
use cudarc::driver::{DriverError, result, sys};

/// A device that the driver lists; opening it may fail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Present {
    /// Ordinal of the driver, from 0, as in `cuda:0`.
    pub ordinal: usize,
    /// Name that the driver reports.
    pub name: String,
    /// Compute capability: 90 means 9.0.
    pub capability: u32,
    /// Total memory, bytes.
    pub memory: u64,
}

/// Lists all devices in the order of the driver. Never panics; without devices the list is empty. Fails if the driver is
/// missing, too old or returns an error.
pub fn present() -> Result<Vec<Present>, OpenError> {
    probe::probe()?;
    let count = match result::init().and_then(|()| result::device::get_count()) {
        Ok(n) => n,
        Err(e) if e.0 == sys::CUresult::CUDA_ERROR_NO_DEVICE => 0,
        Err(e) => return Err(OpenError::driver(&e)),
    };
    (0..count).map(facts).collect::<Result<_, _>>().map_err(|e| OpenError::driver(&e))
}

fn facts(ordinal: i32) -> Result<Present, DriverError> {
    use sys::CUdevice_attribute_enum as Attribute;
    let device = result::device::get(ordinal)?;
    // SAFETY: the driver has just listed the device.
    let (memory, major, minor) = unsafe {
        (
            result::device::total_mem(device)?,
            result::device::get_attribute(device, Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
            result::device::get_attribute(device, Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
        )
    };
    Ok(Present {
        ordinal: ordinal.unsigned_abs() as usize,
        name: result::device::get_name(device)?,
        capability: (major * 10 + minor).unsigned_abs(),
        memory: memory as u64,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listing_never_panics() {
        match present() {
            Ok(all) => all.iter().for_each(|p| eprintln!("cuda:{} {}, {} B", p.ordinal, p.name, p.memory)),
            Err(e) => assert!(e.to_string().contains("CPU"), "{e}"),
        }
    }
}
