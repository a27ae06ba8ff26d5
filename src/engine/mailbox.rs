//! States replaced, histories appended, bounded.

use crate::sim::Frame;
use std::sync::{Mutex, PoisonError};

/// The newest frame, with everything skipped folded in. A slow or hidden window loses no spike up to the
/// cap of [`MAX_WAITING_SPIKES`](crate::sim::probe::MAX_WAITING_SPIKES), beyond which `Frame::skipped` counts.
#[derive(Default)]
pub struct Mailbox(Mutex<Option<Frame>>);

impl Mailbox {
    /// Leaves a frame.
    pub fn put(&self, frame: Frame) {
        let mut slot = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *slot {
            Some(waiting) => waiting.absorb(frame),
            none => *none = Some(frame),
        }
    }

    /// Takes what has piled up.
    pub fn take(&self) -> Option<Frame> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}
