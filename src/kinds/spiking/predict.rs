//! How much memory a network will hold, before it is built.

use super::{
    Params, Precision, Source,
    cpu::{self, neuron::Neuron, ring::Ring},
    measure::Running,
    setup::Setup,
};
use crate::{data::generate::FLY_SIZE, sim::MemoryByOwner};

/// What memory depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Neurons.
    pub neurons: u64,
    /// Connections.
    pub connections: u64,
    /// Connections whose count does not fit beside the target.
    pub overflow: u64,
    /// Bytes of names, ids, places and categories.
    pub labels: u64,
}

impl Sizes {
    /// Of what was read or generated.
    pub fn of(setup: &Setup) -> Self {
        Self {
            neurons: setup.n().into(),
            connections: setup.wiring.len() as u64,
            overflow: setup.wiring.overflow.len() as u64,
            labels: setup.neurons.n_bytes(),
        }
    }

    /// As the parameters say; nothing is known of files before they are read.
    pub fn told(params: &Params) -> Option<Self> {
        /// A place in space.
        const PLACE: u64 = 12;
        /// A code of a category.
        const CODE: u64 = 2;
        /// A name; nearly all of the stand-in's are empty.
        const NAME: u64 = size_of::<String>() as u64;
        let network = &params.network;
        match network.source {
            Source::Files => None,
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

/// What [`cpu::CpuSim`] holds when it has started, by the owners of its `memory`. Lists that grow with activity (spikes
/// in flight, arrivals, the calendar) are empty then; they stay small beside the wiring.
pub fn cpu(params: &Params, sizes: &Sizes, threads: usize) -> MemoryByOwner {
    let n = sizes.neurons;
    let parts = (threads as u64).clamp(1, n.max(1));
    let neuron = match params.lif.precision {
        Precision::F64 => size_of::<Neuron<f64>>(),
        Precision::F32 => size_of::<Neuron<f32>>(),
    };
    vec![
        ("wiring", 4 * (n + 1) + 4 * sizes.connections + 8 * sizes.overflow + 4 * n * (parts - 1)),
        ("neurons", n * neuron as u64),
        ("arrivals and calendar", 4 * n),
        ("spikes in flight", parts * Ring::new(cpu::ring_len(&params.lif.derive::<f64>())).n_bytes()),
        ("measurements", n * size_of::<Running>() as u64),
        ("names and places", sizes.labels),
    ]
}

/// What [`CudaSim`](super::cuda::CudaSim) holds on the device; empty when it cannot be started there at all.
pub fn cuda(params: &Params, sizes: &Sizes) -> MemoryByOwner {
    let real = match params.lif.precision {
        Precision::F64 => 8,
        Precision::F32 => 4,
    };
    let delay = params.lif.derive::<f64>().delay;
    let told = super::cuda::Sizes::told(sizes.neurons, sizes.connections, sizes.overflow, delay, real);
    told.map_or_else(|_| vec![], |sizes| sizes.bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        kinds::spiking::Card,
        sim::{BuildContext, Device, DeviceKind, Kind as _, Progress},
    };
    use std::sync::Arc;

    /// The prediction and what is held, owner by owner; the larger ones within 20 %.
    fn check(params: &Params, threads: usize) {
        let (context, on) = (BuildContext::default(), DeviceKind::Cpu { threads });
        let told = Card::predict(params, None, on);
        let setup = Arc::new(Card::prepare(params, &context, &Progress::default()).unwrap());
        let counted = Card::predict(params, Some(&setup), on);
        let held = Card::start(params, &context, setup, &Device::Cpu { threads }).unwrap().memory();
        let sum = |bytes: &MemoryByOwner| bytes.iter().map(|(_, n)| n).sum::<u64>();
        let near = |a: u64, b: u64| (a as f64 - b as f64).abs() <= 0.2 * b as f64 + 4096.0;
        for predicted in [&told, &counted] {
            assert!(near(sum(predicted), sum(&held)), "{} for {}", sum(predicted), sum(&held));
            for ((owner, a), (real, b)) in predicted.iter().zip(&held) {
                assert_eq!(owner, real);
                assert!(near(*a, *b), "{owner}: {a} for {b}");
            }
        }
        assert_eq!(held.len(), told.len());
    }

    #[test]
    fn what_is_predicted_is_held() {
        let mut params = Params::default();
        params.network.source = Source::Balanced;
        (params.network.n_neurons, params.network.in_degree) = (3000, 90);
        check(&params, 1);
        check(&params, 3);
        params.lif.precision = Precision::F32;
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
        assert!(Card::predict(&params, None, DeviceKind::Cpu { threads: 1 }).is_empty());
    }
}
