//! Converts between the device and [saved states](crate::kinds::spiking::general::saved).

use super::{RulesSim, buffers::RulesBuffers, kernels::RulesList};
use crate::{
    gpu::Buf,
    kinds::spiking::general::{
        cpu::{partition::NEVER, step::ARRAYS},
        plan::Plan,
        saved::{self, State},
    },
    sim::{SimError, Snapshot},
};

/// Creates a snapshot that suffices to continue bit for bit. Fails if the device fails.
pub fn write(sim: &mut RulesSim) -> Result<Snapshot, SimError> {
    let plasticity = match &mut sim.plastic {
        Some(plastic) => {
            plastic.bring_up_to_date(&sim.memory, sim.host.step)?;
            plastic.states(&sim.memory, &sim.layout.projections, sim.host.step)?
        }
        None => vec![],
    };
    let (plan, memory, step) = (&sim.plan, &sim.memory, sim.host.step);
    let stride = plan.stride as usize;
    let all = memory.state.read()?;
    let mut arrivals = vec![];
    if plan.slots > 1 {
        let sums = memory.sums.read()?;
        for later in 0..u64::from(plan.slots) {
            let slot = (step + later) as usize & (memory.model.value().slot_mask as usize);
            for receptor in 0..2 {
                arrivals.extend(of_neurons(plan, &sums[(slot * 2 + receptor) * stride..][..stride]));
            }
        }
    }
    let last_spike = |running: &crate::kinds::spiking::measure::RunningRate| match running.hz > 0.0 {
        true => step - u64::from((step as u32).wrapping_sub(running.step)),
        false => NEVER,
    };
    let state = State {
        step,
        arrays: std::array::from_fn(|i| of_neurons(plan, &all[i * stride..][..stride]).collect()),
        last_spike: sim.host.measurements.running.iter().map(last_spike).collect(),
        arrivals,
        spikes: in_transit(memory, plan, step)?,
        manual_kicks: sim.host.manual_kicks.clone(),
        plasticity,
    };
    Ok(saved::compose(plan, sim.connections.0, state, &sim.host))
}

/// Restores a state. Fails if the snapshot does not fit, in which case the simulation is unchanged, or if the device
/// fails.
pub fn read(sim: &mut RulesSim, from: &Snapshot) -> Result<(), SimError> {
    let mut synapses = vec![0; sim.plan.projections.len()];
    for of in sim.plastic.iter().flat_map(|plastic| &plastic.projections) {
        synapses[of.projection] = of.synapses;
    }
    let (state, of_host) = saved::parse((&sim.plan, &sim.host), sim.connections.0, &synapses, from)?;
    let (plan, memory, step) = (&sim.plan, &mut sim.memory, state.step);
    let (n, stride) = (plan.n as usize, plan.stride as usize);
    sim.queue.restart()?;
    memory.clear()?;
    let mut all = vec![0.0; ARRAYS * stride];
    for (i, array) in state.arrays.iter().enumerate() {
        to_arrays(plan, array, &mut all[i * stride..][..stride]);
    }
    memory.state.write_at(0, &all)?;
    let slot_mask = memory.model.value().slot_mask as usize;
    let mut slot_values = vec![0; stride];
    for (i, saved) in state.arrivals.chunks_exact(n).enumerate() {
        let slot = (step as usize + i / 2) & slot_mask;
        to_arrays(plan, saved, &mut slot_values);
        memory.sums.write_at((slot * 2 + i % 2) * stride, &slot_values)?;
    }
    write_in_transit(memory, &state.spikes)?;
    if let Some(plastic) = &mut sim.plastic {
        plastic.restore(memory, &sim.layout.projections, &state.plasticity, (step, &state.spikes))?;
    }
    sim.manual.clear();
    sim.host.manual_kicks = state.manual_kicks;
    of_host.restore(&mut sim.host, step);
    Ok(())
}

/// Reads the spikes that may be in transit before `step`, by step, ascending. Fails if the device fails.
pub fn in_transit(memory: &RulesBuffers, plan: &Plan, step: u64) -> Result<Vec<(u64, Vec<u32>)>, SimError> {
    let lists = memory.lists.read()?;
    let steps = step.saturating_sub(saved::in_transit(plan))..step;
    let list = |step: u64| lists[step as usize & (lists.len() - 1)];
    let total: usize = steps.clone().map(|step| list(step).count as usize).sum();
    let first = steps.clone().next().map_or(0, |step| list(step).start);
    let all = read_ring(&memory.spikes, first as usize, total)?;
    let mut rest = &all[..];
    let spikes = steps.map(|step| {
        let (now, later) = rest.split_at(list(step).count as usize);
        rest = later;
        let mut now = now.to_vec();
        now.sort_unstable();
        (step, now)
    });
    Ok(spikes.collect())
}

/// Writes spikes of successive steps to the start of the ring. Fails if the device fails.
pub fn write_in_transit(memory: &mut RulesBuffers, spikes: &[(u64, Vec<u32>)]) -> Result<(), SimError> {
    let mut start = 0;
    for (step, neurons) in spikes {
        let count = neurons.len() as u32;
        let at = *step as usize & (memory.lists.len() - 1);
        memory.lists.write_at(at, &[RulesList { events: 0, start, count }])?;
        memory.spikes.write_at(start as usize, neurons)?;
        start += count;
    }
    Ok(())
}

/// Reads `n` entries of a ring from `first` on.
fn read_ring(ring: &Buf<u32>, first: usize, n: usize) -> Result<Vec<u32>, SimError> {
    let from = first & (ring.len() - 1);
    let before_end = (ring.len() - from).min(n);
    let mut all = ring.read_range(from..from + before_end)?;
    all.extend(ring.read_range(0..n - before_end)?);
    Ok(all)
}

/// Returns the values of the neurons from a padded array.
fn of_neurons<'a, T: Copy>(plan: &'a Plan, array: &'a [T]) -> impl Iterator<Item = T> + 'a {
    plan.populations.iter().flat_map(|p| array[p.state as usize..][..p.n as usize].iter().copied())
}

/// Writes the values of the neurons to a padded array.
fn to_arrays<T: Copy>(plan: &Plan, values: &[T], array: &mut [T]) {
    for p in &plan.populations {
        let own = p.first as usize..(p.first + p.n) as usize;
        array[p.state as usize..][..own.len()].copy_from_slice(&values[own]);
    }
}
