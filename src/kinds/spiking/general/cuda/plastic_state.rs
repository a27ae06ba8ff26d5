//! Plastic synapses in [saved states](crate::kinds::spiking::general::plasticity::saved). Rows are sorted there; on the device the
//! order within a row depends on how the connections were made.

use super::{
    buffers::RulesBuffers,
    kernels::{RulesProjection, RulesRowState, WEIGHT_CONSTANT, WEIGHT_NARROW},
    plastic::{Plastic, PlasticSynapses},
};
use crate::{
    gpu::GpuError,
    kinds::spiking::{
        general::{
            connections::TARGET,
            plan::TARGET_BITS,
            plasticity::{
                history::{PostSpike, is_after},
                part::RowState,
                saved::State,
            },
        },
        weight_readings::WeightSums,
    },
};
use std::ops::Range;

/// Returns, for each synapse in sorted order, its index on the device. Fails if the device fails.
pub fn sorted_order(network: &RulesBuffers, p: &RulesProjection, of: &Plastic) -> Result<Vec<usize>, GpuError> {
    let starts = network.starts.read_range(p.starts as usize..p.starts as usize + of.sizes[0] as usize + 1)?;
    let n = of.synapses as usize;
    let words = network.words.read_range(p.words as usize..p.words as usize + n)?;
    let units = units(network, p, 0..n)?;
    let mut order: Vec<usize> = (0..n).collect();
    for row in starts.windows(2) {
        sort_row(&mut order[row[0] as usize..row[1] as usize], &words, &units);
    }
    Ok(order)
}

/// Sorts the indices of the synapses of a row as the host sorts the synapses.
fn sort_row(order: &mut [usize], words: &[u32], units: &[i32]) {
    order.sort_unstable_by_key(|at| (words[*at] & TARGET, words[*at] >> TARGET_BITS, units.get(*at).copied()));
}

/// Reads the start weights of synapses in units of the sums, before the shift; empty if they are all equal. Fails if the device
/// fails.
fn units(network: &RulesBuffers, p: &RulesProjection, of: Range<usize>) -> Result<Vec<i32>, GpuError> {
    let first = p.weights as usize;
    let bytes = |size: usize| network.weights.read_range(first + size * of.start..first + size * of.end);
    Ok(match p.format {
        WEIGHT_CONSTANT => vec![],
        WEIGHT_NARROW => bytemuck::pod_collect_to_vec::<u8, i16>(&bytes(2)?).into_iter().map(i32::from).collect(),
        _ => bytemuck::pod_collect_to_vec(&bytes(4)?),
    })
}

impl PlasticSynapses {
    /// Returns sums over the weights of each projection with changing weights. Fails if the device fails.
    pub fn weight_sums(&self) -> Result<Vec<WeightSums>, GpuError> {
        let mut all = vec![];
        for index in (0..self.projections.len()).filter(|index| self.projections[*index].plan.depth > 0) {
            let mut sums = WeightSums::new(self.tables[index].w_max);
            for piece in self.pieces(index) {
                sums.add(&self.memory.weights.read_range(piece)?);
            }
            all.push(sums);
        }
        Ok(all)
    }

    /// Returns the weights of the row `source` of a plastic projection in sorted order. Fails if the device fails.
    pub fn row(
        &self,
        network: &RulesBuffers,
        p: &RulesProjection,
        projection: usize,
        source: u32,
    ) -> Result<Vec<f32>, GpuError> {
        let Some(index) = self.projections.iter().position(|of| of.projection == projection) else { return Ok(vec![]) };
        let (at, first) = (p.starts as usize + source as usize, self.tables[index].weights as usize);
        let ends = network.starts.read_range(at..at + 2)?;
        let row = ends[0] as usize..ends[1] as usize;
        let words = network.words.read_range(p.words as usize + row.start..p.words as usize + row.end)?;
        let units = units(network, p, row.clone())?;
        let weights = self.memory.weights.read_range(first + row.start..first + row.end)?;
        let mut order: Vec<usize> = (0..row.len()).collect();
        sort_row(&mut order, &words, &units);
        Ok(order.into_iter().map(|at| weights[at]).collect())
    }

    /// Returns the states of all plastic projections before a step, up to which synapses must be up to date and spikes counted. Fails
    /// if the device fails.
    pub fn states(
        &self,
        network: &RulesBuffers,
        projections: &[RulesProjection],
        step: u64,
    ) -> Result<Vec<State>, GpuError> {
        (0..self.projections.len()).map(|index| self.state(index, network, projections, step)).collect()
    }

    fn state(
        &self,
        index: usize,
        network: &RulesBuffers,
        all: &[RulesProjection],
        step: u64,
    ) -> Result<State, GpuError> {
        let (of, table, m) = (&self.projections[index], &self.tables[index], &self.memory);
        let rows = m.rows.read_range(2 * table.rows as usize..2 * (table.rows as usize + of.sizes[0] as usize))?;
        let row = |versions: &[RulesRowState]| {
            let [a, b] = [versions[0], versions[1]];
            let RulesRowState { last, trace, second, .. } = if is_after(b.last, a.last) { b } else { a };
            let updated = if is_after(table.settled, last) { table.settled } else { last };
            RowState { updated, last, trace, second }
        };
        let mut state = State {
            projection: of.projection,
            rows: rows.chunks_exact(2).map(row).collect(),
            settled: table.settled,
            modulating: of.modulator.clone().map_or(0, |mut m| m.counted_before(step)),
            ..State::default()
        };
        if of.plan.depth == 0 {
            return Ok(state);
        }
        let order = sorted_order(network, &all[of.projection], of)?;
        let n = of.synapses as usize;
        let weights = m.weights.read_range(table.weights as usize..table.weights as usize + n)?;
        state.weights = order.iter().map(|at| weights[*at]).collect();
        if of.plan.interval > 0 {
            let first = table.eligibility as usize;
            let eligibility = m.eligibility.read_range(first..first + n)?;
            state.eligibility = order.iter().map(|at| eligibility[*at]).collect();
        }
        state.history = self.histories(index)?;
        Ok(state)
    }

    /// Returns the spikes of each postsynaptic neuron that updates can still use. Fails if the device fails.
    fn histories(&self, index: usize) -> Result<Vec<Vec<PostSpike>>, GpuError> {
        let (of, table, m) = (&self.projections[index], &self.tables[index], &self.memory);
        let (n, depth) = (of.sizes[1] as usize, of.plan.depth as usize);
        let heads = m.heads.read_range(table.heads as usize..table.heads as usize + n)?;
        let entries = m.entries.read_range(table.entries as usize..table.entries as usize + n * depth)?;
        let seconds = match table.has_slow {
            0 => vec![],
            _ => m.seconds.read_range(table.seconds as usize..table.seconds as usize + n * depth)?,
        };
        let history = |(neuron, head): (usize, &u64)| {
            let count = *head as u32;
            let spike = |i: u32| {
                let place = neuron * depth + (i & table.mask) as usize;
                let entry = entries[place];
                let second = seconds.get(place).copied().unwrap_or(0.0);
                PostSpike { step: entry as u32, trace: f32::from_bits((entry >> 32) as u32), second }
            };
            let held: Vec<PostSpike> = (count - count.min(table.mask)..count).map(spike).collect();
            let delay = of.plan.dendritic_max;
            let is_settled =
                |spike: &PostSpike| is_after(table.settled.wrapping_add(1), spike.step.wrapping_add(delay));
            let from = held.iter().rposition(is_settled).unwrap_or(0);
            held[from..].to_vec()
        };
        Ok(heads.iter().enumerate().map(history).collect())
    }

    /// Restores the states of all plastic projections before `step`; `in_transit` are the most recent spikes. Fails if the device fails.
    pub fn restore(
        &mut self,
        network: &RulesBuffers,
        projections: &[RulesProjection],
        states: &[State],
        (step, in_transit): (u64, &[(u64, Vec<u32>)]),
    ) -> Result<(), GpuError> {
        for (index, state) in states.iter().enumerate() {
            self.tables[index].settled = state.settled;
            if let Some(modulator) = &mut self.projections[index].modulator {
                modulator.resume(state.modulating, step, in_transit);
            }
            let (of, table) = (&self.projections[index], &self.tables[index]);
            let row = |row: &RowState| RulesRowState { last: row.last, trace: row.trace, second: row.second, pad: 0 };
            let rows: Vec<RulesRowState> = state.rows.iter().flat_map(|state| [row(state); 2]).collect();
            self.memory.rows.write_at(2 * table.rows as usize, &rows)?;
            if of.plan.depth == 0 {
                continue;
            }
            let order = sorted_order(network, &projections[of.projection], of)?;
            let unsorted = |values: &[f32]| {
                let mut on_device = vec![0.0; values.len()];
                order.iter().zip(values).for_each(|(at, value)| on_device[*at] = *value);
                on_device
            };
            self.memory.weights.write_at(table.weights as usize, &unsorted(&state.weights))?;
            if of.plan.interval > 0 {
                self.memory.eligibility.write_at(table.eligibility as usize, &unsorted(&state.eligibility))?;
            }
            self.restore_histories(index, &state.history)?;
        }
        self.resume(step)
    }

    fn restore_histories(&mut self, index: usize, histories: &[Vec<PostSpike>]) -> Result<(), GpuError> {
        let (table, depth) = (&self.tables[index], self.projections[index].plan.depth as usize);
        let mut entries = vec![0; histories.len() * depth];
        let mut seconds = vec![0.0; entries.len()];
        let mut heads = vec![];
        for (neuron, spikes) in histories.iter().enumerate() {
            for (i, spike) in spikes.iter().enumerate() {
                let place = neuron * depth + (i & table.mask as usize);
                entries[place] = u64::from(spike.trace.to_bits()) << 32 | u64::from(spike.step);
                seconds[place] = spike.second;
            }
            let last = spikes.last().map_or(0, |spike| spike.step);
            heads.push(u64::from(last) << 32 | spikes.len() as u64);
        }
        let m = &mut self.memory;
        m.heads.write_at(table.heads as usize, &heads)?;
        m.entries.write_at(table.entries as usize, &entries)?;
        if table.has_slow == 0 {
            return Ok(());
        }
        m.seconds.write_at(table.seconds as usize, &seconds)
    }
}
