//! How much of everything, before anything is allocated.

use super::kernels::{Model, Window};
use crate::{
    data::Csr,
    gpu::{Memory as DeviceMemory, kernel::Grid},
    kinds::spiking::layout::TABLE,
    sim::SimError,
};

/// Windows of the largest graph.
pub const GRAPH: u32 = 64;
/// Most steps of a window: one bit each in a word.
pub const LONGEST: u32 = 32;
/// Copies of the counters of synaptic events, as in `neuron.cuh`.
pub const COPIES: usize = 8;
/// Counters of a window: [`COPIES`] times one per step, then the neurons looked at.
pub const COUNTERS: usize = (COPIES + 1) * LONGEST as usize;
/// Where among them the fingerprint of the spikes is, two words.
pub const FINGERPRINT: usize = COPIES * LONGEST as usize + 2;
/// Where among them the first neuron is whose state is no number: the complement of its key, 0 for nobody.
pub const LOST: usize = COPIES * LONGEST as usize + 4;
/// Tags of windows that resident blocks tell each other apart by, as in `posts.cuh`; 0 is none.
pub const TAGS: u32 = 1 << 16;
/// Neurons of a block of `advance`, as in `step.cuh`.
pub const SPAN: u32 = 512;
/// Connections of a chunk.
pub const CHUNK: u32 = 128;
/// Bits of the neuron in the key of a spike.
pub const LANE_BITS: u32 = 26;
/// Windows with more spikes come unsorted.
pub const SORTED_BY_DEVICE: usize = 8192;
/// Neurons of a block of `reside` at most, as in `ensemble.cuh`.
const MOST: u32 = 1088;
/// Quads of connections that are noted at most, as in `meeting.cuh`.
const WORK: u32 = 2560;
/// Spikes of a block that are kept near, as in `meeting.cuh`.
const OWN: u32 = 1024;
/// Blocks of `reside` at most.
const MOST_POSTS: u32 = 256;
/// Neurons a block of `reside` has at least, where there are several: less is not worth the meeting.
const WORTH: u32 = 256;
/// Steps in which everybody may fire until spikes are read: two launches of 64 windows with a quarter of all neurons in each.
const READ_STEPS: u32 = 32;
/// Longest delay, steps: every step may be a segment of its own.
const LONGEST_DELAY: u32 = 1 << 16;

/// The shape of launches. Decides speed, never results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tuning {
    /// Windows per graph at most, 1 to 64. Short ones leave little to be read after the last.
    pub graph: u32,
    /// Warps of `deliver` per multiprocessor: each has a chunk or two when the network is busy.
    pub deliver_warps: u32,
    /// Chunks of a window from which on all warps look. Keeping account of who was reached costs a store per event,
    /// looking at everybody about 2 µs.
    pub dense_chunks: u32,
    /// Entries of the rings at most; more than the neurons.
    pub ring: u32,
    /// Whether neurons stay in shared memory over many windows.
    pub residence: Residence,
}

/// Whether neurons stay in shared memory while many windows pass in one launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Residence {
    /// No: two launches per window.
    Off,
    /// Where all find room.
    Auto,
    /// In that many blocks, or not at all.
    Blocks(u32),
}

impl Default for Tuning {
    fn default() -> Self {
        Self { graph: 16, deliver_warps: 40, dense_chunks: 500, ring: 1 << 26, residence: Residence::Auto }
    }
}

/// Lengths of the buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Neurons.
    pub n: u32,
    /// Connections.
    pub connections: u64,
    /// Entries of the overflow list.
    pub overflow: u64,
    /// Chunks of all rows.
    pub row_chunks: u32,
    /// Steps per window.
    pub window: u32,
    /// Steps from a spike to its effect.
    pub delay: u32,
    /// Entries of the ring of spikes.
    pub spike_ring: u32,
    /// Entries of the ring of chunks.
    pub chunk_ring: u32,
    /// Entries of the ring of segments.
    pub segment_ring: u32,
    /// Bytes of a number of the state.
    pub real_bytes: u64,
}

impl Sizes {
    /// For this wiring and delay.
    pub fn new(wiring: &Csr, delay: u32, real_bytes: u64, tuning: &Tuning) -> Result<Self, SimError> {
        let row_chunks: u64 = wiring.rows.windows(2).map(|r| u64::from((r[1] - r[0]).div_ceil(CHUNK))).sum();
        let counts = (wiring.len() as u64, wiring.overflow.len() as u64, row_chunks);
        Self::of(wiring.n(), counts, delay, real_bytes, tuning)
    }

    /// For a network of which only the size is known.
    pub fn told(n: u64, connections: u64, overflow: u64, delay: u32, real_bytes: u64) -> Result<Self, SimError> {
        let counts = (connections, overflow, connections / u64::from(CHUNK) + n);
        Self::of(n.min(u32::MAX.into()) as u32, counts, delay, real_bytes, &Tuning::default())
    }

    fn of(
        n: u32,
        (connections, overflow, row_chunks): (u64, u64, u64),
        delay: u32,
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
        let window = delay.min(LONGEST);
        // Room for a window in which everybody fires in every step, beside what waits to be read: as much again, and where
        // windows are short, what several of them may bring.
        let waits = u64::from(n) * u64::from(window + window.max(READ_STEPS));
        // The same beside a whole delay of it, which is on its way.
        let ring = |entries: u64| entries.min(tuning.ring.into()).next_power_of_two().max(1 << 12) as u32;
        Ok(Self {
            n,
            connections,
            overflow,
            row_chunks: row_chunks as u32,
            window,
            delay,
            spike_ring: ring(waits),
            chunk_ring: ring(row_chunks * u64::from(delay + window)),
            segment_ring: (delay + 4 * GRAPH).next_power_of_two(),
            real_bytes,
        })
    }

    /// Spikes that may lie in the ring before a window of so many steps, in which everybody may fire in each; -1 where it
    /// never finds room.
    pub fn most_spikes(&self, steps: u32) -> i32 {
        left(self.spike_ring, self.n, steps)
    }

    /// The same of chunks.
    pub fn most_chunks(&self, steps: u32) -> i32 {
        left(self.chunk_ring, self.row_chunks, steps)
    }

    /// A window of so many steps from `step` on. What arrives in it, and where its spikes go, is up to the plan.
    pub fn window_from(&self, step: u64, steps: u32) -> Window {
        Window {
            step,
            steps,
            sent: (step as u32).wrapping_sub(self.delay),
            most_spikes: self.most_spikes(steps),
            most_chunks: self.most_chunks(steps),
            ..Window::default()
        }
    }

    /// Warps of neurons.
    pub const fn warps(&self) -> u32 {
        self.n.div_ceil(32)
    }

    /// Neurons, rounded up to whole blocks of `advance`: the length of every array of neurons.
    pub const fn stride(&self) -> u32 {
        self.n.next_multiple_of(SPAN)
    }

    /// Entries of the tables of arrivals.
    pub const fn arrivals(&self) -> usize {
        // Whoever reads a window in batches may read beyond its end.
        self.window as usize * self.stride() as usize + LONGEST as usize * 32
    }

    /// How `reside` is launched on a device with that many multiprocessors; `None` where neurons do not find room.
    pub fn residence(&self, residence: Residence, multiprocessors: u32, is_leaky: bool) -> Option<Grid> {
        let groups = self.stride() / 32;
        let blocks = match residence {
            Residence::Off => return None,
            Residence::Auto if self.stride() <= MOST => 1,
            Residence::Auto => multiprocessors.min(self.stride() / WORTH).min(MOST_POSTS),
            Residence::Blocks(blocks) => blocks.clamp(1, groups.min(MOST_POSTS)),
        };
        let span = groups.div_ceil(blocks) * 32;
        // Units keep a fixed amount.
        let shared_bytes = if is_leaky { 0 } else { ensemble_bytes(self.real_bytes as u32) + span * self.window * 4 };
        // What is on its way when a launch ends, the chunks of two windows, finds room in any case.
        let has_room = u64::from(self.chunk_ring) >= 2 * u64::from(self.window) * u64::from(self.row_chunks);
        let fits = span <= MOST && self.delay == self.window && has_room;
        // Two neurons per thread.
        fits.then_some(Grid::Meeting { blocks, block: (span / 2).next_multiple_of(32).max(128), shared_bytes })
    }

    /// Words of the posts of that many resident blocks: two for each, with a count and a key for each spike there may be.
    pub const fn post_words(&self, blocks: u32) -> usize {
        let span = (self.stride() / 32).div_ceil(blocks) * 32;
        2 * blocks as usize * (span as usize * self.window as usize + 16)
    }

    /// Bytes of the rings.
    pub const fn ring_bytes(&self) -> u64 {
        self.spike_ring as u64 * 4 + self.chunk_ring as u64 * 8 + self.segment_ring as u64 * 24
    }

    /// Predicted bytes on the device, by owner. Drives come on top: an eighth of a byte per neuron and source.
    pub fn bytes(&self) -> Vec<(&'static str, u64)> {
        let n = u64::from(self.stride());
        let rows = (u64::from(self.n) + 1) * 4 + self.connections * 4 + self.overflow * 8;
        let states = n * (3 * self.real_bytes + self.real_bytes + 7 * 4) + u64::from(self.warps()) * 10;
        vec![
            ("wiring", rows),
            ("neurons", states + (u64::from(TABLE) + 1) * 4 * self.real_bytes),
            ("arrivals", self.arrivals() as u64 * 4),
            ("spikes in flight", self.ring_bytes()),
        ]
    }

    /// Whether that fits.
    pub fn check(&self, memory: &DeviceMemory) -> Result<(), SimError> {
        let needed: u64 = self.bytes().iter().map(|(_, b)| b).sum();
        if needed <= memory.free {
            return Ok(());
        }
        let owners: Vec<String> = self.bytes().iter().map(|(what, b)| format!("{what} {}", bytes(*b))).collect();
        Err(SimError::NoDevice(format!(
            "the network needs {} on the GPU ({}), of which {} of {} are free; close other programs that use the GPU, \
             take a smaller network, or run on the CPU",
            bytes(needed),
            owners.join(", "),
            bytes(memory.free),
            bytes(memory.total)
        )))
    }
}

fn left(ring: u32, per_step: u32, steps: u32) -> i32 {
    let left = i64::from(ring) - i64::from(per_step) * i64::from(steps);
    left.clamp(-1, i32::MAX.into()) as i32
}

/// `Ensemble` of `ensemble.cuh` without the arrivals: what is told from window to window; propagators of 128 steps; per neuron
/// its state, kicks to come, a rate, five words, a place and marks; chances, counts, bounds, the source of kicks.
const fn ensemble_bytes(real: u32) -> u32 {
    let words = 8 + 2 * MOST_POSTS + MOST_POSTS / 32 + 4;
    let turns = WORK * 8 + OWN * 2 + words * 4 + (size_of::<Model>() + 2 * size_of::<Window>()) as u32;
    let before_states = (turns + 128 * 4 * real).next_multiple_of(2 * real);
    let neurons = MOST * (2 * real + 8 + 8 + 5 * 4 + 2 + 1);
    let bounds = ((LONGEST + 1 + 2 * MOST / 32) * 4).next_multiple_of(8);
    let drive = 2 * 8 + 2 * 4 + 2 * 4;
    (before_states + neurons + 64 * 8 + bounds + drive).next_multiple_of(2 * real)
}

/// `64.0 MB`.
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

    fn wiring(rows: Vec<u32>) -> Csr {
        let len = *rows.last().expect("rows") as usize;
        Csr { rows, words: vec![0; len], target_bits: 8, overflow: vec![] }
    }

    /// Sizes that are compiled into the kernels are the ones the host counts with.
    #[test]
    fn kernels_have_the_same_sizes() {
        let neuron = include_str!("../../../../kernels/spiking/neuron.cuh");
        let entry = include_str!("../../../../kernels/spiking/entry.cuh");
        let append = include_str!("../../../../kernels/spiking/advance.cuh");
        let resident = include_str!("../../../../kernels/spiking/ensemble.cuh");
        let meeting = include_str!("../../../../kernels/spiking/meeting.cuh");
        for (source, line) in [
            (neuron, format!("LONGEST = {LONGEST};")),
            (neuron, format!("TABLE = {TABLE};")),
            (neuron, format!("BLOCK = {}, SPAN = 2 * BLOCK;", SPAN / 2)),
            (neuron, format!("LANE_BITS = {LANE_BITS};")),
            (neuron, format!("COPIES = {COPIES}, COUNTERS = COPIES * LONGEST + LONGEST;")),
            (entry, format!("order<{SORTED_BY_DEVICE}>")),
            (append, format!("at += {CHUNK})")),
            (meeting, format!("MOST = {MOST};")),
            (neuron, "FINGERPRINT = COPIES * LONGEST + 2, LOST = COPIES * LONGEST + 4;".to_owned()),
            (meeting, format!("WORK = {WORK};")),
            (meeting, format!("OWN = {OWN};")),
            (meeting, format!("MOST_POSTS = {MOST_POSTS};")),
            (resident, format!("sizeof(Ensemble<double>) == {}", ensemble_bytes(8))),
            (resident, format!("sizeof(Ensemble<float>) == {}", ensemble_bytes(4))),
        ] {
            assert!(source.contains(&line), "the kernels do not say `{line}`");
        }
        assert_eq!(COUNTERS, (COPIES + 1) * LONGEST as usize);
    }

    #[test]
    fn neurons_reside_where_they_find_room() {
        let sizes = |n: u64, delay| Sizes::told(n, 100 * n, 0, delay, 8).expect("it fits");
        let grid = |n, delay, residence| sizes(n, delay).residence(residence, 132, false);
        let meeting = |blocks, block: u32, span: u32| {
            Some(Grid::Meeting { blocks, block, shared_bytes: ensemble_bytes(8) + span * 18 * 4 })
        };
        assert_eq!(grid(138_639, 18, Residence::Auto), meeting(132, 544, 1056));
        assert_eq!(grid(1_000, 18, Residence::Auto), meeting(1, 512, 1024));
        assert_eq!(grid(2_000, 18, Residence::Auto), meeting(8, 128, 256));
        assert_eq!(grid(2_000, 18, Residence::Blocks(3)), meeting(3, 352, 704));
        assert_eq!(grid(150_000, 18, Residence::Auto), None);
        assert_eq!(grid(1_000, 33, Residence::Auto), None);
        assert_eq!(grid(1_000, 18, Residence::Off), None);
    }

    #[test]
    fn rings_hold_the_worst_window() {
        let sizes = Sizes::new(&wiring(vec![0, 0, 1, 129, 258, 1000]), 18, 8, &Tuning::default()).expect("it fits");
        assert_eq!((sizes.n, sizes.row_chunks, sizes.window), (5, 1 + 1 + 2 + 6, 18));
        assert_eq!(sizes.most_spikes(18), sizes.spike_ring as i32 - 90);
        assert_eq!((sizes.most_chunks(0), sizes.most_chunks(1 << 30)), (sizes.chunk_ring as i32, -1));
        assert!(sizes.spike_ring >= 2 * 5 * 18 && sizes.chunk_ring >= 10 * 36 && sizes.segment_ring >= 18 + 4 * GRAPH);
        assert!([sizes.spike_ring, sizes.chunk_ring, sizes.segment_ring].iter().all(|r| r.is_power_of_two()));
    }

    #[test]
    fn what_does_not_fit_is_said_before_it_is_allocated() {
        let sizes = Sizes::new(&wiring(vec![0, 1000]), 18, 8, &Tuning::default()).expect("it fits");
        let memory = DeviceMemory { free: 1000, total: 2000 };
        let text = sizes.check(&memory).expect_err("1 kB").to_string();
        assert!(text.contains("wiring 4.0 kB") && text.contains("run on the CPU"), "{text}");
        assert!(sizes.check(&DeviceMemory { free: 1 << 30, total: 1 << 30 }).is_ok());
        assert!(matches!(Sizes::new(&wiring(vec![0, 1]), 1 << 17, 8, &Tuning::default()), Err(SimError::NoDevice(_))));
    }
}
