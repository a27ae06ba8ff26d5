//! Thresholds of a running network.

use super::{
    counts::SpikeCounts,
    plan::{AdaptationPlan, ScalingPlan},
};
use crate::{
    kinds::spiking::general::{patterns::hold, plan::Plan},
    sim::{SimError, Snapshot},
};

/// Rise of the threshold of each neuron, by population; empty for constant thresholds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Thresholds {
    /// Rises in mV.
    rises: Vec<Vec<f64>>,
}

/// Returns the adaptations of a plan, by population.
fn adaptations(plan: &Plan) -> impl Iterator<Item = Option<&AdaptationPlan>> {
    plan.populations.iter().map(|p| p.adaptation.as_ref())
}

/// Returns the scaling of a projection that learns; `None` if it is not scaled.
pub fn scaling(plan: &Plan, projection: usize) -> Option<&ScalingPlan> {
    let plasticity = plan.projections[projection].plasticity.as_ref().filter(|of| of.is_learning)?;
    plasticity.scaling.as_ref()
}

/// Returns all scalings of a plan, also those of projections that do not learn at present.
fn scalings(plan: &Plan) -> impl Iterator<Item = Option<&ScalingPlan>> {
    plan.projections.iter().map(|p| p.plasticity.as_ref().and_then(|of| of.scaling.as_ref()))
}

/// Returns the counters that homeostasis needs: one per population, then one per projection.
pub fn counters(plan: &Plan) -> SpikeCounts {
    let neurons = |population: usize, is_counted: bool| {
        let of = &plan.populations[population];
        of.first..of.first + if is_counted { of.n } else { 0 }
    };
    let populations = adaptations(plan).enumerate().map(|(i, of)| neurons(i, of.is_some()));
    let projections = scalings(plan)
        .zip(&plan.projections)
        .map(|(of, projection)| neurons(projection.to, of.is_some_and(|of| !of.needs_sums())));
    SpikeCounts::new(populations.chain(projections))
}

/// Returns the first step after `step` before which an interval or the training ends; `u64::MAX` if none does.
pub fn next_due(plan: &Plan, step: u64) -> u64 {
    let intervals = adaptations(plan).flatten().map(|of| of.interval);
    let next = |interval: u64| (step / interval + 1) * interval;
    let next = intervals.chain(scalings(plan).flatten().map(|of| of.interval)).map(next).min().unwrap_or(u64::MAX);
    let end = hold::end_of_training(plan);
    if step < end { next.min(end) } else { next }
}

/// Whether an interval or the training ends before a step.
pub fn is_due(plan: &Plan, step: u64) -> bool {
    step > 0 && next_due(plan, step - 1) == step
}

/// Returns the projections with weights that are scaled before a step, each with its scaling and, if it depends on spikes, the spikes of
/// the postsynaptic neurons.
pub fn due_scalings(plan: &Plan, step: u64, counts: &mut SpikeCounts) -> Vec<(usize, ScalingPlan, Vec<u64>)> {
    let mut due = vec![];
    for (i, of) in scalings(plan).enumerate() {
        let Some(of) = of.filter(|of| step.is_multiple_of(of.interval)) else { continue };
        let counted = counts.take(plan.populations.len() + i).into_iter().map(u64::from).collect();
        if scaling(plan, i).is_some() {
            due.push((i, of.clone(), counted));
        }
    }
    due
}

impl Thresholds {
    /// Creates rises of 0.
    pub fn new(plan: &Plan) -> Self {
        let of = |(p, of): (&crate::kinds::spiking::general::plan::PopulationPlan, Option<&AdaptationPlan>)| {
            vec![0.0; if of.is_some() { p.n as usize } else { 0 }]
        };
        Self { rises: plan.populations.iter().zip(adaptations(plan)).map(of).collect() }
    }

    /// Returns the rise of the threshold of a neuron, by its index in the population, mV.
    pub fn of(&self, population: usize, neuron: u32) -> f64 {
        self.rises.get(population).and_then(|rises| rises.get(neuron as usize)).copied().unwrap_or(0.0)
    }

    /// Whether the thresholds of a population adapt.
    pub fn has(&self, population: usize) -> bool {
        self.rises.get(population).is_some_and(|rises| !rises.is_empty())
    }

    /// Sets all rises to 0.
    pub fn clear(&mut self) {
        self.rises.iter_mut().for_each(|rises| rises.fill(0.0));
    }

    /// Raises the thresholds before a step in which intervals end, unless they are held. Returns whether any was raised.
    pub fn adapt(&mut self, plan: &Plan, step: u64, counts: &mut SpikeCounts) -> bool {
        let mut is_changed = false;
        for (i, of) in adaptations(plan).enumerate() {
            let Some(of) = of.filter(|of| step.is_multiple_of(of.interval)) else { continue };
            let counted = counts.take(i);
            if plan.is_held {
                continue;
            }
            for (rise, n) in self.rises[i].iter_mut().zip(counted) {
                *rise = *rise * of.decay + of.increase * f64::from(n);
            }
            is_changed = true;
        }
        is_changed
    }

    /// Adds the thresholds and counts to a snapshot, if there are any.
    pub fn write(&self, counts: &SpikeCounts, out: &mut Snapshot) {
        let rises: Vec<f64> = self.rises.concat();
        if rises.len() + counts.len() > 0 {
            out.list("homeostasis.thresholds", rises);
            out.list("homeostasis.counts", counts.all());
        }
    }

    /// Reads thresholds and counts of a plan. Fails if the snapshot has other ones, or a rise is not finite.
    pub fn read(plan: &Plan, from: &Snapshot) -> Result<(Self, SpikeCounts), SimError> {
        let (mut thresholds, mut counts) = (Self::new(plan), counters(plan));
        let n: usize = thresholds.rises.iter().map(Vec::len).sum();
        if n + counts.len() > 0 {
            let rises: Vec<f64> = from.read("homeostasis.thresholds", &[n])?;
            if rises.iter().any(|rise| !rise.is_finite()) {
                return Err(crate::kinds::spiking::saved_state::inconsistent());
            }
            let mut rises = rises.into_iter();
            thresholds.rises.iter_mut().flatten().for_each(|rise| *rise = rises.next().unwrap_or(0.0));
            counts.restore(&from.read::<u32>("homeostasis.counts", &[counts.len()])?);
        }
        Ok((thresholds, counts))
    }
}
