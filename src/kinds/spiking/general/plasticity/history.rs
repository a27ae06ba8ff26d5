//! Recent spikes of the postsynaptic neurons of a projection, with the traces at these spikes.

use super::{laws::Rule, plan::PlasticityPlan};

/// Recent spikes of the neurons of one thread.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// Number of places of a neuron minus 1; the number is a power of two.
    mask: u32,
    /// Number of spikes of each neuron; the place of the next one is this modulo the number of places.
    cursor: Vec<u32>,
    /// `cursor` when the synapses were last brought up to date.
    settled: Vec<u32>,
    /// Steps of the spikes, by neuron and place.
    steps: Vec<u32>,
    /// Postsynaptic traces at the spikes, these included.
    traces: Vec<f32>,
    /// Slow traces before the spikes; empty without triplets.
    seconds: Vec<f32>,
    /// Largest number of spikes of a neuron since the synapses were last brought up to date.
    pub unsettled: u32,
}

/// A spike of a postsynaptic neuron.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PostSpike {
    /// Step of the spike.
    pub step: u32,
    /// Postsynaptic trace at the spike, the spike included.
    pub trace: f32,
    /// Slow postsynaptic trace before the spike.
    pub second: f32,
}

impl History {
    /// Creates empty histories of `n` neurons.
    pub fn new(n: usize, plan: &PlasticityPlan, rule: &Rule) -> Self {
        if plan.depth == 0 {
            return Self::default();
        }
        let all = n * plan.depth as usize;
        Self {
            mask: plan.depth - 1,
            cursor: vec![0; n],
            settled: vec![0; n],
            steps: vec![0; all],
            traces: vec![0.0; all],
            seconds: vec![0.0; if rule.slow.is_some() { all } else { 0 }],
            unsettled: 0,
        }
    }

    /// Returns the number of neurons; 0 without histories.
    pub fn neurons(&self) -> usize {
        self.cursor.len()
    }

    /// Removes all spikes.
    pub fn clear(&mut self) {
        self.cursor.fill(0);
        self.settled.fill(0);
        self.unsettled = 0;
    }

    #[inline]
    fn place(&self, neuron: usize, index: u32) -> usize {
        neuron * (self.mask as usize + 1) + (index & self.mask) as usize
    }

    /// Returns the indices of the spikes of a neuron that are held: those from the first to before the second.
    #[inline]
    pub fn held(&self, neuron: usize) -> (u32, u32) {
        let cursor = self.cursor[neuron];
        (cursor - cursor.min(self.mask + 1), cursor)
    }

    /// Returns the step of a spike.
    #[inline]
    pub fn step(&self, neuron: usize, index: u32) -> u32 {
        self.steps[self.place(neuron, index)]
    }

    /// Returns the postsynaptic trace at a spike, the spike included.
    #[inline]
    pub fn trace(&self, neuron: usize, index: u32) -> f32 {
        self.traces[self.place(neuron, index)]
    }

    /// Returns the slow postsynaptic trace before a spike; 0 without triplets.
    #[inline]
    pub fn second(&self, neuron: usize, index: u32) -> f32 {
        if self.seconds.is_empty() { 0.0 } else { self.seconds[self.place(neuron, index)] }
    }

    /// Returns the spikes of a neuron that are held, ascending.
    pub fn spikes(&self, neuron: usize) -> Vec<PostSpike> {
        let (oldest, cursor) = self.held(neuron);
        (oldest..cursor).map(|i| self.spike(neuron, i)).collect()
    }

    fn spike(&self, neuron: usize, i: u32) -> PostSpike {
        PostSpike { step: self.step(neuron, i), trace: self.trace(neuron, i), second: self.second(neuron, i) }
    }

    /// Adds a spike of a neuron.
    pub fn record(&mut self, neuron: usize, step: u32, rule: &Rule) {
        if self.cursor.is_empty() {
            return;
        }
        let (oldest, cursor) = self.held(neuron);
        let mut spike = PostSpike { step, trace: 1.0, second: 0.0 };
        if oldest != cursor {
            let last = cursor - 1;
            let age = step.wrapping_sub(self.step(neuron, last));
            spike.trace = rule.trace(self.trace(neuron, last), rule.minus.over(age));
            if let Some([_, slow]) = &rule.slow {
                let after = if rule.is_nearest { 1.0 } else { self.second(neuron, last) + 1.0 };
                spike.second = after * slow.over(age);
            }
        }
        self.push(neuron, spike);
        self.unsettled = self.unsettled.max(self.cursor[neuron].wrapping_sub(self.settled[neuron]));
    }

    fn push(&mut self, neuron: usize, spike: PostSpike) {
        let place = self.place(neuron, self.cursor[neuron]);
        self.steps[place] = spike.step;
        self.traces[place] = spike.trace;
        if !self.seconds.is_empty() {
            self.seconds[place] = spike.second;
        }
        self.cursor[neuron] += 1;
    }

    /// Marks the synapses as up to date, so that older spikes may be overwritten.
    pub fn settle(&mut self) {
        self.settled.copy_from_slice(&self.cursor);
        self.unsettled = 0;
    }

    /// Returns the spikes of a neuron that updates can still use, if all synapses are up to date at the synapse time `settled`
    /// and the largest dendritic delay is `delay`: those that arrive later, and the last one before.
    pub fn needed(&self, neuron: usize, settled: u32, delay: u32) -> Vec<PostSpike> {
        let (oldest, cursor) = self.held(neuron);
        let is_settled = |i: &u32| is_after(settled.wrapping_add(1), self.step(neuron, *i).wrapping_add(delay));
        let from = (oldest..cursor).rev().find(is_settled).unwrap_or(oldest);
        (from..cursor).map(|i| self.spike(neuron, i)).collect()
    }

    /// Replaces the spikes of a neuron.
    pub fn restore(&mut self, neuron: usize, spikes: impl Iterator<Item = PostSpike>) {
        self.cursor[neuron] = 0;
        spikes.for_each(|spike| self.push(neuron, spike));
    }

    /// Returns the allocated memory, bytes.
    pub fn n_bytes(&self) -> u64 {
        let words = self.cursor.len() + self.settled.len() + self.steps.len() + self.traces.len() + self.seconds.len();
        4 * words as u64
    }
}

/// Whether time `a` is after time `b`, both modulo 2^32.
#[inline]
pub const fn is_after(a: u32, b: u32) -> bool {
    a.wrapping_sub(b) as i32 > 0
}
