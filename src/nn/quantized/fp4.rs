//! NVFP4: 4-bit floats E2M1 in blocks of 16 along a row, which share an unsigned E4M3 scale.
//!
//! A code holds the sign in bit 3 and one of the magnitudes [`MAGNITUDES`] in bits 0 to 2. Conversions round to nearest, ties to
//! the even code, and saturate. A byte packs two codes, the even element in the low bits.
//!
//! A block of integers has the scale 1 if all of them are values of E2M1, as every weight -1, 0, 1 is: then the block
//! is exact, and twice a value is an 8-bit integer. A block of other integers has the scale `max / 6`, which E4M3
//! rounds.

use crate::num::elements::{E4m3, Element as _};

/// Number of elements that share a scale.
pub const BLOCK: usize = 16;
/// Magnitudes of the codes 0 to 7.
pub const MAGNITUDES: [f32; 8] = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0];
/// Largest magnitude of a code.
const LARGEST: f32 = 6.0;

/// Returns the nearest code of a number; NaN becomes code 0.
pub fn code(x: f32) -> u8 {
    let magnitude = x.abs();
    let ties_up = |i: usize| i.is_multiple_of(2); // to the even code
    let above = |i: &usize| {
        let half = (MAGNITUDES[i - 1] + MAGNITUDES[*i]) / 2.0;
        magnitude > half || (magnitude == half && ties_up(*i))
    };
    let code = (1..MAGNITUDES.len()).take_while(above).last().unwrap_or(0) as u8;
    code | if x.is_sign_negative() { 8 } else { 0 }
}

/// Returns the value of a code.
pub fn value(code: u8) -> f32 {
    let magnitude = MAGNITUDES[usize::from(code & 7)];
    if code & 8 == 0 { magnitude } else { -magnitude }
}

/// Returns twice the value of a code, an integer.
pub fn twice(code: u8) -> i8 {
    (2.0 * value(code)) as i8
}

/// Blocks of a row: codes, one per element, and scales, one per block.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Blocks {
    /// One code per element.
    pub codes: Vec<u8>,
    /// One scale per block.
    pub scales: Vec<E4m3>,
}

/// Rule for the scale of a block of integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IntegerScale {
    /// The scale is 1 if all integers are values of E2M1, else the largest magnitude over 6.
    ExactIfPossible,
    /// The scale is the largest magnitude over 6, or 1 if all integers are 0, as in the published program of evolution
    /// strategies.
    Largest,
}

impl Blocks {
    /// Encodes a row of integers.
    pub fn of_integers(row: &[i8], scale: IntegerScale) -> Self {
        let exact = |x: &i8| MAGNITUDES.contains(&f32::from(x.unsigned_abs()));
        let mut blocks = Self::default();
        for block in row.chunks(BLOCK) {
            let largest = block.iter().map(|x| x.unsigned_abs()).max().unwrap_or(0);
            let is_one = largest == 0 || (scale == IntegerScale::ExactIfPossible && block.iter().all(exact));
            let s = E4m3::from_f32(if is_one { 1.0 } else { f32::from(largest) / LARGEST });
            blocks.push(block.iter().map(|x| f32::from(*x)), s, 1.0);
        }
        blocks
    }

    /// Encodes a row of floats with `tensor`, the scale of the whole tensor from [`tensor_scale`].
    pub fn of_floats(row: &[f32], tensor: f32) -> Self {
        let mut blocks = Self::default();
        for block in row.chunks(BLOCK) {
            let largest = block.iter().fold(0.0_f32, |largest, x| largest.max(x.abs()));
            let s = if tensor > 0.0 { largest / (LARGEST * tensor) } else { 0.0 };
            blocks.push(block.iter().copied(), E4m3::from_f32(s), tensor);
        }
        blocks
    }

    fn push(&mut self, block: impl Iterator<Item = f32>, scale: E4m3, tensor: f32) {
        let unit = scale.to_f32() * tensor;
        self.codes.extend(block.map(|x| if unit > 0.0 { code(x / unit) } else { 0 }));
        self.scales.push(scale);
    }

    /// Returns the decoded values, multiplied by `tensor`: the scale of the tensor, 1 for integers.
    pub fn values(&self, tensor: f32) -> Vec<f64> {
        let scale = |i: usize| f64::from(self.scales[i / BLOCK].to_f32()) * f64::from(tensor);
        self.codes.iter().enumerate().map(|(i, code)| f64::from(value(*code)) * scale(i)).collect()
    }

    /// Packs two codes per byte, the even element in the low bits.
    pub fn packed(&self) -> Vec<u8> {
        self.codes.chunks(2).map(|pair| pair[0] | pair.get(1).unwrap_or(&0) << 4).collect()
    }
}

/// Returns the scale of a tensor whose largest magnitude is `largest`: the largest block scale is then 448, the largest
/// E4M3 value.
pub fn tensor_scale(largest: f32) -> f32 {
    largest / (LARGEST * 448.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_and_small_perturbations_are_exact() {
        let row: Vec<i8> = (0..48).map(|i| [-4, -3, -2, -1, 0, 1, 2, 3, 4, 6][i % 10]).collect();
        let blocks = Blocks::of_integers(&row, IntegerScale::ExactIfPossible);
        assert!(blocks.values(1.0).iter().zip(&row).all(|(v, x)| *v == f64::from(*x)));
        assert!(blocks.codes.iter().zip(&row).all(|(code, x)| twice(*code) == 2 * x));
        let ternary = Blocks::of_integers(&[1, 0, -1], IntegerScale::Largest);
        assert_eq!(ternary.values(1.0), [1.03125, 0.0, -1.03125], "1/6 is not a value of E4M3");
    }
}
