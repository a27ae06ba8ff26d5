//! Series over time: rates with fixed lanes, traces of chosen elements.

mod rates;
mod samples;
mod traces;

pub use rates::Rates;
pub use traces::Traces;
