//! Page-locked host memory, and marks in a stream.

use super::{
    Gpu, GpuError, Place,
    allocation::{self, Counted},
    error::Doing as _,
    events::Event,
    layout::CudaType,
    pinned_pool::{Block, PinnedPool},
    trace::{self, Lane},
};
use cudarc::driver::{CudaEvent, DriverError};
use std::{marker::PhantomData, time::Duration};

/// Position in a stream, after all work issued so far.
pub struct Mark {
    pub(super) event: Event,
    /// Whether other simulations use the device, and the processors that wait for it.
    pub(super) is_shared: bool,
}

/// Interval at which a thread looks whether work has ended while others wait as well. The driver's own wait occupies a processor.
const POLL: Duration = Duration::from_micros(30);

/// Waits for an event.
fn wait(event: &CudaEvent, is_shared: bool) -> Result<(), DriverError> {
    while is_shared && !event.try_is_complete()? {
        std::thread::sleep(POLL);
    }
    event.synchronize()
}

impl Mark {
    /// Records a mark at the current end of the compute stream.
    pub fn now(gpu: &Gpu) -> Result<Self, GpuError> {
        let event = gpu.events.mark(&gpu.compute).doing(|| "marking a moment on the GPU".to_owned())?;
        Ok(Self { event, is_shared: gpu.sharing > 1 })
    }

    /// Waits until the work before the mark has finished; returns errors of kernels that ran in the meantime.
    pub fn wait(&self) -> Result<(), GpuError> {
        let wait = || wait(&self.event, self.is_shared).doing(|| "waiting for the kernels".to_owned());
        trace::host(Lane::Waits, "wait for kernels", 0, wait)
    }
}

/// Page-locked host memory, the fast target of [`Slice::download`](super::Slice::download).
pub struct Pinned<T: CudaType> {
    block: Block,
    len: usize,
    pub(super) copied: Event,
    is_shared: bool,
    _counted: Counted,
    elements: PhantomData<T>,
}

impl<T: CudaType> Drop for Pinned<T> {
    fn drop(&mut self) {
        let _ = self.copied.synchronize(); // a lost device has nothing left to copy
    }
}

impl<T: CudaType> Pinned<T> {
    /// Allocates `len` zeros, at least one, cached for reading by the CPU. Fails if host memory cannot be page-locked.
    pub fn zeros(gpu: &Gpu, len: usize) -> Result<Self, GpuError> {
        let doing = || format!("page-locking {len} × {} B of main memory", size_of::<T>());
        if allocation::fails() {
            return Err(GpuError::Full { doing: doing(), why: "no memory".to_owned() });
        }
        let len = len.max(1);
        let bytes = len * size_of::<T>();
        let block = PinnedPool::block(gpu, bytes, doing)?;
        // SAFETY: the block has at least so many bytes, and nothing else uses it.
        unsafe { block.address().write_bytes(0, bytes) };
        let copied = gpu.events.mark(&gpu.copy).doing(doing)?;
        let counted = Counted::new(gpu, Place::Pinned, bytes as u64);
        Ok(Self { block, len, copied, is_shared: gpu.sharing > 1, _counted: counted, elements: PhantomData })
    }

    /// Returns the number of elements, at least 1.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns the size in bytes.
    pub fn bytes(&self) -> u64 {
        (self.len() * size_of::<T>()) as u64
    }

    /// Returns false, because an empty buffer holds one element.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Waits for the last copy into the memory, but not for kernels after that copy, and returns the memory.
    pub fn get(&self) -> Result<&[T], GpuError> {
        let doing = || "waiting for a copy from the GPU".to_owned();
        trace::host(Lane::Waits, "wait for a copy", 0, || wait(&self.copied, self.is_shared).doing(doing))?;
        // SAFETY: the block holds `len` initialised elements, and the last copy into them has ended.
        Ok(unsafe { std::slice::from_raw_parts(self.block.address().cast(), self.len) })
    }

    /// Returns the memory as the target of a copy.
    pub(super) fn target(&mut self) -> &mut [T] {
        // SAFETY: the block holds `len` elements, and only the owner of the block uses it.
        unsafe { std::slice::from_raw_parts_mut(self.block.address().cast(), self.len) }
    }

    /// Makes later kernels wait for the last copy into the memory, so that they may overwrite the source of the copy.
    pub fn hold_kernels(&self, gpu: &Gpu) -> Result<(), GpuError> {
        gpu.note_issued();
        gpu.compute.wait(&self.copied).doing(|| "ordering kernels after a copy".to_owned())
    }
}
