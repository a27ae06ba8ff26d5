//! Networks that need no file: the same bits from the same seed, on any number of threads.

mod balanced;
mod fly;

pub use balanced::balanced;
pub use fly::fly_stand_in;
