//! Plasticity in saved states, independent of threads and backend.

use super::{
    history::{PostSpike, is_after},
    part::{Part, RowState},
};
use crate::{
    kinds::spiking::{general::plan::Plan, saved_state::inconsistent},
    sim::{SimError, Snapshot},
};

/// State of the synapses of a plastic projection; all synapses are up to date, except for eligibilities.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    /// Index of the projection.
    pub projection: usize,
    /// Weights in the order of the rows; empty with short-term plasticity.
    pub weights: Vec<f32>,
    /// Eligibilities in the order of the rows; empty without a third factor.
    pub eligibility: Vec<f32>,
    /// States of the presynaptic neurons.
    pub rows: Vec<RowState>,
    /// Synapse time up to which all rows are up to date.
    pub settled: u32,
    /// Number of spikes of the modulating population in this update interval.
    pub modulating: u32,
    /// Number of these spikes in the last update interval.
    pub modulated: u32,
    /// Spikes of each postsynaptic neuron that updates can still use; empty with short-term plasticity.
    pub history: Vec<Vec<PostSpike>>,
}

/// Returns the state of a projection. `parts` are its synapses in all threads, in order.
pub fn state_of(projection: usize, parts: &[&Part]) -> State {
    let Some(first) = parts.first() else { return State::default() };
    let rows = 0..first.rows.len();
    let gather = |of: &dyn Fn(&Part) -> Vec<f32>, part: &dyn Fn(usize, usize) -> std::ops::Range<usize>| {
        let all: Vec<Vec<f32>> = parts.iter().map(|p| of(p)).collect();
        let row = |source: usize| (0..parts.len()).flat_map(move |p| part(p, source).map(move |i| (p, i)));
        if all.iter().all(Vec::is_empty) {
            vec![]
        } else {
            rows.clone().flat_map(row).map(|(p, i)| all[p][i]).collect()
        }
    };
    let own = |p: usize, source: usize| parts[p].own(source);
    let needed = |part: &&Part| -> Vec<Vec<PostSpike>> {
        let delay = part.plan.dendritic_max;
        (0..part.history.neurons()).map(|neuron| part.history.needed(neuron, part.settled, delay)).collect()
    };
    State {
        projection,
        weights: gather(&|part| part.weights.clone(), &own),
        eligibility: gather(&|part| part.eligibility.clone(), &own),
        rows: first.rows.clone(),
        settled: first.settled,
        modulating: first.modulating,
        modulated: first.modulated,
        history: parts.iter().flat_map(needed).collect(),
    }
}

/// Restores the state of a projection. `parts` are its synapses in all threads, in order. The lengths must fit.
pub fn restore(state: &State, parts: &mut [&mut Part]) {
    let mut at = 0;
    for source in 0..state.rows.len() {
        for part in &mut *parts {
            let own = part.own(source);
            let saved = at..at + own.len();
            if !part.weights.is_empty() {
                part.weights[own.clone()].copy_from_slice(&state.weights[saved.clone()]);
            }
            if !part.eligibility.is_empty() {
                part.eligibility[own].copy_from_slice(&state.eligibility[saved.clone()]);
            }
            at = saved.end;
        }
    }
    let mut spikes = state.history.iter();
    for part in parts {
        part.rows.clone_from(&state.rows);
        part.settled = state.settled;
        (part.modulating, part.modulated) = (state.modulating, state.modulated);
        for neuron in 0..part.history.neurons() {
            part.history.restore(neuron, spikes.next().into_iter().flatten().copied());
        }
        part.history.settle();
    }
}

/// Adds the state of a projection to a snapshot.
pub fn write(out: &mut Snapshot, state: State) {
    let name = |what: &str| format!("plasticity.{}.{what}", state.projection);
    out.list(&name("weights"), state.weights);
    out.list(&name("eligibility"), state.eligibility);
    out.number(&name("settled"), state.settled);
    out.number(&name("modulating"), state.modulating);
    out.number(&name("modulated"), state.modulated);
    out.list(&name("rows.updated"), state.rows.iter().map(|row| row.updated).collect());
    out.list(&name("rows.last"), state.rows.iter().map(|row| row.last).collect());
    out.list(&name("rows.trace"), state.rows.iter().map(|row| row.trace).collect());
    out.list(&name("rows.second"), state.rows.iter().map(|row| row.second).collect());
    let spikes = || state.history.iter().flatten();
    out.list(&name("history.counts"), state.history.iter().map(|spikes| spikes.len() as u32).collect());
    out.list(&name("history.steps"), spikes().map(|spike| spike.step).collect());
    out.list(&name("history.traces"), spikes().map(|spike| spike.trace).collect());
    out.list(&name("history.seconds"), spikes().map(|spike| spike.second).collect());
}

/// Parses the states of all plastic projections. `synapses` are the numbers of synapses by projection. Fails if the plasticity
/// differs or the contents are inconsistent.
pub fn parse(plan: &Plan, synapses: &[u64], from: &Snapshot) -> Result<Vec<State>, SimError> {
    let mut states = vec![];
    for (projection, of) in plan.projections.iter().enumerate() {
        let Some(plasticity) = &of.plasticity else { continue };
        let name = |what: &str| format!("plasticity.{projection}.{what}");
        let n = synapses.get(projection).map_or(0, |n| *n as usize);
        let [n_from, n_to] = [of.from, of.to].map(|p| plan.populations[p].n as usize);
        let has_weights = plasticity.rule.w_max().is_some();
        let has = |is: bool, n: usize| if is { n } else { 0 };
        let [updated, last] = ["rows.updated", "rows.last"].map(|what| from.read::<u32>(&name(what), &[n_from]));
        let [trace, second] = ["rows.trace", "rows.second"].map(|what| from.read::<f32>(&name(what), &[n_from]));
        let (updated, last, trace, second) = (updated?, last?, trace?, second?);
        let row = |i: usize| RowState { updated: updated[i], last: last[i], trace: trace[i], second: second[i] };
        let state = State {
            projection,
            weights: from.read(&name("weights"), &[has(has_weights, n)])?,
            eligibility: from.read(&name("eligibility"), &[has(plasticity.interval > 0, n)])?,
            rows: (0..n_from).map(row).collect(),
            settled: from.read_number(&name("settled"))?,
            modulating: from.read_number(&name("modulating"))?,
            // Older states do not have the number, which only a probe reads.
            modulated: from.get(&name("modulated")).map_or(Ok(0), |_| from.read_number(&name("modulated")))?,
            history: read_history(from, &name, has(has_weights, n_to), plasticity.depth)?,
        };
        let is_finite = |values: &[f32]| values.iter().all(|value| value.is_finite());
        let are_finite =
            [&state.weights, &state.eligibility, &trace, &second].into_iter().all(|values| is_finite(values));
        if !are_finite {
            return Err(inconsistent());
        }
        states.push(state);
    }
    Ok(states)
}

fn read_history(
    from: &Snapshot,
    name: &dyn Fn(&str) -> String,
    n_to: usize,
    depth: u32,
) -> Result<Vec<Vec<PostSpike>>, SimError> {
    let counts: Vec<u32> = from.read(&name("history.counts"), &[n_to])?;
    let steps: Vec<u32> = from.read_list(&name("history.steps"))?;
    let traces: Vec<f32> = from.read(&name("history.traces"), &[steps.len()])?;
    let seconds: Vec<f32> = from.read(&name("history.seconds"), &[steps.len()])?;
    let mut spikes = (0..steps.len()).map(|i| PostSpike { step: steps[i], trace: traces[i], second: seconds[i] });
    let total: u64 = counts.iter().map(|n| u64::from(*n)).sum();
    let history: Vec<Vec<PostSpike>> =
        counts.iter().map(|n| spikes.by_ref().take((*n).min(depth) as usize).collect()).collect();
    let ascending = |spikes: &Vec<PostSpike>| spikes.is_sorted_by(|a, b| is_after(b.step, a.step));
    let is_whole = total == steps.len() as u64 && counts.iter().all(|n| *n <= depth);
    let are_finite = traces.iter().chain(&seconds).all(|value| value.is_finite());
    if is_whole && are_finite && history.iter().all(ascending) { Ok(history) } else { Err(inconsistent()) }
}
