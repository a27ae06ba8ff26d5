//! Plastic synapses on the device: start values, and updates of whole projections between launches. The step itself updates the
//! rows of the spikes that it delivers.

use super::{
    buffers::RulesBuffers,
    kernels::{RulesPlastic, RulesPlasticKernels, RulesProjection, RulesRowState, StartRulesWeights, UpdateRulesRows},
    modulator::Modulator,
    plastic_tables::{PlasticSizes, tables},
};
use crate::{
    buffers,
    gpu::{Buf, Gpu, GpuError, Pass},
    kinds::spiking::{
        actions::{WeightChange, WeightEdit},
        cuda::buffers::fill,
        general::{
            coefficients::{Coefficients, index::REFRACTORY},
            plan::Plan,
            plasticity::{
                laws::{AnyLaw, Rule},
                part::scaled,
                plan::PlasticityPlan,
            },
        },
    },
    sim::Buffers as _,
};
use std::{ops::Range, sync::Arc};

/// Number of weights that are read at a time.
const PIECE: usize = 1 << 22;
/// Maximum number of threads of an update.
pub const MAX_THREADS: u32 = 1 << 22;

buffers! {
    /// Device memory of the plastic projections. Buffers with one element are replaced by longer ones on demand.
    pub struct PlasticBuffers(gpu: Arc<Gpu>, s: PlasticSizes) {
        "plasticity" {
            /// Rules of the plastic projections.
            pub plastic: Buf<RulesPlastic> = Derived "plastic projections" s.projections;
            /// Indices of plastic projections by postsynaptic population.
            pub incoming: Buf<u32> = Derived "incoming plastic projections" s.projections;
            /// Tables of decays.
            pub decays: Buf<f32> = Derived "decays" 1;
            /// States of the rows, two versions each.
            pub rows: Buf<RulesRowState> = Saved "states of rows" s.rows.max(1);
            /// Number and step of the last spike, by postsynaptic neuron.
            pub heads: Buf<u64> = Saved "heads of histories" s.heads.max(1);
            /// Recent postsynaptic spikes with their traces.
            pub entries: Buf<u64> = Saved "histories" s.entries.max(1);
            /// Slow traces before these spikes.
            pub seconds: Buf<f32> = Saved "slow traces" s.seconds.max(1);
            /// Weights in the order of the synapses on the device.
            pub weights: Buf<f32> = Saved "plastic weights" s.weights.max(1);
            /// Eligibilities in the same order.
            pub eligibility: Buf<f32> = Saved "eligibilities" s.eligibility.max(1);
            /// Sum of the weights of each neuron, of one projection at a time.
            pub input_sums: Buf<u64> = Workspace "sums of weights" s.scaled.max(1);
            /// Factor of the weights of each neuron, of one projection at a time.
            pub factors: Buf<f32> = Workspace "factors of weights" s.scaled.max(1);
            /// Sum over the delivered weights since it was last read.
            pub hash: Buf<u64> = Workspace "hash of weights" 1;
        }
    }
}

/// A plastic projection.
pub struct Plastic {
    /// Index among all projections.
    pub projection: usize,
    /// Plan of its plasticity.
    pub plan: PlasticityPlan,
    /// Number of its synapses.
    pub synapses: u64,
    /// Sizes of the pre- and the postsynaptic population.
    pub sizes: [u32; 2],
    /// Counter of the population that modulates the third factor.
    pub modulator: Option<Modulator>,
    /// Number of its spikes in the last update interval.
    pub modulated: u32,
}

/// The plastic projections of a network.
pub struct PlasticSynapses {
    /// Kernels that update weights.
    pub kernels: RulesPlasticKernels,
    /// Device memory of weights, histories and rules.
    pub memory: PlasticBuffers,
    /// Plastic projections, in order.
    pub projections: Vec<Plastic>,
    /// Rules as the kernels read them.
    pub tables: Vec<RulesPlastic>,
    /// Rules of the current parameters.
    pub rules: Vec<Rule>,
    /// Number of entries of all tables of decays.
    pub n_decays: u32,
    /// Number of spikes of each neuron since all synapses were brought up to date, as far as they were read.
    counts: Vec<u32>,
    /// Largest of these numbers.
    most: u32,
    /// Step before which all synapses were last brought up to date.
    settled: u64,
    /// Smallest refractory period of a neuron, steps.
    refractory: u32,
    gpu: Arc<Gpu>,
}

impl PlasticSynapses {
    /// Creates the plastic synapses of a network, without start values; `None` for a static network. Fails if device memory is
    /// full or the device fails.
    pub fn new(gpu: &Arc<Gpu>, plan: &Plan, synapses: &[u64]) -> Result<Option<Self>, GpuError> {
        let plastic = |(projection, p): (usize, &crate::kinds::spiking::general::plan::ProjectionPlan)| {
            let sizes = [p.from, p.to].map(|population| plan.populations[population].n);
            let (of, synapses) = (p.plasticity.clone()?, synapses[projection]);
            Some(Plastic { projection, synapses, sizes, modulator: Modulator::new(plan, &of), modulated: 0, plan: of })
        };
        let projections: Vec<Plastic> = plan.projections.iter().enumerate().filter_map(plastic).collect();
        if projections.is_empty() {
            return Ok(None);
        }
        let rules = rules(plan, &projections);
        let mut memory = PlasticBuffers::allocate(gpu, &PlasticSizes::new(plan, synapses))?;
        memory.incoming.write(&super::plastic_tables::incoming(plan).0)?;
        Ok(Some(Self {
            kernels: RulesPlasticKernels::load(gpu)?,
            memory,
            n_decays: tables(plan, &projections, &rules).1.len() as u32,
            projections,
            tables: vec![],
            rules,
            counts: vec![0; plan.n as usize],
            most: 0,
            settled: 0,
            refractory: 0,
            gpu: gpu.clone(),
        }))
    }

    /// Uploads the rules of the current parameters. Returns true if a buffer was replaced. Fails if the device fails.
    pub fn upload(&mut self, plan: &Plan, coefficients: &Coefficients) -> Result<bool, GpuError> {
        for of in &mut self.projections {
            if let Some(plasticity) = &plan.projections[of.projection].plasticity {
                of.plan = plasticity.clone();
            }
        }
        let settled: Vec<u32> = self.tables.iter().map(|table| table.settled).collect();
        self.rules = rules(plan, &self.projections);
        let (mut tables, decays) = tables(plan, &self.projections, &self.rules);
        for (table, settled) in tables.iter_mut().zip(settled) {
            table.settled = settled;
        }
        (self.tables, self.n_decays) = (tables, decays.len() as u32);
        self.memory.plastic.write(&self.tables)?;
        self.refractory = smallest_refractory(plan, coefficients);
        let gpu = self.gpu.clone();
        fill(&gpu, &mut self.memory.decays, &decays)
    }

    /// Sets the state before step 0, for which the rules must be uploaded. Fails if the device fails.
    pub fn start(&mut self, network: &RulesBuffers) -> Result<(), GpuError> {
        self.memory.heads.clear()?;
        self.memory.eligibility.clear()?;
        self.memory.hash.clear()?;
        self.forget_counts(0);
        for of in &mut self.projections {
            of.modulated = 0;
            of.modulator.iter_mut().for_each(|modulator| modulator.restart(0));
        }
        let mut rows = vec![];
        for ((of, rule), table) in self.projections.iter().zip(&self.rules).zip(&mut self.tables) {
            table.settled = 0_u32.wrapping_sub(1 + of.plan.dendritic_min);
            let second = if matches!(rule.law, AnyLaw::ShortTerm(_)) { 1.0 } else { 0.0 };
            let state = RulesRowState { last: table.settled, trace: 0.0, second, pad: 0 };
            rows.resize(rows.len() + 2 * of.sizes[0] as usize, state);
        }
        self.memory.rows.write_at(0, &rows)?;
        self.memory.plastic.write(&self.tables)?;
        (0..self.projections.len()).try_for_each(|index| self.reset_weights(network, index))
    }

    /// Sets the weights of a projection to those at step 0.
    fn reset_weights(&mut self, network: &RulesBuffers, index: usize) -> Result<(), GpuError> {
        let of = &self.projections[index];
        if of.plan.depth == 0 {
            return Ok(());
        }
        StartRulesWeights {
            index: index as u32,
            projection: of.projection as u32,
            synapses: of.synapses,
            plastic: &self.memory.plastic,
            projections: &network.projections,
            weights: &network.weights,
            plastic_weights: &mut self.memory.weights,
        }
        .launch(&self.kernels, &mut Pass::default(), of.synapses.min(u64::from(MAX_THREADS)) as u32)
    }

    /// Changes the weights of projections, whose synapses must be up to date and whose rules must be uploaded. Fails if the device
    /// fails.
    pub fn change_weights(
        &mut self,
        network: &RulesBuffers,
        projections: &[RulesProjection],
        edit: &WeightEdit,
    ) -> Result<(), GpuError> {
        for index in 0..self.projections.len() {
            if !edit.projections.contains(&self.projections[index].projection) {
                continue;
            }
            let factor = match edit.change {
                WeightChange::Scale(factor) => factor,
                WeightChange::Reset => {
                    self.reset_weights(network, index)?;
                    continue;
                }
                WeightChange::Shuffle(draws) => {
                    self.shuffle_weights(network, (index, &projections[self.projections[index].projection]), draws)?;
                    continue;
                }
            };
            let w_max = self.tables[index].w_max;
            for piece in self.pieces(index) {
                let weights = self.memory.weights.read_range(piece.clone())?;
                let scaled: Vec<f32> = weights.into_iter().map(|w| scaled(w, factor, w_max)).collect();
                self.memory.weights.write_at(piece.start, &scaled)?;
            }
        }
        Ok(())
    }

    /// Returns ranges of the weights of a projection that are read at a time.
    pub fn pieces(&self, index: usize) -> impl Iterator<Item = Range<usize>> + use<> {
        let (first, n) = (self.tables[index].weights as usize, self.projections[index].synapses as usize);
        (first..first + n).step_by(PIECE).map(move |from| from..(from + PIECE).min(first + n))
    }

    /// Brings all synapses up to date before a step, which changes no later result. Eligibilities stay as they are. Fails if the
    /// device fails.
    pub fn bring_up_to_date(&mut self, network: &RulesBuffers, step: u64) -> Result<(), GpuError> {
        for index in 0..self.projections.len() {
            let of = &self.projections[index].plan;
            if of.interval == 0 && of.depth > 0 {
                self.update_all(network, index, (step as u32).wrapping_sub(1 + of.dendritic_min), 0.0)?;
            }
        }
        self.forget_counts(step);
        Ok(())
    }

    /// Updates synapses before a launch of steps from `step` on: at the end of an interval of the eligibility, and before histories
    /// overflow. Returns how many steps the launch takes at most. Fails if the device fails.
    pub fn before_launch(&mut self, network: &RulesBuffers, step: u64, read_to: u64) -> Result<u64, GpuError> {
        let mut most = u64::MAX;
        for index in 0..self.projections.len() {
            let of = &self.projections[index].plan;
            let (interval, shift) = (u64::from(of.interval), 1 + u64::from(of.dendritic_min));
            if let Some(ended) = step.saturating_sub(shift).checked_div(interval) {
                if let Some(at) = of.interval_end(step) {
                    let spikes = self.projections[index].modulator.as_mut().map_or(0, |m| m.take(step));
                    self.projections[index].modulated = spikes;
                    let gain = self.rules[index].gain(spikes);
                    self.update_all(network, index, at as u32, gain)?;
                }
                most = most.min((ended + 1) * interval + shift - step);
            }
        }
        let Some(room) = self.room() else { return Ok(most) };
        // At most a quarter of the room per launch, so that two launches that are not yet read leave room.
        let per_spike = u64::from(self.refractory) + 1;
        let longest = (u64::from(room) / 4).max(1) * per_spike;
        let unread = (step - read_to + longest).div_ceil(per_spike) as u32 + 1;
        if self.most.saturating_add(unread) >= room {
            self.bring_up_to_date(network, step)?;
        }
        Ok(most.min(longest))
    }

    /// Returns the smallest number of spikes that histories hold between two updates; `None` without histories.
    fn room(&self) -> Option<u32> {
        let of = self.projections.iter().filter(|of| of.plan.depth > 0);
        of.map(|of| of.plan.depth - of.plan.dendritic_min - of.plan.dendritic_max - of.plan.interval - 3).min()
    }

    /// Whether all spikes before a step must be read before it is launched, because a third factor depends on them.
    pub fn needs_spikes(&self, step: u64) -> bool {
        self.projections.iter().any(|of| of.modulator.is_some() && of.plan.interval_end(step).is_some())
    }

    /// Counts the spikes of a step that were read.
    pub fn count(&mut self, step: u64, spikes: &[u32]) {
        self.projections.iter_mut().filter_map(|of| of.modulator.as_mut()).for_each(|m| m.add(step, spikes));
        if step < self.settled {
            return;
        }
        for neuron in spikes {
            let count = &mut self.counts[*neuron as usize];
            *count += 1;
            self.most = self.most.max(*count);
        }
    }

    /// Sets the counts to 0. Spikes before `step` are not counted any more.
    fn forget_counts(&mut self, step: u64) {
        self.counts.fill(0);
        (self.most, self.settled) = (0, step);
    }

    /// Returns the sum over the delivered weights since the last call. Fails if the device fails.
    pub fn take_hash(&mut self) -> Result<u64, GpuError> {
        let sum = self.memory.hash.read()?[0];
        self.memory.hash.clear()?;
        Ok(sum)
    }

    /// Updates all rows of a projection to a synapse time. `gain` is the change of a weight per eligibility.
    fn update_all(&mut self, network: &RulesBuffers, index: usize, to: u32, gain: f32) -> Result<(), GpuError> {
        let (of, m) = (&self.projections[index], &mut self.memory);
        UpdateRulesRows {
            index: index as u32,
            projection: of.projection as u32,
            n_rows: of.sizes[0],
            to,
            gain,
            projections: &network.projections,
            starts: &network.starts,
            words: &network.words,
            plastic: &m.plastic,
            incoming: &m.incoming,
            decays: &m.decays,
            rows: &mut m.rows,
            heads: &mut m.heads,
            entries: &mut m.entries,
            seconds: &mut m.seconds,
            plastic_weights: &mut m.weights,
            eligibility: &mut m.eligibility,
            weight_hash: &mut m.hash,
        }
        .launch(&self.kernels, &mut Pass::default(), of.sizes[0].saturating_mul(32).min(MAX_THREADS))?;
        self.tables[index].settled = to;
        self.memory.plastic.write_at(index, &self.tables[index..=index])
    }

    /// Restores the counters after a state of `step` was loaded.
    pub fn resume(&mut self, step: u64) -> Result<(), GpuError> {
        self.forget_counts(step);
        self.memory.hash.clear()?;
        self.memory.plastic.write(&self.tables)
    }
}

/// Returns the rules of the plastic projections.
fn rules(plan: &Plan, projections: &[Plastic]) -> Vec<Rule> {
    projections.iter().map(|of| Rule::new(&of.plan, plan.dt_ms)).collect()
}

/// Returns the smallest refractory period of a neuron, steps.
fn smallest_refractory(plan: &Plan, coefficients: &Coefficients) -> u32 {
    let of = |(i, population): (usize, &crate::kinds::spiking::general::plan::PopulationPlan)| {
        let n = if coefficients.places[i][REFRACTORY].stride == 0 { 1.min(population.n) } else { population.n };
        (0..n).map(|neuron| coefficients.value(i, REFRACTORY, neuron) as u32).min()
    };
    plan.populations.iter().enumerate().filter_map(of).min().unwrap_or(0)
}
