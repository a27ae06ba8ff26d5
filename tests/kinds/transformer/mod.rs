//! The transformer: the model against references and itself.

mod cuda;
mod cuda_beside_others;
mod cuda_long;
mod cuda_masks;
mod cuda_training;
mod golden;
mod model;
mod simulation;
pub mod small;

pub use golden::check;
