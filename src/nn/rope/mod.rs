//! Rotary position embeddings.
