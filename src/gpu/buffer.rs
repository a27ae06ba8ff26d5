//! Device memory, page-locked host memory, and the copies between them.

use super::{
    Gpu, GpuError,
    error::Doing as _,
    layout::CudaType,
    trace::{self, Lane, Span},
};
use cudarc::driver::{CudaEvent, CudaSlice, DevicePtr as _, DriverError, PinnedHostSlice, result, sys::CUresult};
use std::{ops::Range, sync::Arc};

/// A buffer on the device. Kernels and the copies below run in the order in which they are issued.
pub struct Buf<T: CudaType> {
    /// What it holds, for errors and the memory report.
    pub what: &'static str,
    gpu: Arc<Gpu>,
    slice: CudaSlice<T>,
    len: usize,
}

impl<T: CudaType> Buf<T> {
    /// `len` zeros. An allocation that does not fit says how much was needed and how much is free.
    pub fn zeros(gpu: &Arc<Gpu>, what: &'static str, len: usize) -> Result<Self, GpuError> {
        let size = size_of::<T>().max(1);
        let needed = (len as u64).saturating_mul(size as u64);
        let memory = gpu.memory()?;
        let full = || GpuError::OutOfMemory { what, needed, free: memory.free, total: memory.total };
        if needed > memory.total {
            return Err(full()); // also keeps `len * size` from overflowing below
        }
        gpu.count_allocation();
        let slice = gpu.compute.alloc_zeros(len.max(1)).map_err(|e| match e.0 {
            CUresult::CUDA_ERROR_OUT_OF_MEMORY => full(),
            _ => GpuError::of(format!("allocating {what} ({len} × {size} B)"), &e),
        })?;
        Ok(Self { what, gpu: gpu.clone(), slice, len })
    }

    /// A copy of `values`.
    pub fn from_slice(gpu: &Arc<Gpu>, what: &'static str, values: &[T]) -> Result<Self, GpuError> {
        let mut buffer = Self::zeros(gpu, what, values.len())?;
        buffer.write(values)?;
        Ok(buffer)
    }

    /// Elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes held.
    pub fn bytes(&self) -> u64 {
        (self.len * size_of::<T>()) as u64
    }

    /// Replaces the contents; `values` has the buffer's length. The host memory is free again on return.
    pub fn write(&mut self, values: &[T]) -> Result<(), GpuError> {
        if values.len() != self.len {
            return Err(GpuError::Length { what: self.what, device: self.len, host: values.len() });
        }
        self.write_at(0, values)
    }

    /// Replaces `values.len()` elements from `start` on. The host memory is free again on return.
    pub fn write_at(&mut self, start: usize, values: &[T]) -> Result<(), GpuError> {
        let end = start.saturating_add(values.len());
        if end > self.len {
            return Err(GpuError::Length { what: self.what, device: self.len, host: end });
        }
        if values.is_empty() {
            return Ok(());
        }
        let (what, bytes) = (self.what, size_of_val(values));
        let mut target = self.slice.slice_mut(start..end);
        // The source is pageable: the driver has staged or copied all of it before the call returns.
        trace::host(Lane::Calls, what, bytes as u64, || {
            self.gpu.compute.memcpy_htod(values, &mut target).doing(|| format!("writing {what} ({bytes} B)"))
        })
    }

    /// Copies another buffer of the same length, on the device.
    pub fn copy_from(&mut self, other: &Self) -> Result<(), GpuError> {
        if other.len != self.len {
            return Err(GpuError::Length { what: self.what, device: self.len, host: other.len });
        }
        let (from, to) = (other.what, self.what);
        self.gpu.compute.memcpy_dtod(&other.slice, &mut self.slice).doing(|| format!("copying {from} to {to}"))
    }

    /// Sets every element to zero.
    pub fn clear(&mut self) -> Result<(), GpuError> {
        let what = self.what;
        self.gpu.compute.memset_zeros(&mut self.slice).doing(|| format!("clearing {what}"))
    }

    /// Sets a range to zero.
    pub fn clear_range(&mut self, range: Range<usize>) -> Result<(), GpuError> {
        let what = self.what;
        if range.end > self.len {
            return Err(GpuError::Length { what, device: self.len, host: range.end });
        }
        if range.is_empty() {
            return Ok(());
        }
        let mut view = self.slice.slice_mut(range);
        self.gpu.compute.memset_zeros(&mut view).doing(|| format!("clearing {what}"))
    }

    /// Waits for the kernels so far and reads everything. For saving and tests; a running simulation uses
    /// [`Buf::download`].
    pub fn read(&self) -> Result<Vec<T>, GpuError> {
        self.read_range(0..self.len)
    }

    /// The same for a range.
    pub fn read_range(&self, range: Range<usize>) -> Result<Vec<T>, GpuError> {
        if range.end > self.len {
            return Err(GpuError::Length { what: self.what, device: self.len, host: range.end });
        }
        let mut values = vec![T::zeroed(); range.len()];
        if !range.is_empty() {
            let bytes = size_of_val(&values[..]);
            let doing = || format!("reading {} ({bytes} B)", self.what);
            trace::host(Lane::Waits, self.what, bytes as u64, || {
                self.gpu.compute.memcpy_dtoh(&self.slice.slice(range), &mut values).doing(doing)?;
                self.gpu.compute.synchronize().doing(doing)
            })?;
        }
        Ok(values)
    }

    /// Starts copying `range` to the start of page-locked memory on the copy stream, after the kernels so far and
    /// before those to come; the host does not wait. [`Pinned::get`] waits for it.
    pub fn download(&self, range: Range<usize>, into: &mut Pinned<T>) -> Result<(), GpuError> {
        let (what, len) = (self.what, range.len());
        if range.end > self.len || len > into.len() {
            return Err(GpuError::Length { what, device: self.len, host: range.end.max(into.len()) });
        }
        if range.is_empty() {
            return Ok(());
        }
        let (compute, doing) = (&self.gpu.compute, || format!("reading {what}"));
        let after = compute.record_event(None).doing(doing)?;
        self.copy_out(range, into, 0, &after)?;
        // The source cannot change before it is copied.
        compute.wait(&into.copied).doing(doing)
    }

    /// Starts copying `range` to `into[to..]` on the copy stream after what was asked for before `after`, beside the
    /// kernels asked for since. The caller guarantees that those do not write the range until [`Pinned::get`].
    pub fn download_beside(
        &self,
        range: Range<usize>,
        into: &mut Pinned<T>,
        to: usize,
        after: &Mark,
    ) -> Result<(), GpuError> {
        let (what, len) = (self.what, range.len());
        if range.end > self.len || to + len > into.len() {
            return Err(GpuError::Length { what, device: self.len, host: range.end.max(to + len) });
        }
        if range.is_empty() {
            return Ok(());
        }
        self.copy_out(range, into, to, &after.0)
    }

    /// Starts a copy on the copy stream, once `after` has passed.
    fn copy_out(
        &self,
        range: Range<usize>,
        into: &mut Pinned<T>,
        to: usize,
        after: &CudaEvent,
    ) -> Result<(), GpuError> {
        let (copy, len) = (&self.gpu.copy, range.len());
        let bytes = (len * size_of::<T>()) as u64;
        let doing = || format!("reading {} ({bytes} B)", self.what);
        copy.wait(after).doing(doing)?;
        let start = || -> Result<(), DriverError> {
            let view = self.slice.slice(range);
            let (source, _recorded) = view.device_ptr(copy);
            let target = &mut into.slice.as_mut_slice()?[to..to + len];
            // SAFETY: both sides hold `len` elements; the memory is page-locked, and `Pinned` waits for the copy
            // before it shows or frees it. The caller guarantees that no kernel writes the range meanwhile; one
            // that does corrupts values, not memory.
            unsafe { result::memcpy_dtoh_async(target, source, copy.cu_stream()) }
        };
        let span = Span { name: self.what, lane: Lane::Copies, bytes, ..Span::default() };
        trace::device(copy, span, || start().doing(doing))?;
        into.copied.record(copy).doing(doing)
    }

    pub(super) fn slice(&self) -> &CudaSlice<T> {
        &self.slice
    }
}

/// A point in the stream: everything issued so far.
pub struct Mark(CudaEvent);

impl Mark {
    /// Now.
    pub fn now(gpu: &Gpu) -> Result<Self, GpuError> {
        gpu.compute.record_event(None).map(Self).doing(|| "marking a moment on the GPU".to_owned())
    }

    /// Waits until all of it is done; reports errors of kernels that ran in the meantime.
    pub fn wait(&self) -> Result<(), GpuError> {
        let wait = || self.0.synchronize().doing(|| "waiting for the kernels".to_owned());
        trace::host(Lane::Waits, "wait for kernels", 0, wait)
    }
}

/// Page-locked host memory: the fast end of [`Buf::download`].
pub struct Pinned<T: CudaType> {
    slice: PinnedHostSlice<T>,
    copied: CudaEvent,
}

impl<T: CudaType> Drop for Pinned<T> {
    fn drop(&mut self) {
        let _ = self.copied.synchronize(); // a lost device has nothing left to copy
    }
}

impl<T: CudaType> Pinned<T> {
    /// `len` zeros, cached for reading by the CPU.
    pub fn zeros(gpu: &Gpu, len: usize) -> Result<Self, GpuError> {
        let doing = || format!("page-locking {len} × {} B of main memory", size_of::<T>());
        gpu.count_allocation();
        // SAFETY: the memory is filled before anyone can read it.
        let mut slice = unsafe { gpu.context.alloc_pinned_with_flags(len.max(1), 0) }.doing(doing)?;
        slice.as_mut_slice().doing(doing)?.fill(T::zeroed());
        let copied = gpu.context.new_event(None).doing(doing)?;
        Ok(Self { slice, copied })
    }

    /// Elements; at least 1.
    pub fn len(&self) -> usize {
        self.slice.len()
    }

    /// Never: an empty one holds one element.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Waits for the last copy into it, not for the kernels after that copy, and shows it.
    pub fn get(&self) -> Result<&[T], GpuError> {
        let doing = || "waiting for a copy from the GPU".to_owned();
        trace::host(Lane::Waits, "wait for a copy", 0, || self.copied.synchronize().doing(doing))?;
        self.slice.as_slice().doing(doing)
    }
}

/// One device struct that kernels read through a pointer they always had, rewritten between steps: the way
/// a slider reaches a running simulation without recapturing its graph.
pub struct Cell<T: CudaType> {
    buffer: Buf<T>,
    value: T,
}

impl<T: CudaType> Cell<T> {
    /// Holds `value`.
    pub fn new(gpu: &Arc<Gpu>, what: &'static str, value: T) -> Result<Self, GpuError> {
        Ok(Self { buffer: Buf::from_slice(gpu, what, &[value])?, value })
    }

    /// What the host wrote last.
    pub fn value(&self) -> T {
        self.value
    }

    /// Rewrites it after the kernels so far and before those to come, without waiting for either.
    pub fn set(&mut self, value: T) -> Result<(), GpuError> {
        self.buffer.write(&[value])?;
        self.value = value;
        Ok(())
    }

    /// As a kernel argument `In<T>`.
    pub fn buf(&self) -> &Buf<T> {
        &self.buffer
    }

    /// As a kernel argument `InOut<T>`: a clock that kernels advance. [`Cell::value`] does not follow.
    pub fn buf_mut(&mut self) -> &mut Buf<T> {
        &mut self.buffer
    }
}
