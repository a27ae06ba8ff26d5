//! Constants of release of the earlier model.

use neuropil::kinds::synaptic::presynaptic::Constants;

/// Few vesicles are recovered, the pool is refilled slowly, and energy has no effect.
pub fn constants() -> Constants {
    Constants::default().with(|c| {
        (c.vesicles.recycled, c.vesicles.k_prime) = (0.06, 0.075);
        (c.bias.floor, c.energy.half) = (1e-6, 0.0);
    })
}
