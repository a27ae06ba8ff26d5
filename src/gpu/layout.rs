//! Structs shared by Rust and CUDA.
//!
//! [`device_struct!`](crate::device_struct) declares a `repr(C)` struct once; [`CudaStruct::definition`]
//! prints its CUDA definition. `Pod` refuses padding on the Rust side and the header asserts the
//! size on the CUDA side; same scalars, same order, same size and no padding keep both in agreement.

use super::{DeviceRepr, ValidAsZeroBits, header::Definition};
use crate::num::elements::{Bf16, E4m3, E5m2, F16};
use std::fmt::Write as _;

/// A type that is stored in device memory or passed to a kernel.
pub trait CudaType: DeviceRepr + ValidAsZeroBits + bytemuck::Pod + Send + Sync {
    /// Its CUDA type name.
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

/// Element types of `kernels/common/elements.cuh`.
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

/// One field of a device struct.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Name in both languages.
    pub name: &'static str,
    /// CUDA name of its type.
    pub c: &'static str,
    /// Doc comment, carried over to the header.
    pub docs: &'static str,
}

/// A struct declared with [`device_struct!`](crate::device_struct).
pub trait CudaStruct: CudaType {
    /// Its fields, in declaration order.
    const FIELDS: &'static [Field];
    /// Its doc comment, line by line.
    const DOCS: &'static str;

    /// The CUDA definition, with its size asserted.
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

/// A number that host and kernels share, listed by [`device_constants!`](crate::device_constants).
#[derive(Clone, Copy, Debug)]
pub struct Constant {
    /// `constexpr unsigned int COPIES = 8;`, with the name that it has in Rust.
    pub definition: fn() -> String,
}

/// A type of number that can be a [`Constant`].
pub trait ConstantType: Copy {
    /// Its CUDA spelling.
    const C: &'static str;
    /// The number as CUDA source.
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
    // Sizes on the host; kernels index with 32 bits.
    usize = "unsigned int", "{}u";
    i32 = "int", "{}";
    u64 = "unsigned long long", "{}ull";
    f32 = "float", "{:?}f";
    f64 = "double", "{:?}";
}

/// The definition of a constant in a generated header; `path` is its name in Rust.
pub fn constant<T: ConstantType>(path: &str, value: T) -> String {
    let name = path.rsplit("::").next().unwrap_or(path).trim();
    format!("constexpr {} {name} = {};\n", T::C, value.text())
}

/// Lists constants that kernels see under the name they have in Rust: `device_constants![COPIES, marks::CLOSED]`, for
/// `kernels! { … with [THAT_LIST] … }`.
#[macro_export]
macro_rules! device_constants {
    ($($path:path),* $(,)?) => {
        &[ $( $crate::gpu::layout::Constant { definition: || $crate::gpu::layout::constant(stringify!($path), $path) } ),* ]
    };
}

/// A doc comment as C++ comment lines.
pub(super) fn comment(docs: &str) -> String {
    docs.trim_end().lines().map(|line| format!("//{}\n", line.trim_end())).collect()
}

/// Declares a struct shared with the kernels. What it writes for
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
/// is the `repr(C)` struct with public fields, `Pod`, and the CUDA definition
/// `struct alignas(4) Constants { float decay; // exp(-dt / tau_m) };`.
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
