//! Activations of the epilogue, as defined by [`activation`].

use super::MAX_COLUMNS;
use crate::nn::{
    activation::{self, Activation},
    real::Real,
};

/// Computes `x = f(x)`, for at most [`MAX_COLUMNS`] elements.
pub fn apply<R: Real>(f: Activation, x: &mut [R]) {
    let mut z = [R::ZERO; MAX_COLUMNS];
    let z = &mut z[..x.len()];
    z.copy_from_slice(x);
    let fits = activation::forward(f, 1, x.len(), z, x);
    debug_assert!(fits.is_ok(), "equal lengths");
}

/// Computes `x = x · f′(z)`, for at most [`MAX_COLUMNS`] elements.
pub fn times_gradient<R: Real>(f: Activation, z: &[R], x: &mut [R]) {
    let mut dy = [R::ZERO; MAX_COLUMNS];
    let dy = &mut dy[..x.len()];
    dy.copy_from_slice(x);
    let fits = activation::backward(f, 1, x.len(), z, dy, x);
    debug_assert!(fits.is_ok(), "equal lengths");
}
