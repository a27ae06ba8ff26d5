//! Readings of single plastic synapses: weight, traces and eligibility of the recorded synapses of a project.

use super::{
    general::plasticity::present::{SynapsePlace, SynapseState, first_ends, places},
    params::{Params, RecordedSynapse, Source},
    probes::{ELIGIBILITY, POSTSYNAPTIC_TRACE, PRESYNAPTIC_TRACE, SYNAPSE_WEIGHT},
    setup::Setup,
};
use crate::sim::{ProbeId, Reading, Series, SimError};

/// Probes of single synapses.
pub const SYNAPSE_PROBES: [ProbeId; 4] = [SYNAPSE_WEIGHT, PRESYNAPTIC_TRACE, POSTSYNAPTIC_TRACE, ELIGIBILITY];

/// Names and places of the recorded synapses.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecordedSynapses {
    names: Vec<String>,
    places: Vec<SynapsePlace>,
}

impl RecordedSynapses {
    /// Finds the recorded synapses of the parameters in the network; only networks from rules have any. Fails if a neuron or a
    /// synapse does not exist.
    pub fn find(params: &Params, setup: &Setup) -> Result<Self, SimError> {
        let mut found = Self::default();
        if params.network.source != Source::Rules {
            return Ok(found);
        }
        for (i, synapse) in params.recorded_synapses.iter().enumerate() {
            let (name, place) =
                find(synapse, setup).map_err(|why| SimError::Input(format!("recorded_synapses.{i}: {why}")))?;
            found.names.push(name);
            found.places.push(place);
        }
        Ok(found)
    }
}

/// Returns name and place of a synapse, or a sentence that says why there is none.
fn find(synapse: &RecordedSynapse, setup: &Setup) -> Result<(String, SynapsePlace), String> {
    let network = setup.rules().map_err(|error| error.to_string())?;
    let neuron = |field: &str, text: &str| match text.trim() {
        "" => Ok(None),
        text => setup.neurons.find(text).map(Some).map_err(|why| format!("{field}: {why}")),
    };
    let (from, to) = (neuron("from", &synapse.from)?, neuron("to", &synapse.to)?);
    let label = |neuron: Option<u32>| neuron.map_or_else(|| "any neuron".to_owned(), |n| setup.neurons.label(n));
    let none = || format!("there is no plastic synapse from {} to {}", label(from), label(to));
    let (source, target) = first_ends(network, &network.plan, from, to).ok_or_else(none)?;
    let all = places(network, &network.plan, source, target);
    let name = format!("{} → {}", label(Some(source)), label(Some(target)));
    match (all.get(synapse.number as usize), synapse.number) {
        (Some(place), 0) => Ok((name, *place)),
        (Some(place), number) => Ok((format!("{name} ({number})"), *place)),
        (None, number) => Err(format!("number: {number} is too large; {name} has {} plastic synapses", all.len())),
    }
}

/// Samples of the recorded synapses until they are taken.
#[derive(Debug, Default)]
pub struct SynapseReadings {
    synapses: RecordedSynapses,
    /// Whether each of [`SYNAPSE_PROBES`] is tapped.
    tapped: [bool; SYNAPSE_PROBES.len()],
    series: [Series; SYNAPSE_PROBES.len()],
}

impl SynapseReadings {
    /// Replaces the synapses, and drops samples that were not taken.
    pub fn set(&mut self, synapses: RecordedSynapses) {
        self.synapses = synapses;
        self.drop_unread();
    }

    /// Returns the names of the synapses, such as `#3 → #80`.
    pub fn names(&self) -> &[String] {
        &self.synapses.names
    }

    /// Returns the places of the synapses that are read; empty if no probe is tapped.
    pub fn places(&self) -> &[SynapsePlace] {
        if self.tapped.contains(&true) { &self.synapses.places } else { &[] }
    }

    /// Sets the taps. Probes that stay tapped keep their samples.
    pub fn tap(&mut self, tapped: [bool; SYNAPSE_PROBES.len()]) {
        let before = std::mem::replace(&mut self.tapped, tapped);
        for (i, probe) in SYNAPSE_PROBES.into_iter().enumerate() {
            if !(before[i] && tapped[i]) {
                drop(self.take(probe));
            }
        }
    }

    /// Adds a sample after `completed` steps, with the states of the synapses at [`SynapseReadings::places`].
    pub fn push(&mut self, completed: u64, states: &[SynapseState]) {
        let values: [fn(&SynapseState) -> f32; SYNAPSE_PROBES.len()] = [
            |of| of.weight + 0.0, // a weight of -0 is shown as 0
            |of| of.presynaptic,
            |of| of.postsynaptic,
            |of| of.eligibility.unwrap_or(0.0),
        ];
        for (i, value) in values.into_iter().enumerate().filter(|(i, _)| self.tapped[*i] && !states.is_empty()) {
            self.series[i].steps.push(completed);
            self.series[i].values.extend(states.iter().map(value));
        }
    }

    /// Takes the samples of a probe since the last call; `None` for other probes.
    pub fn take(&mut self, probe: ProbeId) -> Option<Reading> {
        let i = SYNAPSE_PROBES.iter().position(|p| *p == probe)?;
        let lanes = self.synapses.names.len().max(1) as u32;
        Some(Reading::Series(Series { lanes, ..std::mem::take(&mut self.series[i]) }))
    }

    /// Drops samples that were not taken.
    pub fn drop_unread(&mut self) {
        SYNAPSE_PROBES.into_iter().for_each(|probe| drop(self.take(probe)));
    }

    /// Returns the allocated memory, bytes.
    pub fn n_bytes(&self) -> u64 {
        self.series.iter().map(|s| s.values.capacity() * 4 + s.steps.capacity() * 8).sum::<usize>() as u64
    }
}
