//! Memory that is written while a text is continued, and the gate of its writes.
//!
//! In a decoder, every layer has a matrix F and a gate per feature. Both belong to one text, begin at rest, do not change
//! the weights, and do not exist in training and evaluation. F acts on the mixture of experts with input x and output y,
//! with `k = x / |x|`:
//!
//! ```text
//! y' = y + s F k                                    output that the layer adds to the residual stream
//! v  = y min(1, n / |y|)                            target: the output without the memory, at most of length n
//! F <- lambda F + eta diag(gate) (v - F k) kᵀ       delta rule (Schlag et al. 2021, arXiv 2102.11174)
//! ```
//!
//! The target does not contain the read-out, so there is no feedback. With `eta <= lambda <= 1`, each write moves the
//! read-out along k towards v by a convex step, and the Frobenius norm of F stays below `eta n / (1 - lambda)` for any
//! inputs: 10 with the defaults. Without writes, F decays by lambda per token, and the output returns to that of the
//! trained model.
//!
//! The gate opens where outputs are repeatedly large: see [`Gate`].

mod gate;
mod memory;

pub use gate::{CamkiiPp1, Gains, Gate, GateState, Latch};
pub use memory::{FastMemory, MemoryState};

#[cfg(test)]
mod tests;
