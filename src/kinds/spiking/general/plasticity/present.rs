//! Present state of single plastic synapses: weight, traces and eligibility, for requests.

use super::{
    history::{PostSpike, is_after},
    laws::{AnyLaw, Rule},
    part::RowState,
    plan::PlasticityPlan,
};
use crate::{
    kinds::spiking::general::{network::RuleNetwork, plan::Plan},
    sim::SimError,
};

/// Stored values of a plastic synapse, its row and its postsynaptic neuron.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredSynapse {
    /// Weight, with its sign.
    pub weight: f32,
    /// Eligibility when the row was last up to date; 0 without a third factor.
    pub eligibility: f32,
    /// State of the row.
    pub row: RowState,
    /// Recent spikes of the postsynaptic neuron, ascending.
    pub spikes: Vec<PostSpike>,
}

/// Place of a plastic synapse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SynapsePlace {
    /// Index of the projection.
    pub projection: usize,
    /// Presynaptic neuron, by index in its population.
    pub source: u32,
    /// Number of the synapse in the row of the presynaptic neuron.
    pub number: usize,
    /// Postsynaptic neuron, by index in its population.
    pub target: u32,
    /// Dendritic delay, steps.
    dendritic: u32,
}

/// State of a plastic synapse before a step.
#[derive(Clone, Debug, PartialEq)]
pub struct SynapseState {
    /// Index of the projection.
    pub projection: usize,
    /// Weight, with its sign, in the unit of the postsynaptic model.
    pub weight: f32,
    /// Presynaptic trace.
    pub presynaptic: f32,
    /// Postsynaptic trace.
    pub postsynaptic: f32,
    /// Eligibility; `None` without a third factor.
    pub eligibility: Option<f32>,
}

/// Returns the states of all synapses with changing weights from one neuron to another, before a step up to which synapses are up to
/// date. `stored` reads a synapse. Fails as `stored` does.
pub fn states(
    (network, plan): (&RuleNetwork, &Plan),
    (from, to): (u32, u32),
    step: u64,
    mut stored: impl FnMut(SynapsePlace) -> Result<StoredSynapse, SimError>,
) -> Result<Vec<SynapseState>, SimError> {
    let mut found = vec![];
    for place in places(network, plan, from, to) {
        let Some(of) = &plan.projections[place.projection].plasticity else { continue };
        found.push(state(place, &stored(place)?, (&Rule::new(of, plan.dt_ms), of), step));
    }
    Ok(found)
}

/// Whether the weights of a projection change.
fn is_learning(plan: &Plan, projection: usize) -> bool {
    plan.projections[projection].plasticity.as_ref().is_some_and(|of| of.rule.w_max().is_some())
}

/// Returns the ends of the first synapse with a changing weight, in the order of the neurons and their rows, from or to the given
/// neurons; `None` if there is none.
pub fn first_ends(network: &RuleNetwork, plan: &Plan, from: Option<u32>, to: Option<u32>) -> Option<(u32, u32)> {
    let sends = |neuron: u32| {
        let population = plan.population_of(neuron);
        (0..plan.projections.len()).any(|i| plan.projections[i].from == population && is_learning(plan, i))
    };
    let sources = from.map_or(0..plan.n, |from| from..from + 1);
    sources.filter(|source| sends(*source)).find_map(|source| {
        let mut first = None;
        network.each(source, |projection, end, _, _| {
            if first.is_none() && is_learning(plan, projection) && to.is_none_or(|to| to == end) {
                first = Some(end);
            }
        });
        Some((source, first?))
    })
}

/// Returns the places of the synapses with changing weights from one neuron to another.
pub fn places(network: &RuleNetwork, plan: &Plan, from: u32, to: u32) -> Vec<SynapsePlace> {
    let source = from - plan.populations[plan.population_of(from)].first;
    let target = to - plan.populations[plan.population_of(to)].first;
    let (mut found, mut next) = (vec![], (0, 0)); // projection, and number of the synapse in its row
    network.each(from, |projection, end, _, delay| {
        next = if next.0 == projection { next } else { (projection, 0) };
        let plasticity = plan.projections[projection].plasticity.as_ref();
        if let Some(of) = plasticity.filter(|_| end == to && is_learning(plan, projection)) {
            found.push(SynapsePlace { projection, source, number: next.1, target, dendritic: delay - of.axonal });
        }
        next.1 += 1;
    });
    found
}

/// Computes the state of a synapse before a step up to which it is up to date, with the rule and the plan of its projection.
pub fn state(
    place: SynapsePlace,
    of: &StoredSynapse,
    (rule, plan): (&Rule, &PlasticityPlan),
    step: u64,
) -> SynapseState {
    let now = (step as u32).wrapping_sub(1 + plan.dendritic_min);
    let arrival = |spike: &PostSpike| spike.step.wrapping_add(place.dendritic);
    let last = of.spikes.iter().rev().find(|spike| !is_after(arrival(spike), now));
    let since = |time: u32| now.wrapping_sub(time);
    let eligibility = match &rule.law {
        AnyLaw::Reward(law) => Some(of.eligibility * law.decay.over(since(of.row.updated))),
        _ => None,
    };
    SynapseState {
        projection: place.projection,
        weight: of.weight,
        presynaptic: of.row.trace * rule.plus.over(since(of.row.last)),
        postsynaptic: last.map_or(0.0, |spike| spike.trace * rule.minus.over(since(arrival(spike)))),
        eligibility,
    }
}
