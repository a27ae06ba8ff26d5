//! Descriptors of matrices for Hopper's tensor memory accelerator (TMA), which copies boxes into shared memory.

use super::{
    Any, AnyMut, DeviceRepr, GpuError, ValidAsZeroBits,
    error::Doing as _,
    kernel::{Arg, Args},
    layout::{CudaStruct, CudaType, Field},
};
use cudarc::driver::sys;
use std::{ffi::c_void, marker::PhantomData};

/// Tensor map of the driver, which only the hardware reads.
#[repr(C, align(64))]
#[derive(Clone, Copy, Debug, Default, bytemuck::Pod, bytemuck::Zeroable)]
pub struct TensorMap {
    words: [u64; 16],
}

// SAFETY: `Pod` and `repr(C)`; the layout is asserted in the generated header.
unsafe impl DeviceRepr for TensorMap {}
// SAFETY: `Zeroable`.
unsafe impl ValidAsZeroBits for TensorMap {}

impl CudaType for TensorMap {
    const C: &'static str = "TensorMap";
}

impl CudaStruct for TensorMap {
    const FIELDS: &'static [Field] =
        &[Field { name: "words[16]", c: <u64 as CudaType>::C, docs: "Of the driver and the hardware" }];
    const DOCS: &'static str = " A tensor that is copied box by box.";
}

/// Geometry of a stack of 16-bit matrices with two batch dimensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Boxes {
    /// Whether elements are bfloat16 rather than IEEE binary16.
    pub is_bf16: bool,
    /// Extents: columns, rows, inner batch, outer batch.
    pub sizes: [usize; 4],
    /// Strides of rows, inner batch and outer batch, in elements: multiples of 8. A batch dimension with stride 0 has extent 1.
    pub strides: [usize; 3],
    /// Columns and rows of a box: 64 columns, whose 16-byte chunks are swizzled (chunk XOR row) in shared memory, and
    /// at most 256 rows.
    pub copied: [u32; 2],
}

/// Kernel argument for memory that TMA copies by boxes to or from shared memory: `const __grid_constant__ TensorMap`.
pub struct InBoxes;

/// Host value of an [`InBoxes`] argument.
#[derive(Clone, Copy, Debug)]
pub struct BoxesOf<'h> {
    map: TensorMap,
    borrowed: PhantomData<&'h ()>,
}

impl<'h> BoxesOf<'h> {
    /// Null descriptor, for a kernel whose other arguments disable box copies.
    pub const NONE: Self = Self { map: TensorMap { words: [0; 16] }, borrowed: PhantomData };

    /// Returns the descriptor of a matrix that the kernel writes and whose memory is an argument of the same launch. Fails if
    /// the driver rejects the geometry.
    pub fn of_written(matrix: &AnyMut<'h>, boxes: &Boxes) -> Result<Self, GpuError> {
        Self::new(Any::at(matrix.ptr), boxes)
    }

    /// Returns the descriptor of a matrix whose address is a multiple of 16 bytes. Elements outside the extents read as zero.
    /// Fails if the driver rejects the geometry.
    pub fn new(matrix: Any<'h>, boxes: &Boxes) -> Result<Self, GpuError> {
        use sys::{CUtensorMapDataType_enum as Type, CUtensorMapSwizzle_enum as Swizzle};
        let [adjacent, lines, inner, outer] = boxes.sizes.map(|n| n as u64);
        let count = |matrices: u64, stride: usize| if stride == 0 { 1 } else { matrices };
        let sizes = [adjacent, lines, count(inner, boxes.strides[1]), count(outer, boxes.strides[2])];
        // The driver rejects a zero stride; an unused stride may have any valid value.
        let bytes = boxes.strides.map(|n| 2 * if n == 0 { boxes.strides[0] } else { n } as u64);
        let element =
            if boxes.is_bf16 { Type::CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 } else { Type::CU_TENSOR_MAP_DATA_TYPE_FLOAT16 };
        let (copied, steps) = ([boxes.copied[0], boxes.copied[1], 1, 1], [1_u32; 4]);
        let mut map = TensorMap::default();
        // SAFETY: all pointers are to arrays of rank 4 that live until the call returns; the map has the size and alignment
        // of the driver's type. The driver checks the values.
        unsafe {
            sys::cuTensorMapEncodeTiled(
                std::ptr::from_mut(&mut map).cast(),
                element,
                4,
                matrix.ptr as *mut c_void,
                sizes.as_ptr(),
                bytes.as_ptr(),
                copied.as_ptr(),
                steps.as_ptr(),
                sys::CUtensorMapInterleave_enum::CU_TENSOR_MAP_INTERLEAVE_NONE,
                Swizzle::CU_TENSOR_MAP_SWIZZLE_128B,
                sys::CUtensorMapL2promotion_enum::CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
                sys::CUtensorMapFloatOOBfill_enum::CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
            )
        }
        .result()
        .doing(|| format!("describing a tensor of {:?} elements", boxes.sizes))?;
        Ok(Self { map, borrowed: PhantomData })
    }
}

impl Arg for InBoxes {
    type Host<'h> = BoxesOf<'h>;
    fn c() -> String {
        format!("const __grid_constant__ {}", TensorMap::C)
    }
    fn push<'a>(host: &'a Self::Host<'_>, args: &mut Args<'a>) {
        args.push(&host.map);
    }
}
