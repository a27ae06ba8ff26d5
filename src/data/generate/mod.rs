//! Networks that need no file: the same bits from the same seed, on any number of threads.

mod balanced;
mod fly;

pub use balanced::{RandomConnection, balanced, balanced_with};
pub use fly::{SIZE as FLY_SIZE, fly_stand_in};
