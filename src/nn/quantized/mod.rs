//! Operations whose results are 8-bit integers in natural units, without scale factors: rounded half to even and
//! clipped to ±127.
//!
//! | operation | result |
//! |---|---|
//! | [`cpu::abs_mean_norm`] | `q8(x s / max(1, mean |x|))` per row |
//! | [`cpu::add`] | `clip(x + round(s o))`: residual addition |
//! | [`cpu::gelu`] | `q8(s gelu(z))`; [`cpu::position_gelu`] adds a position to z first |
//! | [`cpu::embed`] | a row of weights with its perturbation |
//!
//! [`product`] multiplies rows by small matrices of weights -1, 0 and 1, [`ternary`] packs such weights into 2 bits, and
//! [`fp4`] packs integers and floats into NVFP4 blocks.

pub mod cpu;
pub mod fp4;
pub mod product;
pub mod ternary;
