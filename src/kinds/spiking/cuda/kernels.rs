//! What Rust and the kernels share.
//!
//! Numbers of the state's arithmetic travel as 32-bit words, so that one declaration serves both precisions;
//! `step.cuh` knows what they are.

use crate::{
    device_struct,
    gpu::{
        GpuError,
        kernel::{Grid, In, InOut, Size},
    },
    kernels,
};

device_struct! {
    /// How rings, tables and connections lie in memory; stays as it is while a network lives.
    pub struct Layout {
        /// Bits of the target in a packed connection
        target_bits: u32,
        /// Steps of a whole window: rows of a table of arrivals
        window: u32,
        /// Ring sizes less one: powers of two
        spike_mask: u32,
        /// Ring of chunks
        chunk_mask: u32,
        /// Ring of segments
        segment_mask: u32,
        /// Chunks of a window from which on all warps look instead of keeping account of who was reached
        dense_chunks: u32,
    }
}

device_struct! {
    /// The model and the sizes of everything; rewritten between steps when a parameter changes.
    pub struct Model {
        /// Project seed
        seed: u64,
        /// Threshold above rest, mV
        theta: f64,
        /// u after a spike, mV
        u_reset: f64,
        /// Added to g per synapse, mV
        w_syn: f64,
        /// dt / tau_m
        dt_per_tau_m: f64,
        /// Largest contribution of a unit of g to u
        b_peak: f64,
        /// Bound on rounding errors of u
        slack: f64,
        /// Resting potential, mV
        v_rest: f64,
        /// Steps from a spike to the next integration
        refractory: u32,
        /// Neurons
        n: u32,
        /// Warps of neurons
        n_warps: u32,
        /// Neurons, rounded up: the distance of two steps in the arrivals
        stride: u32,
        /// Entries of the overflow list
        n_overflow: u32,
        /// Sources of kicks in force
        n_sources: u32,
        /// Whether weights are changed
        has_gains: u32,
        /// Whether neurons looked at are counted
        counts_active: u32,
        /// How everything lies
        layout: Layout,
        /// Threshold in single precision, for the bound on crossings
        theta_f: f32,
        /// What a spike adds to a running rate, Hz
        gain: f32,
        /// Entries of the coarse table of fading rates
        n_coarse: u32,
        /// Whether an input is so large that it may leave a state no number
        is_wild: u32,
    }
}

device_struct! {
    /// One window of steps to take. Planned by the host, which knows the clock but not the activity.
    pub struct Window {
        /// First step
        step: u64,
        /// How many, at most 32; 0 is an empty place in a graph
        steps: u32,
        /// The step, modulo 2^32, whose spikes arrive in the first
        sent: u32,
        /// The segment before
        previous: u32,
        /// First segment with spikes on their way into it
        first: u32,
        /// Last one; first - 1 for none
        last: u32,
        /// Place in the ring of the first spike the host has not read
        unread: u32,
        /// Most spikes in the ring with which it finds room; less than 0: never
        most_spikes: i32,
        /// Most chunks in the ring with which it finds room; less than 0: never
        most_chunks: i32,
        /// Where its spikes go in the ring
        segment: u32,
        /// First listed kick
        kick_from: u32,
        /// The one after the last
        kick_to: u32,
        /// Its place in the counters
        slot: u32,
    }
}

device_struct! {
    /// The spikes of one window: where they lie in the rings.
    pub struct Segment {
        /// Spikes
        n_spikes: u32,
        /// Chunks of their rows; beside n_spikes, so that one atomic moves both
        n_chunks: u32,
        /// Place in the ring of spikes
        spike_start: u32,
        /// Place in the ring of chunks
        chunk_start: u32,
        /// The window was not run: the rings were full
        halted: u32,
        /// All warps look
        dense: u32,
    }
}

device_struct! {
    /// At most 128 synapses of a neuron that fired.
    pub struct Chunk {
        /// First connection
        word: u32,
        /// Connections less one, below; step of the spike, above
        meta: u32,
    }
}

device_struct! {
    /// A running rate, touched only by spikes.
    pub struct Average {
        /// Right after the last spike, Hz
        hz: f32,
        /// The step of the last spike
        step: u32,
    }
}

device_struct! {
    /// A source of kicks.
    pub struct Source {
        /// Added to u per event, mV
        weight: f64,
        /// What for, and which stream
        address: u32,
        /// Whether events are drawn; 0 for listed kicks
        draws: u32,
    }
}

device_struct! {
    /// A listed kick; sorted by step, neuron, source.
    pub struct Kick {
        /// When
        step: u64,
        /// Added to u, mV
        weight: f64,
        /// Whom
        lane: u32,
        /// Its place among the sources
        source: u32,
    }
}

device_struct! {
    /// A count that does not fit into its word.
    pub struct Overflow {
        /// Which connection
        word: u32,
        /// The exact count
        count: i32,
    }
}

device_struct! {
    /// What is done to outgoing weights.
    pub struct Gain {
        /// Multiplies the count
        factor: f64,
        /// Sign given to the count first; 0 keeps its own
        sign: i32,
        /// Spikes reach nobody
        silent: u32,
        /// Whether counts change
        changes: u32,
        /// Padding to eight bytes
        pad: u32,
    }
}

kernels! {
    /// A window of steps, in launch order, and what happens between windows.
    pub struct Kernels in "spiking/step_f64.cu", also "spiking/step_f32.cu" as SINGLE
    using [Layout, Model, Window, Segment, Chunk, Average, Source, Kick, Overflow, Gain] {
        /// Adds the spikes that arrive in the window to their targets, as integers: one warp per chunk of at most 128
        /// synapses. Items: synaptic events.
        #[block(256)]
        fn deliver(
            layout: Size<Layout>, windows: In<Window>, index: Size<u32>, segments: InOut<Segment>, live: InOut<Segment>,
            chunks: In<Chunk>, words: In<u32>, arrivals: InOut<i32>, touched: InOut<u8>
        );

        /// The same where something is driven or weights are changed: blocks beside those that deliver draw the kicks
        /// that trains give. Items: synaptic events.
        #[block(256)]
        fn deliver_driven(
            layout: Size<Layout>, n: Size<u32>, exactly: Size<u32>, model: In<Model>, windows: In<Window>,
            index: Size<u32>, segments: InOut<Segment>, live: InOut<Segment>, chunks: In<Chunk>, rows: In<u32>,
            words: In<u32>, overflow: In<Overflow>, gain_of: In<u16>, gains: In<Gain>, sources: In<Source>,
            chances: In<u64>, masks: In<u32>, trains: In<u32>, kick_bits: InOut<u32>, arrivals: InOut<i32>,
            touched: InOut<u8>
        );

        /// Notes the listed kicks of the window at their neurons.
        #[block(256)]
        fn mark_kicks(
            model: In<Model>, windows: In<Window>, index: Size<u32>, live: In<Segment>, kicks: In<Kick>,
            kick_bits: InOut<u32>, touched: InOut<u8>
        );

        /// Samples v and g of chosen neurons over the window: one thread per neuron computes it beforehand.
        #[block(64)]
        fn trace(
            model: In<Model>, propagators: In<u32>, windows: In<Window>, index: Size<u32>, live: In<Segment>,
            sources: In<Source>, chances: In<u64>, masks: In<u32>, trains: In<u32>, kicks: In<Kick>, marks: In<u32>, currents: In<u32>,
            states: In<u32>, anchors: In<u32>, arrivals: In<i32>, kick_bits: In<u32>, n_traced: Size<u32>,
            traced: In<u32>, samples: InOut<f32>
        );

        /// Takes every neuron through the window: takes up kicks and arrivals, fires, resets. A block of 256 neurons
        /// that nothing reaches and of which none can cross leaves at once; eight more blocks count synaptic events.
        /// Items: spikes.
        #[block(256)]
        fn advance(
            model: In<Model>, propagators: In<u32>, windows: In<Window>, index: Size<u32>, live: InOut<Segment>,
            segments: In<Segment>, rows: In<u32>, sources: In<Source>, chances: In<u64>, masks: In<u32>, trains: In<u32>, kicks: In<Kick>, marks: In<u32>,
            currents: In<u32>, gain_of: In<u16>, gains: In<Gain>, states: InOut<u32>, anchors: InOut<u32>,
            checks: InOut<u32>, wakes: InOut<u32>, touched: InOut<u8>, arrivals: InOut<i32>, kick_bits: InOut<u32>, spikes: InOut<u32>,
            chunks: InOut<Chunk>, counters: InOut<u32>, rates: InOut<Average>, fade: In<f32>
        );

        /// Many windows in one launch: neurons in shared memory, blocks meet once per window and read who fired, what
        /// their own neurons receive is looked up and added in shared memory. Items: synaptic events.
        #[block(544)]
        fn reside(
            model: In<Model>, propagators: In<u32>, windows: In<Window>, n_windows: Size<u32>, segments: InOut<Segment>,
            rows: In<u32>, words: In<u32>, heads: In<u32>, tails: In<u32>, tail_starts: In<u32>, sources: In<Source>,
            chances: In<u64>, masks: In<u32>, trains: In<u32>, marks: In<u32>, currents: In<u32>, states: InOut<u32>,
            anchors: InOut<u32>, checks: InOut<u32>, wakes: InOut<u32>, arrivals: InOut<i32>, spikes: InOut<u32>,
            chunks: InOut<Chunk>, counters: InOut<u32>, gate: InOut<u32>, posts: InOut<u64>, first_tag: Size<u32>,
            rates: InOut<Average>, fade: In<f32>
        );

        /// Puts the spikes of each window into their canonical order, by step and neuron. Once per graph; where
        /// the windows were launched one by one, it makes their fingerprints and takes their segments over into the ring.
        #[block(1024)]
        fn order(
            model: In<Model>, windows: In<Window>, live: In<Segment>, is_live: Size<u32>, segments: InOut<Segment>,
            spikes: InOut<u32>, counters: InOut<u32>
        );

        /// Takes up drives and lesions between two steps.
        #[block(256)]
        fn enter(
            model: In<Model>, propagators: In<u32>, completed: Size<u32>, new_marks: In<u32>, new_currents: In<u32>,
            marks: InOut<u32>, currents: InOut<u32>, states: InOut<u32>, anchors: InOut<u32>, checks: InOut<u32>,
            wakes: InOut<u32>
        );

        /// Brings all neurons to the step at hand, when the neuron model changes.
        #[block(256)]
        fn rebase(
            model: In<Model>, propagators: In<u32>, completed: Size<u32>, shift: Size<f64>, marks: In<u32>,
            currents: In<u32>, states: InOut<u32>, anchors: InOut<u32>
        );

        /// Brings old anchors forward, once in 2^28 steps.
        #[block(256)]
        fn settle(
            model: In<Model>, propagators: In<u32>, completed: Size<u32>, marks: In<u32>, currents: In<u32>,
            states: InOut<u32>, anchors: InOut<u32>, checks: InOut<u32>, wakes: InOut<u32>
        );

        /// Gathers v of every neuron, for a view.
        #[block(256)]
        fn potentials(
            model: In<Model>, propagators: In<u32>, completed: Size<u32>, marks: In<u32>, currents: In<u32>,
            states: In<u32>, anchors: In<u32>, v: InOut<f32>
        );
    }
}

device_struct! {
    /// Constants of noisy leaky units.
    pub struct Units {
        /// Weight of one synapse
        w_unit: f32,
        /// Largest magnitude of the noise
        amplitude: f32,
        /// What a step leaves of v
        decay: f32,
        /// Address word of the noise
        noise: u32,
    }
}

kernels! {
    /// What noisy leaky units have of their own: between `deliver` and `order`.
    pub struct UnitKernels in "spiking/leaky.cu" using [Layout, Model, Window, Segment, Chunk, Average, Source, Kick, Overflow, Gain, Units] {
        /// One step of every unit: leak, arrivals, kicks, current, noise; who reaches the threshold fires. Items: spikes.
        #[block(256)]
        fn leak(
            layout: Size<Layout>, n: Size<u32>, seed: Size<u64>, model: In<Model>, units: In<Units>,
            windows: In<Window>, index: Size<u32>, live: InOut<Segment>, segments: In<Segment>, rows: In<u32>,
            sources: In<Source>, chances: In<u64>, masks: In<u32>, trains: In<u32>, kicks: In<Kick>, marks: In<u32>,
            currents: In<u32>, gain_of: In<u16>, gains: In<Gain>, states: InOut<u32>, arrivals: InOut<i32>,
            kick_bits: InOut<u32>, spikes: InOut<u32>, chunks: InOut<Chunk>, counters: InOut<u32>,
            rates: InOut<Average>, fade: In<f32>
        );

        /// Many steps in one launch, as `reside` of the exponential neurons does. Items: synaptic events.
        #[block(544)]
        fn board(
            model: In<Model>, units: In<Units>, windows: In<Window>, n_windows: Size<u32>, segments: InOut<Segment>,
            rows: In<u32>, words: In<u32>, heads: In<u32>, tails: In<u32>, tail_starts: In<u32>, marks: In<u32>,
            currents: In<u32>, states: InOut<u32>, arrivals: InOut<i32>, spikes: InOut<u32>, chunks: InOut<Chunk>,
            counters: InOut<u32>, gate: InOut<u32>, posts: InOut<u64>, first_tag: Size<u32>, rates: InOut<Average>,
            fade: In<f32>
        );

        /// Samples v of chosen units.
        #[block(64)]
        fn trace_units(
            windows: In<Window>, index: Size<u32>, live: In<Segment>, states: In<u32>, n_traced: Size<u32>,
            traced: In<u32>, samples: InOut<f32>
        );
    }
}

kernels! {
    /// Other ways to deliver, to be compared with `deliver`.
    pub struct WayKernels in "spiking/ways.cu" using [Layout, Model, Window, Segment, Chunk, Average, Source, Kick, Overflow, Gain] {
        /// A warp per spike takes a whole row; weights in eight bits with a scale per neuron, sums in single precision.
        /// Items: synaptic events.
        #[block(256)]
        fn push_rows(
            model: In<Model>, segments: In<Segment>, spikes: In<u32>, rows: In<u32>, words: In<u32>, levels: In<u8>,
            scales: In<f32>, sums: InOut<f32>
        );

        /// Notes who fired in the window, and when. Items: spikes.
        #[block(256)]
        fn note_fired(
            model: In<Model>, segments: In<Segment>, spikes: In<u32>, fired: InOut<u32>, when: InOut<u32>
        );

        /// Every target looks up which of its sources fired: a warp per piece of at most 128 connections. Items:
        /// synaptic events.
        #[block(1024)]
        fn pull(
            model: In<Model>, n_pieces: Size<u32>, pieces: In<Chunk>, sources: In<u32>, fired: In<u32>, when: In<u32>,
            arrivals: InOut<i32>
        );
    }
}

impl UnitKernels {
    /// Whether that many blocks of `board` are at work at the same time, which they must be: they wait for each other.
    pub fn can_board(&self, grid: Grid) -> Result<bool, GpuError> {
        self.board.fits_at_once(grid)
    }
}

impl Kernels {
    /// Whether that many blocks of `reside` are at work at the same time, which they must be: they wait for each other.
    pub fn can_reside(&self, grid: Grid) -> Result<bool, GpuError> {
        self.reside.fits_at_once(grid)
    }
}
