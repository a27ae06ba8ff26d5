//! Frames on their way to the screen: states replaced, histories kept in order, bounded.

use crate::sim::{Frame, Reading, Spike};
use std::{
    collections::VecDeque,
    mem,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// Frames that wait as they are. A window that is drawn takes them before there are more; folding copies their spikes,
/// and the device would wait for it.
const LOOSE: usize = 4;

/// Vectors of spikes that were read and wait to be filled again.
const SPARES: usize = 4;

/// What the reader has not taken yet, oldest first. A slow or hidden window loses no spike up to the
/// cap of [`MAX_WAITING_SPIKES`](crate::sim::probe::MAX_WAITING_SPIKES), beyond which `Frame::skipped` counts.
#[derive(Default)]
pub struct Mailbox {
    waiting: Mutex<VecDeque<Frame>>,
    spares: Mutex<Vec<Vec<Spike>>>,
}

impl Mailbox {
    /// Leaves a frame.
    pub fn put(&self, frame: Frame) {
        let mut waiting = held(&self.waiting);
        let folded = if waiting.len() < LOOSE { None } else { fold(mem::take(&mut *waiting)) };
        waiting.extend(folded);
        waiting.push_back(frame);
    }

    /// Takes what has piled up, as it came.
    pub fn take_all(&self) -> VecDeque<Frame> {
        mem::take(&mut *held(&self.waiting))
    }

    /// Takes what has piled up, folded into one.
    pub fn take(&self) -> Option<Frame> {
        fold(self.take_all())
    }

    /// A frame was read. Its memory is filled again: getting as much anew costs a page fault per 512 spikes, a fifth of
    /// the time of a network that fires a hundred million of them per second.
    pub fn give_back(&self, frame: Frame) {
        let mut spares = held(&self.spares);
        if frame.spare.capacity() > 0 && spares.len() < SPARES {
            spares.push(frame.spare);
        }
        drop(spares);
        for (_, reading) in frame.readings {
            let Reading::Spikes(mut spikes) = reading else { continue };
            let is_of_use = spikes.capacity() > 0 && spikes.len() >= spikes.capacity() / 4; // else times were livelier
            let mut spares = held(&self.spares);
            if is_of_use && spares.len() < SPARES {
                spikes.clear();
                spares.push(spikes);
            }
        }
    }

    /// Room for spikes.
    pub fn spare(&self) -> Vec<Spike> {
        held(&self.spares).pop().unwrap_or_default()
    }
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn fold(frames: VecDeque<Frame>) -> Option<Frame> {
    frames.into_iter().reduce(|mut all, newer| {
        all.absorb(newer);
        all
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(step: u32) -> Frame {
        Frame { readings: vec![(0, Reading::Spikes(vec![Spike { step, lane: 1 }]))], ..Frame::default() }
    }

    #[test]
    fn nothing_is_lost_and_little_waits() {
        let mailbox = Mailbox::default();
        assert!(mailbox.take().is_none());
        for n in 1..40 {
            (0..n).for_each(|step| mailbox.put(frame(step)));
            let frames = mailbox.take_all();
            assert!(frames.len() <= LOOSE, "{n}: {}", frames.len());
            let Some(Frame { readings, .. }) = fold(frames) else { panic!("no frame") };
            let want: Vec<Spike> = (0..n).map(|step| Spike { step, lane: 1 }).collect();
            assert_eq!(readings, [(0, Reading::Spikes(want))]);
        }
    }

    #[test]
    fn memory_is_filled_again() {
        let mailbox = Mailbox::default();
        assert_eq!(mailbox.spare().capacity(), 0);
        let full = |n: u32| Reading::Spikes((0..n).map(|step| Spike { step, lane: 0 }).collect());
        (0..9).for_each(|_| mailbox.give_back(Frame { readings: vec![(0, full(1000))], ..Frame::default() }));
        let spares: Vec<_> = (0..9).map(|_| mailbox.spare()).filter(|s| s.capacity() >= 1000 && s.is_empty()).collect();
        assert_eq!(spares.len(), SPARES);
    }
}
