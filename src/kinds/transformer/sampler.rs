//! Probe specifications for the sampler.

use super::probes;
use crate::{kinds::language::sampler::Probes, sim::ProbeId};

/// Probes that read the norms of parameters.
pub const OF_NORMS: &[ProbeId] = &[
    probes::WEIGHT_NORMS,
    probes::GRADIENT_NORMS,
    probes::UPDATE_RATIOS,
    probes::LAYER_UPDATE,
    probes::TENSOR_RMS,
    probes::TENSOR_GRADIENT,
    probes::TENSOR_UPDATE,
];

/// Specifications of the transformer's probes. Histograms of weights span ±0.5, others ±8.
pub const PROBES: Probes = Probes {
    specs: probes::PROBES,
    of_text: &[probes::SAMPLES, probes::TOKENS, probes::ATTENTION, probes::ACTIVATIONS],
    limit: |probe| if probe == probes::WEIGHTS { 0.5 } else { 8.0 },
};
