//! Narrow floating-point formats as element types of tensors: 16 bits (IEEE binary16, bfloat16) and 8 bits (OCP FP8
//! E4M3 and E5M2). Conversions round to nearest, ties to even. `kernels/common/elements.cuh` has the CUDA counterparts
//! of the types.

use half::slice::{HalfBitsSliceExt as _, HalfFloatSliceExt as _};
use std::fmt;

/// Floating-point format that stores an `f32` in fewer bits.
pub trait Element: bytemuck::Pod + Send + Sync + fmt::Debug + PartialEq {
    /// Name in files and labels: `bf16`.
    const NAME: &'static str;

    /// Rounds to the nearest value of the format.
    fn from_f32(x: f32) -> Self;

    /// Converts without rounding.
    fn to_f32(self) -> f32;

    /// Converts values up to the length of the shorter slice.
    fn encode(from: &[f32], to: &mut [Self]) {
        to.iter_mut().zip(from).for_each(|(to, from)| *to = Self::from_f32(*from));
    }

    /// Converts values up to the length of the shorter slice.
    fn decode(from: &[Self], to: &mut [f32]) {
        to.iter_mut().zip(from).for_each(|(to, from)| *to = from.to_f32());
    }
}

impl Element for f32 {
    const NAME: &'static str = "f32";
    fn from_f32(x: f32) -> Self {
        x
    }
    fn to_f32(self) -> f32 {
        self
    }
}

/// Declares a newtype over bits that is formatted as its numeric value.
macro_rules! bits {
    ($(#[doc = $docs:literal])* $Name:ident($Bits:ty)) => {
        $(#[doc = $docs])*
        #[derive(Clone, Copy, Default, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
        #[repr(transparent)]
        pub struct $Name(pub $Bits);

        impl fmt::Debug for $Name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}", self.to_f32())
            }
        }
    };
}

bits! {
    /// IEEE binary16: 11 significant bits; values beyond 65,504 become infinite.
    F16(u16)
}
bits! {
    /// bfloat16: 8 significant bits, with the exponent range of `f32`.
    Bf16(u16)
}
bits! {
    /// FP8 E4M3: 4 significant bits; values beyond ±448 are clipped. The format has NaN but no infinities.
    E4m3(u8)
}
bits! {
    /// FP8 E5M2: 3 significant bits; values beyond ±57,344 are clipped. The format has NaN; infinities are read, never written.
    E5m2(u8)
}

macro_rules! sixteen_bits {
    ($($Name:ident = $half:ty, $name:literal;)*) => { $(
        impl Element for $Name {
            const NAME: &'static str = $name;
            fn from_f32(x: f32) -> Self {
                Self(<$half>::from_f32(x).to_bits())
            }
            fn to_f32(self) -> f32 {
                <$half>::from_bits(self.0).to_f32()
            }
            fn encode(from: &[f32], to: &mut [Self]) {
                let n = from.len().min(to.len());
                let bits: &mut [u16] = bytemuck::cast_slice_mut(&mut to[..n]);
                bits.reinterpret_cast_mut::<$half>().convert_from_f32_slice(&from[..n]);
            }
            fn decode(from: &[Self], to: &mut [f32]) {
                let n = from.len().min(to.len());
                let bits: &[u16] = bytemuck::cast_slice(&from[..n]);
                bits.reinterpret_cast::<$half>().convert_to_f32_slice(&mut to[..n]);
            }
        }
    )* };
}
sixteen_bits! {
    F16 = half::f16, "f16";
    Bf16 = half::bf16, "bf16";
}

/// Encodes a value in eight bits with `mantissa` stored significant bits. `least` is the smallest exponent of normal numbers,
/// `largest` the largest value, `nan` the bit pattern of NaN. Equals CUDA's `cvt.rn.satfinite`.
fn eight_bits(x: f32, mantissa: u32, least: i32, largest: f32, nan: u8) -> u8 {
    let sign = if x.is_sign_negative() { 0x80 } else { 0 };
    if x.is_nan() {
        return sign | nan;
    }
    let size = x.abs().min(largest);
    let exponent = ((size.to_bits() >> 23) as i32 - 127).max(least);
    // The quantum is the distance between neighbours: a power of two, so the division is exact.
    let quantum = f32::from_bits(((exponent - mantissa as i32 + 127) as u32) << 23);
    let units = (size / quantum).round_ties_even() as i32;
    sign | (((exponent - least) << mantissa) + units) as u8
}

impl Element for E4m3 {
    const NAME: &'static str = "e4m3";
    fn from_f32(x: f32) -> Self {
        Self(eight_bits(x, 3, -6, 448.0, 0x7f))
    }
    fn to_f32(self) -> f32 {
        if self.0 & 0x7f == 0x7f {
            return f32::NAN;
        }
        // The bits are those of a binary16 whose exponent is 8 too small.
        let bits = u16::from(self.0 & 0x80) << 8 | u16::from(self.0 & 0x7f) << 7;
        half::f16::from_bits(bits).to_f32() * 256.0
    }
}

impl Element for E5m2 {
    const NAME: &'static str = "e5m2";
    fn from_f32(x: f32) -> Self {
        Self(eight_bits(x, 2, -14, 57_344.0, 0x7f))
    }
    fn to_f32(self) -> f32 {
        half::f16::from_bits(u16::from(self.0) << 8).to_f32()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks every bit pattern of a format: numbers survive the conversion to `f32` and back.
    fn round_trip<T: Element>(all: impl Iterator<Item = T>) {
        let mut finite: Vec<T> = all.filter(|x| x.to_f32().is_finite()).collect();
        for x in &finite {
            assert_eq!(T::from_f32(x.to_f32()), *x, "{}: {x:?}", T::NAME);
        }
        // Values between two neighbours round to the nearer neighbour, ties to the even one.
        finite.retain(|x| x.to_f32() >= 0.0);
        finite.sort_by(|a, b| a.to_f32().total_cmp(&b.to_f32()));
        for (i, pair) in finite.windows(2).enumerate().skip(1) {
            let [a, b] = [pair[0].to_f32(), pair[1].to_f32()];
            let middle = a + (b - a) / 2.0;
            let even = if i.is_multiple_of(2) { pair[0] } else { pair[1] };
            assert_eq!(T::from_f32(middle), even, "{}: between {a} and {b}", T::NAME);
            assert_eq!(T::from_f32(middle.next_down()), pair[0]);
            assert_eq!(T::from_f32(middle.next_up()), pair[1]);
        }
    }

    #[test]
    fn every_value_of_eight_bits_survives() {
        // Zero has two patterns; the negative zero is left out.
        round_trip((0..=255).filter(|b| *b != 0x80).map(E4m3));
        round_trip((0..=255).filter(|b| *b != 0x80).map(E5m2));
    }

    #[test]
    fn every_value_of_sixteen_bits_survives() {
        round_trip((0..=u16::MAX).filter(|b| *b != 0x8000).map(F16));
        for bits in 0..=u16::MAX {
            let x = Bf16(bits).to_f32();
            assert!(x.is_nan() || Bf16::from_f32(x) == Bf16(bits));
        }
    }

    #[test]
    fn formats_end_where_their_standards_say() {
        let ends = [(448.0, 0x7e), (1e9, 0x7e), (-1e9, 0xfe), (f32::INFINITY, 0x7e), (0.0, 0), (-0.0, 0x80)];
        ends.iter().for_each(|(x, bits)| assert_eq!(E4m3::from_f32(*x).0, *bits, "{x}"));
        assert_eq!((E4m3(1).to_f32(), E4m3(0x08).to_f32(), E4m3(0x38).to_f32()), (2_f32.powi(-9), 2_f32.powi(-6), 1.0));
        assert_eq!((E5m2::from_f32(1e9).to_f32(), E5m2(1).to_f32()), (57_344.0, 2_f32.powi(-16)));
        assert!(E4m3::from_f32(f32::NAN).to_f32().is_nan() && E5m2::from_f32(f32::NAN).to_f32().is_nan());
        assert!(F16::from_f32(70_000.0).to_f32().is_infinite() && Bf16::from_f32(70_000.0).to_f32().is_finite());
    }

    #[test]
    fn slices_convert_like_single_values() {
        let values: Vec<f32> = (0..1003).map(|i| (i as f32 - 500.0) * 0.37).collect();
        fn check<T: Element + Default>(values: &[f32]) {
            let mut narrow = vec![T::zeroed(); values.len()];
            T::encode(values, &mut narrow);
            assert!(narrow.iter().zip(values).all(|(a, b)| *a == T::from_f32(*b)), "{}", T::NAME);
            let mut back = vec![0.0; values.len()];
            T::decode(&narrow, &mut back);
            assert!(back.iter().zip(&narrow).all(|(a, b)| *a == b.to_f32()), "{}", T::NAME);
        }
        check::<f32>(&values);
        check::<F16>(&values);
        check::<Bf16>(&values);
        check::<E4m3>(&values);
        check::<E5m2>(&values);
    }
}
