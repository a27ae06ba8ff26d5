//! Softmax with scale and mask in one pass.
