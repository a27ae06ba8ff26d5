//! The CUDA device. This module is the only one that names `cudarc`, and it depends on no simulation.
//!
//! [`Gpu::open`] opens a device and never panics. [`device_struct!`](crate::device_struct) and
//! [`kernels!`](crate::kernels) declare what Rust and CUDA share. [`Buf`], [`Pinned`] and [`Cell`] own memory,
//! [`Arena`] lends it to temporaries, [`Graph`] replays a captured step, [`Pass`] measures, [`nvtx`] names time ranges
//! for NVIDIA's profilers, [`selftest`] checks that both backends return the same bits.
//!
//! `cudarc`'s own ordering of streams by events is off, because it cannot be captured into a graph: kernels run on one compute
//! stream, downloads on one copy stream, and [`Slice::download`] orders the two.
//!
//! Every function that returns a [`GpuError`] also fails if the device is lost or the driver returns an error.

#![warn(missing_docs)]

mod activity;
pub mod allocation;
mod any;
mod arena;
mod buffer;
pub mod ceilings;
pub mod compile;
mod compiling;
mod energy;
mod error;
mod events;
mod graph;
pub mod grid;
pub mod header;
pub mod kernel;
mod kernel_spec;
pub mod launch_cost;
pub mod layout;
pub mod library;
pub mod module;
mod module_spec;
pub mod nvrtc;
pub mod nvtx;
mod occupancy;
mod open;
mod pass;
mod pinned;
mod pinned_pool;
mod present;
pub mod probe;
pub mod selftest;
mod shape;
mod slice;
pub mod source;
#[cfg(test)]
mod stale;
mod stop_flag;
mod stream;
mod tensor_map;
pub mod timing;
pub mod trace;

pub use activity::Activity;
pub use allocation::Place;
pub use any::{Any, AnyMut};
pub use arena::{Arena, Frame};
pub use buffer::{Buf, Cell};
pub use compile::{Compile, Target};
pub use compiling::{Compiling, Expected, compiling};
pub use cudarc::driver::{DeviceRepr, ValidAsZeroBits};
pub use energy::EnergyCounter;
pub use error::GpuError;
pub use graph::Graph;
pub use grid::Grid;
pub use kernel::Kernel;
pub use kernel_spec::{KernelFacts, KernelSpec};
pub use module_spec::{ModuleId, ModuleSpec};
pub use occupancy::BlockSize;
pub use pass::{Follow, PROFILE_EVERY, Pass};
pub use pinned::{Mark, Pinned};
pub use present::{Present, present};
pub use probe::OpenError;
pub use shape::Shape;
pub use slice::{Slice, View, ViewMut};
pub use stop_flag::StopFlag;
pub use stream::Stream;
pub use tensor_map::{Boxes, BoxesOf, InBoxes, TensorMap};
pub use timing::Timing;
pub use trace::{Batch, Lane, Measured, Span};

use allocation::HeldBytes;
use cudarc::driver::{
    CudaContext, CudaStream,
    sys::{CUdevice_attribute_enum as Attribute, CUstreamCaptureStatus_enum as CaptureStatus},
};
use error::Doing as _;
use std::sync::{
    Arc, Mutex, OnceLock, PoisonError,
    atomic::{AtomicU64, Ordering},
};

/// An opened CUDA device with its compute stream and copy stream.
pub struct Gpu {
    /// Name that the driver reports.
    pub name: String,
    /// Device ordinal of the driver, from 0.
    pub ordinal: usize,
    /// Compute capability as one number: 90 means 9.0.
    pub capability: u32,
    /// CUDA version that the driver supports: 12020 means 12.2.
    pub driver: i32,
    /// Number of streaming multiprocessors.
    pub multiprocessors: u32,
    /// Maximum number of resident threads per multiprocessor.
    pub threads_per_multiprocessor: u32,
    /// Maximum shared memory per block, bytes.
    pub shared_per_block: u32,
    /// Size of the device memory, bytes.
    pub total_memory: u64,
    /// Number of simulations that use the device at a time, of which the owner of this handle is one.
    pub sharing: usize,
    context: Arc<CudaContext>,
    compute: Arc<CudaStream>,
    copy: Arc<CudaStream>,
    facts: Mutex<Vec<KernelFacts>>,
    allocations: AtomicU64,
    /// Number of launches, copies, graphs and waits issued to the compute stream.
    issued: Arc<AtomicU64>,
    held: Arc<HeldBytes>,
    events: Arc<events::Events>,
    pinned: Arc<pinned_pool::PinnedPool>,
    /// Overhead of events per measured launch, nanoseconds.
    added_by_events: OnceLock<u64>,
    /// Modules loaded on this device.
    modules: Arc<module::Loaded>,
}

/// Device memory at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Number of free bytes.
    pub free: u64,
    /// Number of bytes in total.
    pub total: u64,
}

/// Lets streams use all 32 hardware queues of a device, in place of 8, unless the user has set another number.
///
/// # Safety
/// No other thread may run: the environment of the process is changed. The first device must be opened afterwards.
pub unsafe fn use_all_queues() {
    const VARIABLE: &str = "CUDA_DEVICE_MAX_CONNECTIONS";
    if std::env::var_os(VARIABLE).is_none() {
        // SAFETY: the caller runs no other thread.
        unsafe { std::env::set_var(VARIABLE, "32") };
    }
}

impl Gpu {
    /// Returns the time by which the events around a launch lengthen its measured time, nanoseconds; 0 until it is measured.
    /// Sums of kernel times exclude it.
    pub fn nanos_added_by_events(&self) -> u64 {
        self.added_by_events.get().copied().unwrap_or(0)
    }

    fn on(context: Arc<CudaContext>, driver: i32) -> Result<Arc<Self>, cudarc::driver::DriverError> {
        // SAFETY: nothing is allocated yet; `Buf` and `Gpu` order the two streams from here on.
        unsafe { context.disable_event_tracking() };
        let (major, minor) = context.compute_capability()?;
        let attribute = |a| context.attribute(a).map(i32::unsigned_abs);
        Ok(Arc::new(Self {
            name: context.name()?,
            ordinal: context.ordinal(),
            capability: (major * 10 + minor).unsigned_abs(),
            driver,
            multiprocessors: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
            shared_per_block: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?,
            total_memory: context.mem_get_info()?.1 as u64,
            sharing: 1,
            threads_per_multiprocessor: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR)?,
            compute: context.new_stream()?,
            copy: context.new_stream()?,
            facts: Mutex::default(),
            allocations: AtomicU64::new(0),
            issued: Arc::default(),
            held: Arc::default(),
            events: Arc::default(),
            pinned: Arc::default(),
            added_by_events: OnceLock::new(),
            modules: Arc::default(),
            context,
        }))
    }

    /// Opens a handle with its own compute and copy stream on the same device. The handle's work runs concurrently with work of
    /// `self`; only [`Gpu::wait`] orders the two. Both share modules and the count of held bytes. `sharing` simulations use the
    /// device at a time. Fails if the driver cannot create the streams.
    pub fn with_new_streams(&self, sharing: usize) -> Result<Arc<Self>, GpuError> {
        let stream = || self.context.new_stream().doing(|| "making a stream".to_owned());
        Ok(Arc::new(Self {
            name: self.name.clone(),
            ordinal: self.ordinal,
            capability: self.capability,
            driver: self.driver,
            multiprocessors: self.multiprocessors,
            threads_per_multiprocessor: self.threads_per_multiprocessor,
            shared_per_block: self.shared_per_block,
            total_memory: self.total_memory,
            sharing,
            context: self.context.clone(),
            compute: stream()?,
            copy: stream()?,
            facts: Mutex::default(),
            allocations: AtomicU64::new(0),
            issued: Arc::default(),
            held: self.held.clone(),
            events: self.events.clone(),
            pinned: self.pinned.clone(),
            added_by_events: self.added_by_events.clone(),
            modules: self.modules.clone(),
        }))
    }

    /// Whether both handles are of one opened device, so that each may use the buffers of the other.
    pub fn is_same_device(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.modules, &other.modules)
    }

    /// Returns free and total device memory, over all programs. Fails if the device is lost.
    pub fn memory(&self) -> Result<Memory, GpuError> {
        let (free, total) = self.context.mem_get_info().doing(|| "asking for free GPU memory".into())?;
        Ok(Memory { free: free as u64, total: total as u64 })
    }

    /// Returns the number of allocations so far, on the device and page-locked. A running simulation must not allocate.
    pub fn allocations(&self) -> u64 {
        self.allocations.load(Ordering::Relaxed)
    }

    /// Binds the device's context to this thread and returns the compute stream, for a copy on the stream.
    fn bound(&self, doing: impl FnOnce() -> String) -> Result<&Arc<CudaStream>, GpuError> {
        self.context.bind_to_thread().doing(doing)?;
        self.note_issued();
        Ok(&self.compute)
    }

    /// Counts work on the compute stream. After such work, the event after the last launch cannot serve as the event before the
    /// next launch.
    fn note_issued(&self) {
        self.issued.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether launches are being captured into a graph instead of executed.
    pub fn is_capturing(&self) -> bool {
        let none = CaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE;
        self.compute.capture_status().is_ok_and(|status| status != none)
    }

    /// Returns the number of bytes held in buffers of this device. Excludes the driver's own memory (modules, graphs).
    pub fn held(&self, place: Place) -> u64 {
        self.held.get(place)
    }

    /// Returns the error that made the device unusable; `None` if the device is usable.
    pub fn lost(&self) -> Option<GpuError> {
        self.memory().err().filter(GpuError::is_sticky)
    }

    /// Waits until both streams are idle; returns errors of kernels that ran in the meantime.
    pub fn synchronize(&self) -> Result<(), GpuError> {
        trace::host(Lane::Waits, "wait for the device", 0, || {
            self.compute.synchronize().doing(|| "waiting for the kernels".into())?;
            self.copy.synchronize().doing(|| "waiting for the copies".into())
        })
    }

    /// Describes the device: `NVIDIA H200 (compute capability 9.0, 132 multiprocessors, CUDA 13.0 driver)`.
    pub fn describe(&self) -> String {
        format!(
            "{} (compute capability {}.{}, {} multiprocessors, CUDA {}.{} driver)",
            self.name,
            self.capability / 10,
            self.capability % 10,
            self.multiprocessors,
            self.driver / 1000,
            self.driver % 1000 / 10
        )
    }

    /// Returns registers, shared memory and occupancy of every kernel loaded so far, for the timing table.
    pub fn kernel_facts(&self) -> Vec<KernelFacts> {
        self.facts.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn remember(&self, facts: KernelFacts) {
        let mut known = self.facts.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|f| (f.module(), f.name) != (facts.module(), facts.name));
        known.push(facts);
    }
}

impl std::fmt::Debug for Gpu {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Gpu").field(&self.describe()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gpu_crosses_threads() {
        fn crosses<T: Send + Sync>() {}
        crosses::<Gpu>();
        crosses::<Buf<f32>>();
    }
}
