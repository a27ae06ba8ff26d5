//! Structs shared by Rust and CUDA.
//!
//! [`device_struct!`](crate::device_struct) declares a `repr(C)` struct once; [`CudaStruct::definition`] prints its
//! CUDA definition. `Pod` rejects padding on the Rust side and the header asserts the size on the CUDA side. Equal
//! scalars in equal order without padding and with equal size give equal layouts.

use super::{DeviceRepr, ValidAsZeroBits};
use crate::num::elements::{Bf16, E4m3, E5m2, F16};
use std::fmt::Write as _;

/// Type that can be stored in device memory or passed to a kernel.
pub trait CudaType: DeviceRepr + ValidAsZeroBits + bytemuck::Pod + Send + Sync {
    /// Name of the type in CUDA.
    const C: &'static str;
}

macro_rules! scalar {
    ($($ty:ty = $c:literal),* $(,)?) => { $( impl CudaType for $ty { const C: &'static str = $c; } )* };
}
scalar!(
    f32 = "float",
    f64 = "double",
    i8 = "signed char",
    u8 = "unsigned char",
    i16 = "short",
    u16 = "unsigned short",
    i32 = "int",
    u32 = "unsigned int",
    i64 = "long long",
    u64 = "unsigned long long",
);

/// Implements the traits for an element type of `kernels/common/elements.cuh`.
macro_rules! element {
    ($($ty:ty = $c:literal),* $(,)?) => { $(
        // SAFETY: `Pod`, `repr(transparent)` over an integer; the CUDA struct holds the same integer.
        unsafe impl DeviceRepr for $ty {}
        // SAFETY: `Zeroable`.
        unsafe impl ValidAsZeroBits for $ty {}
        impl CudaType for $ty { const C: &'static str = $c; }
    )* };
}
element!(F16 = "f16", Bf16 = "bf16", E4m3 = "e4m3", E5m2 = "e5m2");

/// List of constants that a module exports to CUDA.
#[derive(Clone, Copy, Debug)]
pub struct Constants {
    /// Rust expression of the list.
    pub name: &'static str,
    /// Constants of the list.
    pub list: &'static [Constant],
}

/// Header item other than a prototype: a struct or a list of constants.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Definition {
    /// Stem of the item's own header, which is written if several headers include the item.
    pub name: String,
    /// CUDA source of the item.
    pub text: String,
}

/// Field of a device struct.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Name of the field in both languages.
    pub name: &'static str,
    /// CUDA type of the field.
    pub c: &'static str,
    /// Doc comment, copied to the header.
    pub docs: &'static str,
}

/// Struct declared with [`device_struct!`](crate::device_struct).
pub trait CudaStruct: CudaType {
    /// Fields in declaration order.
    const FIELDS: &'static [Field];
    /// Doc comment of the struct.
    const DOCS: &'static str;

    /// Returns the CUDA definition, with an assertion of its size.
    fn definition() -> Definition {
        let name = Self::C;
        let mut out = comment(Self::DOCS);
        let _ = writeln!(out, "struct alignas({}) {name} {{", align_of::<Self>());
        for field in Self::FIELDS {
            let docs = field.docs.trim().replace('\n', " ");
            let _ = writeln!(out, "    {} {}; // {docs}", field.c, field.name);
        }
        let _ = writeln!(out, "}};\nstatic_assert(sizeof({name}) == {}, \"{name}: size\");", size_of::<Self>());
        Definition { name: name.to_owned(), text: out }
    }
}

/// Constant that host and kernels share, listed by [`device_constants!`](crate::device_constants).
#[derive(Clone, Copy, Debug)]
pub struct Constant {
    /// Returns the CUDA definition with the name in Rust: `constexpr unsigned int COPIES = 8;`.
    pub definition: fn() -> String,
}

/// Number type of a [`Constant`].
pub trait ConstantType: Copy {
    /// Name of the type in CUDA.
    const C: &'static str;
    /// Formats the number as CUDA source.
    fn text(self) -> String;
}

macro_rules! constant {
    ($($ty:ty = $c:literal, $text:literal;)*) => { $(
        impl ConstantType for $ty {
            const C: &'static str = $c;
            fn text(self) -> String {
                format!($text, self)
            }
        }
    )* };
}
constant! {
    u32 = "unsigned int", "{}u";
    // Kernels index with 32 bits, so host sizes become `unsigned int`.
    usize = "unsigned int", "{}u";
    i32 = "int", "{}";
    u64 = "unsigned long long", "{}ull";
    f32 = "float", "{:?}f";
    f64 = "double", "{:?}";
}

/// Returns the CUDA definition of a constant; `path` is the constant's path in Rust.
pub fn constant<T: ConstantType>(path: &str, value: T) -> String {
    let name = path.rsplit("::").next().unwrap_or(path).trim();
    format!("constexpr {} {name} = {};\n", T::C, value.text())
}

/// Lists constants that kernels use under their Rust names: `device_constants![COPIES, marks::CLOSED]`, for `kernels! { … with
/// [LIST] … }`.
#[macro_export]
macro_rules! device_constants {
    ($($path:path),* $(,)?) => {
        &[ $( $crate::gpu::layout::Constant { definition: || $crate::gpu::layout::constant(stringify!($path), $path) } ),* ]
    };
}

/// Formats a doc comment as C++ comment lines.
pub(super) fn comment(docs: &str) -> String {
    docs.trim_end().lines().map(|line| format!("//{}\n", line.trim_end())).collect()
}

/// Declares a struct shared with the kernels. From
///
/// ```ignore
/// device_struct! {
///     /// Constants of the kernels.
///     pub struct Constants {
///         /// exp(-dt / tau_m)
///         decay: f32,
///     }
/// }
/// ```
///
/// it generates the `repr(C)` struct with public fields, `Pod`, and the CUDA definition `struct alignas(4) Constants {
/// float decay; // exp(-dt / tau_m) };`.
#[macro_export]
macro_rules! device_struct {
    (
        $(#[doc = $struct_docs:literal])*
        $vis:vis struct $Name:ident {
            $( $(#[doc = $docs:literal])* $field:ident : $ty:ty ),* $(,)?
        }
    ) => {
        $(#[doc = $struct_docs])*
        #[repr(C)]
        #[derive(Clone, Copy, Debug, Default, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
        $vis struct $Name { $( $(#[doc = $docs])* pub $field: $ty, )* }

        // SAFETY: `Pod` and `repr(C)`; the layout is asserted in the generated header.
        unsafe impl $crate::gpu::DeviceRepr for $Name {}
        // SAFETY: `Zeroable`.
        unsafe impl $crate::gpu::ValidAsZeroBits for $Name {}

        impl $crate::gpu::layout::CudaType for $Name {
            const C: &'static str = stringify!($Name);
        }

        impl $crate::gpu::layout::CudaStruct for $Name {
            const FIELDS: &'static [$crate::gpu::layout::Field] = &[ $( $crate::gpu::layout::Field {
                name: stringify!($field),
                c: <$ty as $crate::gpu::layout::CudaType>::C,
                docs: concat!($($docs, "\n"),*),
            } ),* ];
            const DOCS: &'static str = concat!($($struct_docs, "\n"),*);
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    device_struct! {
        /// A pair
        /// of things.
        struct Pair {
            /// How many
            count: u64,
            /// Where
            at: f32,
            /// Padding to eight bytes
            pad: u32,
        }
    }

    const N_COPIES: usize = 8;
    const SHARED: &[Constant] = device_constants![N_COPIES, self::pair::SIZE];

    mod pair {
        pub const SIZE: f32 = 0.5;
    }

    #[test]
    fn constants_keep_their_names() {
        let text: String = SHARED.iter().map(|c| (c.definition)()).collect();
        assert_eq!(text, "constexpr unsigned int N_COPIES = 8u;\nconstexpr float SIZE = 0.5f;\n");
    }

    #[test]
    fn the_definition_is_plain_c() {
        let want = "// A pair\n// of things.\nstruct alignas(8) Pair {\n    unsigned long long count; // How many\n    \
                    float at; // Where\n    unsigned int pad; // Padding to eight bytes\n};\n\
                    static_assert(sizeof(Pair) == 16, \"Pair: size\");\n";
        assert_eq!(Pair::definition().text, want);
    }
}
