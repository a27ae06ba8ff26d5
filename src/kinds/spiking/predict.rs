//! Predicts the memory of a network before it is built.

use super::{
    cpu::{self, neuron_store::NeuronStore, partitioning::Arrivals, ring_buffer::RingBuffer},
    cuda::{BufferSizes, SpikeTiming, Tuning},
    general::{
        self, Plasticity,
        cpu::step::ARRAYS,
        plan::{self, Plan, ProjectionPlan},
        plasticity::laws::Rule,
    },
    measure::RunningRate,
    params::{NeuronModel, Params, Source, StatePrecision},
    setup::Setup,
};
use crate::{
    data::generate::FLY_SIZE,
    sim::{Buffers as _, DeviceKind, MemoryReport},
};

/// Sizes that determine the memory of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NetworkSize {
    /// Number of neurons.
    pub neurons: u64,
    /// Number of connections.
    pub connections: u64,
    /// Number of connections whose count does not fit into the packed word.
    pub overflow: u64,
    /// Memory of names, ids, positions and categories, bytes.
    pub labels: u64,
}

impl NetworkSize {
    /// Returns the sizes of a prepared network.
    pub fn of(setup: &Setup) -> Self {
        Self {
            neurons: setup.n().into(),
            connections: setup.connectivity.len() as u64,
            overflow: setup.connectivity.overflow.len() as u64,
            labels: setup.neurons.n_bytes(),
        }
    }

    /// Returns the sizes that follow from the parameters; `None` for a network from files.
    pub fn from_params(params: &Params) -> Option<Self> {
        /// Size of a position, bytes.
        const PLACE: u64 = 12;
        /// Size of a category code, bytes.
        const CODE: u64 = 2;
        /// Size of a name, bytes; nearly all are empty.
        const NAME: u64 = size_of::<String>() as u64;
        let network = &params.network;
        match network.source {
            Source::Files | Source::Rules => None,
            Source::FlyStandIn => {
                let (neurons, connections) = (u64::from(FLY_SIZE.0), u64::from(FLY_SIZE.1));
                Some(Self { neurons, connections, overflow: 0, labels: neurons * (PLACE + 6 * CODE + NAME) })
            }
            Source::Balanced => {
                let neurons = u64::from(network.n_neurons);
                let inputs = u64::from(network.in_degree).min(neurons.saturating_sub(1));
                let connections = neurons * inputs;
                Some(Self { neurons, connections, overflow: 0, labels: neurons * (PLACE + 2 * CODE) })
            }
        }
    }
}

/// Returns the memory of a simulation at start, on a GPU with these launch parameters; empty if it is unknown.
pub fn of(params: &Params, setup: Option<&Setup>, on: DeviceKind, tuning: &Tuning) -> MemoryReport {
    let sizes = setup.map(NetworkSize::of).or_else(|| NetworkSize::from_params(params));
    match (sizes, on) {
        _ if params.network.source == Source::Rules => rules(params, on),
        _ if params.network.model == NeuronModel::NoisyLeaky => MemoryReport::default(), // not predicted
        (Some(sizes), DeviceKind::Cpu { threads }) => cpu(params, &sizes, threads),
        (Some(sizes), DeviceKind::Cuda) => cuda(params, &sizes, tuning),
        (None, _) => MemoryReport::default(),
    }
}

/// Returns the memory of [`cpu::CpuSim`] at start, by owner as in `memory`. Lists that grow with activity (spikes in flight,
/// arrivals, the calendar) are empty at start, and stay small compared with the connectivity.
fn cpu(params: &Params, sizes: &NetworkSize, threads: usize) -> MemoryReport {
    let n = sizes.neurons;
    let parts = (threads as u64).clamp(1, n.max(1));
    let words = n + 1 + sizes.connections + 2 * sizes.overflow + n * (parts - 1);
    let mut report = MemoryReport::from([("connectivity", 4 * words)]);
    report += match params.lif.precision {
        StatePrecision::F64 => NeuronStore::<f64>::predict(&(n as usize)),
        StatePrecision::F32 => NeuronStore::<f32>::predict(&(n as usize)),
    };
    report += Arrivals::predict(&(n as usize));
    let ring = RingBuffer::new(cpu::ring_buffer_len(&params.lif.derive::<f64>()));
    report.host("spikes in flight", parts * ring.n_bytes());
    report.host("measurements", n * size_of::<RunningRate>() as u64);
    report.host("names and positions", sizes.labels);
    report
}

/// Returns the memory of a network from rules; empty if it cannot be built.
fn rules(params: &Params, on: DeviceKind) -> MemoryReport {
    let Ok(plan) = plan::plan(params) else { return MemoryReport::default() };
    let (n, stride) = (u64::from(plan.n), u64::from(plan.stride));
    let mut report = MemoryReport::default();
    match on {
        DeviceKind::Cpu { .. } => {
            report.host("connectivity", plan.connection_bytes());
            report.host("neurons", stride * (4 * ARRAYS as u64 + 8));
            report.host("arrivals and input", stride * 8 * u64::from(plan.slots));
        }
        DeviceKind::Cuda => {
            report += general::cuda::predict(params, &plan);
        }
    }
    report.host("measurements", n * size_of::<RunningRate>() as u64);
    report.host("names and positions", n * 4);
    let plasticity = if let DeviceKind::Cpu { threads } = on { plasticity(&plan, threads) } else { 0 };
    if plasticity > 0 {
        report.host("plasticity", plasticity);
    }
    report
}

/// Returns the memory of the plastic synapses on the CPU, bytes.
fn plasticity(plan: &Plan, threads: usize) -> u64 {
    let blocks = plan.stride / plan::BLOCK;
    let of = |p: &ProjectionPlan| {
        let Some(of) = &p.plasticity else { return 0 };
        let [n_from, n_to] = [p.from, p.to].map(|p| u64::from(plan.populations[p].n));
        let parts = (threads as u64).clamp(1, blocks.into()).min(n_to.div_ceil(plan::BLOCK.into()));
        let has_triplets = matches!(of.rule, Plasticity::Triplet(_));
        let synapses = p.synapses * 4 * (u64::from(of.rule.w_max().is_some()) + u64::from(of.interval > 0));
        let history = n_to * (8 + u64::from(of.depth) * if has_triplets { 12 } else { 8 });
        synapses + parts * n_from * 32 + if of.depth > 0 { history } else { 0 } + Rule::new(of, plan.dt_ms).n_bytes()
    };
    plan.projections.iter().map(of).sum()
}

/// Returns the temporary memory of the generator of a balanced network: the presynaptic neuron of every connection.
pub fn scratch(params: &Params) -> MemoryReport {
    let sizes = NetworkSize::from_params(params).filter(|_| params.network.source == Source::Balanced);
    sizes.map_or_else(MemoryReport::default, |sizes| [("generating the network", 4 * sizes.connections)].into())
}

/// Returns the memory of [`CudaSim`](super::cuda::CudaSim) at start, with stimuli of few sources. Empty if the network exceeds
/// the limits of the CUDA backend.
fn cuda(params: &Params, sizes: &NetworkSize, tuning: &Tuning) -> MemoryReport {
    let real = match params.lif.precision {
        StatePrecision::F64 => 8,
        StatePrecision::F32 => 4,
    };
    let timing = SpikeTiming::of(&params.lif.derive::<f64>());
    let NetworkSize { neurons, connections, overflow, .. } = *sizes;
    let buffers = BufferSizes::estimate(neurons, connections, overflow, timing, real, tuning);
    let Ok(buffers) = buffers else { return MemoryReport::default() };
    let mut report = super::cuda::predict(&buffers, timing.refractory, tuning.persistent);
    report.host("measurements", sizes.neurons * size_of::<RunningRate>() as u64);
    report.host("names and positions", sizes.labels);
    report
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        kinds::spiking::SpikingKind,
        sim::{BuildContext, Device, Kind as _, Progress, StartRequest},
    };
    use std::sync::Arc;

    /// Compares prediction and actual memory per owner, with a tolerance of 20 %.
    fn check(params: &Params, threads: usize) {
        let (context, on) = (BuildContext::default(), DeviceKind::Cpu { threads });
        let predicted = SpikingKind::predict(params, None, on);
        let setup = Arc::new(SpikingKind::prepare(params, &context, &Progress::default()).unwrap());
        let counted = SpikingKind::predict(params, Some(&setup), on);
        let held = SpikingKind::start(StartRequest::new(
            params,
            &context,
            setup,
            &Device::Cpu { threads },
            &Progress::default(),
        ))
        .unwrap()
        .memory();
        let sum = MemoryReport::total;
        let near = |a: u64, b: u64| (a as f64 - b as f64).abs() <= 0.2 * b as f64 + 4096.0;
        for predicted in [&predicted, &counted] {
            assert!(near(sum(predicted), sum(&held)), "{} for {}", sum(predicted), sum(&held));
            for ((owner, a), (real, b)) in predicted.by_owner().iter().zip(&held.by_owner()) {
                assert_eq!(owner, real);
                assert!(near(*a, *b), "{owner}: {a} for {b}");
            }
        }
        assert_eq!(held.by_owner().len(), predicted.by_owner().len());
    }

    #[test]
    fn what_is_predicted_is_held() {
        let mut params = Params::default();
        params.network.source = Source::Balanced;
        (params.network.n_neurons, params.network.in_degree) = (3000, 90);
        check(&params, 1);
        check(&params, 3);
        params.lif.precision = StatePrecision::F32;
        params.lif.t_delay = 10.0;
        check(&params, 2);
        params.network.in_degree = 5000;
        check(&params, 1);
    }

    #[test]
    fn the_stand_in_is_known_beforehand() {
        check(&Params::default(), 2);
    }

    #[test]
    fn files_are_not_known_before_they_are_read() {
        let mut params = Params::default();
        params.network.source = Source::Files;
        assert!(SpikingKind::predict(&params, None, DeviceKind::Cpu { threads: 1 }).is_empty());
    }
}
