//! Probe specifications for the sampler.

use super::probes;
use crate::{kinds::language::sampler::Probes, sim::ProbeId};

/// Probes that are measured on the newest sampled text.
pub const OF_TEXT: &[ProbeId] = &[
    probes::SAMPLES,
    probes::TOKENS,
    probes::ATTENTION,
    probes::RELEASE_BIAS,
    probes::SYNAPSE,
    probes::VESICLES,
    probes::ROUTED,
    probes::DECISION,
    probes::ROUTES,
    probes::MAP_1,
    probes::MAP_2,
    probes::MAP_3,
    probes::PARITY,
];
/// Probes that are series over selected experts.
pub const OF_EXPERTS: &[ProbeId] = &[probes::LOAD_OF, probes::ENERGY_OF, probes::HEALTH_OF];

/// Specifications of the synaptic probes.
pub const PROBES: Probes = Probes { specs: probes::PROBES, of_text: OF_TEXT, limit: |_| 1.0 };
