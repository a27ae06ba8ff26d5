//! A contiguous part of device memory with a shape, and its copies.

use super::{
    Gpu, GpuError, Mark, Pinned, Shape,
    error::Doing as _,
    layout::CudaType,
    trace::{self, Lane, Span},
};
use cudarc::driver::{CudaEvent, DriverError, result, sys::CUdeviceptr};
use std::{
    marker::PhantomData,
    ops::{Deref, DerefMut, Range},
    sync::Arc,
};

/// Device memory that a [`Buf`](super::Buf) owns or a [`View`] borrows. Kernels and copies run in the order in which they are
/// issued.
pub struct Slice<T: CudaType> {
    /// Name of the contents, for errors and the memory report.
    pub what: &'static str,
    pub(super) gpu: Arc<Gpu>,
    pub(super) ptr: CUdeviceptr,
    len: usize,
    shape: Shape,
    element: PhantomData<T>,
}

impl<T: CudaType> Slice<T> {
    /// Returns a slice at a device address, which must stay valid as long as the owner of the slice.
    pub(super) fn at_address(gpu: &Arc<Gpu>, what: &'static str, ptr: CUdeviceptr, shape: Shape) -> Self {
        let len = shape.elements().unwrap_or(0);
        Self { what, gpu: gpu.clone(), ptr, len, shape, element: PhantomData }
    }

    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the slice has no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the size in bytes.
    pub fn bytes(&self) -> u64 {
        (self.len * size_of::<T>()) as u64
    }

    /// Returns the extents; a buffer without a shape has one dimension.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    fn element(&self, index: usize) -> CUdeviceptr {
        self.ptr + (index * size_of::<T>()) as CUdeviceptr
    }

    /// Returns a range of the outermost dimension. Kernels with 16-byte accesses need a range that begins at a multiple of 16
    /// bytes. Fails if the range is out of bounds.
    pub fn part(&self, range: Range<usize>) -> Result<View<'_, T>, GpuError> {
        Ok(View { slice: self.borrowed(range)?, owner: PhantomData })
    }

    /// Returns a writable range of the outermost dimension. Fails if the range is out of bounds.
    pub fn part_mut(&mut self, range: Range<usize>) -> Result<ViewMut<'_, T>, GpuError> {
        Ok(ViewMut { slice: self.borrowed(range)?, owner: PhantomData })
    }

    /// Returns element `index` of the outermost dimension, for example a matrix of a stack. Fails if `index` is out of bounds.
    pub fn at(&self, index: usize) -> Result<View<'_, T>, GpuError> {
        let mut view = self.part(index..index + 1)?;
        view.slice.shape = self.shape.inner();
        Ok(view)
    }

    /// Returns two disjoint writable parts of the outermost dimension: before `index`, and from `index` on. Fails if `index` is
    /// out of bounds.
    pub fn split_at_mut(&mut self, index: usize) -> Result<(ViewMut<'_, T>, ViewMut<'_, T>), GpuError> {
        let parts = [self.borrowed(0..index)?, self.borrowed(index..self.shape.outer())?];
        let [first, second] = parts.map(|slice| ViewMut { slice, owner: PhantomData });
        Ok((first, second))
    }

    /// Returns disjoint writable parts of the outermost dimension. Fails unless `ranges` ascend and are in bounds.
    pub fn parts_mut<const N: usize>(&mut self, ranges: [Range<usize>; N]) -> Result<[ViewMut<'_, T>; N], GpuError> {
        let refused = |ranges: &[Range<usize>]| GpuError::Shape {
            what: self.what,
            has: self.shape,
            asked: format!("parts {ranges:?}, which do not ascend"),
        };
        if ranges.windows(2).any(|pair| pair[0].end > pair[1].start) {
            return Err(refused(&ranges));
        }
        let part = |range: &Range<usize>| Ok(ViewMut { slice: self.borrowed(range.clone())?, owner: PhantomData });
        let parts = ranges.iter().map(part).collect::<Result<Vec<_>, GpuError>>()?;
        parts.try_into().map_err(|_| refused(&ranges))
    }

    /// Returns a view of the same elements in another shape. Fails if the number of elements differs.
    pub fn reshaped(&self, shape: impl Into<Shape>) -> Result<View<'_, T>, GpuError> {
        let shape = shape.into();
        if shape.elements() != Some(self.len) {
            return Err(GpuError::Shape { what: self.what, has: self.shape, asked: format!("as {shape}") });
        }
        let slice = Self { shape, ..self.borrowed(0..self.shape.outer())? };
        Ok(View { slice, owner: PhantomData })
    }

    /// Creates a slice that the caller ties to a borrow of `self`. Fails if the range is out of bounds.
    fn borrowed(&self, range: Range<usize>) -> Result<Self, GpuError> {
        if range.start > range.end || range.end > self.shape.outer() {
            let asked = format!("part {}..{}", range.start, range.end);
            return Err(GpuError::Shape { what: self.what, has: self.shape, asked });
        }
        let inner = self.len / self.shape.outer().max(1);
        let shape = self.shape.with_outer(range.len());
        Ok(Self::at_address(&self.gpu, self.what, self.element(range.start * inner), shape))
    }

    /// Checks that a range of elements is in bounds.
    fn check(&self, range: &Range<usize>) -> Result<(), GpuError> {
        if range.start > range.end || range.end > self.len {
            return Err(GpuError::Length { what: self.what, device: self.len, host: range.end });
        }
        Ok(())
    }

    /// Replaces the contents; `values` must have the length of the slice. The host memory can be reused on return. Fails if the
    /// lengths differ.
    pub fn write(&mut self, values: &[T]) -> Result<(), GpuError> {
        if values.len() != self.len {
            return Err(GpuError::Length { what: self.what, device: self.len, host: values.len() });
        }
        self.write_at(0, values)
    }

    /// Replaces `values.len()` elements from `start` on. The host memory can be reused on return. Fails if the range is out of
    /// bounds.
    pub fn write_at(&mut self, start: usize, values: &[T]) -> Result<(), GpuError> {
        self.check(&(start..start.saturating_add(values.len())))?;
        if values.is_empty() {
            return Ok(());
        }
        let (what, bytes) = (self.what, size_of_val(values));
        let doing = || format!("writing {what} ({bytes} B)");
        trace::host(Lane::Calls, what, bytes as u64, || {
            let stream = self.gpu.bound(doing)?;
            // SAFETY: both sides hold the range. The source is pageable: the driver has staged or copied all of it
            // before the call returns.
            unsafe { result::memcpy_htod_async(self.element(start), values, stream.cu_stream()) }.doing(doing)
        })
    }

    /// Copies another slice of equal length within the device. Fails if the lengths differ.
    pub fn copy_from(&mut self, other: &Self) -> Result<(), GpuError> {
        if other.len != self.len {
            return Err(GpuError::Length { what: self.what, device: self.len, host: other.len });
        }
        if self.is_empty() {
            return Ok(());
        }
        let (from, to, bytes) = (other.what, self.what, self.bytes() as usize);
        let doing = || format!("copying {from} to {to}");
        let stream = self.gpu.bound(doing)?;
        // SAFETY: both sides hold `bytes` bytes and neither is freed before the stream is idle.
        unsafe { result::memcpy_dtod_async(self.ptr, other.ptr, bytes, stream.cu_stream()) }.doing(doing)
    }

    /// Sets every byte of a range of elements to `byte`. No other code may access the range meanwhile.
    pub(super) fn fill_bytes(&self, range: Range<usize>, byte: u8) -> Result<(), GpuError> {
        self.check(&range)?;
        if range.is_empty() {
            return Ok(());
        }
        let doing = || format!("filling {}", self.what);
        let stream = self.gpu.bound(doing)?;
        let bytes = range.len() * size_of::<T>();
        // SAFETY: the range is in bounds; elements are plain data.
        unsafe { result::memset_d8_async(self.element(range.start), byte, bytes, stream.cu_stream()) }.doing(doing)
    }

    /// Sets every element to zero.
    pub fn clear(&mut self) -> Result<(), GpuError> {
        self.clear_range(0..self.len)
    }

    /// Sets a range of elements to zero. Fails if the range is out of bounds.
    pub fn clear_range(&mut self, range: Range<usize>) -> Result<(), GpuError> {
        self.fill_bytes(range, 0)
    }

    /// Waits for the kernels issued so far and reads all elements. Use this for saving and tests; a running simulation uses
    /// [`Slice::download`], which does not wait.
    pub fn read(&self) -> Result<Vec<T>, GpuError> {
        self.read_range(0..self.len)
    }

    /// Waits for the kernels issued so far and reads a range of elements. Fails if the range is out of bounds.
    pub fn read_range(&self, range: Range<usize>) -> Result<Vec<T>, GpuError> {
        self.check(&range)?;
        let mut values = vec![T::zeroed(); range.len()];
        self.read_into(range.start, &mut values)?;
        Ok(values)
    }

    /// Waits for the kernels issued so far and reads `values.len()` elements from `start` on into host memory. Fails if the
    /// range is out of bounds.
    pub fn read_into(&self, start: usize, values: &mut [T]) -> Result<(), GpuError> {
        self.check(&(start..start.saturating_add(values.len())))?;
        if values.is_empty() {
            return Ok(());
        }
        let bytes = size_of_val(values);
        let doing = || format!("reading {} ({bytes} B)", self.what);
        trace::host(Lane::Waits, self.what, bytes as u64, || {
            let stream = self.gpu.bound(doing)?;
            // SAFETY: both sides hold the range, and the copy has ended before this returns.
            unsafe { result::memcpy_dtoh_async(values, self.element(start), stream.cu_stream()) }.doing(doing)?;
            stream.synchronize().doing(doing)
        })
    }

    /// Starts an asynchronous copy of `range` to the start of page-locked memory on the copy stream, in order with the compute
    /// stream. [`Pinned::get`] waits for the copy. Fails if `range` is out of bounds or longer than `into`.
    pub fn download(&self, range: Range<usize>, into: &mut Pinned<T>) -> Result<(), GpuError> {
        let (what, len) = (self.what, range.len());
        if range.end > self.len || len > into.len() {
            return Err(GpuError::Length { what, device: self.len, host: range.end.max(into.len()) });
        }
        if range.is_empty() {
            return Ok(());
        }
        let (compute, doing) = (&self.gpu.compute, || format!("reading {what}"));
        let after = self.gpu.events.mark(compute).doing(doing)?;
        self.copy_out(range, into, 0, &after)?;
        // Later kernels wait for the copy, so they cannot change the source before the copy ends.
        self.gpu.note_issued();
        compute.wait(&into.copied).doing(doing)
    }

    /// Starts an asynchronous copy of `range` to `into[to..]` on the copy stream, after the work before the mark `after` and
    /// concurrent with later kernels. The caller guarantees that those kernels do not write the range until [`Pinned::get`] has
    /// returned. Fails if `range` or `into[to..]` is out of bounds.
    pub fn download_concurrent(
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
        self.copy_out(range, into, to, &after.event)
    }

    /// Starts a copy on the copy stream after the mark `after`.
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
        let mut start = || -> Result<(), DriverError> {
            let target = &mut into.target()[to..to + len];
            // SAFETY: both sides hold `len` elements; the memory is page-locked, and `Pinned` waits for the copy before it
            // shows or frees the memory. The caller guarantees that no kernel writes the range meanwhile; a kernel that does so
            // corrupts values, not memory.
            unsafe { result::memcpy_dtoh_async(target, self.element(range.start), copy.cu_stream()) }
        };
        let span = Span { name: self.what, lane: Lane::Copies, bytes, ..Span::default() };
        trace::device(copy, span, || start().doing(doing))?;
        into.copied.record(copy).doing(doing)
    }
}

/// Read-only part of a buffer.
pub struct View<'a, T: CudaType> {
    slice: Slice<T>,
    owner: PhantomData<&'a Slice<T>>,
}

impl<T: CudaType> Deref for View<'_, T> {
    type Target = Slice<T>;
    fn deref(&self) -> &Slice<T> {
        &self.slice
    }
}

/// Writable part of a buffer.
pub struct ViewMut<'a, T: CudaType> {
    slice: Slice<T>,
    owner: PhantomData<&'a mut Slice<T>>,
}

impl<T: CudaType> ViewMut<'_, T> {
    /// Wraps memory that nothing else accesses while the view is borrowed.
    pub(super) fn of(slice: Slice<T>) -> Self {
        Self { slice, owner: PhantomData }
    }
}

impl<T: CudaType> Deref for ViewMut<'_, T> {
    type Target = Slice<T>;
    fn deref(&self) -> &Slice<T> {
        &self.slice
    }
}

impl<T: CudaType> DerefMut for ViewMut<'_, T> {
    fn deref_mut(&mut self) -> &mut Slice<T> {
        &mut self.slice
    }
}
