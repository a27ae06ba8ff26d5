//! What the sampler needs to know about the probes.

use super::probes::{self, PROBES};
use crate::{
    kinds::language::sampler::{Probes, Sampler},
    sim::ProbeId,
};

/// Probes that need norms of parameters.
pub const OF_NORMS: &[ProbeId] = &[
    probes::WEIGHT_NORMS,
    probes::GRADIENT_NORMS,
    probes::UPDATE_RATIOS,
    probes::LAYER_UPDATE,
    probes::TENSOR_RMS,
    probes::TENSOR_GRADIENT,
    probes::TENSOR_UPDATE,
];

/// Without taps.
pub const fn new() -> Sampler {
    Sampler::new(Probes {
        specs: PROBES,
        of_text: &[probes::SAMPLES, probes::TOKENS, probes::ATTENTION, probes::ACTIVATIONS],
        limit: |probe| if probe == probes::WEIGHTS { 0.5 } else { 8.0 },
    })
}
