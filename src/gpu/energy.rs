//! Energy that a GPU has used, from the counter of the driver's management library (NVML).

use cudarc::driver::result;
use libloading::Library;
use std::{
    ffi::{CString, c_char, c_int, c_uint, c_ulonglong, c_void},
    ptr::null_mut,
};

/// Value that an NVML function returns on success.
const SUCCESS: c_int = 0;

type Init = unsafe extern "C" fn() -> c_int;
type HandleByBusId = unsafe extern "C" fn(*const c_char, *mut *mut c_void) -> c_int;
type TotalEnergy = unsafe extern "C" fn(*mut c_void, *mut c_ulonglong) -> c_int;

/// Counter of the energy of one GPU.
pub struct EnergyCounter {
    read: TotalEnergy,
    device: *mut c_void,
    /// Keeps the functions loaded.
    _library: Library,
}

impl EnergyCounter {
    /// Opens the counter of a GPU; `None` without NVML, or if the GPU has no counter (before Volta).
    pub fn open(gpu: &super::Gpu) -> Option<Self> {
        let name = if cfg!(windows) { "nvml.dll" } else { "libnvidia-ml.so.1" };
        let bus = CString::new(bus_id(gpu)?).ok()?;
        let mut device = null_mut();
        // SAFETY: loading NVML runs its initialisers only; the signatures are those of nvml.h.
        let (library, read) = unsafe {
            let library = Library::new(name).ok()?;
            let init = *library.get::<Init>(b"nvmlInit_v2\0").ok()?;
            let handle = *library.get::<HandleByBusId>(b"nvmlDeviceGetHandleByPciBusId_v2\0").ok()?;
            let read = *library.get::<TotalEnergy>(b"nvmlDeviceGetTotalEnergyConsumption\0").ok()?;
            if init() != SUCCESS || handle(bus.as_ptr(), &raw mut device) != SUCCESS {
                return None;
            }
            (library, read)
        };
        let counter = Self { read, device, _library: library };
        counter.joules().map(|_| counter)
    }

    /// Returns the energy used since the driver was loaded, J; `None` if the counter fails. The counter advances about every 20
    /// to 100 ms.
    pub fn joules(&self) -> Option<f64> {
        let mut millijoules: c_ulonglong = 0;
        // SAFETY: the handle belongs to the loaded library.
        let state = unsafe { (self.read)(self.device, &raw mut millijoules) };
        (state == SUCCESS).then_some(millijoules as f64 * 1e-3)
    }
}

/// Returns the PCI address of a GPU as NVML writes it; `None` if the driver fails.
fn bus_id(gpu: &super::Gpu) -> Option<String> {
    use cudarc::driver::sys::CUdevice_attribute as Attribute;
    let device = gpu.context.cu_device();
    // SAFETY: the device exists as long as its context.
    let get = |of| unsafe { result::device::get_attribute(device, of) }.ok().map(|value| value as c_uint);
    let domain = get(Attribute::CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID)?;
    let (bus, slot) =
        (get(Attribute::CU_DEVICE_ATTRIBUTE_PCI_BUS_ID)?, get(Attribute::CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID)?);
    Some(format!("{domain:08x}:{bus:02x}:{slot:02x}.0"))
}
