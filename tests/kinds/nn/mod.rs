//! Operations on tensors.

mod golden_transformer;
