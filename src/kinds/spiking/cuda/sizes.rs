//! Buffer sizes, computed before allocation.

use super::{
    kernels::{Model, Window},
    rings::SpikeBounds,
};
use crate::{data::Csr, gpu::Grid, kinds::spiking::constants::Constants, sim::SimError};

/// Maximum number of windows per graph or launch.
pub const MAX_GRAPH_WINDOWS: u32 = 256;
/// Maximum number of steps per window: one bit each in a word.
pub const MAX_WINDOW_STEPS: u32 = 32;
/// Number of copies of the counters of synaptic events.
pub const COPIES: usize = 8;
/// Number of counters per window: [`COPIES`] times one per step, then the number of evaluated neurons and others.
pub const COUNTERS: usize = (COPIES + 1) * MAX_WINDOW_STEPS as usize;
/// Offset of the spike hash in the counters, two words.
pub const HASH: usize = COPIES * MAX_WINDOW_STEPS as usize + 2;
/// Offset of the first non-finite neuron in the counters: the complement of its key, 0 for none.
pub const NON_FINITE: usize = COPIES * MAX_WINDOW_STEPS as usize + 4;
/// Number of tags by which persistent blocks distinguish windows; tag 0 means none.
pub const TAGS: u32 = 1 << 16;
/// Number of neurons per block of `step_lif`.
pub const NEURONS_PER_BLOCK: u32 = 512;
/// Maximum number of connections per chunk.
pub const CHUNK: u32 = 128;
/// Number of bits of the neuron in the key of a spike.
pub const LANE_BITS: u32 = 26;
/// Maximum number of spikes in a window that the device sorts; the host sorts larger windows.
pub const SORTED_BY_DEVICE: usize = 8192;
/// Maximum number of neurons per block of `step_lif_persistent`.
pub const MAX_NEURONS_PER_BLOCK: u32 = 1088;
/// Capacity of the list of pending quads.
pub const MAX_PENDING_QUADS: u32 = 2560;
/// Maximum number of spikes of a window in a block's shared memory.
pub const MAX_LOCAL_SPIKES: u32 = 1024;
/// Maximum number of neurons that persistent blocks trace.
pub const MAX_TRACED: u32 = 128;
/// Number of words that a persistent block records per traced neuron and window.
pub const TRACE_WORDS: usize = MAX_WINDOW_STEPS as usize + 8;
/// Maximum number of blocks of `step_lif_persistent`.
pub const MAX_BLOCKS: u32 = 256;
/// Maximum number of blocks of `step_lif_reached`.
pub const MAX_REACHED_BLOCKS: u32 = 16;
/// Minimum number of neurons per block of `step_lif_persistent` with several blocks: with fewer, the exchange of spikes costs
/// more than it gains.
const MIN_NEURONS_PER_BLOCK: u32 = 256;
/// Number of steps of full activity that the full spike ring holds: two launches of 64 windows in which a quarter of all neurons
/// fire.
const READ_STEPS: u32 = 32;
/// Minimum number of entries in a full ring.
const MIN_FULL_RING: u32 = 1 << 12;
/// Minimum number of entries in a ring that is not full.
const MIN_RING: u32 = 1 << 14;
/// Part of the entries that a window may add for which rings have room besides, to hold spikes in transit.
const RING_MARGIN: u64 = 64;
/// Maximum number of steps per window of simulations that share the device: shorter than the usual delay, because the table of
/// arrivals, which grows with the window, is half of their memory.
pub const SHARED_WINDOW: u32 = 16;
/// Maximum delay in steps: every step may be a separate segment.
const LONGEST_DELAY: u32 = 1 << 16;

/// Launch parameters. They affect only speed, never results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tuning {
    /// Number of windows per graph, 1 to [`MAX_GRAPH_WINDOWS`]. Short graphs leave little to read after the last one.
    pub graph: u32,
    /// Number of warps of `deliver_spikes` per SM: each has one or two chunks in a busy network.
    pub deliver_warps: u32,
    /// Minimum number of chunks in a window for evaluating all warps. Tracking the reached warps costs a store per event,
    /// evaluating all warps a fixed time.
    pub dense_chunks: u32,
    /// Maximum number of entries in a ring, above the number of neurons.
    pub ring: u32,
    /// Maximum number of steps per window, 1 to [`MAX_WINDOW_STEPS`]. Persistent kernels need windows of one delay.
    pub window: u32,
    /// Whether persistent kernels are used.
    pub persistent: PersistentMode,
}

impl Tuning {
    /// Returns the launch parameters with which `blocks` blocks step reached neurons, in windows of at most `window` steps.
    pub fn reached(blocks: u32, window: u32) -> Self {
        Self { persistent: PersistentMode::Reached(blocks), window, ..Self::default() }
    }
}

/// Whether neurons stay in shared memory for many windows per launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PersistentMode {
    /// Persistent kernels are not used: two launches per window.
    Off,
    /// Persistent kernels are used if all neurons fit into shared memory.
    Auto,
    /// The given number of blocks steps only neurons that are reached: for simulations that share the device.
    Reached(u32),
    /// Persistent kernels are used with the given number of blocks, if the neurons fit into shared memory.
    Blocks(u32),
}

impl Default for Tuning {
    fn default() -> Self {
        Self {
            graph: 16,
            deliver_warps: 40,
            dense_chunks: 500,
            ring: 1 << 26,
            window: MAX_WINDOW_STEPS,
            persistent: PersistentMode::Auto,
        }
    }
}

/// Steps after a spike, both at least 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpikeTiming {
    /// Number of steps from a spike to its effect.
    pub delay: u32,
    /// Number of steps from a spike of a neuron to its next possible one.
    pub refractory: u32,
}

impl SpikeTiming {
    /// Returns the timing of a neuron model.
    pub const fn of<T>(constants: &Constants<T>) -> Self {
        Self { delay: constants.delay, refractory: constants.refractory }
    }
}

/// Lengths of the buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferSizes {
    /// Number of neurons.
    pub n: u32,
    /// Number of connections.
    pub connections: u64,
    /// Number of entries in the overflow list.
    pub overflow: u64,
    /// Number of chunks in all rows.
    pub row_chunks: u32,
    /// Number of steps per window.
    pub window: u32,
    /// Number of steps from a spike to its effect.
    pub delay: u32,
    /// Number of entries in the ring of spikes at the start.
    pub spike_ring: u32,
    /// Number of entries in the ring of chunks at the start.
    pub chunk_ring: u32,
    /// Maximum number of entries in the ring of spikes.
    pub full_spike_ring: u32,
    /// Maximum number of entries in the ring of chunks.
    pub full_chunk_ring: u32,
    /// Number of entries in the ring of segments.
    pub segment_ring: u32,
    /// Size of a state value, bytes.
    pub real_bytes: u64,
    /// Number of warps of `deliver_spikes` per SM.
    pub deliver_warps: u32,
}

impl BufferSizes {
    /// Computes the sizes for this connectivity and timing. Fails if the network exceeds a limit of the backend.
    pub fn new(connectivity: &Csr, timing: SpikeTiming, real_bytes: u64, tuning: &Tuning) -> Result<Self, SimError> {
        let row_chunks: u64 = connectivity.rows.windows(2).map(|r| u64::from((r[1] - r[0]).div_ceil(CHUNK))).sum();
        let counts = (connectivity.len() as u64, connectivity.overflow.len() as u64, row_chunks);
        Self::of(connectivity.n(), counts, timing, real_bytes, tuning)
    }

    /// Computes the sizes for a network with these numbers of neurons and connections. Fails if the network exceeds a limit of
    /// the backend.
    pub fn estimate(
        n: u64,
        connections: u64,
        overflow: u64,
        timing: SpikeTiming,
        real_bytes: u64,
        tuning: &Tuning,
    ) -> Result<Self, SimError> {
        let counts = (connections, overflow, connections / u64::from(CHUNK) + n);
        Self::of(n.min(u32::MAX.into()) as u32, counts, timing, real_bytes, tuning)
    }

    fn of(
        n: u32,
        (connections, overflow, row_chunks): (u64, u64, u64),
        SpikeTiming { delay, refractory }: SpikeTiming,
        real_bytes: u64,
        tuning: &Tuning,
    ) -> Result<Self, SimError> {
        if n >= 1 << LANE_BITS {
            return Err(SimError::NoDevice(format!(
                "{n} neurons are more than the {} the CUDA backend counts to; run on the CPU",
                (1 << LANE_BITS) - 1
            )));
        }
        if delay > LONGEST_DELAY {
            return Err(SimError::NoDevice(format!(
                "a delay of {delay} steps is longer than the {LONGEST_DELAY} of the CUDA backend; take a longer time step or run on the CPU"
            )));
        }
        let window = delay.min(tuning.window.clamp(1, MAX_WINDOW_STEPS));
        // Space for a window in which all neurons fire in every step, and for the spikes that wait to be read: another such
        // window, or several short ones.
        let waits = u64::from(n) * u64::from(window + window.max(READ_STEPS));
        // Space for the chunks of a window in which all neurons fire, and for those of a whole delay.
        let full = |entries: u64| entries.min(tuning.ring.into()).next_power_of_two().max(MIN_FULL_RING.into()) as u32;
        let mut sizes = Self {
            n,
            connections,
            overflow,
            row_chunks: row_chunks as u32,
            window,
            delay,
            spike_ring: 0,
            chunk_ring: 0,
            full_spike_ring: full(waits),
            full_chunk_ring: full(row_chunks * u64::from(delay + window)),
            segment_ring: (delay + 4 * MAX_GRAPH_WINDOWS).next_power_of_two(),
            real_bytes,
            deliver_warps: tuning.deliver_warps,
        };
        [sizes.spike_ring, sizes.chunk_ring] = sizes.rings_for(SpikeBounds::new(refractory), false);
        Ok(sizes)
    }

    /// Returns the numbers of entries in the rings of spikes and of chunks with room for a whole window of these bounds; for two
    /// windows of chunks if persistent kernels are used. Neurons that may fire in every step get full rings.
    pub fn rings_for(&self, bounds: SpikeBounds, is_persistent: bool) -> [u32; 2] {
        if bounds.refractory <= 1 {
            return [self.full_spike_ring, self.full_chunk_ring];
        }
        let with_margin = |entries: u64| entries.saturating_add(entries / RING_MARGIN);
        let len = |entries: u64, full: u32| {
            let entries = entries.min(full.into()) as u32;
            entries.max(MIN_RING).next_power_of_two().min(full)
        };
        let spikes = with_margin(bounds.spikes(self.n, self.window));
        let mut chunks = with_margin(bounds.chunks(self.row_chunks, self.window));
        if is_persistent {
            chunks = chunks.max(bounds.chunks(self.row_chunks, 2 * self.window));
        }
        [len(spikes, self.full_spike_ring), len(chunks, self.full_chunk_ring)]
    }

    /// Returns the number of warps of neurons.
    pub const fn warps(&self) -> u32 {
        self.n.div_ceil(32)
    }

    /// Returns the number of neurons, rounded up to whole blocks of `step_lif`: the length of every per-neuron array.
    pub const fn stride(&self) -> u32 {
        self.n.next_multiple_of(NEURONS_PER_BLOCK)
    }

    /// Returns the number of elements in a per-neuron array.
    pub const fn lanes(&self) -> usize {
        self.stride() as usize
    }

    /// Returns the number of 32-bit words per state value.
    pub const fn real_words(&self) -> usize {
        (self.real_bytes / 4) as usize
    }

    /// Returns the number of elements in the table of arrivals.
    pub const fn arrivals(&self) -> usize {
        // Batched loads may read beyond the end of a window.
        self.window as usize * self.stride() as usize + MAX_WINDOW_STEPS as usize * 32
    }

    /// Returns the grid of a persistent kernel on a device with `multiprocessors` SMs; `None` if the neurons do not fit.
    /// `shared_bytes` returns the dynamic shared memory of a block, given its number of neurons.
    pub fn persistent(
        &self,
        persistent: PersistentMode,
        multiprocessors: u32,
        shared_bytes: impl Fn(&Self, u32) -> u32,
    ) -> Option<Grid> {
        let groups = self.stride() / 32;
        let blocks = match persistent {
            PersistentMode::Off | PersistentMode::Reached(_) => return None,
            PersistentMode::Auto if self.stride() <= MAX_NEURONS_PER_BLOCK => 1,
            PersistentMode::Auto => multiprocessors.min(self.stride() / MIN_NEURONS_PER_BLOCK).min(MAX_BLOCKS),
            PersistentMode::Blocks(blocks) => blocks.clamp(1, groups.min(MAX_BLOCKS)),
        };
        let span = groups.div_ceil(blocks) * 32;
        // Spikes in transit at the end of a launch (chunks of two windows) must fit.
        let has_room = u64::from(self.full_chunk_ring) >= 2 * u64::from(self.window) * u64::from(self.row_chunks);
        let fits = span <= MAX_NEURONS_PER_BLOCK && self.delay == self.window && has_room;
        // Each thread handles two neurons.
        let block = (span / 2).next_multiple_of(32).max(128);
        fits.then(|| Grid::Cooperative { blocks, block, shared_bytes: shared_bytes(self, span) })
    }

    /// Returns the shared memory of a block of `step_lif_persistent` with `span` neurons: `HotState` and the arrivals, bytes.
    pub const fn hot_state_bytes(&self, span: u32) -> u32 {
        ensemble_bytes(self.real_bytes as u32) + span * self.window * 4
    }

    /// Returns the number of words in the mailboxes of `blocks` blocks: two mailboxes each, with a count and a key per possible
    /// spike.
    pub const fn mailbox_words(&self, blocks: u32) -> usize {
        let span = (self.stride() / 32).div_ceil(blocks) * 32;
        2 * blocks as usize * (span as usize * self.window as usize + 16)
    }

    /// Returns the memory of full rings, bytes.
    pub const fn full_ring_bytes(&self) -> u64 {
        self.full_spike_ring as u64 * 4 + self.full_chunk_ring as u64 * 8 + self.segment_ring as u64 * 24
    }
}

/// Returns the bytes of `HotState` of `hot_state.cuh` without the arrivals: exchange state; propagators of 128 steps; per
/// neuron its state, drawn kicks, a rate, five words, an order and flags; chances, counts, bounds, the kick source.
const fn ensemble_bytes(real: u32) -> u32 {
    let words = 8 + 2 * MAX_BLOCKS + MAX_BLOCKS / 32 + 4 + 1 + MAX_TRACED;
    let turns = MAX_PENDING_QUADS * 8
        + MAX_LOCAL_SPIKES * 2
        + (words * 4).next_multiple_of(8)
        + (size_of::<Model>() + 2 * size_of::<Window>()) as u32;
    let before_states = (turns + 128 * 4 * real).next_multiple_of(2 * real);
    let neurons = MAX_NEURONS_PER_BLOCK * (2 * real + 8 + 8 + 5 * 4 + 2 + 1);
    let bounds = ((MAX_WINDOW_STEPS + 1 + 2 * MAX_NEURONS_PER_BLOCK / 32) * 4).next_multiple_of(8);
    let drive = 2 * 8 + 2 * 4 + 2 * 4;
    (before_states + neurons + 64 * 8 + bounds + drive).next_multiple_of(2 * real)
}

/// Formats a size, for example as `64.0 MB`.
pub fn bytes(n: u64) -> String {
    match n {
        0..1_000_000 => format!("{:.1} kB", n as f64 * 1e-3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", n as f64 * 1e-6),
        _ => format!("{:.2} GB", n as f64 * 1e-9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connectivity(rows: Vec<u32>) -> Csr {
        let len = *rows.last().expect("rows") as usize;
        Csr { rows, words: vec![0; len], target_bits: 8, overflow: vec![] }
    }

    /// Tests that the kernels' state has the sizes computed on the host. The constants are exported to the kernels' headers.
    #[test]
    fn kernels_have_the_same_sizes() {
        let source = include_str!("../../../../kernels/spiking/hot_state.cuh");
        for (precision, bytes) in [("double", 8), ("float", 4)] {
            let line = format!("sizeof(HotState<{precision}>) == {}", ensemble_bytes(bytes));
            assert!(source.contains(&line), "hot_state.cuh does not say `{line}`");
        }
        assert_eq!(COUNTERS, (COPIES + 1) * MAX_WINDOW_STEPS as usize);
    }

    #[test]
    fn neurons_reside_where_they_find_room() {
        let sizes = |n: u64, delay| {
            let timing = SpikeTiming { delay, refractory: 22 };
            BufferSizes::estimate(n, 100 * n, 0, timing, 8, &Tuning::default()).expect("it fits")
        };
        let grid = |n, delay, persistent| sizes(n, delay).persistent(persistent, 132, BufferSizes::hot_state_bytes);
        let meeting = |blocks, block: u32, span: u32| {
            Some(Grid::Cooperative { blocks, block, shared_bytes: ensemble_bytes(8) + span * 18 * 4 })
        };
        assert_eq!(grid(138_639, 18, PersistentMode::Auto), meeting(132, 544, 1056));
        assert_eq!(grid(1_000, 18, PersistentMode::Auto), meeting(1, 512, 1024));
        assert_eq!(grid(2_000, 18, PersistentMode::Auto), meeting(8, 128, 256));
        assert_eq!(grid(2_000, 18, PersistentMode::Blocks(3)), meeting(3, 352, 704));
        assert_eq!(grid(150_000, 18, PersistentMode::Auto), None);
        assert_eq!(grid(1_000, 33, PersistentMode::Auto), None);
        assert_eq!(grid(1_000, 18, PersistentMode::Off), None);
    }

    #[test]
    fn rings_hold_the_worst_window() {
        let rows = vec![0, 0, 1, 129, 258, 1000];
        let sizes = |refractory| {
            let timing = SpikeTiming { delay: 18, refractory };
            BufferSizes::new(&connectivity(rows.clone()), timing, 8, &Tuning::default()).expect("it fits")
        };
        let every_step = sizes(1);
        assert_eq!((every_step.n, every_step.row_chunks, every_step.window), (5, 1 + 1 + 2 + 6, 18));
        assert!(
            every_step.spike_ring >= 2 * 5 * 18
                && every_step.chunk_ring >= 10 * 36
                && every_step.segment_ring >= 18 + 4 * MAX_GRAPH_WINDOWS
        );
        let full = [every_step.full_spike_ring, every_step.full_chunk_ring];
        assert_eq!([every_step.spike_ring, every_step.chunk_ring], full);
        assert!(
            [sizes(22).spike_ring, sizes(22).chunk_ring, every_step.segment_ring].iter().all(|r| r.is_power_of_two())
        );
        let large = BufferSizes {
            n: 100_000,
            row_chunks: 130_000,
            full_spike_ring: 1 << 23,
            full_chunk_ring: 1 << 23,
            ..every_step
        };
        let bounds = SpikeBounds::new(22);
        assert_eq!(large.rings_for(bounds, false), [1 << 17, 1 << 18]);
        assert_eq!(large.rings_for(bounds, true), [1 << 17, 1 << 18]);
        assert_eq!(large.rings_for(SpikeBounds { refractory: 9, ..bounds }, true), [1 << 18, 1 << 19]);
        assert_eq!(
            large.rings_for(SpikeBounds { n_driven: 5000, driven_chunks: 6000, ..bounds }, false),
            [1 << 18, 1 << 18]
        );
        assert_eq!(large.rings_for(SpikeBounds::new(1), false), [1 << 23, 1 << 23]);
    }

    #[test]
    fn delays_beyond_the_longest_are_refused() {
        let timing = SpikeTiming { delay: 1 << 17, refractory: 22 };
        let refused = BufferSizes::new(&connectivity(vec![0, 1]), timing, 8, &Tuning::default());
        assert!(matches!(refused, Err(SimError::NoDevice(_))));
    }
}
