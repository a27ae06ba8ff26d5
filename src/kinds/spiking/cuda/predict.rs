//! Predicted memory of a network on a GPU.

use super::{
    block_csr::BlockCsr,
    buffers::DeviceBuffers,
    launch_queue::LaunchQueue,
    sizes::{BufferSizes, PersistentMode},
};
use crate::{
    gpu::{Grid, Place},
    sim::{Buffers as _, MemoryReport},
};

/// Number of SMs of the device for which memory is predicted: an H100 or H200. Devices with fewer SMs need less memory, because
/// they run fewer blocks.
const PREDICTED_MULTIPROCESSORS: u32 = 132;

/// Returns the memory of a simulation at start. The connectivity by block is optional: it is built if half of the free memory
/// suffices for it.
pub fn predict(sizes: &BufferSizes) -> MemoryReport {
    let mut report = DeviceBuffers::predict(sizes);
    report += LaunchQueue::predict();
    let grid = sizes.persistent(PersistentMode::Auto, PREDICTED_MULTIPROCESSORS, BufferSizes::hot_state_bytes);
    if let Some(Grid::Cooperative { blocks, .. }) = grid.filter(|_| sizes.overflow == 0) {
        let mut add = |name, bytes| report.add_optional("connectivity by block", name, Place::Device, bytes);
        let [heads, tails, starts] = BlockCsr::expected_bytes(sizes.n.into(), sizes.connections, blocks.into());
        add("connectivity by block, heads", heads);
        add("connectivity by block, tails", tails);
        add("connectivity by block, starts", starts);
        add("mailboxes", 8 * sizes.mailbox_words(blocks) as u64);
    }
    report
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        kinds::spiking::{Params, Source, SpikingKind, cuda::Tuning},
        sim::{BuildContext, DeviceKind, Kind as _, Progress},
    };

    /// Tests that the predicted memory of the connectivity by block is what `upload_block_csr` allocates.
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
            let delay = params.lif.derive::<f64>().delay;
            let sizes = BufferSizes::new(&setup.connectivity, delay, 8, &Tuning::default()).expect("within the limits");
            let grid = sizes.persistent(PersistentMode::Auto, PREDICTED_MULTIPROCESSORS, BufferSizes::hot_state_bytes);
            let Some(Grid::Cooperative { blocks, .. }) = grid else {
                assert!(optional.is_empty() && delay > 32, "the neurons do not stay resident");
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
            assert_eq!(bytes.len(), asked.len());
            assert!(bytes.iter().zip(&asked).all(|(a, b)| (*a as f64 - *b as f64).abs() <= 0.2 * *b as f64 + 256.0));
        }
    }
}
