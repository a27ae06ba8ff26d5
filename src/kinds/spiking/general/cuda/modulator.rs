//! Spikes of the population that modulates the third factor of a projection, counted by the host.

use crate::kinds::spiking::general::{plan::Plan, plasticity::plan::PlasticityPlan};
use std::{collections::VecDeque, ops::Range};

/// Counter of the spikes of a modulating population.
#[derive(Clone, Debug)]
pub struct Modulator {
    /// Neurons of the population.
    neurons: Range<u32>,
    /// Smallest delay of the projection, after which a spike is counted, steps.
    delay: u64,
    /// Number of counted spikes in this update interval.
    counted: u32,
    /// Steps with spikes that are not counted yet, with their numbers.
    pending: VecDeque<(u64, u32)>,
}

impl Modulator {
    /// Creates the counter of a projection; `None` if no population modulates it.
    pub fn new(plan: &Plan, of: &PlasticityPlan) -> Option<Self> {
        let population = &plan.populations[of.modulator?.0];
        let neurons = population.first..population.first + population.n;
        let delay = u64::from(of.axonal + of.dendritic_min);
        Some(Self { neurons, delay, counted: 0, pending: VecDeque::new() })
    }

    /// Starts an interval with this number of counted spikes.
    pub fn restart(&mut self, counted: u32) {
        self.counted = counted;
        self.pending.clear();
    }

    /// Continues before a step with this number of counted spikes; `recent` are the spikes of the steps before.
    pub fn resume(&mut self, counted: u32, step: u64, recent: &[(u64, Vec<u32>)]) {
        self.restart(counted);
        let delay = self.delay;
        for (sent, spikes) in recent.iter().filter(|(sent, _)| sent + delay >= step) {
            self.add(*sent, spikes);
        }
    }

    /// Adds the spikes of a step, ascending.
    pub fn add(&mut self, step: u64, spikes: &[u32]) {
        let from = spikes.partition_point(|i| *i < self.neurons.start);
        let n = spikes[from..].partition_point(|i| *i < self.neurons.end);
        if n > 0 {
            self.pending.push_back((step, n as u32));
        }
    }

    /// Returns the number of spikes that are counted before a step; all steps before it must have been added.
    pub fn counted_before(&mut self, step: u64) -> u32 {
        while let Some((sent, n)) = self.pending.front().copied()
            && sent + self.delay < step
        {
            self.counted += n;
            self.pending.pop_front();
        }
        self.counted
    }

    /// Returns the number of spikes that are counted before a step, at which the next interval begins.
    pub fn take(&mut self, step: u64) -> u32 {
        let counted = self.counted_before(step);
        self.counted = 0;
        counted
    }
}
