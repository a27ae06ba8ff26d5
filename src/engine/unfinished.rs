//! Measurements that run concurrently with later steps: a text that is written while the model learns. The engine collects them
//! when they are complete, and waits for them where a recording must have them.

use super::{Command, worker::Worker};
use crate::sim::SimError;
use crossbeam_channel::{RecvError, RecvTimeoutError};
use std::time::Duration;

/// Time between two looks at what a paused simulation still measures.
const MEASURED_EVERY: Duration = Duration::from_millis(5);

impl<W: Fn()> Worker<W> {
    /// The next command of a paused simulation. What is still measured is taken in meanwhile.
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

    /// Publishes what was measured beside the steps of a paused simulation, once it is complete.
    fn take_measured(&mut self) {
        match self.sim.as_mut().map_or(Ok(false), |sim| sim.finish_measuring(false)) {
            Ok(true) => self.sample_now(),
            Ok(false) => {}
            Err(error) => self.fail(error),
        }
    }

    /// Waits for what is measured beside the steps, so that a recording has it before its state is saved or it ends.
    pub fn finish_measuring(&mut self) -> Result<(), SimError> {
        let Some(sim) = &mut self.sim else { return Ok(()) };
        if sim.finish_measuring(true)? { self.sample(false, false) } else { Ok(()) }
    }
}
