//! Generates networks that need no file. Networks of equal seeds are equal bit for bit, on any number of threads.

mod balanced;
mod fly;

pub use balanced::{RandomConnection, balanced, balanced_with};
pub use fly::{SIZE as FLY_SIZE, fly_stand_in};
