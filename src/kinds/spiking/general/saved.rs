//! Saved states of networks from rules, independent of threads and backend. A state holds the hash of the connections, not the
//! connections: they are made again and compared.

use super::{
    connections::Connections,
    cpu::{GeneralSim, partition::NEVER, step::ARRAYS},
    homeostasis::{counts::SpikeCounts, state::Thresholds},
    patterns::readout,
    plan::Plan,
    plasticity::{part::Part, saved as plasticity},
};
use crate::{
    kinds::spiking::{
        host_state::HostState,
        saved_state::{Counted, inconsistent, read_kicks, write_kicks},
    },
    sim::{SimError, Snapshot, snapshot::misfit},
};

const MODEL: &str = "spiking, network from rules";

/// Names of the state arrays in a snapshot.
const NAMES: [&str; ARRAYS] = ["u", "current.ex", "current.in", "rise.ex", "rise.in", "refractory"];

/// State of a network between two steps, without its measurements.
pub struct State {
    /// Number of completed steps.
    pub step: u64,
    /// State arrays, one value per neuron.
    pub arrays: [Vec<f32>; ARRAYS],
    /// Step of each neuron's last spike, or [`NEVER`].
    pub last_spike: Vec<u64>,
    /// Arrivals of the next steps, by step, receptor and neuron; empty if no projection has several delays.
    pub arrivals: Vec<i32>,
    /// Spikes of the last [`in_transit`] steps, by step, ascending.
    pub spikes: Vec<(u64, Vec<u32>)>,
    /// Manual kicks for the next step.
    pub manual_kicks: Vec<(u32, f32)>,
    /// States of the plastic projections.
    pub plasticity: Vec<plasticity::State>,
}

/// Returns the number of most recent steps whose spikes may be in transit: the largest smallest delay of a projection.
pub fn in_transit(plan: &Plan) -> u64 {
    plan.projections.iter().map(|p| u64::from(p.delay_min)).max().unwrap_or(0)
}

/// Returns the states of the plastic projections.
fn plastic(sim: &GeneralSim) -> Vec<plasticity::State> {
    let parts = |i: usize| -> Vec<&Part> { sim.partitions.iter().filter_map(|p| p.plastic[i].as_ref()).collect() };
    let all = (0..sim.plan.projections.len()).map(|i| (i, parts(i)));
    all.filter(|(_, parts)| !parts.is_empty()).map(|(i, parts)| plasticity::state_of(i, &parts)).collect()
}

/// Creates a snapshot that suffices to continue bit for bit. Plastic synapses must be up to date.
pub(super) fn write(sim: &GeneralSim) -> Snapshot {
    let step = sim.host.step;
    let slots = u64::from(sim.plan.slots);
    let mut arrivals = vec![];
    if slots > 1 {
        for (later, receptor) in (0..slots).flat_map(|later| [(later, 0), (later, 1)]) {
            arrivals.extend(sim.each_neuron(|p, _, at| p.arrivals.sums[p.arrivals.index(step + later, receptor) + at]));
        }
    }
    let sent = step.saturating_sub(in_transit(&sim.plan))..step;
    let state = State {
        step,
        arrays: std::array::from_fn(|i| sim.each_neuron(|p, _, at| p.state[i][at])),
        last_spike: sim.each_neuron(|p, _, at| p.last_spike[at]),
        arrivals,
        spikes: sent.map(|s| (s, sim.rings.iter().flat_map(|ring| ring.read(s).spikes.clone()).collect())).collect(),
        manual_kicks: sim.host.manual_kicks.clone(),
        plasticity: plastic(sim),
    };
    compose(&sim.plan, sim.connections.hash.0, state, &sim.host)
}

/// Creates a snapshot from its parts; `hash` is that of the connections.
pub fn compose(plan: &Plan, hash: u64, state: State, host: &HostState<f32>) -> Snapshot {
    let mut out = Snapshot::new(MODEL);
    out.number("step", state.step);
    out.number("dt_ms", plan.dt_ms);
    out.number("connections", hash);
    for (name, array) in NAMES.into_iter().zip(state.arrays) {
        out.list(name, array);
    }
    out.list("last_spike", state.last_spike);
    out.list("arrivals", state.arrivals);
    out.list("in_transit.counts", state.spikes.iter().map(|(_, lanes)| lanes.len() as u32).collect());
    out.list("in_transit.neurons", state.spikes.into_iter().flat_map(|(_, lanes)| lanes).collect());
    let (neurons, weights) = state.manual_kicks.into_iter().unzip();
    write_kicks::<f32>(&mut out, neurons, weights);
    state.plasticity.into_iter().for_each(|of| plasticity::write(&mut out, of));
    let measurements = &host.measurements;
    host.thresholds.write(&measurements.counts, &mut out);
    measurements.readout.iter().for_each(|readout| readout.write(&mut out));
    measurements.write(&mut out);
    out
}

/// Returns the number of synapses of each projection.
pub fn synapses(connections: &Connections) -> Vec<u64> {
    connections.rows.iter().map(|rows| rows.words.len() as u64).collect()
}

/// Parses a state of this network; `synapses` are the numbers of synapses by projection. Fails if the time step or the
/// connections differ, or the contents are inconsistent.
pub fn parse(
    (plan, host): (&Plan, &HostState<f32>),
    hash: u64,
    synapses: &[u64],
    from: &Snapshot,
) -> Result<(State, SavedHost), SimError> {
    from.expect_model(MODEL)?;
    if from.read_number::<f64>("dt_ms")?.to_bits() != plan.dt_ms.to_bits() {
        return Err(misfit("it was saved with another time step"));
    }
    if from.read_number::<u64>("connections")? != hash {
        return Err(misfit("it was saved with other connections: populations, projections or seed differ"));
    }
    let (n, slots) = (plan.n as usize, plan.slots as usize);
    let step: u64 = from.read_number("step")?;
    let mut arrays = [const { vec![] }; ARRAYS];
    for (array, name) in arrays.iter_mut().zip(NAMES) {
        *array = from.read(name, &[n])?;
    }
    let last_spike: Vec<u64> = from.read("last_spike", &[n])?;
    let arrivals: Vec<i32> = from.read("arrivals", &[if slots > 1 { 2 * slots * n } else { 0 }])?;
    let window = step.saturating_sub(in_transit(plan))..step;
    let counts: Vec<u32> = from.read("in_transit.counts", &[(window.end - window.start) as usize])?;
    let lanes: Vec<u32> = from.read_list("in_transit.neurons")?;
    let mut rest = &lanes[..];
    let mut spikes = Vec::with_capacity(counts.len());
    for (sent, count) in window.zip(counts) {
        let (now, later) = rest.split_at_checked(count as usize).ok_or_else(inconsistent)?;
        spikes.push((sent, now.to_vec()));
        rest = later;
    }
    let manual_kicks = read_kicks(from, plan.n)?;
    let plasticity = plasticity::parse(plan, synapses, from)?;
    let of_host = SavedHost::read(plan, host, from, step)?;
    let ascending = |lanes: &[u32]| lanes.is_sorted_by(|a, b| a < b) && lanes.last().is_none_or(|i| *i < plan.n);
    let fits = rest.is_empty()
        && spikes.iter().all(|(_, lanes)| ascending(lanes))
        && last_spike.iter().all(|last| *last == NEVER || *last < step);
    if !fits {
        return Err(inconsistent());
    }
    Ok((State { step, arrays, last_spike, arrivals, spikes, manual_kicks, plasticity }, of_host))
}

/// Measurements and thresholds of a saved state.
pub struct SavedHost {
    counted: Counted,
    thresholds: Thresholds,
    counts: SpikeCounts,
    readout: Option<readout::Counted>,
}

impl SavedHost {
    /// Reads measurements and thresholds; `step` is the step of the state. Fails if the contents do not fit.
    fn read(plan: &Plan, host: &HostState<f32>, from: &Snapshot, step: u64) -> Result<Self, SimError> {
        let counted = Counted::read(from, step)?;
        let (thresholds, counts) = Thresholds::read(plan, from)?;
        let readout = host.measurements.readout.as_ref().map(|readout| readout.read(from)).transpose()?;
        Ok(Self { counted, thresholds, counts, readout })
    }

    /// Restores measurements and thresholds.
    pub fn restore(self, host: &mut HostState<f32>, step: u64) {
        host.thresholds = self.thresholds;
        host.measurements.resume(self.counted, step);
        host.matrices.drop_unread();
        host.measurements.counts = self.counts;
        if let Some((readout, saved)) = host.measurements.readout.as_mut().zip(self.readout) {
            readout.resume(saved);
        }
        host.step = step;
        host.stimuli_changed = true;
    }
}

/// Restores a state; on `Err` the simulation is unchanged.
pub(super) fn read(sim: &mut GeneralSim, from: &Snapshot) -> Result<(), SimError> {
    let of = (&sim.plan, &sim.host);
    let (state, of_host) = parse(of, sim.connections.hash.0, &synapses(&sim.connections), from)?;
    let (n, step) = (sim.plan.n as usize, state.step);
    for (partition, ring) in sim.partitions.iter_mut().zip(&mut sim.rings) {
        let range = partition.range();
        partition.arrivals.sums.fill(0);
        for segment in partition.segments.clone() {
            let own = segment.range().start as usize..segment.range().end as usize;
            let at = segment.at..segment.at + own.len();
            for (array, saved) in partition.state.iter_mut().zip(&state.arrays) {
                array[at.clone()].copy_from_slice(&saved[own.clone()]);
            }
            partition.last_spike[at.clone()].copy_from_slice(&state.last_spike[own.clone()]);
            for (i, saved) in state.arrivals.chunks_exact(n).enumerate() {
                let first = partition.arrivals.index(step + i as u64 / 2, i % 2) + segment.at;
                partition.arrivals.sums[first..first + own.len()].copy_from_slice(&saved[own.clone()]);
            }
        }
        ring.clear();
        for (sent, lanes) in &state.spikes {
            ring.write(*sent).spikes = lanes.iter().copied().filter(|i| range.contains(i)).collect();
        }
    }
    for of in &state.plasticity {
        let parts = sim.partitions.iter_mut().filter_map(|p| p.plastic[of.projection].as_mut());
        plasticity::restore(of, &mut parts.collect::<Vec<_>>());
    }
    sim.host.manual_kicks = state.manual_kicks;
    of_host.restore(&mut sim.host, step);
    Ok(())
}
