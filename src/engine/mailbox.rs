//! Mailbox of frames for the screen. States are replaced, histories are kept in order, and the memory is bounded.

use crate::sim::{Frame, Reading, Spike};
use std::{
    collections::VecDeque,
    mem,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// Number of frames that wait unmerged. A visible window takes the frames before this number is reached; merging copies
/// their spikes while the device waits.
const LOOSE: usize = 4;

/// Number of spike vectors kept for reuse.
const SPARES: usize = 4;

/// Unread frames, oldest first. A slow or hidden window loses no spike up to
/// [`MAX_WAITING_SPIKES`](crate::sim::reading::MAX_WAITING_SPIKES); `Frame::skipped` counts the spikes beyond this
/// limit.
#[derive(Default)]
pub struct Mailbox {
    waiting: Mutex<VecDeque<Frame>>,
    spares: Mutex<Vec<Vec<Spike>>>,
}

impl Mailbox {
    /// Adds a frame. Frames of different schema generations are not merged, because their lanes differ.
    pub fn put(&self, frame: Frame) {
        let mut waiting = locked(&self.waiting);
        if waiting.len() >= LOOSE {
            let all = mem::take(&mut *waiting);
            for newer in all {
                match waiting.back_mut().filter(|older| older.generation == newer.generation) {
                    Some(older) => older.absorb(newer),
                    None => waiting.push_back(newer),
                }
            }
        }
        waiting.push_back(frame);
    }

    /// Takes all frames, oldest first.
    pub fn take_all(&self) -> VecDeque<Frame> {
        mem::take(&mut *locked(&self.waiting))
    }

    /// Takes all frames, merged into one; `None` if no frame waits.
    pub fn take(&self) -> Option<Frame> {
        merge(self.take_all())
    }

    /// Recycles the memory of a read frame, because new memory costs a page fault per 512 spikes.
    pub fn give_back(&self, frame: Frame) {
        let mut spares = locked(&self.spares);
        if frame.spare.capacity() > 0 && spares.len() < SPARES {
            spares.push(frame.spare);
        }
        drop(spares);
        for (_, reading) in frame.readings {
            let Reading::Spikes(mut spikes) = reading else { continue };
            let is_sized_well = spikes.capacity() > 0 && spikes.len() >= spikes.capacity() / 4;
            let mut spares = locked(&self.spares);
            if is_sized_well && spares.len() < SPARES {
                spikes.clear();
                spares.push(spikes);
            }
        }
    }

    /// Returns an empty spike vector, recycled if possible.
    pub fn spare(&self) -> Vec<Spike> {
        locked(&self.spares).pop().unwrap_or_default()
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn merge(frames: VecDeque<Frame>) -> Option<Frame> {
    frames.into_iter().reduce(|mut all, newer| {
        all.absorb(newer);
        all
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(step: u32) -> Frame {
        Frame { readings: vec![(0.into(), Reading::Spikes(vec![Spike { step, lane: 1 }]))], ..Frame::default() }
    }

    #[test]
    fn waiting_frames_are_few_and_lose_no_spike() {
        let mailbox = Mailbox::default();
        assert!(mailbox.take().is_none());
        for n in 1..40 {
            (0..n).for_each(|step| mailbox.put(frame(step)));
            let frames = mailbox.take_all();
            assert!(frames.len() <= LOOSE, "{n}: {}", frames.len());
            let Some(Frame { readings, .. }) = merge(frames) else { panic!("no frame") };
            let want: Vec<Spike> = (0..n).map(|step| Spike { step, lane: 1 }).collect();
            assert_eq!(readings, [(0.into(), Reading::Spikes(want))]);
        }
    }

    #[test]
    fn frames_of_different_lanes_are_not_merged() {
        let mailbox = Mailbox::default();
        for n in 0..20 {
            mailbox.put(Frame { generation: n / 10, ..frame(n as u32) });
        }
        let frames: Vec<(u64, usize)> = mailbox
            .take_all()
            .iter()
            .map(|f| {
                (
                    f.generation,
                    f.readings.iter().map(|(_, r)| matches!(r, Reading::Spikes(s) if !s.is_empty()) as usize).sum(),
                )
            })
            .collect();
        assert!(frames.len() <= LOOSE + 1 && frames.first().is_some_and(|f| f.0 == 0), "{frames:?}");
        assert!(frames.windows(2).all(|w| w[0].0 <= w[1].0));
    }

    #[test]
    fn memory_is_reused() {
        let mailbox = Mailbox::default();
        assert_eq!(mailbox.spare().capacity(), 0);
        let full = |n: u32| Reading::Spikes((0..n).map(|step| Spike { step, lane: 0 }).collect());
        (0..9).for_each(|_| mailbox.give_back(Frame { readings: vec![(0.into(), full(1000))], ..Frame::default() }));
        let spares: Vec<_> = (0..9).map(|_| mailbox.spare()).filter(|s| s.capacity() >= 1000 && s.is_empty()).collect();
        assert_eq!(spares.len(), SPARES);
    }
}
