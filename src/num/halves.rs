//! Rounding to the 16-bit formats of stored weights.

/// Rounds to IEEE binary16: 11 significant bits, infinite beyond 65,504.
pub fn f16(x: f32) -> f32 {
    half::f16::from_f32(x).to_f32()
}

/// Rounds to bfloat16: 8 significant bits.
pub fn bf16(x: f32) -> f32 {
    half::bf16::from_f32(x).to_f32()
}

/// Rounds like [`f16`] and returns the bits.
pub fn f16_bits(x: f32) -> u16 {
    half::f16::from_f32(x).to_bits()
}

/// Rounds like [`bf16`] and returns the bits.
pub fn bf16_bits(x: f32) -> u16 {
    half::bf16::from_f32(x).to_bits()
}

/// Converts IEEE binary16 bits to `f32`.
pub fn from_f16_bits(bits: u16) -> f32 {
    half::f16::from_bits(bits).to_f32()
}

/// Converts bfloat16 bits to `f32`.
pub fn from_bf16_bits(bits: u16) -> f32 {
    half::bf16::from_bits(bits).to_f32()
}
