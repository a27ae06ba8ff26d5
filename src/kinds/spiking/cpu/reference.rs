//! Literal form of the definition: every neuron, every step, in the order of the paper's simulator. It is slow; the backends are
//! tested against it bit for bit.

use crate::{
    data::Csr,
    kinds::spiking::{
        constants::{Constants, Real},
        stimuli::{StimulusPlan, StimulusSource},
    },
};

#[derive(Clone, Copy)]
struct Cell<T> {
    /// u and g at the anchor.
    u0: T,
    g0: T,
    /// Number of completed steps at which `u0` and `g0` hold.
    anchor: u64,
    /// First step in which the neuron integrates again after its last spike.
    free_from: u64,
    current: T,
}

/// A network that is stepped neuron by neuron.
pub struct Reference<'a, T> {
    connectivity: &'a Csr,
    plan: &'a StimulusPlan,
    constants: Constants<T>,
    /// Number of steps after which a neuron without events is re-anchored. 1 turns the closed form into plain iteration.
    table: u64,
    store: Vec<Cell<T>>,
    /// Spikes by step.
    spikes: Vec<Vec<u32>>,
}

impl<'a, T: Real> Reference<'a, T> {
    /// Creates a network at rest at step 0.
    pub fn new(connectivity: &'a Csr, plan: &'a StimulusPlan, constants: Constants<T>, table: u64) -> Self {
        let cell = Cell { u0: T::ZERO, g0: T::ZERO, anchor: 0, free_from: 0, current: T::ZERO };
        Self { connectivity, plan, constants, table, store: vec![cell; connectivity.n() as usize], spikes: vec![] }
    }

    /// Returns u and g of a neuron after `t` steps.
    fn at(&self, cell: &Cell<T>, t: u64) -> (T, T) {
        if t <= cell.anchor {
            return (cell.u0, cell.g0);
        }
        let p = &self.constants.propagators[(t - cell.anchor) as usize];
        let u = p.a * cell.u0 + p.b * cell.g0;
        (if cell.current == T::ZERO { u } else { u + p.c * cell.current }, p.d * cell.g0)
    }

    /// Takes one step. Returns the neurons that spiked.
    pub fn step(&mut self) -> &[u32] {
        let n = self.spikes.len() as u64;
        let now = self.plan.at::<T>(n, self.connectivity.n());
        // Currents change between the steps.
        for i in 0..self.store.len() {
            let current = now.currents.get(i).copied().unwrap_or(T::ZERO);
            if current != self.store[i].current {
                let (u, g) = self.at(&self.store[i], n);
                let cell = &mut self.store[i];
                if n > cell.anchor {
                    (cell.u0, cell.g0, cell.anchor) = (u, g, n);
                }
                cell.current = current;
            }
        }
        // Steps 1 and 2 compute the state after this step, and apply the strict threshold.
        let mut state = Vec::with_capacity(self.store.len());
        let mut spiked = Vec::new();
        for i in 0..self.store.len() {
            let (u, g) = self.at(&self.store[i], n + 1);
            let cell = &mut self.store[i];
            if n + 1 > cell.anchor && n + 1 - cell.anchor == self.table {
                (cell.u0, cell.g0, cell.anchor) = (u, g, n + 1);
            }
            if n >= cell.free_from && u > self.constants.theta {
                spiked.push(i as u32);
            }
            state.push((u, g));
        }
        // Step 3 collects arrivals and kicks.
        let mut sums = vec![0_i32; self.store.len()];
        if n >= u64::from(self.constants.delay) {
            for pre in &self.spikes[(n - u64::from(self.constants.delay)) as usize] {
                for (post, count) in self.connectivity.connections(*pre) {
                    sums[post as usize] += now.gain(*pre).apply(count);
                }
            }
        }
        let kicks = self.kicks(n, &now.sources);
        for i in 0..self.store.len() {
            let closed = now.closed.get(i).copied().unwrap_or(false);
            let cell = &mut self.store[i];
            if n < cell.free_from || closed || (sums[i] == 0 && kicks[i].is_none()) {
                continue;
            }
            let (u, g) = state[i];
            cell.u0 = u + kicks[i].unwrap_or(T::ZERO);
            cell.g0 = g + self.constants.w_syn * T::of_count(sums[i]);
            cell.anchor = n + 1;
        }
        // Step 4 resets the neurons that spiked.
        for i in &spiked {
            let driven = now.driven.get(*i as usize).copied().unwrap_or(false);
            let cell = &mut self.store[*i as usize];
            cell.u0 = self.constants.u_reset;
            cell.g0 = T::ZERO;
            cell.free_from = n + if driven { 1 } else { u64::from(self.constants.refractory) };
            cell.anchor = cell.free_from;
        }
        self.spikes.push(spiked);
        &self.spikes[n as usize]
    }

    fn kicks(&self, n: u64, sources: &[StimulusSource<T>]) -> Vec<Option<T>> {
        let mut kicks: Vec<Option<T>> = vec![None; self.store.len()];
        let mut kick = |lane: u32, weight: T| {
            let sum = &mut kicks[lane as usize];
            *sum = Some(sum.map_or(weight, |s| s + weight));
        };
        for source in sources {
            match source {
                StimulusSource::Train { train, lanes, weight } => {
                    for lane in lanes.iter() {
                        if train.event(n, *lane) {
                            kick(*lane, *weight);
                        }
                    }
                }
                StimulusSource::Kicks { kicks, weight } => {
                    kicks.iter().filter(|(step, _)| *step == n).for_each(|(_, lane)| kick(*lane, *weight));
                }
            }
        }
        kicks
    }

    /// Returns the spikes of all steps so far, by step.
    pub fn spikes(&self) -> &[Vec<u32>] {
        &self.spikes
    }

    /// Returns the current u and g of every neuron.
    pub fn states(&self) -> Vec<(f64, f64)> {
        let t = self.spikes.len() as u64;
        self.store.iter().map(|c| self.at(c, t)).map(|(u, g)| (u.wide(), g.wide())).collect()
    }
}
