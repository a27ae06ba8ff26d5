//! Declarations shared by Rust and the kernels.
//!
//! State values are passed as 32-bit words, so that one declaration serves both precisions.

use super::{
    block_csr::MEMBER_BITS,
    sizes::{
        CHUNK, COPIES, COUNTERS, HASH, LANE_BITS, MAX_BLOCKS, MAX_LOCAL_SPIKES, MAX_NEURONS_PER_BLOCK,
        MAX_PENDING_QUADS, MAX_TRACED, MAX_WINDOW_STEPS, NEURONS_PER_BLOCK, NON_FINITE, SORTED_BY_DEVICE, TRACE_WORDS,
    },
};
use crate::{
    device_constants, device_struct,
    gpu::{
        GpuError, Grid,
        kernel::{In, InOut, Size},
        layout::Constant,
    },
    kernels,
    kinds::spiking::{
        constants::{LifConstants, TABLE},
        saved_state::mark,
    },
    num::trains::TRAIN_STEPS,
};

device_struct! {
    /// Layout of ring buffers, tables and connection words; only the rings change, between launches.
    pub struct RingLayout {
        /// Bits of the target in a packed connection
        target_bits: u32,
        /// Steps of a whole window: rows of the arrivals table
        window: u32,
        /// Ring size of spikes less one; sizes are powers of two
        spike_mask: u32,
        /// Ring size of chunks less one
        chunk_mask: u32,
        /// Ring size of segments less one
        segment_mask: u32,
        /// Chunks of a window from which on all warps are evaluated
        dense_chunks: u32,
    }
}

device_struct! {
    /// Model constants and sizes; rewritten between steps when a parameter changes.
    pub struct Model {
        /// Seed of the project: part of the address of every draw
        seed: u64,
        /// Constants of the LIF neuron
        lif: LifConstants,
        /// Steps from a spike to the next integration
        refractory: u32,
        /// Neurons of the network
        n: u32,
        /// Warps of neurons
        n_warps: u32,
        /// Neurons, rounded up to whole blocks
        stride: u32,
        /// Entries of the overflow list
        n_overflow: u32,
        /// Active kick sources
        n_sources: u32,
        /// Whether weights are changed
        has_gains: u32,
        /// Whether evaluated neurons are counted
        counts_active: u32,
        /// Layout of rings and tables
        layout: RingLayout,
        /// Threshold in single precision, for the threshold bound
        theta_f: f32,
        /// Increment of a running rate per spike, Hz
        gain: f32,
        /// Entries of the coarse decay table
        n_coarse: u32,
        /// Whether an input is large enough to make a state non-finite
        may_overflow: u32,
    }
}

device_struct! {
    /// One window of steps. Planned by the host, which controls the clock, not the activity.
    pub struct Window {
        /// First step of the window
        step: u64,
        /// Number of steps, at most 32; 0 is an unused entry of a graph
        steps: u32,
        /// Step, modulo 2^32, whose spikes arrive in the first step
        sent: u32,
        /// Index of the segment of the previous window
        previous: u32,
        /// First segment with spikes that arrive in it
        first: u32,
        /// Last such segment; first - 1 for none
        last: u32,
        /// Ring offset of the first spike the host has not read
        unread: u32,
        /// Spikes in the ring with which the window still fits; negative: never
        most_spikes: i32,
        /// Chunks in the ring with which the window still fits; negative: never
        most_chunks: i32,
        /// Segment of its spikes
        segment: u32,
        /// First listed kick
        kick_from: u32,
        /// End of its listed kicks (exclusive)
        kick_to: u32,
        /// Index of its counters
        slot: u32,
    }
}

device_struct! {
    /// The spikes of one window: their range in the ring buffers.
    pub struct Segment {
        /// Spikes fired in the window
        n_spikes: u32,
        /// Chunks of their rows; beside n_spikes, so that one atomic moves both
        n_chunks: u32,
        /// Offset in the ring of spikes
        spike_start: u32,
        /// Offset in the ring of chunks
        chunk_start: u32,
        /// The window was not run: the rings were full
        halted: u32,
        /// All warps are evaluated
        dense: u32,
    }
}

device_struct! {
    /// At most 128 synapses of a neuron that fired.
    pub struct Chunk {
        /// Index of the first connection of the chunk
        word: u32,
        /// Connections less one in the lower bits; step of the spike in the upper
        meta: u32,
    }
}

device_struct! {
    /// A running rate, updated at spikes only.
    pub struct DeviceRate {
        /// Right after the last spike, Hz
        hz: f32,
        /// The step of the last spike
        step: u32,
    }
}

device_struct! {
    /// A source of kicks.
    pub struct KickSource {
        /// Increase of u per event, mV
        weight: f64,
        /// Purpose and stream of the draws of the source
        address: u32,
        /// Whether events are drawn; 0 for listed kicks
        draws: u32,
    }
}

device_struct! {
    /// A listed kick; sorted by step, neuron, source.
    pub struct Kick {
        /// Step at which the kick is applied
        step: u64,
        /// Increase of u, mV
        weight: f64,
        /// Index of the target neuron
        lane: u32,
        /// Index of the source
        source: u32,
    }
}

device_struct! {
    /// A count that does not fit into its word.
    pub struct Overflow {
        /// Index of the connection
        word: u32,
        /// The exact count
        count: i32,
    }
}

device_struct! {
    /// A change of outgoing weights.
    pub struct WeightGain {
        /// Multiplies the count
        factor: f64,
        /// Sign given to the count first; 0 keeps its own
        sign: i32,
        /// Whether spikes are not delivered
        silent: u32,
        /// Whether counts change
        changes: u32,
        /// Padding to eight bytes
        pad: u32,
    }
}

/// Constants that the kernels of this kind share with the host.
pub(in crate::kinds::spiking) const SHARED: &[Constant] = device_constants![
    TRAIN_STEPS,
    mark::CLOSED,
    mark::DRIVEN,
    mark::CURRENT,
    TABLE,
    MAX_WINDOW_STEPS,
    COPIES,
    COUNTERS,
    HASH,
    NON_FINITE,
    LANE_BITS,
    CHUNK,
    NEURONS_PER_BLOCK,
    MAX_NEURONS_PER_BLOCK,
    MAX_BLOCKS,
    MAX_PENDING_QUADS,
    MAX_LOCAL_SPIKES,
    MAX_TRACED,
    TRACE_WORDS,
    MEMBER_BITS,
    SORTED_BY_DEVICE
];

kernels! {
    /// The kernels of a window, in launch order, and those between windows.
    pub struct Kernels in "spiking/step.cu" for "f64" ["-DREAL=double"], also "f32" ["-DREAL=float"] as SINGLE
    using [RingLayout, LifConstants, Model, Window, Segment, Chunk, DeviceRate, KickSource, Kick, Overflow, WeightGain] with [SHARED] {
        /// Adds the spikes that arrive in the window to their targets, as integers: one warp per chunk of at most 128
        /// synapses. Items: synaptic events.
        #[block(256)]
        fn deliver_spikes as DeliverSpikes(
            layout: Size<RingLayout>, windows: In<Window>, index: Size<u32>, segments: InOut<Segment>, live: InOut<Segment>,
            chunks: In<Chunk>, words: In<u32>, arrivals: InOut<i32>, touched: InOut<u8>
        );

        /// Delivers spikes as `deliver_spikes` does, with Poisson stimuli or changed weights: extra blocks draw the
        /// kicks. Items: synaptic events.
        #[block(256)]
        fn deliver_spikes_driven as DeliverSpikesDriven(
            layout: Size<RingLayout>, n: Size<u32>, is_exact: Size<u32>, model: In<Model>, windows: In<Window>,
            index: Size<u32>, segments: InOut<Segment>, live: InOut<Segment>, chunks: In<Chunk>, rows: In<u32>,
            words: In<u32>, overflow: In<Overflow>, gain_of: In<u16>, gains: In<WeightGain>, sources: In<KickSource>,
            chances: In<u64>, masks: In<u32>, trains: In<u32>, kick_bits: InOut<u32>, arrivals: InOut<i32>,
            touched: InOut<u8>
        );

        /// Marks the listed kicks of the window per neuron and step.
        #[block(256)]
        fn mark_kicks as MarkKicks(
            model: In<Model>, windows: In<Window>, index: Size<u32>, live: In<Segment>, kicks: In<Kick>,
            kick_bits: InOut<u32>, touched: InOut<u8>
        );

        /// Samples v and g of traced neurons over the window, one warp per neuron, ahead of `step_lif`.
        #[block(64)]
        fn sample_traces as SampleTraces(
            model: In<Model>, propagators: In<u32>, windows: In<Window>, index: Size<u32>, live: In<Segment>,
            sources: In<KickSource>, chances: In<u64>, masks: In<u32>, trains: In<u32>, kicks: In<Kick>, marks: In<u32>, currents: In<u32>,
            states: In<u32>, anchors: In<u32>, arrivals: In<i32>, kick_bits: In<u32>, n_traced: Size<u32>,
            traced: In<u32>, samples: InOut<f32>
        );

        /// Samples v and g of traced neurons over all windows of a persistent launch, from the inputs that it recorded;
        /// one warp per window and neuron.
        #[block(64)]
        fn sample_recorded_traces as SampleRecordedTraces(
            model: In<Model>, propagators: In<u32>, windows: In<Window>, n_windows: Size<u32>, segments: In<Segment>,
            sources: In<KickSource>, currents: In<u32>, n_traced: Size<u32>, traced: In<u32>, trace_inputs: In<u32>,
            samples: InOut<f32>
        );

        /// Steps all neurons through the window: input, spikes, resets. Blocks of 512 neurons without input and
        /// without possible crossings return at once; eight more blocks count synaptic events. Items: spikes.
        #[block(256)]
        fn step_lif as StepLif(
            model: In<Model>, propagators: In<u32>, windows: In<Window>, index: Size<u32>, live: InOut<Segment>,
            segments: In<Segment>, rows: In<u32>, sources: In<KickSource>, chances: In<u64>, masks: In<u32>, trains: In<u32>, kicks: In<Kick>, marks: In<u32>,
            currents: In<u32>, gain_of: In<u16>, gains: In<WeightGain>, states: InOut<u32>, anchors: InOut<u32>,
            checks: InOut<u32>, wakes: InOut<u32>, touched: InOut<u8>, arrivals: InOut<i32>, kick_bits: InOut<u32>, spikes: InOut<u32>,
            chunks: InOut<Chunk>, counters: InOut<u32>, rates: InOut<DeviceRate>, fade: In<f32>
        );

        /// Many windows per launch: neurons in shared memory, blocks exchange their spikes once per window and add
        /// arrivals in shared memory. Items: synaptic events.
        #[block(544)]
        fn step_lif_persistent as StepLifPersistent(
            model: In<Model>, propagators: In<u32>, windows: In<Window>, n_windows: Size<u32>, segments: InOut<Segment>,
            rows: In<u32>, words: In<u32>, heads: In<u32>, tails: In<u32>, tail_starts: In<u32>, sources: In<KickSource>,
            chances: In<u64>, masks: In<u32>, trains: In<u32>, marks: In<u32>, currents: In<u32>, states: InOut<u32>,
            anchors: InOut<u32>, checks: InOut<u32>, wakes: InOut<u32>, arrivals: InOut<i32>, spikes: InOut<u32>,
            chunks: InOut<Chunk>, counters: InOut<u32>, barrier: InOut<u32>, mailboxes: InOut<u64>, first_tag: Size<u32>,
            rates: InOut<DeviceRate>, fade: In<f32>, n_traced: Size<u32>, traced: In<u32>, trace_inputs: InOut<u32>
        );

        /// Many windows of a network of which few neurons are reached, in few blocks: loads and steps only neurons with
        /// input, or that may cross the threshold. Items: synaptic events.
        #[block(640)]
        fn step_lif_reached as StepLifReached(
            model: In<Model>, is_exact: Size<u32>, propagators: In<u32>, windows: In<Window>, n_windows: Size<u32>,
            segments: InOut<Segment>, rows: In<u32>, words: In<u32>, overflow: In<Overflow>, gain_of: In<u16>,
            gains: In<WeightGain>, sources: In<KickSource>, chances: In<u64>, masks: In<u32>, trains: In<u32>,
            marks: In<u32>, currents: In<u32>, states: InOut<u32>, anchors: InOut<u32>, checks: InOut<u32>,
            wakes: InOut<u32>, arrivals: InOut<i32>, kick_bits: InOut<u32>, summed: InOut<u32>,
            reached: InOut<u32>, n_reached: InOut<u32>, barrier: InOut<u32>, spikes: InOut<u32>, chunks: InOut<Chunk>, counters: InOut<u32>, rates: InOut<DeviceRate>, fade: In<f32>
        );

        /// Sorts the spikes of each window by step and neuron. Once per graph; for windows launched one by one, it
        /// also hashes the spikes and copies their segments into the ring buffer.
        #[block(1024)]
        fn sort_spikes as SortSpikes(
            model: In<Model>, windows: In<Window>, live: In<Segment>, is_live: Size<u32>, segments: InOut<Segment>,
            spikes: InOut<u32>, counters: InOut<u32>
        );

        /// Applies stimuli between two steps.
        #[block(256)]
        fn apply_stimuli as ApplyStimuli(
            model: In<Model>, propagators: In<u32>, completed: Size<u32>, has_currents: Size<u32>, new_marks: In<u32>,
            new_currents: In<u32>, marks: InOut<u32>, currents: InOut<u32>, states: InOut<u32>, anchors: InOut<u32>, checks: InOut<u32>,
            wakes: InOut<u32>
        );

        /// Re-anchors all neurons at the current step, when the neuron model changes.
        #[block(256)]
        fn reanchor_neurons as ReanchorNeurons(
            model: In<Model>, propagators: In<u32>, completed: Size<u32>, shift: Size<f64>, marks: In<u32>,
            currents: In<u32>, states: InOut<u32>, anchors: InOut<u32>
        );

        /// Advances old anchors, once in 2^28 steps.
        #[block(256)]
        fn advance_anchors as AdvanceAnchors(
            model: In<Model>, propagators: In<u32>, completed: Size<u32>, marks: In<u32>, currents: In<u32>,
            states: InOut<u32>, anchors: InOut<u32>, checks: InOut<u32>, wakes: InOut<u32>
        );

        /// Computes v of every neuron, for views.
        #[block(256)]
        fn read_potentials as ReadPotentials(
            model: In<Model>, propagators: In<u32>, completed: Size<u32>, marks: In<u32>, currents: In<u32>,
            states: In<u32>, anchors: In<u32>, v: InOut<f32>
        );
    }
}

device_struct! {
    /// Constants of noisy leaky units.
    pub struct LeakyConstants {
        /// Weight of one synapse
        w_unit: f32,
        /// Largest magnitude of the noise
        amplitude: f32,
        /// Decay of v per step
        decay: f32,
        /// Address word of the noise
        noise: u32,
    }
}

kernels! {
    /// Kernels of noisy leaky units, between `deliver_spikes` and `sort_spikes`.
    pub struct LeakyKernels in "spiking/leaky.cu" using [RingLayout, LifConstants, Model, Window, Segment, Chunk, DeviceRate, KickSource, Kick, Overflow, WeightGain, LeakyConstants] with [SHARED] {
        /// One step of every unit: decay, arrivals, kicks, current, noise, threshold. Items: spikes.
        #[block(256)]
        fn step_leaky as StepLeaky(
            layout: Size<RingLayout>, n: Size<u32>, seed: Size<u64>, model: In<Model>, units: In<LeakyConstants>,
            windows: In<Window>, index: Size<u32>, live: InOut<Segment>, segments: In<Segment>, rows: In<u32>,
            sources: In<KickSource>, chances: In<u64>, masks: In<u32>, trains: In<u32>, kicks: In<Kick>, marks: In<u32>,
            currents: In<u32>, gain_of: In<u16>, gains: In<WeightGain>, states: InOut<u32>, arrivals: InOut<i32>,
            kick_bits: InOut<u32>, spikes: InOut<u32>, chunks: InOut<Chunk>, counters: InOut<u32>,
            rates: InOut<DeviceRate>, fade: In<f32>
        );

        /// Many steps per launch, like `step_lif_persistent`. Items: synaptic events.
        #[block(544)]
        fn step_leaky_persistent as StepLeakyPersistent(
            model: In<Model>, units: In<LeakyConstants>, windows: In<Window>, n_windows: Size<u32>, segments: InOut<Segment>,
            rows: In<u32>, words: In<u32>, heads: In<u32>, tails: In<u32>, tail_starts: In<u32>, marks: In<u32>,
            currents: In<u32>, states: InOut<u32>, arrivals: InOut<i32>, spikes: InOut<u32>, chunks: InOut<Chunk>,
            counters: InOut<u32>, barrier: InOut<u32>, mailboxes: InOut<u64>, first_tag: Size<u32>, rates: InOut<DeviceRate>,
            fade: In<f32>, n_traced: Size<u32>, traced: In<u32>, samples: InOut<f32>
        );

        /// Samples v of traced units.
        #[block(64)]
        fn sample_traces_leaky as SampleTracesLeaky(
            windows: In<Window>, index: Size<u32>, live: In<Segment>, states: In<u32>, n_traced: Size<u32>,
            traced: In<u32>, samples: InOut<f32>
        );
    }
}

kernels! {
    /// Other delivery methods, compared with `deliver_spikes`.
    pub struct VariantKernels in "spiking/deliver_variants.cu" using [RingLayout, LifConstants, Model, Window, Segment, Chunk, DeviceRate, KickSource, Kick, Overflow, WeightGain] with [SHARED] {
        /// One warp per spike takes a whole row; 8-bit weights with a scale per neuron, single-precision sums. Items:
        /// synaptic events.
        #[block(256)]
        fn deliver_push_rows as DeliverPushRows(
            model: In<Model>, segments: In<Segment>, spikes: In<u32>, rows: In<u32>, words: In<u32>, levels: In<u8>,
            scales: In<f32>, sums: InOut<f32>
        );

        /// Marks the neurons that fired in the window, and the steps. Items: spikes.
        #[block(256)]
        fn mark_spiked as MarkSpiked(
            model: In<Model>, segments: In<Segment>, spikes: In<u32>, fired: InOut<u32>, when: InOut<u32>
        );

        /// Every target looks up which of its sources fired: one warp per piece of at most 128 connections. Items:
        /// synaptic events.
        #[block(1024)]
        fn deliver_pull as DeliverPull(
            model: In<Model>, n_pieces: Size<u32>, pieces: In<Chunk>, sources: In<u32>, fired: In<u32>, when: In<u32>,
            arrivals: InOut<i32>
        );
    }
}

impl LeakyKernels {
    /// Whether all blocks of a grid of `step_leaky_persistent` are resident at once, as the grid barrier requires.
    /// Fails if the device fails.
    pub fn fits_persistent(&self, grid: Grid) -> Result<bool, GpuError> {
        self.step_leaky_persistent.fits_at_once(grid)
    }
}

impl Kernels {
    /// Whether all blocks of a grid of `step_lif_persistent` are resident at once, as the grid barrier requires. Fails
    /// if the device fails.
    pub fn fits_persistent(&self, grid: Grid) -> Result<bool, GpuError> {
        self.step_lif_persistent.fits_at_once(grid)
    }
}
