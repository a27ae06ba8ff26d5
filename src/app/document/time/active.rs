//! Set of the elements that have spiked, one bit per element.

use crate::sim::Spike;

/// Elements that have spiked since the start of the run.
#[derive(Clone, Default)]
pub struct ActiveElements {
    words: Vec<u64>,
    count: u32,
}

impl ActiveElements {
    /// Marks the elements that spiked.
    pub fn mark(&mut self, spikes: &[Spike]) {
        for lane in spikes.iter().map(|s| s.lane as usize) {
            if lane / 64 >= self.words.len() {
                self.words.resize(lane / 64 + 1, 0);
            }
            let (word, bit) = (&mut self.words[lane / 64], 1u64 << (lane % 64));
            self.count += u32::from(*word & bit == 0);
            *word |= bit;
        }
    }

    /// Whether an element has spiked.
    pub fn contains(&self, element: u32) -> bool {
        self.words.get(element as usize / 64).is_some_and(|word| word >> (element % 64) & 1 == 1)
    }

    /// Returns the number of elements that have spiked.
    pub fn count(&self) -> u32 {
        self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_each_once() {
        let mut active = ActiveElements::default();
        let spike = |lane| Spike { step: 0, lane };
        active.mark(&[spike(3), spike(70), spike(3)]);
        assert!(active.contains(70) && !active.contains(69) && active.count() == 2);
    }
}
