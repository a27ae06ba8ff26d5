//! Token and position embeddings.
