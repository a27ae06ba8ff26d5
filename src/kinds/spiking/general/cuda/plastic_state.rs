//! Plastic synapses in [saved states](crate::kinds::spiking::general::plasticity::saved). Rows are sorted there; on the device the
//! order within a row depends on how the connections were made.

use super::{
    buffers::RulesBuffers,
    kernels::{RulesProjection, RulesRowState, WEIGHT_CONSTANT, WEIGHT_NARROW},
    plastic::{Plastic, PlasticSynapses},
};
use crate::{
    gpu::{Buf, GpuError},
    kinds::spiking::{
        general::{
            connections::TARGET,
            plan::{Plan, TARGET_BITS},
            plasticity::{
                history::{PostSpike, is_after},
                part::RowState,
                present::{self, StoredSynapse, SynapsePlace, SynapseState},
                saved::State,
            },
        },
        weight_matrix::CategorySums,
        weight_readings::{WeightReadings, WeightSums},
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

/// Returns the synapses of a row of a projection, and the order in which the host sorts them. Fails if the device fails.
fn row_order(network: &RulesBuffers, p: &RulesProjection, source: u32) -> Result<(Range<usize>, Vec<usize>), GpuError> {
    let at = p.starts as usize + source as usize;
    let ends = network.starts.read_range(at..at + 2)?;
    let row = ends[0] as usize..ends[1] as usize;
    let words = network.words.read_range(p.words as usize + row.start..p.words as usize + row.end)?;
    let units = units(network, p, row.clone())?;
    let mut order: Vec<usize> = (0..row.len()).collect();
    sort_row(&mut order, &words, &units);
    Ok((row, order))
}

/// Returns the state of a row from its two versions.
const fn row_state(versions: &[RulesRowState], settled: u32) -> RowState {
    let [a, b] = [versions[0], versions[1]];
    let RulesRowState { last, trace, second, .. } = if is_after(b.last, a.last) { b } else { a };
    let updated = if is_after(settled, last) { settled } else { last };
    RowState { updated, last, trace, second }
}

impl PlasticSynapses {
    /// Adds the weights of all plastic projections, which must be up to date, to sums by category. Fails if the device fails.
    pub fn add_weights(
        &self,
        network: &RulesBuffers,
        projections: &[RulesProjection],
        plan: &Plan,
        sums: &mut CategorySums,
    ) -> Result<(), GpuError> {
        for (index, of) in self.projections.iter().enumerate() {
            if of.plan.depth == 0 || !sums.includes(of.projection) {
                continue;
            }
            let (p, ends) = (&projections[of.projection], &plan.projections[of.projection]);
            let [from, to] = [ends.from, ends.to].map(|population| plan.populations[population].first);
            let starts = network.starts.read_range(p.starts as usize..p.starts as usize + of.sizes[0] as usize + 1)?;
            let (first, mut source) = (self.tables[index].weights as usize, 0);
            for piece in self.pieces(index) {
                let own = piece.start - first..piece.end - first;
                let words = network.words.read_range(p.words as usize + own.start..p.words as usize + own.end)?;
                let weights = self.memory.weights.read_range(piece)?;
                for (at, (word, weight)) in own.zip(words.iter().zip(&weights)) {
                    while starts[source + 1] as usize <= at {
                        source += 1;
                    }
                    sums.add(from + source as u32, to + (word & TARGET), *weight);
                }
            }
        }
        Ok(())
    }

    /// Adds a sample before `step`, up to which synapses must be up to date, to the readings of weights. Fails if the device fails.
    pub fn read(
        &self,
        network: &RulesBuffers,
        projections: &[RulesProjection],
        plan: &Plan,
        step: u64,
        readings: &mut WeightReadings,
    ) -> Result<(), GpuError> {
        let state = |place: &SynapsePlace| -> Result<SynapseState, GpuError> {
            let stored = self.stored(network, &projections[place.projection], *place)?;
            let index = self.index_of(place.projection).unwrap_or_default();
            let of = plan.projections[place.projection].plasticity.as_ref().unwrap_or(&self.projections[index].plan);
            Ok(present::state(*place, &stored, (&self.rules[index], of), step))
        };
        let states = readings.synapses.places().iter().map(state).collect::<Result<Vec<_>, _>>()?;
        readings.synapses.push(step, &states);
        if readings.needs_sums() {
            readings.push(step, &self.weight_sums()?);
        }
        Ok(())
    }

    /// Returns sums over the weights of each projection with changing weights. Fails if the device fails.
    fn weight_sums(&self) -> Result<Vec<WeightSums>, GpuError> {
        let mut all = vec![];
        for index in (0..self.projections.len()).filter(|index| self.projections[*index].plan.depth > 0) {
            let mut sums = WeightSums::new(self.tables[index].w_max);
            sums.third_factor = self.rules[index].third_factor(self.projections[index].modulated);
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
        let Some(index) = self.index_of(projection) else { return Ok(vec![]) };
        let first = self.tables[index].weights as usize;
        let (row, order) = row_order(network, p, source)?;
        let weights = self.memory.weights.read_range(first + row.start..first + row.end)?;
        Ok(order.into_iter().map(|at| weights[at]).collect())
    }

    fn index_of(&self, projection: usize) -> Option<usize> {
        self.projections.iter().position(|of| of.projection == projection)
    }

    /// Returns the stored values of a plastic synapse. Fails if the device fails.
    pub fn stored(
        &self,
        network: &RulesBuffers,
        p: &RulesProjection,
        place: SynapsePlace,
    ) -> Result<StoredSynapse, GpuError> {
        let index = self.index_of(place.projection).unwrap_or_default();
        let (of, table, m) = (&self.projections[index], &self.tables[index], &self.memory);
        let (row, order) = row_order(network, p, place.source)?;
        let at = row.start + order.get(place.number).copied().unwrap_or_default();
        let read = |values: &Buf<f32>, first: u64| values.read_range(first as usize + at..first as usize + at + 1);
        let eligibility = if of.plan.interval > 0 { read(&m.eligibility, table.eligibility)?[0] } else { 0.0 };
        let versions = 2 * (table.rows as usize + place.source as usize);
        Ok(StoredSynapse {
            weight: read(&m.weights, table.weights)?[0],
            eligibility,
            row: row_state(&m.rows.read_range(versions..versions + 2)?, table.settled),
            spikes: self.held(index, place.target..place.target + 1)?.pop().unwrap_or_default(),
        })
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
        let mut state = State {
            projection: of.projection,
            rows: rows.chunks_exact(2).map(|versions| row_state(versions, table.settled)).collect(),
            settled: table.settled,
            modulating: of.modulator.clone().map_or(0, |mut m| m.counted_before(step)),
            modulated: of.modulated,
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
        let (of, table) = (&self.projections[index], &self.tables[index]);
        let delay = of.plan.dendritic_max;
        let is_settled = |spike: &PostSpike| is_after(table.settled.wrapping_add(1), spike.step.wrapping_add(delay));
        let needed = |held: Vec<PostSpike>| held[held.iter().rposition(is_settled).unwrap_or(0)..].to_vec();
        Ok(self.held(index, 0..of.sizes[1])?.into_iter().map(needed).collect())
    }

    /// Returns the spikes of postsynaptic neurons that are held, ascending. Fails if the device fails.
    fn held(&self, index: usize, neurons: Range<u32>) -> Result<Vec<Vec<PostSpike>>, GpuError> {
        let (of, table, m) = (&self.projections[index], &self.tables[index], &self.memory);
        let depth = of.plan.depth as usize;
        let own = neurons.start as usize..neurons.end as usize;
        let places = |first: u64| first as usize + own.start * depth..first as usize + own.end * depth;
        let heads = m.heads.read_range(table.heads as usize + own.start..table.heads as usize + own.end)?;
        let entries = m.entries.read_range(places(table.entries))?;
        let seconds = if table.has_slow == 0 { vec![] } else { m.seconds.read_range(places(table.seconds))? };
        let history = |(neuron, head): (usize, &u64)| -> Vec<PostSpike> {
            let count = *head as u32;
            let spike = |i: u32| {
                let place = neuron * depth + (i & table.mask) as usize;
                let entry = entries[place];
                let second = seconds.get(place).copied().unwrap_or(0.0);
                PostSpike { step: entry as u32, trace: f32::from_bits((entry >> 32) as u32), second }
            };
            (count - count.min(table.mask)..count).map(spike).collect()
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
            self.projections[index].modulated = state.modulated;
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
