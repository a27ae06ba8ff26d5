//! Networks from rules: populations, projections and external input.

pub mod counts;
pub mod fixed_point;
pub mod plan;
mod population;
mod projection;
#[cfg(test)]
mod refusals;
pub use population::*;
pub use projection::*;
