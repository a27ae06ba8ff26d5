//! Kernel arguments whose element type is known at run time only.

use super::{
    Slice,
    kernel::{Arg, Args},
    layout::CudaType,
};
use cudarc::driver::sys::CUdeviceptr;
use std::marker::PhantomData;

/// Memory of any element type that the kernel only reads, or none: `const void*`. Other arguments say which.
pub struct InAny;
/// Memory of any element type that the kernel writes: `void*`.
pub struct InOutAny;

/// The host's side of [`InAny`].
#[derive(Clone, Copy, Debug)]
pub struct Any<'h> {
    pub(super) ptr: CUdeviceptr,
    borrowed: PhantomData<&'h ()>,
}

/// The host's side of [`InOutAny`].
#[derive(Debug)]
pub struct AnyMut<'h> {
    pub(super) ptr: CUdeviceptr,
    borrowed: PhantomData<&'h mut ()>,
}

impl Any<'_> {
    /// No memory: a null pointer.
    pub const NONE: Self = Self { ptr: 0, borrowed: PhantomData };

    /// The same memory from this byte on.
    pub const fn from_byte(self, byte: u64) -> Self {
        Self { ptr: self.ptr + byte, borrowed: PhantomData }
    }

    /// Whether its address is a multiple of `bytes`.
    pub fn is_aligned_to(&self, bytes: u64) -> bool {
        self.ptr.is_multiple_of(bytes)
    }
}

impl AnyMut<'_> {
    /// No memory: a null pointer.
    pub const NONE: Self = Self { ptr: 0, borrowed: PhantomData };

    /// The same memory for one more launch.
    pub const fn again(&mut self) -> AnyMut<'_> {
        AnyMut { ptr: self.ptr, borrowed: PhantomData }
    }

    /// No memory: a null pointer.
    pub const fn none() -> Self {
        Self { ptr: 0, borrowed: PhantomData }
    }

    /// Whether its address is a multiple of `bytes`.
    pub fn is_aligned_to(&self, bytes: u64) -> bool {
        self.ptr.is_multiple_of(bytes)
    }

    /// The same for a shorter time.
    pub fn reborrow(&mut self) -> AnyMut<'_> {
        AnyMut { ptr: self.ptr, borrowed: PhantomData }
    }

    /// The same, as what is read.
    pub fn as_any(&self) -> Any<'_> {
        Any { ptr: self.ptr, borrowed: PhantomData }
    }
}

impl<'h> Any<'h> {
    /// Memory at an address of the device.
    pub(super) const fn at(ptr: CUdeviceptr) -> Self {
        Self { ptr, borrowed: PhantomData }
    }

    /// A slice, or no memory.
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
