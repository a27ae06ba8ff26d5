//! Predicted memory of a network on a GPU.

use super::{
    block_csr::BlockCsr,
    buffers::DeviceBuffers,
    kernels::Chunk,
    launch_queue::LaunchQueue,
    network::NetworkBuffers,
    rings::SpikeBounds,
    sizes::{BufferSizes, PersistentMode},
};
use crate::{
    gpu::{Grid, Place},
    sim::{Buffers as _, MemoryReport},
};

/// Number of SMs of the device for which memory is predicted: an H100 or H200. Devices with fewer SMs need less memory, because
/// they run fewer blocks.
const PREDICTED_MULTIPROCESSORS: u32 = 132;

/// Returns the memory of a simulation at start, of neurons that fire at most once in `refractory` steps. The connections are shared.
/// The connectivity by block is optional: it is built if half of the free memory suffices for it.
pub fn predict(sizes: &BufferSizes, refractory: u32, mode: PersistentMode) -> MemoryReport {
    let mut report = NetworkBuffers::predict(sizes).shared();
    report += DeviceBuffers::predict(sizes);
    report += LaunchQueue::predict();
    let grid = sizes.persistent(mode, PREDICTED_MULTIPROCESSORS, BufferSizes::hot_state_bytes);
    if let Some(Grid::Cooperative { blocks, .. }) = grid.filter(|_| sizes.overflow == 0) {
        let mut shared = MemoryReport::default();
        let mut add = |name, bytes| shared.add_optional("connectivity by block", name, Place::Device, bytes);
        let [heads, tails, starts] = BlockCsr::expected_bytes(sizes.n.into(), sizes.connections, blocks.into());
        add("connectivity by block, heads", heads);
        add("connectivity by block, tails", tails);
        add("connectivity by block, starts", starts);
        report += shared.shared();
        let mut add = |name, bytes| report.add_optional("spikes in launch", name, Place::Device, bytes);
        add("mailboxes", 8 * sizes.mailbox_words(blocks) as u64);
        let [_, chunks] = sizes.rings_for(SpikeBounds::new(refractory), true);
        add("pending chunks", u64::from(chunks - sizes.chunk_ring) * size_of::<Chunk>() as u64);
    }
    report
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        data::generate::FLY_SIZE,
        kinds::spiking::{
            Params, Source, SpikingKind,
            cuda::{SpikeTiming, Tuning},
        },
        sim::{BuildContext, DeviceKind, Kind as _, Progress},
    };

    /// Tests that the predicted memory of persistent kernels is what they allocate.
    #[test]
    fn the_connectivity_by_block_is_predicted() {
        for (source, n, in_degree, delay_ms) in [
            (Source::Balanced, 3000, 90, 1.8),
            (Source::Balanced, 1000, 500, 1.8),
            (Source::FlyStandIn, 0, 0, 1.8),
            (Source::Balanced, 1000, 20, 30.0),
        ] {
            let mut params = Params::default();
            params.network.source = source;
            params.lif.t_delay = delay_ms;
            if source == Source::Balanced {
                (params.network.n_neurons, params.network.in_degree) = (n, in_degree);
            }
            let setup = SpikingKind::prepare(&params, &BuildContext::default(), &Progress::default()).expect("built");
            let predicted = SpikingKind::predict(&params, Some(&setup), DeviceKind::Cuda);
            let optional: Vec<_> = predicted.iter().filter(|held| held.is_optional).copied().collect();
            let timing = SpikeTiming::of(&params.lif.derive::<f64>());
            let sizes =
                BufferSizes::new(&setup.connectivity, timing, 8, &Tuning::default()).expect("within the limits");
            let grid = sizes.persistent(PersistentMode::Auto, PREDICTED_MULTIPROCESSORS, BufferSizes::hot_state_bytes);
            let Some(Grid::Cooperative { blocks, .. }) = grid else {
                assert!(optional.is_empty() && timing.delay > 32, "the neurons do not stay resident");
                continue;
            };
            let built = BlockCsr::new(&setup.connectivity, blocks).expect("all counts fit");
            let asked = [
                4 * built.heads.len() as u64,
                4 * built.tails.len() as u64,
                4 * built.starts.len() as u64,
                8 * sizes.mailbox_words(blocks) as u64,
            ];
            let bytes: Vec<u64> = optional.iter().map(|held| held.bytes).collect();
            assert_eq!(bytes.len(), asked.len() + 1, "the ring of chunks follows");
            assert!(bytes.iter().zip(&asked).all(|(a, b)| (*a as f64 - *b as f64).abs() <= 0.2 * *b as f64 + 256.0));
        }
    }

    /// Tests the memory of a trial of the synthetic fly beside the connections, which the trials share.
    #[test]
    fn a_trial_of_the_fly_needs_little_memory() {
        let params = Params::default();
        assert_eq!(params.network.source, Source::FlyStandIn);
        let bytes = |n| SpikingKind::predict_trials(&params, None, DeviceKind::Cuda, n).on(Place::Device);
        let trial = bytes(3) - bytes(2);
        assert!(trial <= 20_000_000, "{trial} bytes per trial");
        assert_eq!(bytes(30), bytes(2) + 28 * trial);
        assert!(bytes(2) > 2 * trial + 4 * u64::from(FLY_SIZE.1), "the connections are counted once");
    }
}
