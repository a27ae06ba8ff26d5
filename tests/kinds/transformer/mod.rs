//! The transformer: the model against references and itself.

mod golden;
mod model;
pub mod small;

pub use golden::check;
