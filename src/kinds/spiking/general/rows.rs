//! Rows: the synapses of one presynaptic neuron of a projection. A row is made from addressed draws, without the other
//! rows.

use super::{
    AllToAll, ByDistance, ConnectionRule, PairwiseBernoulli, Profile,
    connections::TARGET,
    delay::delay_steps,
    draws::{Draws, below, divide, share_of, unit},
    edge_file::EdgeFile,
    plan::{Plan, ProjectionPlan, TARGET_BITS, WeightFormat},
};
use crate::num::normal;

/// A synapse of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Synapse {
    /// Index of the postsynaptic neuron in its population.
    pub target: u32,
    /// Delay beyond the smallest one of the projection, steps.
    pub delay: u32,
    /// Weight as stored: see [`WeightFormat`].
    pub weight: i32,
}

/// Maker of the rows of one projection.
#[derive(Clone, Copy)]
pub struct RowMaker<'a> {
    /// The projection to make.
    pub plan: &'a ProjectionPlan,
    /// Draws of the projection.
    pub draws: Draws,
    /// Numbers of pre- and postsynaptic neurons.
    pub sizes: [u32; 2],
    /// Exponent of the unit of a stored weight.
    pub exponent: i32,
    /// Time step, ms.
    pub dt_ms: f64,
    /// Positions of the pre- and postsynaptic neurons, µm.
    positions: [&'a [[f32; 3]]; 2],
    /// Edge list of the projection.
    edges: Option<&'a EdgeFile>,
    /// Weight of all synapses, as stored.
    constant_weight: Option<i32>,
    /// Delay of all synapses beyond the smallest one.
    constant_delay: Option<u32>,
}

impl<'a> RowMaker<'a> {
    /// Creates the maker of projection `i`. `positions` are those of all neurons, and `edges` those of a projection from a file.
    pub fn new(plan: &'a Plan, seed: u64, i: usize, positions: &'a [[f32; 3]], edges: Option<&'a EdgeFile>) -> Self {
        let projection = &plan.projections[i];
        let ends = [projection.from, projection.to].map(|p| &plan.populations[p]);
        let place = |p: usize| {
            let (first, n) = (ends[p].first as usize, ends[p].n as usize);
            positions.get(first..first + n).unwrap_or(&[])
        };
        let shift = if let WeightFormat::Narrow(shift) = projection.format { shift as i32 } else { 0 };
        let mut maker = Self {
            plan: projection,
            draws: Draws::new(seed, i),
            sizes: ends.map(|p| p.n),
            exponent: ends[1].exponents[projection.receptor] + shift,
            dt_ms: plan.dt_ms,
            positions: [place(0), place(1)],
            edges,
            constant_weight: None,
            constant_delay: None,
        };
        maker.constant_weight = projection.weight.as_constant().map(|_| maker.weight(0, 1.0));
        maker.constant_delay = projection.delay.as_constant().map(|_| maker.delay(0));
        maker
    }

    /// Whether rows are made together, because the rule draws the presynaptic neurons of each postsynaptic one.
    pub const fn is_transposed(&self) -> bool {
        matches!(self.plan.rule, ConnectionRule::FixedInDegree(_))
    }

    /// Whether both ends are the same population, so that autapses are possible.
    pub const fn is_own(&self) -> bool {
        self.plan.from == self.plan.to
    }

    /// Returns the stored weight that a word draws; the value `w` of a file multiplies it.
    fn weight(&self, word: u32, w: f64) -> i32 {
        let units = self.plan.weight.quantile(unit(word)) * w / 2_f64.powi(self.exponent);
        // A saturating cast: a weight beyond the range of its format is the largest one.
        match self.plan.format {
            WeightFormat::Narrow(_) => i32::from(units.round() as i16),
            _ => units.round() as i32,
        }
    }

    /// Returns the delay that a word draws, beyond the smallest one, steps.
    fn delay(&self, word: u32) -> u32 {
        let steps = delay_steps(self.plan.delay.quantile(unit(word)), self.dt_ms) as i64;
        (steps - i64::from(self.plan.delay_min)).clamp(0, i64::from(self.plan.delays) - 1) as u32
    }

    /// Returns the synapse onto `target` whose draws are `words`.
    pub fn synapse(&self, target: u32, words: [u32; 4]) -> Synapse {
        Synapse {
            target,
            delay: self.constant_delay.unwrap_or_else(|| self.delay(words[2])),
            weight: self.constant_weight.unwrap_or_else(|| self.weight(words[1], 1.0)),
        }
    }

    /// Returns the partner that `word` draws among `n` neurons; without autapses it is not `own`.
    pub fn partner(&self, word: u32, n: u32, own: u32, autapses: bool) -> u32 {
        let is_open = autapses || !self.is_own();
        let drawn = below(word, n - u32::from(!is_open));
        drawn + u32::from(!is_open && drawn >= own)
    }

    /// Returns partner `number` of `own` in a permutation of `n` neurons; without autapses it is not `own`.
    pub fn other_partner(&self, number: u32, n: u32, own: u32, autapses: bool) -> u32 {
        let is_open = autapses || !self.is_own();
        let drawn = self.draws.permutation(own, n - u32::from(!is_open)).image(number.into()) as u32;
        drawn + u32::from(!is_open && drawn >= own)
    }

    /// Returns the numbers of synapses of all rows of a fixed total number; `None` for the other rules.
    pub fn degrees(&self) -> Option<Vec<u32>> {
        let [n_from, _] = self.sizes;
        match &self.plan.rule {
            ConnectionRule::FixedTotal(rule) => {
                let mut degrees = Vec::with_capacity(n_from as usize);
                divide(self.draws, rule.n.max(0) as u64, n_from, |_, share| degrees.push(share as u32));
                Some(degrees)
            }
            _ => None,
        }
    }

    /// Replaces `out` by the row of a neuron of the presynaptic population, sorted. `degree` is its number of synapses
    /// if [`RowMaker::degrees`] returned it. A projection whose rows are made together leaves `out` empty.
    pub fn row(&self, source: u32, degree: Option<u32>, out: &mut Vec<Synapse>) {
        out.clear();
        let n_to = self.sizes[1];
        let add = |target: u32, number: u32, out: &mut Vec<Synapse>| {
            out.push(self.synapse(target, self.draws.synapse(source, number)));
        };
        match &self.plan.rule {
            ConnectionRule::AllToAll(AllToAll { autapses }) => {
                let targets = (0..n_to).filter(|t| *autapses || !self.is_own() || *t != source);
                targets.for_each(|target| add(target, target, out));
            }
            ConnectionRule::OneToOne(_) => add(source, 0, out),
            ConnectionRule::Bernoulli(rule) => self.bernoulli(rule, source, out),
            ConnectionRule::FixedOutDegree(rule) => {
                for number in 0..rule.n.max(0) as u32 {
                    let words = self.draws.synapse(source, number);
                    let target = match rule.multapses {
                        true => self.partner(words[0], n_to, source, rule.autapses),
                        false => self.other_partner(number, n_to, source, rule.autapses),
                    };
                    out.push(self.synapse(target, words));
                }
            }
            ConnectionRule::FixedTotal(rule) => {
                let share = || share_of(self.draws, rule.n.max(0) as u64, self.sizes[0], source) as u32;
                for number in 0..degree.unwrap_or_else(share) {
                    let words = self.draws.synapse(source, number);
                    out.push(self.synapse(self.partner(words[0], n_to, source, rule.autapses), words));
                }
            }
            ConnectionRule::ByDistance(rule) => self.by_distance(rule, source, out),
            ConnectionRule::FromFile(_) => self.listed(source, out),
            ConnectionRule::FixedInDegree(_) => {}
        }
        out.sort_unstable();
    }

    /// Adds targets at geometrically distributed distances, so that each pair is connected with probability p.
    fn bernoulli(&self, rule: &PairwiseBernoulli, source: u32, out: &mut Vec<Synapse>) {
        if rule.p <= 0.0 {
            return;
        }
        let per_log = if rule.p < 1.0 { 1.0 / normal::ln(1.0 - rule.p) } else { 0.0 };
        let (mut target, mut number) = (0_u64, 0);
        loop {
            let words = self.draws.synapse(source, number);
            target += (normal::ln(unit(words[0])) * per_log) as u64;
            if target >= u64::from(self.sizes[1]) {
                return;
            }
            if rule.autapses || !self.is_own() || target != u64::from(source) {
                out.push(self.synapse(target as u32, words));
            }
            (target, number) = (target + 1, number + 1);
        }
    }

    fn by_distance(&self, rule: &ByDistance, source: u32, out: &mut Vec<Synapse>) {
        let Some(from) = self.positions[0].get(source as usize) else { return };
        for (target, to) in (0..).zip(self.positions[1]) {
            let squared: f64 = from.iter().zip(to).map(|(a, b)| f64::from(a - b) * f64::from(a - b)).sum();
            let p = rule.p * profile(rule, squared);
            let words = self.draws.synapse(source, target);
            if unit(words[0]) < p && (rule.autapses || !self.is_own() || target != source) {
                out.push(self.synapse(target, words));
            }
        }
    }

    /// Adds the connections of an edge list, with its values and delays.
    fn listed(&self, source: u32, out: &mut Vec<Synapse>) {
        match self.edges {
            Some(EdgeFile::Counts(edges)) if source < edges.n() => {
                for (number, (target, count)) in (0..).zip(edges.connections(source)) {
                    let words = self.draws.synapse(source, number);
                    let weight = self.weight(words[1], f64::from(count));
                    out.push(Synapse { weight, ..self.synapse(target, words) });
                }
            }
            Some(EdgeFile::Weighted(edges)) => {
                for (number, at) in (0..).zip(edges.range(source)) {
                    let (word, words) = (edges.words[at], self.draws.synapse(source, number));
                    let mut synapse = self.synapse(word & TARGET, words);
                    synapse.weight = self.weight(words[1], edges.weight(at));
                    synapse.delay = if edges.delays.is_some() { word >> TARGET_BITS } else { synapse.delay };
                    out.push(synapse);
                }
            }
            Some(EdgeFile::Counts(_)) | None => {}
        }
    }
}

/// Returns the profile at a squared distance, from 1 at distance 0.
fn profile(rule: &ByDistance, squared: f64) -> f64 {
    match rule.profile {
        Profile::Gaussian => normal::exp(-squared / (2.0 * rule.scale * rule.scale)),
        Profile::Exponential => normal::exp(-squared.sqrt() / rule.scale),
        Profile::Within => f64::from(u8::from(squared <= rule.scale * rule.scale)),
    }
}
