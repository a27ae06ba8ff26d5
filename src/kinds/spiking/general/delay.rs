//! Delays in time steps.

/// Converts a delay to the nearest number of steps, half up.
pub fn delay_steps(ms: f64, dt_ms: f64) -> f64 {
    (ms / dt_ms + 0.5).floor()
}
