//! Sizes, names and first values of the parameters.
