//! Activations of the feed-forward layer: GELU in both forms, ReLU, its square, and SwiGLU.
