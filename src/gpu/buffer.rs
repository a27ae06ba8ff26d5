//! Owned device memory.

use super::{
    Gpu, GpuError, Place, Shape, Slice,
    allocation::{self, Counted},
    layout::CudaType,
};
use cudarc::driver::{CudaSlice, DevicePtr as _, sys::CUresult};
use std::{
    ops::{Deref, DerefMut},
    sync::Arc,
};

/// Owned buffer in device memory; its copies and parts are methods of [`Slice`].
pub struct Buf<T: CudaType> {
    slice: Slice<T>,
    /// Owner of the memory; frees it on drop.
    _memory: CudaSlice<T>,
    _counted: Counted,
}

impl<T: CudaType> Buf<T> {
    /// Allocates `len` zeros. The error of a failed allocation states the needed and the free bytes.
    pub fn zeros(gpu: &Arc<Gpu>, what: &'static str, len: usize) -> Result<Self, GpuError> {
        Self::shaped(gpu, what, len)
    }

    /// Allocates zeros of a shape, contiguous in row-major order. Fails if device memory is full.
    pub fn shaped(gpu: &Arc<Gpu>, what: &'static str, shape: impl Into<Shape>) -> Result<Self, GpuError> {
        let shape = shape.into();
        let size = size_of::<T>().max(1);
        let len = shape.elements().unwrap_or(usize::MAX);
        let needed = (len as u64).saturating_mul(size as u64);
        let total = gpu.total_memory;
        // The driver is asked for the free memory only after a failure, because it answers slowly.
        let full = || GpuError::OutOfMemory { what, needed, free: gpu.memory().map_or(0, |memory| memory.free), total };
        if needed > total || allocation::fails() {
            return Err(full()); // this check also keeps `len * size` from overflowing below
        }
        let memory = gpu.compute.alloc_zeros(len.max(1)).map_err(|e| match e.0 {
            CUresult::CUDA_ERROR_OUT_OF_MEMORY => full(),
            _ => GpuError::of(format!("allocating {what} ({len} × {size} B)"), &e),
        })?;
        let ptr = memory.device_ptr(&gpu.compute).0;
        let counted = Counted::new(gpu, Place::Device, needed);
        Ok(Self { slice: Slice::at_address(gpu, what, ptr, shape), _memory: memory, _counted: counted })
    }

    /// Allocates a copy of `values`. Fails if device memory is full.
    pub fn from_slice(gpu: &Arc<Gpu>, what: &'static str, values: &[T]) -> Result<Self, GpuError> {
        let mut buffer = Self::zeros(gpu, what, values.len())?;
        buffer.write(values)?;
        Ok(buffer)
    }
}

impl<T: CudaType> Deref for Buf<T> {
    type Target = Slice<T>;
    fn deref(&self) -> &Slice<T> {
        &self.slice
    }
}

impl<T: CudaType> DerefMut for Buf<T> {
    fn deref_mut(&mut self) -> &mut Slice<T> {
        &mut self.slice
    }
}

/// One device struct that kernels read through a fixed pointer and that the host rewrites between steps: a slider changes a
/// running simulation without a new graph capture.
pub struct Cell<T: CudaType> {
    buffer: Buf<T>,
    value: T,
}

impl<T: CudaType> Cell<T> {
    /// Allocates the struct and writes `value`. Fails if device memory is full.
    pub fn new(gpu: &Arc<Gpu>, what: &'static str, value: T) -> Result<Self, GpuError> {
        Ok(Self { buffer: Buf::from_slice(gpu, what, &[value])?, value })
    }

    /// Returns the value that the host wrote last.
    pub fn value(&self) -> T {
        self.value
    }

    /// Rewrites the struct in stream order, after the kernels issued so far and before later kernels, without waiting. If the
    /// copy fails, [`Cell::value`] keeps the former value.
    pub fn set(&mut self, value: T) -> Result<(), GpuError> {
        self.buffer.write(&[value])?;
        self.value = value;
        Ok(())
    }

    /// Returns the buffer for a kernel argument `In<T>`.
    pub fn buf(&self) -> &Buf<T> {
        &self.buffer
    }

    /// Returns the buffer for a kernel argument `InOut<T>`, such as a clock that kernels advance. [`Cell::value`] does not
    /// follow such changes.
    pub fn buf_mut(&mut self) -> &mut Buf<T> {
        &mut self.buffer
    }
}
