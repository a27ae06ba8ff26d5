//! Kernel arguments whose element type is known only at run time.

use super::{
    Slice,
    kernel::{Arg, Args},
    layout::CudaType,
};
use cudarc::driver::sys::CUdeviceptr;
use std::marker::PhantomData;

/// Argument type for read-only memory of any element type, or null: `const void*`. The element type is passed in
/// another argument.
pub struct InAny;
/// Argument type for writable memory of any element type: `void*`.
pub struct InOutAny;

/// Host value of an [`InAny`] argument.
#[derive(Clone, Copy, Debug)]
pub struct Any<'h> {
    pub(super) ptr: CUdeviceptr,
    borrowed: PhantomData<&'h ()>,
}

/// Host value of an [`InOutAny`] argument.
#[derive(Debug)]
pub struct AnyMut<'h> {
    pub(super) ptr: CUdeviceptr,
    borrowed: PhantomData<&'h mut ()>,
}

impl Any<'_> {
    /// Null device pointer.
    pub const NONE: Self = Self { ptr: 0, borrowed: PhantomData };

    /// Advances the start of the memory by `byte` bytes, without a bounds check.
    pub const fn from_byte(self, byte: u64) -> Self {
        Self { ptr: self.ptr + byte, borrowed: PhantomData }
    }

    /// Whether the address is a multiple of `bytes`.
    pub fn is_aligned_to(&self, bytes: u64) -> bool {
        self.ptr.is_multiple_of(bytes)
    }
}

impl AnyMut<'_> {
    /// Null device pointer.
    pub const NONE: Self = Self { ptr: 0, borrowed: PhantomData };

    /// Borrows the memory for another launch.
    pub const fn again(&mut self) -> AnyMut<'_> {
        AnyMut { ptr: self.ptr, borrowed: PhantomData }
    }

    /// Returns a null device pointer, equal to [`AnyMut::NONE`].
    pub const fn none() -> Self {
        Self { ptr: 0, borrowed: PhantomData }
    }

    /// Whether the address is a multiple of `bytes`.
    pub fn is_aligned_to(&self, bytes: u64) -> bool {
        self.ptr.is_multiple_of(bytes)
    }

    /// Borrows the memory for a shorter lifetime.
    pub fn reborrow(&mut self) -> AnyMut<'_> {
        AnyMut { ptr: self.ptr, borrowed: PhantomData }
    }

    /// Borrows the memory read-only.
    pub fn as_any(&self) -> Any<'_> {
        Any { ptr: self.ptr, borrowed: PhantomData }
    }
}

impl<'h> Any<'h> {
    /// Wraps a device address.
    pub(super) const fn at(ptr: CUdeviceptr) -> Self {
        Self { ptr, borrowed: PhantomData }
    }

    /// Wraps a slice; `None` becomes a null pointer.
    pub fn or_none<T: CudaType>(slice: Option<&'h Slice<T>>) -> Self {
        slice.map_or(Self::NONE, Self::from)
    }
}

impl<'h, T: CudaType> From<&'h Slice<T>> for Any<'h> {
    fn from(slice: &'h Slice<T>) -> Self {
        Self { ptr: slice.ptr, borrowed: PhantomData }
    }
}

impl<'h, T: CudaType> From<&'h mut Slice<T>> for AnyMut<'h> {
    fn from(slice: &'h mut Slice<T>) -> Self {
        Self { ptr: slice.ptr, borrowed: PhantomData }
    }
}

impl Arg for InAny {
    type Host<'h> = Any<'h>;
    fn c() -> String {
        "const void*".to_owned()
    }
    fn push<'a>(host: &'a Self::Host<'_>, args: &mut Args<'a>) {
        args.push(&host.ptr);
    }
}

impl Arg for InOutAny {
    type Host<'h> = AnyMut<'h>;
    fn c() -> String {
        "void*".to_owned()
    }
    fn push<'a>(host: &'a Self::Host<'_>, args: &mut Args<'a>) {
        args.push(&host.ptr);
    }
}
