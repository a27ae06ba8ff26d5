//! Measurements that run concurrently with later steps, such as text generation during training. The engine collects
//! complete measurements, and waits for incomplete ones if a recording needs them.

use super::{Command, worker::Worker};
use crate::sim::SimError;
use crossbeam_channel::{RecvError, RecvTimeoutError};
use std::time::Duration;

/// Interval at which a paused simulation is polled for complete measurements.
const MEASURED_EVERY: Duration = Duration::from_millis(5);

impl<W: Fn()> Worker<W> {
    /// Waits for the next command of a paused simulation, and collects complete measurements meanwhile. Fails if the engine's
    /// handle has been dropped.
    pub fn wait_for_command(&mut self) -> Result<Command, RecvError> {
        while self.is_measuring() {
            match self.inbox.recv_timeout(MEASURED_EVERY) {
                Ok(command) => return Ok(command),
                Err(RecvTimeoutError::Disconnected) => return Err(RecvError),
                Err(RecvTimeoutError::Timeout) => self.take_measured(),
            }
        }
        self.inbox.recv()
    }

    pub fn is_measuring(&self) -> bool {
        self.sim.as_ref().is_some_and(|sim| sim.is_measuring())
    }

    /// Publishes concurrent measurements of a paused simulation once they are complete.
    fn take_measured(&mut self) {
        match self.sim.as_mut().map_or(Ok(false), |sim| sim.finish_measuring(false)) {
            Ok(true) => self.sample_now(),
            Ok(false) => {}
            Err(error) => self.fail(error),
        }
    }

    /// Waits for concurrent measurements, so that a recording contains them before its state is saved or it ends. Fails if
    /// a measurement fails.
    pub fn finish_measuring(&mut self) -> Result<(), SimError> {
        let Some(sim) = &mut self.sim else { return Ok(()) };
        if sim.finish_measuring(true)? { self.sample(false, false) } else { Ok(()) }
    }
}
