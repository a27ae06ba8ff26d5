//! Cross-entropy of logits, fused with its gradient.
