//! Room in the rings of spikes and chunks: how many entries a window may add.

use super::{kernels::Window, sizes::CHUNK};
use crate::kinds::spiking::saved_state::mark;

/// Upper bound on the spikes of a network in any steps: a neuron fires at most once per refractory time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpikeBounds {
    /// Number of steps from a spike of a neuron to its next possible one, at least 1.
    pub refractory: u32,
    /// Number of neurons without a refractory time.
    pub n_driven: u32,
    /// Number of chunks in the rows of these neurons.
    pub driven_chunks: u32,
}

impl SpikeBounds {
    /// Creates the bound of neurons that all have the refractory time.
    pub const fn new(refractory: u32) -> Self {
        Self { refractory, n_driven: 0, driven_chunks: 0 }
    }

    /// Creates the bound of neurons with these flags; `rows` holds the first connection of each row.
    pub fn of_marks(refractory: u32, marks: &[u32], rows: &[u32]) -> Self {
        let mut bounds = Self::new(refractory);
        for (row, _) in rows.windows(2).zip(marks).filter(|(_, flags)| **flags & mark::DRIVEN != 0) {
            bounds.n_driven += 1;
            bounds.driven_chunks += (row[1] - row[0]).div_ceil(CHUNK);
        }
        bounds
    }

    /// Returns the maximum number of spikes of `n` neurons in `steps` successive steps.
    pub fn spikes(self, n: u32, steps: u32) -> u64 {
        self.most(n, self.n_driven, steps)
    }

    /// Returns the maximum number of chunks in the rows of these spikes; `row_chunks` is the number in all rows.
    pub fn chunks(self, row_chunks: u32, steps: u32) -> u64 {
        self.most(row_chunks, self.driven_chunks, steps)
    }

    fn most(self, all: u32, driven: u32, steps: u32) -> u64 {
        let others = u64::from(all.saturating_sub(driven)) * u64::from(steps.div_ceil(self.refractory.max(1)));
        others + u64::from(driven) * u64::from(steps)
    }
}

/// Lengths of the rings, and the bound on the entries that windows add.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rings {
    /// Number of neurons.
    pub n: u32,
    /// Number of chunks in all rows.
    pub row_chunks: u32,
    /// Number of steps from a spike to its effect.
    pub delay: u32,
    /// Number of entries in the ring of spikes.
    pub spikes: u32,
    /// Number of entries in the ring of chunks.
    pub chunks: u32,
    /// Bound on the spikes of a window.
    pub bounds: SpikeBounds,
}

impl Rings {
    /// Returns the maximum number of spikes in the ring before a window of `steps` steps with the most possible spikes; -1 if the
    /// window can never fit.
    pub fn most_spikes(&self, steps: u32) -> i32 {
        left(self.spikes, self.bounds.spikes(self.n, steps))
    }

    /// Returns the maximum number of chunks in the ring before a window of `steps` steps with the most possible spikes; -1 if the
    /// window can never fit.
    pub fn most_chunks(&self, steps: u32) -> i32 {
        left(self.chunks, self.bounds.chunks(self.row_chunks, steps))
    }

    /// Whether the spikes in transit at the end of a persistent launch fit: chunks of two windows.
    pub fn can_persist(&self, window: u32) -> bool {
        u64::from(self.chunks) >= self.bounds.chunks(self.row_chunks, 2 * window)
    }

    /// Returns the window of `steps` steps from `step` on. The plan adds its segments and kicks.
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
}

fn left(ring: u32, added: u64) -> i32 {
    (i64::from(ring) - added.min(1 << 40) as i64).clamp(-1, i32::MAX.into()) as i32
}

/// Ring that has no room for a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FullRing {
    /// Ring of spikes, which the host reads.
    Spikes,
    /// Ring of chunks, which are delivered one delay later.
    Chunks,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neurons_fire_once_per_refractory_time() {
        let bounds = SpikeBounds::new(22);
        let steps = [0, 1, 18, 22, 23, 36, 44, 45];
        assert_eq!(steps.map(|steps| bounds.spikes(10, steps)), [0, 10, 10, 10, 20, 20, 20, 30]);
        let every_step = SpikeBounds::new(1);
        assert_eq!((every_step.spikes(10, 18), every_step.chunks(7, 36)), (180, 252));
    }

    #[test]
    fn driven_neurons_may_fire_in_every_step() {
        let rows = [0, 0, 1, 129, 258, 1000];
        let marks = [0, mark::DRIVEN, mark::CLOSED, mark::DRIVEN | mark::CLOSED, 0];
        let bounds = SpikeBounds::of_marks(22, &marks, &rows);
        assert_eq!((bounds.n_driven, bounds.driven_chunks), (2, 1 + 2));
        assert_eq!((bounds.spikes(5, 18), bounds.chunks(10, 18)), (3 + 2 * 18, 7 + 3 * 18));
    }

    #[test]
    fn a_window_leaves_room_for_all_its_spikes() {
        let bounds = SpikeBounds::new(22);
        let rings = Rings { n: 5, row_chunks: 10, delay: 18, spikes: 64, chunks: 16, bounds };
        assert_eq!([1, 18, 32].map(|steps| rings.most_spikes(steps)), [59, 59, 54]);
        assert_eq!([1, 18, 32].map(|steps| rings.most_chunks(steps)), [6, 6, -1]);
        assert!(!rings.can_persist(18) && Rings { chunks: 32, ..rings }.can_persist(18));
        let window = rings.window_from(7, 18);
        assert_eq!((window.sent, window.most_spikes), (7_u32.wrapping_sub(18), 59));
        assert_eq!(left(u32::MAX, u64::MAX), -1);
    }
}
