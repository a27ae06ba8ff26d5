//! Optimisers, gradient norm and loss scaling.
