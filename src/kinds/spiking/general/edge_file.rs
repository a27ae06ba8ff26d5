//! Edge list of a projection from a file, and what the plan takes from it.

use super::{
    Projection,
    connections::TARGET,
    delay::delay_steps,
    plan::{Plan, TARGET_BITS},
};
use crate::{
    data::{
        self, Csr, DataError, Tables,
        weighted_edges::{self, EdgeLimits, WeightedEdges},
    },
    params::ParamGroup as _,
    sim::{Progress, SimError},
};
use std::path::Path;

/// Largest number of presynaptic neurons for which the counts of a file are bounded without adding them up. Beyond it, the
/// bound itself does not fit the sums of a receptor.
const MAX_BOUNDED: u32 = 10_485;
/// Bound on the mean synapse count of a connection.
const BOUND_OF_COUNT: f64 = 100.0;
/// Number of weights of which the median is taken.
const SAMPLED: usize = 1 << 16;

/// Edge list of a projection.
pub enum EdgeFile {
    /// Synapse counts. Each pair of neurons occurs once, and delays are those of the projection.
    Counts(Csr),
    /// Weights, and delays if the file has any.
    Weighted(WeightedEdges),
}

/// What an edge list determines. `w` is the value of a connection in the file, which multiplies a draw of the weight.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FileFacts {
    /// Number of connections.
    pub synapses: u64,
    /// Upper bound on the sum of |w| over the inputs of a neuron.
    pub largest_input: f64,
    /// Typical |w| of the file.
    pub typical: f64,
    /// Median w of the file.
    pub median: f64,
    /// Exponent of the power of two of which all w are multiples; `None` if it is unknown.
    pub exponent: Option<i32>,
    /// Smallest delay, steps, and number of steps up to the largest, both included; `None` for delays of the projection.
    pub delays: Option<(u32, u32)>,
}

impl EdgeFile {
    /// Reads the edge list of projection `i`. Returns it with notices about the file. Fails if the file is invalid, or names
    /// neurons that the populations do not have.
    pub fn read(plan: &Plan, i: usize, path: &Path, progress: &Progress) -> Result<(Self, Vec<String>), SimError> {
        let watch = |stage: &str, fraction: f32| progress.report(stage, fraction).is_ok();
        let refuse = |error: DataError| refused(i, error);
        if let Some(mut edges) = weighted_edges::read(path, &limits(plan, i), &watch).map_err(refuse)? {
            let notices = std::mem::take(&mut edges.notices);
            return Ok((Self::Weighted(edges), notices));
        }
        let read = data::read(path, Tables::default(), &watch).map_err(refuse)?;
        check_ends(plan, i, &read.synapses)?;
        Ok((Self::Counts(read.synapses), read.notices))
    }

    /// Returns what the edge list determines, for a number of pre- and postsynaptic neurons.
    pub fn facts(&self, [n_from, n_to]: [u32; 2]) -> FileFacts {
        match self {
            Self::Counts(edges) => FileFacts {
                synapses: edges.len() as u64,
                largest_input: match n_from <= MAX_BOUNDED {
                    true => f64::from(n_from) * BOUND_OF_COUNT,
                    false => largest_sum(n_to, (0..edges.n()).flat_map(|pre| edges.connections(pre))),
                },
                typical: 1.0,
                median: 1.0,
                exponent: None,
                delays: None,
            },
            Self::Weighted(edges) => {
                let inputs = edges.words.iter().map(|word| word & TARGET).zip(edges.weights.iter().copied());
                let stride = edges.weights.len().div_ceil(SAMPLED).max(1);
                let sample: Vec<i32> = edges.weights.iter().step_by(stride).copied().collect();
                let unit = 2_f64.powi(edges.exponent);
                let median = |values: Vec<i32>| f64::from(median(values)) * unit;
                FileFacts {
                    synapses: edges.words.len() as u64,
                    largest_input: largest_sum(n_to, inputs) * unit,
                    typical: median(sample.iter().filter(|w| **w != 0).map(|w| w.abs()).collect()),
                    median: median(sample),
                    exponent: edges.declared_exponent,
                    delays: edges.delays,
                }
            }
        }
    }

    /// Returns the largest |w| with its unit; `None` for synapse counts.
    fn largest_weight(&self) -> Option<f64> {
        let Self::Weighted(edges) = self else { return None };
        let largest = edges.weights.iter().map(|w| w.unsigned_abs()).max()?;
        Some(f64::from(largest) * 2_f64.powi(edges.exponent))
    }
}

/// Returns the error about the row with the largest weight of projection `i`, with the reason of a plan that fails because of
/// its edge list; the reason alone for synapse counts.
pub fn at_largest_weight(
    plan: &Plan,
    (i, file): (usize, &EdgeFile),
    path: &Path,
    why: SimError,
    progress: &Progress,
) -> SimError {
    let Some(largest) = file.largest_weight() else { return why };
    let watch = |stage: &str, fraction: f32| progress.report(stage, fraction).is_ok();
    // Weights are rounded to 30 bits.
    let at_least = largest * (1.0 - 1e-8);
    refused(i, weighted_edges::error_at_weight(path, &limits(plan, i), at_least, &why.to_string(), &watch))
}

fn refused(i: usize, error: DataError) -> SimError {
    match error {
        DataError::Cancelled => SimError::Cancelled,
        other => SimError::Input(format!("projections.{i}: rule.path: {other}")),
    }
}

fn limits(plan: &Plan, i: usize) -> EdgeLimits {
    let projection = &plan.projections[i];
    EdgeLimits {
        sizes: [projection.from, projection.to].map(|p| plan.populations[p].n),
        step_ms: plan.dt_ms,
        to_steps: delay_steps,
        max_delay_ms: Projection::accepted("delay").1,
        max_weight: Projection::accepted("weight").1,
        target_bits: TARGET_BITS,
    }
}

/// Fails if an edge list names a neuron that the populations of a projection do not have.
fn check_ends(plan: &Plan, i: usize, edges: &Csr) -> Result<(), SimError> {
    let projection = &plan.projections[i];
    let (from, to) = (&plan.populations[projection.from], &plan.populations[projection.to]);
    for pre in 0..edges.n() {
        for word in edges.row(pre) {
            let beyond = [(pre, from), (edges.target(*word), to)].into_iter().find(|(neuron, p)| *neuron >= p.n);
            if let Some((neuron, population)) = beyond {
                return Err(SimError::Input(format!(
                    "projections.{i}: the edge file names neuron {neuron}, but `{}` has {} neurons",
                    population.name, population.n
                )));
            }
        }
    }
    Ok(())
}

/// Returns the largest sum of |w| over the inputs of one of `n` neurons; `inputs` are pairs of target and w.
fn largest_sum(n: u32, inputs: impl Iterator<Item = (u32, i32)>) -> f64 {
    let mut sums = vec![0_u64; n as usize];
    inputs.for_each(|(target, w)| sums[target as usize] += u64::from(w.unsigned_abs()));
    sums.into_iter().max().unwrap_or(0) as f64
}

/// Returns the median of some values; 0 without values.
fn median(mut values: Vec<i32>) -> i32 {
    let middle = values.len() / 2;
    if values.is_empty() { 0 } else { *values.select_nth_unstable(middle).1 }
}
