//! Plastic synapses of one projection onto the neurons of one thread.

use super::{
    history::{History, PostSpike, is_after},
    laws::{AnyLaw, Law, Rule, Synapse, bounded},
    plan::PlasticityPlan,
    shuffle,
};
use crate::{
    kinds::spiking::{
        actions::WeightChange,
        general::{
            connections::{Rows, TARGET},
            cpu::deliver::{Arrivals, Destination, part_of},
            homeostasis::plan::ScalingPlan,
            plan::{Plan, TARGET_BITS},
        },
        stimuli::Gain,
    },
    num::hash::StreamHash,
};
use std::ops::Range;

/// Largest number of steps between two updates of all synapses. Differences of times stay far below 2^31.
const MAX_UNSETTLED_STEPS: u64 = 1 << 20;
/// Bit of the sign of a weight.
const SIGN: u32 = 1 << 31;

/// State of the presynaptic neuron of a row, the same in all threads.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RowState {
    /// Synapse time up to which the synapses of the row are up to date.
    pub updated: u32,
    /// Synapse time of the last presynaptic spike.
    pub last: u32,
    /// Presynaptic trace at `last`, that spike included; u with short-term plasticity.
    pub trace: f32,
    /// Slow presynaptic trace at `last`, that spike included; x with short-term plasticity.
    pub second: f32,
}

/// Plastic synapses of one projection onto the neurons of one thread.
#[derive(Clone, Debug)]
pub struct Part {
    /// Plan at the start; the rule may change while the network runs.
    pub plan: PlasticityPlan,
    /// Index of the postsynaptic population.
    pub population: usize,
    /// Weights in the order of the rows; empty with short-term plasticity.
    pub weights: Vec<f32>,
    /// Eligibilities in the order of the rows; empty without a third factor.
    pub eligibility: Vec<f32>,
    /// States of the rows.
    pub rows: Vec<RowState>,
    /// Recent spikes of the postsynaptic neurons.
    pub history: History,
    /// Synapse time up to which all rows are up to date.
    pub settled: u32,
    /// Number of spikes of the modulating population in this update interval.
    pub modulating: u32,
    /// Number of these spikes in the last update interval.
    pub modulated: u32,
    /// Start of the synapses of each row in `weights`; one more entry than rows.
    starts: Vec<usize>,
    /// Start of the synapses of each row among all synapses of the projection.
    origins: Vec<usize>,
    /// First postsynaptic neuron, by index in its population.
    first: u32,
    /// Delivered weights of a row, in units of the sums.
    units: Vec<i32>,
}

/// Event at the end of an update.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Event {
    /// Arrival of a presynaptic spike.
    Spike,
    /// End of an update interval, with the change of a weight per eligibility; 0 for other updates.
    Interval(f32),
}

/// Fixed inputs of an update.
#[derive(Clone, Copy)]
pub struct Projection<'a> {
    /// Index of the projection.
    pub index: usize,
    /// Connections of the projection.
    pub rows: &'a Rows,
    /// Rule of the projection.
    pub rule: &'a Rule,
    /// Exponent of the unit of the sums.
    pub exponent: i32,
}

impl Part {
    /// Creates the synapses of projection `index` onto the neurons `targets`, without their start values. `None` for a static
    /// projection.
    pub fn new(plan: &Plan, index: usize, rows: &Rows, rule: Option<&Rule>, targets: &Range<u32>) -> Option<Self> {
        let (plasticity, rule) = (plan.projections[index].plasticity.clone()?, rule?);
        let n_from = plan.populations[plan.projections[index].from].n;
        let (mut starts, mut origins) = (vec![0], vec![]);
        for source in 0..n_from {
            let own = part_of(rows, source, targets);
            starts.push(starts[source as usize] + own.len());
            origins.push(own.start);
        }
        let n = if plasticity.rule.w_max().is_some() { starts[n_from as usize] } else { 0 };
        let has_eligibility = matches!(rule.law, AnyLaw::Reward(_));
        Some(Self {
            weights: vec![0.0; n],
            eligibility: vec![0.0; if has_eligibility { n } else { 0 }],
            rows: vec![RowState::default(); n_from as usize],
            history: History::new(targets.len(), &plasticity, rule),
            settled: 0,
            modulating: 0,
            modulated: 0,
            starts,
            origins,
            first: targets.start,
            units: vec![],
            population: plan.projections[index].to,
            plan: plasticity,
        })
    }

    /// Sets the state before step 0. `is_inhibitory` is the sign of weights of 0.
    pub fn start(&mut self, of: Projection<'_>, is_inhibitory: bool) {
        self.settled = 0_u32.wrapping_sub(1 + self.plan.dendritic_min);
        let is_short_term = matches!(of.rule.law, AnyLaw::ShortTerm(_));
        let second = if is_short_term { 1.0 } else { 0.0 };
        self.rows.fill(RowState { updated: self.settled, last: self.settled, trace: 0.0, second });
        self.history.clear();
        (self.modulating, self.modulated) = (0, 0);
        self.eligibility.fill(0.0);
        self.change_weights(WeightChange::Reset, of, is_inhibitory);
    }

    /// Changes all weights. `is_inhibitory` is the sign of start weights of 0.
    pub fn change_weights(&mut self, change: WeightChange, of: Projection<'_>, is_inhibitory: bool) {
        if self.weights.is_empty() {
            return;
        }
        if let WeightChange::Scale(factor) = change {
            self.weights.iter_mut().for_each(|w| *w = scaled(*w, factor, of.rule.w_max));
            return;
        }
        if let WeightChange::Shuffle(draws) = change {
            let mut targets = vec![0; self.weights.len()];
            self.each_synapse(of, |at, _, neuron| targets[at] = self.first + neuron as u32);
            return shuffle::shuffle(&mut self.weights, &targets, draws.of(of.index));
        }
        let unit = 2_f32.powi(of.exponent);
        for source in 0..self.rows.len() {
            let own = self.own(source);
            for (weight, at) in self.weights[own].iter_mut().zip(self.origins[source]..) {
                *weight = start_weight(of.rows.units(at), unit, of.rule.w_max, is_inhibitory);
            }
        }
    }

    /// Returns the postsynaptic neurons, by index in their population.
    pub fn neurons(&self) -> Range<usize> {
        self.first as usize..self.first as usize + self.history.neurons()
    }

    /// Returns the spikes of a postsynaptic neuron, given by its index in its population.
    pub fn spikes_of(&self, target: u32) -> Vec<PostSpike> {
        self.history.spikes((target - self.first) as usize)
    }

    /// Returns the sum of the absolute weights of each postsynaptic neuron, in units of [`ScalingPlan::scale`].
    pub fn input_sums(&self, of: Projection<'_>) -> Vec<u64> {
        let scale = ScalingPlan::scale(of.rule.w_max);
        let mut sums = vec![0_u64; self.history.neurons()];
        self.each_synapse(of, |at, _, neuron| {
            let sum = &mut sums[neuron];
            *sum = sum.wrapping_add((self.weights[at].abs() * scale) as u64);
        });
        sums
    }

    /// Multiplies the weights of each postsynaptic neuron by its factor, up to the maximum weight.
    pub fn scale_inputs(&mut self, factors: &[f32], of: Projection<'_>) {
        let mut weights = std::mem::take(&mut self.weights);
        self.each_synapse(of, |at, _, neuron| weights[at] = scaled(weights[at], factors[neuron], of.rule.w_max));
        self.weights = weights;
    }

    /// Calls `each` with presynaptic and postsynaptic neuron, by index in their populations, and weight of each synapse.
    pub fn each_weight(&self, of: Projection<'_>, mut each: impl FnMut(u32, u32, f32)) {
        if !self.weights.is_empty() {
            self.each_synapse(of, |at, source, neuron| {
                each(source as u32, self.first + neuron as u32, self.weights[at])
            });
        }
    }

    /// Calls `each` with the index of each synapse, its presynaptic neuron, and its postsynaptic neuron among those of this thread.
    fn each_synapse(&self, of: Projection<'_>, mut each: impl FnMut(usize, usize, usize)) {
        for source in 0..self.rows.len() {
            let own = self.own(source);
            let words = &of.rows.words[self.origins[source]..][..own.len()];
            own.zip(words).for_each(|(at, word)| each(at, source, ((word & TARGET) - self.first) as usize));
        }
    }

    /// Returns the range of the synapses of a row in `weights`.
    pub fn own(&self, source: usize) -> Range<usize> {
        self.starts[source]..self.starts[source + 1]
    }

    /// Updates synapses before a step: at the end of an interval of the eligibility, and before histories overflow. `modulating`
    /// counts the spikes of the modulating population in a step; those of the smallest delay ago are counted.
    pub fn before_step(&mut self, step: u64, of: Projection<'_>, modulating: impl Fn(u64) -> u32) {
        if self.plan.interval > 0 {
            if let Some(at) = self.plan.interval_end(step) {
                self.update_all(at as u32, of.rule.gain(self.modulating), of);
                self.modulated = std::mem::take(&mut self.modulating);
            }
            let sent = step.checked_sub(u64::from(self.plan.axonal + self.plan.dendritic_min));
            self.modulating += sent.map_or(0, modulating);
        } else if self.plan.depth > 0 {
            let room = self.plan.depth - self.plan.dendritic_min - self.plan.dendritic_max - 2;
            if self.history.unsettled >= room || step.is_multiple_of(MAX_UNSETTLED_STEPS) {
                self.bring_up_to_date(step, of);
            }
        }
    }

    /// Brings all synapses up to date before a step, which changes no later result. Eligibilities stay as they are.
    pub fn bring_up_to_date(&mut self, step: u64, of: Projection<'_>) {
        if self.plan.interval == 0 && self.plan.depth > 0 {
            self.update_all((step as u32).wrapping_sub(1 + self.plan.dendritic_min), 0.0, of);
        }
    }

    /// Updates all rows to a synapse time.
    fn update_all(&mut self, to: u32, gain: f32, of: Projection<'_>) {
        for source in 0..self.rows.len() {
            self.update(source, to, Event::Interval(gain), of);
        }
        self.settled = to;
        self.history.settle();
    }

    /// Updates a row to a synapse time, at which an event takes place.
    fn update(&mut self, source: usize, to: u32, event: Event, of: Projection<'_>) {
        if !of.rule.is_learning {
            self.rows[source].updated = to;
            return;
        }
        match &of.rule.law {
            AnyLaw::Pair(law) => self.update_as(law, source, to, event, of),
            AnyLaw::PowerLaw(law) => self.update_as(law, source, to, event, of),
            AnyLaw::Triplet(law) => self.update_as(law, source, to, event, of),
            AnyLaw::Inhibitory(law) => self.update_as(law, source, to, event, of),
            AnyLaw::Reward(law) => self.update_as(law, source, to, event, of),
            AnyLaw::ShortTerm(_) => {}
        }
    }

    fn update_as<L: Law>(&mut self, law: &L, source: usize, to: u32, event: Event, of: Projection<'_>) {
        let (own, rule, history, row) = (self.own(source), of.rule, &self.history, self.rows[source]);
        let words = &of.rows.words[self.origins[source]..][..own.len()];
        let slow = rule.slow.as_ref().map_or(0.0, |[slow, _]| row.second * slow.over(to.wrapping_sub(row.last)));
        for (i, word) in own.zip(words) {
            let neuron = ((word & TARGET) - self.first) as usize;
            let dendritic = self.plan.dendritic_min + (word >> TARGET_BITS);
            let arrival = |index: u32| history.step(neuron, index).wrapping_add(dendritic);
            let bits = self.weights[i].to_bits();
            let c = if L::HAS_ELIGIBILITY { self.eligibility[i] } else { 0.0 };
            let mut synapse = Synapse { w: f32::from_bits(bits & !SIGN), c, at: row.updated };
            let (oldest, end) = history.held(neuron);
            let mut next = end;
            while next != oldest && is_after(arrival(next - 1), row.updated) {
                next -= 1;
            }
            while next != end && !is_after(arrival(next), to) {
                let at = arrival(next);
                let k_plus = row.trace * rule.plus.over(at.wrapping_sub(row.last));
                law.post(&mut synapse, at, k_plus, history.second(neuron, next));
                next += 1;
            }
            if let Event::Interval(gain) = event {
                law.end_interval(&mut synapse, to, gain);
            } else {
                // A postsynaptic spike at the same time does not pair.
                next -= u32::from(next != oldest && arrival(next - 1) == to);
                let k_minus = if next == oldest {
                    0.0
                } else {
                    history.trace(neuron, next - 1) * rule.minus.over(to.wrapping_sub(arrival(next - 1)))
                };
                law.pre(&mut synapse, to, k_minus, slow);
            }
            self.weights[i] = f32::from_bits(synapse.w.to_bits() | bits & SIGN);
            if L::HAS_ELIGIBILITY {
                self.eligibility[i] = synapse.c;
            }
        }
        self.rows[source].updated = to;
    }

    /// Updates a row to the arrival of a presynaptic spike and adds its weights to the sums. `step` is the step in which the
    /// smallest delay ends. Adds the delivered weights to `hash`; returns the number of synaptic events.
    pub fn deliver(
        &mut self,
        (step, source): (u64, u32),
        of: Projection<'_>,
        (to, gain): (Destination, Gain),
        arrivals: &mut Arrivals,
        hash: &mut StreamHash,
    ) -> u32 {
        let (source, at) = (source as usize, (step as u32).wrapping_sub(self.plan.dendritic_min));
        self.update(source, at, Event::Spike, of);
        self.spike(source, at, of.rule);
        let own = self.own(source);
        let origin = self.origins[source];
        let words = &of.rows.words[origin..origin + own.len()];
        let key = row_key(of.index as u32, source as u32, step as u32);
        self.units.clear();
        if let AnyLaw::ShortTerm(_) = of.rule.law {
            let efficacy = self.rows[source].trace * self.rows[source].second;
            let units =
                (origin..).take(own.len()).map(|i| (of.rows.units(i) as f32 * efficacy).round_ties_even() as i32);
            self.units.extend(units);
            self.units.iter().zip(words).for_each(|(units, word)| push(hash, key, *word, *units as u32));
        } else {
            let (weights, scale) = (&self.weights[own], 2_f32.powi(-of.exponent));
            self.units.extend(weights.iter().map(|w| (w * scale).round_ties_even() as i32));
            weights.iter().zip(words).for_each(|(w, word)| push(hash, key, *word, w.to_bits()));
        }
        let units = &self.units;
        match gain == Gain::NONE {
            true => arrivals.add(step, words, to, |i| units[i]),
            false => arrivals.add(step, words, to, |i| gain.apply(units[i])),
        }
        words.len() as u32
    }

    /// Adds a presynaptic spike to the traces of its row.
    fn spike(&mut self, source: usize, at: u32, rule: &Rule) {
        let row = &mut self.rows[source];
        let age = at.wrapping_sub(row.last);
        if let AnyLaw::ShortTerm(u) = rule.law {
            row.second = 1.0 + ((row.second - row.second * row.trace) - 1.0) * rule.plus.over(age);
            row.trace = u + (row.trace * (1.0 - u)) * rule.minus.over(age);
        } else {
            row.trace = rule.trace(row.trace, rule.plus.over(age));
            if let Some([slow, _]) = &rule.slow {
                row.second = rule.trace(row.second, slow.over(age));
            }
        }
        (row.last, row.updated) = (at, at);
    }

    /// Returns the allocated memory, bytes.
    pub fn n_bytes(&self) -> u64 {
        let synapses = 4 * (self.weights.len() + self.eligibility.len() + self.units.capacity());
        let rows = self.rows.len() * size_of::<RowState>() + 8 * (self.starts.len() + self.origins.len());
        (synapses + rows) as u64 + self.history.n_bytes()
    }
}

/// Returns the start weight of a synapse with a weight in units of the sums.
fn start_weight(units: i32, unit: f32, w_max: f32, is_inhibitory: bool) -> f32 {
    let w = units as f32 * unit;
    let is_negative = if units == 0 { is_inhibitory } else { units < 0 };
    let bounded = if w.abs() < w_max { w.abs() } else { w_max };
    if is_negative { -bounded } else { bounded }
}

/// Returns a weight times a factor, bounded by the maximum weight, with the same sign.
pub fn scaled(w: f32, factor: f32, w_max: f32) -> f32 {
    f32::from_bits(bounded(w.abs() * factor, w_max).to_bits() | w.to_bits() & SIGN)
}

/// Returns the part of the hash that the weights of a row have in common when they are delivered.
pub fn row_key(projection: u32, source: u32, step: u32) -> u64 {
    let mut hash = StreamHash(0);
    hash.push_spike(projection, source);
    let row = hash.0;
    hash = StreamHash(0);
    hash.push_spike(step ^ (row >> 32) as u32, row as u32);
    hash.0
}

/// Adds a delivered weight to the hash.
#[inline]
pub fn push(hash: &mut StreamHash, key: u64, word: u32, bits: u32) {
    hash.push_spike(word ^ (key >> 32) as u32, bits ^ key as u32);
}
